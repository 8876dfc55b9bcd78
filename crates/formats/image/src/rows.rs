//! Reads consecutive rows of equal size by offset and converts them in parallel.
//!
//! The format converts a row; `raster` determines its position.

use crate::raster::Raster;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::run::{Crew, run};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Approximate bytes per read: small enough to stay in cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Converts the bytes of a row, without padding, into samples, and must write all samples. The first argument is the
/// offset of the row in the file.
pub(crate) trait RowsTurn<T>: Fn(u64, &[u8], &mut [MaybeUninit<T>]) -> Result<()> + Sync {}

impl<T, F: Fn(u64, &[u8], &mut [MaybeUninit<T>]) -> Result<()> + Sync> RowsTurn<T> for F {}

/// The rows of a file.
pub(crate) struct ImageRows<'a> {
    pub(crate) bytes: &'a Bytes<'a>,
    /// Offset of the first row.
    pub(crate) body: u64,
    /// Bytes per row, including padding.
    pub(crate) stride: usize,
    /// Bytes per row without padding. The last row may lack its padding.
    pub(crate) used: usize,
    /// Creates the error for a file that ends before its rows, at an offset.
    pub(crate) cut: &'a (dyn Fn(u64) -> Error + Sync),
}

impl ImageRows<'_> {
    /// Returns the offset of the end of the last row, without its padding.
    pub(crate) fn end(&self, height: usize) -> u64 {
        self.body + self.stride as u64 * height.saturating_sub(1) as u64 + self.used as u64
    }

    /// Reads all rows. Returns the number of threads used.
    pub(crate) fn read<T: Copy + Send>(
        &self,
        raster: &Raster<T>,
        options: &RunOptions,
        turn: impl RowsTurn<T>,
    ) -> Result<usize> {
        let chunk_rows = (options.chunk_bytes.unwrap_or(CHUNK_BYTES) / self.stride.max(1)).max(1);
        let chunks = raster.height().div_ceil(chunk_rows) as u64;
        let crew = Crew::for_chunks(chunks, chunk_rows * self.stride, options);
        run(&RowsJob { rows: self, raster, options, turn, chunk_rows }, &mut 0, crew, &options.cancel)?;
        Ok(crew.threads)
    }

    fn place(&self, row: usize) -> u64 {
        self.body + row as u64 * self.stride as u64
    }
}

/// Reads rows in chunks.
struct RowsJob<'a, T, F> {
    rows: &'a ImageRows<'a>,
    raster: &'a Raster<T>,
    options: &'a RunOptions,
    turn: F,
    chunk_rows: usize,
}

#[derive(Default)]
struct ImageRowsSlot {
    bytes: Vec<u8>,
    rows: Range<usize>,
}

impl<T: Copy + Send, F: RowsTurn<T>> ChunkJob for RowsJob<'_, T, F> {
    type Slot = ImageRowsSlot;
    /// Number of bytes read so far.
    type State = u64;
    const PHASE: Phase = Phase::Decode;

    fn takes_in_order(&self) -> bool {
        self.rows.bytes.in_order()
    }

    fn slot(&self) -> Result<ImageRowsSlot> {
        Ok(ImageRowsSlot::default())
    }

    fn take(&self, number: u64, slot: &mut ImageRowsSlot) -> Result<bool> {
        let height = self.raster.height();
        let first = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.chunk_rows);
        if first >= height {
            return Ok(false);
        }
        slot.rows = first..height.min(first + self.chunk_rows);
        let ImageRows { bytes, stride, used, .. } = *self.rows;
        bytes.read_as_claimed(self.rows.place(first), slot.rows.len() * stride, &mut slot.bytes)?;
        // Allocates only rows that exist in the file. This includes the rows of previous chunks.
        // A row that lacks only its padding counts as whole, because the padding of the last row may be missing.
        let whole = (slot.bytes.len() + stride - used) / stride.max(1);
        if whole > 0 {
            self.raster.reserve(slot.rows.end.min(first + whole))?;
        }
        Ok(true)
    }

    fn parse(&self, slot: &mut ImageRowsSlot) -> Result<()> {
        let ImageRows { stride, used, .. } = *self.rows;
        let stored = &mut slot.bytes.chunks(stride);
        for number in slot.rows.clone() {
            let min_bytes = if number + 1 == self.raster.height() { used } else { stride };
            let Some(from) = stored.next().filter(|row| row.len() >= min_bytes).and_then(|row| row.get(..used)) else {
                return Err((self.rows.cut)(self.rows.place(slot.rows.start) + slot.bytes.len() as u64));
            };
            let mut result = Ok(());
            // SAFETY: each row is in one chunk (`take` splits them by number), and a chunk is parsed by one thread.
            unsafe {
                self.raster.row(number, |to| result = (self.turn)(self.rows.place(number), from, to))?;
            }
            result?;
        }
        Ok(())
    }

    fn place(&self, read_bytes: &mut u64, slot: &mut ImageRowsSlot) -> Result<()> {
        *read_bytes += slot.bytes.len() as u64;
        if let Some(progress) = &self.options.progress {
            progress.report(self.rows.body + *read_bytes, self.rows.bytes.len());
        }
        Ok(())
    }
}
