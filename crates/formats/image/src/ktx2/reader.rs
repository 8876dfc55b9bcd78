//! Reads KTX2 files as textures and images.

use super::header;
use super::header::{Ktx2Header, in_order};
use super::view::Ktx2View;
use crate::blocks::decode;
use crate::pieces::Pieces;
use crate::surface::note_other_pictures;
use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Image, Texture};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::packed::unpack;
use std::sync::Arc;

/// Reads the first layer, face and slice at full size.
pub fn read(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Image> {
    let file: Arc<str> = bytes.name().into();
    let (texture, view) = stored(bytes, options, warnings)?;
    note_other_pictures(&texture, &file, options, warnings)?;
    let mut image = decode(&texture, 0, 0, &options.run)?;
    view.apply(&mut image)?;
    Ok(image)
}

/// Reads all levels of all images.
pub fn texture(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<Texture> {
    let file: Arc<str> = bytes.name().into();
    let (mut texture, view) = stored(bytes, options, warnings)?;
    view.apply_to_texture(&mut texture, &file, options, warnings)?;
    Ok(texture)
}

/// Reads a texture as stored, and its orientation and swizzle. Warns that its colors are not converted to sRGB.
fn stored(bytes: Bytes<'_>, options: &ParseOptions, warnings: &mut Warnings) -> Result<(Texture, Ktx2View)> {
    let mut pieces = Pieces::new(bytes, options);
    let Ktx2Header { surface, packing, entries, view, other_primaries } = header::read(&mut pieces, &options.limits)?;
    let mut stored = vec![Vec::new(); entries.len()];
    for entry in in_order(&entries) {
        pieces.skip_to(entry.offset)?;
        let count = usize::try_from(entry.bytes).map_err(|_| Error::memory("levels"))?;
        let level = pieces.take(count, "mip levels")?;
        // Levels are read in file order, and stored in the order of the index.
        let place = (entry.declared_at - entries[0].declared_at) as usize / super::ENTRY_BYTES;
        stored[place] = match packing {
            None => level,
            Some(packing) => unpack(packing, &level, entry.plain_bytes as usize, &pieces.file, entry.offset)?,
        };
    }
    // After all levels were read, so that a strict reader of a stream, too, reports a truncated file first.
    if let Some(primaries) = other_primaries {
        let message = format!("the file's color primaries ({primaries}) are not applied; colors are kept as stored");
        let diagnostic = Diagnostic::of_file(&pieces.file, message);
        warnings.note_dropped(options.faults, "changed-color-space", 1, diagnostic)?;
    }
    pieces.finish()?;
    Ok((surface.with_levels(stored)?, view))
}
