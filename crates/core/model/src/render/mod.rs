//! Scenes for a renderer, as in pbrt-v4: shapes, instances, lights, media and a camera.
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
    Declaration, ExactValues, Parameter, ParameterRange, ParameterType, ParameterValues, Parameters, Segment,
    StoredParameter, Strings, ValueKind,
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
    /// No transform.
    pub const IDENTITY: Transform = Transform(NONE);
}

/// The transforms of an entity when the shutter opens and when it closes. Most entities do not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Motion {
    /// The transform at the first of the transform times.
    pub start: Transform,
    /// The transform at the last.
    pub end: Transform,
}

impl Motion {
    /// No transform and no motion.
    pub const IDENTITY: Motion = Motion { start: Transform::IDENTITY, end: Transform::IDENTITY };

    /// Returns whether the entity moves.
    pub fn is_animated(self) -> bool {
        self.start != self.end
    }
}

/// The operation of a node on the transform of its parent. Numbers are the nearest f64s, adjusted so that rounding one
/// to f32 yields the nearest f32 of the text.
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
    /// `Transform`: replaces the current transform. 16 numbers in file order: column by column.
    Replace([f64; 16]),
    /// `ConcatTransform`: multiplies it. 16 numbers in file order: column by column.
    Concat([f64; 16]),
    /// The inverse of its parent: the coordinate system `camera`.
    Inverse,
}

/// A node as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The parent node.
    pub parent: u32,
    /// The kind of step.
    pub step: StepKind,
    /// The segment with its numbers.
    pub segment: u32,
    /// The index of the first number in the segment's doubles.
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
    /// Sixteen numbers.
    ReplaceAll,
    /// Sixteen numbers.
    ConcatAll,
    /// The inverse of a node.
    Inverse,
}

/// Something with a kind or name, and parameters.
#[derive(Clone, Copy, Debug)]
pub struct Entity {
    /// The name in the directive: a class (`"trianglemesh"`), or the name that is defined.
    pub name: Name,
    /// Its parameters.
    pub parameters: ParameterRange,
    /// The color space of its colors; `None` for sRGB.
    pub color_space: Option<Name>,
    /// The parameters of earlier `Attribute` directives for its kind: an index into [`Render::attributes`].
    pub attributes: Option<u32>,
    /// The placement.
    pub motion: Motion,
    /// The surrounding medium of cameras and lights.
    pub medium: Option<Name>,
}

/// An option (`Option "seed" 3`).
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: Name,
    /// Its value as written, without quotes.
    pub value: Name,
    /// Whether the value is in quotes.
    pub quoted: bool,
}

/// `Attribute`: parameters for all later entities of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// The previous ones still in effect: an index into [`Render::attributes`].
    pub before: Option<u32>,
    /// The parameters; its name is their target: `shape`, `light`, `material`, `medium` or `texture`.
    pub entity: Entity,
}

/// A texture: the entity's name is the texture's.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// Its name, parameters and placement.
    pub entity: Entity,
    /// Its class (`imagemap`).
    pub class: Name,
    /// Whether its values are spectra; otherwise they are floats.
    pub is_spectrum: bool,
}

/// A material.
#[derive(Clone, Copy, Debug)]
pub struct Material {
    /// Its class if it has no name; otherwise its name, with its class in the parameter `type`.
    pub entity: Entity,
    /// Whether the entity's name is a name (`MakeNamedMaterial`).
    pub is_named: bool,
}

/// The material of a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaterialUse {
    /// No material was set: a diffuse one.
    #[default]
    Default,
    /// An index into [`Render::materials`].
    Index(u32),
    /// The named material of this name, which may be defined later, or not at all.
    Named(Name),
}

/// State shared by many shapes; nothing is set by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShapeState {
    /// The material.
    pub material: MaterialUse,
    /// The light it emits: an index into [`Render::area_lights`].
    pub area_light: Option<u32>,
    /// The medium inside.
    pub inside: Option<Name>,
    /// The medium outside.
    pub outside: Option<Name>,
    /// Whether its surface faces the other way.
    pub reverse_orientation: bool,
    /// The parameters of `Attribute` directives for shapes: an index into [`Render::attributes`].
    pub attributes: Option<u32>,
    /// The color space of its colors; `None` for sRGB.
    pub color_space: Option<Name>,
}

/// A shape as stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredShape {
    /// The name of its type, such as `sphere`.
    pub class: Name,
    /// An index into [`Render::states`].
    pub state: u32,
    /// The node of its placement.
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

/// A definition used by instances: a range of shapes.
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
    /// The times of [`Motion`]; 0 and 1 if the file sets none.
    pub transform_times: Option<[f64; 2]>,
    /// The `Attribute` directives.
    pub attributes: Vec<Attribute>,
    /// Media.
    pub media: Vec<Entity>,
    /// Textures.
    pub textures: Vec<Texture>,
    /// Materials, named and not.
    pub materials: Vec<Material>,
    /// Lights.
    pub lights: Vec<Entity>,
    /// Lights of emissive shapes.
    pub area_lights: Vec<Entity>,
    /// State shared by many shapes.
    pub states: Vec<ShapeState>,
    /// The objects of instances, in file order; undefined ones come last.
    pub objects: Vec<ObjectDefinition>,
    /// The instances.
    pub instances: Instances,
    /// The folder that file names in the scene are relative to; `None` if it was not read from a file.
    pub folder: Option<PathBuf>,
    /// Shapes in the order of the text.
    pub shapes: Vec<StoredShape>,
    /// Moving shapes, in order, and their end transform.
    pub moving: Vec<(u32, u32)>,
    /// Shapes that are a mesh of the scene, in order: the shape, and the mesh's index.
    pub meshes: Vec<(u32, u32)>,
    /// The text of each [`Name`].
    pub names: Vec<Box<str>>,
    /// The tree of transforms; the root is the first.
    pub nodes: Vec<Node>,
    /// The values of parameters and transforms, by piece of text.
    pub segments: Vec<Segment>,
}

impl Render {
    /// Returns the text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.get(name.0 as usize).map_or("", |text| text)
    }

    /// The number of shapes, including those of object definitions.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// The shape at `index`.
    pub fn shape(&self, index: usize) -> Option<Shape<'_>> {
        self.shapes.get(index).map(|stored| Shape { render: self, stored, index })
    }

    /// All shapes in file order, including those of object definitions.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = Shape<'_>> {
        let shape = |(index, stored)| Shape { render: self, stored, index };
        self.shapes.iter().enumerate().map(shape)
    }

    /// Returns the shapes outside all definitions, as ranges of indices.
    pub fn world_shapes(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut start = 0;
        for object in self.objects.iter().filter(|object| !object.missing) {
            if object.shapes.start > start {
                ranges.push(start..object.shapes.start);
            }
            start = start.max(object.shapes.end);
        }
        if self.shapes.len() > start {
            ranges.push(start..self.shapes.len());
        }
        ranges
    }

    /// The parameters of an entity.
    pub fn parameters(&self, entity: &Entity) -> Parameters<'_> {
        Parameters::new(self, entity.parameters)
    }

    /// The step of a transform, and the transform it is applied to; `None` for the identity.
    pub fn step(&self, transform: Transform) -> Option<(Transform, Step)> {
        let node = self.nodes.get(transform.0 as usize)?;
        Some((Transform(node.parent), self.step_of(node.step, node.segment, node.at)))
    }

    /// The number of nodes in the tree: a node's parent has a lower index than itself.
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

    /// The step of a node of this kind.
    pub fn step_of(&self, kind: StepKind, segment: u32, at: u32) -> Step {
        let numbers = self.segments.get(segment as usize).map_or(&[][..], |segment| &segment.doubles);
        let numbers = numbers.get(at as usize..).unwrap_or_default();
        match kind {
            StepKind::Translate => Step::Translate(first(numbers)),
            StepKind::Scale => Step::Scale(first(numbers)),
            StepKind::Rotate => Step::Rotate(first(numbers)),
            StepKind::LookAt => Step::LookAt(first(numbers)),
            StepKind::Replace => Step::Replace(with_last_row(first(numbers))),
            StepKind::Concat => Step::Concat(with_last_row(first(numbers))),
            StepKind::ReplaceAll => Step::Replace(first(numbers)),
            StepKind::ConcatAll => Step::Concat(first(numbers)),
            StepKind::Inverse => Step::Inverse,
        }
    }

    /// Returns the numbers of an affine matrix: four columns of three.
    pub fn columns(&self, segment: u32, at: u32) -> [f64; 12] {
        let numbers = self.segments.get(segment as usize).map_or(&[][..], |segment| &segment.doubles);
        first(numbers.get(at as usize..).unwrap_or_default())
    }

    /// Returns the end of a shape's motion, if it moves.
    fn end_of(&self, shape: usize) -> Option<Transform> {
        let at = self.moving.binary_search_by_key(&(shape as u32), |&(shape, _)| shape).ok()?;
        self.moving.get(at).map(|&(_, end)| Transform(end))
    }
}

/// Returns the first `N` numbers, or zeros if there are fewer.
fn first<const N: usize>(numbers: &[f64]) -> [f64; N] {
    numbers.first_chunk().copied().unwrap_or([0.0; N])
}

/// Extends four columns of three numbers by the last row of an affine matrix.
fn with_last_row(columns: [f64; 12]) -> [f64; 16] {
    let mut matrix = [0.0; 16];
    for (to, from) in matrix.chunks_exact_mut(4).zip(columns.chunks_exact(3)) {
        to[..3].copy_from_slice(from);
    }
    matrix[15] = 1.0;
    matrix
}

impl<'a> Shape<'a> {
    /// Returns the class (`trianglemesh`).
    pub fn class(&self) -> &'a str {
        self.render.text(self.stored.class)
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> Parameters<'a> {
        Parameters::new(self.render, self.stored.parameters)
    }

    /// Returns the state it shares with other shapes: an index into [`Render::states`].
    pub fn state_index(&self) -> usize {
        self.stored.state as usize
    }

    /// Returns the state it shares with other shapes.
    pub fn state(&self) -> Option<&'a ShapeState> {
        self.render.states.get(self.stored.state as usize)
    }

    /// Returns the placement.
    pub fn motion(&self) -> Motion {
        let start = Transform(self.stored.transform);
        Motion { start, end: self.render.end_of(self.index).unwrap_or(start) }
    }

    /// Returns the mesh it refers to, an index into [`crate::Scene::meshes`]; `None` for other shapes, and if it was
    /// not loaded.
    pub fn mesh(&self) -> Option<usize> {
        let meshes = &self.render.meshes;
        let at = meshes.binary_search_by_key(&(self.index as u32), |&(shape, _)| shape).ok()?;
        meshes.get(at).map(|&(_, mesh)| mesh as usize)
    }
}

/// File names to replace when writing the scene.
#[derive(Debug, Default)]
pub struct RenamedFiles<'a> {
    /// By the folder of the file that contains a name, and the name: its replacement; `None` if it stays.
    pub names: HashMap<(&'a str, &'a str), Option<String>>,
}
