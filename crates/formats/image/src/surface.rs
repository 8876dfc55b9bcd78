//! The dimensions declared by the header of a texture file, and the sizes derived from them.
//!
//! Validates them before memory is allocated. The formats parse the headers.

use crate::pieces::Pieces;
use crate::texels::Texels;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, fault, planted};
use polyhaul_model::limits::Limits;
use polyhaul_model::pixels::check_pixels;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{Array, ColorSpace, Texture};
use polyhaul_pipeline::options::ParseOptions;
use std::sync::Arc;

/// Declarations of a header.
#[derive(Clone, Debug)]
pub(crate) struct TextureSurface {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) layers: usize,
    /// 1, or 6 for cube maps.
    pub(crate) faces: usize,
    pub(crate) levels: usize,
    pub(crate) texels: Texels,
    pub(crate) color_space: ColorSpace,
    pub(crate) premultiplied: bool,
}

/// The layers and faces of a file that ends before all declared images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FewerPictures {
    pub(crate) layers: usize,
    pub(crate) faces: usize,
}

impl TextureSurface {
    /// Returns the texture without levels.
    pub(crate) fn texture(&self) -> Texture {
        let TextureSurface { width, height, depth, layers, faces, color_space, premultiplied, .. } = *self;
        let encoding = self.texels.encoding();
        let levels = Vec::new();
        Texture { width, height, depth, layers, faces, encoding, color_space, premultiplied, levels }
    }

    /// Fails if the dimensions are invalid or unsupported, or exceed the limits; errors refer to `offset`.
    pub(crate) fn check(&self, limits: &Limits, file: &Arc<str>, offset: u64) -> Result<()> {
        let TextureSurface { width, height, depth, layers, faces, levels, .. } = *self;
        let counts = [width, height, depth, layers, faces];
        let max_levels = self.texture().max_levels();
        if counts.contains(&0) {
            let message = format!("the texture is empty ({width} x {height} x {depth} pixels, layers: {layers})");
            return Err(fault(file, offset, message));
        }
        let pictures = depth.saturating_mul(layers).saturating_mul(faces);
        check_pixels([width, height, pictures], limits, file, offset)?;
        let images = layers.checked_mul(faces);
        if self
            .image_bytes(0)
            .zip(images)
            // Doubled to leave room for the smaller levels.
            .and_then(|(bytes, images)| bytes.checked_mul(2)?.checked_mul(images))
            .is_none()
        {
            let message = format!("the texture is too large ({width} x {height} x {depth} pixels, layers: {layers})");
            return Err(fault(file, offset, message));
        }
        if levels == 0 || levels > max_levels {
            let message =
                format!("invalid number of mip levels: {levels}; {width} x {height} pixels have at most {max_levels}");
            return Err(fault(file, offset, message));
        }
        if faces == 6 && width != height {
            return Err(fault(file, offset, format!("the cube map is not square ({width} x {height} pixels)")));
        }
        if depth > 1 && layers * faces > 1 {
            let message = format!("arrays of volumes ({layers} layers of {depth} slices) are not supported");
            return Err(Diagnostic::at(file, offset, message).into_error(ErrorKind::Unsupported));
        }
        Ok(())
    }

    /// Returns the stored size of one image of a level, with all slices of a volume, or `None` on overflow.
    pub(crate) fn image_bytes(&self, level: usize) -> Option<usize> {
        let [width, height, depth] = self.texture().level_size(level);
        self.texels.stored_bytes(width, height)?.checked_mul(depth)
    }

    /// Returns the stored size of a level. Fails on overflow.
    pub(crate) fn level_bytes(&self, level: usize) -> Result<usize> {
        let images = self.layers.checked_mul(self.faces);
        let bytes = self.image_bytes(level).zip(images).and_then(|(bytes, images)| bytes.checked_mul(images));
        bytes.ok_or_else(|| Error::memory("pixels"))
    }

    /// Returns the texture with levels converted from the stored bytes.
    pub(crate) fn with_levels(&self, stored: Vec<Vec<u8>>) -> Result<Texture> {
        let mut texture = self.texture();
        texture.levels.try_reserve_exact(stored.len())?;
        for level in stored {
            texture.levels.push(Array::from(self.texels.expand(level)?));
        }
        Ok(texture)
    }

    /// Reads a texture stored image by image, each with all its levels, as in DDS. If the file ends after the images in
    /// `fewer`, the texture has only these images.
    pub(crate) fn read_by_image(&self, pieces: &mut Pieces<'_>, fewer: Option<FewerPictures>) -> Result<Texture> {
        let images = self.layers * self.faces;
        let min_images = fewer.map_or(images, |fewer| fewer.layers * fewer.faces);
        let mut total = 0_u64;
        for level in 0..self.levels {
            // The division is exact, because a level consists of images of the same size.
            total = total.saturating_add(self.level_bytes(level)? as u64 / images as u64 * min_images as u64);
        }
        if !planted("dds-pixels") {
            pieces.check_left(total, "pixels")?;
        }
        let mut stored = vec![Vec::new(); self.levels];
        for (number, level) in stored.iter_mut().enumerate() {
            // `check_left` has verified that a backed file contains all of these bytes.
            if pieces.is_backed() {
                level.try_reserve_exact(self.level_bytes(number)? / images * min_images)?;
            }
        }
        for image in 0..images {
            if let Some(fewer) = fewer
                && image == min_images
                && pieces.is_at_end()?
            {
                let FewerPictures { layers, faces } = fewer;
                return TextureSurface { layers, faces, ..self.clone() }.with_levels(stored);
            }
            for (number, level) in stored.iter_mut().enumerate() {
                let count = self.image_bytes(number).ok_or_else(|| Error::memory("pixels"))?;
                pieces.append(count, level, "pixels")?;
            }
        }
        self.with_levels(stored)
    }
}

/// Warns about everything in a texture except the one image that is read.
pub(crate) fn note_other_pictures(
    texture: &Texture,
    file: &Arc<str>,
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<()> {
    let Texture { depth, layers, faces, .. } = *texture;
    let kinds = [
        ("left-out-layers", layers, "array layers", ["layer was", "layers were"]),
        ("left-out-faces", faces, "cube map faces", ["face was", "faces were"]),
        ("left-out-slices", depth, "volume slices", ["slice was", "slices were"]),
    ];
    for (code, count, what, words) in kinds {
        let dropped = count.saturating_sub(1) as u64;
        let others = counted(dropped, words);
        let message = format!("only the first of {count} {what} was read; {others} dropped");
        warnings.note_dropped(options.faults, code, dropped, Diagnostic::of_file(file, message))?;
    }
    let smaller = texture.levels.len().saturating_sub(1);
    let what = counted(smaller as u64, ["smaller level was skipped", "smaller levels were skipped"]);
    let message = format!("only the largest mip level was read; {what}");
    warnings.note_dropped(options.faults, "left-out-levels", smaller as u64, Diagnostic::of_file(file, message))
}
