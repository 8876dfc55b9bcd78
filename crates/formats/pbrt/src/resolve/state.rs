//! Tracks the graphics state: the settings that apply to subsequent entities, and the scopes that end them.

use super::super::directive::Directive;
use super::super::event::{PbrtEvent, PieceContent, Spot};
use super::{PbrtScene, SceneSpot};
use polyhaul_model::error::{Result, try_push};
use polyhaul_model::render::{MaterialUse, Motion, Name, Node, StepKind, Transform};
use std::collections::HashMap;

/// Marks a missing index.
pub(super) const NONE: u32 = u32::MAX;

/// Coordinate systems by name.
pub(super) type Systems = HashMap<Name, Motion>;

/// State that applies to subsequent entities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Graphics {
    pub(super) motion: Motion,
    /// The transforms that directives change, as bits: 1 for the start of the shutter interval, 2 for its end.
    pub(super) active: u8,
    pub(super) reverse: bool,
    pub(super) color_space: Option<Name>,
    pub(super) material: MaterialUse,
    pub(super) area_light: u32,
    pub(super) inside: Option<Name>,
    pub(super) outside: Option<Name>,
    /// Latest `Attribute` directive for each of shapes, lights, materials, media and textures.
    pub(super) attributes: [u32; 5],
    /// Index of this state among the shape states; `NONE` if it has not been added yet.
    pub(super) shape_state: u32,
}

/// An open scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateScope {
    graphics: Graphics,
    is_object: bool,
    /// Number of transforms when it was opened.
    node_count: u32,
    at: SceneSpot,
}

/// State of the scene.
pub(super) struct PbrtState {
    pub(super) graphics: Graphics,
    pub(super) scopes: Vec<StateScope>,
    /// Number of scopes opened outside the imported file.
    pub(super) open_from: usize,
    pub(super) systems: Systems,
    pub(super) in_world: bool,
    /// Index of the object being defined.
    pub(super) object: Option<usize>,
    /// Transforms below this index are or may be referenced.
    used_nodes: u32,
}

impl Default for PbrtState {
    fn default() -> Self {
        let graphics = Graphics {
            motion: Motion::IDENTITY,
            active: 3,
            reverse: false,
            color_space: None,
            material: MaterialUse::Default,
            area_light: NONE,
            inside: None,
            outside: None,
            attributes: [NONE; 5],
            shape_state: NONE,
        };
        PbrtState {
            graphics,
            scopes: Vec::new(),
            open_from: 0,
            systems: HashMap::new(),
            in_world: false,
            object: None,
            used_nodes: 0,
        }
    }
}

/// Returns whether a directive is misplaced, given whether the world block has started.
#[inline]
fn is_misplaced(directive: Directive, in_world: bool) -> bool {
    use Directive as D;
    match directive {
        D::AttributeBegin
        | D::AttributeEnd
        | D::TransformBegin
        | D::TransformEnd
        | D::ReverseOrientation
        | D::ObjectBegin
        | D::ObjectEnd
        | D::ObjectInstance
        | D::Shape
        | D::LightSource
        | D::AreaLightSource
        | D::Material
        | D::MakeNamedMaterial
        | D::NamedMaterial
        | D::Texture => !in_world,
        D::Camera
        | D::Film
        | D::Sampler
        | D::Integrator
        | D::PixelFilter
        | D::Accelerator
        | D::TransformTimes
        | D::WorldBegin => in_world,
        _ => false,
    }
}

impl PbrtScene<'_> {
    /// Executes a directive.
    #[inline]
    pub(super) fn directive(
        &mut self,
        directive: Directive,
        full: bool,
        event: &PbrtEvent,
        content: &PieceContent,
        segment: u32,
    ) -> Result<()> {
        use Directive as D;
        if is_misplaced(directive, self.state.in_world) {
            return self.misplaced(directive, event.spot);
        }
        match directive {
            D::AttributeBegin => self.open_scope(event.spot, false),
            D::AttributeEnd => self.close_scope(event.spot, false),
            D::Transform => self.step(if full { StepKind::ReplaceAll } else { StepKind::Replace }, segment, event.a),
            D::ConcatTransform => {
                self.step(if full { StepKind::ConcatAll } else { StepKind::Concat }, segment, event.a)
            }
            D::ObjectInstance => self.instance(content.name(event.a), event.spot),
            D::Shape => self.shape(event, content, segment),
            D::TransformBegin => {
                self.warn_of_old_scope(event.spot)?;
                self.open_scope(event.spot, false)
            }
            D::TransformEnd => self.close_scope(event.spot, false),
            D::ObjectBegin => self.start_object(content.name(event.a), event.spot),
            D::ObjectEnd => self.close_scope(event.spot, true),
            D::Translate => self.step(StepKind::Translate, segment, event.a),
            D::Scale => self.step(StepKind::Scale, segment, event.a),
            D::Rotate => self.step(StepKind::Rotate, segment, event.a),
            D::LookAt => self.step(StepKind::LookAt, segment, event.a),
            D::WorldEnd => Ok(()),
            D::Identity
            | D::ActiveTransform
            | D::CoordinateSystem
            | D::CoordSysTransform
            | D::WorldBegin
            | D::TransformTimes
            | D::ReverseOrientation
            | D::ColorSpace
            | D::MediumInterface
            | D::NamedMaterial => self.set(directive, event, content, segment),
            _ => self.entity(directive, event, content, segment),
        }
    }

    /// Reports a directive that belongs before or after `WorldBegin`.
    #[cold]
    fn misplaced(&mut self, directive: Directive, spot: Spot) -> Result<()> {
        let message = match (directive, self.state.in_world) {
            (Directive::WorldBegin, _) => "repeated `WorldBegin`: a scene has only one".to_owned(),
            (_, true) => format!("`{}` is allowed only before `WorldBegin`", directive.name()),
            (_, false) => format!("`{}` is allowed only after `WorldBegin`", directive.name()),
        };
        self.broken(spot, "wrong-block", message)
    }

    #[cold]
    fn warn_of_old_scope(&mut self, spot: Spot) -> Result<()> {
        if !std::mem::replace(&mut self.warned_of_transform_begin, true) {
            let message = "`TransformBegin` is from pbrt-v3 or earlier; it is read as `AttributeBegin`, as in pbrt-v4";
            self.note(spot, "transform-begin", message.into())?;
        }
        Ok(())
    }

    /// Executes directives that only change the state.
    fn set(&mut self, directive: Directive, event: &PbrtEvent, content: &PieceContent, segment: u32) -> Result<()> {
        use Directive as D;
        let named = |number: u32| (!content.text(number).is_empty()).then(|| content.name(number));
        let graphics = &mut self.state.graphics;
        match directive {
            D::Identity => graphics.set_active(|_| Transform::IDENTITY),
            D::ActiveTransform => graphics.active = event.a as u8,
            D::CoordinateSystem => {
                let motion = graphics.motion;
                self.name_system(content.name(event.a), motion)?;
            }
            D::CoordSysTransform => match self.state.systems.get(&content.name(event.a)) {
                Some(&motion) => self.state.graphics.motion = motion,
                None => {
                    let name = polyhaul_model::names::shown(content.text(event.a)).into_owned();
                    let message = format!("undefined coordinate system `{name}`; directive skipped");
                    self.note(event.spot, "missing-coordinate-system", message)?;
                }
            },
            D::WorldBegin => {
                self.state.in_world = true;
                // As in pbrt, the transform of the camera does not apply to the world.
                graphics.motion = Motion::IDENTITY;
                graphics.active = 3;
                let world = self.name("world")?;
                self.name_system(world, Motion::IDENTITY)?;
            }
            D::TransformTimes => {
                let numbers = self.render.segments.get(segment as usize).map_or(&[][..], |segment| &segment.doubles);
                self.render.transform_times =
                    numbers.get(event.a as usize..).and_then(|rest| rest.first_chunk()).copied();
            }
            D::ReverseOrientation => graphics.reverse = !graphics.reverse,
            D::ColorSpace => {
                let text = content.text(event.a);
                if !matches!(text, "srgb" | "dci-p3" | "rec2020" | "aces2065-1") {
                    let name = polyhaul_model::names::shown(text).into_owned();
                    let message = format!("`{name}` is not a pbrt color space");
                    return self.broken(event.spot, "unknown-color-space", message);
                }
                // `None` represents the default of pbrt, so that declaring the default changes nothing.
                graphics.color_space = (text != "srgb").then(|| content.name(event.a));
            }

            D::MediumInterface => {
                graphics.inside = named(event.a);
                graphics.outside = named(event.b);
                if self.options.faults.is_thorough {
                    let at = self.at(event.spot);
                    self.checks.media.note(content.text(event.a), at)?;
                    self.checks.media.note(content.text(event.b), at)?;
                }
            }
            D::NamedMaterial => {
                graphics.material = MaterialUse::Named(content.name(event.a));
                self.use_material(content.name(event.a), event.spot)?;
            }
            _ => {}
        }
        self.state.graphics.shape_state = NONE;
        Ok(())
    }

    pub(super) fn name_system(&mut self, name: Name, motion: Motion) -> Result<()> {
        self.keep(motion);
        self.state.systems.try_reserve(1).map_err(|_| polyhaul_model::error::Error::memory("names"))?;
        self.state.systems.insert(name, motion);
        Ok(())
    }

    /// Opens a scope.
    #[inline]
    pub(super) fn open_scope(&mut self, spot: Spot, is_object: bool) -> Result<()> {
        let at = self.at(spot);
        let node_count = self.render.nodes.len() as u32;
        let scope = StateScope { graphics: self.state.graphics, is_object, node_count, at };
        try_push(&mut self.state.scopes, scope, "scopes")
    }

    /// Closes a scope.
    #[inline]
    fn close_scope(&mut self, spot: Spot, is_object: bool) -> Result<()> {
        // An imported file cannot close the scopes of the file that imports it.
        let scope = self.state.scopes.last().filter(|_| self.state.scopes.len() > self.state.open_from);
        let Some(&StateScope { graphics, is_object: of_object, node_count, at }) = scope else {
            return self.unmatched(spot, is_object);
        };
        if is_object != of_object {
            let (end, open) = if is_object { ("ObjectEnd", "Attribute") } else { ("AttributeEnd", "Object") };
            let open_at = self.place_of(at);
            let message = format!("found `{end}`, expected `{open}End` for the `{open}Begin` at {open_at}");
            return self.broken(spot, "mismatched-scopes", message);
        }
        self.state.scopes.pop();
        self.state.graphics = graphics;
        self.drop_nodes(node_count);
        if is_object {
            self.end_object();
        }
        Ok(())
    }

    #[cold]
    fn unmatched(&mut self, spot: Spot, is_object: bool) -> Result<()> {
        if is_object {
            return self.broken(spot, "unmatched-end", "`ObjectEnd` without `ObjectBegin`".into());
        }
        // A warning rather than an error, as in pbrt.
        self.note(spot, "unmatched-end", "`AttributeEnd` without `AttributeBegin`; directive skipped".into())
    }

    /// Reports scopes left open at the end of a scene or an imported file.
    pub(super) fn check_scopes(&mut self) -> Result<()> {
        let Some(scope) = self.state.scopes.last().filter(|_| self.state.scopes.len() > self.state.open_from) else {
            return Ok(());
        };
        let name = if scope.is_object { "ObjectBegin" } else { "AttributeBegin" };
        let place = self.place_of(scope.at);
        let count = self.state.scopes.len() - self.state.open_from;
        let others = if count > 1 { format!(" (the innermost of {count} open scopes)") } else { String::new() };
        // The object may enclose the innermost scope.
        if self.state.scopes[self.state.open_from..].iter().any(|scope| scope.is_object) {
            self.end_object();
        }
        self.broken(self.end_of_file(), "unclosed-scope", format!("`{name}` at {place} is not closed{others}"))
    }

    /// Applies a step to the active transforms.
    #[inline]
    fn step(&mut self, step: StepKind, segment: u32, at: u32) -> Result<()> {
        let Motion { start, end } = self.state.graphics.motion;
        let replaces = matches!(step, StepKind::Replace | StepKind::ReplaceAll);
        let mut node = |parent: Transform| -> Result<Transform> {
            // A replacement does not depend on its parent.
            let parent = if replaces { NONE } else { parent.0 };
            let number = self.render.nodes.len() as u32;
            try_push(&mut self.render.nodes, Node { parent, step, segment, at }, "transforms")?;
            Ok(Transform(number))
        };
        self.state.graphics.motion = match self.state.graphics.active {
            // The start and the end share nodes as long as their transforms are equal.
            3 if start == end || replaces => {
                let both = node(start)?;
                Motion { start: both, end: both }
            }
            3 => Motion { start: node(start)?, end: node(end)? },
            1 => Motion { start: node(start)?, end },
            _ => Motion { start, end: node(end)? },
        };
        Ok(())
    }

    /// Returns the inverse of the current transforms.
    pub(super) fn inverse(&mut self) -> Result<Motion> {
        let Motion { start, end } = self.state.graphics.motion;
        let mut node = |parent: Transform| -> Result<Transform> {
            let number = self.render.nodes.len() as u32;
            let node = Node { parent: parent.0, step: StepKind::Inverse, segment: 0, at: 0 };
            try_push(&mut self.render.nodes, node, "transforms")?;
            Ok(Transform(number))
        };
        let first = node(start)?;
        Ok(Motion { start: first, end: if start == end { first } else { node(end)? } })
    }

    /// Marks the transforms of a motion as referenced, so that they are not dropped.
    #[inline]
    pub(super) fn keep(&mut self, motion: Motion) {
        for transform in [motion.start, motion.end] {
            if transform != Transform::IDENTITY {
                // A limit instead of a flag per node, so that dropping nodes is a single truncation.
                self.state.used_nodes = self.state.used_nodes.max(transform.0 + 1);
            }
        }
    }

    /// Returns whether a transform or a later transform is referenced.
    #[inline]
    pub(super) fn is_kept(&self, transform: Transform) -> bool {
        transform.0 < self.state.used_nodes
    }

    /// Drops unreferenced transforms, from index `count` on.
    #[inline]
    pub(super) fn drop_nodes(&mut self, count: u32) {
        self.render.nodes.truncate(count.max(self.state.used_nodes) as usize);
    }
}

impl Graphics {
    fn set_active(&mut self, to: impl Fn(Transform) -> Transform) {
        if self.active & 1 != 0 {
            self.motion.start = to(self.motion.start);
        }
        if self.active & 2 != 0 {
            self.motion.end = to(self.motion.end);
        }
    }
}
