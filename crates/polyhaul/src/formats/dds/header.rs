//! Both headers of a DDS file, read.

use super::{HEADER_BYTES, MORE_BYTES, dxgi};
use crate::error::{Diagnostic, Error, ErrorKind, Result, fault};
use crate::formats::masks::Masks;
use crate::formats::pieces::Pieces;
use crate::formats::surface::Surface;
use crate::formats::texels::Texels;
use crate::model::{ColorSpace, Encoding, Texel};
use crate::options::Limits;

/// Where the parts of a header are, in bytes from the begin of the file.
const HEIGHT: usize = 12;
const WIDTH: usize = 16;
const DEPTH: usize = 24;
const LEVELS: usize = 28;
const FLAGS: usize = 80;
const FOURCC: usize = 84;
const BITS: usize = 88;
const MASKS: usize = 92;
const CAPS2: usize = 112;

/// Flags of a format of pixels.
const HAS_ALPHA: u32 = 1;
const IS_ALPHA: u32 = 2;
const HAS_FOURCC: u32 = 4;
const IS_RGB: u32 = 0x40;
const IS_LUMINANCE: u32 = 0x2_0000;

/// Flags of what the file is.
const IS_CUBE: u32 = 0x200;
const ALL_FACES: u32 = 0xFC00;
const IS_VOLUME: u32 = 0x20_0000;

/// How pixels of a format are stored, and what they mean.
type Kind = (Texels, ColorSpace, bool);

/// Reads what stands before the pixels.
pub(super) fn read(pieces: &mut Pieces<'_>, limits: &Limits) -> Result<Surface> {
    let header: [u8; HEADER_BYTES] = pieces.head("header")?;
    let word = |at: usize| word(&header, at);
    if !super::looks_like_dds(&header) || word(4) != 124 || word(76) != 32 {
        return Err(fault(&pieces.file, 0, "this is no header of a DDS file: its first bytes or its sizes are others"));
    }
    let is_new = word(FLAGS) & HAS_FOURCC != 0 && header[FOURCC..BITS] == *b"DX10";
    let (kind, shape) = match is_new {
        true => {
            let more: [u8; MORE_BYTES] = pieces.head("second header")?;
            newer(&more, word(CAPS2), pieces)?
        }
        false => (older(&header, pieces)?, older_shape(word(CAPS2), pieces)?),
    };
    let Shape { layers, faces, is_volume } = shape;
    let (texels, color_space, premultiplied) = kind;
    let surface = Surface {
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
    surface.check(limits, &pieces.file, HEIGHT as u64)?;
    Ok(surface)
}

struct Shape {
    layers: usize,
    faces: usize,
    is_volume: bool,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
}

fn unsupported(pieces: &Pieces<'_>, at: usize, message: String) -> Error {
    Diagnostic::at(&pieces.file, at as u64, message).into_error(ErrorKind::Unsupported)
}

fn older_shape(caps2: u32, pieces: &Pieces<'_>) -> Result<Shape> {
    let is_cube = caps2 & IS_CUBE != 0;
    if is_cube && caps2 & ALL_FACES != ALL_FACES {
        return Err(unsupported(pieces, CAPS2, "cube maps without all six faces are not read".into()));
    }
    Ok(Shape { layers: 1, faces: if is_cube { 6 } else { 1 }, is_volume: caps2 & IS_VOLUME != 0 })
}

fn newer(more: &[u8; MORE_BYTES], caps2: u32, pieces: &Pieces<'_>) -> Result<(Kind, Shape)> {
    let (number, dimension, is_cube) = (word(more, 0), word(more, 4), word(more, 8) & 4 != 0);
    let Some((texels, color_space)) = dxgi::texels(number) else {
        return Err(unsupported(pieces, HEADER_BYTES, format!("pixels of format {number} (DXGI_FORMAT) are not read")));
    };
    // 2 is a row, 3 a picture, 4 a volume. Some programs leave it out.
    if dimension > 4 {
        let message = format!("there is no texture of {dimension} dimensions; 2, 3 and 4 stand for 1, 2 and 3 of them");
        return Err(fault(&pieces.file, HEADER_BYTES as u64 + 4, message));
    }
    let premultiplied = word(more, 16) & 7 == 2;
    let is_volume = dimension == 4 || dimension < 2 && caps2 & IS_VOLUME != 0;
    let shape = Shape { layers: word(more, 12) as usize, faces: if is_cube { 6 } else { 1 }, is_volume };
    Ok(((texels, color_space, premultiplied), shape))
}

fn older(header: &[u8; HEADER_BYTES], pieces: &Pieces<'_>) -> Result<Kind> {
    let flags = word(header, FLAGS);
    if flags & HAS_FOURCC != 0 {
        let code = &header[FOURCC..BITS];
        return four_letters(code).ok_or_else(|| {
            let shown = code.escape_ascii();
            unsupported(pieces, FOURCC, format!("pixels of format `{shown}` ({}) are not read", word(code, 0)))
        });
    }
    let bits = word(header, BITS);
    let [red, green, blue, alpha] = [0, 4, 8, 12].map(|at| word(header, MASKS + at));
    let alpha = if flags & (HAS_ALPHA | IS_ALPHA) != 0 { alpha } else { 0 };
    let masks = match flags & (IS_RGB | IS_LUMINANCE | IS_ALPHA) {
        kind if kind & IS_RGB != 0 => [red, green, blue, alpha],
        kind if kind & IS_LUMINANCE != 0 => [red, red, red, alpha],
        IS_ALPHA => [0, 0, 0, alpha],
        _ => return Err(unsupported(pieces, FLAGS, format!("pixels with the flags {flags:#x} are not read"))),
    };
    if !matches!(bits, 8 | 16 | 24 | 32) || masks.iter().any(|mask| u64::from(*mask) >> bits != 0) {
        let message = format!("pixels of {bits} bits with the masks {masks:x?} are not part of this format");
        return Err(fault(&pieces.file, BITS as u64, message));
    }
    Ok(by_masks(bits as usize / 8, masks, flags & IS_LUMINANCE != 0))
}

/// What the model has as it is, where there is such a thing.
fn by_masks(bytes: usize, masks: [u32; 4], is_luminance: bool) -> Kind {
    use ColorSpace::{Linear, Srgb};
    let plain = |channels, texel| Texels::Same(Encoding::Plain { channels, texel });
    match (bytes, masks) {
        (1, [0xFF, 0xFF, 0xFF, 0]) if is_luminance => (plain(1, Texel::U8), Srgb, false),
        (1, [0xFF, 0, 0, 0]) => (plain(1, Texel::U8), Linear, false),
        (2, [0xFFFF, 0xFFFF, 0xFFFF, 0]) if is_luminance => (plain(1, Texel::U16), Linear, false),
        (2, [0xFFFF, 0, 0, 0]) => (plain(1, Texel::U16), Linear, false),
        (2, [0xFF, 0xFF00, 0, 0]) => (plain(2, Texel::U8), Linear, false),
        (4, [0xFFFF, 0xFFFF_0000, 0, 0]) => (plain(2, Texel::U16), Linear, false),
        (4, [0xFF, 0xFF00, 0x00FF_0000, 0xFF00_0000]) => (plain(4, Texel::U8), Srgb, false),
        _ => {
            let masks = Masks::new(bytes, masks);
            let is_wide = masks.encoding().bytes() > 4;
            (Texels::Masked(masks), if is_wide { Linear } else { Srgb }, false)
        }
    }
}

/// What four letters mean, or the number in their place.
fn four_letters(code: &[u8]) -> Option<Kind> {
    use ColorSpace::{Linear, Srgb};
    let plain = |channels, texel| Encoding::Plain { channels, texel };
    let (encoding, space, premultiplied) = match code {
        b"DXT1" => (Encoding::Bc1, Srgb, false),
        b"DXT2" => (Encoding::Bc2, Srgb, true),
        b"DXT3" => (Encoding::Bc2, Srgb, false),
        b"DXT4" => (Encoding::Bc3, Srgb, true),
        b"DXT5" => (Encoding::Bc3, Srgb, false),
        b"ATI1" | b"BC4U" => (Encoding::Bc4 { signed: false }, Linear, false),
        b"BC4S" => (Encoding::Bc4 { signed: true }, Linear, false),
        b"ATI2" | b"BC5U" => (Encoding::Bc5 { signed: false }, Linear, false),
        b"BC5S" => (Encoding::Bc5 { signed: true }, Linear, false),
        [36, 0, 0, 0] => (plain(4, Texel::U16), Linear, false),
        [111, 0, 0, 0] => (plain(1, Texel::F16), Linear, false),
        [112, 0, 0, 0] => (plain(2, Texel::F16), Linear, false),
        [113, 0, 0, 0] => (plain(4, Texel::F16), Linear, false),
        [114, 0, 0, 0] => (plain(1, Texel::F32), Linear, false),
        [115, 0, 0, 0] => (plain(2, Texel::F32), Linear, false),
        [116, 0, 0, 0] => (plain(4, Texel::F32), Linear, false),
        _ => return None,
    };
    Some((Texels::Same(encoding), space, premultiplied))
}
