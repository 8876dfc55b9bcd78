//! Chosen elements and columns of tables that were read as a whole.

use crate::loaded::Tables;
use polyhaul_model::Table;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{ColumnName, TableReadOptions};

/// Keeps the element and the columns that are asked for, of tables that were read as a whole.
pub(crate) fn select(found: &mut Tables, options: &TableReadOptions) -> Result<()> {
    if let Some(wanted) = &options.element {
        let place = found.tables.iter().position(|table| table.name == *wanted);
        let table = place.map(|place| found.tables.swap_remove(place)).ok_or_else(|| no_element(found, wanted))?;
        found.tables.clear();
        found.tables.push(table);
    }
    select_columns(&mut found.tables, options)
}

/// Keeps the columns that are asked for, of the one table.
pub(crate) fn select_columns(tables: &mut [Table], options: &TableReadOptions) -> Result<()> {
    match (&options.columns, tables) {
        (None, _) => Ok(()),
        (Some(wanted), [table]) => keep_columns(table, wanted),
        (Some(_), tables) => {
            let error = Error::new(ErrorKind::Usage, "`--columns` is set, but there are several elements");
            Err(error.with_hint(format!("choose one with `--element`: {}", names_of(tables))))
        }
    }
}

fn no_element(found: &Tables, wanted: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("no element named `{}`", names::shown(wanted)));
    error.with_hint(format!("the elements are {}", names_of(&found.tables)))
}

/// The names of tables, for messages.
pub(crate) fn names_of(tables: &[Table]) -> String {
    shown(tables.iter().map(|table| table.name.as_str()))
}

/// The first few names, for messages.
fn shown<'a>(all: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let mut all = all.map(names::shown);
    let mut text = all.by_ref().take(MOST).collect::<Vec<_>>().join(", ");
    if all.next().is_some() {
        text.push_str(", ...");
    }
    text
}

/// Keeps columns, in the order that is asked for.
fn keep_columns(table: &mut Table, wanted: &[ColumnName]) -> Result<()> {
    let mut kept = Vec::new();
    for name in wanted {
        let (place, shown_name) = match name {
            ColumnName::Index(place) => (Some(*place).filter(|&place| place < table.columns.len()), place.to_string()),
            ColumnName::Name(name) => (table.columns.iter().position(|column| column.name == *name), name.clone()),
        };
        let place = place.ok_or_else(|| {
            let error = Error::new(ErrorKind::Usage, format!("no column named `{}`", names::shown(&shown_name)));
            error.with_hint(format!("the columns are {}", shown(table.columns.iter().map(|column| &*column.name))))
        })?;
        if kept.contains(&place) {
            let message = format!("column `{}` is listed twice", names::shown(&shown_name));
            return Err(Error::new(ErrorKind::Usage, message));
        }
        try_push(&mut kept, place, "columns")?;
    }
    let mut columns = Vec::new();
    for place in kept {
        try_push(&mut columns, std::mem::take(&mut table.columns[place]), "columns")?;
    }
    table.columns = columns;
    Ok(())
}
