//! The `DXGI_FORMAT` numbers of pixel formats.

use crate::masks::ChannelMasks;
use crate::texels::Texels;
use polyhaul_model::{ColorSpace, Encoding, Texel};

use ColorSpace::{Linear, Srgb};

/// Formats read unchanged, and written, by number. Of formats with the same meaning, the first is written.
const SAME: &[(u32, Encoding, ColorSpace)] = &[
    (2, plain(4, Texel::F32), Linear),
    (10, plain(4, Texel::F16), Linear),
    (11, plain(4, Texel::U16), Linear),
    (16, plain(2, Texel::F32), Linear),
    (28, plain(4, Texel::U8), Linear),
    (29, plain(4, Texel::U8), Srgb),
    (34, plain(2, Texel::F16), Linear),
    (35, plain(2, Texel::U16), Linear),
    (41, plain(1, Texel::F32), Linear),
    (49, plain(2, Texel::U8), Linear),
    (54, plain(1, Texel::F16), Linear),
    (56, plain(1, Texel::U16), Linear),
    (61, plain(1, Texel::U8), Linear),
    (71, Encoding::Bc1, Linear),
    (72, Encoding::Bc1, Srgb),
    (74, Encoding::Bc2, Linear),
    (75, Encoding::Bc2, Srgb),
    (77, Encoding::Bc3, Linear),
    (78, Encoding::Bc3, Srgb),
    (80, Encoding::Bc4 { signed: false }, Linear),
    (81, Encoding::Bc4 { signed: true }, Linear),
    (83, Encoding::Bc5 { signed: false }, Linear),
    (84, Encoding::Bc5 { signed: true }, Linear),
    (95, Encoding::Bc6h { signed: false }, Linear),
    (96, Encoding::Bc6h { signed: true }, Linear),
    (98, Encoding::Bc7, Linear),
    (99, Encoding::Bc7, Srgb),
    // Typeless formats, which applications reinterpret: read as unsigned and linear.
    (1, plain(4, Texel::F32), Linear),
    (9, plain(4, Texel::F16), Linear),
    (15, plain(2, Texel::F32), Linear),
    (27, plain(4, Texel::U8), Linear),
    (33, plain(2, Texel::F16), Linear),
    (39, plain(1, Texel::F32), Linear),
    (48, plain(2, Texel::U8), Linear),
    (53, plain(1, Texel::F16), Linear),
    (60, plain(1, Texel::U8), Linear),
    (70, Encoding::Bc1, Linear),
    (73, Encoding::Bc2, Linear),
    (76, Encoding::Bc3, Linear),
    (79, Encoding::Bc4 { signed: false }, Linear),
    (82, Encoding::Bc5 { signed: false }, Linear),
    (94, Encoding::Bc6h { signed: false }, Linear),
    (97, Encoding::Bc7, Linear),
];

/// Formats converted on reading: number, bytes per pixel, channel masks, and color space.
const MASKED: &[(u32, usize, [u32; 4], ColorSpace)] = &[
    (24, 4, [0x3FF, 0x3FF << 10, 0x3FF << 20, 3 << 30], Linear),
    (65, 1, [0, 0, 0, 0xFF], Linear),
    (85, 2, [0xF800, 0x07E0, 0x001F, 0], Linear),
    (86, 2, [0x7C00, 0x03E0, 0x001F, 0x8000], Linear),
    (87, 4, BGRA, Linear),
    (88, 4, BGRX, Linear),
    (91, 4, BGRA, Srgb),
    (93, 4, BGRX, Srgb),
    // Typeless formats.
    (23, 4, [0x3FF, 0x3FF << 10, 0x3FF << 20, 3 << 30], Linear),
    (90, 4, BGRA, Linear),
    (92, 4, BGRX, Linear),
    (191, 2, [0xF000, 0x0F00, 0x00F0, 0x000F], Linear),
    (115, 2, [0x0F00, 0x00F0, 0x000F, 0xF000], Linear),
];

const BGRA: [u32; 4] = [0x00FF_0000, 0xFF00, 0xFF, 0xFF00_0000];
const BGRX: [u32; 4] = [0x00FF_0000, 0xFF00, 0xFF, 0];

const fn plain(channels: u8, texel: Texel) -> Encoding {
    Encoding::Plain { channels, texel }
}

/// Returns the pixel format and the color space for a number.
pub(super) fn texels(number: u32) -> Option<(Texels, ColorSpace)> {
    let signed = |channels, bytes| Some((Texels::Signed { channels, bytes }, Linear));
    match number {
        26 => return Some((Texels::ThreeFloats, Linear)),
        67 => return Some((Texels::SharedExponent, Linear)),
        // RGB as 32-bit floats.
        6 => return Some((Texels::Three(Texel::F32), Linear)),
        13 => return signed(4, 2),
        31 => return signed(4, 1),
        37 => return signed(2, 2),
        51 => return signed(2, 1),
        58 => return signed(1, 2),
        63 => return signed(1, 1),
        _ => {}
    }
    let same = SAME.iter().find(|row| row.0 == number).map(|(_, encoding, space)| (Texels::Same(*encoding), *space));
    let masked = MASKED.iter().filter(|row| row.0 == number);
    same.or_else(|| {
        masked.map(|(_, bytes, masks, space)| (Texels::Masked(ChannelMasks::new(*bytes, *masks)), *space)).next()
    })
}

/// Returns the DXGI format of an encoding with a color space, or `None` if there is none.
pub(super) fn number(encoding: Encoding, color_space: ColorSpace) -> Option<u32> {
    SAME.iter().find(|row| (row.1, row.2) == (encoding, color_space)).map(|row| row.0)
}
