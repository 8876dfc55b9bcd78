//! Converts scenes to other axes and another scale.

use crate::exact::single;
use crate::linear::{Coordinate, Matrix3, Matrix4, determinant, wide};
use crate::splat_motion::SplatMotion;
use polyhaul_model::error::{Error, ErrorKind, Result, planted, try_push};
use polyhaul_model::{Axes, Axis, Scene};
use polyhaul_pipeline::arrays::PIECE;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_spill::paced;
use std::iter::Sum;

/// Rotates a scene from its axes to the axes `to`, and multiplies positions by `scale`; normals are only rotated. The
/// transforms of objects are adapted, so that each object keeps its place in the new coordinates. The rotations, scales
/// and harmonics of Gaussian splats ([`has_splats`](crate::splat_motion::has_splats)) are transformed, too.
///
/// The old forward and up axes are mapped to the new forward and up axes by a rotation, as in Blender's importer and
/// exporter. By default, OBJ files have forward -Z and up Y, and Blender has forward Y and up Z. A rotation permutes
/// components, flips signs, and changes no other bit: 0 can become -0, and NaN keeps its payload. The scale is one
/// multiplication per component, in `f32` or, for double-precision positions, in `f64`.
///
/// Rotating a mesh to other axes and back restores its bits, except the harmonics and rotations of splats, which are
/// rounded. The change cannot be cancelled midway: it applies to the whole scene, or on error to none of it.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if forward and up lie along the same axis, or if [`check_scale`] rejects `scale`; the errors of
/// [`SplatMotion::apply`].
///
/// # Examples
///
/// ```
/// use polyhaul_model::{Axes, Mesh, Scene};
/// use polyhaul_pipeline::options::RunOptions;
///
/// let mesh = Mesh { positions: vec![[1.0, 2.0, 3.0]].into(), ..Mesh::default() };
/// let mut scene = Scene { meshes: vec![mesh], axes: Axes::BLENDER, ..Scene::default() };
/// polyhaul_geometry::transform::transform_axes(&mut scene, Axes::OBJ, 10.0, &RunOptions::default())?;
/// assert_eq!(scene.meshes[0].positions, [[10.0, 30.0, -20.0]]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn transform_axes(scene: &mut Scene, to: Axes, scale: f64, options: &RunOptions) -> Result<()> {
    let turn = axes_matrix(scene.axes, to)?;
    transform_meshes(scene, to, scale, options)?;
    for transform in paced(&mut scene.objects).filter_map(|object| object.transform.as_mut()) {
        // A transform in single precision stays in single precision, so that output does not change in the last digits.
        match single(transform) {
            Some(singles) => {
                let turned = turn_transform(&singles, &turn, scale as f32);
                *transform = turned.map(|row| row.map(f64::from));
            }
            None => *transform = turn_transform(transform, &turn.map(wide), scale),
        }
    }
    Ok(())
}

/// Converts an object's transform to rotated and scaled coordinates.
fn turn_transform<T: Coordinate + Sum>(transform: &Matrix4<T>, turn: &Matrix3<T>, scale: T) -> Matrix4<T> {
    let [rows @ .., _] = transform;
    let mut result = *transform;
    for (row, turned_row) in result.iter_mut().zip(turn) {
        let turned = [0, 1, 2, 3].map(|column| (0..3).map(|at| turned_row[at] * rows[at][column]).sum::<T>());
        // Columns are rotated like rows: the inverse of a rotation is its transpose.
        let part = |axis: usize| (0..3).map(|at| turned[at] * turn[axis][at]).sum::<T>();
        *row = [part(0), part(1), part(2), turned[3] * scale];
    }
    result
}

/// Same as [`transform_axes`], except that the transforms of objects stay as they are, for writers that convert them.
///
/// # Errors
///
/// See [`transform_axes`].
pub fn transform_meshes(scene: &mut Scene, to: Axes, scale: f64, options: &RunOptions) -> Result<()> {
    let turn = TransformTurn::new(frame(scene.axes)?, frame(to)?);
    check_scale(scale)?;
    let turns = !turn.is_nothing();
    let scales = scale != 1.0;
    // Rounded to the factor by which single-precision positions are multiplied.
    let linear = axes_matrix(scene.axes, to)?.map(|row| row.map(|entry| f64::from(entry) * f64::from(scale as f32)));
    let single_scale = scale as f32;
    // All arrays are made mutable before any of them changes, because this can fail.
    let mut arrays = Vec::new();
    let mut exact = Vec::new();
    let mut splats = Vec::new();
    for mesh in paced(&mut scene.meshes) {
        let is_exact = mesh.is_exact();
        if let Some(motion) = SplatMotion::of_mesh(mesh, &linear)? {
            try_push(&mut splats, motion.prepare(&mut mesh.vertex_columns)?, "the scene")?;
        }
        if turns || scales {
            if is_exact {
                let pair = (mesh.exact_positions.to_mut()?, mesh.positions.to_mut()?);
                try_push(&mut exact, pair, "the scene")?;
            } else {
                try_push(&mut arrays, (mesh.positions.to_mut()?, single_scale), "the scene")?;
            }
        }
        if turns {
            try_push(&mut arrays, (mesh.normals.to_mut()?, 1.0), "the scene")?;
        }
    }
    // Nothing can fail from here on.
    splats.into_iter().for_each(|splats| splats.apply(options));
    let pieces = arrays.into_iter().flat_map(|(array, scale)| array.chunks_mut(PIECE).map(move |piece| (piece, scale)));
    for_each_item(
        options.worker_threads(),
        pieces,
        || (),
        |(), (piece, scale)| {
            for vector in piece {
                *vector = turn.apply(*vector).map(|component| component * scale);
            }
        },
    );
    let pieces = exact.into_iter().flat_map(|(exact, singles)| exact.chunks_mut(PIECE).zip(singles.chunks_mut(PIECE)));
    for_each_item(
        options.worker_threads(),
        pieces,
        || (),
        |(), (exact, singles)| {
            for (position, single) in exact.iter_mut().zip(singles) {
                *position = turn.apply_exact(*position).map(|component| component * scale);
                *single = position.map(|component| component as f32);
            }
        },
    );
    scene.axes = to;
    Ok(())
}

/// Returns whether a transform mirrors.
pub fn is_mirrored(transform: &Matrix4) -> bool {
    let [x, y, z, _] = transform.map(|row| [row[0], row[1], row[2]]);
    determinant([x, y, z]) < 0.0
}

/// Checks that positions can be multiplied by `scale`.
///
/// # Errors
///
/// [`ErrorKind::Usage`] unless `scale` is positive and finite, also as a 32-bit float.
pub fn check_scale(scale: f64) -> Result<()> {
    // Positions in single precision are multiplied by the rounded factor: 0 or infinity would destroy all of them.
    let single = scale as f32;
    if single > 0.0 && single.is_finite() {
        return Ok(());
    }
    let message = format!("invalid scale {scale:?}: expected a positive number within the range of 32-bit floats");
    Err(Error::new(ErrorKind::Usage, message))
}

/// Returns the row-major rotation matrix between axes, with entries 0, 1 and -1.
///
/// # Errors
///
/// [`ErrorKind::Usage`] if forward and up lie along the same axis.
pub fn axes_matrix(from: Axes, to: Axes) -> Result<Matrix3<f32>> {
    let turn = TransformTurn::new(frame(from)?, frame(to)?);
    let mut rows = [[0.0; 3]; 3];
    for (row, (source, flip)) in rows.iter_mut().zip(turn.sources.into_iter().zip(turn.flips)) {
        row[source] = if flip == 0 { 1.0 } else { -1.0 };
    }
    Ok(rows)
}

/// An axis, and whether the direction is negative.
type TransformDirection = (usize, bool);

/// Forward, up, and forward x up.
type TransformFrame = [TransformDirection; 3];

fn direction(axis: Axis) -> TransformDirection {
    match axis {
        Axis::X => (0, false),
        Axis::Y => (1, false),
        Axis::Z => (2, false),
        Axis::NegativeX => (0, true),
        Axis::NegativeY => (1, true),
        Axis::NegativeZ => (2, true),
    }
}

fn frame(Axes { forward, up }: Axes) -> Result<TransformFrame> {
    let f = direction(forward);
    let u = direction(up);
    if f.0 == u.0 {
        let name = ["x", "y", "z"][f.0];
        let message = format!("forward ({forward:?}) and up ({up:?}) are both on the {name} axis");
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("choose two different axes, for example forward -Z and up Y"));
    }
    // The cross product of two positive axes is positive only if they follow each other in the cycle x, y, z.
    let against_cycle = u.0 != (f.0 + 1) % 3;
    Ok([f, u, (3 - f.0 - u.0, f.1 ^ u.1 ^ against_cycle)])
}

/// A rotation that permutes components and flips their signs.
struct TransformTurn {
    /// Per component of the result: the source component.
    sources: [usize; 3],
    /// Per component of the result: the sign bit to flip.
    flips: [u32; 3],
}

impl TransformTurn {
    fn new(from: TransformFrame, to: TransformFrame) -> TransformTurn {
        let mut turn = TransformTurn { sources: [0; 3], flips: [0; 3] };
        for ((source, against), (target, to_against)) in from.into_iter().zip(to) {
            turn.sources[target] = source;
            let is_mirrored = planted("axes-mirrored") && target == 0;
            turn.flips[target] = u32::from(against ^ to_against ^ is_mirrored) << 31;
        }
        turn
    }

    fn is_nothing(&self) -> bool {
        self.sources == [0, 1, 2] && self.flips == [0; 3]
    }

    fn apply_exact(&self, vector: [f64; 3]) -> [f64; 3] {
        // The sign bit of a double is 32 bits above that of a float.
        [0, 1, 2].map(|i| f64::from_bits(vector[self.sources[i]].to_bits() ^ u64::from(self.flips[i]) << 32))
    }

    fn apply(&self, vector: [f32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|i| f32::from_bits(vector[self.sources[i]].to_bits() ^ self.flips[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{IDENTITY64, cross};
    use polyhaul_model::{Mesh, Object};

    const AXES: [Axis; 6] = [Axis::X, Axis::Y, Axis::Z, Axis::NegativeX, Axis::NegativeY, Axis::NegativeZ];

    fn options(threads: usize) -> RunOptions {
        RunOptions::default().with_threads(Some(threads))
    }

    fn scene(axes: Axes, positions: Vec<[f32; 3]>) -> Scene {
        let normals = positions.clone().into();
        Scene {
            meshes: vec![Mesh { positions: positions.into(), normals, ..Mesh::default() }],
            axes,
            ..Scene::default()
        }
    }

    fn bits(vectors: &[[f32; 3]]) -> Vec<[u32; 3]> {
        vectors.iter().map(|vector| vector.map(f32::to_bits)).collect()
    }

    fn unit(axis: Axis) -> [f32; 3] {
        let (index, against) = direction(axis);
        let mut unit = [0.0; 3];
        unit[index] = if against { -1.0 } else { 1.0 };
        unit
    }

    fn frames() -> impl Iterator<Item = Axes> {
        let pairs = AXES.into_iter().flat_map(|forward| AXES.map(|up| Axes { forward, up }));
        pairs.filter(|&axes| frame(axes).is_ok())
    }

    #[test]
    fn forward_and_up_go_where_they_should_and_nothing_is_mirrored() {
        assert_eq!(frames().count(), 24);
        for from in frames() {
            for to in frames() {
                let right = |axes: Axes| cross(unit(axes.forward), unit(axes.up));
                let mut scene = scene(from, vec![unit(from.forward), unit(from.up), right(from)]);
                transform_axes(&mut scene, to, 1.0, &options(1)).unwrap();
                let expected = [unit(to.forward), unit(to.up), right(to)];
                assert_eq!(scene.meshes[0].positions, expected, "{from:?} to {to:?}");
                assert_eq!(scene.meshes[0].normals, expected, "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn there_and_back_is_the_same_bits() {
        let odd = vec![[0.0, -0.0, f32::from_bits(0x7fc0_1234)], [f32::MIN_POSITIVE / 3.0, f32::INFINITY, 1e-45]];
        for from in frames() {
            for to in frames() {
                let mut scene = scene(from, odd.clone());
                transform_axes(&mut scene, to, 1.0, &options(1)).unwrap();
                transform_axes(&mut scene, from, 1.0, &options(1)).unwrap();
                assert_eq!(bits(&scene.meshes[0].positions), bits(&odd));
            }
        }
    }

    #[test]
    fn a_scale_is_one_multiplication_of_positions() {
        let mut scene = scene(Axes::OBJ, vec![[0.1, -0.3, 7.7]]);
        transform_axes(&mut scene, Axes::OBJ, 0.01, &options(1)).unwrap();
        assert_eq!(scene.meshes[0].positions, [[0.1 * 0.01, -0.3 * 0.01, 7.7 * 0.01]]);
        assert_eq!(scene.meshes[0].normals, [[0.1, -0.3, 7.7]]);
    }

    #[test]
    fn objects_stay_where_they_are() {
        let transform = [[0.0, -2.0, 0.5, 3.0], [1.0, 0.0, 0.0, 4.0], [0.0, 0.25, 3.0, -5.0], IDENTITY64[3]];
        let placed = |scene: &Scene| {
            let [x, y, z, _] = scene.objects[0].transform.unwrap();
            let [a, b, c] = scene.meshes[0].positions[0];
            let row = |row: [f64; 4]| row.map(|entry| entry as f32);
            [x, y, z].map(row).map(|row| row[0] * a + row[1] * b + row[2] * c + row[3])
        };
        for (from, to) in frames().flat_map(|from| frames().map(move |to| (from, to))) {
            let mut turned = scene(from, vec![[1.0, 2.0, 3.0]]);
            turned.objects = vec![Object { transform: Some(transform), ..Object::default() }];
            let mut expected = scene(from, vec![placed(&turned)]);
            transform_axes(&mut turned, to, 10.0, &options(1)).unwrap();
            transform_axes(&mut expected, to, 10.0, &options(1)).unwrap();
            let expected = expected.meshes[0].positions[0];
            assert!(placed(&turned).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{from:?} {to:?}");
        }
    }

    #[test]
    fn threads_make_no_difference() {
        let points: Vec<[f32; 3]> = (0..100_000).map(|i| [i as f32, 0.5 * i as f32, -(i as f32)]).collect();
        let from = Axes::BLENDER;
        let to = Axes { forward: Axis::NegativeX, up: Axis::Y };
        let turned = |threads| {
            let mut scene = scene(from, points.clone());
            transform_axes(&mut scene, to, 0.7, &options(threads)).unwrap();
            scene
        };
        let single_threaded = turned(1);
        assert_eq!(single_threaded.meshes[0].positions[3], [-1.5 * 0.7, -3.0 * 0.7, -3.0 * 0.7]);
        for threads in [2, 3, 7, 64] {
            assert!(turned(threads) == single_threaded);
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error_that_says_so() {
        let mut scene = scene(Axes::BLENDER, vec![[1.0, 2.0, 3.0]]);
        let before = scene.clone();
        let bad = Axes { forward: Axis::Z, up: Axis::NegativeZ };
        let error = transform_axes(&mut scene, bad, 1.0, &options(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.diagnostic().message, "forward (Z) and up (NegativeZ) are both on the z axis");
        for scale in [0.0, -1.0, 1e-50, 1e50, f64::NAN, f64::INFINITY] {
            assert!(transform_axes(&mut scene, Axes::BLENDER, scale, &options(1)).is_err());
        }
        assert_eq!(scene, before);
    }
}
