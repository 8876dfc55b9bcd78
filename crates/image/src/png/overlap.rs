//! The pixels of a large PNG file to an image, on one thread or more.
//!
//! With several threads, each decodes spans of the compressed data without the bytes before them, and in turns they put
//! these together in order and undo filters (`AheadJob`). If the data is one block, as some encoders write it, one
//! thread inflates rows while another one undoes the filters of the rows before them (`InOrderJob`).
//!
//! Only for sound files that can be read again: it stops at whatever it does not expect, without a word, and `reader`
//! then reads the file from its start and finds the fault. So it accepts nothing that `reader` does not: chunks and
//! their checksums are the library's here too (`idat`), and `ZlibDecoder` accepts no data that the library refuses.
//! Interlaced and small images are left to `reader`.

use super::idat::{Idat, unexpected};
use super::layout::{PngLayout, PngSample};
use super::reader::{PngInput, color_space};
use super::rows::PngRows;
use super::still::{Animation, Still};
use crate::raster::check_size;
use polyhaul_bytes::{ZlibDecoder, ZlibPlain, ZlibSpan};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Image, Samples};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::reader::BlockReader;
use polyhaul_pipeline::run::{Crew, Phase, run};
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Images with fewer bytes of rows are left to `reader`.
const LEAST_BYTES: usize = 1 << 20;
/// The longest row: some are kept in memory.
const MOST_ROW_BYTES: usize = 256 << 10;
/// After so many spans without a block that can be decoded ahead, no other one is searched.
const MOST_MISSES: u32 = 4;
/// Data that expands by more is inflated in order, which takes no longer than the rest then.
const MOST_EXPANSION: u64 = 5;

/// How the data is divided. No result depends on it.
#[derive(Clone, Copy, Debug)]
struct PngSizes {
    /// Compressed bytes of the first span, which one thread decodes to see of what blocks the data consists.
    first: usize,
    /// Compressed bytes of a span.
    span: usize,
    /// The memory in which a span is decoded ahead, at two bytes for one. What does not fit is decoded in order.
    ahead: usize,
    /// How many bytes are inflated together.
    chunk: usize,
}

/// The search for the first block of a span passes half a block, some 10 to 20 kB, and takes as long as decoding twice
/// as much. Larger spans leave threads idle at the end. A chunk stays in the cache until its filters are undone.
const SIZES: PngSizes = PngSizes { first: 96 << 10, span: 256 << 10, ahead: 4 << 20, chunk: 192 << 10 };

/// Bytes up to the end of the header.
const HEADER_END: usize = 29;

/// Whether a file can be read again, and declares an image that is neither interlaced nor small.
pub(super) fn is_worth_it(input: &PngInput<'_>, reader: &mut BlockReader<'_>) -> bool {
    // The library limits a row and some chunks to this memory: here that is never reached.
    let is_roomy = input.options.run.memory_limit >= MOST_ROW_BYTES as u64 + Idat::MOST_OTHER_BYTES;
    if input.bytes.in_order() || !is_roomy {
        return false;
    }
    let header = reader.ensure(HEADER_END).ok().and_then(|header| header.first_chunk::<HEADER_END>());
    let Some(&[.., a, b, c, d, e, f, g, h, bits, kind, _, _, interlaced]) = header else { return false };
    let [width, height] = [[a, b, c, d], [e, f, g, h]].map(|side| u32::from_be_bytes(side) as usize);
    let samples = [1, 1, 3, 1, 2, 1, 4][usize::from(kind.min(6))];
    let row = width.saturating_mul(samples * usize::from(bits)).div_ceil(8);
    interlaced == 0 && row <= MOST_ROW_BYTES && row.saturating_mul(height) >= LEAST_BYTES
}

/// Reads a file from its start, if it is sound.
pub(super) fn read(input: &PngInput<'_>, reader: BlockReader<'_>) -> Option<(Image, Animation)> {
    let animation = Mutex::default();
    let image = decode(input, reader, &animation, SIZES).ok()?;
    Some((image, animation.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn decode(
    input: &PngInput<'_>,
    mut reader: BlockReader<'_>,
    animation: &Mutex<Animation>,
    sizes: PngSizes,
) -> Result<Image> {
    input.check_backed(&mut reader)?;
    let idat = Idat::open(Still::new(reader, animation))?;
    let info = idat.info()?;
    let size @ [width, height] = [info.width as usize, info.height as usize];
    check_size(size, &input.options.limits, input.file, 0)?;
    let (layout, color_space) = (PngLayout::new(info)?, color_space(info));
    let channels = layout.channels;
    let backed = input.bytes.len().filter(|_| input.bytes.is_backed()).unwrap_or(0);
    let run = &input.options.run;
    let samples = if layout.is_wide() {
        Samples::U16(inflate(idat, PngRows::new(layout, size, backed)?, run, sizes)?.into())
    } else {
        Samples::U8(inflate(idat, PngRows::new(layout, size, backed)?, run, sizes)?.into())
    };
    Ok(Image { width, height, channels, samples, color_space, ..Image::default() })
}

/// All samples.
fn inflate<T: PngSample>(
    mut idat: Idat<'_>,
    rows: PngRows<T>,
    options: &RunOptions,
    sizes: PngSizes,
) -> Result<Vec<T>> {
    let decoder = ZlibDecoder::new().map_err(stopped)?;
    let mut placed = PngPlaced { rows, decoder, plain: ZlibPlain::default(), chunk_bytes: sizes.chunk };
    let mut span = new_span()?;
    let slot_bytes = sizes.span + Idat::BEYOND_BYTES + sizes.ahead;
    let crew = Crew::new(options.worker_threads(), options.memory_limit, slot_bytes);
    let mut has_more = idat.next(sizes.first, &mut span)?;
    while has_more {
        placed.inflate(&mut span)?;
        has_more = crew.threads == 1 && idat.next(sizes.span, &mut span)?;
    }
    if crew.threads > 1 && placed.is_worth_ahead() {
        let job = AheadJob { idat: Mutex::new(idat), misses: AtomicU32::new(0), sizes, samples: PhantomData };
        run(&job, &mut placed, crew, &options.cancel)?;
        idat = into_inner(job.idat);
    } else if crew.threads > 1 {
        let inflating = Mutex::new(Inflating { idat, span, decoder: placed.decoder });
        let job = InOrderJob { inflating, sizes, samples: PhantomData };
        // Both halves are in order: a third thread would wait.
        run(&job, &mut placed.rows, Crew::new(2, options.memory_limit, sizes.chunk), &options.cancel)?;
        Inflating { idat, decoder: placed.decoder, .. } = into_inner(job.inflating);
    }
    idat.finish(&placed.decoder)?;
    placed.rows.finish()
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn new_span() -> Result<ZlibSpan> {
    ZlibSpan::new().map_err(stopped)
}

fn stopped(_: io::Error) -> Error {
    unexpected()
}

/// What passes from span to span.
struct PngPlaced<T> {
    rows: PngRows<T>,
    decoder: ZlibDecoder,
    plain: ZlibPlain,
    chunk_bytes: usize,
}

impl<T: PngSample> PngPlaced<T> {
    /// Whether the data is such that decoding it ahead takes less time than inflating it in order.
    fn is_worth_ahead(&self) -> bool {
        let is_dense = self.decoder.plain_bytes() < MOST_EXPANSION * self.decoder.offset();
        is_dense && self.decoder.has_met_blocks()
    }

    /// Adds what `span` has.
    fn inflate(&mut self, span: &mut ZlibSpan) -> Result<()> {
        let mut has_more = true;
        while has_more {
            self.plain.clear();
            has_more = self.decoder.decode(span, self.chunk_bytes, &mut self.plain).map_err(stopped)?;
            self.rows.add(self.plain.bytes())?;
        }
        Ok(())
    }
}

/// Spans are decoded by all threads, then put together in order.
struct AheadJob<'a, T> {
    idat: Mutex<Idat<'a>>,
    /// How many spans had no block that can be decoded ahead.
    misses: AtomicU32,
    sizes: PngSizes,
    samples: PhantomData<fn(T)>,
}

impl<T: PngSample> ChunkJob for AheadJob<'_, T> {
    type Slot = ZlibSpan;
    type State = PngPlaced<T>;
    const PHASE: Phase = Phase::Decode;

    fn slot(&self) -> Result<ZlibSpan> {
        new_span()
    }

    fn take(&self, _: u64, span: &mut ZlibSpan) -> Result<bool> {
        self.idat.lock().unwrap_or_else(PoisonError::into_inner).next(self.sizes.span, span)
    }

    fn parse(&self, span: &mut ZlibSpan) -> Result<()> {
        if self.misses.load(Ordering::Relaxed) < MOST_MISSES && !span.decode_ahead(self.sizes.ahead) {
            self.misses.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn place(&self, placed: &mut PngPlaced<T>, span: &mut ZlibSpan) -> Result<()> {
        placed.inflate(span)
    }
}

/// One thread inflates, another one undoes filters.
struct InOrderJob<'a, T> {
    inflating: Mutex<Inflating<'a>>,
    sizes: PngSizes,
    samples: PhantomData<fn(T)>,
}

struct Inflating<'a> {
    idat: Idat<'a>,
    span: ZlibSpan,
    decoder: ZlibDecoder,
}

impl<T: PngSample> ChunkJob for InOrderJob<'_, T> {
    type Slot = ZlibPlain;
    type State = PngRows<T>;
    const PHASE: Phase = Phase::Decode;

    fn slot(&self) -> Result<ZlibPlain> {
        Ok(ZlibPlain::default())
    }

    fn take(&self, _: u64, plain: &mut ZlibPlain) -> Result<bool> {
        let mut inflating = self.inflating.lock().unwrap_or_else(PoisonError::into_inner);
        let Inflating { idat, span, decoder } = &mut *inflating;
        plain.clear();
        while !decoder.decode(span, self.sizes.chunk, plain).map_err(stopped)? && idat.next(self.sizes.span, span)? {}
        Ok(!plain.bytes().is_empty())
    }

    fn parse(&self, _: &mut ZlibPlain) -> Result<()> {
        Ok(())
    }

    fn place(&self, rows: &mut PngRows<T>, plain: &mut ZlibPlain) -> Result<()> {
        rows.add(plain.bytes())
    }
}

#[cfg(test)]
mod tests;
