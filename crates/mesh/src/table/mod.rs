//! Tables of numbers: csv, tsv, txt, and point clouds as xyz and pts.
//!
//! No specification says what such a file is. Here it is this:
//!
//! - A row is a line; its fields are parted by one byte (a comma, a tab, `;`, or what the caller says) or by white
//!   space. White space around a field is no part of it. Lines without anything are skipped, and so are comments.
//! - All rows have as many fields as the first one: another count is an error.
//! - Numbers are decimal, with an optional sign, point and exponent, or `nan`, `inf`, `infinity` in any case. No
//!   locale, no grouping of digits, no hexadecimal. They are rounded correctly.
//! - The first row is one of names where it is not all numbers. Names, and numbers, may stand in double quotes, in
//!   which two of them stand for one and separators stand for themselves. A quote does not reach over the end of a
//!   line.
//! - A column is one of integers where all its values are; -0 is none.
//!
//! A `.pts` file may say in its first line how many points follow, and a point has x, y, z, intensity, red, green, blue
//! (<https://paulbourke.net/dataformats/pts/>). `.xyz` files have points only, in columns of any number: what they mean
//! is a convention, see `scene`.
//!
//! Where to look next: `reader` (the job), `head` (the first lines), `parse` (a chunk), `line` and `value` (every
//! rule), `columns` (the arrays).

mod columns;
mod head;
mod line;
pub mod npy;
mod parse;
mod points;
mod reader;
mod scene;
mod typed;
mod value;
mod writer;

pub use columns::Layout;
pub use points::Points;
pub use reader::read;
pub use scene::{name_points, scene_of_table, unrestored_names};
pub use writer::{Rows, has_header, write};

/// A format of tables of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Values separated by blanks, or as the first rows show.
    Txt,
    /// Points as lines of `x y z` and more columns.
    Xyz,
    /// Points as lines of `x y z`, intensity and colour, below a line with their count.
    Pts,
    /// An array of numpy.
    Npy,
}

impl TableFormat {
    /// The name, as files have it for their extension.
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
