//! Parses the header and the level index of a KTX2 file (Khronos KTX File Format Specification 2.0).
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 12 | magic |
//! | 12 | 4 | `VkFormat` |
//! | 20, 24, 28 | 4 each | width, height, depth; the latter two are 0 if unused |
//! | 32, 36, 40 | 4 each | layers (0 unless it is an array), faces, levels |
//! | 44 | 4 | supercompression |
//! | 48, 52 | 4 each | data format descriptor: offset, size |
//! | 56, 60 | 4 each | key/value data: offset, size |
//! | 80 | 24 each | level index, largest level first: offset, size, uncompressed size; 8 bytes each |
//!
//! Numbers are little-endian.

use super::view::Ktx2View;
use super::{BASIS_LZ, ENTRY_BYTES, HEADER_BYTES, MAGIC, MAGIC_1, PLAIN, ZLIB, ZSTD, dfd, vk};
use crate::pieces::Pieces;
use crate::surface::TextureSurface;
use crate::texels::Texels;
use polyhaul_model::ColorSpace;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_ratio;
use polyhaul_pipeline::packed::Packing;

/// Offsets of the fields of the header, from the start of the file.
const FORMAT: usize = 12;
const WIDTH: usize = 20;
const LAYERS: usize = 32;
const FACES: usize = 36;
const LEVELS: usize = 40;
const SCHEME: usize = 44;
const DESCRIPTOR: usize = 48;
const KEYS: usize = 56;
/// Maximum size of the key/value data; larger data is skipped.
const MAX_KEY_BYTES: usize = 1 << 20;
/// Maximum size of a descriptor.
const MAX_DESCRIPTOR_BYTES: usize = 64 << 10;

/// The parsed header.
pub(super) struct Ktx2Header {
    pub(super) surface: TextureSurface,
    pub(super) packing: Option<Packing>,
    /// The level index, largest level first.
    pub(super) entries: Vec<Ktx2Entry>,
    pub(super) view: Ktx2View,
    /// Color primaries other than BT.709, by their number in the descriptor.
    pub(super) other_primaries: Option<u8>,
}

/// An entry of the level index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ktx2Entry {
    /// Offset of this entry in the file.
    pub(super) declared_at: u64,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) plain_bytes: u64,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |long| u64::from_le_bytes(*long))
}

fn unsupported(pieces: &Pieces<'_>, at: usize, message: impl Into<String>) -> Error {
    Diagnostic::at(&pieces.file, at as u64, message).into_error(ErrorKind::Unsupported)
}

/// Reads everything before the levels.
pub fn read(pieces: &mut Pieces<'_>, limits: &Limits) -> Result<Ktx2Header> {
    let magic: [u8; 12] = pieces.head("header")?;
    if magic == *MAGIC_1 {
        return Err(unsupported(pieces, 0, "KTX version 1 is not supported")
            .with_hint("convert it to version 2 with `ktx2ktx2` first"));
    }
    if magic != *MAGIC {
        return Err(fault(&pieces.file, 0, "not a KTX2 file: invalid signature"));
    }
    let mut header = [0; HEADER_BYTES];
    let rest: [u8; HEADER_BYTES - 12] = pieces.head("header")?;
    header[12..].copy_from_slice(&rest);
    let packing = packing(&header, pieces)?;
    let count = |at: usize| word(&header, at) as usize;
    let mut surface = TextureSurface {
        width: count(WIDTH),
        height: count(WIDTH + 4).max(1),
        depth: count(WIDTH + 8).max(1),
        layers: count(LAYERS).max(1),
        faces: count(FACES),
        levels: count(LEVELS).max(1),
        // Placeholder, sufficient for the checks.
        texels: Texels::Same(Default::default()),
        color_space: ColorSpace::Linear,
        premultiplied: false,
    };
    if !matches!(surface.faces, 1 | 6) {
        return Err(fault(
            &pieces.file,
            FACES as u64,
            format!("invalid number of faces: {}; expected 1 or 6", surface.faces),
        ));
    }
    surface.check(limits, &pieces.file, WIDTH as u64)?;
    let entries = entries(pieces, surface.levels)?;
    let descriptor = descriptor(pieces, &header)?;
    let view = view(pieces, &header, &entries)?;
    let number = word(&header, FORMAT);
    surface.texels = vk::texels(number).ok_or_else(|| no_format(pieces, number, &descriptor))?;
    (surface.color_space, surface.premultiplied) = dfd::read(&descriptor).ok_or_else(|| {
        fault(
            &pieces.file,
            u64::from(word(&header, DESCRIPTOR)),
            "invalid data format descriptor; expected a basic descriptor block",
        )
    })?;
    check_entries(&entries, &surface, packing, pieces)?;
    if packing.is_some() {
        let sum = |bytes: fn(&Ktx2Entry) -> u64| entries.iter().map(bytes).fold(0, u64::saturating_add);
        let plain = sum(|entry| entry.plain_bytes);
        let packed = sum(|entry| entry.bytes);
        check_ratio(plain, packed, limits, &pieces.file, LEVELS as u64)?;
    }
    Ok(Ktx2Header { surface, packing, entries, view, other_primaries: dfd::other_primaries(&descriptor) })
}

fn packing(header: &[u8; HEADER_BYTES], pieces: &Pieces<'_>) -> Result<Option<Packing>> {
    match word(header, SCHEME) {
        PLAIN => Ok(None),
        ZSTD => Ok(Some(Packing::Zstd)),
        ZLIB => Ok(Some(Packing::Zlib)),
        BASIS_LZ => Err(unsupported(pieces, SCHEME, "Basis textures (ETC1S in BasisLZ) are not supported")
            .with_hint("convert the texture to BC7 with `ktx transcode` first")),
        scheme => Err(unsupported(pieces, SCHEME, format!("supercompression scheme {scheme} is not supported"))),
    }
}

fn no_format(pieces: &Pieces<'_>, number: u32, descriptor: &[u8]) -> Error {
    match (number, dfd::model_of(descriptor)) {
        // VK_FORMAT_UNDEFINED with KHR_DF_MODEL_UASTC.
        (0, Some(166)) => unsupported(pieces, FORMAT, "Basis textures (UASTC) are not supported")
            .with_hint("convert the texture to BC7 with `ktx transcode` first"),
        _ => unsupported(pieces, FORMAT, format!("VkFormat {number} is not supported")),
    }
}

fn entries(pieces: &mut Pieces<'_>, levels: usize) -> Result<Vec<Ktx2Entry>> {
    let start = pieces.at();
    let index = pieces.take(levels * ENTRY_BYTES, "level index")?;
    let entry = |(number, entry): (usize, &[u8])| Ktx2Entry {
        declared_at: start + (number * ENTRY_BYTES) as u64,
        offset: long(entry, 0),
        bytes: long(entry, 8),
        plain_bytes: long(entry, 16),
    };
    Ok(index.chunks_exact(ENTRY_BYTES).enumerate().map(entry).collect())
}

/// Reads the descriptor, which follows the level index.
fn descriptor(pieces: &mut Pieces<'_>, header: &[u8; HEADER_BYTES]) -> Result<Vec<u8>> {
    let offset = u64::from(word(header, DESCRIPTOR));
    let bytes = word(header, DESCRIPTOR + 4) as usize;
    if offset < pieces.at() || !(16..=MAX_DESCRIPTOR_BYTES).contains(&bytes) {
        let message = format!("invalid data format descriptor: {bytes} bytes at byte {offset}");
        return Err(fault(&pieces.file, DESCRIPTOR as u64, message));
    }
    pieces.skip_to(offset)?;
    pieces.take(bytes, "data format descriptor")
}

/// Reads the keys and values about the display of pixels. Ignores damaged and misplaced data.
fn view(pieces: &mut Pieces<'_>, header: &[u8; HEADER_BYTES], entries: &[Ktx2Entry]) -> Result<Ktx2View> {
    let offset = u64::from(word(header, KEYS));
    let bytes = word(header, KEYS + 4) as usize;
    let is_before_levels = entries.iter().all(|entry| entry.offset >= offset + bytes as u64);
    if offset < pieces.at() || bytes > MAX_KEY_BYTES || !is_before_levels {
        return Ok(Ktx2View::default());
    }
    pieces.skip_to(offset)?;
    let content = pieces.take(bytes, "key/value data")?;
    Ok(Ktx2View::from_keys(&content))
}

/// Checks that levels have the size implied by their dimensions, and do not overlap each other or the header.
fn check_entries(
    entries: &[Ktx2Entry],
    surface: &TextureSurface,
    packing: Option<Packing>,
    pieces: &Pieces<'_>,
) -> Result<()> {
    for (number, entry) in entries.iter().enumerate() {
        let expected = surface.level_bytes(number)? as u64;
        let is_right = entry.plain_bytes == expected && (packing.is_some() || entry.bytes == expected);
        if !is_right && !planted("ktx2-size") {
            let declared = if packing.is_none() { entry.bytes } else { entry.plain_bytes };
            let message = format!("mip level {number} needs {expected} bytes, but the level index declares {declared}");
            return Err(fault(&pieces.file, entry.declared_at + 8, message));
        }
    }
    let mut end = pieces.at();
    for entry in in_order(entries) {
        if entry.offset < end {
            return Err(fault(&pieces.file, entry.declared_at, "this mip level overlaps the data before it"));
        }
        end = entry
            .offset
            .checked_add(entry.bytes)
            .ok_or_else(|| fault(&pieces.file, entry.declared_at, "the end of this mip level exceeds 64 bits"))?;
    }
    // Compressed levels are not checked, so that damage in a level is reported before a truncated file.
    if packing.is_none() { pieces.check_left(end - pieces.at(), "mip levels") } else { Ok(()) }
}

/// Returns the entries in file order.
pub(super) fn in_order(entries: &[Ktx2Entry]) -> Vec<Ktx2Entry> {
    let mut sorted = entries.to_vec();
    sorted.sort_by_key(|entry| entry.offset);
    sorted
}
