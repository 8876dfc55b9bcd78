//! Compresses images into textures, in parallel over rows of blocks of all mip levels.
//!
//! Pixels are converted four rows at a time, and only if they are not already in the encoder's layout. Sizes that are
//! not multiples of 4 are padded by repeating the last pixel and the last row. Does not read or write files.

use super::encode;
use super::encode::Strip;
use crate::samples::half::to_half;
use crate::samples::{check_image, load, remap, sized};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Array, Channels, ColorSpace, Encoding, Image, Samples, Texel, Texture};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::{Phase, span};

polyhaul_model::choices! {
    /// The quality of compressed blocks; higher quality takes more time. BC1, BC3, BC4 and BC5 have only one quality.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum BlockQuality = Normal {
        /// For previews: BC7 with a single mode.
        "fast" => Fast,
        /// Better BC7 and BC6H, which take much longer.
        "normal" => Normal,
        /// The encoder's slowest settings.
        "best" => Best,
    }
}

/// Approximate number of pixels per parallel step.
const PIECE_PIXELS: usize = 1 << 14;

/// Compresses an image and its mip levels, largest first, into a texture.
///
/// BC1, BC3, BC4, BC5, BC6H and BC7 are encoded by Intel's ISPC texture compressor, on x86-64 and AArch64 with Linux
/// (GNU), macOS and Windows (MSVC). BC1 is written without alpha. A texture with one channel stores the first channel
/// of the image; with two channels, red and green, or gray and alpha. Samples are rounded to the nearest 8-bit value,
/// or 16-bit value for plain 16-bit pixels. BC6H and plain floats store linear light, whatever the color space of the
/// image. The result does not depend on the number of threads.
///
/// ```
/// use polyhaul_model::{Channels, Encoding, Image, Samples};
/// use polyhaul_image::blocks::{BlockQuality, compress};
///
/// let red = [255, 0, 0].repeat(64);
/// let samples = Samples::U8(red.into());
/// let image = Image { width: 8, height: 8, channels: Channels::Rgb, samples, ..Image::default() };
/// let texture = compress(&[&image], Encoding::default(), BlockQuality::Normal, &Default::default())?;
/// assert_eq!(texture.levels[0][..4], [255, 0, 0, 255]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] if there are no levels, if an image is empty or inconsistent, if a level does not have half the
/// size of the previous level, or if plain pixels do not have 1, 2 or 4 channels; [`ErrorKind::Unsupported`] for BC2
/// and signed blocks, and for all blocks on systems not listed above; [`ErrorKind::Cancelled`] if the job was
/// cancelled; [`ErrorKind::Memory`] if there is not enough memory.
pub fn compress(levels: &[&Image], encoding: Encoding, quality: BlockQuality, run: &RunOptions) -> Result<Texture> {
    let Some(first) = levels.first() else {
        return Err(Error::new(ErrorKind::Usage, "a texture needs at least one image"));
    };
    let layout = BlockLayout::from_encoding(encoding)?;
    let mut texture = Texture {
        width: first.width,
        height: first.height,
        depth: 1,
        layers: 1,
        faces: 1,
        encoding,
        color_space: if layout.is_light { ColorSpace::Linear } else { first.color_space },
        // The flag has no meaning without alpha.
        premultiplied: first.premultiplied && layout.channels == 4,
        levels: Vec::new(),
    };
    let mut made = Vec::new();
    made.try_reserve_exact(levels.len())?;
    for (number, image) in levels.iter().enumerate() {
        check_level(&texture, number, image)?;
        let size = encoding.image_bytes(image.width, image.height).ok_or_else(|| Error::memory("a texture"))?;
        made.push(zeroed::<u8>(size, "a texture")?);
    }
    let pieces = levels.iter().zip(&mut made).flat_map(|(image, bytes)| {
        let row_bytes = layout.row_bytes(image.width);
        // `check_level` rejected empty images, so the width is not 0.
        let rows = (PIECE_PIXELS / (image.width * layout.rows)).max(1);
        bytes.chunks_mut(row_bytes * rows).enumerate().map(move |(number, bytes)| (*image, number * rows, bytes))
    });
    try_for_each_item(
        run.worker_threads(),
        &run.cancel,
        pieces,
        BlockScratch::default,
        |scratch, (image, row, bytes)| {
            let _span = span(Phase::Encode);
            let rows = bytes.chunks_exact_mut(layout.row_bytes(image.width));
            for (bytes, row) in rows.zip(row..) {
                if layout.is_plain {
                    scratch.plain_row(image, layout, row, bytes)?
                } else {
                    scratch.blocks(image, layout, quality, row, bytes)?
                }
            }
            Ok(())
        },
    )?;
    texture.levels.try_reserve_exact(made.len())?;
    texture.levels.extend(made.into_iter().map(Array::from));
    Ok(texture)
}

/// Checks that an image is valid, not empty, and has the size of its mip level.
fn check_level(texture: &Texture, number: usize, image: &Image) -> Result<()> {
    check_image(image)?;
    let [width, height, _] = texture.level_size(number);
    if image.width == 0 || image.height == 0 {
        return Err(Error::new(ErrorKind::Usage, "cannot make a texture from an empty image"));
    }
    if [image.width, image.height] == [width, height] {
        return Ok(());
    }
    let message =
        format!("mip level {number} is {} x {} pixels; expected {width} x {height}", image.width, image.height);
    Err(Error::new(ErrorKind::Usage, message))
}

/// The layout of pixels that an encoder expects.
#[derive(Clone, Copy)]
struct BlockLayout {
    encoding: Encoding,
    is_plain: bool,
    /// Rows of pixels per row of blocks.
    rows: usize,
    channels: usize,
    texel: Texel,
    /// Whether samples are linear light.
    is_light: bool,
}

impl BlockLayout {
    fn from_encoding(encoding: Encoding) -> Result<BlockLayout> {
        if let Encoding::Plain { channels, texel } = encoding {
            let is_light = matches!(texel, Texel::F16 | Texel::F32);
            let channels = usize::from(channels);
            if !matches!(channels, 1 | 2 | 4) {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("a texture cannot have {channels} channels; expected 1, 2 or 4"),
                ));
            }
            return Ok(BlockLayout { encoding, is_plain: true, rows: 1, channels, texel, is_light });
        }
        let Some((channels, bytes)) = encode::kernel_input(encoding) else {
            let error = Error::new(ErrorKind::Unsupported, format!("cannot compress to {encoding:?}"));
            return Err(error.with_hint("use unsigned BC1, BC3, BC4, BC5, BC6H or BC7"));
        };
        let texel = if bytes == 2 { Texel::F16 } else { Texel::U8 };
        Ok(BlockLayout { encoding, is_plain: false, rows: 4, channels, texel, is_light: bytes == 2 })
    }

    /// Returns the size of a row of blocks or plain pixels in bytes.
    fn row_bytes(self, width: usize) -> usize {
        width.div_ceil(self.encoding.side()) * self.encoding.bytes()
    }
}

/// Scratch memory of one thread.
#[derive(Default)]
struct BlockScratch {
    pixels: Vec<u8>,
    loaded: Vec<f32>,
    mapped: Vec<f32>,
}

impl BlockScratch {
    /// Compresses a row of blocks.
    fn blocks(
        &mut self,
        image: &Image,
        layout: BlockLayout,
        quality: BlockQuality,
        row: usize,
        to: &mut [u8],
    ) -> Result<()> {
        let first = row * 4;
        if let Some(strip) = direct(image, layout, first) {
            return encode::encode(layout.encoding, quality, strip, to);
        }
        let width = image.width.next_multiple_of(4);
        let pixel_bytes = layout.channels * layout.texel.bytes();
        let stride_bytes = width * pixel_bytes;
        // Moved out, since `self.row` borrows `self`.
        let mut pixels = std::mem::take(&mut self.pixels);
        let size = 4 * stride_bytes + encode::ALIGNED;
        pixels.try_reserve_exact(size.saturating_sub(pixels.len())).map_err(|_| Error::memory("a row of blocks"))?;
        pixels.resize(size, 0);
        // A `Vec<u8>` has no alignment; `size` includes padding to skip to the next aligned byte.
        let start = pixels.as_ptr().align_offset(encode::ALIGNED).min(encode::ALIGNED);
        let strip = &mut pixels[start..][..4 * stride_bytes];
        for (line, bytes) in strip.chunks_exact_mut(stride_bytes).enumerate() {
            let used = image.width * pixel_bytes;
            self.row(image, layout, (first + line).min(image.height - 1), &mut bytes[..used])?;
            for at in (used..stride_bytes).step_by(pixel_bytes) {
                bytes.copy_within(used - pixel_bytes..used, at);
            }
        }
        let is_opaque = layout.channels == 4 && layout.texel == Texel::U8 && is_opaque(image, strip);
        let result =
            encode::encode(layout.encoding, quality, Strip { bytes: strip, width, stride_bytes, is_opaque }, to);
        self.pixels = pixels;
        result
    }

    /// Converts a row of plain pixels.
    fn plain_row(&mut self, image: &Image, layout: BlockLayout, row: usize, to: &mut [u8]) -> Result<()> {
        self.row(image, layout, row, to)
    }

    /// Converts a row of pixels to the encoder's layout, little-endian.
    fn row(&mut self, image: &Image, layout: BlockLayout, row: usize, to: &mut [u8]) -> Result<()> {
        let size = image.channels.count();
        let start = row * image.width * size;
        let mapped_to = layout.target(image.channels);
        if let Samples::U8(samples) = &image.samples
            && layout.texel == Texel::U8
        {
            let row = &samples[start..start + image.width * size];
            pick_bytes(image.channels, row, mapped_to.is_none(), layout.channels, to);
            return Ok(());
        }
        let decodes = layout.is_light && image.color_space == ColorSpace::Srgb;
        let loaded = sized(&mut self.loaded, image.width * size)?;
        load(image, start, decodes, loaded)?;
        let mapped = sized(&mut self.mapped, image.width * layout.channels)?;
        match mapped_to {
            Some(channels) => remap(image.channels, loaded, channels, mapped),
            None => pick(loaded, size, mapped, layout.channels),
        }
        if !layout.is_plain {
            // Unsigned blocks cannot store negative values. `max` also turns NaN into 0.
            mapped.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        store(mapped, layout.texel, to);
        Ok(())
    }
}

impl BlockLayout {
    /// Returns the channels to convert pixels to, or `None` to pick the first channels.
    fn target(self, from: Channels) -> Option<Channels> {
        match self.channels {
            4 => Some(Channels::Rgba),
            2 if from == Channels::Gray => Some(Channels::GrayAlpha),
            _ => None,
        }
    }
}

/// Borrows the strip from the image, to avoid a copy, if the image has the encoder's layout.
fn direct(image: &Image, layout: BlockLayout, first: usize) -> Option<Strip<'_>> {
    let Samples::U8(samples) = &image.samples else { return None };
    let is_same = layout.texel == Texel::U8 && image.channels.count() == layout.channels;
    if !is_same || !image.width.is_multiple_of(4) || first + 4 > image.height {
        return None;
    }
    let stride_bytes = image.width * layout.channels;
    let bytes = &samples[first * stride_bytes..][..4 * stride_bytes];
    if bytes.as_ptr().align_offset(encode::ALIGNED) != 0 {
        return None;
    }
    // Only the settings for BC7 depend on opacity, and checking all pixels takes time.
    let is_opaque = layout.encoding == Encoding::Bc7 && is_opaque(image, bytes);
    Some(Strip { bytes, width: image.width, stride_bytes, is_opaque })
}

/// Returns whether all alpha values of 4-byte pixels are 255, without a branch per pixel.
fn is_opaque(image: &Image, pixels: &[u8]) -> bool {
    !image.channels.has_alpha()
        // A bitwise AND of bytes is 255 only if all of them are 255.
        || pixels.as_chunks::<4>().0.iter().fold(255, |common_bits, pixel| common_bits & pixel[3]) == 255
}

/// Copies the first samples of each pixel. Missing samples repeat the last sample.
fn pick<T: Copy>(from: &[T], size: usize, to: &mut [T], count: usize) {
    for (from, to) in from.chunks_exact(size).zip(to.chunks_exact_mut(count)) {
        for (number, to) in to.iter_mut().enumerate() {
            *to = from[number.min(size - 1)];
        }
    }
}

/// Does the work of [`pick`] and [`remap`] for bytes.
fn pick_bytes(channels: Channels, from: &[u8], picks: bool, count: usize, to: &mut [u8]) {
    if channels.count() == count {
        to.copy_from_slice(from);
    } else if picks {
        pick(from, channels.count(), to, count);
    } else if count == 2 {
        from.iter().zip(to.as_chunks_mut().0).for_each(|(&v, to)| *to = [v, 255]);
    } else {
        let to = to.as_chunks_mut::<4>().0;
        match channels {
            Channels::Gray => from.iter().zip(to).for_each(|(&v, to)| *to = [v, v, v, 255]),
            Channels::GrayAlpha => {
                from.as_chunks().0.iter().zip(to).for_each(|(&[v, a], to)| *to = [v, v, v, a]);
            }
            Channels::Rgb => add_alpha(from, to),
            Channels::Rgba => {}
        }
    }
}

/// Expands 3-byte pixels to 4 bytes. Processes four pixels as three words, with fewer operations than byte by byte.
fn add_alpha(from: &[u8], to: &mut [[u8; 4]]) {
    let (fours, rest) = from.as_chunks::<12>();
    let (to_fours, to_rest) = to.as_chunks_mut::<4>();
    for (four, to) in fours.iter().zip(to_fours) {
        let word = |at: usize| u32::from_le_bytes([four[at], four[at + 1], four[at + 2], four[at + 3]]);
        let [a, b, c] = [word(0), word(4), word(8)];
        // The highest byte of each word needs no mask, because alpha sets all of its bits.
        let pixels = [a, a >> 24 | b << 8, b >> 16 | c << 16, c >> 8];
        *to = pixels.map(|pixel| (pixel | 0xFF00_0000).to_le_bytes());
    }
    rest.as_chunks().0.iter().zip(to_rest).for_each(|(&[r, g, b], to)| *to = [r, g, b, 255]);
}

/// Stores floats as texture samples.
fn store(values: &[f32], texel: Texel, to: &mut [u8]) {
    // In 64 bits, the product of a float and 255 or 65535 is exact, so no value just below a half is rounded up.
    // `as` truncates, so adding 0.5 rounds to nearest; `as` also saturates, and turns NaN into 0.
    match texel {
        Texel::U8 => values.iter().zip(to).for_each(|(&v, to)| *to = (f64::from(v) * 255.0 + 0.5) as u8),
        Texel::U16 => values.iter().zip(to.as_chunks_mut().0).for_each(|(&v, to)| {
            *to = ((f64::from(v) * 65535.0 + 0.5) as u16).to_le_bytes();
        }),
        Texel::F16 => values.iter().zip(to.as_chunks_mut().0).for_each(|(&v, to)| *to = to_half(v).to_le_bytes()),
        Texel::F32 => values.iter().zip(to.as_chunks_mut().0).for_each(|(&v, to)| *to = v.to_le_bytes()),
    }
}
