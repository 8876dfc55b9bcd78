//! Errors in a template, its columns, and their values.

use std::fmt;

use super::column::ValueType;
use super::spec::{MAX_PRECISION, MAX_WIDTH};

/// An error in a template, and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Bytes from the template's start.
    pub offset: usize,
    /// The length of the wrong part in bytes; 0 if something is missing.
    pub length: usize,
    /// What is wrong.
    pub problem: TemplateProblem,
}

/// An error in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateProblem {
    /// The template ends inside a conversion.
    Unfinished,
    /// An unknown letter, flag or modifier.
    UnknownConversion,
    /// Wider than [`MAX_WIDTH`].
    TooWide,
    /// More digits than [`MAX_PRECISION`].
    TooPrecise,
    /// A numeric conversion of a column of text.
    NotANumber(ValueType),
    /// Texts for true and false for a column of another type.
    NotABool(ValueType),
    /// Two texts were expected: `yes/no`.
    TwoTexts,
    /// A `}` without a `{`, which is written `}}`.
    UnmatchedBrace,
    /// The caller has no field of this name.
    UnknownField,
    /// There are fewer columns than conversions.
    TooFewColumns,
    /// There are more columns than conversions.
    TooManyColumns,
    /// Out of memory for the compiled format.
    OutOfMemory,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template, byte {}: {}", self.offset, self.problem)
    }
}

impl std::error::Error for TemplateError {}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateProblem::Unfinished => write!(f, "the template ends inside a conversion"),
            TemplateProblem::UnknownConversion => {
                write!(f, "expected one of d i u f F e E g G s after flags (- + space 0 #), width and precision")
            }
            TemplateProblem::TooWide => write!(f, "width exceeds {MAX_WIDTH}"),
            TemplateProblem::TooPrecise => write!(f, "precision exceeds {MAX_PRECISION}"),
            TemplateProblem::NotANumber(kind) => write!(f, "numeric conversion for a column of {kind}"),
            TemplateProblem::NotABool(kind) => write!(f, "true/false strings for a column of {kind}"),
            TemplateProblem::TwoTexts => write!(f, "expected two strings separated by `/`, such as yes/no"),
            TemplateProblem::UnmatchedBrace => write!(f, "unmatched brace; write it twice for a literal brace"),
            TemplateProblem::UnknownField => write!(f, "unknown field name"),
            TemplateProblem::TooFewColumns => write!(f, "more conversions than columns"),
            TemplateProblem::TooManyColumns => write!(f, "more columns than conversions"),
            TemplateProblem::OutOfMemory => write!(f, "out of memory for the compiled template"),
        }
    }
}

/// Columns that do not match a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column is missing.
    Missing {
        /// Its index.
        column: usize,
    },
    /// A column has another type.
    Type {
        /// Its index.
        column: usize,
        /// The type that the format was compiled for.
        expected: ValueType,
        /// The type that the column has.
        found: ValueType,
    },
}

impl fmt::Display for ColumnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnsError::Missing { column } => write!(f, "column {column} is missing"),
            ColumnsError::Type { column, expected, found } => {
                write!(f, "column {column} has type {found}; the template expects {expected}")
            }
        }
    }
}

impl std::error::Error for ColumnsError {}

/// A value that cannot be converted: NaN or an infinity as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowValueError {
    /// The index of its row.
    pub row: usize,
    /// The index of its column.
    pub column: usize,
}

impl fmt::Display for RowValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}, column {}: NaN and infinity cannot be written as integers", self.row, self.column)
    }
}

impl std::error::Error for RowValueError {}
