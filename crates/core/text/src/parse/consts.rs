//! Numbers that several parsers share.

use super::FLOAT_SIZE;

/// The bit of `marks` for a field that is not an integer: it has a point or an exponent, is a negative zero, or is not
/// finite.
pub const NOT_INTEGER: u8 = 1;

/// The bit of `marks` for an integer that is larger than [`MOST_EXACT`] or has more than 19 digits: the value may be
/// inexact.
pub const WIDE: u8 = 2;

/// Integers up to this size are kept exactly by an f64, with all that are smaller.
pub const MOST_EXACT: u64 = 1 << 53;

/// The bits of an f64 that do not fit into an f32, and their value halfway between two f32s.
pub(super) const BELOW_SINGLE: u64 = 0x1FFF_FFFF;
pub(super) const HALF_SINGLE: u64 = 0x1000_0000;

/// How many numbers are converted at once, at most: this many ends must follow the last one, and their places in the
/// output may change.
pub(super) const TOGETHER: usize = 8;

/// If it is not known which ones are.
pub(super) const ALL_ODD: u8 = u8::MAX;

/// 10^0 to 10^14, and ones: 32, so that any five bits are an index.
pub(super) const TENS: [f64; 32] = {
    let (mut table, mut places, mut power) = ([1.0; 32], 0, 1.0);
    while places <= FLOAT_SIZE {
        table[places] = power;
        power *= 10.0;
        places += 1;
    }
    table
};
