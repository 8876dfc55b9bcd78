//! Tables that are written part by part: the shared part of their rows in the registry.
//!
//! What a format notes and writes before the first row is that of [`crate::table_job`]. Which rows come next is up to
//! `convert::stream`.

use crate::format::Format;
use crate::options::WriteOptions;
use crate::outputs::Written;
use crate::references::Relinker;
use crate::report::Report;
use crate::table_job::{begin_remarks, note_losses, note_row_remarks, table_kind};
#[cfg(feature = "ply")]
use polyhaul_mesh::ply;
use polyhaul_mesh::table::{self, Rows, TableFormat};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{SourceFolder, Table};
use polyhaul_pipeline::write::Writing;

/// What is known before the first row.
pub(crate) struct PartsJob<'j, 'o> {
    /// Tables without values: only their numbers of rows and their columns count.
    pub(crate) tables: &'j [Table],
    pub(crate) comments: &'j [String],
    pub(crate) infos: &'j [String],
    /// The folder for relative names of files in comments.
    pub(crate) folder: &'j SourceFolder,
    pub(crate) format: Format,
    /// The output's name in messages.
    pub(crate) name: &'j str,
    pub(crate) links: Relinker<'j>,
    pub(crate) options: &'o WriteOptions,
    pub(crate) report: &'j mut Report,
}

/// A file whose first row is about to be written.
pub(crate) struct TableParts<'a> {
    /// Files to put in place with it.
    pub(crate) copies: Vec<Written>,
    comments: Vec<String>,
    options: &'a WriteOptions,
    kind: TablePartsKind<'a>,
}

enum TablePartsKind<'a> {
    #[cfg(feature = "ply")]
    Elements {
        infos: Vec<String>,
        parts: Option<ply::PlyTableParts<'a>>,
    },
    Rows {
        format: TableFormat,
        total: u64,
        is_begun: bool,
    },
    #[cfg(not(feature = "ply"))]
    #[allow(dead_code, reason = "a lifetime needs a use")]
    Nothing(&'a ()),
}

/// Begins the elements of a PLY file.
#[cfg(feature = "ply")]
pub(crate) fn begin_elements<'o>(job: PartsJob<'_, 'o>) -> Result<TableParts<'o>> {
    let PartsJob { comments, infos, folder, name, links, options, report, .. } = job;
    ply::note_remarks([comments, infos], name, &mut report.warnings);
    let (comments, copies) = begin_remarks(comments, folder, links, report)?;
    let kind = TablePartsKind::Elements { infos: infos.to_vec(), parts: None };
    Ok(TableParts { copies, comments: comments.into_owned(), options, kind })
}

/// Begins a table of numbers.
pub(crate) fn begin_rows<'o>(job: PartsJob<'_, 'o>) -> Result<TableParts<'o>> {
    let PartsJob { tables, comments, folder, format, name, links, options, report, .. } = job;
    let ([table], format) = (tables, table_kind(format)?) else {
        return Err(Error::new(ErrorKind::Internal, "several tables for a format of one"));
    };
    let total = table.row_count as u64;
    let empty = Table { row_count: 0, ..table.clone() };
    report.warnings.extend(note_losses(&empty, &Rows::of_table(&empty)?, format, options, name));
    let comments = note_row_remarks(comments, format, options, name, report);
    let (comments, copies) = begin_remarks(comments, folder, links, report)?;
    let kind = TablePartsKind::Rows { format, total, is_begun: false };
    Ok(TableParts { copies, comments: comments.into_owned(), options, kind })
}

impl TableParts<'_> {
    /// Begins the file.
    pub(crate) fn begin(&mut self, tables: &[Table], writing: &mut Writing<'_, '_>) -> Result<()> {
        match &mut self.kind {
            #[cfg(feature = "ply")]
            TablePartsKind::Elements { infos, parts } => {
                let begun = ply::PlyTableParts::begin(tables, [&self.comments, infos], &self.options.ply, writing)?;
                *parts = Some(begun);
                Ok(())
            }
            // The first part of rows tells the types of columns; a table without rows has one too.
            TablePartsKind::Rows { total: 0, .. } => match tables {
                [table] => self.write(0, table, writing).map(drop),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Writes the next rows of table `number`; `false` if they do not fit what was begun.
    pub(crate) fn write(&mut self, number: usize, part: &Table, writing: &mut Writing<'_, '_>) -> Result<bool> {
        let run = &self.options.run;
        match &mut self.kind {
            #[cfg(feature = "ply")]
            TablePartsKind::Elements { parts, .. } => match parts {
                Some(parts) => parts.write(number, part, run, writing),
                None => Ok(false),
            },
            // There is one table.
            TablePartsKind::Rows { .. } if number > 0 => Ok(false),
            TablePartsKind::Rows { format, total, is_begun } => {
                let (rows, style) = (Rows::of_table(part)?, &self.options.table);
                match (*format, std::mem::replace(is_begun, true)) {
                    (TableFormat::Npy, false) => table::npy::write_first(&rows, *total, run, writing)?,
                    (TableFormat::Npy, true) => table::npy::write_more(&rows, run, writing)?,
                    (format, false) => table::write(&rows, &self.comments, format, style, run, writing)?,
                    (format, true) => table::write_more(&rows, format, style, run, writing)?,
                }
                Ok(true)
            }
            #[cfg(not(feature = "ply"))]
            TablePartsKind::Nothing(()) => Ok(false),
        }
    }
}
