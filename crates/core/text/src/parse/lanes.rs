//! Four floats or eight indices as 64 bits: finds the parts of their bytes without branches.
//!
//! Vector code compares 64 bytes with the characters of interest and passes a bit per byte. A token has a lane of 16
//! bits (a float) or 8 bits (an index), its last character lowest. So the byte before a token is the lowest bit outside
//! the token, and one subtraction finds it in all lanes at once: subtracting 1 from a lane clears its lowest set bit
//! and sets all bits below it. No borrow leaves a lane, since every lane has a bit set at its longest form. This module
//! loads nothing and converts nothing.

use super::FLOAT_SIZE;

/// The lowest bit of each lane of a float.
pub(super) const WIDE: u64 = 0x0001_0001_0001_0001;
/// The highest bit of each lane of a float.
pub(super) const WIDE_TOP: u64 = WIDE << 15;
/// The lowest bit of each lane of an index.
pub(super) const NARROW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each lane of an index.
pub(super) const NARROW_TOP: u64 = NARROW << 7;

/// The characters of four floats, or of two.
pub(super) struct FloatMarks {
    pub(super) digit: u64,
    pub(super) point: u64,
    pub(super) minus: u64,
    pub(super) space: u64,
}

/// The places of their parts.
pub(super) struct Floats {
    /// The digits after the point, or all of them.
    pub(super) low: u64,
    /// The digits before the point.
    pub(super) high: u64,
    /// The point, if any.
    pub(super) point: u64,
    /// A bit in each lane that has a minus.
    pub(super) negative: u64,
    /// The byte before each float.
    pub(super) before: u64,
    /// Not zero if one of them is not plain.
    pub(super) bad: u64,
}

/// Splits floats of up to `LANE` - 2 characters, their minus aside: four in lanes of 16 bits, or two in lanes of 32.
#[inline(always)]
pub(super) fn floats<const LANE: u32>(marks: FloatMarks) -> Floats {
    const { assert!(LANE == 32 || LANE == 16 && FLOAT_SIZE == 14) };
    let lowest = if LANE == 16 { WIDE } else { 1 << 32 | 1 };
    let highest = lowest << (LANE - 1);
    // At the latest, a token ends at the character after its longest form.
    let outside = !(marks.digit | marks.point) | lowest << (LANE - 2);
    let inside = (outside - lowest) & !outside;
    let start = inside + lowest;
    let negative = marks.minus & start;
    let before = start + negative;
    // The lowest point; in a lane without one, the end.
    let ends = marks.point & inside | start;
    let below = ends - lowest;
    let low = below & !ends;
    let high = inside & !(below ^ ends);
    let has_digits = (low | high) + (highest - lowest);
    let bad = before & !marks.space | ends & high | !has_digits & highest;
    Floats { low, high, point: ends & inside, negative, before, bad }
}

/// The places of the digits of eight indices.
pub(super) struct Indices {
    pub(super) digits: u64,
    /// A bit in each lane whose token is empty.
    pub(super) empty: u64,
    /// A bit in each lane whose token is not plain.
    pub(super) bad: u64,
    /// The top bit of each lane that is all digits: the byte before them is not in view.
    pub(super) full: u64,
}

/// Finds the digits of eight indices.
#[inline(always)]
pub(super) fn indices(digit: u64, separator: u64) -> Indices {
    let seven = ((!digit | NARROW_TOP) - NARROW) & digit & !NARROW_TOP;
    let before = seven + NARROW;
    let full = before & digit & NARROW_TOP;
    let start = before & !full;
    Indices { digits: seven | full, empty: start & NARROW, bad: start & !separator, full }
}

/// Finds the digits of eight indices that count backwards: a minus, then one to seven digits. [`Indices::full`] marks
/// those whose minus is the first byte in view.
#[inline(always)]
pub(super) fn negative_indices(digit: u64, minus: u64, separator: u64) -> Indices {
    let digits = ((!digit | NARROW_TOP) - NARROW) & digit & !NARROW_TOP;
    let before = digits + NARROW;
    let minus = before & minus;
    let unsigned = before & !minus;
    let bare = minus & NARROW;
    let behind = (minus & !NARROW_TOP) << 1;
    let bad = (behind | unsigned & NARROW) & !separator | unsigned & !NARROW | bare;
    Indices { digits, empty: unsigned & NARROW, bad, full: minus & NARROW_TOP }
}
