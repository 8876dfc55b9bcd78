//! Computes digits with big integers, for values whose digits do not fit 64 or 128 bits.
//!
//! Uses integer arithmetic on the value's bits in fixed-size arrays. This is slow (up to 1 µs) but correct by
//! construction.

use super::exact::split_bits;
use super::fixed::POWERS;
use super::significant::{self, Significant, carried};

/// Number of 64-bit limbs before the point, and also after it.
const LIMBS: usize = 17;
/// Digits per group.
const GROUP: usize = 9;
/// One digit for a carry, 309 digits before the point rounded up to complete groups, then the longest fraction (60
/// significant digits of 2^-1074) and two more groups, because at least one digit more than requested is computed.
const CAPACITY: usize = 1 + 315 + 384 + 2 * GROUP;

/// Decimal digits, split by the point.
pub(super) struct LongDigits {
    text: [u8; CAPACITY],
    /// Index of the first digit: 1, or 0 after a carry; after [`LongDigits::significant`], index of the first
    /// significant digit.
    start: usize,
    /// Index of the fraction's first digit.
    point: usize,
    end: usize,
}

impl LongDigits {
    /// Computes `magnitude` with `decimals` (at most 384) digits after the point.
    pub(super) fn with_decimals(magnitude: f64, decimals: usize) -> Self {
        let (mut digits, more) = Self::cut(magnitude, decimals);
        digits.round(digits.point + decimals, more);
        digits
    }

    /// Computes `count` significant digits of `magnitude`, the first of which has the weight 10^`exponent`. Also
    /// returns the exponent after rounding.
    pub(super) fn significant(magnitude: f64, exponent: i32, count: usize) -> (Self, i32) {
        let decimals = (count as i32 - 1 - exponent).max(0) as usize;
        let (mut digits, more) = Self::cut(magnitude, decimals);
        let first_index = |digits: &Self, exponent: i32| (digits.point as i32 - 1 - exponent).max(0) as usize;
        let first = first_index(&digits, exponent);
        digits.round(first + count, more);
        // A carry out of the first digit goes to the digit before it, which was 0 or unused.
        let carried = first > 0 && digits.text[first - 1] == b'1';
        let exponent = exponent + i32::from(carried);
        digits.start = first_index(&digits, exponent);
        digits.end = digits.start + count;
        (digits, exponent)
    }

    /// Returns the digits before and after the point.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        let range = |start: usize, end: usize| self.text.get(start..end).unwrap_or_default();
        (range(self.start, self.point), range(self.point, self.end))
    }

    /// Returns all digits, without the point.
    pub(super) fn all(&self) -> &[u8] {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// Computes at least one decimal more than `decimals`. Also returns whether nonzero digits follow.
    fn cut(magnitude: f64, decimals: usize) -> (Self, bool) {
        let (significand, exponent) = split_bits(magnitude);
        let mut digits = Self { text: [b'0'; CAPACITY], start: 1, point: 2, end: 2 };
        let (mut whole, mut fraction) = halves(significand, exponent);
        digits.whole(&mut whole);
        digits.point = digits.end;
        for _ in 0..=decimals / GROUP {
            let group = next_group(&mut fraction);
            digits.push(group);
        }
        (digits, fraction.iter().any(|&limb| limb != 0))
    }

    /// Stores the digits of an integer, at least one, without leading zeros.
    fn whole(&mut self, limbs: &mut [u64; LIMBS]) {
        let mut groups = [0; 35];
        let mut count = 0;
        for group in &mut groups {
            *group = divide_by_billion(limbs);
            count += 1;
            if limbs.iter().all(|&limb| limb == 0) {
                break;
            }
        }
        self.end = 1;
        for &group in groups[..count].iter().rev() {
            self.push(group);
        }
        let digits = &mut self.text[1..self.end];
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count().min(digits.len() - 1);
        digits.rotate_left(zeros);
        self.end -= zeros;
    }

    fn push(&mut self, group: u32) {
        for power in (0..GROUP).rev() {
            if let Some(digit) = self.text.get_mut(self.end) {
                *digit = b'0' + (u64::from(group) / POWERS[power] % 10) as u8;
                self.end += 1;
            }
        }
    }

    /// Rounds to the digits before `end` (1 or more), to nearest, ties to even. `more` must be set if nonzero digits
    /// follow the stored ones.
    fn round(&mut self, end: usize, more: bool) {
        let rest = self.text.get(end..self.end).unwrap_or_default();
        let (next, after) = rest.split_first().unwrap_or((&b'0', &[]));
        let more = more || after.iter().any(|&digit| digit != b'0');
        let odd = self.text.get(end - 1).is_some_and(|digit| digit & 1 == 1);
        let up = *next > b'5' || *next == b'5' && (more || odd);
        self.end = end.min(CAPACITY);
        let mut index = self.end;
        let mut carry = up;
        while carry && index > 0 {
            index -= 1;
            carry = self.text[index] == b'9';
            self.text[index] = if carry { b'0' } else { self.text[index] + 1 };
        }
        self.start = self.start.min(index);
    }
}

/// Computes up to [`significant::MAX`] digits as an integer.
#[cold]
#[inline(never)]
pub(super) fn significant(magnitude: f64, exponent: i32, count: usize) -> Significant {
    let (digits, exponent) = LongDigits::significant(magnitude, exponent, count.min(significant::MAX));
    let integer = digits.all().iter().fold(0u64, |sum, digit| sum.wrapping_mul(10) + u64::from(digit - b'0'));
    carried(integer, exponent, count)
}

/// Splits significand · 2^exponent into its whole part and its fraction in units of 2^-1088, lowest limb first.
fn halves(significand: u64, exponent: i32) -> ([u64; LIMBS], [u64; LIMBS]) {
    let mut whole = [0; LIMBS];
    let mut fraction = [0; LIMBS];
    // Position of the lowest bit in the limbs of the fraction followed by the limbs of the whole part: 14 to 2059.
    let lowest = (exponent + 64 * LIMBS as i32).max(0) as usize;
    let wide = u128::from(significand) << (lowest % 64);
    for (limb, part) in [(lowest / 64, wide as u64), (lowest / 64 + 1, (wide >> 64) as u64)] {
        let slot = if limb < LIMBS { fraction.get_mut(limb) } else { whole.get_mut(limb - LIMBS) };
        if let Some(slot) = slot {
            *slot = part;
        }
    }
    (whole, fraction)
}

/// Multiplies by 10^9 in place. Returns the digits that cross the point.
fn next_group(fraction: &mut [u64; LIMBS]) -> u32 {
    let lowest = fraction.iter().position(|&limb| limb != 0).unwrap_or(LIMBS);
    let mut carry = 0;
    for limb in &mut fraction[lowest..] {
        let wide = u128::from(*limb) * 1_000_000_000 + carry;
        *limb = wide as u64;
        carry = wide >> 64;
    }
    carry as u32
}

/// Divides by 10^9 in place. Returns the remainder.
fn divide_by_billion(limbs: &mut [u64; LIMBS]) -> u32 {
    let highest = limbs.iter().rposition(|&limb| limb != 0).map_or(0, |highest| highest + 1);
    let mut rest = 0;
    for limb in limbs[..highest].iter_mut().rev() {
        // In halves, because a 128-bit division is a function call.
        let upper = rest << 32 | *limb >> 32;
        let lower = (upper % 1_000_000_000) << 32 | *limb & 0xFFFF_FFFF;
        *limb = ((upper / 1_000_000_000) << 32) | (lower / 1_000_000_000);
        rest = lower % 1_000_000_000;
    }
    rest as u32
}
