//! Scenes for a renderer, as pbrt-v4 has them: shapes and instances in many places, lights, media, a camera.
//!
//! A [`Render`] is plain data. Entities refer to things by [`Name`]; their parameters are stored in segments, one for
//! each chunk of text, and accessed through [`Parameters`]. The placement of an entity is a node in a tree of
//! transforms, kept as written in the file; to multiply them, see `polyhaul_pbrt::places::places64`. Two scenes are
//! equal if their content is, regardless of how the text was split.

mod equal;
mod instances;
mod parameters;

pub use instances::{Instance, InstanceRun, Instances, Placing};
pub use parameters::{
    Declaration, Parameter, ParameterRange, ParameterType, ParameterValues, Parameters, Segment, StoredParameter,
    Strings, ValueKind,
};

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

/// The index that means "none".
const NONE: u32 = u32::MAX;

/// A name in a scene's table of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub u32);

/// A node of the tree of transforms; [`Transform::IDENTITY`] is its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transform(pub u32);

impl Transform {
    /// Where nothing was said.
    pub const IDENTITY: Transform = Transform(NONE);
}

/// The transforms of an entity when the shutter opens and when it closes. Most entities do not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Motion {
    /// At the first of the transform times.
    pub start: Transform,
    /// At the last.
    pub end: Transform,
}

impl Motion {
    /// What does not move from the origin.
    pub const IDENTITY: Motion = Motion { start: Transform::IDENTITY, end: Transform::IDENTITY };

    /// Whether it moves.
    pub fn is_animated(self) -> bool {
        self.start != self.end
    }
}

/// What a node of the tree does to its parent. Numbers are the nearest f64s, and such that rounding one to an f32
/// gives the nearest f32 of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// `Translate`: x, y, z.
    Translate([f64; 3]),
    /// `Scale`: x, y, z.
    Scale([f64; 3]),
    /// `Rotate`: degrees and an axis.
    Rotate([f64; 4]),
    /// `LookAt`: the eye, the point looked at, and up.
    LookAt([f64; 9]),
    /// `Transform`: replaces what was there. 16 numbers as the file has them: column by column.
    Replace([f64; 16]),
    /// `ConcatTransform`: multiplies it. 16 numbers as the file has them: column by column.
    Concat([f64; 16]),
    /// The inverse of its parent: the coordinate system `camera`.
    Inverse,
}

/// A node as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node that it is a child of.
    pub parent: u32,
    /// What kind of step it is.
    pub step: StepKind,
    /// The segment that has its numbers.
    pub segment: u32,
    /// Where its numbers begin in the segment.
    pub at: u32,
}

/// A kind of step; its numbers are doubles of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Three numbers.
    Translate,
    /// Three numbers.
    Scale,
    /// An angle in degrees and an axis: four numbers.
    Rotate,
    /// Eye, point and up: nine numbers.
    LookAt,
    /// Twelve numbers: the last row is 0 0 0 1.
    Replace,
    /// Twelve numbers: the last row is 0 0 0 1.
    Concat,
    /// Sixteen.
    ReplaceAll,
    /// Sixteen numbers.
    ConcatAll,
    /// The inverse of a node.
    Inverse,
}

/// Something with a kind or name, and parameters.
#[derive(Clone, Copy, Debug)]
pub struct Entity {
    /// What the directive names: a class (`"trianglemesh"`), or the name that is defined.
    pub name: Name,
    /// Its parameters.
    pub parameters: ParameterRange,
    /// The color space of its colors; `None` for sRGB.
    pub color_space: Option<Name>,
    /// What `Attribute` said of such things before: an index into [`Render::attributes`].
    pub attributes: Option<u32>,
    /// Where it stands.
    pub motion: Motion,
    /// The medium around it: of cameras and lights.
    pub medium: Option<Name>,
}

/// An option (`Option "seed" 3`).
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: Name,
    /// Its value, as the text has it, without quotes.
    pub value: Name,
    /// Whether the value stands in quotes.
    pub quoted: bool,
}

/// What `Attribute` says: parameters for all things of a kind that come later.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// What was said before and still holds: an index into [`Render::attributes`].
    pub before: Option<u32>,
    /// The parameters; its name is what they are for: `shape`, `light`, `material`, `medium` or `texture`.
    pub entity: Entity,
}

/// A texture: the entity's name is the texture's.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// Its name, parameters and place.
    pub entity: Entity,
    /// Its class (`imagemap`).
    pub class: Name,
    /// Whether its values are spectra; otherwise they are floats.
    pub is_spectrum: bool,
}

/// A material.
#[derive(Clone, Copy, Debug)]
pub struct Material {
    /// Its class, where it has no name; its name otherwise, and the parameter `type` is its class.
    pub entity: Entity,
    /// Whether the entity's name is a name (`MakeNamedMaterial`).
    pub is_named: bool,
}

/// Which material a shape has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaterialUse {
    /// None was named: a diffuse one.
    #[default]
    Default,
    /// An index into [`Render::materials`].
    Index(u32),
    /// The named material of this name, which may be defined later, or nowhere.
    Named(Name),
}

/// State shared by many shapes; nothing is set by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShapeState {
    /// The material.
    pub material: MaterialUse,
    /// The light that it gives: an index into [`Render::area_lights`].
    pub area_light: Option<u32>,
    /// The medium inside.
    pub inside: Option<Name>,
    /// The medium outside.
    pub outside: Option<Name>,
    /// Whether its surface faces the other way.
    pub reverse_orientation: bool,
    /// What `Attribute` said of shapes: an index into [`Render::attributes`].
    pub attributes: Option<u32>,
    /// The color space of its colors; `None` for sRGB.
    pub color_space: Option<Name>,
}

/// A shape as it is kept.
#[derive(Clone, Copy, Debug)]
pub struct StoredShape {
    /// The name of its type, such as `sphere`.
    pub class: Name,
    /// An index into [`Render::states`].
    pub state: u32,
    /// The node where it stands.
    pub transform: u32,
    /// Its parameters.
    pub parameters: ParameterRange,
}

/// A shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    render: &'a Render,
    stored: &'a StoredShape,
    /// Its index among all shapes.
    pub index: usize,
}

/// A definition that instances show: a range of shapes.
#[derive(Clone, Debug)]
pub struct ObjectDefinition {
    /// Its name.
    pub name: Name,
    /// Its shapes: indices into [`Render::shapes`].
    pub shapes: Range<usize>,
    /// Whether the definition is used but missing. It is then kept by name only, with a warning.
    pub missing: bool,
}

/// A scene for a renderer.
#[derive(Clone, Debug, Default)]
pub struct Render {
    /// Options, in the order of the file.
    pub options: Vec<Setting>,
    /// The camera.
    pub camera: Option<Entity>,
    /// The film.
    pub film: Option<Entity>,
    /// The pixel filter.
    pub filter: Option<Entity>,
    /// The sampler.
    pub sampler: Option<Entity>,
    /// The integrator.
    pub integrator: Option<Entity>,
    /// The accelerator.
    pub accelerator: Option<Entity>,
    /// The times of [`Motion`]; 0 and 1 where the file does not say.
    pub transform_times: Option<[f64; 2]>,
    /// What `Attribute` said.
    pub attributes: Vec<Attribute>,
    /// Media.
    pub media: Vec<Entity>,
    /// Textures.
    pub textures: Vec<Texture>,
    /// Materials, named and not.
    pub materials: Vec<Material>,
    /// Lights.
    pub lights: Vec<Entity>,
    /// Lights that shapes give.
    pub area_lights: Vec<Entity>,
    /// What many shapes have in common.
    pub states: Vec<ShapeState>,
    /// What instances show, in the order of the file; those that are missing come last.
    pub objects: Vec<ObjectDefinition>,
    /// The instances.
    pub instances: Instances,
    /// The folder that file names in the scene are relative to; `None` if it was not read from a file.
    pub folder: Option<PathBuf>,
    /// Shapes in the order of the text.
    pub shapes: Vec<StoredShape>,
    /// Shapes that move, in order, and their other transform.
    pub moving: Vec<(u32, u32)>,
    /// Shapes that are a mesh of the scene, in order: the shape, and the mesh's index.
    pub meshes: Vec<(u32, u32)>,
    /// The text of each [`Name`].
    pub names: Vec<Box<str>>,
    /// The tree of transforms; the root is the first.
    pub nodes: Vec<Node>,
    /// The values of parameters and transforms, by the piece of text that they come from.
    pub segments: Vec<Segment>,
}

impl Render {
    /// A name as text.
    pub fn text(&self, name: Name) -> &str {
        self.names.get(name.0 as usize).map_or("", |text| text)
    }

    /// How many shapes there are, those of object definitions included.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// The shape at `index`.
    pub fn shape(&self, index: usize) -> Option<Shape<'_>> {
        self.shapes.get(index).map(|stored| Shape { render: self, stored, index })
    }

    /// All shapes, in the order of the file, those of object definitions included.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = Shape<'_>> {
        let shape = |(index, stored)| Shape { render: self, stored, index };
        self.shapes.iter().enumerate().map(shape)
    }

    /// The shapes of no definition, as ranges of indices.
    pub fn world_shapes(&self) -> Vec<Range<usize>> {
        let (mut ranges, mut from) = (Vec::new(), 0);
        for object in self.objects.iter().filter(|object| !object.missing) {
            if object.shapes.start > from {
                ranges.push(from..object.shapes.start);
            }
            from = from.max(object.shapes.end);
        }
        if self.shapes.len() > from {
            ranges.push(from..self.shapes.len());
        }
        ranges
    }

    /// The parameters of an entity.
    pub fn parameters(&self, entity: &Entity) -> Parameters<'_> {
        Parameters::new(self, entity.parameters)
    }

    /// What a transform does, and to which; `None` for the identity.
    pub fn step(&self, transform: Transform) -> Option<(Transform, Step)> {
        let node = self.nodes.get(transform.0 as usize)?;
        Some((Transform(node.parent), self.step_of(node.step, node.segment, node.at)))
    }

    /// How many nodes the tree has: a node's parent has a lower index than itself.
    pub fn transform_count(&self) -> usize {
        self.nodes.len()
    }

    /// The node at `index`, which is less than [`Render::transform_count`].
    pub fn transform(&self, index: usize) -> Transform {
        Transform(index as u32)
    }

    /// A node's index; `None` for the identity.
    pub fn transform_index(&self, transform: Transform) -> Option<usize> {
        let index = transform.0 as usize;
        (index < self.nodes.len()).then_some(index)
    }

    /// The step that a node of this kind stands for.
    pub fn step_of(&self, kind: StepKind, segment: u32, at: u32) -> Step {
        let numbers = self.segments.get(segment as usize).map_or(&[][..], |segment| &segment.doubles);
        let numbers = numbers.get(at as usize..).unwrap_or_default();
        match kind {
            StepKind::Translate => Step::Translate(first(numbers)),
            StepKind::Scale => Step::Scale(first(numbers)),
            StepKind::Rotate => Step::Rotate(first(numbers)),
            StepKind::LookAt => Step::LookAt(first(numbers)),
            StepKind::Replace => Step::Replace(whole(first(numbers))),
            StepKind::Concat => Step::Concat(whole(first(numbers))),
            StepKind::ReplaceAll => Step::Replace(first(numbers)),
            StepKind::ConcatAll => Step::Concat(first(numbers)),
            StepKind::Inverse => Step::Inverse,
        }
    }

    /// The numbers of a matrix that moves no infinity: four columns of three.
    pub fn columns(&self, segment: u32, at: u32) -> [f64; 12] {
        let numbers = self.segments.get(segment as usize).map_or(&[][..], |segment| &segment.doubles);
        first(numbers.get(at as usize..).unwrap_or_default())
    }

    /// The other end of a shape's motion.
    fn end_of(&self, shape: usize) -> Option<Transform> {
        let at = self.moving.binary_search_by_key(&(shape as u32), |&(shape, _)| shape).ok()?;
        self.moving.get(at).map(|&(_, end)| Transform(end))
    }
}

/// The first of some numbers; zeros where there are fewer.
fn first<const N: usize>(numbers: &[f64]) -> [f64; N] {
    numbers.first_chunk().copied().unwrap_or([0.0; N])
}

/// Four columns of three numbers with the last row of what moves no infinity.
fn whole(columns: [f64; 12]) -> [f64; 16] {
    let mut all = [0.0; 16];
    for (to, from) in all.chunks_exact_mut(4).zip(columns.chunks_exact(3)) {
        to[..3].copy_from_slice(from);
    }
    all[15] = 1.0;
    all
}

impl<'a> Shape<'a> {
    /// Its class (`trianglemesh`).
    pub fn class(&self) -> &'a str {
        self.render.text(self.stored.class)
    }

    /// Its parameters.
    pub fn parameters(&self) -> Parameters<'a> {
        Parameters::new(self.render, self.stored.parameters)
    }

    /// What it has in common with others: an index into [`Render::states`].
    pub fn state_index(&self) -> usize {
        self.stored.state as usize
    }

    /// What it has in common with others.
    pub fn state(&self) -> Option<&'a ShapeState> {
        self.render.states.get(self.stored.state as usize)
    }

    /// Where it stands.
    pub fn motion(&self) -> Motion {
        let start = Transform(self.stored.transform);
        Motion { start, end: self.render.end_of(self.index).unwrap_or(start) }
    }

    /// The mesh that it names, an index into [`crate::Scene::meshes`]; `None` for other shapes, and where it
    /// was not loaded.
    pub fn mesh(&self) -> Option<usize> {
        let meshes = &self.render.meshes;
        let at = meshes.binary_search_by_key(&(self.index as u32), |&(shape, _)| shape).ok()?;
        meshes.get(at).map(|&(_, mesh)| mesh as usize)
    }
}

/// Names of files that are written otherwise than the scene has them.
#[derive(Debug, Default)]
pub struct RenamedFiles<'a> {
    /// By the folder of the file that says a name, and the name: what is written; `None` for what stays.
    pub names: HashMap<(&'a str, &'a str), Option<String>>,
}
