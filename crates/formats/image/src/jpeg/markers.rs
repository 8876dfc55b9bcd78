//! Parses application segments: color transform, ICC profile, orientation, and further images.
//!
//! Sources: JFIF (ITU-T T.871), the Adobe segment (Technical Note 5116), EXIF (CIPA DC-008), ICC profiles (ICC.1:2022,
//! Annex B.4), and the list of images (CIPA DC-007).

use super::frame::{ColorModel, Frame};
use crate::orient;
use polyhaul_model::error::{Result, try_push};

/// The relevant contents of application segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Markers {
    is_jfif: bool,
    /// The color transform of the Adobe segment.
    adobe: Option<u8>,
    /// The EXIF orientation; 0 if there is none.
    pub(super) orientation: u16,
    /// The number of images in the file, excluding thumbnails; 0 if not declared.
    pub(super) pictures: u64,
    /// The numbered parts of an ICC profile.
    parts: Vec<(u8, Vec<u8>)>,
    /// The declared number of parts of the ICC profile.
    part_count: usize,
}

impl Markers {
    pub(super) fn add(&mut self, mark: u8, content: &[u8]) -> Result<()> {
        match mark {
            0xE0 if content.starts_with(b"JFIF\0") => self.is_jfif = true,
            0xE1 if self.orientation == 0 => {
                // A second zero byte pads the identifier.
                if let Some(data) = content.strip_prefix(b"Exif\0").and_then(|data| data.get(1..)) {
                    self.orientation = orient::of_exif(data);
                }
            }
            0xE2 => {
                if let Some(&[number, count, ref part @ ..]) = content.strip_prefix(b"ICC_PROFILE\0") {
                    self.part_count = count.into();
                    try_push(&mut self.parts, (number, part.to_vec()), "a profile")?;
                } else if let Some(list) = content.strip_prefix(b"MPF\0") {
                    self.pictures = pictures(list).unwrap_or(0);
                }
            }
            0xEE if content.starts_with(b"Adobe") => self.adobe = content.get(11).copied(),
            _ => {}
        }
        Ok(())
    }

    /// Returns whether there is any part of an ICC profile.
    pub(super) fn has_profile(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns the ICC profile, or `None` if parts are missing.
    pub(super) fn profile(&mut self) -> Option<Vec<u8>> {
        self.parts.sort_by_key(|(number, _)| *number);
        // Some programs write the profile twice.
        self.parts.dedup();
        let is_whole = self.parts.iter().zip(1..).all(|((number, _), expected)| *number == expected);
        let is_whole = is_whole && !self.parts.is_empty() && self.parts.len() == self.part_count;
        is_whole.then(|| self.parts.iter().flat_map(|(_, part)| part).copied().collect())
    }

    /// Returns the color model. For three components, the JFIF segment determines it or, if there is none, the Adobe
    /// segment or, if there is none either, the component IDs.
    pub(super) fn colors(&self, frame: &Frame) -> ColorModel {
        let ids: Vec<u8> = frame.components.iter().map(|component| component.id).collect();
        match (ids.len(), self.adobe) {
            (1, _) => ColorModel::Gray,
            (4, Some(2)) => ColorModel::Ycck,
            (4, _) => ColorModel::Cmyk,
            (_, _) if self.is_jfif => ColorModel::Ycc,
            (_, Some(0)) => ColorModel::Rgb,
            (_, Some(_)) => ColorModel::Ycc,
            _ if ids == *b"RGB" => ColorModel::Rgb,
            _ => ColorModel::Ycc,
        }
    }
}

/// Counts the images in a list, except thumbnails.
fn pictures(list: &[u8]) -> Option<u64> {
    const ENTRIES: u16 = 0xB002;
    const ENTRY_BYTES: usize = 16;
    let is_big = list.starts_with(b"MM");
    let short = |at: usize| {
        let bytes = *list.get(at..)?.first_chunk()?;
        Some(if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let word = |at: usize| {
        let bytes = *list.get(at..)?.first_chunk()?;
        Some(if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let start = word(4)? as usize;
    let count = usize::from(short(start)?);
    let field = (0..count).map(|index| start + 2 + 12 * index).find(|at| short(*at) == Some(ENTRIES))?;
    let entries = word(field + 4)? as usize / ENTRY_BYTES;
    let first = word(field + 8)? as usize;
    // The lower 24 bits are the image type: 01 00 01 and 01 00 02 are thumbnails.
    let kinds = (0..entries).map_while(|index| word(first + ENTRY_BYTES * index));
    Some(kinds.filter(|kind| kind >> 16 & 0xFF != 1).count() as u64)
}
