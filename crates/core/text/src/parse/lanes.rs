//! Locates the parts of four floats or eight indices in masks of 64 bits, without branches.
//!
//! Vector code compares 64 bytes with the characters of interest and passes one bit per byte. Each token has a lane of
//! 16 bits (floats) or 8 bits (indices). Its last character is the lowest bit, so the byte before the token is the
//! lowest bit outside the token. One subtraction finds this bit in all lanes at once: subtracting 1 clears a lane's
//! lowest set bit and sets all bits below it. No borrow leaves a lane, because every lane has a bit set at its maximum
//! length. This module neither loads nor converts.

use super::FLOAT_SIZE;

/// Lowest bit of each float lane.
pub(super) const WIDE: u64 = 0x0001_0001_0001_0001;
/// Highest bit of each float lane.
pub(super) const WIDE_TOP: u64 = WIDE << 15;
/// Lowest bit of each index lane.
pub(super) const NARROW: u64 = 0x0101_0101_0101_0101;
/// Highest bit of each index lane.
pub(super) const NARROW_TOP: u64 = NARROW << 7;

/// Character classes of four floats, or of two in lanes of 32 bits, one bit per byte.
pub(super) struct FloatMarks {
    pub(super) digit: u64,
    pub(super) point: u64,
    pub(super) minus: u64,
    pub(super) space: u64,
}

/// Parts of four floats, or of two in lanes of 32 bits, one bit per character.
pub(super) struct FloatParts {
    /// The digits after the point; all digits if there is no point.
    pub(super) low: u64,
    /// The digits before the point.
    pub(super) high: u64,
    /// The point, if any.
    pub(super) point: u64,
    /// A bit in each lane with a minus.
    pub(super) negative: u64,
    /// The byte before each float.
    pub(super) before: u64,
    /// Nonzero if a float is not plain.
    pub(super) bad: u64,
}

/// Splits floats of up to `LANE` - 2 characters without the minus: four in lanes of 16 bits, or two in lanes of 32.
#[inline(always)]
pub(super) fn floats<const LANE: u32>(marks: FloatMarks) -> FloatParts {
    const { assert!(LANE == 32 || LANE == 16 && FLOAT_SIZE == 14) };
    let lowest = if LANE == 16 { WIDE } else { 1 << 32 | 1 };
    let highest = lowest << (LANE - 1);
    // A token ends after the maximum length at the latest; a longer one is bad, because no white space precedes it
    // there.
    let outside = !(marks.digit | marks.point) | lowest << (LANE - 2);
    let inside = (outside - lowest) & !outside;
    let start = inside + lowest;
    let negative = marks.minus & start;
    let before = start + negative;
    // The lowest point, or the byte before the float in lanes without a point.
    let ends = marks.point & inside | start;
    let below = ends - lowest;
    let low = below & !ends;
    let high = inside & !(below ^ ends);
    let has_digits = (low | high) + (highest - lowest);
    let bad = before & !marks.space | ends & high | !has_digits & highest;
    FloatParts { low, high, point: ends & inside, negative, before, bad }
}

/// Parts of eight indices, one bit per character.
pub(super) struct IndexParts {
    pub(super) digits: u64,
    /// A bit in each lane with an empty token.
    pub(super) empty: u64,
    /// A bit in each lane with a token that is not plain.
    pub(super) bad: u64,
    /// Top bit of each lane whose characters all belong to the index, so that the byte before it was not loaded.
    pub(super) full: u64,
}

/// Finds the digits of eight indices.
#[inline(always)]
pub(super) fn indices(digit: u64, separator: u64) -> IndexParts {
    let seven = ((!digit | NARROW_TOP) - NARROW) & digit & !NARROW_TOP;
    let before = seven + NARROW;
    let full = before & digit & NARROW_TOP;
    let start = before & !full;
    IndexParts { digits: seven | full, empty: start & NARROW, bad: start & !separator, full }
}

/// Finds the digits of eight negative indices: a minus, then one to seven digits. [`IndexParts::full`] marks tokens
/// whose minus is the first byte loaded.
#[inline(always)]
pub(super) fn negative_indices(digit: u64, minus: u64, separator: u64) -> IndexParts {
    let digits = ((!digit | NARROW_TOP) - NARROW) & digit & !NARROW_TOP;
    let before = digits + NARROW;
    let minus = before & minus;
    let unsigned = before & !minus;
    let bare = minus & NARROW;
    let behind = (minus & !NARROW_TOP) << 1;
    let bad = (behind | unsigned & NARROW) & !separator | unsigned & !NARROW | bare;
    IndexParts { digits, empty: unsigned & NARROW, bad, full: minus & NARROW_TOP }
}
