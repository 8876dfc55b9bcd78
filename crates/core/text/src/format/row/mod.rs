//! Row formats: templates, compiled once, that turn rows of typed columns into text.
//!
//! A [`RowFormat`] is compiled from a `printf` template ([`RowFormat::printf`]) or from a template with named fields
//! ([`RowFormat::fields`]). Binding it to [`StridedColumn`]s yields a [`BoundFormat`], which threads can share: each
//! appends its range of rows to its own [`Page`](super::Page), without allocations or locks. Only complete rows are
//! appended. Columns are bytes with a stride: fields of records, columns of a matrix, or separate arrays.
//!
//! Where to look next: `template` (both notations), `spec` (one conversion), `build` (from template to steps), `run`
//! (the loops), `cells` and `x86` (the fast path for most values on CPUs with AVX-512), `number`, `text` and `python`
//! (all other values).
//!
//! ```
//! use polyhaul_text::format::{Page, PrintfDialect, RowFormat, StridedColumn, ValueType};
//!
//! // Records of 8 bytes: a bool, three bytes of padding, an f32.
//! let mut records = Vec::new();
//! for (flag, value) in [(true, 1.5_f32), (false, -20.25)] {
//!     records.extend([u8::from(flag), 0, 0, 0]);
//!     records.extend(value.to_ne_bytes());
//! }
//! let columns = [(0, ValueType::Bool), (4, ValueType::F32)]
//!     .map(|(offset, kind)| StridedColumn::new(&records, offset, 8, 2, kind).unwrap());
//!
//! let format = RowFormat::fields("{flag:y/n} {value:.2f}\n", |name| match name {
//!     "flag" => Some((0, ValueType::Bool)),
//!     "value" => Some((1, ValueType::F32)),
//!     _ => None,
//! })?;
//! let rows = format.over(&columns)?;
//! let mut buffer = [0; 100];
//! let mut page = Page::new(&mut buffer);
//! assert_eq!(rows.write(&mut page, 0..2)?, 2);
//! assert_eq!(page.as_bytes(), b"y 1.50\nn -20.25\n");
//!
//! let format = RowFormat::printf("%d;%10.3e\n", &[ValueType::Bool, ValueType::F32], PrintfDialect::Python)?;
//! page.clear();
//! format.over(&columns)?.write(&mut page, 1..2)?;
//! assert_eq!(page.as_bytes(), b"0;-2.025e+01\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod cells;
mod column;
mod error;
mod number;
mod python;
mod run;
mod spec;
mod template;
mod text;
#[cfg(target_arch = "x86_64")]
mod x86;

use polyhaul_fault::planted;
use std::ops::Range;

use super::Page;
use build::{CellFill, FormatBuilder, RowStep};

pub use column::{StridedColumn, ValueType};
pub use error::{ColumnsError, RowValueError, TemplateError, TemplateProblem};
pub use spec::{MAX_PRECISION, MAX_WIDTH, PrintfDialect};

/// A compiled template.
#[derive(Clone, Debug)]
pub struct RowFormat {
    steps: Vec<RowStep>,
    fills: Vec<CellFill>,
    /// Column indices and their required types, in order of use.
    kinds: Vec<(usize, ValueType)>,
    /// Long constant texts.
    texts: Vec<u8>,
    max_bytes: usize,
    keeps_nan_sign: bool,
}

impl RowFormat {
    /// Compiles a `printf` template: one conversion per column, in order.
    ///
    /// Supports `%d %i %u` (synonyms, except that `%u` ignores `+` and space in C: the value determines the sign, and
    /// floats are truncated), `%f %F %e %E %g %G` (integers are converted to f64), `%s` and `%%`; the flags `- + space
    /// 0 #`; a width up to [`MAX_WIDTH`] and a precision up to [`MAX_PRECISION`]. All digits are exact. Bools count as
    /// 0 and 1 except with `%s`; byte and text columns accept only `%s`. Everything else is an error: other letters,
    /// `*`, length modifiers, too few or too many columns.
    pub fn printf(template: &str, columns: &[ValueType], dialect: PrintfDialect) -> Result<Self, TemplateError> {
        let mut builder = FormatBuilder::new(dialect);
        template::printf(template.as_bytes(), columns, &mut builder)?;
        builder.finish().map_err(|problem| problem.at(0, template.len()))
    }

    /// Compiles a template with named fields. `field` returns the column index and type of the field with that name.
    ///
    /// | notation | text |
    /// |---|---|
    /// | `{name}` | the plain value: an integer, the shortest digits, `true` or `false`, bytes up to the first NUL |
    /// | `{name:.2f}`, `{name:+8.3e}`, `{name:05d}`, `{name:10s}` | a conversion, as after `%` in C's `printf` |
    /// | `{name:yes/no}` | for bools: the text for true, then the text for false; either may be empty |
    /// | `{{`, `}}` | a literal brace |
    ///
    /// A name extends to the next `:` or `}`. A field may be used any number of times.
    pub fn fields(
        template: &str,
        field: impl FnMut(&str) -> Option<(usize, ValueType)>,
    ) -> Result<Self, TemplateError> {
        let mut builder = FormatBuilder::new(template::FIELDS_DIALECT);
        template::fields(template, field, &mut builder)?;
        builder.finish().map_err(|problem| problem.at(0, template.len()))
    }

    /// Disables the vector kernels, for tests and comparisons. The text is the same.
    pub fn portable(mut self) -> Self {
        self.fills.clear();
        self.steps.iter_mut().for_each(|step| step.cell = None);
        self
    }

    /// Returns the maximum length of a row in bytes. A page with room for 64 bytes more always accepts a row at full
    /// speed.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Binds the format to its columns. Fails if one is missing, or has a different type than the format was compiled
    /// for.
    pub fn over<'a>(&'a self, columns: &'a [StridedColumn<'a>]) -> Result<BoundFormat<'a>, ColumnsError> {
        let mut count = usize::MAX;
        for &(column, expected) in &self.kinds {
            let given = columns.get(column).ok_or(ColumnsError::Missing { column })?;
            if given.kind() != expected {
                return Err(ColumnsError::Type { column, expected, found: given.kind() });
            }
            count = count.min(given.count());
        }
        Ok(BoundFormat { format: self, columns, count })
    }
}

/// A format bound to columns. It is read-only, so threads can share it, each with its own page and range.
#[derive(Clone, Copy, Debug)]
pub struct BoundFormat<'a> {
    format: &'a RowFormat,
    columns: &'a [StridedColumn<'a>],
    count: usize,
}

impl BoundFormat<'_> {
    /// Returns the number of rows: the length of the shortest column in use, or `usize::MAX` if no column is in use.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends the rows of a range while they fit. Returns the number of rows written.
    ///
    /// Rows that do not fit leave the overflow flag unset: flush the page and continue with them. Returns 0 only if the
    /// first row is longer than the room, or if the range is empty. Never allocates.
    ///
    /// Fails if a value cannot be converted, such as NaN with an integer conversion; the page is then unchanged.
    pub fn write(&self, page: &mut Page<'_>, rows: Range<usize>) -> Result<usize, RowValueError> {
        let rows = rows.start..rows.end.min(self.count);
        if planted("rows-allocate") {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(1)));
        }
        match self.format.fills.len() {
            0 => self.run::<0>(page, rows),
            1 => self.run::<1>(page, rows),
            2 => self.run::<2>(page, rows),
            3 => self.run::<3>(page, rows),
            4 => self.run::<4>(page, rows),
            5..=8 => self.run::<8>(page, rows),
            9..=16 => self.run::<16>(page, rows),
            _ => self.run::<{ RowFormat::MAX_CELLS }>(page, rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cells::CellFiller;
    use super::*;
    use crate::format::fixed::Scale;

    /// Cells affect only the speed, so no other test checks that they are used.
    #[test]
    fn plain_numbers_go_into_cells_where_the_cpu_can() {
        let can = usize::from(CellFiller::if_possible(Scale::new(2), None).is_some());
        let cells = |template: &str, kind: ValueType| {
            let format = RowFormat::printf(template, &[kind; 2], PrintfDialect::Python).unwrap();
            (format.fills.len(), format.steps.len())
        };
        for template in ["%d %d\n", "%.6f,%.2f\n", "%12.3f %-7.0f\n", "%14d|%-3u\n"] {
            for kind in [ValueType::I32, ValueType::U64, ValueType::F32, ValueType::F64] {
                assert_eq!(cells(template, kind), (2 * can, 2), "{template} of {kind}");
            }
        }
        // Texts use cells only if the whole row then consists of cells.
        assert_eq!(cells("v %.6f, %.6f\n", ValueType::F32), (4 * can, 4));
        assert_eq!(cells("v %.6f, %e\n", ValueType::F32), (can, 4));
        assert_eq!(cells("%+.6f %016.3f\n", ValueType::F32), (0, 2));
        assert_eq!(cells("%s %.13f\n", ValueType::F64), (0, 2));
        assert_eq!(cells("%s %s\n", ValueType::I64), (2 * can, 2));
    }
}
