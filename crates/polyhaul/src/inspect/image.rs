//! Summaries of images and textures.

use polyhaul_model::{
    Channels, ColorSpace, Encoding, Image, ImageChannel, ImagePart, PartChannel, Samples, Texel, Texture,
};

/// A summary of an image, without its pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSummary {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// The channels of a pixel.
    pub channels: Channels,
    /// Bits per sample: 8, 16, or 32 (floats).
    pub bits: u32,
    /// The color space of the samples.
    pub color_space: ColorSpace,
    /// Whether the colors are premultiplied by alpha.
    pub premultiplied: bool,
    /// The properties that only textures have, or `None` for images.
    pub texture: Option<TextureSummary>,
    /// The channels other than color and alpha, each with one sample per pixel.
    pub extra: Vec<PartChannel>,
    /// The names of the attributes that the file declares.
    pub attributes: Vec<String>,
    /// The parts of the file, if its format has parts (EXR).
    pub parts: Vec<ImagePart>,
}

/// A summary of a texture, without its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureSummary {
    /// Pixel encoding.
    pub encoding: Encoding,
    /// The number of mip levels.
    pub levels: usize,
    /// The number of slices in the largest level: 1 except for volumes.
    pub depth: usize,
    /// The number of array layers: 1 if the texture is not an array.
    pub layers: usize,
    /// 6 for cube maps, otherwise 1.
    pub faces: usize,
}

impl ImageSummary {
    /// Summarizes an image.
    pub fn from_image(image: &Image) -> ImageSummary {
        let Image { width, height, channels, color_space, premultiplied, .. } = *image;
        let bits = match image.samples {
            Samples::U8(_) => 8,
            Samples::U16(_) => 16,
            Samples::F32(_) => 32,
        };
        let channel = |channel: &ImageChannel| PartChannel {
            name: channel.name.clone(),
            kind: channel.samples.kind(),
            sampling: [1, 1],
        };
        ImageSummary {
            width,
            height,
            channels,
            bits,
            color_space,
            premultiplied,
            texture: None,
            extra: image.extra.iter().map(channel).collect(),
            attributes: image.attributes.iter().map(|attribute| attribute.name.clone()).collect(),
            parts: Vec::new(),
        }
    }

    /// Summarizes a texture. Channels and bits describe the decoded image.
    pub fn of_texture(texture: &Texture) -> ImageSummary {
        let Texture { width, height, depth, layers, faces, encoding, color_space, premultiplied, .. } = *texture;
        let (channels, bits) = match encoding {
            Encoding::Bc1 | Encoding::Bc2 | Encoding::Bc3 | Encoding::Bc7 => (Channels::Rgba, 8),
            Encoding::Bc4 { signed } => (Channels::Gray, if signed { 32 } else { 8 }),
            Encoding::Bc5 { signed } => (Channels::Rgb, if signed { 32 } else { 8 }),
            Encoding::Bc6h { .. } => (Channels::Rgb, 32),
            Encoding::Plain { channels, texel } => (
                match channels {
                    1 => Channels::Gray,
                    2 => Channels::Rgb,
                    _ => Channels::Rgba,
                },
                match texel {
                    Texel::U8 => 8,
                    Texel::U16 => 16,
                    Texel::F16 | Texel::F32 => 32,
                },
            ),
        };
        let summary = TextureSummary { encoding, levels: texture.levels.len(), depth, layers, faces };
        ImageSummary {
            width,
            height,
            channels,
            bits,
            color_space,
            premultiplied,
            texture: Some(summary),
            extra: Vec::new(),
            attributes: Vec::new(),
            parts: Vec::new(),
        }
    }
}
