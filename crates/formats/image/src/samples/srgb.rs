//! Exact conversion between linear light and sRGB codes (IEC 61966-2-1).
//!
//! 8-bit and 16-bit codes are converted to light with tables, and light to the nearest code; codes survive a round
//! trip. The tables are computed on first use.

use polyhaul_model::error::{Error, Result};
pub(super) use polyhaul_model::srgb::{code, light};
use std::sync::{LazyLock, OnceLock};

/// Returns the smallest light that is converted to `code` or to a higher code. Codes are from 0 to `max_code`.
fn min_light(code: usize, max_code: usize) -> f32 {
    let border = light((code as f64 - 0.5) / max_code as f64);
    let nearest = border as f32;
    if f64::from(nearest) < border { nearest.next_up() } else { nearest }
}

/// Light below this is 0 in 8 bits.
const DARKEST8: f32 = 1.0 / (1 << 13) as f32;
/// Light below this is 0 in 16 bits.
const DARKEST16: f32 = 1.0 / (1 << 21) as f32;
/// The largest float below 1.
const BRIGHTEST: f32 = 1.0 - f32::EPSILON / 2.0;
/// An entry of a table covers 2^16 consecutive floats. The bits of positive floats sort like their values, so the upper
/// bits are the index of the entry, and 128 entries cover a factor of two. 8 bits need 13 times 128 entries, 16 bits 21
/// times; the number of entries is a power of two, so that a mask bounds the index.
const PART_BITS: u32 = 16;
const PARTS8: usize = 1 << 11;
const PARTS16: usize = 1 << 12;

/// Tables for 8-bit codes.
pub(crate) struct SrgbBytes {
    /// The light of each code.
    pub(crate) light: [f32; 256],
    /// Each code divided by 255.
    pub(crate) plain: [f32; 256],
    /// Per entry: the upper half is the code of its first float. The lower half is added to the offset of a float in
    /// the entry: the sum carries into the upper half if the float has the next code. No entry has floats of more than
    /// two codes.
    parts: [u32; PARTS8],
}

/// The tables, computed on first use.
pub(crate) static BYTES: LazyLock<SrgbBytes> = LazyLock::new(|| {
    let light = std::array::from_fn(|number| light(number as f64 / 255.0) as f32);
    let plain = std::array::from_fn(|number| number as f32 / 255.0);
    let mut next = 1;
    let parts = std::array::from_fn(|part| {
        let start = DARKEST8.to_bits() + ((part as u32) << PART_BITS);
        while next < 256 && min_light(next, 255).to_bits() <= start {
            next += 1;
        }
        let border = if next < 256 { min_light(next, 255).to_bits() - start } else { u32::MAX };
        let carry = (1_u32 << PART_BITS).saturating_sub(border);
        ((next as u32 - 1) << PART_BITS) + carry
    });
    SrgbBytes { light, plain, parts }
});

impl SrgbBytes {
    /// Returns the code nearest to `light`, or 0 for NaN.
    #[inline(always)]
    pub(crate) fn code(&self, light: f32) -> u8 {
        self.code_at(SrgbBytes::place(light))
    }

    /// Returns the position of `light` among the floats that start at [`DARKEST8`]. Loops that first compute the
    /// positions of several pixels with vector instructions, then their codes, are twice as fast.
    #[inline(always)]
    pub(crate) fn place(light: f32) -> u32 {
        // Compiles to the maximum and minimum instructions. NaN compares as false and becomes black.
        let light = if light > DARKEST8 { light } else { DARKEST8 };
        let light = if light < BRIGHTEST { light } else { BRIGHTEST };
        light.to_bits() - DARKEST8.to_bits()
    }

    /// Returns the code of the light at a position.
    #[inline(always)]
    pub(crate) fn code_at(&self, place: u32) -> u8 {
        let part = self.parts[(place >> PART_BITS) as usize % PARTS8];
        ((part + (place & 0xFFFF)) >> PART_BITS) as u8
    }
}

/// Tables for 16-bit codes.
pub(crate) struct SrgbWords {
    /// The light of each code.
    pub(crate) light: Vec<f32>,
    /// The smallest light of each code, then infinity.
    borders: Vec<f32>,
    /// Per entry: the approximate code at its start, and the increase per float.
    parts: Vec<[f32; 2]>,
}

static WORDS: OnceLock<SrgbWords> = OnceLock::new();

/// Returns the tables for 16-bit codes, or an error if out of memory.
pub(crate) fn words() -> Result<&'static SrgbWords> {
    match WORDS.get() {
        Some(words) => Ok(words),
        None => {
            let words = SrgbWords::new()?;
            Ok(WORDS.get_or_init(|| words))
        }
    }
}

fn table<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut table = Vec::new();
    table.try_reserve_exact(values.len()).map_err(|_| Error::memory("the sRGB tables"))?;
    table.extend(values);
    Ok(table)
}

impl SrgbWords {
    fn new() -> Result<SrgbWords> {
        let wide = |part: usize| f32::from_bits(DARKEST16.to_bits() + ((part as u32) << PART_BITS));
        let about = |part: usize| code(f64::from(wide(part))) * 65535.0 + 0.5;
        let part = |part| {
            let start = about(part);
            [start as f32, ((about(part + 1) - start) / f64::from(1_u32 << PART_BITS)) as f32]
        };
        let border = |number| if number < 1 << 16 { min_light(number, 65535) } else { f32::INFINITY };
        Ok(SrgbWords {
            light: table((0..1 << 16).map(|number: usize| light(number as f64 / 65535.0) as f32))?,
            borders: table((0..(1 << 16) + 1).map(border))?,
            parts: table((0..PARTS16).map(part))?,
        })
    }

    /// Returns the code nearest to `light`, or 0 for NaN.
    #[inline]
    pub(crate) fn code(&self, light: f32) -> u16 {
        let light = if light > DARKEST16 { light } else { DARKEST16 };
        let light = if light < BRIGHTEST { light } else { BRIGHTEST };
        let place = light.to_bits() - DARKEST16.to_bits();
        let [start, rise] = self.parts[(place >> PART_BITS) as usize % PARTS16];
        // Linear interpolation within an entry is off by less than one code.
        let mut code = ((start + rise * (place & 0xFFFF) as f32) as usize).min(65535);
        if light < self.borders[code] {
            code = code.saturating_sub(1);
        } else if light >= self.borders[code + 1] {
            code += 1;
        }
        code as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        let words = words().unwrap();
        for code in 0..=255 {
            assert_eq!(BYTES.code(BYTES.light[usize::from(code)]), code);
        }
        for code in 0..=65535 {
            assert_eq!(words.code(words.light[usize::from(code)]), code);
        }
    }

    #[test]
    fn a_code_starts_where_it_is_the_nearest() {
        let words = words().unwrap();
        for number in 1..=255_u8 {
            let border = min_light(usize::from(number), 255);
            assert_eq!((BYTES.code(border), BYTES.code(border.next_down())), (number, number - 1));
            assert!((code(f64::from(border)) * 255.0 - (f64::from(number) - 0.5)).abs() < 1e-4);
        }
        for number in 1..=65535_u16 {
            let border = min_light(usize::from(number), 65535);
            assert_eq!((words.code(border), words.code(border.next_down())), (number, number - 1));
        }
    }

    #[test]
    fn anything_has_a_code() {
        let words = words().unwrap();
        let ends = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1e-30, 1.0, 1.5, f32::INFINITY];
        let codes = [0, 0, 0, 0, 0, 0, 255, 255, 255];
        assert_eq!(ends.map(|light| BYTES.code(light)), codes);
        assert_eq!(ends.map(|light| words.code(light)), codes.map(|code| u16::from(code) * 257));
    }

    #[test]
    fn known_values() {
        assert_eq!(BYTES.code(0.5), 188);
        assert_eq!(BYTES.light[128], 0.215_860_5);
        assert_eq!(light(-0.5), -light(0.5));
        assert_eq!((light(1.0), code(0.0)), (1.0, 0.0));
    }
}
