//! Compiles tokens into steps, by recursive descent over the grammar in [`super`].

use super::token::{Token, TokenKind, tokens};
use super::{ColumnRef, Expression, One, Step, Two};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Excerpt, Place, Result};
use polyhaul_model::names;
use std::ops::Range;
use std::str::FromStr;

/// Maximum length (in bytes) and nesting depth of a filter.
const MAX_BYTES: usize = 64 << 10;
const MAX_DEPTH: usize = 100;

const ONES: [(&str, One); 7] = [
    ("abs", One::Abs),
    ("sqrt", One::Sqrt),
    ("exp", One::Exp),
    ("log", One::Log),
    ("floor", One::Floor),
    ("sigmoid", One::Sigmoid),
    ("is_finite", One::IsFinite),
];
const TWOS: [(&str, Two); 2] = [("min", Two::Min), ("max", Two::Max)];
const COMPARISONS: [(&str, Two); 6] = [
    ("<", Two::Less),
    ("<=", Two::LessOrEqual),
    (">", Two::Greater),
    (">=", Two::GreaterOrEqual),
    ("==", Two::Equal),
    ("!=", Two::NotEqual),
];
const SUMS: [(&str, Two); 2] = [("+", Two::Add), ("-", Two::Subtract)];
const PRODUCTS: [(&str, Two); 3] = [("*", Two::Multiply), ("/", Two::Divide), ("%", Two::Remainder)];
/// Pseudo-function that refers to a column by index, starting at 0.
const BY_INDEX: &str = "column";

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
}

impl FromStr for Expression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Expression> {
        if text.len() > MAX_BYTES {
            let message = format!("the filter has {} bytes, more than the limit of {MAX_BYTES}", text.len());
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let tokens = tokens(text)?;
        let mut parser = Parser { text, tokens: &tokens, next: 0, depth: 0, steps: Vec::new(), columns: Vec::new() };
        let (kind, at) = parser.or()?;
        parser.end()?;
        parser.check((kind, at), Kind::Truth)?;
        let Parser { steps, columns, .. } = parser;
        Ok(Expression { text: text.into(), steps: steps.into(), columns: columns.into(), is_joined: false })
    }
}

/// Creates an error about a range of a filter.
pub(super) fn error_at(text: &str, at: Range<usize>, message: impl Into<String>) -> Error {
    let place = Place { file: "filter".into(), line: Some(1), column: Some(at.start as u64 + 1), offset: None };
    let excerpt = Some(Excerpt::of_line(text.as_bytes(), at));
    Diagnostic { place, excerpt, ..Diagnostic::new(message) }.into_error(ErrorKind::Usage)
}

/// The type of an operand, and its range in the text.
type Parsed = (Kind, Range<usize>);

struct Parser<'t> {
    text: &'t str,
    tokens: &'t [Token],
    next: usize,
    depth: usize,
    steps: Vec<Step>,
    columns: Vec<(ColumnRef, Range<usize>)>,
}

impl Parser<'_> {
    fn or(&mut self) -> Result<Parsed> {
        self.joined("or", Two::Or, Self::and)
    }

    fn and(&mut self) -> Result<Parsed> {
        self.joined("and", Two::And, Self::not)
    }

    /// Parses conditions separated by `word`.
    fn joined(&mut self, word: &str, two: Two, operand: fn(&mut Self) -> Result<Parsed>) -> Result<Parsed> {
        let mut left = operand(self)?;
        while self.take_word(word) {
            self.check(left.clone(), Kind::Truth)?;
            let right = operand(self)?;
            self.check(right.clone(), Kind::Truth)?;
            self.steps.push(Step::Two(two));
            left = (Kind::Truth, left.1.start..right.1.end);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Parsed> {
        let start = self.here().start;
        if !self.take_word("not") {
            return self.comparison();
        }
        let operand = self.deeper(Self::not)?;
        self.check(operand.clone(), Kind::Truth)?;
        self.steps.push(Step::One(One::Not));
        Ok((Kind::Truth, start..operand.1.end))
    }

    fn comparison(&mut self) -> Result<Parsed> {
        let left = self.sum()?;
        let Some(two) = self.take_sign(&COMPARISONS) else { return Ok(left) };
        let right = self.sum()?;
        let at = self.numbers(left, right, two)?;
        let here = self.here();
        if self.take_sign(&COMPARISONS).is_some() {
            let error = error_at(self.text, here, "comparisons cannot be chained");
            return Err(error.with_hint("write `a < b and b < c` instead of `a < b < c`"));
        }
        Ok((Kind::Truth, at))
    }

    fn sum(&mut self) -> Result<Parsed> {
        self.chain(&SUMS, Self::product)
    }

    fn product(&mut self) -> Result<Parsed> {
        self.chain(&PRODUCTS, Self::sign)
    }

    /// Parses numbers separated by operators, from left to right.
    fn chain(&mut self, signs: &[(&str, Two)], operand: fn(&mut Self) -> Result<Parsed>) -> Result<Parsed> {
        let mut left = operand(self)?;
        while let Some(two) = self.take_sign(signs) {
            let right = operand(self)?;
            left = (Kind::Number, self.numbers(left, right, two)?);
        }
        Ok(left)
    }

    /// Emits a binary operator on numbers.
    fn numbers(&mut self, left: Parsed, right: Parsed, two: Two) -> Result<Range<usize>> {
        let at = left.1.start..right.1.end;
        self.check(left, Kind::Number)?;
        self.check(right, Kind::Number)?;
        self.steps.push(Step::Two(two));
        Ok(at)
    }

    fn sign(&mut self) -> Result<Parsed> {
        let start = self.here().start;
        if self.take_sign(&[("-", ())]).is_none() {
            return self.atom();
        }
        let operand = self.deeper(Self::sign)?;
        self.check(operand.clone(), Kind::Number)?;
        self.steps.push(Step::One(One::Negate));
        Ok((Kind::Number, start..operand.1.end))
    }

    fn atom(&mut self) -> Result<Parsed> {
        let at = self.here();
        match self.tokens.get(self.next).map(|token| token.kind.clone()) {
            Some(TokenKind::Number(value)) => {
                self.next += 1;
                self.steps.push(Step::Number(value));
                Ok((Kind::Number, at))
            }
            Some(TokenKind::Quoted(name)) => {
                self.next += 1;
                self.column(ColumnRef::Name(name), at)
            }
            Some(TokenKind::Word(word)) if !["and", "or", "not"].contains(&word.as_str()) => {
                self.next += 1;
                if self.take_sign(&[("(", ())]).is_some() {
                    return self.deeper(|parser| parser.call(&word, at));
                }
                self.column(ColumnRef::Name(word), at)
            }
            Some(TokenKind::Sign("(")) => {
                self.next += 1;
                let (kind, _) = self.deeper(Self::or)?;
                let end = self.close()?;
                Ok((kind, at.start..end))
            }
            _ => Err(error_at(self.text, at, "expected a number, a column or `(`")),
        }
    }

    fn column(&mut self, column: ColumnRef, at: Range<usize>) -> Result<Parsed> {
        let position = self.columns.iter().position(|(other, _)| *other == column);
        let place = position.unwrap_or(self.columns.len());
        if position.is_none() {
            self.columns.push((column, at.clone()));
        }
        self.steps.push(Step::Column(place));
        Ok((Kind::Number, at))
    }

    /// Parses a function call after its name and opening parenthesis.
    fn call(&mut self, name: &str, at: Range<usize>) -> Result<Parsed> {
        if name == BY_INDEX {
            return self.by_index(at.start);
        }
        let unary = ONES.iter().find(|(unary, _)| *unary == name);
        let binary = TWOS.iter().find(|(binary, _)| *binary == name);
        let (step, count, kind) = match (unary, binary) {
            (Some((_, One::IsFinite)), _) => (Step::One(One::IsFinite), 1, Kind::Truth),
            (Some((_, unary)), _) => (Step::One(*unary), 1, Kind::Number),
            (None, Some((_, binary))) => (Step::Two(*binary), 2, Kind::Number),
            (None, None) => {
                let functions: Vec<_> =
                    ONES.iter().map(|(name, _)| *name).chain(TWOS.iter().map(|(name, _)| *name)).collect();
                let error = error_at(self.text, at, format!("no function named `{}`", names::shown(name)));
                return Err(error.with_hint(format!("the functions are {}, and {BY_INDEX}", functions.join(", "))));
            }
        };
        for number in 0..count {
            let here = self.here();
            if number > 0 && self.take_sign(&[(",", ())]).is_none() {
                return Err(error_at(self.text, here, format!("expected `,`: `{name}` takes {count} numbers")));
            }
            let operand = self.sum()?;
            self.check(operand, Kind::Number)?;
        }
        self.steps.push(step);
        let end = self.close()?;
        Ok((kind, at.start..end))
    }

    /// Parses `column(0)` after its opening parenthesis.
    fn by_index(&mut self, start: usize) -> Result<Parsed> {
        let at = self.here();
        let index = match self.tokens.get(self.next).map(|token| &token.kind) {
            Some(TokenKind::Number(index)) if index.fract() == 0.0 && *index <= f64::from(u32::MAX) => *index as usize,
            _ => return Err(error_at(self.text, at, "expected a column number, starting at 0")),
        };
        self.next += 1;
        let end = self.close()?;
        self.column(ColumnRef::Index(index), start..end)
    }

    /// Parses a nested part, unless it is too deep.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error_at(self.text, self.here(), format!("nested more than {MAX_DEPTH} levels deep")));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn close(&mut self) -> Result<usize> {
        let here = self.here();
        match self.take_sign(&[(")", ())]) {
            Some(()) => Ok(here.end),
            None => Err(error_at(self.text, here, "expected `)`")),
        }
    }

    fn end(&mut self) -> Result<()> {
        if self.next == self.tokens.len() {
            return Ok(());
        }
        Err(error_at(self.text, self.here(), "expected an operator, `and` or `or`"))
    }

    /// Fails unless an operand has the expected type.
    fn check(&self, operand: Parsed, expected: Kind) -> Result<()> {
        let (kind, at) = operand;
        match expected {
            _ if kind == expected => Ok(()),
            Kind::Number => Err(error_at(self.text, at, "expected a number, found a condition")),
            Kind::Truth => {
                let error = error_at(self.text, at, "expected a condition, found a number");
                Err(error.with_hint("compare it, as in `opacity > 0.05`"))
            }
        }
    }

    /// Range of the next token, or the end of the text.
    fn here(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        self.tokens.get(self.next).map_or(end..end, |token| token.at.clone())
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_it = self.tokens.get(self.next).is_some_and(|token| token.kind == TokenKind::Word(word.to_owned()));
        self.next += usize::from(is_it);
        is_it
    }

    fn take_sign<T: Copy>(&mut self, signs: &[(&str, T)]) -> Option<T> {
        let TokenKind::Sign(token) = self.tokens.get(self.next)?.kind else { return None };
        let (_, value) = signs.iter().find(|(sign, _)| *sign == token)?;
        self.next += 1;
        Some(*value)
    }
}
