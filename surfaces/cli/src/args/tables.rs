//! The options for tables of numbers. They are implemented in the library (`TableReadOptions`).

use super::SceneArgs;
use crate::values::{self, Places};
use clap::{Args, ValueEnum};
use polyhaul::options::{
    ColumnName, Delimiter, Digits, MissingValue, TableHeader, TableReadOptions, TableWriteOptions,
};
use std::str::FromStr;

/// How tables of numbers are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading tables (csv, tsv, txt, xyz, pts, npy)")]
pub struct TableArgs {
    /// Delimiter of values: one character, or comma, semicolon, tab or blanks [default: detected automatically]
    #[arg(long, value_name = "SEP", allow_hyphen_values = true, hide_possible_values = true,
          value_parser = values::Choices::<TablesSeparator>::from_names(&SEPARATORS))]
    pub delimiter: Option<TablesSeparator>,
    /// Whether the first row holds column names
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    pub header: HeaderWhen,
    /// Prefix of comments, on separate lines or after values; empty for none
    #[arg(long, value_name = "TEXT", default_value = "#", allow_hyphen_values = true)]
    pub comment: String,
    /// Number of lines to skip at the start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip_lines: u64,
    /// Maximum number of rows to read
    #[arg(long, value_name = "N")]
    pub max_rows: Option<u64>,
    /// Comma-separated columns to keep, in this order: names, or indices from 0 (also for PLY)
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', value_parser = column, allow_hyphen_values = true)]
    pub columns: Vec<ColumnName>,
    /// Element of a PLY file to read as a table [default: vertex]
    #[arg(long, value_name = "NAME")]
    pub element: Option<String>,
    /// Value of empty fields: a number, nan, or error to reject them
    #[arg(long, value_name = "VALUE", default_value = "error", allow_hyphen_values = true, hide_possible_values = true,
          value_parser = values::Choices::<MissingArg>::from_names(&["error", "nan"]))]
    pub missing: MissingArg,
}

/// How tables of numbers are written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing tables (csv, tsv, txt, xyz, pts)")]
pub struct TableStyleArgs {
    /// Delimiter of values: one character, or comma, semicolon, tab or blank [default: comma for csv, tab for tsv,
    /// blank for other formats]
    #[arg(long, value_name = "SEP", allow_hyphen_values = true, hide_possible_values = true,
          value_parser = values::Choices::<TablesSeparator>::from_names(&SEPARATORS))]
    pub out_delimiter: Option<TablesSeparator>,
    /// Whether to write a row of column names; auto does so for csv and tsv if there are names
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto")]
    pub out_header: HeaderWhen,
    /// Prefix of comment lines; empty to drop comments
    #[arg(long, value_name = "TEXT", default_value = "# ", allow_hyphen_values = true)]
    pub out_comment: String,
    /// Comma-separated decimal places of each column, instead of --digits: 0 to 12, or shortest
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = values::places(), hide_possible_values = true)]
    pub column_digits: Vec<Places>,
    /// Text for NaN
    #[arg(long, value_name = "TEXT", default_value = "nan", allow_hyphen_values = true)]
    pub nan: String,
    /// Put a `'` before column names that a spreadsheet would run as a formula (`=`, `+`, `-`, `@`)
    #[arg(long)]
    pub csv_safe: bool,
}

/// Whether there is a row of column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeaderWhen {
    /// Detected automatically
    Auto,
    /// Yes
    Yes,
    /// No
    No,
}

/// Names of common separators.
const SEPARATORS: [&str; 4] = ["comma", "semicolon", "tab", "blanks"];

/// What separates values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesSeparator(Delimiter);

impl FromStr for TablesSeparator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let byte = match text {
            "comma" => b',',
            "semicolon" => b';',
            "tab" | "\\t" => b'\t',
            "blank" | "blanks" | "space" | " " => return Ok(TablesSeparator(Delimiter::Blanks)),
            _ => match text.as_bytes() {
                [byte] if byte.is_ascii() => *byte,
                _ => return Err("expected one character, or comma, semicolon, tab or blanks".into()),
            },
        };
        Ok(TablesSeparator(Delimiter::Byte(byte)))
    }
}

/// What an empty field becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissingArg(MissingValue);

impl FromStr for MissingArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "error" => Ok(MissingArg(MissingValue::Error)),
            "nan" => Ok(MissingArg(MissingValue::Nan)),
            _ => match text.parse() {
                Ok(value) => Ok(MissingArg(MissingValue::Value(value))),
                Err(_) => Err("expected error, nan or a number".into()),
            },
        }
    }
}

/// A column by its place or its name.
fn column(text: &str) -> Result<ColumnName, String> {
    match text.trim() {
        "" => Err("expected a column name, or an index from 0".into()),
        text => Ok(text.parse().map_or_else(|_| ColumnName::Name(text.into()), ColumnName::Index)),
    }
}

impl TableArgs {
    /// The library's options.
    pub fn options(&self) -> TableReadOptions {
        TableReadOptions::default()
            .with_delimiter(self.delimiter.map(|separator| separator.0))
            .with_comment(Some(self.comment.clone()).filter(|text| !text.is_empty()))
            .with_header(match self.header {
                HeaderWhen::Auto => TableHeader::Auto,
                HeaderWhen::Yes => TableHeader::Present,
                HeaderWhen::No => TableHeader::Absent,
            })
            .with_skip_lines(self.skip_lines)
            .with_max_rows(self.max_rows)
            .with_element(self.element.clone())
            .with_columns(Some(self.columns.clone()).filter(|columns| !columns.is_empty()))
            .with_missing(self.missing.0)
    }
}

impl TableStyleArgs {
    /// Applies the arguments to the library's options, which have the values common to all formats.
    pub fn apply(&self, scene: &SceneArgs, style: &mut TableWriteOptions) -> polyhaul::Result<()> {
        style.placement = scene.placement()?;
        style.placement.export_triangulated_mesh = false;
        style.delimiter = self.out_delimiter.map(|separator| match separator.0 {
            Delimiter::Byte(byte) => byte,
            _ => b' ',
        });
        style.header = match self.out_header {
            HeaderWhen::Auto => None,
            HeaderWhen::Yes => Some(true),
            HeaderWhen::No => Some(false),
        };
        style.comment = self.out_comment.clone();
        style.column_digits = self.column_digits.iter().map(|places| places.0).collect::<Vec<Digits>>();
        style.nan = self.nan.clone();
        style.csv_safe = self.csv_safe;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_have_names() {
        let bytes =
            [(",", b','), ("comma", b','), (";", b';'), ("tab", b'\t'), ("\\t", b'\t'), ("\t", b'\t'), ("|", b'|')];
        for (text, byte) in bytes {
            assert_eq!(text.parse(), Ok(TablesSeparator(Delimiter::Byte(byte))), "{text}");
        }
        assert_eq!([" ", "blanks"].map(str::parse), [const { Ok(TablesSeparator(Delimiter::Blanks)) }; 2]);
        assert!(["", ",,", "\u{e9}", "pipe"].iter().all(|text| text.parse::<TablesSeparator>().is_err()));
    }

    #[test]
    fn columns_are_places_or_names() {
        assert_eq!(column("7"), Ok(ColumnName::Index(7)));
        assert_eq!(column(" x "), Ok(ColumnName::Name("x".into())));
        assert_eq!(column("-1"), Ok(ColumnName::Name("-1".into())));
        assert!(column(" ").is_err());
    }

    #[test]
    fn missing_values_are_numbers_or_words() {
        for (text, missing) in
            [("error", MissingValue::Error), ("nan", MissingValue::Nan), ("-9999", MissingValue::Value(-9999.0))]
        {
            assert_eq!(text.parse(), Ok(MissingArg(missing)));
        }
        assert!("none".parse::<MissingArg>().is_err());
    }
}
