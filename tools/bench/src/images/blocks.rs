//! Benchmarks of texture compression and mip levels. Compression is compared with the bare encoder, whose quality it
//! must match.
//!
//! Decodes the results with another library, and prints their error in decibels.

use super::{Contender, Decoded, Measured, measure};
use crate::Failure;
use polyhaul::model::{Channels, Encoding, Image, Samples};
use polyhaul::ops::{BlockQuality, ImageOps, MipmapFilter, MipmapOptions, compress};
use polyhaul::options::RunOptions;

const SIDE: usize = 2048;

/// Direct calls of the encoder.
mod bare {
    use intel_tex_2::bc7::EncodeSettings;
    use intel_tex_2::bindings::kernel;

    fn surface(pixels: &[u8], [width, height]: [usize; 2]) -> kernel::rgba_surface {
        let ptr = pixels.as_ptr().cast_mut();
        let stride = (4 * width) as i32;
        kernel::rgba_surface { ptr, width: width as i32, height: height as i32, stride }
    }

    /// Encodes an image as BC1 in one call.
    pub fn bc1(pixels: &[u8], size: [usize; 2]) -> Vec<u8> {
        let mut blocks = vec![0; size[0] * size[1] / 2];
        // SAFETY: `pixels` has all pixels of `size`, and `blocks` has space for all blocks.
        unsafe { kernel::CompressBlocksBC1_ispc(&mut surface(pixels, size), blocks.as_mut_ptr()) };
        blocks
    }

    /// Encodes an opaque image as BC7 at the fastest setting, in one call.
    pub fn bc7(pixels: &[u8], size: [usize; 2]) -> Vec<u8> {
        let from: EncodeSettings = intel_tex_2::bc7::opaque_ultra_fast_settings();
        let mut settings = kernel::bc7_enc_settings {
            mode_selection: from.mode_selection,
            refineIterations: from.refine_iterations.map(|count| count as i32),
            skip_mode2: from.skip_mode2,
            fastSkipTreshold_mode1: from.fast_skip_threshold_mode1 as i32,
            fastSkipTreshold_mode3: from.fast_skip_threshold_mode3 as i32,
            fastSkipTreshold_mode7: from.fast_skip_threshold_mode7 as i32,
            mode45_channel0: from.mode45_channel0 as i32,
            refineIterations_channel: from.refine_iterations_channel as i32,
            channels: from.channels,
        };
        let mut blocks = vec![0; size[0] * size[1]];
        // SAFETY: `pixels` has all pixels of `size`, and `blocks` has space for all blocks.
        unsafe { kernel::CompressBlocksBC7_ispc(&mut surface(pixels, size), blocks.as_mut_ptr(), &mut settings) };
        blocks
    }
}

/// Measures blocks and mip levels of one image.
pub fn main(rounds: usize) -> Result<(), Failure> {
    let image = picture();
    let Samples::U8(samples) = &image.samples else { return Err("the picture has bytes".into()) };
    type Alone = fn(&[u8], [usize; 2]) -> Vec<u8>;
    let kinds: [(&str, Encoding, Alone, fn(&[u8], &mut [u8], usize)); 2] =
        [("bc1", Encoding::Bc1, bare::bc1, bcdec_rs::bc1), ("bc7-fast", Encoding::Bc7, bare::bc7, bcdec_rs::bc7)];
    for (group, encoding, alone, decode) in kinds {
        let made = |threads| blocks(&image, encoding, threads);
        let contenders = [
            Contender::new("polyhaul, 1 thread", || Ok((Decoded::Bytes(Box::new(made(1)?)), 0))),
            Contender::new("polyhaul, 2 threads", || Ok((Decoded::Bytes(Box::new(made(2)?)), 0))),
            Contender::new("intel_tex_2", || Ok((Decoded::Bytes(Box::new(alone(samples, [SIDE; 2]))), 0))),
        ];
        let bytes = encoding.bytes();
        let judge = |decoded: &Decoded| match decoded {
            Decoded::Bytes(blocks) => psnr(samples, (**blocks).as_ref(), bytes, decode),
            _ => 0.0,
        };
        measure(Measured { group, pixels: SIDE * SIDE, judge: &judge }, &contenders, rounds)?;
    }
    let levels = [("mips-box", MipmapFilter::Box), ("mips-kaiser", MipmapFilter::Kaiser)];
    levels.into_iter().try_for_each(|(group, filter)| {
        let made = |threads| levels_of(&image, filter, threads);
        let contenders =
            [Contender::new("polyhaul, 1 thread", || made(1)), Contender::new("polyhaul, 2 threads", || made(2))];
        measure(Measured { group, pixels: SIDE * SIDE, judge: &Decoded::sum }, &contenders, rounds)
    })
}

fn run(threads: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(threads))
}

fn blocks(image: &Image, encoding: Encoding, threads: usize) -> Result<Vec<u8>, Failure> {
    let texture = compress(&[image], encoding, BlockQuality::Fast, &run(threads))?;
    Ok(texture.levels.into_iter().next().map_or(Vec::new(), |level| level.to_vec()))
}

fn levels_of(image: &Image, filter: MipmapFilter, threads: usize) -> Result<(Decoded, u64), Failure> {
    let options = MipmapOptions::default().with_filter(filter);
    let first = image.mipmaps_with(&options, &run(threads))?.into_iter().next();
    match first.map(|level| level.samples) {
        Some(Samples::U8(samples)) => Ok((Decoded::Bytes(Box::new(samples)), 0)),
        _ => Err("the level has bytes".into()),
    }
}

/// Returns a pseudorandom number from 0 to 1 for a position.
fn random(x: u32, y: u32, layer: u32) -> f32 {
    let mut hash = x.wrapping_mul(0x9E37_79B1) ^ y.wrapping_mul(0x85EB_CA77) ^ layer.wrapping_mul(0xC2B2_AE3D);
    for shift in [15, 12, 15] {
        hash = (hash ^ hash >> shift).wrapping_mul(0x2C1B_3C6D);
    }
    (hash >> 8) as f32 / (1 << 24) as f32
}

/// Returns smooth noise.
fn noise(x: f32, y: f32, layer: u32) -> f32 {
    let smooth = |v: f32| v * v * (3.0 - 2.0 * v);
    let column = x.floor();
    let row = y.floor();
    let u = smooth(x - column);
    let v = smooth(y - row);
    let at = |dx: u32, dy: u32| random(column as u32 + dx, row as u32 + dy, layer);
    let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
    mix(mix(at(0, 0), at(1, 0), u), mix(at(0, 1), at(1, 1), u), v)
}

/// Generates an image with noise of all scales, edges, and correlated colors, like a photograph.
fn picture() -> Image {
    let mut samples = Vec::with_capacity(SIDE * SIDE * 4);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let at = |scale: f32, layer: u32| noise(x as f32 * scale, y as f32 * scale, layer);
            let mut color = [0.0; 3];
            for octave in 0..8 {
                let scale = 2_f32.powi(octave) / 256.0;
                let weight = 0.5_f32.powi(octave + 1);
                let shared = at(scale, octave as u32);
                for (channel, color) in color.iter_mut().enumerate() {
                    *color += weight * (0.8 * shared + 0.2 * at(0.7 * scale, 20 + octave as u32 + channel as u32));
                }
            }
            let edge = if at(1.0 / 90.0, 77) > 0.6 { 0.25 } else { 0.0 };
            let tint = [1.0, 0.4, -0.3].map(|tint| tint * edge);
            let bytes = [0, 1, 2].map(|channel| ((color[channel] + tint[channel]).clamp(0.0, 1.0) * 255.0) as u8);
            samples.extend_from_slice(&bytes);
            samples.push(255);
        }
    }
    Image {
        width: SIDE,
        height: SIDE,
        channels: Channels::Rgba,
        samples: Samples::U8(samples.into()),
        ..Image::default()
    }
}

/// Returns the error of decoded colors, in decibels.
fn psnr(samples: &[u8], blocks: &[u8], bytes: usize, decode: fn(&[u8], &mut [u8], usize)) -> f64 {
    let mut decoded = vec![0; SIDE * SIDE * 4];
    for (number, block) in blocks.chunks_exact(bytes).enumerate() {
        let x = number % (SIDE / 4);
        let y = number / (SIDE / 4);
        decode(block, &mut decoded[(y * 4 * SIDE + x * 4) * 4..], SIDE * 4);
    }
    let square = |(a, b): (&u8, &u8)| (f64::from(*a) - f64::from(*b)).powi(2);
    let pixels = samples.chunks_exact(4).zip(decoded.chunks_exact(4));
    let sum: f64 = pixels.map(|(a, b)| a[..3].iter().zip(&b[..3]).map(square).sum::<f64>()).sum();
    10.0 * (255.0 * 255.0 * (SIDE * SIDE * 3) as f64 / sum).log10()
}
