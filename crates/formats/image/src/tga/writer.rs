//! Writes TGA files: rows from top to bottom, uncompressed or run-length encoded, with the version 2 footer.
//!
//! Rows are encoded in parallel, several per page. Packets do not span rows.

use super::{EXTENSION_BYTES, HEADER_BYTES, PREMULTIPLIED, SIGNATURE};
use crate::pixels;
use crate::raster::page_of;
use polyhaul_model::error::{Error, ErrorKind, Result, planted};
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{Channels, Image, Samples};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::Range;

/// Approximate size of a page in bytes.
const PAGE_BYTES: usize = 256 << 10;
/// Maximum number of pixels per packet.
const PACKET: usize = 128;

/// Writes an image.
pub fn write(
    image: &Image,
    style: &ImageWriteOptions,
    options: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    let Samples::U8(samples) = &image.samples else {
        let error = Error::new(ErrorKind::Usage, "TGA stores only 8-bit samples");
        return Err(error.with_hint("convert them to 8 bits first, or write HDR, which stores floats"));
    };
    let too_large = |_| {
        let message =
            format!("TGA cannot store {} x {} pixels; expected at most 65535 x 65535", image.width, image.height);
        Error::new(ErrorKind::Usage, message)
    };
    let width = u16::try_from(image.width).map_err(too_large)?;
    let height = u16::try_from(image.height).map_err(too_large)?;
    if width == 0 || height == 0 {
        return Err(Error::new(ErrorKind::Usage, format!("cannot write an empty image ({width} x {height} pixels)")));
    }
    writing.set_head(header([width, height], image.channels, style.rle)?);
    let row_bytes = image.width * image.channels.count();
    let page_bytes = options.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
    let page_rows = (page_bytes / row_bytes).max(1);
    let pages = TgaPages { samples, channels: image.channels, row_bytes, page_rows, has_packets: style.rle };
    writing.announce((HEADER_BYTES + samples.len()) as u64);
    writing.pages(&pages, &mut (), image.height.div_ceil(page_rows) as u64, 3 * page_rows * row_bytes)?;
    writing.end(footer(writing.written(), image.premultiplied)?)
}

/// Builds the header.
fn header([width, height]: [u16; 2], channels: Channels, has_packets: bool) -> Result<Vec<u8>> {
    let is_gray = matches!(channels, Channels::Gray | Channels::GrayAlpha);
    let kind = if is_gray { 3 } else { 2 } | if has_packets { 8 } else { 0 };
    let alpha_bits = if channels.has_alpha() { 8 } else { 0 };
    let mut header = Vec::new();
    header.try_reserve_exact(HEADER_BYTES)?;
    header.extend_from_slice(&[0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    header.extend_from_slice(&width.to_le_bytes());
    header.extend_from_slice(&height.to_le_bytes());
    // Top to bottom, and the number of alpha bits.
    header.extend_from_slice(&[8 * channels.count() as u8, 0x20 | alpha_bits]);
    Ok(header)
}

/// Builds the end of the file: an extension area if colors are premultiplied, and the footer. The pixels end at `end`.
fn footer(end: u64, premultiplied: bool) -> Result<Vec<u8>> {
    let mut footer = Vec::new();
    footer.try_reserve_exact(EXTENSION_BYTES + 8 + SIGNATURE.len())?;
    let mut place = 0;
    // Offsets have 32 bits, so a larger file has no extension area.
    if premultiplied && let Ok(end) = u32::try_from(end) {
        footer.extend_from_slice(&(EXTENSION_BYTES as u16).to_le_bytes());
        footer.resize(EXTENSION_BYTES - 1, 0);
        footer.push(PREMULTIPLIED);
        place = end;
    }
    footer.extend_from_slice(&place.to_le_bytes());
    footer.extend_from_slice(&[0; 4]);
    footer.extend_from_slice(SIGNATURE);
    Ok(footer)
}

struct TgaPages<'a> {
    samples: &'a [u8],
    channels: Channels,
    /// Bytes per uncompressed row.
    row_bytes: usize,
    page_rows: usize,
    has_packets: bool,
}

#[derive(Default)]
struct TgaPageSlot {
    samples: Range<usize>,
    /// Pixels in stored order.
    plain: Vec<u8>,
    packets: Vec<u8>,
}

impl Pages for TgaPages<'_> {
    type Slot = TgaPageSlot;
    type State = ();

    fn slot(&self) -> Result<TgaPageSlot> {
        Ok(TgaPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut TgaPageSlot) -> Result<bool> {
        let page = self.page_rows * self.row_bytes;
        slot.samples = page_of(number + u64::from(number > 0 && planted("tga-pages")), page, self.samples.len());
        Ok(!slot.samples.is_empty())
    }

    fn phase(&self) -> Phase {
        Phase::Encode
    }

    fn format(&self, slot: &mut TgaPageSlot) -> Result<()> {
        let samples = &self.samples[slot.samples.clone()];
        slot.plain.clear();
        slot.plain.try_reserve_exact(samples.len()).map_err(|_| Error::memory("a page"))?;
        pixels::store(self.channels, samples, &mut slot.plain);
        slot.packets.clear();
        if self.has_packets {
            // At worst, one packet header per 128 pixels, and one for the rest of each row.
            let max_bytes = slot.plain.len() + slot.plain.len() / PACKET + self.page_rows;
            slot.packets.try_reserve_exact(max_bytes).map_err(|_| Error::memory("a page"))?;
            for row in slot.plain.chunks_exact(self.row_bytes) {
                match self.channels.count() {
                    1 => pack(row.as_chunks::<1>().0, &mut slot.packets),
                    2 => pack(row.as_chunks::<2>().0, &mut slot.packets),
                    3 => pack(row.as_chunks::<3>().0, &mut slot.packets),
                    _ => pack(row.as_chunks::<4>().0, &mut slot.packets),
                }
            }
        }
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a TgaPageSlot) -> &'a [u8] {
        if self.has_packets { &slot.packets } else { &slot.plain }
    }
}

/// Encodes a row as runs and literals.
fn pack<const SIZE: usize>(mut row: &[[u8; SIZE]], out: &mut Vec<u8>) {
    // A run of two 1-byte pixels saves nothing, and splitting literals costs another packet header.
    let worth = if SIZE == 1 { 3 } else { 2 };
    while let Some(first) = row.first() {
        let run = row.iter().take(PACKET).take_while(|pixel| *pixel == first).count();
        if run >= worth {
            out.push(0x80 | (run - 1) as u8);
            out.extend_from_slice(first);
            row = &row[run..];
            continue;
        }
        let starts_run =
            |place: &usize| row[*place..].iter().take(worth).filter(|pixel| **pixel == row[*place]).count() == worth;
        let max_count = row.len().min(PACKET);
        let count = (run..max_count).find(starts_run).unwrap_or(max_count);
        out.push((count - 1) as u8);
        out.extend_from_slice(row[..count].as_flattened());
        row = &row[count..];
    }
}
