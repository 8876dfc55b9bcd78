//! Reads and writes tables of numbers (csv, tsv, txt, npy) and point clouds (xyz, pts).
//!
//! Text tables have no common specification. This crate follows these rules:
//!
//! - A row is a line. Its fields are separated by one byte (a comma, a tab, `;`, or the caller's choice) or by white
//!   space. White space around a field is not part of the field. Blank lines and comments are skipped. A comment cannot
//!   start directly after a letter, a digit or a point, or with an error value of a spreadsheet (`#N/A`). A
//!   spreadsheet's first line `sep=;` sets the separator.
//! - The number of fields in every row equals the number of names or, without names, the number of fields in the first
//!   row. Any other number is an error.
//! - Numbers are decimal, with an optional sign, point and exponent, or `nan`, `inf`, `infinity` in any case, or their
//!   spellings in C libraries (`1.#QNAN`, `-nan(ind)`). There is no locale, no digit grouping and no hexadecimal.
//!   Numbers are correctly rounded.
//! - The first row contains names if not all of its fields are numbers. But if any of its numbers has a point, a sign
//!   or an exponent, or if its other fields are only words for missing values and mistyped numbers (`3.O`), it is a row
//!   with an invalid value. A mark before the first name (`//X Y Z`) is not part of the name, and the number of points
//!   can follow the names of point columns on its own line. A comment directly above the first row contains the names
//!   if it has as many fields as the row, and x, y and z are among them.
//! - Names and numbers can be in double quotes. Within quotes, two quotes represent one, and separators are plain
//!   characters. Only names can contain line breaks.
//! - A column has integers if all of its values are integers that fit in the same 64-bit type. -0 is not an integer.
//!
//! The first line of a `.pts` file can declare the number of points, and a point has x, y, z, intensity, red, green,
//! blue (<https://paulbourke.net/dataformats/pts/>). The rows of `.xyz` files are points with any number of columns;
//! the meaning of the columns is a convention: see `scene`.
//!
//! Where to look next: `reader` (the job), `head` (the first lines), `parse` (a chunk), `line` and `value` (the full
//! rules), `columns` (the arrays), `writer` (text), `npy` (numpy arrays).

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod columns;
mod head;
mod line;
pub mod npy;
mod parse;
mod parts;
mod points;
mod reader;
mod scene;
mod typed;
mod value;
mod writer;

pub use columns::Layout;
pub use parts::{RowPartText, RowParts};
pub use points::Points;
pub use reader::read;
pub use scene::{PointTarget, name_points, scene_of_table, unrestored_names};
pub use writer::{Rows, has_header, write, written_name};

/// A file format for tables of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Values separated by white space, unless the first row shows another separator.
    Txt,
    /// Points as lines of `x y z` and more columns.
    Xyz,
    /// Points as lines of `x y z`, intensity and color, after a line with the number of points.
    Pts,
    /// A numpy array.
    Npy,
}

impl TableFormat {
    /// All formats.
    pub const ALL: [TableFormat; 6] =
        [TableFormat::Csv, TableFormat::Tsv, TableFormat::Txt, TableFormat::Xyz, TableFormat::Pts, TableFormat::Npy];

    /// Returns the name of the format, which is also the file extension.
    pub const fn name(self) -> &'static str {
        match self {
            TableFormat::Csv => "csv",
            TableFormat::Tsv => "tsv",
            TableFormat::Txt => "txt",
            TableFormat::Xyz => "xyz",
            TableFormat::Pts => "pts",
            TableFormat::Npy => "npy",
        }
    }
}
