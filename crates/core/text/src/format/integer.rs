//! Writes integers in decimal, without plus sign, separators or leading zeros.
//!
//! Each table lookup yields three digits. A table of four digits (40 KB) would evict the mesh's data from the L1 cache.

use super::pen::Pen;

/// Stores `value`: at most 10 bytes, and 1 more past the text.
///
/// # Safety
/// 11 bytes from `pen` must be inside its buffer.
#[inline(always)]
pub(super) unsafe fn u32(pen: Pen, value: u32) -> Pen {
    // SAFETY: both helpers receive a `value` below their limit and need at most 10 of the 11 bytes. Otherwise `head`
    // receives at most 4, advances by 1 and stores 4 bytes, and `groups3` needs the remaining 10 bytes.
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
    // SAFETY: quotients and remainders of 10^9 are below 10^9, the first part is at most 18. The longest case stores 2
    // digits, then 9, then 10 bytes: 21.
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
    // SAFETY: the sign advances by at most 1 byte, leaving the 11 that `u32` needs.
    unsafe { u32(pen.put([b'-'], usize::from(value < 0)), value.unsigned_abs()) }
}

/// Stores `value`: at most 20 bytes, and 1 more past the text.
///
/// # Safety
/// 21 bytes from `pen` must be inside its buffer.
#[inline(always)]
pub(super) unsafe fn i64(pen: Pen, value: i64) -> Pen {
    // SAFETY: the sign advances by at most 1 byte. A magnitude is at most 2^63, which has 19 digits, and `u64` stores
    // one byte past the text: 1 + 19 + 1 is 21.
    unsafe { u64(pen.put([b'-'], usize::from(value < 0)), value.unsigned_abs()) }
}

/// # Safety
/// 7 bytes of room and `value` below 10^6.
#[inline(always)]
unsafe fn below_million(pen: Pen, value: u32) -> Pen {
    // SAFETY: `value < 10^6`, so both groups are below 1000. `head` advances by at most 3 bytes and each store has 4: 7
    // in all.
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
    // SAFETY: `value < 10^9`, so `thousands` returns three groups below 1000. Two advances of at most 3 bytes and a
    // store of 4 are the 10 bytes.
    unsafe { pen.head(first).group(second, 3).group(third, 3) }
}

/// Stores `value` (below 10^9) as nine digits.
///
/// # Safety
/// 10 bytes of room and `value` below 10^9.
#[inline(always)]
pub(super) unsafe fn groups3(pen: Pen, value: u32) -> Pen {
    let [first, second, third] = thousands(value);
    // SAFETY: `value < 10^9`, so `thousands` returns three groups below 1000. Two advances of 3 bytes and a store of 4
    // are the 10 bytes.
    unsafe { pen.group(first, 3).group(second, 3).group(third, 3) }
}

/// Splits a value below 10^9 into three groups of three digits.
///
/// `value / 10^6` in fixed point with 53 fraction bits is too large by less than 10^9 / 2^53 < 10^-6, so multiplying
/// its fraction by 1000 twice yields the exact digits, with three multiplications instead of five.
#[inline(always)]
pub(super) fn thousands(value: u32) -> [usize; 3] {
    const FRACTION: u64 = (1 << 53) - 1;
    const MILLIONTH: u64 = (1 << 53) / 1_000_000 + 1;
    let first = value as u64 * MILLIONTH;
    let second = (first & FRACTION) * 1000;
    let third = (second & FRACTION) * 1000;
    [(first >> 53) as usize, (second >> 53) as usize, (third >> 53) as usize]
}
