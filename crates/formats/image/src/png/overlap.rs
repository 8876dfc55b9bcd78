//! Decodes large PNG files in parallel.
//!
//! One thread inflates in order, and one reverses the filters of inflated rows. A thread with nothing else to do
//! decodes a later span of compressed data ahead, without the bytes before it (`spans`); inflating such a span in order
//! is then little more than a copy. If the data is a single block, as some encoders write it, that is impossible.
//!
//! Only for valid files that can be read again: decoding stops silently at anything unexpected, and `reader` then reads
//! the file from its start and reports the error. This module must therefore not accept a file that `reader` rejects:
//! the `png` crate validates chunks and their checksums here, too (`idat`), and `ZlibDecoder` rejects all data that the
//! crate rejects. Interlaced and small images are left to `reader`.

use super::idat::{Idat, unexpected};
use super::layout::{PngLayout, PngSample};
use super::reader::{PngInput, color_space, profile};
use super::rows::PngRows;
use super::spans::SpanLine;
use super::still::{Animation, Still};
use polyhaul_bytes::{DecodeAhead, ZlibDecoder, ZlibPlain, ZlibSpan};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::pixels::check_size;
use polyhaul_model::{Image, Samples};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::reader::BlockReader;
use polyhaul_pipeline::run::{Crew, Phase, lock, run};
use std::io;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

/// Minimum size of all rows; smaller images are left to `reader`.
const MIN_BYTES: usize = 1 << 20;
/// Maximum size of a row.
const MAX_ROW_BYTES: usize = 256 << 10;
/// Minimum memory limit: four rows, a span, a chunk and tables for one thread. `reader` limits other chunks to the
/// memory limit; chunks that `Idat` accepts are far smaller.
const MIN_MEMORY: u64 = 2 << 20;

/// Partition of the data. It does not affect the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct PngSizes {
    /// Compressed bytes per span.
    pub(super) span: usize,
    /// Memory for decoding a span ahead, two bytes per decoded byte. The part that does not fit is decoded in order.
    pub(super) ahead: usize,
    /// Bytes inflated at a time.
    chunk: usize,
}

/// The search for the first block of a span skips half a block on average and is slower than decoding; larger spans
/// leave threads idle at the end and touch more new memory. A chunk is small enough to be in the cache when its filters
/// are reversed, but large enough to be worth waking another thread.
const SIZES: PngSizes = PngSizes { span: 128 << 10, ahead: 2 << 20, chunk: 384 << 10 };

/// Window size of deflate.
const WINDOW_BYTES: usize = 32 << 10;

/// Size of the file up to the end of the header.
const HEADER_END: usize = 29;

/// Returns whether a file can be read again and declares an image that is compressed, not interlaced and not small,
/// without very long rows, and whether the memory limit suffices.
pub(super) fn is_worth_it(input: &PngInput<'_>, reader: &mut BlockReader<'_>) -> bool {
    if input.bytes.in_order() || input.options.run.memory_limit < MIN_MEMORY {
        return false;
    }
    let header = reader.ensure(HEADER_END).ok().and_then(|header| header.first_chunk::<HEADER_END>());
    let Some(&[.., a, b, c, d, e, f, g, h, bits, kind, _, _, interlaced]) = header else { return false };
    let [width, height] = [[a, b, c, d], [e, f, g, h]].map(|side| u32::from_be_bytes(side) as usize);
    // By color type: 0 gray, 2 RGB, 3 palette, 4 gray with alpha, 6 RGBA; other types are invalid.
    let samples = [1, 1, 3, 1, 2, 1, 4][usize::from(kind.min(6))];
    let row = width.saturating_mul(samples * usize::from(bits)).div_ceil(8);
    let rows = row.saturating_mul(height);
    // Rows that are stored without compression are just copied, which the `png` crate does as fast.
    let is_compressed = input.bytes.len().is_some_and(|len| len < rows as u64);
    interlaced == 0 && is_compressed && row <= MAX_ROW_BYTES && rows >= MIN_BYTES
}

/// Reads a file from its start. Declines if anything is unexpected.
pub(super) fn read(input: &PngInput<'_>, reader: BlockReader<'_>) -> Attempt<(Image, Animation)> {
    let animation = Mutex::default();
    let Ok(image) = decode(input, reader, &animation, SIZES) else { return Attempt::Declined };
    Attempt::Done((image, animation.into_inner().unwrap_or_else(PoisonError::into_inner)))
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
    let layout = PngLayout::new(info)?;
    let color_space = color_space(info);
    let profile = profile(info);
    let channels = layout.channels;
    let backed = input.bytes.len().filter(|_| input.bytes.is_backed()).unwrap_or(0);
    let run = &input.options.run;
    let samples = if layout.is_wide() {
        Samples::U16(inflate(idat, PngRows::new(layout, size, backed)?, run, sizes)?.into())
    } else {
        Samples::U8(inflate(idat, PngRows::new(layout, size, backed)?, run, sizes)?.into())
    };
    Ok(Image { width, height, channels, samples, color_space, profile, ..Image::default() })
}

/// Decodes all samples.
fn inflate<T: PngSample>(
    idat: Idat<'_>,
    mut rows: PngRows<T>,
    options: &RunOptions,
    sizes: PngSizes,
) -> Result<Vec<T>> {
    let span_bytes = sizes.span + Idat::BEYOND_BYTES + sizes.ahead;
    // Half of the memory limit is for spans, the other half for inflated chunks.
    let backed = usize::try_from(options.memory_limit / 2).unwrap_or(usize::MAX) / span_bytes;
    let max_spans = backed.min(options.worker_threads() + 1);
    // Without spans to decode ahead, a third thread would wait, since everything else is sequential.
    let threads = options.worker_threads().min(max_spans.max(2));
    // A single thread wakes no other threads, so chunks can be smaller.
    let chunk_bytes = if threads > 1 { sizes.chunk } else { sizes.chunk / 2 };
    let crew = Crew::new(threads, options.memory_limit / 2, WINDOW_BYTES + chunk_bytes);
    let span = ZlibSpan::new().map_err(stopped)?;
    let decoder = ZlibDecoder::new().map_err(stopped)?;
    let inflating = Mutex::new(Inflating { span, decoder });
    let job = PngJob { line: SpanLine::new(idat, sizes, max_spans)?, inflating, chunk_bytes, samples: PhantomData };
    run(&job, &mut rows, crew, &options.cancel)?;
    let inflating = job.inflating.into_inner().unwrap_or_else(PoisonError::into_inner);
    job.line.finish(&inflating.decoder)?;
    rows.finish()
}

fn stopped(_: io::Error) -> Error {
    unexpected()
}

struct PngJob<'a, T> {
    line: SpanLine<'a>,
    inflating: Mutex<Inflating>,
    chunk_bytes: usize,
    samples: PhantomData<fn(T)>,
}

struct Inflating {
    span: ZlibSpan,
    decoder: ZlibDecoder,
}

impl<T: PngSample> ChunkJob for PngJob<'_, T> {
    type Slot = ZlibPlain;
    type State = PngRows<T>;
    const PHASE: Phase = Phase::Decode;

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        Some(&self.line)
    }

    fn slot(&self) -> Result<ZlibPlain> {
        Ok(ZlibPlain::default())
    }

    fn take(&self, _: u64, plain: &mut ZlibPlain) -> Result<bool> {
        let Inflating { span, decoder } = &mut *lock(&self.inflating);
        plain.clear();
        while !decoder.decode(span, self.chunk_bytes, plain).map_err(stopped)? && self.line.next(span, decoder)? {}
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
