//! Adapts tables to another format: selects one of several, reorders the columns of points, and makes names valid in
//! PLY.
//!
//! Moves columns instead of copying them. Numbers keep their type, except for colors, which become bytes in PLY and
//! point files, as other programs expect. Warns about everything that is dropped.

use crate::format::Format;
use crate::loaded::Tables;
use crate::select::{names_of, select};
use crate::table_job::table_of;
use polyhaul_geometry::losses::{LeftOut, note_dropped, note_left_out};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, try_push};
use polyhaul_model::names::{self, VERTEX};
use polyhaul_model::options::TableReadOptions;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Array, Column, Table, Values};
use polyhaul_table::{self as table, TableFormat};
use std::collections::HashSet;

/// Column names of colors, without alpha.
const COLORS: [[&str; 3]; 3] =
    [["red", "green", "blue"], ["r", "g", "b"], ["diffuse_red", "diffuse_green", "diffuse_blue"]];
/// Property names that must be lowercase in PLY.
pub(crate) const KNOWN: [&str; 15] =
    ["x", "y", "z", "nx", "ny", "nz", "red", "green", "blue", "alpha", "r", "g", "b", "a", "intensity"];

/// Whether a format stores points in a column order that depends on the values.
pub(crate) fn is_of_points(format: Format) -> bool {
    matches!(table_of(format), Some(TableFormat::Xyz | TableFormat::Pts))
}

/// Adapts tables to the format `to`; `name` is the output's name, for warnings.
pub(crate) fn fit(
    mut tables: Tables,
    from: Format,
    to: Format,
    options: &TableReadOptions,
    name: &str,
    warnings: &mut Warnings,
) -> Result<Tables> {
    let is_chosen = options.columns.is_some();
    if from.has_elements() {
        if !to.has_elements() {
            pick_element(&mut tables, options, to, name, warnings)?;
        }
        select(&mut tables, options)?;
    }
    let [table] = &mut tables.tables[..] else { return Ok(tables) };
    match table_of(to) {
        None if !from.has_elements() => name_for_ply(table, name, warnings)?,
        Some(TableFormat::Xyz | TableFormat::Pts) if !is_chosen => arrange(table, to, name, warnings)?,
        _ => {}
    }
    if !to.has_elements() {
        check_lists(table)?;
        // Remarks become comments in formats without remarks.
        for info in std::mem::take(&mut tables.infos) {
            try_push(&mut tables.comments, info, "comments")?;
        }
    }
    Ok(tables)
}

/// Keeps one element: the requested element, the only element, or the vertices.
fn pick_element(
    tables: &mut Tables,
    options: &TableReadOptions,
    to: Format,
    name: &str,
    warnings: &mut Warnings,
) -> Result<()> {
    if options.element.is_none() && tables.tables.len() > 1 {
        let Some(place) = tables.tables.iter().position(|table| table.name == VERTEX) else {
            let message = format!("found {} elements, but {} stores one table", tables.tables.len(), to.name());
            let hint = format!("choose one with `--element`: {}", names_of(&tables.tables));
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
        };
        let others = || tables.tables.iter().filter(|table| table.name != VERTEX && table.row_count > 0);
        let rows = |name: &str| others().filter(|table| table.name == name).map(|table| table.row_count as u64).sum();
        let faces: u64 = rows("face");
        let edges: u64 = rows("edge");
        let kinds = [("left-out-faces", ["face", "faces"], faces), ("left-out-lines", ["edge", "edges"], edges)];
        note_left_out(&to.title(), kinds, name, warnings);
        let others = others().map(|table| table.name.as_str()).filter(|name| !["face", "edge"].contains(name));
        let nouns = ["element besides `vertex`", "elements besides `vertex`"];
        let reason = format!(", because {} stores one table", to.title());
        note_dropped(&reason, [LeftOut::named("left-out-tables", nouns, others)], name, warnings);
        let table = tables.tables.swap_remove(place);
        tables.tables.clear();
        tables.tables.push(table);
    }
    Ok(())
}

fn check_lists(table: &Table) -> Result<()> {
    let Some(column) = table.columns.iter().find(|column| column.offsets.is_some()) else { return Ok(()) };
    let message = format!(
        "the column `{}` of `{}` contains lists, which a table of numbers cannot store",
        column.name, table.name
    );
    Err(Error::new(ErrorKind::Usage, message)
        .with_hint("choose other columns with `--columns`, or another element with `--element`"))
}

/// Reorders the columns of points to the convention of files without names: x, y, z, intensity, color, normal. Drops
/// other columns.
fn arrange(table: &mut Table, to: Format, name: &str, warnings: &mut Warnings) -> Result<()> {
    if table.columns.iter().all(|column| column.name.is_empty()) {
        return Ok(());
    }
    let positions = find(table, ["x", "y", "z"]).ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, format!("{} needs the columns x, y and z", to.name()));
        error.with_hint("choose the columns with `--columns`, in the order of the file, or write csv")
    })?;
    let colors = COLORS.iter().find_map(|names| find(table, *names)).filter(|colors| can_be_colors(table, colors));
    let normals = find(table, ["nx", "ny", "nz"]).filter(|_| table_of(to) == Some(TableFormat::Xyz));
    let intensity = find(table, ["intensity"]).into_iter().flatten();
    let order = positions.into_iter().chain(intensity).chain(colors.into_iter().flatten());
    let mut columns = Vec::new();
    let mut changed = 0;
    let mut outside = 0;
    for place in order.chain(normals.into_iter().flatten()) {
        let mut column = std::mem::take(&mut table.columns[place]);
        if colors.is_some_and(|colors| colors.contains(&place)) {
            let bytes = color_bytes(column.values)?;
            column.values = bytes.values;
            changed += bytes.changed;
            outside += bytes.outside;
        }
        try_push(&mut columns, column, "columns")?;
    }
    let about = |message: String| {
        let place = Place { file: name.into(), ..Place::default() };
        Diagnostic { place, ..Diagnostic::new(message) }
    };
    let rounded = counted(changed, ["color value was rounded to a byte", "color values were rounded to bytes"]);
    warnings.push_many("changed-colors", changed, about(rounded));
    let words = ["color value outside 0 to 1 was clamped", "color values outside 0 to 1 were clamped"];
    warnings.push_many("clamped-color", outside, about(counted(outside, words)));
    let left_out = table.columns.len().saturating_sub(columns.len());
    let nouns = [
        "column other than positions, intensities, colors and normals",
        "columns other than positions, intensities, colors and normals",
    ];
    note_left_out(&to.title(), [("left-out-columns", nouns, left_out as u64)], name, warnings);
    table.columns = columns;
    Ok(())
}

/// Indices of the columns with these names, ignoring case, if all exist and none has lists.
fn find<const N: usize>(table: &Table, names: [&str; N]) -> Option<[usize; N]> {
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        let is_it = |column: &Column| column.name.eq_ignore_ascii_case(name) && column.offsets.is_none();
        *place = table.columns.iter().position(is_it)?;
    }
    Some(places)
}

/// Whether the columns have no negative integers, which would be read as something other than colors.
fn can_be_colors(table: &Table, places: &[usize; 3]) -> bool {
    places.iter().all(|&place| match &table.columns[place].values {
        Values::I8(values) => values.iter().all(|&value| value >= 0),
        Values::I16(values) => values.iter().all(|&value| value >= 0),
        Values::I32(values) => values.iter().all(|&value| value >= 0),
        Values::I64(values) => values.iter().all(|&value| value >= 0),
        _ => true,
    })
}

/// Colors as bytes, with the numbers of changed values.
struct ColorBytes {
    values: Values,
    changed: u64,
    outside: u64,
}

/// Converts colors to bytes: floats from 0 to 1, 16-bit integers from 0 to 65535. Other types are kept.
fn color_bytes(values: Values) -> Result<ColorBytes> {
    fn bytes<T: Copy>(values: &[T], byte: impl Fn(T) -> f64) -> Result<ColorBytes> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(values.len()).map_err(|_| Error::memory("colors"))?;
        let mut changed = 0;
        let mut outside = 0;
        bytes.extend(values.iter().map(|&value| {
            let value = byte(value);
            let is_inside = (0.0..=255.0).contains(&value);
            changed += u64::from(is_inside && (value - value.round()).abs() > 0.05);
            outside += u64::from(!is_inside);
            value.clamp(0.0, 255.0).round() as u8
        }));
        Ok(ColorBytes { values: Values::U8(bytes.into()), changed, outside })
    }
    match values {
        Values::F32(values) => bytes(&values, |value| f64::from(value * 255.0)),
        Values::F64(values) => bytes(&values, |value| value * 255.0),
        // 65535 / 255 is 257.
        Values::U16(values) => bytes(&values, |value| f64::from(value) / 257.0),
        values => Ok(ColorBytes { values, changed: 0, outside: 0 }),
    }
}

/// Names a table of numbers as the vertices of a PLY file: every column gets a unique name without spaces.
fn name_for_ply(table: &mut Table, output: &str, warnings: &mut Warnings) -> Result<()> {
    table.name = VERTEX.into();
    table::name_points(&mut table.columns);
    let mut taken = HashSet::new();
    let mut changed = 0;
    for (column, number) in table.columns.iter_mut().zip(1..) {
        let property = KNOWN.iter().find(|property| property.eq_ignore_ascii_case(&column.name));
        let preferred = property.map_or(column.name.as_str(), |property| property);
        let written = names::distinct(preferred, number, &mut taken)?;
        changed += u64::from(!column.name.is_empty() && written != preferred);
        column.name = written;
        if property
            .is_some_and(|property| COLORS.as_flattened().contains(property) || ["alpha", "a"].contains(property))
        {
            column.values = narrow(std::mem::take(&mut column.values))?;
        }
    }
    let what = counted(changed, ["column name was", "column names were"]);
    let message = format!("{what} changed: PLY names must be unique and contain no spaces");
    let place = Place { file: output.into(), ..Place::default() };
    warnings.push_many("changed-names", changed, Diagnostic { place, ..Diagnostic::new(message) });
    Ok(())
}

/// Converts 64-bit integers to bytes if all of them fit.
fn narrow(values: Values) -> Result<Values> {
    let Values::I64(wide) = &values else { return Ok(values) };
    if !wide.iter().all(|value| (0..=255).contains(value)) {
        return Ok(values);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(wide.len()).map_err(|_| Error::memory("colors"))?;
    bytes.extend(wide.iter().map(|&value| value as u8));
    Ok(Values::U8(Array::from(bytes)))
}
