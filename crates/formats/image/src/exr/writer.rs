//! Writes EXR files: blocks of rows, compressed in parallel, after an offset table.
//!
//! The table has 8 bytes per block; a block has its first row and its size (4 bytes each), then the compressed samples.
//! Offsets are known only after all blocks are compressed, so the blocks are kept in memory.

use super::channels::{ChannelSource, OutChannel, channels, header, multiplies, window};
use super::header::MAX_COORDINATE;
use crate::raster::page_of;
use exr::compression::Compression;
use exr::meta::BlockDescription;
use exr::meta::attribute::{ChannelDescription, IntegerBounds, LineOrder, SampleType, Text};
use exr::meta::header::Header;
use exr::prelude::f16;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{ChannelSamples, ChannelType, ColorSpace, Image, Samples};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::Range;

/// Rows per block, fixed by the format for ZIP compression.
const BLOCK_ROWS: usize = 16;

/// Blocks per output page.
const PAGE_BLOCKS: usize = 16;

/// Writes an image.
pub fn write(
    image: &Image,
    style: &ImageWriteOptions,
    options: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    let samples = match &image.samples {
        Samples::F32(samples) if image.color_space == ColorSpace::Linear => samples,
        _ => {
            let error = Error::new(ErrorKind::Usage, "EXR stores only linear floats");
            return Err(error.with_hint("convert the samples to linear floats first, as `polyhaul convert` does"));
        }
    };
    // Windows have 32-bit coordinates.
    let sides = 1..=MAX_COORDINATE as usize;
    if !sides.contains(&image.width) || !sides.contains(&image.height) {
        let Image { width, height, .. } = image;
        let message =
            format!("EXR cannot store {width} x {height} pixels; expected 1 to {MAX_COORDINATE} rows and columns");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let channels = channels(image, style)?;
    let mut start = header(image, &channels)?;
    let packer = ExrPacker { image, samples, channels: &channels, top: window(image)?.min[1] };
    let blocks = packer.pack_all(options)?;
    table(&mut start, &blocks)?;
    writing.announce((start.len() + blocks.iter().map(Vec::len).sum::<usize>()) as u64);
    writing.set_head(start);
    let count = blocks.len().div_ceil(PAGE_BLOCKS) as u64;
    let slot_bytes = PAGE_BLOCKS * blocks.iter().map(Vec::len).max().unwrap_or(0);
    writing.pages(&ExrPages { blocks: &blocks }, &mut (), count, slot_bytes)
}

/// Appends the offset of each block to the header.
fn table(start: &mut Vec<u8>, blocks: &[Vec<u8>]) -> Result<()> {
    start.try_reserve_exact(8 * blocks.len())?;
    // The first block follows the table.
    let mut place = (start.len() + 8 * blocks.len()) as u64;
    for block in blocks {
        start.extend_from_slice(&place.to_le_bytes());
        place += block.len() as u64;
    }
    Ok(())
}

struct ExrPacker<'a> {
    image: &'a Image,
    samples: &'a [f32],
    channels: &'a [OutChannel<'a>],
    /// Coordinate of the first row.
    top: i32,
}

impl ExrPacker<'_> {
    /// Compresses all blocks.
    fn pack_all(&self, options: &RunOptions) -> Result<Vec<Vec<u8>>> {
        let count = self.image.height.div_ceil(BLOCK_ROWS);
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(count).map_err(|_| Error::memory("the blocks of an image"))?;
        blocks.resize_with(count, Vec::new);
        let items = blocks.iter_mut().enumerate();
        try_for_each_item(
            options.worker_threads(),
            &options.cancel,
            items,
            || (),
            |(), (number, block)| {
                *block = self.block(number)?;
                Ok(())
            },
        )?;
        Ok(blocks)
    }

    /// Builds a block as stored: its first row, its size, and its compressed samples.
    fn block(&self, number: usize) -> Result<Vec<u8>> {
        let rows = page_of(number as u64, BLOCK_ROWS, self.image.height);
        let pixel: usize = self.channels.iter().map(|channel| channel.kind.bytes()).sum();
        let mut data = Vec::new();
        data.try_reserve_exact(rows.len() * self.image.width * pixel).map_err(|_| Error::memory("a block"))?;
        for row in rows.clone() {
            let pixels = row * self.image.width..(row + 1) * self.image.width;
            self.channels.iter().for_each(|channel| self.line(channel, pixels.clone(), &mut data));
        }
        let failed = |error: exr::error::Error| Error::new(ErrorKind::Internal, error.to_string());
        let bounds = IntegerBounds::new((0, 0), (self.image.width, rows.len()));
        // Takes samples in native byte order, and stores them little-endian.
        let packed = Compression::ZIP16.compress_image_section_to_le(&self.layout(rows.len()), data, bounds);
        let packed = packed.map_err(failed)?;
        let too_large =
            |_| Error::new(ErrorKind::Usage, "the rows are too long for EXR: a block exceeds 2^31 - 1 bytes");
        let size = i32::try_from(packed.len()).map_err(too_large)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(packed.len() + 8).map_err(|_| Error::memory("a block"))?;
        bytes.extend_from_slice(&(self.top + rows.start as i32).to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&packed);
        Ok(bytes)
    }

    /// Describes the block as an image, as the library expects.
    fn layout(&self, rows: usize) -> Header {
        let channel = |channel: &OutChannel<'_>| {
            let kind = match channel.kind {
                ChannelType::U32 => SampleType::U32,
                ChannelType::F32 => SampleType::F32,
                _ => SampleType::F16,
            };
            ChannelDescription::new(Text::from_bytes_unchecked(channel.name.bytes().collect()), kind, false)
        };
        Header::new(Text::from(""), (self.image.width, rows), self.channels.iter().map(channel).collect())
            .with_encoding(Compression::ZIP16, BlockDescription::ScanLines, LineOrder::Increasing)
    }

    /// Appends the samples of a channel in a range of pixels.
    fn line(&self, channel: &OutChannel<'_>, pixels: Range<usize>, data: &mut Vec<u8>) {
        match channel.source {
            ChannelSource::Color(place) => self.colors(place, channel.kind, pixels, data),
            ChannelSource::Plane(ChannelSamples::F16(samples)) => {
                data.extend(samples[pixels].iter().flat_map(|sample| sample.to_ne_bytes()));
            }
            ChannelSource::Plane(ChannelSamples::U32(samples)) => {
                data.extend(samples[pixels].iter().flat_map(|sample| sample.to_ne_bytes()));
            }
            ChannelSource::Plane(ChannelSamples::F32(samples)) => {
                data.extend(samples[pixels].iter().flat_map(|sample| sample.to_ne_bytes()));
            }
            ChannelSource::Plane(ChannelSamples::U8(samples)) => {
                let half = |sample: &u8| f16::from_f32(f32::from(*sample) / 255.0).to_ne_bytes();
                data.extend(samples[pixels].iter().flat_map(half));
            }
            ChannelSource::Plane(ChannelSamples::U16(samples)) => {
                data.extend(samples[pixels].iter().flat_map(|sample| (f32::from(*sample) / 65535.0).to_ne_bytes()));
            }
        }
    }

    /// Appends sample `place` of each pixel in a range. Colors are premultiplied unless they already are.
    fn colors(&self, place: usize, kind: ChannelType, pixels: Range<usize>, data: &mut Vec<u8>) {
        let size = self.image.channels.count();
        // The last sample is alpha, which is not multiplied by itself.
        let multiplies = multiplies(self.image) && place + 1 < size;
        let sample = |pixel: &[f32]| if multiplies { pixel[place] * pixel[size - 1] } else { pixel[place] };
        let samples = self.samples[pixels.start * size..pixels.end * size].chunks_exact(size).map(sample);
        if kind == ChannelType::F32 {
            data.extend(samples.flat_map(|sample| sample.to_ne_bytes()));
        } else {
            data.extend(samples.flat_map(|sample| f16::from_f32(sample).to_ne_bytes()));
        }
    }
}

/// Compressed blocks, grouped into pages.
struct ExrPages<'a> {
    blocks: &'a [Vec<u8>],
}

#[derive(Default)]
struct ExrPageSlot {
    number: u64,
    bytes: Vec<u8>,
}

impl Pages for ExrPages<'_> {
    type Slot = ExrPageSlot;
    type State = ();

    fn slot(&self) -> Result<ExrPageSlot> {
        Ok(ExrPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut ExrPageSlot) -> Result<bool> {
        slot.number = number;
        Ok(!page_of(number, PAGE_BLOCKS, self.blocks.len()).is_empty())
    }

    fn phase(&self) -> Phase {
        Phase::Encode
    }

    fn format(&self, slot: &mut ExrPageSlot) -> Result<()> {
        let blocks = &self.blocks[page_of(slot.number, PAGE_BLOCKS, self.blocks.len())];
        slot.bytes.clear();
        slot.bytes.try_reserve(blocks.iter().map(Vec::len).sum()).map_err(|_| Error::memory("a page"))?;
        blocks.iter().for_each(|block| slot.bytes.extend_from_slice(block));
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a ExrPageSlot) -> &'a [u8] {
        &slot.bytes
    }
}
