//! Cells of 16 bytes each, which hold the texts of one column in 32 rows.
//!
//! Rows that consist only of cells are assembled by one 16-byte copy per cell, without branches. Numbers are
//! right-aligned in their cells, with `-` before them, so that negative numbers start one byte earlier. The byte after
//! a number in the row is part of its cell.

use super::super::pen::Pen;

#[cfg(target_arch = "x86_64")]
pub(super) use super::x86::CellFiller;

/// Number of rows filled together.
pub(super) const ROWS: usize = 32;
/// Size of a cell, and maximum length of its text, in bytes.
pub(super) const CELL_BYTES: usize = 16;

/// Texts of a column in [`ROWS`] rows.
#[repr(C, align(64))]
pub(super) struct Cells {
    /// Four cells per array; after the last cell, one more array allows reading 16 bytes from any start.
    pub(super) texts: [[u8; 64]; ROWS / 4 + 1],
    /// Offset of each text in its cell: below 16.
    pub(super) starts: [u8; ROWS],
    /// Length of each text: at most 16.
    pub(super) lengths: [u8; ROWS],
}

impl Cells {
    pub(super) const EMPTY: Self = Self { texts: [[0; 64]; ROWS / 4 + 1], starts: [0; ROWS], lengths: [0; ROWS] };

    /// Stores one of two texts in each cell.
    pub(super) fn choose(&mut self, texts: &[ShortText; 2], second: &[bool; ROWS]) {
        let cells = self.texts.as_flattened_mut().as_chunks_mut::<CELL_BYTES>().0;
        for ((cell, length), &second) in cells.iter_mut().zip(&mut self.lengths).zip(second) {
            let text = &texts[usize::from(second)];
            *cell = text.bytes;
            *length = text.length;
        }
        self.starts = [0; ROWS];
    }

    /// Pads texts to `width` with spaces before or, with `left`, after them, followed by `next`. The result must fit a
    /// cell.
    pub(super) fn widen(&mut self, width: u8, left: bool, next: Option<u8>) {
        let numbers = std::mem::replace(self, Self::EMPTY);
        for row in 0..ROWS {
            let start = usize::from(numbers.starts[row]);
            let length = usize::from(numbers.lengths[row]);
            let text = numbers.texts.as_flattened().get(CELL_BYTES * row + start..).unwrap_or_default();
            let gap = usize::from(width).saturating_sub(length);
            // The store may extend into the next cell, which is filled later.
            let Some(cell) = self.texts.as_flattened_mut().get_mut(CELL_BYTES * row..) else { continue };
            let mut store = |start: usize, bytes: &[u8; CELL_BYTES]| {
                if let Some(slot) = cell.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
                    *slot = *bytes;
                }
            };
            let spaces = [b' '; CELL_BYTES];
            let text = text.first_chunk().unwrap_or(&spaces);
            if left {
                store(0, text);
                store(length, &spaces);
            } else {
                store(0, &spaces);
                store(gap, text);
            }
            if let Some(next) = next {
                store(gap + length, &[next; CELL_BYTES]);
            }
            self.lengths[row] = (gap + length) as u8 + u8::from(next.is_some());
        }
    }

    /// Stores the text of a row (below [`ROWS`]).
    ///
    /// # Safety
    /// 16 bytes from `pen` must be inside its buffer.
    #[inline(always)]
    pub(super) unsafe fn put(&self, pen: Pen, row: usize) -> Pen {
        let start = usize::from(self.starts[row % ROWS]);
        let length = usize::from(self.lengths[row % ROWS]);
        let text = self.texts.as_flattened().get(CELL_BYTES * (row % ROWS) + start..).and_then(<[u8]>::first_chunk);
        // SAFETY: 16 bytes from `pen` are inside the buffer: `put` stores 16, and advances by a length, which `choose`,
        // `widen` and the fillers keep at 16 or below.
        text.map_or(pen, |&text: &[u8; CELL_BYTES]| unsafe { pen.put(text, length) })
    }
}

/// Text of up to 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShortText {
    bytes: [u8; CELL_BYTES],
    length: u8,
}

impl ShortText {
    /// Creates a short text. Returns `None` if the text is longer than a cell.
    pub(super) fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; CELL_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self { bytes, length: text.len() as u8 })
    }

    /// Appends another text. Returns `None` if the result is longer than a cell.
    pub(super) fn joined(&self, text: &[u8]) -> Option<Self> {
        let mut joined = *self;
        let start = usize::from(self.length);
        let end = start + text.len();
        joined.bytes.get_mut(start..end)?.copy_from_slice(text);
        joined.length = end as u8;
        Some(joined)
    }

    /// # Safety
    /// 16 bytes from `pen` must be inside its buffer.
    #[inline(always)]
    pub(super) unsafe fn put(&self, pen: Pen) -> Pen {
        // SAFETY: 16 bytes from `pen` are inside the buffer: `put` stores 16, and `ShortText::new` and `joined` keep
        // the length at 16 or below.
        unsafe { pen.put(self.bytes, usize::from(self.length)) }
    }
}

/// Only x86-64 has a kernel that fills cells with numbers.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy, Debug)]
pub(super) enum CellFiller {}

#[cfg(not(target_arch = "x86_64"))]
impl CellFiller {
    pub(super) fn if_possible(_: &super::super::fixed::Scale, _: Option<u8>) -> Option<Self> {
        None
    }

    pub(super) fn fill<R: super::super::fixed::Real>(&self, _: &[R; ROWS], _: &mut Cells) -> bool {
        match *self {}
    }
}
