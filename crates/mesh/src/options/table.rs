//! How tables of numbers are read and written, with the defaults.

use crate::options::{Digits, Placement};
use polyhaul_model::Scalar;

/// How a table of numbers is read. The defaults find out what they can.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// What parts the fields of a row. `None`: what the first rows tell (a tab, `;`, `,`, or blanks).
    pub delimiter: Option<Delimiter>,
    /// What begins a comment, on a line of its own or behind values (`#`); `None` where nothing does. It begins with a
    /// byte that no number has.
    pub comment: Option<String>,
    /// Whether the first row has the names of the columns.
    pub header: Header,
    /// Lines to skip at the beginning, comments and empty ones included.
    pub skip_lines: u64,
    /// The most rows to read; the rest of the file is not looked at.
    pub max_rows: Option<u64>,
    /// Of a PLY file the element that is the table; the others are left out. `None`: all of them, or `vertex` where one
    /// table is wanted.
    pub element: Option<String>,
    /// The columns to keep, in this order; all of them when `None`. Only these need to be numbers.
    pub columns: Option<Vec<ColumnName>>,
    /// The types of the columns that are kept.
    pub types: Types,
    /// What an empty field becomes.
    pub missing: Missing,
}

/// What parts the fields of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// Any run of white space.
    Blanks,
    /// This byte, each time; white space around a field is no part of it.
    Byte(u8),
}

/// Whether a table begins with a row of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
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
pub enum Types {
    /// [`Scalar::I64`] where all values of a column are integers that fit, [`Scalar::F64`] otherwise. A zero with a
    /// minus is no integer.
    #[default]
    Auto,
    /// One type for all. A value that an integer type cannot hold is an error.
    All(Scalar),
    /// A type for each column that is kept; `None` is as for [`Types::Auto`].
    Each(Vec<Option<Scalar>>),
}

/// What an empty field becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Missing {
    /// An error with its place.
    #[default]
    Error,
    /// NaN, which makes a column of integers one of floats.
    Nan,
    /// This value.
    Value(f64),
}

/// How a table of numbers is written as text.
#[derive(Clone, Debug, PartialEq)]
pub struct TableStyle {
    /// What stands between two values; as the format has it when `None`: a comma, a tab or a blank.
    pub delimiter: Option<u8>,
    /// Whether the names of the columns come first; as the format has it when `None`: csv and tsv have them, where all
    /// columns have a name.
    pub header: Option<bool>,
    /// What begins a line of a comment (`# `). Comments are written where this is not empty, in csv, tsv, txt and xyz.
    pub comment: String,
    /// Digits of floats ([`Digits::Shortest`]).
    pub digits: Digits,
    /// Digits for each column, in place of `digits`; for all columns, or empty.
    pub column_digits: Vec<Digits>,
    /// What NaN becomes (`nan`).
    pub nan: String,
    /// Puts a `'` before names of columns that a spreadsheet would take for a formula: those that begin with `=`, `+`,
    /// `-`, `@`, a tab or a carriage return (default: off, since it changes the names). Values are numbers and
    /// cannot be formulas.
    pub csv_safe: bool,
    /// Axes and scale of the points of a scene; tables that come from tables are written as they are.
    pub placement: Placement,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            delimiter: None,
            comment: Some("#".into()),
            header: Header::Auto,
            skip_lines: 0,
            max_rows: None,
            element: None,
            columns: None,
            types: Types::Auto,
            missing: Missing::Error,
        }
    }
}

impl Default for TableStyle {
    fn default() -> Self {
        TableStyle {
            delimiter: None,
            header: None,
            comment: "# ".into(),
            digits: Digits::Shortest,
            column_digits: Vec::new(),
            nan: "nan".into(),
            csv_safe: false,
            placement: Placement::default(),
        }
    }
}
