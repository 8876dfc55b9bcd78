//! Options for reading and writing tables of numbers, with their defaults.

use super::{Digits, Placement};
use crate::Scalar;

crate::options! {
    /// Options for reading a table of numbers. The defaults detect as much as possible.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TableReadOptions {
        /// The separator of fields. `None`: detected from the first rows (a tab, `;`, `,`, or blanks).
        pub delimiter: Option<Delimiter> = None, with_delimiter;
        /// The start of a comment, on a line of its own or after values (`#`); `None` if there are no comments. Its
        /// first byte must be one that no number contains.
        pub comment: Option<String> = Some("#".into()), with_comment;
        /// Whether the first row has the names of the columns.
        pub header: TableHeader = TableHeader::Auto, with_header;
        /// Lines to skip at the beginning, comments and empty ones included.
        pub skip_lines: u64 = 0, with_skip_lines;
        /// The maximum number of rows to read; the rest of the file is ignored.
        pub max_rows: Option<u64> = None, with_max_rows;
        /// The PLY element to read as the table; the others are skipped. `None`: all of them, or `vertex` if one table
        /// is wanted.
        pub element: Option<String> = None, with_element;
        /// The columns to keep, in this order; all of them if `None`. Only these need to be numbers.
        pub columns: Option<Vec<ColumnName>> = None, with_columns;
        /// The types of the columns that are kept.
        pub types: ColumnTypes = ColumnTypes::Auto, with_types;
        /// The value of an empty field.
        pub missing: MissingValue = MissingValue::Error, with_missing;
    }
}

/// The separator of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// Any run of white space.
    Blanks,
    /// This byte, each time; white space around a field is not part of it.
    Byte(u8),
}

/// Whether a table begins with a row of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableHeader {
    /// If the first row is not all numbers, it has the names.
    #[default]
    Auto,
    /// The first row is data.
    Absent,
    /// The first row has the names.
    Present,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnName {
    /// By its place, from 0.
    Index(usize),
    /// By the name in the header.
    Name(String),
}

/// The types of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ColumnTypes {
    /// [`Scalar::I64`] if all values of a column are integers that fit, [`Scalar::F64`] otherwise. A zero with a minus
    /// is not an integer.
    #[default]
    Auto,
    /// One type for all. A value that an integer type cannot hold is an error.
    All(Scalar),
    /// A type for each kept column; `None` is as for [`ColumnTypes::Auto`].
    Each(Vec<Option<Scalar>>),
}

/// The value of an empty field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MissingValue {
    /// An error with its place.
    #[default]
    Error,
    /// NaN, which makes a column of integers one of floats.
    Nan,
    /// This value.
    Value(f64),
}

crate::options! {
    /// Options for writing a table of numbers as text.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TableWriteOptions {
        /// The separator of values; if `None`, the format's: a comma, a tab or a blank.
        pub delimiter: Option<u8> = None, with_delimiter;
        /// Whether the names of the columns come first; if `None`, as usual for the format: csv and tsv have them if
        /// all columns have a name.
        pub header: Option<bool> = None, with_header;
        /// The start of a comment line (`# `). If it is not empty, comments are written to csv, tsv, txt and xyz.
        pub comment: String = "# ".into(), with_comment;
        /// Digits of floats ([`Digits::Shortest`]).
        pub digits: Digits = Digits::Shortest, with_digits;
        /// Digits for each column, instead of `digits`; for all columns, or empty.
        pub column_digits: Vec<Digits> = Vec::new(), with_column_digits;
        /// The text for NaN (`nan`).
        pub nan: String = "nan".into(), with_nan;
        /// Writes a `'` before column names that a spreadsheet would take for a formula: those that begin with `=`,
        /// `+`, `-`, `@`, a tab or a carriage return (default: off, since it changes the names). Values are numbers and
        /// cannot be formulas.
        pub csv_safe: bool = false, with_csv_safe;
        /// Axes and scale of the points of a scene; has no effect on tables that were read as tables.
        pub placement: Placement = Placement::default(), with_placement;
    }
}
