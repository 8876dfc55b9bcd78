//! A mesh of glTF to a mesh of the model: its primitives one after another, with a material slot for each material.
//!
//! What the primitives' attributes and topologies become is in `streams` and `primitives`. Nothing here knows nodes.

use crate::accessors::{Component, Layout, Values};
use crate::document::{GltfMesh, Primitive, mode};
use crate::log::{Log, malformed, over_limit, unsupported};
use crate::primitives::{Shape, append_ends, triangles};
use crate::streams::{Starts, Streams, VertexSet};
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_model::{Array, Mesh, NONE};
use std::collections::{BTreeMap, HashMap};

/// A mesh that was read.
#[derive(Debug, Default)]
pub(crate) struct FoundMesh {
    pub(crate) mesh: Mesh,
    /// The material of each slot.
    pub(crate) slots: Vec<Option<usize>>,
}

/// A primitive of a mesh.
struct Part<'a> {
    primitive: &'a Primitive,
    path: String,
    shape: Shape,
    /// Which vertices.
    set: usize,
    slot: usize,
}

/// The primitives of a mesh, checked.
#[derive(Default)]
struct MeshPlan<'a> {
    sets: Vec<VertexSet<'a>>,
    parts: Vec<Part<'a>>,
    slots: Vec<Option<usize>>,
    /// The number of vertices.
    total: usize,
}

/// Reads meshes.
pub(crate) struct MeshReader<'v, 'a, 'f> {
    pub(crate) values: &'v mut Values<'a, 'f>,
    pub(crate) log: &'v mut Log,
}

impl<'a> MeshReader<'_, 'a, '_> {
    /// Reads one mesh.
    pub(crate) fn read(&mut self, index: usize) -> Result<FoundMesh> {
        let document = self.values.document;
        let Some(gltf) = document.meshes.get(index) else {
            return Err(malformed(format!("meshes[{index}] does not exist")));
        };
        let plan = self.plan(gltf, index)?;
        let mut mesh = Mesh::default();
        let (sets, total) = (&plan.sets, plan.total);
        let (uvs, normals) = Streams { values: self.values, log: self.log, sets, total }.fill(&mut mesh)?;
        let mut builder = MeshBuilder { mesh, uvs, normals, face_slots: Vec::new() };
        for part in &plan.parts {
            self.add(part, &plan, &mut builder)?;
        }
        let mesh = builder.finish(plan.slots.len() > 1);
        let is_plain = plan.slots == [None];
        Ok(FoundMesh { mesh, slots: if is_plain { Vec::new() } else { plan.slots } })
    }

    /// Checks the primitives of a mesh, and finds those that share vertices.
    fn plan(&mut self, gltf: &'a GltfMesh, index: usize) -> Result<MeshPlan<'a>> {
        let mut plan = MeshPlan::default();
        let mut known: HashMap<&BTreeMap<String, usize>, usize> = HashMap::new();
        let mut slots: HashMap<Option<usize>, usize> = HashMap::new();
        for (number, primitive) in gltf.primitives.iter().enumerate() {
            let path = format!("meshes[{index}].primitives[{number}]");
            self.note_targets(primitive, &path)?;
            let Some(shape) = self.check(primitive, &path)? else { continue };
            let set = match known.get(&primitive.attributes) {
                Some(&set) => set,
                None => {
                    let set = self.vertex_set(primitive, &path, plan.total)?;
                    plan.total += set.positions.count;
                    try_push(&mut plan.sets, set, "primitives")?;
                    known.try_reserve(1).map_err(|_| Error::memory("primitives"))?;
                    known.insert(&primitive.attributes, plan.sets.len() - 1);
                    plan.sets.len() - 1
                }
            };
            let slot = match slots.get(&primitive.material) {
                Some(&slot) => slot,
                None => {
                    try_push(&mut plan.slots, primitive.material, "material slots")?;
                    slots.try_reserve(1).map_err(|_| Error::memory("material slots"))?;
                    slots.insert(primitive.material, plan.slots.len() - 1);
                    plan.slots.len() - 1
                }
            };
            try_push(&mut plan.parts, Part { primitive, path, shape, set, slot }, "primitives")?;
        }
        Ok(plan)
    }

    /// Morph targets are dropped.
    fn note_targets(&mut self, primitive: &Primitive, path: &str) -> Result<()> {
        let count = primitive.targets.len() as u64;
        self.log.lose("left-out-morph-targets", count, || format!("{path}: morph targets were dropped"))
    }

    /// The shape of a primitive; `None` if it has nothing to show.
    fn check(&mut self, primitive: &Primitive, path: &str) -> Result<Option<Shape>> {
        let number = primitive.mode.unwrap_or(mode::TRIANGLES);
        let shape = Shape::from_mode(number).ok_or_else(|| malformed(format!("{path}: unknown mode {number}")))?;
        if let Some(material) = primitive.material.filter(|&index| index >= self.values.document.materials.len()) {
            return Err(malformed(format!("{path}: materials[{material}] does not exist")));
        }
        if primitive.attributes.contains_key("POSITION") {
            return Ok(Some(shape));
        }
        self.log.lose("left-out-primitives", 1, || format!("{path} has no positions"))?;
        Ok(None)
    }

    fn vertex_set(&mut self, primitive: &'a Primitive, path: &str, base: usize) -> Result<VertexSet<'a>> {
        let index = primitive.attributes.get("POSITION").copied().unwrap_or(usize::MAX);
        let user = format!("{path}.attributes.POSITION");
        let positions = self.values.layout(index, &user, &[3], self.log)?;
        if positions.component == Component::U32 {
            return Err(malformed(format!("{user}: accessors[{index}] has the wrong componentType 5125")));
        }
        refuse_draco(primitive, &positions, path)?;
        let limit = self.most_elements();
        if base as u64 + positions.count as u64 > limit {
            return Err(over_limit(&format!("{path}: too many vertices in a mesh"), limit, "elements"));
        }
        Ok(VertexSet { attributes: &primitive.attributes, path: path.to_owned(), positions, base: base as u32 })
    }

    fn most_elements(&self) -> u64 {
        self.values.limits.elements.min(u64::from(NONE) - 1)
    }

    /// Adds the elements of a primitive.
    fn add(&mut self, part: &Part<'_>, plan: &MeshPlan<'_>, builder: &mut MeshBuilder) -> Result<()> {
        let set = &plan.sets[part.set];
        let mut vertices = Vec::new();
        // The corners of most faces are indices as they are, so these are read to where they belong.
        let is_direct = part.shape == Shape::Triangles;
        if is_direct {
            vertices = std::mem::take(&mut builder.mesh.faces.corner_positions).into_vec()?;
        }
        let begin = vertices.len();
        let read = self.vertices(part, set, &mut vertices);
        if let Err(error) = read {
            vertices.truncate(begin);
            if is_direct {
                builder.mesh.faces.corner_positions = vertices.into();
            }
            return self.log.skip("broken-primitive", error);
        }
        let excess = part.shape.excess(vertices.len() - begin);
        vertices.truncate(vertices.len() - excess);
        let limit = self.most_elements();
        if part.shape.has_faces() {
            builder.add_faces(part, set.base, vertices, begin, limit)?;
        } else {
            if part.slot != 0 && plan.slots[part.slot].is_some() {
                let message = || format!("{}: the material of lines or points was dropped", part.path);
                self.log.lose("left-out-materials", 1, message)?;
            }
            builder.add_others(part, set.base, vertices, limit)?;
        }
        if excess > 0 {
            self.log.note("extra-value", format!("{}: the last {excess} vertices are of no element", part.path))?;
        }
        Ok(())
    }

    /// Appends the vertices of a primitive in the order of its elements.
    fn vertices(&mut self, part: &Part<'_>, set: &VertexSet<'_>, out: &mut Vec<u32>) -> Result<()> {
        let count = set.positions.count as u32;
        let Some(index) = part.primitive.indices else {
            // Several primitives may share vertices without indices.
            self.values.budget.charge_each(set.positions.count, size_of::<u32>())?;
            out.try_reserve(set.positions.count).map_err(|_| Error::memory("indices"))?;
            out.extend(set.base..set.base + count);
            return Ok(());
        };
        let user = format!("{}.indices", part.path);
        let layout = self.values.layout(index, &user, &[1], self.log)?;
        refuse_draco(part.primitive, &layout, &part.path)?;
        match self.values.indices(&layout, set.base, out)? {
            Some(most) if most >= count => {
                Err(malformed(format!("{user}: index {most} is out of range ({count} vertices)")))
            }
            _ => Ok(()),
        }
    }
}

/// Without its extension, the values of a compressed primitive are zeros.
fn refuse_draco(primitive: &Primitive, layout: &Layout, path: &str) -> Result<()> {
    let name = "KHR_draco_mesh_compression";
    if layout.is_zero() && primitive.extensions.contains_key(name) {
        return Err(unsupported(format!("{path} has no data without the extension `{name}`")));
    }
    Ok(())
}

/// A mesh that grows by primitives.
struct MeshBuilder {
    mesh: Mesh,
    uvs: Starts,
    normals: Starts,
    /// The slot of each face.
    face_slots: Vec<i32>,
}

impl MeshBuilder {
    /// The mesh; its faces need slots only if there are several.
    fn finish(mut self, has_slots: bool) -> Mesh {
        if has_slots {
            self.mesh.face_materials = self.face_slots.into();
        }
        let Mesh { faces, lines, .. } = &mut self.mesh;
        for corners in [&mut faces.corner_uvs, &mut faces.corner_normals, &mut lines.corner_uvs] {
            if corners.iter().all(|&corner| corner == NONE) {
                *corners = Array::default();
            }
        }
        self.mesh
    }

    /// Adds faces, whose corners are in the mesh's own array if they were read directly.
    fn add_faces(&mut self, part: &Part<'_>, base: u32, vertices: Vec<u32>, begin: usize, limit: u64) -> Result<()> {
        let faces = &mut self.mesh.faces;
        let (corners, begin) = if part.shape == Shape::Triangles {
            (vertices, begin)
        } else {
            let mut corners = std::mem::take(&mut faces.corner_positions).into_vec()?;
            let begin = corners.len();
            triangles(part.shape, &vertices, &mut corners)?;
            (corners, begin)
        };
        let count = (corners.len() - begin) / 3;
        append_ends(faces, count, 3, limit)?;
        self.uvs.append(part.set, base, &corners[begin..], faces.corner_uvs.to_mut()?)?;
        self.normals.append(part.set, base, &corners[begin..], faces.corner_normals.to_mut()?)?;
        faces.corner_positions = corners.into();
        self.face_slots.try_reserve(count)?;
        self.face_slots.resize(self.face_slots.len() + count, i32::try_from(part.slot).unwrap_or(i32::MAX));
        Ok(())
    }

    /// Adds lines or points.
    fn add_others(&mut self, part: &Part<'_>, base: u32, mut vertices: Vec<u32>, limit: u64) -> Result<()> {
        if part.shape == Shape::Points {
            let points = self.mesh.points.to_mut()?;
            points.try_reserve(vertices.len())?;
            points.append(&mut vertices);
            if points.len() as u64 > limit {
                return Err(over_limit("too many points in a mesh", limit, "elements"));
            }
            return Ok(());
        }
        if let (Shape::Strip { is_closed: true }, [first, _, _, ..]) = (part.shape, &*vertices) {
            let first = *first;
            try_push(&mut vertices, first, "lines")?;
        }
        let lines = &mut self.mesh.lines;
        let (count, size) = match part.shape {
            Shape::Lines => (vertices.len() / 2, 2),
            _ => (usize::from(!vertices.is_empty()), vertices.len()),
        };
        append_ends(lines, count, size, limit)?;
        self.uvs.append(part.set, base, &vertices, lines.corner_uvs.to_mut()?)?;
        let corners = lines.corner_positions.to_mut()?;
        corners.try_reserve(vertices.len())?;
        corners.append(&mut vertices);
        Ok(())
    }
}

#[cfg(test)]
#[path = "meshes_tests.rs"]
mod tests;
