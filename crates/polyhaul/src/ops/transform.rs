//! Other axes and another scale.

use super::arrays::PIECE;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Scene;
use crate::options::{Axis, RunOptions};
use crate::pipeline::parallel::for_each_item;

/// Turns a scene whose forward and up axes are `from` into one whose axes are `to`, and multiplies
/// positions by `scale`; normals are turned only.
///
/// What points along `from`'s forward axis points along `to`'s afterwards, and the same for up: a
/// rotation, as in Blender's importer and exporter. OBJ files have forward -Z and up Y by default,
/// Blender's own axes are Y and Z. A turn moves components and flips signs and changes no other
/// bit: 0 may become -0, and NaN keeps its payload. The scale is one multiplication in `f32`.
///
/// Turning there and back gives the same bits. It is not cancelled half-way: either all of the
/// scene is changed, or nothing.
///
/// # Errors
///
/// [`ErrorKind::Usage`] where forward and up lie along the same axis, or `scale` is not a positive
/// finite number.
///
/// # Examples
///
/// ```
/// use polyhaul::model::{Mesh, Scene};
/// use polyhaul::options::{Axis, RunOptions};
///
/// let mesh = Mesh { positions: vec![[1.0, 2.0, 3.0]], ..Mesh::default() };
/// let mut scene = Scene { meshes: vec![mesh], ..Scene::default() };
/// let (blender, obj) = ((Axis::Y, Axis::Z), (Axis::NegativeZ, Axis::Y));
/// polyhaul::ops::transform_axes(&mut scene, blender, obj, 10.0, &RunOptions::default())?;
/// assert_eq!(scene.meshes[0].positions, [[10.0, 30.0, -20.0]]);
/// # Ok::<(), polyhaul::Error>(())
/// ```
pub fn transform_axes(
    scene: &mut Scene,
    from: (Axis, Axis),
    to: (Axis, Axis),
    scale: f32,
    options: &RunOptions,
) -> Result<()> {
    let turn = Turn::new(frame(from)?, frame(to)?);
    if !(scale > 0.0 && scale.is_finite()) {
        let message = format!("the scale is {scale}; it must be a positive finite number");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let threads = options.worker_threads();
    if !turn.is_nothing() || scale != 1.0 {
        let positions = scene.meshes.iter_mut().flat_map(|mesh| mesh.positions.chunks_mut(PIECE));
        for_each_item(
            threads,
            positions,
            || (),
            |(), chunk| {
                for position in chunk {
                    *position = turn.apply(*position).map(|component| component * scale);
                }
            },
        );
    }
    if !turn.is_nothing() {
        let normals = scene.meshes.iter_mut().flat_map(|mesh| mesh.normals.chunks_mut(PIECE));
        for_each_item(
            threads,
            normals,
            || (),
            |(), chunk| {
                for normal in chunk {
                    *normal = turn.apply(*normal);
                }
            },
        );
    }
    Ok(())
}

/// An axis and whether it is followed against its direction.
type Direction = (usize, bool);

/// Forward, up, and forward x up.
type Frame = [Direction; 3];

fn direction(axis: Axis) -> Direction {
    match axis {
        Axis::X => (0, false),
        Axis::Y => (1, false),
        Axis::Z => (2, false),
        Axis::NegativeX => (0, true),
        Axis::NegativeY => (1, true),
        Axis::NegativeZ => (2, true),
    }
}

fn frame((forward, up): (Axis, Axis)) -> Result<Frame> {
    let (f, u) = (direction(forward), direction(up));
    if f.0 == u.0 {
        let name = ["x", "y", "z"][f.0];
        let message = format!("forward ({forward:?}) and up ({up:?}) both lie along the {name} axis");
        return Err(Error::new(ErrorKind::Usage, message)
            .with_hint("choose two different axes, for example forward -Z and up Y"));
    }
    let against_cycle = u.0 != (f.0 + 1) % 3;
    Ok([f, u, (3 - f.0 - u.0, f.1 ^ u.1 ^ against_cycle)])
}

/// A rotation that only moves components and flips their signs.
struct Turn {
    /// Per component of the result: where it comes from.
    sources: [usize; 3],
    /// Per component of the result: the sign bit to flip.
    flips: [u32; 3],
}

impl Turn {
    fn new(from: Frame, to: Frame) -> Turn {
        let mut turn = Turn { sources: [0; 3], flips: [0; 3] };
        for ((source, against), (target, to_against)) in from.into_iter().zip(to) {
            turn.sources[target] = source;
            turn.flips[target] = u32::from(against ^ to_against) << 31;
        }
        turn
    }

    fn is_nothing(&self) -> bool {
        self.sources == [0, 1, 2] && self.flips == [0; 3]
    }

    fn apply(&self, vector: [f32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|i| f32::from_bits(vector[self.sources[i]].to_bits() ^ self.flips[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mesh;

    const AXES: [Axis; 6] = [Axis::X, Axis::Y, Axis::Z, Axis::NegativeX, Axis::NegativeY, Axis::NegativeZ];

    fn options(threads: usize) -> RunOptions {
        RunOptions { threads: Some(threads), ..RunOptions::default() }
    }

    fn scene(positions: Vec<[f32; 3]>) -> Scene {
        let normals = positions.clone();
        Scene { meshes: vec![Mesh { positions, normals, ..Mesh::default() }], ..Scene::default() }
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

    fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
        [0, 1, 2].map(|i| a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3])
    }

    fn frames() -> impl Iterator<Item = (Axis, Axis)> {
        AXES.into_iter().flat_map(|f| AXES.map(|u| (f, u))).filter(|&pair| frame(pair).is_ok())
    }

    #[test]
    fn forward_and_up_go_where_they_should_and_nothing_is_mirrored() {
        assert_eq!(frames().count(), 24);
        for from in frames() {
            for to in frames() {
                let right = |(f, u)| cross(unit(f), unit(u));
                let mut scene = scene(vec![unit(from.0), unit(from.1), right(from)]);
                transform_axes(&mut scene, from, to, 1.0, &options(1)).unwrap();
                let expected = [unit(to.0), unit(to.1), right(to)];
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
                let mut scene = scene(odd.clone());
                transform_axes(&mut scene, from, to, 1.0, &options(1)).unwrap();
                transform_axes(&mut scene, to, from, 1.0, &options(1)).unwrap();
                assert_eq!(bits(&scene.meshes[0].positions), bits(&odd));
            }
        }
    }

    #[test]
    fn a_scale_is_one_multiplication_of_positions() {
        let obj = (Axis::NegativeZ, Axis::Y);
        let mut scene = scene(vec![[0.1, -0.3, 7.7]]);
        transform_axes(&mut scene, obj, obj, 0.01, &options(1)).unwrap();
        assert_eq!(scene.meshes[0].positions, [[0.1 * 0.01, -0.3 * 0.01, 7.7 * 0.01]]);
        assert_eq!(scene.meshes[0].normals, [[0.1, -0.3, 7.7]]);
    }

    #[test]
    fn threads_make_no_difference() {
        let points: Vec<[f32; 3]> = (0..100_000).map(|i| [i as f32, 0.5 * i as f32, -(i as f32)]).collect();
        let (from, to) = ((Axis::Y, Axis::Z), (Axis::NegativeX, Axis::Y));
        let turned = |threads| {
            let mut scene = scene(points.clone());
            transform_axes(&mut scene, from, to, 0.7, &options(threads)).unwrap();
            scene
        };
        let one = turned(1);
        assert_eq!(one.meshes[0].positions[3], [-1.5 * 0.7, -3.0 * 0.7, -3.0 * 0.7]);
        for threads in [2, 3, 7, 64] {
            assert!(turned(threads) == one);
        }
    }

    #[test]
    fn what_makes_no_sense_is_an_error_that_says_so() {
        let mut scene = scene(vec![[1.0, 2.0, 3.0]]);
        let before = scene.clone();
        let good = (Axis::Y, Axis::Z);
        let error = transform_axes(&mut scene, good, (Axis::Z, Axis::NegativeZ), 1.0, &options(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.diagnostic().message, "forward (Z) and up (NegativeZ) both lie along the z axis");
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(transform_axes(&mut scene, good, good, scale, &options(1)).is_err());
        }
        assert_eq!(scene, before);
    }
}
