//! Ear clipping of polygons with five or more corners.
//!
//! An ear is a convex corner whose triangle contains no other part of the polygon (G. H. Meisters, 1975: a simple
//! polygon has at least two). Good ears are cut first and slivers later; if no ear is left (the polygon intersects
//! itself), convex corners are cut regardless. Each corner is examined a bounded number of times, and [`super::nearby`]
//! finds blocking corners, so large polygons do not take quadratic time.

use super::Point;
use super::nearby::Nearby;
use crate::linear::{add, cross, dot, subtract};
use polyhaul_model::error::{Error, Result, planted};
use polyhaul_pipeline::options::Cancel;
use std::collections::VecDeque;

/// A triangle is a sliver if twice its area, divided by the sum of its squared sides, is below this. Half a square has
/// 0.25. Collinear points rounded to `f32` are below the limit.
const SLIVER: f64 = 1e-5;
/// Up to this many corners, blocking corners are tracked in a 64-bit mask.
const FEW: usize = 64;
/// Budget of corner examinations, per corner of the polygon.
pub(super) const LOOKS_PER_CORNER: u64 = 1000;
/// Memory is freed after a polygon with more corners than this.
const KEPT_CORNERS: usize = 1 << 16;

/// Cuts polygons, and reuses its memory from one polygon to the next.
#[derive(Default)]
pub(super) struct Clipper {
    /// The projected corners; counterclockwise is positive.
    points: Vec<Point<2>>,
    ring: Vec<EarNode>,
    /// Queues of corners to examine: as good ears, as any ears, and as the least bad choice.
    tiers: [VecDeque<WaitingEars>; 3],
    /// Mask of blocking corners of a small polygon.
    few: u64,
    nearby: Nearby,
    looks_left: u64,
    /// Limit of examinations per corner, for polygons of any size. `None` limits only large polygons.
    max_looks: Option<u64>,
    /// Number of polygons that reached the limit.
    pub(super) unfinished: u64,
}

#[derive(Clone, Copy)]
struct EarNode {
    previous: u32,
    next: u32,
    /// Incremented when a neighbor changes; [`GONE`] for a corner that was cut off.
    changes: u32,
    /// Whether it can block ears: true for all corners that are not strictly convex.
    blocks: bool,
}

const GONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct WaitingEars {
    corner: u32,
    changes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EarShape {
    Convex,
    /// Convex, but its triangle would be a sliver.
    Sliver,
    /// Folded back on one line, or at the position of a neighbor: cutting it loses nothing.
    Flat,
    /// Straight or reflex.
    Hollow,
}

impl Clipper {
    /// Creates a clipper with a limit of examinations per corner, for polygons of any size. `None` limits only large
    /// polygons.
    pub(super) fn limited(max_looks: Option<u64>) -> Clipper {
        Clipper { max_looks, ..Clipper::default() }
    }

    /// Writes the corners of `count - 2` triangles.
    pub(super) fn cut(
        &mut self,
        count: usize,
        corner: impl Fn(usize) -> Point<3>,
        triangles: &mut [u32],
        cancel: &Cancel,
    ) -> Result<()> {
        let memory = |_| Error::memory("a polygon");
        self.points.clear();
        self.points.try_reserve(count).map_err(memory)?;
        if flatten(count, corner, &mut self.points) {
            self.ring.clear();
            self.ring.try_reserve(count).map_err(memory)?;
            for tier in &mut self.tiers {
                tier.clear();
                tier.try_reserve(count).map_err(memory)?;
            }
            self.prepare(count)?;
            self.cut_ears(triangles, cancel)?;
            self.unfinished += u64::from(self.looks_left == 0);
        } else {
            fan(triangles);
        }
        if count > KEPT_CORNERS {
            *self = Clipper { unfinished: self.unfinished, ..Clipper::limited(self.max_looks) };
        }
        Ok(())
    }

    fn prepare(&mut self, count: usize) -> Result<()> {
        let last = count as u32 - 1;
        self.ring.extend((0..=last).map(|i| EarNode {
            previous: if i == 0 { last } else { i - 1 },
            next: if i == last { 0 } else { i + 1 },
            changes: 0,
            blocks: false,
        }));
        self.tiers[0].extend((0..=last).map(|corner| WaitingEars { corner, changes: 0 }));
        self.looks_left = match self.max_looks {
            Some(looks) => looks * count as u64,
            None if count > FEW => LOOKS_PER_CORNER * count as u64,
            // At most `FEW` corners: their number bounds the work.
            None => u64::MAX,
        };
        self.few = 0;
        if count > FEW {
            self.nearby.build(&self.points)?;
        }
        (0..=last).for_each(|corner| self.update_blocks(corner));
        Ok(())
    }

    fn cut_ears(&mut self, triangles: &mut [u32], cancel: &Cancel) -> Result<()> {
        let mut alive = 0;
        let mut places = triangles.chunks_exact_mut(3);
        let last = places.next_back();
        for place in places {
            cancel.check()?;
            // If no corner is convex, any will do: the polygon needs `count - 2` triangles in every case.
            let tip = self.next_tip().unwrap_or(alive);
            let EarNode { previous, next, .. } = self.ring[tip as usize];
            place.copy_from_slice(&[previous, tip, next]);
            self.cut_off(tip);
            alive = next;
        }
        if let Some(place) = last {
            let EarNode { previous, next, .. } = self.ring[alive as usize];
            place.copy_from_slice(&[previous, alive, next]);
        }
        Ok(())
    }

    /// Returns the next corner to cut off, or `None` if no corner is convex.
    fn next_tip(&mut self) -> Option<u32> {
        loop {
            let tier = self.tiers.iter().position(|tier| !tier.is_empty())?;
            let waiting = self.tiers[tier].pop_front()?;
            let corner = waiting.corner;
            // Stale entry: a corner is queued again when its neighbors change.
            if waiting.changes != self.ring[corner as usize].changes {
                continue;
            }
            match (tier, self.shape(corner)) {
                (_, EarShape::Flat) | (2, _) => return Some(corner),
                (_, EarShape::Hollow) => {}
                (0, EarShape::Convex) | (1, _) if !self.is_blocked(corner) => return Some(corner),
                _ => self.tiers[tier + 1].push_back(waiting),
            }
        }
    }

    /// Removes a corner from the ring. Its neighbors go to the end of the queue, so that cutting proceeds around the
    /// polygon instead of making a fan of slivers.
    fn cut_off(&mut self, tip: u32) {
        let EarNode { previous, next, .. } = self.ring[tip as usize];
        self.set_blocks(tip, false);
        self.ring[tip as usize].changes = GONE;
        self.ring[previous as usize].next = next;
        self.ring[next as usize].previous = previous;
        for corner in [previous, next] {
            let changes = self.ring[corner as usize].changes + 1;
            self.ring[corner as usize].changes = changes;
            self.update_blocks(corner);
            self.tiers[0].push_back(WaitingEars { corner, changes });
        }
    }

    fn update_blocks(&mut self, corner: u32) {
        let [a, b, c] = self.triangle(corner);
        let convex = turn(a, b, c) > 0.0;
        self.set_blocks(corner, !convex);
    }

    fn set_blocks(&mut self, corner: u32, blocks: bool) {
        let node = &mut self.ring[corner as usize];
        if node.blocks == blocks {
            return;
        }
        node.blocks = blocks;
        if self.ring.len() <= FEW {
            self.few ^= 1 << corner;
        } else {
            self.nearby.set_active(corner, blocks);
        }
    }

    fn triangle(&self, tip: u32) -> [Point<2>; 3] {
        let EarNode { previous, next, .. } = self.ring[tip as usize];
        [previous, tip, next].map(|corner| self.points[corner as usize])
    }

    fn shape(&self, corner: u32) -> EarShape {
        let [a, b, c] = self.triangle(corner);
        let area = turn(a, b, c);
        let ab = subtract(a, b);
        let cb = subtract(c, b);
        let ac = subtract(a, c);
        if area > 0.0 {
            let sides = dot(ab, ab) + dot(cb, cb) + dot(ac, ac);
            if area > SLIVER * sides { EarShape::Convex } else { EarShape::Sliver }
        } else if a == b || b == c || area == 0.0 && dot(ab, cb) > 0.0 {
            EarShape::Flat
        } else {
            EarShape::Hollow
        }
    }

    fn is_blocked(&mut self, tip: u32) -> bool {
        let triangle = self.triangle(tip);
        let ring = &self.ring;
        let points = &self.points;
        let blocks = |corner: u32| {
            let node = &ring[corner as usize];
            let point = |corner: u32| points[corner as usize];
            node.blocks && is_in_way(&triangle, point(corner), [point(node.previous), point(node.next)])
        };
        if ring.len() > FEW {
            return self.nearby.any_in(&triangle, &mut self.looks_left, blocks);
        }
        let mut rest = self.few;
        // Once the budget is used up, no corner blocks an ear any more: the rest of the polygon is cut untested.
        let Some(left) = self.looks_left.checked_sub(rest.count_ones().into()) else {
            self.looks_left = 0;
            return false;
        };
        self.looks_left = left;
        while rest != 0 {
            if blocks(rest.trailing_zeros()) {
                return true;
            }
            rest &= rest - 1;
        }
        false
    }
}

/// Returns whether a corner at `point` with two `neighbors` blocks an ear.
///
/// A point inside the triangle or on the cut blocks it. A point on the other two edges or on a corner blocks it only if
/// one of its own edges leads inside: holes joined by a bridge touch corners harmlessly.
fn is_in_way(ear: &[Point<2>; 3], point: Point<2>, neighbors: [Point<2>; 2]) -> bool {
    let side = |edge: usize, point| turn(ear[edge], ear[(edge + 1) % 3], point);
    let sides = [side(0, point), side(1, point), side(2, point)];
    if !sides.iter().all(|&side| side >= 0.0) {
        return false;
    }
    if sides[0] > 0.0 && sides[1] > 0.0 {
        return !planted("ear-blocked");
    }
    let leads_inside = |neighbor| (0..3).all(|edge| sides[edge] > 0.0 || side(edge, neighbor) > 0.0);
    neighbors.into_iter().any(leads_inside)
}

/// Returns twice the signed area of a triangle in the plane: positive if counterclockwise.
pub(super) fn turn(a: Point<2>, b: Point<2>, c: Point<2>) -> f64 {
    let ab = subtract(b, a);
    let ac = subtract(c, a);
    ab[0] * ac[1] - ab[1] * ac[0]
}

/// Writes a triangle fan around the first corner, for degenerate polygons without a plane.
fn fan(triangles: &mut [u32]) {
    for (place, second) in triangles.chunks_exact_mut(3).zip(1..) {
        place.copy_from_slice(&[0, second, second + 1]);
    }
}

/// Projects a polygon onto its best-fit plane. Returns `false` if it has none.
///
/// Drops the coordinate of the largest normal component, which shears the plane: ears stay ears, and coordinates are
/// unchanged if the plane is perpendicular to an axis.
fn flatten(count: usize, corner: impl Fn(usize) -> Point<3>, points: &mut Vec<Point<2>>) -> bool {
    let origin = corner(0);
    let at = |i: usize| subtract(corner(i), origin);
    let spans = || (1..count - 1).map(|i| cross(at(i), at(i + 1)));
    let sum = spans().fold([0.0; 3], add);
    let longest = || spans().fold([0.0; 3], |a, b| if dot(b, b) > dot(a, a) { b } else { a });
    // The two halves of a bow tie cancel out. Any plane that contains it works.
    let Some(normal) = unit(sum).or_else(|| unit(longest())) else {
        return false;
    };
    let largest = (0..3).fold(0, |a, b| if normal[b].abs() > normal[a].abs() { b } else { a });
    let mut axes = [(largest + 1) % 3, (largest + 2) % 3];
    if normal[largest] < 0.0 {
        // Keeps the polygon counterclockwise.
        axes.reverse();
    }
    points.extend((0..count).map(|i| {
        let point = at(i);
        let height = dot(point, normal);
        axes.map(|axis| point[axis] - height * normal[axis])
    }));
    true
}

fn unit(vector: Point<3>) -> Option<Point<3>> {
    let length = dot(vector, vector).sqrt();
    (length > 0.0 && length.is_finite()).then(|| vector.map(|part| part / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polygon_over_its_budget_is_cut_to_the_end_and_counted() {
        // Two rows of teeth, between which every ear must be searched for.
        let corner = |index: usize| {
            let x = if index < 500 { index } else { 999 - index } as f64;
            let is_lower = index < 500;
            let tooth = if index.is_multiple_of(2) { 0.0 } else { 10.0 };
            [x, if is_lower { tooth } else { tooth + 5.5 }, 0.0]
        };
        for (max_looks, unfinished) in [(None, 0), (Some(1000), 0), (Some(1), 1)] {
            let mut clipper = Clipper::limited(max_looks);
            let mut triangles = vec![u32::MAX; 3 * 998];
            clipper.cut(1000, corner, &mut triangles, &Cancel::default()).unwrap();
            assert_eq!(clipper.unfinished, unfinished, "{max_looks:?}");
            assert!(triangles.iter().all(|&corner| corner < 1000));
        }
    }
}
