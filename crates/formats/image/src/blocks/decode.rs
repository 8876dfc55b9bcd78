//! Decodes textures into images, in parallel over rows of blocks.
//!
//! Only this module uses the decoding library, `bcdec_rs`, which is safe Rust. The library is called only with whole
//! blocks and space for 4 x 4 pixels.

use crate::samples::half::of_half;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Channels, Encoding, Image, Samples, Texel, Texture};
use polyhaul_pipeline::column::Column;
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::run::{Phase, span};
use std::mem::MaybeUninit;

/// Side of a block in pixels.
const SIDE: usize = 4;
/// Approximate number of pixels per parallel step.
const SHARE_PIXELS: usize = 64 << 10;

/// Decodes an image of a texture: index `image` in mip level `level`, in storage order (by layer, face and slice).
///
/// - BC1, BC2, BC3, BC7 and plain pixels with four channels become RGBA. BC4 and plain pixels with one channel become
///   gray. BC5 and plain pixels with two channels become RGB with a blue of 0. BC6H becomes RGB.
/// - Samples have 8 bits, or 16 bits for plain pixels with 16-bit samples. Floats of any size become 32-bit floats, and
///   so do signed BC4 and BC5, from -1 to 1.
///
/// ```
/// use polyhaul_model::{Encoding, Samples, Texture};
/// use polyhaul_image::blocks::decode;
/// use polyhaul_pipeline::options::RunOptions;
///
/// // A block of BC4 has two ends, and numbers of 3 bits between them.
/// let levels = vec![[200, 100, 0, 0, 0, 0, 0, 0].into()];
/// let (width, height, encoding) = (2, 1, Encoding::Bc4 { signed: false });
/// let texture = Texture { width, height, depth: 1, layers: 1, faces: 1, encoding, levels, ..Texture::default() };
/// assert_eq!(decode(&texture, 0, 0, &RunOptions::default())?.samples, Samples::U8([200, 200].into()));
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Usage`] if the texture has no such image, or an encoding with an invalid number of channels;
/// [`ErrorKind::Cancelled`] if the job was cancelled; [`ErrorKind::Memory`] if there is not enough memory.
pub fn decode(texture: &Texture, level: usize, image: usize, options: &RunOptions) -> Result<Image> {
    let [width, height, _] = texture.level_size(level);
    let bytes = texture.encoding.image_bytes(width, height).and_then(|size| {
        let start = image.checked_mul(size)?;
        texture.levels.get(level)?.get(start..start.checked_add(size)?)
    });
    let Some(bytes) = bytes else {
        let message = format!("the texture has no image {image} in mip level {level}");
        return Err(Error::new(ErrorKind::Usage, message));
    };
    let Texture { color_space, premultiplied, encoding, .. } = *texture;
    if let Encoding::Plain { channels, .. } = encoding
        && !matches!(channels, 1 | 2 | 4)
    {
        let message = format!("a texture cannot have {channels} channels; expected 1, 2 or 4");
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let (channels, samples) = match encoding {
        Encoding::Plain { channels, texel } => plain(bytes, channels, texel)?,
        encoding => blocks(bytes, encoding, [width, height], options)?,
    };
    Ok(Image { width, height, channels, samples, color_space, premultiplied, ..Image::default() })
}

fn blocks(bytes: &[u8], encoding: Encoding, size: [usize; 2], options: &RunOptions) -> Result<(Channels, Samples)> {
    use bcdec_rs as bc;
    let blocks = BlockGrid { bytes, size, block_bytes: encoding.bytes(), options };
    Ok(match encoding {
        Encoding::Bc1 => (Channels::Rgba, Samples::U8(blocks.decode(4, 4, bc::bc1)?.into())),
        Encoding::Bc2 => (Channels::Rgba, Samples::U8(blocks.decode(4, 4, bc::bc2)?.into())),
        Encoding::Bc3 => (Channels::Rgba, Samples::U8(blocks.decode(4, 4, bc::bc3)?.into())),
        Encoding::Bc7 => (Channels::Rgba, Samples::U8(blocks.decode(4, 4, bc::bc7)?.into())),
        Encoding::Bc6h { signed } => {
            let decode = |block: &[u8], to: &mut [f32], pitch: usize| bc::bc6h_float(block, to, pitch, signed);
            (Channels::Rgb, Samples::F32(blocks.decode(3, 3, decode)?.into()))
        }
        Encoding::Bc4 { signed: false } => {
            let decode = |block: &[u8], to: &mut [u8], pitch: usize| bc::bc4(block, to, pitch, false);
            (Channels::Gray, Samples::U8(blocks.decode(1, 1, decode)?.into()))
        }
        Encoding::Bc4 { signed: true } => {
            let decode = |block: &[u8], to: &mut [f32], pitch: usize| bc::bc4_float(block, to, pitch, true);
            (Channels::Gray, Samples::F32(blocks.decode(1, 1, decode)?.into()))
        }
        Encoding::Bc5 { signed: false } => {
            let decode = |block: &[u8], to: &mut [u8], pitch: usize| bc::bc5(block, to, pitch, false);
            (Channels::Rgb, Samples::U8(blocks.decode(2, 3, decode)?.into()))
        }
        Encoding::Bc5 { signed: true } => {
            let decode = |block: &[u8], to: &mut [f32], pitch: usize| bc::bc5_float(block, to, pitch, true);
            (Channels::Rgb, Samples::F32(blocks.decode(2, 3, decode)?.into()))
        }
        Encoding::Plain { .. } => return Err(Error::new(ErrorKind::Internal, "plain pixels are not blocks")),
    })
}

/// The blocks of one image.
struct BlockGrid<'a> {
    bytes: &'a [u8],
    /// Width and height in pixels.
    size: [usize; 2],
    block_bytes: usize,
    options: &'a RunOptions,
}

impl BlockGrid<'_> {
    /// Decodes all blocks. Decoded pixels have `from` samples, and pixels of the image have `to` samples; additional
    /// samples are 0.
    fn decode<T: Copy + Default + Send>(
        &self,
        from: usize,
        to: usize,
        decode: impl Fn(&[u8], &mut [T], usize) + Sync,
    ) -> Result<Vec<T>> {
        let [width, height] = self.size;
        let row = width * to;
        let samples = Column::new("an image");
        samples.reserve(row * height)?;
        let across = width.div_ceil(SIDE) * self.block_bytes;
        let share_rows = (SHARE_PIXELS / width.max(1) / SIDE).max(1);
        // `chunks` panics for a size of 0, as in an image without columns.
        let shares = self.bytes.chunks(across.max(1) * share_rows).enumerate();
        let run = self.options;
        let scratch = || [T::default(); SIDE * SIDE * 4];
        try_for_each_item(run.worker_threads(), &run.cancel, shares, scratch, |scratch, (number, blocks)| {
            let _span = span(Phase::Decode);
            let first = number * share_rows * SIDE;
            let end = height.min(first + share_rows * SIDE);
            // SAFETY: share `number` writes rows `first..end`, which no other share writes.
            unsafe {
                samples.write(first * row..end * row, |slots| {
                    // Cleared, because the decoder takes initialized memory and writes no blue for BC5.
                    let pixels = cleared(slots);
                    let rows = pixels.chunks_mut(SIDE * row).zip(blocks.chunks_exact(across));
                    for (rows, blocks) in rows {
                        self.row_of_blocks(blocks, rows, row, [from, to], scratch, &decode);
                    }
                })
            }
        })?;
        // SAFETY: `bytes` has a block for each 4 x 4 pixels, so the shares cover all rows, and each share clears its
        // rows before it decodes.
        Ok(unsafe { samples.finish(row * height) })
    }

    fn row_of_blocks<T: Copy>(
        &self,
        blocks: &[u8],
        rows: &mut [T],
        row: usize,
        [from, to]: [usize; 2],
        scratch: &mut [T; SIDE * SIDE * 4],
        decode: &impl Fn(&[u8], &mut [T], usize),
    ) {
        for (number, block) in blocks.chunks_exact(self.block_bytes).enumerate() {
            let start = number * SIDE * to;
            // The decoder writes 4 x 4 pixels, so only blocks entirely inside the image can be decoded in place.
            let is_whole = from == to && start + SIDE * to <= row && rows.len() == SIDE * row;
            if is_whole {
                decode(block, &mut rows[start..], row);
                continue;
            }
            decode(block, &mut scratch[..SIDE * SIDE * from], SIDE * from);
            for (rows, pixels) in rows.chunks_exact_mut(row).zip(scratch.chunks_exact(SIDE * from)) {
                for (to, from) in rows[start..].chunks_exact_mut(to).zip(pixels.chunks_exact(from)) {
                    to[..from.len()].copy_from_slice(from);
                }
            }
        }
    }
}

/// Initializes memory with default values.
fn cleared<T: Copy + Default>(slots: &mut [MaybeUninit<T>]) -> &mut [T] {
    slots.fill(MaybeUninit::new(T::default()));
    // SAFETY: `fill` has just written every element, and `MaybeUninit<T>` has the layout of `T`.
    unsafe { &mut *(slots as *mut [MaybeUninit<T>] as *mut [T]) }
}

fn plain(bytes: &[u8], channels: u8, texel: Texel) -> Result<(Channels, Samples)> {
    let (kind, count) = match channels {
        1 => (Channels::Gray, 1),
        // The model has no two-channel colors, so blue is added as 0.
        2 => (Channels::Rgb, 2),
        _ => (Channels::Rgba, 4),
    };
    let size = [count, kind.count()];
    let samples = match texel {
        Texel::U8 => Samples::U8(widened(bytes, size, |[byte]: [u8; 1]| byte)?.into()),
        Texel::U16 => Samples::U16(widened(bytes, size, u16::from_le_bytes)?.into()),
        Texel::F16 => Samples::F32(widened(bytes, size, |half| of_half(u16::from_le_bytes(half)))?.into()),
        Texel::F32 => Samples::F32(widened(bytes, size, f32::from_le_bytes)?.into()),
    };
    Ok((kind, samples))
}

/// Converts pixels of `from` samples to pixels of `to` samples; additional samples are 0.
fn widened<const SIZE: usize, T: Copy + Default>(
    bytes: &[u8],
    [from, to]: [usize; 2],
    sample: impl Fn([u8; SIZE]) -> T,
) -> Result<Vec<T>> {
    let stored = bytes.as_chunks::<SIZE>().0;
    let mut samples = Vec::new();
    samples.try_reserve_exact(stored.len() / from * to).map_err(|_| Error::memory("an image"))?;
    if from == to {
        samples.extend(stored.iter().map(|bytes| sample(*bytes)));
        return Ok(samples);
    }
    for pixel in stored.chunks_exact(from) {
        samples.extend(pixel.iter().map(|bytes| sample(*bytes)));
        samples.resize(samples.len() + to - from, T::default());
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_block_is_decoded_the_same_by_any_number_of_threads() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let encodings = [
            Encoding::Bc1,
            Encoding::Bc2,
            Encoding::Bc3,
            Encoding::Bc4 { signed: false },
            Encoding::Bc4 { signed: true },
            Encoding::Bc5 { signed: false },
            Encoding::Bc5 { signed: true },
            Encoding::Bc6h { signed: false },
            Encoding::Bc6h { signed: true },
            Encoding::Bc7,
        ];
        for encoding in encodings {
            for (width, height) in [(1, 1), (5, 3), (64, 64), (1027, 301)] {
                let level: Vec<u8> = (0..encoding.image_bytes(width, height).unwrap()).map(|_| random()).collect();
                let levels = vec![level.into()];
                let texture =
                    Texture { width, height, depth: 1, layers: 1, faces: 1, encoding, levels, ..Texture::default() };
                let with = |threads| {
                    let options = RunOptions::default().with_threads(Some(threads));
                    bits(decode(&texture, 0, 0, &options).unwrap())
                };
                let expected = with(1);
                assert_eq!(expected.len() % (width * height), 0);
                assert!(with(2) == expected && with(7) == expected, "{encoding:?} {width} x {height}");
            }
        }
    }

    /// Returns the bits of samples, to compare NaN, too.
    fn bits(image: Image) -> Vec<u32> {
        match image.samples {
            Samples::U8(samples) => samples.iter().map(|sample| u32::from(*sample)).collect(),
            Samples::U16(samples) => samples.iter().map(|sample| u32::from(*sample)).collect(),
            Samples::F32(samples) => samples.iter().map(|sample| sample.to_bits()).collect(),
        }
    }

    #[test]
    fn a_missing_level_or_image_is_an_error() {
        let texture = Texture { width: 4, height: 4, depth: 1, layers: 1, faces: 1, ..Texture::default() };
        assert_eq!(decode(&texture, 0, 0, &RunOptions::default()).unwrap_err().kind(), ErrorKind::Usage);
        let texture = Texture { levels: vec![vec![0; 64].into()], ..texture };
        assert!(decode(&texture, 0, 0, &RunOptions::default()).is_ok());
        for (level, image) in [(0, 1), (1, 0), (0, usize::MAX)] {
            assert!(decode(&texture, level, image, &RunOptions::default()).is_err());
        }
    }
}
