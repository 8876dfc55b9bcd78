//! Converts luminance and chroma to red, green and blue.
//!
//! A file may store `Y`, the luminance, with `RY` = (R - Y) / Y and `BY` = (B - Y) / Y, often subsampled by 2 in both
//! directions. The chromaticities of the file determine the luminance weights of the colors; the default is Rec. ITU-R
//! BT.709 ("Technical Introduction to OpenEXR").
//!
//! Chroma is upsampled with a windowed sinc of 27 taps, every second of which is 0: the filter of the reference
//! implementation (ImfRgbaYca.h), with edge samples repeated. That implementation then desaturates colors that are more
//! saturated than their neighbors; this one does not.

use super::header::{ExrChannel, ExrWindow};
use super::plane::Plane;
use crate::samples::half::of_half;
use polyhaul_model::ChannelSamples;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// One half of the symmetric filter for a pixel between two samples, nearest sample first.
const TAPS: [f64; 7] = [0.627_123, -0.186_077, 0.087_929, -0.043_159, 0.019_597, -0.007_540, 0.002_128];

/// Chromaticities of red, green, blue and white in Rec. ITU-R BT.709.
pub(super) const REC_709: [f32; 8] = [0.64, 0.33, 0.3, 0.6, 0.15, 0.06, 0.3127, 0.329];

/// Returns the luminance weights of red, green and blue for chromaticities, or `None` if the chromaticities do not span
/// a color space.
pub(super) fn luminance_weights(chromaticities: [f32; 8]) -> Option<[f64; 3]> {
    let [red, green, blue, white] = [0, 2, 4, 6].map(|at| [0, 1].map(|axis| f64::from(chromaticities[at + axis])));
    // Solves for the multiples of the primaries (as xyz columns) whose sum is white with a luminance of 1, by Cramer's
    // rule. A multiple times y is the luminance weight of the color.
    let full = |[x, y]: [f64; 2]| [x, y, 1.0 - x - y];
    let [r, g, b] = [red, green, blue].map(full);
    let white = full(white).map(|part| part / white[1]);
    let determinant = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| {
        a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1])
    };
    let denominator = determinant(r, g, b);
    let shares = [determinant(white, g, b), determinant(r, white, b), determinant(r, g, white)];
    let weights = [0, 1, 2].map(|at| shares[at] / denominator * [r, g, b][at][1]);
    // The sum is 1 except for rounding, because white was given a luminance of 1.
    let sum: f64 = weights.iter().sum();
    let weights = weights.map(|weight| weight / sum);
    (weights.iter().all(|weight| weight.is_finite()) && weights[1] != 0.0).then_some(weights)
}

/// A chroma channel.
pub(super) struct Chroma {
    samples: ChannelSamples,
    /// Columns and rows of samples.
    size: [usize; 2],
    /// Subsampling of columns and rows: 1 or 2.
    sampling: [usize; 2],
    /// Column and row of the pixel of the first sample.
    first: [usize; 2],
}

impl Chroma {
    /// Creates a chroma channel from the samples of a channel in a data window.
    pub(super) fn new(channel: &ExrChannel, samples: ChannelSamples, data: ExrWindow) -> Chroma {
        // Samples are at multiples of the sampling rate in window coordinates, which may be negative.
        let first = |axis: usize| (-i64::from(data.min[axis])).rem_euclid(channel.sampling[axis] as i64) as usize;
        let size = Plane::area(channel, data);
        let sampling = channel.sampling;
        Chroma { samples, size, sampling, first: [first(0), first(1)] }
    }

    fn at(&self, index: usize) -> f64 {
        match &self.samples {
            ChannelSamples::F16(samples) => samples.get(index).map_or(0.0, |bits| of_half(*bits).into()),
            ChannelSamples::F32(samples) => samples.get(index).map_or(0.0, |sample| (*sample).into()),
            _ => 0.0,
        }
    }

    /// Upsamples a row; `column` is scratch memory for a row of samples.
    fn row(&self, y: usize, column: &mut [f64], out: &mut [f64]) {
        let [width, height] = self.size;
        for (x, value) in column.iter_mut().enumerate() {
            let sample = |row: usize| self.at(row * width + x);
            *value = interpolated(y, self.sampling[1], self.first[1], height, sample);
        }
        for (x, value) in out.iter_mut().enumerate() {
            *value = interpolated(x, self.sampling[0], self.first[0], width, |at| column[at]);
        }
    }
}

/// Interpolates the value at a pixel from `count` samples along a line.
fn interpolated(pixel: usize, step: usize, first: usize, count: usize, sample: impl Fn(usize) -> f64) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let at = pixel as i64 - first as i64;
    let clamped = |index: i64| sample(index.clamp(0, count as i64 - 1) as usize);
    // A pixel with a sample keeps it: the filter is 1 there and 0 at all other samples.
    if at.rem_euclid(step as i64) == 0 {
        return clamped(at.div_euclid(step as i64));
    }
    let before = at.div_euclid(step as i64);
    let pair = |(distance, tap): (i64, f64)| tap * (clamped(before - distance) + clamped(before + 1 + distance));
    (0..).zip(TAPS).map(pair).sum()
}

/// Converts pixels whose second sample is the luminance to RGB. `size` is the number of samples per pixel, 3 or 4.
pub(super) fn convert(
    samples: &mut [f32],
    [width, size]: [usize; 2],
    [red, blue]: [&Chroma; 2],
    weights: [f64; 3],
    run: &RunOptions,
) -> Result<()> {
    let rows = samples.chunks_exact_mut(width * size).enumerate();
    try_for_each_item(run.worker_threads(), &run.cancel, rows, <[Vec<f64>; 4]>::default, |memory, (y, row)| {
        let [red_column, blue_column, red_row, blue_row] = memory;
        for (memory, count) in [
            (&mut *red_column, red.size[0]),
            (&mut *blue_column, blue.size[0]),
            (&mut *red_row, width),
            (&mut *blue_row, width),
        ] {
            // All rows have the same sizes, so the scratch memory is either empty or complete.
            memory.try_reserve(count - memory.len()).map_err(|_| Error::memory("a row"))?;
            memory.resize(count, 0.0);
        }
        red.row(y, red_column, red_row);
        blue.row(y, blue_column, blue_row);
        for ((pixel, red), blue) in row.chunks_exact_mut(size).zip(red_row.iter()).zip(blue_row.iter()) {
            let [r, g, b] = colors(pixel[1], *red, *blue, weights);
            pixel[0] = r;
            pixel[1] = g;
            pixel[2] = b;
        }
        Ok::<(), Error>(())
    })
}

fn colors(luminance: f32, red: f64, blue: f64, weights: [f64; 3]) -> [f32; 3] {
    if red == 0.0 && blue == 0.0 {
        // Keeps pixels without chroma exact.
        return [luminance; 3];
    }
    let y = f64::from(luminance);
    let [r, b] = [red, blue].map(|chroma| (chroma + 1.0) * y);
    let g = (y - r * weights[0] - b * weights[2]) / weights[1];
    [r as f32, g as f32, b as f32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_from_chromaticities() {
        let check = |weights: Option<[f64; 3]>, expected: [f64; 3]| {
            let weights = weights.unwrap();
            let is_near = |(weight, expected): (&f64, f64)| (weight - expected).abs() < 1e-4;
            assert!(weights.iter().zip(expected).all(is_near), "{weights:?}");
        };
        check(luminance_weights(REC_709), [0.2126, 0.7152, 0.0722]);
        // SMPTE RP 431-2 with white point D65 (Display P3).
        check(luminance_weights([0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329]), [0.2290, 0.6917, 0.0793]);
        assert_eq!(luminance_weights([0.3; 8]), None);
        assert_eq!(luminance_weights([f32::NAN; 8]), None);
    }

    #[test]
    fn samples_stay_and_interpolation_is_smooth() {
        let wave = |x: f64| (x / 4.0).sin();
        let samples: Vec<f64> = (0..40).map(|at| wave(2.0 * f64::from(at))).collect();
        for pixel in 0..80 {
            let value = interpolated(pixel, 2, 0, samples.len(), |at| samples[at]);
            let far = if pixel % 2 == 0 { 0.0 } else { 2e-3 };
            let is_inside = (16..64).contains(&pixel);
            assert!((value - wave(pixel as f64)).abs() <= far || !is_inside, "{pixel}: {value}");
        }
        let flat = |pixel| interpolated(pixel, 2, 1, 3, |_| 0.25);
        assert!((0..7).all(|pixel| (flat(pixel) - 0.25_f64).abs() < 1e-6));
    }

    #[test]
    fn colors_come_back() {
        let weights = luminance_weights(REC_709).unwrap();
        for color in [[0.25_f64, 0.5, 1.0], [3.0, 0.0, 0.125], [0.0, 0.0, 1.0]] {
            let y: f64 = color.iter().zip(weights).map(|(color, weight)| color * weight).sum();
            let converted = colors(y as f32, (color[0] - y) / y, (color[2] - y) / y, weights);
            let far = converted.iter().zip(color).map(|(sample, color)| (f64::from(*sample) - color).abs());
            assert!(far.fold(0.0, f64::max) < 1e-6, "{converted:?}");
        }
        assert_eq!(colors(0.7, 0.0, 0.0, weights), [0.7; 3]);
    }
}
