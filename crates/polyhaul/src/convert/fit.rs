//! Tables as another format takes them: one of several, points in the order of their columns, names that PLY can have.
//!
//! Columns are moved, not copied. Numbers keep their type, colours apart: bytes in PLY and in files of points, because
//! everybody else reads them so. What is left out is noted.

use crate::error::{Error, ErrorKind, Result, try_push};
use crate::formats::parts::note_left_out;
use crate::formats::{Format, names, table};
use crate::load::Tables;
use crate::model::{Array, Column, Table, Values};
use crate::options::TableOptions;
use crate::tables::{names_of, select};
use crate::warnings::Warnings;
use std::collections::HashSet;

/// The element that points are in.
const VERTEX: &str = "vertex";
/// The names of colours, without alpha.
const COLORS: [[&str; 3]; 3] =
    [["red", "green", "blue"], ["r", "g", "b"], ["diffuse_red", "diffuse_green", "diffuse_blue"]];
/// Names that PLY has in small letters alone.
const KNOWN: [&str; 15] =
    ["x", "y", "z", "nx", "ny", "nz", "red", "green", "blue", "alpha", "r", "g", "b", "a", "intensity"];

/// Tables for a target: `name` is the target's, for warnings.
pub(super) fn fit(
    mut found: Tables,
    (from, to): (Format, Format),
    options: &TableOptions,
    name: &str,
    warnings: &mut Warnings,
) -> Result<Tables> {
    let is_chosen = options.columns.is_some();
    if from == Format::Ply {
        if to != Format::Ply {
            pick_element(&mut found, options, (to, name), warnings)?;
        }
        select(&mut found, options)?;
    }
    let [table] = &mut found.tables[..] else { return Ok(found) };
    match to {
        Format::Ply if from != Format::Ply => name_for_ply(table)?,
        Format::Xyz | Format::Pts if !is_chosen => arrange(table, (to, name), warnings)?,
        _ => {}
    }
    if to != Format::Ply {
        check_lists(table)?;
        // Remarks are comments where there is but one kind.
        for info in std::mem::take(&mut found.infos) {
            try_push(&mut found.comments, info, "comments")?;
        }
    }
    Ok(found)
}

/// Keeps one element: that which is asked for, the only one, or the vertices.
fn pick_element(
    found: &mut Tables,
    options: &TableOptions,
    (to, name): (Format, &str),
    warnings: &mut Warnings,
) -> Result<()> {
    if options.element.is_none() && found.tables.len() > 1 {
        let Some(place) = found.tables.iter().position(|table| table.name == VERTEX) else {
            let message = format!("there are {} elements, and {} has one table", found.tables.len(), to.name());
            let hint = format!("say which one with --element: {}", names_of(&found.tables));
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
        };
        let left_out = found.tables.iter().filter(|table| table.name != VERTEX && table.row_count > 0).count();
        note_left_out(to.name(), [("left-out-tables", "more than one element", left_out as u64)], name, warnings);
        let table = found.tables.swap_remove(place);
        found.tables.clear();
        found.tables.push(table);
    }
    Ok(())
}

fn check_lists(table: &Table) -> Result<()> {
    let Some(column) = table.columns.iter().find(|column| column.offsets.is_some()) else { return Ok(()) };
    let message = format!(
        "the column `{}` of `{}` has a list in each row, and a table of numbers has no place for those",
        column.name, table.name
    );
    Err(Error::new(ErrorKind::Usage, message)
        .with_hint("choose others with --columns, or another element with --element"))
}

/// Puts the columns of points into the order in which files without names have them: x, y, z, intensity, colour,
/// normal.
fn arrange(table: &mut Table, (to, name): (Format, &str), warnings: &mut Warnings) -> Result<()> {
    if table.columns.iter().all(|column| column.name.is_empty()) {
        return Ok(());
    }
    let positions = find(table, ["x", "y", "z"]).ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, format!("there are no columns x, y and z, which {} has", to.name()));
        error.with_hint("choose what to write with --columns, in the order of the file, or write csv")
    })?;
    let colors = COLORS.iter().find_map(|names| find(table, *names));
    let normals = find(table, ["nx", "ny", "nz"]).filter(|_| to == Format::Xyz);
    let intensity = find(table, ["intensity"]).into_iter().flatten();
    let order = positions.into_iter().chain(intensity).chain(colors.into_iter().flatten());
    let mut columns = Vec::new();
    for place in order.chain(normals.into_iter().flatten()) {
        let mut column = std::mem::take(&mut table.columns[place]);
        if colors.is_some_and(|colors| colors.contains(&place)) {
            column.values = color_bytes(column.values)?;
        }
        try_push(&mut columns, column, "columns")?;
    }
    let left_out = table.columns.len().saturating_sub(columns.len());
    note_left_out(
        to.name(),
        [("left-out-columns", "columns that are no part of points", left_out as u64)],
        name,
        warnings,
    );
    table.columns = columns;
    Ok(())
}

/// The columns of these names, in any case, where all are there and none is one of lists.
fn find<const N: usize>(table: &Table, names: [&str; N]) -> Option<[usize; N]> {
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        let is_it = |column: &Column| column.name.eq_ignore_ascii_case(name) && column.offsets.is_none();
        *place = table.columns.iter().position(is_it)?;
    }
    Some(places)
}

/// Colours as bytes: floats go from 0 to 1, and integers of 16 bits to 65535.
fn color_bytes(values: Values) -> Result<Values> {
    fn bytes<T: Copy>(values: &[T], byte: impl Fn(T) -> f64) -> Result<Values> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(values.len()).map_err(|_| Error::memory("colours"))?;
        bytes.extend(values.iter().map(|&value| byte(value).clamp(0.0, 255.0).round() as u8));
        Ok(Values::U8(bytes.into()))
    }
    match values {
        Values::F32(values) => bytes(&values, |value| f64::from(value * 255.0)),
        Values::F64(values) => bytes(&values, |value| value * 255.0),
        Values::U16(values) => bytes(&values, |value| f64::from(value) / 257.0),
        values => Ok(values),
    }
}

/// A table of numbers as the vertices of a PLY file: every column has a name of its own that is one word.
fn name_for_ply(table: &mut Table) -> Result<()> {
    table.name = VERTEX.into();
    table::name_points(&mut table.columns);
    let mut taken = HashSet::new();
    for (column, number) in table.columns.iter_mut().zip(1..) {
        let known = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(&column.name));
        let wanted = known.map_or(column.name.as_str(), |known| known);
        column.name = names::distinct(wanted, number, &mut taken)?;
        if known.is_some_and(|known| COLORS.as_flattened().contains(known) || ["alpha", "a"].contains(known)) {
            column.values = narrow(std::mem::take(&mut column.values))?;
        }
    }
    Ok(())
}

/// Integers that are bytes as bytes.
fn narrow(values: Values) -> Result<Values> {
    let Values::I64(wide) = &values else { return Ok(values) };
    if !wide.iter().all(|value| (0..=255).contains(value)) {
        return Ok(values);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(wide.len()).map_err(|_| Error::memory("colours"))?;
    bytes.extend(wide.iter().map(|&value| value as u8));
    Ok(Values::U8(Array::from(bytes)))
}
