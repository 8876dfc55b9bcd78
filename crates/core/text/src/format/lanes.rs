//! Computes the shortest digits of many values at once, and writes lists of values.
//!
//! The interval of numbers that round to a value is scaled by a power of ten such that it contains at least one integer
//! and at most one multiple of ten; the interval's ends and the value are computed in quarters, with a sticky bit for
//! the rest. (The method is Raffaele Giulietti's "Schubfach", 2020, which has the proofs.) The code is branch-free, and
//! each step is a loop over [`LANES`] values, which compilers vectorize with AVX-512.
//!
//! [`put_all`] assembles the texts with AVX-512. [`super::shortest`] writes the rare values (subnormals, infinities,
//! NaN), the last values of a list if there are fewer than [`FEW`], and all values on CPUs without these instructions.

#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports, unused_mut))]

use super::digits::ascii;
use super::fixed::Real;
use super::lines::{LineWalk, NumberLines, one_at_a_time};
use super::pen::Pen;
use super::power::{highest_bit, is_exact, power};
use super::{MAX_SHORTEST_F64, Page, shortest};
use crate::cpu::Level;

/// Number of values computed at a time.
const LANES: usize = 32;
/// Count of values below which it is faster to write them individually.
const FEW: usize = 8;

/// One number per lane.
type LaneNumbers = [u64; LANES];

/// Digits and layouts of the values.
struct LaneTexts {
    /// Pieces of each text: the digits after the first, the first digit, a point and a zero.
    parts: [[u64; 4]; LANES],
    /// Exponent of the first digit minus [`LOWEST`]: the index of a text's layout.
    layouts: [u8; LANES],
    /// Length of each text in bytes.
    lengths: [u8; LANES],
    /// 1 for negative values.
    signs: [u8; LANES],
    /// Decimal exponent of the first digit, written in [`SCIENTIFIC`] notation.
    exponents: [i16; LANES],
    /// [`PLAIN`], [`SCIENTIFIC`], or neither.
    kinds: [u8; LANES],
}

/// Notations; values with neither are left to other writers.
const PLAIN: u8 = 0;
const SCIENTIFIC: u8 = 1;
const NEITHER: u8 = 2;

impl LaneTexts {
    const EMPTY: Self = Self {
        parts: [[0; 4]; LANES],
        layouts: [0; LANES],
        lengths: [0; LANES],
        signs: [0; LANES],
        exponents: [0; LANES],
        kinds: [0; LANES],
    };
}

/// Lowest exponent in plain notation.
const LOWEST: i32 = -6;
/// Number of layouts, for exponents from [`LOWEST`] to 15.
const LAYOUTS: usize = 22;

/// A float type: f32 or f64.
pub trait Float: Copy + Default {
    /// Stored bits of the significand.
    const BITS: u32;
    /// Bits of the exponent.
    const EXPONENT_BITS: u32;
    /// Exponents written in plain notation.
    const PLAIN: std::ops::RangeInclusive<i32>;
    fn bits(self) -> u64;
    /// Computes power · x for the lower end, the middle and the upper end of an interval. There, x is `4 * c - step`,
    /// `4 * c` or `4 * c + 2`, shifted left by `shift` bits. Returns the upper bits of each product; the lowest bit is
    /// also set if any bit below it is.
    fn scale(power: [u64; 2], c: u64, step: u64, shift: u64) -> [u64; 3];
    /// Divides an integer by ten, rounding down.
    fn tenth(integer: u64) -> u64;
    /// Appends zeros to an integer up to the maximum number of digits. Returns the result and the original number of
    /// digits.
    fn fill(integer: u64) -> (u64, u64);
    /// Splits a padded integer into the first digit and the other digits, eight per word.
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
    fn scale([high, low]: [u64; 2], c: u64, step: u64, shift: u64) -> [u64; 3] {
        // 64 bits of the power suffice, rounded up.
        let power = high + u64::from(low != 0);
        [4 * c - step, 4 * c, 4 * c + 2].map(|end| {
            let end = end << (shift & 63);
            let product = (power >> 32) * end + (((power & LOWER) * end) >> 32);
            product >> 32 | u64::from(product as u32 > 1)
        })
    }

    #[inline(always)]
    fn tenth(integer: u64) -> u64 {
        (integer * 0xCCCC_CCCD) >> 35
    }

    #[inline(always)]
    fn fill(integer: u64) -> (u64, u64) {
        let has_eight = integer >= 10_000_000;
        let has_nine = integer >= 100_000_000;
        let factor = if has_nine {
            1
        } else if has_eight {
            10
        } else {
            100
        };
        ((integer & LOWER) * factor, 7 + u64::from(has_eight) + u64::from(has_nine))
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
    fn scale(power: [u64; 2], c: u64, step: u64, shift: u64) -> [u64; 3] {
        // Only the middle is computed as a product: the ends differ from it by one or two times the shifted power.
        let [high, low] = power;
        let middle = (4 * c) << (shift & 63);
        let (carried, last) = multiply(low, middle);
        let (first, lower) = multiply(high, middle);
        let (second, carry) = add(lower, carried);
        let middle = [first + carry, second, last];
        let above = shifted(power, shift + 1);
        let below = shifted(power, shift + step - 1);
        let closed = |[first, second, _]: [u64; 3]| first | u64::from(second > 1);
        [closed(minus(middle, below)), closed(middle), closed(plus(middle, above))]
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

/// Returns the upper and lower half of a product, computed from 32-bit products: vectors have no wider multiplication.
#[inline(always)]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let a_upper = a >> 32;
    let b_upper = b >> 32;
    let a = a & LOWER;
    let b = b & LOWER;
    let lowest = a * b;
    let middle = a_upper * b + (lowest >> 32);
    let other = a * b_upper + (middle & LOWER);
    (a_upper * b_upper + (middle >> 32) + (other >> 32), other << 32 | lowest & LOWER)
}

/// Returns a sum and its carry.
#[inline(always)]
fn add(a: u64, b: u64) -> (u64, u64) {
    let sum = a.wrapping_add(b);
    (sum, u64::from(sum < a))
}

/// Shifts 128 bits left by 0 to 63 bits, most significant word first.
#[inline(always)]
fn shifted([high, low]: [u64; 2], by: u64) -> [u64; 3] {
    let back = (63 - by) & 63;
    let by = by & 63;
    [high >> 1 >> back, high << by | low >> 1 >> back, low << by]
}

#[inline(always)]
fn plus(a: [u64; 3], b: [u64; 3]) -> [u64; 3] {
    let (last, carry) = add(a[2], b[2]);
    let (middle, first) = add(a[1], b[1]);
    let (middle, second) = add(middle, carry);
    [a[0] + b[0] + first + second, middle, last]
}

#[inline(always)]
fn minus(a: [u64; 3], b: [u64; 3]) -> [u64; 3] {
    let borrowed = u64::from(a[2] < b[2]);
    let middle = a[1].wrapping_sub(b[1]);
    let first = u64::from(a[1] < b[1]) + u64::from(middle < borrowed);
    [a[0] - b[0] - first, middle.wrapping_sub(borrowed), a[2].wrapping_sub(b[2])]
}

/// Returns n / 10^8, for n below 2^32.
#[inline(always)]
fn hundred_millionth(n: u64) -> u64 {
    ((n & LOWER) * 0x55E6_3B89) >> 57
}

/// Splits a number below 10^8 into eight digits, one per byte, the first digit in the lowest byte:
/// [`super::digits::eight`] with 32-bit products.
#[inline(always)]
fn eight(number: u64) -> u64 {
    let number = number & LOWER;
    let upper = (number * 0xD1B7_1759) >> 45;
    let lower = (number - 10_000 * upper) & LOWER;
    // (n · 10486) >> 20 = n / 100 below 10^4.
    let first = (upper * 10_486) >> 20;
    let third = (lower * 10_486) >> 20;
    let second = upper - 100 * first;
    let fourth = lower - 100 * third;
    let front = first | second << 16;
    let back = third | fourth << 16;
    // (n · 103) >> 10 = n / 10 below 100.
    let tens = ((front * 103) | (back * 103) << 32) >> 10 & 0x000F_000F_000F_000F;
    tens + (((front | back << 32) - ((tens << 3) + (tens << 1))) << 8)
}

/// Computes the digits of all values and the layout of their texts.
#[inline(always)]
fn texts<R: Float>(values: &[R; LANES], texts: &mut LaneTexts) {
    let mut cs = [0; LANES];
    let mut shifts = [0; LANES];
    let mut steps = [0; LANES];
    let mut highs = [0; LANES];
    let mut lows = [0; LANES];
    let mut exponents = [0i32; LANES];
    for lane in 0..LANES {
        let bits = values[lane].bits();
        let fraction = bits & ((1 << R::BITS) - 1);
        let field = bits >> R::BITS & ((1 << R::EXPONENT_BITS) - 1);
        let is_rare = (field == (1 << R::EXPONENT_BITS) - 1) | (field == 0) & (fraction != 0);
        // Floats are closer together below a power of two.
        let is_power = (fraction == 0) & (field > 1);
        let is_normal = u64::from(field != 0);
        let q = field.max(1) as i32 - ((1 << (R::EXPONENT_BITS - 1)) - 1 + R::BITS as i32);
        // floor(log10(2^q)), or of 3/4 · 2^q.
        let exponent = (q * 1_262_611 - if is_power { 524_031 } else { 0 }) >> 22;
        // The digits of zero are set below; any nonzero significand will do here.
        cs[lane] = fraction | is_normal << R::BITS | u64::from(field == 0);
        steps[lane] = 2 - u64::from(is_power);
        shifts[lane] = (q + highest_bit(-exponent) + 1) as u64 & 63;
        exponents[lane] = exponent;
        texts.kinds[lane] = if is_rare { NEITHER } else { PLAIN };
        texts.signs[lane] = (bits >> (R::BITS + R::EXPONENT_BITS)) as u8 & 1;
    }
    for lane in 0..LANES {
        let power = power(-exponents[lane]).0;
        highs[lane] = power.high;
        lows[lane] = power.low;
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
        let is_plain = (exponent >= *R::PLAIN.start()) & (exponent <= *R::PLAIN.end());
        // In scientific notation, the digits form a number from 1 to below 10.
        let shown = if is_plain { exponent } else { 0 };
        let whole = shown.max(0) + 1;
        let plain = if digits > whole { digits + 1 } else { whole };
        let length = if shown < 0 { digits + 1 - shown } else { plain };
        texts.parts[lane] = [ascii(middle), ascii(last), first | 0x30_2E30, 0];
        texts.lengths[lane] = length as u8;
        texts.layouts[lane] = (shown - LOWEST) as u8;
        texts.exponents[lane] = exponent as i16;
        texts.kinds[lane] |= if is_plain { PLAIN } else { SCIENTIFIC };
    }
}

/// Returns the shortest integer in each interval.
#[inline(always)]
fn integers<R: Float>(
    cs: &LaneNumbers,
    steps: &LaneNumbers,
    shifts: &LaneNumbers,
    exponents: &[i32; LANES],
    highs: &LaneNumbers,
    lows: &LaneNumbers,
) -> LaneNumbers {
    let mut integers = [0; LANES];
    for lane in 0..LANES {
        let high = highs[lane];
        let low = lows[lane] + u64::from(!is_exact(-exponents[lane]));
        let [lower, middle, upper] = R::scale([high, low], cs[lane], steps[lane], shifts[lane]);
        // The interval includes its ends if the significand is even.
        let open = cs[lane] & 1;
        let lower = lower + open;
        let upper = upper - open;
        let floor = middle >> 2;
        let tens = R::tenth(floor);
        let forties = (tens << 5) + (tens << 3);
        let down = lower <= forties;
        let up = forties + 40 <= upper;
        let above = ((middle & 3) + (floor & 1) > 2) | (lower > floor << 2);
        let unit = floor + u64::from(above);
        let ten = (forties >> 2) + if up { 10 } else { 0 };
        integers[lane] = if down | up { ten } else { unit };
    }
    integers
}

/// For every exponent from [`LOWEST`] on, the index in [`LaneTexts::parts`] of each byte of a text.
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
        let mut digit = 0;
        let mut at = first + 1;
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

/// Stores values, each followed by the text that the list has after it.
///
/// # Safety
/// - Room for [`MAX_SHORTEST_F64`] bytes and the text after each value, and `SLACK` bytes more.
/// - The CPU has [`Level::Avx512`](crate::cpu::Level).
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
unsafe fn put_all<R: Float, const E: usize>(mut pen: Pen, values: &[R], walk: &mut LineWalk<'_, '_, E>) -> Pen {
    let mut computed = LaneTexts::EMPTY;
    for values in values.chunks(LANES) {
        if values.len() < FEW {
            // SAFETY: the first condition leaves room for the value, the text after it, and `SLACK`.
            values.iter().for_each(|&value| pen = unsafe { walk.step(put_one(pen, value)) });
            continue;
        }
        let mut lanes = [R::default(); LANES];
        lanes[..values.len()].copy_from_slice(values);
        texts(&lanes, &mut computed);
        for (lane, &value) in values.iter().enumerate() {
            // SAFETY: the first condition leaves `MAX_SHORTEST_F64` bytes and `SLACK` for the value, and its text and
            // `SLACK` for `step`. `texts` sets `layouts` to at most 15 + 6, below `LAYOUTS`. The second condition
            // covers the CPU.
            unsafe {
                if computed.kinds[lane] == PLAIN {
                    pen = put_digits(pen, &computed, lane, usize::from(computed.layouts[lane]));
                } else {
                    pen = put_unusual(pen, &computed, lane, value);
                }
                pen = walk.step(pen);
            }
        }
    }
    pen
}

/// Stores the sign and digits of a value.
///
/// # Safety
/// As for [`put_all`], for one value; `layout` is below [`LAYOUTS`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512vbmi")]
unsafe fn put_digits(pen: Pen, computed: &LaneTexts, lane: usize, layout: usize) -> Pen {
    use crate::arch::*;
    // SAFETY: `layout < LAYOUTS` indexes the table. Its rows and `parts` have 32 bytes each, as many as the loads read;
    // `__m256i` and `[u8; 32]` have the same size. A sign and 32 bytes are stored, within `SLACK`, and the pen advances
    // by at most 1 + 23.
    unsafe {
        let parts = _mm256_loadu_si256(computed.parts[lane].as_ptr().cast());
        let text = _mm256_permutexvar_epi8(_mm256_loadu_si256(LAYOUT.get_unchecked(layout).as_ptr().cast()), parts);
        let text: [u8; 32] = std::mem::transmute(text);
        pen.put([b'-'], usize::from(computed.signs[lane])).put(text, usize::from(computed.lengths[lane]))
    }
}

/// Stores a value in scientific notation, or a rare one.
///
/// # Safety
/// As for [`put_all`], for one value.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512vl,avx512vbmi")]
unsafe fn put_unusual<R: Float>(pen: Pen, computed: &LaneTexts, lane: usize, value: R) -> Pen {
    // SAFETY: a value that is `SCIENTIFIC` has layout 6 (`shown` is 0). The exponents of finite floats are below 1000,
    // as `head` requires, and its 4 bytes are within `SLACK`. `put_one` has its 24 bytes.
    unsafe {
        if computed.kinds[lane] == SCIENTIFIC {
            let exponent = computed.exponents[lane];
            let pen = put_digits(pen, computed, lane, usize::from(computed.layouts[lane]));
            return pen.put(*b"e-", 1 + usize::from(exponent < 0)).head(usize::from(exponent.unsigned_abs()));
        }
        put_one(pen, value)
    }
}

/// Stores any value.
///
/// # Safety
/// [`MAX_SHORTEST_F64`] bytes of room.
#[cfg(target_arch = "x86_64")]
unsafe fn put_one<R: Float>(pen: Pen, value: R) -> Pen {
    // SAFETY: `MAX_SHORTEST_F64` bytes are enough for both; `Float` is implemented only for f32 and f64, whose
    // exponents have 8 and 11 bits.
    unsafe {
        match R::EXPONENT_BITS {
            8 => shortest::put_f32(pen, f32::from_bits(value.bits() as u32)),
            _ => shortest::put_f64(pen, f64::from_bits(value.bits())),
        }
    }
}

/// See [`Page::shortest_lines`]. In Python's notation, numbers that it writes differently are written individually.
pub(super) fn shortest<R: Real, const E: usize>(
    page: &mut Page<'_>,
    lines: &NumberLines<'_, E>,
    first: usize,
    values: &[R],
) -> usize {
    if !lines.is_python {
        return self::lines(page, lines, first, values);
    }
    let is_usual = |value: &R| value.magnitude() == 0.0 || (1e-4..1e12).contains(&value.magnitude());
    let mut written = 0;
    while let Some(value) = values.get(written) {
        let count = values[written..].iter().take_while(|value| is_usual(value)).count();
        let end = written + count.max(1);
        let fitted = if is_usual(value) {
            self::lines(page, lines, first + written, &values[written..end])
        } else {
            one_at_a_time(page, lines, first + written, &values[written..end], |page, value| value.append_python(page))
        };
        written += fitted;
        if written < end {
            break;
        }
    }
    written
}

/// Stores numbers in this crate's own notation.
fn lines<R: Real, const E: usize>(
    page: &mut Page<'_>,
    lines: &NumberLines<'_, E>,
    first: usize,
    values: &[R],
) -> usize {
    let mut written = 0;
    #[cfg(target_arch = "x86_64")]
    while Level::best() == Level::Avx512 {
        let left = &values[written..];
        let count = left.len().min(lines.fitting(page.room(), MAX_SHORTEST_F64));
        if count == 0 {
            break;
        }
        // SAFETY: `fitting` counted `MAX_SHORTEST_F64` bytes for each of `count` values, the text after each, and
        // `SLACK`. The loop runs only if `Level::best()` is AVX-512. `end` came from this page's pen.
        unsafe {
            let end = put_all(page.pen(), &left[..count], &mut lines.walk(first + written));
            page.take(end);
        }
        written += count;
    }
    written + one_at_a_time(page, lines, first + written, &values[written..], |page, value| value.append_shortest(page))
}
