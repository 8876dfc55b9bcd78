//! Contact sheets: a grid of pictures with captions.

use crate::MAX_SIDE;
use crate::font::{ADVANCE, GLYPH, columns};
use crate::frame::Frame;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Channels, Image, Samples};

/// Margin around and between pictures, in pixels.
const GAP: usize = 8;
/// Caption lines per picture, and the line height in pixels.
const LINES: usize = 2;
const LINE: usize = 10;

/// A contact sheet with cells of equal size.
pub struct Sheet {
    /// Width and height of a cell.
    cell: [usize; 2],
    columns: usize,
    size: [usize; 2],
    pixels: Vec<u8>,
}

impl Sheet {
    /// Allocates a white sheet for `count` pictures of at most `cell` pixels.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if a side would exceed [`MAX_SIDE`]; [`ErrorKind::Memory`].
    pub fn new(count: usize, cell: [usize; 2]) -> Result<Sheet> {
        Frame::check_size(cell)?;
        // A larger count exceeds the limit anyway, and the clamp avoids overflow.
        let count = count.min(MAX_SIDE * MAX_SIDE);
        let [wide, high] = [cell[0] + GAP, cell[1] + GAP + LINES * LINE];
        // Aims for an aspect ratio of 4:3.
        let columns = ((count * high) as f64 * 4.0 / 3.0 / wide as f64).sqrt().round().max(1.0) as usize;
        let columns = columns.min(count.max(1));
        let size = [columns * wide + GAP, count.max(1).div_ceil(columns) * high + GAP];
        if size.iter().any(|&side| side > MAX_SIDE) {
            let message = format!("a sheet of {count} pictures would have {} x {} pixels", size[0], size[1]);
            let error = Error::new(ErrorKind::Usage, format!("{message}; expected at most {MAX_SIDE} on each side"));
            return Err(error.with_hint("use smaller pictures or several sheets"));
        }
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(4 * size[0] * size[1]).map_err(|_| Error::memory("a sheet"))?;
        pixels.resize(4 * size[0] * size[1], u8::MAX);
        Ok(Sheet { cell, columns, size, pixels })
    }

    /// Fills a cell with an optional picture and a caption. Long lines are truncated at the start.
    pub fn put(&mut self, number: usize, picture: Option<&Image>, lines: &[&str]) {
        let [wide, high] = [self.cell[0] + GAP, self.cell[1] + GAP + LINES * LINE];
        let left = GAP + number % self.columns * wide;
        let top = GAP + number / self.columns * high;
        if let Some(picture) = picture {
            self.picture(picture, [left, top]);
        }
        for (row, line) in lines.iter().take(LINES).enumerate() {
            let room = self.cell[0] / ADVANCE;
            let count = line.chars().count();
            let shade = if row == 0 { 40 } else { 120 };
            for (place, letter) in line.chars().skip(count.saturating_sub(room)).enumerate() {
                self.letter(letter, [left + place * ADVANCE, top + self.cell[1] + 3 + row * LINE], shade);
            }
        }
    }

    /// Centers a picture in its cell, composited over white.
    fn picture(&mut self, picture: &Image, [left, top]: [usize; 2]) {
        let short;
        let samples = match &picture.samples {
            Samples::U8(samples) => &samples[..],
            Samples::U16(samples) => {
                short = samples.iter().map(|&sample| (sample >> 8) as u8).collect::<Vec<_>>();
                &short[..]
            }
            Samples::F32(_) => return,
        };
        let count = picture.channels.count();
        let [width, height] = [picture.width.min(self.cell[0]), picture.height.min(self.cell[1])];
        let left = left + (self.cell[0] - width) / 2;
        let top = top + (self.cell[1] - height) / 2;
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let at = (y * picture.width + x) * count;
            let Some(pixel) = samples.get(at..at + count) else { return };
            let (color, alpha) = match *pixel {
                [gray] => ([gray; 3], u8::MAX),
                [gray, alpha] => ([gray; 3], alpha),
                [r, g, b] => ([r, g, b], u8::MAX),
                [r, g, b, alpha] => ([r, g, b], alpha),
                _ => continue,
            };
            let alpha = u32::from(alpha);
            let mixed = color.map(|channel| ((u32::from(channel) * alpha + 255 * (255 - alpha) + 127) / 255) as u8);
            self.set([left + x, top + y], mixed);
        }
    }

    fn letter(&mut self, letter: char, [left, top]: [usize; 2], shade: u8) {
        for (x, column) in columns(letter).into_iter().enumerate() {
            for y in (0..GLYPH[1]).filter(|y| column >> y & 1 != 0) {
                self.set([left + x, top + y], [shade; 3]);
            }
        }
    }

    fn set(&mut self, [x, y]: [usize; 2], color: [u8; 3]) {
        let at = 4 * (y * self.size[0] + x);
        if let Some(pixel) = self.pixels.get_mut(at..at + 3).filter(|_| x < self.size[0]) {
            pixel.copy_from_slice(&color);
        }
    }

    /// Returns the finished sheet.
    pub fn finish(self) -> Image {
        let [width, height] = self.size;
        Image { width, height, channels: Channels::Rgba, samples: Samples::U8(self.pixels.into()), ..Image::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_and_text_are_in_their_cells() {
        let mut sheet = Sheet::new(3, [40, 30]).unwrap();
        let red = Samples::U8([255, 0, 0, 255].repeat(20 * 10).into());
        let picture = Image { width: 20, height: 10, channels: Channels::Rgba, samples: red, ..Image::default() };
        sheet.put(0, Some(&picture), &["a name that is far too long.obj", "1 kB", "not shown"]);
        sheet.put(2, None, &["\u{e4}"]);
        let [width, height] = sheet.size;
        assert_eq!((width, height), (2 * 48 + 8, 2 * 58 + 8));
        let image = sheet.finish();
        let Samples::U8(pixels) = &image.samples else { panic!("not bytes") };
        let count = |color: [u8; 3]| pixels.chunks(4).filter(|pixel| pixel[..3] == color).count();
        assert_eq!(count([255, 0, 0]), 200);
        // The center of the first cell.
        assert_eq!(pixels[4 * ((8 + 10) * width + 8 + 10)..][..3], [255, 0, 0]);
        assert!(count([40; 3]) > 50 && count([120; 3]) > 10);
        assert!(Sheet::new(100_000, [800, 600]).is_err());
        Sheet::new(0, [10, 10]).unwrap().put(7, Some(&image), &["outside"]);
    }
}
