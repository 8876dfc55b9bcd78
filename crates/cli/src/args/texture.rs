//! What can be asked for of textures.

use crate::format;
use crate::values;
use clap::{Args, ValueEnum, ValueHint};
use polyhaul::Format;
use polyhaul::model::{ColorSpace, Encoding};
use polyhaul::ops::{Edges, Filter, Quality};
use polyhaul::options::{ImageStyle, Limits};
use polyhaul::textures::TextureOptions;
use std::path::PathBuf;

/// `polyhaul texture`.
#[derive(Debug, Args)]
#[command(after_help = "\
Blocks are chosen by the image, unless --encoding says them: bc5 for normals, bc4 for brightness alone,
bc6h for floats, bc7 for all others. What is unchanged since the last time is skipped: a file
.polyhaul-textures in the folder of the textures says what was done.

Examples:
  polyhaul texture wall.png -o textures
  polyhaul texture assets -o textures --format ktx2     a folder, with all folders below it
  polyhaul texture assets -o textures --quality best    what changed, and all where options did
  polyhaul texture leaf.tga -o textures --alpha-cutoff 0.5 --mips kaiser")]
pub struct TextureArgs {
    /// The images, and folders of images
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// The folder for the textures; those of a folder keep their places below it
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// The format of the textures
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "dds")]
    pub format: Container,
    /// The blocks
    #[arg(long, value_name = "NAME", value_enum, default_value = "auto")]
    pub encoding: Blocks,
    /// How much time blocks may take
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "normal")]
    pub quality: Level,
    /// How mip levels are made
    #[arg(long, value_name = "FILTER", value_enum, default_value = "box")]
    pub mips: Mips,
    /// For mip levels, what lies beyond the edges is the other side: for textures that repeat
    #[arg(long)]
    pub wrap: bool,
    /// Keep the share of pixels with at least this alpha (0 to 1) in all mip levels
    #[arg(long, value_name = "ALPHA", value_parser = cutoff)]
    pub alpha_cutoff: Option<f32>,
    /// All images are maps of normals [default: those whose names end in _n, _nrm, _normal, _normals or _normalmap]
    #[arg(long, conflicts_with = "no_normal_map")]
    pub normal_map: bool,
    /// No image is a map of normals, whatever its name
    #[arg(long)]
    pub no_normal_map: bool,
    /// Colours are in proportion to the light [default: as the file says]
    #[arg(long, conflicts_with = "srgb")]
    pub linear: bool,
    /// Colours are sRGB [default: as the file says]
    #[arg(long)]
    pub srgb: bool,
    /// How hard zstd compresses KTX 2: 1 to 22, or 0 for not at all
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(i32).range(0..=22))]
    pub zstd_level: i32,
    /// Make all textures anew
    #[arg(long)]
    pub force: bool,
    /// The format of the images [default: as their names say, or else their content]
    #[arg(long, value_name = "FORMAT", value_parser = format::parser())]
    pub from: Option<Format>,
    /// Raise or lower a limit
    #[arg(long, value_name = "NAME=N", value_parser = values::limit, help = values::limit_help())]
    pub limit: Vec<values::Limit>,
}

/// A file format of textures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Container {
    /// DirectDraw Surface.
    Dds,
    /// Khronos Texture 2, compressed by zstd.
    Ktx2,
}

/// What textures are made of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Blocks {
    /// As the image is.
    Auto,
    /// Colours without alpha, 4 bits a pixel.
    Bc1,
    /// Colours and alpha, 8 bits a pixel.
    Bc3,
    /// One channel, 4 bits a pixel.
    Bc4,
    /// Two channels, 8 bits a pixel.
    Bc5,
    /// Light, 8 bits a pixel.
    Bc6h,
    /// Colours and alpha in the best quality, 8 bits a pixel.
    Bc7,
    /// Plain bytes, 32 bits a pixel.
    Rgba8,
}

/// How much time blocks may take.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Level {
    /// For previews.
    Fast,
    /// In between.
    Normal,
    /// All that the encoder knows.
    Best,
}

/// How mip levels are made.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Mips {
    /// The mean of an area.
    Box,
    /// Sharper: a sinc under a Kaiser window.
    Kaiser,
    /// There are none.
    None,
}

/// Alpha from 0 to 1.
fn cutoff(text: &str) -> Result<f32, String> {
    let alpha = text.parse().ok().filter(|alpha| (0.0..=1.0).contains(alpha));
    alpha.ok_or_else(|| "expected a number from 0 to 1".into())
}

impl TextureArgs {
    /// What was asked for, as the library has it.
    pub fn options(&self) -> TextureOptions {
        let mut limits = Limits::default();
        self.limit.iter().for_each(|limit| limit.apply(&mut limits));
        TextureOptions {
            encoding: self.encoding.option(),
            quality: match self.quality {
                Level::Fast => Quality::Fast,
                Level::Normal => Quality::Normal,
                Level::Best => Quality::Best,
            },
            mips: match self.mips {
                Mips::Box => Some(Filter::Box),
                Mips::Kaiser => Some(Filter::Kaiser),
                Mips::None => None,
            },
            edges: if self.wrap { Edges::Wrap } else { Edges::Clamp },
            alpha_cutoff: self.alpha_cutoff,
            normal_map: (self.normal_map || self.no_normal_map).then_some(self.normal_map),
            color_space: match (self.linear, self.srgb) {
                (true, _) => Some(ColorSpace::Linear),
                (_, true) => Some(ColorSpace::Srgb),
                _ => None,
            },
            format: Some(match self.format {
                Container::Dds => Format::Dds,
                Container::Ktx2 => Format::Ktx2,
            }),
            image: ImageStyle {
                ktx2_zstd_level: (self.zstd_level > 0).then_some(self.zstd_level),
                ..ImageStyle::default()
            },
            from: self.from,
            limits,
            ..TextureOptions::default()
        }
    }
}

impl Blocks {
    fn option(self) -> Option<Encoding> {
        Some(match self {
            Blocks::Auto => return None,
            Blocks::Bc1 => Encoding::Bc1,
            Blocks::Bc3 => Encoding::Bc3,
            Blocks::Bc4 => Encoding::Bc4 { signed: false },
            Blocks::Bc5 => Encoding::Bc5 { signed: false },
            Blocks::Bc6h => Encoding::Bc6h { signed: false },
            Blocks::Bc7 => Encoding::Bc7,
            Blocks::Rgba8 => Encoding::default(),
        })
    }
}
