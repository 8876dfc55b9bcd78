//! Formats rows into a sink, page by page, on the pipeline.

use super::{about_row_bytes, bound, in_row};
use crate::input::Output;
use crate::options::WriteOptions;
use crate::outputs::write_to;
use crate::report::{Clock, Report};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, try_copy};
use polyhaul_pipeline::crew::within;
use polyhaul_pipeline::out::Out;
use polyhaul_pipeline::write::Pages;
use polyhaul_text::format::{BoundFormat, RowFormat, StridedColumn};
use std::sync::Arc;

/// Approximate size of a page of text.
const PAGE_BYTES: usize = 256 << 10;
/// Maximum size of a page, unless a single row is longer.
const MAX_PAGE_BYTES: u64 = 8 << 20;

/// Writes `head`, all rows, and `foot`. A file is replaced atomically.
///
/// The output is the same for any number of threads. Compression works as for scenes; options of individual formats are
/// ignored. Memory use is limited to `options.run.memory_limit`, or to the size of the longest possible row if that is
/// larger.
///
/// Returns an error if a value cannot be written in this format, such as NaN as an integer (the message states the row
/// and column), if the columns do not match the format, or if the sink fails.
pub fn write_rows(
    format: &RowFormat,
    columns: &[StridedColumn<'_>],
    head: &[u8],
    foot: &[u8],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    let rows = bound(format, columns)?;
    within(&options.run, || write(&rows, format, [head, foot], output, options))
}

fn write(
    rows: &BoundFormat<'_>,
    format: &RowFormat,
    [head, foot]: [&[u8]; 2],
    output: Output,
    options: &WriteOptions,
) -> Result<Report> {
    let mut report = Report::default();
    let clock = Clock::start("write");
    write_to(output, None, options, &mut report, |writing, name, _| {
        let pages = RowPages::new(rows, format.max_bytes(), foot, name, options);
        let text = (rows.count() as u64).saturating_mul(pages.row_bytes as u64);
        writing.announce(text.saturating_add((head.len() + foot.len()) as u64));
        writing.set_head(try_copy(head, "the text before the rows")?);
        writing.pages(&pages, &mut (), pages.count(), pages.most_bytes())
    })?;
    clock.stop(&mut report);
    Ok(report)
}

struct RowPages<'a> {
    rows: &'a BoundFormat<'a>,
    foot: &'a [u8],
    name: &'a str,
    /// Estimated and maximum size of a row.
    row_bytes: usize,
    max_bytes: usize,
    page_rows: usize,
}

/// A page in flight.
struct RowsPageSlot {
    number: usize,
    out: Out,
}

impl<'a> RowPages<'a> {
    fn new(rows: &'a BoundFormat<'a>, max_bytes: usize, foot: &'a [u8], name: &'a str, options: &WriteOptions) -> Self {
        let run = &options.run;
        let row_bytes = about_row_bytes(rows, max_bytes);
        let page_bytes = run.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
        // Enough pages in flight to keep all threads busy, even if all have the maximum size.
        let slots = 2 * run.worker_threads() as u64 + 2;
        let most_bytes = (run.memory_limit / slots).min(MAX_PAGE_BYTES) as usize;
        let page_rows = (page_bytes / row_bytes).min(most_bytes / max_bytes.max(1)).max(1);
        RowPages { rows, foot, name, row_bytes, max_bytes, page_rows }
    }

    /// Number of pages: at least one, for the footer.
    fn count(&self) -> u64 {
        self.rows.count().div_ceil(self.page_rows).max(1) as u64
    }

    /// Maximum size of a page.
    fn most_bytes(&self) -> usize {
        self.page_rows.saturating_mul(self.max_bytes).saturating_add(self.foot.len())
    }

    fn error(&self, error: Error) -> Error {
        let place = Place { file: Arc::from(self.name), ..Place::default() };
        Diagnostic { place, ..error.diagnostic().clone() }.into_error(ErrorKind::Usage)
    }
}

impl Pages for RowPages<'_> {
    type Slot = RowsPageSlot;
    type State = ();

    fn slot(&self) -> Result<RowsPageSlot> {
        Ok(RowsPageSlot { number: 0, out: Out::default() })
    }

    fn take(&self, number: u64, slot: &mut RowsPageSlot) -> Result<bool> {
        slot.number = number as usize;
        slot.out.clear();
        Ok(number < self.count())
    }

    fn format(&self, RowsPageSlot { number, out }: &mut RowsPageSlot) -> Result<()> {
        let mut row = *number * self.page_rows;
        let end = row.saturating_add(self.page_rows).min(self.rows.count());
        let mut failed = None;
        out.format(|page| {
            match self.rows.write(page, row..end) {
                Ok(count) => row += count,
                Err(error) => failed = Some(error),
            }
            row == end || failed.is_some()
        })?;
        if let Some(error) = failed {
            return Err(self.error(in_row(error)));
        }
        if end == self.rows.count() && !self.foot.is_empty() { out.whole(|page| page.bytes(self.foot)) } else { Ok(()) }
    }

    fn bytes<'a>(&'a self, slot: &'a RowsPageSlot) -> &'a [u8] {
        slot.out.text()
    }
}
