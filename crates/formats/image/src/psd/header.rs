//! Parses the header, the palette and the relevant resources of a Photoshop document, and skips its layers (Adobe
//! Photoshop File Formats Specification).
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 4 | `8BPS` |
//! | 4 | 2 | version: 1, or 2 for large documents (PSB) |
//! | 12 | 2 | channels |
//! | 14, 18 | 4 each | height, width |
//! | 22 | 2 | bits of a sample |
//! | 24 | 2 | color mode |
//!
//! Three sections follow, each preceded by its size (4 bytes; for the third, 8 in a PSB): palette, resources, layers.
//! After them are 2 bytes for the compression method, and the channels. Numbers are big-endian.

use crate::pieces::Pieces;
use polyhaul_model::Channels;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_size;

/// Size of the header.
const HEADER_BYTES: usize = 26;
/// Number of colors in a palette.
const COLORS: usize = 256;

/// Offsets of the fields of the header, from the start of the file.
const VERSION: usize = 4;
const CHANNELS: usize = 12;
const HEIGHT: usize = 14;
const WIDTH: usize = 18;
const BITS: usize = 22;
const MODE: usize = 24;

/// The parsed header and sections.
#[derive(Debug)]
pub(super) struct PsdHeader {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Number of stored channels.
    pub(super) stored: usize,
    /// Bits per sample: 1, 8, 16, or 32 for floats.
    pub(super) bits: usize,
    pub(super) colors: PsdColors,
    /// Whether the first channel after the colors is alpha.
    pub(super) has_alpha: bool,
    /// Whether the file is a large document (PSB), with larger size fields.
    pub(super) is_large: bool,
    /// Whether rows are compressed with PackBits.
    pub(super) has_packets: bool,
    /// Number of layers, in addition to the merged image.
    pub(super) layers: usize,
    /// Whether the merged image shows the layers. If not, it is a placeholder, often white.
    pub(super) has_merged: bool,
    /// ICC profile.
    pub(super) profile: Option<Vec<u8>>,
    /// Whether a profile was skipped because of its size.
    pub(super) has_large_profile: bool,
}

/// Contents of the resources about the merged image.
struct PsdResources {
    has_merged: bool,
    profile: Option<Vec<u8>>,
    has_large_profile: bool,
}

/// The color model of the channels.
#[derive(Debug)]
pub(super) enum PsdColors {
    Gray,
    Rgb,
    Cmyk,
    /// A palette: all reds, then all greens, then all blues.
    Mapped(Vec<u8>),
}

impl PsdColors {
    /// Returns the number of color channels.
    pub(super) fn count(&self) -> usize {
        match self {
            PsdColors::Gray | PsdColors::Mapped(_) => 1,
            PsdColors::Rgb => 3,
            PsdColors::Cmyk => 4,
        }
    }
}

impl PsdHeader {
    /// Returns the bytes per row of a channel.
    pub(super) fn row_bytes(&self) -> usize {
        (self.width * self.bits).div_ceil(8)
    }

    /// Returns the channels in the model.
    pub(super) fn channels(&self) -> Channels {
        match (&self.colors, self.has_alpha) {
            (PsdColors::Gray, false) => Channels::Gray,
            (PsdColors::Gray, true) => Channels::GrayAlpha,
            (_, false) => Channels::Rgb,
            (_, true) => Channels::Rgba,
        }
    }
}

fn short(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |short| u16::from_be_bytes(*short))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
}

/// Reads everything before the pixels.
pub fn read(pieces: &mut Pieces<'_>, limits: &Limits) -> Result<PsdHeader> {
    let head: [u8; HEADER_BYTES] = pieces.head("header")?;
    let file = pieces.file.clone();
    let malformed = |at: usize, message: String| fault(&file, at as u64, message);
    if !super::looks_like_psd(&head) || !matches!(short(&head, VERSION), 1 | 2) {
        let message = "not a valid Photoshop document: unknown signature or version";
        return Err(fault(&file, 0, message));
    }
    let is_large = short(&head, VERSION) == 2;
    let width = word(&head, WIDTH) as usize;
    let height = word(&head, HEIGHT) as usize;
    if width == 0 || height == 0 {
        return Err(malformed(HEIGHT, format!("the image is empty ({width} x {height} pixels)")));
    }
    check_size([width, height], limits, &file, HEIGHT as u64)?;
    let stored = usize::from(short(&head, CHANNELS));
    let bits = usize::from(short(&head, BITS));
    let colors = colors(pieces, short(&head, MODE), bits)?;
    if stored < colors.count() || stored > 56 {
        return Err(malformed(CHANNELS, format!("invalid channel count {stored}; expected {} to 56", colors.count())));
    }
    let PsdResources { has_merged, profile, has_large_profile } = resources(pieces)?;
    let (layers, is_transparent) = layers(pieces, is_large)?;
    let has_alpha = is_transparent && stored > colors.count() && bits > 1;
    let has_alpha = has_alpha && !matches!(colors, PsdColors::Mapped(_));
    let at = pieces.at();
    let has_packets = match short(&pieces.head::<2>("compression method")?, 0) {
        0 => false,
        1 => true,
        method => {
            let message = format!("compression method {method} is not supported");
            return Err(Diagnostic::at(&file, at, message).into_error(ErrorKind::Unsupported));
        }
    };
    Ok(PsdHeader {
        width,
        height,
        stored,
        bits,
        colors,
        has_alpha,
        is_large,
        has_packets,
        layers,
        has_merged,
        profile,
        has_large_profile,
    })
}

/// Determines the color model, from the color mode and the section after the header.
fn colors(pieces: &mut Pieces<'_>, mode: u16, bits: usize) -> Result<PsdColors> {
    let unsupported = |pieces: &Pieces<'_>, message: &str| {
        Diagnostic::at(&pieces.file, MODE as u64, message).into_error(ErrorKind::Unsupported)
    };
    let size = u64::from(word(&pieces.head::<4>("color mode data")?, 0));
    let end = pieces.at() + size;
    let colors = match (mode, bits) {
        // 0 is bitmap, 1 gray, 2 indexed, 3 RGB, 4 CMYK, 7 multichannel, 8 duotone, 9 Lab.
        (0, 1) | (1 | 8, 8 | 16 | 32) => PsdColors::Gray,
        (3, 8 | 16 | 32) => PsdColors::Rgb,
        (4, 8 | 16) => PsdColors::Cmyk,
        (2, 8) if size >= 3 * COLORS as u64 => PsdColors::Mapped(pieces.take(3 * COLORS, "palette")?),
        (2, 8) => return Err(fault(&pieces.file, HEADER_BYTES as u64, "the palette has fewer than 256 colors")),
        (7, _) => return Err(unsupported(pieces, "multichannel documents are not supported")),
        (9, _) => return Err(unsupported(pieces, "documents in Lab color are not supported")),
        _ => {
            let message = format!("color mode {mode} is not valid for {bits} bits per channel");
            return Err(fault(&pieces.file, BITS as u64, message));
        }
    };
    pieces.skip_to(end)?;
    Ok(colors)
}

/// Reads the resources about the image: 1039, an ICC profile, and 1057, the version, whose fifth byte is 0 if the
/// merged image is a placeholder. Each resource has a signature (4), a number (2), a Pascal string padded to an even
/// size, the size of its data (4), and the data, padded to an even size.
fn resources(pieces: &mut Pieces<'_>) -> Result<PsdResources> {
    const PROFILE: u16 = 1039;
    const VERSION_INFO: u16 = 1057;
    const MAX_PROFILE_BYTES: u64 = 4 << 20;
    const SIGNATURES: [&[u8]; 4] = [b"8BIM", b"MeSa", b"AgHg", b"PHUT"];
    let end = u64::from(word(&pieces.head::<4>("image resources")?, 0)) + pieces.at();
    let mut resources = PsdResources { has_merged: true, profile: None, has_large_profile: false };
    while pieces.at() + 12 <= end {
        let head: [u8; 7] = pieces.head("image resources")?;
        if !SIGNATURES.contains(&&head[..4]) {
            break;
        }
        // Name and length byte have an even size together.
        let name_bytes = u64::from(head[6]) | 1;
        if pieces.at() + name_bytes + 4 > end {
            break;
        }
        pieces.skip_to(pieces.at() + name_bytes)?;
        let size = u64::from(word(&pieces.head::<4>("image resources")?, 0));
        let next = pieces.at() + size + size % 2;
        if next > end {
            break;
        }
        match short(&head, 4) {
            VERSION_INFO if size >= 5 => resources.has_merged = pieces.head::<5>("image resources")?[4] != 0,
            PROFILE if size <= MAX_PROFILE_BYTES => resources.profile = Some(pieces.take(size as usize, "profile")?),
            PROFILE => resources.has_large_profile = true,
            _ => {}
        }
        pieces.skip_to(next)?;
    }
    pieces.skip_to(end)?;
    Ok(resources)
}

/// Skips the layers. Returns their number, and whether the merged image has transparency, marked by a negative count.
fn layers(pieces: &mut Pieces<'_>, is_large: bool) -> Result<(usize, bool)> {
    let size = size(pieces, is_large)?;
    let start = pieces.at();
    let end = start.checked_add(size).ok_or_else(|| too_long(pieces, start))?;
    let size_bytes = if is_large { 8 } else { 4 };
    let mut count = 0;
    // The section starts with the layer info: its size, then the layer count.
    if size >= size_bytes + 2 {
        count = match self::size(pieces, is_large)? {
            0 | 1 => deep_layers(pieces, is_large, end)?,
            _ => short(&pieces.head::<2>("layer and mask information")?, 0) as i16,
        };
    }
    pieces.skip_to(end)?;
    Ok((count.unsigned_abs().into(), count < 0))
}

/// Reads the layer count of a document of 16 or 32 bits, whose layers are in a block after the empty layer info and the
/// masks. Each block has a signature and a key (4 bytes each), the size of its data, and the data, padded to a multiple
/// of 4 bytes. Returns 0 if no block before `end` has layers.
fn deep_layers(pieces: &mut Pieces<'_>, is_large: bool, end: u64) -> Result<i16> {
    const SIGNATURES: [&[u8]; 2] = [b"8BIM", b"8B64"];
    const LAYERS: [&[u8]; 3] = [b"Layr", b"Lr16", b"Lr32"];
    /// Other keys of blocks whose size has 8 bytes in a PSB.
    const LONG: [&[u8]; 10] =
        [b"LMsk", b"Mt16", b"Mt32", b"Mtrn", b"Alph", b"FMsk", b"lnk2", b"FEid", b"FXid", b"PxSD"];
    const MIN_BYTES: u64 = 16;
    if pieces.at() + 4 > end {
        return Ok(0);
    }
    let masks = size(pieces, false)?;
    let mut next = pieces.at() + masks;
    while next.saturating_add(MIN_BYTES) <= end {
        pieces.skip_to(next)?;
        let head: [u8; 8] = pieces.head("layer and mask information")?;
        let (signature, key) = head.split_at(4);
        if !SIGNATURES.contains(&signature) {
            break;
        }
        let has_layers = LAYERS.contains(&key);
        let block = size(pieces, is_large && (has_layers || LONG.contains(&key)))?;
        if has_layers && block >= 2 {
            return Ok(short(&pieces.head::<2>("layer and mask information")?, 0) as i16);
        }
        next = block.checked_next_multiple_of(4).and_then(|block| block.checked_add(pieces.at())).unwrap_or(u64::MAX);
    }
    Ok(0)
}

fn size(pieces: &mut Pieces<'_>, is_large: bool) -> Result<u64> {
    Ok(if is_large {
        u64::from_be_bytes(pieces.head("layer and mask information")?)
    } else {
        u64::from(u32::from_be_bytes(pieces.head("layer and mask information")?))
    })
}

fn too_long(pieces: &Pieces<'_>, at: u64) -> Error {
    fault(&pieces.file, at, "invalid size of the layer and mask information")
}
