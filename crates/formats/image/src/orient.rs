//! Orientation of images stored rotated or mirrored: the EXIF tag (CIPA DC-008, tag 274) and KTX2.

use polyhaul_model::error::{Diagnostic, Error, Result};
use polyhaul_model::limits::FaultPolicy;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{Image, Samples};
use polyhaul_pipeline::arrays::zeroed;
use std::sync::Arc;

/// Transform from a stored image to the displayed image: transposed first, then mirrored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orientation {
    /// Whether rows become columns.
    pub(crate) is_transposed: bool,
    /// Whether to mirror horizontally.
    pub(crate) is_mirrored: bool,
    /// Whether to mirror vertically.
    pub(crate) is_flipped: bool,
}

impl Orientation {
    /// Returns the orientation for an EXIF value, 1 to 8, or the identity for any other value.
    pub(crate) fn from_number(number: u16) -> Orientation {
        // EXIF defines the values by the sides at which the first row and the first column are displayed.
        let (is_transposed, is_mirrored, is_flipped) = match number {
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, true, false),
            7 => (true, true, true),
            8 => (true, false, true),
            _ => (false, false, false),
        };
        Orientation { is_transposed, is_mirrored, is_flipped }
    }

    pub(crate) fn is_plain(self) -> bool {
        self == Orientation::default()
    }

    /// Maps a pixel of the displayed image to its position in the stored image.
    fn stored(self, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> [usize; 2] {
        let x = if self.is_mirrored { width - 1 - x } else { x };
        let y = if self.is_flipped { height - 1 - y } else { y };
        if self.is_transposed { [y, x] } else { [x, y] }
    }

    /// Applies the orientation to an image.
    pub(crate) fn apply(self, image: &mut Image) -> Result<()> {
        if self.is_plain() {
            return Ok(());
        }
        let stored = [image.width, image.height];
        let shown = if self.is_transposed { [image.height, image.width] } else { stored };
        let count = image.channels.count();
        image.samples = match &image.samples {
            Samples::U8(samples) => Samples::U8(self.turned(samples, stored, shown, count)?.into()),
            Samples::U16(samples) => Samples::U16(self.turned(samples, stored, shown, count)?.into()),
            Samples::F32(samples) => Samples::F32(self.turned(samples, stored, shown, count)?.into()),
        };
        [image.width, image.height] = shown;
        Ok(())
    }

    /// Reorders elements, `count` per pixel, from stored to displayed order.
    pub(crate) fn turned<T: Copy + polyhaul_pipeline::arrays::Zero>(
        self,
        samples: &[T],
        stored: [usize; 2],
        shown: [usize; 2],
        count: usize,
    ) -> Result<Vec<T>> {
        let mut turned = zeroed(samples.len(), "an image")?;
        let mut pixels = turned.chunks_exact_mut(count);
        for y in 0..shown[1] {
            for x in 0..shown[0] {
                let [from_x, from_y] = self.stored([x, y], shown);
                let from = (from_y * stored[0] + from_x) * count;
                let pixel = pixels.next().zip(samples.get(from..from + count));
                let (pixel, from) = pixel.ok_or_else(|| Error::memory("an image"))?;
                pixel.copy_from_slice(from);
            }
        }
        Ok(turned)
    }
}

/// Returns the orientation in EXIF data, or 1 if there is none. The data starts with the byte order mark.
pub(crate) fn of_exif(data: &[u8]) -> u16 {
    find(data).unwrap_or(1)
}

fn find(data: &[u8]) -> Option<u16> {
    const ORIENTATION: u16 = 274;
    const SHORT: u16 = 3;
    let is_big = match data.get(..4)? {
        b"MM\0*" => true,
        b"II*\0" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = *data.get(at..)?.first_chunk()?;
        Some(if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let word = |at: usize| {
        let bytes = *data.get(at..)?.first_chunk()?;
        Some(if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    // An IFD has a count (2) and entries of 12 bytes: tag (2), type (2), count (4), value (4).
    let start = word(4)? as usize;
    let count = usize::from(short(start)?);
    let entry = (0..count).map(|index| start + 2 + 12 * index).find(|at| short(*at) == Some(ORIENTATION))?;
    if short(entry + 2)? == SHORT { short(entry + 8) } else { None }
}

/// Applies the EXIF orientation `number` to an image if requested; otherwise warns if it is not the identity.
pub(crate) fn settle(
    image: &mut Image,
    number: u16,
    is_requested: bool,
    file: &Arc<str>,
    faults: FaultPolicy,
    warnings: &mut Warnings,
) -> Result<()> {
    let orientation = Orientation::from_number(number);
    if is_requested || orientation.is_plain() {
        return orientation.apply(image);
    }
    let message =
        format!("the image is stored rotated or mirrored (EXIF orientation {number}); pixels are kept as stored");
    let mut diagnostic = Diagnostic::of_file(file, message);
    diagnostic.hint = Some("apply the orientation with `--orient`".into());
    warnings.note_dropped(faults, "unapplied-orientation", 1, diagnostic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::Channels;

    /// All orientations of an image of 3 x 2 pixels, as listed in the EXIF specification.
    #[test]
    fn each_orientation_by_hand() {
        let expected: [(u16, [usize; 2], [u8; 6]); 8] = [
            (1, [3, 2], [1, 2, 3, 4, 5, 6]),
            (2, [3, 2], [3, 2, 1, 6, 5, 4]),
            (3, [3, 2], [6, 5, 4, 3, 2, 1]),
            (4, [3, 2], [4, 5, 6, 1, 2, 3]),
            (5, [2, 3], [1, 4, 2, 5, 3, 6]),
            (6, [2, 3], [4, 1, 5, 2, 6, 3]),
            (7, [2, 3], [6, 3, 5, 2, 4, 1]),
            (8, [2, 3], [3, 6, 2, 5, 1, 4]),
        ];
        for (number, size, pixels) in expected {
            let samples = Samples::U8([1, 2, 3, 4, 5, 6].into());
            let mut image = Image { width: 3, height: 2, channels: Channels::Gray, samples, ..Image::default() };
            Orientation::from_number(number).apply(&mut image).unwrap();
            assert_eq!([image.width, image.height], size, "{number}");
            assert_eq!(image.samples, Samples::U8(pixels.into()), "{number}");
        }
    }

    #[test]
    fn orientations_are_found_in_either_byte_order() {
        let big = b"MM\0*\0\0\0\x08\0\x02\x01\x0F\0\x02\0\0\0\x01A\0\0\0\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x08\0\0\0";
        assert_eq!((of_exif(big), of_exif(little)), (6, 8));
        for size in 0..big.len() - 2 {
            assert_eq!(of_exif(&big[..size]), 1, "{size}");
        }
    }
}
