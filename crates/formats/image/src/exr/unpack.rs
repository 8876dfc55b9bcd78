//! Decompresses blocks into rows of samples.
//!
//! A decompressed block stores, for each row of pixels, the samples of each channel in alphabetical order; rows and
//! columns that a channel does not sample are omitted. `b44` decompresses B44 and B44A, and a library, the `exr` crate,
//! all other compression methods. The library does not support subsampled channels. For blocks with such channels, it
//! receives the description of a block with the same number of bytes.
//!
//! Every returned block has exactly the bytes of its rows: `reader` relies on that to fill all pixels.

use super::b44;
use super::header::{ExrChannel, ExrPart};
use exr::compression::Compression;
use exr::math::Vec2;
use exr::meta::BlockDescription;
use exr::meta::attribute::{ChannelDescription, ChannelList, IntegerBounds, LineOrder, SampleType, Text};
use exr::meta::header::Header;
use polyhaul_model::ChannelType;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault};
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes by which a section of a DWA block may exceed four times the size of its pixels: for channel names, and for
/// widths and heights rounded up to multiples of 8.
const DWA_BYTES: usize = 64 << 10;

/// Upper bound of the compression ratio: deflate reaches 1032, PXR24 deflates three bytes of four, and RLE reaches 64.
const MAX_RATIO: usize = 2 * 1032;

/// The pixels of a block: inclusive bounds in window coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExrRows {
    pub(super) min: [i32; 2],
    pub(super) max: [i32; 2],
}

/// Position of a block in the file, for errors.
#[derive(Clone, Copy)]
pub(super) struct BlockPlace<'a> {
    pub(super) file: &'a Arc<str>,
    pub(super) at: u64,
}

/// A decompressed block.
pub(super) struct Unpacked {
    pub(super) bytes: Vec<u8>,
    /// Whether samples are little-endian; otherwise they are in native byte order.
    pub(super) is_little: bool,
}

/// Counts the multiples of `step` from `first` to `last`, inclusive, which are the positions of samples.
pub(super) fn multiples(step: usize, first: i32, last: i32) -> usize {
    let step = step as i64;
    let first = i64::from(first);
    let last = i64::from(last);
    // Euclidean division rounds down for negative coordinates as well.
    (last.div_euclid(step) - (first - 1).div_euclid(step)) as usize
}

/// Iterates over the samples of a line.
pub(super) fn samples_of<const N: usize>(line: &[u8]) -> impl Iterator<Item = [u8; N]> {
    line.as_chunks().0.iter().copied()
}

impl ExrRows {
    pub(super) fn rows(&self) -> RangeInclusive<i32> {
        self.min[1]..=self.max[1]
    }

    /// Returns the columns and rows of samples of a channel.
    pub(super) fn size(&self, channel: &ExrChannel) -> [usize; 2] {
        [0, 1].map(|axis| multiples(channel.sampling[axis], self.min[axis], self.max[axis]))
    }

    /// Returns whether a channel has samples in a row.
    pub(super) fn has_row(&self, channel: &ExrChannel, row: i32) -> bool {
        i64::from(row).rem_euclid(channel.sampling[1] as i64) == 0
    }

    /// Returns the size of the decompressed block in bytes, which was checked not to overflow.
    pub(super) fn bytes(&self, channels: &[ExrChannel]) -> usize {
        let bytes = |channel: &ExrChannel| self.size(channel).iter().product::<usize>() * channel.kind.bytes();
        channels.iter().map(bytes).sum()
    }

    fn extent(&self) -> [usize; 2] {
        [0, 1].map(|axis| multiples(1, self.min[axis], self.max[axis]))
    }
}

impl ExrPart {
    /// Returns whether any channel is subsampled.
    fn is_subsampled(&self) -> bool {
        self.channels.iter().any(|channel| channel.sampling != [1, 1])
    }
}

/// Returns whether `packed_bytes` can encode the rows of a block, for compression methods with a bounded ratio. Called
/// before memory for the pixels is allocated.
pub(super) fn is_backed(part: &ExrPart, packed_bytes: usize, rows: &ExrRows) -> bool {
    match part.compression {
        Compression::RLE | Compression::ZIP1 | Compression::ZIP16 | Compression::PXR24 => {
            rows.bytes(&part.channels) <= MAX_RATIO.saturating_mul(packed_bytes)
        }
        _ => true,
    }
}

/// Decompresses a block of a part.
pub(super) fn unpack(part: &ExrPart, packed: Vec<u8>, rows: &ExrRows, place: BlockPlace<'_>) -> Result<Unpacked> {
    let bytes = rows.bytes(&part.channels);
    // Blocks that compression would not shrink are stored uncompressed.
    if packed.len() == bytes {
        return Ok(Unpacked { bytes: packed, is_little: true });
    }
    let unpacked = match part.compression {
        Compression::B44 | Compression::B44A => {
            let samples = b44::unpack(&part.channels, &packed, rows)?;
            samples.map(|bytes| Unpacked { bytes, is_little: false })
        }
        Compression::DWAA(_) | Compression::DWAB(_) if claims_much(&packed, 4 * bytes + DWA_BYTES) => None,
        _ if !is_backed(part, packed.len(), rows) => None,
        _ if part.is_subsampled() => Some(unpack_sampled(part, packed, rows, place)?),
        _ => Some(Unpacked { bytes: decoded(&header(part, rows), packed, place)?, is_little: false }),
    };
    // `reader` relies on the exact size.
    let broken = || fault(place.file, place.at, "invalid data in a block");
    unpacked.filter(|unpacked| unpacked.bytes.len() == bytes).ok_or_else(broken)
}

/// Decompresses a block with subsampled channels.
fn unpack_sampled(part: &ExrPart, packed: Vec<u8>, rows: &ExrRows, place: BlockPlace<'_>) -> Result<Unpacked> {
    let bytes = rows.bytes(&part.channels);
    if bytes == 0 {
        return Ok(Unpacked { bytes: Vec::new(), is_little: true });
    }
    if let Compression::Uncompressed | Compression::RLE | Compression::ZIP1 | Compression::ZIP16 = part.compression {
        // These methods compress plain bytes, so the block is declared as one row of halves.
        // Halves are the smallest samples of the format, and `bytes` is even, because samples have 2 or 4 bytes.
        let channel = ChannelDescription::new("Y", SampleType::F16, false);
        let header = Header::new(Text::from(""), (bytes / 2, 1), [channel].into_iter().collect()).with_encoding(
            part.compression,
            BlockDescription::ScanLines,
            LineOrder::Increasing,
        );
        let mut bytes = decoded(&header, packed, place)?;
        // The library returned the bytes as halves in native order.
        bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| *pair = u16::from_ne_bytes(*pair).to_le_bytes());
        return Ok(Unpacked { bytes, is_little: true });
    }
    let [width, height] = rows.extent();
    let fits = |channel: &ExrChannel| {
        let [across, down] = channel.sampling;
        rows.size(channel) == [width / across, height / down]
            && width.is_multiple_of(across)
            && height.is_multiple_of(down)
            && rows.has_row(channel, rows.min[1])
    };
    if !part.channels.iter().all(fits) || !bytes.is_multiple_of(width * height) {
        let message = "subsampled channels are not supported with this layout and compression";
        return Err(Diagnostic::at(place.file, place.at, message).into_error(ErrorKind::Unsupported));
    }
    let mut header = header(part, rows);
    // The library computes the block size from this field only.
    header.channels.bytes_per_pixel = bytes / (width * height);
    Ok(Unpacked { bytes: decoded(&header, packed, place)?, is_little: false })
}

/// Describes the block as an image, as the library expects.
fn header(part: &ExrPart, rows: &ExrRows) -> Header {
    let list = part.channels.iter().map(|channel| ChannelDescription {
        name: Text::from_bytes_unchecked(channel.name.bytes().collect()),
        sample_type: match channel.kind {
            ChannelType::U32 => SampleType::U32,
            ChannelType::F32 => SampleType::F32,
            _ => SampleType::F16,
        },
        quantize_linearly: channel.is_linear,
        sampling: Vec2(channel.sampling[0], channel.sampling[1]),
    });
    let blocks = match part.tiles {
        Some(tiles) => BlockDescription::Tiles(tiles),
        None => BlockDescription::ScanLines,
    };
    let [width, height] = rows.extent();
    let header = Header::new(Text::from(""), (width, height), list.collect());
    Header { compression: part.compression, blocks, channels: ChannelList::new(header.channels.list), ..header }
}

/// Calls the library. Converts its panics into errors.
fn decoded(header: &Header, packed: Vec<u8>, place: BlockPlace<'_>) -> Result<Vec<u8>> {
    let bounds = IntegerBounds::new((0, 0), header.layer_size);
    let call = || header.compression.decompress_image_section_from_le(header, packed, bounds, false);
    let panicked = |_| Err(exr::error::Error::Invalid("the decoder failed".into()));
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(panicked).map_err(|error| of_decoder(error, place))
}

fn of_decoder(error: exr::error::Error, BlockPlace { file, at }: BlockPlace<'_>) -> Error {
    match error {
        exr::error::Error::NotSupported(what) => {
            Diagnostic::at(file, at, format!("this EXR feature is not supported: {what}"))
                .into_error(ErrorKind::Unsupported)
        }
        // The library's messages refer to its internals.
        _ => fault(file, at, "the compressed pixels of a block are damaged"),
    }
}

/// Returns whether a DWA block declares a section larger than `max`. The decoder would allocate the declared sizes. The
/// header has a version, nine sizes and counts, and the compression of one section, of 8 bytes each.
fn claims_much(packed: &[u8], max: usize) -> bool {
    let numbers = packed.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
    numbers.skip(1).take(9).any(|size| size > max as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exr::header::ExrWindow;

    fn part(compression: Compression, height: i32) -> ExrPart {
        let channel =
            |name: &str, kind, step| ExrChannel { name: name.into(), kind, is_linear: false, sampling: [step, step] };
        ExrPart {
            name: String::new(),
            view: String::new(),
            channels: vec![
                channel("BY", ChannelType::F16, 2),
                channel("RY", ChannelType::F16, 2),
                channel("Y", ChannelType::F32, 1),
            ],
            compression,
            tiles: None,
            is_deep: false,
            data: ExrWindow { min: [-4, 6], max: [15, 5 + height] },
            attributes: Vec::new(),
        }
    }

    fn block(part: &ExrPart) -> (ExrRows, Vec<u8>) {
        let rows = ExrRows { min: part.data.min, max: part.data.max };
        let bytes = (0..rows.bytes(&part.channels)).map(|at| [0x12, 0x34, (at / 64) as u8, 0x3C][at % 4]).collect();
        (rows, bytes)
    }

    fn place(file: &Arc<str>) -> BlockPlace<'_> {
        BlockPlace { file, at: 0 }
    }

    #[test]
    fn subsampled_channels_are_unpacked_for_every_compression() {
        let file = "x".into();
        // Compression methods that interpret the channels.
        for compression in [Compression::PIZ, Compression::DWAA(None)] {
            let part = part(compression, 32);
            let (rows, bytes) = block(&part);
            let mut header = header(&part, &rows);
            header.channels.bytes_per_pixel = bytes.len() / (20 * 32);
            let bounds = IntegerBounds::new((0, 0), header.layer_size);
            let packed = compression.compress_image_section_to_le(&header, bytes.clone(), bounds).unwrap();
            assert!(packed.len() < bytes.len(), "{compression}");
            let unpacked = unpack(&part, packed, &rows, place(&file)).unwrap();
            // DWA is lossy.
            let is_same = unpacked.bytes == bytes || compression.may_loose_data();
            assert!(is_same && unpacked.bytes.len() == bytes.len(), "{compression}");
        }
        // Compression methods for plain bytes.
        for (compression, height) in
            [(Compression::ZIP16, 16), (Compression::ZIP16, 7), (Compression::ZIP1, 1), (Compression::RLE, 1)]
        {
            let part = part(compression, height);
            let (rows, _) = block(&part);
            let bytes = vec![7; rows.bytes(&part.channels)];
            let channel = [ChannelDescription::new("Y", SampleType::F16, false)].into_iter().collect();
            let header = Header::new(Text::from(""), (bytes.len() / 2, 1), channel);
            let header = header.with_encoding(compression, BlockDescription::ScanLines, LineOrder::Increasing);
            let bounds = IntegerBounds::new((0, 0), header.layer_size);
            let packed = compression.compress_image_section_to_le(&header, bytes.clone(), bounds).unwrap();
            assert!(packed.len() < bytes.len());
            assert!(unpack(&part, packed, &rows, place(&file)).unwrap().bytes == bytes, "{compression} {height}");
        }
    }

    #[test]
    fn blocks_of_b44_have_as_many_samples_as_their_channels() {
        let part = part(Compression::B44, 32);
        let (rows, bytes) = block(&part);
        // 10 x 16 chroma samples are 3 x 4 blocks of equal samples; the luminance is not compressed.
        let chroma = [0xBC, 0x00, 0xFC].repeat(3 * 4);
        let luminance = vec![9; 4 * 20 * 32];
        let file = "x".into();
        let packed = [chroma.clone(), chroma.clone(), luminance.clone()].concat();
        let unpacked = unpack(&part, packed, &rows, place(&file)).unwrap().bytes;
        assert_eq!(unpacked.len(), bytes.len());
        let first = [0x3C00_u16.to_ne_bytes().repeat(20), vec![9; 80], vec![9; 80]].concat();
        assert_eq!(unpacked[..first.len()], first);
        for wrong in [[chroma.clone(), luminance.clone()].concat(), [&chroma[..], &chroma, &luminance, &[0]].concat()] {
            assert_eq!(
                unpack(&part, wrong, &rows, place(&file)).err().map(|error| error.kind()),
                Some(ErrorKind::Malformed)
            );
        }
    }

    #[test]
    fn sizes_that_the_library_cannot_express_are_refused() {
        let part = part(Compression::PIZ, 7);
        let (rows, _) = block(&part);
        let error = unpack(&part, vec![1; 40], &rows, place(&"x".into())).err().map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::Unsupported));
    }

    #[test]
    fn multiples_are_counted_on_both_sides_of_zero() {
        assert_eq!([multiples(2, -4, 3), multiples(2, -3, -3), multiples(3, -7, 7), multiples(1, 5, 4)], [4, 0, 5, 0]);
    }
}
