//! Files written by the library, as samples of any size.

use polyhaul::model::{Channels, ColorSpace, Encoding, Image, Samples, Scene, Texture};
use polyhaul::options::ImageWriteOptions;
use polyhaul::{Format, Output, WriteOptions, Writer};
use polyhaul_testkit::output::{Shared, bytes};
pub use polyhaul_testkit::scene::splats;

/// Writes a scene to memory.
pub fn scene_file(format: Format, scene: &Scene) -> Vec<u8> {
    bytes(scene, &WriteOptions::default().with_format(Some(format)))
}

/// A pseudorandom byte.
fn noise(index: usize) -> u8 {
    (index.wrapping_mul(2_654_435_761) >> 11) as u8
}

/// An image of noise.
pub fn image(width: usize, height: usize, channels: Channels) -> Image {
    let samples: Vec<u8> = (0..width * height * channels.count()).map(noise).collect();
    Image { width, height, channels, samples: Samples::U8(samples.into()), ..Image::default() }
}

/// Writes an image to memory.
pub fn image_file(format: Format, image: &Image, style: ImageWriteOptions) -> Vec<u8> {
    let shared = Shared::default();
    let options = WriteOptions::default().with_format(Some(format)).with_image(style);
    Writer::new(Output::Writer(Box::new(shared.clone()), "image".into())).options(&options).image(image).unwrap();
    shared.take()
}

/// A texture of noise in linear light, with this many levels.
pub fn texture(encoding: Encoding, side: usize, levels: usize) -> Texture {
    let mut texture = Texture {
        width: side,
        height: side,
        depth: 1,
        layers: 1,
        faces: 1,
        encoding,
        color_space: ColorSpace::Linear,
        ..Texture::default()
    };
    for level in 0..levels {
        let size = texture.level_bytes(level).unwrap();
        texture.levels.push((0..size).map(|index| noise(index + 7 * level)).collect());
    }
    texture
}

/// Writes a texture to memory.
pub fn texture_file(format: Format, texture: &Texture, style: ImageWriteOptions) -> Vec<u8> {
    let shared = Shared::default();
    let options = WriteOptions::default().with_format(Some(format)).with_image(style);
    Writer::new(Output::Writer(Box::new(shared.clone()), "texture".into())).options(&options).texture(texture).unwrap();
    shared.take()
}

/// Replaces a little-endian word in a file.
pub fn with_word(mut bytes: Vec<u8>, offset: usize, word: u32) -> Vec<u8> {
    bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}

/// Replaces bytes in a file.
pub fn with_bytes(mut bytes: Vec<u8>, offset: usize, new: &[u8]) -> Vec<u8> {
    bytes[offset..offset + new.len()].copy_from_slice(new);
    bytes
}
