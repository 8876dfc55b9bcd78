//! Parses the header of a TGA file, its identification field, and the color map.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 1 | size of the identification field, which follows the header |
//! | 1 | 1 | whether there is a color map |
//! | 2 | 1 | image type: color-mapped (1), color (2), gray (3); plus 8 for run-length encoding |
//! | 3, 5, 7 | 2, 2, 1 | color map: index of the first color, number of colors, bits per color |
//! | 8, 10 | 2 each | screen position: ignored |
//! | 12, 14 | 2 each | width, height |
//! | 16 | 1 | bits per pixel |
//! | 17 | 1 | attribute bits (0 to 3), right to left (4), top to bottom (5) |
//!
//! Numbers are little-endian.

use super::HEADER_BYTES;
use crate::pixels::PixelsStored;
use polyhaul_model::Channels;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted, truncated};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_size;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_text::cpu::Level;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// The parsed header.
#[derive(Debug)]
pub(super) struct TgaHeader {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: TgaPixels,
    pub(super) has_packets: bool,
    /// Whether the top row is first.
    pub(super) from_top: bool,
    /// Whether rows are stored from right to left.
    pub(super) from_right: bool,
    /// Number of attribute (alpha) bits per pixel that the header declares.
    pub(super) attribute_bits: u8,
    /// Whether colors have 16 bits, including an attribute bit.
    pub(super) has_attribute_bit: bool,
    /// Offset of the pixels.
    pub(super) body: u64,
}

/// Storage of pixels.
#[derive(Debug)]
pub(super) enum TgaPixels {
    Plain(PixelsStored),
    Mapped(ColorMap),
}

/// Bits set in the alpha of any pixel, and bits set in the alpha of all pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlphaSeen {
    pub(super) any_bits: u8,
    pub(super) common_bits: u8,
}

impl AlphaSeen {
    pub(super) fn add(&mut self, any_bits: u8, common_bits: u8) {
        self.any_bits |= any_bits;
        self.common_bits &= common_bits;
    }

    /// Adds the highest bits of 16-bit colors.
    fn add_highest_bits(&mut self, colors: &[u8]) {
        for [_, high] in colors.as_chunks::<2>().0 {
            let alpha = (high >> 7).wrapping_neg();
            self.add(alpha, alpha);
        }
    }
}

/// The bits of no pixels.
impl Default for AlphaSeen {
    fn default() -> Self {
        AlphaSeen { any_bits: 0, common_bits: u8::MAX }
    }
}

/// A color map, converted to 8-bit samples.
#[derive(Debug)]
pub(super) struct ColorMap {
    /// Index of the first color.
    pub(super) first: usize,
    /// Samples of all colors.
    pub(super) colors: Vec<u8>,
    pub(super) channels: Channels,
    /// Bytes per index.
    pub(super) index_bytes: usize,
    /// The highest bits of 16-bit colors.
    pub(super) attributes: AlphaSeen,
}

impl TgaPixels {
    /// Returns the bytes per stored pixel.
    pub(super) fn bytes(&self) -> usize {
        match self {
            TgaPixels::Plain(stored) => stored.bytes(),
            TgaPixels::Mapped(map) => map.index_bytes,
        }
    }

    pub(super) fn channels(&self) -> Channels {
        match self {
            TgaPixels::Plain(stored) => stored.channels(),
            TgaPixels::Mapped(map) => map.channels,
        }
    }

    /// Converts as many stored pixels to 8-bit samples as both slices hold.
    ///
    /// # Errors
    /// The position of a pixel with an index outside the color map.
    pub(super) fn expand(
        &self,
        level: Level,
        from: &[u8],
        to: &mut [MaybeUninit<u8>],
    ) -> std::result::Result<(), usize> {
        match self {
            TgaPixels::Plain(stored) => {
                stored.expand(level, from, to);
                Ok(())
            }
            TgaPixels::Mapped(map) => map.expand(from, to),
        }
    }

    /// Records the alpha of stored pixels; for 16-bit colors, the highest bit.
    pub(super) fn note_alpha(&self, from: &[u8], seen: &mut AlphaSeen) {
        match self {
            TgaPixels::Plain(PixelsStored::Bgra8) => {
                let no_bits = (0, u32::MAX);
                let (any_bits, common_bits) =
                    from.as_chunks().0.iter().fold(no_bits, |(any_bits, common_bits), pixel: &[u8; 4]| {
                        // Whole pixels are combined, so that alpha is extracted once instead of once per pixel.
                        let pixel = u32::from_le_bytes(*pixel);
                        (any_bits | pixel, common_bits & pixel)
                    });
                seen.add((any_bits >> 24) as u8, (common_bits >> 24) as u8);
            }
            TgaPixels::Plain(PixelsStored::GrayAlpha8) => {
                from.as_chunks::<2>().0.iter().for_each(|[_, alpha]| seen.add(*alpha, *alpha))
            }
            TgaPixels::Plain(PixelsStored::Bgr5 | PixelsStored::Bgr5A1) => seen.add_highest_bits(from),
            TgaPixels::Plain(PixelsStored::Gray8 | PixelsStored::Bgr8) => {}
            TgaPixels::Mapped(map) if map.channels.has_alpha() => {
                let alphas = from.chunks_exact(map.index_bytes).filter_map(|index| map.color(index)?.last());
                alphas.for_each(|alpha| seen.add(*alpha, *alpha));
            }
            TgaPixels::Mapped(_) => {}
        }
    }

    /// Returns the position of the first stored pixel with an index outside the color map.
    pub(super) fn unmapped(&self, from: &[u8]) -> Option<usize> {
        match self {
            TgaPixels::Plain(_) => None,
            TgaPixels::Mapped(map) => from.chunks_exact(map.index_bytes).position(|index| map.color(index).is_none()),
        }
    }
}

impl ColorMap {
    /// Returns the samples of the color at a stored index.
    fn color(&self, index: &[u8]) -> Option<&[u8]> {
        let index = index.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
        let index = index.checked_sub(self.first)?;
        let index = if planted("tga-map") { 0 } else { index };
        self.colors.get(index * self.channels.count()..)?.get(..self.channels.count())
    }

    fn expand(&self, from: &[u8], to: &mut [MaybeUninit<u8>]) -> std::result::Result<(), usize> {
        let size = self.channels.count();
        let pixels = from.chunks_exact(self.index_bytes).zip(to.chunks_exact_mut(size));
        for (place, (index, to)) in pixels.enumerate() {
            let color = self.color(index).ok_or(place)?;
            to.iter_mut().zip(color).for_each(|(to, sample)| *to = MaybeUninit::new(*sample));
        }
        Ok(())
    }
}

/// The header bytes, and the file for error messages.
struct TgaRaw<'a> {
    bytes: [u8; HEADER_BYTES],
    file: &'a Arc<str>,
}

impl TgaRaw<'_> {
    fn short(&self, at: usize) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]))
    }

    fn fault(&self, at: usize, message: String) -> Error {
        fault(self.file, at as u64, message)
    }

    /// Returns the storage of pixels whose bit depth is at header offset `at`.
    fn stored(&self, at: usize, is_gray: bool) -> Result<PixelsStored> {
        let has_bit = self.bytes[17] & 15 == 1;
        Ok(match (is_gray, self.bytes[at]) {
            (true, 8) => PixelsStored::Gray8,
            (true, 16) => PixelsStored::GrayAlpha8,
            (false, 15) => PixelsStored::Bgr5,
            (false, 16) if has_bit => PixelsStored::Bgr5A1,
            (false, 16) => PixelsStored::Bgr5,
            (false, 24) => PixelsStored::Bgr8,
            (false, 32) => PixelsStored::Bgra8,
            (is_gray, bits) => {
                let (what, depths) = match (is_gray, at) {
                    (true, _) => ("gray depth", "8 or 16"),
                    (false, 7) => ("color map entry size", "15, 16, 24 or 32"),
                    (false, _) => ("color depth", "15, 16, 24 or 32"),
                };
                return Err(self.fault(at, format!("invalid {what} of {bits} bits; expected {depths}")));
            }
        })
    }

    /// Returns whether pixels are color-mapped, gray, and run-length encoded.
    fn kind(&self) -> Result<[bool; 3]> {
        let kind = self.bytes[2];
        match kind & !8 {
            1..=3 if kind < 16 => Ok([kind & 7 == 1, kind & 7 == 3, kind & 8 != 0]),
            0 if kind == 0 => Err(self.fault(2, "the header declares that the file has no image".into())),
            32 if kind < 40 => {
                Err(Diagnostic::at(self.file, 2, format!("image type {kind} (Huffman coding) is not supported"))
                    .into_error(ErrorKind::Unsupported))
            }
            _ => Err(self.fault(2, format!("invalid image type {kind}; expected 1, 2, 3, 9, 10 or 11"))),
        }
    }
}

/// Returns whether a file may be TGA: the format has no signature, but few other files have a valid TGA header.
pub fn looks_like_tga(head: &[u8]) -> bool {
    let Some(&bytes) = head.first_chunk() else { return false };
    let raw = TgaRaw { bytes, file: &"".into() };
    let Ok([is_mapped, is_gray, _]) = raw.kind() else { return false };
    let is_sound = if is_mapped {
        bytes[1] == 1 && matches!(bytes[16], 8 | 16) && raw.stored(7, false).is_ok()
    } else {
        bytes[1] <= 1 && raw.stored(16, is_gray).is_ok()
    };
    // Version 2 requires the upper two bits of the descriptor to be 0.
    is_sound && raw.short(12) > 0 && raw.short(14) > 0 && bytes[17] & 0xC0 == 0
}

/// Reads everything before the pixels.
pub fn read(bytes: &Bytes<'_>, file: &Arc<str>, limits: &Limits) -> Result<TgaHeader> {
    let mut raw = TgaRaw { bytes: [0; HEADER_BYTES], file };
    let count = bytes.read(0, &mut raw.bytes)?;
    if count < HEADER_BYTES {
        return Err(truncated(file, count as u64, "the 18-byte header"));
    }
    let [is_mapped, is_gray, has_packets] = raw.kind()?;
    let width = raw.short(12);
    let height = raw.short(14);
    if width == 0 || height == 0 {
        return Err(raw.fault(12, format!("the image is empty ({width} x {height} pixels)")));
    }
    check_size([width, height], limits, file, 12)?;
    let map_type = raw.bytes[1];
    let id_size = usize::from(raw.bytes[0]);
    if map_type > 1 || is_mapped && map_type == 0 {
        return Err(raw.fault(1, format!("invalid color map type {map_type} for image type {}", raw.bytes[2])));
    }
    let first = raw.short(3);
    let map_count = raw.short(5);
    let map_start = HEADER_BYTES + id_size;
    let map_bytes = if map_type == 1 { map_count * usize::from(raw.bytes[7]).div_ceil(8) } else { 0 };
    let before = TgaBefore { bytes, file }.read(map_start, map_bytes)?;
    let pixels = if !is_mapped {
        TgaPixels::Plain(raw.stored(16, is_gray)?)
    } else {
        TgaPixels::Mapped(map(&raw, first, &before[id_size..])?)
    };
    Ok(TgaHeader {
        width,
        height,
        pixels,
        has_packets,
        from_top: raw.bytes[17] & 0x20 != 0,
        from_right: raw.bytes[17] & 0x10 != 0,
        attribute_bits: raw.bytes[17] & 15,
        has_attribute_bit: !is_gray && raw.bytes[if is_mapped { 7 } else { 16 }] == 16,
        body: (map_start + map_bytes) as u64,
    })
}

/// Reads the bytes between the header and the pixels.
struct TgaBefore<'a> {
    bytes: &'a Bytes<'a>,
    file: &'a Arc<str>,
}

impl TgaBefore<'_> {
    /// Reads the identification field and the color map: at most 255 bytes, and 65,535 colors of up to 32 bytes.
    fn read(&self, map_start: usize, map_bytes: usize) -> Result<Vec<u8>> {
        let size = map_start - HEADER_BYTES + map_bytes;
        let mut before = Vec::new();
        before.try_reserve_exact(size).map_err(|_| Error::memory("a color map"))?;
        before.resize(size, 0);
        let end = HEADER_BYTES + self.bytes.read(HEADER_BYTES as u64, &mut before)?;
        if end < HEADER_BYTES + size {
            let what = if end < map_start { "identification field" } else { "color map" };
            return Err(fault(self.file, end as u64, format!("unexpected end of file in the {what}")));
        }
        Ok(before)
    }
}

/// Decodes the color map.
fn map(raw: &TgaRaw<'_>, first: usize, bytes: &[u8]) -> Result<ColorMap> {
    let index_bytes = match raw.bytes[16] {
        8 => 1,
        15 | 16 => 2,
        bits => return Err(raw.fault(16, format!("invalid color index depth of {bits} bits; expected 8 or 16"))),
    };
    let stored = raw.stored(7, false)?;
    let channels = stored.channels();
    let size = bytes.len() / stored.bytes() * channels.count();
    let mut colors: Vec<u8> = Vec::new();
    colors.try_reserve_exact(size).map_err(|_| Error::memory("a color map"))?;
    stored.expand(Level::best(), bytes, &mut colors.spare_capacity_mut()[..size]);
    // SAFETY: `size` is `channels` bytes per whole pixel of `bytes`, and `expand` writes all of these; the capacity was
    // reserved.
    unsafe { colors.set_len(size) };
    let mut attributes = AlphaSeen::default();
    // Meaningless unless colors have 16 bits; `judge_alpha` uses it only then.
    attributes.add_highest_bits(bytes);
    Ok(ColorMap { first, colors, channels, index_bytes, attributes })
}
