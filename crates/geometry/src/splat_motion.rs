//! Transforms the rotations, scales and harmonics of Gaussian splats by a matrix.
//!
//! Matrices that rotate, mirror or scale uniformly transform splats exactly: the logarithm of the factor is added to
//! log scales, quaternions are multiplied, and spherical harmonics are rotated, degree by degree, by a matrix common
//! to all splats. Shear and nonuniform scale are errors, since harmonics cannot represent the resulting colors.
//!
//! The matrices for harmonics follow J. Ivanic and K. Ruedenberg, "Rotation Matrices for Real Spherical Harmonics.
//! Direct Determination by Recursion", J. Phys. Chem. 1996, 100, 6342, with the corrections of 1998, 102, 9099: the
//! matrix of each degree is computed from the matrices of the previous degree and of degree 1, which is the rotation
//! itself. The recursion also holds for reflections, so mirrored splats need no special case. The harmonics of splats
//! use the Condon-Shortley phase, which flips the sign of odd orders.
//!
//! The columns are described in [`polyhaul_model::splats`]. [`crate::affine`] transforms positions.

use crate::affine;
use crate::linear::{IDENTITY64, Matrix3, determinant, dot};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::splats::{self, HARMONICS, REST_COLUMNS};
use polyhaul_model::warnings::counted;
use polyhaul_model::{Column, Mesh, Object, Scene, Values};
use polyhaul_pipeline::arrays::{PIECE, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_spill::paced;

/// Returns whether a mesh has splats: no faces or lines, and the columns of [`splats::are_splats`]. Such splats cannot
/// always be transformed: the types of their columns may be wrong, or their harmonics incomplete.
pub fn has_splats(mesh: &Mesh) -> bool {
    mesh.faces.is_empty() && mesh.lines.is_empty() && splats::are_splats(&mesh.vertex_columns)
}

/// Returns whether an object transforms splats.
pub fn moves_splats(scene: &Scene, object: &Object) -> bool {
    let is_moved = object.transform.is_some_and(|transform| transform != IDENTITY64);
    is_moved && scene.meshes.get(object.mesh).is_some_and(has_splats)
}

/// Applies the transforms of objects selected by `settles` to their splats, and resets these transforms to the
/// identity.
///
/// # Errors
/// See [`affine::transform`]; [`ErrorKind::Unsupported`] if several objects share the same splats.
pub fn settle_splats(scene: &mut Scene, settles: impl Fn(&Object) -> bool, run: &RunOptions) -> Result<()> {
    let mut uses: Vec<u32> = zeroed(scene.meshes.len(), "object counts of meshes")?;
    for object in paced(&scene.objects) {
        uses.get_mut(object.mesh).into_iter().for_each(|uses| *uses += 1);
    }
    for number in 0..scene.objects.len() {
        let object = &scene.objects[number];
        if !(moves_splats(scene, object) && settles(object)) {
            continue;
        }
        if uses[object.mesh] > 1 {
            let message =
                format!("several objects share the Gaussian splats of `{}`, and their transforms differ", object.name);
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.with_hint("give each object its own mesh"));
        }
        let matrix = object.transform.unwrap_or(IDENTITY64);
        affine::transform(&mut scene.meshes[object.mesh], &matrix, run)?;
        scene.objects[number].transform = Some(IDENTITY64);
    }
    Ok(())
}

/// Numbers of splat columns that change, in the order used here: quaternion components, scales, and then harmonics.
const ROTATIONS: usize = 4;
const SCALES: usize = 3;
const MAX_DEGREE: usize = HARMONICS.len() - 1;
const COLUMNS: usize = ROTATIONS + SCALES + 3 * HARMONICS[MAX_DEGREE];

/// Largest number of harmonics per degree.
const WIDTH: usize = 2 * MAX_DEGREE + 1;

/// Tolerance for unequal lengths and nonorthogonality of matrix columns, relative to their length.
const EVEN: f64 = 1e-5;

/// Maximum distance from an integer at which a value is rounded to that integer.
const EXACT: f64 = 1e-12;

/// The matrix of a degree: the weight of each old harmonic (column) in each new harmonic (row).
type HarmonicMatrix = [[f64; WIDTH]; WIDTH];

/// The linear part of a transform of splats.
#[derive(Clone, Debug)]
pub struct SplatMotion {
    /// Added to log scales.
    growth: f64,
    turn: SplatTurn,
}

#[derive(Clone, Debug)]
enum SplatTurn {
    /// Only signs change. This is exact, so applying it twice restores the bits.
    Signs { rotation: [f32; 4], harmonics: [f32; HARMONICS[MAX_DEGREE]] },
    /// A quaternion to multiply from the left, and the matrices of degrees 1 and up.
    Rotation { rotation: [f64; 4], harmonics: Box<[HarmonicMatrix; MAX_DEGREE]> },
}

impl SplatMotion {
    /// Creates the motion for the linear part of a matrix. Returns `None` if `columns` are not splats or if the linear
    /// part is the identity.
    ///
    /// # Errors
    /// See [`SplatMotion::new`].
    pub fn of(columns: &[Column], linear: &Matrix3) -> Result<Option<SplatMotion>> {
        let is_moved = *linear != [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        if is_moved && splats::are_splats(columns) { SplatMotion::new(linear).map(Some) } else { Ok(None) }
    }

    /// Creates the motion of a mesh's splats. Returns `None` if the mesh has no splats or if the linear part is the
    /// identity.
    ///
    /// # Errors
    /// See [`SplatMotion::new`].
    pub fn of_mesh(mesh: &Mesh, linear: &Matrix3) -> Result<Option<SplatMotion>> {
        if has_splats(mesh) { SplatMotion::of(&mesh.vertex_columns, linear) } else { Ok(None) }
    }

    /// Creates the motion for the linear part of a matrix that multiplies column vectors.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the matrix shears, scales nonuniformly or is singular.
    pub fn new(linear: &Matrix3) -> Result<SplatMotion> {
        let column = |at: usize| [0, 1, 2].map(|row| linear[row][at]);
        let square = [0, 1, 2].map(|at| dot(column(at), column(at))).iter().sum::<f64>() / 3.0;
        let is_even = (0..9).all(|pair| {
            let expected = if pair / 3 == pair % 3 { square } else { 0.0 };
            // Squares deviate by twice the relative deviation of lengths.
            (dot(column(pair / 3), column(pair % 3)) - expected).abs() <= 2.0 * EVEN * square
        });
        if !(is_even && square.is_normal()) {
            let message = "Gaussian splats cannot be sheared, flattened or scaled nonuniformly";
            let error = Error::new(ErrorKind::Usage, message);
            return Err(error.with_hint("use only rotation, uniform scale and translation"));
        }
        let factor = square.sqrt();
        // Dividing by the rounded factor can leave entries slightly off 0, 1 and -1, but only exact ones are recognized
        // as changes of sign.
        let turn = linear.map(|row| row.map(|entry| exact(entry / factor)));
        // For a factor of 1, the growth is exactly 0, and `piece` leaves the scales alone. The logarithm of a tiny
        // factor must not become that of 0, which is infinite.
        let rounded = exact(factor);
        let growth = if rounded > 0.0 { rounded.ln() } else { factor.ln() };
        Ok(SplatMotion { growth, turn: SplatTurn::new(&turn) })
    }

    /// Transforms the splat columns among `columns`. On error, none has changed.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if a rotation column is missing, if a column does not hold 32-bit floats, or if the
    /// number of harmonics does not match a degree; [`ErrorKind::Memory`].
    pub fn apply(&self, columns: &mut [Column], run: &RunOptions) -> Result<()> {
        self.prepare(columns)?.apply(run);
        Ok(())
    }

    /// Finds the columns to transform. No later step can fail.
    ///
    /// # Errors
    /// See [`SplatMotion::apply`].
    pub fn prepare<'c>(&self, columns: &'c mut [Column]) -> Result<MovingSplats<'c>> {
        let mut moved: [Option<&mut [f32]>; COLUMNS] = [const { None }; COLUMNS];
        for column in columns {
            let Some(place) = place_of(&column.name).filter(|&place| moved[place].is_none()) else { continue };
            match &mut column.values {
                Values::F32(values) if column.offsets.is_none() => moved[place] = Some(values.to_mut()?),
                _ => return Err(wrong(&format!("the column `{}` does not contain 32-bit floats", column.name))),
            }
        }
        if let Some(part) = (0..ROTATIONS).find(|&part| moved[part].is_none()) {
            return Err(wrong(&format!("column `rot_{part}` is missing")));
        }
        let rest = moved[ROTATIONS + SCALES..].iter().filter(|column| column.is_some()).count();
        let degree = HARMONICS.iter().position(|more| 3 * more == rest);
        let is_complete = moved[ROTATIONS + SCALES..].iter().take(rest).all(Option::is_some);
        let rest_columns = || counted(rest as u64, REST_COLUMNS);
        let degree = degree
            .filter(|_| is_complete)
            .ok_or_else(|| wrong(&format!("found {}; expected 0, 9, 24, 45 or 72", rest_columns())))?;
        Ok(MovingSplats { motion: self.clone(), pieces: pieces(moved)?, degree })
    }

    /// Transforms a range of rows of all columns. Missing columns are empty slices.
    fn piece(&self, columns: &mut [&mut [f32]], degree: usize) {
        let Some((rotations, others)) = columns.split_first_chunk_mut::<ROTATIONS>() else { return };
        let Some((scales, harmonics)) = others.split_first_chunk_mut::<SCALES>() else { return };
        if self.growth != 0.0 {
            let grown = |scale: &mut f32| *scale = (f64::from(*scale) + self.growth) as f32;
            scales.iter_mut().for_each(|scale| scale.iter_mut().for_each(grown));
        }
        match &self.turn {
            SplatTurn::Signs { rotation, harmonics: signs } => {
                // At least 1, because `chunks_mut` panics for 0, the number of harmonics of degree 0.
                let per_channel = harmonics.chunks_mut(HARMONICS[degree].max(1));
                let harmonics = per_channel.flat_map(|channel| channel.iter_mut().zip(signs));
                let columns = rotations.iter_mut().zip(rotation).chain(harmonics);
                columns.filter(|(_, sign)| **sign < 0.0).for_each(|(column, _)| negate(column));
            }
            SplatTurn::Rotation { rotation, harmonics: matrices } => {
                turn_quaternions(rotations, *rotation);
                for channel in harmonics.chunks_mut(HARMONICS[degree].max(1)) {
                    let mut channel = channel;
                    for (matrix, degree) in matrices.iter().zip(1..=degree) {
                        let Some((of_degree, others)) = channel.split_at_mut_checked(2 * degree + 1) else { break };
                        turn_harmonics(of_degree, matrix);
                        channel = others;
                    }
                }
            }
        }
    }
}

/// Splats ready to be transformed.
pub struct MovingSplats<'c> {
    motion: SplatMotion,
    pieces: Vec<Vec<&'c mut [f32]>>,
    degree: usize,
}

impl MovingSplats<'_> {
    /// Transforms the splats.
    pub fn apply(self, run: &RunOptions) {
        let MovingSplats { motion, pieces, degree } = self;
        let items = pieces.into_iter();
        for_each_item(run.worker_threads(), items, || (), |(), mut piece| motion.piece(&mut piece, degree));
    }
}

impl SplatTurn {
    /// Creates the turn from an orthogonal matrix.
    fn new(turn: &Matrix3) -> SplatTurn {
        let matrices = harmonic_matrices(turn);
        let is_diagonal = (0..9).all(|entry| entry / 3 == entry % 3 || turn[entry / 3][entry % 3] == 0.0);
        let sign = if determinant(*turn) < 0.0 { -1.0 } else { 1.0 };
        if is_diagonal {
            let mut harmonics = [1.0; HARMONICS[MAX_DEGREE]];
            let diagonals =
                matrices.iter().zip(1..).flat_map(|(matrix, degree)| (0..=2 * degree).map(|at| matrix[at][at]));
            harmonics
                .iter_mut()
                .zip(diagonals)
                .for_each(|(place, entry)| *place = if entry < 0.0 { -1.0 } else { 1.0 });
            // The axes of a splat have no direction, so its local axes can be mirrored along with space.
            let [x, y, z] = [0, 1, 2].map(|axis| (sign * turn[axis][axis]) as f32);
            return SplatTurn::Signs { rotation: [1.0, x, y, z], harmonics };
        }
        // An ellipsoid is unchanged by a reflection through its center.
        let rotation = quaternion(&turn.map(|row| row.map(|entry| sign * entry)));
        SplatTurn::Rotation { rotation, harmonics: Box::new(matrices) }
    }
}

/// Returns the index of a column among the columns that change, or `None` for other columns.
fn place_of(name: &str) -> Option<usize> {
    let number = |prefix: &str, count: usize| {
        let digits = name.strip_prefix(prefix)?;
        let number = digits.parse().ok().filter(|number| *number < count)?;
        // Rejects a leading sign and leading zeros, which `parse` accepts.
        (digits.len() == 1 || digits.starts_with(|first: char| matches!(first, '1'..='9'))).then_some(number)
    };
    let rest = || number("f_rest_", 3 * HARMONICS[MAX_DEGREE]).map(|at| ROTATIONS + SCALES + at);
    number("rot_", ROTATIONS).or_else(|| number("scale_", SCALES).map(|at| ROTATIONS + at)).or_else(rest)
}

/// Splits all columns into pieces with the same rows. Missing columns become empty slices.
fn pieces(columns: [Option<&mut [f32]>; COLUMNS]) -> Result<Vec<Vec<&mut [f32]>>> {
    let rows = columns.iter().flatten().map(|column| column.len()).min().unwrap_or(0);
    let mut left = columns.map(Option::unwrap_or_default);
    // `SplatMotion::piece` splits off the quaternions and scales even if scales are missing.
    let used = left.iter().rposition(|column| !column.is_empty()).map_or(0, |last| last + 1).max(ROTATIONS + SCALES);
    let mut pieces = Vec::new();
    for start in (0..rows).step_by(PIECE) {
        let mut piece: Vec<&mut [f32]> = Vec::new();
        piece.try_reserve_exact(used)?;
        let rows = ..PIECE.min(rows - start);
        piece.extend(left.iter_mut().take(used).map(|column| column.split_off_mut(rows).unwrap_or_default()));
        try_push(&mut pieces, piece, "splats")?;
    }
    Ok(pieces)
}

fn wrong(why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("cannot rotate or scale the Gaussian splats: {why}"))
}

fn negate(values: &mut [f32]) {
    values.iter_mut().for_each(|value| *value = -*value);
}

fn exact(value: f64) -> f64 {
    if (value - value.round()).abs() <= EXACT { value.round() } else { value }
}

/// Multiplies quaternions (w, x, y, z) by another quaternion from the left.
fn turn_quaternions(columns: &mut [&mut [f32]; ROTATIONS], [a, b, c, d]: [f64; 4]) {
    let [ws, xs, ys, zs] = columns;
    for (((w, x), y), z) in ws.iter_mut().zip(&mut **xs).zip(&mut **ys).zip(&mut **zs) {
        let [p, q, r, s] = [*w, *x, *y, *z].map(f64::from);
        *w = (a * p - b * q - c * r - d * s) as f32;
        *x = (a * q + b * p + c * s - d * r) as f32;
        *y = (a * r - b * s + c * p + d * q) as f32;
        *z = (a * s + b * r - c * q + d * p) as f32;
    }
}

/// Rotates the harmonics of one degree and channel.
fn turn_harmonics(columns: &mut [&mut [f32]], matrix: &HarmonicMatrix) {
    let rows = columns.iter().map(|column| column.len()).min().unwrap_or(0);
    let width = columns.len();
    for row in 0..rows {
        let mut old = [0.0; WIDTH];
        old.iter_mut().zip(&*columns).for_each(|(place, column)| *place = f64::from(column[row]));
        for (column, weights) in columns.iter_mut().zip(matrix) {
            column[row] = weights[..width].iter().zip(&old).map(|(weight, old)| weight * old).sum::<f64>() as f32;
        }
    }
}

/// Returns the quaternion (w, x, y, z) of a rotation, computed via its largest component, which is never near zero.
fn quaternion(rows: &Matrix3) -> [f64; 4] {
    let [[a, b, c], [d, e, f], [g, h, i]] = *rows;
    let traces = [a + e + i, a - e - i, e - a - i, i - a - e];
    let largest = (0..4).fold(0, |best, at| if traces[at] > traces[best] { at } else { best });
    let largest_part = 1.0 + traces[largest];
    let parts = match largest {
        0 => [largest_part, h - f, c - g, d - b],
        1 => [h - f, largest_part, b + d, c + g],
        2 => [c - g, b + d, largest_part, f + h],
        _ => [d - b, c + g, f + h, largest_part],
    };
    let length = parts.iter().map(|part| part * part).sum::<f64>().sqrt();
    parts.map(|part| part / length)
}

/// Returns the matrices for harmonics of degrees 1 and up.
fn harmonic_matrices(turn: &Matrix3) -> [HarmonicMatrix; MAX_DEGREE] {
    // Orders -1, 0 and 1 are y, z and x.
    const AXES: [usize; 3] = [1, 2, 0];
    let mut matrices = [[[0.0; WIDTH]; WIDTH]; MAX_DEGREE];
    for (row, axis) in AXES.into_iter().enumerate() {
        for (column, other) in AXES.into_iter().enumerate() {
            matrices[0][row][column] = turn[axis][other];
        }
    }
    for degree in 2..=MAX_DEGREE {
        let (before, from) = matrices.split_at_mut(degree - 1);
        let step = HarmonicStep { degree: degree as i32, first: &before[0], before: &before[degree - 2] };
        for (row, entries) in from[0].iter_mut().enumerate().take(2 * degree + 1) {
            for (column, entry) in entries.iter_mut().enumerate().take(2 * degree + 1) {
                *entry = step.entry(row as i32 - degree as i32, column as i32 - degree as i32);
            }
        }
    }
    for (matrix, degree) in matrices.iter_mut().zip(1..) {
        for (place, entry) in matrix.as_flattened_mut().iter_mut().enumerate() {
            // The Condon-Shortley phase flips entries between odd and even orders, which are the entries whose row and
            // column differ by an odd number.
            let is_odd = (place / WIDTH + place % WIDTH) % 2 == 1;
            *entry = exact(if is_odd && place / WIDTH <= 2 * degree { -*entry } else { *entry });
        }
    }
    matrices
}

/// State for computing the matrix of one degree.
struct HarmonicStep<'m> {
    degree: i32,
    first: &'m HarmonicMatrix,
    before: &'m HarmonicMatrix,
}

impl HarmonicStep<'_> {
    /// Returns the entry of orders `m` and `n`: `u U + v V + w W` in the paper, with the factors of table 1.
    fn entry(&self, m: i32, n: i32) -> f64 {
        let l = self.degree;
        let below = if n.abs() < l { (l + n) * (l - n) } else { 2 * l * (2 * l - 1) };
        let root = |above: i32| (f64::from(above) / f64::from(below)).sqrt();
        let size = m.abs();
        let is_zero = m == 0;
        let u = root((l + m) * (l - m));
        let v = 0.5 * root((1 + i32::from(is_zero)) * (l + size - 1) * (l + size)) * if is_zero { -1.0 } else { 1.0 };
        let w = if is_zero { 0.0 } else { -0.5 * root((l - size - 1) * (l - size)) };
        // Terms with a factor of zero refer to orders that do not exist.
        let term = |factor: f64, value: &dyn Fn() -> f64| if factor == 0.0 { 0.0 } else { factor * value() };
        term(u, &|| self.product(0, m, n)) + term(v, &|| self.v(m, n)) + term(w, &|| self.w(m, n))
    }

    /// V of table 2.
    fn v(&self, m: i32, n: i32) -> f64 {
        let factor = |is_one: bool| if is_one { std::f64::consts::SQRT_2 } else { 1.0 };
        match m {
            0 => self.product(1, 1, n) + self.product(-1, -1, n),
            1 => factor(true) * self.product(1, 0, n),
            -1 => factor(true) * self.product(-1, 0, n),
            _ if m > 0 => self.product(1, m - 1, n) - self.product(-1, 1 - m, n),
            _ => self.product(1, m + 1, n) + self.product(-1, -m - 1, n),
        }
    }

    /// W of table 2.
    fn w(&self, m: i32, n: i32) -> f64 {
        if m > 0 {
            self.product(1, m + 1, n) + self.product(-1, -m - 1, n)
        } else {
            self.product(1, m - 1, n) - self.product(-1, 1 - m, n)
        }
    }

    /// P of table 2: products of entries of the first degree and entries of the previous degree.
    fn product(&self, i: i32, m: i32, n: i32) -> f64 {
        let l = self.degree;
        let at = |matrix: &HarmonicMatrix, degree: i32, row: i32, column: i32| {
            matrix[(row + degree) as usize][(column + degree) as usize]
        };
        let first = |column: i32| at(self.first, 1, i, column);
        let before = |column: i32| at(self.before, l - 1, m, column);
        if n == l {
            first(1) * before(l - 1) - first(-1) * before(1 - l)
        } else if n == -l {
            first(1) * before(1 - l) + first(-1) * before(l - 1)
        } else {
            first(0) * before(n)
        }
    }
}

#[cfg(test)]
#[path = "splat_motion_tests.rs"]
mod tests;
