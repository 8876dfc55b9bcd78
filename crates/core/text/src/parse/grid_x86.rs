//! Parses grids with AVX-512: scans 64 bytes and converts eight numbers at a time.

use super::consts::TENS;
use super::grid::{Grid, GridShape, MAX_SIZE, TOGETHER};
use super::{MARGIN, MIDDLE, MIDDLE_MASK, TENTHS, number};
use crate::arch::*;
use crate::scan::x86::spread_avx512;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Number of blocks scanned between checks of whether the text is still a grid.
const STRIDE: usize = 64;

/// Character classes of a block, one bit per byte.
struct GridMarks {
    end: u64,
    newline: u64,
    point: u64,
    minus: u64,
    other: u64,
}

/// State between blocks.
struct GridWalk {
    /// The ends in the previous block.
    end: u64,
    point: u64,
    numbers: usize,
    lines: usize,
    /// Nonzero if the text is not a grid.
    bad: u64,
}

/// Finds the numbers of `padded[range]` if it is a grid. Returns their count, or 0 if it is not.
///
/// # Safety
/// The CPU has the features that `target_feature` names.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn find(grid: &mut Grid, padded: &[u8], range: Range<usize>, shape: GridShape) -> usize {
    let newlines = newlines(shape.columns);
    let mut walk = GridWalk { end: 1 << 63, point: 0, numbers: 0, lines: 0, bad: 0 };
    let mut base = range.start;
    while base < range.end && walk.bad == 0 {
        let stop = range.end.min(base + 64 * STRIDE);
        while base < stop {
            let Some(block) = padded[base..].first_chunk::<64>() else { return 0 };
            let marks = marks(block, shape.separator, u64::MAX >> (64 - (range.end - base).min(64)));
            let ends = grid.ends.get_mut(walk.numbers + 1..).and_then(|ends| ends.first_chunk_mut());
            let Some(ends) = ends else { return 0 };
            spread_avx512(marks.end, base as u32, ends);
            walk.step(&marks, newlines, &shape);
            base += 64;
        }
    }
    let is_grid = walk.bad == 0 && walk.numbers == walk.lines * shape.columns;
    let is_grid = is_grid && grid.ends.get(..=walk.numbers).is_some_and(|ends| are_of_size(ends, shape.places));
    if is_grid { walk.numbers } else { 0 }
}

/// Returns whether all numbers have decimals and are short enough.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn are_of_size(ends: &[u32], places: usize) -> bool {
    // Includes the character after each number.
    let min_size = places as u32 + 2;
    let max_size = MAX_SIZE as u32 + 1;
    let outside =
        |(before, end): (&u32, &u32)| u32::from(end.wrapping_sub(*before).wrapping_sub(min_size) > max_size - min_size);
    ends.iter().zip(&ends[1..]).map(outside).fold(0, |outside, bit| outside | bit) == 0
}

/// Returns a bit for each number from the start of a line on, set if the number ends at a newline.
fn newlines(columns: usize) -> u128 {
    (columns - 1..128).step_by(columns).fold(0, |bits, at| bits | 1 << at)
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn marks(block: &[u8; 64], separator: u8, inside: u64) -> GridMarks {
    // SAFETY: `block` is a reference to 64 bytes, as many as the load reads; it needs no alignment.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8)) & inside;
    let digit = _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0' as i8)), _mm512_set1_epi8(9));
    let newline = equal(b'\n');
    let point = equal(b'.');
    let minus = equal(b'-');
    let end = newline | equal(separator);
    GridMarks { end, newline, point, minus, other: inside & !(digit | point | minus | end) }
}

impl GridWalk {
    /// Advances past a block.
    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    #[inline]
    fn step(&mut self, marks: &GridMarks, newlines: u128, shape: &GridShape) {
        let back = shape.places + 1;
        let behind = marks.point << back | self.point >> (64 - back);
        let count = marks.end.count_ones();
        // The column within the line; valid while `bad` is zero.
        let column = self.numbers.wrapping_sub(self.lines * shape.columns);
        let expected = _bzhi_u64((newlines >> (column & 63)) as u64, count);
        let actual = _pext_u64(marks.newline, marks.end);
        let starts = marks.end << 1 | self.end >> 63;
        self.bad |= marks.other | marks.minus & !starts | behind ^ marks.end | actual ^ expected;
        self.numbers += count as usize;
        self.lines += marks.newline.count_ones() as usize;
        self.end = marks.end;
        self.point = marks.point;
    }
}

/// Constants for converting the numbers of a grid.
struct GridKernel {
    text: *const u8,
    /// Shuffle that moves the digits of a 16-character number to the end and drops the point.
    order: __m512i,
    power: __m512d,
}

/// Converts `out.len()` numbers from `first` on.
///
/// # Safety
/// - The CPU has the features that `target_feature` names.
/// - `first + out.len() <= grid.count`, and `grid.ends` has 16 elements after the last end, which
///   [`Grid::scan`] guarantees.
/// - Every end in `grid.ends`, these 16 included, is less than `padded.len() - 64`.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
pub(super) unsafe fn f64s(grid: &Grid, padded: &[u8], first: usize, out: &mut [MaybeUninit<f64>]) {
    let kernel = GridKernel::new(grid, padded, &TENS);
    let (eights, rest) = out.as_chunks_mut::<TOGETHER>();
    let mut at = first;
    for out in eights {
        // SAFETY: `at < first + out.len() <= grid.count`, the second condition, so `GridKernel::f64s` may take number
        // `at`. `out` is a reference to eight elements of 8 bytes; `storeu` needs no alignment.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr().cast(), kernel.f64s(grid, at)) };
        at += TOGETHER;
    }
    if !rest.is_empty() {
        // SAFETY: `rest` is not empty, so that number `at` exists: `at < grid.count`, as above.
        let last = values(unsafe { kernel.f64s(grid, at) });
        rest.iter_mut().zip(last).for_each(|(out, value)| _ = out.write(value));
    }
}

/// Like [`f64s`], for f32s.
///
/// # Safety
/// As for [`f64s`].
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
pub(super) unsafe fn f32s(grid: &Grid, padded: &[u8], first: usize, out: &mut [MaybeUninit<f32>]) {
    let kernel = GridKernel::new(grid, padded, &TENTHS);
    for (step, out) in out.chunks_mut(TOGETHER).enumerate() {
        let at = first + step * TOGETHER;
        // SAFETY: `chunks_mut` yields no empty chunk, so `at < first + out.len() <= grid.count`, the second condition
        // of this function.
        let (products, unsure) = unsafe { kernel.f32s(grid, at) };
        let near = _mm512_cvtpd_ps(products);
        // SAFETY: the mask has `out.len()` bits (1 to 8), so that only the elements of this chunk are written.
        unsafe { _mm256_mask_storeu_ps(out.as_mut_ptr().cast(), u8::MAX >> (TOGETHER - out.len()), near) };
        if unsure != 0 {
            for (lane, out) in out.iter_mut().enumerate().filter(|(lane, _)| unsure >> lane & 1 == 1) {
                out.write(nearest(grid, padded, at + lane));
            }
        }
    }
}

/// Rounds number `at` correctly.
fn nearest(grid: &Grid, padded: &[u8], at: usize) -> f32 {
    let Some(&[before, end]) = grid.ends.get(at..).and_then(<[u32]>::first_chunk) else { return f32::NAN };
    let token = padded.get(before as usize + 1..end as usize).unwrap_or_default();
    number::f32(token).unwrap_or(f32::NAN)
}

fn values(vector: __m512d) -> [f64; 8] {
    // SAFETY: `__m512d` and `[f64; 8]` are both 64 bytes, and every bit pattern is an f64.
    unsafe { std::mem::transmute(vector) }
}

impl GridKernel {
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn new(grid: &Grid, padded: &[u8], powers: &[f64; 32]) -> GridKernel {
        let point = 15 - grid.places as i8;
        let order: [i8; 16] = std::array::from_fn(|at| at as i8 - i8::from(at as i8 <= point));
        // SAFETY: `order` is an array of 16 bytes, as many as the load reads.
        let order = unsafe { _mm_loadu_si128(order.as_ptr().cast()) };
        let power = _mm512_set1_pd(powers[grid.places & 31]);
        GridKernel { text: padded.as_ptr(), order: _mm512_broadcast_i32x4(order), power }
    }

    /// Computes the quotients of eight numbers, each rounded once.
    ///
    /// # Safety
    /// - The CPU has the features that `target_feature` names, and `self` was made for `grid` and its text.
    /// - `at < grid.count`, and `grid.ends` is as the function `f64s` requires: 16 elements after the last end, all
    ///   more than 64 bytes before the end of the text.
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
    #[inline]
    unsafe fn f64s(&self, grid: &Grid, at: usize) -> __m512d {
        // SAFETY: the conditions are the same.
        let (whole, negative) = unsafe { self.digits(grid, at) };
        let values = _mm512_div_pd(whole, self.power);
        _mm512_mask_xor_pd(values, negative, values, _mm512_set1_pd(-0.0))
    }

    /// Computes eight products, less than two ulps of an f64 off, and a bit for each that rounding to f32 could get
    /// wrong.
    ///
    /// # Safety
    /// As for [`GridKernel::f64s`].
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
    #[inline]
    unsafe fn f32s(&self, grid: &Grid, at: usize) -> (__m512d, u8) {
        // SAFETY: the conditions are the same.
        let (whole, negative) = unsafe { self.digits(grid, at) };
        let products = _mm512_mul_pd(whole, self.power);
        let near = _mm512_add_epi64(_mm512_castpd_si512(products), _mm512_set1_epi64(MARGIN as i64));
        let near = _mm512_and_si512(near, _mm512_set1_epi64(MIDDLE_MASK as i64));
        let unsure = _mm512_cmpeq_epi64_mask(near, _mm512_set1_epi64(MIDDLE as i64));
        (_mm512_mask_xor_pd(products, negative, products, _mm512_set1_pd(-0.0)), unsure)
    }

    /// Joins the digits of eight numbers, ignoring the point, and returns a bit for each that has a minus.
    ///
    /// # Safety
    /// As for [`GridKernel::f64s`].
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi")]
    #[inline]
    unsafe fn digits(&self, grid: &Grid, at: usize) -> (__m512d, u8) {
        // SAFETY: `at < grid.count`, and `grid.ends` has `count + 1 + 16` elements.
        let ends = unsafe { grid.ends.as_ptr().add(at) };
        // SAFETY: the loads read `ends[at..at + 9]`; `at + 9 <= count + 8`, inside the `count + 17` elements.
        let (before, end) = unsafe { (_mm256_loadu_si256(ends.cast()), _mm256_loadu_si256(ends.add(1).cast())) };
        // Number of characters by which each number is shorter than 16 characters.
        let short = _mm256_sub_epi32(_mm256_add_epi32(before, _mm256_set1_epi32(17)), end);
        // Each vector holds every second number: packing the two restores the order.
        // SAFETY: `load` reads ends `at` to `at + 7`, inside the 16 elements after the last end; each is more than 64
        // bytes before the end of the text.
        let bytes = unsafe { [self.load(ends), self.load(ends.add(1))] };
        let fours = [self.fours(bytes[0], short, 0), self.fours(bytes[1], short, 4)];
        let eights = _mm512_madd_epi16(_mm512_packus_epi32(fours[0], fours[1]), _mm512_set1_epi32(0x0001_2710));
        let low = _mm512_cvtepi64_pd(_mm512_srli_epi64::<32>(eights));
        let high = _mm512_cvtepi64_pd(_mm512_and_si512(eights, _mm512_set1_epi64(0xFFFF_FFFF)));
        // Of the characters that may start a number, only a minus has neither of these bits.
        let negative = _mm512_testn_epi64_mask(_mm512_unpacklo_epi64(bytes[0], bytes[1]), _mm512_set1_epi64(0x12));
        (_mm512_fmadd_pd(high, _mm512_set1_pd(1e8), low), negative)
    }

    /// Loads 16 bytes from the start of four numbers: the number after the end at `ends`, and every second one after
    /// it.
    ///
    /// # Safety
    /// The CPU has the features that `target_feature` names. `ends[0]`, `ends[2]`, `ends[4]` and `ends[6]` are readable
    /// and more than 17 bytes before the end of the text.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    unsafe fn load(&self, ends: *const u32) -> __m512i {
        // SAFETY: called with 0, 2, 4 and 6, which this function's condition names; the 16 bytes behind such an end are
        // in the text.
        let load = |number: usize| unsafe { _mm_loadu_si128(self.text.add(*ends.add(number) as usize + 1).cast()) };
        let pair = |number: usize| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(load(number)), load(number + 2));
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(pair(0)), pair(4))
    }

    /// Joins the digits of four numbers into parts of four digits, the most significant part first. `short` holds the
    /// number of characters by which each is shorter than 16, in every second element from byte `first` on.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn fours(&self, bytes: __m512i, short: __m256i, first: u8) -> __m512i {
        const LANE: i64 = 0x0101_0101_0101_0101;
        // Characters below `0` saturate to zero, so minus and point have no value.
        let values = _mm512_subs_epu8(bytes, _mm512_set1_epi8(b'0' as i8));
        // The lanes are of every second number, so their values in `short` are 8 bytes apart.
        let [a, b, c, d] = [0, 8, 16, 24].map(|byte| (byte + i64::from(first)) * LANE);
        let lanes = _mm512_set_epi64(d, d, c, c, b, b, a, a);
        let short = _mm512_permutexvar_epi8(lanes, _mm512_castsi256_si512(short));
        // Indices before a number are negative, which yields zeros.
        let digits = _mm512_shuffle_epi8(values, _mm512_sub_epi8(self.order, short));
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064))
    }
}
