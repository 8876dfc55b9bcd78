//! Errors in templates, columns, and values.

use std::fmt;

use super::column::ValueType;
use super::spec::{MAX_PRECISION, MAX_WIDTH};

/// Error in a template, with its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Byte offset in the template.
    pub offset: usize,
    /// Length of the invalid part in bytes; 0 if something is missing.
    pub length: usize,
    /// The kind of error.
    pub problem: TemplateProblem,
}

/// Kind of error in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateProblem {
    /// The template ends inside a conversion.
    Unfinished,
    /// An unknown letter, flag or modifier.
    UnknownConversion,
    /// The width exceeds [`MAX_WIDTH`].
    TooWide,
    /// The precision exceeds [`MAX_PRECISION`].
    TooPrecise,
    /// A numeric conversion for a column of bytes or text.
    NotANumber(ValueType),
    /// Texts for true and false for a column of a type other than bool.
    NotABool(ValueType),
    /// Not exactly two texts separated by `/`, as in `yes/no`.
    TwoTexts,
    /// An unmatched brace; literal braces are doubled.
    UnmatchedBrace,
    /// The caller has no field with this name.
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
            TemplateProblem::NotANumber(kind) => write!(f, "numeric conversion for a column of type {kind}"),
            TemplateProblem::NotABool(kind) => write!(f, "true/false strings for a column of type {kind}"),
            TemplateProblem::TwoTexts => write!(f, "expected two strings separated by `/`, such as yes/no"),
            TemplateProblem::UnmatchedBrace => write!(f, "unmatched brace; write it twice for a literal brace"),
            TemplateProblem::UnknownField => write!(f, "unknown field name"),
            TemplateProblem::TooFewColumns => write!(f, "more conversions than columns"),
            TemplateProblem::TooManyColumns => write!(f, "more columns than conversions"),
            TemplateProblem::OutOfMemory => write!(f, "out of memory for the compiled template"),
        }
    }
}

/// Mismatch between columns and a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnsError {
    /// A column is missing.
    Missing {
        /// Index of the column.
        column: usize,
    },
    /// A column has a different type.
    Type {
        /// Index of the column.
        column: usize,
        /// Type that the format was compiled for.
        expected: ValueType,
        /// Type of the column.
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
    /// Index of the row.
    pub row: usize,
    /// Index of the column.
    pub column: usize,
}

impl fmt::Display for RowValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}, column {}: NaN and infinity cannot be written as integers", self.row, self.column)
    }
}

impl std::error::Error for RowValueError {}
