//! Parses parameters: declarations, and values, which go directly into the arrays of the model.

use super::directive::Directive;
use super::event::{PbrtEvent, PbrtParsed};
use super::lexer::{Lexer, PbrtFault, PbrtParse, PbrtToken, TokenMark};
use super::parse::ParsePiece;
use super::versions::PbrtVersion;
use polyhaul_model::error::try_push;
use polyhaul_model::names;
use polyhaul_model::render::{Declaration, ParameterType, StoredParameter, ValueKind};
use polyhaul_model::warnings::counted;
use polyhaul_text::parse::list;
use polyhaul_text::parse::number::IntegerError;

/// Maximum number of parameters per directive.
/// Events store this number in 16 bits.
const MAX_PARAMETERS: usize = u16::MAX as usize;

/// Creates the message about a wrong number of indices of a mesh.
fn wrong_index_count(class: &str, count: usize, width: usize) -> String {
    format!("this `{class}` has {count} indices; expected a multiple of {width}")
}

/// Creates the message about a mesh without indices.
pub(super) fn missing_arrays(class: &str, points: usize) -> String {
    match points {
        0 => format!("this `{class}` has no parameter \"point3 P\""),
        _ => format!("this `{class}` has {points} points and no parameter \"integer indices\""),
    }
}

/// Creates the message about an out-of-range index of a mesh.
fn index_out_of_range(class: &str, index: i32, points: usize) -> String {
    format!("the index {index} of this `{class}` is out of range: it has {points} points")
}

impl<'t> ParsePiece<'t, '_> {
    /// Parses all parameters; returns how many there are.
    pub(super) fn parameters(&mut self, directive: Directive, mark: TokenMark) -> PbrtParse<u16> {
        let first = self.parsed.parameters.len();
        while self.lexer.peek() == PbrtToken::String {
            self.parameter()?;
        }
        let count = self.parsed.parameters.len() - first;
        if count > 1 {
            self.check_names(first, directive, mark)?;
        }
        if count > MAX_PARAMETERS {
            let message =
                format!("`{}` has {count} parameters, more than the maximum of {MAX_PARAMETERS}", directive.name());
            return Err(self.lexer.fault(mark, "too-many-parameters", message));
        }
        Ok(count as u16)
    }

    /// Checks the indices of a shape, if it is a mesh.
    pub(super) fn check_indices(&mut self, event: &PbrtEvent, mark: TokenMark) -> PbrtParse<()> {
        let class = self.parsed.names.get(event.a);
        if !matches!(class, b"trianglemesh" | b"bilinearmesh" | b"loopsubdiv") {
            return Ok(());
        }
        let PbrtParsed { declarations, parameters, integers, .. } = &*self.parsed;
        let values = |name: &[u8], kind: ValueKind| {
            let of_shape = &parameters[event.b as usize..];
            let is_named = |declaration: &Declaration| {
                declaration.values == kind && self.parsed.names.get(declaration.name) == name
            };
            // If a name is repeated, the last parameter of this kind counts. `Parameters::get` returns the last of any
            // kind.
            let mut latest_first = of_shape.iter().rev();
            latest_first.find(|parameter| declarations.get(parameter.declaration as usize).is_some_and(is_named))
        };
        let points = values(b"P", ValueKind::Floats).map_or(0, |points| points.count / 3);
        let width = if class == b"bilinearmesh" { 4 } else { 3 };
        // Indices are required only if the scene becomes meshes. Validation reports missing indices together with other
        // parameters, and scenes that are not converted keep their content.
        let becomes_mesh = !self.options.faults.target.is_empty() && !self.options.faults.is_thorough;
        let Some(indices) = values(b"indices", ValueKind::Integers).filter(|_| becomes_mesh || points > 0) else {
            if points as usize == width || !becomes_mesh {
                return Ok(());
            }
            let message = missing_arrays(&String::from_utf8_lossy(class), points as usize);
            return Err(self.lexer.fault(mark, "missing-parameter", message));
        };
        let indices = &integers[indices.start as usize..][..indices.count as usize];
        // There is no early exit, so that the loop vectorizes; the wrong index is searched for only after a failure.
        // Negative indices become large.
        let is_sound = indices.iter().fold(0, |largest, &index| largest.max(index as u32)) < points;
        let wrong = if is_sound { None } else { indices.iter().position(|&index| index as u32 >= points) };
        let class = String::from_utf8_lossy(class);
        let is_thorough = self.options.faults.is_thorough;
        match wrong {
            Some(at) => {
                let message = index_out_of_range(&class, indices[at], points as usize);
                let mark = self.lexer.value_mark(mark, b"indices", at);
                if is_thorough {
                    return self.note(mark, "index-out-of-range", message);
                }
                Err(self.lexer.fault(mark, "index-out-of-range", message))
            }
            None if !indices.len().is_multiple_of(width) => {
                let result = if is_thorough { "" } else { "; the excess indices are ignored" };
                let message = wrong_index_count(&class, indices.len(), width) + result;
                let mark = self.lexer.value_mark(mark, b"indices", indices.len() / width * width);
                self.note(mark, "wrong-count", message)
            }
            None => Ok(()),
        }
    }

    /// Warns about repeated parameter names.
    fn check_names(&mut self, first: usize, directive: Directive, mark: TokenMark) -> PbrtParse<()> {
        /// Maximum number of parameters to compare. Comparing all pairs takes quadratic time, and only hostile files
        /// have more.
        const MAX_CHECKED: usize = 64;
        let new = &self.parsed.parameters[first..];
        let new = &new[..new.len().min(MAX_CHECKED)];
        let is_same = |a: u32, b: u32| a == b || self.name_of(a) == self.name_of(b);
        let repeated = new.iter().enumerate().find(|&(at, parameter)| {
            new[..at].iter().any(|earlier| is_same(earlier.declaration, parameter.declaration))
        });
        let Some((_, repeated)) = repeated else { return Ok(()) };
        let name = self.parsed.names.get(self.name_of(repeated.declaration));
        let name = String::from_utf8_lossy(name).into_owned();
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
        let cached = self.parsed.known.get(number as usize).map_or(0, |declarations| declarations[0]);
        let declaration = if cached == 0 { self.declare(number, mark)? } else { cached - 1 };
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
            // A spectrum may be given by names instead of numbers, which only its first value shows.
            ValueKind::Floats if kind == ParameterType::Spectrum && self.lexer.peek() == PbrtToken::String => {
                stored.declaration = self.twin(number, declaration)?;
                (stored.start, stored.count) = self.strings(in_brackets, bracket, mark)?;
            }
            // A point has three numbers, so only a list can be valid.
            ValueKind::Floats if kind == ParameterType::Point3 && in_brackets => {
                (stored.start, stored.count) = self.points(bracket)?;
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
            let numbers = counted(stored.count.into(), ["number", "numbers"]);
            let message = format!("this `{}` has {numbers}; expected a multiple of {width}", kind.name());
            return Err(self.lexer.fault(mark, "wrong-count", message));
        }
        Ok(try_push(&mut self.parsed.parameters, stored, "parameters")?)
    }

    /// Parses a declaration when it is first used; returns its index.
    #[cold]
    fn declare(&mut self, number: u32, mark: TokenMark) -> PbrtParse<u32> {
        let text = self.parsed.declaration_texts.get(number);
        let mut words = text.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let kind = words.next();
        let Some((kind, name)) = kind.zip(words.next()) else {
            let message = "incomplete parameter declaration".to_owned();
            return Err(self.complaint(mark, "bad-declaration", message, "a type and a name, as in \"float radius\""));
        };
        let renamed = match kind {
            b"point" => Some(ParameterType::Point3),
            b"vector" => Some(ParameterType::Vector3),
            b"normal3" => Some(ParameterType::Normal),
            b"color" => Some(ParameterType::Rgb),
            _ => None,
        };
        let current = ParameterType::ALL.into_iter().find(|parameter_type| parameter_type.name().as_bytes() == kind);
        let Some(parameter_type) = current.or(renamed) else {
            let what = "a type and a name, as in \"float radius\"";
            let shown = String::from_utf8_lossy(kind);
            let message = match kind {
                b"xyz" => "the type `xyz` is from pbrt-v3 or earlier; pbrt-v4 does not have it".to_owned(),
                _ => format!("`{}` is not a parameter type", names::shown(&shown)),
            };
            let mut fault = self.complaint(mark, "bad-declaration", message, what);
            if kind == b"xyz"
                && let PbrtFault::Broken(complaint) = &mut fault
            {
                complaint.hint = Some(PbrtVersion::V3OrOlder.remedy().to_owned());
            }
            return Err(fault);
        };
        let name_count = self.parsed.names.len();
        let name = self.parsed.names.number(name)?;
        let old = String::from_utf8_lossy(kind).into_owned();
        let is_utf8 = self.check_encoding(name, name_count, mark)?;
        if let Some(renamed) = renamed {
            let message = format!("the type `{old}` is from pbrt-v3 or earlier; pbrt-v4 calls it `{}`", renamed.name());
            self.old(mark, message, &format!("write `{}`", renamed.name()))?;
        }
        let values = match parameter_type {
            ParameterType::Bool => ValueKind::Bools,
            ParameterType::Integer => ValueKind::Integers,
            ParameterType::String | ParameterType::Texture => ValueKind::Strings,
            _ => ValueKind::Floats,
        };
        let declaration = self.declaration(Declaration { kind: parameter_type, values, name })?;
        // Not cached after a warning, so that each use is reported, in whichever piece it is.
        if renamed.is_none() && is_utf8 {
            self.remember(number, 0, declaration)?;
        }
        Ok(declaration)
    }

    /// Returns the same parameter's declaration with names instead of numbers.
    fn twin(&mut self, number: u32, declaration: u32) -> PbrtParse<u32> {
        let cached = self.parsed.known.get(number as usize);
        if let Some(twin) = cached.and_then(|declarations| declarations[1].checked_sub(1)) {
            return Ok(twin);
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
        let declarations = &mut self.parsed.known;
        while declarations.len() <= number as usize {
            try_push(declarations, [0; 2], "parameters")?;
        }
        declarations[number as usize][which] = declaration + 1;
        Ok(())
    }

    #[inline]
    fn floats(&mut self, in_brackets: bool, bracket: TokenMark, mark: TokenMark) -> PbrtParse<(u32, u32)> {
        let first = self.parsed.floats.len();
        let only = if in_brackets { self.lexer.only_float() } else { None };
        if let Some(value) = only {
            try_push(&mut self.parsed.floats, value, "values")?;
        } else if in_brackets {
            self.list(bracket, |lexer, parsed| lexer.floats(&mut parsed.floats))?;
        } else {
            let word = self.single(mark, "numbers")?;
            let Some(value) = self.lexer.float(word) else { return Err(self.no_number()) };
            self.lexer.pass(word.len());
            try_push(&mut self.parsed.floats, value, "values")?;
        }
        Ok((first as u32, (self.parsed.floats.len() - first) as u32))
    }

    /// Parses numbers with `take` up to the end of the list that `bracket` opens.
    pub(super) fn list(
        &mut self,
        bracket: TokenMark,
        mut take: impl FnMut(&mut Lexer<'t>, &mut PbrtParsed) -> PbrtParse<bool>,
    ) -> PbrtParse<()> {
        loop {
            take(&mut self.lexer, self.parsed)?;
            let stopped = self.lexer.at;
            if self.is_closed(bracket)? {
                return Ok(());
            }
            // More numbers may follow after a comment.
            if self.lexer.at == stopped {
                self.not_a(PbrtToken::Word, "numbers")?;
            }
        }
    }

    fn integers(&mut self, in_brackets: bool, bracket: TokenMark, mark: TokenMark) -> PbrtParse<(u32, u32)> {
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

    fn bools(&mut self, in_brackets: bool, bracket: TokenMark, mark: TokenMark) -> PbrtParse<(u32, u32)> {
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

    /// Returns the next word as the only value of a parameter without brackets.
    fn single(&mut self, mark: TokenMark, what: &'static str) -> PbrtParse<&'t [u8]> {
        if self.lexer.peek() == PbrtToken::Word && !self.at_directive() {
            return Ok(self.lexer.word());
        }
        self.not_a(PbrtToken::Word, what)?;
        Err(self.no_value(mark))
    }

    /// Parses a boolean in quotes, the syntax of pbrt-v3.
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
        let message = "quoted booleans are from pbrt-v3 or earlier; pbrt-v4 does not have them".to_owned();
        self.old(mark, message, &format!("write {value} without quotes"))?;
        Ok(value)
    }

    fn strings(&mut self, in_brackets: bool, bracket: TokenMark, mark: TokenMark) -> PbrtParse<(u32, u32)> {
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

    /// Consumes the end of a list, if it is next. If the list is unclosed, fails with an error at its start.
    #[inline]
    pub(super) fn is_closed(&mut self, bracket: TokenMark) -> PbrtParse<bool> {
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

    /// Fails if the next token is not a value of the expected kind.
    #[cold]
    fn not_a(&mut self, expected: PbrtToken, what: &'static str) -> PbrtParse<()> {
        let token = self.lexer.peek();
        if token == expected && expected == PbrtToken::Word && !self.at_directive() {
            return Err(self.no_number());
        }
        let mark = self.lexer.token_mark();
        let found_text = match token {
            PbrtToken::String => "a string".to_owned(),
            PbrtToken::Open | PbrtToken::Close => "a bracket".to_owned(),
            PbrtToken::Word if !self.at_directive() => format!("`{}`", self.shown(mark)),
            _ => return Ok(()),
        };
        let message = format!("expected {what}, found {found_text}");
        Err(self.lexer.fault(mark, "bad-value", message))
    }

    /// Creates the error for a parameter without values.
    #[cold]
    fn no_value(&mut self, mark: TokenMark) -> PbrtFault {
        self.lexer.fault(mark, "no-values", "this parameter has no values".into())
    }
}
