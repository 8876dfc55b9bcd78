//! Chooses the encoding of a texture and the interpretation of its samples.

use super::TextureOptions;
use polyhaul_bytes::Codec;
use polyhaul_model::{Channels, ColorSpace, Encoding, Image, SampleType, Samples, Texel};
use std::path::Path;

/// Suffixes of normal map names, in any case.
const NORMAL_NAMES: [&str; 5] = ["_n", "_nrm", "_normal", "_normals", "_normalmap"];

/// Settings for an image.
pub(super) struct Chosen {
    pub(super) encoding: Encoding,
    pub(super) is_normal: bool,
    /// Color space in which to interpret the samples.
    pub(super) color_space: ColorSpace,
    /// Conversion of the samples before anything else.
    pub(super) samples: Option<(SampleType, ColorSpace)>,
}

/// Chooses settings for the image in the file `name`.
pub(super) fn choose(image: &Image, name: &str, options: &TextureOptions) -> Chosen {
    let has_colors = image.channels.colors() == 3;
    let is_normal = options.normal_map.unwrap_or_else(|| has_colors && names_normals(name));
    let encoding = options.encoding.unwrap_or_else(|| encoding(image, is_normal, options.color_space));
    let is_data = is_normal || matches!(encoding, Encoding::Bc4 { .. } | Encoding::Bc5 { .. });
    let said = options.color_space.unwrap_or(image.color_space);
    let color_space = if is_data { ColorSpace::Linear } else { said };
    let is_light = SampleType::from_samples(&image.samples) == SampleType::F32;
    // Linear light needs more than 8 bits, so convert it to sRGB.
    let samples = (is_light && is_bytes(encoding) && !is_data).then_some((SampleType::U8, ColorSpace::Srgb));
    Chosen { encoding, is_normal, color_space, samples }
}

fn encoding(image: &Image, is_normal: bool, color_space: Option<ColorSpace>) -> Encoding {
    let is_light = matches!(image.samples, Samples::F32(_));
    match image.channels {
        _ if is_normal => Encoding::Bc5 { signed: false },
        // BC4 has no sRGB variant.
        Channels::Gray if !is_light && color_space != Some(ColorSpace::Srgb) => Encoding::Bc4 { signed: false },
        channels if is_light && channels.has_alpha() => Encoding::Plain { channels: 4, texel: Texel::F16 },
        _ if is_light => Encoding::Bc6h { signed: false },
        _ => Encoding::Bc7,
    }
}

/// Whether the encoding stores 8-bit colors.
fn is_bytes(encoding: Encoding) -> bool {
    !matches!(encoding, Encoding::Bc6h { .. } | Encoding::Plain { texel: Texel::U16 | Texel::F16 | Texel::F32, .. })
}

/// Whether a file name suggests a normal map.
fn names_normals(name: &str) -> bool {
    let plain = Codec::of_name(name).map_or(name, |(_, plain)| plain);
    let Some(stem) = Path::new(plain).file_stem() else { return false };
    let stem = stem.to_string_lossy().to_ascii_lowercase();
    NORMAL_NAMES.iter().any(|end| stem.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_normals() {
        for name in ["a/wall_n.png", "wall_Normal.TGA", "wall_nrm.tga.gz", "x_normalmap.exr"] {
            assert!(names_normals(name), "{name}");
        }
        for name in ["a_n/wall.png", "column.png", "_nothing.tga", "plain", ""] {
            assert!(!names_normals(name), "{name}");
        }
    }

    #[test]
    fn images_choose_their_blocks() {
        let image = |channels, samples| Image { channels, samples, ..Image::default() };
        let bytes = Samples::U8([].into());
        let light = Samples::F32([].into());
        let chosen = |image: &Image, name| choose(image, name, &TextureOptions::default());
        let color = image(Channels::Rgb, bytes.clone());
        assert_eq!(chosen(&color, "a.png").encoding, Encoding::Bc7);
        let normal = chosen(&color, "a_n.png");
        assert_eq!((normal.encoding, normal.color_space), (Encoding::Bc5 { signed: false }, ColorSpace::Linear));
        let gray = image(Channels::Gray, bytes.clone());
        assert_eq!(chosen(&gray, "a_n.png").encoding, Encoding::Bc4 { signed: false });
        let shown = TextureOptions { color_space: Some(ColorSpace::Srgb), ..TextureOptions::default() };
        assert_eq!(choose(&gray, "a.png", &shown).encoding, Encoding::Bc7);
        assert_eq!(chosen(&image(Channels::Rgb, light.clone()), "a").encoding, Encoding::Bc6h { signed: false });
        let halves = Encoding::Plain { channels: 4, texel: Texel::F16 };
        assert_eq!(chosen(&image(Channels::Rgba, light.clone()), "a").encoding, halves);
        let options = TextureOptions { encoding: Some(Encoding::Bc1), ..TextureOptions::default() };
        let made = choose(&image(Channels::Rgb, light), "a", &options);
        assert_eq!(made.samples, Some((SampleType::U8, ColorSpace::Srgb)));
    }
}
