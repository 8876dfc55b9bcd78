//! DDS files to textures and images.

use super::header;
use crate::error::Result;
use crate::formats::pieces::Pieces;
use crate::model::{Image, Texture};
use crate::ops::blocks::decode;
use crate::options::ReadOptions;
use crate::pipeline::bytes::Bytes;

/// Reads the largest picture, of the first layer, face and slice.
pub(crate) fn read(bytes: Bytes<'_>, options: &ReadOptions) -> Result<Image> {
    decode(&texture(bytes, options)?, 0, 0, &options.run)
}

/// Reads all levels of all pictures.
pub(crate) fn texture(bytes: Bytes<'_>, options: &ReadOptions) -> Result<Texture> {
    let mut pieces = Pieces::new(bytes, options);
    let surface = header::read(&mut pieces, &options.limits)?;
    let texture = surface.read_by_image(&mut pieces)?;
    pieces.finish()?;
    Ok(texture)
}
