//! Parameters: declarations, and their values straight into the arrays that the model keeps.

use super::directive::Directive;
use super::lexer::{Mark, PbrtFault, PbrtParse, PbrtToken};
use super::parse::ParsePiece;
use super::versions::Version;
use polyhaul_model::error::try_push;
use polyhaul_model::names;
use polyhaul_model::render::{Declaration, ParameterType, StoredParameter, ValueKind};
use polyhaul_text::parse::list;
use polyhaul_text::parse::number::IntegerError;

/// The most parameters of a directive.
const MOST: usize = u16::MAX as usize;

impl<'t> ParsePiece<'t, '_> {
    /// Takes all parameters; returns their number.
    pub(super) fn parameters(&mut self, directive: Directive, mark: Mark) -> PbrtParse<u16> {
        let first = self.parsed.parameters.len();
        while self.lexer.peek() == PbrtToken::String {
            self.parameter()?;
        }
        let count = self.parsed.parameters.len() - first;
        if count > 1 {
            self.check_names(first, directive, mark)?;
        }
        if count > MOST {
            let message = format!("`{}` has {count} parameters, more than the maximum of {MOST}", directive.name());
            return Err(self.lexer.fault(mark, "too-many-parameters", message));
        }
        Ok(count as u16)
    }

    /// Notes parameters that have the same name.
    fn check_names(&mut self, first: usize, directive: Directive, mark: Mark) -> PbrtParse<()> {
        /// Only hostile files have more, and comparing all pairs of them would be quadratic.
        const MOST_CHECKED: usize = 64;
        let new = &self.parsed.parameters[first..];
        let new = &new[..new.len().min(MOST_CHECKED)];
        let twice = new.iter().enumerate().find(|&(at, one)| {
            new[..at].iter().any(|other| {
                other.declaration == one.declaration || self.name_of(other.declaration) == self.name_of(one.declaration)
            })
        });
        let Some((_, twice)) = twice else { return Ok(()) };
        let name = String::from_utf8_lossy(self.parsed.names.get(self.name_of(twice.declaration))).into_owned();
        let name = names::shown(&name).into_owned();
        let message = format!("`{}` has more than one parameter `{name}`; the last one is used", directive.name());
        self.note(mark, "repeated-parameter", message)
    }

    fn name_of(&self, declaration: u32) -> u32 {
        self.parsed.declarations.get(declaration as usize).map_or(u32::MAX, |declaration| declaration.name)
    }

    fn parameter(&mut self) -> PbrtParse<()> {
        let mut mark = self.lexer.mark(0);
        let limit = self.options.limits.name_bytes;
        let text = self.lexer.string()?;
        if text.len() as u64 > limit {
            return Err(self.too_long(mark, limit));
        }
        let number = self.parsed.declaration_texts.number(text)?;
        mark.len = self.lexer.at.saturating_sub(mark.at);
        let known = self.parsed.known.get(number as usize).map_or(0, |known| known[0]);
        let declaration = if known == 0 { self.declare(number, mark)? } else { known - 1 };
        let Some(&Declaration { kind, values, .. }) = self.parsed.declarations.get(declaration as usize) else {
            return Ok(());
        };
        let in_brackets = self.lexer.peek() == PbrtToken::Open;
        let bracket = self.lexer.mark(1);
        if in_brackets {
            self.lexer.pass(1);
        }
        let mut stored = StoredParameter { declaration, start: 0, count: 0 };
        match values {
            ValueKind::Floats if kind == ParameterType::Spectrum && self.lexer.peek() == PbrtToken::String => {
                stored.declaration = self.twin(number, declaration)?;
                (stored.start, stored.count) = self.strings(in_brackets, bracket, mark)?;
            }
            ValueKind::Floats => (stored.start, stored.count) = self.floats(in_brackets, bracket, mark)?,
            ValueKind::Integers => (stored.start, stored.count) = self.integers(in_brackets, bracket, mark)?,
            ValueKind::Bools => (stored.start, stored.count) = self.bools(in_brackets, bracket, mark)?,
            ValueKind::Strings => (stored.start, stored.count) = self.strings(in_brackets, bracket, mark)?,
        }
        if stored.count == 0 {
            return Err(self.lexer.fault(mark, "no-values", "this parameter has no values".into()));
        }
        let of_strings = stored.declaration != declaration;
        let width = kind.width() as u32;
        if !of_strings && !stored.count.is_multiple_of(width) {
            let message = format!("type `{}` needs a multiple of {width} numbers, found {}", kind.name(), stored.count);
            return Err(self.lexer.fault(mark, "wrong-count", message));
        }
        Ok(try_push(&mut self.parsed.parameters, stored, "parameters")?)
    }

    /// Reads a declaration that was not met before: its index.
    #[cold]
    fn declare(&mut self, number: u32, mark: Mark) -> PbrtParse<u32> {
        let text = self.parsed.declaration_texts.get(number);
        let mut words = text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let (Some(kind), Some(name)) = (words.next(), words.next()) else {
            let message = "this declaration has no type or name".to_owned();
            return Err(self.complaint(mark, "bad-declaration", message, "a type and a name, as in \"float radius\""));
        };
        let today = match kind {
            b"point" => Some(ParameterType::Point3),
            b"vector" => Some(ParameterType::Vector3),
            b"normal3" => Some(ParameterType::Normal),
            b"color" => Some(ParameterType::Rgb),
            _ => None,
        };
        let known = ParameterType::ALL.into_iter().find(|one| one.name().as_bytes() == kind);
        let Some(found) = known.or(today) else {
            let (what, shown) = ("a type and a name, as in \"float radius\"", String::from_utf8_lossy(kind));
            let message = match kind {
                b"xyz" => "the type `xyz` is from pbrt-v3 and older; pbrt-v4 does not have it".to_owned(),
                _ => format!("`{}` is not a parameter type", names::shown(&shown)),
            };
            let mut fault = self.complaint(mark, "bad-declaration", message, what);
            if let (PbrtFault::Broken(complaint), b"xyz") = (&mut fault, kind) {
                complaint.hint = Some(Version::V3OrOlder.remedy().to_owned());
            }
            return Err(fault);
        };
        let name = self.parsed.names.number(name)?;
        if let Some(today) = today {
            let old = String::from_utf8_lossy(kind).into_owned();
            let message = format!("the type `{old}` is from pbrt-v3 and older; pbrt-v4 calls it `{}`", today.name());
            // Each use is noted, so it is not remembered.
            self.old(mark, message, &format!("write `{}`", today.name()))?;
        }
        let values = match found {
            ParameterType::Bool => ValueKind::Bools,
            ParameterType::Integer => ValueKind::Integers,
            ParameterType::String | ParameterType::Texture => ValueKind::Strings,
            _ => ValueKind::Floats,
        };
        let declaration = self.declaration(Declaration { kind: found, values, name })?;
        if today.is_none() {
            self.remember(number, 0, declaration)?;
        }
        Ok(declaration)
    }

    /// The declaration of the same parameter with names for numbers.
    fn twin(&mut self, number: u32, declaration: u32) -> PbrtParse<u32> {
        if let Some(known) = self.parsed.known.get(number as usize).and_then(|known| known[1].checked_sub(1)) {
            return Ok(known);
        }
        let name = self.name_of(declaration);
        let twin = Declaration { kind: ParameterType::Spectrum, values: ValueKind::Strings, name };
        let twin = self.declaration(twin)?;
        self.remember(number, 1, twin)?;
        Ok(twin)
    }

    fn declaration(&mut self, declaration: Declaration) -> PbrtParse<u32> {
        let number = self.parsed.declarations.len() as u32;
        try_push(&mut self.parsed.declarations, declaration, "parameters")?;
        Ok(number)
    }

    fn remember(&mut self, number: u32, which: usize, declaration: u32) -> PbrtParse<()> {
        let known = &mut self.parsed.known;
        while known.len() <= number as usize {
            try_push(known, [0; 2], "parameters")?;
        }
        known[number as usize][which] = declaration + 1;
        Ok(())
    }

    #[inline]
    fn floats(&mut self, in_brackets: bool, bracket: Mark, mark: Mark) -> PbrtParse<(u32, u32)> {
        let first = self.parsed.floats.len();
        let only = if in_brackets { self.lexer.only_float() } else { None };
        if let Some(value) = only {
            try_push(&mut self.parsed.floats, value, "values")?;
        } else if in_brackets {
            loop {
                self.lexer.floats(&mut self.parsed.floats)?;
                let stopped = self.lexer.at;
                if self.is_closed(bracket)? {
                    break;
                }
                // More may follow after a comment.
                if self.lexer.at == stopped {
                    self.not_a(PbrtToken::Word, "numbers")?;
                }
            }
        } else {
            let word = self.single(mark, "numbers")?;
            let Some(value) = self.lexer.float(word) else { return Err(self.no_number()) };
            self.lexer.pass(word.len());
            try_push(&mut self.parsed.floats, value, "values")?;
        }
        Ok((first as u32, (self.parsed.floats.len() - first) as u32))
    }

    fn integers(&mut self, in_brackets: bool, bracket: Mark, mark: Mark) -> PbrtParse<(u32, u32)> {
        let first = self.parsed.integers.len();
        if in_brackets {
            loop {
                let overflow = self.lexer.integers(&mut self.parsed.integers)?;
                let stopped = self.lexer.at;
                if self.is_closed(bracket)? {
                    break;
                }
                if self.lexer.at == stopped && self.lexer.peek() == PbrtToken::Word {
                    return Err(self.no_integer(overflow));
                }
                if self.lexer.at == stopped {
                    self.not_a(PbrtToken::Word, "integers")?;
                }
            }
        } else {
            let word = self.single(mark, "integers")?;
            match list::i32(word) {
                Ok(value) => try_push(&mut self.parsed.integers, value, "values")?,
                Err(error) => return Err(self.no_integer(error == IntegerError::Overflow)),
            }
            self.lexer.pass(word.len());
        }
        Ok((first as u32, (self.parsed.integers.len() - first) as u32))
    }

    #[cold]
    fn no_integer(&mut self, overflow: bool) -> PbrtFault {
        let mark = self.lexer.token_mark();
        let what = if overflow { "does not fit in a 32-bit integer" } else { "is not an integer" };
        let message = format!("`{}` {what}", self.shown(mark));
        self.lexer.fault(mark, "bad-number", message)
    }

    fn bools(&mut self, in_brackets: bool, bracket: Mark, mark: Mark) -> PbrtParse<(u32, u32)> {
        let first = self.parsed.bools.len();
        loop {
            if in_brackets && self.is_closed(bracket)? {
                break;
            }
            let value = match self.lexer.peek() {
                PbrtToken::String => self.quoted_bool()?,
                PbrtToken::Word if !self.at_directive() => {
                    let word = self.lexer.word();
                    let value = match word {
                        b"true" => true,
                        b"false" => false,
                        _ => {
                            let mark = self.lexer.token_mark();
                            let message =
                                format!("`{}` is not a boolean; expected `true` or `false`", self.shown(mark));
                            return Err(self.lexer.fault(mark, "bad-value", message));
                        }
                    };
                    self.lexer.pass(word.len());
                    value
                }
                _ => return Err(self.no_value(mark)),
            };
            try_push(&mut self.parsed.bools, value, "values")?;
            if !in_brackets {
                break;
            }
        }
        Ok((first as u32, (self.parsed.bools.len() - first) as u32))
    }

    /// The single word of a parameter without brackets.
    fn single(&mut self, mark: Mark, what: &'static str) -> PbrtParse<&'t [u8]> {
        if self.lexer.peek() == PbrtToken::Word && !self.at_directive() {
            return Ok(self.lexer.word());
        }
        self.not_a(PbrtToken::Word, what)?;
        Err(self.no_value(mark))
    }

    /// As in pbrt-v3.
    #[cold]
    fn quoted_bool(&mut self) -> PbrtParse<bool> {
        let mark = self.lexer.token_mark();
        let value = match self.lexer.string()? {
            b"true" => true,
            b"false" => false,
            _ => {
                return Err(self.lexer.fault(
                    mark,
                    "bad-value",
                    "this string is not a boolean; expected `true` or `false`".into(),
                ));
            }
        };
        let message = "quoted booleans are from pbrt-v3 and older; pbrt-v4 does not have them".to_owned();
        self.old(mark, message, &format!("write {value} without quotes"))?;
        Ok(value)
    }

    fn strings(&mut self, in_brackets: bool, bracket: Mark, mark: Mark) -> PbrtParse<(u32, u32)> {
        let first = self.parsed.strings.len();
        loop {
            if in_brackets && self.is_closed(bracket)? {
                break;
            }
            if self.lexer.peek() != PbrtToken::String {
                self.not_a(PbrtToken::String, "strings")?;
                return Err(self.no_value(mark));
            }
            let number = self.string()?;
            try_push(&mut self.parsed.strings, number, "values")?;
            if !in_brackets {
                break;
            }
        }
        Ok((first as u32, (self.parsed.strings.len() - first) as u32))
    }

    /// Whether a list ends here; if it is not closed, an error at its beginning.
    #[inline]
    pub(super) fn is_closed(&mut self, bracket: Mark) -> PbrtParse<bool> {
        match self.lexer.peek() {
            PbrtToken::Close => {
                self.lexer.pass(1);
                Ok(true)
            }
            PbrtToken::End => {
                Err(self.lexer.fault(bracket, "unclosed-list", "this list is not closed with `]`".into()))
            }
            PbrtToken::Word if self.at_directive() => {
                Err(self.lexer.fault(bracket, "unclosed-list", "this list is not closed with `]`".into()))
            }
            _ => Ok(false),
        }
    }

    /// An error if the next token is not a value of the wanted kind.
    #[cold]
    fn not_a(&mut self, wanted: PbrtToken, what: &'static str) -> PbrtParse<()> {
        let token = self.lexer.peek();
        if token == wanted && wanted == PbrtToken::Word && !self.at_directive() {
            return Err(self.no_number());
        }
        let mark = self.lexer.token_mark();
        let found = match token {
            PbrtToken::String => "a string".to_owned(),
            PbrtToken::Open | PbrtToken::Close => "a bracket".to_owned(),
            PbrtToken::Word if !self.at_directive() => format!("`{}`", self.shown(mark)),
            _ => return Ok(()),
        };
        let message = format!("expected {what}, found {found}");
        Err(self.lexer.fault(mark, "bad-value", message))
    }

    /// A parameter has no value.
    #[cold]
    fn no_value(&mut self, mark: Mark) -> PbrtFault {
        self.lexer.fault(mark, "no-values", "this parameter has no values".into())
    }
}
