//! The shortest digits of many values at once, and rows of them.
//!
//! For each value, the interval of numbers that are read as it is scaled by a power of ten, so chosen that at least one
//! integer and at most one multiple of ten lies in it; the interval's ends and the value are known in quarters, with a
//! bit for what is cut off. (The method is Raffaele Giulietti's "Schubfach", 2020, which has the proofs.) There is no
//! branch in it, and all is done by steps over [`LANES`] values that the compiler makes AVX-512 of.
//!
//! [`put_rows`] puts the texts together with AVX-512. What is rare (numbers that are not normal, infinities, exponents)
//! is left to [`super::shortest`], and so is everything where the CPU lacks these instructions.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports, unused_mut))]

use super::digits::ascii;
use super::fixed::Real;
use super::pen::{Pen, SLACK};
use super::power::{highest_bit, is_exact, power};
use super::{MAX_SHORTEST_F64, Page, shortest};
use crate::cpu::Level;

/// What a value takes at most, with the byte behind it.
const ROOM: usize = MAX_SHORTEST_F64 + 1;
/// Values at a time.
const LANES: usize = 32;

/// A number of each lane.
type Lanes = [u64; LANES];

/// What becomes of values.
struct Texts {
    /// The digits behind the first, the first digit, a point and a zero: what a text is put together of.
    parts: [[u64; 4]; LANES],
    /// The exponent of the first digit above [`LOWEST`]: which layout a text has.
    layouts: [u8; LANES],
    /// Bytes of each text.
    lengths: [u8; LANES],
    /// 1 for a negative value.
    signs: [u8; LANES],
    /// Not 0 for values that are left to others.
    rare: [u8; LANES],
}

impl Texts {
    const EMPTY: Self =
        Self { parts: [[0; 4]; LANES], layouts: [0; LANES], lengths: [0; LANES], signs: [0; LANES], rare: [0; LANES] };
}

/// The lowest exponent of plain notation.
const LOWEST: i32 = -6;
/// Layouts of exponents up to 15.
const LAYOUTS: usize = 22;

/// A type of floats, as the steps need it.
pub trait Float: Copy + Default {
    /// Bits of the significand that are stored, and of the exponent.
    const BITS: u32;
    const EXPONENT_BITS: u32;
    /// Plain notation.
    const PLAIN: std::ops::RangeInclusive<i32>;
    fn bits(self) -> u64;
    /// The upper bits of power · end, the lowest one set if any below them is.
    fn scale(high: u64, low: u64, end: u64) -> u64;
    /// A tenth.
    fn tenth(integer: u64) -> u64;
    /// The integer filled up to the digits of the longest, and how many it had.
    fn fill(integer: u64) -> (u64, u64);
    /// The first digit, and the others, eight at a time.
    fn split(filled: u64) -> [u64; 3];
}

impl Float for f32 {
    const BITS: u32 = 23;
    const EXPONENT_BITS: u32 = 8;
    const PLAIN: std::ops::RangeInclusive<i32> = -6..=12;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    #[inline(always)]
    fn scale(high: u64, low: u64, end: u64) -> u64 {
        // 64 bits of the power do, rounded up.
        let power = high + u64::from(low != 0);
        let product = (power >> 32) * end + (((power & LOWER) * end) >> 32);
        product >> 32 | u64::from(product as u32 > 1)
    }

    #[inline(always)]
    fn tenth(integer: u64) -> u64 {
        (integer * 0xCCCC_CCCD) >> 35
    }

    #[inline(always)]
    fn fill(integer: u64) -> (u64, u64) {
        let (eight, nine) = (integer >= 10_000_000, integer >= 100_000_000);
        let factor = if nine {
            1
        } else if eight {
            10
        } else {
            100
        };
        ((integer & LOWER) * factor, 7 + u64::from(eight) + u64::from(nine))
    }

    #[inline(always)]
    fn split(filled: u64) -> [u64; 3] {
        let first = hundred_millionth(filled);
        [first, eight(filled - 100_000_000 * first), 0]
    }
}

impl Float for f64 {
    const BITS: u32 = 52;
    const EXPONENT_BITS: u32 = 11;
    const PLAIN: std::ops::RangeInclusive<i32> = -5..=15;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn scale(high: u64, low: u64, end: u64) -> u64 {
        let (below, _) = multiply(low, end);
        let (upper, lower) = multiply(high, end);
        let sum = lower.wrapping_add(below);
        (upper + u64::from(sum < lower)) | u64::from(sum > 1)
    }

    #[inline(always)]
    fn tenth(integer: u64) -> u64 {
        multiply(integer, 0xCCCC_CCCC_CCCC_CCCD).0 >> 3
    }

    #[inline(always)]
    fn fill(integer: u64) -> (u64, u64) {
        let is_long = integer >= 10_000_000_000_000_000;
        (if is_long { integer } else { (integer << 3) + (integer << 1) }, 16 + u64::from(is_long))
    }

    #[inline(always)]
    fn split(filled: u64) -> [u64; 3] {
        let upper = multiply(filled, 0xABCC_7711_8461_CEFD).0 >> 26;
        let first = hundred_millionth(upper);
        let last = filled - 100_000_000 * upper;
        [first, eight(upper - 100_000_000 * first), eight(last)]
    }
}

const LOWER: u64 = 0xFFFF_FFFF;

/// A product's upper and lower half, by products of 32 bits: vectors have no others.
#[inline(always)]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let (a, a_upper) = (a & LOWER, a >> 32);
    let (b, b_upper) = (b & LOWER, b >> 32);
    let lowest = a * b;
    let middle = a_upper * b + (lowest >> 32);
    let other = a * b_upper + (middle & LOWER);
    (a_upper * b_upper + (middle >> 32) + (other >> 32), other << 32 | lowest & LOWER)
}

/// n / 10^8 below 2^32.
#[inline(always)]
fn hundred_millionth(n: u64) -> u64 {
    ((n & LOWER) * 0x55E6_3B89) >> 57
}

/// Eight digits, one to a byte, the first one lowest: as [`super::digits::eight`], by products of 32 bits.
#[inline(always)]
fn eight(number: u64) -> u64 {
    let number = number & LOWER;
    let upper = (number * 0xD1B7_1759) >> 45;
    let lower = (number - 10_000 * upper) & LOWER;
    // (n · 10486) >> 20 = n / 100 below 10^4.
    let (first, third) = ((upper * 10_486) >> 20, (lower * 10_486) >> 20);
    let (second, fourth) = (upper - 100 * first, lower - 100 * third);
    let (front, back) = (first | second << 16, third | fourth << 16);
    // (n · 103) >> 10 = n / 10 below 100.
    let tens = ((front * 103) | (back * 103) << 32) >> 10 & 0x000F_000F_000F_000F;
    tens + (((front | back << 32) - ((tens << 3) + (tens << 1))) << 8)
}

/// Finds the digits of all values, and how their texts are put together.
#[inline(always)]
fn texts<R: Float>(values: &[R; LANES], texts: &mut Texts) {
    let (mut cs, mut shifts, mut steps, mut highs, mut lows) =
        ([0; LANES], [0; LANES], [0; LANES], [0; LANES], [0; LANES]);
    let mut exponents = [0i32; LANES];
    for lane in 0..LANES {
        let bits = values[lane].bits();
        let fraction = bits & ((1 << R::BITS) - 1);
        let field = bits >> R::BITS & ((1 << R::EXPONENT_BITS) - 1);
        let is_rare = (field == (1 << R::EXPONENT_BITS) - 1) | (field == 0) & (fraction != 0);
        // Below a power of two numbers are closer.
        let is_power = (fraction == 0) & (field > 1);
        let is_normal = u64::from(field != 0);
        let q = field.max(1) as i32 - ((1 << (R::EXPONENT_BITS - 1)) - 1 + R::BITS as i32);
        // floor(log10(2^q)), or of 3/4 · 2^q.
        let exponent = (q * 1_262_611 - if is_power { 524_031 } else { 0 }) >> 22;
        // Zero has a text of its own; here it is any number.
        cs[lane] = fraction | is_normal << R::BITS | u64::from(field == 0);
        steps[lane] = 2 - u64::from(is_power);
        shifts[lane] = (q + highest_bit(-exponent) + 1) as u64 & 63;
        exponents[lane] = exponent;
        texts.rare[lane] = u8::from(is_rare);
        texts.signs[lane] = (bits >> (R::BITS + R::EXPONENT_BITS)) as u8 & 1;
    }
    for lane in 0..LANES {
        let power = power(-exponents[lane]).0;
        (highs[lane], lows[lane]) = (power.high, power.low);
    }
    let integers = integers::<R>(&cs, &steps, &shifts, &exponents, &highs, &lows);
    for lane in 0..LANES {
        let is_zero = values[lane].bits() & ((1 << (R::BITS + R::EXPONENT_BITS)) - 1) == 0;
        let integer = if is_zero { 0 } else { integers[lane] };
        let (filled, count) = R::fill(integer);
        let exponent = if is_zero { 0 } else { exponents[lane] + count as i32 - 1 };
        let [first, middle, last] = R::split(filled);
        let zeros =
            if last == 0 { 8 + (u64::from(middle.leading_zeros()) >> 3) } else { u64::from(last.leading_zeros()) >> 3 };
        let digits = 17 - zeros as i32;
        let whole = exponent.max(0) + 1;
        let plain = if digits > whole { digits + 1 } else { whole };
        let length = if exponent < 0 { digits + 1 - exponent } else { plain };
        texts.parts[lane] = [ascii(middle), ascii(last), first | 0x30_2E30, 0];
        texts.lengths[lane] = length as u8;
        texts.layouts[lane] = (exponent - LOWEST) as u8;
        texts.rare[lane] |= u8::from((exponent < *R::PLAIN.start()) | (exponent > *R::PLAIN.end()));
    }
}

/// The shortest integers of the intervals.
#[inline(always)]
fn integers<R: Float>(
    cs: &Lanes,
    steps: &Lanes,
    shifts: &Lanes,
    exponents: &[i32; LANES],
    highs: &Lanes,
    lows: &Lanes,
) -> Lanes {
    let mut integers = [0; LANES];
    for lane in 0..LANES {
        let (high, low) = (highs[lane], lows[lane] + u64::from(!is_exact(-exponents[lane])));
        let four = 4 * cs[lane];
        let scaled = |end: u64| R::scale(high, low, end << (shifts[lane] & 63));
        // The ends belong to the interval if the significand is even.
        let open = cs[lane] & 1;
        let middle = scaled(four);
        let (lower, upper) = (scaled(four - steps[lane]) + open, scaled(four + 2) - open);
        let floor = middle >> 2;
        let tens = R::tenth(floor);
        let forties = (tens << 5) + (tens << 3);
        let (down, up) = (lower <= forties, forties + 40 <= upper);
        let above = ((middle & 3) + (floor & 1) > 2) | (lower > floor << 2);
        let unit = floor + u64::from(above);
        let ten = (forties >> 2) + if up { 10 } else { 0 };
        integers[lane] = if down | up { ten } else { unit };
    }
    integers
}

/// Which part each byte of a text is, for every exponent from [`LOWEST`] on.
#[cfg(target_arch = "x86_64")]
static LAYOUT: [[u8; 32]; LAYOUTS] = {
    const FIRST: u8 = 16;
    const POINT: u8 = 17;
    const ZERO: u8 = 18;
    let mut layouts = [[ZERO; 32]; LAYOUTS];
    let mut n = 0;
    while n < LAYOUTS {
        let exponent = n as i32 + LOWEST;
        let first = if exponent < 0 { (1 - exponent) as usize } else { 0 };
        let point = if exponent < 0 { 1 } else { exponent as usize + 1 };
        layouts[n][first] = FIRST;
        layouts[n][point] = POINT;
        let (mut digit, mut at) = (0, first + 1);
        while digit < 16 && at < 32 {
            if at != point {
                layouts[n][at] = digit;
                digit += 1;
            }
            at += 1;
        }
        n += 1;
    }
    layouts
};

/// Stores rows of `columns` values with a separator between them and `end` behind each row.
///
/// # Safety
/// `ROOM` bytes for each value and `SLACK` from `pen` must be inside its buffer, and the CPU must have
/// [`Level::Avx512`](crate::cpu::Level).
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
unsafe fn put_rows<R: Float>(mut pen: Pen, values: &[R], columns: usize, between: [u8; 2]) -> Pen {
    use std::arch::x86_64::*;
    let mut found = Texts::EMPTY;
    let mut left = columns;
    for values in values.chunks(LANES) {
        let mut lanes = [R::default(); LANES];
        lanes[..values.len()].copy_from_slice(values);
        texts(&lanes, &mut found);
        for (lane, &value) in values.iter().enumerate() {
            left -= 1;
            let next = between[usize::from(left == 0)];
            left = if left == 0 { columns } else { left };
            // SAFETY: the caller vouches for the room and the CPU; a layout that there is not is that of a rare value.
            unsafe {
                if found.rare[lane] != 0 {
                    pen = put_rare(pen, value).put([next], 1);
                    continue;
                }
                let layout = LAYOUT.get_unchecked(usize::from(found.layouts[lane]));
                let parts = _mm256_loadu_si256(found.parts[lane].as_ptr().cast());
                let text = _mm256_permutexvar_epi8(_mm256_loadu_si256(layout.as_ptr().cast()), parts);
                let text: [u8; 32] = std::mem::transmute(text);
                pen = pen.put([b'-'], usize::from(found.signs[lane]));
                pen = pen.put(text, usize::from(found.lengths[lane])).put([next], 1);
            }
        }
    }
    pen
}

/// Stores any value.
///
/// # Safety
/// [`MAX_SHORTEST_F64`] bytes of room.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
unsafe fn put_rare<R: Float>(pen: Pen, value: R) -> Pen {
    // SAFETY: the caller vouches for the room.
    unsafe {
        match R::EXPONENT_BITS {
            8 => shortest::put_f32(pen, f32::from_bits(value.bits() as u32)),
            _ => shortest::put_f64(pen, f64::from_bits(value.bits())),
        }
    }
}

/// See [`Page::shortest_rows`].
pub(super) fn rows<R: Real>(page: &mut Page<'_>, values: &[R], columns: usize, between: [u8; 2]) -> usize {
    let mut left = values;
    #[cfg(target_arch = "x86_64")]
    if columns > 0 && Level::best() == Level::Avx512 {
        let fitting = page.room().saturating_sub(SLACK) / columns.saturating_mul(ROOM);
        let count = (values.len() / columns).min(fitting) * columns;
        // SAFETY: the room was counted, and the CPU asked.
        unsafe {
            let end = put_rows(page.pen(), &values[..count], columns, between);
            page.take(end);
        }
        left = &values[count..];
    }
    let done = (values.len() - left.len()).checked_div(columns).unwrap_or(0);
    done + one_by_one(page, left, columns, between)
}

/// The same value by value.
fn one_by_one<R: Real>(page: &mut Page<'_>, values: &[R], columns: usize, [separator, end]: [u8; 2]) -> usize {
    if columns == 0 {
        return 0;
    }
    let whole = |row: &[R]| {
        page.whole(|page| {
            for (column, value) in row.iter().enumerate() {
                value.append_shortest(page);
                page.byte(if column + 1 == columns { end } else { separator });
            }
        })
    };
    values.chunks_exact(columns).map(whole).take_while(|&fitted| fitted).count()
}
