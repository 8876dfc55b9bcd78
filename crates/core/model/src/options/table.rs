//! Options for reading and writing tables of numbers.

use super::Digits;
use super::value::{OptionItem, OptionKind, OptionValue};
use crate::Scalar;

crate::options! {
    /// Options for reading a table of numbers. The defaults detect as much as possible.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TableReadOptions in "table" {
        /// Field delimiter. By default it is detected from the first rows: a tab, `;`, `,` or white space.
        pub delimiter: Option<Delimiter> = None, with_delimiter => [csv, tsv, txt, xyz, pts];
        /// The start of a comment, on a line of its own or after values; empty for none. It cannot start with a
        /// character that occurs in numbers. It does not start a comment directly after a letter, a digit or a period.
        pub comment: String = "#".into(), with_comment => [csv, tsv, txt, xyz, pts];
        /// Whether the first row has column names. By default it does if it contains text and no number with a decimal
        /// point, a sign or an exponent; never in pts.
        pub header: TableHeader = TableHeader::Auto, with_header => [csv, tsv, txt, xyz, pts];
        /// Lines to skip at the start, including comments and empty lines.
        pub skip_lines: u64 = 0, with_skip_lines => [csv, tsv, txt, xyz, pts];
        /// The maximum number of rows to read; the rest of the file is ignored.
        pub max_rows: Option<u64> = None, with_max_rows => [tables];
        /// The element of a PLY file to read as a table. By default all elements, or `vertex` if the result is a single
        /// table.
        pub element: Option<String> = None, with_element => [ply];
        /// The columns to keep, in this order. By default all. Only these need to be numbers.
        pub columns: Option<Vec<ColumnName>> = None, with_columns => [tables, ply];
        /// The types of the columns that are kept.
        pub types: ColumnTypes = ColumnTypes::Auto, with_types;
        /// The value of an empty field.
        pub missing: MissingValue = MissingValue::Error, with_missing => [csv, tsv, txt, xyz, pts];
        /// Whether comments and numbers are as in numpy's `loadtxt`: a comment can start inside a value, and numbers
        /// have only the notations that Python accepts.
        #[doc(hidden)]
        pub is_numpy: bool = false, with_is_numpy;
    }
}

crate::options! {
    /// Options for writing a table of numbers as text.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TableWriteOptions in "table" {
        /// Field delimiter. By default a comma in csv, a tab in tsv and a space in other formats.
        pub out_delimiter: Option<Delimiter> = None, with_out_delimiter => [csv, tsv, txt, xyz, pts];
        /// Whether to write a row of column names. By default csv and tsv have one if any column has a name.
        pub out_header: TableHeader = TableHeader::Auto, with_out_header => [csv, tsv, txt, xyz, pts];
        /// The start of a comment line; empty to drop comments.
        pub out_comment: String = "# ".into(), with_out_comment => [csv, tsv, txt, xyz];
        /// Decimal places of each column, one value per column; overrides `digits`.
        pub column_digits: Vec<Digits> = Vec::new(), with_column_digits => [csv, tsv, txt, xyz, pts];
        /// The text for NaN. It must be readable as one field: empty only beside other columns, in csv or tsv.
        pub nan: String = "nan".into(), with_nan => [csv, tsv, txt, xyz, pts];
        /// Put a `'` before column names that a spreadsheet would run as a formula. These start with `=`, `+`, `-`,
        /// `@`, a tab or a carriage return. Values are numbers and cannot be formulas.
        pub csv_safe: bool = false, with_csv_safe => [csv, tsv, txt, xyz, pts];
    }
}

/// A field delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// Any run of white space; one space when writing.
    Blanks,
    /// Each occurrence of this byte; white space around a value is not part of the value.
    Byte(u8),
}

impl OptionValue for Delimiter {
    const KIND: OptionKind = OptionKind::Special {
        name: "Delimiter",
        expected: "one character, or comma, semicolon, tab or blanks",
        words: &["comma", "semicolon", "tab", "blanks"],
    };

    fn parse(text: &str) -> Result<Delimiter, String> {
        match text {
            "comma" => Ok(Delimiter::Byte(b',')),
            "semicolon" => Ok(Delimiter::Byte(b';')),
            "tab" | "\\t" => Ok(Delimiter::Byte(b'\t')),
            "blank" | "blanks" | "space" | " " => Ok(Delimiter::Blanks),
            _ => match text.as_bytes() {
                [byte] if byte.is_ascii() => Ok(Delimiter::Byte(*byte)),
                _ => Err(format!("expected {}", Self::KIND.expected())),
            },
        }
    }

    fn print(&self) -> String {
        match self {
            Delimiter::Blanks => "blanks".into(),
            Delimiter::Byte(b',') => "comma".into(),
            Delimiter::Byte(b';') => "semicolon".into(),
            Delimiter::Byte(b'\t') => "tab".into(),
            Delimiter::Byte(byte) => char::from(*byte).into(),
        }
    }
}

crate::choices! {
    /// Whether a table has a row of column names.
    pub enum TableHeader = Auto {
        /// Detected when reading; depends on the format when writing.
        "auto" => Auto,
        /// The first row has column names.
        "yes" => Present,
        /// The first row is data.
        "no" => Absent,
    }
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnName {
    /// By its index, from 0.
    Index(usize),
    /// By the name in the header.
    Name(String),
}

impl OptionItem for ColumnName {
    const LIST: &'static str = "Columns";
    const EXPECTED: &'static str = "column names, or indices from 0, separated by commas";

    fn parse_item(text: &str) -> Result<ColumnName, String> {
        match text.trim() {
            "" => Err("expected a column name, or an index from 0".into()),
            text => Ok(text.parse().map_or_else(|_| ColumnName::Name(text.into()), ColumnName::Index)),
        }
    }

    fn print_item(&self) -> String {
        match self {
            ColumnName::Index(index) => index.to_string(),
            ColumnName::Name(name) => name.clone(),
        }
    }
}

/// The types of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ColumnTypes {
    /// [`Scalar::I64`] if all values of a column are integers in its range, [`Scalar::U64`] if they are only in that
    /// range, and [`Scalar::F64`] otherwise; a warning counts the integers that it rounds. A negative zero is not an
    /// integer.
    #[default]
    Auto,
    /// One type for all columns. A value that an integer type cannot hold is an error.
    All(Scalar),
    /// A type for each kept column; `None` is as for [`ColumnTypes::Auto`].
    Each(Vec<Option<Scalar>>),
}

/// The value of an empty field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MissingValue {
    /// An error with its location.
    #[default]
    Error,
    /// NaN; a column of integers then becomes a column of floats.
    Nan,
    /// This value.
    Value(f64),
}

impl OptionValue for MissingValue {
    const KIND: OptionKind =
        OptionKind::Special { name: "Missing", expected: "error, nan or a number", words: &["error", "nan"] };

    fn parse(text: &str) -> Result<MissingValue, String> {
        match text {
            "error" => Ok(MissingValue::Error),
            "nan" => Ok(MissingValue::Nan),
            _ => text.parse().map(MissingValue::Value).map_err(|_| format!("expected {}", Self::KIND.expected())),
        }
    }

    fn print(&self) -> String {
        match self {
            MissingValue::Error => "error".into(),
            MissingValue::Nan => "nan".into(),
            MissingValue::Value(value) => value.to_string(),
        }
    }
}
