//! Conversion of several tokens at once with vectors of 16 bytes: the same results as `swar`.
//!
//! Floats: four tokens, 16 bytes each. Indices: eight tokens, 8 bytes each. The bytes of a token are reversed when they
//! are loaded, see [`lanes`].

use super::consts::{NOT_INTEGER, TENS};
use super::faces::Found;
use super::lanes::{self, FloatMarks, Indices, NARROW, NARROW_TOP, WIDE, WIDE_TOP};
use super::list::{Ends, Masks, find_blocks};
use super::plain::{Before, Numbers, integers};
use super::swar::unseparated;
use super::{MARGIN, MIDDLE, MIDDLE_MASK, NO_POINT, TENTHS};
use crate::scan::Separator;
use crate::scan::vector::spread as spread_ends;
use crate::tables::{BEFORE_IN_LIST, BLANKS, PLACES, SEPARATORS, SPACES, STOPS};
use crate::vector::{
    Doubles, Vectors, bits, both, digits, doubles, either, equal, found, four, is_any, load, moved_down, numbers,
    product, quotient, reversed, reversed_halves, signed, singles, spread, text_bits, wholes,
};

/// The parts of four plain numbers: the digits as one number, a bit at each point, and one in each negative lane.
struct Four {
    whole: [Doubles; 2],
    point: u64,
    negative: u64,
}

/// Four floats that end at `ends`; `None` if one of them is not plain.
///
/// # Safety
/// For each end, `text[end - 16..end]` is readable.
#[inline(always)]
pub(super) unsafe fn floats(text: *const u8, ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: this function's condition is that of `Four::load`.
    unsafe { Four::load(text, ends, after_token) }?.f32s()
}

/// Converts plain numbers to f32s, four at a time and up to three at last.
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level), and the wanted ends are as [`Numbers`]
/// requires.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn f32s(numbers: Numbers<'_>, out: &mut [f32]) -> usize {
    let convert = |four: Four, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<4>()) else { return false };
        four.f32s().map(|values| *out = values).is_some()
    };
    // SAFETY: this function's condition is that of `fours`.
    unsafe { fours(numbers, convert) }
}

/// Like [`f32s`], for f64s with a mark for each.
///
/// # Safety
/// As for [`f32s`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn f64s(numbers: Numbers<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let convert = |four: Four, at: usize| {
        let (Some(out), Some(marks)) = (out.get_mut(at..), marks.get_mut(at..)) else { return false };
        let (Some(out), Some(marks)) = (out.first_chunk_mut(), marks.first_chunk_mut()) else { return false };
        four.f64s(out, marks);
        true
    };
    // SAFETY: this function's condition is that of `fours`.
    unsafe { fours(numbers, convert) }
}

/// The loop over four numbers at a time, for every kind of preceding character.
///
/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn fours(numbers: Numbers<'_>, convert: impl FnMut(Four, usize) -> bool) -> usize {
    // SAFETY: this function's condition is that of `fours_after`.
    unsafe {
        match numbers.before {
            Before::Token => fours_after(numbers, after_token, convert),
            Before::List => fours_after(numbers, |bytes, minus| bits([found(&BEFORE_IN_LIST, bytes), minus]), convert),
            Before::Field(Separator::Blanks) => {
                fours_after(numbers, |bytes, minus| bits([found(&SPACES, bytes), minus]), convert)
            }
            Before::Field(Separator::Byte(byte)) => {
                fours_after(numbers, |bytes, minus| after_field(bytes, minus, byte), convert)
            }
        }
    }
}

/// # Safety
/// As for [`f32s`].
#[inline(always)]
unsafe fn fours_after(
    numbers: Numbers<'_>,
    after: impl Fn(Vectors, Vectors) -> [u64; 2],
    mut convert: impl FnMut(Four, usize) -> bool,
) -> usize {
    let text = numbers.padded.as_ptr();
    numbers.batches(|at, ends| {
        // SAFETY: `batches` hands on wanted ends only (the last one again where there are fewer than four): each has 64
        // bytes before it in `text`, and `load` reads 16.
        unsafe { Four::load(text, *ends, &after) }.is_some_and(|four| convert(four, at))
    })
}

/// What may precede a token, and where there is a minus.
#[inline(always)]
fn after_token(bytes: Vectors, minus: Vectors) -> [u64; 2] {
    bits([found(&SEPARATORS, bytes), minus])
}

/// What may precede a field, and where there is a minus. Bytes are in reversed groups of 16: the byte before another is
/// the next one, and the last one has none.
#[inline(always)]
fn after_field(bytes: Vectors, minus: Vectors, separator: u8) -> [u64; 2] {
    let ends = either(equal(bytes, separator), either(equal(bytes, b'\n'), equal(bytes, b'\r')));
    let [space, end] = bits([found(&SPACES, bytes), ends]);
    [end | space & (end >> 1) & !WIDE_TOP, bits([minus, minus])[0]]
}

impl Four {
    /// Four numbers that end at `ends`; `None` if one of them is not plain. `after` finds what may precede one, and the
    /// minuses.
    ///
    /// # Safety
    /// For each end, `text[end - 16..end]` is readable.
    #[inline(always)]
    unsafe fn load(text: *const u8, ends: [u32; 4], after: impl Fn(Vectors, Vectors) -> [u64; 2]) -> Option<Four> {
        // SAFETY: the 16 bytes before each end are readable, this function's condition.
        let bytes = four!(at => unsafe { reversed(text.add(ends[at] as usize - 16)) });
        let (values, digit) = digits(bytes);
        let [digit, point] = bits([digit, equal(bytes, b'.')]);
        let [space, minus] = after(bytes, equal(bytes, b'-'));
        let parts = lanes::floats::<16>(FloatMarks { digit, point, minus, space });
        if parts.bad != 0 {
            return None;
        }
        // Close the gap of the point: the bytes before it move down by one.
        let (before, behind) = (spread(parts.high >> 1), spread(parts.low));
        let digits = either(both(values, behind), both(moved_down(values), before));
        Some(Four { whole: wholes(digits), point: parts.point, negative: parts.negative })
    }

    /// A power of ten for each number, by the place of its point.
    #[inline(always)]
    fn by_point(&self, by_places: &[f64; 32]) -> [Doubles; 2] {
        let Four { point, .. } = *self;
        let power =
            |lane: usize| by_places[(point >> (16 * lane) & 0xFFFF | 1 << NO_POINT).trailing_zeros() as usize & 31];
        // The numbers of a file usually have the same number of places.
        if (point & 0xFFFF) * WIDE == point {
            return [doubles([power(0); 2]); 2];
        }
        [doubles([power(0), power(1)]), doubles([power(2), power(3)])]
    }

    /// The nearest f32s with their signs; `None` if double rounding could go wrong. See [`quotient`](super::quotient).
    #[inline(always)]
    fn f32s(&self) -> Option<[f32; 4]> {
        let powers = self.by_point(&TENTHS);
        let products = [product(self.whole[0], powers[0]), product(self.whole[1], powers[1])];
        (!is_any(products, MARGIN, MIDDLE_MASK, MIDDLE)).then(|| singles(products, self.signs()))
    }

    /// The f64s and their marks. Digits below 10^14 and powers up to that are exact, so the only rounding is that of a
    /// division.
    #[inline(always)]
    fn f64s(&self, out: &mut [f64; 4], marks: &mut [u8; 4]) {
        let powers = self.by_point(&TENS);
        *out = signed([quotient(self.whole[0], powers[0]), quotient(self.whole[1], powers[1])], self.signs());
        for (lane, (mark, value)) in marks.iter_mut().zip(&*out).enumerate() {
            // A negative zero is its sign and nothing else.
            let is_odd = self.point >> (16 * lane) & 0xFFFF != 0 || value.to_bits() == 1 << 63;
            *mark = if is_odd { NOT_INTEGER } else { 0 };
        }
    }

    /// The top bit of each lane, for a minus.
    #[inline(always)]
    fn signs(&self) -> u64 {
        (self.negative + (WIDE_TOP - WIDE)) & WIDE_TOP
    }
}

/// Eight indices that end at `ends`: writes those that have a bit in `keep`, one after the other. With `NEGATIVE` they
/// count backwards, and the bits of negative numbers are written.
///
/// # Safety
/// For each end, `text[end - 16..end]` is readable.
#[inline(always)]
pub(super) unsafe fn indices<const NEGATIVE: bool>(
    text: *const u8,
    ends: &[u32; 8],
    keep: u8,
    out: &mut [u32; 8],
) -> Found {
    // SAFETY: the 16 bytes before each end are readable, this function's condition; the load reads eight.
    let before = |at: usize| unsafe { text.add(ends[at] as usize - 8) };
    // SAFETY: as above.
    let bytes = four!(pair => unsafe { reversed_halves([before(2 * pair), before(2 * pair + 1)]) });
    let (values, digit) = digits(bytes);
    let [digit, separator] = bits([digit, found(&SEPARATORS, bytes)]);
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

/// What is invalid or absent in eight indices.
///
/// # Safety
/// For each end, `text[end - 9]` is readable.
#[inline(always)]
unsafe fn judge(text: *const u8, ends: &[u32; 8], parts: &Indices, zeros: u8) -> Found {
    // The top bit of each byte, the first byte's lowest.
    let tops = |bits: u64| ((bits & NARROW_TOP) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut bad = tops(((parts.bad & !NARROW_TOP) + (NARROW_TOP - NARROW)) | parts.bad);
    let empty = tops((parts.empty & NARROW) << 7);
    // SAFETY: this function's condition is that of `unseparated`.
    bad |= unsafe { unseparated(text, ends, parts.full) };
    Found { bad: bad | u64::from(zeros) & !empty, empty }
}

/// Plain integers that end at `ends`, eight at a time: returns how many were converted.
///
/// # Safety
/// As for [`f32s`]: every end is at least 16 and at most `padded.len()`.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn i32s(padded: &[u8], ends: &[u32], out: &mut [i32]) -> usize {
    integers(padded, ends, out, |ends, out| {
        // SAFETY: the closure gets elements of this function's `ends`, 16 bytes into `padded` by its condition.
        let found = unsafe { indices::<false>(padded.as_ptr(), ends, u8::MAX, out) };
        found.bad | found.empty
    })
}

/// Finds where tokens of a list end, see [`super::list`].
///
/// # Safety
/// The CPU has the instructions of [`Level::Vector`](crate::cpu::Level).
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3,sse4.1,popcnt"))]
pub(super) unsafe fn find(padded: &[u8], at: usize, end: usize, ends: &mut Ends) -> usize {
    let masks = |block: &[u8; 64]| {
        let bytes = load(block);
        let stop = either(found(&STOPS, bytes), equal(bytes, 0x0B));
        Masks { space: text_bits(found(&BLANKS, bytes)), stop: text_bits(stop) }
    };
    find_blocks(padded, at, end, ends, masks, spread_ends)
}
