//! Reads and writes tables of all formats.

use crate::format::Format;
use crate::input::{Input, Output};
use crate::load::{Content, ContentShape, load_as, timed};
use crate::loaded::{Loaded, TableArray, Tables};
use crate::open::Opened;
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::format_of;
use crate::references::Relinker;
use crate::report::{Clock, Report};
use crate::select::select;
use crate::table_job::{TablesJob, table_of};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{SourceFolder, Table};
use polyhaul_pipeline::run::{Phase, span};
use polyhaul_table::{self as table, Layout, TableFormat};

/// Reads the requested tables of an input.
pub(crate) fn load(input: &Opened, options: &ReadOptions) -> Result<Loaded<Tables>> {
    let (read, report) = load_as(input, options, &|_| ContentShape::Tables)?;
    let Content::Tables(mut tables) = read.content else {
        return Err(Error::new(ErrorKind::Internal, "tables were read as a scene"));
    };
    if read.format.has_elements() {
        select(&mut tables, &options.table)?;
    }
    Ok(Loaded::new(tables, report))
}

/// Reads a text table into one array.
pub(crate) fn load_array(input: Input, options: &ReadOptions) -> Result<Loaded<TableArray>> {
    if !options.rows.is_everything() {
        return Err(Error::new(ErrorKind::Usage, "row options do not apply to arrays; read a table instead"));
    }
    let (read, report) = timed(&Opened::new(input, options)?, None, options, &|job| {
        let Some(kind) = table_of(job.format).filter(|&kind| kind != TableFormat::Npy) else {
            return Err(Error::new(ErrorKind::Usage, "only text tables can be read into one array"));
        };
        let parse_options = job.parse_options().with(options.table.clone());
        let mut read = table::read(job.text(), kind, Layout::Rows, &parse_options)?;
        job.note(read.threads, std::mem::take(&mut read.warnings));
        Ok(read)
    })?;
    let names = read.names;
    let row_count = read.row_count;
    let comments = read.comments;
    let values = read.values.into_iter().next().unwrap_or_default();
    Ok(Loaded::new(TableArray { values, row_count, column_count: names.len(), names, comments }, report))
}

/// Writes tables, after checking them.
pub(crate) fn save(
    tables: &[Table],
    remarks: [&[String]; 2],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    tables.iter().try_for_each(Table::check)?;
    let format = format_of(&output, options)?;
    save_checked(tables, &SourceFolder::default(), remarks, format, output, options)
}

/// Writes tables that are known to be consistent; file names in comments are relative to `folder`.
pub(crate) fn save_checked(
    tables: &[Table],
    folder: &SourceFolder,
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
    let mut report = Report::of_writing(format.name());
    let clock = Clock::start("write");
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
