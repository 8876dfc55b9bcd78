//! Reads the values of many accessors in parallel, directly into their destinations.
//!
//! Splits each accessor into pieces. Pieces that are adjacent in the file form a batch, which is read into a buffer
//! that stays in the cache, and converted from there: interleaved attributes are read once, and small attributes with
//! few requests. All destinations are fixed beforehand, so the result does not depend on the number of threads.
//! `accessors` has validated the offsets; `convert` converts the values.

use crate::buffers::{Home, OpenBuffers};
use crate::convert::{Finish, floats, indices};
use crate::layout::{AccessorLayout, ByteSpan, Component, Form};
use crate::log::malformed;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_pipeline::arrays::{split, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Approximate bytes per piece.
const PIECE_BYTES: usize = 128 << 10;

/// Maximum bytes per batch of several pieces.
const BATCH_BYTES: u64 = 256 << 10;

/// Maximum number of unused bytes between the pieces of a batch.
const GAP_BYTES: u64 = 64 << 10;

/// Minimum number of batches per thread: starting a thread takes as long as a few batches.
const BATCHES_PER_THREAD: usize = 4;

/// A read of values into a destination.
pub(crate) struct AccessorFill<'m> {
    /// Layout of the accessor; `None` for steps and bytes, which have no accessor.
    layout: Option<AccessorLayout>,
    target: FillTarget<'m>,
    /// Number of clamped values, or maximum index plus 1; see [`AccessorFill::floats`] and [`AccessorFill::indices`].
    outcome: Option<&'m AtomicU64>,
}

/// Destination and conversion of values.
enum FillTarget<'m> {
    Floats {
        values: &'m mut [f32],
        width: usize,
        finish: Finish,
    },
    Indices {
        values: &'m mut [u32],
        base: u32,
    },
    /// An arithmetic sequence: `first`, `first + step` and so on.
    Steps {
        values: &'m mut [u32],
        first: u32,
        step: u32,
    },
    Bytes {
        values: &'m mut [u8],
        span: ByteSpan,
    },
}

impl<'m> AccessorFill<'m> {
    /// Creates a read of elements with `width` floats each, which adds the number of clamped values to `cut`.
    pub(crate) fn floats(
        layout: &AccessorLayout,
        values: &'m mut [f32],
        width: usize,
        finish: Finish,
        cut: Option<&'m AtomicU64>,
    ) -> AccessorFill<'m> {
        AccessorFill { layout: Some(*layout), target: FillTarget::Floats { values, width, finish }, outcome: cut }
    }

    /// Creates a read of indices, which adds `base` to each index and raises `end` to the maximum index in the file
    /// plus 1.
    pub(crate) fn indices(
        layout: &AccessorLayout,
        values: &'m mut [u32],
        base: u32,
        end: Option<&'m AtomicU64>,
    ) -> AccessorFill<'m> {
        AccessorFill { layout: Some(*layout), target: FillTarget::Indices { values, base }, outcome: end }
    }

    /// Creates a fill with the arithmetic sequence `first`, `first + step` and so on.
    pub(crate) fn steps(values: &'m mut [u32], first: u32, step: u32) -> AccessorFill<'m> {
        AccessorFill { layout: None, target: FillTarget::Steps { values, first, step }, outcome: None }
    }

    /// Creates a read of bytes, without any conversion.
    pub(crate) fn bytes(span: ByteSpan, values: &'m mut [u8]) -> AccessorFill<'m> {
        AccessorFill { layout: None, target: FillTarget::Bytes { values, span }, outcome: None }
    }

    /// Adds the pieces of this read.
    fn add_pieces<'p>(&'p mut self, pieces: &mut Vec<Piece<'p>>) -> Result<()> {
        let outcome = self.outcome;
        let Some((layout, span)) = self.layout.as_ref().and_then(|layout| Some((layout, layout.span?))) else {
            return self.add_step_pieces(pieces);
        };
        let form = Form { component: layout.component, is_normalized: layout.normalized, width: layout.width };
        let max_elements = (PIECE_BYTES / span.stride).max(1);
        let mut add = |number: usize, count: usize, target: FillTarget<'p>| {
            let start = span.start + (number * max_elements) as u64 * span.stride as u64;
            try_push(pieces, Piece { span: ByteSpan { start, count, ..span }, form, target, outcome }, "values")
        };
        match &mut self.target {
            FillTarget::Floats { values, width, finish } => {
                // With replacements, values are converted after them, so that no replaced value counts as clamped.
                let finish = if layout.sparse.is_some() { Finish::Keep } else { *finish };
                for (number, values) in values.chunks_mut(max_elements * *width).enumerate() {
                    add(number, values.len() / *width, FillTarget::Floats { values, width: *width, finish })?;
                }
            }
            FillTarget::Indices { values, base } => {
                for (number, values) in values.chunks_mut(max_elements).enumerate() {
                    add(number, values.len(), FillTarget::Indices { values, base: *base })?;
                }
            }
            FillTarget::Steps { .. } | FillTarget::Bytes { .. } => {}
        }
        Ok(())
    }

    /// Adds the pieces of steps and bytes. Fills the values of accessors without a view immediately, since there is
    /// nothing to read.
    fn add_step_pieces<'p>(&'p mut self, pieces: &mut Vec<Piece<'p>>) -> Result<()> {
        let form = Form { component: Component::U32, is_normalized: false, width: 1 };
        let size = size_of::<u32>();
        match &mut self.target {
            FillTarget::Floats { values, width, finish } => {
                values.fill(0.0);
                // Components missing from the file are 1, as in `convert::floats`.
                if self.layout.is_some_and(|layout| layout.width < *width) {
                    values.iter_mut().skip(*width - 1).step_by(*width).for_each(|last| *last = 1.0);
                }
                // Replacements are converted together with the values around them: see `add_pieces`.
                if self.layout.is_none_or(|layout| layout.sparse.is_none()) {
                    // Zeros and ones are inside every range, so nothing is clamped and the count is ignored.
                    finish.apply(values, &AtomicU64::new(0));
                }
            }
            FillTarget::Indices { values, base } => {
                values.fill(*base);
                if let Some(end) = self.outcome.filter(|_| !values.is_empty()) {
                    end.fetch_max(1, Relaxed);
                }
            }
            FillTarget::Steps { values, first, step } => {
                for (number, values) in values.chunks_mut(PIECE_BYTES / size).enumerate() {
                    // A made-up offset, so that steps form batches like the bytes of a buffer.
                    let start = (number * PIECE_BYTES) as u64;
                    let span = ByteSpan { home: Home::Nowhere, start, stride: size, count: values.len() };
                    let first = first.wrapping_add(step.wrapping_mul((number * PIECE_BYTES / size) as u32));
                    let target = FillTarget::Steps { values, first, step: *step };
                    try_push(pieces, Piece { span, form, target, outcome: None }, "values")?;
                }
            }
            FillTarget::Bytes { values, span } => {
                let form = Form { component: Component::U8, is_normalized: false, width: 1 };
                for (number, values) in values.chunks_mut(PIECE_BYTES).enumerate() {
                    let start = span.start + (number * PIECE_BYTES) as u64;
                    let span = ByteSpan { start, count: values.len(), ..*span };
                    let target = FillTarget::Bytes { values, span };
                    try_push(pieces, Piece { span, form, target, outcome: None }, "values")?;
                }
            }
        }
        Ok(())
    }
}

/// A range of an [`AccessorFill`], read and converted by one thread.
struct Piece<'p> {
    span: ByteSpan,
    form: Form,
    target: FillTarget<'p>,
    outcome: Option<&'p AtomicU64>,
}

impl Piece<'_> {
    /// Returns the offset after the last byte of the piece.
    fn end(&self) -> u64 {
        let element = (self.form.width * self.form.component.bytes()) as u64;
        self.span.start + (self.span.count as u64).saturating_sub(1) * self.span.stride as u64 + element
    }

    /// Fills the destination from bytes, which start at the first element.
    fn convert(&mut self, bytes: &[u8]) {
        let form = self.form;
        let stride = self.span.stride;
        match &mut self.target {
            FillTarget::Floats { values, width, finish } => {
                floats(form, bytes, stride, values, *width);
                let cut = AtomicU64::new(0);
                finish.apply(values, self.outcome.unwrap_or(&cut));
            }
            FillTarget::Indices { values, base } => {
                let max_index = indices(form.component, bytes, stride, values, *base);
                if let Some(end) = self.outcome
                    && let Some(max_index) = max_index
                {
                    // In 64 bits, because the index after the largest 32-bit index does not fit in 32 bits.
                    end.fetch_max(u64::from(max_index) + 1, Relaxed);
                }
            }
            FillTarget::Bytes { values, .. } => {
                values.iter_mut().zip(bytes).for_each(|(value, byte)| *value = *byte);
            }
            FillTarget::Steps { values, first, step } => {
                for (value, number) in values.iter_mut().zip(0_u32..) {
                    *value = first.wrapping_add(number.wrapping_mul(*step));
                }
            }
        }
    }
}

/// Buffers to read from, and options for reading.
pub(crate) struct FillJob<'j, 'a> {
    pub(crate) buffers: &'j OpenBuffers<'a>,
    pub(crate) run: &'j RunOptions,
    /// File size in bytes, for progress; `None` if unknown.
    pub(crate) size: Option<u64>,
    /// Bytes read so far.
    pub(crate) bytes_read: &'j AtomicU64,
}

impl FillJob<'_, '_> {
    /// Reads the values; returns the number of threads used.
    pub(crate) fn fill(&self, fills: &mut [AccessorFill<'_>]) -> Result<usize> {
        let threads = self.read(fills)?;
        // Last, because the values of the buffer view would overwrite the replacements.
        self.replace(fills)?;
        Ok(threads)
    }

    fn read(&self, fills: &mut [AccessorFill<'_>]) -> Result<usize> {
        let mut pieces = Vec::new();
        fills.iter_mut().try_for_each(|fill| fill.add_pieces(&mut pieces))?;
        // Sorted by location, so that adjacent pieces share a read.
        pieces.sort_unstable_by_key(|piece| (piece.span.home, piece.span.start));
        let lengths = batches(&pieces)?;
        let threads = self.run.worker_threads().min(lengths.len().div_ceil(BATCHES_PER_THREAD)).max(1);
        let batches = split(&mut pieces, lengths.into_iter());
        try_for_each_item(threads, &self.run.cancel, batches, Vec::new, |scratch, batch| self.convert(batch, scratch))?;
        Ok(threads)
    }

    /// Reads and converts the pieces of a batch.
    fn convert(&self, batch: &mut [Piece<'_>], scratch: &mut Vec<u8>) -> Result<()> {
        let Some(ByteSpan { home, start, .. }) = batch.first().map(|first| first.span) else { return Ok(()) };
        // Pieces may overlap, because accessors may share views, so the piece that starts last need not end last.
        let end = batch.iter().map(Piece::end).max().unwrap_or(start);
        let bytes = self.buffers.read(home, start, (end - start) as usize, scratch)?;
        for piece in batch {
            // Steps have no bytes, and convert without them.
            piece.convert(bytes.get((piece.span.start - start) as usize..).unwrap_or_default());
        }
        if let Some(progress) = &self.run.progress {
            let bytes_read = self.bytes_read.fetch_add(bytes.len() as u64, Relaxed) + bytes.len() as u64;
            // Views can be read several times, so the sum may exceed the file.
            progress.report(self.size.map_or(bytes_read, |size| bytes_read.min(size)), self.size);
        }
        Ok(())
    }

    /// Overwrites values with their sparse replacements.
    fn replace(&self, fills: &mut [AccessorFill<'_>]) -> Result<()> {
        let mut changes = Vec::new();
        for (index, fill) in fills.iter().enumerate() {
            if let Some(layout) = fill.layout.filter(|layout| layout.sparse.is_some()) {
                try_push(&mut changes, SparseChange::new(index, &layout, fill)?, "sparse values")?;
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        let mut reads = Vec::new();
        changes.iter_mut().try_for_each(|change| change.reads(&mut reads))?;
        self.read(&mut reads)?;
        drop(reads);
        changes.iter().try_for_each(|change| change.apply(&mut fills[change.fill]))
    }
}

/// Groups sorted pieces into batches. Returns the number of pieces in each batch.
fn batches(pieces: &[Piece<'_>]) -> Result<Vec<usize>> {
    let mut lengths = Vec::new();
    let mut first = 0;
    let mut end = 0;
    for (index, piece) in pieces.iter().enumerate() {
        let ByteSpan { home, start, .. } = pieces[first].span;
        // Meaningless for the first piece of all, when `end` is still 0: hence the check of `index` below.
        let is_far = home != piece.span.home || piece.span.start > end + GAP_BYTES;
        if index > first && (is_far || piece.end().max(end) - start > BATCH_BYTES) {
            try_push(&mut lengths, index - first, "values")?;
            first = index;
            end = 0;
        }
        end = end.max(piece.end());
    }
    try_push(&mut lengths, pieces.len() - first, "values")?;
    Ok(lengths)
}

/// Sparse replacements for a fill.
struct SparseChange {
    fill: usize,
    layout: AccessorLayout,
    /// Indices of the replaced elements.
    replaced: Vec<u32>,
    /// The replacements, if the destination has floats.
    floats: Vec<f32>,
    /// The replacements, if the destination has indices.
    indices: Vec<u32>,
    /// Floats per element.
    width: usize,
}

impl SparseChange {
    fn new(index: usize, layout: &AccessorLayout, fill: &AccessorFill<'_>) -> Result<SparseChange> {
        let count = layout.sparse.map_or(0, |sparse| sparse.indices.count);
        let mut change = SparseChange {
            fill: index,
            layout: *layout,
            replaced: zeroed(count, "sparse values")?,
            floats: Vec::new(),
            indices: Vec::new(),
            width: 1,
        };
        match &fill.target {
            FillTarget::Floats { width, .. } => {
                change.width = *width;
                change.floats = zeroed(count.saturating_mul(*width), "sparse values")?;
            }
            _ => change.indices = zeroed(count, "sparse values")?,
        }
        Ok(change)
    }

    fn reads<'c>(&'c mut self, reads: &mut Vec<AccessorFill<'c>>) -> Result<()> {
        let Some(sparse) = self.layout.sparse else { return Ok(()) };
        let part = |span: ByteSpan| AccessorLayout { count: span.count, span: Some(span), sparse: None, ..self.layout };
        let indices = AccessorLayout { component: sparse.index, width: 1, ..part(sparse.indices) };
        let values = part(sparse.values);
        try_push(reads, AccessorFill::indices(&indices, &mut self.replaced, 0, None), "sparse values")?;
        // Without replacements, both lists are empty, and either kind of read does nothing.
        let fill = if self.floats.is_empty() {
            AccessorFill::indices(&values, &mut self.indices, 0, None)
        } else {
            AccessorFill::floats(&values, &mut self.floats, self.width, Finish::Keep, None)
        };
        try_push(reads, fill, "sparse values")
    }

    fn apply(&self, fill: &mut AccessorFill<'_>) -> Result<()> {
        let AccessorLayout { accessor, count, .. } = self.layout;
        let is_ascending = self.replaced.is_sorted_by(|a, b| a < b);
        if !is_ascending || self.replaced.last().is_some_and(|&last| last as usize >= count) {
            let path = format!("accessors[{accessor}].sparse.indices");
            return Err(malformed(format!("{path} must be strictly ascending and less than {count}")));
        }
        let wrong = || Error::new(polyhaul_model::error::ErrorKind::Internal, "sparse values have no destination");
        match &mut fill.target {
            FillTarget::Floats { values, width, finish } => {
                for (&element, value) in self.replaced.iter().zip(self.floats.chunks_exact(*width)) {
                    let start = element as usize * *width;
                    values.get_mut(start..start + *width).ok_or_else(wrong)?.copy_from_slice(value);
                }
                let uncounted = AtomicU64::new(0);
                finish.apply(values, fill.outcome.unwrap_or(&uncounted));
            }
            FillTarget::Indices { values, base } => {
                for (&element, value) in self.replaced.iter().zip(&self.indices) {
                    *values.get_mut(element as usize).ok_or_else(wrong)? = value.wrapping_add(*base);
                }
                // The element with the maximum may have been replaced, so the maximum is computed again.
                let max_index = values.iter().map(|value| value.wrapping_sub(*base)).max();
                if let Some(end) = fill.outcome
                    && let Some(max_index) = max_index
                {
                    end.store(u64::from(max_index) + 1, Relaxed);
                }
            }
            FillTarget::Steps { .. } | FillTarget::Bytes { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "fills_tests.rs"]
mod tests;
