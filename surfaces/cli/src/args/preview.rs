//! The options of `polyhaul preview`.

use super::many::FindArgs;
use super::style::ReadArgs;
use clap::{Args, ValueEnum, ValueHint};
use polyhaul::model::{Axes, Axis};
use polyhaul::options::OptionValue;
use polyhaul::preview::{MAX_SIDE, PreviewOptions, Style, View};
use std::path::PathBuf;

/// `polyhaul preview`.
#[derive(Debug, Args)]
#[command(after_help = "\
Scenes, tables of points and splats are drawn; images and textures are scaled down. The same file gives the \
same picture for any number of threads.

Examples:
  polyhaul preview scan.ply -o scan.png
  polyhaul preview part.stl -o part.png --up-axis Z --view front --size 1024x1024
  polyhaul preview assets -o pictures --recursive     a picture of each file of a folder
  polyhaul preview assets -o all.png --recursive --sheet --size 320x240")]
pub struct PreviewArgs {
    /// Input files or folders; `-` reads standard input
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Output image, or a folder for several inputs; `-` writes a PNG to standard output
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::AnyPath)]
    pub output: PathBuf,
    /// Draw all inputs on one contact sheet, with names and sizes; OUT is then an image
    #[arg(long)]
    pub sheet: bool,
    /// Width and height in pixels; with --sheet, of each picture
    #[arg(long, value_name = "WxH", default_value = "800x600", value_parser = size)]
    pub size: [usize; 2],
    /// Direction of view
    #[arg(long, value_name = "VIEW", value_enum, default_value = "camera")]
    pub view: ViewName,
    /// What the picture shows
    #[arg(long, value_name = "STYLE", value_enum, default_value = "shaded")]
    pub style: StyleName,
    /// Draw the scene's shadow on the ground below it (scenes of meshes only)
    #[arg(long)]
    pub ground: bool,
    /// Background as a hexadecimal color, such as fff or 20242b, or `none`
    #[arg(long, value_name = "COLOR", default_value = "eceef1", value_parser = color)]
    pub background: [u8; 4],
    /// Up axis [default: Y]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = Axis::parse)]
    pub up_axis: Option<Axis>,
    /// Selection of files in folders.
    #[command(flatten)]
    pub find: FindArgs,
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// A direction of view by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ViewName {
    /// The scene's camera; `iso` if it has none
    Camera,
    /// From the front, the right and above
    Iso,
    /// From the front
    Front,
    /// From behind
    Back,
    /// From the left
    Left,
    /// From the right
    Right,
    /// From above
    Top,
    /// From below
    Bottom,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StyleName {
    /// Lit surfaces
    Shaded,
    /// Normals as colors
    Normals,
    /// Distance: near is white
    Depth,
    /// A color for each material
    Id,
    /// Texture coordinates: red is u, green is v
    Uv,
    /// Lit surfaces with the edges of faces
    Wire,
}

impl PreviewArgs {
    /// The library's options.
    pub fn options(&self) -> PreviewOptions {
        let view = match self.view {
            ViewName::Camera => View::Camera,
            ViewName::Iso => View::Iso,
            ViewName::Front => View::Front,
            ViewName::Back => View::Back,
            ViewName::Left => View::Left,
            ViewName::Right => View::Right,
            ViewName::Top => View::Top,
            ViewName::Bottom => View::Bottom,
        };
        let style = match self.style {
            StyleName::Shaded => Style::Shaded,
            StyleName::Normals => Style::Normals,
            StyleName::Depth => Style::Depth,
            StyleName::Id => Style::Id,
            StyleName::Uv => Style::Uv,
            StyleName::Wire => Style::Wire,
        };
        let options = PreviewOptions::default().with_size(self.size).with_view(view).with_style(style);
        options.with_background(self.background).with_ground(self.ground).with_axes(self.up_axis.map(axes))
    }
}

/// The axes for an up axis: forward is -Z if Y or -Y is up, as in OBJ, and otherwise Y, as in Blender.
fn axes(up: Axis) -> Axes {
    let forward = if matches!(up, Axis::Y | Axis::NegativeY) { Axis::NegativeZ } else { Axis::Y };
    Axes { forward, up }
}

fn size(text: &str) -> std::result::Result<[usize; 2], String> {
    let parts = text.split_once(['x', 'X', '×']).map(|(width, height)| (width.parse(), height.parse()));
    match parts {
        Some((Ok(width), Ok(height))) if [width, height].iter().all(|side| (1..=MAX_SIDE).contains(side)) => {
            Ok([width, height])
        }
        _ => Err(format!("expected a width and a height from 1 to {MAX_SIDE}, such as 800x600")),
    }
}

fn color(text: &str) -> std::result::Result<[u8; 4], String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    if digits == "none" {
        return Ok([0; 4]);
    }
    let long = match digits.len() {
        3 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        _ => digits.to_owned(),
    };
    let value = u32::from_str_radix(&long, 16).ok().filter(|_| long.len() == 6 && !long.starts_with('+'));
    let value = value.ok_or_else(|| "expected a color such as fff or 20242b, or none".to_owned())?;
    let [_, r, g, b] = value.to_be_bytes();
    Ok([r, g, b, 255])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_colors_have_one_form() {
        assert_eq!((size("800x600"), size("1X2")), (Ok([800, 600]), Ok([1, 2])));
        for wrong in ["800", "0x1", "1x0", "1x99999", "axb", "1x2x3", "-1x2"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!((color("fff"), color("#20242B")), (Ok([255; 4]), Ok([0x20, 0x24, 0x2B, 255])));
        assert_eq!(color("none"), Ok([0; 4]));
        for wrong in ["", "ff", "fffff", "+fffff", "ggg", "äöü"] {
            assert!(color(wrong).is_err(), "{wrong}");
        }
    }
}
