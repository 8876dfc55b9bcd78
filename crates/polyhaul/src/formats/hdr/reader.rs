//! The pixels of an HDR file to an image, row after row.

use super::header::{self, Header};
use super::row::{self, Fault};
use crate::error::{Error, Result, fault};
use crate::formats::raster::Raster;
use crate::model::{Channels, ColorSpace, Image, Samples};
use crate::options::ReadOptions;
use crate::pipeline::bytes::Bytes;
use crate::pipeline::window::Window;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// About how many bytes are read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// After how many bytes progress is told.
const REPORT_BYTES: u64 = 1 << 20;

/// Reads an HDR file.
pub(crate) fn read(bytes: Bytes<'_>, options: &ReadOptions) -> Result<Image> {
    let file: Arc<str> = bytes.name().into();
    let mut window = Window::new(0, CHUNK_BYTES)?;
    let Header { width, height, is_upward, is_mirrored } = header::read(&mut window, &bytes, &file, &options.limits)?;
    let channels = Channels::Rgb;
    let backed = bytes.len().filter(|_| bytes.is_backed()).unwrap_or(0);
    let raster: Raster<f32> = Raster::new(width * channels.count(), height, is_upward, backed)?;
    let mut reported = 0;
    let mut rows = Rows { bytes, file, window, width, planes: Vec::new(), repeat: Repeat::default() };
    for number in 0..height {
        if options.run.cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        raster.reserve(number + 1)?;
        let mut result = Ok(());
        // SAFETY: this is the one thread that there is.
        unsafe { raster.row(number, |to| result = rows.next(to))? };
        result?;
        if let Some(progress) = &options.run.progress
            && rows.window.offset() - reported >= REPORT_BYTES
        {
            reported = rows.window.offset();
            (progress.0)(reported, rows.bytes.len());
        }
    }
    // Only at the end of a stream damage of compressed data shows.
    while rows.bytes.in_order() && rows.window.refill(&rows.bytes)? {
        rows.window.consume(rows.window.rest().len());
    }
    rows.bytes.check_unchanged()?;
    // SAFETY: all rows were filled.
    let samples = Samples::F32(unsafe { raster.finish(is_mirrored.then_some(channels.count())) }.into());
    Ok(Image { width, height, channels, samples, color_space: ColorSpace::Linear, premultiplied: false })
}

/// The rows of a file.
struct Rows<'a> {
    bytes: Bytes<'a>,
    file: Arc<str>,
    window: Window,
    width: usize,
    /// A row by channels.
    planes: Vec<u8>,
    repeat: Repeat,
}

/// What a run by pixels repeats.
#[derive(Default)]
struct Repeat {
    pixel: Option<row::Stored>,
    /// Bits that the next count is moved by.
    shift: u32,
}

impl Rows<'_> {
    fn next(&mut self, to: &mut [MaybeUninit<f32>]) -> Result<()> {
        self.window.ensure(4, &self.bytes)?;
        match row::is_by_channel(self.width, self.window.rest()) {
            true => self.by_channel(to),
            false => self.by_pixel(to),
        }
    }

    fn cut(&self) -> Error {
        fault(&self.file, self.window.offset() + self.window.rest().len() as u64, "the file ends before its last row")
    }

    fn by_channel(&mut self, to: &mut [MaybeUninit<f32>]) -> Result<()> {
        if self.planes.is_empty() {
            self.planes.try_reserve_exact(4 * self.width).map_err(|_| Error::memory("a row"))?;
            self.planes.resize(4 * self.width, 0);
        }
        let bytes = self.window.ensure(row::most_bytes(self.width), &self.bytes)?;
        match row::planes(bytes, self.width, &mut self.planes) {
            Ok(used) => {
                self.window.consume(used);
                row::of_planes(&self.planes, to);
                Ok(())
            }
            Err(Fault::Cut) => Err(self.cut()),
            Err(Fault::At(place, message)) => Err(fault(&self.file, self.window.offset() + place as u64, message)),
        }
    }

    /// Pixels as they are; one whose mantissas are all 1 repeats the one before it as often as its exponent says.
    fn by_pixel(&mut self, to: &mut [MaybeUninit<f32>]) -> Result<()> {
        self.repeat = Repeat::default();
        let mut rest = to.as_chunks_mut::<3>().0;
        while !rest.is_empty() {
            let Some(&stored) = self.window.ensure(4, &self.bytes)?.first_chunk() else { return Err(self.cut()) };
            let at = self.window.offset();
            self.window.consume(4);
            let (pixel, count) = match (stored, self.repeat.pixel) {
                ([1, 1, 1, count], Some(pixel)) => {
                    let count = usize::from(count).checked_shl(self.repeat.shift).unwrap_or(usize::MAX);
                    self.repeat.shift = self.repeat.shift.saturating_add(8).min(64);
                    (pixel, count)
                }
                ([1, 1, 1, _], None) => {
                    return Err(fault(&self.file, at, "a run repeats the pixel before the first one"));
                }
                (stored, _) => {
                    self.repeat = Repeat { pixel: Some(stored), shift: 0 };
                    (stored, 1)
                }
            };
            let Some((now, later)) = rest.split_at_mut_checked(count) else {
                return Err(fault(&self.file, at, "a run goes on behind the end of the row"));
            };
            now.fill(row::pixel(pixel).map(MaybeUninit::new));
            rest = later;
        }
        Ok(())
    }
}
