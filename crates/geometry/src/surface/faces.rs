//! Sums over faces: areas, volumes, and the number of half-edges per shard.

use super::components::Components;
use super::sides::{FaceScratch, PlaceUses, Side, SideCounts, SurfaceCut, SurfaceFaces};
use crate::linear::{Vector, add, cross, dot, scale, subtract, wide};
use polyhaul_model::Mesh;
use polyhaul_model::error::{Result, try_push};
use polyhaul_pipeline::parallel::try_for_each_item;
use std::cmp::Ordering;

/// Sums over a chunk of faces.
#[derive(Clone, Default)]
pub(super) struct FaceSums {
    pub(super) area: f64,
    /// Six times the volume of the cones from the center.
    pub(super) volume: f64,
    /// Sum of the face normals, each as long as the area of its face.
    pub(super) vector: Vector,
    /// Whether a face was left out because its area is infinite or NaN.
    pub(super) is_partial: bool,
    /// Number of faces with at least three distinct positions.
    pub(super) covering: u64,
    pub(super) degenerate: Vec<u32>,
}

/// Sums up the faces of each chunk, marks used positions, and counts the half-edges per shard.
pub(super) fn add_up(
    mesh: &Mesh,
    center: Vector,
    faces: &SurfaceFaces<'_>,
    cut: &SurfaceCut<'_>,
    components: &Components<'_>,
    counts: &mut SideCounts,
) -> Result<Vec<FaceSums>> {
    let mut sums = Vec::new();
    let chunks = cut.chunks();
    sums.try_reserve_exact(chunks.len())?;
    sums.resize(chunks.len(), FaceSums::default());
    let single = &mesh.positions[..];
    let exact = &mesh.exact_positions[..];
    let places = chunks.zip(sums.iter_mut()).zip(counts.rows_mut());
    let scratch = FaceScratch::default;
    try_for_each_item(cut.threads, cut.cancel, places, scratch, |scratch, ((chunk, sums), row)| {
        let mut see = |side: Side| {
            components.mark(side.from);
            row[side.shard(cut) + 1] += 1;
        };
        for face in chunk {
            let uses = faces.each_side(face, scratch, &mut see);
            let corners = faces.corners(face);
            let is_flat = if exact.is_empty() {
                sums.add(corners, center, |position| wide(single[position as usize]))
            } else {
                sums.add(corners, center, |position| exact[position as usize])
            };
            sums.covering += u64::from(uses != PlaceUses::Few);
            if uses != PlaceUses::Once || is_flat {
                try_push(&mut sums.degenerate, faces.first + face as u32, "degenerate faces")?;
            }
        }
        for shard in 1..row.len() {
            row[shard] += row[shard - 1];
        }
        Ok(())
    })?;
    Ok(sums)
}

impl FaceSums {
    /// Adds a face. Returns whether its area is zero, infinite or NaN.
    #[inline]
    fn add(&mut self, corners: &[u32], center: Vector, position: impl Fn(u32) -> Vector) -> bool {
        let Some(&first) = corners.first() else { return true };
        let first = position(first);
        let normal = area_vector(corners, &position);
        let area = 0.5 * dot(normal, normal).sqrt();
        if area.is_finite() {
            self.area += area;
            self.volume += dot(subtract(first, center), normal);
            self.vector = add(self.vector, scale(normal, 0.5));
        } else {
            self.is_partial = true;
        }
        // Also true for NaN.
        area.partial_cmp(&0.0) != Some(Ordering::Greater) || area.is_infinite()
    }
}

/// Returns the normal of a polygon, twice as long as its area: the sum over the triangles between its first corner and
/// its sides. In `f64`, differences and products of 32-bit floats of similar magnitude are exact, so collinear corners
/// have an area of exactly 0.
#[inline]
pub(crate) fn area_vector(corners: &[u32], position: &impl Fn(u32) -> Vector) -> Vector {
    let mut positions = corners.iter().map(|&corner| position(corner));
    let Some(first) = positions.next() else { return [0.0; 3] };
    let mut spokes = positions.map(|position| subtract(position, first));
    let mut before = spokes.next().unwrap_or_default();
    let mut sum = [0.0; 3];
    for spoke in spokes {
        sum = add(sum, cross(before, spoke));
        before = spoke;
    }
    sum
}
