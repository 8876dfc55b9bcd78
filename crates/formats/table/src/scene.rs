//! Converts a table, whose columns may be unnamed, to the points of a scene. `points` converts in the opposite
//! direction.
//!
//! Positions are the columns `x`, `y`, `z`, normals are `nx`, `ny`, `nz`, and colors are `red`, `green`, `blue` and
//! optionally `alpha` (also `r`, `g`, `b`, `a`), in any case. Columns without names are interpreted by order. The first
//! three columns are a position. The next column is an intensity if the number of columns after it is a multiple of
//! three. Of the next two groups of three columns, the first whose values are all non-negative integers is a color, and
//! the first of the others is a normal. The writer of this crate never writes normals as integers, so its files are
//! read back unchanged. Integer colors are from 0 to 255, float colors from 0 to 1.

use super::TableFormat;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Array, Axes, Bounds, Column, Domain, Mesh, Precision, Scene, Table, Values};
use polyhaul_pipeline::arrays::{Zero, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::for_each_item;
use polyhaul_pipeline::precision::{PrecisionPass, PrecisionWatch};
use polyhaul_text::parse::fields::MAX_EXACT;
use polyhaul_text::parse::positions::DigitLoss;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) const POSITION: [&str; 3] = ["x", "y", "z"];
pub(super) const NORMAL: [&str; 3] = ["nx", "ny", "nz"];
pub(super) const COLOR: [&str; 4] = ["red", "green", "blue", "alpha"];
const COLOR_SHORT: [&str; 4] = ["r", "g", "b", "a"];
/// Number of rows per parallel step.
const PIECE: usize = 1 << 15;

/// Returns the names of a file's columns, from its header or, in a point format, by their order.
pub(super) fn names_of(format: TableFormat, mut names: Vec<String>, values: &[Values]) -> Vec<String> {
    let is_unnamed = names.iter().all(String::is_empty);
    if matches!(format, TableFormat::Xyz | TableFormat::Pts) && is_unnamed {
        for (name, guess) in names.iter_mut().zip(guess(&natural(values.iter()))) {
            *name = guess.into();
        }
    }
    names
}

/// Whether a column with this name is a coordinate of positions or normals.
pub(super) fn is_coordinate(name: &str) -> bool {
    POSITION.iter().chain(&NORMAL).any(|coordinate| coordinate.eq_ignore_ascii_case(name))
}

fn is_integer(values: &Values) -> bool {
    !matches!(values, Values::F32(_) | Values::F64(_))
}

/// Whether all values are non-negative integers, like colors.
fn is_natural(values: &Values) -> bool {
    match values {
        Values::U8(_) | Values::U16(_) | Values::U32(_) | Values::U64(_) => true,
        Values::I8(values) => values.iter().all(|&value| value >= 0),
        Values::I16(values) => values.iter().all(|&value| value >= 0),
        Values::I32(values) => values.iter().all(|&value| value >= 0),
        Values::I64(values) => values.iter().all(|&value| value >= 0),
        Values::F32(_) | Values::F64(_) => false,
    }
}

/// Guesses the names of unnamed columns. `natural` tells for each column whether it may be a color, because all of its
/// values are non-negative integers.
fn guess(natural: &[bool]) -> impl Iterator<Item = &'static str> {
    let rest = natural.get(3..).unwrap_or_default();
    let (intensity, rest) = rest.split_at(usize::from(rest.len() % 3 == 1));
    let mut color = Some(&COLOR[..3]);
    let mut normal = Some(&NORMAL[..]);
    let groups = rest.chunks_exact(3).map(move |group| {
        let color = if group.iter().all(|is_natural| *is_natural) { color.take() } else { None };
        color.or_else(|| normal.take()).unwrap_or(&["", "", ""])
    });
    let groups: Vec<_> = groups.take(2).collect();
    let first = POSITION.into_iter().take(natural.len());
    first.chain(intensity.iter().map(|_| "intensity")).chain(groups.into_iter().flatten().copied())
}

/// Returns for each column whether it may be a color. The first three columns never are.
fn natural<'a>(values: impl Iterator<Item = &'a Values>) -> Vec<bool> {
    values.enumerate().map(|(place, values)| place >= 3 && is_natural(values)).collect()
}

/// Names columns by their order if none of them has a name.
pub fn name_points(columns: &mut [Column]) {
    if !columns.iter().all(|column| column.name.is_empty()) {
        return;
    }
    let names: Vec<_> = guess(&natural(columns.iter().map(|column| &column.values))).collect();
    for (number, column) in columns.iter_mut().enumerate() {
        column.name = names.get(number).copied().unwrap_or_default().into();
    }
}

/// Returns the number of columns whose name is lost or changed when they are read from a point file without names.
pub fn unrestored_names(columns: &[Column]) -> u64 {
    let is_normal = |column: &Column| NORMAL.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
    let mut natural = natural(columns.iter().map(|column| &column.values));
    for (natural, _) in natural.iter_mut().zip(columns).filter(|(_, column)| is_normal(column)) {
        // Normals are written with a decimal point, so they are never read as colors.
        *natural = false;
    }
    let long_name = |name: &str| {
        let names = COLOR_SHORT.iter().zip(COLOR).find(|(short, _)| short.eq_ignore_ascii_case(name));
        names.map(|(_, long)| long)
    };
    let guessed = guess(&natural).chain(std::iter::repeat(""));
    let is_lost = |(column, guess): &(&Column, &str)| {
        // PLY files may name colors `diffuse_red` and so on.
        let name = column.name.strip_prefix("diffuse_").unwrap_or(&column.name);
        !column.name.is_empty() && !name.eq_ignore_ascii_case(guess) && long_name(name) != Some(*guess)
    };
    columns.iter().zip(guessed).filter(is_lost).count() as u64
}

/// Requirements for positions, and the destination of warnings.
pub struct PointTarget<'a> {
    /// Requested precision.
    pub pass: PrecisionPass,
    /// Whether the numbers were binary instead of text.
    pub is_binary: bool,
    /// File name, for messages.
    pub file: &'a Arc<str>,
    /// Which losses are errors or warnings.
    pub faults: FaultPolicy,
    /// Destination of warnings.
    pub warnings: &'a mut Warnings,
}

/// Positions in single precision, and in double precision if needed.
struct TablePositions {
    singles: Array<[f32; 3]>,
    exact: Array<[f64; 3]>,
}

/// Converts a table to the points of a scene. Columns other than positions, colors and normals remain columns.
pub fn scene_of_table(mut table: Table, target: &mut PointTarget<'_>, run: &RunOptions) -> Result<Scene> {
    let mut columns = Vec::new();
    columns.try_reserve_exact(table.columns.len())?;
    columns.append(&mut table.columns);
    name_points(&mut columns);
    if columns.is_empty() && table.row_count == 0 {
        // The columns of a text without rows are unknown.
        return Ok(Scene { meshes: vec![Mesh::default()], axes: Axes::OBJ, ..Scene::default() });
    }
    let mut points = TablePoints { columns, row_count: table.row_count, run };
    points.widen(target)?;
    let Some(TablePositions { singles, exact }) = points.positions(target)? else {
        let message = "cannot read this table as points: it has no columns x, y and z";
        let place = Place { file: target.file.clone(), ..Place::default() };
        let error = Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed);
        return Err(error.with_hint("read it as a table, or convert it to a table format"));
    };
    let normals = points.take(NORMAL, |value| value as f32)?;
    let colors = points.colors()?;
    let mut mesh =
        Mesh { positions: singles, exact_positions: exact, vertex_columns: points.columns, ..Mesh::default() };
    if let Some(normals) = normals {
        mesh.normals = normals;
        mesh.normal_domain = Domain::Vertex;
    }
    mesh.colors = colors.unwrap_or_default();
    let meshes = vec![mesh];
    Ok(Scene { meshes, axes: Axes::OBJ, ..Scene::default() })
}

/// Columns of points.
struct TablePoints<'o> {
    columns: Vec<Column>,
    row_count: usize,
    run: &'o RunOptions,
}

impl TablePoints<'_> {
    fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name) && column.offsets.is_none())
    }

    /// Converts positions with integers that 32-bit floats may not represent to doubles, whose precision is then judged
    /// like that of any doubles. Warns about integers that doubles round.
    fn widen(&mut self, target: &mut PointTarget<'_>) -> Result<()> {
        // 128 bits, because the maximum would come back from the double above it.
        let is_rounded = |value: u64| value > MAX_EXACT && value as f64 as u128 != u128::from(value);
        let mut rounded = 0;
        for number in POSITION.into_iter().filter_map(|name| self.find(name)).collect::<Vec<_>>() {
            let values = &mut self.columns[number].values;
            rounded += match values {
                Values::I32(_) | Values::U32(_) => 0,
                Values::I64(integers) => integers.iter().filter(|value| is_rounded(value.unsigned_abs())).count(),
                Values::U64(integers) => integers.iter().filter(|&&value| is_rounded(value)).count(),
                _ => continue,
            };
            let mut doubles: Vec<f64> = zeroed(self.row_count, "points")?;
            spread(doubles.as_chunks_mut::<1>().0, 0, values, 0, &|value: f64| value);
            *values = Values::F64(doubles.into());
        }
        let count = rounded as u64;
        let message = format!("{} rounded to 64-bit floats", counted(count, ["coordinate was", "coordinates were"]));
        let place = Place { file: target.file.clone(), ..Place::default() };
        target.warnings.rounded(target.faults, true, count, Diagnostic { place, ..Diagnostic::new(message) })
    }

    /// Removes the columns of positions, and combines them into one array of 32-bit floats and, if needed, one array of
    /// doubles. Returns `None` if a column is missing.
    fn positions(&mut self, target: &mut PointTarget<'_>) -> Result<Option<TablePositions>> {
        let is_exact = self.are_exact(target)?;
        let exact = if is_exact { self.gather(POSITION, |value| value)? } else { None };
        let singles = self.take(POSITION, |value| value as f32)?;
        Ok(singles.map(|singles| TablePositions { singles, exact: exact.unwrap_or_default() }))
    }

    /// Whether to keep positions in double precision. Warns if they need it but single precision is requested.
    fn are_exact(&self, target: &mut PointTarget<'_>) -> Result<bool> {
        let is_binary = target.is_binary;
        let mut loss = target.pass.loss();
        let mut bounds = Bounds { min: [0.0f64; 3], max: [0.0f64; 3] };
        for (axis, name) in POSITION.into_iter().enumerate() {
            let Some(Values::F64(values)) = self.find(name).map(|number| &self.columns[number].values) else {
                continue;
            };
            let total = Mutex::new(FoundLoss::new(loss));
            let work = |(): &mut (), piece: &[f64]| {
                let piece = double_loss(piece, FoundLoss::new(target.pass.loss()), is_binary);
                total.lock().unwrap_or_else(PoisonError::into_inner).extend(piece);
            };
            for_each_item(self.run.worker_threads(), values.chunks(PIECE), || (), work);
            let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
            loss = total.loss;
            // If there are no finite numbers, there are no bounds.
            if total.min <= total.max {
                bounds.min[axis] = total.min;
                bounds.max[axis] = total.max;
            }
        }
        let precision = target.pass.precision;
        if precision == Precision::Auto && is_binary && loss.long > 0 {
            return Ok(true);
        }
        // All values are in memory, so nothing has to be read again.
        let pass = PrecisionPass { is_second: precision == Precision::Auto, ..target.pass };
        let single = Bounds { min: bounds.min.map(|value| value as f32), max: bounds.max.map(|value| value as f32) };
        PrecisionWatch::of(loss).finish(pass, Some(single), target.faults, target.file, target.warnings)
    }

    /// Removes columns and combines them into one array. Returns `None` if any column is missing.
    fn take<const N: usize>(
        &mut self,
        names: [&str; N],
        convert: impl Fn(f64) -> f32 + Sync,
    ) -> Result<Option<Array<[f32; N]>>> {
        if names.iter().any(|name| self.find(name).is_none()) {
            return Ok(None);
        }
        let rows = self.gather(names, convert)?;
        for name in names {
            // Searched again for each name, because removing a column moves the columns after it.
            if let Some(number) = self.find(name) {
                self.columns.remove(number);
            }
        }
        Ok(rows)
    }

    /// Copies columns into one array. Returns `None` if any column is missing.
    fn gather<T: Zero + Send + Sync, const N: usize>(
        &self,
        names: [&str; N],
        convert: impl Fn(f64) -> T + Sync,
    ) -> Result<Option<Array<[T; N]>>> {
        if names.iter().any(|name| self.find(name).is_none()) {
            return Ok(None);
        }
        let mut rows: Vec<[T; N]> = zeroed(self.row_count, "points")?;
        for (place, name) in names.iter().enumerate() {
            let Some(number) = self.find(name) else { continue };
            let column = &self.columns[number];
            let pieces = rows.chunks_mut(PIECE).enumerate();
            for_each_item(
                self.run.worker_threads(),
                pieces,
                || (),
                |(), (piece, rows)| {
                    spread(rows, place, &column.values, piece * PIECE, &convert);
                },
            );
        }
        Ok(Some(rows.into()))
    }

    fn colors(&mut self) -> Result<Option<Array<[f32; 4]>>> {
        for names in [COLOR, COLOR_SHORT] {
            // A 1 may be the largest float or the smallest byte above 0, so the values are from 0 to 255 only if all of
            // these columns have integers.
            let mut columns = names.iter().filter_map(|name| self.find(name));
            let factor = if columns.all(|column| is_integer(&self.columns[column].values)) { 255.0 } else { 1.0 };
            let unit = move |value: f64| (value / factor) as f32;
            if let Some(colors) = self.take(names, unit)? {
                return Ok(Some(colors));
            }
            let [red, green, blue, _] = names;
            if let Some(colors) = self.take([red, green, blue], unit)? {
                let mut whole: Vec<[f32; 4]> = Vec::new();
                whole.try_reserve_exact(colors.len()).map_err(|_| Error::memory("colors"))?;
                whole.extend(colors.iter().map(|&[red, green, blue]| [red, green, blue, 1.0]));
                return Ok(Some(whole.into()));
            }
        }
        Ok(None)
    }
}

/// The precision that doubles lose as 32-bit floats, and the minimum and maximum of the doubles.
struct FoundLoss {
    loss: DigitLoss,
    min: f64,
    max: f64,
}

impl FoundLoss {
    fn new(loss: DigitLoss) -> FoundLoss {
        FoundLoss { loss, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    fn extend(&mut self, other: FoundLoss) {
        self.loss.extend(other.loss);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// Adds the precision that doubles lose as 32-bit floats. Binary numbers have no decimal digits, so every double that a
/// 32-bit float cannot represent counts.
fn double_loss(values: &[f64], mut sum: FoundLoss, is_binary: bool) -> FoundLoss {
    let mut places = 0;
    for &value in values {
        let error = (value - f64::from(value as f32)).abs();
        if value.is_finite() {
            sum.min = sum.min.min(value);
            sum.max = sum.max.max(value);
        }
        if is_binary {
            sum.loss.long += u64::from(error > 0.0);
        // One number that loses digits decides, unless all of them are counted for a warning.
        } else if sum.loss.short == 0 || sum.loss.counts_all {
            sum.loss.add_moved(value, error, &mut places);
        }
    }
    sum
}

/// Copies the values of a column, starting at `first`, into component `place` of each row.
fn spread<T: Copy, const N: usize>(
    rows: &mut [[T; N]],
    place: usize,
    values: &Values,
    first: usize,
    convert: &impl Fn(f64) -> T,
) {
    match values {
        Values::I8(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::U8(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::I16(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::U16(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::I32(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::U32(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::I64(values) => fill(rows, place, &values[first..], |value| convert(value as f64)),
        Values::U64(values) => fill(rows, place, &values[first..], |value| convert(value as f64)),
        Values::F32(values) => fill(rows, place, &values[first..], |value| convert(f64::from(value))),
        Values::F64(values) => fill(rows, place, &values[first..], convert),
    }
}

fn fill<T: Copy, const N: usize, V: Copy>(rows: &mut [[T; N]], place: usize, values: &[V], convert: impl Fn(V) -> T) {
    for (row, &value) in rows.iter_mut().zip(values) {
        row[place] = convert(value);
    }
}
