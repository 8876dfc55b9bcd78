//! Checks of images: their declared sizes against the limits before allocation, and whether they are opaque.

use crate::error::{Diagnostic, ErrorKind, Result, limit_hint, planted};
use crate::image::{Image, Samples};
use crate::limits::Limits;
use std::sync::Arc;

/// Maximum size of an image to which the ratio limit does not apply: a valid file of a few hundred KB can contain 8192
/// x 8192 pixels of one color.
const FREE_BYTES: u64 = 512 << 20;

/// Fails if an image of this size, declared at `offset` of a file, exceeds the pixel limit.
pub fn check_size([width, height]: [usize; 2], limits: &Limits, file: &Arc<str>, offset: u64) -> Result<()> {
    check_pixels([width, height, 1], limits, file, offset)
}

/// Same as [`check_size`], for several images of the same size.
pub fn check_pixels(
    [width, height, pictures]: [usize; 3],
    limits: &Limits,
    file: &Arc<str>,
    offset: u64,
) -> Result<()> {
    let count = (width as u64).saturating_mul(height as u64).saturating_mul(pictures as u64);
    if count <= limits.pixels.saturating_add(planted("image-pixels").into()) {
        return Ok(());
    }
    let times = if pictures == 1 { String::new() } else { format!(" x {pictures}") };
    let message = format!("{width} x {height}{times} pixels exceed the limit `pixels` ({})", limits.pixels);
    let error = Diagnostic::at(file, offset, message).into_error(ErrorKind::Limit);
    Err(error.with_hint(format!("{} to {count}", limit_hint("pixels"))).with_needed(count))
}

/// Returns the minimum size in bytes of a compressed file whose image takes `image_bytes` in memory.
pub fn min_file_bytes(image_bytes: u64, limits: &Limits) -> u64 {
    if image_bytes <= FREE_BYTES { 0 } else { image_bytes.div_ceil(limits.image_ratio.max(1)) }
}

/// Fails if an image, declared at `offset` of a file, has too few compressed bytes for its size.
pub fn check_ratio(image_bytes: u64, file_bytes: u64, limits: &Limits, file: &Arc<str>, offset: u64) -> Result<()> {
    if file_bytes >= min_file_bytes(image_bytes, limits) {
        return Ok(());
    }
    let ratio = image_bytes.div_ceil(file_bytes.max(1));
    let message = format!(
        "{image_bytes} bytes of pixels in a file of {file_bytes} bytes exceed the limit `image_ratio` ({} to 1)",
        limits.image_ratio
    );
    let error = Diagnostic::at(file, offset, message).into_error(ErrorKind::Limit);
    Err(error.with_hint(format!("{} to {ratio}", limit_hint("image_ratio"))))
}

/// Returns whether alpha is at its maximum in every pixel, or absent.
pub fn is_opaque(image: &Image) -> bool {
    fn all<T: PartialEq>(samples: &[T], size: usize, highest: T) -> bool {
        samples.chunks_exact(size).all(|pixel| pixel.last() == Some(&highest))
    }
    let size = image.channels.count();
    match &image.samples {
        _ if !image.channels.has_alpha() => true,
        Samples::U8(samples) => all(samples, size, u8::MAX),
        Samples::U16(samples) => all(samples, size, u16::MAX),
        Samples::F32(samples) => all(samples, size, 1.0),
    }
}
