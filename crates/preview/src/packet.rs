//! Traverses BVHs with packets of rays from neighboring pixels.
//!
//! All rays start at the camera, so most of the work per box or triangle is shared by the packet. The compiler
//! vectorizes loops over [`LANES`]. Where rays pass hundreds of instances before a hit, as in a forest, packets take a
//! tenth of the time of single rays.

use crate::scene::{PartKind, ScenePart};
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use polyhaul_geometry::linear::{Matrix3, Vector, cross, dot, subtract};

/// Rays per row, tested at once.
pub(crate) const LANES: usize = 8;
/// Rows per packet; a [`Rows`] mask marks the rows that may hit something.
pub(crate) const ROWS: usize = 32;
/// One bit per row.
pub(crate) type Rows = u32;
/// Work units per tree node or leaf element, and per row of rays that may hit it.
const NODE_WORK: u64 = 4;
const ROW_WORK: u64 = 4;
/// Work units for transforming a packet.
const MOVE_WORK: u64 = 256;
/// Replaces smaller direction components, so that the inverse stays finite.
const MIN_DIRECTION: f32 = 1e-20;
/// Factor that extends the far side of boxes, to absorb rounding.
const SLACK: f32 = 1.000_001;

/// One value per ray of a row.
type RayLanes = [f32; LANES];
/// Directions of a row of rays, by axis.
type Directions = [RayLanes; 3];

/// A packet of rays with a common origin.
pub(crate) struct Packet {
    pub(crate) origin: Vector<f32>,
    pub(crate) directions: [Directions; ROWS],
    /// End of each ray, as a multiple of its direction: the nearest hit so far.
    pub(crate) ends: [RayLanes; ROWS],
    /// Record of the nearest hit; `u64::MAX` if none.
    pub(crate) records: [[u64; LANES]; ROWS],
    /// Work units spent, and the limit at which traversal stops.
    pub(crate) work: u64,
    pub(crate) max_work: u64,
}

/// A packet in local coordinates.
pub(crate) struct LocalPacket {
    origin: Vector<f32>,
    directions: [Directions; ROWS],
    inverses: [Directions; ROWS],
}

/// The part of a leaf's elements, and the record bits above the payload.
pub(crate) struct LeafRecord<'a> {
    pub(crate) part: &'a ScenePart<'a>,
    pub(crate) record: u64,
}

/// Handles the leaves of a tree. Traversal must compile to a single function for the target's vector instructions,
/// hence methods that are always inlined instead of closures.
pub(crate) trait Leaves {
    /// Tests a leaf against the rays of the marked rows.
    fn offer(&mut self, packet: &mut Packet, local: &LocalPacket, number: u32, rows: Rows);
}

impl Packet {
    /// A packet without hits. `direction` is called with the lane and the row of each ray.
    pub(crate) fn new(origin: Vector<f32>, max_work: u64, direction: impl Fn(usize, usize) -> Vector<f32>) -> Packet {
        let mut directions = [[[0.0; LANES]; 3]; ROWS];
        for (row, directions) in directions.iter_mut().enumerate() {
            let [xs, ys, zs] = directions;
            for (lane, ((x, y), z)) in xs.iter_mut().zip(ys).zip(zs).enumerate() {
                [*x, *y, *z] = direction(lane, row);
            }
        }
        let ends = [[f32::INFINITY; LANES]; ROWS];
        Packet { origin, directions, ends, records: [[u64::MAX; LANES]; ROWS], work: 0, max_work }
    }

    /// Smallest distance at which a ray enters the tree.
    #[inline(always)]
    pub(crate) fn entry(&self, local: &LocalPacket, tree: &Bvh2) -> f32 {
        tree.nodes.first().map_or(f32::INFINITY, |root| self.rows_that_meet(local, root.aabb(), Rows::MAX).1)
    }

    /// Transforms the packet: applies the matrix with the columns `x`, `y` and `z` to directions; `origin` is already
    /// transformed.
    #[inline(always)]
    pub(crate) fn moved(&mut self, [x, y, z]: &Matrix3<f32>, origin: Vector<f32>) -> LocalPacket {
        self.work += MOVE_WORK;
        let mut local = LocalPacket { origin, directions: self.directions, inverses: self.directions };
        for (row, [xs, ys, zs]) in self.directions.iter().enumerate() {
            for axis in 0..3 {
                for lane in 0..LANES {
                    let a = xs[lane];
                    let b = ys[lane];
                    let c = zs[lane];
                    let value = x[axis] * a + y[axis] * b + z[axis] * c;
                    local.directions[row][axis][lane] = value;
                    local.inverses[row][axis][lane] =
                        1.0 / if value.abs() < MIN_DIRECTION { MIN_DIRECTION } else { value };
                }
            }
        }
        local
    }

    /// Traverses a tree and offers its leaves to the rays that may hit them.
    #[inline(always)]
    pub(crate) fn traverse<L: Leaves>(
        &mut self,
        local: &LocalPacket,
        tree: &Bvh2,
        stack: &mut Vec<(u32, Rows)>,
        leaves: &mut L,
    ) {
        stack.clear();
        let Some(root) = tree.nodes.first() else { return };
        let rows = self.rows_that_meet(local, root.aabb(), Rows::MAX).0;
        if rows != 0 {
            stack.push((0, rows));
        }
        while let Some((number, rows)) = stack.pop() {
            let node = &tree.nodes[number as usize];
            self.work += NODE_WORK + ROW_WORK * u64::from(rows.count_ones());
            if self.work > self.max_work {
                return;
            }
            if node.prim_count > 0 {
                for place in node.first_index..node.first_index + node.prim_count {
                    leaves.offer(self, local, tree.primitive_indices[place as usize], rows);
                }
                continue;
            }
            // `obvhs` stores the two children of a node next to each other.
            let left = node.first_index;
            let right = node.first_index + 1;
            let (left_rows, left_entry) = self.rows_that_meet(local, tree.nodes[left as usize].aabb(), rows);
            let (right_rows, right_entry) = self.rows_that_meet(local, tree.nodes[right as usize].aabb(), rows);
            // Nearer child first: its hits may shorten the rays for the other child.
            let mut far = (right, right_rows);
            let mut near = (left, left_rows);
            if left_entry > right_entry {
                std::mem::swap(&mut far, &mut near);
            }
            if far.1 != 0 {
                stack.push(far);
            }
            if near.1 != 0 {
                stack.push(near);
            }
        }
    }

    /// The rows in `among` with a ray that hits a box, and the smallest entry distance.
    #[inline(always)]
    fn rows_that_meet(&self, local: &LocalPacket, bounds: &Aabb, among: Rows) -> (Rows, f32) {
        let low = subtract(bounds.min.to_array(), local.origin);
        let high = subtract(bounds.max.to_array(), local.origin);
        let mut rows = 0;
        let mut entries = [f32::INFINITY; LANES];
        for row in 0..ROWS {
            if among >> row & 1 == 0 {
                continue;
            }
            let inverses = &local.inverses[row];
            let ends = &self.ends[row];
            let mut met = 0;
            for lane in 0..LANES {
                let [mut enter, mut leave] = [0.0, ends[lane]];
                for axis in 0..3 {
                    let a = low[axis] * inverses[axis][lane];
                    let b = high[axis] * inverses[axis][lane];
                    // Comparisons instead of `f32::min` and `f32::max`, which need extra instructions for NaN.
                    let (near, far) = if a < b { (a, b) } else { (b, a) };
                    let far = far * SLACK;
                    enter = if near > enter { near } else { enter };
                    leave = if far < leave { far } else { leave };
                }
                let enter = if enter <= leave { enter } else { f32::INFINITY };
                met |= u32::from(enter <= leave);
                entries[lane] = if enter < entries[lane] { enter } else { entries[lane] };
            }
            rows |= (met as Rows) << row;
        }
        let mut nearest = f32::INFINITY;
        for entry in entries {
            nearest = if entry < nearest { entry } else { nearest };
        }
        (rows, nearest)
    }

    /// Tests the faces of a leaf.
    #[inline(always)]
    pub(crate) fn meet_faces(
        &mut self,
        local: &LocalPacket,
        faces: std::ops::Range<usize>,
        at: &LeafRecord<'_>,
        rows: Rows,
    ) {
        for face in faces {
            let corners = at.part.mesh.faces.corners(face);
            if corners.len() < 3 {
                continue;
            }
            let first = local.corner(at.part, corners.start);
            let mut last = local.corner(at.part, corners.start + 1);
            for number in corners.start + 2..corners.end {
                if self.work > self.max_work {
                    return;
                }
                let next = local.corner(at.part, number);
                self.meet_triangle(local, [first, last, next], at.record | at.part.payload(number - 1), rows);
                last = next;
            }
        }
    }

    /// Tests a triangle with corners relative to the ray origin. A ray is inside if it lies on the same side of the
    /// three planes through the origin and an edge. Adjacent triangles share such a plane, and the products of `cross`
    /// are rounded before they are subtracted, so both get exactly opposite normals: no ray passes between them.
    /// (glam's `cross` fuses operations on aarch64.)
    #[inline(always)]
    fn meet_triangle(&mut self, local: &LocalPacket, [a, b, c]: [Vector<f32>; 3], record: u64, rows: Rows) {
        self.work += NODE_WORK + ROW_WORK * u64::from(rows.count_ones());
        let sides = [cross(b, c), cross(c, a), cross(a, b)];
        let normal = cross(subtract(b, a), subtract(c, a));
        let away = dot(normal, a);
        if !away.is_finite() {
            return;
        }
        for row in 0..ROWS {
            if rows >> row & 1 == 0 {
                continue;
            }
            let [x, y, z] = &local.directions[row];
            let mut inside = [0u32; LANES];
            let mut any = 0;
            for lane in 0..LANES {
                let d = [x[lane], y[lane], z[lane]];
                let u = dot(sides[0], d);
                let v = dot(sides[1], d);
                let w = dot(sides[2], d);
                let min = if u < v { u } else { v };
                let max = if u > v { u } else { v };
                let min = if w < min { w } else { min };
                let max = if w > max { w } else { max };
                // Both signs count, so that triangles are hit from behind, too.
                inside[lane] = u32::from(min >= 0.0) | u32::from(max <= 0.0);
                any |= inside[lane];
            }
            // Most rays that hit a leaf's box miss most of its triangles.
            if any == 0 {
                continue;
            }
            let mut distances = [f32::INFINITY; LANES];
            for lane in 0..LANES {
                let distance = away / dot(normal, [x[lane], y[lane], z[lane]]);
                let is_met = (inside[lane] != 0) & (distance >= 0.0);
                distances[lane] = if is_met { distance } else { f32::INFINITY };
            }
            self.keep(row, &distances, record);
        }
    }

    /// Stores hits that are nearer than earlier hits.
    #[inline(always)]
    fn keep(&mut self, row: usize, distances: &RayLanes, record: u64) {
        let ends = &mut self.ends[row];
        let records = &mut self.records[row];
        for lane in 0..LANES {
            if distances[lane] < ends[lane] {
                ends[lane] = distances[lane];
                records[lane] = record;
            }
        }
    }

    /// Tests the segments between consecutive corners of a line.
    #[inline(always)]
    pub(crate) fn meet_line(
        &mut self,
        local: &LocalPacket,
        corners: std::ops::Range<usize>,
        at: &LeafRecord<'_>,
        rows: Rows,
    ) {
        for corner in corners.start..corners.end.saturating_sub(1) {
            let ends = [local.corner(at.part, corner), local.corner(at.part, corner + 1)];
            let radii = [at.part.radius(corner), at.part.radius(corner + 1)];
            self.meet_segment(local, ends, radii, at.record | at.part.payload(corner), rows);
        }
    }

    /// Tests a segment: a ray hits if it passes within the segment's radius, as if the segment were a ribbon facing the
    /// ray.
    #[inline(always)]
    fn meet_segment(
        &mut self,
        local: &LocalPacket,
        [from, to]: [Vector<f32>; 2],
        radii: [f32; 2],
        record: u64,
        rows: Rows,
    ) {
        self.work += NODE_WORK + ROW_WORK * u64::from(rows.count_ones());
        let along = subtract(to, from);
        let ss = dot(along, along);
        let sf = dot(along, from);
        if !(ss + sf).is_finite() {
            return;
        }
        for row in 0..ROWS {
            if rows >> row & 1 == 0 {
                continue;
            }
            let [x, y, z] = &local.directions[row];
            let mut distances = [f32::INFINITY; LANES];
            let mut any = 0;
            for lane in 0..LANES {
                let d = [x[lane], y[lane], z[lane]];
                let dd = dot(d, d);
                let ds = dot(along, d);
                let df = dot(from, d);
                let part = (ds * df - dd * sf) / (dd * ss - ds * ds);
                // A ray parallel to the segment can yield NaN, which becomes 0.
                let part = if part > 0.0 { part } else { 0.0 };
                let part = if part < 1.0 { part } else { 1.0 };
                let distance = (df + part * ds) / dd;
                let x = from[0] + along[0] * part - d[0] * distance;
                let y = from[1] + along[1] * part - d[1] * distance;
                let z = from[2] + along[2] * part - d[2] * distance;
                let radius = radii[0] + part * (radii[1] - radii[0]);
                let is_met = (distance >= 0.0) & (x * x + y * y + z * z <= radius * radius);
                any |= u32::from(is_met);
                distances[lane] = if is_met { distance } else { f32::INFINITY };
            }
            if any != 0 {
                self.keep(row, &distances, record);
            }
        }
    }
}

impl LocalPacket {
    /// A corner of a part relative to the ray origin.
    #[inline(always)]
    fn corner(&self, part: &ScenePart<'_>, corner: usize) -> Vector<f32> {
        subtract(part.corner(corner), self.origin)
    }
}

/// Whether a part has lines with a width, which rays can hit.
pub(crate) fn has_width(part: &ScenePart<'_>) -> bool {
    part.kind == PartKind::Lines && part.widths.is_some()
}
