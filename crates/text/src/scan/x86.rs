//! The index with AVX2 and with AVX-512: the same result as `portable`, 64 bytes at a time.

use super::{Index, newlines};
use std::arch::x86_64::*;

/// Scans with AVX-512 (F, BW, VBMI2), BMI2 and POPCNT.
///
/// # Safety
/// The CPU has these features; 64 bytes are readable from every offset below `end`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan_avx512(index: &mut Index, padded: &[u8], start: usize, end: usize) {
    // The byte before a line is white space, whatever it is.
    let (mut base, mut carry) = (start, 1);
    // SAFETY: a constant table of 64 bytes.
    let iota = unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast()) };
    while base < end && index.has_room() {
        // SAFETY: the caller's promise.
        let bytes = unsafe { _mm512_loadu_si512(padded.as_ptr().add(base).cast()) };
        let inside = u64::MAX >> (64 - (end - base).min(64));
        let space = space_mask(bytes) & inside;
        let slash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'/' as i8)) & inside;
        let line_feed = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\n' as i8)) & inside;
        let carriage_return = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\r' as i8)) & inside;
        let ends = (space & !(space << 1 | carry)) | slash;
        carry = space >> 63;
        let before = index.end_count;
        let count = ends.count_ones() as usize;
        let offsets = _mm512_maskz_compress_epi8(ends, iota);
        let origin = _mm512_set1_epi32(base as i32);
        let target = index.ends[before..before + 64].as_mut_ptr();
        let first = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(offsets));
        // SAFETY: 64 entries are there (bounds checked above).
        unsafe { _mm512_storeu_si512(target.cast(), _mm512_add_epi32(first, origin)) };
        if count > 16 {
            let parts = [
                _mm512_extracti32x4_epi32::<1>(offsets),
                _mm512_extracti32x4_epi32::<2>(offsets),
                _mm512_extracti32x4_epi32::<3>(offsets),
            ];
            for (part, offsets) in parts.into_iter().enumerate() {
                let wide = _mm512_add_epi32(_mm512_cvtepu8_epi32(offsets), origin);
                // SAFETY: 64 entries are there.
                unsafe { _mm512_storeu_si512(target.add(16 * (part + 1)).cast(), wide) };
            }
        }
        index.end_count += count;
        index.push_slashes(_pext_u64(slash, ends), before);
        let newlines = newlines(line_feed, carriage_return, padded[(base + 64).min(end)]);
        index.push_lines(newlines, ends, base, before);
        base += 64;
    }
}

/// The bytes that are white space.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(crate) fn space_mask(bytes: __m512i) -> u64 {
    let from_tab = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'\t' as i8));
    _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b' ' as i8))
        | _mm512_cmple_epu8_mask(from_tab, _mm512_set1_epi8(4))
}

static IOTA: [u8; 64] = {
    let mut table = [0; 64];
    let mut i = 0;
    while i < 64 {
        table[i] = i as u8;
        i += 1;
    }
    table
};

/// Scans with AVX2 and BMI2.
///
/// # Safety
/// The CPU has these features; 64 bytes are readable from every offset below `end`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn scan_avx2(index: &mut Index, padded: &[u8], start: usize, end: usize) {
    // The byte before a line is white space, whatever it is.
    let (mut base, mut carry) = (start, 1);
    while base < end && index.has_room() {
        // SAFETY: the caller's promise.
        let (low, high) = unsafe {
            let at = padded.as_ptr().add(base).cast::<__m256i>();
            (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)))
        };
        let inside = u64::MAX >> (64 - (end - base).min(64));
        let equal = |byte: u8| {
            let wanted = _mm256_set1_epi8(byte as i8);
            both(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted)) & inside
        };
        let control = |v| {
            let from_tab = _mm256_sub_epi8(v, _mm256_set1_epi8(b'\t' as i8));
            _mm256_cmpeq_epi8(_mm256_min_epu8(from_tab, _mm256_set1_epi8(4)), from_tab)
        };
        let space = (equal(b' ') | both(control(low), control(high))) & inside;
        let slash = equal(b'/');
        let (line_feed, carriage_return) = (equal(b'\n'), equal(b'\r'));
        let ends = (space & !(space << 1 | carry)) | slash;
        carry = space >> 63;
        let before = index.end_count;
        let count = ends.count_ones() as usize;
        let target = &mut index.ends[before..before + 64];
        let mut rest = ends;
        let mut done = 0;
        // Eight at a time without a branch per token: what is written past `count` is overwritten.
        while done < count {
            for slot in &mut target[done..done + 8] {
                *slot = base as u32 + rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
            }
            done += 8;
        }
        index.end_count += count;
        index.push_slashes(_pext_u64(slash, ends), before);
        let newlines = newlines(line_feed, carriage_return, padded[(base + 64).min(end)]);
        index.push_lines(newlines, ends, base, before);
        base += 64;
    }
}

/// The byte masks of two halves as one.
#[target_feature(enable = "avx2")]
fn both(low: __m256i, high: __m256i) -> u64 {
    let low = _mm256_movemask_epi8(low) as u32;
    let high = _mm256_movemask_epi8(high) as u32;
    u64::from(high) << 32 | u64::from(low)
}
