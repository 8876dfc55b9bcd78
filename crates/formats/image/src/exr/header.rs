//! Parses the header of an EXR file: its parts, each with channels, windows and attributes.
//!
//! Attributes are kept as raw bytes, except those about pixel storage. `layer` selects the channels of the image. The
//! layout follows "OpenEXR File Layout":
//!
//! | bytes | |
//! |---|---|
//! | 4 | magic 76 2F 31 01 |
//! | 4 | version 2 in the lowest byte; flags above: tiles (bit 9), long names (10), deep (11), multipart (12) |
//! | | attributes: zero-terminated name, zero-terminated type, size of the value (4), value |
//! | 1 | 0 ends the header; in multipart files, an empty header follows the last header |
//!
//! Numbers are little-endian.

use exr::compression::Compression;
use exr::math::{RoundingMode, Vec2};
use exr::meta::attribute::{LevelMode, TileDescription};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, fault, limit_hint, truncated, try_push};
use polyhaul_model::names::{decode, shown};
use polyhaul_model::options::ImageReadOptions;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{ChannelType, ImageAttribute};
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::reader::BlockReader;
use std::sync::Arc;

/// Maximum length in bytes of the name of an attribute, a type or a channel.
pub(super) const MAX_NAME_BYTES: usize = 255;
/// Largest magnitude of a window coordinate, so that window sizes fit into 32 bits.
pub(super) const MAX_COORDINATE: i32 = i32::MAX / 2;

/// Attributes about pixel storage, or required in every file; not kept.
pub(super) const STORAGE: [&str; 9] = [
    "channels",
    "compression",
    "lineOrder",
    "tiles",
    "type",
    "chunkCount",
    "version",
    "maxSamplesPerPixel",
    "dwaCompressionLevel",
];

/// A part of a file: an independent image.
#[derive(Debug)]
pub(super) struct ExrPart {
    /// Name; empty if missing.
    pub(super) name: String,
    /// View (stereo); empty if missing.
    pub(super) view: String,
    pub(super) channels: Vec<ExrChannel>,
    pub(super) compression: Compression,
    /// Tiling, or `None` for blocks of rows.
    pub(super) tiles: Option<TileDescription>,
    /// Whether pixels have a variable number of samples.
    pub(super) is_deep: bool,
    /// Data window.
    pub(super) data: ExrWindow,
    /// Attributes other than [`STORAGE`], except default values.
    pub(super) attributes: Vec<ImageAttribute>,
}

/// A channel of a part.
#[derive(Debug)]
pub(super) struct ExrChannel {
    pub(super) name: String,
    pub(super) kind: ChannelType,
    /// Whether lossy compression should quantize linearly: with steps that do not grow with the value.
    pub(super) is_linear: bool,
    /// Subsampling of columns and rows.
    pub(super) sampling: [usize; 2],
}

/// A rectangle of pixels with inclusive bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExrWindow {
    pub(super) min: [i32; 2],
    pub(super) max: [i32; 2],
}

impl ExrWindow {
    /// Returns the number of columns and rows of a validated window.
    pub(super) fn size(self) -> [usize; 2] {
        [0, 1].map(|axis| (self.max[axis] - self.min[axis] + 1) as usize)
    }

    /// Encodes the window as an attribute value.
    pub(super) fn bytes(self) -> Vec<u8> {
        [self.min, self.max].as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    pub(super) fn from_value(value: &[u8]) -> Option<ExrWindow> {
        let [left, top, right, bottom] = numbers(value)?;
        let window = ExrWindow { min: [left, top], max: [right, bottom] };
        let is_valid = |axis: usize| {
            window.min[axis] > -MAX_COORDINATE
                && window.max[axis] < MAX_COORDINATE
                && window.min[axis] <= window.max[axis]
        };
        (is_valid(0) && is_valid(1)).then_some(window)
    }
}

/// Decodes four 32-bit integers.
fn numbers(value: &[u8]) -> Option<[i32; 4]> {
    let (numbers, []) = value.as_chunks() else { return None };
    <[[u8; 4]; 4]>::try_from(numbers).ok().map(|numbers| numbers.map(i32::from_le_bytes))
}

impl ExrPart {
    /// Returns the name of the part for messages.
    pub(super) fn label(&self, number: usize) -> String {
        match (self.name.as_str(), self.view.as_str()) {
            ("", "") => format!("part {number}"),
            ("", view) => format!("part {number} (view `{}`)", shown(view)),
            (name, "") => format!("`{}`", shown(name)),
            (name, view) => format!("`{}` (view `{}`)", shown(name), shown(view)),
        }
    }

    /// Returns the value of an attribute, or `None` if it is missing or has another type.
    pub(super) fn attribute(&self, name: &str, kind: &str) -> Option<&[u8]> {
        let matches = |attribute: &&ImageAttribute| attribute.name == name && attribute.kind == kind;
        self.attributes.iter().find(matches).map(|attribute| attribute.value.as_slice())
    }

    /// Returns the number of rows per block, for parts without tiles.
    pub(super) fn block_rows(&self) -> usize {
        self.compression.scan_lines_per_block()
    }

    /// Returns the number of levels other than the largest.
    pub(super) fn small_levels(&self) -> u64 {
        self.levels().len() as u64 - 1
    }

    /// Returns the sizes of all levels, largest first.
    fn levels(&self) -> Vec<[usize; 2]> {
        let size = self.data.size();
        let Some(tiles) = self.tiles else { return vec![size] };
        // Width and height are halved down to 1; the rounding mode determines the number of halvings.
        let is_up = tiles.rounding_mode == RoundingMode::Up;
        let count =
            |side: usize| if is_up { side.next_power_of_two().ilog2() as usize + 1 } else { side.ilog2() as usize + 1 };
        // Width and height are below 2^31 pixels, so there are at most 32 levels per axis.
        let level = |side: usize, number: usize| {
            if is_up { side.div_ceil(1 << number).max(1) } else { (side >> number).max(1) }
        };
        match tiles.level_mode {
            LevelMode::Singular => vec![size],
            LevelMode::MipMap => {
                let count = count(size[0].max(size[1]));
                (0..count).map(|number| size.map(|side| level(side, number))).collect()
            }
            LevelMode::RipMap => {
                let across = 0..count(size[0]);
                let row = |down| across.clone().map(move |number| [level(size[0], number), level(size[1], down)]);
                (0..count(size[1])).flat_map(row).collect()
            }
        }
    }

    /// Returns the number of blocks in all levels.
    pub(super) fn block_count(&self) -> u64 {
        let Some(tiles) = self.tiles else { return self.data.size()[1].div_ceil(self.block_rows()) as u64 };
        let Vec2(width, height) = tiles.tile_size;
        let count = |[across, down]: [usize; 2]| across.div_ceil(width) as u64 * down.div_ceil(height) as u64;
        // A count that saturates needs an offset table that is larger than any file, so reading it fails.
        self.levels().into_iter().map(count).fold(0, u64::saturating_add)
    }
}

/// The parts of a file, and whether blocks start with a part number.
pub(super) struct FileHeader {
    pub(super) parts: Vec<ExrPart>,
    pub(super) is_multipart: bool,
}

/// Reads the header from the start of a file.
pub fn read(
    reader: &mut BlockReader<'_>,
    file: &Arc<str>,
    options: &ParseOptions<ImageReadOptions>,
    warnings: &mut Warnings,
) -> Result<FileHeader> {
    let mut header = HeaderReader { reader, file, options, warnings };
    let start = header.take(8)?;
    let [0x76, 0x2F, 0x31, 0x01, version, flags, _, _] = start[..] else {
        return Err(header.fault("not an EXR file: it does not start with 76 2F 31 01"));
    };
    if version > 2 {
        return Err(header.unsupported(format!("EXR version {version} is not supported")));
    }
    let [is_tiled, is_deep, is_multipart] = [0x02, 0x08, 0x10].map(|bit| flags & bit != 0);
    let mut parts = Vec::new();
    loop {
        let attributes = header.attributes()?;
        if is_multipart && attributes.is_empty() {
            break;
        }
        let part = header.part(attributes, is_tiled && !is_multipart, is_deep && !is_multipart)?;
        try_push(&mut parts, part, "parts")?;
        if !is_multipart {
            break;
        }
    }
    if parts.is_empty() {
        return Err(header.fault("the file has no parts"));
    }
    Ok(FileHeader { parts, is_multipart })
}

struct HeaderReader<'a, 'b> {
    reader: &'a mut BlockReader<'b>,
    file: &'a Arc<str>,
    options: &'a ParseOptions<ImageReadOptions>,
    warnings: &'a mut Warnings,
}

impl HeaderReader<'_, '_> {
    fn fault(&self, message: impl Into<String>) -> Error {
        fault(self.file, self.reader.offset(), message)
    }

    fn unsupported(&self, message: impl Into<String>) -> Error {
        Diagnostic::at(self.file, self.reader.offset(), message).into_error(ErrorKind::Unsupported)
    }

    /// Takes the next `count` bytes.
    fn take(&mut self, count: usize) -> Result<Vec<u8>> {
        let limit = self.options.limits.header_bytes;
        if self.reader.offset() + count as u64 > limit {
            let message = format!("the header is longer than the limit `header_bytes` ({limit} bytes)");
            let error = Diagnostic::at(self.file, self.reader.offset(), message).into_error(ErrorKind::Limit);
            return Err(error.with_hint(limit_hint("header_bytes")));
        }
        let available = self.reader.ensure(count)?;
        let Some(bytes) = available.get(..count) else {
            let count = available.len();
            self.reader.pass(count);
            return Err(truncated(self.file, self.reader.offset(), "the header"));
        };
        let mut taken = Vec::new();
        taken.try_reserve_exact(count).map_err(|_| Error::memory("an attribute"))?;
        taken.extend_from_slice(bytes);
        self.reader.pass(count);
        Ok(taken)
    }

    /// Takes a zero-terminated name.
    fn name(&mut self) -> Result<String> {
        let available = self.reader.ensure(MAX_NAME_BYTES + 1)?;
        let available = &available[..available.len().min(MAX_NAME_BYTES + 1)];
        let end = available.iter().position(|byte| *byte == 0);
        let count = available.len();
        let Some(end) = end else {
            if count <= MAX_NAME_BYTES {
                self.reader.pass(count);
                return Err(truncated(self.file, self.reader.offset(), "the header"));
            }
            return Err(self.fault(format!("a name exceeds the EXR maximum of {MAX_NAME_BYTES} bytes")));
        };
        let name = self.take(end + 1)?;
        let name = self.text(&name[..end])?;
        self.checked(name)
    }

    /// Fails for names that are too long: replacing bytes that are not UTF-8 can lengthen them.
    fn checked(&self, name: String) -> Result<String> {
        if name.len() > MAX_NAME_BYTES {
            Err(self.fault(format!("a name exceeds the EXR maximum of {MAX_NAME_BYTES} bytes")))
        } else {
            Ok(name)
        }
    }

    fn text(&mut self, bytes: &[u8]) -> Result<String> {
        let place = Place { file: self.file.clone(), offset: Some(self.reader.offset()), ..Place::default() };
        Ok(decode(bytes, &place, self.options.faults, self.warnings)?.into_owned())
    }

    /// Reads the attributes of a part, in file order; names may repeat.
    fn attributes(&mut self) -> Result<Vec<ImageAttribute>> {
        let mut attributes: Vec<ImageAttribute> = Vec::new();
        loop {
            let name = self.name()?;
            if name.is_empty() {
                return Ok(attributes);
            }
            let kind = self.name()?;
            if kind.is_empty() {
                return Err(self.fault(format!("the attribute `{}` has no type", shown(&name))));
            }
            let size = self.take(4)?;
            let size = i32::from_le_bytes([size[0], size[1], size[2], size[3]]);
            let Ok(size) = usize::try_from(size) else {
                return Err(self.fault(format!("the attribute `{}` has an invalid size of {size} bytes", shown(&name))));
            };
            let value = self.take(size)?;
            try_push(&mut attributes, ImageAttribute { name, kind, value }, "attributes")?;
        }
    }

    fn part(&mut self, mut attributes: Vec<ImageAttribute>, is_tiled: bool, is_deep: bool) -> Result<ExrPart> {
        // If names repeat, the last attribute wins, as in other readers. After the reversal and the stable sort, that
        // attribute is the first one with its name.
        attributes.reverse();
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        attributes.dedup_by(|a, b| a.name == b.name);
        let value = |name: &str| {
            let attribute = attributes.iter().find(|attribute| attribute.name == name);
            attribute.map(|attribute| attribute.value.as_slice())
        };
        let missing = |name: &str| self.fault(format!("the attribute `{name}` is missing or invalid"));
        let data = value("dataWindow").and_then(ExrWindow::from_value).ok_or_else(|| missing("dataWindow"))?;
        if value("displayWindow").is_some_and(|value| ExrWindow::from_value(value).is_none()) {
            return Err(missing("displayWindow"));
        }
        let compression = value("compression").and_then(|value| value.first().copied());
        let compression = compression.ok_or_else(|| missing("compression"))?;
        let channels = value("channels").ok_or_else(|| missing("channels"))?.to_vec();
        // In multipart files, the flags do not describe the parts; each part has a type instead.
        let (is_tiled, is_deep) = match value("type").map(|kind| kind.strip_suffix(b"\0").unwrap_or(kind)) {
            Some(b"scanlineimage") => (false, false),
            Some(b"tiledimage") => (true, false),
            Some(b"deepscanline") => (false, true),
            Some(b"deeptile") => (true, true),
            _ => (is_tiled, is_deep),
        };
        let tiles = if is_tiled { Some(value("tiles").and_then(tiles).ok_or_else(|| missing("tiles"))?) } else { None };
        let [name, view] = ["name", "view"].map(|name| value(name).unwrap_or_default().to_vec());
        let compression = compression_of(compression)
            .ok_or_else(|| self.unsupported(format!("EXR compression {compression} is not supported")))?;
        let channels = self.channels(&channels)?;
        let name = self.text(&name)?;
        let view = self.text(&view)?;
        attributes.retain(|attribute| !STORAGE.contains(&attribute.name.as_str()) && !is_default(attribute, data));
        // A data window that only repeats the size of the image is not kept.
        let is_origin = data.min == [0, 0];
        let shows_all = !attributes.iter().any(|attribute| attribute.name == "displayWindow");
        if is_origin && shows_all {
            attributes.retain(|attribute| attribute.name != "dataWindow");
        }
        Ok(ExrPart { name, view, channels, compression, tiles, is_deep, data, attributes })
    }

    /// Parses a channel list; each channel has a name, a type, a flag with three unused bytes, and its sampling.
    fn channels(&mut self, mut value: &[u8]) -> Result<Vec<ExrChannel>> {
        let mut channels: Vec<ExrChannel> = Vec::new();
        let broken = |header: &Self| header.fault("the channel list is truncated");
        while value.first().is_some_and(|byte| *byte != 0) {
            let end = value.iter().position(|byte| *byte == 0).ok_or_else(|| broken(self))?;
            let name = self.text(&value[..end])?;
            let name = self.checked(name)?;
            let Some((numbers, rest)) = value[end + 1..].split_first_chunk::<16>() else { return Err(broken(self)) };
            let [kind, flag, across, down] =
                [0, 4, 8, 12].map(|at| i32::from_le_bytes([0, 1, 2, 3].map(|byte| numbers[at + byte])));
            let kind = match kind {
                0 => ChannelType::U32,
                1 => ChannelType::F16,
                2 => ChannelType::F32,
                _ => return Err(self.fault(format!("the channel `{}` has type {kind}; expected 0 to 2", shown(&name)))),
            };
            if across < 1 || down < 1 {
                let message = format!(
                    "the channel `{}` has invalid sampling {across} x {down}; expected at least 1 x 1",
                    shown(&name)
                );
                return Err(self.fault(message));
            }
            if channels.last().is_some_and(|last| last.name >= name) {
                return Err(
                    self.fault(format!("the channel `{}` is repeated or not in alphabetical order", shown(&name)))
                );
            }
            let is_linear = flag & 0xFF != 0;
            let sampling = [across as usize, down as usize];
            try_push(&mut channels, ExrChannel { name, kind, is_linear, sampling }, "channels")?;
            value = rest;
        }
        if channels.is_empty() { Err(self.fault("a part has no channels")) } else { Ok(channels) }
    }
}

/// Returns whether an attribute has its default value.
fn is_default(attribute: &ImageAttribute, data: ExrWindow) -> bool {
    let floats: &[f32] = match attribute.name.as_str() {
        "displayWindow" => return ExrWindow::from_value(&attribute.value) == Some(data) && data.min == [0, 0],
        "pixelAspectRatio" | "screenWindowWidth" => &[1.0],
        "screenWindowCenter" => &[0.0, 0.0],
        _ => return false,
    };
    floats.iter().flat_map(|number| number.to_le_bytes()).eq(attribute.value.iter().copied())
}

fn compression_of(number: u8) -> Option<Compression> {
    Some(match number {
        0 => Compression::Uncompressed,
        1 => Compression::RLE,
        2 => Compression::ZIP1,
        3 => Compression::ZIP16,
        4 => Compression::PIZ,
        5 => Compression::PXR24,
        6 => Compression::B44,
        7 => Compression::B44A,
        8 => Compression::DWAA(None),
        9 => Compression::DWAB(None),
        10 => Compression::HTJ2K256,
        11 => Compression::HTJ2K32,
        _ => return None,
    })
}

fn tiles(value: &[u8]) -> Option<TileDescription> {
    let (&[width, height], &[mode]) = value.as_chunks() else { return None };
    let side = |bytes| usize::try_from(i32::from_le_bytes(bytes)).ok().filter(|side| *side > 0);
    // The lower four bits are the level mode, the upper four bits the rounding mode.
    let level_mode = match mode & 0xF {
        0 => LevelMode::Singular,
        1 => LevelMode::MipMap,
        2 => LevelMode::RipMap,
        _ => return None,
    };
    let rounding_mode = match mode >> 4 {
        0 => RoundingMode::Down,
        1 => RoundingMode::Up,
        _ => return None,
    };
    Some(TileDescription { tile_size: Vec2(side(width)?, side(height)?), level_mode, rounding_mode })
}
