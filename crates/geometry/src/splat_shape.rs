//! Completes and checks splats for splat formats, which store all columns as finite 32-bit floats.
//!
//! 2D Gaussian splats lack `scale_2`, some programs write doubles, and tables store columns of whole numbers as
//! integers. [`polyhaul_model::splats`] describes the columns. Each rule follows from how other tools treat such files.

use crate::splat_motion::has_splats;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, try_push, try_string};
use polyhaul_model::limits::OnError;
use polyhaul_model::splats::{self, COLUMNS, FLAT_SCALE, Splats};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Column, Mesh, Scene, Values, copy, with_values};
use polyhaul_pipeline::arrays::{PIECE, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_spill::paced;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Largest logarithm of a scale that is finite as a 32-bit float.
const MAX_LOG: f32 = 88.72;

/// A splat with a value that splat formats cannot store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenSplat {
    /// Index of the splat in its mesh.
    pub splat: usize,
    /// Name of the first column with such a value.
    pub column: String,
}

/// Valid values of a splat column.
#[derive(Clone, Copy)]
enum SplatRule {
    /// Finite values.
    Finite,
    /// All values except NaN: infinite logits are opacities of 0 and 1.
    NotNan,
    /// Logarithms of finite scales: a scale of 0 has an infinite logarithm.
    Logarithm,
}

impl SplatRule {
    fn allows(self, value: f32) -> bool {
        match self {
            SplatRule::Finite => value.is_finite(),
            SplatRule::NotNan => !value.is_nan(),
            // Also false for NaN.
            SplatRule::Logarithm => value <= MAX_LOG,
        }
    }

    fn allows_all(self, values: &[f32]) -> bool {
        match self {
            SplatRule::Finite => are_fine(values, f32::is_finite),
            SplatRule::NotNan => are_fine(values, |value| !value.is_nan()),
            SplatRule::Logarithm => are_fine(values, |value| value <= MAX_LOG),
        }
    }
}

/// Returns whether all values are valid. Does not stop early, so that the loop is vectorized.
fn are_fine(values: &[f32], is_fine: impl Fn(f32) -> bool) -> bool {
    values.iter().fold(true, |are_fine, &value| are_fine & is_fine(value))
}

/// Adds the third scale of 2D Gaussian splats and rounds doubles and integers to 32-bit floats. Warnings count both
/// changes.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for harmonics that do not match a degree; [`ErrorKind::Memory`].
pub fn complete<'a>(scene: Cow<'a, Scene>, file: &str, warnings: &mut Warnings) -> Result<Cow<'a, Scene>> {
    for mesh in paced(&scene.meshes).filter(|mesh| has_splats(mesh)) {
        if let Some(fault) = splats::harmonics_fault(&mesh.vertex_columns) {
            let message = format!("the spherical harmonics of the Gaussian splats are incomplete: {fault}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    if !paced(&scene.meshes).any(is_unusual) {
        return Ok(scene);
    }
    let mut scene = match scene {
        Cow::Owned(scene) => scene,
        Cow::Borrowed(scene) => Scene { materials: scene.materials.clone(), ..copy::scene(scene)? },
    };
    let place = Place { file: file.into(), ..Place::default() };
    for mesh in paced(&mut scene.meshes).filter(|mesh| is_unusual(mesh)) {
        let rounded = round_columns(&mut mesh.vertex_columns)?;
        let what = counted(rounded, ["splat value was", "splat values were"]);
        let message = format!("{what} rounded to 32-bit floats");
        let diagnostic = Diagnostic { place: place.clone(), ..Diagnostic::new(message) };
        warnings.push_many("changed-numbers", rounded, diagnostic);
        let flat = if has_column(mesh, "scale_2") { 0 } else { thicken(mesh)? };
        let what = counted(flat, ["flat splat (2D Gaussian, without", "flat splats (2D Gaussians, without"]);
        let message = format!("{what} `scale_2`) got a thickness of 0.000001");
        warnings.push_many("flat-splats", flat, Diagnostic { place: place.clone(), ..Diagnostic::new(message) });
    }
    Ok(Cow::Owned(scene))
}

fn has_column(mesh: &Mesh, name: &str) -> bool {
    mesh.vertex_columns.iter().any(|column| column.name == name)
}

/// Returns whether the splats of a mesh lack `scale_2` or have columns that are not 32-bit floats.
fn is_unusual(mesh: &Mesh) -> bool {
    let has_others = || mesh.vertex_columns.iter().any(is_other);
    has_splats(mesh) && (!has_column(mesh, "scale_2") || has_others())
}

/// Returns whether a splat column holds numbers other than 32-bit floats.
fn is_other(column: &Column) -> bool {
    let is_of_splats = COLUMNS.contains(&&*column.name) || column.name.starts_with("f_rest_");
    is_of_splats && column.offsets.is_none() && !matches!(column.values, Values::F32(_))
}

/// Converts splat columns of other types to 32-bit floats. Returns the number of values that changed.
#[expect(clippy::unnecessary_cast, reason = "the macro has the code for all types")]
fn round_columns(columns: &mut [Column]) -> Result<u64> {
    let mut rounded = 0;
    for column in columns.iter_mut().filter(|column| is_other(column)) {
        let mut singles: Vec<f32> = zeroed(column.values.len(), "splats")?;
        with_values!(&column.values, numbers => {
            for (single, number) in singles.iter_mut().zip(numbers.iter()) {
                *single = *number as f32;
                let wide = *number as f64;
                // Above 2^53, `wide` is a rounded integer, too. Integers of 128 bits are slow.
                let is_near = wide.abs() < (1_u64 << 53) as f64 || *single as i128 == *number as i128;
                let is_same = f64::from(*single) == wide && is_near;
                rounded += u64::from(!is_same && !wide.is_nan());
            }
        });
        column.values = Values::F32(singles.into());
    }
    Ok(rounded)
}

/// Adds `scale_2` after `scale_1`. Returns the number of splats.
fn thicken(mesh: &mut Mesh) -> Result<u64> {
    let count = mesh.positions.len();
    let mut scales: Vec<f32> = zeroed(count, "splats")?;
    scales.fill(FLAT_SCALE);
    let column = Column { name: try_string("scale_2")?, values: Values::F32(scales.into()), offsets: None };
    let before = mesh.vertex_columns.iter().position(|column| column.name == "scale_1");
    try_push(&mut mesh.vertex_columns, column, "columns")?;
    mesh.vertex_columns[before.map_or(0, |before| before + 1)..].rotate_right(1);
    Ok(count as u64)
}

/// Returns the splat columns except positions, with their rules.
fn columns<'s>(splats: &Splats<'s>) -> Vec<(String, &'s [f32], SplatRule)> {
    let mut columns = vec![("opacity".to_owned(), splats.opacities, SplatRule::NotNan)];
    let scales = splats.scales.iter().enumerate();
    columns.extend(scales.map(|(axis, values)| (format!("scale_{axis}"), *values, SplatRule::Logarithm)));
    let rotations = splats.rotations.iter().enumerate();
    columns.extend(rotations.map(|(part, values)| (format!("rot_{part}"), *values, SplatRule::Finite)));
    for (channel, harmonics) in splats.harmonics.iter().enumerate() {
        for (number, values) in harmonics.iter().enumerate() {
            let name = match number {
                0 => format!("f_dc_{channel}"),
                number => splats::rest_name(channel * (harmonics.len() - 1) + number - 1),
            };
            columns.push((name, *values, SplatRule::Finite));
        }
    }
    columns
}

/// Returns whether splat formats can store all values of `splats`. Single-threaded.
pub fn are_finite(splats: &Splats<'_>) -> bool {
    let Splats { positions, opacities, scales, rotations, harmonics } = splats;
    SplatRule::Finite.allows_all(positions.as_flattened())
        && SplatRule::NotNan.allows_all(opacities)
        && scales.iter().all(|values| SplatRule::Logarithm.allows_all(values))
        && rotations.iter().chain(harmonics.iter().flatten()).all(|values| SplatRule::Finite.allows_all(values))
}

/// Returns the splats of a mesh that splat formats cannot store, in order, checking harmonics up to `degree`.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub fn broken(mesh: &Mesh, degree: usize, run: &RunOptions) -> Result<Vec<BrokenSplat>> {
    let Some(splats) = Splats::from_mesh(mesh) else { return Ok(Vec::new()) };
    let full_degree = splats.degree();
    let splats = splats.up_to_degree(degree);
    let columns = columns(&splats);
    let places: Mutex<Vec<[usize; 2]>> = Mutex::new(Vec::new());
    let note = |splat: usize, column: usize| {
        // If memory runs out, the splats found so far are reported.
        let _kept = try_push(&mut places.lock().unwrap_or_else(PoisonError::into_inner), [splat, column], "splats");
    };
    let starts = (0..splats.len()).step_by(PIECE);
    let look = |(): &mut (), start: usize| {
        let range: Range<usize> = start..splats.len().min(start + PIECE);
        let positions = &splats.positions[range.clone()];
        if !SplatRule::Finite.allows_all(positions.as_flattened()) {
            for (at, position) in positions.iter().enumerate() {
                let axis = position.iter().position(|value| !value.is_finite());
                axis.into_iter().for_each(|axis| note(start + at, axis));
            }
        }
        for (number, (_, values, rule)) in columns.iter().enumerate() {
            let values = &values[range.clone()];
            if !rule.allows_all(values) {
                let bad = values.iter().enumerate().filter(|(_, value)| !rule.allows(**value));
                bad.for_each(|(at, _)| note(start + at, 3 + number));
            }
        }
    };
    for_each_item(run.worker_threads(), starts, || (), look);
    let mut places = places.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Threads add their findings in any order. Of the faults of a splat, the one in the first column stays.
    places.sort_unstable();
    places.dedup_by_key(|[splat, _]| *splat);
    let name = |column: usize| match column.checked_sub(3) {
        None => ["x", "y", "z"][column].to_owned(),
        Some(number) => full_name(&columns[number].0, splats.degree(), full_degree),
    };
    let broken = places.into_iter().map(|[splat, column]| BrokenSplat { splat, column: name(column) });
    Ok(broken.collect())
}

/// Returns the name that a harmonics column has in a mesh of a higher degree.
fn full_name(name: &str, degree: usize, full_degree: usize) -> String {
    let [few, many] = [degree, full_degree].map(|degree| splats::HARMONICS[degree]);
    // `few` cannot be 0 for a name with this prefix: degree 0 has no such columns.
    let number = name.strip_prefix("f_rest_").and_then(|number| number.parse::<usize>().ok());
    number.map_or_else(|| name.to_owned(), |number| splats::rest_name(number / few * many + number % few))
}

/// Returns an error or adds a warning about skipped splats, depending on `on_error`. `count` is the number of skipped
/// splats, and `first` is the first of them.
///
/// # Errors
/// [`ErrorKind::Unsupported`] with [`OnError::Raise`].
pub fn note_broken(
    first: &BrokenSplat,
    count: u64,
    on_error: OnError,
    file: &str,
    warnings: &mut Warnings,
) -> Result<()> {
    let BrokenSplat { splat, column } = first;
    if on_error == OnError::Raise {
        let message = format!("cannot store splat {splat}: its `{column}` is not finite or too large");
        let error = Error::new(ErrorKind::Unsupported, message);
        return Err(error.with_hint("`--on-error warn` skips such splats"));
    }
    let what = counted(count, ["splat was", "splats were"]);
    let message =
        format!("{what} dropped because a value is not finite or too large: first `{column}` of splat {splat}");
    let place = Place { file: file.into(), ..Place::default() };
    warnings.push_many("broken-splats", count, Diagnostic { place, ..Diagnostic::new(message) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rounded_numbers_are_counted() {
        let column = |values: Values| Column { name: "opacity".into(), values, offsets: None };
        let rounded = |values: Values| round_columns(&mut [column(values)]).unwrap();
        assert_eq!(rounded(Values::I64(vec![0, -7, 1 << 40, (1 << 53) + 1, i64::MAX, i64::MIN].into())), 2);
        assert_eq!(rounded(Values::U64(vec![3, (1 << 60) + 1, u64::MAX].into())), 2);
        assert_eq!(rounded(Values::F64(vec![0.5, 0.1, 1e300, f64::NAN, f64::INFINITY, -1e30].into())), 3);
    }
}
