//! Text to numbers: correctly rounded floats, integers with their range checked, and whole rows.
//!
//! [`number`] takes one token at a time and any notation. [`rows`] takes runs of lines of the same
//! plain shape through the index of [`crate::scan`], many numbers at once, and stops at the first
//! line that is not plain: the caller then reads that line with [`number`] and goes on.

pub mod number;
pub mod rows;
mod swar;
#[cfg(target_arch = "x86_64")]
mod x86;

/// 10^0 to 10^22: the powers that an f64 holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
];

/// `digits / 10^places` as an f32, or `None` where rounding twice could go wrong.
///
/// Both sides are exact for `digits` < 2^53 and `places` <= 22, so the quotient is correctly
/// rounded to f64. Rounding it again to f32 is only wrong where the f64 is a midpoint of two f32s
/// that the exact quotient is not (Clinger 1990, section on double rounding).
#[inline(always)]
fn quotient(digits: u64, places: usize) -> Option<f32> {
    let value = digits as f64 / POWERS[places];
    (value.to_bits() & 0x1FFF_FFFF != 0x1000_0000).then_some(value as f32)
}
