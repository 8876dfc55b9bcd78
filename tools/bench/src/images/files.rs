//! Files to read: a painted texture with flat parts, gradients and grain, and the same in linear light.

use crate::Failure;
use polyhaul::model::{Channels, ColorSpace, Image, Samples};
use polyhaul::options::ImageWriteOptions;
use polyhaul::{WriteOptions, Writer};
use std::path::Path;

/// A file of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub name: &'static str,
    pub kind: ImageKind,
    /// Width and height in pixels.
    pub side: usize,
}

/// Kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// Uncompressed TGA with this many bits per pixel.
    Tga {
        bits: usize,
    },
    /// Run-length encoded TGA with 24 bits.
    Packets,
    /// TGA with 24 bits in an LZ4 frame.
    Cache,
    Png,
    Hdr,
}

/// All files.
pub const FILES: &[File] = &[
    File { name: "story.tga", kind: ImageKind::Tga { bits: 24 }, side: 2048 },
    File { name: "story-32.tga", kind: ImageKind::Tga { bits: 32 }, side: 2048 },
    File { name: "story-rle.tga", kind: ImageKind::Packets, side: 2048 },
    File { name: "story.tga.lz4", kind: ImageKind::Cache, side: 2048 },
    File { name: "story.png", kind: ImageKind::Png, side: 2048 },
    File { name: "story.hdr", kind: ImageKind::Hdr, side: 2048 },
    File { name: "large.tga", kind: ImageKind::Tga { bits: 24 }, side: 8192 },
    File { name: "large-rle.tga", kind: ImageKind::Packets, side: 8192 },
];

impl File {
    pub fn pixels(&self) -> usize {
        self.side * self.side
    }
}

/// Creates missing files in `folder`.
pub fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for file in FILES {
        let path = folder.join(file.name);
        if !path.exists() {
            write(file, &path)?;
        }
    }
    Ok(())
}

fn write(file: &File, path: &Path) -> Result<(), Failure> {
    let channels = if file.kind == (ImageKind::Tga { bits: 32 }) { Channels::Rgba } else { Channels::Rgb };
    let width = file.side;
    let height = file.side;
    let paint = painted(file.side, channels.count());
    if file.kind == ImageKind::Png {
        // Not written by polyhaul, so that it has no advantage in reading.
        image::save_buffer(path, &paint, width as u32, height as u32, image::ExtendedColorType::Rgb8)?;
        return Ok(());
    }
    let (samples, color_space) = match file.kind {
        ImageKind::Hdr => (Samples::F32(paint.into_iter().map(light).collect::<Vec<f32>>().into()), ColorSpace::Linear),
        _ => (Samples::U8(paint.into()), ColorSpace::Srgb),
    };
    let image = Image { width, height, channels, samples, color_space, ..Image::default() };
    let style = ImageWriteOptions::default().with_rle(file.kind == ImageKind::Packets);
    let options = WriteOptions::default().with_image(style);
    Writer::new(path).options(&options).image(&image)?;
    Ok(())
}

/// Converts a byte to linear light, up to 16 times white.
fn light(byte: u8) -> f32 {
    (f32::from(byte) / 255.0).powi(3) * 16.0
}

/// Paints tiles of 128 pixels: flat tiles, gradients with steps, and grain.
fn painted(side: usize, channels: usize) -> Vec<u8> {
    let mut samples = Vec::with_capacity(side * side * channels);
    let mut grain = 1u32;
    for y in 0..side {
        for x in 0..side {
            grain = grain.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let tile = (x / 128 * 7 + y / 128 * 13) % 5;
            for channel in 0..channels {
                let base = (40 * tile + 30 * channel) as u32;
                let value = match tile {
                    0 | 1 => base,
                    2 | 3 => base + ((x % 128) as u32 + (y % 128) as u32) / 8,
                    _ => base / 2 + (grain >> (22 - channel)) % 24,
                };
                samples.push(if channel == 3 { 255 - (tile as u8) * 20 } else { value.min(255) as u8 });
            }
        }
    }
    samples
}
