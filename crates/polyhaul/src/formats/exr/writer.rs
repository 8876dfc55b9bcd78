//! Images to EXR: blocks of rows, packed side by side, behind a table of where they are.

use crate::error::{Error, ErrorKind, Result};
use crate::formats::raster::page_of;
use crate::model::{Channels, ColorSpace, Image, Samples};
use crate::options::{ImageStyle, RunOptions};
use crate::pipeline::parallel::try_for_each_item;
use crate::pipeline::run::Phase;
use crate::pipeline::write::{Pages, Writing};
use exr::block::{BlockIndex, UncompressedBlock};
use exr::math::Vec2;
use exr::meta::attribute::{ChannelDescription, LineOrder, SampleType, Text};
use exr::meta::header::{Header, LayerAttributes};
use exr::meta::{BlockDescription, MetaData, magic_number};
use exr::prelude::{Compression, SmallVec, f16};

/// Rows of a block: so the format wants it of this way of packing.
const BLOCK_ROWS: usize = 16;

/// The most rows and columns: half of what is there, so that windows can be counted.
const MOST_SIDE: usize = i32::MAX as usize / 2;

/// About how many blocks are handed on at a time.
const PAGE_BLOCKS: usize = 16;

/// Writes an image.
pub(crate) fn write(
    image: &Image,
    style: &ImageStyle,
    options: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    let (Samples::F32(samples), ColorSpace::Linear) = (&image.samples, image.color_space) else {
        let error = Error::new(ErrorKind::Usage, "EXR holds floats in proportion to the light");
        return Err(error.with_hint("turn the samples into linear floats first, as the command convert does"));
    };
    let sides = 1..=MOST_SIDE;
    if !sides.contains(&image.width) || !sides.contains(&image.height) {
        let (width, height) = (image.width, image.height);
        let message = format!("EXR holds 1 to {MOST_SIDE} rows and columns, not {width} x {height} pixels");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let headers = [header(image, style.exr_float)];
    let packer = Packer { image, samples, headers: &headers, is_float: style.exr_float };
    let blocks = packer.all(options)?;
    let head = head(&headers, &blocks)?;
    writing.announce((head.len() + blocks.iter().map(Vec::len).sum::<usize>()) as u64);
    writing.begin(head);
    let count = blocks.len().div_ceil(PAGE_BLOCKS) as u64;
    let slot_bytes = PAGE_BLOCKS * blocks.iter().map(Vec::len).max().unwrap_or(0);
    writing.pages(&BlockPages { blocks: &blocks }, &mut (), count, slot_bytes)
}

/// The channels in the order of their names, and which sample of a pixel each is.
fn channels(channels: Channels) -> &'static [(&'static str, usize)] {
    match channels {
        Channels::Gray => &[("Y", 0)],
        Channels::GrayAlpha => &[("A", 1), ("Y", 0)],
        Channels::Rgb => &[("B", 2), ("G", 1), ("R", 0)],
        Channels::Rgba => &[("A", 3), ("B", 2), ("G", 1), ("R", 0)],
    }
}

fn header(image: &Image, is_float: bool) -> Header {
    let kind = if is_float { SampleType::F32 } else { SampleType::F16 };
    let list: SmallVec<_> =
        channels(image.channels).iter().map(|(name, _)| ChannelDescription::new(*name, kind, *name == "A")).collect();
    let own = LayerAttributes { layer_name: None, ..LayerAttributes::named(Text::from("")) };
    Header::new(Text::from(""), (image.width, image.height), list)
        .with_encoding(Compression::ZIP16, BlockDescription::ScanLines, LineOrder::Increasing)
        .with_attributes(own)
}

/// What stands before the blocks: the header, and where each block begins.
fn head(headers: &[Header], blocks: &[Vec<u8>]) -> Result<Vec<u8>> {
    let failed = |error: exr::error::Error| Error::new(ErrorKind::Internal, error.to_string());
    let mut head = Vec::new();
    magic_number::write(&mut head).map_err(failed)?;
    MetaData::validate(headers, true).and_then(|needs| needs.write(&mut head)).map_err(failed)?;
    Header::write_all(headers, &mut head, false).map_err(failed)?;
    head.try_reserve_exact(8 * blocks.len())?;
    let mut place = (head.len() + 8 * blocks.len()) as u64;
    for block in blocks {
        head.extend_from_slice(&place.to_le_bytes());
        place += block.len() as u64;
    }
    Ok(head)
}

struct Packer<'a> {
    image: &'a Image,
    samples: &'a [f32],
    headers: &'a [Header],
    is_float: bool,
}

impl Packer<'_> {
    /// All blocks as they are stored.
    fn all(&self, options: &RunOptions) -> Result<Vec<Vec<u8>>> {
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

    fn block(&self, number: usize) -> Result<Vec<u8>> {
        let rows = page_of(number as u64, BLOCK_ROWS, self.image.height);
        let row_samples = self.image.width * self.image.channels.count();
        let mut data = Vec::new();
        let sample_bytes = if self.is_float { 4 } else { 2 };
        data.try_reserve_exact(rows.len() * row_samples * sample_bytes).map_err(|_| Error::memory("a block"))?;
        for row in self.samples[rows.start * row_samples..rows.end * row_samples].chunks_exact(row_samples) {
            for (_, place) in channels(self.image.channels) {
                let size = self.image.channels.count();
                let multiplies = self.image.channels.has_alpha() && !self.image.premultiplied && *place + 1 < size;
                let samples = row.chunks_exact(size).map(|pixel| match multiplies {
                    true => pixel[*place] * pixel[size - 1],
                    false => pixel[*place],
                });
                match self.is_float {
                    true => data.extend(samples.flat_map(|sample| sample.to_ne_bytes())),
                    false => data.extend(samples.flat_map(|sample| f16::from_f32(sample).to_ne_bytes())),
                }
            }
        }
        let index = BlockIndex {
            layer: 0,
            pixel_position: Vec2(0, rows.start),
            pixel_size: Vec2(self.image.width, rows.len()),
            level: Vec2(0, 0),
        };
        let mut bytes = Vec::new();
        let chunk = UncompressedBlock { index, data }.compress_to_chunk(self.headers);
        let written = chunk.and_then(|chunk| chunk.write(&mut bytes, 1));
        written.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        bytes.shrink_to_fit();
        Ok(bytes)
    }
}

/// Blocks that are packed already, some to a page.
struct BlockPages<'a> {
    blocks: &'a [Vec<u8>],
}

#[derive(Default)]
struct Slot {
    number: u64,
    bytes: Vec<u8>,
}

impl Pages for BlockPages<'_> {
    type Slot = Slot;
    type State = ();

    fn slot(&self) -> Result<Slot> {
        Ok(Slot::default())
    }

    fn take(&self, number: u64, slot: &mut Slot) -> Result<bool> {
        slot.number = number;
        Ok(!page_of(number, PAGE_BLOCKS, self.blocks.len()).is_empty())
    }

    fn phase(&self) -> Phase {
        Phase::Encode
    }

    fn make(&self, _: usize, slot: &mut Slot) -> Result<()> {
        let blocks = &self.blocks[page_of(slot.number, PAGE_BLOCKS, self.blocks.len())];
        slot.bytes.clear();
        slot.bytes.try_reserve(blocks.iter().map(Vec::len).sum()).map_err(|_| Error::memory("a page"))?;
        blocks.iter().for_each(|block| slot.bytes.extend_from_slice(block));
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a Slot) -> &'a [u8] {
        &slot.bytes
    }
}
