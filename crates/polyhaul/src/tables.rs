//! Tables, read and written as a whole, and tables of numbers as the points of a scene.

use crate::format::Format;
use crate::load::{Content, Shape, Tables, load_as, note_reading, timed};
use crate::open::{Opened, Plain};
use crate::options::{ReadOptions, WriteOptions};
use crate::references::Relinker;
use crate::report::{Clock, Report};
use crate::save::{format_of, name_of, save_ply_tables, write_with};
use crate::{Input, LoadedArray, LoadedTables, Output};
use polyhaul_mesh::options::{ColumnName, TableOptions};
use polyhaul_mesh::parts;
use polyhaul_mesh::parts::note_left_out;
use polyhaul_mesh::table;
use polyhaul_mesh::table::{Layout, Rows, TableFormat};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Scene, SourceFolder, Table};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::chunk::TextChunks;
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_text::parse::number;
use std::borrow::Cow;

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
        let Some(kind) = format.table().filter(|&kind| kind != TableFormat::Npy) else {
            return Err(Error::new(ErrorKind::Usage, "only text tables can be read into one array"));
        };
        let text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
        let mut read = table::read(text, kind, Layout::Rows, &plain.options(options).with(options.table.clone()))?;
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
        let error = Error::new(ErrorKind::Usage, format!("`--element` is set, but {} has no elements", format.name()));
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
            let error = Error::new(ErrorKind::Usage, "`--columns` is set, but there are several elements");
            Err(error.with_hint(format!("choose one with `--element`: {}", names_of(&found.tables))))
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
    let own = plain.options(options).with(options.table.clone());
    match format.table() {
        Some(TableFormat::Npy) => {
            let read = table::npy::read(Bytes::new(plain.source(), plain.garbage()), &own)?;
            note_reading(plain, format, report, read.threads, read.warnings);
            Ok((read.table, Vec::new()))
        }
        Some(kind) => {
            let text = TextChunks::new(plain.source().clone()).tolerant(plain.garbage().cloned());
            let mut read = table::read(text, kind, layout, &own)?;
            note_reading(plain, format, report, read.threads, std::mem::take(&mut read.warnings));
            read.into_table(kind)
        }
        None => {
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
    tables.iter().try_for_each(Table::check)?;
    let format = format_of(&output, options)?;
    save_checked((tables, &SourceFolder::default()), remarks, format, output, options)
}

/// Writes tables whose columns are known to be whole; names of files in comments are relative to a folder.
pub(crate) fn save_checked(
    (tables, folder): (&[Table], &SourceFolder),
    [comments, infos]: [&[String]; 2],
    format: Format,
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    if format == Format::Ply {
        return save_ply_tables((tables, folder), [comments, infos], output, options);
    }
    let Some(kind) = format.table() else {
        let error = Error::new(ErrorKind::Usage, "this format has no tables");
        return Err(error
            .with_hint("use a name that ends in .ply, .csv, .tsv, .txt, .xyz, .pts or .npy, or specify the format"));
    };
    let [table] = tables else {
        let message = format!("this format stores one table, found {}", tables.len());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("PLY stores several tables"));
    };
    let rows = Rows::of_table(table)?;
    if matches!(kind, TableFormat::Xyz | TableFormat::Pts) && (1..3).contains(&rows.names.len()) {
        let count = rows.names.len();
        let message = format!("{} needs at least 3 columns (x, y and z), found {count}", format.name());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("write csv, tsv, txt or npy instead"));
    }
    let warnings = note_losses(table, &rows, kind, options, &name_of(&output));
    write_rows(&rows, (comments, folder), (format, kind, output), options, warnings)
}

/// Writes the positions of a scene, and what is known of them. There are so many materials, which are dropped.
pub(crate) fn save_scene(
    (scene, materials): (&Scene, usize),
    (format, kind): (Format, TableFormat),
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts::parts(scene, &objects, &evaluated, &options.table.placement)?;
    let points = table::Points::of_parts(&parts, kind)?;
    let mut warnings = Warnings::default();
    points.note_losses(scene, materials, &name_of(&output), &mut warnings);
    // Remarks are comments where there is but one kind.
    let mut comments = Cow::Borrowed(&scene.comments[..]);
    for info in &scene.infos {
        try_push(comments.to_mut(), try_string(info)?, "comments")?;
    }
    write_rows(&points.rows, (&comments, &scene.folder), (format, kind, output), options, warnings)
}

/// What a table of numbers does not store of a table, its columns and its names.
fn note_losses(table: &Table, rows: &Rows<'_>, format: TableFormat, options: &WriteOptions, output: &str) -> Warnings {
    let mut warnings = Warnings::default();
    let named = table.columns.iter().filter(|column| !column.name.is_empty()).count() as u64;
    let has_header = table::has_header(&rows.names, format, &options.table);
    let lost = match format {
        _ if has_header => 0,
        // Without a row there are no columns.
        TableFormat::Xyz | TableFormat::Pts if rows.row_count() == 0 => named,
        TableFormat::Xyz | TableFormat::Pts => table::unrestored_names(&table.columns),
        TableFormat::Npy if !table::npy::is_uniform(rows) => 0,
        // It was asked for.
        _ if options.table.header == Some(false) => 0,
        _ => named,
    };
    let numeric = rows.names.iter().filter(|name| number::f64(name.as_bytes()).is_some()).count();
    let is_data = has_header && rows.names.iter().all(|name| name.is_empty() || number::f64(name.as_bytes()).is_some());
    let changed = table.columns.iter().filter(|column| has_header && names::written(&column.name) != column.name);
    let kinds = [
        ("left-out-names", "column names", lost),
        (
            "left-out-names",
            "column names that are all numbers (they would be read as data)",
            if is_data { numeric as u64 } else { 0 },
        ),
        ("changed-names", "newlines and NUL bytes in column names", changed.count() as u64),
    ];
    note_left_out(format.name(), kinds, output, &mut warnings);
    warnings
}

fn write_rows(
    rows: &Rows<'_>,
    (comments, folder): (&[String], &SourceFolder),
    (format, kind, output): (Format, TableFormat, Output),
    options: &WriteOptions,
    warnings: Warnings,
) -> Result<Report> {
    let (mut report, clock) = (Report { warnings, ..Report::default() }, Clock::start("write"));
    let _span = span(Phase::Format);
    let has_comments = !matches!(kind, TableFormat::Pts | TableFormat::Npy);
    let is_written = has_comments && !options.table.comment.is_empty();
    let kinds = [
        ("left-out-remarks", "comments", if has_comments { 0 } else { comments.len() as u64 }),
        (
            "changed-remarks",
            "control characters in comments",
            if is_written { names::changed_remarks(comments) } else { 0 },
        ),
    ];
    note_left_out(format.name(), kinds, &name_of(&output), &mut report.warnings);
    let mut links = Relinker::new(&output, options)?;
    let comments = if !has_comments { Cow::default() } else { links.comments(comments, folder)? };
    let copies = links.finish(&mut report.warnings)?;
    write_with(copies, output, Some(format), options, &mut report, |writing, _, _| match kind {
        TableFormat::Npy => table::npy::write(rows, &options.run, writing),
        _ => table::write(rows, &comments, kind, &options.table, &options.run, writing),
    })?;
    clock.stop(&mut report);
    Ok(report)
}
