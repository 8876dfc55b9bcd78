//! Writes textures as DDS files with the DX10 header.

use super::{HEADER_BYTES, MORE_BYTES, dxgi};
use crate::pieces;
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_model::{Encoding, Texture};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_pipeline::write::Writing;

/// Writes a texture.
///
/// # Errors
/// [`ErrorKind::Usage`] if no DXGI format describes the texture: in DDS, BC4 to BC6H, and plain pixels other than those
/// with four 8-bit channels, can only be linear.
pub fn write(texture: &Texture, options: &RunOptions, writing: &mut Writing<'_, '_>) -> Result<()> {
    let Some(number) = dxgi::number(texture.encoding, texture.color_space) else {
        let message = format!("DDS cannot store {:?} with color space {:?}", texture.encoding, texture.color_space);
        let error = Error::new(ErrorKind::Usage, message);
        return Err(error.with_hint("declare the texture linear, or write KTX2"));
    };
    writing.set_head(header(texture, number)?);
    let images = texture.layers * texture.faces;
    let mut slices = Vec::new();
    slices.try_reserve_exact(images.saturating_mul(texture.levels.len()))?;
    // DDS stores all levels of an image before the next image, but a texture stores all images of a level together.
    for image in 0..images {
        for level in &texture.levels {
            let bytes = level.len() / images;
            slices.push(&level[image * bytes..(image + 1) * bytes]);
        }
    }
    pieces::write(slices, options, writing)
}

/// Builds the DDS header and the DX10 header.
fn header(texture: &Texture, number: u32) -> Result<Vec<u8>> {
    let count = |count: usize| count as u32;
    let is_plain = matches!(texture.encoding, Encoding::Plain { .. });
    let is_volume = texture.depth > 1;
    let is_cube = texture.faces == 6;
    let has_levels = texture.levels.len() > 1;
    // Pitch: bytes per row for plain pixels, bytes of the largest level for blocks.
    let rows = if is_plain { 1 } else { texture.height };
    let pitch = texture.encoding.image_bytes(texture.width, rows).and_then(|pitch| u32::try_from(pitch).ok());
    // DDSD_CAPS, HEIGHT, WIDTH and PIXELFORMAT; then PITCH or LINEARSIZE, MIPMAPCOUNT, DEPTH.
    let flags = 0x1007
        | if is_plain { 8 } else { 0x8_0000 }
        | if has_levels { 0x2_0000 } else { 0 }
        | if is_volume { 0x80_0000 } else { 0 };
    // DDSCAPS_TEXTURE; then MIPMAP, COMPLEX.
    let caps = 0x1000
        | if has_levels { 0x40_0000 } else { 0 }
        | if has_levels || is_volume || is_cube || texture.layers > 1 { 8 } else { 0 };
    // DDSCAPS2_CUBEMAP with all six faces; VOLUME.
    let caps2 = if is_cube { 0xFE00 } else { 0 } | if is_volume { 0x20_0000 } else { 0 };
    let mut words = [0_u32; (HEADER_BYTES + MORE_BYTES) / 4];
    words[..8].copy_from_slice(&[
        u32::from_le_bytes(*b"DDS "),
        124,
        flags,
        count(texture.height),
        count(texture.width),
        pitch.unwrap_or(0),
        if is_volume { count(texture.depth) } else { 0 },
        count(texture.levels.len()),
    ]);
    // The pixel format: its size, DDPF_FOURCC, and the FourCC of the DX10 header.
    words[19..22].copy_from_slice(&[32, 4, u32::from_le_bytes(*b"DX10")]);
    words[27..29].copy_from_slice(&[caps, caps2]);
    // Dimension 3 is 2D, 4 is 3D; flag 4 is a cube map; alpha mode 1 is straight, 2 premultiplied.
    words[32..].copy_from_slice(&[
        number,
        if is_volume { 4 } else { 3 },
        if is_cube { 4 } else { 0 },
        count(texture.layers),
        if texture.premultiplied { 2 } else { 1 },
    ]);
    let mut header = Vec::new();
    header.try_reserve_exact(HEADER_BYTES + MORE_BYTES)?;
    words.iter().for_each(|word| header.extend_from_slice(&word.to_le_bytes()));
    Ok(header)
}
