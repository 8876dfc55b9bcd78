//! Converts inflated rows of a PNG file into an image, in file order: reverses filters and converts pixels.

use super::filter;
use super::idat::unexpected;
use super::layout::{PngLayout, PngSample};
use super::reader::copy;
use crate::raster::Raster;
use polyhaul_model::error::Result;

/// An image, and the state of receiving its rows.
pub(super) struct PngRows<T> {
    raster: Raster<T>,
    layout: PngLayout,
    width: usize,
    /// Number of finished rows.
    count: usize,
    /// The received part of an incomplete row.
    begun: Vec<u8>,
    /// The previous row, unfiltered.
    above: Vec<u8>,
    /// Buffer for the next unfiltered row.
    row: Vec<u8>,
    pixels: Vec<T>,
}

impl<T: PngSample> PngRows<T> {
    /// Creates an image for a file of `backed` bytes, or 0 if unknown.
    pub(super) fn new(layout: PngLayout, [width, height]: [usize; 2], backed: u64) -> Result<PngRows<T>> {
        let samples = width * layout.channels.count();
        let raster = Raster::new(samples, height, false, backed)?;
        let row_bytes = layout.row_bytes(width);
        let mut rows = PngRows {
            raster,
            layout,
            width,
            count: 0,
            begun: Vec::new(),
            above: Vec::new(),
            row: Vec::new(),
            pixels: Vec::new(),
        };
        rows.begun.try_reserve_exact(1 + row_bytes)?;
        for row in [&mut rows.above, &mut rows.row] {
            row.try_reserve_exact(row_bytes)?;
            row.resize(row_bytes, 0);
        }
        rows.pixels.try_reserve_exact(samples)?;
        Ok(rows)
    }

    /// Adds inflated bytes, which may end anywhere in a row.
    pub(super) fn add(&mut self, mut bytes: &[u8]) -> Result<()> {
        let row_bytes = 1 + self.row.len();
        if !self.begun.is_empty() {
            let (rest, after) = bytes.split_at(bytes.len().min(row_bytes - self.begun.len()));
            self.begun.extend_from_slice(rest);
            bytes = after;
            if self.begun.len() < row_bytes {
                return Ok(());
            }
            let mut begun = std::mem::take(&mut self.begun);
            self.add_row(&begun)?;
            begun.clear();
            self.begun = begun;
        }
        let rows = bytes.chunks_exact(row_bytes);
        self.begun.extend_from_slice(rows.remainder());
        rows.into_iter().try_for_each(|row| self.add_row(row))
    }

    fn add_row(&mut self, row: &[u8]) -> Result<()> {
        let (filter, row) = row.split_first().ok_or_else(unexpected)?;
        // `reader` ignores data past the last row, so this file is left to it.
        if self.count == self.raster.height() {
            return Err(unexpected());
        }
        filter::undo(*filter, self.layout.pixel_bytes(), &self.above, row, &mut self.row).ok_or_else(unexpected)?;
        let pixels = match T::from_bytes(&self.row).filter(|_| self.layout.is_plain()) {
            Some(pixels) => pixels,
            None => {
                self.pixels.clear();
                T::expand(&self.layout, &self.row, self.width, &mut self.pixels).map_err(|_| unexpected())?;
                &self.pixels
            }
        };
        self.raster.reserve(self.count + 1)?;
        // SAFETY: the raster is borrowed mutably, so no other thread uses it.
        unsafe { self.raster.row(self.count, |to| copy(pixels, to))? };
        std::mem::swap(&mut self.above, &mut self.row);
        self.count += 1;
        Ok(())
    }

    /// Returns the samples, if all rows are complete and no further bytes were added.
    pub(super) fn finish(self) -> Result<Vec<T>> {
        if self.count < self.raster.height() || !self.begun.is_empty() {
            return Err(unexpected());
        }
        // SAFETY: `add_row` filled every row.
        Ok(unsafe { self.raster.finish(None) })
    }
}
