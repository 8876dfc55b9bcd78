//! The pixels of a PNG file to an image: some rows are inflated while filters of the rows before them are undone.
//!
//! Only for sound files that can be read again: it stops at whatever it does not expect, without a word, and `reader`
//! then reads the file from its start and finds the fault. So it accepts nothing that `reader` does not: chunks,
//! checksums and compressed data are the library's here too. Interlaced and small images are left to `reader`.

use super::filter;
use super::layout::{PngLayout, PngSample};
use super::reader::{PngInput, color_space, copy, decode_options};
use super::still::{Animation, Still};
use crate::raster::{Raster, check_size};
use png::{Decoded, StreamingDecoder, UnfilterRegion, chunk};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Image, Samples};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::reader::BlockReader;
use polyhaul_pipeline::run::{Crew, Phase, run};
use std::io::BufRead;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// About how many bytes of rows are inflated together.
const CHUNK_BYTES: usize = 256 << 10;
/// Images with fewer bytes of rows are read sooner by one thread.
const LEAST_BYTES: usize = 1 << 20;
/// How far compressed data refers back.
const WINDOW_BYTES: usize = 32 << 10;
/// The most bytes of chunks without pixels: the library counts some of them towards a limit, which is far above.
const MOST_OTHER_BYTES: u64 = 64 << 10;

/// Whatever is not expected. It is never shown.
fn unexpected() -> Error {
    Error::new(ErrorKind::Malformed, "left to the reader in order")
}

/// Bytes up to the end of the header.
const HEADER_END: usize = 29;

/// Whether a file can be read again, and declares an image that is neither interlaced nor small.
pub(super) fn is_worth_it(input: &PngInput<'_>, reader: &mut BlockReader<'_>) -> bool {
    let run = &input.options.run;
    // The library limits a row and some of the other chunks to this memory: here that is never reached.
    let is_roomy = run.memory_limit >= CHUNK_BYTES as u64 + MOST_OTHER_BYTES;
    if input.bytes.in_order() || run.worker_threads() < 2 || !is_roomy {
        return false;
    }
    let header = reader.ensure(HEADER_END).ok().and_then(|header| header.first_chunk::<HEADER_END>());
    let Some(&[.., a, b, c, d, e, f, g, h, bits, kind, _, _, interlaced]) = header else { return false };
    let [width, height] = [[a, b, c, d], [e, f, g, h]].map(|side| u32::from_be_bytes(side) as usize);
    let samples = [1, 1, 3, 1, 2, 1, 4][usize::from(kind.min(6))];
    let row = width.saturating_mul(samples * usize::from(bits)).div_ceil(8);
    interlaced == 0 && row <= CHUNK_BYTES && row.saturating_mul(height) >= LEAST_BYTES
}

/// Reads a file from its start, if it is sound.
pub(super) fn read(input: &PngInput<'_>, reader: BlockReader<'_>) -> Option<(Image, Animation)> {
    let animation = Mutex::default();
    let image = decode(input, reader, &animation).ok()?;
    Some((image, animation.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn decode(input: &PngInput<'_>, mut reader: BlockReader<'_>, animation: &Mutex<Animation>) -> Result<Image> {
    input.check_backed(&mut reader)?;
    let decoder = StreamingDecoder::new_with_options(decode_options());
    let mut inflating = Inflating { reader: Still::new(reader, animation), decoder, others: 0, window: Vec::new() };
    inflating.pass_until(|event| matches!(event, Decoded::ChunkBegin(_, chunk::IDAT)))?;
    let info = inflating.decoder.info().ok_or_else(unexpected)?;
    let (width, height) = (info.width as usize, info.height as usize);
    check_size([width, height], &input.options.limits, input.file, 0)?;
    let (layout, color_space) = (PngLayout::new(info)?, color_space(info));
    let channels = layout.channels;
    let size = [width, height];
    let samples = if layout.is_wide() {
        Samples::U16(rows(input, inflating, layout, size)?.into())
    } else {
        Samples::U8(rows(input, inflating, layout, size)?.into())
    };
    Ok(Image { width, height, channels, samples, color_space, ..Image::default() })
}

/// All samples.
fn rows<T: PngSample>(
    input: &PngInput<'_>,
    inflating: Inflating<'_>,
    layout: PngLayout,
    [width, height]: [usize; 2],
) -> Result<Vec<T>> {
    let backed = input.bytes.len().filter(|_| input.bytes.is_backed()).unwrap_or(0);
    let raster: Raster<T> = Raster::new(width * layout.channels.count(), height, false, backed)?;
    let row = 1 + layout.row_bytes(width);
    let mut rows = PngPlaced { above: Vec::new(), pixels: Vec::new() };
    rows.above.try_reserve_exact(row - 1)?;
    rows.above.resize(row - 1, 0);
    rows.pixels.try_reserve_exact(width * layout.channels.count())?;
    let chunk_rows = (CHUNK_BYTES / row).max(1);
    let job = PngJob { inflating: Mutex::new(inflating), raster, layout, width, row, chunk_rows };
    let run_options = &input.options.run;
    // Both halves are in order: a third thread would wait.
    let crew =
        Crew::new(2.min(run_options.worker_threads()), run_options.memory_limit, WINDOW_BYTES + chunk_rows * row);
    run(&job, &mut rows, crew, &run_options.cancel)?;
    let mut inflating = job.inflating.into_inner().unwrap_or_else(PoisonError::into_inner);
    inflating.pass_until(|event| matches!(event, Decoded::ChunkComplete(chunk::IEND)))?;
    // SAFETY: `run` returned no error, so every row was taken, and `place` filled it.
    Ok(unsafe { job.raster.finish(None) })
}

/// Compressed data on its way to rows with filters.
struct Inflating<'a> {
    reader: Still<'a>,
    decoder: StreamingDecoder,
    /// Bytes of chunks without pixels.
    others: u64,
    /// The last bytes that were inflated.
    window: Vec<u8>,
}

impl Inflating<'_> {
    /// One step of the library, which appends pixels to `into`.
    fn step(&mut self, into: Option<(&mut Vec<u8>, &mut UnfilterRegion)>) -> Result<Decoded> {
        let bytes = self.reader.fill_buf().map_err(|_| unexpected())?;
        if bytes.is_empty() {
            return Err(unexpected());
        }
        let found = match into {
            Some((bytes_out, region)) => self.decoder.update(bytes, Some(&mut region.as_buf(bytes_out))),
            None => self.decoder.update(bytes, None),
        };
        let (used, event) = found.map_err(|_| unexpected())?;
        self.reader.consume(used);
        if let Decoded::ChunkBegin(length, kind) = event
            && kind != chunk::IDAT
        {
            self.others += u64::from(length);
            if self.others > MOST_OTHER_BYTES {
                return Err(unexpected());
            }
        }
        Ok(event)
    }

    /// Passes chunks until something happens.
    fn pass_until(&mut self, is_last: impl Fn(&Decoded) -> bool) -> Result<()> {
        while !is_last(&self.step(None)?) {}
        Ok(())
    }

    /// Inflates `count` bytes, which follow as much of those before them in `into` as compressed data refers back to.
    fn inflate(&mut self, count: usize, into: &mut Vec<u8>) -> Result<usize> {
        let begin = self.window.len();
        // What is left of an earlier chunk is overwritten: it need not be cleared.
        into.truncate(begin + count);
        into.try_reserve_exact(begin + count - into.len())?;
        into.resize(begin + count, 0);
        into[..begin].copy_from_slice(&self.window);
        let mut region = UnfilterRegion { available: 0, filled: begin };
        while region.filled < into.len() {
            if let Decoded::ImageDataFlushed = self.step(Some((into, &mut region)))?
                && region.filled < into.len()
            {
                return Err(unexpected());
            }
        }
        self.window.clear();
        self.window.extend_from_slice(&into[into.len().saturating_sub(WINDOW_BYTES)..]);
        Ok(begin)
    }
}

struct PngJob<'a, T> {
    inflating: Mutex<Inflating<'a>>,
    raster: Raster<T>,
    layout: PngLayout,
    width: usize,
    /// Bytes of a row with its filter.
    row: usize,
    chunk_rows: usize,
}

/// Rows with their filters.
#[derive(Default)]
struct PngSlot {
    rows: Range<usize>,
    bytes: Vec<u8>,
    /// Where the rows begin.
    begin: usize,
}

/// What passes from chunk to chunk.
struct PngPlaced<T> {
    /// The last row.
    above: Vec<u8>,
    pixels: Vec<T>,
}

impl<T: PngSample> ChunkJob for PngJob<'_, T> {
    type Slot = PngSlot;
    type State = PngPlaced<T>;
    const PHASE: Phase = Phase::Decode;

    fn slot(&self) -> Result<PngSlot> {
        Ok(PngSlot::default())
    }

    fn take(&self, number: u64, slot: &mut PngSlot) -> Result<bool> {
        let height = self.raster.height();
        let first = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.chunk_rows);
        if first >= height {
            return Ok(false);
        }
        slot.rows = first..height.min(first + self.chunk_rows);
        let mut inflating = self.inflating.lock().unwrap_or_else(PoisonError::into_inner);
        slot.begin = inflating.inflate(slot.rows.len() * self.row, &mut slot.bytes)?;
        self.raster.reserve(slot.rows.end).map(|()| true)
    }

    fn parse(&self, _: &mut PngSlot) -> Result<()> {
        Ok(())
    }

    fn place(&self, placed: &mut PngPlaced<T>, slot: &mut PngSlot) -> Result<()> {
        let mut above = placed.above.as_slice();
        for (number, row) in slot.rows.clone().zip(slot.bytes[slot.begin..].chunks_exact_mut(self.row)) {
            let (filter, row) = row.split_first_mut().ok_or_else(unexpected)?;
            filter::undo(*filter, self.layout.pixel_bytes(), above, row).ok_or_else(unexpected)?;
            placed.pixels.clear();
            T::expand(&self.layout, row, self.width, &mut placed.pixels).map_err(|_| unexpected())?;
            // SAFETY: chunks are placed one after another, and each has rows of its own.
            unsafe { self.raster.row(number, |to| copy(&placed.pixels, to))? };
            above = row;
        }
        let last = slot.bytes.len() - (self.row - 1);
        placed.above.copy_from_slice(&slot.bytes[last..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use png::{BitDepth, ColorType};
    use polyhaul_bytes::Source;
    use polyhaul_model::warnings::Warnings;
    use polyhaul_pipeline::bytes::Bytes;
    use polyhaul_pipeline::options::{ParseOptions, RunOptions};
    use polyhaul_pipeline::reader::Decoding;

    fn encoded([width, height]: [usize; 2], color: ColorType, depth: BitDepth, with_key: bool) -> Vec<u8> {
        let row = color.samples() * depth as usize * width;
        // Rows that are alike, so that they compress, and refer to rows before their chunk.
        let bytes: Vec<u8> = (0..height)
            .flat_map(|y| (0..row.div_ceil(8)).map(move |at| (at * at / 7 + y * (at / 500 % 3)) as u8))
            .collect();
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette((0..3 << depth as usize).map(|at| (at * 5) as u8).collect::<Vec<u8>>());
        }
        if with_key {
            encoder.set_trns(vec![0; if color == ColorType::Indexed { 2 } else { 2 * color.samples() }]);
        }
        encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
        file
    }

    fn options(threads: usize) -> ParseOptions {
        ParseOptions { run: RunOptions::default().with_threads(Some(threads)), ..ParseOptions::default() }
    }

    /// The image by several threads, whatever its size.
    fn overlapped(file: &[u8]) -> Result<Image> {
        let (source, options) = (Source::memory(file.to_vec()), options(2));
        let bytes = Bytes::new(&source, None);
        let input = PngInput { bytes: &bytes, file: &"x".into(), options: &options };
        decode(&input, Decoding::new(&bytes, &options.run).reader(), &Mutex::default())
    }

    fn in_order(file: &[u8], threads: usize) -> Result<Image> {
        let source = Source::memory(file.to_vec());
        super::super::read(Bytes::new(&source, None), &options(threads), &mut Warnings::default())
    }

    #[test]
    fn all_kinds_of_pixels_are_the_same() {
        use BitDepth::{Eight, Four, One, Sixteen, Two};
        use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
        let gray = [One, Two, Four, Eight, Sixteen].map(|depth| (Grayscale, depth));
        let mapped = [One, Two, Four, Eight].map(|depth| (Indexed, depth));
        let others = [Eight, Sixteen].map(|depth| [Rgb, Rgba, GrayscaleAlpha].map(|color| (color, depth)));
        for (color, depth) in gray.into_iter().chain(mapped).chain(others.into_iter().flatten()) {
            for with_key in [false, true] {
                if !(with_key && matches!(color, Rgba | GrayscaleAlpha)) {
                    let file = encoded([401, 700], color, depth, with_key);
                    assert!(overlapped(&file).unwrap() == in_order(&file, 1).unwrap(), "{color:?} {depth:?}");
                }
            }
        }
    }

    #[test]
    fn a_large_image_is_the_same_for_any_number_of_threads() {
        let file = encoded([900, 700], ColorType::Rgb, BitDepth::Eight, false);
        let wanted = in_order(&file, 1).unwrap();
        for threads in [2, 7] {
            assert!(in_order(&file, threads).unwrap() == wanted);
        }
        let end = file.len() - 40;
        for broken in [&file[..end], &[&file[..end], b"12345678", &file[end + 8..]].concat()] {
            let errors = [1, 2].map(|threads| in_order(broken, threads).unwrap_err().to_string());
            assert_eq!(errors[0], errors[1]);
        }
    }

    #[test]
    fn nothing_is_accepted_that_is_not_in_order() {
        let small = encoded([23, 17], ColorType::Rgb, BitDepth::Eight, true);
        let large = encoded([500, 600], ColorType::Rgb, BitDepth::Eight, false);
        for (file, step) in [(small, 1), (large, 977)] {
            for at in (0..file.len()).step_by(step) {
                let mut broken = file.clone();
                broken[at] ^= 1 << (at % 8);
                for broken in [&broken, &file[..at]] {
                    if let Ok(image) = overlapped(broken) {
                        assert!(in_order(broken, 1).is_ok_and(|wanted| image == wanted), "{at}");
                    }
                }
            }
        }
    }
}
