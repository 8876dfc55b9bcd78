//! Filters rows horizontally.
//!
//! Rows are extended beyond the edges. If all output pixels share their weights, a row is stored deinterleaved by the
//! step between output pixels: each part stores the pixels for one tap consecutively, for any number of channels. The
//! result is then a weighted sum of whole parts, which vectorizes. `kernel` computes the weights, `mix` the sums.

use super::kernel::MipmapKernel;
use super::mix::mix;
use polyhaul_model::error::{Error, Result};
use polyhaul_text::cpu::Level;
use std::ops::Range;

/// Filter for the rows of an image.
pub(super) struct MipmapAcross {
    kernel: MipmapKernel,
    /// Samples per pixel.
    size: usize,
    /// Pixels that contribute to the result, including pixels beyond the edges.
    reach: Range<isize>,
    /// Pixel `n` of the reach is pixel `n / step` of part `n % step`; each part has `length` pixels.
    step: usize,
    length: usize,
    /// Start of the samples of each tap, if all output pixels share their weights; otherwise empty.
    starts: Vec<usize>,
}

impl MipmapAcross {
    /// Creates a filter for rows with `count` output pixels of `size` samples each.
    pub(super) fn new(kernel: MipmapKernel, count: usize, size: usize) -> Result<MipmapAcross> {
        let reach = kernel.reach(0..count);
        let step = kernel.common_step().unwrap_or(1);
        let length = reach.len().div_ceil(step);
        let mut starts = Vec::new();
        if kernel.common_step().is_some() {
            let taps = kernel.taps(0).1.len();
            starts.try_reserve_exact(taps).map_err(|_| Error::memory("the weights of a filter"))?;
            starts.extend((0..taps).map(|tap| (tap % step * length + tap / step) * size));
        }
        Ok(MipmapAcross { kernel, size, reach, step, length, starts })
    }

    /// Returns the number of samples of the buffer for a row.
    pub(super) fn room(&self) -> usize {
        self.step * self.length * self.size
    }

    /// Stores pixels of an image row, starting at pixel `start`, in the row buffer.
    pub(super) fn put(&self, start: usize, pixels: &[f32], row: &mut [f32]) {
        match self.size {
            1 => self.put_with::<1, 1, _>(start, pixels, row, |pixel| pixel),
            2 => self.put_with::<2, 2, _>(start, pixels, row, |pixel| pixel),
            3 => self.put_with::<3, 3, _>(start, pixels, row, |pixel| pixel),
            _ => self.put_with::<4, 4, _>(start, pixels, row, |pixel| pixel),
        }
    }

    /// Same as [`MipmapAcross::put`], but converts pixels with `make`. `SIZE` is the number of samples per pixel.
    #[inline(always)]
    pub(super) fn put_with<const FROM: usize, const SIZE: usize, T: Copy>(
        &self,
        start: usize,
        pixels: &[T],
        row: &mut [f32],
        make: impl Fn([T; FROM]) -> [f32; SIZE],
    ) {
        let pixels = pixels.as_chunks::<FROM>().0;
        let row = row.as_chunks_mut::<SIZE>().0;
        // One part at a time, so that writes are consecutive.
        for first in 0..self.step.min(pixels.len()) {
            let to = &mut row[self.place((start + first) as isize)..];
            pixels[first..].iter().step_by(self.step).zip(to).for_each(|(pixel, to)| *to = make(*pixel));
        }
    }

    /// Returns the index of a pixel in the row buffer, in pixels.
    fn place(&self, at: isize) -> usize {
        let number = (at - self.reach.start) as usize;
        number % self.step * self.length + number / self.step
    }

    /// Fills in the pixels beyond the edges. All other pixels must already be stored.
    pub(super) fn close(&self, row: &mut [f32]) {
        let beyond = (self.reach.start..0).chain(self.kernel.from() as isize..self.reach.end);
        for at in beyond {
            let from = self.place(self.kernel.place(at) as isize) * self.size;
            row.copy_within(from..from + self.size, self.place(at) * self.size);
        }
    }

    /// Computes the filtered row.
    pub(super) fn mix(&self, level: Level, row: &[f32], to: &mut [f32]) {
        match self.size {
            _ if !self.starts.is_empty() => mix(level, row, &self.starts, self.kernel.taps(0).1, to),
            1 => self.mix_pixels::<1>(row, to),
            2 => self.mix_pixels::<2>(row, to),
            3 => self.mix_pixels::<3>(row, to),
            _ => self.mix_pixels::<4>(row, to),
        }
    }

    /// Filters with different weights per output pixel.
    fn mix_pixels<const SIZE: usize>(&self, row: &[f32], to: &mut [f32]) {
        let row = row.as_chunks::<SIZE>().0;
        let to = to.as_chunks_mut::<SIZE>().0;
        for (number, to) in to.iter_mut().enumerate() {
            let (start, weights) = self.kernel.taps(number);
            let pixels = row[self.place(start)..].iter().zip(weights);
            *to =
                pixels.fold([0.0; SIZE], |sum, (pixel, weight)| std::array::from_fn(|at| sum[at] + weight * pixel[at]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mipmaps::{MipmapEdges, MipmapFilter};

    #[test]
    fn pixels_are_the_sums_of_their_taps() {
        let sizes = [(64, 32), (65, 32), (10, 5), (9, 4), (3, 1), (2, 1), (1, 1), (200, 100)];
        let filters = [MipmapFilter::Kaiser, MipmapFilter::Box];
        for ((from, to), filter) in sizes.into_iter().flat_map(|sizes| filters.map(|filter| (sizes, filter))) {
            for (edges, size) in [(MipmapEdges::Wrap, 3), (MipmapEdges::Clamp, 4), (MipmapEdges::Wrap, 1)] {
                let kernel = || MipmapKernel::new(from, to, filter, edges).unwrap();
                let across = MipmapAcross::new(kernel(), to, size).unwrap();
                let row: Vec<f32> = (0..size * from).map(|at| (at as f32 * 0.7).sin()).collect();
                let mut memory = vec![f32::NAN; across.room()];
                let mut mixed = vec![0.0; size * to];
                for (piece, pixels) in row.chunks(7 * size).enumerate() {
                    across.put(7 * piece, pixels, &mut memory);
                }
                across.close(&mut memory);
                across.mix(Level::best(), &memory, &mut mixed);
                for (number, pixel) in mixed.chunks(size).enumerate() {
                    let kernel = kernel();
                    let sample = |channel: usize| {
                        let (start, weights) = across.kernel.taps(number);
                        let values = (start..).map(|at| row[size * across.kernel.place(at) + channel]);
                        values.zip(weights).fold(0.0, |sum, (value, weight)| sum + weight * value)
                    };
                    let expected: Vec<f32> = (0..size).map(sample).collect();
                    assert_eq!(pixel, expected, "{from} {to} {number} {:?}", kernel.taps(number));
                }
            }
        }
    }
}
