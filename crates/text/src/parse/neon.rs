//! Conversion of several tokens at once with NEON: the same results as `swar`.
//!
//! Floats: four tokens, 16 bytes each. Indices: eight tokens, 8 bytes each. The bytes of a token are reversed when they
//! are loaded, see [`lanes`]. Digits become numbers as on x86, but neighbors are joined by taking every second one of
//! two vectors (`uzp1`, `uzp2`), so that each step works on half as many vectors as the one before.

use super::consts::{NOT_INTEGER, TENS};
use super::faces::Found;
use super::lanes::{self, FloatMarks, Indices, NARROW, NARROW_TOP, WIDE, WIDE_TOP};
use super::plain::{Before, Numbers};
use super::swar::separates;
use super::{MARGIN, MIDDLE, MIDDLE_MASK, NO_POINT, TENTHS};
use crate::neon::{Vectors, bits, constant, either, equal, found, separators, spaces, spread};
use crate::scan::Separator;
use crate::tables::{BEFORE_IN_LIST, PLACES, REVERSE};
use std::arch::aarch64::*;

/// The parts of four plain numbers: the digits as one number, a bit at each point, and one in each negative lane.
struct Four {
    whole: [float64x2_t; 2],
    point: u64,
    negative: u64,
}

/// Four floats that end at `ends`; `None` if one of them is not plain.
///
/// # Safety
/// For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn floats(text: *const u8, ends: [u32; 4]) -> Option<[f32; 4]> {
    // SAFETY: this function's condition is that of `Four::load`.
    unsafe { Four::load(text, ends, |bytes, minus| after_token(bytes, minus)) }?.f32s()
}

/// Converts plain numbers to f32s, four at a time and up to three at last.
///
/// # Safety
/// The wanted ends are as [`Numbers`] requires.
#[target_feature(enable = "neon")]
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
#[target_feature(enable = "neon")]
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
#[target_feature(enable = "neon")]
#[inline]
unsafe fn fours(numbers: Numbers<'_>, convert: impl FnMut(Four, usize) -> bool) -> usize {
    // SAFETY: this function's condition is that of `fours_after`.
    unsafe {
        match numbers.before {
            Before::Token => fours_after(numbers, |bytes, minus| after_token(bytes, minus), convert),
            Before::List => fours_after(numbers, |bytes, minus| bits([found(&BEFORE_IN_LIST, bytes), minus]), convert),
            Before::Field(Separator::Blanks) => {
                fours_after(numbers, |bytes, minus| bits([spaces(bytes), minus]), convert)
            }
            Before::Field(Separator::Byte(byte)) => {
                fours_after(numbers, |bytes, minus| after_field(bytes, minus, byte), convert)
            }
        }
    }
}

/// # Safety
/// As for [`f32s`].
#[target_feature(enable = "neon")]
#[inline]
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
#[target_feature(enable = "neon")]
#[inline]
fn after_token(bytes: Vectors, minus: Vectors) -> [u64; 2] {
    bits([separators(bytes), minus])
}

/// What may precede a field, and where there is a minus. Bytes are in reversed groups of 16: the byte before another is
/// the next one, and the last one has none.
#[target_feature(enable = "neon")]
#[inline]
fn after_field(bytes: Vectors, minus: Vectors, separator: u8) -> [u64; 2] {
    let ends = either(equal(bytes, separator), either(equal(bytes, b'\n'), equal(bytes, b'\r')));
    let [space, end] = bits([spaces(bytes), ends]);
    [end | space & (end >> 1) & !WIDE_TOP, bits([minus, minus])[0]]
}

impl Four {
    /// Four numbers that end at `ends`; `None` if one of them is not plain. `after` finds what may precede one, and the
    /// minuses.
    ///
    /// # Safety
    /// For each end, `text[end - 16..end]` is readable.
    #[target_feature(enable = "neon")]
    #[inline]
    unsafe fn load(text: *const u8, ends: [u32; 4], after: impl Fn(Vectors, Vectors) -> [u64; 2]) -> Option<Four> {
        let reverse = constant(&REVERSE);
        // SAFETY: the 16 bytes before each end are readable, this function's condition, and the load needs no
        // alignment.
        let bytes = ends.map(|end| vqtbl1q_u8(unsafe { vld1q_u8(text.add(end as usize - 16)) }, reverse));
        let values = bytes.map(|bytes| vsubq_u8(bytes, vdupq_n_u8(b'0')));
        let digit = values.map(|values| vcleq_u8(values, vdupq_n_u8(9)));
        let [digit, point] = bits([digit, equal(bytes, b'.')]);
        let [space, minus] = after(bytes, equal(bytes, b'-'));
        let parts = lanes::floats(FloatMarks { digit, point, minus, space });
        if parts.bad != 0 {
            return None;
        }
        // Close the gap of the point: the bytes before it move down by one.
        let (before, behind) = (spread(parts.high >> 1), spread(parts.low));
        let digits = [0, 1, 2, 3].map(|lane| {
            let moved = vandq_u8(vextq_u8::<1>(values[lane], vdupq_n_u8(0)), before[lane]);
            vorrq_u8(vandq_u8(values[lane], behind[lane]), moved)
        });
        let [low, high] = eights(halves(pairs(digits)));
        let whole = |low, high| vcvtq_f64_u64(vmlal_u32(vmovl_u32(low), high, vdup_n_u32(100_000_000)));
        let whole = [whole(vget_low_u32(low), vget_low_u32(high)), whole(vget_high_u32(low), vget_high_u32(high))];
        Some(Four { whole, point: parts.point, negative: parts.negative })
    }

    /// A power of ten for each number, by the place of its point.
    #[target_feature(enable = "neon")]
    #[inline]
    fn by_point(&self, by_places: &[f64; 32]) -> [float64x2_t; 2] {
        let Four { point, .. } = *self;
        let power =
            |lane: usize| by_places[(point >> (16 * lane) & 0xFFFF | 1 << NO_POINT).trailing_zeros() as usize & 31];
        // The numbers of a file usually have the same number of places.
        if (point & 0xFFFF) * WIDE == point {
            return [vdupq_n_f64(power(0)); 2];
        }
        [0, 2].map(|lane| vcombine_f64(vdup_n_f64(power(lane)), vdup_n_f64(power(lane + 1))))
    }

    /// The nearest f32s with their signs; `None` if double rounding could go wrong. See [`quotient`](super::quotient).
    #[target_feature(enable = "neon")]
    #[inline]
    fn f32s(&self) -> Option<[f32; 4]> {
        let powers = self.by_point(&TENTHS);
        let products = [0, 1].map(|half| vmulq_f64(self.whole[half], powers[half]));
        let middle = products.map(|products| {
            let near = vaddq_u64(vreinterpretq_u64_f64(products), vdupq_n_u64(MARGIN));
            vceqq_u64(vandq_u64(near, vdupq_n_u64(MIDDLE_MASK)), vdupq_n_u64(MIDDLE))
        });
        if vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(middle[0], middle[1]))) != 0 {
            return None;
        }
        let values = vcvt_high_f32_f64(vcvt_f32_f64(products[0]), products[1]);
        let signs = vshll_n_u16::<16>(self.signs());
        let mut result = [0.0; 4];
        // SAFETY: `result` is an array of four f32s, as many as the store writes.
        unsafe {
            vst1q_f32(result.as_mut_ptr(), vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(values), signs)))
        };
        Some(result)
    }

    /// The f64s and their marks. Digits below 10^14 and powers up to that are exact, so the only rounding is that of a
    /// division.
    #[target_feature(enable = "neon")]
    #[inline]
    fn f64s(&self, out: &mut [f64; 4], marks: &mut [u8; 4]) {
        let powers = self.by_point(&TENS);
        let signs = vshll_n_u16::<16>(self.signs());
        let signs = [vshll_n_u32::<32>(vget_low_u32(signs)), vshll_high_n_u32::<32>(signs)];
        for half in 0..2 {
            let values = vreinterpretq_u64_f64(vdivq_f64(self.whole[half], powers[half]));
            // SAFETY: `out` is a reference to four f64s, and `half` is 0 or 1: the store writes two of them.
            unsafe { vst1q_f64(out.as_mut_ptr().add(2 * half), vreinterpretq_f64_u64(veorq_u64(values, signs[half]))) };
        }
        for (lane, (mark, value)) in marks.iter_mut().zip(&*out).enumerate() {
            // A negative zero is its sign and nothing else.
            let is_odd = self.point >> (16 * lane) & 0xFFFF != 0 || value.to_bits() == 1 << 63;
            *mark = if is_odd { NOT_INTEGER } else { 0 };
        }
    }

    /// The top bit of each lane, for a minus.
    #[target_feature(enable = "neon")]
    #[inline]
    fn signs(&self) -> uint16x4_t {
        vcreate_u16((self.negative + (WIDE_TOP - WIDE)) & WIDE_TOP)
    }
}

/// 64 digits as numbers of two: the lower one of a pair is first.
#[target_feature(enable = "neon")]
#[inline]
fn pairs(digits: Vectors) -> [uint8x16_t; 2] {
    [[digits[0], digits[1]], [digits[2], digits[3]]]
        .map(|[a, b]| vmlaq_u8(vuzp1q_u8(a, b), vuzp2q_u8(a, b), vdupq_n_u8(10)))
}

/// 32 numbers of two digits as numbers of four.
#[target_feature(enable = "neon")]
#[inline]
fn halves([a, b]: [uint8x16_t; 2]) -> [uint16x8_t; 2] {
    let (low, high) = (vuzp1q_u8(a, b), vuzp2q_u8(a, b));
    [
        vmlal_u8(vmovl_u8(vget_low_u8(low)), vget_low_u8(high), vdup_n_u8(100)),
        vmlal_high_u8(vmovl_high_u8(low), high, vdupq_n_u8(100)),
    ]
}

/// 16 numbers of four digits as numbers of eight: every second one, from the first on and from the second on.
#[target_feature(enable = "neon")]
#[inline]
fn eights(fours: [uint16x8_t; 2]) -> [uint32x4_t; 2] {
    let [a, b] = joined(fours);
    [vuzp1q_u32(a, b), vuzp2q_u32(a, b)]
}

/// 16 numbers of four digits as numbers of eight, in their order.
#[target_feature(enable = "neon")]
#[inline]
fn joined([a, b]: [uint16x8_t; 2]) -> [uint32x4_t; 2] {
    let (low, high) = (vuzp1q_u16(a, b), vuzp2q_u16(a, b));
    [
        vmlal_u16(vmovl_u16(vget_low_u16(low)), vget_low_u16(high), vdup_n_u16(10_000)),
        vmlal_high_u16(vmovl_high_u16(low), high, vdupq_n_u16(10_000)),
    ]
}

/// Eight indices that end at `ends`: writes those that have a bit in `keep`, one after the other. With `NEGATIVE` they
/// count backwards, and the bits of negative numbers are written.
///
/// # Safety
/// For each end, `text[end - 16..end]` is readable.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn indices<const NEGATIVE: bool>(
    text: *const u8,
    ends: &[u32; 8],
    keep: u8,
    out: &mut [u32; 8],
) -> Found {
    let bytes = [0, 1, 2, 3].map(|pair| {
        // SAFETY: the 16 bytes before each end are readable, this function's condition; the load reads eight.
        let load = |end: u32| unsafe { vld1_u8(text.add(end as usize - 8)) };
        vrev64q_u8(vcombine_u8(load(ends[2 * pair]), load(ends[2 * pair + 1])))
    });
    let values = bytes.map(|bytes| vsubq_u8(bytes, vdupq_n_u8(b'0')));
    let [digit, separator] = bits([values.map(|values| vcleq_u8(values, vdupq_n_u8(9))), separators(bytes)]);
    let parts = if NEGATIVE {
        let minus = equal(bytes, b'-');
        lanes::negative_indices(digit, bits([minus, minus])[0], separator)
    } else {
        lanes::indices(digit, separator)
    };
    let digits = spread(parts.digits);
    let digits = [0, 1, 2, 3].map(|pair| vandq_u8(values[pair], digits[pair]));
    let numbers = joined(halves(pairs(digits)));
    let numbers = numbers.map(|it| if NEGATIVE { vsubq_u32(vdupq_n_u32(0), it) } else { it });
    let mut result = [0u32; 8];
    // SAFETY: `result` is an array of eight `u32`s; each store writes four of them.
    unsafe {
        vst1q_u32(result.as_mut_ptr(), numbers[0]);
        vst1q_u32(result.as_mut_ptr().add(4), numbers[1]);
    }
    *out = PLACES[usize::from(keep)].map(|place| result[usize::from(place & 7)]);
    let zeros = numbers.map(|it| vmovn_u32(vceqzq_u32(it)));
    let zeros = vmovn_u16(vcombine_u16(zeros[0], zeros[1]));
    let zeros = vaddv_u8(vand_u8(zeros, vcreate_u8(0x8040_2010_0804_0201)));
    // SAFETY: `judge` reads one byte 9 before an end, which is among the 16 that this function's condition covers.
    unsafe { judge(text, ends, &parts, zeros) }
}

/// What is invalid or absent in eight indices.
///
/// # Safety
/// For each end, `text[end - 9]` is readable.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn judge(text: *const u8, ends: &[u32; 8], parts: &Indices, zeros: u8) -> Found {
    // The top bit of each byte, the first byte's lowest.
    let tops = |bits: u64| ((bits & NARROW_TOP) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let mut bad = tops(((parts.bad & !NARROW_TOP) + (NARROW_TOP - NARROW)) | parts.bad);
    let empty = tops((parts.empty & NARROW) << 7);
    let mut full = parts.full;
    while full != 0 {
        let lane = full.trailing_zeros() as usize / 8;
        // SAFETY: `full` has at most the top bit of each of eight bytes, so `lane` is 0 to 7, and `text[end - 9]` is
        // readable.
        let before = unsafe { *text.add(ends[lane] as usize - 9) };
        bad |= u64::from(!separates(before)) << lane;
        full &= full - 1;
    }
    Found { bad: bad | u64::from(zeros) & !empty, empty }
}
