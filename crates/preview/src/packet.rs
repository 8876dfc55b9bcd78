//! Rays of neighboring pixels, which go through a tree together.
//!
//! All begin at the camera, so that most of what a box or a triangle means for a ray is computed once for all of them.
//! Loops over [`LANES`] are what compilers turn into vector instructions. Rays that meet hundreds of instances before
//! something stops them, as in a forest, take a tenth of the time that they take one by one.

use crate::scene::{Part, PartKind};
use glam::{Mat3A, Vec3A};
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;

/// Rays that are tested at once.
pub(crate) const LANES: usize = 8;
/// Rows of a packet; with the bits of a [`Rows`], each of the rows that may meet something.
pub(crate) const ROWS: usize = 32;
/// A bit for each row.
pub(crate) type Rows = u32;
/// In place of a component of a direction that is smaller: 1 over it is still a number.
const LEAST: f32 = 1e-20;
/// Boxes are this much deeper than computed, for rounding.
const SLACK: f32 = 1.000_001;

/// A value for each ray of a row.
type Lanes = [f32; LANES];
/// Directions of a row of rays.
type Directions = [Lanes; 3];

/// Rays from one origin.
pub(crate) struct Packet {
    pub(crate) origin: Vec3A,
    pub(crate) directions: [Directions; ROWS],
    /// How far each ray goes, as a multiple of its direction.
    pub(crate) ends: [Lanes; ROWS],
    /// What is there.
    pub(crate) records: [[u64; LANES]; ROWS],
}

/// The same rays in other coordinates.
pub(crate) struct LocalPacket {
    origin: Vec3A,
    directions: [Directions; ROWS],
    inverses: [Directions; ROWS],
}

/// What is at a leaf: parts of a mesh, and the record above the payload.
pub(crate) struct LeafRecord<'a> {
    pub(crate) part: &'a Part<'a>,
    pub(crate) record: u64,
}

/// What is at the leaves of a tree. All of this is one function, compiled for the processor at hand: so methods are
/// always inlined, and there are no closures.
pub(crate) trait Leaves {
    /// Offers what is at a leaf to the rays of some rows.
    fn offer(&mut self, packet: &mut Packet, local: &LocalPacket, number: u32, rows: Rows);
}

impl Packet {
    /// Rays that met nothing yet.
    pub(crate) fn new(origin: Vec3A, direction: impl Fn(usize, usize) -> [f32; 3]) -> Packet {
        let mut directions = [[[0.0; LANES]; 3]; ROWS];
        for (row, directions) in directions.iter_mut().enumerate() {
            let [xs, ys, zs] = directions;
            for (lane, ((x, y), z)) in xs.iter_mut().zip(ys).zip(zs).enumerate() {
                [*x, *y, *z] = direction(lane, row);
            }
        }
        Packet { origin, directions, ends: [[f32::INFINITY; LANES]; ROWS], records: [[u64::MAX; LANES]; ROWS] }
    }

    /// How far away the first ray enters a tree.
    #[inline(always)]
    pub(crate) fn entry(&self, local: &LocalPacket, tree: &Bvh2) -> f32 {
        tree.nodes.first().map_or(f32::INFINITY, |root| self.rows_that_meet(local, root.aabb(), Rows::MAX).1)
    }

    /// The rays in coordinates where `back` is applied to directions, and the origin is this.
    #[inline(always)]
    pub(crate) fn moved(&self, back: &Mat3A, origin: Vec3A) -> LocalPacket {
        let mut local = LocalPacket { origin, directions: self.directions, inverses: self.directions };
        let [x, y, z] = back.to_cols_array_2d();
        for (row, [xs, ys, zs]) in self.directions.iter().enumerate() {
            for axis in 0..3 {
                for lane in 0..LANES {
                    let (a, b, c) = (xs[lane], ys[lane], zs[lane]);
                    let value = x[axis] * a + y[axis] * b + z[axis] * c;
                    local.directions[row][axis][lane] = value;
                    local.inverses[row][axis][lane] = 1.0 / if value.abs() < LEAST { LEAST } else { value };
                }
            }
        }
        local
    }

    /// Takes the rays through a tree: `leaf` offers what is at a leaf to those that may meet it.
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
            if node.prim_count > 0 {
                for place in node.first_index..node.first_index + node.prim_count {
                    leaves.offer(self, local, tree.primitive_indices[place as usize], rows);
                }
                continue;
            }
            let (left, right) = (node.first_index, node.first_index + 1);
            let (left_rows, left_entry) = self.rows_that_meet(local, tree.nodes[left as usize].aabb(), rows);
            let (right_rows, right_entry) = self.rows_that_meet(local, tree.nodes[right as usize].aabb(), rows);
            // The nearer one is taken first: it may shorten the rays to the other.
            let (mut far, mut near) = ((right, right_rows), (left, left_rows));
            if left_entry > right_entry {
                (far, near) = (near, far);
            }
            if far.1 != 0 {
                stack.push(far);
            }
            if near.1 != 0 {
                stack.push(near);
            }
        }
    }

    /// The rows, of some, with a ray that meets a box; and how far away, for the ray that does so first.
    #[inline(always)]
    fn rows_that_meet(&self, local: &LocalPacket, bounds: &Aabb, among: Rows) -> (Rows, f32) {
        let (low, high) = ((bounds.min - local.origin).to_array(), (bounds.max - local.origin).to_array());
        let (mut rows, mut entries) = (0, [f32::INFINITY; LANES]);
        for row in 0..ROWS {
            if among >> row & 1 == 0 {
                continue;
            }
            let (inverses, ends) = (&local.inverses[row], &self.ends[row]);
            let mut met = 0;
            for lane in 0..LANES {
                let [mut enter, mut leave] = [0.0, ends[lane]];
                for axis in 0..3 {
                    let (a, b) = (low[axis] * inverses[axis][lane], high[axis] * inverses[axis][lane]);
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

    /// Offers some faces of a part to rays.
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
                let next = local.corner(at.part, number);
                self.meet_triangle(local, [first, last, next], at.record | at.part.payload(number - 1), rows);
                last = next;
            }
        }
    }

    /// Offers a triangle to rays, its corners relative to their origin. A ray is inside if it is on the same side of
    /// the three planes through the origin and two corners: neighbors share such a plane, so nothing passes between.
    #[inline(always)]
    fn meet_triangle(&mut self, local: &LocalPacket, [a, b, c]: [Vec3A; 3], record: u64, rows: Rows) {
        let sides = [b.cross(c).to_array(), c.cross(a).to_array(), a.cross(b).to_array()];
        let normal = (b - a).cross(c - a);
        let away = normal.dot(a);
        let normal = normal.to_array();
        if !away.is_finite() {
            return;
        }
        for row in 0..ROWS {
            if rows >> row & 1 == 0 {
                continue;
            }
            let [x, y, z] = &local.directions[row];
            let (mut inside, mut any) = ([0u32; LANES], 0);
            for lane in 0..LANES {
                let d = [x[lane], y[lane], z[lane]];
                let (u, v, w) = (dot(&sides[0], &d), dot(&sides[1], &d), dot(&sides[2], &d));
                let least = if u < v { u } else { v };
                let most = if u > v { u } else { v };
                let (least, most) = (if w < least { w } else { least }, if w > most { w } else { most });
                inside[lane] = u32::from(least >= 0.0) | u32::from(most <= 0.0);
                any |= inside[lane];
            }
            // Most triangles of a leaf are beside most rays that meet its box.
            if any == 0 {
                continue;
            }
            let mut distances = [f32::INFINITY; LANES];
            for lane in 0..LANES {
                let distance = away / dot(&normal, &[x[lane], y[lane], z[lane]]);
                let is_met = (inside[lane] != 0) & (distance >= 0.0);
                distances[lane] = if is_met { distance } else { f32::INFINITY };
            }
            self.keep(row, &distances, record);
        }
    }

    /// Keeps what is nearer than what rays met before.
    #[inline(always)]
    fn keep(&mut self, row: usize, distances: &Lanes, record: u64) {
        let (ends, records) = (&mut self.ends[row], &mut self.records[row]);
        for lane in 0..LANES {
            if distances[lane] < ends[lane] {
                (ends[lane], records[lane]) = (distances[lane], record);
            }
        }
    }

    /// Offers pieces of a line to rays, between each of some corners and the next one.
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

    /// Offers a segment to rays: where a ray comes nearest to it, it meets it if that is within the segment's width, as
    /// if that were a ribbon that faces the ray.
    #[inline(always)]
    fn meet_segment(&mut self, local: &LocalPacket, [a, b]: [Vec3A; 2], radii: [f32; 2], record: u64, rows: Rows) {
        let along = b - a;
        let (ss, sf) = (along.length_squared(), along.dot(a));
        let (along, from) = (along.to_array(), a.to_array());
        if !(ss + sf).is_finite() {
            return;
        }
        for row in 0..ROWS {
            if rows >> row & 1 == 0 {
                continue;
            }
            let [x, y, z] = &local.directions[row];
            let (mut distances, mut any) = ([f32::INFINITY; LANES], 0);
            for lane in 0..LANES {
                let d = [x[lane], y[lane], z[lane]];
                let (dd, ds, df) = (dot(&d, &d), dot(&along, &d), dot(&from, &d));
                let part = (ds * df - dd * sf) / (dd * ss - ds * ds);
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

#[inline(always)]
fn dot(a: &[f32; 3], b: &[f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

impl LocalPacket {
    /// A corner of a part, relative to the origin of the rays.
    #[inline(always)]
    fn corner(&self, part: &Part<'_>, corner: usize) -> Vec3A {
        Vec3A::from_array(part.corner(corner)) - self.origin
    }
}

/// Whether a part has lines that rays can meet.
pub(crate) fn has_width(part: &Part<'_>) -> bool {
    part.kind == PartKind::Lines && part.widths.is_some()
}
