//! Compares single-precision transforms, bit by bit, with an independent calculation of the promises of `places32`.

use crate::pbrt::support::{options, render, text};
use polyhaul::ops::{Matrix4, places32};
use polyhaul_testkit::random::Random;
use std::fmt::Write;

type Matrix32 = Matrix4<f32>;
/// A matrix and its inverse, which are updated together.
type Pair = [Matrix32; 2];

const LAST: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

fn transposed(m: Matrix32) -> Matrix32 {
    let mut t = m;
    (0..16).for_each(|at| t[at / 4][at % 4] = m[at % 4][at / 4]);
    t
}

/// A rounded product and its rounding error: f64s store products of f32s exactly.
fn product(a: f32, b: f32) -> (f32, f32) {
    let exact = f64::from(a) * f64::from(b);
    let rounded = a * b;
    (rounded, (exact - f64::from(rounded)) as f32)
}

/// The same for a sum: the error from the larger and the smaller operand.
fn sum(a: f32, b: f32) -> (f32, f32) {
    let total = a + b;
    let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
    (total, small - (total - large))
}

/// Compensated sum of products: the result and the total rounding error.
fn inner(products: &[(f32, f32)]) -> (f32, f32) {
    let (value, lost) = product(products[0].0, products[0].1);
    if products.len() == 1 {
        return (value, lost);
    }
    let (others, others_lost) = inner(&products[1..]);
    let (total, sum_lost) = sum(value, others);
    (total, lost + (others_lost + sum_lost))
}

fn dot(products: &[(f32, f32)]) -> f32 {
    let (value, lost) = inner(products);
    value + lost
}

fn times(a: Matrix32, b: Matrix32) -> Matrix32 {
    let mut m = a;
    for at in 0..16 {
        let row_and_column: Vec<_> = (0..4).map(|k| (a[at / 4][k], b[k][at % 4])).collect();
        m[at / 4][at % 4] = dot(&row_and_column);
    }
    m
}

/// a * b - c * d.
fn difference(a: f32, b: f32, c: f32, d: f32) -> f32 {
    let (cd, lost) = product(c, d);
    // MinGW's C library rounds `mul_add` twice.
    (f64::from(a) * f64::from(b) - f64::from(cd)) as f32 - lost
}

/// Elements of an inverse: signs, columns and 2x2 determinants of three products; for even and odd columns.
const ELEMENTS: [[[(f32, usize, usize); 3]; 2]; 4] = [
    [[(1.0, 1, 5), (1.0, 3, 3), (-1.0, 2, 4)], [(-1.0, 1, 5), (1.0, 2, 4), (-1.0, 3, 3)]],
    [[(-1.0, 0, 5), (1.0, 2, 2), (-1.0, 3, 1)], [(1.0, 0, 5), (1.0, 3, 1), (-1.0, 2, 2)]],
    [[(1.0, 0, 4), (1.0, 3, 0), (-1.0, 1, 2)], [(-1.0, 0, 4), (1.0, 1, 2), (-1.0, 3, 0)]],
    [[(-1.0, 0, 3), (1.0, 1, 1), (-1.0, 2, 0)], [(1.0, 0, 3), (1.0, 2, 0), (-1.0, 1, 1)]],
];

fn inverse(m: Matrix32) -> Matrix32 {
    let determinants = |above: usize, below: usize| {
        let mut minors = Vec::new();
        for i in 0..4 {
            (i + 1..4).for_each(|j| minors.push(difference(m[above][i], m[below][j], m[below][i], m[above][j])));
        }
        minors
    };
    let upper = determinants(0, 1);
    let lower = determinants(2, 3);
    // Signs alternate; the last two are reversed.
    let products = [(0, 5, 1.0), (1, 4, -1.0), (2, 3, 1.0), (3, 2, 1.0), (5, 0, 1.0), (4, 1, -1.0)];
    let determinant = dot(&products.map(|(a, b, sign)| (sign * upper[a], lower[b])));
    let mut inverse = [[f32::NAN; 4]; 4];
    if determinant != 0.0 {
        for at in 0..16 {
            let row = at / 4;
            let column = at % 4;
            let numbers = m[[1, 0, 3, 2][column]];
            let minors = if column < 2 { &lower } else { &upper };
            let products = ELEMENTS[row][column % 2].map(|(sign, k, minor)| (sign * numbers[k], minors[minor]));
            inverse[row][column] = 1.0 / determinant * dot(&products);
        }
    }
    inverse
}

fn unit([x, y, z]: [f32; 3]) -> [f32; 3] {
    let size = (x * x + y * y + z * z).sqrt();
    [x / size, y / size, z / size]
}

fn cross([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [difference(b, z, c, y), difference(c, x, a, z), difference(a, y, b, x)]
}

fn rotation(degrees: f32, axis: [f32; 3]) -> Matrix32 {
    let angle = std::f32::consts::PI / 180.0 * degrees;
    let sin = angle.sin();
    let cos = angle.cos();
    let a = unit(axis);
    let mut m = [LAST; 4];
    for i in 0..3 {
        m[i] = [0.0; 4];
        m[i][i] = a[i] * a[i] + (1.0 - a[i] * a[i]) * cos;
    }
    for (i, j, k) in [(0, 1, 2), (0, 2, 1), (1, 2, 0)] {
        let both = a[i] * a[j] * (1.0 - cos);
        let third = a[k] * sin;
        let is_forward = (i, j) != (0, 2);
        m[i][j] = if is_forward { both - third } else { both + third };
        m[j][i] = if is_forward { both + third } else { both - third };
    }
    m
}

fn camera(n: &[f32]) -> Matrix32 {
    let dir = unit([n[3] - n[0], n[4] - n[1], n[5] - n[2]]);
    let right = unit(cross(unit([n[6], n[7], n[8]]), dir));
    let up = cross(dir, right);
    let row = |i: usize| [right[i], up[i], dir[i], n[i]];
    [row(0), row(1), row(2), LAST]
}

/// Matrix and inverse of a directive.
fn pair(directive: &str, n: &[f32]) -> Pair {
    let diagonal = |[x, y, z]: [f32; 3]| [[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0], LAST];
    let shift = |[x, y, z]: [f32; 3]| [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], LAST];
    match directive {
        "Translate" => [shift([n[0], n[1], n[2]]), shift([-n[0], -n[1], -n[2]])],
        "Scale" => [diagonal([n[0], n[1], n[2]]), diagonal([1.0 / n[0], 1.0 / n[1], 1.0 / n[2]])],
        "Rotate" => {
            let m = rotation(n[0], [n[1], n[2], n[3]]);
            [m, transposed(m)]
        }
        "LookAt" => [inverse(camera(n)), camera(n)],
        _ => {
            let mut written = [LAST; 4];
            (0..16).for_each(|at| written[at / 4][at % 4] = n[at]);
            [transposed(written), transposed(inverse(written))]
        }
    }
}

fn after([m, back]: Pair, directive: &str, n: &[f32]) -> Pair {
    let [step, step_back] = pair(directive, n);
    match directive {
        "Transform" => [step, step_back],
        _ => [times(m, step), times(step_back, back)],
    }
}

/// A directive with numbers of a few digits, most of them between -4 and 4.
fn directive(random: &mut Random) -> (&'static str, Vec<String>) {
    let (name, count) =
        [("Translate", 3), ("Scale", 3), ("Rotate", 4), ("LookAt", 9), ("ConcatTransform", 16), ("Transform", 16)]
            [random.below(11) / 2];
    let mut number = || {
        let digits = random.below(4_000_000) + 1;
        let sign = if random.below(2) == 0 { "-" } else { "" };
        format!("{sign}{}e-6", digits)
    };
    let mut numbers: Vec<String> = (0..count).map(|_| number()).collect();
    if count == 16 && random.below(4) > 0 {
        [3, 7, 11].iter().for_each(|&at| numbers[at] = "0".into());
        numbers[15] = "1".into();
    }
    (name, numbers)
}

#[test]
fn chains_are_the_same_bit_by_bit() {
    let mut random = Random::new(7);
    let mut compared = 0;
    for chain in 0..400 {
        let mut lines = String::new();
        let identity = pair("Scale", &[1.0; 3]);
        let mut expected = identity;
        for _ in 0..1 + chain % 6 {
            let (name, numbers) = directive(&mut random);
            let values: Vec<f32> = numbers.iter().map(|number| number.parse().unwrap()).collect();
            expected = after(expected, name, &values);
            let brackets = if values.len() == 16 { ["[ ", " ]"] } else { [""; 2] };
            writeln!(lines, "{name} {}{}{}", brackets[0], numbers.join(" "), brackets[1]).unwrap();
        }
        // As a shape, as an instance, and inverted by a camera.
        let scene = format!(
            "{lines}Camera \"c\"\nWorldBegin\nObjectBegin \"o\" ObjectEnd\nCoordSysTransform \"camera\"\nShape \"back\"\nIdentity\n\
             AttributeBegin\n{lines}Shape \"s\"\nAttributeEnd\nAttributeBegin\n{lines}ObjectInstance \"o\"\nAttributeEnd\n"
        );
        let loaded = text(&scene, &options(1, None)).unwrap();
        let scene = render(&loaded);
        let places = places32(scene).unwrap();
        let shape = |at: usize| places.matrix(scene, scene.shape(at).unwrap().motion().start);
        let instance = places.of_instance(scene, &scene.instances().next().unwrap());
        for (actual, expected, what) in
            [(shape(1), expected[0], "shape"), (instance, expected[0], "instance"), (shape(0), expected[1], "inverse")]
        {
            for at in 0..16 {
                let actual = actual[at / 4][at % 4];
                let expected = expected[at / 4][at % 4];
                let is_same = actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan();
                assert!(is_same, "{what}, element {at}: {actual:e} {expected:e}\n{lines}");
                compared += usize::from(!actual.is_nan());
            }
        }
    }
    assert!(compared > 400 * 40, "{compared}");
}

/// Manual examples: sums in which single precision loses digits that the errors restore.
#[test]
fn what_roundings_lose_is_added_at_the_end() {
    // A row times a column: 1e4 * 1e4 + 1 * 1 - 1e4 * 1e4, which is 0 without compensation.
    assert_eq!(dot(&[(1e4, 1e4), (1.0, 1.0), (1e4, -1e4), (0.0, 0.0)]), 1.0);
    let scene = "WorldBegin\nTransform [ 1e4 0 0 0  1 1 0 0  1e4 0 1 0  0 0 0 1 ]\n\
                 ConcatTransform [ 1e4 1 -1e4 0  0 1 0 0  0 0 1 0  0 0 0 1 ]\nShape \"s\"\n";
    let loaded = text(scene, &options(1, None)).unwrap();
    let scene = render(&loaded);
    let places = places32(scene).unwrap();
    assert_eq!(places.matrix(scene, scene.shape(0).unwrap().motion().start)[0][0], 1.0);
}
