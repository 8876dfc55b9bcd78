//! Ray casting geometry of a definition: a BVH over its faces and its lines with a width.
//!
//! A leaf holds a few faces or line segments that are consecutive in the mesh, hence usually close together. Leaves
//! refer to the mesh instead of copying corners: page faults in the memory for copies would take longer than everything
//! else here.

use crate::packet::{LeafRecord, Leaves, LocalPacket, Packet, Rows, has_width};
use crate::scene::{PartKind, ScenePart};
use glam::Vec3A;
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::node::Bvh2Node;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};
use polyhaul_model::error::Result;
use polyhaul_pipeline::options::Cancel;
use std::ops::Range;

/// Faces or line segments per leaf: a compromise between building and casting (`cargo xtask bench preview`).
const TOGETHER: usize = 4;

/// A range of faces of a part, or of corners of a line.
#[derive(Clone, Copy)]
struct Leaf {
    part: u32,
    first: u32,
    count: u32,
}

/// A BVH with its leaves.
#[derive(Default)]
pub(crate) struct Geometry {
    leaves: Vec<Leaf>,
    tree: Bvh2,
}

impl Geometry {
    /// Builds the BVH over a range of parts.
    ///
    /// # Errors
    /// If out of memory, or the job was cancelled.
    pub(crate) fn from_parts(
        parts: &[ScenePart<'_>],
        range: Range<usize>,
        builder: &mut PlocBuilder,
        cancel: &Cancel,
    ) -> Result<Geometry> {
        let mut leaves = Vec::new();
        for (number, part) in range.clone().zip(&parts[range]) {
            let mut add = |elements: Range<usize>, step: usize, overlap: usize| -> Result<()> {
                leaves.try_reserve(elements.len() / step + 1)?;
                // A leaf with only the last corner of a line would contain no segment.
                let starts = elements.clone().step_by(step).filter(|first| first + overlap < elements.end);
                leaves.extend(starts.map(|first| {
                    let count = (step + overlap).min(elements.end - first) as u32;
                    Leaf { part: number as u32, first: first as u32, count }
                }));
                Ok(())
            };
            match part.kind {
                PartKind::Faces => add(part.elements.clone(), TOGETHER, 0)?,
                PartKind::Lines if has_width(part) => {
                    // Consecutive leaves share a corner.
                    let mut lines = part.elements.clone();
                    lines.try_for_each(|line| add(part.mesh.lines.corners(line), TOGETHER, 1))?;
                }
                PartKind::Lines | PartKind::Points | PartKind::Positions => {}
            }
        }
        let mut boxes = Vec::new();
        boxes.try_reserve_exact(leaves.len())?;
        // Leaves without finite positions cannot be hit, and would make the boxes of the tree invalid.
        leaves.retain(|leaf: &Leaf| {
            let bounds = leaf.bounds(&parts[leaf.part as usize]);
            boxes.extend(bounds);
            bounds.is_some()
        });
        let tree = tree(&boxes, builder, cancel)?;
        Ok(Geometry { leaves, tree })
    }

    /// Casts rays at the parts. `record` contains the bits above the payload.
    #[inline(always)]
    pub(crate) fn cast(
        &self,
        parts: &[ScenePart<'_>],
        packet: &mut Packet,
        local: &LocalPacket,
        record: u64,
        stack: &mut Vec<(u32, Rows)>,
    ) {
        packet.traverse(local, &self.tree, stack, &mut GeometryLeaves { geometry: self, parts, record });
    }
}

/// Passes the leaves of a geometry to a packet.
struct GeometryLeaves<'a> {
    geometry: &'a Geometry,
    parts: &'a [ScenePart<'a>],
    record: u64,
}

impl Leaves for GeometryLeaves<'_> {
    #[inline(always)]
    fn offer(&mut self, packet: &mut Packet, local: &LocalPacket, number: u32, rows: Rows) {
        let leaf = &self.geometry.leaves[number as usize];
        let part = &self.parts[leaf.part as usize];
        let at = LeafRecord { part, record: self.record };
        if part.kind == PartKind::Faces {
            packet.meet_faces(local, leaf.range(), &at, rows);
        } else {
            packet.meet_line(local, leaf.range(), &at, rows);
        }
    }
}

/// Builds a BVH. The minimum PLOC search distance suffices for rays cast once; longer searches cost more than they
/// save.
///
/// Boxes are split at medians into runs. Each run gets a tree, and a tree over the runs joins them: PLOC alone takes
/// quadratic time for boxes that are equal or lie on a line.
///
/// # Errors
/// If out of memory, or the job was cancelled.
pub(crate) fn tree(boxes: &[Aabb], builder: &mut PlocBuilder, cancel: &Cancel) -> Result<Bvh2> {
    let mut ploc = |boxes: &[Aabb]| {
        let order = (0..boxes.len() as u32).collect();
        builder.build(PlocSearchDistance::Minimum, boxes, order, SortPrecision::U64, 0)
    };
    if boxes.is_empty() {
        return Ok(Bvh2::default());
    }
    if boxes.len() <= RUN {
        return Ok(ploc(boxes));
    }
    let mut numbers: Vec<u32> = (0..boxes.len() as u32).collect();
    let mut runs = vec![&mut numbers[..]];
    while runs.iter().any(|run| run.len() > RUN) {
        runs = runs.into_iter().flat_map(|run| halves(run, boxes)).collect();
    }
    let mut trees = Vec::new();
    let mut roots = Vec::new();
    for run in runs {
        cancel.check()?;
        let run_boxes: Vec<Aabb> = run.iter().map(|&number| boxes[number as usize]).collect();
        let mut tree = ploc(&run_boxes);
        tree.primitive_indices.iter_mut().for_each(|place| *place = run[*place as usize]);
        roots.extend(tree.nodes.first().map(|root| *root.aabb()));
        trees.push(tree);
    }
    let mut whole = self::tree(&roots, builder, cancel)?;
    join(&mut whole, &trees)?;
    Ok(whole)
}

/// Maximum number of boxes per run. (With 1,000 or more, building is as fast as with a single tree.)
const RUN: usize = 4096;

/// Splits boxes at the median along the axis with the greatest extent.
fn halves<'a>(run: &'a mut [u32], boxes: &[Aabb]) -> [&'a mut [u32]; 2] {
    let middle = |&number: &u32| boxes[number as usize].min + boxes[number as usize].max;
    let ends = run
        .iter()
        .map(middle)
        .fold((Vec3A::INFINITY, Vec3A::NEG_INFINITY), |(min, max), at| (min.min(at), max.max(at)));
    let axis = (ends.1 - ends.0).max_position();
    let half = run.len() / 2;
    if half > 0 {
        run.select_nth_unstable_by(half, |a, b| middle(a)[axis].total_cmp(&middle(b)[axis]).then(a.cmp(b)));
    }
    run.split_at_mut(half).into()
}

/// Replaces the leaves of a tree with the trees that they stand for.
fn join(whole: &mut Bvh2, trees: &[Bvh2]) -> Result<()> {
    let count: usize = trees.iter().map(|tree| tree.nodes.len()).sum();
    whole.nodes.try_reserve(count)?;
    let places = std::mem::take(&mut whole.primitive_indices);
    whole.primitive_indices.try_reserve(trees.iter().map(|tree| tree.primitive_indices.len()).sum())?;
    for at in 0..whole.nodes.len() {
        let node = &whole.nodes[at];
        let Some(&number) = places.get(node.first_index as usize).filter(|_| node.prim_count > 0) else { continue };
        let tree = &trees[number as usize];
        // The root replaces the leaf, so the other nodes shift by one less.
        let nodes = whole.nodes.len() as u32;
        let leaves = whole.primitive_indices.len() as u32;
        let mut moved = tree.nodes.iter().map(|node| {
            let by = if node.prim_count > 0 { leaves } else { nodes.wrapping_sub(1) };
            Bvh2Node { first_index: node.first_index.wrapping_add(by), ..*node }
        });
        if let Some(root) = moved.next() {
            whole.nodes[at] = root;
        }
        whole.nodes.extend(moved);
        whole.primitive_indices.extend_from_slice(&tree.primitive_indices);
    }
    Ok(())
}

impl Leaf {
    #[inline(always)]
    fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Bounding box of the finite corners, or `None` if there are none. Rays cannot hit triangles and segments with a
    /// corner that is not finite.
    fn bounds(&self, part: &ScenePart<'_>) -> Option<Aabb> {
        let mut bounds = Aabb::INVALID;
        let mut add = |corner: usize, radius: f32| {
            let at = Vec3A::from_array(part.corner(corner));
            if at.is_finite() && radius.is_finite() {
                let radius = Vec3A::splat(radius);
                bounds = Aabb { min: bounds.min.min(at - radius), max: bounds.max.max(at + radius) };
            }
        };
        match part.kind {
            PartKind::Faces => self.range().flat_map(|face| part.mesh.faces.corners(face)).for_each(|at| add(at, 0.0)),
            _ => self.range().for_each(|corner| add(corner, part.radius(corner))),
        }
        bounds.min.cmple(bounds.max).all().then_some(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects all box numbers of a tree, checking that nodes enclose their children.
    fn collect_numbers(tree: &Bvh2, node: usize, boxes: &[Aabb], numbers: &mut Vec<u32>) {
        let parent = &tree.nodes[node];
        let holds = |inner: &Aabb| parent.aabb().min.cmple(inner.min).all() && parent.aabb().max.cmpge(inner.max).all();
        let first = parent.first_index as usize;
        if parent.prim_count == 0 {
            for child in [first, first + 1] {
                assert!(holds(tree.nodes[child].aabb()));
                collect_numbers(tree, child, boxes, numbers);
            }
        }
        for place in first..first + parent.prim_count as usize {
            let number = tree.primitive_indices[place];
            assert!(holds(&boxes[number as usize]));
            numbers.push(number);
        }
    }

    #[test]
    fn trees_in_runs_have_every_box_once_and_equal_boxes_take_no_longer() {
        let at = |x: f32, y: f32| Aabb { min: Vec3A::new(x, y, 0.0), max: Vec3A::new(x + 1.0, y + 1.0, 1.0) };
        for count in [1, 2, RUN, RUN + 1, 3 * RUN + 5] {
            let kinds: [Vec<Aabb>; 3] = [
                (0..count).map(|n| at((n * 7919 % 10007) as f32, (n * 31 % 101) as f32)).collect(),
                (0..count).map(|_| at(1.0, 2.0)).collect(),
                (0..count).map(|n| at(n as f32, 0.0)).collect(),
            ];
            for boxes in kinds {
                let tree = tree(&boxes, &mut PlocBuilder::new(), &Cancel::default()).unwrap();
                let mut numbers = Vec::new();
                collect_numbers(&tree, 0, &boxes, &mut numbers);
                numbers.sort();
                assert!(numbers.into_iter().eq(0..count as u32));
            }
        }
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(tree(&vec![at(0.0, 0.0); 2 * RUN], &mut PlocBuilder::new(), &cancel).is_err());
    }
}
