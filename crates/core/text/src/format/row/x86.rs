//! Fills cells with AVX-512.
//!
//! A vector holds eight values of at most eight digits, or four of up to 13 digits (with [`super::super::x86`]). Larger
//! values, and products that are ties only because they were rounded, are left to the portable writers.

use crate::arch::*;

use super::super::fixed::{Real, Scale};
use super::super::x86::LinePlan;
use super::cells::{Cells, ROWS};

/// Fills the cells of one column.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellFiller {
    wide: LinePlan,
    narrow: Option<NarrowFiller>,
    /// Offset of the end of each text in its cell.
    end: u8,
}

impl CellFiller {
    /// Creates a filler for numbers with the digits of `scale`, followed by `next`. Returns `None` unless this CPU has
    /// the instructions.
    pub(super) fn if_possible(scale: &Scale, next: Option<u8>) -> Option<Self> {
        let byte = next.unwrap_or_default();
        let wide = LinePlan::if_possible(scale, byte)?;
        let end = 15 + u8::from(next.is_some());
        let narrow = (scale.digits < NarrowFiller::DIGITS && is_x86_feature_detected!("avx512cd"))
            .then(|| NarrowFiller::new(scale, byte, end));
        Some(Self { wide, narrow, end })
    }

    /// Fills cells if all values fit. Returns whether they do.
    pub(super) fn fill<R: Real>(&self, values: &[R; ROWS], cells: &mut Cells) -> bool {
        // SAFETY: `if_possible` creates a `CellFiller` only if `LinePlan::if_possible` found the features of
        // `fill_wide`, and `narrow` only if AVX-512 CD is there too, which is all that `fill` adds.
        unsafe { self.narrow.is_some_and(|narrow| narrow.fill(values, cells)) || self.fill_wide(values, cells) }
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
    #[target_feature(enable = "bmi2,popcnt")]
    fn fill_wide<R: Real>(&self, values: &[R; ROWS], cells: &mut Cells) -> bool {
        let Some(texts) = cells.texts.first_chunk_mut() else { return false };
        let Some(firsts) = self.wide.right_aligned(values, texts) else { return false };
        let slots = cells.starts.iter_mut().zip(&mut cells.lengths);
        for (row, ((start, length), value)) in slots.zip(values).enumerate() {
            let first = (firsts[row / 4] >> (row % 4 * 16)) as u16;
            // There is at least one digit, and a byte for the sign before the digits.
            *start = (first.trailing_zeros() as u8).saturating_sub(u8::from(value.is_negative()));
            *length = self.end - (*start).min(self.end);
        }
        true
    }
}

/// Fills cells with values of at most eight digits.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct NarrowFiller {
    /// For each byte of a cell, its source among the digits of values 0 to 3, and of values 4 to 7.
    orders: [[u8; 64]; 2],
    template: [u8; 64],
    /// A bit for each byte of a cell that comes from the digits, or from the `-` that replaces leading zeros.
    digits: u64,
    power: f64,
    /// Maximum number of leading bits (8 per digit) to drop.
    max_dropped: u64,
    /// Offset of the first of eight digits in a cell.
    first: u64,
    /// Offset of the end of the text in a cell.
    end: u64,
}

impl NarrowFiller {
    const DIGITS: usize = 8;

    fn new(scale: &Scale, next: u8, end: u8) -> Self {
        let point = 14 - scale.digits;
        let first = 15 - Self::DIGITS - usize::from(scale.digits > 0);
        let mut plan = Self {
            orders: [[0; 64]; 2],
            template: [b'-'; 64],
            digits: 0,
            power: scale.power,
            max_dropped: 8 * (Self::DIGITS - 1 - scale.digits) as u64,
            first: first as u64,
            end: end.into(),
        };
        for at in 0..64 {
            let value = at / 16;
            let position = at % 16;
            if position == 15 {
                plan.template[at] = next;
            } else if position == point && scale.digits > 0 {
                plan.template[at] = b'.';
            } else if position >= first {
                // The last digit is in the lowest byte.
                let weight = 14 - position - usize::from(scale.digits > 0 && position < point);
                plan.digits |= 1 << at;
                plan.orders[0][at] = (8 * value + weight) as u8;
                plan.orders[1][at] = (32 + 8 * value + weight) as u8;
            }
        }
        plan
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vbmi,avx512vnni")]
    fn fill<R: Real>(&self, values: &[R; ROWS], cells: &mut Cells) -> bool {
        let mut numbers = [_mm512_setzero_si512(); ROWS / 8];
        let mut negative = numbers;
        let mut fits = 0xFF;
        for (index, values) in values.as_chunks::<8>().0.iter().enumerate() {
            let values = load(values);
            let magnitude = _mm512_abs_pd(values);
            let scaled = _mm512_mul_pd(magnitude, _mm512_set1_pd(self.power));
            let number = _mm512_cvt_roundpd_epu64::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(scaled);
            fits &= _mm512_cmp_pd_mask::<_CMP_LE_OQ>(scaled, _mm512_set1_pd(99_999_999.0));
            if R::PRODUCT_IS_ROUNDED {
                let rest = _mm512_abs_pd(_mm512_sub_pd(_mm512_cvtepu64_pd(number), scaled));
                let lost = _mm512_fmsub_pd(magnitude, _mm512_set1_pd(self.power), scaled);
                fits &= _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(rest, _mm512_set1_pd(0.5))
                    | _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(lost, _mm512_setzero_pd());
            }
            numbers[index] = number;
            negative[index] = _mm512_srli_epi64::<63>(_mm512_castpd_si512(values));
        }
        if fits != 0xFF {
            return false;
        }
        for (index, (number, negative)) in numbers.into_iter().zip(negative).enumerate() {
            self.store(index, decimal(number), negative, cells);
        }
        true
    }

    /// Stores the texts of eight values.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512vbmi")]
    fn store(&self, index: usize, digits: __m512i, negative: __m512i, cells: &mut Cells) {
        let zeros = _mm512_and_si512(_mm512_lzcnt_epi64(digits), _mm512_set1_epi64(!7));
        let dropped = _mm512_min_epu64(zeros, _mm512_set1_epi64(self.max_dropped as i64));
        let shown = _mm512_srlv_epi64(_mm512_set1_epi8(-1), dropped);
        let ascii = _mm512_or_si512(digits, _mm512_set1_epi8(b'0' as i8));
        // Selects the digit where `shown` is set, '-' elsewhere.
        let text = _mm512_ternarylogic_epi64::<0xCA>(shown, ascii, _mm512_set1_epi8(b'-' as i8));
        let first = _mm512_add_epi64(_mm512_srli_epi64::<3>(dropped), _mm512_set1_epi64(self.first as i64));
        let start = _mm512_sub_epi64(first, negative);
        let length = _mm512_sub_epi64(_mm512_set1_epi64(self.end as i64), start);
        // SAFETY: `fill` calls this with `index` 0 to 3. 8 bytes at `8 * index` are inside the 32 of `starts` and
        // `lengths`, and elements `2 * index` and `2 * index + 1` are among the 9 of `texts`. `template` and each order
        // are 64 bytes.
        unsafe {
            _mm_storel_epi64(cells.starts.as_mut_ptr().add(8 * index).cast(), _mm512_cvtepi64_epi8(start));
            _mm_storel_epi64(cells.lengths.as_mut_ptr().add(8 * index).cast(), _mm512_cvtepi64_epi8(length));
            let template = _mm512_loadu_si512(self.template.as_ptr().cast());
            for (half, order) in self.orders.iter().enumerate() {
                let order = _mm512_loadu_si512(order.as_ptr().cast());
                let cell = _mm512_mask_permutexvar_epi8(template, self.digits, order, text);
                _mm512_storeu_si512(cells.texts.as_mut_ptr().add(2 * index + half).cast(), cell);
            }
        }
    }
}

/// Loads eight values as f64.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<R: Real>(values: &[R; 8]) -> __m512d {
    // SAFETY: `values` is a reference to eight values. `Real` is sealed to f32 and f64, which differ in size.
    unsafe {
        if size_of::<R>() == size_of::<f32>() {
            _mm512_cvtps_pd(_mm256_loadu_ps(values.as_ptr().cast()))
        } else {
            _mm512_loadu_pd(values.as_ptr().cast())
        }
    }
}

/// Splits numbers below 10^8 into eight digits, one per byte, the last digit lowest.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn decimal(numbers: __m512i) -> __m512i {
    // (n · ceil(2^40 / 10^4)) >> 40, exact below 10^8; the quotient moves to the upper half.
    let upper = _mm512_srli_epi64::<40>(_mm512_mul_epu32(numbers, _mm512_set1_epi64(109_951_163)));
    let fours = _mm512_add_epi64(numbers, _mm512_mul_epu32(upper, _mm512_set1_epi64((1 << 32) - 10_000)));
    // (n · 5243) >> 19, exact below 10^4. Four times the quotient, because 2^16 - 100 does not fit a signed 16-bit
    // integer.
    let upper = _mm512_srli_epi32::<1>(_mm512_mulhi_epu16(fours, _mm512_set1_epi32(5243)));
    let upper = _mm512_and_si512(upper, _mm512_set1_epi32(!3));
    let pairs = _mm512_dpwssd_epi32(fours, upper, _mm512_set1_epi32(((1 << 16) - 100) / 4));
    // (n · 6554) >> 16, exact below 100.
    let upper = _mm512_mulhi_epu16(pairs, _mm512_set1_epi16(6554));
    _mm512_add_epi16(pairs, _mm512_mullo_epi16(upper, _mm512_set1_epi16(256 - 10)))
}
