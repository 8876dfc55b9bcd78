//! The options of `polyhaul texture`. They are implemented in the library (`TextureOptions`).

use crate::format;
use clap::{Args, ValueEnum, ValueHint};
use polyhaul::Format;
use polyhaul::model::{ColorSpace, Encoding};
use polyhaul::ops::{BlockQuality, MipmapEdges, MipmapFilter};
use polyhaul::options::ImageWriteOptions;
use polyhaul::textures::TextureOptions;
use std::path::PathBuf;

/// `polyhaul texture`.
#[derive(Debug, Args)]
#[command(after_help = "\
The block format depends on the image unless --encoding is given: bc5 for normal maps, bc4 for
grayscale, bc6h for floats, bc7 otherwise. Unchanged images are skipped: the file .polyhaul-textures in
the output folder records what was converted.

Examples:
  polyhaul texture wall.png -o textures
  polyhaul texture assets -o textures --format ktx2     convert a folder and its subfolders
  polyhaul texture assets -o textures --quality best    convert again with other options
  polyhaul texture leaf.tga -o textures --alpha-cutoff 0.5 --mips kaiser")]
pub struct TextureArgs {
    /// Images, or folders of images
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Output folder; subfolders are kept
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// File format of the textures
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "dds")]
    pub format: Container,
    /// Block format
    #[arg(long, value_name = "NAME", value_enum, default_value = "auto")]
    pub encoding: TextureBlocks,
    /// Quality of block compression
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "normal")]
    pub quality: TextureLevel,
    /// Filter for mipmaps
    #[arg(long, value_name = "FILTER", value_enum, default_value = "box")]
    pub mips: Mips,
    /// Wrap around at the edges when filtering, for textures that repeat
    #[arg(long)]
    pub wrap: bool,
    /// Preserve the coverage of this alpha cutoff (0 to 1) in all mip levels
    #[arg(long, value_name = "ALPHA", value_parser = cutoff)]
    pub alpha_cutoff: Option<f32>,
    /// Treat all images as normal maps [default: those named *_n, *_nrm, *_normal, *_normals or *_normalmap]
    #[arg(long, conflicts_with = "no_normal_map")]
    pub normal_map: bool,
    /// Treat no image as a normal map
    #[arg(long)]
    pub no_normal_map: bool,
    /// Treat colors as linear [default: as declared in the file]
    #[arg(long, conflicts_with = "srgb")]
    pub linear: bool,
    /// Treat colors as sRGB [default: as declared in the file]
    #[arg(long)]
    pub srgb: bool,
    /// zstd level for KTX2: 1 to 22, or 0 for no compression
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(i32).range(0..=22))]
    pub zstd_level: i32,
    /// Convert all images, including unchanged ones
    #[arg(long)]
    pub force: bool,
    /// Format of the images [default: from the file extension, else from the content]
    #[arg(long, value_name = "FORMAT", value_parser = format::parser())]
    pub from: Option<Format>,
    /// Change a limit
    #[arg(long, value_name = "NAME=N", value_parser = super::options::limit, help = super::options::limit_help())]
    pub limit: Vec<(String, String)>,
}

/// A file format of textures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Container {
    /// DirectDraw Surface
    Dds,
    /// Khronos Texture 2, compressed with zstd
    Ktx2,
}

/// What textures are made of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TextureBlocks {
    /// Chosen for each image
    Auto,
    /// RGB, 4 bits per pixel
    Bc1,
    /// RGBA, 8 bits per pixel
    Bc3,
    /// One channel, 4 bits per pixel
    Bc4,
    /// Two channels, 8 bits per pixel
    Bc5,
    /// HDR RGB, 8 bits per pixel
    Bc6h,
    /// RGBA in the best quality, 8 bits per pixel
    Bc7,
    /// Uncompressed RGBA, 32 bits per pixel
    Rgba8,
}

/// How much time blocks may take.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TextureLevel {
    /// For previews
    Fast,
    /// Balance of speed and quality
    Normal,
    /// Slowest
    Best,
}

/// How mip levels are made.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Mips {
    /// Mean of an area
    Box,
    /// Sharper: Kaiser-windowed sinc
    Kaiser,
    /// No mipmaps
    None,
}

/// Alpha from 0 to 1.
fn cutoff(text: &str) -> Result<f32, String> {
    let alpha = text.parse().ok().filter(|alpha| (0.0..=1.0).contains(alpha));
    alpha.ok_or_else(|| "expected a number from 0 to 1".into())
}

impl TextureArgs {
    /// The requested options in the library's form.
    pub fn options(&self) -> TextureOptions {
        TextureOptions::default()
            .with_encoding(self.encoding.option())
            .with_quality(match self.quality {
                TextureLevel::Fast => BlockQuality::Fast,
                TextureLevel::Normal => BlockQuality::Normal,
                TextureLevel::Best => BlockQuality::Best,
            })
            .with_mips(match self.mips {
                Mips::Box => Some(MipmapFilter::Box),
                Mips::Kaiser => Some(MipmapFilter::Kaiser),
                Mips::None => None,
            })
            .with_edges(if self.wrap { MipmapEdges::Wrap } else { MipmapEdges::Clamp })
            .with_alpha_cutoff(self.alpha_cutoff)
            .with_normal_map((self.normal_map || self.no_normal_map).then_some(self.normal_map))
            .with_color_space(match (self.linear, self.srgb) {
                (true, _) => Some(ColorSpace::Linear),
                (_, true) => Some(ColorSpace::Srgb),
                _ => None,
            })
            .with_format(Some(match self.format {
                Container::Dds => Format::Dds,
                Container::Ktx2 => Format::Ktx2,
            }))
            .with_image(ImageWriteOptions::default().with_zstd_level(self.zstd_level))
            .with_from(self.from)
            .with_limits(super::options::limits(&self.limit))
    }
}

impl TextureBlocks {
    fn option(self) -> Option<Encoding> {
        Some(match self {
            TextureBlocks::Auto => return None,
            TextureBlocks::Bc1 => Encoding::Bc1,
            TextureBlocks::Bc3 => Encoding::Bc3,
            TextureBlocks::Bc4 => Encoding::Bc4 { signed: false },
            TextureBlocks::Bc5 => Encoding::Bc5 { signed: false },
            TextureBlocks::Bc6h => Encoding::Bc6h { signed: false },
            TextureBlocks::Bc7 => Encoding::Bc7,
            TextureBlocks::Rgba8 => Encoding::default(),
        })
    }
}
