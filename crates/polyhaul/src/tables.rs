//! Tables: reading and writing them as a whole, tables of numbers as the points of a scene, and what their rows in the
//! registry share.

use crate::format::Format;
use crate::load::{Content, Shape, load_as, timed};
use crate::mesh_job::MeshJob;
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::{name_of, write_with};
use crate::read_job::{ReadJob, Tables};
use crate::references::Relinker;
use crate::report::{Clock, Report};
use crate::save::format_of;
use crate::{Input, LoadedArray, LoadedTables, Output};
use polyhaul_mesh::options::{ColumnName, TableOptions};
use polyhaul_mesh::parts::{self, note_left_out};
use polyhaul_mesh::ply;
use polyhaul_mesh::table::{self, Layout, Rows, TableFormat};
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Scene, SourceFolder, Table};
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_text::parse::number;
use std::borrow::Cow;

/// Reads the tables of an input: those that the options ask for.
pub(crate) fn load(input: &Opened, options: &ReadOptions) -> Result<LoadedTables> {
    let (read, report) = load_as(input, options, |_| Shape::Tables)?;
    let Content::Tables(mut found) = read.content else {
        return Err(Error::new(ErrorKind::Internal, "tables were read as a scene"));
    };
    if read.format.has_elements() {
        select(&mut found, &options.table)?;
    }
    let Tables { tables, comments, infos } = found;
    Ok(LoadedTables { tables, comments, infos, report })
}

/// Reads the text of a table into one array.
pub(crate) fn load_array(input: Input, options: &ReadOptions) -> Result<LoadedArray> {
    let (read, report) = timed(&Opened::new(input, options)?, options, |job| {
        let Some(kind) = job.format.table().filter(|&kind| kind != TableFormat::Npy) else {
            return Err(Error::new(ErrorKind::Usage, "only text tables can be read into one array"));
        };
        let own = job.parse_options().with(options.table.clone());
        let mut read = table::read(job.text(), kind, Layout::Rows, &own)?;
        job.note(read.threads, std::mem::take(&mut read.warnings));
        Ok(read)
    })?;
    let (names, row_count, comments) = (read.names, read.row_count, read.comments);
    let values = read.values.into_iter().next().unwrap_or_default();
    Ok(LoadedArray { values, row_count, column_count: names.len(), names, comments, report })
}

/// Reads the table of a format that has nothing else.
pub(crate) fn read(job: &mut ReadJob<'_>) -> Result<Tables> {
    if job.options.table.element.is_some() {
        let error =
            Error::new(ErrorKind::Usage, format!("`--element` is set, but {} has no elements", job.format.name()));
        return Err(error.with_hint("only PLY has elements"));
    }
    let (table, comments) = read_table(job, Layout::Columns)?;
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

/// Reads the elements of a PLY file.
pub(crate) fn read_elements(job: &mut ReadJob<'_>) -> Result<Tables> {
    let read = ply::tables(job.feed(), &job.parse_options())?;
    job.note(read.threads, read.warnings);
    let mut header = read.header;
    let (comments, infos) = (std::mem::take(&mut header.comments), std::mem::take(&mut header.infos));
    job.details.header = Some(header);
    Ok(Tables { tables: read.content, comments, infos })
}

/// Reads a table as the points of a scene.
pub(crate) fn read_points(job: &mut ReadJob<'_>) -> Result<Scene> {
    let (table, comments) = read_table(job, Layout::Points)?;
    let scene = table::scene_of_table(table, &job.plain.source().name().into(), &job.options.run)?;
    Ok(Scene { comments, ..scene })
}

fn read_table(job: &mut ReadJob<'_>, layout: Layout) -> Result<(Table, Vec<String>)> {
    let own = job.parse_options().with(job.options.table.clone());
    let format = table_kind(job.format)?;
    if format == TableFormat::Npy {
        let read = table::npy::read(job.bytes(), &own)?;
        job.note(read.threads, read.warnings);
        return Ok((read.table, Vec::new()));
    }
    let mut read = table::read(job.text(), format, layout, &own)?;
    job.note(read.threads, std::mem::take(&mut read.warnings));
    read.into_table(format)
}

/// The error where tables are wanted, and the format has none; `how` says what is wanted.
pub(crate) fn no_tables(how: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, "this format has no tables");
    error.with_hint(format!("{} {how}", Format::listed(Format::has_tables)))
}

/// Tables on their way into a file.
pub(crate) struct TablesJob<'a> {
    tables: &'a [Table],
    /// What names of files in comments are relative to.
    folder: &'a SourceFolder,
    comments: &'a [String],
    infos: &'a [String],
    format: Format,
    output: Output,
    links: Relinker<'a>,
    options: &'a WriteOptions,
    report: &'a mut Report,
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
    let no_writer = || {
        let names: Vec<_> = Format::ALL.into_iter().filter(|format| format.has_tables()).map(Format::name).collect();
        let hint = format!("use a name that ends in .{}, or specify the format", names.join(", ."));
        Error::new(ErrorKind::Usage, "this format has no tables").with_hint(hint)
    };
    let writer = format.writers().tables.ok_or_else(no_writer)?;
    let (mut report, clock) = (Report::default(), Clock::start("write"));
    let _span = span(Phase::Format);
    let links = Relinker::new(&output, options)?;
    let report_of_job = &mut report;
    (writer.write)(TablesJob {
        tables,
        folder,
        comments,
        infos,
        format,
        output,
        links,
        options,
        report: report_of_job,
    })?;
    clock.stop(&mut report);
    Ok(report)
}

/// Writes tables as the elements of a PLY file.
pub(crate) fn write_elements(job: TablesJob<'_>) -> Result<()> {
    let TablesJob { tables, folder, comments, infos, format, output, mut links, options, report } = job;
    ply::note_remarks([comments, infos], &name_of(&output), &mut report.warnings);
    let comments = links.comments(comments, folder)?;
    let copies = links.finish(&mut report.warnings)?;
    write_with(copies, output, Some(format.name()), options, report, |writing, _, _| {
        ply::write_tables(tables, [&comments, infos], &options.ply, &options.run, writing)
    })
}

/// Writes a table of numbers.
pub(crate) fn write(job: TablesJob<'_>) -> Result<()> {
    let [table] = job.tables else {
        let message = format!("this format stores one table, found {}", job.tables.len());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("PLY stores several tables"));
    };
    let (rows, kind) = (Rows::of_table(table)?, table_kind(job.format)?);
    if matches!(kind, TableFormat::Xyz | TableFormat::Pts) && (1..3).contains(&rows.names.len()) {
        let (name, count) = (job.format.name(), rows.names.len());
        let message = format!("{name} needs at least 3 columns (x, y and z), found {count}");
        return Err(Error::new(ErrorKind::Usage, message).with_hint("write csv, tsv, txt or npy instead"));
    }
    let TablesJob { folder, comments, output, links, options, report, .. } = job;
    report.warnings.extend(note_losses(table, &rows, kind, options, &name_of(&output)));
    write_rows(&rows, (comments, folder), RowsTarget { kind, output, links, options, report })
}

/// Writes the positions of a scene, and what is known of them.
pub(crate) fn write_points(job: MeshJob<'_>) -> Result<()> {
    let MeshJob { scene, looks, format, output, links, options, report, .. } = job;
    let kind = table_kind(format)?;
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts::parts(scene, &objects, &evaluated, &options.table.placement)?;
    let points = table::Points::of_parts(&parts, kind)?;
    points.note_losses(scene, looks.materials.len(), &name_of(&output), &mut report.warnings);
    // Remarks are comments where there is but one kind.
    let mut comments = Cow::Borrowed(&scene.comments[..]);
    for info in &scene.infos {
        try_push(comments.to_mut(), try_string(info)?, "comments")?;
    }
    write_rows(&points.rows, (&comments, &scene.folder), RowsTarget { kind, output, links, options, report })
}

fn table_kind(format: Format) -> Result<TableFormat> {
    format.table().ok_or_else(|| no_tables("have them"))
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

/// Where rows of numbers go.
struct RowsTarget<'a> {
    kind: TableFormat,
    output: Output,
    links: Relinker<'a>,
    options: &'a WriteOptions,
    report: &'a mut Report,
}

fn write_rows(rows: &Rows<'_>, (comments, folder): (&[String], &SourceFolder), target: RowsTarget<'_>) -> Result<()> {
    let RowsTarget { kind, output, mut links, options, report } = target;
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
    note_left_out(kind.name(), kinds, &name_of(&output), &mut report.warnings);
    let comments = if has_comments { links.comments(comments, folder)? } else { Cow::default() };
    let copies = links.finish(&mut report.warnings)?;
    write_with(copies, output, Some(kind.name()), options, report, |writing, _, _| match kind {
        TableFormat::Npy => table::npy::write(rows, &options.run, writing),
        _ => table::write(rows, &comments, kind, &options.table, &options.run, writing),
    })
}
