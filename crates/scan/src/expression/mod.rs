//! The language of filters: comparisons of columns, joined by `and`, `or` and `not`.
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
//! `token`: text to words. `parse`: words to steps. `evaluate`: steps over blocks of rows.

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
/// `sqrt`, `exp`, `log` (natural), `floor`, `sigmoid`, `is_finite`, `min` and `max` (of two). A column is named as in
/// the file, in backquotes if its name has other characters than letters, digits and `_`; `column(0)` is the first one.
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
    /// The columns, and where the text first names each.
    columns: Arc<[(ColumnRef, Range<usize>)]>,
    /// Made by [`Expression::and`], so that one more needs no parentheses around it.
    is_joined: bool,
}

/// A column, as a filter names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnRef {
    Name(String),
    /// From 0.
    Index(usize),
}

/// A step of an evaluation: takes its operands from a stack, and puts the result there. What is true is 1, what is
/// false is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Number(f64),
    /// The column of this index in [`Expression::columns`].
    Column(usize),
    One(One),
    Two(Two),
}

/// Operators and functions of one operand.
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

/// Operators and functions of two operands.
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
    /// The names of the columns, in the order in which the text first names them; without those named by number.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter_map(|(column, _)| match column {
            ColumnRef::Name(name) => Some(name.as_str()),
            ColumnRef::Index(_) => None,
        })
    }

    /// Whether it may look at a column of this name: a column that is named by number may have any name.
    pub fn wants(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, _)| match column {
            ColumnRef::Name(column) => column == name,
            ColumnRef::Index(_) => true,
        })
    }

    /// The rows for which both are true.
    ///
    /// # Errors
    /// [`polyhaul_model::error::ErrorKind::Usage`] if together they are too long, or nested too deep.
    pub fn and(&self, other: &Expression) -> Result<Expression> {
        let text = if self.is_joined { self.text.to_string() } else { format!("({})", self.text) };
        let joined: Expression = format!("{text} and ({})", other.text).parse()?;
        Ok(Expression { is_joined: true, ..joined })
    }

    /// The columns as a list.
    pub(crate) fn column_refs(&self) -> &[(ColumnRef, Range<usize>)] {
        &self.columns
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// An error about a part of the filter.
    pub(crate) fn blamed(&self, error: &Error, at: &Range<usize>) -> Error {
        let diagnostic = error.diagnostic();
        let placed = parse::error_at(&self.text, at.clone(), diagnostic.message.clone());
        match &diagnostic.hint {
            Some(hint) => placed.with_hint(hint.clone()),
            None => placed,
        }
    }
}

/// The text of the filter.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
