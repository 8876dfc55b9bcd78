//! Conversion of fields of a table, four at a time, with AVX2 and AVX-512: the same answers as `swar`.

use super::fields::TENS;
use super::lanes::WIDE_TOP;
use super::x86::{self, Four};
use crate::scan::Separator;
use crate::scan::x86::movemask;
use std::arch::x86_64::*;

/// White space, each at the place that its lower four bits name; see `scan::x86`.
const SPACES: [u8; 16] = *b" \0\0\0\0\0\0\0\0\t\n\x0B\x0C\r\0\0";
static TENS_BY_ZEROS: [f64; 16] = x86::by_zeros(&TENS);

/// Plain fields that end at `ends` (four more are there) as f32s: returns how many were converted, in fours and up to
/// three at the end.
///
/// # Safety
/// The CPU has the features; 16 bytes before each end are in `padded`, and each end.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f32s_avx512(padded: &[u8], ends: &[u32], separator: Separator, out: &mut [f32]) -> usize {
    let before = Before::of(separator);
    let text = padded.as_ptr();
    fours(ends, |at, ends| {
        // SAFETY: the caller's promise.
        let four = unsafe { x86::four_avx512(text, ends, |bytes| before_avx512(bytes, before)) }?;
        out.get_mut(at..)?.first_chunk_mut::<4>().map(|out| x86::floats_of_avx512(&four).map(|values| *out = values))?
    })
}

/// As [`f32s_avx512`].
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f32s_avx2(padded: &[u8], ends: &[u32], separator: Separator, out: &mut [f32]) -> usize {
    let before = Before::of(separator);
    let text = padded.as_ptr();
    fours(ends, |at, ends| {
        // SAFETY: the caller's promise.
        let four = unsafe { x86::four_avx2(text, ends, |low, high| before_avx2(low, high, before)) }?;
        out.get_mut(at..)?.first_chunk_mut::<4>().map(|out| x86::floats_of_avx2(&four).map(|values| *out = values))?
    })
}

/// As [`f32s_avx512`], as f64s with a mark for each.
///
/// # Safety
/// As there.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f64s_avx512(
    padded: &[u8],
    ends: &[u32],
    separator: Separator,
    out: &mut [f64],
    marks: &mut [u8],
) -> usize {
    let before = Before::of(separator);
    let text = padded.as_ptr();
    fours(ends, |at, ends| {
        // SAFETY: the caller's promise.
        let four = unsafe { x86::four_avx512(text, ends, |bytes| before_avx512(bytes, before)) }?;
        let power = x86::by_point_avx512(four.point, &TENS_BY_ZEROS);
        store(&four, power, out.get_mut(at..)?.first_chunk_mut()?, marks.get_mut(at..)?.first_chunk_mut()?);
        Some(())
    })
}

/// As [`f64s_avx512`].
///
/// # Safety
/// As there.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
pub(super) unsafe fn f64s_avx2(
    padded: &[u8],
    ends: &[u32],
    separator: Separator,
    out: &mut [f64],
    marks: &mut [u8],
) -> usize {
    let before = Before::of(separator);
    let text = padded.as_ptr();
    fours(ends, |at, ends| {
        // SAFETY: the caller's promise.
        let four = unsafe { x86::four_avx2(text, ends, |low, high| before_avx2(low, high, before)) }?;
        let power = x86::by_point_avx2(four.point, &TENS);
        store(&four, power, out.get_mut(at..)?.first_chunk_mut()?, marks.get_mut(at..)?.first_chunk_mut()?);
        Some(())
    })
}

/// Calls `convert` with four ends each time, until it says no: the last four may have repeated ends behind them.
#[inline(always)]
fn fours(ends: &[u32], mut convert: impl FnMut(usize, [u32; 4]) -> Option<()>) -> usize {
    let count = ends.len() - 4;
    let mut done = 0;
    while done + 4 <= count {
        let Some(&four) = ends[done..].first_chunk::<4>() else { return done };
        if convert(done, four).is_none() {
            return done;
        }
        done += 4;
    }
    if done < count {
        let end = |n: usize| ends[(done + n).min(count - 1)];
        if convert(done, [end(0), end(1), end(2), end(3)]).is_none() {
            return done;
        }
    }
    count
}

/// What may stand before a field: a separator or a newline, or one blank behind such.
#[derive(Clone, Copy)]
struct Before {
    /// White space where that parts fields: any of it will do.
    is_blanks: bool,
    separator: u8,
}

impl Before {
    fn of(separator: Separator) -> Before {
        match separator {
            Separator::Blanks => Before { is_blanks: true, separator: b' ' },
            Separator::Byte(separator) => Before { is_blanks: false, separator },
        }
    }

    /// The bytes that may be before a field, of 16 bytes each that are reversed: what is before a byte is the next one.
    #[inline(always)]
    fn join(self, space: u64, end: u64) -> u64 {
        // The last byte of 16 has no next one.
        if self.is_blanks { space } else { end | space & (end >> 1) & !WIDE_TOP }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn before_avx512(bytes: __m512i, before: Before) -> u64 {
    // SAFETY: the table is 16 bytes.
    let table = _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(SPACES.as_ptr().cast()) });
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    let space = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(table, bytes), bytes);
    before.join(space, equal(before.separator) | equal(b'\n') | equal(b'\r'))
}

/// As [`before_avx512`].
#[target_feature(enable = "avx2")]
#[inline]
fn before_avx2(low: __m256i, high: __m256i, before: Before) -> u64 {
    // SAFETY: the table is 16 bytes.
    let table = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(SPACES.as_ptr().cast()) });
    let find = |bytes: __m256i| _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, bytes), bytes);
    let equal = |byte: u8| {
        let wanted = _mm256_set1_epi8(byte as i8);
        movemask(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted))
    };
    before.join(movemask(find(low), find(high)), equal(before.separator) | equal(b'\n') | equal(b'\r'))
}

/// Four numbers as f64s. Digits below 10^14 and powers up to that are exact, so a division is rounded once.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn store(four: &Four, power: __m256d, out: &mut [f64; 4], marks: &mut [u8; 4]) {
    /// The top bit of each lane, and a bit for each byte of the marks.
    const TOPS: u64 = 0x8000_8000_8000_8000;
    let signs = ((four.negative + (TOPS - (TOPS >> 15))) & TOPS) as i64;
    let signs = _mm256_slli_epi64::<48>(_mm256_cvtepu16_epi64(_mm_cvtsi64_si128(signs)));
    let values = _mm256_xor_pd(_mm256_div_pd(four.whole, power), _mm256_castsi256_pd(signs));
    // A zero with a minus is its sign and nothing else.
    let minus_zero = _mm256_cmpeq_epi64(_mm256_castpd_si256(values), _mm256_set1_epi64x(i64::MIN));
    let minus_zero = _mm256_movemask_pd(_mm256_castsi256_pd(minus_zero)) as u64;
    // At most one bit of each lane: adding all but the top one carries into that, and no further.
    let pointed = _pext_u64((four.point + (TOPS - (TOPS >> 15))) & TOPS, TOPS);
    let found = _pdep_u64(pointed | minus_zero, 0x0101_0101) as u32;
    *marks = found.to_le_bytes();
    // SAFETY: four f64s fit.
    unsafe { _mm256_storeu_pd(out.as_mut_ptr(), values) };
}
