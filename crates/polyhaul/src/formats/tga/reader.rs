//! The pixels of a TGA file to an image.
//!
//! Rows are read, some at a time: plain ones by their place, side by side; packets one after another, which makes plain
//! rows of them. Their pixels are turned side by side. Runs are unpacked in `packets`, the places of rows are in
//! `formats/raster`.

use super::header::{self, Header, Pixels};
use super::packets::Packets;
use super::{EXTENSION_BYTES, PREMULTIPLIED, SIGNATURE, TAIL_BYTES};
use crate::error::{Error, Result, fault};
use crate::formats::raster::Raster;
use crate::formats::runs::{Done, SLACK};
use crate::model::{Image, Samples};
use crate::options::ReadOptions;
use crate::pipeline::bytes::Bytes;
use crate::pipeline::read::Extent;
use crate::pipeline::run::Phase;
use crate::pipeline::run::{Crew, Job, run};
use crate::pipeline::window::Window;
use polyhaul_text::cpu::Level;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// About how many bytes are read at a time: so much stays in the nearest caches.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads a TGA file; says too how many threads worked.
pub(crate) fn read(bytes: Bytes<'_>, options: &ReadOptions) -> Result<(Image, usize)> {
    let file: Arc<str> = bytes.name().into();
    let header = header::read(&bytes, &file, &options.limits)?;
    let channels = header.pixels.channels();
    let backed = bytes.len().filter(|_| bytes.is_backed());
    let raster = Raster::new(header.width * channels.count(), header.height, !header.from_top, backed.unwrap_or(0))?;
    let packed = match header.has_packets {
        true => {
            Some(Mutex::new(Packed { window: Window::new(header.body, CHUNK_BYTES)?, packets: Packets::default() }))
        }
        false => None,
    };
    let input = Input { bytes, file, header, raster, options };
    let (threads, premultiplied) = input.read(packed)?;
    input.bytes.check_end(Extent::Whole, &options.run.cancel)?;
    let Input { header: Header { width, height, from_right, .. }, raster, .. } = input;
    // SAFETY: all rows were read and filled.
    let samples = Samples::U8(unsafe { raster.finish(from_right.then_some(channels.count())) }.into());
    Ok((Image { width, height, channels, samples, premultiplied, ..Image::default() }, threads))
}

struct Input<'a> {
    bytes: Bytes<'a>,
    file: Arc<str>,
    header: Header,
    raster: Raster<u8>,
    options: &'a ReadOptions,
}

impl Input<'_> {
    /// Bytes of a row in the file, without packets.
    fn row_bytes(&self) -> usize {
        self.header.width * self.header.pixels.bytes()
    }

    /// The file ends before its pixels do, at `offset`.
    fn cut(&self, offset: u64) -> Error {
        let Header { width, height, .. } = self.header;
        fault(&self.file, offset, format!("the file ends too early: its header says {width} x {height} pixels"))
    }

    /// A pixel whose number the colour map does not have.
    fn unmapped(&self, offset: u64) -> Error {
        fault(&self.file, offset, "this pixel has a colour that the colour map does not have")
    }

    /// Reads all rows. Returns how many threads worked, and whether colours are multiplied with alpha.
    fn read(&self, packed: Option<Mutex<Packed>>) -> Result<(usize, bool)> {
        let end = self.header.body + self.row_bytes() as u64 * self.raster.height() as u64;
        // Before it ends, a pixel may have a colour that there is not: that is found first however the file is read.
        if let (Some(len), Pixels::Plain(_), None) = (self.bytes.len(), &self.header.pixels, &packed)
            && len < end
        {
            return Err(self.cut(len));
        }
        let chunk_bytes = self.options.run.chunk_bytes.unwrap_or(CHUNK_BYTES);
        let chunk_rows = (chunk_bytes / self.row_bytes()).max(1);
        let chunks = self.raster.height().div_ceil(chunk_rows);
        let threads = self.options.run.worker_threads().min(chunks);
        let crew = Crew::new(threads, self.options.run.memory_limit, chunk_rows * self.row_bytes());
        let job = RowsJob { input: self, chunk_rows, packed };
        run(&job, &mut (), crew, &self.options.run.cancel)?;
        let premultiplied = match job.packed.map(|packed| packed.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            Some(Packed { window, packets }) => match packets.left() {
                0 => self.is_premultiplied(window.offset(), window.rest())?,
                left => {
                    let message = format!("the last packet has {left} pixels too many");
                    return Err(fault(&self.file, window.offset(), message));
                }
            },
            None => self.is_premultiplied(end, &[])?,
        };
        Ok((crew.threads, premultiplied))
    }

    /// Unpacks the next pixels to all of `to` but its last bytes. Returns where in the file that ended.
    fn unpack(&self, packed: &mut Packed, to: &mut [u8]) -> Result<u64> {
        let Packed { window, packets } = packed;
        let (size, mut made) = (self.header.pixels.bytes(), 0);
        while made + SLACK < to.len() {
            let (from, before) = (window.rest(), packets.clone());
            let done = packets.unpack(size, from, &mut to[made..]);
            if let Some(pixel) = self.header.pixels.unmapped(&to[made..made + done.made]) {
                // Once more, up to that pixel: then it is the last one that was used.
                let used = before.clone().unpack(size, from, &mut to[made..][..(pixel + 1) * size + SLACK]).used;
                return Err(self.unmapped(window.offset() + used as u64 - size as u64));
            }
            window.consume(done.used);
            made += done.made;
            if done == Done::default() && !window.refill(&self.bytes)? {
                return Err(self.cut(window.offset() + window.rest().len() as u64));
            }
        }
        Ok(window.offset())
    }

    fn report(&self, done: u64) {
        if let Some(progress) = &self.options.run.progress {
            progress.tell(done, self.bytes.len());
        }
    }

    /// Whether the extension behind the pixels says that colours are multiplied with alpha. The pixels end at `end`,
    /// and `read` was read behind them.
    fn is_premultiplied(&self, end: u64, read: &[u8]) -> Result<bool> {
        let has_alpha = self.header.pixels.channels().has_alpha();
        // A stream is read to its end: only there damage of compressed data shows.
        if !(has_alpha || self.bytes.in_order()) {
            return Ok(false);
        }
        let (tail, begin) = self.bytes.tail(end, read, TAIL_BYTES, &self.options.run.cancel)?;
        let Some((rest, SIGNATURE)) = tail.split_last_chunk() else { return Ok(false) };
        let Some((_, places)) = rest.split_last_chunk::<8>() else { return Ok(false) };
        let extension = u64::from(u32::from_le_bytes([places[0], places[1], places[2], places[3]]));
        let start =
            extension.checked_sub(begin).filter(|_| extension > 0).and_then(|start| usize::try_from(start).ok());
        let kind = start.and_then(|start| rest.get(start..)?.get(EXTENSION_BYTES - 1));
        Ok(has_alpha && kind == Some(&PREMULTIPLIED))
    }
}

/// Packets that are unpacked one after another.
struct Packed {
    window: Window,
    packets: Packets,
}

/// Rows, some at a time.
struct RowsJob<'a> {
    input: &'a Input<'a>,
    chunk_rows: usize,
    /// Where there are packets.
    packed: Option<Mutex<Packed>>,
}

#[derive(Default)]
struct Slot {
    /// Pixels as they are stored, and some bytes that mean nothing.
    bytes: Vec<u8>,
    /// How many bytes of pixels were found.
    found: usize,
    rows: Range<usize>,
    /// Where they end in the file.
    end: u64,
}

impl RowsJob<'_> {
    /// Where a plain row begins.
    fn place(&self, row: usize) -> u64 {
        self.input.header.body + row as u64 * self.input.row_bytes() as u64
    }
}

impl Job for RowsJob<'_> {
    type Slot = Slot;
    type State = ();

    fn stages(&self) -> usize {
        1
    }

    fn ends_in_order(&self) -> bool {
        true
    }

    fn takes_in_order(&self) -> bool {
        self.packed.is_some() || self.input.bytes.in_order()
    }

    fn slot(&self) -> Result<Slot> {
        Ok(Slot::default())
    }

    fn take(&self, number: u64, slot: &mut Slot) -> Result<bool> {
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
                let found = self.input.bytes.read(self.place(first), &mut slot.bytes[..size])?;
                (found, self.place(first) + found as u64)
            }
        };
        self.input.raster.reserve(slot.rows.end).map(|()| true)
    }

    fn phase(&self, _: usize) -> Phase {
        Phase::Decode
    }

    fn work(&self, _: usize, slot: &mut Slot) -> Result<()> {
        let (level, row_bytes) = (Level::best(), self.input.row_bytes());
        for (number, from) in slot.rows.clone().zip(slot.bytes[..slot.found].chunks(row_bytes)) {
            let mut result = Ok(());
            // SAFETY: a row belongs to one chunk, and a chunk to one thread.
            unsafe {
                self.input.raster.row(number, |to| result = self.input.header.pixels.expand(level, from, to))?;
            }
            result.map_err(|pixel| {
                let offset = self.place(number) + (pixel * self.input.header.pixels.bytes()) as u64;
                self.input.unmapped(offset)
            })?;
        }
        if slot.found < slot.rows.len() * row_bytes { Err(self.input.cut(slot.end)) } else { Ok(()) }
    }

    fn commit(&self, _: usize, (): &mut (), slot: &mut Slot) -> Result<()> {
        self.input.report(slot.end);
        Ok(())
    }
}
