//! What a ray may meet of a definition: its faces and its lines with a width, and the tree that finds those on a ray.
//!
//! The leaves of a tree are a few faces or pieces of lines that follow one another in the mesh, and so are neighbors.
//! Their corners stay where they are, in the mesh: fresh memory takes longer than all else here.

use crate::packet::{LeafRecord, Leaves, LocalPacket, Packet, Rows, has_width};
use crate::scene::{Part, PartKind};
use glam::Vec3A;
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};
use polyhaul_model::error::Result;
use std::ops::Range;

/// Faces, or pieces of lines, of a leaf. (4 take a third less time than 1 or 16, for trees and rays together.)
const TOGETHER: usize = 4;

/// Some faces of a part, or some corners of a line.
#[derive(Clone, Copy)]
struct Leaf {
    part: u32,
    first: u32,
    count: u32,
}

/// What a ray may meet.
#[derive(Default)]
pub(crate) struct Geometry {
    leaves: Vec<Leaf>,
    tree: Bvh2,
}

impl Geometry {
    /// The geometry of some of all parts.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn from_parts(parts: &[Part<'_>], range: Range<usize>, builder: &mut PlocBuilder) -> Result<Geometry> {
        let mut leaves = Vec::new();
        for (number, part) in range.clone().zip(&parts[range]) {
            let mut add = |all: Range<usize>, step: usize, overlap: usize| -> Result<()> {
                leaves.try_reserve(all.len() / step + 1)?;
                let starts = all.clone().step_by(step).filter(|first| first + overlap < all.end);
                leaves.extend(starts.map(|first| {
                    let count = (step + overlap).min(all.end - first) as u32;
                    Leaf { part: number as u32, first: first as u32, count }
                }));
                Ok(())
            };
            match part.kind {
                PartKind::Faces => add(part.elements.clone(), TOGETHER, 0)?,
                PartKind::Lines if has_width(part) => {
                    // Leaves share the corner between them.
                    let mut lines = part.elements.clone();
                    lines.try_for_each(|line| add(part.mesh.lines.corners(line), TOGETHER, 1))?;
                }
                PartKind::Lines | PartKind::Points | PartKind::Positions => {}
            }
        }
        let mut boxes = Vec::new();
        boxes.try_reserve_exact(leaves.len())?;
        boxes.extend(leaves.iter().map(|leaf| leaf.bounds(&parts[leaf.part as usize])));
        let tree = tree(&boxes, builder);
        Ok(Geometry { leaves, tree })
    }

    /// What rays meet of these parts; `record` is what is above the payload.
    #[inline(always)]
    pub(crate) fn cast(
        &self,
        parts: &[Part<'_>],
        (packet, local): (&mut Packet, &LocalPacket),
        record: u64,
        stack: &mut Vec<(u32, Rows)>,
    ) {
        packet.traverse(local, &self.tree, stack, &mut GeometryLeaves { geometry: self, parts, record });
    }
}

/// The leaves of a geometry.
struct GeometryLeaves<'a> {
    geometry: &'a Geometry,
    parts: &'a [Part<'a>],
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

/// A tree over boxes. The shortest search suffices for rays that are cast once: longer ones take more time than they
/// save.
pub(crate) fn tree(boxes: &[Aabb], builder: &mut PlocBuilder) -> Bvh2 {
    if boxes.is_empty() {
        return Bvh2::default();
    }
    let order = (0..boxes.len() as u32).collect();
    builder.build(PlocSearchDistance::Minimum, boxes, order, SortPrecision::U64, 0)
}

impl Leaf {
    #[inline(always)]
    fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// The box around it. Corners without a finite position are not in it, and are never met.
    fn bounds(&self, part: &Part<'_>) -> Aabb {
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
        // A tree wants boxes that are somewhere.
        if bounds.min.cmple(bounds.max).all() { bounds } else { Aabb { min: Vec3A::ZERO, max: Vec3A::ZERO } }
    }
}
