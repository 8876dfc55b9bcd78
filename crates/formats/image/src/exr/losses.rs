//! Counts the color values that an EXR file cannot keep: values rounded to half floats, and colors premultiplied by an
//! alpha of 0.

use super::channels::{halves, multiplies};
use polyhaul_model::error::Result;
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{Image, SampleType, Samples};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::lock;
use std::sync::Mutex;

/// The smallest float that rounds to an infinite half.
const MIN_INFINITE: f32 = 65520.0;
/// The smallest normal half; below it, halves are multiples of 2^-24.
const MIN_NORMAL: f32 = 1.0 / (1 << 14) as f32;
/// Pixels per parallel step.
const PIECE_PIXELS: usize = 1 << 14;

/// Numbers of samples and pixels that writing changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExrLosses {
    /// Samples that become infinite.
    pub infinite: u64,
    /// Other samples that are rounded to the nearest half.
    pub rounded: u64,
    /// Pixels with alpha 0 whose colors become 0.
    pub hidden: u64,
}

/// Counts the losses for an image of linear floats that was converted from samples of type `from`. Rounding of 8-bit
/// samples is not counted, since halves distinguish all 8-bit values.
pub fn losses(image: &Image, from: SampleType, style: &ImageWriteOptions, run: &RunOptions) -> Result<ExrLosses> {
    let Samples::F32(samples) = &image.samples else { return Ok(ExrLosses::default()) };
    let halves = if from == SampleType::U8 { Vec::new() } else { halves(image, style) };
    if halves.is_empty() && !multiplies(image) {
        return Ok(ExrLosses::default());
    }
    let sum = Mutex::new(ExrLosses::default());
    let pieces = samples.chunks(PIECE_PIXELS * image.channels.count());
    try_for_each_item(
        run.worker_threads().min(pieces.len()),
        &run.cancel,
        pieces,
        || (),
        |(), piece| {
            let losses = of_piece(image, &halves, piece);
            let mut sum = lock(&sum);
            sum.infinite += losses.infinite;
            sum.rounded += losses.rounded;
            sum.hidden += losses.hidden;
            Ok(())
        },
    )?;
    let sum = *lock(&sum);
    Ok(sum)
}

/// Counts the losses in a range of pixels. `halves` lists the samples of each pixel that are written as half floats.
fn of_piece(image: &Image, halves: &[usize], samples: &[f32]) -> ExrLosses {
    let size = image.channels.count();
    let multiplies = multiplies(image);
    let mut losses = ExrLosses::default();
    for pixel in samples.chunks_exact(size) {
        let (colors, alpha) = pixel.split_at(image.channels.colors());
        let alpha = if multiplies { alpha.first().copied().unwrap_or(1.0) } else { 1.0 };
        // Multiplied by 0: colors are lost rather than rounded.
        if alpha == 0.0 {
            losses.hidden += u64::from(colors.iter().any(|color| *color != 0.0));
            continue;
        }
        for &place in halves {
            let value = if place < colors.len() { pixel[place] * alpha } else { pixel[place] };
            let becomes_infinite = value.is_finite() && value.abs() >= MIN_INFINITE;
            losses.infinite += u64::from(becomes_infinite);
            losses.rounded += u64::from(!becomes_infinite && !is_half(value));
        }
    }
    losses
}

/// Returns whether a half represents the value exactly; infinities and NaN are kept.
#[inline]
fn is_half(value: f32) -> bool {
    let size = value.abs();
    if size < MIN_NORMAL {
        // Scaling by a power of two is exact, and the result is below 1024, so the cast only removes the fraction.
        let steps = size * (1 << 24) as f32;
        return steps == (steps as u32) as f32;
    }
    // A half has 13 fewer mantissa bits than a float.
    value.is_nan() || size.to_bits() & 0x1FFF == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::half::of_half;
    use polyhaul_model::{Channels, ColorSpace};

    #[test]
    fn halves_are_distinguished_from_other_floats() {
        for bits in 0..=u16::MAX {
            let value = of_half(bits);
            assert!(is_half(value), "{bits:04x}");
            if value.is_finite() && value != 0.0 {
                assert!(!is_half(f32::from_bits(value.to_bits() + 1)), "{bits:04x}");
                assert!(!is_half(f32::from_bits(value.to_bits() - 1)), "{bits:04x}");
            }
        }
        assert!(!is_half(1e-9) && !is_half(65519.0) && is_half(-0.0));
    }

    #[test]
    fn losses_are_counted() {
        let samples = Samples::F32([0.5, 7.0, 0.1, 0.5, 0.3, 0.0, 0.0, 0.0, 2e5, -4e5, 0.25, 0.5].into());
        let image = Image {
            width: 3,
            height: 1,
            channels: Channels::Rgba,
            samples,
            color_space: ColorSpace::Linear,
            ..Image::default()
        };
        let of = |image: &Image, from, exr_float| {
            let style = ImageWriteOptions::default().with_exr_float(exr_float);
            losses(image, from, &style, &RunOptions::default()).unwrap()
        };
        assert_eq!(of(&image, SampleType::F32, false), ExrLosses { infinite: 2, rounded: 1, hidden: 1 });
        assert_eq!(of(&image, SampleType::F32, true), ExrLosses { hidden: 1, ..ExrLosses::default() });
        assert_eq!(of(&image, SampleType::U8, false), ExrLosses { hidden: 1, ..ExrLosses::default() });
        let multiplied = Image { premultiplied: true, ..image };
        assert_eq!(of(&multiplied, SampleType::F32, false), ExrLosses { infinite: 2, rounded: 2, hidden: 0 });
        assert_eq!(of(&multiplied, SampleType::F32, true), ExrLosses::default());
    }
}
