//! TGA.

mod alpha;
mod bad;
mod good;
mod writing;

use crate::images::*;

/// The bytes of a file of the test data.
fn file(name: &str) -> Vec<u8> {
    crate::images::file("tga", name)
}

fn load(bytes: Vec<u8>) -> Result<Image> {
    crate::images::load("x.tga", bytes, &ReadOptions::default())
}

/// A file header: type, color map, size, bits, descriptor.
fn header(kind: u8, map: [u8; 6], [width, height]: [u16; 2], bits: u8, descriptor: u8) -> Vec<u8> {
    let mut header = vec![0, map[0], kind];
    header.extend(&map[1..]);
    header.extend([0; 4]);
    header.extend(width.to_le_bytes());
    header.extend(height.to_le_bytes());
    header.extend([bits, descriptor]);
    header
}

const NO_MAP: [u8; 6] = [0; 6];

fn image(width: usize, height: usize, channels: Channels, samples: Vec<u8>) -> Image {
    Image { width, height, channels, samples: Samples::U8(samples.into()), ..Image::default() }
}
