//! Decodes the channels of a Photoshop document into an image.

use super::header;
use super::header::{PsdColors, PsdHeader};
use crate::color;
use crate::pieces::Pieces;
use polyhaul_model::error::{Diagnostic, Error, Result, fault, planted};
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{ColorProfile, ColorSpace, Image, Samples};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;

/// Pixels interleaved at a time, so that all channels stay in cache.
const BLOCK_PIXELS: usize = 4096;

/// Reads the merged image. Warns about skipped layers and channels.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Image> {
    let mut pieces = Pieces::new(bytes, options);
    let mut header = header::read(&mut pieces, &options.limits)?;
    let channel_count = header.colors.count() + usize::from(header.has_alpha);
    if !header.has_merged {
        let message = "the document was saved without a merged image; the stored image does not show its layers";
        let mut missing = Diagnostic::of_file(&pieces.file, message);
        missing.hint = Some("save it with Maximize Compatibility turned on".into());
        warnings.note_dropped(options.faults, "missing-merged-image", 1, missing)?;
    }
    // The merged image of a single layer shows that layer.
    let layers = if header.layers > 1 { header.layers } else { 0 };
    let skipped = [
        (
            "left-out-layers",
            layers,
            [
                "layer was skipped, because only the merged image is read",
                "layers were skipped, because only the merged image is read",
            ],
        ),
        (
            "left-out-channels",
            header.stored.saturating_sub(channel_count),
            [
                "channel was skipped: it is neither a color nor alpha",
                "channels were skipped: they are neither colors nor alpha",
            ],
        ),
    ];
    for (code, count, words) in skipped.into_iter().filter(|(_, count, _)| *count > 0) {
        warnings.note(options.faults, code, Diagnostic::of_file(&pieces.file, counted(count as u64, words)))?;
        warnings.count(code, count as u64 - 1);
    }
    let planes = if header.has_packets {
        packed_planes(&mut pieces, &header, channel_count)?
    } else {
        plain_planes(&mut pieces, &header, channel_count)?
    };
    let file = pieces.file.clone();
    pieces.finish()?;
    let profile = ColorProfile { icc: header.profile.take(), ..ColorProfile::default() };
    if header.has_large_profile {
        color::note_lost("is too large", &file, options.faults, warnings)?;
    }
    let samples = samples(&header, planes)?;
    let color_space = if header.bits == 32 { ColorSpace::Linear } else { ColorSpace::Srgb };
    let PsdHeader { width, height, .. } = header;
    let mut image = Image { width, height, channels: header.channels(), samples, color_space, ..Image::default() };
    color::keep(&mut image, profile, &file, options.faults, warnings)?;
    Ok(image)
}

/// Reads the first channels, stored uncompressed.
fn plain_planes(pieces: &mut Pieces<'_>, header: &PsdHeader, channel_count: usize) -> Result<Vec<Vec<u8>>> {
    let size = header.row_bytes().checked_mul(header.height).ok_or_else(|| Error::memory("pixels"))?;
    pieces.check_left((size as u64).saturating_mul(header.stored as u64), "pixels")?;
    let planes = (0..channel_count).map(|_| pieces.take(size, "pixels")).collect::<Result<Vec<_>>>()?;
    // The other channels must also exist.
    let end = pieces.at() + (size * (header.stored - channel_count)) as u64;
    pieces.pass_to(end, "pixels")?;
    Ok(planes)
}

/// Reads the first channels, whose rows are compressed with PackBits. The compressed size of each row of all channels
/// precedes the channels, in 2 bytes, or 4 in a PSB.
fn packed_planes(pieces: &mut Pieces<'_>, header: &PsdHeader, channel_count: usize) -> Result<Vec<Vec<u8>>> {
    let size_bytes = if header.is_large { 4 } else { 2 };
    let table = pieces.take(header.height * header.stored * size_bytes, "row sizes")?;
    let sizes = |plane: usize| {
        let start = plane * header.height * size_bytes;
        let sizes = table.get(start..start + header.height * size_bytes).unwrap_or_default();
        sizes.chunks_exact(size_bytes).map(|size| size.iter().fold(0, |size, byte| size << 8 | usize::from(*byte)))
    };
    let mut planes = Vec::new();
    for plane in 0..channel_count {
        let start = pieces.at();
        let packed = pieces.take(sizes(plane).sum(), "pixels")?;
        planes.push(unpack(&packed, sizes(plane), header.row_bytes(), |(at, message)| {
            fault(&pieces.file, start + at as u64, message)
        })?);
    }
    let end = pieces.at() + (channel_count..header.stored).flat_map(sizes).map(|size| size as u64).sum::<u64>();
    pieces.pass_to(end, "pixels")?;
    Ok(planes)
}

/// Offset and message of an error in the packets.
type PsdFault = (usize, &'static str);

/// Unpacks rows of the given sizes; `placed` creates the error for a fault at an offset in `packed`.
fn unpack(
    packed: &[u8],
    sizes: impl Iterator<Item = usize>,
    row_bytes: usize,
    placed: impl Fn(PsdFault) -> Error,
) -> Result<Vec<u8>> {
    let mut plane = Vec::new();
    let mut start = 0;
    for size in sizes {
        let row = packed.get(start..start + size).unwrap_or_default();
        // Two bytes of PackBits expand to at most 128.
        plane.try_reserve(row_bytes.min(64 * size)).map_err(|_| Error::memory("a row"))?;
        let filled = plane.len();
        unpack_row(row, &mut plane, filled + row_bytes).map_err(|(at, message)| placed((start + at, message)))?;
        start += size;
    }
    Ok(plane)
}

/// Unpacks a row, until the plane has `end` bytes.
fn unpack_row(row: &[u8], plane: &mut Vec<u8>, end: usize) -> std::result::Result<(), PsdFault> {
    let mut rest = row;
    while let Some((&head, behind)) = rest.split_first() {
        let at = row.len() - rest.len();
        let room = end - plane.len();
        let too_long = (at, "a packet extends past the end of its row");
        rest = match head {
            // PackBits: no operation.
            128 => behind,
            0..=127 => {
                let count = usize::from(head) + 1;
                let (bytes, behind) = behind.split_at_checked(count).ok_or((at, "a packet is truncated"))?;
                plane.extend_from_slice(bytes.get(..count.min(room + 1)).filter(|_| count <= room).ok_or(too_long)?);
                behind
            }
            _ => {
                let (&byte, behind) = behind.split_first().ok_or((at, "a packet is truncated"))?;
                let count = 257 - usize::from(head);
                if count > room && !planted("psd-run") {
                    return Err(too_long);
                }
                plane.resize(plane.len() + count, byte);
                behind
            }
        };
    }
    if plane.len() < end { Err((row.len(), "unexpected end of a row")) } else { Ok(()) }
}

/// Assembles the samples of the image.
fn samples(header: &PsdHeader, planes: Vec<Vec<u8>>) -> Result<Samples> {
    let alpha = usize::from(header.has_alpha);
    Ok(match (&header.colors, header.bits) {
        (_, 1) => Samples::U8(expanded_bits(header, &planes[0])?.into()),
        (PsdColors::Mapped(colors), _) => Samples::U8(mapped(colors, &planes[0])?.into()),
        (PsdColors::Cmyk, 8) => Samples::U8(without_black(joined(&planes, |[byte]: [u8; 1]| byte)?, alpha).into()),
        (PsdColors::Cmyk, _) => Samples::U16(without_black(joined(&planes, u16::from_be_bytes)?, alpha).into()),
        // A single channel is already an image.
        (_, 8) if planes.len() == 1 => Samples::U8(planes.into_iter().next().unwrap_or_default().into()),
        (_, 8) => Samples::U8(joined(&planes, |[byte]: [u8; 1]| byte)?.into()),
        (_, 16) => Samples::U16(joined(&planes, u16::from_be_bytes)?.into()),
        _ => Samples::F32(joined(&planes, f32::from_be_bytes)?.into()),
    })
}

fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| Error::memory("an image"))?;
    Ok(room)
}

/// Interleaves the samples of all channels.
fn joined<const SIZE: usize, T: Copy + Default>(
    planes: &[Vec<u8>],
    sample: impl Fn([u8; SIZE]) -> T,
) -> Result<Vec<T>> {
    let count = planes.len();
    let pixels = planes[0].len() / SIZE;
    let mut samples = room(pixels * count)?;
    while samples.len() < pixels * count {
        let start = samples.len() / count;
        let end = pixels.min(start + BLOCK_PIXELS);
        samples.resize(end * count, T::default());
        for (channel, plane) in planes.iter().enumerate() {
            let to = samples[start * count..].iter_mut().skip(channel).step_by(count);
            let from = plane[start * SIZE..end * SIZE].as_chunks::<SIZE>().0;
            to.zip(from).for_each(|(to, from)| *to = sample(*from));
        }
    }
    Ok(samples)
}

/// Expands bits into bytes. A bit of 1 is black.
fn expanded_bits(header: &PsdHeader, plane: &[u8]) -> Result<Vec<u8>> {
    let mut samples = room(header.width * header.height)?;
    for row in plane.chunks_exact(header.row_bytes()) {
        let bits = row.iter().flat_map(|byte| (0..8).map(move |bit| byte << bit & 0x80 != 0));
        samples.extend(bits.take(header.width).map(|is_black| if is_black { 0 } else { 255 }));
    }
    Ok(samples)
}

/// Expands indices into colors of a palette, which stores all reds, then all greens, then all blues.
fn mapped(colors: &[u8], plane: &[u8]) -> Result<Vec<u8>> {
    let mut table = [[0; 3]; 256];
    for (number, color) in table.iter_mut().enumerate() {
        *color = [0, 256, 512].map(|start| colors.get(start + number).copied().unwrap_or(0));
    }
    let mut samples = room(plane.len() * 3)?;
    plane.iter().for_each(|number| samples.extend_from_slice(&table[usize::from(*number)]));
    Ok(samples)
}

/// Converts CMYK to RGB. Inks are stored inverted: the maximum is no ink.
fn without_black<T: Copy + PsdLight>(mut samples: Vec<T>, alpha: usize) -> Vec<T> {
    let stored = 4 + alpha;
    let size = 3 + alpha;
    for number in 0..samples.len() / stored {
        // Pixels shrink, so `to` never passes `from`, and conversion in place is safe.
        let from = number * stored;
        let to = number * size;
        let black = samples[from + 3];
        for channel in 0..3 {
            samples[to + channel] = samples[from + channel].times(black);
        }
        if alpha > 0 {
            samples[to + 3] = samples[from + 4];
        }
    }
    samples.truncate(samples.len() / stored * size);
    samples
}

/// A sample as a fraction of white.
trait PsdLight {
    /// Returns the product of two fractions, rounded to nearest.
    fn times(self, other: Self) -> Self;
}

impl PsdLight for u8 {
    fn times(self, other: u8) -> u8 {
        ((u32::from(self) * u32::from(other) + 127) / 255) as u8
    }
}

impl PsdLight for u16 {
    fn times(self, other: u16) -> u16 {
        ((u64::from(self) * u64::from(other) + 32_767) / 65_535) as u16
    }
}
