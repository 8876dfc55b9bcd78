//! Filters tables that refer to vertices by index: the faces and edges of a PLY file. Rejects triangle strips; other
//! elements are unchanged.

use crate::set::RowSet;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::names::{self, CORNERS};
use polyhaul_model::{Column, Table, Values, map_values, with_values};
use std::fmt::Display;

/// Returns the names of the columns with vertex indices, or nothing if the table has none. In a scene, faces have the
/// same column.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for triangle strips, from which a vertex cannot be removed.
pub(crate) fn index_columns(table: &Table) -> Result<Vec<String>> {
    match table.name.as_str() {
        "face" => {
            let is_lists = |column: &Column, name: &str| column.name == name && column.offsets.is_some();
            let has_lists = |name: &&str| table.columns.iter().any(|column| is_lists(column, name));
            Ok(CORNERS.into_iter().find(has_lists).map(String::from).into_iter().collect())
        }
        "edge" => {
            let is_end = |column: &&Column| {
                let is_named = ["vertex1", "vertex2"].contains(&column.name.as_str());
                is_named && column.offsets.is_none() && is_integer(&column.values)
            };
            Ok(table.columns.iter().filter(is_end).map(|column| column.name.clone()).collect())
        }
        "tristrips" => {
            let error = Error::new(ErrorKind::Unsupported, "cannot filter or mirror the vertices of triangle strips");
            Err(error.with_hint("convert the file to a mesh format first, such as obj"))
        }
        _ => Ok(Vec::new()),
    }
}

fn is_integer(values: &Values) -> bool {
    !matches!(values, Values::F32(_) | Values::F64(_))
}

/// Returns the rows of a table that refer only to kept vertices.
#[allow(clippy::unnecessary_cast, reason = "the macro has one body for all types")]
pub(crate) fn whole_rows(table: &Table, names: &[String], vertices: &RowSet) -> Result<RowSet> {
    let columns = names.iter().map(|name| found(table, name)).collect::<Result<Vec<_>>>()?;
    let mut set: Option<RowSet> = None;
    for column in columns.iter().map(|&place| &table.columns[place]) {
        let before = set.take();
        set = Some(with_values!(&column.values, values => RowSet::from_fn(table.row_count, |row| {
            let mut is_whole = before.as_ref().is_none_or(|set| set.has(row as u64));
            for &index in values.get(range(column, row)).unwrap_or_default() {
                // Some programs write indices as floats. Fractions and NaN refer to no vertex.
                let whole = Some(index as i64).filter(|&whole| whole as f64 == index as f64);
                is_whole &= vertices.has(checked(whole, index, table, vertices)?);
            }
            Ok(is_whole)
        })?));
    }
    set.map_or_else(|| RowSet::from_fn(table.row_count, |_| Ok(true)), Ok)
}

/// Returns the index of a column that the complete table is known to have.
fn found(table: &Table, name: &str) -> Result<usize> {
    let place = table.columns.iter().position(|column| column.name == name);
    place.ok_or_else(|| Error::new(ErrorKind::Internal, format!("the column `{name}` was not read")))
}

/// Returns the range of a row's values in a column.
fn range(column: &Column, row: usize) -> std::ops::Range<usize> {
    match column.offsets.as_deref().and_then(|offsets| offsets.get(row..row + 2)) {
        Some(&[start, end]) => start as usize..end as usize,
        _ => row..row + 1,
    }
}

/// Returns the index of a vertex, or an error that names the number in the file, `stored`.
fn checked(index: Option<i64>, stored: impl Display, table: &Table, vertices: &RowSet) -> Result<u64> {
    let index = index.and_then(|index| u64::try_from(index).ok());
    index.filter(|&index| index < vertices.rows()).ok_or_else(|| {
        let count = vertices.rows();
        let name = names::shown(&table.name);
        let message = format!("element `{name}` refers to vertex {stored}, but the file has only {count} vertices");
        Error::new(ErrorKind::Malformed, message)
    })
}

/// Replaces old vertex indices with new ones. All vertices that they refer to must be kept.
///
/// # Errors
/// [`ErrorKind::Unsupported`] if the indices are floats that cannot store a new index; [`ErrorKind::Memory`].
#[allow(clippy::unnecessary_cast, reason = "the macro has one body for all types")]
pub(crate) fn renumber(table: &mut Table, names: &[String], vertices: &RowSet) -> Result<()> {
    for name in names {
        let place = found(table, name)?;
        let column = &mut table.columns[place];
        let mut is_exact = true;
        column.values = map_values!(std::mem::take(&mut column.values), values => {
            let mut values = values.into_vec()?;
            for index in &mut values {
                let rank = vertices.rank(*index as u64);
                *index = rank as _;
                // 32-bit floats have gaps above 2^24.
                is_exact &= *index as u64 == rank;
            }
            values.into()
        });
        if !is_exact {
            let message = format!("the floats of column `{}` cannot store the new vertex indices", names::shown(name));
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    Ok(())
}

/// Reverses the winding of faces, so that front faces stay front faces in a mirrored mesh. First corners stay first.
/// `names` are the columns with vertex indices.
///
/// # Errors
/// [`ErrorKind::Memory`].
pub(crate) fn reverse_faces(table: &mut Table, names: &[String]) -> Result<()> {
    for column in &mut table.columns {
        let width = match column.name.as_str() {
            // Two texture coordinates per corner.
            "texcoord" => 2,
            name if names.iter().any(|other| other == name) => 1,
            _ => continue,
        };
        // Edges have no lists, and the order of their ends has no meaning.
        let Some(offsets) = &column.offsets else { continue };
        with_values!(&mut column.values, values => reverse_lists(values.to_mut()?, offsets, width));
    }
    Ok(())
}

/// Reverses the corners of each list except the first. A corner has `width` values.
fn reverse_lists<T>(values: &mut [T], offsets: &[u32], width: usize) {
    for ends in offsets.windows(2) {
        let list = values.get_mut(ends[0] as usize..ends[1] as usize).unwrap_or_default();
        let others = list.get_mut(width..).unwrap_or_default();
        if others.len().is_multiple_of(width) {
            others.reverse();
            others.chunks_mut(width).for_each(<[T]>::reverse);
        }
    }
}
