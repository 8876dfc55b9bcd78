//! Reads and writes tables of numbers, as tables or as the points of a scene, for their rows in the registry.
//!
//! Operations on all tables are in `tables`; `polyhaul-table` parses and formats.

use crate::format::Format;
use crate::input::Output;
use crate::loaded::Tables;
use crate::mesh_job::MeshJob;
use crate::options::WriteOptions;
use crate::outputs::{Written, name_of, write_with};
use crate::read_job::ReadJob;
use crate::references::Relinker;
use crate::report::Report;
use polyhaul_geometry::losses::{CHANGED_REMARKS, note_changed, note_dropped, note_left_out};
use polyhaul_geometry::parts;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_model::names;
use polyhaul_model::options::TableHeader;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Scene, SourceFolder, Table};
use polyhaul_table::{self as table, Layout, PointTarget, Rows, TableFormat};
use polyhaul_text::parse::number;
use std::borrow::Cow;

/// Tables to write to a file.
pub(crate) struct TablesJob<'a> {
    pub(crate) tables: &'a [Table],
    /// Folder for relative file names in comments.
    pub(crate) folder: &'a SourceFolder,
    pub(crate) comments: &'a [String],
    pub(crate) infos: &'a [String],
    pub(crate) format: Format,
    pub(crate) output: Output,
    pub(crate) links: Relinker<'a>,
    pub(crate) options: &'a WriteOptions,
    pub(crate) report: &'a mut Report,
}

/// Reads the table of a format with a single table.
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

/// Reads a table as the points of a scene.
pub(crate) fn read_points(job: &mut ReadJob<'_>) -> Result<Scene> {
    let (table, comments) = read_table(job, Layout::Points)?;
    let file = job.plain.source().name().into();
    let mut target = PointTarget {
        pass: job.parse_options().precision,
        is_binary: table_kind(job.format)? == TableFormat::Npy,
        file: &file,
        faults: job.options.faults(),
        warnings: &mut job.report.warnings,
    };
    let scene = table::scene_of_table(table, &mut target, &job.options.run)?;
    Ok(Scene { comments, ..scene })
}

fn read_table(job: &mut ReadJob<'_>, layout: Layout) -> Result<(Table, Vec<String>)> {
    let parse_options = job.parse_options().with(job.options.table.clone());
    let format = table_kind(job.format)?;
    if format == TableFormat::Npy {
        let read = table::npy::read(job.bytes(), &parse_options)?;
        job.note(read.threads, read.warnings);
        return Ok((read.table, Vec::new()));
    }
    let mut read = table::read(job.text(), format, layout, &parse_options)?;
    job.note(read.threads, std::mem::take(&mut read.warnings));
    read.into_table(format)
}

/// Error for requesting tables from a format without any; `how` describes the request.
pub(crate) fn no_tables(how: &str) -> Error {
    let error = Error::new(ErrorKind::Usage, "this format has no tables");
    error.with_hint(format!("{} {how}", Format::listed(Format::has_tables)))
}

/// Rewrites file names in comments, and writes copies of the files.
pub(crate) fn start_remarks<'c>(
    comments: &'c [String],
    folder: &SourceFolder,
    mut links: Relinker<'_>,
    report: &mut Report,
) -> Result<(Cow<'c, [String]>, Vec<Written>)> {
    let comments = links.comments(comments, folder)?;
    Ok((comments, links.finish(&mut report.warnings)?))
}

/// Writes a single table of numbers.
pub(crate) fn write(job: TablesJob<'_>) -> Result<()> {
    let [table] = job.tables else {
        let message = format!("this format stores one table, found {}", job.tables.len());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("PLY stores several tables"));
    };
    let rows = Rows::of_table(table)?;
    let kind = table_kind(job.format)?;
    if matches!(kind, TableFormat::Xyz | TableFormat::Pts) && (1..3).contains(&rows.names.len()) {
        let name = job.format.name();
        let message = format!("{name} needs at least 3 columns (x, y and z), found {}", rows.names.len());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("write csv, tsv, txt or npy instead"));
    }
    let TablesJob { folder, comments, output, links, options, report, .. } = job;
    report.warnings.extend(note_losses(table, &rows, kind, options, &name_of(&output)));
    write_rows(&rows, comments, folder, RowsTarget { kind, output, links, options, report })
}

/// Writes the positions of a scene and their attributes.
pub(crate) fn write_points(job: MeshJob<'_>) -> Result<()> {
    let MeshJob { scene, looks, format, output, links, options, report, .. } = job;
    let kind = table_kind(format)?;
    let objects = scene.listed_objects()?;
    let evaluated = scene.evaluated_meshes(&objects)?;
    let parts = parts::parts(scene, &objects, &evaluated, job.placement)?;
    let points = table::Points::of_parts(&parts, kind)?;
    let has_names = match kind {
        TableFormat::Npy => !table::npy::is_uniform(&points.rows),
        _ => {
            table::has_header(&points.rows.names, kind, options.table_style())
                || options.table.out_header == TableHeader::Absent
        }
    };
    points.note_losses(scene, &looks.materials, has_names, &name_of(&output), &mut report.warnings);
    // Remarks become comments, because these formats only have comments.
    let mut comments = Cow::Borrowed(&scene.comments[..]);
    for info in &scene.infos {
        try_push(comments.to_mut(), try_string(info)?, "comments")?;
    }
    write_rows(&points.rows, &comments, &scene.folder, RowsTarget { kind, output, links, options, report })
}

pub(crate) fn table_kind(format: Format) -> Result<TableFormat> {
    table_of(format).ok_or_else(|| no_tables("have tables"))
}

/// The kind of table that a format stores, if it only stores a table of numbers.
pub(crate) fn table_of(format: Format) -> Option<TableFormat> {
    TableFormat::ALL.into_iter().find(|table| table.name() == format.name())
}

/// Returns warnings about everything in a table that a format for tables of numbers cannot store.
pub(crate) fn note_losses(
    table: &Table,
    rows: &Rows<'_>,
    format: TableFormat,
    options: &WriteOptions,
    output: &str,
) -> Warnings {
    let mut warnings = Warnings::for_target(format.name());
    let named = table.columns.iter().filter(|column| !column.name.is_empty()).count() as u64;
    let has_header = table::has_header(&rows.names, format, options.table_style());
    let lost = match format {
        _ if has_header => 0,
        // Without rows, no columns are written.
        TableFormat::Xyz | TableFormat::Pts if rows.row_count() == 0 => named,
        TableFormat::Xyz | TableFormat::Pts => table::unrestored_names(&table.columns),
        TableFormat::Npy if !table::npy::is_uniform(rows) => 0,
        // The options omit the header.
        _ if options.table.out_header == TableHeader::Absent => 0,
        _ => named,
    };
    let numeric = rows.names.iter().filter(|name| number::f64(name.as_bytes()).is_some()).count();
    let is_data = has_header && rows.names.iter().all(|name| name.is_empty() || number::f64(name.as_bytes()).is_some());
    let changed = table.columns.iter().filter(|column| has_header && table::written_name(&column.name) != column.name);
    let bare = if format == TableFormat::Npy { 0 } else { rows.row_count() - rows.line_count() };
    // Without a header or rows, nothing shows that there are columns.
    let has_lines = has_header || format == TableFormat::Npy || rows.row_count() > 0;
    let unseen = if has_lines { 0 } else { table.columns.len() as u64 - named };
    let title = format.name().to_uppercase();
    let column_names = ["column name", "column names"];
    let kinds = [
        ("element-left-out", ["row without columns", "rows without columns"], bare),
        ("left-out-columns", ["column without rows", "columns without rows"], unseen),
        ("left-out-column-names", column_names, lost),
    ];
    note_left_out(&title, kinds, output, &mut warnings);
    let numeric = [("left-out-column-names", column_names, if is_data { numeric as u64 } else { 0 })];
    note_dropped(": they are numbers, and would be read as data", numeric, output, &mut warnings);
    let words = [
        "column name had carriage returns or NUL bytes, which were replaced by `_`",
        "column names had carriage returns or NUL bytes, which were replaced by `_`",
    ];
    note_changed([("changed-names", words, changed.count() as u64, None)], output, &mut warnings);
    warnings
}

/// Destination of rows of numbers.
struct RowsTarget<'a> {
    kind: TableFormat,
    output: Output,
    links: Relinker<'a>,
    options: &'a WriteOptions,
    report: &'a mut Report,
}

fn write_rows(rows: &Rows<'_>, comments: &[String], folder: &SourceFolder, target: RowsTarget<'_>) -> Result<()> {
    let RowsTarget { kind, output, links, options, report } = target;
    let comments = note_row_remarks(comments, kind, options, &name_of(&output), report);
    let (comments, copies) = start_remarks(comments, folder, links, report)?;
    write_with(copies, output, Some(kind.name()), options, report, |writing, _, _| match kind {
        TableFormat::Npy => table::npy::write(rows, &options.run, writing),
        _ => table::write(rows, &comments, kind, options.table_style(), &options.run, writing),
    })
}

/// Returns the comments that a format for tables of numbers can store, and warns about the rest.
pub(crate) fn note_row_remarks<'c>(
    comments: &'c [String],
    kind: TableFormat,
    options: &WriteOptions,
    name: &str,
    report: &mut Report,
) -> &'c [String] {
    let has_comments = !matches!(kind, TableFormat::Pts | TableFormat::Npy);
    let is_written = has_comments && !options.table.out_comment.is_empty();
    let dropped = if has_comments { 0 } else { comments.len() as u64 };
    let kinds = [("left-out-remarks", ["comment", "comments"], dropped)];
    note_left_out(&kind.name().to_uppercase(), kinds, name, &mut report.warnings);
    let changed = if is_written { names::changed_remarks(comments) } else { 0 };
    note_changed([("changed-remarks", CHANGED_REMARKS, changed, None)], name, &mut report.warnings);
    if has_comments { comments } else { &[] }
}
