//! Indexes a window of text: the ends of its tokens and lines, found before anything is parsed.
//!
//! A parser that reads numbers one at a time cannot start one before it has found the end of the previous one. The
//! index breaks that dependency: it is built 64 bytes at a time, after which many numbers are converted at once
//! ([`crate::parse::rows`]). This module converts nothing. A *token* ends at the first byte of a run of white space
//! (C's `isspace`) or at a `/`. In tables, it ends at a [`Separator`] or a newline.

pub(crate) mod portable;
pub mod quotes;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
pub(crate) mod vector;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use crate::cpu::Level;
use std::alloc::{Layout, alloc_zeroed};
use std::ops::Range;

/// Bytes that must be readable before and after the indexed text, because whole vectors are loaded.
pub const PADDING: usize = 64;

/// Maximum number of token ends in one window.
pub const MAX_ENDS: usize = 4096;
/// Maximum number of lines in one window.
pub const MAX_LINES: usize = 1024;
/// Elements after the caps: kernels may read 16 ends after the last one, and a CR at the end of the text may add a
/// line.
const SLACK: usize = 80;
const SLASH_WORDS: usize = (MAX_ENDS + SLACK) / 64 + 2;

/// Returns whether a byte is white space: a space, or anything from tab to carriage return.
#[inline(always)]
pub const fn is_space(byte: u8) -> bool {
    byte == b' ' || byte.wrapping_sub(b'\t') <= b'\r' - b'\t'
}

/// Field separator of a table. Newlines also end fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// A run of white space, which is ignored at the start and end of a line.
    Blanks,
    /// A single byte; two in a row enclose an empty field. It must not be a newline or a character that occurs in
    /// numbers.
    Byte(u8),
}

/// Unit of indexing.
type Block = [u8; 64];

/// Character classes of a block, one bit per byte.
struct BlockMasks {
    space: u64,
    slash: u64,
    line_feed: u64,
    carriage_return: u64,
}

/// Block functions of one level.
struct ScanKernel<M, S, P, L> {
    /// Classifies the characters.
    masks: M,
    /// Writes the positions of a mask's bits plus a base; may overwrite the elements after them.
    spread: S,
    /// Extracts the first mask's bits at the set bits of the second, as PEXT does.
    pick: P,
    /// Writes the lines that end at the first mask's bits, with the second mask's bits as token ends, relative to an
    /// origin; may overwrite the elements after them.
    line_ends: L,
}

/// End of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LineEnd {
    /// Offset of the newline in the text: an LF, or a CR not followed by an LF.
    pub newline: u32,
    /// Number of tokens of the window that end before or at the newline.
    pub tokens: u32,
}

/// Token ends and line ends of a window of text. About 26 KiB: allocate it with [`Index::try_new`] and reuse it.
#[derive(Clone, Debug)]
pub struct Index {
    /// Offsets where tokens end.
    pub(crate) ends: [u32; MAX_ENDS + SLACK],
    /// One bit per token end, set if the token ended at a `/` (in tables, at a separator byte).
    pub(crate) slashes: [u64; SLASH_WORDS],
    pub(crate) lines: [LineEnd; MAX_LINES + SLACK],
    pub(crate) end_count: usize,
    pub(crate) line_count: usize,
    pub(crate) start: usize,
    /// Upper bound of all token ends.
    pub(crate) limit: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

impl Index {
    /// Creates an empty index.
    pub fn new() -> Index {
        Index {
            ends: [0; MAX_ENDS + SLACK],
            slashes: [0; SLASH_WORDS],
            lines: [LineEnd::default(); MAX_LINES + SLACK],
            end_count: 0,
            line_count: 0,
            start: 0,
            limit: 0,
        }
    }

    /// Allocates an empty index. Returns `None` if out of memory.
    pub fn try_new() -> Option<Box<Index>> {
        // SAFETY: an `Index` is not of size 0.
        let zeroed = unsafe { alloc_zeroed(Layout::new::<Index>()) }.cast::<Index>();
        // SAFETY: unless it is null, the memory is from the global allocator, of the size and alignment of an `Index`,
        // and owned by nothing else. Its bytes are zero, as in the result of `Index::new`: all fields are integers.
        (!zeroed.is_null()).then(|| unsafe { Box::from_raw(zeroed) })
    }

    /// Indexes `padded[start..end]` up to the end or to a cap.
    ///
    /// `padded` must have [`PADDING`] bytes of any value before `start` and after `end`, and be shorter than 4 GiB;
    /// otherwise the index stays empty. `start` must be the start of a line. A CR that is the last byte of the text
    /// ends a line, regardless of the byte after it.
    pub fn scan(&mut self, padded: &[u8], start: usize, end: usize, level: Level) {
        if !self.reset(padded, start, end) {
            return;
        }
        match level.usable() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `usable()` returns at most `Level::best()`, which `Level::detect` found on this CPU.
            Level::Avx512 => unsafe { x86::scan_avx512(self, padded, start, end) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as for `Avx512` above: `usable()` returned this level.
            Level::Avx2 => unsafe { x86::scan_avx2(self, padded, start, end) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: as for `Avx512` above: `usable()` returned this level.
            Level::Vector => unsafe { vector::scan(self, padded, start..end) },
            _ => portable::scan(self, padded, start, end),
        }
        self.close();
    }

    /// Like [`Index::scan`], for tables: a token is a field, which may have white space around it.
    ///
    /// Every line has fields, except empty lines and, with [`Separator::Blanks`], lines of white space.
    pub fn scan_fields(&mut self, padded: &[u8], start: usize, end: usize, separator: Separator, level: Level) {
        if !self.reset(padded, start, end) {
            return;
        }
        match level.usable() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `usable()` returns at most `Level::best()`, which `Level::detect` found on this CPU.
            Level::Avx512 => unsafe { x86::scan_fields_avx512(self, padded, start, end, separator) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as for `Avx512` above: `usable()` returned this level.
            Level::Avx2 => unsafe { x86::scan_fields_avx2(self, padded, start, end, separator) },
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
            // SAFETY: as for `Avx512` above: `usable()` returned this level.
            Level::Vector => unsafe { vector::scan_fields(self, padded, start..end, separator) },
            _ => portable::scan_fields(self, padded, start, end, separator),
        }
        self.close();
    }

    /// Clears the index. Returns whether the text has padding around `start..end` and is short enough to be indexed.
    fn reset(&mut self, padded: &[u8], start: usize, end: usize) -> bool {
        self.end_count = 0;
        self.line_count = 0;
        self.start = start;
        self.limit = end;
        self.slashes[0] = 0;
        start >= PADDING
            && start <= end
            && padded.len() <= u32::MAX as usize
            && padded.len() - PADDING.min(padded.len()) >= end
    }

    /// Fills the elements after the last end with a valid offset, because kernels read text at a few of them.
    fn close(&mut self) {
        self.ends[self.end_count..self.end_count + 16].fill(self.start as u32);
    }

    /// Returns the ends of the complete lines in the window.
    pub fn lines(&self) -> &[LineEnd] {
        &self.lines[..self.line_count]
    }

    /// Returns the number of tokens from line `line` on.
    pub fn tokens_from(&self, line: usize) -> usize {
        self.end_count.saturating_sub(self.first_token(line))
    }

    /// Returns the offset of the first line.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Returns the offset after the last complete line, at which the next scan starts.
    pub fn next_start(&self) -> usize {
        self.lines().last().map_or(self.start, |line| line.newline as usize + 1)
    }

    /// Returns the offset of line `line`, which is at most the number of lines.
    pub fn line_start(&self, line: usize) -> usize {
        match line {
            0 => self.start,
            _ => self.lines[line - 1].newline as usize + 1,
        }
    }

    /// Returns the first token of line `line`, as an index into the token ends.
    pub(crate) fn first_token(&self, line: usize) -> usize {
        match line {
            0 => 0,
            _ => self.lines[line - 1].tokens as usize,
        }
    }

    /// The loop over blocks, shared by all levels.
    #[inline(always)]
    fn scan_blocks<M, S, P, L>(&mut self, padded: &[u8], range: Range<usize>, kernel: ScanKernel<M, S, P, L>)
    where
        M: Fn(&Block) -> BlockMasks,
        S: Fn(u64, u32, &mut [u32; 64]),
        P: Fn(u64, u64) -> u64,
        L: Fn(u64, u64, LineEnd, &mut [LineEnd; 64]),
    {
        let Range { start, end } = range;
        let mut base = start;
        // The start of a line counts as preceded by white space, so an indent ends no token.
        let mut carry = 1;
        while base < end && self.has_room() {
            let Some((block, [next, ..])) = padded[base..].split_first_chunk::<64>() else { return };
            let BlockMasks { space, slash, line_feed, carriage_return } = (kernel.masks)(block);
            let ends = (space & !(space << 1 | carry)) | slash;
            carry = space >> 63;
            let before = self.end_count;
            let Some(target) = self.ends[before..].first_chunk_mut::<64>() else { return };
            (kernel.spread)(ends, base as u32, target);
            self.push_slashes((kernel.pick)(slash, ends), before);
            let paired = line_feed >> 1 | u64::from(*next == b'\n') << 63;
            let newlines = line_feed | carriage_return & !paired;
            let origin = LineEnd { newline: base as u32, tokens: before as u32 };
            let Some(target) = self.lines[self.line_count..].first_chunk_mut::<64>() else { return };
            (kernel.line_ends)(newlines, ends, origin, target);
            self.line_count += newlines.count_ones() as usize;
            self.end_count = before + ends.count_ones() as usize;
            base += 64;
        }
        if base >= end {
            self.cut(padded, end);
        }
    }

    /// Removes ends at or after `end`, which the last block may contain.
    fn cut(&mut self, padded: &[u8], end: usize) {
        let beyond = |offset: u32| offset as usize >= end;
        let ends = &self.ends[..self.end_count];
        self.end_count -= ends.iter().rev().take_while(|&&token| beyond(token)).count();
        self.line_count -= self.lines().iter().rev().take_while(|line| beyond(line.newline)).count();
        // A CR at the very end ends a line, regardless of the byte after it.
        if padded[end - 1] == b'\r' && self.next_start() < end {
            self.lines[self.line_count] = LineEnd { newline: end as u32 - 1, tokens: self.end_count as u32 };
            self.line_count += 1;
        }
    }

    /// Returns whether another block fits.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.end_count <= MAX_ENDS - 64 && self.line_count <= MAX_LINES - 64
    }

    /// Stores the slash bits of the tokens from `token` on.
    #[inline(always)]
    fn push_slashes(&mut self, bits: u64, token: usize) {
        let word = token / 64;
        let shift = token % 64;
        self.slashes[word] |= bits << shift;
        self.slashes[word + 1] = bits >> 1 >> (63 - shift);
    }

    /// Returns the slash bits of the 64 tokens from `token` on.
    #[inline(always)]
    pub(crate) fn slash_bits(&self, token: usize) -> u64 {
        let word = token / 64;
        let shift = token % 64;
        self.slashes[word] >> shift | self.slashes[word + 1] << 1 << (63 - shift)
    }
}

/// Writes the line ends of a block.
#[inline(always)]
fn line_ends(mut newlines: u64, ends: u64, origin: LineEnd, out: &mut [LineEnd; 64]) {
    // Always four lines at a time: a branch on the number of lines is often mispredicted, which costs more than the
    // whole block.
    let (steps, _) = out.as_chunks_mut::<4>();
    for step in steps {
        for slot in step {
            let through = newlines ^ newlines.wrapping_sub(1);
            let line = LineEnd {
                newline: origin.newline.wrapping_add(newlines.trailing_zeros()),
                tokens: origin.tokens + (ends & through).count_ones(),
            };
            // Volatile keeps compilers from assembling vectors of four lines, which is slower (`index` of
            // `tools/bench/benches/parse.rs`).
            // SAFETY: `slot` is an element of `out`, borrowed exclusively by this loop: valid for one aligned write.
            unsafe { (&raw mut *slot).write_volatile(line) };
            newlines &= newlines.wrapping_sub(1);
        }
        if newlines == 0 {
            break;
        }
    }
}

#[cfg(test)]
mod tests;
