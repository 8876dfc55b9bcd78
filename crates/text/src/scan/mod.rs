//! Where tokens and lines end: an index of a window of text, made before anything is parsed.
//!
//! A parser that takes one number at a time cannot begin a number before it has found the end of
//! the one before. The index breaks that chain: it is made 64 bytes at a time, and then many
//! numbers can be converted at once ([`crate::parse::rows`]). This module converts nothing.
//!
//! A *token* ends at the first of a run of white space (as C's `isspace`) or at a `/`.

mod portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use crate::cpu::Level;

/// Bytes that must be readable before and after the text that is indexed: whole vectors are loaded.
pub const PADDING: usize = 64;

/// The most token ends that one window holds.
pub const MAX_ENDS: usize = 4096;
/// The most lines that one window holds.
pub const MAX_LINES: usize = 1024;
/// One block of 64 bytes may overshoot the caps by 64; tokens may be looked at 16 at a time.
const SLACK: usize = 80;

/// Whether a byte is white space: a blank, or tab to carriage return.
#[inline(always)]
pub const fn is_space(byte: u8) -> bool {
    byte == b' ' || byte.wrapping_sub(b'\t') <= b'\r' - b'\t'
}

/// Where lines end in a block: at each LF, and at each CR that no LF follows. `after` is the byte behind the block.
#[inline(always)]
fn newlines(line_feed: u64, carriage_return: u64, after: u8) -> u64 {
    line_feed | carriage_return & !(line_feed >> 1 | u64::from(after == b'\n') << 63)
}

/// A line's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEnd {
    /// The offset of the newline in the text: an LF, or a CR that no LF follows.
    pub newline: u32,
    /// How many tokens of the window ended before or at it.
    pub tokens: u32,
}

/// The token ends and line ends of a window of text. About 26 KiB: keep it in a box and reuse it.
#[derive(Clone, Debug)]
pub struct Index {
    /// The offsets where tokens end.
    pub(crate) ends: [u32; MAX_ENDS + SLACK],
    /// One bit per token end: whether a `/` ended it.
    pub(crate) slashes: [u8; (MAX_ENDS + SLACK) / 8 + 16],
    pub(crate) lines: [LineEnd; MAX_LINES + SLACK],
    pub(crate) end_count: usize,
    pub(crate) line_count: usize,
    pub(crate) start: usize,
    /// Every token end is below this offset.
    pub(crate) limit: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

impl Index {
    /// An empty index.
    pub fn new() -> Index {
        Index {
            ends: [0; MAX_ENDS + SLACK],
            slashes: [0; (MAX_ENDS + SLACK) / 8 + 16],
            lines: [LineEnd::default(); MAX_LINES + SLACK],
            end_count: 0,
            line_count: 0,
            start: 0,
            limit: 0,
        }
    }

    /// Indexes `padded[start..end]` until the text or a cap is reached.
    ///
    /// `padded` holds [`PADDING`] bytes before `start` and after `end`, of any value, and is
    /// shorter than 4 GiB; where that does not hold the index is empty. `start` begins a line.
    pub fn scan(&mut self, padded: &[u8], start: usize, end: usize, level: Level) {
        (self.end_count, self.line_count, self.start, self.limit) = (0, 0, start, end);
        let fits = start >= PADDING
            && start <= end
            && padded.len() <= u32::MAX as usize
            && padded.len() - PADDING.min(padded.len()) >= end;
        if !fits {
            return;
        }
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is only made where the CPU has its features; the padding was checked.
            Level::Avx512 => unsafe { x86::scan_avx512(self, padded, start, end) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { x86::scan_avx2(self, padded, start, end) },
            _ => portable::scan(self, padded, start, end),
        }
        // Kernels look a few tokens ahead: let them see offsets of this text.
        self.ends[self.end_count..self.end_count + 16].fill(start as u32);
    }

    /// The ends of the lines that lie in the window as a whole.
    pub fn lines(&self) -> &[LineEnd] {
        &self.lines[..self.line_count]
    }

    /// Where the first line begins.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Where the line after the last whole line begins: scan on from there.
    pub fn next_start(&self) -> usize {
        self.lines().last().map_or(self.start, |line| line.newline as usize + 1)
    }

    /// Where line `line` begins.
    pub fn line_start(&self, line: usize) -> usize {
        match line {
            0 => self.start,
            _ => self.lines[line - 1].newline as usize + 1,
        }
    }

    /// The first token of line `line`, as an index into the token ends.
    pub(crate) fn first_token(&self, line: usize) -> usize {
        match line {
            0 => 0,
            _ => self.lines[line - 1].tokens as usize,
        }
    }

    /// Notes the newlines of a block: `newlines` and `ends` have a bit per byte from `base` on.
    #[inline(always)]
    fn push_lines(&mut self, mut newlines: u64, ends: u64, base: usize, tokens_before: usize) {
        while newlines != 0 {
            let bit = newlines.trailing_zeros();
            let upto = u64::MAX >> (63 - bit);
            self.lines[self.line_count] = LineEnd {
                newline: base as u32 + bit,
                tokens: tokens_before as u32 + (ends & upto).count_ones(),
            };
            self.line_count += 1;
            newlines &= newlines - 1;
        }
    }

    /// Whether another block fits.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.end_count <= MAX_ENDS - 64 && self.line_count <= MAX_LINES - 64
    }

    /// Appends `count` slash bits to those of the tokens from `at` on.
    #[inline(always)]
    fn push_slashes(&mut self, bits: u64, at: usize) {
        let (byte, shift) = (at / 8, at % 8);
        let kept = u64::from(self.slashes[byte]) & ((1 << shift) - 1);
        let low = kept | bits << shift;
        self.slashes[byte..byte + 8].copy_from_slice(&low.to_le_bytes());
        self.slashes[byte + 8] = if shift == 0 { 0 } else { (bits >> (64 - shift)) as u8 };
    }

    /// The slash bits of up to 57 tokens from `token` on.
    #[inline(always)]
    pub(crate) fn slash_bits(&self, token: usize) -> u64 {
        let byte = token / 8;
        let mut word = [0; 8];
        word.copy_from_slice(&self.slashes[byte..byte + 8]);
        u64::from_le_bytes(word) >> (token % 8)
    }
}
