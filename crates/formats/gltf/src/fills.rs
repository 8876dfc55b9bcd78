//! Reading the values of many accessors at once, by many threads, straight to where they belong.
//!
//! Each accessor is cut into pieces. Those that are neighbors in the file are read together into memory that stays in
//! the cache, and are converted from there: so interleaved attributes are read once, and small ones with few requests.
//! All places are known before, so the result is the same for any number of threads. What a value means is in
//! `convert`; nothing here checks offsets.

use crate::accessors::{Component, Layout, Span};
use crate::buffers::{Home, OpenBuffers};
use crate::convert::{Finish, floats, indices};
use crate::log::malformed;
use polyhaul_model::error::{Error, Result, try_push};
use polyhaul_pipeline::arrays::{split, zeroed};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bytes of a piece, about.
const PIECE_BYTES: usize = 128 << 10;

/// The most bytes that are read at once.
const BATCH_BYTES: u64 = 256 << 10;

/// Unused bytes between pieces that are skipped rather than read.
const GAP_BYTES: u64 = 64 << 10;

/// Starting a thread takes as long as a few batches.
const BATCHES_PER_THREAD: usize = 4;

/// Values to read, and their place.
pub(crate) struct Fill<'m> {
    /// `None` if they are in no file, or bytes.
    layout: Option<Layout>,
    place: Place<'m>,
    /// See [`Fill::floats`] and [`Fill::indices`].
    found: Option<&'m AtomicU64>,
}

/// Where values go.
enum Place<'m> {
    Floats {
        values: &'m mut [f32],
        width: usize,
        finish: Finish,
    },
    Indices {
        values: &'m mut [u32],
        base: u32,
    },
    /// `first`, `first + step` and so on.
    Steps {
        values: &'m mut [u32],
        first: u32,
        step: u32,
    },
    Bytes {
        values: &'m mut [u8],
        span: Span,
    },
}

impl<'m> Fill<'m> {
    /// Elements of `width` floats each. The number of colors that are cut is added to `cut`.
    pub(crate) fn floats(
        layout: &Layout,
        values: &'m mut [f32],
        (width, finish): (usize, Finish),
        cut: Option<&'m AtomicU64>,
    ) -> Fill<'m> {
        Fill { layout: Some(*layout), place: Place::Floats { values, width, finish }, found: cut }
    }

    /// Indices, each `base` more than in the file. The largest in the file plus 1 goes to `end`, if that is less.
    pub(crate) fn indices(layout: &Layout, values: &'m mut [u32], base: u32, end: Option<&'m AtomicU64>) -> Fill<'m> {
        Fill { layout: Some(*layout), place: Place::Indices { values, base }, found: end }
    }

    /// `first`, `first + step` and so on.
    pub(crate) fn steps(values: &'m mut [u32], first: u32, step: u32) -> Fill<'m> {
        Fill { layout: None, place: Place::Steps { values, first, step }, found: None }
    }

    /// Bytes as they are.
    pub(crate) fn bytes(span: Span, values: &'m mut [u8]) -> Fill<'m> {
        Fill { layout: None, place: Place::Bytes { values, span }, found: None }
    }

    /// Cuts it into pieces.
    fn cut<'p>(&'p mut self, pieces: &mut Vec<Piece<'p>>) -> Result<()> {
        let found = self.found;
        let Some((layout, span)) = self.layout.as_ref().and_then(|layout| Some((layout, layout.span?))) else {
            return self.cut_steps(pieces);
        };
        let form = Form { component: layout.component, is_normalized: layout.normalized, width: layout.width };
        let most = (PIECE_BYTES / span.stride).max(1);
        let mut add = |number: usize, count: usize, place: Place<'p>| {
            let start = span.start + (number * most) as u64 * span.stride as u64;
            try_push(pieces, Piece { span: Span { start, count, ..span }, form, place, found }, "values")
        };
        match &mut self.place {
            Place::Floats { values, width, finish } => {
                for (number, values) in values.chunks_mut(most * *width).enumerate() {
                    add(number, values.len() / *width, Place::Floats { values, width: *width, finish: *finish })?;
                }
            }
            Place::Indices { values, base } => {
                for (number, values) in values.chunks_mut(most).enumerate() {
                    add(number, values.len(), Place::Indices { values, base: *base })?;
                }
            }
            Place::Steps { .. } | Place::Bytes { .. } => {}
        }
        Ok(())
    }

    /// Cuts steps into pieces, and fills what consists of zeros, which nothing has filled before.
    fn cut_steps<'p>(&'p mut self, pieces: &mut Vec<Piece<'p>>) -> Result<()> {
        let form = Form { component: Component::U32, is_normalized: false, width: 1 };
        let size = size_of::<u32>();
        match &mut self.place {
            Place::Floats { values, width, finish } => {
                values.fill(0.0);
                if self.layout.is_some_and(|layout| layout.width < *width) {
                    values.iter_mut().skip(*width - 1).step_by(*width).for_each(|last| *last = 1.0);
                }
                finish.apply(values, &AtomicU64::new(0));
            }
            Place::Indices { values, base } => {
                values.fill(*base);
                if let Some(end) = self.found.filter(|_| !values.is_empty()) {
                    end.fetch_max(1, Relaxed);
                }
            }
            Place::Steps { values, first, step } => {
                for (number, values) in values.chunks_mut(PIECE_BYTES / size).enumerate() {
                    let (start, count) = ((number * PIECE_BYTES) as u64, values.len());
                    let span = Span { home: Home::Nowhere, start, stride: size, count };
                    let first = first.wrapping_add(step.wrapping_mul((number * PIECE_BYTES / size) as u32));
                    let place = Place::Steps { values, first, step: *step };
                    try_push(pieces, Piece { span, form, place, found: None }, "values")?;
                }
            }
            Place::Bytes { values, span } => {
                let form = Form { component: Component::U8, is_normalized: false, width: 1 };
                for (number, values) in values.chunks_mut(PIECE_BYTES).enumerate() {
                    let start = span.start + (number * PIECE_BYTES) as u64;
                    let span = Span { start, count: values.len(), ..*span };
                    let place = Place::Bytes { values, span };
                    try_push(pieces, Piece { span, form, place, found: None }, "values")?;
                }
            }
        }
        Ok(())
    }
}

/// How elements are stored.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) component: Component,
    pub(crate) is_normalized: bool,
    /// The number of components.
    pub(crate) width: usize,
}

/// A part of a [`Fill`].
struct Piece<'p> {
    span: Span,
    form: Form,
    place: Place<'p>,
    found: Option<&'p AtomicU64>,
}

impl Piece<'_> {
    /// The offset behind its last byte.
    fn end(&self) -> u64 {
        let element = (self.form.width * self.form.component.bytes()) as u64;
        self.span.start + (self.span.count as u64).saturating_sub(1) * self.span.stride as u64 + element
    }

    /// Fills its place from the bytes that begin with it.
    fn convert(&mut self, bytes: &[u8]) {
        let (form, stride) = (self.form, self.span.stride);
        match &mut self.place {
            Place::Floats { values, width, finish } => {
                floats(form, bytes, stride, values, *width);
                let cut = AtomicU64::new(0);
                finish.apply(values, self.found.unwrap_or(&cut));
            }
            Place::Indices { values, base } => {
                let most = indices(form.component, bytes, stride, values, *base);
                if let (Some(end), Some(most)) = (self.found, most) {
                    end.fetch_max(u64::from(most) + 1, Relaxed);
                }
            }
            Place::Bytes { values, .. } => {
                values.iter_mut().zip(bytes).for_each(|(value, byte)| *value = *byte);
            }
            Place::Steps { values, first, step } => {
                for (value, number) in values.iter_mut().zip(0_u32..) {
                    *value = first.wrapping_add(number.wrapping_mul(*step));
                }
            }
        }
    }
}

/// What [`Fill`]s are read from, and how.
pub(crate) struct FillJob<'j, 'a> {
    pub(crate) buffers: &'j OpenBuffers<'a>,
    pub(crate) run: &'j RunOptions,
    /// The size of the file, for progress.
    pub(crate) size: Option<u64>,
    /// How many bytes were read.
    pub(crate) done: &'j AtomicU64,
}

impl FillJob<'_, '_> {
    /// Reads the values; returns how many threads there were.
    pub(crate) fn fill(&self, fills: &mut [Fill<'_>]) -> Result<usize> {
        let threads = self.read(fills)?;
        self.replace(fills)?;
        Ok(threads)
    }

    fn read(&self, fills: &mut [Fill<'_>]) -> Result<usize> {
        let mut pieces = Vec::new();
        fills.iter_mut().try_for_each(|fill| fill.cut(&mut pieces))?;
        pieces.sort_unstable_by_key(|piece| (piece.span.home, piece.span.start));
        let lengths = batches(&pieces)?;
        let threads = self.run.worker_threads().min(lengths.len().div_ceil(BATCHES_PER_THREAD)).max(1);
        let batches = split(&mut pieces, lengths.into_iter());
        try_for_each_item(threads, &self.run.cancel, batches, Vec::new, |scratch, batch| self.convert(batch, scratch))?;
        Ok(threads)
    }

    /// Reads the pieces of a batch.
    fn convert(&self, batch: &mut [Piece<'_>], scratch: &mut Vec<u8>) -> Result<()> {
        let Some(Span { home, start, .. }) = batch.first().map(|first| first.span) else { return Ok(()) };
        let end = batch.iter().map(Piece::end).max().unwrap_or(start);
        let bytes = self.buffers.read(home, start, (end - start) as usize, scratch)?;
        for piece in batch {
            piece.convert(bytes.get((piece.span.start - start) as usize..).unwrap_or_default());
        }
        if let Some(progress) = &self.run.progress {
            let done = self.done.fetch_add(bytes.len() as u64, Relaxed) + bytes.len() as u64;
            progress.report(self.size.map_or(done, |size| done.min(size)), self.size);
        }
        Ok(())
    }

    /// Replaces the values that are sparse.
    fn replace(&self, fills: &mut [Fill<'_>]) -> Result<()> {
        let mut changes = Vec::new();
        for (index, fill) in fills.iter().enumerate() {
            if let Some(layout) = fill.layout.filter(|layout| layout.sparse.is_some()) {
                try_push(&mut changes, Change::new(index, &layout, &fill.place)?, "sparse values")?;
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

/// The lengths of groups of pieces, which are sorted, that are read together.
fn batches(pieces: &[Piece<'_>]) -> Result<Vec<usize>> {
    let mut lengths = Vec::new();
    let (mut first, mut end) = (0, 0);
    for (index, piece) in pieces.iter().enumerate() {
        let Span { home, start, .. } = pieces[first].span;
        let is_far = home != piece.span.home || piece.span.start > end + GAP_BYTES;
        if index > first && (is_far || piece.end().max(end) - start > BATCH_BYTES) {
            try_push(&mut lengths, index - first, "values")?;
            (first, end) = (index, 0);
        }
        end = end.max(piece.end());
    }
    try_push(&mut lengths, pieces.len() - first, "values")?;
    Ok(lengths)
}

/// Sparse values that were read, and which they replace.
struct Change {
    fill: usize,
    layout: Layout,
    places: Vec<u32>,
    floats: Vec<f32>,
    indices: Vec<u32>,
    /// The form of floats.
    shape: (usize, Finish),
}

impl Change {
    fn new(fill: usize, layout: &Layout, place: &Place<'_>) -> Result<Change> {
        let count = layout.sparse.map_or(0, |sparse| sparse.indices.count);
        let (mut floats, mut indices, mut shape) = (Vec::new(), Vec::new(), (1, Finish::Keep));
        match place {
            Place::Floats { width, finish, .. } => {
                shape = (*width, *finish);
                floats = zeroed(count.saturating_mul(*width), "sparse values")?;
            }
            _ => indices = zeroed(count, "sparse values")?,
        }
        Ok(Change { fill, layout: *layout, places: zeroed(count, "sparse values")?, floats, indices, shape })
    }

    fn reads<'c>(&'c mut self, reads: &mut Vec<Fill<'c>>) -> Result<()> {
        let Some(sparse) = self.layout.sparse else { return Ok(()) };
        let part = |span: Span| Layout { count: span.count, span: Some(span), sparse: None, ..self.layout };
        let places = Layout { component: sparse.index, width: 1, ..part(sparse.indices) };
        let values = part(sparse.values);
        try_push(reads, Fill::indices(&places, &mut self.places, 0, None), "sparse values")?;
        let fill = if self.floats.is_empty() {
            Fill::indices(&values, &mut self.indices, 0, None)
        } else {
            Fill::floats(&values, &mut self.floats, self.shape, None)
        };
        try_push(reads, fill, "sparse values")
    }

    fn apply(&self, fill: &mut Fill<'_>) -> Result<()> {
        let Layout { accessor, count, .. } = self.layout;
        let is_ascending = self.places.is_sorted_by(|a, b| a < b);
        if !is_ascending || self.places.last().is_some_and(|&last| last as usize >= count) {
            let path = format!("accessors[{accessor}].sparse.indices");
            return Err(malformed(format!("{path} are not ascending, or not below {count}")));
        }
        let wrong = || Error::new(polyhaul_model::error::ErrorKind::Internal, "sparse values have no place");
        match &mut fill.place {
            Place::Floats { values, width, .. } => {
                for (&place, value) in self.places.iter().zip(self.floats.chunks_exact(*width)) {
                    let begin = place as usize * *width;
                    values.get_mut(begin..begin + *width).ok_or_else(wrong)?.copy_from_slice(value);
                }
            }
            Place::Indices { values, base } => {
                for (&place, value) in self.places.iter().zip(&self.indices) {
                    *values.get_mut(place as usize).ok_or_else(wrong)? = value.wrapping_add(*base);
                }
                let most = values.iter().map(|value| value.wrapping_sub(*base)).max();
                if let (Some(end), Some(most)) = (fill.found, most) {
                    end.store(u64::from(most) + 1, Relaxed);
                }
            }
            Place::Steps { .. } | Place::Bytes { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "fills_tests.rs"]
mod tests;
