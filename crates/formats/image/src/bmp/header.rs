//! Parses the headers of a BMP file: two headers, masks, and the palette.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 2 | `BM` |
//! | 10 | 4 | offset of the pixels |
//! | 14 | 4 | size of the second header, which identifies its version |
//! | 18, 22 | 4 each | width; height, negative if the top row is first |
//! | 28 | 2 | bits per pixel |
//! | 30 | 4 | compression |
//! | 46 | 4 | number of colors in the palette; 0 for the maximum of the bit depth |
//! | 54 | 4 each | masks of red, green, blue and, in headers of 56 bytes or more, alpha |
//! | 70 | 4 | color space; `MBED` for a profile in the file (`DEBM` in its bytes) |
//! | 126, 130 | 4 each | in headers of 124 bytes, the offset of the profile from the second header, and its size |
//!
//! The oldest second header (12 bytes) has a 2-byte width and height at 18 and 20, and bits per pixel at 24. Numbers
//! are little-endian.

use crate::masks::ChannelMasks;
use crate::pieces::Pieces;
use crate::pixels::PixelsStored;
use polyhaul_model::Channels;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_size;

/// Size of the file header.
const FILE_BYTES: usize = 14;
/// Size of the oldest second header, BITMAPCOREHEADER.
const CORE_BYTES: usize = 12;
/// Size of BITMAPINFOHEADER.
const INFO_BYTES: usize = 40;
/// Size of the OS/2 2 header, which may be truncated anywhere after the bits per pixel.
const OS2_BYTES: usize = 64;
const OS2_MIN_BYTES: usize = 16;
/// Maximum size of a second header.
const MAX_BYTES: usize = 124;

/// Offsets of the fields of the second header, from the start of the file.
const WIDTH: usize = 18;
const HEIGHT: usize = 22;
const BITS: usize = 28;
const COMPRESSION: usize = 30;
const COLORS: usize = 46;
const MASKS: usize = 54;
const SPACE: usize = 70;
const PROFILE: usize = 126;

/// The parsed headers.
#[derive(Debug)]
pub(super) struct BmpHeader {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Whether the bottom row is first.
    pub(super) is_upward: bool,
    pub(super) pixels: BmpPixels,
    /// Whether pixels are run-length encoded.
    pub(super) has_runs: bool,
    /// The offset of the pixels.
    pub(super) body: u64,
    /// Offset and size of an ICC profile.
    pub(super) profile: Option<(u64, usize)>,
}

/// Storage of pixels.
#[derive(Debug)]
pub(super) enum BmpPixels {
    Stored(PixelsStored),
    Masked(ChannelMasks),
    Mapped(BmpPalette),
}

/// A palette, and the bits per index.
#[derive(Debug)]
pub(super) struct BmpPalette {
    pub(super) bits: usize,
    /// Red, green, blue of each color.
    pub(super) colors: Vec<[u8; 3]>,
}

impl BmpPixels {
    pub(super) fn bits(&self) -> usize {
        match self {
            BmpPixels::Stored(stored) => 8 * stored.bytes(),
            BmpPixels::Masked(masks) => 8 * masks.bytes(),
            BmpPixels::Mapped(palette) => palette.bits,
        }
    }

    pub(super) fn channels(&self) -> Channels {
        match self {
            BmpPixels::Stored(stored) => stored.channels(),
            BmpPixels::Masked(masks) if masks.has_alpha() => Channels::Rgba,
            BmpPixels::Masked(_) | BmpPixels::Mapped(_) => Channels::Rgb,
        }
    }
}

/// Both headers as bytes, and the input.
struct BmpRaw<'p, 'a> {
    /// Zero-padded if the second header is shorter than the maximum.
    bytes: [u8; FILE_BYTES + MAX_BYTES],
    size: usize,
    pieces: &'p mut Pieces<'a>,
}

impl BmpRaw<'_, '_> {
    fn word(&self, at: usize) -> u32 {
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
    }

    fn short(&self, at: usize) -> u16 {
        self.word(at) as u16
    }

    fn is_core(&self) -> bool {
        self.size == CORE_BYTES
    }

    /// Returns whether compression numbers have their OS/2 2 meaning.
    fn is_os2(&self) -> bool {
        self.size == OS2_BYTES || (OS2_MIN_BYTES..INFO_BYTES).contains(&self.size)
    }

    fn fault(&self, at: usize, message: String) -> Error {
        fault(&self.pieces.file, at as u64, message)
    }

    fn unsupported(&self, at: usize, message: String) -> Error {
        Diagnostic::at(&self.pieces.file, at as u64, message).into_error(ErrorKind::Unsupported)
    }

    /// Returns width, height, and whether the bottom row is first.
    fn extent(&self) -> Result<(usize, usize, bool)> {
        let (width, height) = if self.is_core() {
            (i32::from(self.short(WIDTH)), i32::from(self.short(WIDTH + 2)))
        } else {
            (self.word(WIDTH) as i32, self.word(HEIGHT) as i32)
        };
        if width <= 0 || height == 0 {
            return Err(self.fault(WIDTH, format!("invalid image size: {width} x {height} pixels")));
        }
        // `unsigned_abs`, because the smallest height has no positive counterpart in 32 bits.
        Ok((width as usize, height.unsigned_abs() as usize, height > 0))
    }

    /// Returns bits per pixel and the compression method.
    fn kind(&self) -> (usize, u32) {
        if self.is_core() {
            (usize::from(self.short(WIDTH + 6)), 0)
        } else {
            (usize::from(self.short(BITS)), self.word(COMPRESSION))
        }
    }

    /// Reads the masks, which are part of the second header or follow it. In the latter case, there are `count` masks.
    fn masks(&mut self, bits: usize, count: usize) -> Result<BmpPixels> {
        if self.size == INFO_BYTES {
            let masks = self.pieces.take(4 * count, "channel masks")?;
            self.bytes[MASKS..MASKS + masks.len()].copy_from_slice(&masks);
        }
        let mut masks = [0, 4, 8, 12].map(|at| self.word(MASKS + at));
        // The fourth word is not a mask after BITMAPINFOHEADER with three masks, nor in headers shorter than 56 bytes.
        if self.size == INFO_BYTES && count == 3 || self.size < 56 && self.size > INFO_BYTES {
            masks[3] = 0;
        }
        // In 64 bits, because shifting a 32-bit mask by 32 bits would overflow.
        if masks.iter().any(|mask| u64::from(*mask) >> bits != 0) {
            return Err(self.fault(MASKS, format!("the channel masks {masks:x?} exceed the {bits} bits of a pixel")));
        }
        Ok(match (bits, masks) {
            (32, [0x00FF_0000, 0xFF00, 0xFF, 0xFF00_0000]) => BmpPixels::Stored(PixelsStored::Bgra8),
            (16, [0x7C00, 0x03E0, 0x001F, 0]) => BmpPixels::Stored(PixelsStored::Bgr5),
            _ => BmpPixels::Masked(ChannelMasks::new(bits / 8, masks)),
        })
    }

    /// Returns the location of the ICC profile in BITMAPV5HEADER: its offset in the file, and its size.
    fn profile(&self) -> Option<(u64, usize)> {
        let is_embedded = self.size == MAX_BYTES && self.word(SPACE) == u32::from_be_bytes(*b"MBED");
        let offset = FILE_BYTES as u64 + u64::from(self.word(PROFILE));
        let size = self.word(PROFILE + 4) as usize;
        (is_embedded && size > 0).then_some((offset, size))
    }

    /// Reads the palette, which is followed by the pixels or by a gap before them.
    fn palette(&mut self, bits: usize, body: u64) -> Result<BmpPixels> {
        let (entry, declared) = if self.is_core() { (3, 0) } else { (4, self.word(COLORS)) };
        let max_count = 1_u32 << bits;
        let room = body.saturating_sub(self.pieces.at()) / entry;
        let count = match declared {
            // OS/2 palettes fill the space before the pixels.
            0 if self.is_core() => max_count.min(u32::try_from(room).unwrap_or(max_count)),
            0 => max_count,
            declared => declared,
        };
        if u64::from(count) > room {
            return Err(self.fault(COLORS, format!("the palette of {count} colors overlaps the pixels")));
        }
        // Colors that no index can address are skipped with the gap before the pixels.
        let bytes = self.pieces.take(count.min(max_count) as usize * entry as usize, "palette")?;
        let colors = bytes.chunks_exact(entry as usize).map(|color| [color[2], color[1], color[0]]);
        Ok(BmpPixels::Mapped(BmpPalette { bits, colors: colors.collect() }))
    }

    fn pixels(&mut self, body: u64) -> Result<(BmpPixels, bool)> {
        let (bits, compression) = self.kind();
        let pixels = match (compression, bits) {
            (0, 1 | 2 | 4 | 8) => self.palette(bits, body)?,
            (1, 8) | (2, 4) => return Ok((self.palette(bits, body)?, true)),
            (4, 24) if self.is_os2() => return Ok((BmpPixels::Stored(PixelsStored::Bgr8), true)),
            (0, 16) => BmpPixels::Stored(PixelsStored::Bgr5),
            (0, 24) => BmpPixels::Stored(PixelsStored::Bgr8),
            (0, 32) => BmpPixels::Masked(ChannelMasks::new(4, [0x00FF_0000, 0xFF00, 0xFF, 0])),
            (3, 16 | 32) if !self.is_os2() => self.masks(bits, 3)?,
            (6, 16 | 32) => self.masks(bits, 4)?,
            (0, _) => {
                let message = format!("invalid depth of {bits} bits per pixel; expected 1, 2, 4, 8, 16, 24 or 32");
                return Err(self.fault(BITS, message));
            }
            (1..=3 | 6, _) if !self.is_os2() => {
                return Err(self.fault(
                    COMPRESSION,
                    format!("compression method {compression} is not valid for {bits} bits per pixel"),
                ));
            }
            _ => {
                return Err(self.unsupported(COMPRESSION, format!("compression method {compression} is not supported")));
            }
        };
        Ok((pixels, false))
    }
}

/// Reads everything before the pixels: both headers, the masks and the palette.
pub fn read(pieces: &mut Pieces<'_>, limits: &Limits) -> Result<BmpHeader> {
    let head: [u8; FILE_BYTES + 4] = pieces.head("header")?;
    let mut raw = BmpRaw { bytes: [0; FILE_BYTES + MAX_BYTES], size: 0, pieces };
    raw.bytes[..head.len()].copy_from_slice(&head);
    raw.size = raw.word(FILE_BYTES) as usize;
    if !head.starts_with(b"BM") {
        return Err(raw.fault(0, "not a BMP file: it does not start with `BM`".into()));
    }
    if raw.size != CORE_BYTES && !(OS2_MIN_BYTES..=MAX_BYTES).contains(&raw.size) {
        return Err(raw.unsupported(FILE_BYTES, format!("headers of {} bytes are not supported", raw.size)));
    }
    // The size itself was read with the file header.
    let rest = raw.pieces.take(raw.size - 4, "header")?;
    raw.bytes[head.len()..head.len() + rest.len()].copy_from_slice(&rest);
    let (width, height, is_upward) = raw.extent()?;
    check_size([width, height], limits, &raw.pieces.file, WIDTH as u64)?;
    let body = u64::from(raw.word(10));
    let (pixels, has_runs) = raw.pixels(body)?;
    if body < raw.pieces.at() {
        return Err(raw.fault(10, format!("the pixels start at byte {body}, inside the header")));
    }
    Ok(BmpHeader { width, height, is_upward, pixels, has_runs, body, profile: raw.profile() })
}
