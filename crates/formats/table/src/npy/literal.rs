//! Parses the Python literals that occur in headers: dicts, tuples, lists, strings, integers, True, False and None.

use polyhaul_model::error::{Error, Result, try_push};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Integer(u64),
    Bool(bool),
    None,
    /// A tuple or a list.
    Items(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

/// Location of a fault in the text, and what was expected at this location.
pub(super) type NpyFault = (usize, &'static str);

/// Maximum nesting depth. No valid header is nested more deeply.
const MAX_DEPTH: usize = 8;

/// Parses a text with one value, which may be surrounded by white space.
pub(super) fn parse(text: &str) -> Result<std::result::Result<Literal, NpyFault>> {
    let mut parser = NpyParser { text, at: 0 };
    let value = match parser.value(MAX_DEPTH)? {
        Ok(value) => value,
        Err(fault) => return Ok(Err(fault)),
    };
    parser.skip();
    Ok(if parser.at == text.len() { Ok(value) } else { Err((parser.at, "the end of the header")) })
}

struct NpyParser<'a> {
    text: &'a str,
    at: usize,
}

/// Unwraps a value. If there is a fault in the text, returns it from the function.
macro_rules! sound {
    ($value:expr) => {
        match $value {
            Ok(value) => value,
            Err(fault) => return Ok(Err(fault)),
        }
    };
}

impl NpyParser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_ascii_start().len();
    }

    /// Skips white space, and consumes a character if it is next. Returns whether it was.
    fn takes(&mut self, character: char) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(character);
        self.at += usize::from(is_next) * character.len_utf8();
        is_next
    }

    fn word(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        self.at += usize::from(is_next) * word.len();
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<std::result::Result<Literal, NpyFault>> {
        if depth == 0 {
            return Ok(Err((self.at, "fewer nested brackets")));
        }
        self.skip();
        Ok(match self.text.as_bytes().get(self.at) {
            Some(b'{') => return self.dict(depth - 1),
            Some(b'(') => return self.items(')', depth - 1),
            Some(b'[') => return self.items(']', depth - 1),
            Some(b'\'' | b'"') => return self.string(),
            Some(b'0'..=b'9') => self.integer(),
            _ if self.word("True") => Ok(Literal::Bool(true)),
            _ if self.word("False") => Ok(Literal::Bool(false)),
            _ if self.word("None") => Ok(Literal::None),
            _ => Err((self.at, "a value")),
        })
    }

    fn integer(&mut self) -> std::result::Result<Literal, NpyFault> {
        let size = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let value = self.rest()[..size].parse().map_err(|_| (self.at, "a 64-bit integer"))?;
        self.at += size;
        // The suffix of long integers in Python 2.
        self.word("L");
        Ok(Literal::Integer(value))
    }

    fn string(&mut self) -> Result<std::result::Result<Literal, NpyFault>> {
        let start = self.at;
        let mut characters = self.rest().char_indices();
        let quote = characters.next().map_or('\'', |(_, quote)| quote);
        let mut text = String::new();
        while let Some((place, character)) = characters.next() {
            let plain = match character {
                '\\' => match characters.next().and_then(|(_, escaped)| unescape(escaped, &mut characters)) {
                    Some(character) => character,
                    None => return Ok(Err((start + place, "a character"))),
                },
                character if character == quote => {
                    self.at = start + place + quote.len_utf8();
                    return Ok(Ok(Literal::Text(text)));
                }
                character => character,
            };
            text.try_reserve(plain.len_utf8()).map_err(|_| Error::memory("names"))?;
            text.push(plain);
        }
        Ok(Err((start, "the end of this string")))
    }

    fn items(&mut self, close: char, depth: usize) -> Result<std::result::Result<Literal, NpyFault>> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.takes(close) {
            let item = sound!(self.value(depth)?);
            try_push(&mut items, item, "a header")?;
            if !self.takes(',') && !self.rest().starts_with(close) {
                return Ok(Err((self.at, "a comma")));
            }
        }
        Ok(Ok(Literal::Items(items)))
    }

    fn dict(&mut self, depth: usize) -> Result<std::result::Result<Literal, NpyFault>> {
        self.at += 1;
        let mut entries = Vec::new();
        while !self.takes('}') {
            let key = sound!(self.value(depth)?);
            if !self.takes(':') {
                return Ok(Err((self.at, "a colon")));
            }
            let value = sound!(self.value(depth)?);
            try_push(&mut entries, (key, value), "a header")?;
            if !self.takes(',') && !self.rest().starts_with('}') {
                return Ok(Err((self.at, "a comma")));
            }
        }
        Ok(Ok(Literal::Dict(entries)))
    }
}

/// Returns the character that an escape sequence represents. Consumes its digits.
fn unescape(escaped: char, rest: &mut std::str::CharIndices<'_>) -> Option<char> {
    let digits = match escaped {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'n' => return Some('\n'),
        't' => return Some('\t'),
        'r' => return Some('\r'),
        '\\' | '\'' | '"' => return Some(escaped),
        _ => return None,
    };
    let mut code: u32 = 0;
    for _ in 0..digits {
        code = code.checked_mul(16)? + rest.next()?.1.to_digit(16)?;
    }
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> std::result::Result<Literal, NpyFault> {
        parse(text).unwrap()
    }

    #[test]
    fn pythons_notation() {
        let text = |text: &str| Literal::Text(text.into());
        let items =
            [text("a'\u{e9}\\"), Literal::Integer(3), Literal::Bool(true), Literal::None, Literal::Items(vec![])];
        assert_eq!(read(" ('a\\'\\xe9\\\\', 3L, True, None, ()) "), Ok(Literal::Items(items.into())));
        assert_eq!(
            read("{\"k\": [1, ],}"),
            Ok(Literal::Dict(vec![(text("k"), Literal::Items(vec![Literal::Integer(1)]))]))
        );
        for (bad, at) in [("", 0), ("{1 2}", 3), ("(1 2)", 3), ("'a", 0), ("'\\q'", 1), ("-1", 0), ("1 1", 2), ("(", 1)]
        {
            assert_eq!(read(bad).unwrap_err().0, at, "{bad}");
        }
        assert!(read(&"(".repeat(1000)).is_err());
        assert!(read("99999999999999999999").is_err());
        assert!(read("'\\U00110000'").is_err());
    }
}
