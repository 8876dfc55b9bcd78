//! Scenes: meshes, the named objects that divide them into sections, and materials.

use super::render::Render;
use super::{Counts, Material, Mesh, SourceFolder, Table};
use polyhaul_spill::paced;

/// A scene: the complete content of a file, or the data passed in by a program.
///
/// Objects refer to meshes by index, and many objects can share the arrays of one mesh: an OBJ file becomes one mesh
/// with one object per `o` statement, so nothing is copied or renumbered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// The arrays.
    pub meshes: Vec<Mesh>,
    /// The objects, in file order.
    pub objects: Vec<Object>,
    /// The materials; runs of meshes and slots of objects refer to them by index.
    pub materials: Vec<Material>,
    /// The names of material libraries, as written in the file (`mtllib`).
    pub material_libraries: Vec<String>,
    /// The folder that file names in the scene are relative to; unknown if the scene was not read from a file.
    pub folder: SourceFolder,
    /// The orientation of the coordinate axes.
    pub axes: Axes,
    /// Data that is not part of a mesh: PLY elements other than vertices, faces and edges.
    pub tables: Vec<Table>,
    /// The comments in the file, without the comment keyword or marker (`comment` in PLY).
    pub comments: Vec<String>,
    /// The bytes of a fixed-size header, such as the 80 bytes of binary STL, in which some programs store values. The
    /// first comment is the header's text. Empty for other formats.
    pub header: Vec<u8>,
    /// Remarks about the object (`obj_info` in PLY).
    pub infos: Vec<String>,
    /// Additional data of a renderer scene (pbrt).
    pub render: Option<Box<Render>>,
}

/// A signed axis, as in Blender's menus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Positive x.
    X,
    /// Positive y.
    Y,
    /// Positive z.
    Z,
    /// Negative x.
    NegativeX,
    /// Negative y.
    NegativeY,
    /// Negative z.
    NegativeZ,
}

impl Axis {
    /// Returns the direction as a unit vector.
    pub fn direction(self) -> [f64; 3] {
        match self {
            Axis::X => [1.0, 0.0, 0.0],
            Axis::Y => [0.0, 1.0, 0.0],
            Axis::Z => [0.0, 0.0, 1.0],
            Axis::NegativeX => [-1.0, 0.0, 0.0],
            Axis::NegativeY => [0.0, -1.0, 0.0],
            Axis::NegativeZ => [0.0, 0.0, -1.0],
        }
    }

    /// Returns the axis without its sign: 0 for x, 1 for y, 2 for z.
    pub fn line(self) -> usize {
        match self {
            Axis::X | Axis::NegativeX => 0,
            Axis::Y | Axis::NegativeY => 1,
            Axis::Z | Axis::NegativeZ => 2,
        }
    }
}

/// The axes of a scene that point forward and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axes {
    /// The axis that points forward.
    pub forward: Axis,
    /// The axis that points up.
    pub up: Axis,
}

impl Axes {
    /// The axes of OBJ files: -Z forward, Y up.
    pub const OBJ: Axes = Axes { forward: Axis::NegativeZ, up: Axis::Y };
    /// The axes of Blender: Y forward, Z up.
    pub const BLENDER: Axes = Axes { forward: Axis::Y, up: Axis::Z };
}

/// The axes of OBJ files.
impl Default for Axes {
    fn default() -> Self {
        Axes::OBJ
    }
}

/// The way in which a file declares an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectKind {
    /// By name (`o` in OBJ).
    #[default]
    Object,
    /// By a group statement right before its own positions (`g` in OBJ).
    Group,
    /// Undeclared: the elements before the first declaration.
    Unnamed,
}

/// A named section of a mesh: all elements from `start` up to `end`, in every array.
///
/// An object with a transform, with material slots, or with an evaluated mesh ([`Mesh::is_evaluated`]) is written like
/// an evaluated mesh of Blender; it must then cover its whole mesh. Several objects may use the same mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// The name; empty for [`ObjectKind::Unnamed`].
    pub name: String,
    /// The name of the mesh, if it has its own.
    pub mesh_name: String,
    /// The way in which the source declares it.
    pub kind: ObjectKind,
    /// The mesh of which it is a section: an index into [`Scene::meshes`].
    pub mesh: usize,
    /// The first element of each array.
    pub start: Counts,
    /// One past the last element of each array.
    pub end: Counts,
    /// The object-to-scene transform: a row-major matrix that multiplies column vectors from the left.
    pub transform: Option<[[f64; 4]; 4]>,
    /// The material slots: indices into [`Scene::materials`], or `None` for an empty slot.
    pub materials: Option<Vec<Option<usize>>>,
}

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<T = f32> {
    /// The minimum of x, y and z.
    pub min: [T; 3],
    /// The maximum of x, y and z.
    pub max: [T; 3],
}

impl Scene {
    /// Returns the sums of all meshes' counts in 64 bits, in the order of the fields of [`Counts`].
    pub fn totals(&self) -> [u64; Counts::KINDS] {
        let mut totals = [0; Counts::KINDS];
        for mesh in paced(&self.meshes) {
            for (total, count) in totals.iter_mut().zip(mesh.counts().to_array()) {
                *total += u64::from(count);
            }
        }
        totals
    }

    /// Returns whether an object has a transform, material slots, or an evaluated mesh ([`Mesh::is_evaluated`]). It is
    /// then written like an evaluated mesh of Blender.
    pub fn is_evaluated(&self, object: &Object) -> bool {
        let of_mesh = self.meshes.get(object.mesh).is_some_and(Mesh::is_evaluated);
        of_mesh || object.transform.is_some() || object.materials.is_some()
    }

    /// Returns the bounding box of all finite positions, or `None` if there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        paced(&self.meshes).filter_map(Mesh::bounds).reduce(|a, b| a.union(b))
    }

    /// Returns the bounding box of all finite positions in double precision, or `None` if there are none.
    pub fn exact_bounds(&self) -> Option<Bounds<f64>> {
        paced(&self.meshes).filter_map(Mesh::exact_bounds).reduce(|a, b| a.union(b))
    }
}

impl Bounds {
    /// Returns the box extended by `by` on each side.
    pub fn grown(self, by: f32) -> Bounds {
        Bounds { min: self.min.map(|value| value - by), max: self.max.map(|value| value + by) }
    }

    /// Returns the box in double precision.
    pub fn widened(self) -> Bounds<f64> {
        Bounds { min: self.min.map(f64::from), max: self.max.map(f64::from) }
    }
}

impl<T: Copy + PartialOrd> Bounds<T> {
    /// Returns the smallest box that contains both. The boxes must be finite.
    pub fn union(self, other: Bounds<T>) -> Bounds<T> {
        let mut result = self;
        for axis in 0..3 {
            if other.min[axis] < result.min[axis] {
                result.min[axis] = other.min[axis];
            }
            if other.max[axis] > result.max[axis] {
                result.max[axis] = other.max[axis];
            }
        }
        result
    }
}
