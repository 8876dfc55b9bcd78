//! All digits of a value, one by one: for values whose digits fit no shorter integer.
//!
//! Integer arithmetic on the value's own bits, in fixed arrays. Slow (up to 1 µs), and right by construction.

use super::exact::split_bits;
use super::fixed::POWERS;
use super::significant::{self, Significant, carried};

/// Bits before and after the point.
const LIMBS: usize = 17;
/// Digits of a group.
const GROUP: usize = 9;
/// A digit for a carry, 309 in front of the point and what fills their last group, then the longest fraction: 60
/// significant digits of 2^-1074, and again a group more than asked for.
const CAPACITY: usize = 1 + 315 + 384 + 2 * GROUP;

/// Decimal digits with a point among them, rounded where asked.
pub(super) struct Digits {
    text: [u8; CAPACITY],
    /// The place of the first digit: 0 after a carry, otherwise 1.
    start: usize,
    /// The place of the fraction.
    point: usize,
    end: usize,
}

impl Digits {
    /// The digits of `magnitude` with `decimals` (at most 384) after the point.
    pub(super) fn with_decimals(magnitude: f64, decimals: usize) -> Self {
        let (mut digits, more) = Self::cut(magnitude, decimals);
        digits.round(digits.point + decimals, more);
        digits
    }

    /// `count` significant digits of `magnitude`, the first of which stands for 10^`exponent`, and the exponent after
    /// rounding.
    pub(super) fn significant(magnitude: f64, exponent: i32, count: usize) -> (Self, i32) {
        let decimals = (count as i32 - 1 - exponent).max(0) as usize;
        let (mut digits, more) = Self::cut(magnitude, decimals);
        let place = |digits: &Self, exponent: i32| (digits.point as i32 - 1 - exponent).max(0) as usize;
        let first = place(&digits, exponent);
        digits.round(first + count, more);
        // A carry out of the first digit goes to the one in front of it, which was a zero or nothing.
        let carried = first > 0 && digits.text[first - 1] == b'1';
        let exponent = exponent + i32::from(carried);
        digits.start = place(&digits, exponent);
        digits.end = digits.start + count;
        (digits, exponent)
    }

    /// The digits before and after the point.
    pub(super) fn parts(&self) -> (&[u8], &[u8]) {
        let split = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        (split(self.start, self.point), split(self.point, self.end))
    }

    /// All digits.
    pub(super) fn all(&self) -> &[u8] {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// At least one digit more than `decimals`, and whether there are any but zeros after them.
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

    /// Appends the digits of an integer, without leading zeros but at least one.
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
        for place in (0..GROUP).rev() {
            if let Some(digit) = self.text.get_mut(self.end) {
                *digit = b'0' + (u64::from(group) / POWERS[place] % 10) as u8;
                self.end += 1;
            }
        }
    }

    /// Keeps the digits before `end` (1 or more), rounded to nearest, ties to even; `more` is whether nonzero digits
    /// follow those stored.
    fn round(&mut self, end: usize, more: bool) {
        let rest = self.text.get(end..self.end).unwrap_or_default();
        let (next, after) = rest.split_first().unwrap_or((&b'0', &[]));
        let more = more || after.iter().any(|&digit| digit != b'0');
        let odd = self.text.get(end - 1).is_some_and(|digit| digit & 1 == 1);
        let up = *next > b'5' || *next == b'5' && (more || odd);
        self.end = end.min(CAPACITY);
        let mut place = self.end;
        let mut carry = up;
        while carry && place > 0 {
            place -= 1;
            carry = self.text[place] == b'9';
            self.text[place] = if carry { b'0' } else { self.text[place] + 1 };
        }
        self.start = self.start.min(place);
    }
}

/// Up to [`significant::MAX`] digits as an integer.
#[cold]
#[inline(never)]
pub(super) fn significant(magnitude: f64, exponent: i32, count: usize) -> Significant {
    let (digits, exponent) = Digits::significant(magnitude, exponent, count.min(significant::MAX));
    let integer = digits.all().iter().fold(0u64, |sum, digit| sum.wrapping_mul(10) + u64::from(digit - b'0'));
    carried(integer, exponent, count)
}

/// significand · 2^exponent: the part before the point, and the part after it in units of 2^-1088, lowest limb first.
fn halves(significand: u64, exponent: i32) -> ([u64; LIMBS], [u64; LIMBS]) {
    let (mut whole, mut fraction) = ([0; LIMBS], [0; LIMBS]);
    // The lowest bit's place in the two as one row of limbs: 14 to 2059.
    let lowest = (exponent + 64 * LIMBS as i32).max(0) as usize;
    let wide = u128::from(significand) << (lowest % 64);
    for (limb, part) in [(lowest / 64, wide as u64), (lowest / 64 + 1, (wide >> 64) as u64)] {
        let place = if limb < LIMBS { fraction.get_mut(limb) } else { whole.get_mut(limb - LIMBS) };
        if let Some(place) = place {
            *place = part;
        }
    }
    (whole, fraction)
}

/// Multiplies in place and returns what crosses the point.
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

/// Divides in place and returns the remainder.
fn divide_by_billion(limbs: &mut [u64; LIMBS]) -> u32 {
    let highest = limbs.iter().rposition(|&limb| limb != 0).map_or(0, |highest| highest + 1);
    let mut rest = 0;
    for limb in limbs[..highest].iter_mut().rev() {
        // By halves, because a division of 128 bits is a call.
        let upper = rest << 32 | *limb >> 32;
        let lower = (upper % 1_000_000_000) << 32 | *limb & 0xFFFF_FFFF;
        *limb = ((upper / 1_000_000_000) << 32) | (lower / 1_000_000_000);
        rest = lower % 1_000_000_000;
    }
    rest as u32
}
