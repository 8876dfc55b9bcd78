//! Faces in an order that does not depend on the file: by their corners, so that two scenes with the same faces in
//! another order have them at the same numbers.

use super::scene::{Face, World};
use polyhaul_model::error::Result;

/// Scenes with more faces are compared in file order alone: each face takes 150 bytes here.
const MAX_FACES: u64 = 4_000_000;
/// Positions are compared on a grid with this many steps along the longest side of the scene: a file with six decimals
/// has the same.
const STEPS: f64 = 20_000.0;

/// What a face is ordered by: its corners, from the lowest on, on a grid.
type FaceKey = (Vec<[i64; 3]>, String);

/// The faces of a scene in an order of their own; `None` if there are too many.
pub(super) fn ordered<'a>(world: &World<'a>, side: f64) -> Result<Option<Vec<Face<'a>>>> {
    let count = world.parts.iter().map(|part| part.faces.len() as u64).sum::<u64>();
    if count > MAX_FACES || side.is_nan() || side <= 0.0 {
        return Ok(None);
    }
    let mut keyed: Vec<(FaceKey, Face<'a>)> = Vec::new();
    keyed.try_reserve_exact(count as usize)?;
    keyed.extend(world.faces().map(|face| (key(world, &face, side), face)));
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Some(keyed.into_iter().map(|(_, face)| face).collect()))
}

fn key(world: &World<'_>, face: &Face<'_>, side: f64) -> FaceKey {
    let on_grid = |corner| face.position(face.corner(corner)).map(|value| (value / side * STEPS).round() as i64);
    let mut corners: Vec<[i64; 3]> = (0..face.corners.len()).map(on_grid).collect();
    let first = (0..corners.len()).min_by_key(|&corner| corners[corner]).unwrap_or(0);
    corners.rotate_left(first);
    (corners, world.material(face).to_owned())
}
