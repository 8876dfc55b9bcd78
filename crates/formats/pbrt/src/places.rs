//! Computes the world transforms of a [`Render`] by multiplying the steps of the transform tree, in double precision,
//! or in single precision with the operations of pbrt-v4 in the same order.
//!
//! Matrices are row-major and multiply column vectors. If a step is not invertible, values that depend on its inverse
//! are NaN.

use polyhaul_geometry::linear::{IDENTITY32, IDENTITY64, Matrix4, cross, dot, inverse, multiply};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::render::{Instance, Render, Step, Transform};

/// World transforms in double precision.
pub struct Places64(Vec<Matrix4>);

/// World transforms in single precision, each with its inverse, as in pbrt.
pub struct Places32(Vec<[Matrix4<f32>; 2]>);

/// Computes the world transforms of a scene in double precision.
///
/// # Errors
/// [`polyhaul_model::error::ErrorKind::Memory`].
pub fn places64(render: &Render) -> Result<Places64> {
    let mut places = Places64(with_room(render)?);
    for index in 0..render.transform_count() {
        // Nodes follow their parents, so the parent's matrix is already known.
        let Some((parent, step)) = render.step(render.transform(index)) else { break };
        let matrix = places.after(render, parent, &step);
        places.0.push(matrix);
    }
    Ok(places)
}

/// Computes world transforms in single precision, with the operations of pbrt-v4 in the same order. The bits equal the
/// results of a pbrt build whose compiler does not fuse products and sums. Every operation rounds to `f32`:
///
/// - A transform is a pair of matrices, the second of which is the inverse. A directive multiplies the first by its
///   matrix from the right and the second by the inverse of its matrix from the left.
/// - Elements of matrix products are sums `a0 * b0 + (a1 * b1 + (a2 * b2 + a3 * b3))`, to which all rounding errors are
///   added at the end.
/// - `Translate` is inverted by negation, `Scale` by division, `Rotate` by transposition. Other inverses use the 2x2
///   determinants of the upper two and of the lower two rows.
/// - `LookAt` is the inverse of the camera's matrix. Cross products are differences of products, to which the error of
///   the second product is added.
///
/// Numbers are parsed as doubles and then rounded to `f32`. This differs from parsing them as `f32` for about one in
/// several hundred million numbers with more than 15 digits. Sine and cosine are computed by the platform.
///
/// # Errors
/// [`polyhaul_model::error::ErrorKind::Memory`].
pub fn places32(render: &Render) -> Result<Places32> {
    let mut places = Places32(with_room(render)?);
    for index in 0..render.transform_count() {
        let Some((parent, step)) = render.step(render.transform(index)) else { break };
        let matrices = places.after(render, parent, &step);
        places.0.push(matrices);
    }
    Ok(places)
}

fn with_room<T>(render: &Render) -> Result<Vec<T>> {
    let mut places = Vec::new();
    places.try_reserve_exact(render.transform_count()).map_err(|_| Error::memory("transforms"))?;
    Ok(places)
}

impl Places64 {
    /// Returns the matrix of a transform.
    pub fn matrix(&self, render: &Render, transform: Transform) -> Matrix4 {
        let place = render.transform_index(transform).and_then(|index| self.0.get(index));
        place.copied().unwrap_or(IDENTITY64)
    }

    /// Returns the matrix of an instance at the start of the shutter interval.
    pub fn of_instance(&self, render: &Render, instance: &Instance) -> Matrix4 {
        match &instance.step {
            Some(step) => self.after(render, instance.motion.start, step),
            None => self.matrix(render, instance.motion.start),
        }
    }

    fn after(&self, render: &Render, parent: Transform, step: &Step) -> Matrix4 {
        let before = || self.matrix(render, parent);
        match *step {
            Step::Replace(numbers) => columns(numbers),
            Step::Concat(numbers) => multiply(&before(), &columns(numbers)),
            Step::Translate([x, y, z]) => {
                multiply(&before(), &[[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], LAST64])
            }
            Step::Scale([x, y, z]) => {
                multiply(&before(), &[[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0], LAST64])
            }
            Step::Rotate([degrees, x, y, z]) => multiply(&before(), &rotation64(degrees, [x, y, z])),
            Step::LookAt(numbers) => multiply(&before(), &inverse(camera64(numbers))),
            Step::Inverse => inverse(before()),
        }
    }
}

const LAST64: [f64; 4] = IDENTITY64[3];

/// Converts 16 numbers in column-major order to rows.
fn columns<T: Copy + Default>(numbers: [T; 16]) -> [[T; 4]; 4] {
    let mut rows = [[T::default(); 4]; 4];
    for (at, number) in numbers.into_iter().enumerate() {
        rows[at % 4][at / 4] = number;
    }
    rows
}

fn rotation64(degrees: f64, axis: [f64; 3]) -> Matrix4 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let [x, y, z] = unit64(axis);
    let rest = 1.0 - cos;
    [
        [x * x * rest + cos, x * y * rest - z * sin, x * z * rest + y * sin, 0.0],
        [x * y * rest + z * sin, y * y * rest + cos, y * z * rest - x * sin, 0.0],
        [x * z * rest - y * sin, y * z * rest + x * sin, z * z * rest + cos, 0.0],
        LAST64,
    ]
}

/// Normalizes a vector.
pub(super) fn unit64(vector: [f64; 3]) -> [f64; 3] {
    let length = dot(vector, vector).sqrt();
    vector.map(|part| part / length)
}

/// Returns the transform from camera space to world space.
fn camera64([ex, ey, ez, lx, ly, lz, ux, uy, uz]: [f64; 9]) -> Matrix4 {
    let d = unit64([lx - ex, ly - ey, lz - ez]);
    let r = unit64(cross(unit64([ux, uy, uz]), d));
    let u = cross(d, r);
    [[r[0], u[0], d[0], ex], [r[1], u[1], d[1], ey], [r[2], u[2], d[2], ez], LAST64]
}

impl Places32 {
    /// Returns the matrix of a transform.
    pub fn matrix(&self, render: &Render, transform: Transform) -> Matrix4<f32> {
        self.both(render, transform)[0]
    }

    /// Returns the matrix of an instance at the start of the shutter interval.
    pub fn of_instance(&self, render: &Render, instance: &Instance) -> Matrix4<f32> {
        match &instance.step {
            Some(step) => self.after(render, instance.motion.start, step)[0],
            None => self.matrix(render, instance.motion.start),
        }
    }

    fn both(&self, render: &Render, transform: Transform) -> [Matrix4<f32>; 2] {
        let place = render.transform_index(transform).and_then(|index| self.0.get(index));
        place.copied().unwrap_or([IDENTITY32; 2])
    }

    fn after(&self, render: &Render, parent: Transform, step: &Step) -> [Matrix4<f32>; 2] {
        let [m, inverse] = self.both(render, parent);
        let by = |[n, back]: [Matrix4<f32>; 2]| [multiply32(m, n), multiply32(back, inverse)];
        match *step {
            Step::Replace(numbers) => matrix32(numbers),
            Step::Concat(numbers) => by(matrix32(numbers)),
            Step::Translate(numbers) => {
                let shift = |[x, y, z]: [f32; 3]| [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z], LAST32];
                let numbers = numbers.map(|number| number as f32);
                by([shift(numbers), shift(numbers.map(|number| -number))])
            }
            Step::Scale(numbers) => {
                let scale = |[x, y, z]: [f32; 3]| [[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0], LAST32];
                let numbers = numbers.map(|number| number as f32);
                by([scale(numbers), scale(numbers.map(|number| 1.0 / number))])
            }
            Step::Rotate(numbers) => {
                let rotation = rotation32(numbers.map(|number| number as f32));
                by([rotation, transpose(rotation)])
            }
            Step::LookAt(numbers) => {
                let camera = camera32(numbers.map(|number| number as f32));
                by([inverse32(camera), camera])
            }
            Step::Inverse => [inverse, m],
        }
    }
}

const LAST32: [f32; 4] = IDENTITY32[3];

fn matrix32(numbers: [f64; 16]) -> [Matrix4<f32>; 2] {
    // The file is column-major. pbrt inverts the matrix as written and transposes both matrices; inverting the
    // transposed matrix would round differently.
    let written: Matrix4<f32> = transpose(columns(numbers.map(|number| number as f32)));
    [transpose(written), transpose(inverse32(written))]
}

fn transpose(m: Matrix4<f32>) -> Matrix4<f32> {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

fn multiply32(a: Matrix4<f32>, b: Matrix4<f32>) -> Matrix4<f32> {
    std::array::from_fn(|i| std::array::from_fn(|j| inner(std::array::from_fn::<_, 4, _>(|k| (a[i][k], b[k][j])))))
}

/// Computes an inner product, and adds the sum of all rounding errors at the end.
fn inner<const N: usize>(products: [(f32, f32); N]) -> f32 {
    let mut sum = 0.0f32;
    let mut lost = 0.0f32;
    for (at, &(a, b)) in products.iter().rev().enumerate() {
        let product = a * b;
        // The exact rounding error of the product.
        let rounded = fused(a, b, -product);
        if at == 0 {
            sum = product;
            lost = rounded;
            continue;
        }
        let total = product + sum;
        // The exact rounding error of the sum (Knuth's TwoSum).
        let step = total - product;
        let missed = (product - (total - step)) + (sum - step);
        sum = total;
        lost = rounded + (lost + missed);
    }
    sum + lost
}

/// Computes `a * b - c * d`, and adds the rounding error of the second product.
fn difference(a: f32, b: f32, c: f32, d: f32) -> f32 {
    let cd = c * d;
    fused(a, b, -cd) + fused(-c, d, cd)
}

/// Computes `a * b + c` with a single rounding.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    // The C library of MinGW rounds twice.
    if cfg!(all(windows, target_env = "gnu")) { fused_by_doubles(a, b, c) } else { a.mul_add(b, c) }
}

/// Computes the same without a system function. Doubles represent products of floats exactly, and a sum that was
/// rounded to odd can be rounded to `f32` again without a double-rounding error.
fn fused_by_doubles(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    // The exact rounding error of the sum, as in `inner`.
    let step = sum - product;
    let lost = (product - (sum - step)) + (c - step);
    if !sum.is_finite() || lost == 0.0 || sum.to_bits() & 1 == 1 {
        return sum as f32;
    }
    let is_larger = (lost > 0.0) == (sum > 0.0);
    let bits = if is_larger { sum.to_bits() + 1 } else { sum.to_bits() - 1 };
    f64::from_bits(bits) as f32
}

fn unit32(v: [f32; 3]) -> [f32; 3] {
    let size = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    v.map(|x| x / size)
}

fn cross32(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [difference(a[1], b[2], a[2], b[1]), difference(a[2], b[0], a[0], b[2]), difference(a[0], b[1], a[1], b[0])]
}

fn rotation32([degrees, x, y, z]: [f32; 4]) -> Matrix4<f32> {
    let angle = (std::f32::consts::PI / 180.0) * degrees;
    let sin = angle.sin();
    let cos = angle.cos();
    let [x, y, z] = unit32([x, y, z]);
    let rest = 1.0 - cos;
    [
        [x * x + (1.0 - x * x) * cos, x * y * rest - z * sin, x * z * rest + y * sin, 0.0],
        [x * y * rest + z * sin, y * y + (1.0 - y * y) * cos, y * z * rest - x * sin, 0.0],
        [x * z * rest - y * sin, y * z * rest + x * sin, z * z + (1.0 - z * z) * cos, 0.0],
        LAST32,
    ]
}

fn camera32([ex, ey, ez, lx, ly, lz, ux, uy, uz]: [f32; 9]) -> Matrix4<f32> {
    let d = unit32([lx - ex, ly - ey, lz - ez]);
    let r = unit32(cross32(unit32([ux, uy, uz]), d));
    let u = cross32(d, r);
    [[r[0], u[0], d[0], ex], [r[1], u[1], d[1], ey], [r[2], u[2], d[2], ez], LAST32]
}

/// Computes the inverse from the determinants of row pairs, as in pbrt.
fn inverse32(m: Matrix4<f32>) -> Matrix4<f32> {
    const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let pairs =
        |above: [f32; 4], below: [f32; 4]| PAIRS.map(|(i, j)| difference(above[i], below[j], below[i], above[j]));
    let s = pairs(m[0], m[1]);
    let c = pairs(m[2], m[3]);
    let determinant = inner([(s[0], c[5]), (-s[1], c[4]), (s[2], c[3]), (s[3], c[2]), (s[5], c[0]), (-s[4], c[1])]);
    if determinant == 0.0 {
        return [[f32::NAN; 4]; 4];
    }
    let by = 1.0 / determinant;
    let sum = |a: f32, b: f32, c: f32, d: f32, e: f32, f: f32| by * inner([(a, b), (c, d), (e, f)]);
    [
        [
            sum(m[1][1], c[5], m[1][3], c[3], -m[1][2], c[4]),
            sum(-m[0][1], c[5], m[0][2], c[4], -m[0][3], c[3]),
            sum(m[3][1], s[5], m[3][3], s[3], -m[3][2], s[4]),
            sum(-m[2][1], s[5], m[2][2], s[4], -m[2][3], s[3]),
        ],
        [
            sum(-m[1][0], c[5], m[1][2], c[2], -m[1][3], c[1]),
            sum(m[0][0], c[5], m[0][3], c[1], -m[0][2], c[2]),
            sum(-m[3][0], s[5], m[3][2], s[2], -m[3][3], s[1]),
            sum(m[2][0], s[5], m[2][3], s[1], -m[2][2], s[2]),
        ],
        [
            sum(m[1][0], c[4], m[1][3], c[0], -m[1][1], c[2]),
            sum(-m[0][0], c[4], m[0][1], c[2], -m[0][3], c[0]),
            sum(m[3][0], s[4], m[3][3], s[0], -m[3][1], s[2]),
            sum(-m[2][0], s[4], m[2][1], s[2], -m[2][3], s[0]),
        ],
        [
            sum(-m[1][0], c[3], m[1][1], c[1], -m[1][2], c[0]),
            sum(m[0][0], c[3], m[0][2], c[0], -m[0][1], c[1]),
            sum(-m[3][0], s[3], m[3][1], s[1], -m[3][2], s[0]),
            sum(m[2][0], s[3], m[2][2], s[0], -m[2][1], s[1]),
        ],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(all(windows, target_env = "gnu"), ignore = "the function of the system rounds twice")]
    fn sums_of_products_are_rounded_once() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Either sign, few and many digits, and overlapping exponents.
            let digits = (state >> 40) as i32 - (1 << 23);
            (digits >> (state >> 8 & 15)) as f32 * 2f32.powi((state >> 16 & 31) as i32 - 40)
        };
        for _ in 0..100_000 {
            let a = random();
            let b = random();
            let c = random();
            for c in [c, c * a, -(a * b), c * f32::MIN_POSITIVE, 0.0, f32::INFINITY, f32::MAX] {
                let expected = a.mul_add(b, c);
                let actual = fused_by_doubles(a, b, c);
                assert!(actual == expected, "{a:e} * {b:e} + {c:e} = {expected:e}, not {actual:e}");
            }
        }
    }
}
