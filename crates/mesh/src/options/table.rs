//! How tables of numbers are read and written, with the defaults.

use crate::options::{Digits, Placement};
use polyhaul_model::Scalar;

polyhaul_model::options! {
    /// How a table of numbers is read. The defaults find out what they can.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TableReadOptions {
        /// What parts the fields of a row. `None`: what the first rows tell (a tab, `;`, `,`, or blanks).
        pub delimiter: Option<Delimiter> = None, with_delimiter;
        /// What begins a comment, on a line of its own or behind values (`#`); `None` where nothing does. It begins
        /// with a byte that no number has.
        pub comment: Option<String> = Some("#".into()), with_comment;
        /// Whether the first row has the names of the columns.
        pub header: TableHeader = TableHeader::Auto, with_header;
        /// Lines to skip at the beginning, comments and empty ones included.
        pub skip_lines: u64 = 0, with_skip_lines;
        /// The most rows to read; the rest of the file is not looked at.
        pub max_rows: Option<u64> = None, with_max_rows;
        /// Of a PLY file the element that is the table; the others are left out. `None`: all of them, or `vertex` where
        /// one table is wanted.
        pub element: Option<String> = None, with_element;
        /// The columns to keep, in this order; all of them when `None`. Only these need to be numbers.
        pub columns: Option<Vec<ColumnName>> = None, with_columns;
        /// The types of the columns that are kept.
        pub types: ColumnTypes = ColumnTypes::Auto, with_types;
        /// What an empty field becomes.
        pub missing: MissingValue = MissingValue::Error, with_missing;
    }
}

/// What parts the fields of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delimiter {
    /// Any run of white space.
    Blanks,
    /// This byte, each time; white space around a field is no part of it.
    Byte(u8),
}

/// Whether a table begins with a row of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableHeader {
    /// Where the first row is not all numbers, it has the names.
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
#[non_exhaustive]
pub enum ColumnTypes {
    /// [`Scalar::I64`] where all values of a column are integers that fit, [`Scalar::F64`] otherwise. A zero with a
    /// minus is no integer.
    #[default]
    Auto,
    /// One type for all. A value that an integer type cannot hold is an error.
    All(Scalar),
    /// A type for each column that is kept; `None` is as for [`ColumnTypes::Auto`].
    Each(Vec<Option<Scalar>>),
}

/// What an empty field becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum MissingValue {
    /// An error with its place.
    #[default]
    Error,
    /// NaN, which makes a column of integers one of floats.
    Nan,
    /// This value.
    Value(f64),
}

polyhaul_model::options! {
    /// How a table of numbers is written as text.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TableWriteOptions {
        /// What stands between two values; as the format has it when `None`: a comma, a tab or a blank.
        pub delimiter: Option<u8> = None, with_delimiter;
        /// Whether the names of the columns come first; as the format has it when `None`: csv and tsv have them, where
        /// all columns have a name.
        pub header: Option<bool> = None, with_header;
        /// What begins a line of a comment (`# `). Comments are written where this is not empty, in csv, tsv, txt and
        /// xyz.
        pub comment: String = "# ".into(), with_comment;
        /// Digits of floats ([`Digits::Shortest`]).
        pub digits: Digits = Digits::Shortest, with_digits;
        /// Digits for each column, in place of `digits`; for all columns, or empty.
        pub column_digits: Vec<Digits> = Vec::new(), with_column_digits;
        /// What NaN becomes (`nan`).
        pub nan: String = "nan".into(), with_nan;
        /// Puts a `'` before names of columns that a spreadsheet would take for a formula: those that begin with `=`,
        /// `+`, `-`, `@`, a tab or a carriage return (default: off, since it changes the names). Values are numbers and
        /// cannot be formulas.
        pub csv_safe: bool = false, with_csv_safe;
        /// Axes and scale of the points of a scene; tables that come from tables are written as they are.
        pub placement: Placement = Placement::default(), with_placement;
    }
}
