//! Tables, read and written as a whole, and tables of numbers as the points of a scene.

use crate::error::{Error, ErrorKind, Result, try_push};
use crate::formats::table::{self, Layout, Rows};
use crate::formats::{Format, names};
use crate::load::{Content, Shape, Tables, load_as, note_reading, timed};
use crate::model::{Scene, Table};
use crate::open::{Opened, Plain};
use crate::options::{ColumnName, ReadOptions, TableOptions, WriteOptions};
use crate::pipeline::bytes::Bytes;
use crate::pipeline::chunk::TextChunks;
use crate::pipeline::run::{Phase, span};
use crate::report::{Clock, Report};
use crate::save::{format_of, save_ply_tables, write_to};
use crate::{Input, LoadedArray, LoadedTables, Output, check};

/// Reads the tables of an input: those that the options ask for.
pub(crate) fn load(input: &Opened, options: &ReadOptions) -> Result<LoadedTables> {
    let (read, report) = load_as(input, options, |_| Shape::Tables)?;
    let Content::Tables(mut found) = read.content else {
        return Err(Error::new(ErrorKind::Internal, "tables were read as a scene"));
    };
    if read.format == Format::Ply {
        select(&mut found, &options.table)?;
    }
    let Tables { tables, comments, infos } = found;
    Ok(LoadedTables { tables, comments, infos, report })
}

/// Reads the text of a table into one array.
pub(crate) fn load_array(input: Input, options: &ReadOptions) -> Result<LoadedArray> {
    let (read, report) = timed(&Opened::new(input, options)?, options, |plain, format, report| {
        if !format.is_table() || format == Format::Npy {
            return Err(Error::new(ErrorKind::Usage, "only the text of tables is read into one array"));
        }
        let text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
        let mut read = table::read(text, format, Layout::Rows, &plain.options(options))?;
        note_reading(plain, format, report, read.threads, std::mem::take(&mut read.warnings));
        Ok(read)
    })?;
    let (names, row_count, comments) = (read.names, read.row_count, read.comments);
    let values = read.values.into_iter().next().unwrap_or_default();
    Ok(LoadedArray { values, row_count, column_count: names.len(), names, comments, report })
}

/// Reads the table of a format that has nothing else.
pub(crate) fn read(plain: &Plain, format: Format, options: &ReadOptions, report: &mut Report) -> Result<Tables> {
    if format.is_table() && options.table.element.is_some() {
        let error = Error::new(ErrorKind::Usage, format!("an element is asked for, and {} has none", format.name()));
        return Err(error.with_hint("only PLY has elements"));
    }
    let (table, comments) = read_table(plain, format, Layout::Columns, options, report)?;
    let mut tables = Vec::new();
    try_push(&mut tables, table, "tables")?;
    Ok(Tables { tables, comments, infos: Vec::new() })
}

/// Keeps the element and the columns that are asked for, of tables that were read as a whole.
pub(crate) fn select(found: &mut Tables, options: &TableOptions) -> Result<()> {
    if let Some(wanted) = &options.element {
        let place = found.tables.iter().position(|table| table.name == *wanted);
        let table = place.map(|place| found.tables.swap_remove(place)).ok_or_else(|| no_element(found, wanted))?;
        found.tables.clear();
        found.tables.push(table);
    }
    match (&options.columns, &mut found.tables[..]) {
        (None, _) => Ok(()),
        (Some(wanted), [table]) => keep_columns(table, wanted),
        (Some(_), _) => {
            let error = Error::new(ErrorKind::Usage, "columns are asked for, and there are several elements");
            Err(error.with_hint(format!("say which one with --element: {}", names_of(&found.tables))))
        }
    }
}

fn no_element(found: &Tables, wanted: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("there is no element `{}`", names::shown(wanted)));
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
            let error = Error::new(ErrorKind::Usage, format!("there is no column `{}`", names::shown(&shown_name)));
            error.with_hint(format!("the columns are {}", shown(table.columns.iter().map(|column| &*column.name))))
        })?;
        if kept.contains(&place) {
            let message = format!("the column `{}` is asked for twice", names::shown(&shown_name));
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

/// Reads a table as the points of a scene.
pub(crate) fn read_scene(plain: &Plain, format: Format, options: &ReadOptions, report: &mut Report) -> Result<Scene> {
    let (table, comments) = read_table(plain, format, Layout::Points, options, report)?;
    let scene = table::scene_of_table(table, &plain.source().name().into(), &options.run)?;
    Ok(Scene { comments, ..scene })
}

fn read_table(
    plain: &Plain,
    format: Format,
    layout: Layout,
    options: &ReadOptions,
    report: &mut Report,
) -> Result<(Table, Vec<String>)> {
    let own = plain.options(options);
    match format {
        Format::Csv | Format::Tsv | Format::Txt | Format::Xyz | Format::Pts => {
            let text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
            let mut read = table::read(text, format, layout, &own)?;
            note_reading(plain, format, report, read.threads, std::mem::take(&mut read.warnings));
            read.into_table(format)
        }
        Format::Npy => {
            let read = table::npy::read(Bytes::new(plain.source(), plain.garbage()), &own)?;
            note_reading(plain, format, report, read.threads, read.warnings);
            Ok((read.table, Vec::new()))
        }
        _ => {
            let error = Error::new(ErrorKind::Usage, "this format has no tables");
            Err(error.with_hint("ply, csv, tsv, txt, xyz, pts and npy are read as tables"))
        }
    }
}

/// Writes tables that a caller made.
pub(crate) fn save(
    tables: &[Table],
    remarks: [&[String]; 2],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    check::tables(tables)?;
    let format = format_of(&output, options)?;
    save_checked(tables, remarks, format, output, options)
}

/// Writes tables whose columns are known to be whole.
pub(crate) fn save_checked(
    tables: &[Table],
    [comments, infos]: [&[String]; 2],
    format: Format,
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    if format == Format::Ply {
        return save_ply_tables(tables, [comments, infos], output, options);
    }
    if !format.is_table() {
        let error = Error::new(ErrorKind::Usage, "this format has no tables");
        return Err(error.with_hint("end the name in .ply, .csv, .tsv, .txt, .xyz, .pts or .npy, or say the format"));
    }
    let [table] = tables else {
        let message = format!("this format has one table, but there are {}", tables.len());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("PLY holds several tables"));
    };
    write_rows(&Rows::of_table(table)?, comments, format, output, options)
}

/// Writes the positions of a scene, and what is known of them.
pub(crate) fn save_scene(scene: &Scene, format: Format, output: Output, options: &WriteOptions) -> Result<Report> {
    let rows = table::rows_of_scene(scene, format)?;
    write_rows(&rows, &scene.comments, format, output, options)
}

fn write_rows(
    rows: &Rows<'_>,
    comments: &[String],
    format: Format,
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    let _span = span(Phase::Format);
    write_to(output, Some(format), options, &mut report, |writing, _, _| match format {
        Format::Npy => table::npy::write(rows, &options.run, writing),
        _ => table::write(rows, comments, format, &options.table, &options.run, writing),
    })?;
    clock.stop(&mut report);
    Ok(report)
}
