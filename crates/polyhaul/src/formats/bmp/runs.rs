//! Runs of equal numbers, and numbers as they are (RLE8, RLE4), to rows.

use super::header::{Header, Palette};
use crate::error::{Error, Result, fault};
use crate::formats::pieces::Pieces;
use crate::formats::raster::Raster;
use crate::pipeline::window::Window;
use std::mem::MaybeUninit;

/// About how many bytes are read at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// How many bytes of pixels may be passed over, and how many times the bytes that were read on top: more than that no
/// picture passes over, only a header that claims much. The numbers of a row come on top, and an array that moves.
const PASSED_BYTES: u64 = 32 << 20;
const PASSED_RATIO: u64 = 4;

/// A file in runs.
pub(super) struct Runs<'h, 'a> {
    pieces: Pieces<'a>,
    window: Window,
    header: &'h Header,
    palette: &'h Palette,
    /// The numbers of a row, as many of them as were made.
    row: Vec<u8>,
    /// Rows that are done.
    done: usize,
    /// Pixels that were passed over.
    passed: u64,
}

impl<'h, 'a> Runs<'h, 'a> {
    /// Runs that begin where `pieces` stand.
    pub(super) fn new(pieces: Pieces<'a>, header: &'h Header, palette: &'h Palette) -> Result<Runs<'h, 'a>> {
        let window = Window::new(pieces.at(), CHUNK_BYTES)?;
        Ok(Runs { pieces, window, header, palette, row: Vec::new(), done: 0, passed: 0 })
    }

    /// Fills all rows; hands the file back.
    pub(super) fn read(mut self, raster: &Raster<u8>) -> Result<Pieces<'a>> {
        while self.done < self.header.height {
            if self.pieces.is_cancelled() {
                return Err(Error::cancelled());
            }
            // The last row needs no end.
            if self.done + 1 == self.header.height && self.row.len() == self.header.width {
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
                [count, numbers] => self.run(at, usize::from(count), numbers)?,
            }
        }
        self.pieces.moved_to(self.window.offset() + self.window.rest().len() as u64);
        Ok(self.pieces)
    }

    fn cut(&self) -> Error {
        let Header { width, height, .. } = self.header;
        let offset = self.window.offset() + self.window.rest().len() as u64;
        fault(&self.pieces.file, offset, format!("the file ends too early: its header says {width} x {height} pixels"))
    }

    fn pair(&mut self) -> Result<[u8; 2]> {
        let Some(&pair) = self.window.ensure(2, self.pieces.bytes())?.first_chunk() else { return Err(self.cut()) };
        self.window.consume(2);
        Ok(pair)
    }

    /// Room for `count` more numbers in the row.
    fn check_room(&mut self, at: u64, count: usize) -> Result<()> {
        if count > self.header.width - self.row.len() {
            return Err(fault(&self.pieces.file, at, "a run goes on behind the end of the row"));
        }
        self.row.try_reserve(count).map_err(|_| Error::memory("a row"))
    }

    fn run(&mut self, at: u64, count: usize, numbers: u8) -> Result<()> {
        self.check_room(at, count)?;
        match self.palette.bits {
            8 => self.row.resize(self.row.len() + count, numbers),
            _ => self.row.extend([numbers >> 4, numbers & 15].into_iter().cycle().take(count)),
        }
        Ok(())
    }

    /// Numbers as they are, padded to two bytes.
    fn plain(&mut self, at: u64, count: usize) -> Result<()> {
        self.check_room(at, count)?;
        let used = (count * self.palette.bits).div_ceil(8);
        let padded = used.next_multiple_of(2);
        // The padding may be missing at the end.
        let Some(bytes) = self.window.ensure(padded, self.pieces.bytes())?.get(..used) else { return Err(self.cut()) };
        match self.palette.bits {
            8 => self.row.extend_from_slice(bytes),
            _ => self.row.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(count)),
        }
        self.window.consume(padded);
        Ok(())
    }

    /// Goes on to the right and to later rows.
    fn move_on(&mut self, at: u64, [right, later]: [usize; 2], raster: &Raster<u8>) -> Result<()> {
        let column = self.row.len() + right;
        if column > self.header.width || later >= self.header.height - self.done {
            return Err(fault(&self.pieces.file, at, "this goes on outside of the image"));
        }
        for _ in 0..later {
            self.end_row(raster)?;
        }
        self.pass(column - self.row.len())
    }

    /// Passes over pixels of the row.
    fn pass(&mut self, count: usize) -> Result<()> {
        self.passed += 3 * count as u64;
        if self.passed > PASSED_BYTES.saturating_add(self.window.offset().saturating_mul(PASSED_RATIO)) {
            let message = "the runs pass over more pixels than a file of this size can be believed to have";
            return Err(fault(&self.pieces.file, self.window.offset(), message));
        }
        self.row.try_reserve(count).map_err(|_| Error::memory("a row"))?;
        self.row.resize(self.row.len() + count, 0);
        Ok(())
    }

    /// What is left of the row has the first colour.
    fn end_row(&mut self, raster: &Raster<u8>) -> Result<()> {
        self.pass(self.header.width - self.row.len())?;
        raster.reserve(self.done + 1)?;
        let mut is_mapped = true;
        let (colors, row) = (&self.palette.colors, &self.row);
        // SAFETY: this is the one thread that there is.
        unsafe {
            raster.row(self.done, |to| {
                for (number, to) in row.iter().zip(to.as_chunks_mut::<3>().0) {
                    let color = colors.get(usize::from(*number));
                    is_mapped &= color.is_some();
                    *to = color.copied().unwrap_or_default().map(MaybeUninit::new);
                }
            })?;
        }
        if !is_mapped {
            return Err(self.palette.unmapped(&self.pieces.file, self.window.offset()));
        }
        self.row.clear();
        self.done += 1;
        Ok(())
    }
}
