//! Writes textures as KTX2 files, smallest level first.

use super::{ENTRY_BYTES, HEADER_BYTES, MAGIC, PLAIN, ZSTD, dfd, vk};
use crate::pieces;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::options::ImageWriteOptions;
use polyhaul_model::{Encoding, Texture};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::packed::pack;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_pipeline::write::Writing;

/// The only key and its value, padded to 4 bytes.
const WRITER: &[u8] = b"\x13\0\0\0KTXwriter\0polyhaul\0\0";

/// Writes a texture.
///
/// # Errors
/// [`ErrorKind::Usage`] for an unsupported zstd level, and if no `VkFormat` describes the texture.
pub fn write(
    texture: &Texture,
    style: &ImageWriteOptions,
    options: &RunOptions,
    writing: &mut Writing<'_, '_>,
) -> Result<()> {
    let packed = match style.zstd_level {
        0 => Vec::new(),
        level => packed(texture, level, options)?,
    };
    let bytes = |number: usize| packed.get(number).map_or(&*texture.levels[number], Vec::as_slice);
    let count = texture.levels.len();
    let descriptor = dfd::descriptor(texture)?;
    let descriptor_at = HEADER_BYTES + count * ENTRY_BYTES;
    let writer_at = descriptor_at + descriptor.len();
    // Only uncompressed levels are aligned.
    let align = if packed.is_empty() { alignment(texture.encoding) } else { 1 };
    let mut head = header(texture, !packed.is_empty())?;
    // The last four words are the offset and size of global supercompression data, which is not used.
    push_words(&mut head, &[descriptor_at, descriptor.len(), writer_at, WRITER.len(), 0, 0, 0, 0]);
    let mut end = (writer_at + WRITER.len()) as u64;
    let mut offsets = vec![0; count];
    for number in (0..count).rev() {
        offsets[number] = end.next_multiple_of(align);
        end = offsets[number] + bytes(number).len() as u64;
    }
    for (number, offset) in offsets.iter().enumerate() {
        for long in [*offset, bytes(number).len() as u64, texture.levels[number].len() as u64] {
            head.extend_from_slice(&long.to_le_bytes());
        }
    }
    head.extend_from_slice(&descriptor);
    head.extend_from_slice(WRITER);
    let mut end = head.len() as u64;
    writing.set_head(head);
    const PADDING: [u8; 16] = [0; 16];
    let mut slices = Vec::new();
    for number in (0..count).rev() {
        slices.push(&PADDING[..(offsets[number] - end) as usize]);
        slices.push(bytes(number));
        end = offsets[number] + bytes(number).len() as u64;
    }
    pieces::write(slices, options, writing)
}

/// Returns the alignment of uncompressed levels: a multiple of the block size and of 4 bytes.
fn alignment(encoding: Encoding) -> u64 {
    (encoding.bytes() as u64).max(4)
}

/// Compresses each level as a zstd frame, in parallel.
fn packed(texture: &Texture, level: i32, options: &RunOptions) -> Result<Vec<Vec<u8>>> {
    let mut packed = vec![Vec::new(); texture.levels.len()];
    let items = texture.levels.iter().zip(&mut packed);
    try_for_each_item(
        options.worker_threads(),
        &options.cancel,
        items,
        || (),
        |(), (plain, packed)| {
            *packed = pack(plain, level)?;
            Ok(())
        },
    )?;
    Ok(packed)
}

/// Builds the header up to the offsets.
fn header(texture: &Texture, is_packed: bool) -> Result<Vec<u8>> {
    let number = vk::number(texture.encoding, texture.color_space);
    let number =
        number.ok_or_else(|| Error::new(ErrorKind::Usage, "KTX2 cannot store this encoding or color space"))?;
    // 1 for compressed blocks, which are not affected by byte order.
    let type_bytes = match texture.encoding {
        Encoding::Plain { texel, .. } => texel.bytes(),
        _ => 1,
    };
    let Texture { width, height, depth, layers, faces, .. } = *texture;
    // KTX2 stores 0 for a missing dimension, and for textures that are not arrays.
    let unless_one = |count: usize| if count == 1 { 0 } else { count };
    let scheme = if is_packed { ZSTD } else { PLAIN };
    let mut head = Vec::new();
    head.try_reserve(HEADER_BYTES + texture.levels.len() * ENTRY_BYTES + 128 + WRITER.len())?;
    head.extend_from_slice(MAGIC);
    push_words(
        &mut head,
        &[
            number as usize,
            type_bytes,
            width,
            height,
            unless_one(depth),
            unless_one(layers),
            faces,
            texture.levels.len(),
        ],
    );
    push_words(&mut head, &[scheme as usize]);
    Ok(head)
}

fn push_words(head: &mut Vec<u8>, words: &[usize]) {
    words.iter().for_each(|word| head.extend_from_slice(&(*word as u32).to_le_bytes()));
}
