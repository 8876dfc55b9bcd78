//! Converts plain numbers with AVX2 (four at a time) and AVX-512 (eight). Results equal those of `swar`.

use super::consts::ALL_ODD;
use super::consts::TENS;
use super::consts::{BELOW_SINGLE, HALF_SINGLE};
use super::lanes::{self, FloatMarks, FloatParts, WIDE_TOP};
use super::list_x86;
use super::plain::{NumberRun, Preceding, RunProgress};
use super::x86::{self, FourNumbers};
use super::{HALF_UNIT, MARGIN, MIDDLE, MIDDLE_MASK, TENTHS};
use crate::arch::*;
use crate::scan::Separator;
use crate::scan::x86::{movemask, separator_mask, separators};
use crate::tables::SPACES;

static TENS_BY_ZEROS: [f64; 16] = x86::by_zeros(&TENS);
static TENTHS_BY_ZEROS: [f64; 16] = x86::by_zeros(&TENTHS);

/// Converts plain numbers to f32s, eight at a time plus up to seven at the end.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and the ends are as [`NumberRun`] requires.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f32s_avx512(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
    let convert = |eight: &EightNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) else { return false };
        eight.odd == 0 && eight.f32s(out) == 0
    };
    // SAFETY: the conditions of `eights` are the same.
    unsafe { eights(numbers, convert) }
}

/// Like [`f32s_avx512`], but also sets `loses` as [`NumberRun::checked_f32s`] does.
///
/// # Safety
/// As for [`f32s_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn checked_f32s_avx512(numbers: NumberRun<'_>, out: &mut [f32], loses: &mut bool) -> usize {
    let mut lost = 0;
    let convert = |eight: &EightNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) else { return false };
        let is_plain = eight.odd == 0 && eight.f32s(out) == 0;
        lost |= if is_plain { eight.losses() } else { 0 };
        is_plain
    };
    // SAFETY: the conditions of `eights` are the same.
    let converted = unsafe { eights(numbers, convert) };
    *loses |= lost != 0;
    converted
}

/// Like [`f32s_avx512`], for f64s with a mark for each.
///
/// # Safety
/// As for [`f32s_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f64s_avx512(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let convert = |eight: &EightNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(<[f64]>::first_chunk_mut) else { return false };
        let Some(marks) = marks.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { return false };
        if eight.odd == 0 {
            eight.marks(eight.f64s(out), marks);
        }
        eight.odd == 0
    };
    // SAFETY: the conditions of `eights` are the same.
    unsafe { eights(numbers, convert) }
}

/// Like [`f32s_avx512`], for lists. Also returns which of the last eight numbers were odd, and converts the other ones.
///
/// # Safety
/// As for [`f32s_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn list_f32s_avx512(numbers: NumberRun<'_>, out: &mut [f32]) -> RunProgress {
    let mut odd = ALL_ODD;
    let convert = |eight: &EightNumbers, at: usize| {
        odd = ALL_ODD;
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) else { return false };
        odd = eight.odd | eight.f32s(out);
        odd == 0
    };
    // SAFETY: the conditions of `eights` are the same and do not include `preceding`.
    let converted = unsafe { eights(NumberRun { preceding: Preceding::List, ..numbers }, convert) };
    RunProgress { converted, odd }
}

/// Like [`list_f32s_avx512`], but also sets `loses` as [`NumberRun::checked_list_f32s`] does.
///
/// # Safety
/// As for [`f32s_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn checked_list_f32s_avx512(
    numbers: NumberRun<'_>,
    out: &mut [f32],
    loses: &mut bool,
) -> RunProgress {
    let mut odd = ALL_ODD;
    let mut lost = 0;
    let convert = |eight: &EightNumbers, at: usize| {
        odd = ALL_ODD;
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) else { return false };
        odd = eight.odd | eight.f32s(out);
        lost |= eight.losses() & !odd;
        odd == 0
    };
    // SAFETY: the conditions of `eights` are the same and do not include `preceding`.
    let converted = unsafe { eights(NumberRun { preceding: Preceding::List, ..numbers }, convert) };
    *loses |= lost != 0;
    RunProgress { converted, odd }
}

/// Like [`list_f32s_avx512`], for f64s. Values halfway between two f32s are odd.
///
/// # Safety
/// As for [`f32s_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn list_f64s_avx512(numbers: NumberRun<'_>, out: &mut [f64]) -> RunProgress {
    let mut odd = ALL_ODD;
    let convert = |eight: &EightNumbers, at: usize| {
        odd = ALL_ODD;
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut()) else { return false };
        let below = _mm512_and_si512(_mm512_castpd_si512(eight.f64s(out)), _mm512_set1_epi64(BELOW_SINGLE as i64));
        odd = eight.odd | _mm512_cmpeq_epi64_mask(below, _mm512_set1_epi64(HALF_SINGLE as i64));
        odd == 0
    };
    // SAFETY: the conditions of `eights` are the same and do not include `preceding`.
    let converted = unsafe { eights(NumberRun { preceding: Preceding::List, ..numbers }, convert) };
    RunProgress { converted, odd }
}

/// Dispatches the loop over eight numbers by the characters that may precede them.
///
/// # Safety
/// As for [`f32s_avx512`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
#[inline]
unsafe fn eights(numbers: NumberRun<'_>, mut convert: impl FnMut(&EightNumbers, usize) -> bool) -> usize {
    let text = numbers.padded.as_ptr();
    match numbers.preceding {
        Preceding::Token => numbers.batches(|at, ends| {
            // SAFETY: `batches` passes only the run's own ends (repeating the last one if there are fewer than eight):
            // each has 64 bytes before it in `text`, and `load` reads 16. This function has the same features.
            convert(&unsafe { EightNumbers::load(text, ends, |bytes| separator_mask(bytes)) }, at)
        }),
        Preceding::List => numbers.batches(|at, ends| {
            // SAFETY: as above: own ends, with 64 bytes before each.
            convert(&unsafe { EightNumbers::load(text, ends, |bytes| list_x86::before_avx512(bytes)) }, at)
        }),
        Preceding::Field(Separator::Blanks) => numbers.batches(|at, ends| {
            // SAFETY: as above: own ends, with 64 bytes before each.
            convert(&unsafe { EightNumbers::load(text, ends, |bytes| space_mask(bytes)) }, at)
        }),
        Preceding::Field(Separator::Byte(byte)) => numbers.batches(|at, ends| {
            // SAFETY: as above: own ends, with 64 bytes before each.
            convert(&unsafe { EightNumbers::load(text, ends, |bytes| before_mask(bytes, byte)) }, at)
        }),
    }
}

/// Parts of eight numbers.
struct EightNumbers {
    /// A bit for each number that is not plain.
    odd: u8,
    /// The digits of each number, joined.
    whole: __m512d,
    /// 16 bits per number, one of which is set if it has a point.
    points: __m128i,
    /// 16 bits per number, one of which is set if it has a minus.
    signs: __m128i,
}

impl EightNumbers {
    /// Loads eight numbers that end at `ends`. `spaces` finds the characters that may precede them.
    ///
    /// # Safety
    /// The CPU has the features that `target_feature` names. For each end, `text[end - 16..end]` is readable.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
    #[inline]
    unsafe fn load(text: *const u8, ends: &[u32; 8], spaces: impl Fn(__m512i) -> u64) -> EightNumbers {
        // Each vector holds every second number: packing the two restores the order.
        // SAFETY: `load_four_avx512` reads the 16 bytes before each end, which this function's condition covers.
        let bytes = unsafe {
            [
                x86::load_four_avx512(text, [ends[0], ends[2], ends[4], ends[6]]),
                x86::load_four_avx512(text, [ends[1], ends[3], ends[5], ends[7]]),
            ]
        };
        let zero = _mm512_set1_epi8(b'0' as i8);
        let values = [_mm512_sub_epi8(bytes[0], zero), _mm512_sub_epi8(bytes[1], zero)];
        let parts =
            [parts_avx512(bytes[0], values[0], spaces(bytes[0])), parts_avx512(bytes[1], values[1], spaces(bytes[1]))];
        let bad = interleave(parts[0].bad, parts[1].bad);
        let fours = [x86::fours_avx512(values[0], &parts[0]), x86::fours_avx512(values[1], &parts[1])];
        let eights = _mm512_madd_epi16(_mm512_packus_epi32(fours[0], fours[1]), _mm512_set1_epi32(0x2710_0001));
        EightNumbers {
            odd: _mm_test_epi16_mask(bad, bad),
            whole: join_eights(eights),
            points: interleave(parts[0].point, parts[1].point),
            signs: interleave(parts[0].negative, parts[1].negative),
        }
    }

    /// Stores the nearest f32s. Returns a bit for each number that double rounding could get wrong.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    #[inline]
    fn f32s(&self, out: &mut [f32; 8]) -> u8 {
        let products = _mm512_mul_pd(self.whole, self.by_point(&TENTHS_BY_ZEROS));
        let near = _mm512_add_epi64(_mm512_castpd_si512(products), _mm512_set1_epi64(MARGIN as i64));
        let near = _mm512_and_si512(near, _mm512_set1_epi64(MIDDLE_MASK as i64));
        let values = _mm512_cvtpd_ps(products);
        let minus = _mm256_set1_ps(-0.0);
        let values = _mm256_mask_xor_ps(values, _mm_test_epi16_mask(self.signs, self.signs), values, minus);
        // SAFETY: `out` is a reference to eight f32s, as many as the store writes.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), values) };
        _mm512_cmpeq_epi64_mask(near, _mm512_set1_epi64(MIDDLE as i64))
    }

    /// Returns a bit for each number whose f32 may differ by more than half a unit of the number's last digit.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    #[inline]
    fn losses(&self) -> u8 {
        let tenths = self.by_point(&TENTHS_BY_ZEROS);
        let products = _mm512_mul_pd(self.whole, tenths);
        let errors = _mm512_abs_pd(_mm512_sub_pd(products, _mm512_cvtps_pd(_mm512_cvtpd_ps(products))));
        _mm512_cmp_pd_mask::<_CMP_GT_OQ>(errors, _mm512_mul_pd(tenths, _mm512_set1_pd(HALF_UNIT)))
    }

    /// Stores and returns the f64s. Digits below 10^14 and powers up to 10^14 are exact, so the division is the only
    /// rounding.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    #[inline]
    fn f64s(&self, out: &mut [f64; 8]) -> __m512d {
        let values = _mm512_div_pd(self.whole, self.by_point(&TENS_BY_ZEROS));
        let minus = _mm512_set1_pd(-0.0);
        let values = _mm512_mask_xor_pd(values, _mm_test_epi16_mask(self.signs, self.signs), values, minus);
        // SAFETY: `out` is a reference to eight f64s, as many as the store writes.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), values) };
        values
    }

    /// Stores the marks of the numbers with the f64s `values`.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    #[inline]
    fn marks(&self, values: __m512d, marks: &mut [u8; 8]) {
        // A negative zero is only a sign bit.
        let minus_zero = _mm512_cmpeq_epi64_mask(_mm512_castpd_si512(values), _mm512_set1_epi64(i64::MIN));
        let no_integers = _mm_test_epi16_mask(self.points, self.points) | minus_zero;
        // SAFETY: `marks` is a reference to eight bytes, as many as `_mm_storel_epi64` writes.
        unsafe { _mm_storel_epi64(marks.as_mut_ptr().cast(), _mm_maskz_set1_epi8(no_integers.into(), 1)) };
    }

    /// Looks up a power of ten for each number by the position of its point.
    #[target_feature(enable = "avx512f,avx512cd")]
    #[inline]
    fn by_point(&self, by_zeros: &[f64; 16]) -> __m512d {
        let zeros = _mm512_lzcnt_epi64(_mm512_cvtepu16_epi64(self.points));
        // SAFETY: `by_zeros` is a reference to 16 f64s: the loads read elements 0 to 7 and 8 to 15, and need no
        // alignment.
        let (few, many) = unsafe { (_mm512_loadu_pd(by_zeros.as_ptr()), _mm512_loadu_pd(by_zeros.as_ptr().add(8))) };
        _mm512_permutex2var_pd(few, zeros, many)
    }
}

/// Splits four numbers of 16 bytes. `values` are the bytes minus `0`, and `space` is a mask of the characters that may
/// precede a number.
#[target_feature(enable = "avx512f,avx512bw,bmi1")]
#[inline]
fn parts_avx512(bytes: __m512i, values: __m512i, space: u64) -> FloatParts {
    let point = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'.' as i8));
    let minus = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'-' as i8));
    lanes::floats::<16>(FloatMarks { digit: _mm512_cmple_epu8_mask(values, _mm512_set1_epi8(9)), point, minus, space })
}

/// Interleaves the 16 bits of each of eight numbers: the first number of `even`, the first one of `odd`, and so on.
#[target_feature(enable = "avx2")]
#[inline]
fn interleave(even: u64, odd: u64) -> __m128i {
    _mm_unpacklo_epi16(_mm_cvtsi64_si128(even as i64), _mm_cvtsi64_si128(odd as i64))
}

/// Joins two parts of up to eight digits, the less significant part first: exact below 2^53. (A 64-bit integer
/// multiplication would be slow.)
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn join_eights(eights: __m512i) -> __m512d {
    let high = _mm512_cvtepi64_pd(_mm512_srli_epi64::<32>(eights));
    let low = _mm512_cvtepi64_pd(_mm512_and_si512(eights, _mm512_set1_epi64(0xFFFF_FFFF)));
    _mm512_fmadd_pd(high, _mm512_set1_pd(1e8), low)
}

/// Converts plain numbers to f32s, four at a time plus up to three at the end.
///
/// # Safety
/// The CPU has the features that `target_feature` names, and the ends are as [`NumberRun`] requires.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f32s_avx2(numbers: NumberRun<'_>, out: &mut [f32]) -> usize {
    let mut convert = |four: &FourNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<4>()) else { return false };
        x86::floats_of_avx2(four).map(|values| *out = values).is_some()
    };
    // SAFETY: the conditions of `fours` are the same.
    unsafe { fours(numbers, |ends| Some((*ends, ())), |four, (), at| convert(four, at)) }
}

/// Like [`f32s_avx2`], but also sets `loses` as [`NumberRun::checked_f32s`] does.
///
/// # Safety
/// As for [`f32s_avx2`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn checked_f32s_avx2(numbers: NumberRun<'_>, out: &mut [f32], loses: &mut bool) -> usize {
    let mut convert = |four: &FourNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<4>()) else { return false };
        *loses |= four_lose(four);
        x86::floats_of_avx2(four).map(|values| *out = values).is_some()
    };
    // SAFETY: the conditions of `fours` are the same.
    unsafe { fours(numbers, |ends| Some((*ends, ())), |four, (), at| convert(four, at)) }
}

/// Returns whether the f32 of any of four numbers may differ by more than half a unit of the number's last digit.
#[target_feature(enable = "avx2,bmi1")]
#[inline]
fn four_lose(four: &FourNumbers) -> bool {
    let tenths = x86::by_point_avx2(four.point, &TENTHS);
    let products = _mm256_mul_pd(four.whole, tenths);
    let errors = _mm256_sub_pd(products, _mm256_cvtps_pd(_mm256_cvtpd_ps(products)));
    let errors = _mm256_andnot_pd(_mm256_set1_pd(-0.0), errors);
    let lost = _mm256_cmp_pd::<_CMP_GT_OQ>(errors, _mm256_mul_pd(tenths, _mm256_set1_pd(HALF_UNIT)));
    _mm256_movemask_pd(lost) != 0
}

/// Like [`f64s_avx512`].
///
/// # Safety
/// As for [`f32s_avx2`].
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f64s_avx2(numbers: NumberRun<'_>, out: &mut [f64], marks: &mut [u8]) -> usize {
    let mut convert = |four: &FourNumbers, at: usize| {
        let Some(out) = out.get_mut(at..).and_then(<[f64]>::first_chunk_mut) else { return false };
        let Some(marks) = marks.get_mut(at..).and_then(<[u8]>::first_chunk_mut) else { return false };
        store(four, x86::by_point_avx2(four.point, &TENS), out, marks);
        true
    };
    // SAFETY: the conditions of `fours` are the same.
    unsafe { fours(numbers, |ends| Some((*ends, ())), |four, (), at| convert(four, at)) }
}

/// Like [`eights`]. `split` moves ends to the ends of plain numbers. Its other results are passed to `convert`.
///
/// # Safety
/// As for [`f32s_avx2`], and `split` moves each end by at most 32 bytes to the front.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
#[inline]
pub(super) unsafe fn fours<T>(
    numbers: NumberRun<'_>,
    split: impl Fn(&[u32; 4]) -> Option<([u32; 4], T)>,
    mut convert: impl FnMut(&FourNumbers, T, usize) -> bool,
) -> usize {
    let text = numbers.padded.as_ptr();
    match numbers.preceding {
        Preceding::Token => numbers.batches(|at, ends| {
            let Some((ends, more)) = split(ends) else { return false };
            // SAFETY: `batches` passes only the run's own ends (repeating the last one if there are fewer than four):
            // each has 64 bytes before it in `text`, of which `split` leaves 32, and `four_avx2` reads 16. This
            // function has the same features.
            let four = unsafe { x86::four_avx2(text, ends, |low, high| movemask(separators(low), separators(high))) };
            four.is_some_and(|four| convert(&four, more, at))
        }),
        Preceding::List => numbers.batches(|at, ends| {
            let Some((ends, more)) = split(ends) else { return false };
            // SAFETY: as above: own ends, with 64 bytes before each.
            let four = unsafe { x86::four_avx2(text, ends, |low, high| list_x86::before_avx2(low, high)) };
            four.is_some_and(|four| convert(&four, more, at))
        }),
        Preceding::Field(Separator::Blanks) => numbers.batches(|at, ends| {
            let Some((ends, more)) = split(ends) else { return false };
            // SAFETY: as above: own ends, with 64 bytes before each.
            let four = unsafe { x86::four_avx2(text, ends, |low, high| movemask(spaces(low), spaces(high))) };
            four.is_some_and(|four| convert(&four, more, at))
        }),
        Preceding::Field(Separator::Byte(byte)) => numbers.batches(|at, ends| {
            let Some((ends, more)) = split(ends) else { return false };
            // SAFETY: as above: own ends, with 64 bytes before each.
            let four = unsafe { x86::four_avx2(text, ends, |low, high| before_mask_avx2(low, high, byte)) };
            four.is_some_and(|four| convert(&four, more, at))
        }),
    }
}

/// Returns a mask of the bytes that may precede a field. Bytes are in reversed groups of 16, so the byte before another
/// one in the text is the next one here; it is missing for the last byte of a group.
#[inline(always)]
fn before(space: u64, end: u64) -> u64 {
    end | space & (end >> 1) & !WIDE_TOP
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn space_mask(bytes: __m512i) -> u64 {
    // SAFETY: `SPACES` has 16 bytes, as many as the load reads.
    let table = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(SPACES.as_ptr().cast()) });
    _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(table, bytes), bytes)
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn before_mask(bytes: __m512i, separator: u8) -> u64 {
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    before(space_mask(bytes), equal(separator) | equal(b'\n') | equal(b'\r'))
}

#[target_feature(enable = "avx2")]
#[inline]
fn spaces(bytes: __m256i) -> __m256i {
    // SAFETY: `SPACES` has 16 bytes, as many as the load reads.
    let table = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(SPACES.as_ptr().cast()) });
    _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, bytes), bytes)
}

#[target_feature(enable = "avx2")]
#[inline]
fn before_mask_avx2(low: __m256i, high: __m256i, separator: u8) -> u64 {
    let equal = |byte: u8| {
        let byte = _mm256_set1_epi8(byte as i8);
        movemask(_mm256_cmpeq_epi8(low, byte), _mm256_cmpeq_epi8(high, byte))
    };
    before(movemask(spaces(low), spaces(high)), equal(separator) | equal(b'\n') | equal(b'\r'))
}

/// Stores four numbers as f64s; see [`EightNumbers::f64s`].
#[target_feature(enable = "avx2,bmi2")]
#[inline]
pub(super) fn store(four: &FourNumbers, power: __m256d, out: &mut [f64; 4], marks: &mut [u8; 4]) {
    /// The top bit of each lane.
    const TOPS: u64 = 0x8000_8000_8000_8000;
    let signs = ((four.negative + (TOPS - (TOPS >> 15))) & TOPS) as i64;
    let signs = _mm256_slli_epi64::<48>(_mm256_cvtepu16_epi64(_mm_cvtsi64_si128(signs)));
    let values = _mm256_xor_pd(_mm256_div_pd(four.whole, power), _mm256_castsi256_pd(signs));
    // A negative zero is only a sign bit.
    let minus_zero = _mm256_cmpeq_epi64(_mm256_castpd_si256(values), _mm256_set1_epi64x(i64::MIN));
    let minus_zero = _mm256_movemask_pd(_mm256_castsi256_pd(minus_zero)) as u64;
    // Each lane has at most one bit set, so adding all bits except the top one sets the top bit and carries no further.
    let pointed = _pext_u64((four.point + (TOPS - (TOPS >> 15))) & TOPS, TOPS);
    let not_integers = _pdep_u64(pointed | minus_zero, 0x0101_0101) as u32;
    *marks = not_integers.to_le_bytes();
    // SAFETY: `out` is a reference to four f64s, as many as the store writes.
    unsafe { _mm256_storeu_pd(out.as_mut_ptr(), values) };
}
