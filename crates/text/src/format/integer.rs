//! Integers in decimal: no sign for zero and above, no separators, no leading zeros.
//!
//! Three digits per table look-up. A look-up table of four digits (40 KB) would push the mesh's own
//! data out of the first-level cache.

use super::pen::Pen;

/// Stores `value`: at most 10 bytes, and 1 more past the text.
///
/// # Safety
/// 11 bytes from `pen` must be inside its buffer.
#[inline(always)]
pub(super) unsafe fn u32(pen: Pen, value: u32) -> Pen {
    // SAFETY: groups are quotients or remainders below 1000, and the caller vouches for the room.
    unsafe {
        if value < 1_000_000 {
            return below_million(pen, value);
        }
        if value < 1_000_000_000 {
            return below_billion(pen, value);
        }
        let pen = pen.head((value / 1_000_000_000) as usize);
        groups3(pen, value % 1_000_000_000)
    }
}

/// Stores `value`: at most 20 bytes, and 1 more past the text.
///
/// # Safety
/// 21 bytes from `pen` must be inside its buffer.
#[inline]
pub(super) unsafe fn u64(pen: Pen, value: u64) -> Pen {
    const BILLION: u64 = 1_000_000_000;
    // SAFETY: each part is below 10^9 (the first below 19), and the caller vouches for the room.
    unsafe {
        if value < BILLION {
            return u32(pen, value as u32);
        }
        if value < BILLION * BILLION {
            let pen = u32(pen, (value / BILLION) as u32);
            return groups3(pen, (value % BILLION) as u32);
        }
        let rest = value % (BILLION * BILLION);
        let pen = u32(pen, (value / (BILLION * BILLION)) as u32);
        let pen = groups3(pen, (rest / BILLION) as u32);
        groups3(pen, (rest % BILLION) as u32)
    }
}

/// Stores `value`: at most 11 bytes, and 1 more past the text.
///
/// # Safety
/// 12 bytes from `pen` must be inside its buffer.
#[inline(always)]
pub(super) unsafe fn i32(pen: Pen, value: i32) -> Pen {
    // SAFETY: the sign takes 1 byte and the magnitude at most 10, as the caller vouches.
    unsafe { u32(pen.put([b'-'], usize::from(value < 0)), value.unsigned_abs()) }
}

/// Stores `value`: at most 20 bytes, and 1 more past the text.
///
/// # Safety
/// 21 bytes from `pen` must be inside its buffer.
#[inline(always)]
pub(super) unsafe fn i64(pen: Pen, value: i64) -> Pen {
    // SAFETY: the sign takes 1 byte and the magnitude at most 19, as the caller vouches.
    unsafe { u64(pen.put([b'-'], usize::from(value < 0)), value.unsigned_abs()) }
}

/// # Safety
/// 7 bytes of room and `value` below 10^6.
#[inline(always)]
unsafe fn below_million(pen: Pen, value: u32) -> Pen {
    // SAFETY: both groups are below 1000, and the caller vouches for the room.
    unsafe {
        if value < 1000 {
            return pen.head(value as usize);
        }
        pen.head((value / 1000) as usize).group((value % 1000) as usize, 3)
    }
}

/// # Safety
/// 10 bytes of room and `value` below 10^9.
#[inline(always)]
unsafe fn below_billion(pen: Pen, value: u32) -> Pen {
    let [first, second, third] = thousands(value);
    // SAFETY: all groups are below 1000, and the caller vouches for the room.
    unsafe { pen.head(first).group(second, 3).group(third, 3) }
}

/// Stores `value` (below 10^9) as nine digits.
///
/// # Safety
/// 10 bytes of room and `value` below 10^9.
#[inline(always)]
pub(super) unsafe fn groups3(pen: Pen, value: u32) -> Pen {
    let [first, second, third] = thousands(value);
    // SAFETY: all groups are below 1000, and the caller vouches for the room.
    unsafe { pen.group(first, 3).group(second, 3).group(third, 3) }
}

/// The three groups of three digits of a value below 10^9.
///
/// `value / 10^6` as a fixed-point number with 53 fraction bits is too large by less than
/// 10^9 / 2^53 < 10^-6, so multiplying its fraction by 1000 twice gives the exact digits.
/// Three multiplications in place of five.
#[inline(always)]
pub(super) fn thousands(value: u32) -> [usize; 3] {
    const FRACTION: u64 = (1 << 53) - 1;
    const MILLIONTH: u64 = (1 << 53) / 1_000_000 + 1;
    let first = value as u64 * MILLIONTH;
    let second = (first & FRACTION) * 1000;
    let third = (second & FRACTION) * 1000;
    [(first >> 53) as usize, (second >> 53) as usize, (third >> 53) as usize]
}
