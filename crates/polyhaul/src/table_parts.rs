//! Writes tables in parts, on several threads, for the rows of the registry.
//!
//! The content before the first row, and its warnings, are the same as in [`crate::table_job`]. `convert::stream`
//! decides which rows come next.

use crate::format::Format;
use crate::options::WriteOptions;
use crate::outputs::Written;
use crate::references::Relinker;
use crate::report::Report;
use crate::table_job::{note_losses, note_row_remarks, start_remarks, table_kind};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{SourceFolder, Table};
use polyhaul_pipeline::write::Writing;
use polyhaul_table::{RowPartText, RowParts, Rows, TableFormat};

/// Information available before the first row.
pub(crate) struct PartsJob<'j, 'o> {
    /// Tables without values; only row counts and columns matter.
    pub(crate) tables: &'j [Table],
    pub(crate) comments: &'j [String],
    pub(crate) infos: &'j [String],
    /// Folder for relative file names in comments.
    pub(crate) folder: &'j SourceFolder,
    pub(crate) format: Format,
    /// Name of the output in messages.
    pub(crate) name: &'j str,
    pub(crate) links: Relinker<'j>,
    pub(crate) options: &'o WriteOptions,
    pub(crate) report: &'j mut Report,
}

/// A file that has not been started.
pub(crate) struct TablePartsStart<'o> {
    pub(crate) start: StartParts<'o>,
    /// Files to rename together with it.
    pub(crate) copies: Vec<Written>,
}

/// Writes the content before the rows; the tables have row counts and columns, but no values.
pub(crate) type StartParts<'o> =
    Box<dyn FnOnce(&[Table], &mut Writing<'_, '_>) -> Result<Box<dyn TableParts + 'o>> + 'o>;

/// A file whose rows are being written.
pub(crate) trait TableParts: Sync {
    /// A formatter of rows; each thread uses its own.
    fn formatter(&self) -> Box<dyn PartFormatter + '_>;

    /// Whether rows of table `number` are written packed; see
    /// [`is_packed`](polyhaul_pipeline::table_parts::TableSource::is_packed).
    fn is_packed(&self, number: usize, table: &Table) -> bool;

    /// Whether values are written as text, which takes more space.
    fn is_text(&self) -> bool;
}

/// Formats rows of a file into reusable memory.
pub(crate) trait PartFormatter: Send {
    /// Formats rows of table `number`. Returns `false` if they contradict the content before the rows.
    fn format(&mut self, number: usize, part: &Table) -> Result<bool>;

    /// The rows formatted last.
    fn bytes(&self) -> &[u8];
}

/// Prepares a table of numbers.
pub(crate) fn start_rows<'o>(job: PartsJob<'_, 'o>) -> Result<TablePartsStart<'o>> {
    let PartsJob { tables, comments, folder, format, name, links, options, report, .. } = job;
    let kind = table_kind(format)?;
    let table = only_table(tables)?;
    // The values are not available yet, so only rows without columns can be counted.
    let row_count = if table.columns.is_empty() { table.row_count } else { 0 };
    let empty = Table { row_count, ..table.clone() };
    report.warnings.extend(note_losses(&empty, &Rows::of_table(&empty)?, kind, options, name));
    let comments = note_row_remarks(comments, kind, options, name, report);
    let (comments, copies) = start_remarks(comments, folder, links, report)?;
    let comments = comments.into_owned();
    let start: StartParts<'o> = Box::new(move |tables, writing| {
        let parts = RowParts::start(only_table(tables)?, &comments, kind, options.table_style(), writing)?;
        Ok(Box::new(NumberParts { kind, parts }))
    });
    Ok(TablePartsStart { start, copies })
}

fn only_table(tables: &[Table]) -> Result<&Table> {
    match tables {
        [table] => Ok(table),
        _ => Err(Error::new(ErrorKind::Internal, "several tables for a format of one")),
    }
}

/// A table of numbers.
struct NumberParts<'o> {
    kind: TableFormat,
    parts: RowParts<'o>,
}

impl TableParts for NumberParts<'_> {
    fn formatter(&self) -> Box<dyn PartFormatter + '_> {
        Box::new(NumberFormatter { parts: &self.parts, text: RowPartText::default() })
    }

    fn is_packed(&self, number: usize, table: &Table) -> bool {
        let has_lists = table.columns.iter().any(|column| column.offsets.is_some());
        self.kind == TableFormat::Npy && number == 0 && !has_lists
    }

    fn is_text(&self) -> bool {
        self.kind != TableFormat::Npy
    }
}

struct NumberFormatter<'p> {
    parts: &'p RowParts<'p>,
    text: RowPartText,
}

impl PartFormatter for NumberFormatter<'_> {
    fn format(&mut self, number: usize, part: &Table) -> Result<bool> {
        if number != 0 {
            return Ok(false);
        }
        self.parts.format(part, &mut self.text).map(|()| true)
    }

    fn bytes(&self) -> &[u8] {
        self.parts.bytes(&self.text)
    }
}
