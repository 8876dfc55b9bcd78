//! Creates shapes, instances, and all entities with a name and parameters.

use super::super::directive::Directive;
use super::super::event::{PbrtComplaint, PbrtEvent, PieceContent, Spot};
use super::super::versions;
use super::super::versions::{PbrtKind, PbrtVersion};
use super::state::NONE;
use super::{MeshUse, PbrtScene, SceneSpot};
use polyhaul_model::error::{Error, Result, elements_hint, planted, try_push};
use polyhaul_model::names::shown;
use polyhaul_model::render::{
    Attribute, Entity, InstanceRun, Material, MaterialUse, Motion, Name, ObjectDefinition, ParameterRange, Placing,
    Setting, ShapeState, StepKind, StoredShape, Texture, Transform,
};
use polyhaul_model::warnings::Weight;
use std::collections::{HashMap, HashSet};

/// Entities by name.
#[derive(Default)]
pub(super) struct PbrtTables {
    /// For each name, the index of the object with this name, plus one.
    objects: Vec<u32>,
    /// First use of each object that is not defined yet.
    pub(super) object_uses: HashMap<u32, SceneSpot>,
    pub(super) materials: HashSet<Name>,
    /// First use of each material that is not defined yet.
    pub(super) material_uses: HashMap<Name, SceneSpot>,
    /// Names that were added to `material_uses`, in the order of their first use; some may have been defined since.
    pub(super) material_order: Vec<Name>,
    textures: HashSet<(Name, bool)>,
    media: HashSet<Name>,
    states: HashMap<ShapeState, u32>,
    plymesh: Option<Name>,
    /// Class of the last shape.
    last_class: Option<Name>,
}

impl PbrtScene<'_> {
    /// Adds a shape.
    #[inline]
    pub(super) fn shape(&mut self, event: &PbrtEvent, content: &PieceContent, segment: u32) -> Result<()> {
        let index = self.render.shapes.len();
        if index as u64 >= self.options.limits.elements {
            return self.too_many(event.spot, "shapes");
        }
        let motion = self.state.graphics.motion;
        let state = match self.state.graphics.shape_state {
            NONE => self.shape_state()?,
            state => state,
        };
        self.keep(motion);
        let parameters = ParameterRange { segment, start: event.b, count: u32::from(event.count) };
        let class = content.name(event.a);
        let stored = StoredShape { class, state, transform: motion.start.0, parameters };
        try_push(&mut self.render.shapes, stored, "shapes")?;
        if motion.is_animated() {
            try_push(&mut self.render.moving, (index as u32, motion.end.0), "shapes")?;
        }
        // Consecutive shapes often have the same class, so the name of a class is checked only when it changes.
        if self.entities.last_class != Some(class) {
            self.entities.last_class = Some(class);
            let old = versions::of_class(PbrtKind::Shape, content.text(event.a)).filter(|_| !self.warned_of_version);
            if let Some(version) = old {
                let what = format!("shape `{}`", shown(content.text(event.a)));
                self.note_version(event.spot, &what, version)?;
            }
        }
        // Once seen, the class is recognized by its number, without comparing text.
        if self.entities.plymesh == Some(class) || content.text(event.a) == "plymesh" {
            self.entities.plymesh = Some(class);
            self.plymesh(index, event.spot)?;
        }
        if self.options.faults.is_thorough {
            self.check_shape(index, event.spot)?;
        }
        Ok(())
    }

    #[cold]
    fn too_many(&mut self, spot: Spot, what: &str) -> Result<()> {
        let limit = self.options.limits.elements;
        let message = format!("the scene has more {what} than the limit `elements` ({limit})");
        self.limit(spot, message, elements_hint(limit))
    }

    /// Records a shape whose mesh is in a file.
    #[cold]
    fn plymesh(&mut self, index: usize, spot: Spot) -> Result<()> {
        let name = self.render.shape(index).and_then(|shape| shape.parameters().string("filename"));
        let Some(name) = name.map(polyhaul_model::error::try_string).transpose()? else {
            return self.broken(
                spot,
                "missing-parameter",
                "this `plymesh` has no parameter \"string filename\"".into(),
            );
        };
        let file = self.frames.last().map_or(0, |frame| frame.file);
        let place = self.place_of(self.at(spot));
        let folder = self.library.folder(file);
        try_push(&mut self.meshes, MeshUse { shape: index as u32, name, folder, place }, "meshes")
    }

    /// Returns the index of the current shape state, which is added if it is new.
    #[cold]
    fn shape_state(&mut self) -> Result<u32> {
        let graphics = &mut self.state.graphics;
        let state = ShapeState {
            material: graphics.material,
            area_light: (graphics.area_light != NONE).then_some(graphics.area_light),
            inside: graphics.inside,
            outside: graphics.outside,
            reverse_orientation: graphics.reverse,
            attributes: (graphics.attributes[0] != NONE).then_some(graphics.attributes[0]),
            color_space: graphics.color_space,
        };
        let number = match self.entities.states.get(&state) {
            Some(&number) => number,
            None => {
                let number = self.render.states.len() as u32;
                try_push(&mut self.render.states, state, "states")?;
                self.entities.states.try_reserve(1).map_err(|_| Error::memory("states"))?;
                self.entities.states.insert(state, number);
                number
            }
        };
        graphics.shape_state = number;
        Ok(number)
    }

    /// Returns the index of a named object, defined or not, and whether it is new.
    #[inline]
    fn object(&mut self, name: Name) -> Result<(u32, bool)> {
        let at = name.0 as usize;
        if let Some(object) = self.entities.objects.get(at).and_then(|object| object.checked_sub(1)) {
            return Ok((object, false));
        }
        let objects = &mut self.entities.objects;
        if objects.len() <= at {
            objects.try_reserve(at + 1 - objects.len())?;
            objects.resize(at + 1, 0);
        }
        let number = self.render.objects.len() as u32;
        objects[at] = number + 1;
        try_push(&mut self.render.objects, ObjectDefinition { name, shapes: 0..0, missing: true }, "objects")?;
        Ok((number, true))
    }

    /// Adds an instance.
    #[inline]
    pub(super) fn instance(&mut self, name: Name, spot: Spot) -> Result<()> {
        if self.state.object.is_some() {
            let message = "`ObjectInstance` is not allowed between `ObjectBegin` and `ObjectEnd`";
            return self.broken(spot, "nested-object", message.into());
        }
        let (object, is_new) = self.object(name)?;
        // The definition may follow; `finish` reports uses without one.
        if is_new {
            let at = self.at(spot);
            self.entities.object_uses.try_reserve(1).map_err(|_| Error::memory("names"))?;
            self.entities.object_uses.insert(object, at);
        }
        let index = self.render.instances.objects.len();
        if index as u64 >= self.options.limits.elements {
            return self.too_many(spot, "instances");
        }
        self.place_instance(index as u32)?;
        try_push(&mut self.render.instances.objects, object, "instances")
    }

    /// Sets the placement of the instance at `index`. Usually its matrix follows the previous one of the last run; then
    /// nothing is stored.
    #[inline]
    fn place_instance(&mut self, index: u32) -> Result<()> {
        let motion = self.state.graphics.motion;
        let node = (motion.start == motion.end).then(|| self.render.nodes.get(motion.start.0 as usize)).flatten();
        let runs = &self.render.instances.runs;
        let placing = match node {
            // A matrix node is inlined into the run, unless it is also referenced elsewhere and therefore kept.
            Some(node) if matches!(node.step, StepKind::Replace | StepKind::Concat) && !self.is_kept(motion.start) => {
                if let Some(&InstanceRun { first, placing: Placing::Matrices { parent, step, segment, at } }) =
                    runs.last()
                    && (parent, step, segment) == (node.parent, node.step, node.segment)
                    && (node.at == at + 12 * (index - first) || planted("pbrt-instances"))
                {
                    return Ok(());
                }
                Placing::Matrices { parent: node.parent, step: node.step, segment: node.segment, at: node.at }
            }
            _ => Placing::Motion(motion),
        };
        match placing {
            Placing::Matrices { parent, .. } => {
                let parent = Transform(parent);
                self.keep(Motion { start: parent, end: parent });
            }
            Placing::Motion(motion) => self.keep(motion),
        }
        try_push(&mut self.render.instances.runs, InstanceRun { first: index, placing }, "instances")
    }

    pub(super) fn start_object(&mut self, name: Name, spot: Spot) -> Result<()> {
        if self.state.object.is_some() {
            let message = "`ObjectBegin` is not allowed between `ObjectBegin` and `ObjectEnd`";
            return self.broken(spot, "nested-object", message.into());
        }
        let (object, _) = self.object(name)?;
        let count = self.render.shapes.len();
        let Some(definition) = self.render.objects.get_mut(object as usize) else { return Ok(()) };
        if !definition.missing {
            return self.redefined(name, "object", spot);
        }
        definition.missing = false;
        definition.shapes = count..count;
        self.open_scope(spot, true)?;
        self.state.object = Some(object as usize);
        self.entities.object_uses.remove(&object);
        Ok(())
    }

    pub(super) fn end_object(&mut self) {
        let count = self.render.shapes.len();
        if let Some(object) = self.state.object.take().and_then(|object| self.render.objects.get_mut(object)) {
            object.shapes.end = count;
        }
    }

    pub(super) fn use_material(&mut self, name: Name, spot: Spot) -> Result<()> {
        if !self.entities.materials.contains(&name) && !self.entities.material_uses.contains_key(&name) {
            let at = self.at(spot);
            self.entities.material_uses.try_reserve(1).map_err(|_| Error::memory("names"))?;
            self.entities.material_uses.insert(name, at);
            try_push(&mut self.entities.material_order, name, "names")?;
        }
        Ok(())
    }

    /// Executes options and directives with parameters.
    pub(super) fn entity(
        &mut self,
        directive: Directive,
        event: &PbrtEvent,
        content: &PieceContent,
        segment: u32,
    ) -> Result<()> {
        use Directive as D;
        if directive == D::Option {
            let name = content.name(event.a);
            let value = content.name(event.b);
            return self.option(Setting { name, value, quoted: event.count == 1 }, event.spot);
        }
        let name =
            if directive == D::Texture { content.operands.get(event.a as usize).copied() } else { Some(event.a) };
        let graphics = self.state.graphics;
        // The indices follow the order of the targets in `attribute`.
        let attributes = match directive {
            D::LightSource | D::AreaLightSource => graphics.attributes[1],
            D::Material | D::MakeNamedMaterial => graphics.attributes[2],
            D::MakeNamedMedium => graphics.attributes[3],
            D::Texture => graphics.attributes[4],
            _ => NONE,
        };
        let has_transform = matches!(directive, D::Camera | D::LightSource | D::MakeNamedMedium | D::Texture);
        let entity = Entity {
            name: content.name(name.unwrap_or_default()),
            parameters: ParameterRange { segment, start: event.b, count: u32::from(event.count) },
            color_space: graphics.color_space,
            attributes: (attributes != NONE).then_some(attributes),
            motion: if has_transform { graphics.motion } else { Motion::IDENTITY },
            medium: if matches!(directive, D::Camera | D::LightSource) { graphics.outside } else { None },
        };
        self.keep(entity.motion);
        self.warn_of_old_class(directive, &entity, event, content)?;
        if self.options.faults.is_thorough {
            self.check_entity(directive, &entity, event, content)?;
        }
        match directive {
            D::Camera => return self.camera(entity),
            D::Film => self.render.film = Some(entity),
            D::PixelFilter => self.render.filter = Some(entity),
            D::Sampler => self.render.sampler = Some(entity),
            D::Integrator => self.render.integrator = Some(entity),
            D::Accelerator => self.render.accelerator = Some(entity),
            D::LightSource => try_push(&mut self.render.lights, entity, "lights")?,
            D::AreaLightSource => {
                self.state.graphics.area_light = self.render.area_lights.len() as u32;
                // The cached state of shapes does not have this light.
                self.state.graphics.shape_state = NONE;
                try_push(&mut self.render.area_lights, entity, "lights")?;
            }
            D::Material => {
                self.state.graphics.material = MaterialUse::Index(self.render.materials.len() as u32);
                self.state.graphics.shape_state = NONE;
                try_push(&mut self.render.materials, Material { entity, is_named: false }, "materials")?;
            }
            D::MakeNamedMaterial => self.named_material(entity, event.spot)?,
            D::MakeNamedMedium => self.medium(entity, event.spot)?,
            D::Texture => self.texture(entity, event, content)?,
            D::Attribute => self.attribute(entity, event, content)?,
            _ => {}
        }
        Ok(())
    }

    /// Warns about the first class or parameter that only older versions have.
    fn warn_of_old_class(
        &mut self,
        directive: Directive,
        entity: &Entity,
        event: &PbrtEvent,
        content: &PieceContent,
    ) -> Result<()> {
        let Some(kind) = PbrtKind::of_directive(directive).filter(|_| !self.warned_of_version) else { return Ok(()) };
        let class = match directive {
            Directive::MakeNamedMaterial | Directive::MakeNamedMedium => {
                self.render.parameters(entity).string("type").unwrap_or_default()
            }
            Directive::Texture => content.operands.get(event.a as usize + 2).map_or("", |&class| content.text(class)),
            _ => content.text(event.a),
        };
        if let Some(version) = versions::of_class(kind, class) {
            let what = format!("{} `{}`", kind.name(), shown(class));
            return self.note_version(event.spot, &what, version);
        }
        let names = self.render.parameters(entity);
        let old =
            names.iter().find_map(|parameter| Some((parameter.name, versions::of_parameter(kind, parameter.name)?)));
        let Some((name, version)) = old else { return Ok(()) };
        let what = format!("{} parameter `{}`", kind.name(), shown(name));
        self.note_version(event.spot, &what, version)
    }

    #[cold]
    fn note_version(&mut self, spot: Spot, what: &str, version: PbrtVersion) -> Result<()> {
        self.warned_of_version = true;
        let message = format!(
            "the {what} is from {} and is not supported by pbrt-v4; further outdated names are not reported",
            version.name()
        );
        let note = PbrtComplaint::at(spot, Weight::Note, "old-version", message);
        self.complaint(&PbrtComplaint { hint: Some(version.remedy().to_owned()), ..note })
    }

    fn option(&mut self, setting: Setting, spot: Spot) -> Result<()> {
        /// Options of pbrt-v4.
        const OPTIONS: [&str; 11] = [
            "disablepixeljitter",
            "disabletexturefiltering",
            "disablewavelengthjitter",
            "displacementedgescale",
            "forcediffuse",
            "msereferenceimage",
            "msereferenceout",
            "pixelstats",
            "rendercoordsys",
            "seed",
            "wavefront",
        ];
        let text = self.render.text(setting.name);
        // pbrt ignores case, hyphens and underscores in option names.
        let plain: String = text.chars().filter(|c| !matches!(c, '-' | '_')).collect::<String>().to_ascii_lowercase();
        if !OPTIONS.contains(&plain.as_str()) {
            let message = format!("`{}` is not a pbrt option", shown(text));
            return self.broken(spot, "unknown-option", message);
        }
        try_push(&mut self.render.options, setting, "options")
    }

    fn camera(&mut self, entity: Entity) -> Result<()> {
        self.render.camera = Some(entity);
        // As in pbrt, `camera` names the inverse of the camera's transform.
        let name = self.name("camera")?;
        let motion = self.inverse()?;
        self.name_system(name, motion)
    }

    fn named_material(&mut self, entity: Entity, spot: Spot) -> Result<()> {
        self.entities.materials.try_reserve(1).map_err(|_| Error::memory("names"))?;
        if !self.entities.materials.insert(entity.name) {
            return self.redefined(entity.name, "material", spot);
        }
        self.entities.material_uses.remove(&entity.name);
        try_push(&mut self.render.materials, Material { entity, is_named: true }, "materials")
    }

    fn medium(&mut self, entity: Entity, spot: Spot) -> Result<()> {
        self.entities.media.try_reserve(1).map_err(|_| Error::memory("names"))?;
        if !self.entities.media.insert(entity.name) {
            return self.redefined(entity.name, "medium", spot);
        }
        try_push(&mut self.render.media, entity, "media")
    }

    fn texture(&mut self, entity: Entity, event: &PbrtEvent, content: &PieceContent) -> Result<()> {
        let operand = |at: u32| content.operands.get((event.a + at) as usize).copied().unwrap_or_default();
        let is_spectrum = match content.text(operand(1)) {
            "spectrum" => true,
            "float" => false,
            "color" => {
                let message = "the texture type `color` is from pbrt-v3 or earlier; pbrt-v4 calls it `spectrum`";
                let hint = format!("{}, or write `spectrum`", PbrtVersion::V3OrOlder.remedy());
                let old = PbrtComplaint::at(event.spot, Weight::Broken, "old-syntax", message.into());
                self.complaint(&PbrtComplaint { hint: Some(hint), ..old })?;
                true
            }
            other => {
                let message = format!("`{}` is not a texture type; expected `float` or `spectrum`", shown(other));
                return self.broken(event.spot, "bad-value", message);
            }
        };
        self.entities.textures.try_reserve(1).map_err(|_| Error::memory("names"))?;
        if !self.entities.textures.insert((entity.name, is_spectrum)) {
            return self.redefined(entity.name, "texture", event.spot);
        }
        let class = content.name(operand(2));
        try_push(&mut self.render.textures, Texture { entity, class, is_spectrum }, "textures")
    }

    #[cold]
    fn redefined(&mut self, name: Name, what: &str, spot: Spot) -> Result<()> {
        // An error stops the read, so no definition is used.
        let outcome = if self.options.faults.raises() { "" } else { "; the first definition is used" };
        let message = format!("duplicate {what} `{}`{outcome}", shown(self.render.text(name)));
        self.broken(spot, "redefined", message)
    }

    fn attribute(&mut self, entity: Entity, event: &PbrtEvent, content: &PieceContent) -> Result<()> {
        let targets = ["shape", "light", "material", "medium", "texture"];
        let text = content.text(event.a);
        let Some(target) = targets.iter().position(|target| *target == text) else {
            let message =
                format!("`Attribute` cannot be used for `{}`; expected one of {}", shown(text), targets.join(", "));
            return self.broken(event.spot, "bad-value", message);
        };
        let number = self.render.attributes.len() as u32;
        let before = self.state.graphics.attributes[target];
        let before = (before != NONE).then_some(before);
        try_push(&mut self.render.attributes, Attribute { before, entity }, "attributes")?;
        self.state.graphics.attributes[target] = number;
        self.state.graphics.shape_state = NONE;
        Ok(())
    }
}
