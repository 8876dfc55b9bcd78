//! A plane with the samples of one channel, in the type of the file, filled while reading.

use super::header::{ExrChannel, ExrWindow};
use super::unpack::{multiples, samples_of};
use crate::raster::Raster;
use crate::samples::half::of_half;
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Array, ChannelSamples, ChannelType};
use std::mem::MaybeUninit;
use std::ops::Range;

/// A partially filled plane.
pub(super) enum Plane {
    F16(Raster<u16>),
    U32(Raster<u32>),
    F32(Raster<f32>),
}

impl Plane {
    /// Returns the columns and rows of samples of a channel in a window.
    pub(super) fn area(channel: &ExrChannel, data: ExrWindow) -> [usize; 2] {
        [0, 1].map(|axis| multiples(channel.sampling[axis], data.min[axis], data.max[axis]))
    }

    pub(super) fn new(kind: ChannelType, [width, height]: [usize; 2], is_placed: bool) -> Result<Plane> {
        Ok(match kind {
            ChannelType::U32 => Plane::U32(Raster::placed(width, height, is_placed)?),
            ChannelType::F32 => Plane::F32(Raster::placed(width, height, is_placed)?),
            _ => Plane::F16(Raster::placed(width, height, is_placed)?),
        })
    }

    /// Allocates the first `count` rows.
    pub(super) fn reserve(&self, count: usize) -> Result<()> {
        match self {
            Plane::F16(raster) => raster.reserve(count),
            Plane::U32(raster) => raster.reserve(count),
            Plane::F32(raster) => raster.reserve(count),
        }
    }

    /// Stores the samples of a line in `part` of a row.
    ///
    /// # Safety
    /// No other thread uses `part` of the row while this runs.
    pub(super) unsafe fn put(&self, row: usize, part: Range<usize>, line: &[u8], is_little: bool) -> Result<()> {
        // Blocks stored uncompressed are little-endian; decompressed blocks are in native order.
        let half = |bytes| if is_little { u16::from_le_bytes(bytes) } else { u16::from_ne_bytes(bytes) };
        let word = |bytes| if is_little { u32::from_le_bytes(bytes) } else { u32::from_ne_bytes(bytes) };
        // SAFETY: the caller upholds the condition of `Raster::part`, which is this function's own.
        unsafe {
            match self {
                Plane::F16(raster) => raster.part(row, part, |to| copy(to, samples_of(line).map(half))),
                Plane::U32(raster) => raster.part(row, part, |to| copy(to, samples_of(line).map(word))),
                Plane::F32(raster) => {
                    raster.part(row, part, |to| copy(to, samples_of(line).map(word).map(f32::from_bits)))
                }
            }
        }
    }

    /// Returns the samples.
    ///
    /// # Safety
    /// All rows must have been stored completely.
    pub(super) unsafe fn finish(self) -> ChannelSamples {
        // SAFETY: the caller upholds the condition of `Raster::finish`, which is this function's own.
        unsafe {
            match self {
                Plane::F16(raster) => ChannelSamples::F16(raster.finish(None).into()),
                Plane::U32(raster) => ChannelSamples::U32(raster.finish(None).into()),
                Plane::F32(raster) => ChannelSamples::F32(raster.finish(None).into()),
            }
        }
    }
}

fn copy<T>(to: &mut [MaybeUninit<T>], samples: impl Iterator<Item = T>) {
    to.iter_mut().zip(samples).for_each(|(to, sample)| *to = MaybeUninit::new(sample));
}

/// Stores the samples of a line as floats.
pub(super) fn fill<'a>(
    kind: ChannelType,
    line: &[u8],
    is_little: bool,
    to: impl Iterator<Item = &'a mut MaybeUninit<f32>>,
) {
    let half = |bytes| of_half(if is_little { u16::from_le_bytes(bytes) } else { u16::from_ne_bytes(bytes) });
    let word = |bytes| if is_little { u32::from_le_bytes(bytes) } else { u32::from_ne_bytes(bytes) };
    let put = |(to, sample): (&mut MaybeUninit<f32>, f32)| *to = MaybeUninit::new(sample);
    match kind {
        ChannelType::U32 => to.zip(samples_of(line).map(|bytes| word(bytes) as f32)).for_each(put),
        ChannelType::F32 => to.zip(samples_of(line).map(|bytes| f32::from_bits(word(bytes)))).for_each(put),
        _ => to.zip(samples_of(line).map(half)).for_each(put),
    }
}

/// Upsamples a plane to one sample per pixel: each pixel gets the last sample at or before it or, if there is none, the
/// first sample.
pub(super) fn enlarged(plane: ChannelSamples, channel: &ExrChannel, data: ExrWindow) -> Result<ChannelSamples> {
    Ok(match plane {
        ChannelSamples::F16(samples) => ChannelSamples::F16(repeated(&samples, channel, data)?),
        ChannelSamples::U32(samples) => ChannelSamples::U32(repeated(&samples, channel, data)?),
        ChannelSamples::F32(samples) => ChannelSamples::F32(repeated(&samples, channel, data)?),
        other => other,
    })
}

fn repeated<T: Copy + Default>(samples: &[T], channel: &ExrChannel, data: ExrWindow) -> Result<Array<T>> {
    let [columns, rows] = Plane::area(channel, data);
    let [width, height] = data.size();
    let [across, down] = channel.sampling;
    let index = |axis: usize, step: usize, at: usize| {
        let pixel = data.min[axis] + at as i32;
        multiples(step, data.min[axis], pixel).saturating_sub(1)
    };
    let mut out = Vec::new();
    out.try_reserve_exact(width * height).map_err(|_| Error::memory("a channel"))?;
    for y in 0..height {
        let row = index(1, down, y);
        let sample = |x: usize| {
            let column = index(0, across, x);
            // A window that is smaller than the sampling may contain no samples.
            let exists = row < rows && column < columns;
            if exists { samples[row * columns + column] } else { T::default() }
        };
        out.extend((0..width).map(sample));
    }
    Ok(out.into())
}

/// Copies a plane into sample `place` of each pixel, which has `size` samples.
pub(super) fn spread(plane: &ChannelSamples, colors: &mut [f32], [place, size]: [usize; 2]) {
    let to = colors.iter_mut().skip(place).step_by(size);
    match plane {
        ChannelSamples::F16(samples) => to.zip(samples).for_each(|(to, bits)| *to = of_half(*bits)),
        ChannelSamples::U32(samples) => to.zip(samples).for_each(|(to, sample)| *to = *sample as f32),
        ChannelSamples::F32(samples) => to.zip(samples).for_each(|(to, sample)| *to = *sample),
        _ => {}
    }
}
