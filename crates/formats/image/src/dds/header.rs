//! Parses the DDS header and the DX10 header of a DDS file (Microsoft, `DDS_HEADER` and `DDS_HEADER_DXT10`).
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 4 | `DDS ` |
//! | 4 | 4 | 124, the size of the header |
//! | 12, 16, 24 | 4 each | height, width, depth |
//! | 28 | 4 | number of mip levels |
//! | 76 | 4 | 32, the size of the pixel format, which follows |
//! | 80, 84, 88 | 4 each | flags, FourCC, bits per pixel |
//! | 92 | 16 | masks of red, green, blue, alpha |
//! | 112 | 4 | flags for cube maps and volumes |
//! | 128 | 20 | only with the FourCC `DX10`: DXGI format, dimension, flags, array size, alpha mode; 4 bytes each |
//!
//! Numbers are little-endian.

use super::{HEADER_BYTES, MORE_BYTES, dxgi};
use crate::masks::ChannelMasks;
use crate::pieces::Pieces;
use crate::surface::{FewerPictures, TextureSurface};
use crate::texels::Texels;
use ColorSpace::{Linear, Srgb};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{ColorSpace, Encoding, Texel};
use polyhaul_pipeline::options::ParseOptions;

/// Offsets of the fields of the headers, from the start of the file.
const HEIGHT: usize = 12;
const WIDTH: usize = 16;
const DEPTH: usize = 24;
const LEVELS: usize = 28;
const FLAGS: usize = 80;
const FOURCC: usize = 84;
const BITS: usize = 88;
const MASKS: usize = 92;
const CAPS2: usize = 112;
/// Offset of the array size in the `DX10` header.
pub(super) const ARRAY_SIZE: usize = HEADER_BYTES + 12;

/// Flags of the pixel format (`DDPF_*`).
const HAS_ALPHA: u32 = 1;
const IS_ALPHA: u32 = 2;
const HAS_FOURCC: u32 = 4;
const IS_MAPPED: u32 = 0x20;
const IS_RGB: u32 = 0x40;
const IS_LUMINANCE: u32 = 0x2_0000;
const IS_SIGNED: u32 = 0x8_0000;

/// Size of a palette.
const PALETTE_BYTES: usize = 4 * 256;

/// Flags for cube maps and volumes (`DDSCAPS2_*`).
const IS_CUBE: u32 = 0x200;
const ALL_FACES: u32 = 0xFC00;
const IS_VOLUME: u32 = 0x20_0000;

/// The parsed headers.
pub(super) struct DdsHeader {
    pub(super) surface: TextureSurface,
    /// Whether BC3 alpha stores red.
    pub(super) has_red_as_alpha: bool,
    /// The alternative interpretation of an ambiguous header, used if the file is too short.
    pub(super) fewer: Option<FewerPictures>,
}

/// Storage and meaning of pixels.
struct PixelFormat {
    texels: Texels,
    color_space: ColorSpace,
    premultiplied: bool,
    has_red_as_alpha: bool,
}

impl PixelFormat {
    fn new(texels: Texels, color_space: ColorSpace) -> PixelFormat {
        PixelFormat { texels, color_space, premultiplied: false, has_red_as_alpha: false }
    }

    fn same(encoding: Encoding, color_space: ColorSpace) -> PixelFormat {
        PixelFormat::new(Texels::Same(encoding), color_space)
    }

    fn plain(channels: u8, texel: Texel, color_space: ColorSpace) -> PixelFormat {
        PixelFormat::same(Encoding::Plain { channels, texel }, color_space)
    }
}

/// Reads everything before the pixels.
pub fn read(pieces: &mut Pieces<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<DdsHeader> {
    let header: [u8; HEADER_BYTES] = pieces.head("header")?;
    let word = |at: usize| word(&header, at);
    if !super::looks_like_dds(&header) {
        return Err(fault(&pieces.file, 0, "not a DDS file: invalid signature"));
    }
    for (at, expected, what) in [(4, 124, "header"), (76, 32, "pixel format")] {
        // The sizes are constants, but some programs write 24 or 0.
        let is_known = word(at) == 24 || at == 76 && word(at) == 0;
        if !is_known && word(at) != expected {
            let message = format!("invalid {what} size: {} bytes; expected {expected}", word(at));
            return Err(fault(&pieces.file, at as u64, message));
        }
        if word(at) != expected {
            let message = format!("the {what} declares a size of {} bytes; expected {expected}", word(at));
            let diagnostic = Diagnostic::at(&pieces.file, at as u64, message);
            warnings.note(options.faults, "bad-declaration", diagnostic)?;
        }
    }
    let is_new = word(FLAGS) & HAS_FOURCC != 0 && header[FOURCC..BITS] == *b"DX10";
    let (format, mut shape) = if is_new {
        let more: [u8; MORE_BYTES] = pieces.head("DX10 header")?;
        newer(&more, word(CAPS2), pieces)?
    } else {
        (older(&header, pieces)?, older_shape(word(CAPS2), pieces)?)
    };
    if shape.layers == 0 {
        let message = "the array size is 0; read as 1";
        warnings.note(options.faults, "array-size", Diagnostic::at(&pieces.file, ARRAY_SIZE as u64, message))?;
        shape.layers = 1;
    }
    let DdsShape { layers, faces, is_volume, fewer } = shape;
    let PixelFormat { texels, color_space, premultiplied, has_red_as_alpha } = format;
    let surface = TextureSurface {
        width: word(WIDTH) as usize,
        height: word(HEIGHT) as usize,
        depth: if is_volume { word(DEPTH).max(1) as usize } else { 1 },
        layers,
        faces,
        levels: word(LEVELS).max(1) as usize,
        texels,
        color_space,
        premultiplied,
    };
    // The faces of a cube are square.
    let is_square = surface.width == surface.height;
    let surface = match fewer {
        Some(fewer) if !is_square && fewer.faces == 1 => TextureSurface { layers: fewer.layers, faces: 1, ..surface },
        _ => surface,
    };
    surface.check(&options.limits, &pieces.file, HEIGHT as u64)?;
    // An interpretation with as many images would need as many bytes, so it cannot help with a file that is too short.
    let fewer = fewer.filter(|fewer| fewer.layers * fewer.faces < surface.layers * surface.faces);
    Ok(DdsHeader { surface, has_red_as_alpha, fewer })
}

struct DdsShape {
    layers: usize,
    faces: usize,
    is_volume: bool,
    fewer: Option<FewerPictures>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

fn unsupported(pieces: &Pieces<'_>, at: usize, message: String) -> Error {
    Diagnostic::at(&pieces.file, at as u64, message).into_error(ErrorKind::Unsupported)
}

fn older_shape(caps2: u32, pieces: &Pieces<'_>) -> Result<DdsShape> {
    let is_cube = caps2 & IS_CUBE != 0;
    if is_cube && caps2 & ALL_FACES != ALL_FACES {
        return Err(unsupported(pieces, CAPS2, "cube maps with fewer than six faces are not supported".into()));
    }
    Ok(DdsShape { layers: 1, faces: if is_cube { 6 } else { 1 }, is_volume: caps2 & IS_VOLUME != 0, fewer: None })
}

fn newer(more: &[u8; MORE_BYTES], caps2: u32, pieces: &Pieces<'_>) -> Result<(PixelFormat, DdsShape)> {
    let number = word(more, 0);
    let dimension = word(more, 4);
    let layers = word(more, 12) as usize;
    let Some((texels, color_space)) = dxgi::texels(number) else {
        return Err(unsupported(pieces, HEADER_BYTES, format!("DXGI_FORMAT {number} is not supported")));
    };
    // 2 is 1D, 3 is 2D, 4 is 3D. Some programs leave it 0.
    if dimension > 4 {
        let message = format!("invalid resource dimension {dimension}; expected 2, 3 or 4 (1D, 2D or 3D)");
        return Err(fault(&pieces.file, HEADER_BYTES as u64 + 4, message));
    }
    // DDS_ALPHA_MODE_PREMULTIPLIED; the upper bits are reserved.
    let premultiplied = word(more, 16) & 7 == 2;
    // If the dimension is missing, the DDS header decides.
    let is_volume = dimension == 4 || dimension < 2 && caps2 & IS_VOLUME != 0;
    // DDS_RESOURCE_MISC_TEXTURECUBE.
    let is_cube = word(more, 8) & 4 != 0;
    let is_older_cube = caps2 & IS_CUBE != 0 && caps2 & ALL_FACES == ALL_FACES && !is_volume;
    let counts_faces = layers > 0 && layers.is_multiple_of(6);
    let shape = match (is_cube, is_older_cube) {
        // The array size counts cubes, but some programs count faces.
        (true, _) => {
            let fewer = counts_faces.then_some(FewerPictures { layers: layers / 6, faces: 6 });
            DdsShape { layers, faces: 6, is_volume, fewer }
        }
        // Only the DDS header declares a cube map.
        (false, true) if counts_faces => DdsShape { layers: layers / 6, faces: 6, is_volume, fewer: None },
        (false, true) => DdsShape { layers, faces: 6, is_volume, fewer: Some(FewerPictures { layers, faces: 1 }) },
        (false, false) => DdsShape { layers, faces: 1, is_volume, fewer: None },
    };
    Ok((PixelFormat { premultiplied, ..PixelFormat::new(texels, color_space) }, shape))
}

fn older(header: &[u8; HEADER_BYTES], pieces: &mut Pieces<'_>) -> Result<PixelFormat> {
    let flags = word(header, FLAGS);
    let code = &header[FOURCC..BITS];
    if flags & HAS_FOURCC != 0 {
        return four_letters(code).ok_or_else(|| {
            let shown = code.escape_ascii();
            unsupported(pieces, FOURCC, format!("pixel format `{shown}` ({}) is not supported", word(code, 0)))
        });
    }
    if flags & IS_MAPPED != 0 {
        return mapped(flags, pieces);
    }
    let (bits, masks) = masks(header, flags, pieces)?;
    // In 64 bits, because shifting a 32-bit mask by 32 bits would overflow.
    if !matches!(bits, 8 | 16 | 24 | 32) || masks.iter().any(|mask| u64::from(*mask) >> bits != 0) {
        let message = format!("the channel masks {masks:x?} are not valid for {bits} bits per pixel");
        return Err(fault(&pieces.file, BITS as u64, message));
    }
    if flags & (IS_RGB | IS_LUMINANCE | IS_ALPHA) == 0 {
        return by_signed_masks(bits as usize / 8, masks).ok_or_else(|| {
            unsupported(pieces, MASKS, format!("signed channels with the masks {masks:x?} are not supported"))
        });
    }
    Ok(by_masks(bits as usize / 8, masks, is_brightness(flags, masks)))
}

/// Returns whether pixels store luminance instead of colors. Some programs also set the flag for colors.
fn is_brightness(flags: u32, [red, green, blue, _]: [u32; 4]) -> bool {
    flags & IS_LUMINANCE != 0 && (green | blue == 0 || red == green && red == blue)
}

/// Returns bits per pixel, and the masks of red, green, blue and alpha.
fn masks(header: &[u8; HEADER_BYTES], flags: u32, pieces: &Pieces<'_>) -> Result<(u32, [u32; 4])> {
    let bits = word(header, BITS);
    let [red, green, blue, alpha] = [0, 4, 8, 12].map(|at| word(header, MASKS + at));
    let alpha = if flags & (HAS_ALPHA | IS_ALPHA) != 0 { alpha } else { 0 };
    if is_brightness(flags, [red, green, blue, 0]) {
        // Masks may be omitted, and some programs count only the luminance bits.
        let alpha_mask = word(header, MASKS + 12);
        let bits = if bits == 8 && red == 0xFF && alpha_mask == 0xFF00 { 16 } else { bits };
        // Pillow writes masks that exceed the bit depth.
        // The shifts are checked, because `bits` has not been validated yet.
        let red = if u64::from(red).checked_shr(bits).unwrap_or(0) != 0 { 0 } else { red };
        let is_beyond = u64::from(alpha_mask).checked_shr(bits).unwrap_or(0) != 0;
        let alpha_mask = if is_beyond && bits == 16 && red == 0xFF { 0xFF00 } else { alpha_mask };
        let [red, alpha] = match (bits, red, alpha_mask, flags & HAS_ALPHA != 0) {
            (16, 0, 0, true) => [0xFF, 0xFF00],
            (8, 0, 0, false) => [0xFF, 0],
            (16, 0, 0, false) => [0xFFFF, 0],
            // Without alpha, the upper byte would be unused.
            (16, 0xFF, 0xFF00, _) => [0xFF, 0xFF00],
            _ => [red, alpha],
        };
        return Ok((bits, [red, red, red, alpha]));
    }
    if flags & (IS_RGB | IS_SIGNED) != 0 {
        if red | green | blue == 0 {
            return Err(fault(&pieces.file, MASKS as u64, "the color channel masks are 0"));
        }
        let alpha = if flags & IS_SIGNED != 0 { word(header, MASKS + 12) } else { alpha };
        return Ok((bits, [red, green, blue, alpha]));
    }
    if flags & IS_ALPHA != 0 {
        return Ok((bits, [0, 0, 0, if alpha == 0 && bits == 8 { 0xFF } else { alpha }]));
    }
    Err(unsupported(pieces, FLAGS, format!("pixel format flags {flags:#x} are not supported")))
}

/// Reads the 256 colors after the header: red, green, blue, and a byte that is alpha if the flags declare it, or if it
/// is nonzero for any color.
fn mapped(flags: u32, pieces: &mut Pieces<'_>) -> Result<PixelFormat> {
    let bytes = pieces.take(PALETTE_BYTES, "palette")?;
    let mut colors = Box::new([[0; 4]; 256]);
    colors.iter_mut().zip(bytes.as_chunks().0).for_each(|(to, color)| *to = *color);
    if flags & HAS_ALPHA == 0 && colors.iter().all(|color| color[3] == 0) {
        colors.iter_mut().for_each(|color| color[3] = u8::MAX);
    }
    Ok(PixelFormat::new(Texels::Mapped(colors), Srgb))
}

/// Returns the format for masks: an encoding of the model if possible, otherwise pixels to convert.
fn by_masks(bytes: usize, masks: [u32; 4], is_brightness: bool) -> PixelFormat {
    match (bytes, masks) {
        (1, [0xFF, 0xFF, 0xFF, 0]) if is_brightness => PixelFormat::plain(1, Texel::U8, Srgb),
        (1, [0xFF, 0, 0, 0]) => PixelFormat::plain(1, Texel::U8, Linear),
        (2, [0xFFFF, 0xFFFF, 0xFFFF, 0]) if is_brightness => PixelFormat::plain(1, Texel::U16, Linear),
        (2, [0xFFFF, 0, 0, 0]) => PixelFormat::plain(1, Texel::U16, Linear),
        (2, [0xFF, 0xFF00, 0, 0]) => PixelFormat::plain(2, Texel::U8, Linear),
        (4, [0xFFFF, 0xFFFF_0000, 0, 0]) => PixelFormat::plain(2, Texel::U16, Linear),
        (4, [0xFF, 0xFF00, 0x00FF_0000, 0xFF00_0000]) => PixelFormat::plain(4, Texel::U8, Srgb),
        _ => {
            let masks = ChannelMasks::new(bytes, masks);
            let is_wide = masks.encoding().bytes() > 4;
            PixelFormat::new(Texels::Masked(masks), if is_wide { Linear } else { Srgb })
        }
    }
}

/// Returns the format for signed channels, used for normals and offsets: whole bytes in the order of their masks.
fn by_signed_masks(bytes: usize, masks: [u32; 4]) -> Option<PixelFormat> {
    let (channels, channel_bytes) = match (bytes, masks) {
        (2, [0xFF, 0xFF00, 0, 0]) => (2, 1),
        (4, [0xFF, 0xFF00, 0x00FF_0000, 0xFF00_0000]) => (4, 1),
        (4, [0xFFFF, 0xFFFF_0000, 0, 0]) => (2, 2),
        _ => return None,
    };
    Some(PixelFormat::new(Texels::Signed { channels, bytes: channel_bytes }, Linear))
}

/// Returns the format for a FourCC, or for a D3DFORMAT number in its place.
fn four_letters(code: &[u8]) -> Option<PixelFormat> {
    let premultiplied = |encoding| PixelFormat { premultiplied: true, ..PixelFormat::same(encoding, Srgb) };
    Some(match code {
        b"DXT1" => PixelFormat::same(Encoding::Bc1, Srgb),
        b"DXT2" => premultiplied(Encoding::Bc2),
        b"DXT3" => PixelFormat::same(Encoding::Bc2, Srgb),
        b"DXT4" => premultiplied(Encoding::Bc3),
        b"DXT5" => PixelFormat::same(Encoding::Bc3, Srgb),
        // Normal maps with the first channel in alpha, which BC3 encodes more precisely.
        b"RXGB" => PixelFormat { has_red_as_alpha: true, ..PixelFormat::same(Encoding::Bc3, Linear) },
        b"ATI1" | b"BC4U" => PixelFormat::same(Encoding::Bc4 { signed: false }, Linear),
        b"BC4S" => PixelFormat::same(Encoding::Bc4 { signed: true }, Linear),
        b"ATI2" | b"A2XY" | b"BC5U" => PixelFormat::same(Encoding::Bc5 { signed: false }, Linear),
        b"BC5S" => PixelFormat::same(Encoding::Bc5 { signed: true }, Linear),
        [36, 0, 0, 0] => PixelFormat::plain(4, Texel::U16, Linear),
        [110, 0, 0, 0] => PixelFormat::new(Texels::Signed { channels: 4, bytes: 2 }, Linear),
        [111, 0, 0, 0] => PixelFormat::plain(1, Texel::F16, Linear),
        [112, 0, 0, 0] => PixelFormat::plain(2, Texel::F16, Linear),
        [113, 0, 0, 0] => PixelFormat::plain(4, Texel::F16, Linear),
        [114, 0, 0, 0] => PixelFormat::plain(1, Texel::F32, Linear),
        [115, 0, 0, 0] => PixelFormat::plain(2, Texel::F32, Linear),
        [116, 0, 0, 0] => PixelFormat::plain(4, Texel::F32, Linear),
        _ => return None,
    })
}
