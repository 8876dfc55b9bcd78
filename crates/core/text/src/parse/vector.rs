//! Converts several tokens at once with 16-byte vectors. Results equal those of `swar`.
//!
//! Floats are converted four at a time, from 16 bytes each, and indices eight at a time, from 8 bytes each. Loading
//! reverses the bytes of each token; see [`lanes`].

use super::consts::{NOT_INTEGER, TENS};
use super::faces::IndexFaults;
use super::lanes::{self, FloatMarks, IndexParts, NARROW, NARROW_TOP, WIDE, WIDE_TOP};
use super::list::{ListMasks, TokenEnds, find_blocks};
use super::plain::{NumberRun, Preceding, integers};
use super::swar::unseparated;
use super::{HALF_UNIT, MARGIN, MIDDLE, MIDDLE_MASK, NO_POINT, TENTHS};
use crate::scan::Separator;
use crate::scan::vector::spread as spread_ends;
use crate::tables::{BEFORE_IN_LIST, BLANKS, PLACES, SEPARATORS, SPACES, STOPS};
use crate::vector::{
    DoublePair, Vectors, bits, both, digits, doubles, either, equal, four, in_table, is_any, load, moved_down, numbers,
    product, quotient, reversed, reversed_halves, signed, singles, spread, text_bits, wholes,
};

/// Parts of four plain numbers: the digits as one number, a bit at each point, and a bit in each negative lane.
struct FourNumbers {
    whole: [DoublePair; 2],
    point: u64,
    negative: u64,
}

/// Converts four floats that end at `ends`. Returns `None` if one is not plain.
///
/// # Safety
/// For each end, `text[end - 16..end]` is readable.
#[inline(always)]
pub(super) unsafe fn floats(text: *const u8, ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: the condition of `FourNumbers::load` is the same.
    unsafe { FourNumbers::load(text, ends, after_token) }?.f32s()
}

/// Converts plain numbers to f32s, four at a time plus up to three at the end.
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level), and the ends are as [`NumberRun`]
/// requires.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn f32s(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
    let convert = |four: FourNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<4>()) else { return false };
        four.f32s().map(|values| *out = values).is_some()
    };
    // SAFETY: the conditions of `fours` are the same.
    unsafe { fours(numbers, convert) }
}

/// Like [`f32s`], but also sets `loses` as [`NumberRun::checked_f32s`] does.
///
/// # Safety
/// As for [`f32s`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn checked_f32s(numbers: NumberRun<'_>, out: &mut [f32], loses: &mut bool) -> usize {
    let convert = |four: FourNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<4>()) else { return false };
        *loses |= four.loses();
        four.f32s().map(|values| *out = values).is_some()
    };
    // SAFETY: the conditions of `fours` are the same.
    unsafe { fours(numbers, convert) }
}

/// Like [`f32s`], for f64s with a mark for each.
///
/// # Safety
/// As for [`f32s`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn f64s(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let convert = |four: FourNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(<[f64]>::first_chunk_mut) else { return false };
        let Some(marks) = marks.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { return false };
        four.f64s(out, marks);
        true
    };
    // SAFETY: the conditions of `fours` are the same.
    unsafe { fours(numbers, convert) }
}

/// Dispatches the loop over four numbers by the characters that may precede them.
///
/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn fours(numbers: NumberRun<'_>, convert: impl FnMut(FourNumbers, usize) -> bool) -> usize {
    // SAFETY: the conditions of `fours_after` are the same.
    unsafe {
        match numbers.preceding {
            Preceding::Token => fours_after(numbers, after_token, convert),
            Preceding::List => {
                fours_after(numbers, |bytes, minus| bits([in_table(&BEFORE_IN_LIST, bytes), minus]), convert)
            }
            Preceding::Field(Separator::Blanks) => {
                fours_after(numbers, |bytes, minus| bits([in_table(&SPACES, bytes), minus]), convert)
            }
            Preceding::Field(Separator::Byte(byte)) => {
                fours_after(numbers, |bytes, minus| after_field(bytes, minus, byte), convert)
            }
        }
    }
}

/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn fours_after(
    numbers: NumberRun<'_>,
    after: impl Fn(Vectors, Vectors) -> [u64; 2],
    mut convert: impl FnMut(FourNumbers, usize) -> bool,
) -> usize {
    let text = numbers.padded.as_ptr();
    numbers.batches(|at, ends| {
        // SAFETY: `batches` passes only the run's own ends (repeating the last one if there are fewer than four): each
        // has 64 bytes before it in `text`, and `load` reads 16.
        unsafe { FourNumbers::load(text, *ends, &after) }.is_some_and(|four| convert(four, at))
    })
}

/// Returns masks of the bytes that may precede a token, and of the minuses.
#[inline(always)]
fn after_token(bytes: Vectors, minus: Vectors) -> [u64; 2] {
    bits([in_table(&SEPARATORS, bytes), minus])
}

/// Returns masks of the bytes that may precede a field, and of the minuses. Bytes are in reversed groups of 16, so the
/// byte before another one in the text is the next one here; it is missing for the last byte of a group.
#[inline(always)]
fn after_field(bytes: Vectors, minus: Vectors, separator: u8) -> [u64; 2] {
    let ends = either(equal(bytes, separator), either(equal(bytes, b'\n'), equal(bytes, b'\r')));
    let [space, end] = bits([in_table(&SPACES, bytes), ends]);
    [end | space & (end >> 1) & !WIDE_TOP, bits([minus, minus])[0]]
}

impl FourNumbers {
    /// Loads four numbers that end at `ends`. Returns `None` if one is not plain. `after` finds the characters that may
    /// precede them, and the minuses.
    ///
    /// # Safety
    /// For each end, `text[end - 16..end]` is readable.
    #[inline(always)]
    unsafe fn load(
        text: *const u8,
        ends: [u32; 4],
        after: impl Fn(Vectors, Vectors) -> [u64; 2],
    ) -> Option<FourNumbers> {
        // SAFETY: the 16 bytes before each end are readable, as this function requires.
        let bytes = four!(at => unsafe { reversed(text.add(ends[at] as usize - 16)) });
        let (values, digit) = digits(bytes);
        let [digit, point] = bits([digit, equal(bytes, b'.')]);
        let [space, minus] = after(bytes, equal(bytes, b'-'));
        let parts = lanes::floats::<16>(FloatMarks { digit, point, minus, space });
        if parts.bad != 0 {
            return None;
        }
        // Close the gap of the point: the bytes before it move down by one.
        let before = spread(parts.high >> 1);
        let behind = spread(parts.low);
        let digits = either(both(values, behind), both(moved_down(values), before));
        Some(FourNumbers { whole: wholes(digits), point: parts.point, negative: parts.negative })
    }

    /// Looks up a power of ten for each number by the position of its point.
    #[inline(always)]
    fn by_point(&self, by_places: &[f64; 32]) -> [DoublePair; 2] {
        let FourNumbers { point, .. } = *self;
        let power =
            |lane: usize| by_places[(point >> (16 * lane) & 0xFFFF | 1 << NO_POINT).trailing_zeros() as usize & 31];
        // The numbers of a file usually have the same number of decimals.
        if (point & 0xFFFF) * WIDE == point {
            return [doubles([power(0); 2]); 2];
        }
        [doubles([power(0), power(1)]), doubles([power(2), power(3)])]
    }

    /// Rounds to the nearest f32s with their signs. Returns `None` if double rounding could go wrong. See
    /// [`quotient`](super::quotient).
    #[inline(always)]
    fn f32s(&self) -> Option<[f32; 4]> {
        let powers = self.by_point(&TENTHS);
        let products = [product(self.whole[0], powers[0]), product(self.whole[1], powers[1])];
        (!is_any(products, MARGIN, MIDDLE_MASK, MIDDLE)).then(|| singles(products, self.signs()))
    }

    /// Returns whether an f32 may differ from its number by more than half a unit of the last digit.
    #[inline(always)]
    fn loses(&self) -> bool {
        let powers = self.by_point(&TENTHS);
        let products = signed([product(self.whole[0], powers[0]), product(self.whole[1], powers[1])], 0);
        let units = signed(powers, 0);
        products
            .iter()
            .zip(units)
            .fold(false, |loses, (&value, unit)| loses | ((value - f64::from(value as f32)).abs() > HALF_UNIT * unit))
    }

    /// Stores the f64s and their marks. Digits below 10^14 and powers up to 10^14 are exact, so the division is the
    /// only rounding.
    #[inline(always)]
    fn f64s(&self, out: &mut [f64; 4], marks: &mut [u8; 4]) {
        let powers = self.by_point(&TENS);
        *out = signed([quotient(self.whole[0], powers[0]), quotient(self.whole[1], powers[1])], self.signs());
        for (lane, (mark, value)) in marks.iter_mut().zip(&*out).enumerate() {
            // A negative zero is only a sign bit.
            let is_odd = self.point >> (16 * lane) & 0xFFFF != 0 || value.to_bits() == 1 << 63;
            *mark = if is_odd { NOT_INTEGER } else { 0 };
        }
    }

    /// Returns the top bit of each negative lane.
    #[inline(always)]
    fn signs(&self) -> u64 {
        (self.negative + (WIDE_TOP - WIDE)) & WIDE_TOP
    }
}

/// Converts eight indices that end at `ends`, and stores the indices with a bit in `keep` contiguously. With
/// `NEGATIVE`, indices are relative (negative), and their bits are stored.
///
/// # Safety
/// For each end, `text[end - 16..end]` is readable.
#[inline(always)]
pub(super) unsafe fn indices<const NEGATIVE: bool>(
    text: *const u8,
    ends: &[u32; 8],
    keep: u8,
    out: &mut [u32; 8],
) -> IndexFaults {
    // SAFETY: the 16 bytes before each end are readable, as this function requires; the load reads eight.
    let before = |at: usize| unsafe { text.add(ends[at] as usize - 8) };
    // SAFETY: as above.
    let bytes = four!(pair => unsafe { reversed_halves([before(2 * pair), before(2 * pair + 1)]) });
    let (values, digit) = digits(bytes);
    let [digit, separator] = bits([digit, in_table(&SEPARATORS, bytes)]);
    let parts = if NEGATIVE {
        let minus = equal(bytes, b'-');
        lanes::negative_indices(digit, bits([minus, minus])[0], separator)
    } else {
        lanes::indices(digit, separator)
    };
    let (result, zeros) = numbers::<NEGATIVE>(both(values, spread(parts.digits)));
    *out = PLACES[usize::from(keep)].map(|place| result[usize::from(place & 7)]);
    // SAFETY: `judge` reads one byte 9 before an end, which is among the 16 that this function's condition covers.
    unsafe { judge(text, ends, &parts, zeros) }
}

/// Finds the invalid and the empty tokens among eight indices.
///
/// # Safety
/// For each end, `text[end - 9]` is readable.
#[inline(always)]
unsafe fn judge(text: *const u8, ends: &[u32; 8], parts: &IndexParts, zeros: u8) -> IndexFaults {
    // Collects the top bit of each byte, the first byte's lowest.
    let tops = |bits: u64| ((bits & NARROW_TOP) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut bad = tops(((parts.bad & !NARROW_TOP) + (NARROW_TOP - NARROW)) | parts.bad);
    let empty = tops((parts.empty & NARROW) << 7);
    // SAFETY: the condition of `unseparated` is the same.
    bad |= unsafe { unseparated(text, ends, parts.full) };
    IndexFaults { bad: bad | u64::from(zeros) & !empty, empty }
}

/// Converts plain integers that end at `ends`, eight at a time. Returns the number of converted integers.
///
/// # Safety
/// As for [`f32s`]: every end is at least 16 and at most `padded.len()`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn i32s(padded: &[u8], ends: &[u32], out: &mut [i32]) -> usize {
    integers(padded, ends, out, |ends, out| {
        // SAFETY: the closure receives elements of `ends`, at least 16 bytes into `padded` by this function's
        // condition.
        let faults = unsafe { indices::<false>(padded.as_ptr(), ends, u8::MAX, out) };
        faults.bad | faults.empty
    })
}

/// Finds the token ends of a list; see [`super::list`].
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn find(padded: &[u8], start: usize, end: usize, ends: &mut TokenEnds) -> usize {
    let masks = |block: &[u8; 64]| {
        let bytes = load(block);
        let stop = either(in_table(&STOPS, bytes), equal(bytes, 0x0B));
        ListMasks { space: text_bits(in_table(&BLANKS, bytes)), stop: text_bits(stop) }
    };
    find_blocks(padded, start, end, ends, masks, spread_ends)
}
