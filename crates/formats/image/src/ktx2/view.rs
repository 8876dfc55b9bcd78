//! The orientation and channel order of a KTX2 file: the keys `KTXorientation` and `KTXswizzle`.
//!
//! An entry is the size of key and value (4 bytes), the key, a zero byte, the value, and padding to 4 bytes.

use crate::orient::Orientation;
use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Channels, Encoding, Image, Samples, Texture};
use polyhaul_pipeline::options::ParseOptions;
use std::sync::Arc;

/// Orientation and swizzle of pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ktx2View {
    orientation: Orientation,
    /// Whether the slices of a volume are reversed.
    is_reversed: bool,
    /// Sources of red, green, blue and alpha, if the channels are swizzled.
    swizzle: Option<[SwizzleSource; 4]>,
}

/// The source of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SwizzleSource {
    /// A channel by index.
    Channel(usize),
    Zero,
    One,
}

const IDENTITY: [SwizzleSource; 4] =
    [SwizzleSource::Channel(0), SwizzleSource::Channel(1), SwizzleSource::Channel(2), SwizzleSource::Channel(3)];

impl SwizzleSource {
    fn from_letter(letter: u8) -> Option<SwizzleSource> {
        Some(match letter {
            b'r' => SwizzleSource::Channel(0),
            b'g' => SwizzleSource::Channel(1),
            b'b' => SwizzleSource::Channel(2),
            b'a' => SwizzleSource::Channel(3),
            b'0' => SwizzleSource::Zero,
            b'1' => SwizzleSource::One,
            _ => return None,
        })
    }

    /// Returns the sample of a pixel. Missing colors are 0, and missing alpha is the maximum.
    fn of<T: Copy>(self, pixel: &[T], channels: Channels, full: T, zero: T) -> T {
        let place = match (self, channels) {
            (SwizzleSource::Zero, _) => return zero,
            (SwizzleSource::One, _) => return full,
            (SwizzleSource::Channel(3), Channels::GrayAlpha) => 1,
            (SwizzleSource::Channel(place), Channels::Rgb | Channels::Rgba) => place,
            (SwizzleSource::Channel(0), _) => 0,
            (SwizzleSource::Channel(3), _) => return full,
            _ => return zero,
        };
        pixel.get(place).copied().unwrap_or(full)
    }
}

impl Ktx2View {
    pub(super) fn from_keys(mut content: &[u8]) -> Ktx2View {
        let mut view = Ktx2View::default();
        while let Some((size, rest)) = content.split_first_chunk() {
            let size = u32::from_le_bytes(*size) as usize;
            let Some(entry) = rest.get(..size) else { break };
            let mut parts = entry.split(|byte| *byte == 0);
            let key = parts.next().unwrap_or_default();
            let value = parts.next().unwrap_or_default();
            match key {
                b"KTXorientation" => view.set_orientation(value),
                b"KTXswizzle" => view.set_swizzle(value),
                _ => {}
            }
            content = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
        view
    }

    fn set_orientation(&mut self, value: &[u8]) {
        // The defaults are `r`, `d` and `i`: right, down, and into the screen.
        self.orientation.is_mirrored = value.first() == Some(&b'l');
        self.orientation.is_flipped = value.get(1) == Some(&b'u');
        self.is_reversed = value.get(2) == Some(&b'o');
    }

    fn set_swizzle(&mut self, value: &[u8]) {
        let Some(letters) = value.first_chunk::<4>() else { return };
        let components = letters.map(SwizzleSource::from_letter);
        if let [Some(red), Some(green), Some(blue), Some(alpha)] = components {
            self.swizzle = Some([red, green, blue, alpha]).filter(|swizzle| *swizzle != IDENTITY);
        }
    }

    /// Applies swizzle and orientation to a decoded image.
    pub(super) fn apply(self, image: &mut Image) -> Result<()> {
        if let Some(swizzle) = self.swizzle {
            swizzled(image, swizzle)?;
        }
        self.orientation.apply(image)
    }

    /// Applies orientation and swizzle to uncompressed pixels. Warns if either cannot be applied.
    pub(super) fn apply_to_texture(
        self,
        texture: &mut Texture,
        file: &Arc<str>,
        options: &ParseOptions,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let mut note =
            |code, message: &str| warnings.note_dropped(options.faults, code, 1, Diagnostic::of_file(file, message));
        let is_plain = matches!(texture.encoding, Encoding::Plain { .. }) && texture.depth == 1;
        if is_plain {
            turn(texture, self.orientation)?;
        } else if !self.orientation.is_plain() {
            let message = "rows or columns are reversed (KTXorientation); blocks are kept as stored";
            note("unapplied-orientation", message)?;
        }
        if self.is_reversed && texture.depth > 1 {
            note("unapplied-orientation", "slices are reversed (KTXorientation); they are kept as stored")?;
        }
        let Some(swizzle) = self.swizzle else { return Ok(()) };
        match texture.encoding {
            Encoding::Plain { channels: 4, texel } if !matches!(swizzle, [_, _, _, SwizzleSource::Zero]) => {
                // The bytes of the maximum, which is 1 for floats.
                let full = match texel {
                    polyhaul_model::Texel::U8 => &[0xFF][..],
                    polyhaul_model::Texel::U16 => &[0xFF; 2],
                    polyhaul_model::Texel::F16 => &[0, 0x3C],
                    polyhaul_model::Texel::F32 => &[0, 0, 0x80, 0x3F],
                };
                swizzle_texels(texture, swizzle, full)
            }
            _ => note("unapplied-swizzle", "channels are swizzled (KTXswizzle); they are kept as stored"),
        }
    }
}

/// Reorients every image of an uncompressed texture.
fn turn(texture: &mut Texture, orientation: Orientation) -> Result<()> {
    if orientation.is_plain() {
        return Ok(());
    }
    let pixel_bytes = texture.encoding.bytes();
    for number in 0..texture.levels.len() {
        let [width, height, _] = texture.level_size(number);
        let mut turned = Vec::new();
        let level = &texture.levels[number];
        turned.try_reserve_exact(level.len()).map_err(|_| Error::memory("pixels"))?;
        for picture in level.chunks_exact(width * height * pixel_bytes) {
            turned.extend(orientation.turned(picture, [width, height], [width, height], pixel_bytes)?);
        }
        texture.levels[number] = turned.into();
    }
    Ok(())
}

/// Swizzles the channels of uncompressed pixels, with `full` as the bytes of their maximum.
fn swizzle_texels(texture: &mut Texture, swizzle: [SwizzleSource; 4], full: &[u8]) -> Result<()> {
    let size = full.len();
    for level in &mut texture.levels {
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(level.len()).map_err(|_| Error::memory("pixels"))?;
        for pixel in level.chunks_exact(4 * size) {
            for component in swizzle {
                match component {
                    SwizzleSource::Channel(place) => pixels.extend_from_slice(&pixel[place * size..(place + 1) * size]),
                    SwizzleSource::Zero => pixels.extend(std::iter::repeat_n(0, size)),
                    SwizzleSource::One => pixels.extend_from_slice(full),
                }
            }
        }
        *level = pixels.into();
    }
    Ok(())
}

/// Swizzles the channels of an image. Equal sources of red, green and blue make it gray.
fn swizzled(image: &mut Image, swizzle: [SwizzleSource; 4]) -> Result<()> {
    let [red, green, blue, alpha] = swizzle;
    let is_gray = red == green && red == blue;
    let is_opaque = alpha == SwizzleSource::One || alpha == SwizzleSource::Channel(3) && !image.channels.has_alpha();
    let (channels, sources) = match (is_gray, is_opaque) {
        (true, true) => (Channels::Gray, vec![red]),
        (true, false) => (Channels::GrayAlpha, vec![red, alpha]),
        (false, true) => (Channels::Rgb, vec![red, green, blue]),
        (false, false) => (Channels::Rgba, vec![red, green, blue, alpha]),
    };
    image.samples = match &image.samples {
        Samples::U8(samples) => Samples::U8(exchanged(samples, image.channels, &sources, u8::MAX, 0)?.into()),
        Samples::U16(samples) => Samples::U16(exchanged(samples, image.channels, &sources, u16::MAX, 0)?.into()),
        Samples::F32(samples) => Samples::F32(exchanged(samples, image.channels, &sources, 1.0, 0.0)?.into()),
    };
    image.channels = channels;
    Ok(())
}

fn exchanged<T: Copy>(
    samples: &[T],
    channels: Channels,
    sources: &[SwizzleSource],
    full: T,
    zero: T,
) -> Result<Vec<T>> {
    let pixels = samples.chunks_exact(channels.count());
    let mut to = Vec::new();
    to.try_reserve_exact(pixels.len() * sources.len()).map_err(|_| Error::memory("an image"))?;
    for pixel in pixels {
        to.extend(sources.iter().map(|source| source.of(pixel, channels, full, zero)));
    }
    Ok(to)
}
