//! Fast path for the common case: a box filter over images of bytes with even width and height, which averages blocks
//! of 2 x 2 pixels.

use super::lights::LIGHTS;
use crate::samples::{BYTES, SrgbBytes};
use polyhaul_model::error::Result;
use polyhaul_model::{Channels, Image};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;

/// Approximate number of output pixels per parallel step.
const PIECE_PIXELS: usize = 1 << 15;

/// Halves an image of bytes. `is_bent`: whether colors are sRGB. `weighs`: whether colors are weighted by alpha.
pub(super) fn halve(
    samples: &[u8],
    image: &Image,
    is_bent: bool,
    weighs: bool,
    to: &mut [u8],
    run: &RunOptions,
) -> Result<()> {
    let row = image.width * image.channels.count();
    let size = image.width / 2 * image.channels.count();
    let rows = (PIECE_PIXELS / (image.width / 2)).max(1);
    let bands = samples.chunks(2 * row * rows).zip(to.chunks_mut(size * rows));
    let threads = run.worker_threads().min((image.height / 2).div_ceil(rows));
    try_for_each_item(
        threads,
        &run.cancel,
        bands,
        || (),
        |(), (from, to)| {
            for (from, to) in from.chunks_exact(2 * row).zip(to.chunks_exact_mut(size)) {
                let (top, bottom) = from.split_at(row);
                halve_row(image.channels, is_bent, weighs, [top, bottom], to);
            }
            Ok(())
        },
    )
}

fn halve_row(channels: Channels, is_bent: bool, weighs: bool, rows: [&[u8]; 2], to: &mut [u8]) {
    match (channels, is_bent, weighs) {
        (Channels::Gray, false, _) => plain::<1>(rows, to),
        (Channels::GrayAlpha, false, false) => plain::<2>(rows, to),
        (Channels::Rgb, false, _) => plain::<3>(rows, to),
        (Channels::Rgba, false, false) => plain::<4>(rows, to),
        (Channels::Gray, true, _) => bent::<1, 1>(rows, to),
        (Channels::GrayAlpha, true, false) => bent::<2, 1>(rows, to),
        (Channels::Rgb, true, _) => bent::<3, 3>(rows, to),
        (Channels::Rgba, true, false) => bent::<4, 3>(rows, to),
        (Channels::GrayAlpha, true, true) => weighed::<2, 1>(rows, to, MipmapLight(&BYTES)),
        (Channels::Rgba, true, true) => weighed_lights(rows, to),
        (Channels::GrayAlpha, false, true) => weighed::<2, 1>(rows, to, MipmapPlain),
        (Channels::Rgba, false, true) => weighed::<4, 3>(rows, to, MipmapPlain),
    }
}

/// Iterates over blocks of four pixels and their output pixel.
#[inline(always)]
fn quads<'a, const SIZE: usize>(
    rows: [&'a [u8]; 2],
    to: &'a mut [u8],
) -> impl Iterator<Item = ([&'a [u8; SIZE]; 4], &'a mut [u8; SIZE])> {
    let [top, bottom] = rows.map(|row| row.as_chunks::<SIZE>().0.as_chunks::<2>().0);
    top.iter().zip(bottom).zip(to.as_chunks_mut::<SIZE>().0).map(|(([a, b], [c, d]), to)| ([a, b, c, d], to))
}

#[inline(always)]
fn mean(values: [u8; 4]) -> u8 {
    ((values.map(u16::from).iter().sum::<u16>() + 2) >> 2) as u8
}

fn plain<const SIZE: usize>(rows: [&[u8]; 2], to: &mut [u8]) {
    for (four, to) in quads::<SIZE>(rows, to) {
        *to = std::array::from_fn(|at| mean(four.map(|pixel| pixel[at])));
    }
}

fn bent<const SIZE: usize, const COLORS: usize>(rows: [&[u8]; 2], to: &mut [u8]) {
    let tables = &*BYTES;
    for (four, to) in quads::<SIZE>(rows, to) {
        *to = pixel::<SIZE, COLORS>(tables, four);
    }
}

/// Averages four pixels with equal weights.
#[inline(always)]
fn pixel<const SIZE: usize, const COLORS: usize>(tables: &SrgbBytes, four: [&[u8; SIZE]; 4]) -> [u8; SIZE] {
    std::array::from_fn(|at| {
        let [a, b, c, d] = four.map(|pixel| pixel[at]);
        if at >= COLORS {
            return mean([a, b, c, d]);
        }
        let light = |code: u8| tables.light[usize::from(code)];
        tables.code(((light(a) + light(b)) + (light(c) + light(d))) * 0.25)
    })
}

/// The transfer function of 8-bit colors.
trait MipmapCurve: Copy {
    fn light(self, code: u8) -> f32;
    fn code(self, light: f32) -> u8;
}

/// sRGB.
#[derive(Clone, Copy)]
struct MipmapLight(&'static SrgbBytes);

impl MipmapCurve for MipmapLight {
    #[inline(always)]
    fn light(self, code: u8) -> f32 {
        self.0.light[usize::from(code)]
    }

    #[inline(always)]
    fn code(self, light: f32) -> u8 {
        self.0.code(light)
    }
}

/// Identity.
#[derive(Clone, Copy)]
struct MipmapPlain;

impl MipmapCurve for MipmapPlain {
    #[inline(always)]
    fn light(self, code: u8) -> f32 {
        f32::from(code)
    }

    #[inline(always)]
    fn code(self, light: f32) -> u8 {
        (light + 0.5) as u8
    }
}

fn weighed<const SIZE: usize, const COLORS: usize>(rows: [&[u8]; 2], to: &mut [u8], curve: impl MipmapCurve) {
    for (four, to) in quads::<SIZE>(rows, to) {
        let alphas = four.map(|pixel| pixel[SIZE - 1]);
        let [a, b, c, d] = alphas;
        // Most pixels have the same alpha as their neighbors. This also covers an alpha of 0, with equal weights.
        let is_even = a == b && b == c && c == d;
        let weights = if is_even { [0.25; 4] } else { alphas.map(f32::from) };
        let by = if is_even { 1.0 } else { 1.0 / alphas.map(f32::from).iter().sum::<f32>() };
        *to = std::array::from_fn(|at| {
            if at >= COLORS {
                return mean(alphas);
            }
            let part = |number: usize| curve.light(four[number][at]) * weights[number];
            curve.code(((part(0) + part(1)) + (part(2) + part(3))) * by)
        });
    }
}

/// Specializes [`weighed`] for sRGB with alpha, the most common pixels, with vectors: first the averages of a batch of
/// pixels, then their codes.
fn weighed_lights(rows: [&[u8]; 2], to: &mut [u8]) {
    const TOGETHER: usize = 32;
    let codes = &*BYTES;
    let lights = &*LIGHTS;
    // An output pixel averages two input pixels, of 4 bytes each, per row.
    let [top, bottom] = rows.map(|row| row.chunks(8 * TOGETHER));
    for ((top, bottom), to) in top.zip(bottom).zip(to.chunks_mut(4 * TOGETHER)) {
        let mut places = [[0; 4]; TOGETHER];
        for ((four, to), places) in quads::<4>([top, bottom], to).zip(&mut places) {
            *places = lights.mean(four).map(SrgbBytes::place);
            to[3] = mean(four.map(|pixel| pixel[3]));
        }
        for (places, to) in places.iter().zip(to.as_chunks_mut::<4>().0) {
            to[0] = codes.code_at(places[0]);
            to[1] = codes.code_at(places[1]);
            to[2] = codes.code_at(places[2]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_the_same_means() {
        for width in [1, 2, 31, 32, 33, 64, 1000] {
            let mut noise = 1_u32;
            let rows: [Vec<u8>; 2] = std::array::from_fn(|_| {
                let mut byte = |_| {
                    noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Some alpha values are 0, and many are equal.
                    let [a, b, c, d] = noise.to_le_bytes();
                    [a, b, c, [0, 255, 255, d][usize::from(c % 4)]]
                };
                (0..2 * width).flat_map(&mut byte).collect()
            });
            let mut expected = vec![0; 4 * width];
            let mut halved = vec![0; 4 * width];
            weighed::<4, 3>([&rows[0], &rows[1]], &mut expected, MipmapLight(&BYTES));
            weighed_lights([&rows[0], &rows[1]], &mut halved);
            assert_eq!(halved, expected, "{width}");
        }
    }
}
