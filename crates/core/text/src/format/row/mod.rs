//! Row formats: a template, compiled once, that turns rows of typed columns into text.
//!
//! A [`RowFormat`] is made from a `printf` template ([`RowFormat::printf`]) or from one with named fields
//! ([`RowFormat::fields`]). Bound to [`Column`]s it becomes [`Rows`], which threads can share and from which each
//! appends its range of rows to its own [`Page`](super::Page): without allocations or locks, whole rows or none. The
//! columns are bytes with a stride: fields of records, columns of a matrix, or separate arrays.
//!
//! Where to look next: `template` (both notations), `spec` (one conversion), `build` (from template to steps), `run`
//! (the loops), `cells` and `x86` (how most values are written if the CPU allows it), `number`, `text` and `python`
//! (everything else).
//!
//! ```
//! use polyhaul_text::format::{Column, Dialect, Kind, Page, RowFormat};
//!
//! // Records of 8 bytes: a bool, three bytes of padding, an f32.
//! let mut records = Vec::new();
//! for (flag, value) in [(true, 1.5_f32), (false, -20.25)] {
//!     records.extend([u8::from(flag), 0, 0, 0]);
//!     records.extend(value.to_ne_bytes());
//! }
//! let columns = [(0, Kind::Bool), (4, Kind::F32)]
//!     .map(|(offset, kind)| Column::new(&records, offset, 8, 2, kind).unwrap());
//!
//! let format = RowFormat::fields("{flag:y/n} {value:.2f}\n", |name| match name {
//!     "flag" => Some((0, Kind::Bool)),
//!     "value" => Some((1, Kind::F32)),
//!     _ => None,
//! })?;
//! let rows = format.over(&columns)?;
//! let mut buffer = [0; 100];
//! let mut page = Page::new(&mut buffer);
//! assert_eq!(rows.write(&mut page, 0..2)?, 2);
//! assert_eq!(page.as_bytes(), b"y 1.50\nn -20.25\n");
//!
//! let format = RowFormat::printf("%d;%10.3e\n", &[Kind::Bool, Kind::F32], Dialect::Python)?;
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

use std::ops::Range;

use super::Page;
use build::{Builder, Fill, Step};

pub use column::{Column, Kind};
pub use error::{ColumnsError, Problem, RowError, TemplateError};
pub use spec::{Dialect, MAX_PRECISION, MAX_WIDTH};

/// A compiled template.
#[derive(Clone, Debug)]
pub struct RowFormat {
    steps: Vec<Step>,
    fills: Vec<Fill>,
    /// The type that each column must have, in the order of use.
    kinds: Vec<(usize, Kind)>,
    /// Long texts.
    texts: Vec<u8>,
    max_bytes: usize,
    keeps_nan_sign: bool,
}

impl RowFormat {
    /// Compiles a `printf` template: one conversion for each column, in order.
    ///
    /// `%d %i %u` (synonyms: the value determines the sign; a floating-point value loses its fraction), `%f %F %e %E %g
    /// %G` (integers are converted to f64), `%s`, `%%`; the flags `- + space 0 #`; a width up to [`MAX_WIDTH`] and a
    /// precision up to [`MAX_PRECISION`]. All digits are exact. Bools count as 0 and 1 except for `%s`; columns of
    /// bytes accept `%s` only. Everything else is an error: other letters, `*`, length modifiers, too few or too many
    /// columns.
    pub fn printf(template: &str, columns: &[Kind], dialect: Dialect) -> Result<Self, TemplateError> {
        let mut builder = Builder::new(dialect);
        template::printf(template.as_bytes(), columns, &mut builder)?;
        builder.finish().map_err(|problem| problem.at(0, template.len()))
    }

    /// Compiles a template with named fields, for which `field` gives the index of a column and its type.
    ///
    /// | notation | text |
    /// |---|---|
    /// | `{name}` | the value as it is: an integer, the shortest digits, `true` or `false`, bytes up to the first NUL |
    /// | `{name:.2f}`, `{name:+8.3e}`, `{name:05d}`, `{name:10s}` | as C's `printf` after `%` |
    /// | `{name:yes/no}` | of a bool: the text for true, the text for false; either may be empty |
    /// | `{{`, `}}` | a brace |
    ///
    /// A name is everything before `:` or `}`. A field may be used any number of times.
    pub fn fields(template: &str, field: impl FnMut(&str) -> Option<(usize, Kind)>) -> Result<Self, TemplateError> {
        let mut builder = Builder::new(template::OF_FIELDS);
        template::fields(template, field, &mut builder)?;
        builder.finish().map_err(|problem| problem.at(0, template.len()))
    }

    /// Uses portable instructions only. The text is the same; this is for tests and comparisons.
    pub fn portable(mut self) -> Self {
        self.fills.clear();
        self.steps.iter_mut().for_each(|step| step.cell = None);
        self
    }

    /// The longest row in bytes: a page with this much room plus 64 bytes always accepts one at full speed.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The format with the columns it takes its values from.
    pub fn over<'a>(&'a self, columns: &'a [Column<'a>]) -> Result<Rows<'a>, ColumnsError> {
        let mut count = usize::MAX;
        for &(column, expected) in &self.kinds {
            let found = columns.get(column).ok_or(ColumnsError::Missing { column })?;
            if found.kind() != expected {
                return Err(ColumnsError::Kind { column, expected, found: found.kind() });
            }
            count = count.min(found.count());
        }
        Ok(Rows { format: self, columns, count })
    }
}

/// A format bound to columns. It is read-only: threads share it, each with its own page and range.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    format: &'a RowFormat,
    columns: &'a [Column<'a>],
    count: usize,
}

impl Rows<'_> {
    /// The number of rows: the number of values of the shortest column in use. Unlimited without columns.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Appends the rows of a range while they fit; returns how many did.
    ///
    /// Rows left over are no overflow: empty the page and go on with them. None fits only if a single row is longer
    /// than the room, or if there are no rows in the range. It never allocates.
    ///
    /// An error if a value has no text, as NaN and infinities under an integer conversion; the page is then unchanged.
    pub fn write(&self, page: &mut Page<'_>, rows: Range<usize>) -> Result<usize, RowError> {
        let rows = rows.start..rows.end.min(self.count);
        match self.format.fills.len() {
            0 => self.run::<0>(page, rows),
            1 => self.run::<1>(page, rows),
            2 => self.run::<2>(page, rows),
            3 => self.run::<3>(page, rows),
            4 => self.run::<4>(page, rows),
            5..=8 => self.run::<8>(page, rows),
            9..=16 => self.run::<16>(page, rows),
            _ => self.run::<{ RowFormat::MOST_CELLS }>(page, rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cells::Filler;
    use super::*;
    use crate::format::fixed::Scale;

    /// Whether cells are used shows only in the speed.
    #[test]
    fn plain_numbers_go_into_cells_where_the_cpu_can() {
        let can = usize::from(Filler::if_possible(Scale::new(2), None).is_some());
        let cells = |template: &str, kind: Kind| {
            let format = RowFormat::printf(template, &[kind; 2], Dialect::Python).unwrap();
            (format.fills.len(), format.steps.len())
        };
        for template in ["%d %d\n", "%.6f,%.2f\n", "%12.3f %-7.0f\n", "%14d|%-3u\n"] {
            for kind in [Kind::I32, Kind::U64, Kind::F32, Kind::F64] {
                assert_eq!(cells(template, kind), (2 * can, 2), "{template} of {kind}");
            }
        }
        // Texts use cells only if that completes the row.
        assert_eq!(cells("v %.6f, %.6f\n", Kind::F32), (4 * can, 4));
        assert_eq!(cells("v %.6f, %e\n", Kind::F32), (can, 4));
        assert_eq!(cells("%+.6f %016.3f\n", Kind::F32), (0, 2));
        assert_eq!(cells("%s %.13f\n", Kind::F64), (0, 2));
        assert_eq!(cells("%s %s\n", Kind::I64), (2 * can, 2));
    }
}
