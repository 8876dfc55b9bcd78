//! Decodes run-length encoded rows: RLE8 and RLE4 with indices, RLE24 with colors.
//!
//! | bytes | (Microsoft, "Bitmap Compression") |
//! |---|---|
//! | 0, 0 | end of row |
//! | 0, 1 | end of image |
//! | 0, 2, right, up | skipped pixels, which keep the first color |
//! | 0, n | n literal pixels, padded to 2 bytes |
//! | n, color | n pixels of this color; in RLE4, of two alternating colors |

use super::header::{BmpHeader, BmpPalette, BmpPixels};
use crate::pieces::Pieces;
use crate::raster::Raster;
use polyhaul_model::error::{Diagnostic, Error, Result, fault, planted};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::window::SourceWindow;
use std::mem::MaybeUninit;

/// Approximate bytes per read.
const CHUNK_BYTES: usize = 256 << 10;
/// Limit on skipped pixels in bytes: a constant, plus [`PASSED_RATIO`] times the bytes read. Real images skip far less;
/// only a header that claims a large image exceeds the limit. The indices of a row, and an array that is copied as it
/// grows, use additional memory.
const PASSED_BYTES: u64 = 32 << 20;
const PASSED_RATIO: u64 = 4;

/// State of decoding a run-length encoded image.
pub(super) struct Runs<'h, 'a> {
    pieces: Pieces<'a>,
    window: SourceWindow,
    header: &'h BmpHeader,
    /// The palette, if pixels are indices; otherwise pixels are blue, green and red.
    palette: Option<&'h BmpPalette>,
    /// The pixels of the current row so far, as stored: one or three bytes each.
    row: Vec<u8>,
    /// Number of finished rows.
    done: usize,
    /// Size of the skipped pixels in bytes.
    passed: u64,
    /// Offset of the first run that exceeds its row, and the number of such runs.
    cut_runs: Option<(u64, u64)>,
}

impl<'h, 'a> Runs<'h, 'a> {
    /// Creates a decoder that starts at the current offset of `pieces`.
    pub(super) fn new(pieces: Pieces<'a>, header: &'h BmpHeader) -> Result<Runs<'h, 'a>> {
        let window = SourceWindow::new(pieces.at(), CHUNK_BYTES)?;
        let palette = match &header.pixels {
            BmpPixels::Mapped(palette) => Some(palette),
            BmpPixels::Stored(_) | BmpPixels::Masked(_) => None,
        };
        Ok(Runs { pieces, window, header, palette, row: Vec::new(), done: 0, passed: 0, cut_runs: None })
    }

    /// Returns the bytes per pixel of a row.
    fn size(&self) -> usize {
        if self.palette.is_some() { 1 } else { 3 }
    }

    /// Returns the number of pixels of the row so far.
    fn column(&self) -> usize {
        self.row.len() / self.size()
    }

    /// Decodes all rows. Returns the input.
    pub fn read(mut self, raster: &Raster<u8>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Pieces<'a>> {
        self.read_rows(raster)?;
        if let Some((at, count)) = self.cut_runs {
            let words = [
                "run that extends past the end of its row was truncated",
                "runs that extend past the end of their row were truncated",
            ];
            let message = counted(count, words);
            warnings.note_many(options.faults, "cut-run", count, Diagnostic::at(&self.pieces.file, at, message))?;
        }
        // A profile may follow, and the window may have read it.
        self.pieces.returned_to(self.window.offset(), self.window.rest())?;
        Ok(self.pieces)
    }

    fn read_rows(&mut self, raster: &Raster<u8>) -> Result<()> {
        while self.done < self.header.height {
            self.pieces.check_cancel()?;
            // The last row needs no end marker.
            if self.done + 1 == self.header.height && self.column() == self.header.width {
                self.end_row(raster)?;
                break;
            }
            let at = self.window.offset();
            match self.pair()? {
                [0, 0] => self.end_row(raster)?,
                [0, 1] => {
                    while self.done < self.header.height {
                        self.end_row(raster)?;
                    }
                }
                [0, 2] => {
                    let [right, up] = self.pair()?;
                    self.move_on(at, [right, up].map(usize::from), raster)?;
                }
                [0, count] => self.plain(at, usize::from(count))?,
                [count, first] => self.run(at, usize::from(count), first)?,
            }
        }
        Ok(())
    }

    fn cut(&self) -> Error {
        let BmpHeader { width, height, .. } = self.header;
        let offset = self.window.offset() + self.window.rest().len() as u64;
        fault(
            &self.pieces.file,
            offset,
            format!("unexpected end of file: the header declares {width} x {height} pixels"),
        )
    }

    fn pair(&mut self) -> Result<[u8; 2]> {
        let Some(&pair) = self.window.ensure(2, self.pieces.bytes())?.first_chunk() else { return Err(self.cut()) };
        self.window.consume(2);
        Ok(pair)
    }

    /// Reserves `count` more pixels in the row, or as many as fit, and returns their number. Records a run at offset
    /// `at` that does not fit.
    fn make_room(&mut self, at: u64, count: usize) -> Result<usize> {
        let left = self.header.width - self.column();
        if count > left {
            self.cut_runs = Some(self.cut_runs.map_or((at, 1), |(first, count)| (first, count + 1)));
        }
        let count = count.min(left);
        self.row.try_reserve(count * self.size()).map_err(|_| Error::memory("a row"))?;
        Ok(count)
    }

    /// Repeats a pixel, or two alternating 4-bit pixels. Without a palette, `first` is the blue of the pixel, and green
    /// and red follow.
    fn run(&mut self, at: u64, count: usize, first: u8) -> Result<()> {
        let count = self.make_room(at, count)?;
        match self.palette.map(|palette| palette.bits) {
            Some(8) => self.row.resize(self.row.len() + count, first),
            Some(_) => self.row.extend([first >> 4, first & 15].into_iter().cycle().take(count)),
            None => {
                let [green, red] = self.pair()?;
                (0..count).for_each(|_| self.row.extend_from_slice(&[first, green, red]));
            }
        }
        Ok(())
    }

    /// Copies literal pixels, padded to two bytes.
    fn plain(&mut self, at: u64, stored: usize) -> Result<()> {
        let count = self.make_room(at, stored)?;
        let bits = self.palette.map_or(24, |palette| palette.bits);
        // Computed from the stored pixels, because pixels that do not fit in the row must be skipped, too.
        let used = (stored * bits).div_ceil(8);
        let padded = used.next_multiple_of(2);
        // The padding may be missing at the end of the file.
        let Some(bytes) = self.window.ensure(padded, self.pieces.bytes())?.get(..used) else { return Err(self.cut()) };
        match bits {
            4 => self.row.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(count)),
            _ => self.row.extend_from_slice(&bytes[..count * bits / 8]),
        }
        self.window.consume(padded);
        Ok(())
    }

    /// Skips pixels to the right and to later rows.
    fn move_on(&mut self, at: u64, [right, later]: [usize; 2], raster: &Raster<u8>) -> Result<()> {
        let column = self.column() + right;
        if column > self.header.width || later >= self.header.height - self.done {
            return Err(fault(&self.pieces.file, at, "a delta moves outside the image"));
        }
        for _ in 0..later {
            self.end_row(raster)?;
        }
        self.pass(column - self.column())
    }

    /// Skips pixels of the row.
    fn pass(&mut self, count: usize) -> Result<()> {
        // Counted in output bytes: three per pixel.
        self.passed += 3 * count as u64;
        if self.passed > PASSED_BYTES.saturating_add(self.window.offset().saturating_mul(PASSED_RATIO)) {
            let message = "the runs skip more pixels than plausible for a file of this size";
            return Err(fault(&self.pieces.file, self.window.offset(), message));
        }
        let bytes = count * self.size();
        self.row.try_reserve(bytes).map_err(|_| Error::memory("a row"))?;
        self.row.resize(self.row.len() + bytes, 0);
        Ok(())
    }

    /// Fills the rest of the row with the first color, or black, and stores the row.
    fn end_row(&mut self, raster: &Raster<u8>) -> Result<()> {
        self.pass(self.header.width - self.column())?;
        // One row at a time, because the header may declare more rows than the runs can fill.
        raster.reserve(self.done + 1)?;
        let palette = self.palette;
        let row = &self.row;
        let mut is_mapped = true;
        // SAFETY: rows with runs are decoded by this thread only.
        unsafe {
            raster.row(self.done, |to| {
                let to = to.as_chunks_mut::<3>().0.iter_mut();
                let Some(palette) = palette else {
                    let colors = row.as_chunks::<3>().0.iter();
                    to.zip(colors)
                        .for_each(|(to, [blue, green, red])| *to = [*red, *green, *blue].map(MaybeUninit::new));
                    return;
                };
                for (number, to) in row.iter().zip(to) {
                    let color = palette.colors.get(usize::from(*number));
                    is_mapped &= color.is_some();
                    *to = color.copied().unwrap_or_default().map(MaybeUninit::new);
                }
            })?;
        }
        if !is_mapped
            && !planted("bmp-palette")
            && let Some(palette) = palette
        {
            return Err(palette.unmapped(&self.pieces.file, self.window.offset()));
        }
        self.row.clear();
        self.done += 1;
        Ok(())
    }
}
