//! Meshes: positions, uvs and normals with an index stream each, and the elements that use them.

use super::{Array, Bounds, Column};

/// The arrays of a mesh.
///
/// Positions, uvs and normals keep the order and count of the source. Each corner refers to its position by index, and
/// to its uv and normal according to their [`Domain`]. No values are duplicated to build a single index;
/// `polyhaul_geometry::weld` does that on request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// x, y, z in the source's units.
    pub positions: Array<[f32; 3]>,
    /// The positions in double precision: empty if 32-bit floats lose nothing that matters, otherwise one per position,
    /// whose nearest floats are in `positions`. Code that moves, adds or removes positions must do the same to these.
    pub exact_positions: Array<[f64; 3]>,
    /// Rational weights: empty, or one per position (1 where the source gave none).
    pub position_weights: Array<f32>,
    /// Red, green, blue, alpha as the source gave them: empty, or one per position
    /// (NaN where the source gave none; alpha 1 where it gave three).
    pub colors: Array<[f32; 4]>,
    /// Texture coordinates u, v.
    pub uvs: Array<[f32; 2]>,
    /// How the uv of a corner is found.
    pub uv_domain: Domain,
    /// The third texture coordinate: empty, or one per uv (0 where the source gave none).
    pub uv_depths: Array<f32>,
    /// Normals, not necessarily of unit length.
    pub normals: Array<[f32; 3]>,
    /// How the normal of a corner is found.
    pub normal_domain: Domain,
    /// Polygons of three corners or more.
    pub faces: Elements,
    /// Polylines of at least two corners; they have no normals.
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
    /// The text of each distinct group statement; a statement with several names is one space-separated entry.
    pub groups: Vec<String>,
    /// The material slot of each face; if empty, all faces use slot 0. A slot that the object does not have means no
    /// material.
    pub face_materials: Array<i32>,
    /// The shading of each face: 0 is flat, anything else is smooth. If empty, it is unspecified.
    pub face_smooth: Array<u8>,
    /// Edges that separate smoothing groups, as pairs of position indices.
    pub sharp_edges: Array<[u32; 2]>,
    /// Weights of positions, by name.
    pub vertex_groups: Vec<VertexGroup>,
    /// Additional vertex attributes: columns with one row per position.
    pub vertex_columns: Vec<Column>,
    /// Additional face attributes: columns with one row per face.
    pub face_columns: Vec<Column>,
}

/// How the value of an attribute is found for a corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Domain {
    /// By a separate index stream ([`Elements::corner_uvs`], [`Elements::corner_normals`]).
    #[default]
    Indexed,
    /// There is one value per corner.
    Corner,
    /// There is one value per position.
    Vertex,
    /// There is one value per face.
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

/// Elements with any number of corners each, as offsets and index streams.
///
/// Element `i` owns the corners `offsets[i]..offsets[i + 1]`. `offsets` is empty if there are no elements; otherwise it
/// has one more entry than there are elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// The index of each element's first corner, followed by the total number of corners.
    pub offsets: Array<u32>,
    /// Per corner: the index of its position.
    pub corner_positions: Array<u32>,
    /// Per corner: the index of its uv, [`super::NONE`] for none. Empty if no corner has one.
    pub corner_uvs: Array<u32>,
    /// Per corner: the index of its normal, [`super::NONE`] for none. Empty if no corner has one.
    pub corner_normals: Array<u32>,
}

/// A B-spline curve over positions of the mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The polynomial degree.
    pub degree: u32,
    /// Whether the position weights count (a NURBS curve).
    pub rational: bool,
    /// The first and the last parameter value.
    pub range: [f32; 2],
    /// The control points: indices of positions.
    pub control_points: Vec<u32>,
    /// The knot vector.
    pub knots: Vec<f32>,
    /// The position of the curve's statement: the element counts before it.
    pub at: Counts,
}

/// A value that applies from `at` until the next run. Repeated statements are kept, even those not followed by any
/// element; if several runs start at the same element, the last one applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The counts of everything that came before.
    pub at: Counts,
    /// The value; its meaning depends on the field that holds the runs.
    pub value: u32,
}

/// The number of elements of each kind; also used as a position in all streams of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Positions.
    pub positions: u32,
    /// Uvs.
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
    /// Returns the value that applies to a face: the value of the last run that starts at or before it.
    pub fn at_face(runs: &[Run], face: usize) -> Option<u32> {
        let next = runs.partition_point(|run| run.at.faces as usize <= face);
        runs.get(next.checked_sub(1)?).map(|run| run.value)
    }
}

impl Counts {
    /// The number of kinds.
    pub const KINDS: usize = 7;

    /// The counts in the order of the fields.
    pub fn to_array(self) -> [u32; Self::KINDS] {
        [self.positions, self.uvs, self.normals, self.faces, self.lines, self.points, self.curves]
    }

    /// From counts in the order of the fields.
    pub fn from_array([positions, uvs, normals, faces, lines, points, curves]: [u32; 7]) -> Counts {
        Counts { positions, uvs, normals, faces, lines, points, curves }
    }

    /// The sum, or `None` if a count would exceed 2^32 - 1.
    pub fn checked_add(self, other: Counts) -> Option<Counts> {
        let mut sum = self.to_array();
        for (a, b) in sum.iter_mut().zip(other.to_array()) {
            *a = a.checked_add(b)?;
        }
        Some(Self::from_array(sum))
    }

    /// Returns whether every count is at most the one in `other`.
    pub fn precedes(self, other: Counts) -> bool {
        self.to_array().iter().zip(other.to_array()).all(|(&count, other)| count <= other)
    }

    /// Whether no face, line, point or curve lies between `self` and `later`.
    pub fn same_elements(self, later: Counts) -> bool {
        (self.faces, self.lines, self.points, self.curves) == (later.faces, later.lines, later.points, later.curves)
    }
}

impl Elements {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The corners of element `index`; empty if there is no such element.
    pub fn corners(&self, index: usize) -> std::ops::Range<usize> {
        match self.offsets.get(index..).unwrap_or(&[]) {
            [start, end, ..] => *start as usize..*end as usize,
            _ => 0..0,
        }
    }
}

impl Mesh {
    /// The number of elements of each kind in the mesh.
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

    /// The smoothing group of a face, 0 if it is flat: by its own flag, or else by the runs. `None` if neither exists.
    pub fn smoothing_group(&self, face: usize) -> Option<u32> {
        let flag = self.face_smooth.get(face).map(|&smooth| u32::from(smooth != 0));
        flag.or_else(|| Run::at_face(&self.smoothing_runs, face))
    }

    /// Moves the statements of curves after all positions, uvs and normals, for a mesh in which these have changed.
    pub fn move_curves_behind(&mut self) {
        let Counts { positions, uvs, normals, .. } = self.counts();
        for curve in &mut self.curves {
            curve.at = Counts { positions, uvs, normals, ..curve.at };
        }
    }

    /// Whether the mesh has data that only programs create: attributes with a domain, per-face values or vertex groups.
    pub fn is_evaluated(&self) -> bool {
        let domains = [self.uv_domain, self.normal_domain];
        domains.into_iter().any(|domain| domain != Domain::Indexed)
            || !self.face_materials.is_empty()
            || !self.face_smooth.is_empty()
            || !self.vertex_groups.is_empty()
    }

    /// The box around all finite positions; `None` if there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        Bounds::of(&self.positions)
    }

    /// The memory used by the arrays, in bytes.
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
    /// The box around all finite positions; `None` if there are none.
    pub fn of(positions: &[[f32; 3]]) -> Option<Bounds> {
        positions.chunks(BLOCK).filter_map(block_bounds).reduce(Bounds::union)
    }

    /// The box around all finite positions in double precision; `None` if there are none.
    pub fn of_exact(positions: &[[f64; 3]]) -> Option<Bounds<f64>> {
        let finite = positions.iter().filter(|position| position.iter().all(|value| value.is_finite()));
        finite.map(|&position| Bounds { min: position, max: position }).reduce(Bounds::union)
    }
}

/// Positions processed together; the values of a block stay in vector registers.
const BLOCK: usize = 256;
/// Positions processed at once: 24 numbers, three of the widest vectors.
const LANES: usize = 8;

/// The box around the finite positions of a block.
///
/// A block without infinities and NaN needs no checks of single positions, so its lanes stay in vector registers.
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
            // An infinity or NaN makes it NaN permanently.
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
