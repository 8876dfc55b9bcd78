//! Decodes the pixels of an HDR file into an image.
//!
//! Rows are unpacked sequentially into one plane per channel, and the planes are converted to floats in parallel. `row`
//! decodes runs and floats, and `raster` handles the order of rows.

use super::header;
use super::header::HdrHeader;
use super::row;
use super::row::HdrFault;
use crate::raster::Raster;
use crate::runs::SLACK;
use polyhaul_model::error::{Error, Result, fault, planted};
use polyhaul_model::{Channels, ColorSpace, Image, Samples};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_pipeline::window::SourceWindow;
use polyhaul_text::cpu::Level;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Approximate bytes per read, and bytes of planes per chunk: small enough to stay in cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads an HDR file. Also returns the number of threads used.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions) -> Result<(Image, usize)> {
    let file: Arc<str> = bytes.name().into();
    let mut window = SourceWindow::new(0, CHUNK_BYTES)?;
    let HdrHeader { width, height, is_upward, is_mirrored, attributes } =
        header::read(&mut window, &bytes, &file, &options.limits)?;
    let channels = Channels::Rgb;
    let backed = bytes.len().filter(|_| bytes.is_backed()).unwrap_or(0);
    let raster = Raster::new(width * channels.count(), height, is_upward, backed)?;
    let chunk_rows = (options.run.chunk_bytes.unwrap_or(CHUNK_BYTES) / row::plane_bytes(width)).max(1);
    let chunks = height.div_ceil(chunk_rows) as u64;
    let crew = Crew::for_chunks(chunks, chunk_rows * row::plane_bytes(width), &options.run);
    let rows = Mutex::new(HdrRows { bytes, file, window, width });
    let job = HdrJob { rows, raster, width, chunk_rows, options };
    run(&job, &mut (), crew, &options.run.cancel)?;
    let HdrJob { rows, raster, .. } = job;
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A damaged compressed stream is detected only at its end.
    while rows.bytes.in_order() && rows.window.refill(&rows.bytes)? {
        options.run.cancel.check()?;
        rows.window.consume(rows.window.rest().len());
    }
    rows.bytes.check_end(Extent::Whole, &options.run.cancel)?;
    // SAFETY: `run` succeeded, so every row was taken, and `of_planes` filled it.
    let samples = Samples::F32(unsafe { raster.finish(is_mirrored.then_some(channels.count())) }.into());
    let image =
        Image { width, height, channels, samples, color_space: ColorSpace::Linear, attributes, ..Image::default() };
    Ok((image, crew.threads))
}

/// Decodes the rows of an image in chunks.
struct HdrJob<'a> {
    rows: Mutex<HdrRows<'a>>,
    raster: Raster<f32>,
    width: usize,
    chunk_rows: usize,
    options: &'a ParseOptions,
}

#[derive(Default)]
struct HdrSlot {
    rows: Range<usize>,
    /// The planes of each row, followed by padding.
    planes: Vec<u8>,
    /// Offset of the end of the rows, and the size of the file.
    done: (u64, Option<u64>),
}

impl ChunkJob for HdrJob<'_> {
    type Slot = HdrSlot;
    type State = ();
    const PHASE: Phase = Phase::Decode;

    fn slot(&self) -> Result<HdrSlot> {
        Ok(HdrSlot::default())
    }

    fn take(&self, number: u64, slot: &mut HdrSlot) -> Result<bool> {
        let height = self.raster.height();
        let first = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.chunk_rows);
        if first >= height {
            return Ok(false);
        }
        slot.rows = first..height.min(first + self.chunk_rows);
        let row_bytes = row::plane_bytes(self.width);
        let missing = (slot.rows.len() * row_bytes + SLACK).saturating_sub(slot.planes.len());
        slot.planes.try_reserve_exact(missing).map_err(|_| Error::memory("rows"))?;
        slot.planes.resize(slot.planes.len() + missing, 0);
        // Not in `parse`, which runs in parallel: the packed size of a row is known only after it has been unpacked.
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for place in 0..slot.rows.len() {
            // The slack after a row overlaps the next row, which is unpacked later.
            rows.next(&mut slot.planes[place * row_bytes..][..row_bytes + SLACK])?;
        }
        slot.done = (rows.window.offset(), rows.bytes.len());
        self.raster.reserve(slot.rows.end).map(|()| true)
    }

    fn parse(&self, slot: &mut HdrSlot) -> Result<()> {
        let level = Level::best();
        let rows = slot.rows.clone().zip(slot.planes.chunks_exact(row::plane_bytes(self.width)));
        for (number, planes) in rows {
            // SAFETY: `take` assigns each row to one chunk, and a chunk is parsed by one thread.
            unsafe { self.raster.row(number, |to| row::of_planes(level, planes, to))? };
        }
        Ok(())
    }

    fn place(&self, (): &mut (), slot: &mut HdrSlot) -> Result<()> {
        if let Some(progress) = &self.options.run.progress {
            progress.report(slot.done.0, slot.done.1);
        }
        Ok(())
    }
}

/// The rows of a file, read sequentially.
struct HdrRows<'a> {
    bytes: Bytes<'a>,
    file: Arc<str>,
    window: SourceWindow,
    width: usize,
}

/// The pixel that a run repeats.
#[derive(Default)]
struct HdrRepeat {
    pixel: Option<row::HdrStored>,
    /// Left shift of the next count: consecutive runs are digits of one count, lowest first.
    shift: u32,
}

impl HdrRows<'_> {
    /// Unpacks a row. The planes are followed by [`SLACK`] bytes, which may be overwritten.
    fn next(&mut self, planes: &mut [u8]) -> Result<()> {
        self.window.ensure(4, &self.bytes)?;
        if row::is_by_channel(self.width, self.window.rest()) { self.by_channel(planes) } else { self.by_pixel(planes) }
    }

    fn cut(&self) -> Error {
        fault(
            &self.file,
            self.window.offset() + self.window.rest().len() as u64,
            "unexpected end of file before the last row",
        )
    }

    fn by_channel(&mut self, planes: &mut [u8]) -> Result<()> {
        let bytes = self.window.ensure(row::max_bytes(self.width) + SLACK, &self.bytes)?;
        match row::planes(Level::best(), bytes, self.width, planes) {
            Ok(used) => {
                self.window.consume(used);
                Ok(())
            }
            Err(HdrFault::Cut) => Err(self.cut()),
            Err(HdrFault::At(place, message)) => Err(fault(&self.file, self.window.offset() + place as u64, message)),
        }
    }

    /// Unpacks pixels. A pixel whose mantissas are all 1 repeats the previous pixel; its exponent is the count.
    fn by_pixel(&mut self, planes: &mut [u8]) -> Result<()> {
        let mut repeat = HdrRepeat::default();
        let mut made = 0;
        while made < self.width {
            let Some(&stored) = self.window.ensure(4, &self.bytes)?.first_chunk() else { return Err(self.cut()) };
            let at = self.window.offset();
            self.window.consume(4);
            let (pixel, count) = match (stored, repeat.pixel) {
                ([1, 1, 1, count], Some(pixel)) => {
                    let count = match (count, repeat.shift) {
                        (0, _) => 0,
                        // A count that overflows exceeds any row.
                        (count, shift) => usize::from(count).checked_shl(shift).unwrap_or(usize::MAX),
                    };
                    repeat.shift = repeat.shift.saturating_add(8).min(64);
                    (pixel, count)
                }
                ([1, 1, 1, _], None) => {
                    return Err(fault(&self.file, at, "a run has no preceding pixel to repeat"));
                }
                (stored, _) => {
                    repeat = HdrRepeat { pixel: Some(stored), shift: 0 };
                    (stored, 1)
                }
            };
            if count > self.width - made && !planted("hdr-run") {
                return Err(fault(&self.file, at, "a run extends past the end of its row"));
            }
            for (plane, byte) in planes.chunks_exact_mut(self.width).zip(pixel) {
                plane[made..made + count].fill(byte);
            }
            made += count;
        }
        Ok(())
    }
}
