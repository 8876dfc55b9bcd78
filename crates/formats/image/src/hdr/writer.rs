//! Writes HDR files: rows from top to bottom, with runs by channel if the width allows it, encoded in parallel.

use super::header::{MAX_SIDE, line_of};
use super::row;
use super::row::HdrStored;
use crate::raster::page_of;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Channels, ColorSpace, Image, Samples};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::run::Phase;
use polyhaul_pipeline::write::{Pages, Writing};
use std::ops::Range;

/// Approximate size of a page in bytes.
const PAGE_BYTES: usize = 256 << 10;

/// Writes an image.
pub fn write(image: &Image, options: &RunOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    let samples = match &image.samples {
        Samples::F32(samples) if image.color_space == ColorSpace::Linear => samples,
        _ => {
            let error = Error::new(ErrorKind::Usage, "HDR stores only linear floats");
            return Err(error.with_hint("convert the samples to linear floats first, or write TGA"));
        }
    };
    let is_rgb = image.channels == Channels::Rgb;
    let sides = 1..=MAX_SIDE;
    if !is_rgb || !sides.contains(&image.width) || !sides.contains(&image.height) {
        let Image { width, height, .. } = image;
        let channels = image.channels.count();
        let message = format!(
            "HDR cannot store {width} x {height} pixels with {channels} channels; expected 3 channels, 1 to {MAX_SIDE} \
             rows and columns"
        );
        let error = Error::new(ErrorKind::Usage, message);
        return Err(if is_rgb { error } else { error.with_hint("convert the image to RGB first") });
    }
    let size = format!("-Y {} +X {}\n", image.height, image.width);
    let lines: String = image.attributes.iter().filter_map(line_of).collect();
    writing.set_head(format!("#?RADIANCE\n{lines}FORMAT=32-bit_rle_rgbe\n\n{size}").into_bytes());
    let page_bytes = options.chunk_bytes.unwrap_or(PAGE_BYTES).clamp(1, 1 << 30);
    let page_rows = (page_bytes / (4 * image.width)).max(1);
    let pages = HdrPages { samples: samples.as_chunks::<3>().0, width: image.width, page_rows };
    let size = (image.width * image.height) as u64 * 4;
    writing.announce(size);
    writing.pages(&pages, &mut (), image.height.div_ceil(page_rows) as u64, 2 * page_rows * row::max_bytes(image.width))
}

struct HdrPages<'a> {
    samples: &'a [[f32; 3]],
    width: usize,
    page_rows: usize,
}

#[derive(Default)]
struct HdrPageSlot {
    pixels: Range<usize>,
    bytes: Vec<u8>,
    stored: Vec<HdrStored>,
    plane: Vec<u8>,
}

impl HdrPageSlot {
    /// Encodes a row.
    fn row(&mut self, pixels: &[[f32; 3]]) {
        self.stored.clear();
        self.stored.extend(pixels.iter().map(|pixel| row::stored(*pixel)));
        // Too narrow or too wide for runs by channel.
        if !row::WIDTHS.contains(&pixels.len()) {
            self.bytes.extend_from_slice(self.stored.as_flattened());
            return;
        }
        // Fits in 15 bits, because `WIDTHS` contains the width.
        let [high, low] = (pixels.len() as u16).to_be_bytes();
        self.bytes.extend_from_slice(&[2, 2, high, low]);
        for channel in 0..4 {
            self.plane.clear();
            self.plane.extend(self.stored.iter().map(|stored| stored[channel]));
            row::pack(&self.plane, &mut self.bytes);
        }
    }
}

impl Pages for HdrPages<'_> {
    type Slot = HdrPageSlot;
    type State = ();

    fn slot(&self) -> Result<HdrPageSlot> {
        Ok(HdrPageSlot::default())
    }

    fn take(&self, number: u64, slot: &mut HdrPageSlot) -> Result<bool> {
        slot.pixels = page_of(number, self.page_rows * self.width, self.samples.len());
        Ok(!slot.pixels.is_empty())
    }

    fn phase(&self) -> Phase {
        Phase::Encode
    }

    fn format(&self, slot: &mut HdrPageSlot) -> Result<()> {
        let rows = self.samples[slot.pixels.clone()].chunks_exact(self.width);
        slot.bytes.clear();
        let reserved = slot.bytes.try_reserve(rows.len() * row::max_bytes(self.width));
        let reserved = reserved.and(slot.stored.try_reserve(self.width)).and(slot.plane.try_reserve(self.width));
        reserved.map_err(|_| Error::memory("a page"))?;
        rows.for_each(|pixels| slot.row(pixels));
        Ok(())
    }

    fn bytes<'a>(&'a self, slot: &'a HdrPageSlot) -> &'a [u8] {
        &slot.bytes
    }
}
