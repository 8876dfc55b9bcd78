//! Splits a piece of text into tokens: words, strings, brackets, and runs of numbers. `parse` recognizes directives.

use super::ahead::{AheadNumbers, NUMBER_BYTES};
use super::event::{PbrtComplaint, Spot};
use memchr::{memchr, memchr2, memrchr};
use polyhaul_model::error::{Error, Excerpt, Result};
use polyhaul_model::warnings::Weight;
use polyhaul_pipeline::chunk::{Gap, Text};
use polyhaul_pipeline::place::excerpt;
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::list::{self, ListStop, Lists, ends_token};
use polyhaul_text::parse::positions::DigitLoss;
use std::cell::Cell;

/// Reads text sequentially.
pub(super) struct Lexer<'a> {
    /// The text with padding around it. The byte after the text is white space.
    padded: &'a [u8],
    start: usize,
    end: usize,
    lists: Lists<'a>,
    level: Level,
    pub(super) at: usize,
    lines: u32,
    line_start: usize,
    /// Decoded content of the last string with escapes.
    decoded: Vec<u8>,
    /// Numbers parsed in advance, which are not in the text, in reverse order.
    gaps: Vec<Gap>,
    /// Whether any numbers parsed in advance turned out not to be list elements.
    missed: bool,
}

/// Kind of the next token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PbrtToken {
    End,
    String,
    Open,
    Close,
    Word,
}

/// Position and length of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenMark {
    pub(super) at: usize,
    pub(super) len: usize,
    pub(super) spot: Spot,
}

/// Start of a list that may be read again.
#[derive(Clone, Copy)]
pub(super) struct ListBookmark {
    at: usize,
    lines: u32,
    line_start: usize,
    gaps: usize,
}

/// A syntax error, or an error such as out of memory.
pub(super) enum PbrtFault {
    Broken(Box<PbrtComplaint>),
    Error(Error),
}

impl From<Error> for PbrtFault {
    fn from(error: Error) -> PbrtFault {
        PbrtFault::Error(error)
    }
}

/// Result of parsing.
pub(super) type PbrtParse<T> = std::result::Result<T, PbrtFault>;

impl<'a> Lexer<'a> {
    /// Creates a lexer for `text`, which lacks the numbers of `gaps`.
    pub(super) fn new(text: &'a Text, mut gaps: Vec<Gap>, level: Level) -> Lexer<'a> {
        gaps.reverse();
        let padded = text.padded();
        let start = text.start;
        Lexer {
            padded,
            start,
            end: text.end,
            lists: Lists::new(padded, text.end, level),
            level,
            at: start,
            lines: 0,
            line_start: start,
            decoded: Vec::new(),
            gaps,
            missed: false,
        }
    }

    /// Returns whether numbers parsed in advance were not list elements.
    pub(super) fn has_missed(&self) -> bool {
        self.missed || !self.gaps.is_empty()
    }

    #[inline]
    fn byte(&self) -> u8 {
        self.padded.get(self.at).copied().unwrap_or(b'\n')
    }

    /// Returns the position of the next token.
    #[inline]
    pub(super) fn spot(&self) -> Spot {
        Spot { line: self.lines, column: self.at.wrapping_sub(self.line_start) as u32 }
    }

    /// Finds a value in a parameter's list, within the directive that starts at `directive` and ends at the current
    /// position. If the parameter is repeated, searches its last list. Returns `directive` if the value is not found.
    /// Text with gaps need not be searched: after a fault, it is parsed again as a whole.
    #[cold]
    pub(super) fn value_mark(&self, directive: TokenMark, parameter: &[u8], index: usize) -> TokenMark {
        let mut tokens = Lexer {
            lists: Lists::new(self.padded, self.end, self.level),
            decoded: Vec::new(),
            gaps: Vec::new(),
            at: directive.at,
            lines: directive.spot.line,
            line_start: directive.at.wrapping_sub(directive.spot.column as usize),
            ..*self
        };
        tokens.mark_in_list(self.at, parameter, index).unwrap_or(directive)
    }

    fn mark_in_list(&mut self, end: usize, parameter: &[u8], index: usize) -> Option<TokenMark> {
        let mut next = None;
        let mut last = None;
        loop {
            let token = self.peek();
            if self.at >= end {
                return last;
            }
            match token {
                PbrtToken::End => return last,
                PbrtToken::String => {
                    let text = self.string().ok()?;
                    let is_found = text.split(u8::is_ascii_whitespace).next_back() == Some(parameter);
                    next = is_found.then_some(0);
                }
                PbrtToken::Open | PbrtToken::Close => self.pass(1),
                PbrtToken::Word => {
                    let len = self.word().len();
                    if next == Some(index) {
                        last = Some(self.mark(len));
                    }
                    self.pass(len.max(1));
                    next = next.map(|next| next + 1);
                }
            }
        }
    }

    /// Marks the next `len` bytes.
    pub(super) fn mark(&self, len: usize) -> TokenMark {
        TokenMark { at: self.at, len, spot: self.spot() }
    }

    /// Skips white space and comments. Returns the kind of the next token without consuming it.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> PbrtToken {
        // Most tokens follow immediately or after a single blank.
        self.at += usize::from(self.byte() == b' ');
        match self.byte() {
            b'"' => self.unless_end(PbrtToken::String),
            b'[' => self.unless_end(PbrtToken::Open),
            b']' => self.unless_end(PbrtToken::Close),
            b' ' | b'\t' | b'\r' | b'\n' | b'#' => self.peek_behind_space(),
            _ => self.unless_end(PbrtToken::Word),
        }
    }

    #[inline(never)]
    fn peek_behind_space(&mut self) -> PbrtToken {
        while self.at < self.end {
            match self.byte() {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.lines += 1;
                    self.line_start = self.at;
                    let next = self.padded.get(self.at..).and_then(|rest| rest.first_chunk::<8>());
                    // Skips up to eight spaces of indentation at once: the first byte of the XOR that is not zero is
                    // the first that is not a space.
                    let indent = next.map_or(0, |eight| (u64::from_le_bytes(*eight) ^ (ONES * 0x20)).trailing_zeros());
                    self.at += indent as usize / 8;
                }
                b'#' => {
                    let rest = &self.padded[self.at..self.end];
                    self.at += memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                b'"' => return PbrtToken::String,
                b'[' => return PbrtToken::Open,
                b']' => return PbrtToken::Close,
                _ => return PbrtToken::Word,
            }
        }
        self.at = self.end;
        PbrtToken::End
    }

    #[inline]
    fn unless_end(&mut self, token: PbrtToken) -> PbrtToken {
        if self.at < self.end {
            return token;
        }
        self.at = self.end;
        PbrtToken::End
    }

    /// Returns the next word without consuming it.
    #[inline]
    pub(super) fn word(&self) -> &'a [u8] {
        let rest = &self.padded[self.at..self.end];
        // May stop early, at bytes such as `!` and before the last incomplete eight bytes; the loop continues from
        // there.
        let mut size = skip_plain(rest, |word| below(word, b'"' + 1) | equal(word, b'[') | equal(word, b']'));
        while rest.get(size).is_some_and(|&byte| !ends_token(byte)) {
            size += 1;
        }
        &rest[..size]
    }

    /// Returns the next two bytes.
    #[inline]
    pub(super) fn pair(&self) -> [u8; 2] {
        self.padded.get(self.at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default()
    }

    /// Consumes a plain number and the bracket that closes its list, if the number is the only element.
    #[inline]
    pub(super) fn only_float(&mut self) -> Option<f32> {
        let word = self.word();
        let end = self.at + word.len();
        let behind = &self.padded[end..];
        let size = if behind.starts_with(b" ]") { 2 } else { usize::from(behind.starts_with(b"]")) };
        let value = self.lists.f32_until(end).filter(|_| size > 0)?;
        self.at = end + size;
        Some(value)
    }

    /// Parses the next word as the nearest `f32`.
    #[inline]
    pub(super) fn float(&self, word: &[u8]) -> Option<f32> {
        self.lists.f32_until(self.at + word.len()).or_else(|| list::f32(word))
    }

    /// Skips bytes, which must not contain line endings.
    #[inline]
    pub(super) fn pass(&mut self, count: usize) {
        self.at += count;
    }

    /// Marks the next token.
    pub(super) fn token_mark(&mut self) -> TokenMark {
        let len = match self.peek() {
            PbrtToken::End => 0,
            PbrtToken::Open | PbrtToken::Close => 1,
            PbrtToken::Word => self.word().len(),
            PbrtToken::String => {
                let rest = &self.padded[self.at..self.end];
                let line = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                rest[1..line].iter().position(|&byte| byte == b'"').map_or(line, |at| at + 2)
            }
        };
        self.mark(len)
    }

    /// Consumes the next token, a string. Returns its text without quotes and with escapes decoded.
    #[inline]
    pub(super) fn string(&mut self) -> PbrtParse<&[u8]> {
        let rest = &self.padded[self.at + 1..self.end];
        let mut size = skip_plain(rest, |word| below(word, b' ') | equal(word, b'"') | equal(word, b'\\'));
        while rest.get(size).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | b'\n' | b'\r')) {
            size += 1;
        }
        if rest.get(size) == Some(&b'"') {
            self.at += size + 2;
            return Ok(&rest[..size]);
        }
        self.odd_string(size)
    }

    /// Consumes a string with escapes. Fails if the string is unterminated.
    fn odd_string(&mut self, plain: usize) -> PbrtParse<&[u8]> {
        let rest = &self.padded[self.at + 1..self.end];
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        decoded.try_reserve(rest.len().min(1 << 16)).map_err(Error::from)?;
        decoded.extend_from_slice(&rest[..plain]);
        let mut at = plain;
        loop {
            decoded.try_reserve(1).map_err(Error::from)?;
            match rest.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let Some(byte) = rest.get(at + 1).and_then(|&byte| unescaped(byte)) else {
                        return Err(self.bad_escape(at, rest.get(at + 1).copied()));
                    };
                    decoded.push(byte);
                    at += 2;
                }
                None | Some(b'\n' | b'\r') => {
                    let mark = self.mark(at + 1);
                    return Err(self.fault(
                        mark,
                        "unterminated-string",
                        "this string is not terminated on its line".into(),
                    ));
                }
                Some(&byte) => {
                    decoded.push(byte);
                    at += 1;
                }
            }
        }
        self.at += at + 2;
        self.decoded = decoded;
        Ok(&self.decoded)
    }

    fn bad_escape(&mut self, at: usize, byte: Option<u8>) -> PbrtFault {
        let end_of_line = matches!(byte, None | Some(b'\n' | b'\r'));
        let mut mark = self.mark(if end_of_line { at + 1 } else { 2 });
        if end_of_line {
            return self.fault(mark, "unterminated-string", "this string is not terminated on its line".into());
        }
        mark.at += at + 1;
        mark.spot.column += at as u32 + 1;
        let shown = byte.filter(u8::is_ascii_graphic).map_or("?".into(), |byte| char::from(byte).to_string());
        let mut fault = self.fault(mark, "bad-escape", format!("unknown escape sequence `\\{shown}`"));
        if let PbrtFault::Broken(complaint) = &mut fault {
            complaint.expected = Some("one of \\b \\f \\n \\r \\t \\\\ \\' \\\"");
        }
        fault
    }

    /// Consumes numbers up to any other token. Returns `true` if that token is a number out of range.
    pub(super) fn floats(&mut self, out: &mut Vec<f32>) -> PbrtParse<bool> {
        while self.take_gap(out, Lists::f32s, AheadNumbers::floats)? {}
        let stop = self.lists.f32s(self.at, out);
        self.stopped(stop)
    }

    /// Like [`Lexer::floats`], but for coordinates: adds the precision that floats lose to `loss`.
    pub(super) fn coordinates(&mut self, out: &mut Vec<f32>, loss: &mut DigitLoss) -> PbrtParse<bool> {
        // A `Cell`, because both closures update the sum.
        let sum = Cell::new(*loss);
        let parse = |lists: &mut Lists<'a>, at: usize, out: &mut Vec<f32>| {
            let mut digits = sum.get();
            let stop = lists.coordinates(at, out, &mut digits);
            sum.set(digits);
            stop
        };
        let append = |numbers: &AheadNumbers, out: &mut Vec<f32>, later: usize| {
            let mut digits = sum.get();
            digits.extend(numbers.loss());
            sum.set(digits);
            // Whether short numbers lose digits depends on their text, which is not available for a gap.
            Ok(numbers.floats(out, later)? && numbers.loss().short == 0)
        };
        while self.take_gap(out, parse, append)? {}
        let stop = parse(&mut self.lists, self.at, out);
        *loss = sum.get();
        self.stopped(stop)
    }

    /// Like [`Lexer::floats`], but parses the nearest doubles. The text must not have gaps.
    pub(super) fn exact(&mut self, out: &mut Vec<f64>) -> PbrtParse<bool> {
        let stop = self.lists.exact(self.at, out);
        self.stopped(stop)
    }

    /// Returns the position of the next token, for [`Lexer::return_to`].
    pub(super) fn bookmark(&self) -> ListBookmark {
        ListBookmark { at: self.at, lines: self.lines, line_start: self.line_start, gaps: self.gaps.len() }
    }

    /// Returns to a bookmark. If numbers parsed in advance were consumed after the bookmark, marks them as missed and
    /// returns `false` instead.
    pub(super) fn return_to(&mut self, bookmark: ListBookmark) -> bool {
        let ListBookmark { at, lines, line_start, gaps } = bookmark;
        if self.gaps.len() < gaps {
            self.missed = true;
            return false;
        }
        self.at = at;
        self.lines = lines;
        self.line_start = line_start;
        true
    }

    pub(super) fn doubles(&mut self, out: &mut Vec<f64>) -> PbrtParse<bool> {
        let stop = self.lists.f64s(self.at, out);
        self.stopped(stop)
    }

    /// Consumes the next 16 numbers, if there are at least 16.
    #[inline]
    pub(super) fn matrix(&mut self) -> Option<[f64; 16]> {
        let (numbers, at) = self.lists.matrix(self.at)?;
        self.pass_to(at);
        Some(numbers)
    }

    pub(super) fn integers(&mut self, out: &mut Vec<i32>) -> PbrtParse<bool> {
        while self.take_gap(out, Lists::i32s, AheadNumbers::integers)? {}
        let stop = self.lists.i32s(self.at, out);
        self.stopped(stop)
    }

    /// Consumes numbers up to the next gap, and the numbers of the gap. Returns `false` if the list has no more gaps.
    #[inline]
    fn take_gap<T: Copy>(
        &mut self,
        out: &mut Vec<T>,
        parse: impl Fn(&mut Lists<'a>, usize, &mut Vec<T>) -> Option<ListStop>,
        append: impl Fn(&AheadNumbers, &mut Vec<T>, usize) -> Result<bool>,
    ) -> PbrtParse<bool> {
        while self.gaps.pop_if(|gap| gap.offset < self.at).is_some() {
            self.missed = true;
        }
        let Some(at) = self.gaps.last().map(|gap| gap.offset) else { return Ok(false) };
        if self.at < at {
            // The byte before a gap is white space.
            let mut before = Lists::new(self.padded, at - 1, self.level);
            let stop = parse(&mut before, self.at, out).ok_or_else(|| Error::memory("values"))?;
            self.pass_to(stop.offset.min(at - 1));
            if stop.offset < at - 1 {
                // The list ends before the gap, or contains a comment.
                return Ok(false);
            }
            self.pass_to(at);
        }
        let Some(gap) = self.gaps.pop() else { return Ok(false) };
        let Ok(numbers) = gap.values.downcast::<AheadNumbers>() else { return Ok(false) };
        self.lines += numbers.lines;
        // The gap counts toward the column, although its bytes are not in the text.
        let before = if numbers.lines > 0 { numbers.tail } else { self.at.wrapping_sub(self.line_start) + gap.bytes };
        self.line_start = self.at.wrapping_sub(before);
        self.missed |= !append(&numbers, out, self.later())?;
        Ok(true)
    }

    /// Estimates how many numbers follow in this list and in later lists of its directive.
    fn later(&self) -> usize {
        let gaps = self.gaps.iter().filter_map(|gap| gap.values.downcast_ref::<AheadNumbers>());
        gaps.map(|numbers| numbers.len()).sum::<usize>() + (self.end - self.at) / NUMBER_BYTES
    }

    fn stopped(&mut self, stop: Option<ListStop>) -> PbrtParse<bool> {
        let stop = stop.ok_or_else(|| Error::memory("values"))?;
        self.pass_to(stop.offset.min(self.end));
        Ok(stop.overflow)
    }

    /// Skips bytes, which may contain line endings.
    fn pass_to(&mut self, to: usize) {
        let passed = &self.padded[self.at..to];
        if let Some(last) = memrchr(b'\n', passed) {
            self.lines += passed.iter().map(|&byte| u32::from(byte == b'\n')).sum::<u32>();
            self.line_start = self.at + last + 1;
        }
        self.at = to;
    }

    /// Creates a syntax error at a token.
    pub(super) fn fault(&self, mark: TokenMark, code: &'static str, message: String) -> PbrtFault {
        PbrtFault::Broken(Box::new(PbrtComplaint {
            weight: Weight::Broken,
            code,
            message,
            expected: None,
            hint: None,
            spot: mark.spot,
            excerpt: Some(self.excerpt(mark)),
        }))
    }

    fn excerpt(&self, mark: TokenMark) -> Excerpt {
        let text = &self.padded[self.start..self.end];
        excerpt(text, ((mark.at - self.start) as u32, mark.len as u32))
    }

    /// Skips the rest of a line with an unterminated string.
    pub(super) fn skip_line(&mut self) {
        let rest = &self.padded[self.at..self.end];
        self.at += memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// Returns the end of the text: the number of line endings, and the length of the text after the last one.
    pub(super) fn end(&mut self) -> Result<Spot> {
        let rest = &self.padded[self.at..self.end];
        if let Some(last) = memrchr(b'\n', rest) {
            self.lines += rest.iter().map(|&byte| u32::from(byte == b'\n')).sum::<u32>();
            self.line_start = self.at + last + 1;
        }
        self.at = self.end;
        Ok(self.spot())
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = ONES << 7;

/// Sets the top bit of the first byte below `limit` (at most 128), and possibly of later bytes: borrows only propagate
/// upward, so the lowest set bit is correct. Bytes of 128 or more never match.
#[inline(always)]
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(limit)) & !word & TOPS
}

/// Sets the top bit of the first byte equal to `byte`, and possibly of later bytes; see [`below`].
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * u64::from(byte)), 1)
}

/// Returns the number of bytes before the first byte for which `find` sets a bit. Bytes after the last whole word are
/// not searched.
#[inline(always)]
fn skip_plain(text: &[u8], find: impl Fn(u64) -> u64) -> usize {
    let mut size = 0;
    for word in text.as_chunks::<8>().0 {
        let bits = find(u64::from_le_bytes(*word));
        if bits != 0 {
            return size + bits.trailing_zeros() as usize / 8;
        }
        size += 8;
    }
    size
}

fn unescaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'\\' | b'\'' | b'"' => byte,
        _ => return None,
    })
}
