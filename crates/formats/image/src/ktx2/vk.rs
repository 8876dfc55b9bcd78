//! The `VkFormat` numbers of pixel formats.

use crate::masks::ChannelMasks;
use crate::texels::Texels;
use polyhaul_model::{ColorSpace, Encoding, Texel};

use ColorSpace::{Linear, Srgb};

/// Formats read unchanged, and written, by number. Of formats with the same meaning, the first is written. Encodings
/// without an sRGB format use the linear format; the descriptor declares the color space.
const SAME: &[(u32, Encoding, ColorSpace)] = &[
    (9, plain(1, Texel::U8), Linear),
    (15, plain(1, Texel::U8), Srgb),
    (16, plain(2, Texel::U8), Linear),
    (22, plain(2, Texel::U8), Srgb),
    (37, plain(4, Texel::U8), Linear),
    (43, plain(4, Texel::U8), Srgb),
    (70, plain(1, Texel::U16), Linear),
    (76, plain(1, Texel::F16), Linear),
    (77, plain(2, Texel::U16), Linear),
    (83, plain(2, Texel::F16), Linear),
    (91, plain(4, Texel::U16), Linear),
    (97, plain(4, Texel::F16), Linear),
    (100, plain(1, Texel::F32), Linear),
    (103, plain(2, Texel::F32), Linear),
    (109, plain(4, Texel::F32), Linear),
    (133, Encoding::Bc1, Linear),
    (134, Encoding::Bc1, Srgb),
    (135, Encoding::Bc2, Linear),
    (136, Encoding::Bc2, Srgb),
    (137, Encoding::Bc3, Linear),
    (138, Encoding::Bc3, Srgb),
    (139, Encoding::Bc4 { signed: false }, Linear),
    (140, Encoding::Bc4 { signed: true }, Linear),
    (141, Encoding::Bc5 { signed: false }, Linear),
    (142, Encoding::Bc5 { signed: true }, Linear),
    (143, Encoding::Bc6h { signed: false }, Linear),
    (144, Encoding::Bc6h { signed: true }, Linear),
    (145, Encoding::Bc7, Linear),
    (146, Encoding::Bc7, Srgb),
    (131, Encoding::Bc1, Linear),
    (132, Encoding::Bc1, Srgb),
];

/// Formats with packed channels: number, bytes per pixel, and channel masks. The names of these formats list the
/// highest bits first.
const PACKED: &[(u32, usize, [u32; 4])] = &[
    (2, 2, [0xF000, 0x0F00, 0x00F0, 0x000F]),
    (3, 2, [0x00F0, 0x0F00, 0xF000, 0x000F]),
    (4, 2, [0xF800, 0x07E0, 0x001F, 0]),
    (5, 2, [0x001F, 0x07E0, 0xF800, 0]),
    (6, 2, [0xF800, 0x07C0, 0x003E, 0x0001]),
    (7, 2, [0x003E, 0x07C0, 0xF800, 0x0001]),
    (8, 2, [0x7C00, 0x03E0, 0x001F, 0x8000]),
    (58, 4, [0x3FF << 20, 0x3FF << 10, 0x3FF, 3 << 30]),
    (64, 4, [0x3FF, 0x3FF << 10, 0x3FF << 20, 3 << 30]),
    (1_000_340_000, 2, [0x0F00, 0x00F0, 0x000F, 0xF000]),
    (1_000_340_001, 2, [0x000F, 0x00F0, 0x0F00, 0xF000]),
    (1_000_470_000, 2, [0x001F, 0x03E0, 0x7C00, 0x8000]),
    (1_000_470_001, 1, [0, 0, 0, 0xFF]),
];

const fn plain(channels: u8, texel: Texel) -> Encoding {
    Encoding::Plain { channels, texel }
}

/// Returns the pixel format for a number.
pub(super) fn texels(number: u32) -> Option<Texels> {
    Some(match number {
        23 | 29 => Texels::Three(Texel::U8),
        84 => Texels::Three(Texel::U16),
        90 => Texels::Three(Texel::F16),
        106 => Texels::Three(Texel::F32),
        30 | 36 => Texels::Masked(ChannelMasks::new(3, [0x00FF_0000, 0xFF00, 0xFF, 0])),
        44 | 50 => Texels::Masked(ChannelMasks::new(4, [0x00FF_0000, 0xFF00, 0xFF, 0xFF00_0000])),
        122 => Texels::ThreeFloats,
        123 => Texels::SharedExponent,
        10 => Texels::Signed { channels: 1, bytes: 1 },
        17 => Texels::Signed { channels: 2, bytes: 1 },
        38 => Texels::Signed { channels: 4, bytes: 1 },
        71 => Texels::Signed { channels: 1, bytes: 2 },
        78 => Texels::Signed { channels: 2, bytes: 2 },
        92 => Texels::Signed { channels: 4, bytes: 2 },
        // ABGR packed into 32 bits stores red in the lowest byte: the RGBA order of the model.
        51 | 57 => Texels::Same(plain(4, Texel::U8)),
        _ if PACKED.iter().any(|row| row.0 == number) => {
            let (_, bytes, masks) = *PACKED.iter().find(|row| row.0 == number)?;
            Texels::Masked(ChannelMasks::new(bytes, masks))
        }
        _ => Texels::Same(SAME.iter().find(|row| row.0 == number)?.1),
    })
}

/// Returns the `VkFormat` of an encoding with a color space, or `None` if there is none.
pub(super) fn number(encoding: Encoding, color_space: ColorSpace) -> Option<u32> {
    let find = |space| SAME.iter().find(|row| (row.1, row.2) == (encoding, space)).map(|row| row.0);
    find(color_space).or_else(|| find(Linear))
}
