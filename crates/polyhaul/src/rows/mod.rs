//! Formats rows of typed columns as text with a compiled format, in parallel, into a buffer or a sink.
//!
//! Compile a format once, with [`printf`] or [`fields`]; the columns borrow the caller's memory. Formatting a row
//! neither allocates nor locks, and the output is identical for any number of threads. [`polyhaul_text::format`]
//! describes the syntax of row formats; this module adds threads, output positions and sinks. It is independent of file
//! formats.
//!
//! See also `buffer` (a single buffer owned by the caller) and `pages` (a file or a stream).
//!
//! ```
//! use polyhaul::options::RunOptions;
//! use polyhaul::rows::{self, StridedColumn, ValueType};
//!
//! let flags = [1u8, 0, 1];
//! let values = [1.5f32, -20.25, 0.0].map(f32::to_ne_bytes);
//! let columns = [
//!     StridedColumn::new(&flags, 0, 1, 3, ValueType::Bool).unwrap(),
//!     StridedColumn::new(values.as_flattened(), 0, 4, 3, ValueType::F32).unwrap(),
//! ];
//! let format = rows::fields("{flag:y/n} {value:.2f}\n", |name| match name {
//!     "flag" => Some((0, ValueType::Bool)),
//!     "value" => Some((1, ValueType::F32)),
//!     _ => None,
//! })?;
//! let mut text = [0; 100];
//! let length = rows::format_rows(&format, &columns, &mut text, &RunOptions::default())?;
//! assert_eq!(&text[..length], b"y 1.50\nn -20.25\ny 0.00\n");
//! # Ok::<(), polyhaul::Error>(())
//! ```

mod buffer;
mod pages;

pub use buffer::{format_rows, format_rows_to_vec};
pub use pages::write_rows;
pub use polyhaul_text::format::{
    BoundFormat, ColumnsError, PrintfDialect, RowFormat, RowValueError, StridedColumn, TemplateError, ValueType,
};

use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Excerpt, Place, Result};
use polyhaul_text::format::Page;

/// Compiles a `printf` template, like [`RowFormat::printf`]. An invalid template is a usage error that points to the
/// problem.
pub fn printf(template: &str, columns: &[ValueType], dialect: PrintfDialect) -> Result<RowFormat> {
    RowFormat::printf(template, columns, dialect).map_err(|error| in_template(template, error))
}

/// Compiles a template with named fields, like [`RowFormat::fields`]. An invalid template is a usage error that points
/// to the problem.
pub fn fields(template: &str, field: impl FnMut(&str) -> Option<(usize, ValueType)>) -> Result<RowFormat> {
    RowFormat::fields(template, field).map_err(|error| in_template(template, error))
}

fn in_template(template: &str, error: TemplateError) -> Error {
    let diagnostic = Diagnostic {
        message: error.to_string(),
        place: Place { offset: Some(error.offset as u64), ..Place::default() },
        excerpt: Some(Excerpt::of_line(template.as_bytes(), error.offset..error.offset + error.length)),
        ..Diagnostic::default()
    };
    diagnostic.into_error(ErrorKind::Usage)
}

/// Binds a format to its columns.
fn bound<'a>(format: &'a RowFormat, columns: &'a [StridedColumn<'a>]) -> Result<BoundFormat<'a>> {
    let rows = format.over(columns).map_err(|error| Error::new(ErrorKind::Usage, error.to_string()))?;
    match rows.count() {
        usize::MAX => {
            Err(Error::new(ErrorKind::Usage, "the template refers to no column, so the number of rows is unknown"))
        }
        _ => Ok(rows),
    }
}

/// Converts the error for a value that has no text in this format.
fn in_row(error: RowValueError) -> Error {
    Error::new(ErrorKind::Usage, error.to_string())
}

/// Rows sampled to estimate the total size: the number of rows per sample, and of samples.
const SAMPLE_ROWS: usize = 32;
const SAMPLES: usize = 8;

/// Estimates the bytes per row; at least 1.
fn about_row_bytes(rows: &BoundFormat<'_>, max_bytes: usize) -> usize {
    let mut buffer = [0; 16 << 10];
    let mut page = Page::new(&mut buffer);
    let mut bytes = 0;
    let mut count = 0;
    for sample in 0..SAMPLES {
        let start = rows.count() / SAMPLES * sample;
        page.clear();
        // The real run reports values that cannot be written.
        count += rows.write(&mut page, start..start.saturating_add(SAMPLE_ROWS)).unwrap_or(0);
        bytes += page.len();
    }
    if count == 0 { max_bytes.max(1) } else { bytes.div_ceil(count).max(1) }
}
