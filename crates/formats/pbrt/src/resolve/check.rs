//! Validates scenes: names that pbrt-v4 does not have, undefined names, and invalid meshes.
//!
//! Only validation runs these checks; plain reading keeps the content of scenes. Indices are checked while a shape is
//! parsed, in `parameters`. Nothing here changes the scene.

use super::super::directive::Directive;
use super::super::event::{PbrtEvent, PieceContent, Spot};
use super::super::known;
use super::super::parameters::missing_arrays;
use super::super::versions::{self, PbrtKind};
use super::{PbrtScene, SceneSpot};
use polyhaul_model::error::{Diagnostic, Error, Result, try_push, try_string};
use polyhaul_model::names::shown;
use polyhaul_model::render::{Entity, ParameterType, ParameterValues, Parameters, Shape};
use std::collections::HashSet;

/// Names that are used, each with its first use.
#[derive(Default)]
pub(super) struct NameUses {
    seen: HashSet<String>,
    first: Vec<(String, SceneSpot)>,
}

impl NameUses {
    pub(super) fn note(&mut self, name: &str, at: SceneSpot) -> Result<()> {
        if name.is_empty() || self.seen.contains(name) {
            return Ok(());
        }
        self.seen.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.seen.insert(try_string(name)?);
        try_push(&mut self.first, (try_string(name)?, at), "names")
    }
}

/// Uses of names, to be checked at the end of a scene.
#[derive(Default)]
pub(super) struct PbrtChecks {
    pub(super) textures: NameUses,
    pub(super) media: NameUses,
    /// Materials used by mixes.
    pub(super) mixed_materials: NameUses,
}

/// A fault of an entity: code and message.
type EntityFault = (&'static str, String);

impl PbrtScene<'_> {
    /// Checks the class and the parameters of an entity.
    pub(super) fn check_entity(
        &mut self,
        directive: Directive,
        entity: &Entity,
        event: &PbrtEvent,
        content: &PieceContent,
    ) -> Result<()> {
        let Some(kind) = PbrtKind::of_directive(directive) else { return Ok(()) };
        let parameters = self.render.parameters(entity);
        let class = match directive {
            Directive::MakeNamedMaterial | Directive::MakeNamedMedium => parameters.string("type").unwrap_or_default(),
            Directive::Texture => content.operands.get(event.a as usize + 2).map_or("", |&class| content.text(class)),
            _ => content.text(event.a),
        };
        let mut faults = name_faults(kind, class, parameters);
        let is_named = matches!(directive, Directive::MakeNamedMaterial | Directive::MakeNamedMedium);
        if is_named && class.is_empty() {
            let message = format!("this {} has no parameter \"string type\"", kind.name());
            // The missing type already explains the empty class.
            faults.retain(|(code, _)| *code != "unknown-class");
            faults.push(("missing-parameter", message));
        }
        let textures = texture_names(parameters)?;
        let mixed = if class == "mix" && kind == PbrtKind::Material { mixed_names(parameters)? } else { Vec::new() };
        let at = self.at(event.spot);
        mixed.iter().try_for_each(|name| self.checks.mixed_materials.note(name, at))?;
        self.note_faults(faults, &textures, event.spot)
    }

    /// Checks a shape.
    pub(super) fn check_shape(&mut self, index: usize, spot: Spot) -> Result<()> {
        let Some(shape) = self.render.shape(index) else { return Ok(()) };
        let parameters = shape.parameters();
        let mut faults = name_faults(PbrtKind::Shape, shape.class(), parameters);
        faults.extend(mesh_faults(&shape));
        let textures = texture_names(parameters)?;
        self.note_faults(faults, &textures, spot)
    }

    fn note_faults(&mut self, faults: Vec<EntityFault>, textures: &[String], spot: Spot) -> Result<()> {
        let at = self.at(spot);
        textures.iter().try_for_each(|name| self.checks.textures.note(name, at))?;
        faults.into_iter().try_for_each(|(code, message)| self.note(spot, code, message))
    }

    /// Warns about names that are used but not defined.
    pub(super) fn check_names(&mut self) -> Result<()> {
        if !self.options.faults.is_thorough {
            return Ok(());
        }
        let textures = std::mem::take(&mut self.checks.textures);
        let media = std::mem::take(&mut self.checks.media);
        let materials = std::mem::take(&mut self.checks.mixed_materials);
        let defined = self.render.textures.iter().map(|texture| self.render.text(texture.entity.name));
        let undefined_textures = undefined(textures, defined.collect());
        let defined = self.render.media.iter().map(|medium| self.render.text(medium.name));
        let undefined_media = undefined(media, defined.collect());
        let textures = undefined_textures.into_iter().map(|used| ("undefined-texture", "texture", used));
        let media = undefined_media.into_iter().map(|used| ("undefined-medium", "medium", used));
        let named = self.render.materials.iter().filter(|material| material.is_named);
        let defined = named.map(|material| self.render.text(material.entity.name));
        let undefined_materials = undefined(materials, defined.collect());
        let materials = undefined_materials.into_iter().map(|used| ("undefined-material", "material", used));
        for (code, what, (name, at)) in textures.chain(media).chain(materials) {
            let message = format!("undefined {what} `{}`", shown(&name));
            let diagnostic = Diagnostic { place: self.place_of(at), ..Diagnostic::new(message).about(name) };
            self.warnings.note(self.options.faults, code, diagnostic)?;
        }
        Ok(())
    }
}

/// Returns the uses of names that are not among the defined names.
fn undefined(uses: NameUses, defined: HashSet<&str>) -> Vec<(String, SceneSpot)> {
    uses.first.into_iter().filter(|(name, _)| !defined.contains(&**name)).collect()
}

/// Returns the names of the materials that a mix references.
fn mixed_names(parameters: Parameters<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    if let Some(ParameterValues::Strings(strings)) = parameters.get("materials").map(|parameter| parameter.values) {
        strings.iter().try_for_each(|name| try_push(&mut names, try_string(name)?, "names"))?;
    }
    Ok(names)
}

/// Returns the names of the textures that parameters reference.
fn texture_names(parameters: Parameters<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for parameter in parameters.iter().filter(|parameter| parameter.kind == ParameterType::Texture) {
        if let ParameterValues::Strings(strings) = parameter.values {
            strings.iter().try_for_each(|name| try_push(&mut names, try_string(name)?, "names"))?;
        }
    }
    Ok(names)
}

/// Finds names of classes and parameters that no version of pbrt has. Names of older versions have their own warnings.
fn name_faults(kind: PbrtKind, class: &str, parameters: Parameters<'_>) -> Vec<EntityFault> {
    let mut faults = Vec::new();
    if !known::is_class(kind, class) && versions::of_class(kind, class).is_none() {
        faults.push(("unknown-class", format!("unknown pbrt {} `{}`", kind.name(), shown(class))));
    }
    for parameter in parameters.iter() {
        let name = parameter.name;
        if !known::is_parameter(kind, name) && versions::of_parameter(kind, name).is_none() {
            faults.push((
                "unknown-parameter",
                format!("`{}` is not a parameter of any pbrt {}", shown(name), kind.name()),
            ));
        }
    }
    faults
}

/// Explains why a shape with arrays is not a valid mesh, ignoring its indices.
fn mesh_faults(shape: &Shape<'_>) -> Vec<EntityFault> {
    let class = shape.class();
    let width = match class {
        "trianglemesh" | "loopsubdiv" => 3,
        "bilinearmesh" => 4,
        _ => return Vec::new(),
    };
    let parameters = shape.parameters();
    let Some(points) = parameters.get("P").and_then(|points| points.values.rows::<3>()).map(<[_]>::len) else {
        return vec![("missing-parameter", missing_arrays(class, 0))];
    };
    let mut faults = Vec::new();
    match parameters.get("indices").map(|indices| indices.values) {
        // The parser checks them, because it knows the position of each index.
        Some(ParameterValues::Integers(_)) => {}
        _ if points != width => faults.push(("missing-parameter", missing_arrays(class, points))),
        _ => {}
    }
    let counts = [
        ("N", parameters.get("N").map(|normals| normals.values.rows::<3>().map_or(0, <[_]>::len))),
        ("S", parameters.get("S").map(|tangents| tangents.values.rows::<3>().map_or(0, <[_]>::len))),
        ("uv", parameters.get("uv").map(|uvs| uvs.values.rows::<2>().map_or(0, <[_]>::len))),
    ];
    for (name, count) in counts {
        if let Some(count) = count.filter(|count| *count != points) {
            let message = format!("this `{class}` has {count} values of `{name}` for {points} points");
            faults.push(("wrong-count", message));
        }
    }
    faults
}
