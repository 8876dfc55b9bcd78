//! Draws charts as pixels.
//!
//! Supports only the SVG elements in the library's charts (`crates/insight/src/chart.rs`): a general SVG library would
//! add dozens of crates. The font is embedded, so that charts do not depend on system fonts: 330 Latin letters and
//! symbols of Inter 4.001, without hinting and layout tables (`surfaces/cli/fonts`, with its license). A missing
//! character becomes an empty box.

use polyhaul::model::{Channels, Image, Samples};
use polyhaul::{Error, ErrorKind, Result};
use tiny_skia::{Color, FillRule, LineCap, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// Pixels per SVG unit, for sharp text on high-resolution screens.
const SCALE: f32 = 2.0;
/// Maximum number of pixels; all our charts have fewer. `Pixmap::new` aborts if it cannot allocate the buffer, so the
/// size is checked first.
const MAX_PIXELS: u64 = 64_000_000;

const FONT: &[u8] = include_bytes!("../../fonts/inter.ttf");

/// Draws a chart. The chart must paint its whole background, because the image has no alpha.
///
/// # Errors
/// If `svg` does not start with an `svg` element, has no size, or is too large.
pub(super) fn drawn(svg: &str) -> Result<Image> {
    let fault = |what: &str| Error::new(ErrorKind::Internal, format!("cannot draw the chart: {what}"));
    let mut elements = elements(svg);
    let root = elements.next().filter(|element| element.name == "svg").ok_or_else(|| fault("it is not an SVG"))?;
    let [width, height] = ["width", "height"].map(|name| (root.number(name, 0.0) * SCALE).ceil());
    if f64::from(width) * f64::from(height) > MAX_PIXELS as f64 {
        return Err(fault("it is too large"));
    }
    let pixels = Pixmap::new(width as u32, height as u32).ok_or_else(|| fault("it has no size"))?;
    let font = Face::parse(FONT, 0).map_err(|error| fault(&error.to_string()))?;
    let mut canvas = PictureCanvas { pixels, font };
    elements.for_each(|element| canvas.draw(&element));
    let pixels = canvas.pixels;
    let samples: Vec<u8> =
        pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    Ok(Image {
        width: pixels.width() as usize,
        height: pixels.height() as usize,
        channels: Channels::Rgb,
        samples: Samples::U8(samples.into()),
        ..Image::default()
    })
}

/// An SVG element: its name, its unparsed attributes, and the text up to the next tag.
struct PictureElement<'a> {
    name: &'a str,
    attributes: &'a str,
    text: &'a str,
}

/// Iterates over the elements in order. End tags are included, with names that no drawing code matches.
fn elements(svg: &str) -> impl Iterator<Item = PictureElement<'_>> {
    svg.split('<').skip(1).filter_map(|part| {
        let (tag, text) = part.split_once('>')?;
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        Some(PictureElement { name, attributes, text })
    })
}

impl PictureElement<'_> {
    fn attribute(&self, name: &str) -> Option<&str> {
        let at = self.attributes.match_indices(name).map(|(at, _)| at);
        let mut values = at.filter(|&at| at == 0 || self.attributes.as_bytes()[at - 1] == b' ');
        values.find_map(|at| self.attributes[at + name.len()..].strip_prefix("=\"")?.split('"').next())
    }

    fn number(&self, name: &str, default: f32) -> f32 {
        let number = self.attribute(name).and_then(|value| value.parse::<f32>().ok());
        number.filter(|number| number.is_finite()).unwrap_or(default)
    }

    /// The color of a fill or stroke, if any.
    fn paint(&self, name: &str) -> Option<Paint<'static>> {
        let [r, g, b] = color(self.attribute(name)?)?;
        let opacity = self.number(&format!("{name}-opacity"), 1.0).clamp(0.0, 1.0);
        let mut paint = Paint { anti_alias: true, ..Paint::default() };
        paint.set_color(Color::from_rgba8(r, g, b, (opacity * 255.0).round() as u8));
        Some(paint)
    }

    fn stroke(&self) -> Stroke {
        let dashes: Vec<f32> =
            self.attribute("stroke-dasharray").unwrap_or_default().split(' ').flat_map(str::parse).collect();
        let dash = if dashes.is_empty() { None } else { StrokeDash::new(dashes, 0.0) };
        Stroke { width: self.number("stroke-width", 1.0), line_cap: LineCap::Butt, dash, ..Stroke::default() }
    }

    /// The text, with numeric character references decoded.
    fn plain_text(&self) -> String {
        let mut parts = self.text.split("&#");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (code, rest) = part.split_once(';').unwrap_or((part, ""));
            plain.extend(code.parse().ok().and_then(char::from_u32));
            plain.push_str(rest);
        }
        plain
    }
}

/// Parses a color: `#rgb` or `#rrggbb`.
fn color(text: &str) -> Option<[u8; 3]> {
    let digits = text.strip_prefix('#')?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    match digits.len() {
        3 => Some([8, 4, 0].map(|shift| (value >> shift & 15) as u8 * 17)),
        6 => Some([16, 8, 0].map(|shift| (value >> shift) as u8)),
        _ => None,
    }
}

/// The pixels drawn so far, and the font.
struct PictureCanvas<'f> {
    pixels: Pixmap,
    font: Face<'f>,
}

impl PictureCanvas<'_> {
    /// Draws an element; kinds that charts do not use are ignored.
    fn draw(&mut self, element: &PictureElement<'_>) {
        match element.name {
            "rect" => self.rect(element),
            "line" => {
                let [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(|name| element.number(name, 0.0));
                self.outline(element, [(x1, y1), (x2, y2)].into_iter());
            }
            "polyline" => {
                let points = element.attribute("points").unwrap_or_default().split_ascii_whitespace();
                let points = points.filter_map(|point| point.split_once(','));
                self.outline(element, points.filter_map(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?))));
            }
            "text" => self.text(element),
            _ => {}
        }
    }

    fn rect(&mut self, element: &PictureElement<'_>) {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| element.number(name, 0.0));
        if let Some(rect) = Rect::from_xywh(x, y, width, height)
            && let Some(paint) = element.paint("fill")
        {
            self.pixels.fill_rect(rect, &paint, Transform::from_scale(SCALE, SCALE), None);
        }
    }

    /// Fills and strokes a path through the points, as the element specifies.
    fn outline(&mut self, element: &PictureElement<'_>, mut points: impl Iterator<Item = (f32, f32)>) {
        let mut path = PathBuilder::new();
        let Some((x, y)) = points.next() else { return };
        path.move_to(x, y);
        points.for_each(|(x, y)| path.line_to(x, y));
        let Some(path) = path.finish() else { return };
        let scale = Transform::from_scale(SCALE, SCALE);
        if let Some(paint) = element.paint("fill") {
            self.pixels.fill_path(&path, &paint, FillRule::Winding, scale, None);
        }
        if let Some(paint) = element.paint("stroke") {
            self.pixels.stroke_path(&path, &paint, &element.stroke(), scale, None);
        }
    }

    fn text(&mut self, element: &PictureElement<'_>) {
        let text = element.plain_text();
        let scale = element.number("font-size", 12.0) / f32::from(self.font.units_per_em());
        let glyphs: Vec<_> = text.chars().map(|c| self.font.glyph_index(c).unwrap_or_default()).collect();
        let advance = |glyph: &_| f32::from(self.font.glyph_hor_advance(*glyph).unwrap_or_default()) * scale;
        let width: f32 = glyphs.iter().map(advance).sum();
        let start = match element.attribute("text-anchor") {
            Some("middle") => width / 2.0,
            Some("end") => width,
            _ => 0.0,
        };
        let mut outline = Outline {
            path: PathBuilder::new(),
            x: element.number("x", 0.0) - start,
            y: element.number("y", 0.0),
            scale,
        };
        for glyph in &glyphs {
            self.font.outline_glyph(*glyph, &mut outline);
            outline.x += advance(glyph);
        }
        if let Some(path) = outline.path.finish()
            && let Some(paint) = element.paint("fill").or_else(black)
        {
            self.pixels.fill_path(&path, &paint, FillRule::Winding, Transform::from_scale(SCALE, SCALE), None);
        }
    }
}

/// The default color of text.
fn black() -> Option<Paint<'static>> {
    Some(Paint { anti_alias: true, ..Paint::default() })
}

/// Collects glyph outlines at their positions in a text. The y axis of fonts points up.
struct Outline {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (x1, y1) = self.at(x1, y1);
        let (x, y) = self.at(x, y);
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (x1, y1) = self.at(x1, y1);
        let (x2, y2) = self.at(x2, y2);
        let (x, y) = self.at(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws a bar with `text` below it.
    fn picture(text: &str) -> Image {
        let bar = "<rect width=\"100\" height=\"50\" fill=\"#fff\"/><rect x=\"10\" width=\"20\" height=\"10\" fill=\"#f00\"/>";
        let text = format!("<text x=\"10\" y=\"40\" font-size=\"20\" text-anchor=\"start\">{text}</text>");
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" font-family=\"Nowhere, sans-serif\">";
        drawn(&format!("{head}{bar}{text}</svg>")).unwrap()
    }

    /// The number of dark pixels in these rows.
    fn dark(image: &Image, rows: std::ops::Range<usize>) -> usize {
        let Samples::U8(samples) = &image.samples else { panic!() };
        let rows = samples.chunks(3 * image.width).skip(rows.start).take(rows.len());
        rows.flat_map(|row| row.chunks(3)).filter(|pixel| pixel.iter().all(|sample| *sample < 100)).count()
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
        let letters = picture("MMM");
        let dots = picture("...");
        assert!(dark(&letters, 50..82) > 300 && dark(&dots, 50..82) < dark(&letters, 50..82) / 4);
        assert_eq!((dark(&letters, 0..50), dark(&letters, 82..100)), (0, 0));
        let [micro, arrow] = ["µ", "↑"].map(|text| dark(&picture(text), 0..100));
        assert!(micro > 0 && arrow > 0 && micro != arrow);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(drawn("no picture").unwrap_err().to_string().contains("cannot draw the chart"));
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1e9\" height=\"1e9\"/>";
        assert!(drawn(huge).unwrap_err().to_string().contains("too large"));
    }
}
