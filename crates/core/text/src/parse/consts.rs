//! Constants shared by several parsers.

use super::FLOAT_SIZE;

/// Bit of `marks` for a field that is not an integer: it has a point or an exponent, is a negative zero, or is not
/// finite.
pub const NOT_INTEGER: u8 = 1;

/// Bit of `marks` for an integer with a magnitude above [`MAX_EXACT`] or with more than 19 digits: its value may be
/// inexact.
pub const WIDE: u8 = 2;

/// Largest magnitude up to which an f64 represents every integer exactly.
pub const MAX_EXACT: u64 = 1 << 53;

/// Mantissa bits of an f64 that do not fit an f32.
pub(super) const BELOW_SINGLE: u64 = 0x1FFF_FFFF;
/// The value of these bits halfway between two f32s.
pub(super) const HALF_SINGLE: u64 = 0x1000_0000;

/// Maximum count of numbers converted at once: kernels read this many ends after the last one, and may overwrite as
/// many elements of the output.
pub(super) const TOGETHER: usize = 8;

/// Value of [`RunProgress::odd`](super::plain::RunProgress) if it is unknown which numbers are odd.
pub(super) const ALL_ODD: u8 = u8::MAX;

/// 10^0 to 10^14, then ones. 32 entries: any five bits are a valid index.
pub(super) const TENS: [f64; 32] = {
    let mut table = [1.0; 32];
    let mut places = 0;
    let mut power = 1.0;
    while places <= FLOAT_SIZE {
        table[places] = power;
        power *= 10.0;
        places += 1;
    }
    table
};
