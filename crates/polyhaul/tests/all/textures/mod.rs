//! Tests of mipmaps, blocks and the import of textures.

mod blocks;
mod many;
mod mipmaps;

use polyhaul::model::{Channels, Image, Samples};
use polyhaul::options::RunOptions;

const ALL_CHANNELS: [Channels; 4] = [Channels::Gray, Channels::GrayAlpha, Channels::Rgb, Channels::Rgba];

fn threads(count: usize) -> RunOptions {
    RunOptions::default().with_threads(Some(count))
}

/// An image whose samples are computed by a function of column, row and sample number.
fn image(
    [width, height]: [usize; 2],
    channels: Channels,
    mut sample: impl FnMut(usize, usize, usize) -> f32,
    kind: fn(Vec<f32>) -> Samples,
) -> Image {
    let mut samples = Vec::new();
    for y in 0..height {
        for x in 0..width {
            samples.extend((0..channels.count()).map(|number| sample(x, y, number)));
        }
    }
    Image { width, height, channels, samples: kind(samples), ..Image::default() }
}

fn bytes(samples: Vec<f32>) -> Samples {
    Samples::U8(samples.into_iter().map(|sample| (sample * 255.0 + 0.5) as u8).collect())
}

fn words(samples: Vec<f32>) -> Samples {
    Samples::U16(samples.into_iter().map(|sample| (sample * 65535.0 + 0.5) as u16).collect())
}

fn floats(samples: Vec<f32>) -> Samples {
    Samples::F32(samples.into())
}

/// Waves with some edges: smooth enough for blocks, and nowhere constant.
fn waves(x: usize, y: usize, number: usize) -> f32 {
    let x = x as f32;
    let y = y as f32;
    let wave = (x * 0.07 + number as f32).sin() + (y * 0.05 + x * 0.011).cos();
    let edge = if ((x / 37.0) as usize).is_multiple_of(2) { 0.1 } else { 0.0 };
    (0.5 + 0.2 * wave + edge).clamp(0.0, 1.0)
}

/// A pseudorandom value for a position.
fn noise(x: usize, y: usize, number: usize) -> f32 {
    let hash = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77) ^ (number as u32 * 77);
    ((hash ^ hash >> 15).wrapping_mul(0x2C1B_3C6D) >> 8) as f32 / (1 << 24) as f32
}
