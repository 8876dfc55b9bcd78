//! Converts stored pixels with other channel orders or fewer bits to pixels of the model.
//!
//! Works on rows or any other runs of pixels. The format modules handle file headers and the order of rows.

use polyhaul_model::Channels;
use polyhaul_text::cpu::Level;
use std::mem::MaybeUninit;

/// A stored pixel layout that converts to 8-bit channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PixelsStored {
    /// 8-bit gray.
    Gray8,
    /// 8-bit gray and alpha.
    GrayAlpha8,
    /// Blue, green, red.
    Bgr8,
    /// Blue, green, red, alpha.
    Bgra8,
    /// 16 bits, little-endian: five bits each for blue, green and red, lowest first, and an unused bit.
    Bgr5,
    /// Like `Bgr5`, with alpha in the highest bit.
    Bgr5A1,
}

impl PixelsStored {
    /// Returns the bytes per stored pixel.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            PixelsStored::Gray8 => 1,
            PixelsStored::GrayAlpha8 | PixelsStored::Bgr5 | PixelsStored::Bgr5A1 => 2,
            PixelsStored::Bgr8 => 3,
            PixelsStored::Bgra8 => 4,
        }
    }

    /// Returns the channels after conversion.
    pub(crate) const fn channels(self) -> Channels {
        match self {
            PixelsStored::Gray8 => Channels::Gray,
            PixelsStored::GrayAlpha8 => Channels::GrayAlpha,
            PixelsStored::Bgr8 | PixelsStored::Bgr5 => Channels::Rgb,
            PixelsStored::Bgra8 | PixelsStored::Bgr5A1 => Channels::Rgba,
        }
    }

    /// Converts as many pixels as both slices hold. The result is the same for every level.
    pub(crate) fn expand(self, level: Level, from: &[u8], to: &mut [MaybeUninit<u8>]) {
        match self {
            PixelsStored::Gray8 | PixelsStored::GrayAlpha8 => each(from, to, |byte: [u8; 1]| byte),
            PixelsStored::Bgr8 => swap_three(level, from, to),
            PixelsStored::Bgra8 => each(from, to, |[b, g, r, a]: [u8; 4]| [r, g, b, a]),
            PixelsStored::Bgr5 => each(from, to, five_bits),
            PixelsStored::Bgr5A1 => each(from, to, |pixel| {
                let [r, g, b] = five_bits(pixel);
                // Negation turns 0 and 1 into 0 and 255.
                let alpha = pixel[1] >> 7;
                [r, g, b, alpha.wrapping_neg()]
            }),
        }
    }
}

/// Appends pixels in BGR order for files that store blue first; `to` must have enough capacity.
pub(crate) fn store(channels: Channels, from: &[u8], to: &mut Vec<u8>) {
    let stored = match channels {
        Channels::Gray => PixelsStored::Gray8,
        Channels::GrayAlpha => PixelsStored::GrayAlpha8,
        Channels::Rgb => PixelsStored::Bgr8,
        Channels::Rgba => PixelsStored::Bgra8,
    };
    let count = from.len().min(to.capacity() - to.len());
    // Swapping channels is its own inverse.
    stored.expand(Level::best(), &from[..count], &mut to.spare_capacity_mut()[..count]);
    // SAFETY: the capacity has room for `count` more bytes, and `expand` wrote all whole pixels of these: for these
    // four layouts, stored pixels have the same size as the model's.
    unsafe { to.set_len(to.len() + count / stored.bytes() * stored.bytes()) };
}

/// Converts pixels one by one.
#[inline]
fn each<const FROM: usize, const TO: usize>(
    from: &[u8],
    to: &mut [MaybeUninit<u8>],
    pixel: impl Fn([u8; FROM]) -> [u8; TO],
) {
    let from = from.as_chunks::<FROM>().0;
    let to = to.as_chunks_mut::<TO>().0;
    for (from, to) in from.iter().zip(to) {
        *to = pixel(*from).map(MaybeUninit::new);
    }
}

/// Expands three 5-bit channels to 8 bits, rounded to nearest.
fn five_bits([low, high]: [u8; 2]) -> [u8; 3] {
    let pixel = u16::from_le_bytes([low, high]);
    [10, 5, 0].map(|shift| {
        // 527 / 64 is slightly more than 255 / 31, and exact after rounding for all 32 values.
        (((pixel >> shift & 31) * 527 + 23) >> 6) as u8
    })
}

/// Converts BGR to RGB.
fn swap_three(level: Level, from: &[u8], to: &mut [MaybeUninit<u8>]) {
    #[cfg(target_arch = "x86_64")]
    let converted = crate::pixels_x86::swap_three(level, from, to);
    #[cfg(not(target_arch = "x86_64"))]
    let converted = 0;
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    each(&from[converted..], &mut to[converted..], |[b, g, r]: [u8; 3]| [r, g, b]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(stored: PixelsStored, level: Level, from: &[u8]) -> Vec<u8> {
        let mut to = vec![MaybeUninit::new(0xAA); from.len() / stored.bytes() * stored.channels().count()];
        stored.expand(level, from, &mut to);
        // SAFETY: all elements were initialized by the constructor of the vector.
        to.iter().map(|byte| unsafe { byte.assume_init() }).collect()
    }

    #[test]
    fn pixels_by_hand() {
        let level = Level::Portable;
        assert_eq!(expanded(PixelsStored::Bgr8, level, &[1, 2, 3, 4, 5, 6]), [3, 2, 1, 6, 5, 4]);
        assert_eq!(expanded(PixelsStored::Bgra8, level, &[1, 2, 3, 4]), [3, 2, 1, 4]);
        assert_eq!(expanded(PixelsStored::Gray8, level, &[9, 8]), [9, 8]);
        assert_eq!(expanded(PixelsStored::GrayAlpha8, level, &[9, 8]), [9, 8]);
        // Red 31, green 1, blue 16, and the alpha bit set.
        let pixel = (0x8000_u16 | 31 << 10 | 1 << 5 | 16).to_le_bytes();
        assert_eq!(expanded(PixelsStored::Bgr5, level, &pixel), [255, 8, 132]);
        assert_eq!(expanded(PixelsStored::Bgr5A1, level, &pixel), [255, 8, 132, 255]);
        assert_eq!(expanded(PixelsStored::Bgr5A1, level, &[0, 0]), [0, 0, 0, 0]);
    }

    #[test]
    fn five_bits_are_rounded_to_the_nearest() {
        for five in 0..32_u16 {
            let expected = (f64::from(five) * 255.0 / 31.0).round() as u8;
            assert_eq!(five_bits((five << 10).to_le_bytes()), [expected, 0, 0]);
        }
    }

    #[test]
    fn every_level_gives_the_same_for_any_length() {
        let bytes: Vec<u8> = (0..900_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for level in Level::all() {
            for stored in [PixelsStored::Bgr8, PixelsStored::Bgra8, PixelsStored::Bgr5, PixelsStored::Bgr5A1] {
                for count in (0..200).chain([299]) {
                    let from = &bytes[..(count * stored.bytes()).min(bytes.len())];
                    assert_eq!(expanded(stored, level, from), expanded(stored, Level::Portable, from));
                }
            }
        }
    }

    #[test]
    fn nothing_is_written_beyond_the_end() {
        for level in Level::all() {
            let mut to = [MaybeUninit::new(0xAA); 300];
            PixelsStored::Bgr8.expand(level, &[7; 297], &mut to[..297]);
            // SAFETY: all elements were initialized above.
            let to = to.map(|byte| unsafe { byte.assume_init() });
            assert_eq!((&to[..297], &to[297..]), (&[7; 297][..], &[0xAA; 3][..]));
        }
    }
}
