//! Converts a glTF mesh to a mesh of the model, with its primitives in file order and one slot per material.
//!
//! `streams` reads the attributes of primitives; `primitives` converts their topologies.

use crate::accessors::AccessorValues;
use crate::document::{GltfMesh, Primitive, mode};
use crate::fills::AccessorFill;
use crate::layout::{AccessorLayout, Component};
use crate::log::{GltfLog, malformed, over_limit, unsupported};
use crate::primitives::{GltfTopology, append_ends, triangles};
use crate::splats::{self, SplatPrimitive};
use crate::streams::{StreamPlanner, StreamStarts, Streams, VertexSet};
use polyhaul_model::error::{Error, Result, planted, try_push};
use polyhaul_model::warnings::counted;
use polyhaul_model::{Array, Elements, Mesh, NONE};
use polyhaul_pipeline::arrays::zeroed;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Maximum bytes of memory per index. An index of a strip is stored in a list and starts a triangle. The triangle has
/// an end offset, a slot and, for each of its three corners, the indices of a position, a UV and a normal.
const ELEMENT_BYTES: usize = 4 + 3 * 3 * 4 + 2 * 4;

/// A mesh that was read.
#[derive(Debug, Default)]
pub(crate) struct FoundMesh {
    pub(crate) mesh: Mesh,
    /// Material of each slot.
    pub(crate) slots: Vec<Option<usize>>,
    /// The splat extension, if the mesh consists of Gaussian splats.
    pub(crate) splats: Option<SplatPrimitive>,
}

/// A validated primitive.
struct GltfPart {
    path: String,
    topology: GltfTopology,
    /// Index of the vertex set.
    set: usize,
    slot: usize,
    /// Layout of the indices; `None` if vertices are used in order.
    indices: Option<AccessorLayout>,
    /// Number of indices or, without indices, number of vertices.
    count: usize,
    /// Maximum index plus 1, set when the indices are read.
    end: AtomicU64,
}

/// Validated primitives of a mesh.
#[derive(Default)]
struct MeshPlan<'a> {
    sets: Vec<VertexSet<'a>>,
    streams: Streams,
    parts: Vec<GltfPart>,
    slots: Vec<Option<usize>>,
    /// Whether any part has faces.
    has_faces: bool,
    /// Total number of vertices in all sets.
    total: usize,
    splats: Option<SplatPrimitive>,
}

/// A mesh with arrays allocated for its values.
struct MeshDraft<'a> {
    plan: MeshPlan<'a>,
    mesh: Mesh,
    faces: Elements,
    /// Indices of each part. Empty if all parts are triangle lists, because their indices are read directly into
    /// `faces`.
    lists: Vec<Vec<u32>>,
}

/// Reads meshes and logs their faults.
pub(crate) struct MeshReader<'v, 'a, 'f> {
    pub(crate) values: &'v mut AccessorValues<'a, 'f>,
    pub(crate) log: &'v mut GltfLog,
}

impl<'a> MeshReader<'_, 'a, '_> {
    /// Reads the meshes with these indices.
    pub(crate) fn read(&mut self, indices: &[usize]) -> Result<Vec<FoundMesh>> {
        let mut drafts = Vec::new();
        let mut meshes = Vec::new();
        drafts.try_reserve_exact(indices.len()).map_err(|_| Error::memory("meshes"))?;
        meshes.try_reserve_exact(indices.len()).map_err(|_| Error::memory("meshes"))?;
        for &index in indices {
            let gltf = self.values.document.meshes.get(index);
            let gltf = gltf.ok_or_else(|| malformed(format!("meshes[{index}] does not exist")))?;
            drafts.push(self.plan(gltf, index)?.draft(self.max_elements())?);
        }
        // A single pass for all meshes, so that their reads are sorted and batched together.
        let mut fills = Vec::new();
        drafts.iter_mut().try_for_each(|draft| draft.add_fills(&mut fills))?;
        self.values.fill(&mut fills)?;
        drop(fills);
        for draft in drafts {
            meshes.push(self.finish(draft)?);
        }
        Ok(meshes)
    }

    /// Builds a mesh from the values that were read.
    fn finish(&mut self, draft: MeshDraft<'_>) -> Result<FoundMesh> {
        let MeshDraft { plan, mesh, faces, lists } = draft;
        let mesh = Mesh { faces, ..mesh };
        let cut = plan.streams.cut.load(Relaxed);
        self.log.lose("clamped-color", cut, || "vertex colors were clamped to the range 0 to 1".into())?;
        let cut = plan.streams.cut_splats.load(Relaxed);
        self.log.lose("clamped-numbers", cut, || SPLATS_CUT.into())?;
        let (uvs, normals) = plan.streams.starts()?;
        let mut builder = MeshBuilder { mesh, uvs, normals, face_slots: Vec::new(), limit: self.max_elements() };
        if plan.is_direct() {
            let mut is_broken = Vec::new();
            for part in &plan.parts {
                try_push(&mut is_broken, !self.check_end(part, &plan)?, "primitives")?;
            }
            builder.add_direct(&plan, &is_broken)?;
        } else {
            for (part, vertices) in plan.parts.iter().zip(lists) {
                if self.check_end(part, &plan)? {
                    self.add(part, &plan, vertices, &mut builder)?;
                }
            }
        }
        // Without slots, all faces use the first one.
        let mesh = builder.finish(plan.slots.len() > 1);
        // A single slot without a material is the default, so it is omitted.
        let is_plain = plan.slots == [None];
        Ok(FoundMesh { mesh, slots: if is_plain { Vec::new() } else { plan.slots }, splats: plan.splats })
    }

    /// Returns whether all indices of a part are in range. If they are not, fails, or warns if faults are skipped.
    fn check_end(&mut self, part: &GltfPart, plan: &MeshPlan<'_>) -> Result<bool> {
        let end = part.end.load(Relaxed);
        let count = plan.sets[part.set].positions.count;
        if end <= count as u64 + u64::from(planted("glb-index")) {
            return Ok(true);
        }
        let message = format!("{}.indices: index {} is out of range ({count} vertices)", part.path, end - 1);
        self.log.skip("broken-primitive", malformed(message))?;
        Ok(false)
    }

    /// Validates the primitives of a mesh, and determines which of them share vertices.
    fn plan(&mut self, gltf: &'a GltfMesh, index: usize) -> Result<MeshPlan<'a>> {
        let mut plan = MeshPlan::default();
        let mut parts = Vec::new();
        let mut sets: HashMap<&BTreeMap<String, usize>, usize> = HashMap::new();
        let mut slots: HashMap<Option<usize>, usize> = HashMap::new();
        for (number, primitive) in gltf.primitives.iter().enumerate() {
            let path = format!("meshes[{index}].primitives[{number}]");
            self.note_targets(primitive, &path)?;
            let Some(topology) = self.check(primitive, &path)? else { continue };
            // Primitives that differ only in their indices and materials share their vertices.
            let set = match sets.get(&primitive.attributes) {
                Some(&set) => set,
                None => {
                    let set = self.vertex_set(primitive, &path, plan.total)?;
                    plan.total += set.positions.count;
                    try_push(&mut plan.sets, set, "primitives")?;
                    sets.try_reserve(1).map_err(|_| Error::memory("primitives"))?;
                    sets.insert(&primitive.attributes, plan.sets.len() - 1);
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
            let part = GltfPart { path, topology, set, slot, indices: None, count: 0, end: AtomicU64::new(0) };
            try_push(&mut parts, (part, primitive), "primitives")?;
        }
        plan.splats = self.splats(&parts)?;
        let degree = plan.splats.map(|splats| splats.degree);
        plan.streams = StreamPlanner { values: self.values, log: self.log, sets: &plan.sets, splats: degree }.plan()?;
        for (mut part, primitive) in parts {
            let positions = &plan.sets[part.set].positions;
            match self.check_indices(primitive, &mut part, positions.count, positions.span.is_some()) {
                Ok(()) => try_push(&mut plan.parts, part, "primitives")?,
                Err(error) => self.log.skip("broken-primitive", error)?,
            }
        }
        plan.has_faces = plan.parts.iter().any(|part| part.topology.has_faces());
        let is_each_once = plan.parts.len() == plan.sets.len() && plan.parts.iter().all(|part| part.indices.is_none());
        if plan.splats.is_some() && is_each_once {
            // A mesh without elements shows all of its positions, so a list of them would be redundant.
            plan.parts.clear();
        }
        Ok(plan)
    }

    /// Merges the splat extensions of a mesh's primitives. Returns `None` unless all primitives have one, and warns if
    /// only some do.
    fn splats(&mut self, parts: &[(GltfPart, &Primitive)]) -> Result<Option<SplatPrimitive>> {
        let is_splats = |primitive: &Primitive| primitive.extensions.contains_key(splats::NAME);
        let count = parts.iter().filter(|(_, primitive)| is_splats(primitive)).count();
        if count < parts.len() {
            let message =
                || "Gaussian splats that share a mesh with other primitives were read as plain points".to_owned();
            self.log.lose("changed-splats", count as u64, message)?;
            return Ok(None);
        }
        let mut merged: Option<SplatPrimitive> = None;
        for (part, primitive) in parts {
            let extension = splats::check(primitive, &part.path, self.log)?;
            let merged = merged.get_or_insert(extension);
            if merged.has_linear_colors != extension.has_linear_colors {
                return Err(unsupported(format!("{}: splats with mixed color spaces are not supported", part.path)));
            }
            merged.degree = merged.degree.max(extension.degree);
        }
        Ok(merged)
    }

    /// Validates the indices of a primitive with `count` vertices. `is_stored` tells whether the vertices are in a
    /// buffer.
    fn check_indices(
        &mut self,
        primitive: &Primitive,
        part: &mut GltfPart,
        count: usize,
        is_stored: bool,
    ) -> Result<()> {
        let Some(index) = primitive.indices else {
            // Charged for each primitive, since many primitives can share the same vertices.
            part.count = count;
            let budget = &mut self.values.budget;
            if is_stored {
                return budget.charge_each(count, size_of::<u32>());
            }
            return budget.charge_zeros(count, ELEMENT_BYTES);
        };
        let user = format!("{}.indices", part.path);
        let layout = self.values.layout(index, &user, &[1], self.log)?;
        if !layout.component.is_index() {
            return Err(malformed(format!("{user}: accessors[{index}] must have unsigned integers")));
        }
        refuse_draco(primitive, &layout, &part.path)?;
        if layout.span.is_none() {
            self.values.budget.charge_zeros(layout.count, ELEMENT_BYTES)?;
        }
        part.indices = Some(layout);
        part.count = layout.count;
        Ok(())
    }

    /// Counts morph targets, which are dropped.
    fn note_targets(&mut self, primitive: &Primitive, path: &str) -> Result<()> {
        let count = primitive.targets.len() as u64;
        let words = [
            "morph target was dropped (morph targets in glTF files are not read)",
            "morph targets were dropped (morph targets in glTF files are not read)",
        ];
        self.log.lose("left-out-morph-targets", count, || format!("{path}: {}", counted(count, words)))
    }

    /// Validates the mode and material of a primitive. Returns its topology, or `None` if it has no positions.
    fn check(&mut self, primitive: &Primitive, path: &str) -> Result<Option<GltfTopology>> {
        let number = primitive.mode.unwrap_or(mode::TRIANGLES);
        let topology =
            GltfTopology::from_mode(number).ok_or_else(|| malformed(format!("{path}: unknown mode {number}")))?;
        if let Some(material) = primitive.material.filter(|&index| index >= self.values.document.materials.len()) {
            return Err(malformed(format!("{path}: materials[{material}] does not exist")));
        }
        if primitive.attributes.contains_key("POSITION") {
            return Ok(Some(topology));
        }
        self.log.lose("left-out-primitives", 1, || format!("{path} was dropped: it has no `POSITION` attribute"))?;
        Ok(None)
    }

    fn vertex_set(&mut self, primitive: &'a Primitive, path: &str, base: usize) -> Result<VertexSet<'a>> {
        let index = primitive.attributes.get("POSITION").copied().unwrap_or(usize::MAX);
        let user = format!("{path}.attributes.POSITION");
        let positions = self.values.layout(index, &user, &[3], self.log)?;
        if positions.component == Component::U32 {
            return Err(malformed(format!("{user}: accessors[{index}] has the wrong componentType 5125 (u32)")));
        }
        refuse_draco(primitive, &positions, path)?;
        let limit = self.max_elements();
        if base as u64 + positions.count as u64 > limit {
            return Err(over_limit(&format!("{path}: the vertices of the mesh"), limit, "elements"));
        }
        // `base` fits in 32 bits, because the limit is less than `NONE`.
        Ok(VertexSet { attributes: &primitive.attributes, path: path.to_owned(), positions, base: base as u32 })
    }

    fn max_elements(&self) -> u64 {
        // `NONE` marks missing indices, so no element can have this index.
        self.values.limits.elements.min(u64::from(NONE) - 1)
    }

    /// Adds the elements of a primitive.
    fn add(
        &mut self,
        part: &GltfPart,
        plan: &MeshPlan<'_>,
        mut vertices: Vec<u32>,
        builder: &mut MeshBuilder,
    ) -> Result<()> {
        let excess = part.topology.excess(vertices.len());
        vertices.truncate(vertices.len() - excess);
        if part.topology.has_faces() {
            builder.add_faces(part, plan.sets[part.set].base, &vertices)?;
        } else {
            // Without faces, or as the only slot, the first slot is the material of lines and points.
            let is_kept = part.slot == 0 && !plan.has_faces || plan.slots.len() == 1;
            if !is_kept && plan.slots[part.slot].is_some() {
                let message = || format!("{}: the material of lines or points was dropped", part.path);
                self.log.lose("left-out-materials", 1, message)?;
            }
            builder.add_others(part, plan.sets[part.set].base, vertices)?;
        }
        if excess > 0 {
            let vertices = counted(excess as u64, ["excess vertex", "excess vertices"]);
            self.log.note("extra-value", format!("{}: ignored {vertices} at the end", part.path))?;
        }
        Ok(())
    }
}

impl<'a> MeshPlan<'a> {
    /// Returns whether every part is a whole number of separate triangles, so that its indices are corners of faces.
    fn is_direct(&self) -> bool {
        let is_whole = |part: &GltfPart| part.topology == GltfTopology::Triangles && part.count.is_multiple_of(3);
        self.parts.iter().all(is_whole)
    }

    /// Allocates all arrays.
    fn draft(self, limit: u64) -> Result<MeshDraft<'a>> {
        let mut mesh = Mesh::default();
        let mut faces = Elements::default();
        let mut lists = Vec::new();
        self.streams.make_room(&self.sets, self.total, &mut mesh)?;
        let corners: usize = self.parts.iter().map(|part| part.count).sum();
        if corners as u64 > limit {
            return Err(over_limit("the corners of faces and lines", limit, "elements"));
        }
        if !self.is_direct() {
            for part in &self.parts {
                try_push(&mut lists, zeroed(part.count, "indices")?, "primitives")?;
            }
        } else if corners > 0 {
            faces.corner_positions = zeroed(corners, "corners")?.into();
            faces.offsets = zeroed(corners / 3 + 1, "faces")?.into();
        }
        Ok(MeshDraft { plan: self, mesh, faces, lists })
    }
}

impl MeshDraft<'_> {
    /// Adds the reads of all attributes and indices.
    fn add_fills<'m>(&'m mut self, fills: &mut Vec<AccessorFill<'m>>) -> Result<()> {
        let MeshDraft { plan, mesh, faces, lists } = self;
        plan.streams.add_fills(&plan.sets, mesh, fills)?;
        // The offsets of triangles are an arithmetic sequence, which is filled in parallel with everything else.
        try_push(fills, AccessorFill::steps(faces.offsets.to_mut()?, 0, 3), "faces")?;
        let mut corners = &mut faces.corner_positions.to_mut()?[..];
        let mut lists = lists.iter_mut();
        for part in &plan.parts {
            let base = plan.sets[part.set].base;
            let indices = match lists.next() {
                Some(list) => list,
                None => corners.split_off_mut(..part.count).unwrap_or_default(),
            };
            let fill = match &part.indices {
                Some(layout) => AccessorFill::indices(layout, indices, base, Some(&part.end)),
                None => AccessorFill::steps(indices, base, 1),
            };
            try_push(fills, fill, "primitives")?;
        }
        Ok(())
    }
}

const SPLATS_CUT: &str = "values of Gaussian splats were clamped: opacities to the range 0 to 1, scales to at least 0 \
                          (drafts of the extension stored logarithms)";

/// Fails for Draco primitives, because without a view, their values would silently be zeros.
fn refuse_draco(primitive: &Primitive, layout: &AccessorLayout, path: &str) -> Result<()> {
    let name = "KHR_draco_mesh_compression";
    if layout.is_zero() && primitive.extensions.contains_key(name) {
        return Err(unsupported(format!("{path} is compressed with `{name}`, which is not supported")));
    }
    Ok(())
}

/// A mesh to which primitives are added.
struct MeshBuilder {
    mesh: Mesh,
    uvs: StreamStarts,
    normals: StreamStarts,
    /// Slot of each face.
    face_slots: Vec<i32>,
    /// Maximum number of elements.
    limit: u64,
}

impl MeshBuilder {
    /// Returns the mesh without index streams that contain only [`NONE`]. Faces get slots if `has_slots`.
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

    /// Adds UVs, normals and slots for triangles that were read directly into the mesh, and removes the triangles of
    /// broken parts.
    fn add_direct(&mut self, plan: &MeshPlan<'_>, is_broken: &[bool]) -> Result<()> {
        let faces = &mut self.mesh.faces;
        let mut corners = std::mem::take(&mut faces.corner_positions).into_vec()?;
        let mut start = 0;
        for (part, is_broken) in plan.parts.iter().zip(is_broken) {
            if *is_broken {
                // `start` does not change, because the corners of the next part moved there.
                corners.drain(start..start + part.count);
                continue;
            }
            let part_corners = &corners[start..start + part.count];
            start += part.count;
            let base = plan.sets[part.set].base;
            self.uvs.append(part.set, base, part_corners, faces.corner_uvs.to_mut()?)?;
            self.normals.append(part.set, base, part_corners, faces.corner_normals.to_mut()?)?;
            if plan.slots.len() > 1 {
                add_slots(&mut self.face_slots, part, part.count / 3)?;
            }
        }
        let count = if corners.is_empty() { 0 } else { corners.len() / 3 + 1 };
        faces.offsets.to_mut()?.truncate(count);
        faces.corner_positions = corners.into();
        Ok(())
    }

    /// Adds the faces of a primitive.
    fn add_faces(&mut self, part: &GltfPart, base: u32, vertices: &[u32]) -> Result<()> {
        let faces = &mut self.mesh.faces;
        let mut corners = std::mem::take(&mut faces.corner_positions).into_vec()?;
        let start = corners.len();
        triangles(part.topology, vertices, &mut corners)?;
        let count = (corners.len() - start) / 3;
        append_ends(faces, count, 3, self.limit)?;
        self.uvs.append(part.set, base, &corners[start..], faces.corner_uvs.to_mut()?)?;
        self.normals.append(part.set, base, &corners[start..], faces.corner_normals.to_mut()?)?;
        faces.corner_positions = corners.into();
        add_slots(&mut self.face_slots, part, count)
    }

    /// Adds the lines or points of a primitive.
    fn add_others(&mut self, part: &GltfPart, base: u32, mut vertices: Vec<u32>) -> Result<()> {
        if part.topology == GltfTopology::Points {
            let points = self.mesh.points.to_mut()?;
            points.try_reserve(vertices.len())?;
            points.append(&mut vertices);
            if points.len() as u64 > self.limit {
                return Err(over_limit("the points of a mesh", self.limit, "elements"));
            }
            return Ok(());
        }
        // A loop ends at its first vertex. With only two vertices, the closing segment would repeat the first segment.
        if let [first, _, _, ..] = vertices[..]
            && part.topology == (GltfTopology::Strip { is_closed: true })
        {
            try_push(&mut vertices, first, "lines")?;
        }
        let lines = &mut self.mesh.lines;
        let (count, size) = match part.topology {
            GltfTopology::Lines => (vertices.len() / 2, 2),
            _ => (usize::from(!vertices.is_empty()), vertices.len()),
        };
        append_ends(lines, count, size, self.limit)?;
        self.uvs.append(part.set, base, &vertices, lines.corner_uvs.to_mut()?)?;
        let corners = lines.corner_positions.to_mut()?;
        corners.try_reserve(vertices.len())?;
        corners.append(&mut vertices);
        Ok(())
    }
}

/// Appends the slot of a part once for each of `count` faces.
fn add_slots(slots: &mut Vec<i32>, part: &GltfPart, count: usize) -> Result<()> {
    slots.try_reserve(count)?;
    slots.resize(slots.len() + count, i32::try_from(part.slot).unwrap_or(i32::MAX));
    Ok(())
}

#[cfg(test)]
#[path = "meshes_tests.rs"]
mod tests;
