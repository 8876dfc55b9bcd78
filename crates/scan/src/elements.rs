//! Filters tables that refer to vertices by index: the faces and edges of a PLY file. Rejects triangle strips; other
//! elements are unchanged.

use crate::set::RowSet;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Column, Table, Values, map_values, names, with_values};

/// Returns the names of the columns with vertex indices, or nothing if the table has none.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for triangle strips, from which a vertex cannot be removed.
pub(crate) fn index_columns(table: &Table) -> Result<Vec<String>> {
    let is_list = |column: &Column| column.offsets.is_some();
    let places = |names: [&str; 2], wants_list: bool| {
        let is_it = |column: &&Column| {
            names.contains(&column.name.as_str()) && is_list(column) == wants_list && is_integer(&column.values)
        };
        table.columns.iter().filter(is_it).map(|column| column.name.clone()).collect::<Vec<_>>()
    };
    match table.name.as_str() {
        "face" => Ok(places(["vertex_indices", "vertex_index"], true).into_iter().take(1).collect()),
        "edge" => Ok(places(["vertex1", "vertex2"], false)),
        "tristrips" => {
            let error = Error::new(ErrorKind::Unsupported, "cannot filter the vertices of triangle strips");
            Err(error.with_hint("convert the file to a mesh format first, such as obj"))
        }
        _ => Ok(Vec::new()),
    }
}

fn is_integer(values: &Values) -> bool {
    !matches!(values, Values::F32(_) | Values::F64(_))
}

/// Returns the rows of a table that refer only to kept vertices.
pub(crate) fn whole_rows(table: &Table, names: &[String], vertices: &RowSet) -> Result<RowSet> {
    let columns = names.iter().map(|name| found(table, name)).collect::<Result<Vec<_>>>()?;
    let mut set: Option<RowSet> = None;
    for column in columns.iter().map(|&place| &table.columns[place]) {
        let before = set.take();
        set = Some(with_values!(&column.values, values => RowSet::from_fn(table.row_count, |row| {
            let mut is_whole = before.as_ref().is_none_or(|set| set.has(row as u64));
            for &index in values.get(range(column, row)).unwrap_or_default() {
                is_whole &= vertices.has(checked(index as i128, table, vertices)?);
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

fn checked(index: i128, table: &Table, vertices: &RowSet) -> Result<u64> {
    u64::try_from(index).ok().filter(|&index| index < vertices.rows()).ok_or_else(|| {
        let count = vertices.rows();
        let name = names::shown(&table.name);
        let message = format!("element `{name}` refers to vertex {index}, but the file has only {count} vertices");
        Error::new(ErrorKind::Malformed, message)
    })
}

/// Replaces old vertex indices with new ones. All vertices that they refer to must be kept.
#[allow(clippy::unnecessary_cast, reason = "the macro has one body for all types")]
pub(crate) fn renumber(table: &mut Table, names: &[String], vertices: &RowSet) -> Result<()> {
    for name in names {
        let place = found(table, name)?;
        let column = &mut table.columns[place];
        column.values = map_values!(std::mem::take(&mut column.values), values => {
            let mut values = values.into_vec()?;
            values.iter_mut().for_each(|index| *index = vertices.rank(*index as u64) as _);
            values.into()
        });
    }
    Ok(())
}
