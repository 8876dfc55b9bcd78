//! Scenes: meshes, the named objects that cut them into sections, and materials.

use super::{Counts, Material, Mesh};

/// Everything that one file, or one program, hands over.
///
/// Objects refer to meshes by index, and a mesh may hold the arrays of many objects: an OBJ file
/// becomes one mesh with one object per `o` statement, so nothing is copied or renumbered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// The arrays.
    pub meshes: Vec<Mesh>,
    /// The objects, in file order.
    pub objects: Vec<Object>,
    /// The materials; runs of a mesh refer to them by index.
    pub materials: Vec<Material>,
    /// The names of material libraries, as a file gave them (`mtllib`).
    pub material_libraries: Vec<String>,
}

/// How a file declared an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectKind {
    /// By name (`o` in OBJ).
    #[default]
    Object,
    /// By a group statement right before its own positions (`g` in OBJ).
    Group,
    /// Not at all: what came before the first declaration.
    Unnamed,
}

/// A named section of a mesh: all elements from `start` up to `end`, in every array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// The name; empty for [`ObjectKind::Unnamed`].
    pub name: String,
    /// How it was declared.
    pub kind: ObjectKind,
    /// The mesh it is a section of: an index into [`Scene::meshes`].
    pub mesh: usize,
    /// The first element of each array.
    pub start: Counts,
    /// One past the last element of each array.
    pub end: Counts,
}

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The smallest x, y, z.
    pub min: [f32; 3],
    /// The largest x, y, z.
    pub max: [f32; 3],
}

impl Scene {
    /// The sum of the counts of all meshes, in 64 bits and in the order of [`Counts`]' fields.
    pub fn totals(&self) -> [u64; Counts::KINDS] {
        let mut totals = [0; Counts::KINDS];
        for mesh in &self.meshes {
            for (total, count) in totals.iter_mut().zip(mesh.counts().to_array()) {
                *total += u64::from(count);
            }
        }
        totals
    }

    /// The box around all finite positions; `None` where there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        self.meshes.iter().filter_map(Mesh::bounds).reduce(|a, b| a.union(b))
    }
}

impl Bounds {
    /// The smallest box that holds both.
    pub fn union(self, other: Bounds) -> Bounds {
        let mut result = self;
        for axis in 0..3 {
            result.min[axis] = result.min[axis].min(other.min[axis]);
            result.max[axis] = result.max[axis].max(other.max[axis]);
        }
        result
    }
}
