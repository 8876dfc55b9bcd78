//! Reads DDS files as textures and images.

use super::header;
use super::header::{ARRAY_SIZE, DdsHeader};
use crate::blocks::decode;
use crate::pieces::Pieces;
use crate::surface::note_other_pictures;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Encoding, Image, Samples, Texture};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::{ParseOptions, RunOptions};
use std::sync::Arc;

/// Reads the first layer, face and slice at full size.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Image> {
    let file: Arc<str> = bytes.name().into();
    let texture = texture(bytes, options, warnings)?;
    note_other_pictures(&texture, &file, options, warnings)?;
    decode(&texture, 0, 0, &options.run)
}

/// Reads all levels of all images.
pub fn texture(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Texture> {
    let mut pieces = Pieces::new(bytes, options);
    let DdsHeader { surface, has_red_as_alpha, fewer } = header::read(&mut pieces, options, warnings)?;
    let texture = surface.read_by_image(&mut pieces, fewer)?;
    let is_cut = (texture.layers, texture.faces) != (surface.layers, surface.faces);
    if is_cut {
        let message = match texture.faces {
            6 => "the array size counts cube faces instead of cubes; divided by 6",
            _ => "the headers disagree on whether this is a cube map; read as one image per layer",
        };
        let file = pieces.file.clone();
        warnings.note(options.faults, "array-size", Diagnostic::at(&file, ARRAY_SIZE as u64, message))?;
    }
    pieces.finish()?;
    if has_red_as_alpha { with_red_in_place(texture, &options.run) } else { Ok(texture) }
}

/// Decodes a texture into plain pixels, moving alpha to red. The new alpha is 255.
fn with_red_in_place(mut texture: Texture, options: &RunOptions) -> Result<Texture> {
    let images = texture.layers * texture.faces;
    let plain = Texture { encoding: Encoding::default(), levels: Vec::new(), ..texture.clone() };
    for number in 0..texture.levels.len() {
        let mut pixels: Vec<u8> = Vec::new();
        let bytes = plain.level_bytes(number).ok_or_else(|| Error::memory("pixels"))?;
        pixels.try_reserve_exact(bytes).map_err(|_| Error::memory("pixels"))?;
        for image in 0..images * texture.level_size(number)[2] {
            let Samples::U8(samples) = decode(&texture, number, image, options)?.samples else {
                return Err(Error::new(ErrorKind::Internal, "blocks of bytes were decoded as something else"));
            };
            for [_, green, blue, red] in samples.as_chunks::<4>().0 {
                pixels.extend_from_slice(&[*red, *green, *blue, u8::MAX]);
            }
        }
        // Later levels still contain blocks; this level is not decoded again.
        texture.levels[number] = pixels.into();
    }
    Ok(Texture { levels: texture.levels, ..plain })
}
