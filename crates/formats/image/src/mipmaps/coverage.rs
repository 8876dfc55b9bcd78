//! Scales the alpha of mip levels so that the share of pixels that pass the alpha test stays the same.
//!
//! A certain share of the image's pixels reaches the cutoff. A histogram of each level yields the alpha value that the
//! same share of the level's pixels reaches, and alpha is scaled so that this value becomes the cutoff: the result of
//! Castaño's search, without searching.

use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Image, Samples};

/// Number of histogram bins.
const STEPS: usize = 1 << 16;

/// Scales the alpha of `levels`.
pub(super) fn keep(image: &Image, levels: &mut [Image], cutoff: f32) -> Result<()> {
    if !(0.0..=1.0).contains(&cutoff) {
        return Err(Error::new(ErrorKind::Usage, format!("invalid alpha cutoff {cutoff}; expected 0 to 1")));
    }
    // All pixels pass a cutoff of 0.
    if !image.channels.has_alpha() || cutoff == 0.0 {
        return Ok(());
    }
    let whole = counts(image)?;
    let target = share(&whole, step(cutoff));
    levels.iter_mut().try_for_each(|level| {
        let counts = counts(level)?;
        match border(&counts, target) {
            Some(border) if target > 0.0 => scale(level, border, f64::from(cutoff)),
            _ => Ok(()),
        }
    })
}

fn step(alpha: f32) -> usize {
    // NaN becomes 0.
    ((f64::from(alpha) * (STEPS - 1) as f64 + 0.5) as usize).min(STEPS - 1)
}

/// Computes the histogram of alpha.
fn counts(image: &Image) -> Result<Vec<u64>> {
    let mut counts = Vec::new();
    counts.try_reserve_exact(STEPS)?;
    counts.resize(STEPS, 0);
    let size = image.channels.count();
    let place = size - 1;
    match &image.samples {
        Samples::U8(samples) => {
            // 257 maps 255 to 65,535.
            samples.chunks_exact(size).for_each(|pixel| counts[usize::from(pixel[place]) * 257] += 1);
        }
        Samples::U16(samples) => samples.chunks_exact(size).for_each(|pixel| counts[usize::from(pixel[place])] += 1),
        Samples::F32(samples) => samples.chunks_exact(size).for_each(|pixel| counts[step(pixel[place])] += 1),
    }
    Ok(counts)
}

/// Returns the share of pixels in bin `step` and above.
fn share(counts: &[u64], step: usize) -> f64 {
    let total: u64 = counts.iter().sum();
    counts[step..].iter().sum::<u64>() as f64 / total.max(1) as f64
}

/// Returns the bin, never 0, for which the share of pixels at or above it is closest to `target`.
fn border(counts: &[u64], target: f64) -> Option<usize> {
    let total = counts.iter().sum::<u64>().max(1) as f64;
    let mut above = 0;
    let mut best: Option<(f64, usize)> = None;
    for (step, &count) in counts.iter().enumerate().skip(1).rev() {
        above += count;
        if count > 0 {
            let miss = (above as f64 / total - target).abs();
            if best.is_none_or(|(best_miss, _)| miss < best_miss) {
                best = Some((miss, step));
            }
        }
    }
    best.map(|(_, step)| step)
}

/// Scales alpha so that the border becomes the cutoff. Integers use the cutoff rounded up, so that the border does not
/// round to a value below the cutoff.
fn scale(image: &mut Image, border: usize, cutoff: f64) -> Result<()> {
    let size = image.channels.count();
    let scaled = |alpha: f64, by: f64, max: f64| (alpha * by).clamp(0.0, max);
    match &mut image.samples {
        Samples::U8(samples) => {
            let by = (cutoff * 255.0).ceil() / (border / 257) as f64;
            samples.to_mut()?.chunks_exact_mut(size).for_each(|pixel| {
                pixel[size - 1] = (scaled(f64::from(pixel[size - 1]), by, 255.0) + 0.5) as u8;
            });
        }
        Samples::U16(samples) => {
            let by = (cutoff * 65535.0).ceil() / border as f64;
            samples.to_mut()?.chunks_exact_mut(size).for_each(|pixel| {
                pixel[size - 1] = (scaled(f64::from(pixel[size - 1]), by, 65535.0) + 0.5) as u16;
            });
        }
        Samples::F32(samples) => {
            // The smallest alpha in the bin of the border.
            let by = cutoff / ((border as f64 - 0.5) / (STEPS - 1) as f64);
            samples.to_mut()?.chunks_exact_mut(size).for_each(|pixel| {
                pixel[size - 1] = scaled(f64::from(pixel[size - 1]), by, 1.0) as f32;
            });
        }
    }
    Ok(())
}
