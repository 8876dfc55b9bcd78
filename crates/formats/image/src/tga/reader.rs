//! Decodes the pixels of a TGA file into an image.
//!
//! Reads several rows at a time: uncompressed rows by offset, in parallel; packets sequentially, into uncompressed
//! rows. Pixels are converted in parallel. `packets` unpacks runs; `raster` orders the rows.

use super::header;
use super::header::{AlphaSeen, TgaHeader, TgaPixels};
use super::packets::Packets;
use super::{ATTRIBUTES_AT, EXTENSION_BYTES, PREMULTIPLIED, RETAINED, SIGNATURE, TAIL_BYTES, USEFUL};
use crate::raster::Raster;
use crate::runs::{RunsProgress, SLACK};
use polyhaul_model::error::{Diagnostic, Error, Result, fault};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Channels, Image, Samples};
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

/// Approximate bytes per read: small enough to stay in cache.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads a TGA file. Also returns the number of threads used.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<(Image, usize)> {
    let file: Arc<str> = bytes.name().into();
    let header = header::read(&bytes, &file, &options.limits)?;
    let channels = header.pixels.channels();
    let backed = bytes.len().filter(|_| bytes.is_backed());
    let raster = Raster::new(header.width * channels.count(), header.height, !header.from_top, backed.unwrap_or(0))?;
    let packed = if header.has_packets {
        Some(Mutex::new(Packed { window: SourceWindow::new(header.body, CHUNK_BYTES)?, packets: Packets::default() }))
    } else {
        None
    };
    let input = TgaInput { bytes, file, header, raster, alpha: Mutex::default(), options };
    let (threads, kind) = input.read(packed)?;
    input.bytes.check_end(Extent::Whole, &options.run.cancel)?;
    let alpha = input.judge_alpha(kind, warnings)?;
    let TgaInput { header: TgaHeader { width, height, from_right, .. }, raster, .. } = input;
    // SAFETY: `read` succeeded, so every row was in a chunk whose `parse` filled it.
    let samples = unsafe { raster.finish(from_right.then_some(channels.count())) };
    let (channels, samples) = match alpha {
        TgaAlpha::Kept => (channels, samples),
        TgaAlpha::Unused => opaque(channels, samples),
    };
    let premultiplied = kind == Some(PREMULTIPLIED) && channels.has_alpha();
    let samples = Samples::U8(samples.into());
    Ok((Image { width, height, channels, samples, premultiplied, ..Image::default() }, threads))
}

/// Treatment of alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TgaAlpha {
    Kept,
    /// 0 in all pixels and meaningless.
    Unused,
}

/// Drops the alpha of pixels.
fn opaque(channels: Channels, mut samples: Vec<u8>) -> (Channels, Vec<u8>) {
    let size = channels.count();
    let colors = channels.colors();
    let pixels = samples.len() / size;
    // The first pixel is already in place.
    for pixel in 1..pixels {
        // Pixels shrink, so copying them in order never overwrites unread samples.
        samples.copy_within(pixel * size..pixel * size + colors, pixel * colors);
    }
    samples.truncate(pixels * colors);
    (if colors == 1 { Channels::Gray } else { Channels::Rgb }, samples)
}

struct TgaInput<'a> {
    bytes: Bytes<'a>,
    file: Arc<str>,
    header: TgaHeader,
    raster: Raster<u8>,
    /// The alpha of the pixels read so far.
    alpha: Mutex<AlphaSeen>,
    options: &'a ParseOptions,
}

impl TgaInput<'_> {
    /// Returns the bytes per uncompressed row.
    fn row_bytes(&self) -> usize {
        self.header.width * self.header.pixels.bytes()
    }

    /// Creates the error for a file that ends before its pixels, at `offset`.
    fn cut(&self, offset: u64) -> Error {
        let TgaHeader { width, height, .. } = self.header;
        fault(&self.file, offset, format!("unexpected end of file: the header declares {width} x {height} pixels"))
    }

    /// Creates the error for a pixel with an index outside the color map.
    fn unmapped(&self, offset: u64) -> Error {
        fault(&self.file, offset, "color map index out of range")
    }

    /// Reads all rows. Returns the number of threads used, and the alpha type in the extension area.
    fn read(&self, packed: Option<Mutex<Packed>>) -> Result<(usize, Option<u8>)> {
        let end = self.header.body + self.row_bytes() as u64 * self.raster.height() as u64;
        // An invalid index before the end is reported first, whether or not the size of the file is known.
        let is_plain = matches!(self.header.pixels, TgaPixels::Plain(_)) && packed.is_none();
        if is_plain
            && let Some(len) = self.bytes.len()
            && len < end
        {
            return Err(self.cut(len));
        }
        let chunk_bytes = self.options.run.chunk_bytes.unwrap_or(CHUNK_BYTES);
        let chunk_rows = (chunk_bytes / self.row_bytes()).max(1);
        let chunks = self.raster.height().div_ceil(chunk_rows);
        let crew = Crew::for_chunks(chunks as u64, chunk_rows * self.row_bytes(), &self.options.run);
        let job = TgaJob { input: self, chunk_rows, packed };
        run(&job, &mut (), crew, &self.options.run.cancel)?;
        let kind = match job.packed.map(|packed| packed.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            Some(Packed { window, packets }) => match packets.left() {
                0 => self.alpha_type(window.offset(), window.rest())?,
                left => {
                    let message =
                        format!("the last packet has {}", counted(left as u64, ["excess pixel", "excess pixels"]));
                    return Err(fault(&self.file, window.offset(), message));
                }
            },
            None => self.alpha_type(end, &[])?,
        };
        Ok((crew.threads, kind))
    }

    /// Unpacks pixels until `to` is full, except for its last [`SLACK`] bytes. Returns the file offset of the end of
    /// the bytes used.
    fn unpack(&self, packed: &mut Packed, to: &mut [u8]) -> Result<u64> {
        let Packed { window, packets } = packed;
        let size = self.header.pixels.bytes();
        let mut made = 0;
        while made + SLACK < to.len() {
            let from = window.rest();
            let before = packets.clone();
            let progress = packets.unpack(size, from, &mut to[made..]);
            if let Some(pixel) = self.header.pixels.unmapped(&to[made..made + progress.made]) {
                // Unpacks again up to that pixel, to count the bytes used including it.
                let used = before.clone().unpack(size, from, &mut to[made..][..(pixel + 1) * size + SLACK]).used;
                return Err(self.unmapped(window.offset() + used as u64 - size as u64));
            }
            window.consume(progress.used);
            made += progress.made;
            if progress == RunsProgress::default() && !window.refill(&self.bytes)? {
                return Err(self.cut(window.offset() + window.rest().len() as u64));
            }
        }
        Ok(window.offset())
    }

    fn report(&self, processed_bytes: u64) {
        if let Some(progress) = &self.options.run.progress {
            progress.report(processed_bytes, self.bytes.len());
        }
    }

    /// Decides how to treat alpha, given the alpha type in the extension area. Warns about unusual alpha.
    fn judge_alpha(&self, kind: Option<u8>, warnings: &mut Warnings) -> Result<TgaAlpha> {
        let seen = *self.alpha.lock().unwrap_or_else(PoisonError::into_inner);
        let AlphaSeen { any_bits, common_bits } = seen;
        let TgaHeader { attribute_bits, has_attribute_bit, ref pixels, .. } = self.header;
        let mut note = |code, message: &str| {
            warnings.note(self.options.faults, code, Diagnostic::at(&self.file, ATTRIBUTES_AT, message))
        };
        let is_declared = match kind {
            Some(USEFUL | PREMULTIPLIED) => true,
            Some(0..=RETAINED) => false,
            _ => attribute_bits > 0,
        };
        if !pixels.channels().has_alpha() {
            let (AlphaSeen { any_bits, common_bits }, owner) = match pixels {
                TgaPixels::Plain(_) => (seen, "pixels"),
                TgaPixels::Mapped(map) => (map.attributes, "color map"),
            };
            if has_attribute_bit && any_bits != common_bits {
                let why = "which varies: the header does not declare one attribute bit";
                note("left-out-alpha", &format!("dropped the 16th bit of the {owner}, {why}"))?;
            }
            return Ok(TgaAlpha::Kept);
        }
        // Programs that write 16 bits often declare the attribute bit and leave it 0.
        let is_useful = is_declared && !(has_attribute_bit && kind.is_none());
        if any_bits == 0 && !is_useful {
            note("unused-alpha", "alpha is 0 in every pixel and not declared as useful; read as opaque")?;
            return Ok(TgaAlpha::Unused);
        }
        if !is_declared && common_bits != u8::MAX && kind != Some(RETAINED) {
            note("undeclared-alpha", "the file declares no alpha, but the alpha channel varies; the channel was kept")?;
        }
        Ok(TgaAlpha::Kept)
    }

    /// Returns the alpha type in the extension area, if any. The pixels end at `end`, and the bytes in `read` follow
    /// them.
    fn alpha_type(&self, end: u64, read: &[u8]) -> Result<Option<u8>> {
        let has_alpha = self.header.pixels.channels().has_alpha();
        // A stream is read to its end, since damage of compressed data is detected only there.
        if !(has_alpha || self.bytes.in_order()) {
            return Ok(None);
        }
        let (tail, tail_start) = self.bytes.tail(end, read, TAIL_BYTES, &self.options.run.cancel)?;
        // The footer: offset of the extension area (4), of the developer area (4), signature.
        let Some((rest, SIGNATURE)) = tail.split_last_chunk() else { return Ok(None) };
        let Some((_, places)) = rest.split_last_chunk::<8>() else { return Ok(None) };
        let extension = u64::from(u32::from_le_bytes([places[0], places[1], places[2], places[3]]));
        let start =
            extension.checked_sub(tail_start).filter(|_| extension > 0).and_then(|start| usize::try_from(start).ok());
        let kind = start.and_then(|start| rest.get(start..)?.get(EXTENSION_BYTES - 1));
        Ok(kind.copied().filter(|kind| has_alpha && *kind <= PREMULTIPLIED))
    }
}

/// The state of unpacking packets sequentially.
struct Packed {
    window: SourceWindow,
    packets: Packets,
}

/// Decodes rows in chunks.
struct TgaJob<'a> {
    input: &'a TgaInput<'a>,
    chunk_rows: usize,
    /// State of the packets, if the image is run-length encoded.
    packed: Option<Mutex<Packed>>,
}

#[derive(Default)]
struct TgaSlot {
    /// Stored pixels, followed by padding.
    bytes: Vec<u8>,
    /// Size of the pixels read.
    found: usize,
    rows: Range<usize>,
    /// File offset of the end of the stored pixels.
    end: u64,
}

impl TgaJob<'_> {
    /// Returns the offset of an uncompressed row.
    fn place(&self, row: usize) -> u64 {
        self.input.header.body + row as u64 * self.input.row_bytes() as u64
    }
}

impl ChunkJob for TgaJob<'_> {
    type Slot = TgaSlot;
    type State = ();
    const PHASE: Phase = Phase::Decode;

    fn takes_in_order(&self) -> bool {
        self.packed.is_some() || self.input.bytes.in_order()
    }

    fn slot(&self) -> Result<TgaSlot> {
        Ok(TgaSlot::default())
    }

    fn take(&self, number: u64, slot: &mut TgaSlot) -> Result<bool> {
        let height = self.input.raster.height();
        let first = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.chunk_rows);
        if first >= height {
            return Ok(false);
        }
        slot.rows = first..height.min(first + self.chunk_rows);
        let size = slot.rows.len() * self.input.row_bytes();
        let missing = (size + SLACK).saturating_sub(slot.bytes.len());
        slot.bytes.try_reserve_exact(missing).map_err(|_| Error::memory("rows"))?;
        slot.bytes.resize(slot.bytes.len() + missing, 0);
        (slot.found, slot.end) = match &self.packed {
            Some(packed) => {
                let mut packed = packed.lock().unwrap_or_else(PoisonError::into_inner);
                (size, self.input.unpack(&mut packed, &mut slot.bytes[..size + SLACK])?)
            }
            None => {
                let count = self.input.bytes.read(self.place(first), &mut slot.bytes[..size])?;
                (count, self.place(first) + count as u64)
            }
        };
        self.input.raster.reserve(slot.rows.end).map(|()| true)
    }

    fn parse(&self, slot: &mut TgaSlot) -> Result<()> {
        let level = Level::best();
        let row_bytes = self.input.row_bytes();
        let pixels = &self.input.header.pixels;
        let mut seen = AlphaSeen::default();
        let has_alpha = pixels.channels().has_alpha() || self.input.header.has_attribute_bit;
        for (number, from) in slot.rows.clone().zip(slot.bytes[..slot.found].chunks(row_bytes)) {
            if has_alpha {
                pixels.note_alpha(from, &mut seen);
            }
            let mut result = Ok(());
            // SAFETY: each row is in one chunk, and a chunk is parsed by one thread.
            unsafe {
                self.input.raster.row(number, |to| result = pixels.expand(level, from, to))?;
            }
            result.map_err(|pixel| {
                let offset = self.place(number) + (pixel * pixels.bytes()) as u64;
                self.input.unmapped(offset)
            })?;
        }
        let mut alpha = self.input.alpha.lock().unwrap_or_else(PoisonError::into_inner);
        alpha.add(seen.any_bits, seen.common_bits);
        if slot.found < slot.rows.len() * row_bytes { Err(self.input.cut(slot.end)) } else { Ok(()) }
    }

    fn place(&self, (): &mut (), slot: &mut TgaSlot) -> Result<()> {
        self.input.report(slot.end);
        Ok(())
    }
}
