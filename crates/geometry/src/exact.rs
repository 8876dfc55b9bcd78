//! Scenes with positions or transforms in double precision.
//!
//! Writers store such positions unchanged, so everything that moves them (axes, scale, object transforms, an origin) is
//! applied here first, in double precision. [`crate::frame`] handles scenes in single precision.

use crate::affine;
use crate::linear::{IDENTITY64, Matrix4, Vector};
use crate::transform::transform_axes;
use polyhaul_model::error::{Result, planted, try_push};
use polyhaul_model::precision::MAX_MOVE;
use polyhaul_model::{Array, Axes, Bounds, Mesh, Object, Scene};
use polyhaul_pipeline::arrays::PIECE;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_spill::paced;
use polyhaul_text::parse::positions::DigitLoss;
use std::sync::{Mutex, PoisonError};

/// Converts a matrix to 32-bit floats. Returns `None` if that would round an entry.
pub fn single(matrix: &Matrix4) -> Option<Matrix4<f32>> {
    // NaN is unequal to itself, but stays NaN when it is rounded.
    let is_single = |value: &f64| f64::from(*value as f32) == *value || value.is_nan();
    matrix.as_flattened().iter().all(is_single).then(|| rounded(matrix))
}

/// Rounds a matrix to 32-bit floats.
pub fn rounded(matrix: &Matrix4) -> Matrix4<f32> {
    matrix.map(|row| row.map(|value| value as f32))
}

/// Returns whether positions or transforms of a scene need double precision.
///
/// # Errors
/// Fails if memory runs out.
pub fn is_exact(scene: &Scene) -> Result<bool> {
    let has_doubles = paced(&scene.meshes).any(Mesh::is_exact) || paced(&scene.objects).any(has_double_transform);
    Ok(has_doubles || is_far(scene)?)
}

fn has_double_transform(object: &Object) -> bool {
    object.transform.is_some_and(|transform| single(&transform).is_none())
}

/// Returns whether all meshes of a scene have double-precision positions in world space: no object transforms them.
pub fn is_placed(scene: &Scene) -> bool {
    let is_moved = |object: &Object| object.transform.is_some_and(|transform| transform != IDENTITY64);
    paced(&scene.meshes).all(Mesh::is_exact) && !paced(&scene.objects).any(is_moved)
}

/// Approximate number of positions per mesh from which its bounds are estimated.
const SAMPLES: usize = 64;

/// Returns whether transforms move objects so far that 32-bit floats become too coarse. A sample of positions rules
/// that out in nearly all scenes; only if it does not are all positions read.
fn is_far(scene: &Scene) -> Result<bool> {
    if !paced(&scene.objects).any(|object| object.transform.is_some_and(|matrix| matrix != IDENTITY64)) {
        return Ok(false);
    }
    Ok(is_coarse(bounds_of(scene, &boxes(scene, sampled_bounds)?)?)
        && is_coarse(bounds_of(scene, &boxes(scene, Mesh::exact_bounds)?)?))
}

/// Returns whether 32-bit floats are too coarse for a scene with these bounds. Returns `false` for a single point,
/// which has no size to compare with, and for bounds beyond the range of 32-bit floats.
fn is_coarse(bounds: Option<Bounds<f64>>) -> bool {
    let is_in_range =
        |bounds: &Bounds<f64>| bounds.min.iter().chain(&bounds.max).all(|value| value.abs() <= f64::from(f32::MAX));
    bounds.filter(is_in_range).is_some_and(|bounds| bounds.longest_side() > 0.0 && bounds.is_coarse())
}

/// Returns the bounds of each mesh.
fn boxes(scene: &Scene, of: impl Fn(&Mesh) -> Option<Bounds<f64>>) -> Result<Vec<Option<Bounds<f64>>>> {
    let mut boxes = Vec::new();
    boxes.try_reserve_exact(scene.meshes.len())?;
    boxes.extend(paced(&scene.meshes).map(of));
    Ok(boxes)
}

/// Returns the bounds of a sample of the positions of a mesh.
fn sampled_bounds(mesh: &Mesh) -> Option<Bounds<f64>> {
    // 1 is added because `step_by` panics for 0.
    let step = mesh.positions.len() / SAMPLES + 1;
    let points = mesh.positions.iter().step_by(step).filter_map(|position| Bounds::of(std::slice::from_ref(position)));
    points.reduce(Bounds::union).map(Bounds::widened)
}

/// Rounds the transforms of objects to 32-bit floats, unless 32-bit floats are too coarse for the scene. The scene's
/// bounds are estimated from a sample of positions. Keeps transforms beyond the range of 32-bit floats.
///
/// # Errors
/// Fails if memory runs out.
pub fn settle_transforms(scene: &mut Scene) -> Result<()> {
    if !paced(&scene.objects).any(has_double_transform) || is_coarse(bounds_of(scene, &boxes(scene, sampled_bounds)?)?)
    {
        return Ok(());
    }
    for transform in paced(&mut scene.objects).filter_map(|object| object.transform.as_mut()) {
        let settled = rounded(transform).map(|row| row.map(f64::from));
        let mut entries = settled.as_flattened().iter().zip(transform.as_flattened());
        if entries.all(|(after, before)| after.is_finite() == before.is_finite()) {
            *transform = settled;
        }
    }
    Ok(())
}

/// Returns the bounds of a transformed box.
pub fn moved_bounds(bounds: Bounds<f64>, matrix: &Matrix4) -> Bounds<f64> {
    let corner = |number: usize| {
        let from = [bounds.min, bounds.max];
        let corner: [f64; 3] = std::array::from_fn(|axis| from[number >> axis & 1][axis]);
        let place: [f64; 3] = std::array::from_fn(|row| {
            (0..3).map(|axis| matrix[row][axis] * corner[axis]).sum::<f64>() + matrix[row][3]
        });
        Bounds { min: place, max: place }
    };
    (1..8).map(corner).fold(corner(0), Bounds::union)
}

/// Returns the bounds of a scene in world space, or `None` if it has no finite positions.
///
/// # Errors
/// Fails if memory runs out.
pub fn scene_bounds(scene: &Scene) -> Result<Option<Bounds<f64>>> {
    bounds_of(scene, &boxes(scene, Mesh::exact_bounds)?)
}

/// Returns the bounds of a scene from the bounds of its meshes.
fn bounds_of(scene: &Scene, bounds: &[Option<Bounds<f64>>]) -> Result<Option<Bounds<f64>>> {
    let mut is_placed = Vec::new();
    is_placed.try_reserve_exact(bounds.len())?;
    is_placed.resize(bounds.len(), false);
    for object in paced(&scene.objects) {
        if let Some(is_placed) = is_placed.get_mut(object.mesh) {
            *is_placed = true;
        }
    }
    let placed = paced(&scene.objects).filter_map(|object| {
        let bounds = bounds.get(object.mesh).copied().flatten()?;
        Some(object.transform.map_or(bounds, |transform| moved_bounds(bounds, &transform)))
    });
    // The bounds of meshes without an object are not transformed.
    let others = bounds.iter().zip(is_placed).filter(|(_, is_placed)| !is_placed).filter_map(|(bounds, _)| *bounds);
    Ok(placed.chain(others).reduce(Bounds::union))
}

/// Converts a scene to other axes, scales it, and applies the transforms of objects whose meshes are in double
/// precision. These transforms become the identity. Unless `keeps_transforms` is set, applies all transforms if any
/// mesh or transform is in double precision, or if transforms move objects so far that 32-bit floats become too coarse.
/// If several objects share a transformed mesh, each gets its own copy.
///
/// # Errors
/// See [`transform_axes`] and [`affine::transform`].
pub fn place(scene: &mut Scene, axes: Axes, scale: f64, keeps_transforms: bool, run: &RunOptions) -> Result<()> {
    transform_axes(scene, axes, scale, run)?;
    // One mesh in double precision makes all of them so, and then writers no longer apply transforms.
    let applies_all = !keeps_transforms && is_exact(scene)?;
    let is_moved = |scene: &Scene, object: &Object| {
        let is_exact = applies_all || scene.meshes.get(object.mesh).is_some_and(Mesh::is_exact);
        object.transform.filter(|matrix| *matrix != IDENTITY64 && is_exact)
    };
    let mut users = Vec::new();
    users.try_reserve_exact(scene.meshes.len())?;
    users.resize(scene.meshes.len(), 0usize);
    for object in paced(&scene.objects) {
        // Objects that stay are counted, too: a mesh that one of them uses must not be transformed in place.
        *users.get_mut(object.mesh).ok_or_else(|| object.no_such_mesh())? += 1;
    }
    for number in 0..scene.objects.len() {
        let object = &scene.objects[number];
        let Some(matrix) = is_moved(scene, object) else { continue };
        let mesh = object.mesh;
        users[mesh] -= 1;
        // The last object that uses a mesh transforms it in place. The other objects get a copy.
        let mut moved =
            if users[mesh] == 0 { std::mem::take(&mut scene.meshes[mesh]) } else { scene.meshes[mesh].clone() };
        // `affine::transform` rounds to floats unless the mesh has doubles.
        make_exact(&mut moved)?;
        affine::transform(&mut moved, &matrix, run)?;
        let object = &mut scene.objects[number];
        object.transform = Some(IDENTITY64);
        if users[mesh] == 0 {
            scene.meshes[mesh] = moved;
        } else {
            object.mesh = scene.meshes.len();
            try_push(&mut scene.meshes, moved, "the scene")?;
        }
    }
    // A format without transforms stores all positions in one type.
    if !keeps_transforms && paced(&scene.meshes).any(Mesh::is_exact) {
        paced(&mut scene.meshes).try_for_each(make_exact)?;
    }
    Ok(())
}

/// Adds positions in double precision to a mesh that lacks them.
///
/// # Errors
/// Fails if memory runs out.
pub fn make_exact(mesh: &mut Mesh) -> Result<()> {
    if !mesh.is_exact() {
        let mut exact = Vec::new();
        exact.try_reserve_exact(mesh.positions.len())?;
        exact.extend(mesh.positions.iter().map(|position| position.map(f64::from)));
        mesh.exact_positions = exact.into();
    }
    Ok(())
}

/// Moves a scene so that `origin` becomes 0, and rounds positions and transforms to 32-bit floats unless
/// `keeps_doubles` is set. Returns the loss from rounding. Translates the positions of a mesh if none of its objects
/// has a transform, and otherwise the transforms of its objects. With `keeps_doubles`, which is for formats without
/// transforms, a scene that needs doubles is then placed as by [`place`].
///
/// # Errors
/// Fails if an object refers to a mesh that does not exist, or if memory runs out.
pub fn shift(scene: &mut Scene, origin: [f64; 3], keeps_doubles: bool, run: &RunOptions) -> Result<PositionLoss> {
    let mut is_placed = Vec::new();
    is_placed.try_reserve_exact(scene.meshes.len())?;
    is_placed.resize(scene.meshes.len(), false);
    for object in paced(&scene.objects) {
        let is_moved = object.transform.is_some_and(|matrix| matrix != IDENTITY64);
        *is_placed.get_mut(object.mesh).ok_or_else(|| object.no_such_mesh())? |= is_moved;
    }
    let is_shifted = origin != [0.0; 3];
    let mut loss = PositionLoss::default();
    if keeps_doubles && !is_shifted {
        return Ok(loss);
    }
    for object in paced(&mut scene.objects).filter(|object| is_placed[object.mesh]) {
        let matrix = object.transform.get_or_insert(IDENTITY64);
        matrix.iter_mut().zip(origin).for_each(|(row, origin)| row[3] -= origin);
        if !keeps_doubles {
            let bounds = scene.meshes.get(object.mesh).and_then(Mesh::exact_bounds);
            loss.add_transform(matrix, bounds);
            *matrix = rounded(matrix).map(|row| row.map(f64::from));
        }
    }
    for (mesh, is_placed) in paced(&mut scene.meshes).zip(is_placed) {
        if is_shifted && !is_placed {
            make_exact(mesh)?;
        }
        if mesh.is_exact() {
            // The positions of a transformed mesh stay, but the loss from rounding them still counts.
            loss.extend(shift_mesh(mesh, if is_placed { [0.0; 3] } else { origin }, run)?);
        }
        if !keeps_doubles {
            mesh.exact_positions = Array::default();
        } else {
            mesh.drop_needless_precision();
        }
    }
    if keeps_doubles {
        // Meshes may now differ in precision, and a transform may have become a double.
        let axes = scene.axes;
        place(scene, axes, 1.0, false, run)?;
    }
    Ok(loss)
}

/// Subtracts `origin` from the positions of a mesh. Returns the loss from storing them as 32-bit floats.
fn shift_mesh(mesh: &mut Mesh, origin: [f64; 3], run: &RunOptions) -> Result<PositionLoss> {
    let loss = Mutex::new(PositionLoss::default());
    let exact = mesh.exact_positions.to_mut()?;
    let pieces = exact.chunks_mut(PIECE).zip(mesh.positions.to_mut()?.chunks_mut(PIECE));
    let work = |(): &mut (), (exact, singles): (&mut [Vector], &mut [[f32; 3]])| {
        let mut piece = PositionLoss::default();
        let mut places = 0;
        for (position, single) in exact.iter_mut().zip(singles) {
            let origin = if planted("origin-rounded") { origin.map(|value| f64::from(value as f32)) } else { origin };
            let moved: Vector = std::array::from_fn(|axis| position[axis] - origin[axis]);
            *single = moved.map(|value| value as f32);
            for axis in 0..3 {
                let error = (moved[axis] - f64::from(single[axis])).abs();
                piece.add(position[axis], error, &mut places);
            }
            *position = moved;
        }
        loss.lock().unwrap_or_else(PoisonError::into_inner).extend(piece);
    };
    for_each_item(run.worker_threads(), pieces, || (), work);
    Ok(loss.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Loss of rounding the positions of a scene to 32-bit floats.
#[derive(Clone, Copy, Debug, Default)]
pub struct PositionLoss {
    /// Number of coordinates and of object transforms that change.
    pub moved: u64,
    /// The largest change of a coordinate.
    pub largest: f64,
    digits: DigitLoss,
}

impl PositionLoss {
    fn add(&mut self, value: f64, error: f64, places: &mut usize) {
        if error > 0.0 && value.is_finite() {
            self.moved += 1;
            self.largest = self.largest.max(error);
            // `is_loss` only checks whether there is any short number.
            if self.digits.short == 0 {
                self.digits.add_moved(value, error, places);
            }
        }
    }

    /// Adds the rounding of an object's transform, measured at the bounds of its mesh.
    fn add_transform(&mut self, matrix: &Matrix4, bounds: Option<Bounds<f64>>) {
        let single = rounded(matrix).map(|row| row.map(f64::from));
        let Some(bounds) = bounds.filter(|_| single != *matrix) else { return };
        let exact = moved_bounds(bounds, matrix);
        let moved = moved_bounds(bounds, &single);
        let ends = |bounds: Bounds<f64>| bounds.min.into_iter().chain(bounds.max);
        let error = ends(exact).zip(ends(moved)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        self.moved += u64::from(error > 0.0);
        self.largest = self.largest.max(error);
    }

    fn extend(&mut self, other: PositionLoss) {
        self.moved += other.moved;
        self.largest = self.largest.max(other.largest);
        self.digits.extend(other.digits);
    }

    /// Returns whether the loss matters in a scene with these bounds: whether a number with few digits changes by more
    /// than half a unit of its last digit, or any number by more than [`MAX_MOVE`] times the longest side.
    pub fn is_loss(&self, bounds: Option<Bounds<f64>>) -> bool {
        self.digits.short > 0 || self.largest > MAX_MOVE * bounds.map_or(0.0, |bounds| bounds.longest_side())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_beyond_the_range_of_floats_stay() {
        let scale = |factor: f64| IDENTITY64.map(|row| row.map(|value| value * factor));
        let object = |factor| Object { transform: Some(scale(factor)), ..Object::default() };
        let mesh = Mesh { positions: vec![[0.0; 3], [1e-30, 2e-30, 3e-30]].into(), ..Mesh::default() };
        let mut scene = Scene { meshes: vec![mesh], objects: vec![object(1e39), object(0.1)], ..Scene::default() };
        settle_transforms(&mut scene).unwrap();
        let settled: Vec<_> = scene.objects.iter().map(|object| object.transform).collect();
        assert_eq!(settled, [Some(scale(1e39)), Some(scale(f64::from(0.1_f32)))]);
    }
}
