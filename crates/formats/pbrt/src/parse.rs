//! Parses a piece of text into events, directive by directive, without the text before it.
//!
//! An error is an event like any other, so the first error of a scene is the first in scene order, regardless of which
//! thread finds it. `resolve` processes the events.

use super::borders::starts_directive;
use super::directive::{Directive, PbrtForm};
use super::event::{PbrtComplaint, PbrtEvent, PbrtEventKind, PbrtParsed, PointLoss, Spot};
use super::lexer::{Lexer, PbrtFault, PbrtParse, PbrtToken, TokenMark};
use super::versions;
use super::versions::PbrtVersion;
use polyhaul_model::error::{Error, Result, limit_hint, planted, try_push};
use polyhaul_model::printable::printable;
use polyhaul_model::warnings::{Weight, counted};
use polyhaul_pipeline::chunk::{Gap, Text};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list;

/// Parses pieces of text.
pub(super) struct PbrtParser<'o> {
    pub(super) options: &'o ParseOptions,
    pub(super) level: Level,
}

/// A piece being parsed.
pub(super) struct ParsePiece<'t, 'o> {
    pub(super) lexer: Lexer<'t>,
    pub(super) parsed: &'t mut PbrtParsed,
    pub(super) options: &'o ParseOptions,
}

/// Last row of an affine matrix.
const PLAIN_ROW: [u64; 4] = [0, 0, 0, 1.0f64.to_bits()];

/// Array lengths at the start of a directive, used to undo the effects of a broken directive.
struct PbrtSizes {
    lengths: [usize; 8],
    rounding: PointLoss,
}

impl PbrtParser<'_> {
    /// Parses the text of a piece. Returns `false` if the bytes of gaps are needed, because their numbers are not list
    /// elements or a message may quote them.
    pub(super) fn parse(&self, text: &Text, gaps: Vec<Gap>, parsed: &mut PbrtParsed) -> Result<bool> {
        parsed.clear();
        let has_gaps = !gaps.is_empty();
        let lexer = Lexer::new(text, gaps, self.level);
        let mut piece = ParsePiece { lexer, parsed, options: self.options };
        while piece.lexer.peek() != PbrtToken::End {
            let sizes = PbrtSizes::from_parsed(piece.parsed);
            match piece.directive() {
                Ok(event) => try_push(&mut piece.parsed.events, event, "directives")?,
                Err(PbrtFault::Error(error)) => return Err(error),
                Err(PbrtFault::Broken(complaint)) => {
                    sizes.restore(piece.parsed);
                    let stops = self.options.raises() || complaint.weight == Weight::Limit;
                    piece.parsed.complain(*complaint)?;
                    if stops {
                        break;
                    }
                    piece.recover();
                }
            }
        }
        piece.parsed.end = piece.lexer.end()?;
        Ok(!has_gaps || piece.parsed.complaints.is_empty() && !piece.lexer.has_missed())
    }
}

impl PbrtSizes {
    fn from_parsed(p: &PbrtParsed) -> PbrtSizes {
        let [a, b, c, d] = [p.floats.len(), p.integers.len(), p.bools.len(), p.strings.len()];
        let lengths = [a, b, c, d, p.doubles.len(), p.exact.len(), p.parameters.len(), p.operands.len()];
        PbrtSizes { lengths, rounding: p.rounding }
    }

    fn restore(&self, p: &mut PbrtParsed) {
        let [a, b, c, d, e, f, g, h] = self.lengths;
        // Names and declarations stay, because hash tables and other parameters refer to them by index.
        p.floats.truncate(a);
        p.integers.truncate(b);
        p.bools.truncate(c);
        p.strings.truncate(d);
        p.doubles.truncate(e);
        p.exact.truncate(f);
        p.parameters.truncate(g);
        p.operands.truncate(h);
        p.rounding = self.rounding;
    }
}

impl ParsePiece<'_, '_> {
    /// Parses a directive with all its operands.
    #[inline]
    fn directive(&mut self) -> PbrtParse<PbrtEvent> {
        let word = self.lexer.word();
        let spot = self.lexer.spot();
        let Some((directive, form)) = Directive::named(word) else { return Err(self.no_directive()) };
        let mark = self.lexer.mark(word.len());
        self.lexer.pass(word.len());
        let mut event = PbrtEvent { what: PbrtEventKind::Directive(directive), count: 0, a: 0, b: 0, spot };
        match form {
            PbrtForm::Bare if directive == Directive::WorldEnd => self.world_end(mark)?,
            PbrtForm::Bare => {}
            PbrtForm::Matrix => {
                event.a = self.parsed.doubles.len() as u32;
                if !self.matrix(directive, mark)? {
                    event.what = PbrtEventKind::FullMatrix(directive);
                }
            }
            PbrtForm::Numbers(count) => {
                event.a = self.parsed.doubles.len() as u32;
                self.numbers(directive, mark, count)?;
            }
            PbrtForm::Name => event.a = self.name(directive, mark)?,
            PbrtForm::Names => {
                event.a = self.name(directive, mark)?;
                // A single name is the medium on both sides.
                event.b = if self.lexer.peek() == PbrtToken::String { self.string()? } else { event.a };
            }
            PbrtForm::Time => event.a = self.time(directive, mark)?,
            PbrtForm::Setting => {
                event.a = self.name(directive, mark)?;
                let (value, quoted) = self.value(directive, mark)?;
                event.b = value;
                event.count = u16::from(quoted);
            }
            PbrtForm::Parameters => {
                event.a = self.name(directive, mark)?;
                event.b = self.parsed.parameters.len() as u32;
                event.count = self.parameters(directive, mark)?;
                // A scene that will be written as pbrt keeps its content, so its indices are not checked.
                let stays = self.options.faults.target == "pbrt" && !self.options.faults.is_thorough;
                if directive == Directive::Shape && !stays {
                    self.check_indices(&event, mark)?;
                }
            }
            PbrtForm::Texture => {
                event.a = self.parsed.operands.len() as u32;
                for _ in 0..3 {
                    let number = self.name(directive, mark)?;
                    try_push(&mut self.parsed.operands, number, "names")?;
                }
                event.b = self.parsed.parameters.len() as u32;
                event.count = self.parameters(directive, mark)?;
            }
        }
        Ok(event)
    }

    /// Creates the error for a token that is not a directive, and skips it.
    #[cold]
    fn no_directive(&mut self) -> PbrtFault {
        let token = self.lexer.peek();
        let mark = self.lexer.token_mark();
        let old = (token == PbrtToken::Word).then(|| versions::of_directive(self.lexer.word())).flatten();
        let message = match (token, old) {
            (_, Some(version)) => {
                let version = version.name();
                format!("`{}` is a directive of {version}, not of pbrt-v4", self.shown(mark))
            }
            (PbrtToken::Word, None) => format!("`{}` is not a pbrt directive", self.shown(mark)),
            (PbrtToken::String, _) => "expected a directive, found a string".to_owned(),
            _ => "expected a directive, found a bracket".to_owned(),
        };
        let code = if old.is_some() { "old-syntax" } else { "unknown-directive" };
        let mut fault = self.lexer.fault(mark, code, message);
        if let PbrtFault::Broken(complaint) = &mut fault
            && let Some(version) = old
        {
            complaint.hint = Some(version.remedy().to_owned());
        }
        // Skip it, so that recovery does not find it again.
        match token {
            PbrtToken::String => self.skip_string(),
            _ => self.lexer.pass(mark.len),
        }
        fault
    }

    /// Returns the start of the next token, as shown in messages.
    pub(super) fn shown(&self, mark: TokenMark) -> String {
        const MAX_BYTES: usize = 60;
        let bytes = self.lexer.word();
        let bytes = &bytes[..bytes.len().min(mark.len).min(MAX_BYTES)];
        let text = String::from_utf8_lossy(bytes);
        let clean = printable(&text, '?').into_owned();
        if mark.len > MAX_BYTES { clean + "..." } else { clean }
    }

    /// Skips to the next directive.
    #[cold]
    fn recover(&mut self) {
        loop {
            match self.lexer.peek() {
                PbrtToken::End => return,
                PbrtToken::String => self.skip_string(),
                PbrtToken::Open | PbrtToken::Close => self.lexer.pass(1),
                PbrtToken::Word if self.at_directive() => return,
                PbrtToken::Word => {
                    let size = self.lexer.word().len();
                    self.lexer.pass(size);
                }
            }
        }
    }

    fn skip_string(&mut self) {
        if self.lexer.string().is_err() {
            self.lexer.skip_line();
        }
    }

    /// Returns whether the next word starts a directive.
    #[inline]
    pub(super) fn at_directive(&self) -> bool {
        let [first, second] = self.lexer.pair();
        starts_directive(first, second)
    }

    /// Reports `WorldEnd`, which pbrt-v4 does not have.
    #[cold]
    fn world_end(&mut self, mark: TokenMark) -> PbrtParse<()> {
        let message = "`WorldEnd` is a directive of pbrt-v3 or earlier, not of pbrt-v4";
        self.old(mark, message.into(), "remove the directive")
    }

    /// Reports the syntax of older versions: as an error, or as a warning if it is accepted.
    #[cold]
    pub(super) fn old(&mut self, mark: TokenMark, message: String, fix: &str) -> PbrtParse<()> {
        let mut fault = self.lexer.fault(mark, "old-syntax", message);
        if let PbrtFault::Broken(complaint) = &mut fault {
            complaint.hint = Some(format!("{}, or {fix}", PbrtVersion::V3OrOlder.remedy()));
        }
        match fault {
            PbrtFault::Broken(complaint) if !self.options.raises() => Ok(self.parsed.complain(*complaint)?),
            fault => Err(fault),
        }
    }

    /// Parses 16 numbers in brackets. If the matrix is affine, drops its last row. Returns whether it did.
    #[inline]
    fn matrix(&mut self, directive: Directive, mark: TokenMark) -> PbrtParse<bool> {
        if self.lexer.peek() != PbrtToken::Open {
            return Err(self.unexpected(directive, mark, "16 numbers in brackets"));
        }
        let bracket = self.lexer.mark(1);
        self.lexer.pass(1);
        let numbers = match self.lexer.matrix() {
            Some(numbers) if self.lexer.peek() == PbrtToken::Close => {
                self.lexer.pass(1);
                numbers
            }
            Some(numbers) => self.odd_matrix(&numbers, directive, [mark, bracket])?,
            None => self.odd_matrix(&[], directive, [mark, bracket])?,
        };
        // Compared as bits, so that a last row with a negative zero is kept.
        let is_plain = [numbers[3], numbers[7], numbers[11], numbers[15]].map(f64::to_bits) == PLAIN_ROW;
        let doubles = &mut self.parsed.doubles;
        doubles.try_reserve(numbers.len()).map_err(Error::from)?;
        if !is_plain {
            doubles.extend_from_slice(&numbers);
            return Ok(false);
        }
        // The numbers are column-major, so the last row consists of every fourth number.
        let [a, b, c, _, d, e, f, _, g, h, i, _, x, y, z, _] = numbers;
        doubles.extend_from_slice(&[a, b, c, d, e, f, g, h, i, x, y, z]);
        Ok(true)
    }

    /// Parses the rest of a matrix that contains comments or does not have exactly 16 numbers. `taken` are the numbers
    /// before it.
    #[cold]
    fn odd_matrix(
        &mut self,
        taken: &[f64],
        directive: Directive,
        [mark, bracket]: [TokenMark; 2],
    ) -> PbrtParse<[f64; 16]> {
        let mut numbers = Vec::new();
        numbers.try_reserve(taken.len()).map_err(Error::from)?;
        numbers.extend_from_slice(taken);
        while self.lexer.peek() == PbrtToken::Word && !self.at_directive() {
            let before = self.lexer.at;
            self.lexer.doubles(&mut numbers)?;
            if self.lexer.at == before {
                return Err(self.no_number());
            }
        }
        if !self.is_closed(bracket)? {
            return Err(self.unexpected(directive, mark, "16 numbers in brackets"));
        }
        numbers[..].try_into().map_err(|_| {
            let message = format!("`{}` has {} numbers", directive.name(), numbers.len());
            self.complaint(mark, "wrong-count", message, "16")
        })
    }

    /// Parses `count` numbers without brackets.
    fn numbers(&mut self, directive: Directive, mark: TokenMark, count: usize) -> PbrtParse<()> {
        for taken in 0..count {
            if self.lexer.peek() != PbrtToken::Word || self.at_directive() {
                if planted("pbrt-numbers") {
                    return Ok(());
                }
                let name = directive.name();
                let numbers = counted(taken as u64, ["number", "numbers"]);
                let message = format!("`{name}` has {numbers}; expected {count}");
                return Err(self.lexer.fault(mark, "wrong-count", message));
            }
            let word = self.lexer.word();
            let Some(value) = list::f64(word) else { return Err(self.no_number()) };
            self.lexer.pass(word.len());
            try_push(&mut self.parsed.doubles, value, "values")?;
        }
        Ok(())
    }

    /// Parses an operand that is a string.
    #[inline]
    fn name(&mut self, directive: Directive, mark: TokenMark) -> PbrtParse<u32> {
        if self.lexer.peek() != PbrtToken::String {
            return Err(self.unexpected(directive, mark, "a quoted string"));
        }
        self.string()
    }

    /// Parses the next token, a string; returns its index.
    #[inline]
    pub(super) fn string(&mut self) -> PbrtParse<u32> {
        let mark = self.lexer.mark(1);
        let limit = self.options.limits.name_bytes;
        let text = self.lexer.string()?;
        if text.len() as u64 > limit {
            return Err(self.too_long(mark, limit));
        }
        let name_count = self.parsed.names.len();
        let number = self.parsed.names.number(text)?;
        self.check_encoding(number, name_count, mark)?;
        Ok(number)
    }

    /// Warns about a name that is not UTF-8. It is new if there were `name_count` names before. Returns whether it is
    /// UTF-8.
    #[inline]
    pub(super) fn check_encoding(&mut self, number: u32, name_count: usize, mark: TokenMark) -> PbrtParse<bool> {
        let names = &self.parsed.names;
        if names.len() > name_count && std::str::from_utf8(names.get(number)).is_err() {
            try_push(&mut self.parsed.odd_names, number, "names")?;
        }
        // Every use of such a name is reported, not only the first.
        let is_odd = !self.parsed.odd_names.is_empty() && self.parsed.odd_names.binary_search(&number).is_ok();
        if is_odd {
            self.note(mark, "non-utf8-name", "this name is not valid UTF-8; read as Latin-1".into())?;
        }
        Ok(!is_odd)
    }

    #[cold]
    pub(super) fn too_long(&self, mark: TokenMark, limit: u64) -> PbrtFault {
        let message = format!("name is longer than the limit `name_bytes` ({limit} bytes)");
        let mut fault = self.lexer.fault(mark, "limit", message);
        if let PbrtFault::Broken(complaint) = &mut fault {
            complaint.weight = Weight::Limit;
            complaint.hint = Some(limit_hint("name_bytes"));
        }
        fault
    }

    /// Parses the value of an option. Returns the index of its text, and whether it was quoted.
    fn value(&mut self, directive: Directive, mark: TokenMark) -> PbrtParse<(u32, bool)> {
        match self.lexer.peek() {
            PbrtToken::String => Ok((self.string()?, true)),
            PbrtToken::Word if !self.at_directive() => {
                let word = self.lexer.word();
                let mark = self.lexer.mark(word.len());
                self.lexer.pass(word.len());
                let name_count = self.parsed.names.len();
                let number = self.parsed.names.number(word)?;
                self.check_encoding(number, name_count, mark)?;
                Ok((number, false))
            }
            _ => Err(self.unexpected(directive, mark, "a value")),
        }
    }

    /// Parses the operand of `ActiveTransform`. Returns the active transforms as bits.
    fn time(&mut self, directive: Directive, mark: TokenMark) -> PbrtParse<u32> {
        let word = if self.lexer.peek() == PbrtToken::Word { self.lexer.word() } else { b"" };
        let bits = match word {
            b"StartTime" => 1,
            b"EndTime" => 2,
            b"All" => 3,
            _ => return Err(self.unexpected(directive, mark, "`All`, `StartTime` or `EndTime`")),
        };
        self.lexer.pass(word.len());
        Ok(bits)
    }

    /// Creates the error for an unexpected token, or the end of the directive, in place of an operand.
    #[cold]
    fn unexpected(&mut self, directive: Directive, mark: TokenMark, expected: &'static str) -> PbrtFault {
        let token = self.lexer.peek();
        let ends = token == PbrtToken::End || token == PbrtToken::Word && self.at_directive();
        if ends {
            let message = format!("`{}` is incomplete", directive.name());
            return self.complaint(mark, "missing-operand", message, expected);
        }
        let unexpected = self.lexer.token_mark();
        let message = match token {
            PbrtToken::Word => format!("unexpected `{}` in `{}`", self.shown(unexpected), directive.name()),
            PbrtToken::String => format!("unexpected string in `{}`", directive.name()),
            _ => format!("unexpected bracket in `{}`", directive.name()),
        };
        self.complaint(unexpected, "unexpected-token", message, expected)
    }

    /// Creates the error for a word that is not a number.
    #[cold]
    pub(super) fn no_number(&mut self) -> PbrtFault {
        let mark = self.lexer.token_mark();
        let message = format!("`{}` is not a number", self.shown(mark));
        self.lexer.fault(mark, "bad-number", message)
    }

    #[cold]
    pub(super) fn complaint(
        &self,
        mark: TokenMark,
        code: &'static str,
        message: String,
        expected: &'static str,
    ) -> PbrtFault {
        let mut fault = self.lexer.fault(mark, code, message);
        if let PbrtFault::Broken(complaint) = &mut fault {
            complaint.expected = Some(expected);
        }
        fault
    }

    /// Adds a warning about something that is not an error.
    #[cold]
    pub(super) fn note(&mut self, mark: TokenMark, code: &'static str, message: String) -> PbrtParse<()> {
        match self.lexer.fault(mark, code, message) {
            PbrtFault::Broken(mut complaint) => {
                complaint.weight = Weight::Note;
                Ok(self.parsed.complain(*complaint)?)
            }
            fault => Err(fault),
        }
    }
}

impl PbrtComplaint {
    /// Creates a complaint without an excerpt.
    pub(super) fn at(spot: Spot, weight: Weight, code: &'static str, message: String) -> PbrtComplaint {
        PbrtComplaint { weight, code, message, expected: None, hint: None, spot, excerpt: None }
    }
}
