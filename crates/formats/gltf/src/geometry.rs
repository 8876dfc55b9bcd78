//! Plans the vertices and triangles of a glTF mesh: each object has its own vertices, with one index per corner.
//!
//! A mesh is welded once. Its vertices are numbered in the order of the first corners that use them, so the vertices of
//! an object are consecutive; the few vertices that it shares with earlier objects are repeated. Nothing is copied: a
//! block of vertices is a range and a short list. [`crate::pages`] generates the bytes.

use crate::serial::collected;
use crate::splats::SplatPlaces;
use polyhaul_geometry::domains::index_attributes;
use polyhaul_geometry::flat::{spans, spans_of};
use polyhaul_geometry::linear::{add, cross, dot, subtract};
use polyhaul_geometry::weld::{Welded, weld};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::{Counts, Mesh, NONE};
use polyhaul_pipeline::options::RunOptions;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// A mesh with indices, and its sections.
pub(crate) struct GltfGeometry<'a> {
    /// The mesh, with index streams for UVs and normals.
    pub(crate) mesh: Cow<'a, Mesh>,
    pub(crate) welded: Welded,
    /// Computed normals of vertices whose normal is missing or has no direction.
    pub(crate) repaired: HashMap<u32, [f32; 3]>,
    pub(crate) sections: Vec<MeshSection>,
    /// Whether the materials of triangles are slots of objects rather than materials of the scene.
    pub(crate) has_slots: bool,
    /// Whether any color is translucent.
    pub(crate) has_alpha: bool,
    /// Whether a mesh without faces has a valid normal for every position.
    pub(crate) has_point_normals: bool,
    /// Columns of Gaussian splats, if the mesh consists of them.
    pub(crate) splats: Option<SplatPlaces>,
}

/// The part of a mesh that an object shows.
#[derive(Debug, Default)]
pub(crate) struct MeshSection {
    /// Triangles grouped by material. The groups are in the order of their first faces.
    pub(crate) triangles: Vec<MaterialTriangles>,
    /// Vertices of the triangles.
    pub(crate) vertices: VertexBlock,
    /// Line segments, as pairs of indices into the block, and the block of their vertices.
    pub(crate) lines: Option<(Vec<[u32; 2]>, VertexBlock)>,
    /// Vertices of the points.
    pub(crate) points: Option<VertexBlock>,
    /// Material of the lines and points.
    pub(crate) others: OthersMaterial,
}

/// The material of the lines and points of a section of a mesh without slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OthersMaterial {
    /// Index of the material that all of them have, [`NONE`] if there is none or if they have several.
    pub(crate) material: u32,
    /// Number of lines and points whose material is left out, because they have several.
    pub(crate) left_out: usize,
}

impl Default for OthersMaterial {
    fn default() -> Self {
        OthersMaterial { material: NONE, left_out: 0 }
    }
}

/// Triangles with the same material.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MaterialTriangles {
    /// Index of a material of the scene, or of a slot of an evaluated object; [`NONE`] if there is no material.
    pub(crate) material: u32,
    /// Face ranges in ascending order.
    pub(crate) faces: Vec<Range<usize>>,
}

/// Vertices that are consecutive in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum VertexBlock {
    /// A range of welded vertices, followed by earlier welded vertices in ascending order.
    Welded(Range<u32>, Vec<u32>),
    /// Positions, listed by their index.
    Listed(Vec<u32>),
    /// Consecutive positions.
    Positions(Range<u32>),
}

impl Default for VertexBlock {
    fn default() -> Self {
        VertexBlock::Positions(0..0)
    }
}

impl MaterialTriangles {
    pub(crate) fn count(&self) -> usize {
        self.faces.iter().map(ExactSizeIterator::len).sum()
    }
}

impl VertexBlock {
    pub(crate) fn count(&self) -> usize {
        match self {
            VertexBlock::Welded(range, others) => range.len() + others.len(),
            VertexBlock::Listed(positions) => positions.len(),
            VertexBlock::Positions(range) => range.len(),
        }
    }

    /// Returns whether the vertices are welded, with UVs and normals.
    pub(crate) fn is_welded(&self) -> bool {
        matches!(self, VertexBlock::Welded(..))
    }

    /// Returns the index of the welded vertex or position for vertex `number` of the block.
    #[inline]
    pub(crate) fn source(&self, number: usize) -> u32 {
        match self {
            VertexBlock::Welded(range, others) => match number.checked_sub(range.len()) {
                None => range.start + number as u32,
                Some(number) => others[number],
            },
            VertexBlock::Listed(positions) => positions[number],
            VertexBlock::Positions(range) => range.start + number as u32,
        }
    }

    /// Returns the index within the block for a welded vertex, which the block must contain.
    #[inline]
    pub(crate) fn number(&self, vertex: u32) -> u32 {
        match self {
            VertexBlock::Welded(range, others) if vertex < range.start => {
                (range.len() + others.partition_point(|&other| other < vertex)) as u32
            }
            VertexBlock::Welded(range, _) => vertex - range.start,
            _ => vertex,
        }
    }
}

impl<'a> GltfGeometry<'a> {
    /// Plans a triangle mesh with one section for each start and end in `cuts`. `has_slots` tells whether materials are
    /// slots of objects instead of materials of the scene.
    pub(crate) fn new(
        mesh: &'a Mesh,
        cuts: &[(Counts, Counts)],
        has_slots: bool,
        run: &RunOptions,
    ) -> Result<GltfGeometry<'a>> {
        let mut mesh = Cow::Borrowed(mesh);
        if mesh.is_evaluated() {
            index_attributes(mesh.to_mut(), run)?;
        }
        let welded = weld(&mesh, run)?;
        let repaired = repaired_normals(&mesh, &welded)?;
        let mut sections = Vec::new();
        sections.try_reserve_exact(cuts.len())?;
        sections.resize_with(cuts.len(), MeshSection::default);
        let mut order = collected(0..cuts.len())?;
        // In face order, because vertices are numbered by the first corner that uses them.
        order.sort_by_key(|&cut| cuts[cut].0.faces);
        let mut next = 0;
        for cut in order {
            let (start, end) = cuts[cut];
            let faces = start.faces as usize..end.faces as usize;
            let vertices = welded_block(&welded.corner_vertices[3 * faces.start..3 * faces.end], next)?;
            if let VertexBlock::Welded(range, _) = &vertices {
                next = next.max(range.end);
            }
            let triangles = triangles(&mesh, faces, has_slots)?;
            let lines = lines(&mesh, start, end)?;
            let points = points(&mesh, start, end)?;
            let others = others_material(&mesh, start, end);
            sections[cut] = MeshSection { triangles, vertices, lines, points, others };
        }
        // Computed once for all sections, because there may be many.
        let has_alpha = mesh.colors.iter().any(|color| color[3] < 1.0);
        let has_point_normals = mesh.faces.is_empty()
            && mesh.normals.len() == mesh.positions.len()
            && mesh.normals.iter().all(|&normal| is_direction(normal));
        Ok(GltfGeometry { mesh, welded, repaired, sections, has_slots, has_alpha, has_point_normals, splats: None })
    }
}

/// Collects the vertices of some corners. Vertices before `start` belong to earlier sections.
fn welded_block(corners: &[u32], start: u32) -> Result<VertexBlock> {
    let mut end = start;
    let mut others = Vec::new();
    for &vertex in corners {
        if vertex >= start {
            end = end.max(vertex + 1);
        } else {
            try_push(&mut others, vertex, "the plan")?;
        }
    }
    // `VertexBlock::number` requires them to be sorted.
    others.sort_unstable();
    others.dedup();
    Ok(VertexBlock::Welded(start..end, others))
}

/// Groups faces by material.
fn triangles(mesh: &Mesh, faces: Range<usize>, has_slots: bool) -> Result<Vec<MaterialTriangles>> {
    let mut groups: Vec<MaterialTriangles> = Vec::new();
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    let mut add = |material: u32, faces: Range<usize>| -> Result<()> {
        let next = groups.len();
        numbers.try_reserve(1).map_err(|_| Error::memory("the plan"))?;
        let number = *numbers.entry(material).or_insert(next);
        if number == next {
            try_push(&mut groups, MaterialTriangles { material, faces: Vec::new() }, "the plan")?;
        }
        let ranges = &mut groups[number].faces;
        match ranges.last_mut() {
            Some(last) if last.end == faces.start => last.end = faces.end,
            _ => try_push(ranges, faces, "the plan")?,
        }
        Ok(())
    };
    let mut start = faces.start;
    if !has_slots {
        for (material, count) in spans(&mesh.material_runs, faces) {
            add(material, start..start + count)?;
            start += count;
        }
    } else if mesh.face_materials.is_empty() {
        if !faces.is_empty() {
            add(0, faces)?;
        }
    } else {
        let slots = mesh.face_materials.get(faces).ok_or_else(|| wrong("has more faces than material indices"))?;
        for same in slots.chunk_by(|a, b| a == b) {
            add(u32::try_from(same[0]).unwrap_or(NONE), start..start + same.len())?;
            start += same.len();
        }
    }
    Ok(groups)
}

/// Collects the segments of polylines and renumbers them within their block.
fn lines(mesh: &Mesh, start: Counts, end: Counts) -> Result<Option<(Vec<[u32; 2]>, VertexBlock)>> {
    let mut segments = Vec::new();
    let mut used = Vec::new();
    for line in start.lines as usize..end.lines as usize {
        let corners = &mesh.lines.corner_positions[mesh.lines.corners(line)];
        check(corners, mesh)?;
        for pair in corners.windows(2) {
            try_push(&mut segments, [pair[0], pair[1]], "the plan")?;
        }
    }
    if segments.is_empty() {
        return Ok(None);
    }
    used.try_reserve_exact(2 * segments.len())?;
    used.extend_from_slice(segments.as_flattened());
    used.sort_unstable();
    used.dedup();
    for corner in segments.as_flattened_mut() {
        *corner = used.partition_point(|position| position < corner) as u32;
    }
    Ok(Some((segments, VertexBlock::Listed(used))))
}

/// Collects the points of a section. If the mesh has no elements, these are all positions of the section.
fn points(mesh: &Mesh, start: Counts, end: Counts) -> Result<Option<VertexBlock>> {
    if mesh.faces.is_empty() && mesh.lines.is_empty() && mesh.points.is_empty() && mesh.curves.is_empty() {
        let range = start.positions..end.positions;
        return Ok((!range.is_empty()).then_some(VertexBlock::Positions(range)));
    }
    let points = &mesh.points[start.points as usize..end.points as usize];
    if points.is_empty() {
        return Ok(None);
    }
    check(points, mesh)?;
    Ok(Some(VertexBlock::Listed(polyhaul_model::error::try_copy(points, "the plan")?)))
}

/// Returns the material of the lines and points of a section.
fn others_material(mesh: &Mesh, start: Counts, end: Counts) -> OthersMaterial {
    let lines = spans_of(&mesh.material_runs, start.lines as usize..end.lines as usize, |at| at.lines);
    let points = spans_of(&mesh.material_runs, start.points as usize..end.points as usize, |at| at.points);
    let mut first = None;
    let mut is_mixed = false;
    let mut with_material = 0;
    for (material, count) in lines.chain(points) {
        is_mixed |= *first.get_or_insert(material) != material;
        with_material += if material == NONE { 0 } else { count };
    }
    match first {
        Some(material) if !is_mixed => OthersMaterial { material, left_out: 0 },
        _ => OthersMaterial { material: NONE, left_out: with_material },
    }
}

fn check(positions: &[u32], mesh: &Mesh) -> Result<()> {
    match positions.iter().find(|&&position| position as usize >= mesh.positions.len()) {
        Some(position) => Err(wrong(&format!("refers to position {position}, which is out of range"))),
        None => Ok(()),
    }
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("a mesh {what}"))
}

/// Returns whether a normal has a direction: a finite length other than 0.
pub(crate) fn is_direction(normal: [f32; 3]) -> bool {
    let length: f64 = normal.iter().map(|&part| f64::from(part) * f64::from(part)).sum();
    length > 0.0 && length.is_finite()
}

/// Normalizes a vector. Returns +y if it has no direction.
pub(crate) fn unit(vector: [f64; 3]) -> [f32; 3] {
    let length = dot(vector, vector).sqrt();
    // glTF requires unit normals, so a vector without a direction needs a substitute.
    if length > 0.0 && length.is_finite() { vector.map(|part| (part / length) as f32) } else { [0.0, 1.0, 0.0] }
}

/// Computes normals for vertices that have no valid normal: the area-weighted mean of the normals of adjacent
/// triangles.
fn repaired_normals(mesh: &Mesh, welded: &Welded) -> Result<HashMap<u32, [f32; 3]>> {
    let mut sums: HashMap<u32, [f64; 3]> = HashMap::new();
    for (vertex, &normal) in welded.vertex_normals.iter().enumerate() {
        if !mesh.normals.get(normal as usize).is_some_and(|&normal| is_direction(normal)) {
            sums.try_reserve(1).map_err(|_| Error::memory("normals"))?;
            sums.insert(vertex as u32, [0.0; 3]);
        }
    }
    if sums.is_empty() {
        return Ok(HashMap::new());
    }
    for triangle in welded.corner_vertices.as_chunks::<3>().0 {
        // Only triangles with a vertex to repair need a normal.
        if triangle.iter().any(|vertex| sums.contains_key(vertex)) {
            let normal = area_normal(triangle.map(|vertex| position(mesh, welded.vertex_positions[vertex as usize])));
            for vertex in triangle {
                if let Some(sum) = sums.get_mut(vertex) {
                    *sum = add(*sum, normal);
                }
            }
        }
    }
    let mut repaired = HashMap::new();
    repaired.try_reserve(sums.len()).map_err(|_| Error::memory("normals"))?;
    repaired.extend(sums.into_iter().map(|(vertex, sum)| (vertex, unit(sum))));
    Ok(repaired)
}

fn position(mesh: &Mesh, index: u32) -> [f64; 3] {
    mesh.positions.get(index as usize).copied().unwrap_or_default().map(f64::from)
}

/// Returns the normal of a triangle. Its length is twice the area of the triangle.
fn area_normal([a, b, c]: [[f64; 3]; 3]) -> [f64; 3] {
    cross(subtract(b, a), subtract(c, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::{Elements, Run};

    fn mesh(corners: &[u32]) -> Mesh {
        let offsets: Vec<u32> = (0..=corners.len() as u32 / 3).map(|face| 3 * face).collect();
        let faces =
            Elements { offsets: offsets.into(), corner_positions: corners.to_vec().into(), ..Elements::default() };
        let positions: Vec<[f32; 3]> = (0..8).map(|i| [i as f32, (i * i) as f32, 0.0]).collect();
        Mesh { positions: positions.into(), faces, ..Mesh::default() }
    }

    fn at(faces: u32) -> Counts {
        Counts { faces, ..Counts::default() }
    }

    #[test]
    fn objects_have_separate_vertices() {
        let mesh = mesh(&[7, 6, 5, 5, 4, 3, 7, 3, 2]);
        let cuts = [(at(1), at(3)), (at(0), at(1))];
        let geometry = GltfGeometry::new(&mesh, &cuts, false, &RunOptions::default()).unwrap();
        let [second, first] = &geometry.sections[..] else { panic!() };
        assert_eq!(first.vertices, VertexBlock::Welded(0..3, vec![]));
        assert_eq!(second.vertices, VertexBlock::Welded(3..6, vec![0, 2]));
        let numbers: Vec<_> =
            geometry.welded.corner_vertices[3..].iter().map(|&vertex| second.vertices.number(vertex)).collect();
        assert_eq!(numbers, [4, 0, 1, 3, 1, 2]);
        let positions: Vec<_> = numbers
            .iter()
            .map(|&number| geometry.welded.vertex_positions[second.vertices.source(number as usize) as usize])
            .collect();
        assert_eq!(positions, [5, 4, 3, 7, 3, 2]);
    }

    #[test]
    fn faces_are_sorted_by_material() {
        let run = |faces: u32, value: u32| Run { at: at(faces), value };
        let mesh = Mesh { material_runs: vec![run(0, 5), run(1, 2), run(2, 5)], ..mesh(&[0; 12]) };
        let groups = triangles(&mesh, 0..4, false).unwrap();
        let expected = [(5, &[0..1, 2..4][..]), (2, std::slice::from_ref(&(1..2)))];
        assert_eq!(groups, expected.map(|(material, faces)| MaterialTriangles { material, faces: faces.to_vec() }));
        assert_eq!(groups[0].count(), 3);
    }

    #[test]
    fn missing_normals_follow_the_triangles() {
        let mut mesh = Mesh {
            positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].into(),
            normals: vec![[0.0, 0.0, -2.0], [0.0; 3]].into(),
            ..mesh(&[0, 1, 2])
        };
        mesh.faces.corner_normals = vec![0, 1, NONE].into();
        let geometry = GltfGeometry::new(&mesh, &[(at(0), at(1))], false, &RunOptions::default()).unwrap();
        let mut repaired: Vec<_> = geometry.repaired.into_iter().collect();
        repaired.sort_by_key(|(vertex, _)| *vertex);
        assert_eq!(repaired, [(1, [0.0, 0.0, 1.0]), (2, [0.0, 0.0, 1.0])]);
    }

    #[test]
    fn segments_share_their_vertices() {
        let mut mesh = mesh(&[]);
        mesh.lines = Elements {
            offsets: vec![0, 3, 5].into(),
            corner_positions: vec![6, 2, 4, 2, 6].into(),
            ..Elements::default()
        };
        let (segments, vertices) = lines(&mesh, Counts::default(), mesh.counts()).unwrap().unwrap();
        assert_eq!(segments, [[2, 0], [0, 1], [0, 2]]);
        assert_eq!(vertices, VertexBlock::Listed(vec![2, 4, 6]));
        mesh.lines.corner_positions = vec![6, 2, 8, 2, 6].into();
        assert!(lines(&mesh, Counts::default(), mesh.counts()).is_err());
    }
}
