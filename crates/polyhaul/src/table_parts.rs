//! Tables that are written part by part, by several threads: the shared part of their rows in the registry.
//!
//! What a format notes and writes before the first row is that of [`crate::table_job`]. Which rows come next is up to
//! `convert::stream`.

use crate::format::Format;
use crate::options::WriteOptions;
use crate::outputs::Written;
use crate::references::Relinker;
use crate::report::Report;
use crate::table_job::{begin_remarks, note_losses, note_row_remarks, table_kind};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{SourceFolder, Table};
use polyhaul_pipeline::write::Writing;
#[cfg(feature = "ply")]
use polyhaul_ply as ply;
use polyhaul_table::{RowPartText, RowParts, Rows, TableFormat};

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
        parts: Option<RowParts<'a>>,
    },
}

/// Formatted rows: reused memory.
#[derive(Default)]
pub(crate) struct TablePartText {
    #[cfg(feature = "ply")]
    elements: ply::PlyPartText,
    rows: RowPartText,
}

/// A file that was begun, and the files to put in place with it.
pub(crate) type BegunParts<'a> = (TableParts<'a>, Vec<Written>);

/// Begins the elements of a PLY file.
#[cfg(feature = "ply")]
pub(crate) fn begin_elements<'o>(job: PartsJob<'_, 'o>) -> Result<BegunParts<'o>> {
    let PartsJob { comments, infos, folder, name, links, options, report, .. } = job;
    ply::note_remarks([comments, infos], name, &mut report.warnings);
    let (comments, copies) = begin_remarks(comments, folder, links, report)?;
    let kind = TablePartsKind::Elements { infos: infos.to_vec(), parts: None };
    Ok((TableParts { comments: comments.into_owned(), options, kind }, copies))
}

/// Begins a table of numbers.
pub(crate) fn begin_rows<'o>(job: PartsJob<'_, 'o>) -> Result<BegunParts<'o>> {
    let PartsJob { tables, comments, folder, format, name, links, options, report, .. } = job;
    let ([table], format) = (tables, table_kind(format)?) else {
        return Err(Error::new(ErrorKind::Internal, "several tables for a format of one"));
    };
    let empty = Table { row_count: 0, ..table.clone() };
    report.warnings.extend(note_losses(&empty, &Rows::of_table(&empty)?, format, options, name));
    let comments = note_row_remarks(comments, format, options, name, report);
    let (comments, copies) = begin_remarks(comments, folder, links, report)?;
    let kind = TablePartsKind::Rows { format, parts: None };
    Ok((TableParts { comments: comments.into_owned(), options, kind }, copies))
}

impl TableParts<'_> {
    /// Writes what comes before the rows.
    pub(crate) fn begin(&mut self, tables: &[Table], writing: &mut Writing<'_, '_>) -> Result<()> {
        match (&mut self.kind, tables) {
            #[cfg(feature = "ply")]
            (TablePartsKind::Elements { infos, parts }, _) => {
                let remarks = [&self.comments[..], infos];
                *parts = Some(ply::PlyTableParts::start(tables, remarks, self.options.ply_style(), writing)?);
            }
            (TablePartsKind::Rows { format, parts }, [table]) => {
                *parts = Some(RowParts::start(table, &self.comments, *format, self.options.table_style(), writing)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Formats rows of table `number`; `false` if they do not fit what was begun.
    pub(crate) fn format(&self, number: usize, part: &Table, text: &mut TablePartText) -> Result<bool> {
        match &self.kind {
            #[cfg(feature = "ply")]
            TablePartsKind::Elements { parts: Some(parts), .. } => parts.format(number, part, &mut text.elements),
            TablePartsKind::Rows { parts: Some(parts), .. } if number == 0 => {
                parts.format(part, &mut text.rows).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// The rows that were formatted.
    pub(crate) fn bytes<'t>(&self, text: &'t TablePartText) -> &'t [u8] {
        match &self.kind {
            #[cfg(feature = "ply")]
            TablePartsKind::Elements { parts: Some(parts), .. } => parts.bytes(&text.elements),
            TablePartsKind::Rows { parts: Some(parts), .. } => parts.bytes(&text.rows),
            _ => &[],
        }
    }

    /// Whether rows of table `number` are written packed; see
    /// [`is_packed`](polyhaul_pipeline::table_parts::TableSource::is_packed).
    pub(crate) fn is_packed(&self, number: usize, table: &Table) -> bool {
        match &self.kind {
            #[cfg(feature = "ply")]
            TablePartsKind::Elements { parts, .. } => {
                parts.as_ref().is_some_and(|parts| parts.is_packed(number, table))
            }
            TablePartsKind::Rows { format, .. } => {
                let has_lists = table.columns.iter().any(|column| column.offsets.is_some());
                *format == TableFormat::Npy && number == 0 && !has_lists
            }
        }
    }

    /// Whether values are written as text, which takes more bytes.
    pub(crate) fn is_text(&self) -> bool {
        match &self.kind {
            #[cfg(feature = "ply")]
            TablePartsKind::Elements { .. } => self.options.scene.ascii,
            TablePartsKind::Rows { format, .. } => *format != TableFormat::Npy,
        }
    }
}
