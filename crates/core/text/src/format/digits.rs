//! Splits integers into digits, left-aligned and padded with zeros.

use super::fixed::POWERS;

/// Splits a number below 10^8 into eight digits, one per byte, the first digit in the lowest byte.
#[inline(always)]
pub(super) fn eight(number: u32) -> u64 {
    // The masks remove the bits that the shifts move in from the next number.
    const HUNDREDS: u64 = 0x0000_007F_0000_007F;
    const TENS: u64 = 0x000F_000F_000F_000F;
    let upper = u64::from(number / 10_000);
    let fours = upper + ((u64::from(number) - 10_000 * upper) << 32);
    // (n · 10486) >> 20 = n / 100 below 10^4, in both halves.
    let upper = ((fours * 10_486) >> 20) & HUNDREDS;
    let pairs = upper + ((fours - 100 * upper) << 16);
    // (n · 103) >> 10 = n / 10 below 100, in all quarters.
    let upper = ((pairs * 103) >> 10) & TENS;
    upper + ((pairs - 10 * upper) << 8)
}

/// Turns the digits of [`eight`] into text.
#[inline(always)]
pub(super) fn ascii(digits: u64) -> u64 {
    digits | 0x3030_3030_3030_3030
}

/// Splits an integer of `digits` (up to 16) digits in the same way as [`eight`], followed by zeros.
#[inline(always)]
pub(super) fn sixteen(integer: u64, digits: usize) -> [u64; 2] {
    let filled = integer * POWERS[16 - digits];
    [eight((filled / 100_000_000) as u32), eight((filled % 100_000_000) as u32)]
}

/// Returns the text of an integer of `digits` (1 to 19) digits, followed by zeros.
#[inline(always)]
pub(super) fn left_aligned(integer: u64, digits: usize) -> [u8; 24] {
    let words = if digits <= 16 {
        let [first, second] = sixteen(integer, digits);
        [first, second, 0]
    } else {
        let filled = integer * POWERS[19 - digits];
        let first = filled / 100_000_000_000;
        let rest = filled % 100_000_000_000;
        // 19 digits are 8, 8 and 3. The factor moves the last three to the front of their eight.
        [eight(first as u32), eight((rest / 1000) as u32), eight((rest % 1000) as u32 * 100_000)]
    };
    let mut text = [0; 24];
    for (bytes, word) in text.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = ascii(word).to_le_bytes();
    }
    text
}
