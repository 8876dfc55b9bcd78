//! Meshes: positions, UVs and normals, each with its own index stream, and the elements that use them.

use super::{Array, Bounds, Column};

/// The arrays of a mesh.
///
/// Positions, UVs and normals keep the order and count of the source. Each corner refers to its position by index, and
/// to its UV and normal according to their [`Domain`]. No values are duplicated to build a single index; for that, see
/// `polyhaul_geometry::weld`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// x, y, z in the source's units.
    pub positions: Array<[f32; 3]>,
    /// Double-precision positions: empty if rounding to 32-bit floats loses nothing that matters, otherwise one per
    /// position, with the nearest floats in `positions`. Code that moves, adds or removes positions must update both.
    pub exact_positions: Array<[f64; 3]>,
    /// Rational weights: empty, or one per position (1 if the source has none).
    pub position_weights: Array<f32>,
    /// Red, green, blue and alpha as in the source: empty, or one per position. A position without a color in the
    /// source has NaN; a color without alpha has alpha 1.
    pub colors: Array<[f32; 4]>,
    /// Texture coordinates u, v.
    pub uvs: Array<[f32; 2]>,
    /// The mapping from corners to UVs.
    pub uv_domain: Domain,
    /// The third texture coordinate: empty, or one per UV (0 if the source has none).
    pub uv_depths: Array<f32>,
    /// Normals, not necessarily of unit length.
    pub normals: Array<[f32; 3]>,
    /// The mapping from corners to normals.
    pub normal_domain: Domain,
    /// Polygons of at least three corners.
    pub faces: Elements,
    /// Polylines of at least two corners. They have no normals.
    pub lines: Elements,
    /// Points: indices into `positions`.
    pub points: Array<u32>,
    /// Free-form curves.
    pub curves: Vec<Curve>,
    /// Material assignments, as runs of elements: indices into the scene's materials.
    pub material_runs: Vec<Run>,
    /// Group assignments, as runs of elements: indices into `groups`, or [`super::NONE`] for no group.
    pub group_runs: Vec<Run>,
    /// Smoothing group assignments, as runs of elements: 0 is off, 1 and above are groups or bit flags.
    pub smoothing_runs: Vec<Run>,
    /// The text of each distinct group statement. A statement with several names is one space-separated entry.
    pub groups: Vec<String>,
    /// The material slot of each face; if empty, all faces use slot 0. A slot that the object lacks means no material.
    pub face_materials: Array<i32>,
    /// The shading of each face: 0 is flat, other values are smooth. If empty, shading is unspecified.
    pub face_smooth: Array<u8>,
    /// Edges that separate smoothing groups, as pairs of position indices.
    pub sharp_edges: Array<[u32; 2]>,
    /// Named sets of positions with weights.
    pub vertex_groups: Vec<VertexGroup>,
    /// Additional vertex attributes: columns with one row per position.
    pub vertex_columns: Vec<Column>,
    /// Additional face attributes: columns with one row per face.
    pub face_columns: Vec<Column>,
}

/// The mapping from corners to the values of an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Through a separate index stream ([`Elements::corner_uvs`], [`Elements::corner_normals`]).
    #[default]
    Indexed,
    /// One value per corner.
    Corner,
    /// One value per position.
    Vertex,
    /// One value per face.
    Face,
}

/// A named set of positions with weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VertexGroup {
    /// The name.
    pub name: String,
    /// One weight per position; NaN if the position is not a member.
    pub weights: Array<f32>,
}

/// Elements with any number of corners, as offsets and index streams.
///
/// Element `i` owns the corners `offsets[i]..offsets[i + 1]`. `offsets` has one more entry than there are elements, or
/// is empty if there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// The index of each element's first corner, followed by the total number of corners.
    pub offsets: Array<u32>,
    /// Position index per corner.
    pub corner_positions: Array<u32>,
    /// UV index per corner, or [`super::NONE`]. Empty if no corner has a UV.
    pub corner_uvs: Array<u32>,
    /// Normal index per corner, or [`super::NONE`]. Empty if no corner has a normal.
    pub corner_normals: Array<u32>,
}

/// A B-spline curve over positions of the mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The polynomial degree.
    pub degree: u32,
    /// Whether the position weights apply (a NURBS curve).
    pub rational: bool,
    /// The first and last parameter value.
    pub range: [f32; 2],
    /// The control points, as position indices.
    pub control_points: Vec<u32>,
    /// The knot vector.
    pub knots: Vec<f32>,
    /// The position of the curve's statement, as the element counts before it.
    pub at: Counts,
}

/// A value that applies from `at` until the next run. Repeated statements are kept, even without elements after them.
/// If several runs start at the same element, the last run applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The element counts before the run.
    pub at: Counts,
    /// The value; its meaning depends on the field that holds the runs.
    pub value: u32,
}

/// The number of elements of each kind; also used as a position in all streams of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Positions.
    pub positions: u32,
    /// UVs.
    pub uvs: u32,
    /// Normals.
    pub normals: u32,
    /// Faces.
    pub faces: u32,
    /// Polylines.
    pub lines: u32,
    /// Points.
    pub points: u32,
    /// Free-form curves.
    pub curves: u32,
}

impl Run {
    /// Returns the value of the last run that starts at or before a face, or `None` if there is no such run.
    pub fn at_face(runs: &[Run], face: usize) -> Option<u32> {
        let next = runs.partition_point(|run| run.at.faces as usize <= face);
        runs.get(next.checked_sub(1)?).map(|run| run.value)
    }
}

impl Counts {
    /// The number of kinds.
    pub const KINDS: usize = 7;

    /// Returns the counts in the order of the fields.
    pub fn to_array(self) -> [u32; Self::KINDS] {
        [self.positions, self.uvs, self.normals, self.faces, self.lines, self.points, self.curves]
    }

    /// Creates counts from an array in the order of the fields.
    pub fn from_array([positions, uvs, normals, faces, lines, points, curves]: [u32; 7]) -> Counts {
        Counts { positions, uvs, normals, faces, lines, points, curves }
    }

    /// Returns the sum, or `None` if a count would exceed 2^32 - 1.
    pub fn checked_add(self, other: Counts) -> Option<Counts> {
        let mut sum = self.to_array();
        for (a, b) in sum.iter_mut().zip(other.to_array()) {
            *a = a.checked_add(b)?;
        }
        Some(Self::from_array(sum))
    }

    /// Returns whether every count is at most the corresponding count in `other`.
    pub fn precedes(self, other: Counts) -> bool {
        self.to_array().iter().zip(other.to_array()).all(|(&count, other)| count <= other)
    }

    /// Returns whether there are no faces, lines, points or curves between `self` and `later`.
    pub fn same_elements(self, later: Counts) -> bool {
        (self.faces, self.lines, self.points, self.curves) == (later.faces, later.lines, later.points, later.curves)
    }
}

impl Elements {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the corners of element `index`, or an empty range if there is no such element.
    pub fn corners(&self, index: usize) -> std::ops::Range<usize> {
        match self.offsets.get(index..).unwrap_or(&[]) {
            [start, end, ..] => *start as usize..*end as usize,
            _ => 0..0,
        }
    }
}

impl Mesh {
    /// Returns the number of elements of each kind in the mesh.
    pub fn counts(&self) -> Counts {
        Counts {
            positions: self.positions.len() as u32,
            uvs: self.uvs.len() as u32,
            normals: self.normals.len() as u32,
            faces: self.faces.len() as u32,
            lines: self.lines.len() as u32,
            points: self.points.len() as u32,
            curves: self.curves.len() as u32,
        }
    }

    /// Returns the smoothing group of a face: 0 or 1 from [`Mesh::face_smooth`] or, if that is empty, the value from
    /// [`Mesh::smoothing_runs`]. 0 is flat; `None` is unspecified.
    pub fn smoothing_group(&self, face: usize) -> Option<u32> {
        let flag = self.face_smooth.get(face).map(|&smooth| u32::from(smooth != 0));
        flag.or_else(|| Run::at_face(&self.smoothing_runs, face))
    }

    /// Moves the statements of curves after all positions, UVs and normals, and runs that start after more of them than
    /// there are to their end. Must be called after these arrays have changed.
    pub fn move_curves_behind(&mut self) {
        let Counts { positions, uvs, normals, .. } = self.counts();
        for curve in &mut self.curves {
            curve.at = Counts { positions, uvs, normals, ..curve.at };
        }
        let runs = [&mut self.material_runs, &mut self.group_runs, &mut self.smoothing_runs];
        for Run { at, .. } in runs.into_iter().flatten() {
            at.positions = at.positions.min(positions);
            at.uvs = at.uvs.min(uvs);
            at.normals = at.normals.min(normals);
        }
    }

    /// Returns whether the mesh has data of an evaluated mesh, as in Blender: UVs or normals that are not indexed,
    /// per-face material slots or shading, or vertex groups.
    pub fn is_evaluated(&self) -> bool {
        let domains = [self.uv_domain, self.normal_domain];
        domains.into_iter().any(|domain| domain != Domain::Indexed)
            || !self.face_materials.is_empty()
            || !self.face_smooth.is_empty()
            || !self.vertex_groups.is_empty()
    }

    /// Returns the bounding box of all finite positions, or `None` if there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        Bounds::of(&self.positions)
    }

    /// Returns the memory used by arrays and runs, in bytes. Curves and names are not counted.
    pub fn heap_bytes(&self) -> u64 {
        let elements = |e: &Elements| {
            let corners = [&e.offsets, &e.corner_positions, &e.corner_uvs, &e.corner_normals];
            corners.into_iter().map(Array::heap_bytes).sum::<u64>()
        };
        let runs = self.material_runs.len() + self.group_runs.len() + self.smoothing_runs.len();
        let floats = [&self.position_weights, &self.uv_depths];
        let values = self.positions.heap_bytes()
            + self.exact_positions.heap_bytes()
            + self.colors.heap_bytes()
            + self.uvs.heap_bytes()
            + self.normals.heap_bytes()
            + floats.into_iter().map(Array::heap_bytes).sum::<u64>();
        let faces = self.face_materials.heap_bytes() + self.face_smooth.heap_bytes() + self.sharp_edges.heap_bytes();
        let groups: u64 = self.vertex_groups.iter().map(|group| group.weights.heap_bytes()).sum();
        let columns: u64 = self.vertex_columns.iter().chain(&self.face_columns).map(Column::heap_bytes).sum();
        let others = self.points.heap_bytes() + (runs * size_of::<Run>()) as u64;
        values + faces + groups + columns + others + elements(&self.faces) + elements(&self.lines)
    }
}

impl Bounds {
    /// Returns the bounding box of all finite positions, or `None` if there are none.
    pub fn of(positions: &[[f32; 3]]) -> Option<Bounds> {
        positions.chunks(BLOCK).filter_map(block_bounds).reduce(Bounds::union)
    }

    /// Returns the bounding box of all finite double-precision positions, or `None` if there are none.
    pub fn of_exact(positions: &[[f64; 3]]) -> Option<Bounds<f64>> {
        let finite = positions.iter().filter(|position| position.iter().all(|value| value.is_finite()));
        finite.map(|&position| Bounds { min: position, max: position }).reduce(Bounds::union)
    }
}

/// Number of positions per block. In a block without infinities and NaN, only the positions after the last full step
/// are checked one by one.
const BLOCK: usize = 256;
/// Number of positions per step: 24 floats fill three 256-bit vectors.
const LANES: usize = 8;

/// Returns the bounding box of the finite positions in a block.
///
/// Without infinities and NaN, the positions in full steps need no individual checks, so the minima and maxima stay in
/// vector registers.
fn block_bounds(block: &[[f32; 3]]) -> Option<Bounds> {
    let (groups, rest) = block.as_flattened().as_chunks::<{ 3 * LANES }>();
    let mut min = [f32::INFINITY; 3 * LANES];
    let mut max = [f32::NEG_INFINITY; 3 * LANES];
    let mut zero = [0.0; 3 * LANES];
    for group in groups {
        for lane in 0..3 * LANES {
            let value = group[lane];
            min[lane] = if value < min[lane] { value } else { min[lane] };
            max[lane] = if value > max[lane] { value } else { max[lane] };
            // Stays NaN once a value is infinite or NaN.
            zero[lane] += value * 0.0;
        }
    }
    let of_positions = |positions: &[[f32; 3]]| {
        let finite = positions.iter().filter(|position| position.iter().all(|value| value.is_finite()));
        finite.map(|&position| Bounds { min: position, max: position }).reduce(Bounds::union)
    };
    if zero != [0.0; 3 * LANES] || groups.is_empty() {
        return of_positions(block);
    }
    let lanes = min.as_chunks::<3>().0.iter().zip(max.as_chunks::<3>().0);
    let whole = lanes.map(|(&min, &max)| Bounds { min, max }).reduce(Bounds::union);
    let tail = of_positions(&block[block.len() - rest.len() / 3..]);
    whole.into_iter().chain(tail).reduce(Bounds::union)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_before_a_face_counts() {
        let run = |faces: u32, value: u32| Run { at: Counts { faces, ..Counts::default() }, value };
        let runs = [run(2, 5), run(2, 6), run(4, 0), run(5, 1)];
        let values: Vec<_> = (0..7).map(|face| Run::at_face(&runs, face)).collect();
        assert_eq!(values, [None, None, Some(6), Some(6), Some(0), Some(1), Some(1)]);
        let mesh = Mesh { face_smooth: vec![0, 7].into(), smoothing_runs: runs.into(), ..Mesh::default() };
        assert_eq!([0, 1, 2].map(|face| mesh.smoothing_group(face)), [Some(0), Some(1), Some(6)]);
    }

    #[test]
    fn bounds_ignore_positions_that_are_not_finite() {
        let number = |i: usize| (i as f32 * 0.37).sin() * 100.0;
        for count in [0, 1, 7, 8, 9, 255, 256, 257, 600] {
            let finite_positions: Vec<[f32; 3]> =
                (0..count).map(|i| [number(i), number(i + 1000), number(i + 2000)]).collect();
            for index in [None, Some(0), Some(count / 2), Some(count.saturating_sub(1))] {
                for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
                    let mut positions = finite_positions.clone();
                    if let Some(position) = index.and_then(|index| positions.get_mut(index)) {
                        position[1] = value;
                    }
                    let finite = positions.iter().filter(|position| position.iter().all(|value| value.is_finite()));
                    let expected = finite.map(|&position| Bounds { min: position, max: position });
                    let expected = expected.reduce(Bounds::union);
                    let mesh = Mesh { positions: positions.into(), ..Mesh::default() };
                    assert_eq!(mesh.bounds(), expected, "{count} {index:?} {value}");
                }
            }
        }
    }
}
