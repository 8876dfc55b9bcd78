//! Mipmaps and blocks, blocks beside the encoder alone: `cargo bench --bench textures`.
//!
//! Rounds alternate; each line is the least of several on one thread, with the error of what is decoded back by
//! another library where there is one.
#![allow(clippy::print_stdout)]

#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", all(windows, target_env = "msvc"))
))]
mod bare {
    use intel_tex_2::bc7::EncodeSettings;
    use intel_tex_2::bindings::kernel;

    fn surface(pixels: &[u8], [width, height]: [usize; 2]) -> kernel::rgba_surface {
        let (ptr, stride) = (pixels.as_ptr().cast_mut(), (4 * width) as i32);
        kernel::rgba_surface { ptr, width: width as i32, height: height as i32, stride }
    }

    /// BC1 of a whole image, by the library alone.
    pub fn bc1(pixels: &[u8], size: [usize; 2]) -> Vec<u8> {
        let mut blocks = vec![0; size[0] * size[1] / 2];
        // SAFETY: all pixels are there, and there is room for all blocks.
        unsafe { kernel::CompressBlocksBC1_ispc(&mut surface(pixels, size), blocks.as_mut_ptr()) };
        blocks
    }

    /// BC7 of a whole opaque image at its fastest, by the library alone.
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
        // SAFETY: all pixels are there, and there is room for all blocks.
        unsafe { kernel::CompressBlocksBC7_ispc(&mut surface(pixels, size), blocks.as_mut_ptr(), &mut settings) };
        blocks
    }
}

use polyhaul::model::{Channels, ColorSpace, Encoding, Image, Samples};
use polyhaul::ops::{Filter, MipmapOptions, Quality, SampleType, compress, convert_samples, mipmaps};
use polyhaul::options::RunOptions;
use std::hint::black_box;
use std::time::Instant;

const SIDE: usize = 2048;
const ROUNDS: usize = 7;

/// One job that is timed: its name, the work, and what comes out.
type Job<'a> = (&'a str, Box<dyn Fn() -> Vec<u8> + 'a>);

/// A number from 0 to 1 for a place.
fn random(x: u32, y: u32, layer: u32) -> f32 {
    let mut hash = x.wrapping_mul(0x9E37_79B1) ^ y.wrapping_mul(0x85EB_CA77) ^ layer.wrapping_mul(0xC2B2_AE3D);
    for shift in [15, 12, 15] {
        hash = (hash ^ hash >> shift).wrapping_mul(0x2C1B_3C6D);
    }
    (hash >> 8) as f32 / (1 << 24) as f32
}

/// Smooth noise.
fn noise(x: f32, y: f32, layer: u32) -> f32 {
    let smooth = |v: f32| v * v * (3.0 - 2.0 * v);
    let (column, row) = (x.floor(), y.floor());
    let (u, v) = (smooth(x - column), smooth(y - row));
    let at = |dx: u32, dy: u32| random(column as u32 + dx, row as u32 + dy, layer);
    let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
    mix(mix(at(0, 0), at(1, 0), u), mix(at(0, 1), at(1, 1), u), v)
}

/// An image with noise of all sizes, edges, and colours that go together, as photographs have them.
fn picture(channels: usize) -> Image {
    let mut samples = Vec::with_capacity(SIDE * SIDE * channels);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let at = |scale: f32, layer: u32| noise(x as f32 * scale, y as f32 * scale, layer);
            let mut color = [0.0; 3];
            for octave in 0..8 {
                let (scale, weight) = (2_f32.powi(octave) / 256.0, 0.5_f32.powi(octave + 1));
                let shared = at(scale, octave as u32);
                for (channel, color) in color.iter_mut().enumerate() {
                    *color += weight * (0.8 * shared + 0.2 * at(0.7 * scale, 20 + octave as u32 + channel as u32));
                }
            }
            let edge = if at(1.0 / 90.0, 77) > 0.6 { 0.25 } else { 0.0 };
            let tint = [1.0, 0.4, -0.3].map(|tint| tint * edge);
            let bytes = [0, 1, 2].map(|channel| ((color[channel] + tint[channel]).clamp(0.0, 1.0) * 255.0) as u8);
            samples.extend_from_slice(&bytes);
            if channels == 4 {
                samples.push(255);
            }
        }
    }
    let channels = if channels == 4 { Channels::Rgba } else { Channels::Rgb };
    Image { width: SIDE, height: SIDE, channels, samples: Samples::U8(samples.into()), ..Image::default() }
}

/// Runs jobs in turns and prints the least times; `error` judges what came out.
fn race(jobs: &[Job<'_>], error: impl Fn(&str, &[u8]) -> Option<f64>) {
    let mut least = vec![f64::INFINITY; jobs.len()];
    let mut made = vec![Vec::new(); jobs.len()];
    for _ in 0..ROUNDS {
        for ((least, made), (_, job)) in least.iter_mut().zip(&mut made).zip(jobs) {
            let start = Instant::now();
            *made = black_box(job());
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    for ((least, made), (name, _)) in least.iter().zip(&made).zip(jobs) {
        let rate = (SIDE * SIDE) as f64 / 1e6 / least;
        let error = error(name, made).map_or(String::new(), |error| format!("  PSNR {error:.2} dB"));
        println!("{name:34} {:8.2} ms {rate:9.1} MPix/s{error}", least * 1e3);
    }
}

/// The error of decoded colours, in decibels.
fn psnr(image: &Image, blocks: &[u8], bytes: usize, decode: fn(&[u8], &mut [u8], usize)) -> f64 {
    let Samples::U8(samples) = &image.samples else { return 0.0 };
    let mut decoded = vec![0; SIDE * SIDE * 4];
    for (number, block) in blocks.chunks_exact(bytes).enumerate() {
        let (x, y) = (number % (SIDE / 4), number / (SIDE / 4));
        decode(block, &mut decoded[(y * 4 * SIDE + x * 4) * 4..], SIDE * 4);
    }
    let square = |(a, b): (&u8, &u8)| (f64::from(*a) - f64::from(*b)).powi(2);
    let pixels = samples.chunks_exact(4).zip(decoded.chunks_exact(4));
    let sum: f64 = pixels.map(|(a, b)| a[..3].iter().zip(&b[..3]).map(square).sum::<f64>()).sum();
    10.0 * (255.0 * 255.0 * (SIDE * SIDE * 3) as f64 / sum).log10()
}

fn main() {
    let run = RunOptions { threads: Some(1), ..RunOptions::default() };
    let (rgba, rgb) = (picture(4), picture(3));
    let blocks = |image: &Image, encoding, quality| {
        let texture = compress(&[image], encoding, quality, &run).expect("the texture");
        texture.levels.into_iter().next().map_or(Vec::new(), |level| level.to_vec())
    };
    #[allow(unused_mut)]
    let mut jobs: Vec<Job<'_>> = vec![
        ("bc1", Box::new(|| blocks(&rgba, Encoding::Bc1, Quality::Fast))),
        ("bc1 of rgb", Box::new(|| blocks(&rgb, Encoding::Bc1, Quality::Fast))),
        ("bc7 fast", Box::new(|| blocks(&rgba, Encoding::Bc7, Quality::Fast))),
    ];
    #[cfg(all(
        any(target_arch = "x86_64", target_arch = "aarch64"),
        any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", all(windows, target_env = "msvc"))
    ))]
    if let Samples::U8(samples) = &rgba.samples {
        jobs.insert(1, ("bc1, the library alone", Box::new(|| bare::bc1(samples, [SIDE; 2]))));
        jobs.push(("bc7 fast, the library alone", Box::new(|| bare::bc7(samples, [SIDE; 2]))));
    }
    race(&jobs, |name, made| {
        let is_bc1 = name.starts_with("bc1");
        Some(psnr(&rgba, made, if is_bc1 { 8 } else { 16 }, if is_bc1 { bcdec_rs::bc1 } else { bcdec_rs::bc7 }))
    });
    let linear = Image { color_space: ColorSpace::Linear, ..rgba.clone() };
    let halved = |image: &Image, filter, weigh| {
        let options = MipmapOptions { filter, weigh_by_alpha: Some(weigh), ..MipmapOptions::default() };
        let levels = mipmaps(image, &options, &run).expect("the levels");
        vec![levels.len() as u8]
    };
    let converted = |image: &Image, kind, space| {
        vec![convert_samples(image, kind, space, &run).expect("the image").image.width as u8]
    };
    let light = convert_samples(&rgba, SampleType::F32, ColorSpace::Linear, &run).expect("the image").image;
    let jobs: Vec<Job<'_>> = vec![
        ("all mips, box, srgb", Box::new(|| halved(&rgba, Filter::Box, false))),
        ("all mips, box, srgb, rgb", Box::new(|| halved(&rgb, Filter::Box, false))),
        ("all mips, box, srgb, by alpha", Box::new(|| halved(&rgba, Filter::Box, true))),
        ("all mips, box, linear", Box::new(|| halved(&linear, Filter::Box, false))),
        ("all mips, kaiser, srgb", Box::new(|| halved(&rgba, Filter::Kaiser, false))),
        ("srgb bytes to light", Box::new(|| converted(&rgba, SampleType::F32, ColorSpace::Linear))),
        ("light to srgb bytes", Box::new(|| converted(&light, SampleType::U8, ColorSpace::Srgb))),
        ("light to srgb words", Box::new(|| converted(&light, SampleType::U16, ColorSpace::Srgb))),
    ];
    race(&jobs, |_, _| None);
}
