//! Finds corners of a large polygon inside a triangle, with a bounding volume hierarchy over the corners.
//!
//! The tree is built once. Corners are activated and deactivated, and boxes without active corners are skipped.

use super::Point;
use super::ears::turn;
use polyhaul_model::error::{Error, Result};

const LEAF_CORNERS: usize = 8;
/// Deep enough for 2^32 corners.
/// A search replaces a branch with its two children, so its stack grows by one entry per level.
const MAX_LEVELS: usize = 40;

/// The tree in depth-first order: the first child follows its node, the second child follows all descendants of the
/// first. A branch with n leaves has 2n - 1 nodes, so child indices need no storage.
#[derive(Default)]
pub(super) struct Nearby {
    /// Corners, grouped by leaf.
    order: Vec<u32>,
    /// Per corner: its leaf.
    leaves: Vec<u32>,
    nodes: Vec<NearbyNode>,
}

#[derive(Clone, Copy)]
struct NearbyNode {
    low: Point<2>,
    high: Point<2>,
    active: u32,
}

/// A node and its leaves.
#[derive(Clone, Copy)]
struct Branch {
    node: usize,
    first_leaf: usize,
    leaves: usize,
}

impl Branch {
    fn children(self) -> [Branch; 2] {
        let half = self.leaves / 2;
        let first = self.first_leaf;
        let node = self.node;
        [
            Branch { node: node + 1, first_leaf: first, leaves: half },
            Branch { node: node + 2 * half, first_leaf: first + half, leaves: self.leaves - half },
        ]
    }

    fn corners(self, count: usize) -> std::ops::Range<usize> {
        let start = self.first_leaf * LEAF_CORNERS;
        start..count.min(start + self.leaves * LEAF_CORNERS)
    }
}

impl Nearby {
    /// Builds the tree with all corners inactive.
    pub(super) fn build(&mut self, points: &[Point<2>]) -> Result<()> {
        let memory = |_| Error::memory("a polygon");
        let leaves = points.len().div_ceil(LEAF_CORNERS);
        self.order.clear();
        self.order.try_reserve(points.len()).map_err(memory)?;
        self.order.extend(0..points.len() as u32);
        self.leaves.clear();
        self.leaves.try_reserve(points.len()).map_err(memory)?;
        self.leaves.resize(points.len(), 0);
        self.nodes.clear();
        self.nodes.try_reserve(2 * leaves).map_err(memory)?;
        self.nodes.resize(2 * leaves, NearbyNode { low: [0.0; 2], high: [0.0; 2], active: 0 });
        self.build_branch(points, self.root());
        Ok(())
    }

    fn root(&self) -> Branch {
        Branch { node: 0, first_leaf: 0, leaves: self.order.len().div_ceil(LEAF_CORNERS) }
    }

    /// Splits near the median along the longer side, so the depth is logarithmic in the number of corners.
    fn build_branch(&mut self, points: &[Point<2>], branch: Branch) {
        let order = &mut self.order[branch.corners(points.len())];
        let mut low = [f64::INFINITY; 2];
        let mut high = [f64::NEG_INFINITY; 2];
        for &corner in &*order {
            for axis in 0..2 {
                low[axis] = low[axis].min(points[corner as usize][axis]);
                high[axis] = high[axis].max(points[corner as usize][axis]);
            }
        }
        self.nodes[branch.node] = NearbyNode { low, high, active: 0 };
        if branch.leaves == 1 {
            for &corner in &*order {
                self.leaves[corner as usize] = branch.first_leaf as u32;
            }
            return;
        }
        let axis = usize::from(high[1] - low[1] > high[0] - low[0]);
        let key = |&corner: &u32| points[corner as usize][axis];
        let children = branch.children();
        // Splits at a multiple of the leaf size: only the last leaf is partial, so a branch's leaves determine its
        // corners.
        order.select_nth_unstable_by(children[0].leaves * LEAF_CORNERS, |a, b| key(a).total_cmp(&key(b)));
        children.into_iter().for_each(|child| self.build_branch(points, child));
    }

    /// Activates or deactivates a corner. The corner must be in the opposite state.
    pub(super) fn set_active(&mut self, corner: u32, active: bool) {
        let leaf = self.leaves[corner as usize] as usize;
        let mut branch = self.root();
        loop {
            let count = &mut self.nodes[branch.node].active;
            *count = if active { *count + 1 } else { *count - 1 };
            if branch.leaves == 1 {
                break;
            }
            let [first, second] = branch.children();
            branch = if leaf < second.first_leaf { first } else { second };
        }
    }

    /// Returns whether `hits` returns true for any corner in a leaf that may overlap the triangle. `hits` is called for
    /// inactive corners of such leaves, too, so it must reject them. Each examined node and corner is deducted from
    /// `looks_left`. Returns `false` once that is 0.
    pub(super) fn any_in(&self, triangle: &[Point<2>; 3], looks_left: &mut u64, hits: impl Fn(u32) -> bool) -> bool {
        let mut stack = [self.root(); MAX_LEVELS];
        let mut height = 1;
        while height > 0 {
            height -= 1;
            let branch = stack[height];
            let node = &self.nodes[branch.node];
            let Some(left) = looks_left.checked_sub(1) else {
                return false;
            };
            *looks_left = left;
            if node.active == 0 || is_apart(triangle, node) {
                continue;
            }
            if branch.leaves == 1 {
                let corners = &self.order[branch.corners(self.order.len())];
                *looks_left = left.saturating_sub(corners.len() as u64);
                if corners.iter().any(|&corner| hits(corner)) {
                    return true;
                }
                continue;
            }
            let [first, second] = branch.children();
            stack[height] = second;
            stack[height + 1] = first;
            height += 2;
        }
        false
    }
}

/// Returns whether a box lies entirely on the outer side of an edge of the counterclockwise triangle, or outside its
/// bounding box.
fn is_apart(triangle: &[Point<2>; 3], node: &NearbyNode) -> bool {
    let [a, b, c] = *triangle;
    let beside = |axis: usize| {
        let low = a[axis].min(b[axis]).min(c[axis]);
        let high = a[axis].max(b[axis]).max(c[axis]);
        node.high[axis] < low || node.low[axis] > high
    };
    // Tests the box corner farthest to the left of the edge.
    let outside = |from: Point<2>, to: Point<2>| {
        let x = if to[1] >= from[1] { node.low[0] } else { node.high[0] };
        let y = if to[0] >= from[0] { node.high[1] } else { node.low[1] };
        turn(from, to, [x, y]) < 0.0
    };
    beside(0) || beside(1) || outside(a, b) || outside(b, c) || outside(c, a)
}
