//! The filter language: comparisons of columns, combined by `and`, `or` and `not`.
//!
//! ```text
//! filter      = and ("or" and)*
//! and         = not ("and" not)*
//! not         = "not" not | comparison
//! comparison  = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//! sum         = product (("+" | "-") product)*
//! product     = sign (("*" | "/" | "%") sign)*
//! sign        = "-" sign | atom
//! atom        = number | column | function "(" sum ("," sum)* ")" | "(" filter ")"
//! column      = letters, digits and "_", not beginning with a digit | "`" any characters "`" | "column(" number ")"
//! ```
//!
//! All numbers are `f64`; integers above 2^53 are rounded. Comparisons with NaN are false, except `!=`. `%` has the
//! sign of its first operand, as in C.
//!
//! `token`: tokenizes the text. `parse`: compiles tokens into steps. `evaluate`: runs steps over blocks of rows.

mod evaluate;
mod parse;
mod token;

use polyhaul_model::error::{Error, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use evaluate::{BLOCK, Bench};

/// A filter: a condition on the columns of a row.
///
/// The operators are `+ - * / %`, `< <= > >= == !=`, `and`, `or`, `not` and parentheses. The functions are `abs`,
/// `sqrt`, `exp`, `log` (natural), `floor`, `sigmoid`, `is_finite`, `min` and `max` (of two values). Columns are named
/// as in the file; names with characters other than letters, digits and `_` must be in backquotes. `column(0)` is the
/// first column.
///
/// ```
/// use polyhaul_scan::Expression;
///
/// let filter: Expression = "opacity > 0.05 and not (z >= 10 or `scan angle` < 0)".parse()?;
/// assert_eq!(filter.columns().collect::<Vec<_>>(), ["opacity", "z", "scan angle"]);
/// let error = "opacity >".parse::<Expression>().unwrap_err();
/// assert_eq!(error.to_string(), "filter:1:10: expected a number, a column or `(`");
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: Arc<str>,
    steps: Arc<[Step]>,
    /// The columns, each with the range of the text that first refers to it.
    columns: Arc<[(ColumnRef, Range<usize>)]>,
    /// Whether [`Expression::and`] created the filter. If so, another `and` adds no parentheses around it.
    is_joined: bool,
}

/// A reference to a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnRef {
    Name(String),
    /// Column index, starting at 0.
    Index(usize),
}

/// A stack machine instruction: pops its operands and pushes its result. True is 1, false is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Number(f64),
    /// Index in the columns of the [`Expression`].
    Column(usize),
    One(One),
    Two(Two),
}

/// Unary operators and functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum One {
    Negate,
    Not,
    Abs,
    Sqrt,
    Exp,
    Log,
    Floor,
    Sigmoid,
    IsFinite,
}

/// Binary operators and functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Min,
    Max,
}

impl Expression {
    /// The names of the columns, in order of their first use. Columns referred to by index are not included.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter_map(|(column, _)| match column {
            ColumnRef::Name(name) => Some(name.as_str()),
            ColumnRef::Index(_) => None,
        })
    }

    /// Whether the filter may use a column with this name. A column referred to by index may have any name.
    pub fn wants(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, _)| match column {
            ColumnRef::Name(column) => column == name,
            ColumnRef::Index(_) => true,
        })
    }

    /// Combines two filters; both must be true.
    ///
    /// # Errors
    /// [`polyhaul_model::error::ErrorKind::Usage`] if the result is too long or too deeply nested.
    pub fn and(&self, other: &Expression) -> Result<Expression> {
        let text = if self.is_joined { self.text.to_string() } else { format!("({})", self.text) };
        let joined: Expression = format!("{text} and ({})", other.text).parse()?;
        Ok(Expression { is_joined: true, ..joined })
    }

    /// All columns, by name or index.
    pub(crate) fn column_refs(&self) -> &[(ColumnRef, Range<usize>)] {
        &self.columns
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Adds a position in the filter's text to an error.
    pub(crate) fn blamed(&self, error: &Error, at: &Range<usize>) -> Error {
        let diagnostic = error.diagnostic();
        let placed = parse::error_at(&self.text, at.clone(), diagnostic.message.clone());
        match &diagnostic.hint {
            Some(hint) => placed.with_hint(hint.clone()),
            None => placed,
        }
    }
}

/// Formats the filter as its original text.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
