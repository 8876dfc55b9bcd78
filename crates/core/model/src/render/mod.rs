//! Scenes for a renderer, as in pbrt-v4: shapes, instances, lights, media and a camera.
//!
//! A [`Render`] is plain data. Entities refer to each other by [`Name`] or by index. Their parameters are stored in
//! segments, one per chunk of text, and accessed through [`Parameters`]. The transform of an entity is a node in a tree
//! of steps, kept as written in the file; for the product of its steps, see `polyhaul_pbrt::places::places64`. Two
//! scenes are equal if their content is, regardless of how the text was split.

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
    /// The identity.
    pub const IDENTITY: Transform = Transform(NONE);
}

/// The transforms of an entity at the first and the last transform time. They are equal for most entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Motion {
    /// The transform at the first transform time.
    pub start: Transform,
    /// The transform at the last transform time.
    pub end: Transform,
}

impl Motion {
    /// The identity at both times.
    pub const IDENTITY: Motion = Motion { start: Transform::IDENTITY, end: Transform::IDENTITY };

    /// Returns whether the entity moves.
    pub fn is_animated(self) -> bool {
        self.start != self.end
    }
}

/// The operation of a node on its parent's transform. Each number is the f64 nearest to the number in the text,
/// adjusted so that rounding it to f32 yields the f32 nearest to the number in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// `Translate`: x, y, z.
    Translate([f64; 3]),
    /// `Scale`: x, y, z.
    Scale([f64; 3]),
    /// `Rotate`: degrees and an axis.
    Rotate([f64; 4]),
    /// `LookAt`: eye, target and up vector.
    LookAt([f64; 9]),
    /// `Transform`: replaces the current transform. 16 numbers in file order, column by column.
    Replace([f64; 16]),
    /// `ConcatTransform`: multiplies the current transform. 16 numbers in file order, column by column.
    Concat([f64; 16]),
    /// The inverse of the parent's transform, as in the coordinate system `camera`.
    Inverse,
}

/// A node of the tree, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The parent node.
    pub parent: u32,
    /// The kind of its step.
    pub step: StepKind,
    /// The segment with the step's numbers.
    pub segment: u32,
    /// The index of the first number in the segment's doubles.
    pub at: u32,
}

/// The kind of a step. The step's numbers are in [`Segment::doubles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Three numbers.
    Translate,
    /// Three numbers.
    Scale,
    /// An angle in degrees and an axis: four numbers.
    Rotate,
    /// Eye, target and up vector: nine numbers.
    LookAt,
    /// Twelve numbers; the last row is 0 0 0 1.
    Replace,
    /// Twelve numbers; the last row is 0 0 0 1.
    Concat,
    /// Sixteen numbers.
    ReplaceAll,
    /// Sixteen numbers.
    ConcatAll,
    /// The inverse of the parent's transform; no numbers.
    Inverse,
}

/// A directive with a class or name, and parameters.
#[derive(Clone, Copy, Debug)]
pub struct Entity {
    /// The name in the directive: a class (`"trianglemesh"`), or the name being defined.
    pub name: Name,
    /// Its parameters.
    pub parameters: ParameterRange,
    /// The color space of the colors; `None` is sRGB.
    pub color_space: Option<Name>,
    /// The last of the `Attribute` directives that apply to the entity: an index into [`Render::attributes`].
    pub attributes: Option<u32>,
    /// The transforms.
    pub motion: Motion,
    /// The medium around a camera or light.
    pub medium: Option<Name>,
}

/// An option (`Option "seed" 3`).
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: Name,
    /// The value as written, without quotes.
    pub value: Name,
    /// Whether the value is quoted.
    pub quoted: bool,
}

/// An `Attribute` directive: parameters for later entities of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// The previous directive for the same target that is still in effect: an index into [`Render::attributes`].
    pub before: Option<u32>,
    /// The parameters. The entity's name is the target: `shape`, `light`, `material`, `medium` or `texture`.
    pub entity: Entity,
}

/// A texture. Its entity has the texture's name.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// The name, parameters and transforms.
    pub entity: Entity,
    /// The class (`imagemap`).
    pub class: Name,
    /// Whether its values are spectra instead of floats.
    pub is_spectrum: bool,
}

/// A material.
#[derive(Clone, Copy, Debug)]
pub struct Material {
    /// The entity. Its name is the class of an unnamed material, or the name of a named material. The class of a named
    /// material is the parameter `type`.
    pub entity: Entity,
    /// Whether it is a named material (`MakeNamedMaterial`).
    pub is_named: bool,
}

/// The material of a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaterialUse {
    /// No material was set: pbrt's default diffuse material.
    #[default]
    Default,
    /// An index into [`Render::materials`].
    Index(u32),
    /// A named material, which may be defined later or not at all.
    Named(Name),
}

/// State shared by many shapes; unset by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShapeState {
    /// The material.
    pub material: MaterialUse,
    /// The emitted light: an index into [`Render::area_lights`].
    pub area_light: Option<u32>,
    /// The medium inside.
    pub inside: Option<Name>,
    /// The medium outside.
    pub outside: Option<Name>,
    /// Whether the surface normals are flipped.
    pub reverse_orientation: bool,
    /// The last of the `Attribute` directives that apply to the shape: an index into [`Render::attributes`].
    pub attributes: Option<u32>,
    /// The color space of the colors; `None` is sRGB.
    pub color_space: Option<Name>,
}

/// A stored shape.
#[derive(Clone, Copy, Debug)]
pub struct StoredShape {
    /// The class, such as `sphere`.
    pub class: Name,
    /// An index into [`Render::states`].
    pub state: u32,
    /// The node of its transform.
    pub transform: u32,
    /// Its parameters.
    pub parameters: ParameterRange,
}

/// A shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    render: &'a Render,
    stored: &'a StoredShape,
    /// The index among all shapes.
    pub index: usize,
}

/// An object for instances: a range of shapes.
#[derive(Clone, Debug)]
pub struct ObjectDefinition {
    /// Its name.
    pub name: Name,
    /// Its shapes: indices into [`Render::shapes`].
    pub shapes: Range<usize>,
    /// Whether instances use the object but the file does not define it. It then has only a name, and there is a
    /// warning.
    pub missing: bool,
}

/// A scene for a renderer.
#[derive(Clone, Debug, Default)]
pub struct Render {
    /// Options, in file order.
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
    /// The times of [`Motion`]; `None` means 0 and 1.
    pub transform_times: Option<[f64; 2]>,
    /// The `Attribute` directives.
    pub attributes: Vec<Attribute>,
    /// Media.
    pub media: Vec<Entity>,
    /// Textures.
    pub textures: Vec<Texture>,
    /// Named and unnamed materials.
    pub materials: Vec<Material>,
    /// Lights.
    pub lights: Vec<Entity>,
    /// Lights of emissive shapes.
    pub area_lights: Vec<Entity>,
    /// State shared by many shapes.
    pub states: Vec<ShapeState>,
    /// The objects of instances in file order, then missing objects.
    pub objects: Vec<ObjectDefinition>,
    /// The instances.
    pub instances: Instances,
    /// The folder that file names in the scene are relative to; `None` if the scene was not read from a file.
    pub folder: Option<PathBuf>,
    /// The shapes in file order.
    pub shapes: Vec<StoredShape>,
    /// Index and end transform of each moving shape, ordered by index.
    pub moving: Vec<(u32, u32)>,
    /// Shape index and mesh index of each shape that is a mesh of the scene, ordered by shape index.
    pub meshes: Vec<(u32, u32)>,
    /// The text of each [`Name`].
    pub names: Vec<Box<str>>,
    /// The tree of transforms, parents first.
    pub nodes: Vec<Node>,
    /// The values of parameters and transforms, one segment per chunk of text.
    pub segments: Vec<Segment>,
}

impl Render {
    /// Returns the text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.get(name.0 as usize).map_or("", |text| text)
    }

    /// Returns the number of shapes, including shapes of object definitions.
    pub fn shape_count(&self) -> usize {
        self.shapes.len()
    }

    /// Returns the shape at `index`.
    pub fn shape(&self, index: usize) -> Option<Shape<'_>> {
        self.shapes.get(index).map(|stored| Shape { render: self, stored, index })
    }

    /// Returns all shapes in file order, including shapes of object definitions.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = Shape<'_>> {
        let shape = |(index, stored)| Shape { render: self, stored, index };
        self.shapes.iter().enumerate().map(shape)
    }

    /// Returns the shapes outside object definitions, as ranges of indices.
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

    /// Returns the parameters of an entity.
    pub fn parameters(&self, entity: &Entity) -> Parameters<'_> {
        Parameters::new(self, entity.parameters)
    }

    /// Returns a transform's parent and step, or `None` for the identity.
    pub fn step(&self, transform: Transform) -> Option<(Transform, Step)> {
        let node = self.nodes.get(transform.0 as usize)?;
        Some((Transform(node.parent), self.step_of(node.step, node.segment, node.at)))
    }

    /// Returns the number of nodes in the tree. A parent has a lower index than its children.
    pub fn transform_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the node at `index`, which must be less than [`Render::transform_count`].
    pub fn transform(&self, index: usize) -> Transform {
        Transform(index as u32)
    }

    /// Returns the index of a node, or `None` for the identity.
    pub fn transform_index(&self, transform: Transform) -> Option<usize> {
        let index = transform.0 as usize;
        (index < self.nodes.len()).then_some(index)
    }

    /// Creates a step of this kind from the numbers at `at` in a segment.
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

    /// Returns the numbers of an affine matrix as four columns of three.
    pub fn columns(&self, segment: u32, at: u32) -> [f64; 12] {
        let numbers = self.segments.get(segment as usize).map_or(&[][..], |segment| &segment.doubles);
        first(numbers.get(at as usize..).unwrap_or_default())
    }

    /// Returns the end transform of a shape, if it moves.
    fn end_of(&self, shape: usize) -> Option<Transform> {
        let at = self.moving.binary_search_by_key(&(shape as u32), |&(shape, _)| shape).ok()?;
        self.moving.get(at).map(|&(_, end)| Transform(end))
    }
}

/// Returns the first `N` numbers, or zeros if there are not enough.
fn first<const N: usize>(numbers: &[f64]) -> [f64; N] {
    numbers.first_chunk().copied().unwrap_or([0.0; N])
}

/// Extends four columns of three numbers with the last row of an affine matrix.
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

    /// Returns the index of its shared state in [`Render::states`].
    pub fn state_index(&self) -> usize {
        self.stored.state as usize
    }

    /// Returns its shared state.
    pub fn state(&self) -> Option<&'a ShapeState> {
        self.render.states.get(self.stored.state as usize)
    }

    /// Returns the transforms.
    pub fn motion(&self) -> Motion {
        let start = Transform(self.stored.transform);
        Motion { start, end: self.render.end_of(self.index).unwrap_or(start) }
    }

    /// Returns the index of its mesh in [`crate::Scene::meshes`], or `None` for shapes other than meshes, and for
    /// meshes that were not loaded.
    pub fn mesh(&self) -> Option<usize> {
        let meshes = &self.render.meshes;
        let at = meshes.binary_search_by_key(&(self.index as u32), |&(shape, _)| shape).ok()?;
        meshes.get(at).map(|&(_, mesh)| mesh as usize)
    }
}

/// Replacements for file names when the scene is written.
#[derive(Debug, Default)]
pub struct RenamedFiles<'a> {
    /// The new names, keyed by the folder of the file that contains the old name, and the old name. `None` keeps the
    /// name.
    pub names: HashMap<(&'a str, &'a str), Option<String>>,
}
