//! Tests of transformed splats: colors and shapes in rotated directions equal the original ones.

use super::*;
use polyhaul_model::Mesh;
use polyhaul_model::splats::{SplatColumns, Splats};

type Rows = [[f64; 3]; 3];

const QUARTER: Rows = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];

/// Pseudorandom numbers from -1 to 1.
fn numbers(seed: u32) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / 8_388_608.0 - 1.0
    }
}

fn splats(count: usize, degree: usize) -> Mesh {
    let mut next = numbers(7);
    let mut column = || (0..count).map(|_| next() as f32).collect::<Vec<_>>();
    let columns = SplatColumns {
        positions: vec![[0.0; 3]; count],
        opacities: column(),
        scales: [0, 1, 2].map(|_| column()),
        rotations: [0, 1, 2, 3].map(|_| column()),
        constants: [0, 1, 2].map(|_| column()),
        rest: (0..3 * HARMONICS[degree]).map(|_| column()).collect(),
    };
    columns.into_mesh().unwrap()
}

fn moved(mesh: &Mesh, linear: &Rows) -> Mesh {
    let mut mesh = mesh.clone();
    SplatMotion::new(linear).unwrap().apply(&mut mesh.vertex_columns, &RunOptions::default()).unwrap();
    mesh
}

fn times(rows: &Rows, vector: [f64; 3]) -> [f64; 3] {
    rows.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
}

fn product(a: &Rows, b: &Rows) -> Rows {
    let column = |at: usize| times(a, [0, 1, 2].map(|row| b[row][at]));
    let columns = [0, 1, 2].map(column);
    [0, 1, 2].map(|row| [0, 1, 2].map(|at| columns[at][row]))
}

fn transposed(rows: &Rows) -> Rows {
    [0, 1, 2].map(|row| [0, 1, 2].map(|at| rows[at][row]))
}

/// The rotation matrix of a quaternion of any length.
fn rotation([w, x, y, z]: [f64; 4]) -> Rows {
    let s = 2.0 / (w * w + x * x + y * y + z * z);
    [
        [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
    ]
}

/// The harmonics from degree 1 on, as renderers evaluate them: the constants of "3D Gaussian Splatting for Real-Time
/// Radiance Field Rendering" up to degree 3, and of its successors for degree 4.
fn basis([x, y, z]: [f64; 3]) -> [f64; 24] {
    let xx = x * x;
    let yy = y * y;
    let zz = z * z;
    [
        -0.488_602_511_902_919_9 * y,
        0.488_602_511_902_919_9 * z,
        -0.488_602_511_902_919_9 * x,
        1.092_548_430_592_079_2 * x * y,
        -1.092_548_430_592_079_2 * y * z,
        0.315_391_565_252_520_05 * (2.0 * zz - xx - yy),
        -1.092_548_430_592_079_2 * x * z,
        0.546_274_215_296_039_6 * (xx - yy),
        -0.590_043_589_926_643_5 * y * (3.0 * xx - yy),
        2.890_611_442_640_554 * x * y * z,
        -0.457_045_799_464_465_8 * y * (4.0 * zz - xx - yy),
        0.373_176_332_590_115_4 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy),
        -0.457_045_799_464_465_8 * x * (4.0 * zz - xx - yy),
        1.445_305_721_320_277 * z * (xx - yy),
        -0.590_043_589_926_643_5 * x * (xx - 3.0 * yy),
        2.503_342_941_796_704_6 * x * y * (xx - yy),
        -1.770_130_769_779_930_4 * y * z * (3.0 * xx - yy),
        0.946_174_695_757_560_1 * x * y * (7.0 * zz - 1.0),
        -0.669_046_543_557_289_2 * y * z * (7.0 * zz - 3.0),
        0.105_785_546_915_204_31 * (zz * (35.0 * zz - 30.0) + 3.0),
        -0.669_046_543_557_289_2 * x * z * (7.0 * zz - 3.0),
        0.473_087_347_878_780_04 * (xx - yy) * (7.0 * zz - 1.0),
        -1.770_130_769_779_930_4 * x * z * (xx - 3.0 * yy),
        0.625_835_735_449_176_1 * (xx * (xx - 3.0 * yy) - yy * (3.0 * xx - yy)),
    ]
}

fn color(splats: &Splats<'_>, at: usize, channel: usize, direction: [f64; 3]) -> f64 {
    splats.harmonics[channel][1..]
        .iter()
        .zip(basis(direction))
        .map(|(column, value)| f64::from(column[at]) * value)
        .sum()
}

/// The covariance matrix of a splat.
fn covariance(splats: &Splats<'_>, at: usize) -> Rows {
    let turned = rotation(splats.rotation(at).map(f64::from));
    let sizes = splats.scales.map(|scale| f64::from(scale[at]).exp());
    let scaled = turned.map(|row| [0, 1, 2].map(|axis| row[axis] * sizes[axis]));
    product(&scaled, &transposed(&scaled))
}

/// Matrices that rotate, mirror and scale uniformly.
fn similarities() -> Vec<Rows> {
    let mut next = numbers(3);
    let mut matrices = vec![
        QUARTER,
        [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]],
        [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[-2.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, -2.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    ];
    for number in 0..8 {
        let factor = if number % 2 == 0 { 0.3 } else { -4.0 };
        matrices.push(rotation([next(), next(), next(), next()]).map(|row| row.map(|entry| entry * factor)));
    }
    matrices
}

#[test]
fn tiny_splats_keep_a_size() {
    let mesh = splats(5, 0);
    let small = moved(&mesh, &[[1e-13, 0.0, 0.0], [0.0, 1e-13, 0.0], [0.0, 0.0, 1e-13]]);
    let old = Splats::from_mesh(&mesh).unwrap();
    let new = Splats::from_mesh(&small).unwrap();
    for (old, new) in old.scales[0].iter().zip(new.scales[0]) {
        assert!((old - new - 29.933_606).abs() < 1e-4, "{old} {new}");
    }
}

#[test]
fn colors_and_shapes_move_with_space() {
    for degree in 0..=MAX_DEGREE {
        let mesh = splats(5, degree);
        let old = Splats::from_mesh(&mesh).unwrap();
        for linear in similarities() {
            let other = moved(&mesh, &linear);
            let new = Splats::from_mesh(&other).unwrap();
            let factor = determinant(linear).abs().cbrt();
            for at in 0..old.len() {
                let expected = product(&product(&linear, &covariance(&old, at)), &transposed(&linear));
                let actual = covariance(&new, at);
                let scale = expected.as_flattened().iter().fold(0.0, |scale: f64, entry| scale.max(entry.abs()));
                for (a, b) in expected.as_flattened().iter().zip(actual.as_flattened()) {
                    assert!((a - b).abs() < 1e-5 * scale, "{linear:?}: {expected:?} {actual:?}");
                }
                for step in 0..20 {
                    let direction = rotation([1.0, f64::from(step), 2.0, -0.3 * f64::from(step)])[step as usize % 3];
                    let turned = times(&linear, direction).map(|part| part / factor);
                    for channel in 0..3 {
                        let a = color(&old, at, channel, direction);
                        let b = color(&new, at, channel, turned);
                        assert!((a - b).abs() < 1e-5, "degree {degree}, {linear:?}: {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn four_quarter_turns_are_none() {
    let mesh = splats(PIECE + 3, 4);
    let three = (0..3).fold(mesh.clone(), |mesh, _| moved(&mesh, &QUARTER));
    let back = moved(&three, &QUARTER);
    for (old, new) in mesh.vertex_columns.iter().zip(&back.vertex_columns) {
        let [Values::F32(a), Values::F32(b)] = [&old.values, &new.values] else { panic!() };
        // A full turn flips the sign of a quaternion, which still represents the same rotation.
        let sign = if old.name.starts_with("rot_") { -1.0 } else { 1.0 };
        assert!(a.iter().zip(b.iter()).all(|(a, b)| (a - sign * b).abs() < 1e-6), "{}", old.name);
    }
}

#[test]
fn changes_of_signs_are_exact_and_their_own_inverse() {
    let mesh = splats(9, 4);
    for signs in 0..8 {
        let sign = |axis: u32| if signs >> axis & 1 == 1 { -1.0 } else { 1.0 };
        let linear = [[sign(0), 0.0, 0.0], [0.0, sign(1), 0.0], [0.0, 0.0, sign(2)]];
        let once = moved(&mesh, &linear);
        let same = |(old, new): (&Column, &Column)| match (&old.values, &new.values) {
            (Values::F32(a), Values::F32(b)) => a.iter().zip(b.iter()).all(|(a, b)| a.abs() == b.abs()),
            _ => false,
        };
        assert!(mesh.vertex_columns.iter().zip(&once.vertex_columns).all(same));
        assert_eq!(moved(&once, &linear), mesh, "{linear:?}");
        assert_eq!(once == mesh, signs == 0, "{linear:?}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mesh = splats(2 * PIECE + 100, 2);
    let motion = SplatMotion::new(&similarities()[7]).unwrap();
    let moved_meshes = [1, 2, 7].map(|threads| {
        let mut mesh = mesh.clone();
        let run = RunOptions::default().with_threads(Some(threads));
        motion.apply(&mut mesh.vertex_columns, &run).unwrap();
        mesh
    });
    assert!(moved_meshes[0] == moved_meshes[1] && moved_meshes[0] == moved_meshes[2] && moved_meshes[0] != mesh);
}

#[test]
fn uneven_matrices_and_incomplete_splats_are_errors() {
    for linear in [
        [[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.0; 3]; 3],
        [[f64::MAX; 3]; 3],
        [[f64::NAN; 3]; 3],
    ] {
        assert_eq!(SplatMotion::new(&linear).unwrap_err().kind(), ErrorKind::Usage, "{linear:?}");
    }
    let motion = SplatMotion::new(&QUARTER).unwrap();
    for (name, message) in [("rot_2", "column `rot_2` is missing"), ("f_rest_3", "f_rest_N"), ("f_rest_23", "f_rest_N")]
    {
        let mut mesh = splats(2, 2);
        mesh.vertex_columns.retain(|column| column.name != name);
        let error = motion.apply(&mut mesh.vertex_columns, &RunOptions::default()).unwrap_err();
        assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(message), "{error}");
    }
    let mut mesh = splats(2, 1);
    for column in mesh.vertex_columns.iter_mut().filter(|column| column.name == "f_rest_1") {
        column.values = Values::F64(vec![0.0; 2].into());
    }
    let error = motion.apply(&mut mesh.vertex_columns, &RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`f_rest_1` does not contain 32-bit floats"), "{error}");
    // Plain points have nothing to rotate, nor do meshes with faces.
    let mut mesh = splats(3, 0);
    assert!(SplatMotion::of_mesh(&mesh, &QUARTER).unwrap().is_some());
    mesh.faces.offsets = vec![0, 3].into();
    mesh.faces.corner_positions = vec![0, 1, 2].into();
    assert!(SplatMotion::of_mesh(&mesh, &QUARTER).unwrap().is_none());
    let columns = [Column { name: "scale_0".into(), values: Values::F64(vec![1.0].into()), offsets: None }];
    assert!(SplatMotion::of(&columns, &[[3.0; 3]; 3]).unwrap().is_none());
}

#[test]
fn only_plain_numbers_name_columns() {
    assert_eq!(["rot_0", "scale_0", "f_rest_0", "f_rest_12"].map(place_of), [Some(0), Some(4), Some(7), Some(19)]);
    for other in ["f_rest_012", "f_rest_+12", "f_rest_+1", "f_rest_00", "f_rest_", "f_rest_72", "rot_4", "scale_3"] {
        assert_eq!(place_of(other), None, "{other}");
    }
}
