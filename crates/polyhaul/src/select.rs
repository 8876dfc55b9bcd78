//! Selects elements and columns of tables that were read as a whole.

use crate::loaded::Tables;
use polyhaul_model::Table;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_model::names;
use polyhaul_model::options::{ColumnName, TableReadOptions};

/// Keeps the selected element and columns.
pub(crate) fn select(tables: &mut Tables, options: &TableReadOptions) -> Result<()> {
    if let Some(element) = &options.element {
        let place = tables.tables.iter().position(|table| table.name == *element);
        let table = place.map(|place| tables.tables.swap_remove(place)).ok_or_else(|| no_element(tables, element))?;
        tables.tables.clear();
        tables.tables.push(table);
    }
    select_columns(&mut tables.tables, options)
}

/// Keeps the selected columns of a single table.
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

fn no_element(tables: &Tables, element: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("no element named `{}`", names::shown(element)));
    error.with_hint(format!("the elements are {}", names_of(&tables.tables)))
}

/// The names of tables, for messages.
pub(crate) fn names_of(tables: &[Table]) -> String {
    shown(tables.iter().map(|table| table.name.as_str()))
}

/// Lists the first few names, for messages.
fn shown<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MAX_LISTED: usize = 20;
    let mut names = names.map(names::shown);
    let mut text = names.by_ref().take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        text.push_str(", ...");
    }
    text
}

/// Keeps columns, in the requested order.
fn keep_columns(table: &mut Table, requested: &[ColumnName]) -> Result<()> {
    let mut places = Vec::new();
    for name in requested {
        let (place, shown_name) = match name {
            ColumnName::Index(place) => (Some(*place).filter(|&place| place < table.columns.len()), place.to_string()),
            ColumnName::Name(name) => (table.columns.iter().position(|column| column.name == *name), name.clone()),
        };
        let place = place.ok_or_else(|| {
            let error = Error::new(ErrorKind::Usage, format!("no column named `{}`", names::shown(&shown_name)));
            error.with_hint(format!("the columns are {}", shown(table.columns.iter().map(|column| &*column.name))))
        })?;
        if places.contains(&place) {
            let message = format!("column `{}` is listed twice", names::shown(&shown_name));
            return Err(Error::new(ErrorKind::Usage, message));
        }
        try_push(&mut places, place, "columns")?;
    }
    let mut columns = Vec::new();
    for place in places {
        try_push(&mut columns, std::mem::take(&mut table.columns[place]), "columns")?;
    }
    table.columns = columns;
    Ok(())
}
