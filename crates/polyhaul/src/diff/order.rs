//! Sorts faces by their corners, independently of file order, so that faces of two scenes with the same faces in
//! different orders can be compared pairwise.

use super::scene::{Face, World};
use polyhaul_model::error::Result;

/// Scenes with more faces are compared only in file order: sorting takes 150 bytes per face.
const MAX_FACES: u64 = 4_000_000;
/// Grid steps along the longest side of the bounding box, for sorting positions: coarse enough that positions rounded
/// to six decimals stay at the same grid positions.
const STEPS: f64 = 20_000.0;

/// The bounding box of a scene: its lowest corner and its longest side.
pub(super) struct FacesExtent {
    low: [f64; 3],
    pub(super) side: f64,
}

impl FacesExtent {
    /// Computes the extent of all finite face corners.
    pub(super) fn of(world: &World<'_>) -> FacesExtent {
        let mut low = [f64::INFINITY; 3];
        let mut high = [f64::NEG_INFINITY; 3];
        for face in world.faces() {
            for position in (0..face.corners.len()).map(|corner| face.position(face.corner(corner))) {
                for axis in (0..3).filter(|&axis| position[axis].is_finite()) {
                    low[axis] = low[axis].min(position[axis]);
                    high[axis] = high[axis].max(position[axis]);
                }
            }
        }
        let side = low.iter().zip(&high).map(|(low, high)| high - low).fold(0.0, f64::max);
        FacesExtent { low, side }
    }
}

/// The sort key of a face: its corners on the grid, starting with the lowest, and its material.
type FaceKey = (Vec<[i64; 3]>, String);

/// Returns the sorted faces of a scene, or `None` if there are too many, or if the scene has no extent.
pub(super) fn ordered<'a>(world: &World<'a>, extent: &FacesExtent) -> Result<Option<Vec<Face<'a>>>> {
    let count = world.parts.iter().map(|part| part.faces.len() as u64).sum::<u64>();
    if count > MAX_FACES || extent.side <= 0.0 {
        return Ok(None);
    }
    let mut keyed: Vec<(FaceKey, Face<'a>)> = Vec::new();
    keyed.try_reserve_exact(count as usize)?;
    keyed.extend(world.faces().map(|face| (key(world, &face, extent), face)));
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Some(keyed.into_iter().map(|(_, face)| face).collect()))
}

fn key(world: &World<'_>, face: &Face<'_>, extent: &FacesExtent) -> FaceKey {
    let on_grid = |corner| {
        let position = face.position(face.corner(corner));
        [0, 1, 2].map(|axis| ((position[axis] - extent.low[axis]) / extent.side * STEPS).round() as i64)
    };
    let mut corners: Vec<[i64; 3]> = (0..face.corners.len()).map(on_grid).collect();
    let first = (0..corners.len()).min_by_key(|&corner| corners[corner]).unwrap_or(0);
    corners.rotate_left(first);
    (corners, world.material(face).to_owned())
}
