//! The options of `polyhaul texture`. The library implements them (`TextureOptions`).
//!
//! Most flags are generated from the library's options, as for all subcommands. This module declares the inputs and
//! outputs, flags that stand for a single value of an option, and `--alpha-cutoff`, because no kind of option for
//! fractional numbers accepts 0.

use super::options::{FlagGroup, GivenOptions};
use super::style::SourceArgs;
use crate::format;
use clap::{Args, ValueHint};
use polyhaul::model::ColorSpace;
use polyhaul::ops::MipmapEdges;
use polyhaul::options::{ImageWriteOptions, OptionRow};
use polyhaul::textures::TextureOptions;
use polyhaul::{Format, Result};
use std::path::PathBuf;

/// The heading of the flags that stand for options of [`TextureOptions`].
const HEADING: &str = "Converting to textures";

/// `polyhaul texture`.
#[derive(Debug, Args)]
#[command(after_help = "\
The block format depends on the image unless --encoding is given: bc5 for normal maps, bc4 for \
grayscale, bc6h for floats, bc7 otherwise. Unchanged images are skipped: the file .polyhaul-textures in \
the output folder records what was converted.

Examples:
  polyhaul texture wall.png -o textures
  polyhaul texture assets -o textures --to ktx2         convert a folder and its subfolders
  polyhaul texture assets -o textures --quality best    convert again with other options
  polyhaul texture leaf.tga -o textures --alpha-cutoff 0.5 --mips kaiser")]
pub struct TextureArgs {
    /// Images, or folders of images
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Output folder; subfolders are kept
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Format of the textures
    // The output format, which the table of options calls `format`. Here it has a default.
    #[arg(long, alias = "format", value_name = "FORMAT", value_parser = format::texture_parser(), default_value = "dds")]
    pub to: Format,
    /// Texture options.
    #[command(flatten)]
    pub style: GivenOptions<TextureOptions>,
    /// Wrap around at the edges when filtering, for textures that repeat
    #[arg(long, help_heading = HEADING)]
    pub wrap: bool,
    /// Preserve the coverage of this alpha cutoff (0 to 1) in all mip levels
    #[arg(long, value_name = "ALPHA", value_parser = cutoff, help_heading = HEADING)]
    pub alpha_cutoff: Option<f32>,
    /// Treat all images as normal maps [default: those named *_n, *_nrm, *_normal, *_normals or *_normalmap]
    #[arg(long, conflicts_with = "no_normal_map", help_heading = HEADING)]
    pub normal_map: bool,
    /// Treat no image as a normal map
    #[arg(long, help_heading = HEADING)]
    pub no_normal_map: bool,
    /// Treat colors as linear [default: as declared in the file]
    #[arg(long, conflicts_with = "srgb", help_heading = HEADING)]
    pub linear: bool,
    /// Treat colors as sRGB [default: as declared in the file]
    #[arg(long, help_heading = HEADING)]
    pub srgb: bool,
    /// Options for writing textures.
    #[command(flatten)]
    pub write: GivenOptions<ImageWriteOptions>,
    /// Convert all images, including unchanged ones
    // Only this subcommand skips what it converted before.
    #[arg(long)]
    pub force: bool,
    /// The format and the limits of the images.
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Options that have shorter flags for their values.
const BY_FLAGS: [&str; 3] = ["edges", "normal_map", "color_space"];

impl FlagGroup for TextureOptions {
    const HEADING: &str = "Converting to";
    const SIDE: &str = "output";

    fn has(row: &OptionRow) -> bool {
        !BY_FLAGS.contains(&row.name)
    }
}

impl FlagGroup for ImageWriteOptions {
    const HEADING: &str = "Writing";
    const SIDE: &str = "output";

    fn has(row: &OptionRow) -> bool {
        row.formats == ["ktx2"]
    }
}

/// Parses an alpha cutoff from 0 to 1.
fn cutoff(text: &str) -> std::result::Result<f32, String> {
    let alpha = text.parse().ok().filter(|alpha| (0.0..=1.0).contains(alpha));
    alpha.ok_or_else(|| "expected a number from 0 to 1".into())
}

impl TextureArgs {
    /// Converts the flags to the library's options.
    ///
    /// # Errors
    /// As for [`GivenOptions::apply`].
    pub fn options(&self) -> Result<TextureOptions> {
        let color_space = match (self.linear, self.srgb) {
            (true, _) => Some(ColorSpace::Linear),
            (_, true) => Some(ColorSpace::Srgb),
            _ => None,
        };
        let mut options = TextureOptions::default()
            .with_edges(if self.wrap { MipmapEdges::Wrap } else { MipmapEdges::Clamp })
            .with_alpha_cutoff(self.alpha_cutoff)
            .with_normal_map((self.normal_map || self.no_normal_map).then_some(self.normal_map))
            .with_color_space(color_space)
            .with_format(Some(self.to))
            .with_from(self.source.from)
            .with_limits(self.source.limits());
        self.style.apply(&mut options)?;
        self.write.apply(&mut options.image)?;
        Ok(options)
    }
}
