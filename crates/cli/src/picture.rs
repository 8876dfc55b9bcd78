//! Pictures as files: SVG as it is, or drawn as PNG.
//!
//! What a picture shows is the library's, `polyhaul::report`; `records` says when one is written. The one font is in
//! the program, so that no picture depends on the fonts of a system: 330 Latin letters and signs of Inter 4.001,
//! without hints and tables of layout (`crates/cli/fonts`, with its licence). What it lacks is an empty box.

use crate::file;
use polyhaul::model::{Channels, Image, Samples};
use polyhaul::{Error, ErrorKind, Output, Result, WriteOptions, save_image};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, Tree};
use std::path::Path;
use std::sync::Arc;

/// The endings of files that a picture can be written to.
pub const ENDINGS: &[&str] = &["svg", "png"];

/// Pixels per unit of an SVG, so that text is sharp on today's screens.
const SCALE: f32 = 2.0;
/// No picture of ours has as many pixels; memory for them is not asked for fallibly.
const MOST_PIXELS: u64 = 64_000_000;

const FONT: &[u8] = include_bytes!("../fonts/inter.ttf");
const FONT_NAME: &str = "Inter";

/// Writes a picture: drawn as PNG, with two pixels per unit, where the name ends in `.png`, and else as it is.
///
/// The file is replaced as a whole or not at all. Only the program's own SVG is to be given.
///
/// # Errors
/// The file cannot be written. The picture is no SVG, or too large.
pub fn write(svg: &str, path: &Path) -> Result<()> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
        return save_image(&drawn(svg)?, Output::Path(path.to_owned()), &WriteOptions::default()).map(drop);
    }
    file::write(path, svg.as_bytes())
}

/// The pixels of a picture that covers all of its ground.
fn drawn(svg: &str) -> Result<Image> {
    let fault = |what: String| Error::new(ErrorKind::Internal, format!("cannot draw the chart: {what}"));
    let tree = Tree::from_str(svg, &with_font()).map_err(|error| fault(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let size = size.filter(|size| u64::from(size.width()) * u64::from(size.height()) <= MOST_PIXELS);
    let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixels = pixels.ok_or_else(|| fault("it is too large".into()))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    let samples: Vec<u8> = pixels.pixels().iter().flat_map(|it| [it.red(), it.green(), it.blue()]).collect();
    Ok(Image {
        width: pixels.width() as usize,
        height: pixels.height() as usize,
        channels: Channels::Rgb,
        samples: Samples::U8(samples.into()),
        ..Image::default()
    })
}

/// Options with the one font, whatever a picture asks for.
fn with_font() -> usvg::Options<'static> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FONT_NAME);
    usvg::Options { font_family: FONT_NAME.into(), fontdb: Arc::new(fonts), ..usvg::Options::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture with a bar, and below it a text of which every character is in the font but one.
    fn picture(text: &str) -> Image {
        let bar = "<rect width=\"100\" height=\"50\" fill=\"#fff\"/><rect x=\"10\" width=\"20\" height=\"10\" fill=\"#f00\"/>";
        let text = format!("<text x=\"10\" y=\"40\" font-size=\"20\" text-anchor=\"start\">{text}</text>");
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" font-family=\"Nowhere, sans-serif\">";
        drawn(&format!("{head}{bar}{text}</svg>")).unwrap()
    }

    /// How many pixels of the rows are dark.
    fn dark(image: &Image, rows: std::ops::Range<usize>) -> usize {
        let Samples::U8(samples) = &image.samples else { panic!() };
        let rows = samples.chunks(3 * image.width).skip(rows.start).take(rows.len());
        rows.flat_map(|row| row.chunks(3)).filter(|pixel| pixel.iter().all(|it| *it < 100)).count()
    }

    fn pixel(image: &Image, x: usize, y: usize) -> [u8; 3] {
        let Samples::U8(samples) = &image.samples else { panic!() };
        std::array::from_fn(|channel| samples[3 * (y * image.width + x) + channel])
    }

    #[test]
    fn a_unit_is_two_pixels_and_colours_are_kept() {
        let image = picture("");
        assert_eq!((image.width, image.height, image.samples.len()), (200, 100, 60_000));
        assert_eq!([pixel(&image, 20, 0), pixel(&image, 59, 19)], [[255, 0, 0]; 2]);
        assert_eq!([pixel(&image, 19, 0), pixel(&image, 60, 0), pixel(&image, 20, 20)], [[255; 3]; 3]);
        assert_eq!(dark(&image, 0..100), 0);
    }

    #[test]
    fn text_is_drawn_with_the_font_of_the_program() {
        let (some, other) = (picture("MMM"), picture("..."));
        assert!(dark(&some, 50..82) > 300 && dark(&other, 50..82) < dark(&some, 50..82) / 4);
        assert_eq!((dark(&some, 0..50), dark(&some, 82..100)), (0, 0));
        let [one, two] = ["µ", "↑"].map(|text| dark(&picture(text), 0..100));
        assert!(one > 0 && two > 0 && one != two);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(drawn("no picture").unwrap_err().to_string().contains("cannot draw the chart"));
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1e9\" height=\"1e9\"/>";
        assert!(drawn(huge).unwrap_err().to_string().contains("too large"));
    }
}
