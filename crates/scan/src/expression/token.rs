//! Tokenizes a filter.

use super::parse::error_at;
use polyhaul_model::error::Result;
use std::ops::Range;

/// A token and its range in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Number(f64),
    /// A column, a function or a keyword.
    Word(String),
    /// The name of a column, in backquotes.
    Quoted(String),
    /// An operator, a parenthesis or a comma.
    Sign(&'static str),
}

/// Longer operators come before their prefixes.
const SIGNS: [&str; 14] = ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

/// Operators of other languages, and their equivalents here.
const FOREIGN: [(&str, &str); 7] =
    [("&&", "and"), ("&", "and"), ("||", "or"), ("|", "or"), ("!", "not"), ("=", "=="), ("<>", "!=")];

/// Splits a filter into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let blanks = rest.len() - rest.trim_start().len();
        if blanks > 0 {
            at += blanks;
            continue;
        }
        let (kind, bytes) = token(text, at)?;
        tokens.push(Token { kind, at: at..at + bytes });
        at += bytes;
    }
    Ok(tokens)
}

/// Returns the token at `at`, and its length in bytes.
fn token(text: &str, at: usize) -> Result<(TokenKind, usize)> {
    let rest = &text[at..];
    let run = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let first = rest.chars().next().unwrap_or_default();
    if let Some(quoted) = rest.strip_prefix('`') {
        let end = quoted.find('`').ok_or_else(|| error_at(text, at..text.len(), "missing closing backquote"))?;
        return Ok((TokenKind::Quoted(quoted[..end].to_owned()), end + 2));
    }
    if first.is_alphabetic() || first == '_' {
        let bytes = run(|c| c.is_alphanumeric() || c == '_');
        return Ok((TokenKind::Word(rest[..bytes].to_owned()), bytes));
    }
    if first.is_ascii_digit() || first == '.' {
        return number(text, at);
    }
    let foreign = FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign));
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) if foreign.is_none_or(|(other, _)| other.len() <= sign.len()) => {
            Ok((TokenKind::Sign(sign), sign.len()))
        }
        _ => {
            let bytes = foreign.map_or(first.len_utf8(), |(sign, _)| sign.len());
            let error = error_at(text, at..at + bytes, format!("unexpected `{}`", &rest[..bytes]));
            Err(match foreign {
                Some((_, ours)) => error.with_hint(format!("write `{ours}`")),
                None => error,
            })
        }
    }
}

/// Parses a number without a sign.
fn number(text: &str, at: usize) -> Result<(TokenKind, usize)> {
    let rest = &text.as_bytes()[at..];
    let mut bytes = 0;
    while let Some(&byte) = rest.get(bytes) {
        let is_exponent_sign = bytes > 0 && matches!(byte, b'+' | b'-') && matches!(rest[bytes - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || is_exponent_sign) {
            break;
        }
        bytes += 1;
    }
    let word = &text[at..at + bytes];
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((TokenKind::Number(value), bytes)),
        Ok(_) => Err(error_at(text, at..at + bytes, format!("`{word}` is out of range"))),
        Err(_) => Err(error_at(text, at..at + bytes, format!("`{word}` is not a number"))),
    }
}
