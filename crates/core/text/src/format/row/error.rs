//! Errors in a template, in the columns for it, and in a value.

use std::fmt;

use super::column::Kind;
use super::spec::{MAX_PRECISION, MAX_WIDTH};

/// An error in a template, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Bytes from the template's start.
    pub offset: usize,
    /// The length of the wrong part in bytes; 0 if something is missing.
    pub length: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// An error in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The template ends inside a conversion.
    Unfinished,
    /// A letter, flag or modifier that is none of the known ones.
    UnknownConversion,
    /// Wider than [`MAX_WIDTH`].
    TooWide,
    /// More digits than [`MAX_PRECISION`].
    TooPrecise,
    /// A conversion for numbers meets a column of text.
    NotANumber(Kind),
    /// Two texts for true and false meet a column of another type.
    NotABool(Kind),
    /// Two texts were expected: `yes/no`.
    TwoTexts,
    /// A `}` without a `{`, which is written `}}`.
    UnmatchedBrace,
    /// The caller knows no field of this name.
    UnknownField,
    /// There are fewer columns than conversions.
    TooFewColumns,
    /// There are more columns than conversions.
    TooManyColumns,
    /// No memory for the compiled format.
    OutOfMemory,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template, byte {}: {}", self.offset, self.problem)
    }
}

impl std::error::Error for TemplateError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unfinished => write!(f, "the template ends inside a conversion"),
            Problem::UnknownConversion => {
                write!(f, "expected one of d i u f F e E g G s after flags (- + space 0 #), width and precision")
            }
            Problem::TooWide => write!(f, "width exceeds {MAX_WIDTH}"),
            Problem::TooPrecise => write!(f, "precision exceeds {MAX_PRECISION}"),
            Problem::NotANumber(kind) => write!(f, "numeric conversion for a column of {kind}"),
            Problem::NotABool(kind) => write!(f, "true/false strings for a column of {kind}"),
            Problem::TwoTexts => write!(f, "expected two strings separated by `/`, such as yes/no"),
            Problem::UnmatchedBrace => write!(f, "unmatched brace; write it twice for a literal brace"),
            Problem::UnknownField => write!(f, "unknown field name"),
            Problem::TooFewColumns => write!(f, "more conversions than columns"),
            Problem::TooManyColumns => write!(f, "more columns than conversions"),
            Problem::OutOfMemory => write!(f, "out of memory for the compiled template"),
        }
    }
}

/// Columns that a format was not compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column is missing.
    Missing {
        /// Its index.
        column: usize,
    },
    /// A column has another type.
    Kind {
        /// Its index.
        column: usize,
        /// The type that the format was compiled for.
        expected: Kind,
        /// The type that the column has.
        found: Kind,
    },
}

impl fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnsError::Missing { column } => write!(f, "column {column} is missing"),
            ColumnsError::Kind { column, expected, found } => {
                write!(f, "column {column} has type {found}; the template expects {expected}")
            }
        }
    }
}

impl std::error::Error for ColumnsError {}

/// A value that has no text in this format: NaN or an infinity as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The index of its row.
    pub row: usize,
    /// The index of its column.
    pub column: usize,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}, column {}: NaN and infinity cannot be written as integers", self.row, self.column)
    }
}

impl std::error::Error for RowError {}
