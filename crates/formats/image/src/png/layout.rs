//! Converts unfiltered rows of a PNG file to pixels of the model.

use png::{ColorType, Info};
use polyhaul_model::Channels;
use polyhaul_model::error::{Error, Result, planted};

/// The layout of stored pixels.
pub(super) struct PngLayout {
    /// Bits per sample.
    bits: usize,
    /// Samples per stored pixel.
    stored: usize,
    /// The transparent color (`tRNS`).
    key: Option<[u16; 3]>,
    /// The palette, for indexed pixels.
    palette: Option<Vec<[u8; 4]>>,
    /// The channels after conversion.
    pub(super) channels: Channels,
}

/// A pixel with an index outside the palette, by its position in the row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unmapped(pub(super) usize);

/// A sample type that rows are converted to.
pub(super) trait PngSample: Copy + Default + Send + Sync {
    /// Returns samples as the bytes of a row, if they have the same layout.
    fn as_bytes(samples: &mut [Self]) -> Option<&mut [u8]>;

    /// Returns the bytes of a row as samples, if they have the same layout.
    fn from_bytes(row: &[u8]) -> Option<&[Self]>;

    /// Appends the pixels of a row; `to` must have enough capacity.
    fn expand(layout: &PngLayout, row: &[u8], width: usize, to: &mut Vec<Self>) -> std::result::Result<(), Unmapped>;
}

impl PngLayout {
    /// Determines the layout from the chunks before the pixels.
    pub(super) fn new(info: &Info<'_>) -> Result<PngLayout> {
        let bits = info.bit_depth as usize;
        let trns = info.trns.as_deref();
        let (channels, with_alpha) = match info.color_type {
            ColorType::Grayscale => (Channels::Gray, Channels::GrayAlpha),
            ColorType::GrayscaleAlpha => (Channels::GrayAlpha, Channels::GrayAlpha),
            ColorType::Rgb | ColorType::Indexed => (Channels::Rgb, Channels::Rgba),
            ColorType::Rgba => (Channels::Rgba, Channels::Rgba),
        };
        let is_mapped = info.color_type == ColorType::Indexed;
        let stored = if is_mapped { 1 } else { channels.count() };
        let palette = is_mapped.then(|| palette(info.palette.as_deref().unwrap_or(&[]), trns.unwrap_or(&[])));
        let key = trns.filter(|_| !is_mapped).map(|trns| key(trns, bits));
        let channels = if trns.is_some() { with_alpha } else { channels };
        Ok(PngLayout { bits, stored, key, palette: palette.transpose()?, channels })
    }

    /// Returns whether samples have 16 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.bits == 16
    }

    /// Returns the size of a row with this many pixels.
    pub(super) fn row_bytes(&self, width: usize) -> usize {
        (width * self.stored * self.bits).div_ceil(8)
    }

    /// Returns the bytes per stored pixel, at least 1: the distance to the left neighbor for filters.
    pub(super) fn pixel_bytes(&self) -> usize {
        (self.stored * self.bits).div_ceil(8)
    }

    /// Returns whether stored samples need no conversion.
    pub(super) fn is_plain(&self) -> bool {
        self.bits == 8 && self.key.is_none() && self.palette.is_none()
    }
}

/// Combines colors and alpha, which defaults to 255.
fn palette(colors: &[u8], alphas: &[u8]) -> Result<Vec<[u8; 4]>> {
    let mut palette = Vec::new();
    let colors = colors.as_chunks::<3>().0;
    palette.try_reserve_exact(colors.len()).map_err(|_| Error::memory("a palette"))?;
    let alphas = alphas.iter().copied().chain(std::iter::repeat(u8::MAX));
    palette.extend(colors.iter().zip(alphas).map(|(&[red, green, blue], alpha)| [red, green, blue, alpha]));
    Ok(palette)
}

/// Returns the transparent color: one or three samples, of two bytes each for 16 bits, otherwise of one byte.
fn key(trns: &[u8], bits: usize) -> [u16; 3] {
    let sample = |at: usize| match bits {
        16 => trns.get(2 * at..2 * at + 2).map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]])),
        _ => trns.get(at).map_or(0, |&byte| u16::from(byte) & ((1 << bits) - 1)),
    };
    [sample(0), sample(1), sample(2)]
}

/// Unpacks the numbers of a row with 1, 2, 4 or 8 bits each, most significant first.
fn numbers(row: &[u8], bits: usize) -> impl Iterator<Item = u8> {
    let mask = u8::MAX >> (8 - bits);
    row.iter().flat_map(move |byte| (0..8 / bits).rev().map(move |place| byte >> (place * bits) & mask))
}

/// Appends pixels of `SIZE` samples with alpha, which is 0 for the transparent color.
fn with_alpha<const SIZE: usize, T: Copy + Into<u16>>(
    samples: &[T],
    key: &[u16; 3],
    opaque: T,
    zero: T,
    to: &mut Vec<T>,
) {
    for pixel in samples.as_chunks::<SIZE>().0 {
        let is_key = pixel.iter().zip(key).all(|(sample, key)| (*sample).into() == *key);
        to.extend_from_slice(pixel);
        to.push(if is_key { zero } else { opaque });
    }
}

impl PngSample for u8 {
    fn as_bytes(samples: &mut [u8]) -> Option<&mut [u8]> {
        Some(samples)
    }

    fn from_bytes(row: &[u8]) -> Option<&[u8]> {
        Some(row)
    }

    fn expand(layout: &PngLayout, row: &[u8], width: usize, to: &mut Vec<u8>) -> std::result::Result<(), Unmapped> {
        let bits = layout.bits.min(8);
        match (&layout.palette, &layout.key) {
            (Some(palette), _) => {
                let size = layout.channels.count();
                for (place, number) in numbers(row, bits).take(width).enumerate() {
                    let other = palette.first().filter(|_| planted("png-palette"));
                    let color = palette.get(usize::from(number)).or(other).ok_or(Unmapped(place))?;
                    to.extend_from_slice(&color[..size]);
                }
            }
            (None, None) if bits == 8 => to.extend_from_slice(row),
            (None, Some(key)) if bits == 8 && layout.stored == 3 => with_alpha::<3, _>(row, key, u8::MAX, 0, to),
            (None, key) => {
                // 255, 85, 17 or 1: maps the maximum of the bit depth to 255.
                let scale = u8::MAX / (u8::MAX >> (8 - bits));
                for number in numbers(row, bits).take(width) {
                    to.push(number * scale);
                    if let Some([key, ..]) = key {
                        to.push(if u16::from(number) == *key { 0 } else { u8::MAX });
                    }
                }
            }
        }
        Ok(())
    }
}

impl PngSample for u16 {
    // Samples of 16 bits are big-endian in the file, so rows are always converted.
    fn as_bytes(_: &mut [u16]) -> Option<&mut [u8]> {
        None
    }

    fn from_bytes(_: &[u8]) -> Option<&[u16]> {
        None
    }

    fn expand(layout: &PngLayout, row: &[u8], _: usize, to: &mut Vec<u16>) -> std::result::Result<(), Unmapped> {
        let samples = row.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair));
        let Some(key) = &layout.key else {
            to.extend(samples);
            return Ok(());
        };
        for pixel in row.chunks_exact(2 * layout.stored) {
            let samples = pixel.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair));
            let is_key = samples.clone().zip(key).all(|(sample, key)| sample == *key);
            to.extend(samples);
            to.push(if is_key { 0 } else { u16::MAX });
        }
        Ok(())
    }
}
