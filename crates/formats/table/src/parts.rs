//! Formats tables in parts, on several threads. Everything before the rows comes first, followed by the rows of each
//! part.
//!
//! `writer` and `npy` convert rows to bytes. The caller determines the order of the parts.

use super::TableFormat;
use super::npy::writer as npy;
use super::writer::{Rows, TablePageSlot, plan};
use polyhaul_model::Table;
use polyhaul_model::error::Result;
use polyhaul_model::options::{FormatOptions, TableWriteOptions};
use polyhaul_pipeline::write::{Pages, Writing};

/// A file whose columns are known, ready for rows.
pub struct RowParts<'o> {
    format: TableFormat,
    style: FormatOptions<'o, TableWriteOptions>,
}

/// Formatted rows of a part. The memory can be reused for other parts.
#[derive(Default)]
pub struct RowPartText {
    lines: TablePageSlot,
    records: npy::NpyPageSlot,
}

impl<'o> RowParts<'o> {
    /// Starts a file with the columns of `table` and its number of rows. The columns must not have values yet.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](polyhaul_model::error::ErrorKind::Usage) if a column has lists or values, or if the options
    /// do not match the columns.
    pub fn start(
        table: &Table,
        comments: &[String],
        format: TableFormat,
        style: FormatOptions<'o, TableWriteOptions>,
        writing: &mut Writing<'_, '_>,
    ) -> Result<RowParts<'o>> {
        let empty = Table { row_count: 0, ..table.clone() };
        let rows = Rows::of_table(&empty)?;
        writing.set_head(match format {
            TableFormat::Npy => npy::head(&rows, table.row_count as u64)?,
            _ => plan(&rows, format, style, usize::MAX)?.head(comments, format)?,
        });
        Ok(RowParts { format, style })
    }

    /// Formats the rows of a part into `text`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](polyhaul_model::error::ErrorKind::Usage) if a column has lists or a wrong number of rows,
    /// or if the options do not match the columns.
    pub fn format(&self, part: &Table, text: &mut RowPartText) -> Result<()> {
        let rows = Rows::of_table(part)?;
        if rows.line_count() == 0 {
            // There is no page for such a part, and rows without columns take no bytes.
            *text = RowPartText::default();
            return Ok(());
        }
        match self.format {
            TableFormat::Npy => whole_page(&npy::records(&rows, usize::MAX)?, &mut text.records),
            format => whole_page(&plan(&rows, format, self.style, usize::MAX)?, &mut text.lines),
        }
    }

    /// Returns the formatted rows.
    pub fn bytes<'t>(&self, text: &'t RowPartText) -> &'t [u8] {
        match self.format {
            TableFormat::Npy => text.records.bytes(),
            _ => text.lines.bytes(),
        }
    }
}

/// Formats all rows, of which there is at least one, as a single page.
fn whole_page<P: Pages>(pages: &P, slot: &mut P::Slot) -> Result<()> {
    pages.take(0, slot)?;
    pages.format(slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::options::SceneWriteOptions;
    use polyhaul_model::{Column, Values};

    #[test]
    fn parts_may_be_empty() {
        let scene = SceneWriteOptions::default();
        let table = TableWriteOptions::default();
        let style = FormatOptions { scene: &scene, own: &table };
        let single = |values: Vec<f32>| Table {
            name: String::new(),
            row_count: values.len(),
            columns: vec![Column { name: "x".into(), values: Values::F32(values.into()), offsets: None }],
        };
        let bare = Table { name: String::new(), row_count: 3, columns: Vec::new() };
        for (format, row) in [(TableFormat::Csv, &b"1\n"[..]), (TableFormat::Npy, &[0, 0, 0x80, 0x3F])] {
            let parts = RowParts { format, style };
            let mut text = RowPartText::default();
            for (part, expected) in [(single(vec![1.0]), row), (single(Vec::new()), &[]), (bare.clone(), &[])] {
                parts.format(&part, &mut text).unwrap();
                assert_eq!(parts.bytes(&text), expected, "{format:?}");
            }
        }
    }
}
