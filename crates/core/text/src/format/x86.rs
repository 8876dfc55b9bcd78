//! Writes lines of fixed digits with AVX-512: four values of 16 bytes at a time, compressed into one store.
//!
//! Each value below 10^13 after scaling is laid out as sign, 13 digits and a point, separator. One compressing
//! instruction drops leading zeros and the sign of positive numbers. The portable writer handles groups of lines with
//! any other value, or with a product that is a tie only because it was rounded. The text is the same, which a test
//! verifies.
//!
//! Several quads of four values go through each step together. A single quad is a dependency chain of some 70 cycles,
//! too long for a CPU to overlap the chains of successive lines: measured 21 ns per line of three values that way, 6.6
//! ns this way.

use crate::arch::*;

use super::fixed::{Real, Scale};
use super::line::FixedLine;
use super::pen::Pen;

/// Number of digits of the integer that a value is scaled to.
const DIGITS: usize = 13;
/// A bit for the first byte of each value.
const FIRST_BYTES: u64 = 0x0001_0001_0001_0001;
/// Number of values in a quad.
const QUAD: usize = 4;
/// Number of quads that go through each step together.
const QUADS: usize = 8;

/// Vectors and masks shared by all lines with the same scale and separator.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinePlan {
    /// Byte indices of digit pairs; the pairs of value j start at 16 j, lowest pair first, in every other byte.
    order: AlignedBytes,
    /// `-`, zeros for the digits, point, separator.
    template: AlignedBytes,
    /// Bytes that hold the first digit of a pair.
    tens: u64,
    /// Bytes that hold the second digit of a pair.
    ones: u64,
    /// Bytes that are always written: the last digit of the whole part, and everything after it.
    always: u64,
    power: f64,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct AlignedBytes([u8; 64]);

/// First digits of 0 to 99.
static TENS: [AlignedBytes; 2] = digit_table(10);
/// Second digits of 0 to 99.
static ONES: [AlignedBytes; 2] = digit_table(1);

const fn digit_table(weight: usize) -> [AlignedBytes; 2] {
    let mut table = [AlignedBytes([b'0'; 64]); 2];
    let mut n = 0;
    while n < 100 {
        table[n / 64].0[n % 64] = b'0' + (n / weight % 10) as u8;
        n += 1;
    }
    table
}

impl LinePlan {
    /// Creates a plan, if this CPU has the required instructions.
    pub(super) fn if_possible(scale: &Scale, separator: u8) -> Option<Self> {
        let possible = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        possible.then(|| Self::new(scale, separator))
    }

    fn new(scale: &Scale, separator: u8) -> Self {
        let mut plan = Self {
            order: AlignedBytes([0; 64]),
            template: AlignedBytes([0; 64]),
            tens: 0,
            ones: 0,
            always: 0,
            power: scale.power,
        };
        // Without a point, the digits extend to the separator.
        let point = if scale.digits == 0 { 1 } else { DIGITS + 1 - scale.digits };
        for byte in 0..64 {
            let value = byte / 16;
            let position = byte % 16;
            plan.template.0[byte] = match position {
                0 => b'-',
                15 => separator,
                _ if position == point => b'.',
                _ => {
                    let weight = DIGITS + usize::from(position > point) - position;
                    plan.order.0[byte] = (16 * value + weight / 2 * 2) as u8;
                    let digits = if weight % 2 == 1 { &mut plan.tens } else { &mut plan.ones };
                    *digits |= 1 << byte;
                    0
                }
            };
        }
        let last_whole = if scale.digits == 0 { DIGITS + 1 } else { point - 1 };
        plan.always = FIRST_BYTES * ((0xFFFF << last_whole) & 0xFFFF);
        plan
    }

    /// Stores lines.
    ///
    /// # Safety
    /// The room that [`FixedLine::portable_rows`] requires, and a CPU with the features that `target_feature` names:
    /// [`LinePlan::if_possible`] proves them.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
    #[target_feature(enable = "bmi2,popcnt")]
    pub(super) unsafe fn rows<const N: usize, R: Real>(
        &self,
        mut pen: Pen,
        line: &FixedLine<'_>,
        rows: &[[R; N]],
    ) -> Pen {
        let quads_per_row = const { if N == 0 { 1 } else { N.div_ceil(QUAD) } };
        let rows_together = if quads_per_row <= QUADS { QUADS / quads_per_row } else { usize::MAX };
        let mut groups = rows.chunks_exact(rows_together);
        for group in &mut groups {
            let values = quads(group, quads_per_row);
            // SAFETY: each row of the group has its `room_bytes(N)` left. `store` advances by at most 16 bytes per
            // value, fewer than `room_bytes` counts, and stores 64, which are within `SLACK` behind the text; prefix
            // and end are counted too.
            unsafe {
                let Some(texts) = self.texts::<R>(values) else {
                    pen = line.portable_rows(pen, group);
                    continue;
                };
                for row in texts.chunks_exact(quads_per_row).take(rows_together) {
                    pen = line.prefix().put(pen);
                    for (quad, text) in row.iter().enumerate() {
                        pen = text.store(pen, (N - QUAD * quad).min(QUAD));
                    }
                    pen = line.finish(pen, N);
                }
            }
        }
        // SAFETY: the previous rows used at most their share of the room, so the share of the remainder is left.
        unsafe { line.portable_rows(pen, groups.remainder()) }
    }

    /// Returns the digits of quads of four values, or `None` if a value is too large, or if its product is a tie only
    /// because it was rounded.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
    #[target_feature(enable = "bmi2,popcnt")]
    fn digits<R: Real>(&self, values: [__m256d; QUADS]) -> Option<[__m512i; QUADS]> {
        // Each value twice: one lane for its lower eight digits, one for the rest.
        let twice = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
        let mut parts = [_mm512_setzero_si512(); QUADS];
        let mut fits = 0xFF;
        let mut no_ties = 0xFF;
        for (part, values) in parts.iter_mut().zip(values) {
            let magnitude = _mm512_abs_pd(_mm512_permutexvar_pd(twice, _mm512_castpd256_pd512(values)));
            let scaled = _mm512_mul_pd(magnitude, _mm512_set1_pd(self.power));
            *part = _mm512_cvt_roundpd_epu64::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(scaled);
            // Below 10^13 even after rounding; never true for NaN.
            fits &= _mm512_cmp_pd_mask::<_CMP_LE_OQ>(scaled, _mm512_set1_pd(1e13 - 1.0));
            if R::PRODUCT_IS_ROUNDED {
                let rest = _mm512_abs_pd(_mm512_sub_pd(_mm512_cvtepu64_pd(*part), scaled));
                no_ties &= _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(rest, _mm512_set1_pd(0.5));
            }
        }
        if fits != 0xFF || (no_ties != 0xFF && !self.ties_are_exact(values)) {
            return None;
        }
        split_into_pairs(&mut parts);
        self.place(&mut parts);
        Some(parts)
    }

    /// Returns whether all products that end in exactly one half are exact, that is, real ties.
    #[cold]
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn ties_are_exact(&self, quads: [__m256d; QUADS]) -> bool {
        quads.into_iter().all(|values| {
            let scaled = _mm256_mul_pd(values, _mm256_set1_pd(self.power));
            let whole = _mm256_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(scaled);
            let rest = _mm256_mul_pd(_mm256_sub_pd(whole, scaled), _mm256_set1_pd(2.0));
            let ties = _mm256_cmp_pd_mask::<_CMP_EQ_OQ>(_mm256_mul_pd(rest, rest), _mm256_set1_pd(1.0));
            // Rounding error of the multiplication, from a fused multiply-subtract.
            let lost = _mm512_fmsub_pd(
                _mm512_castpd256_pd512(values),
                _mm512_set1_pd(self.power),
                _mm512_castpd256_pd512(scaled),
            );
            ties & _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(lost, _mm512_setzero_pd()) == 0
        })
    }

    /// Returns the texts of quads of four values: [`digits`](Self::digits), and the bytes to write.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
    #[target_feature(enable = "bmi2,popcnt")]
    fn texts<R: Real>(&self, values: [__m256d; QUADS]) -> Option<[QuadText; QUADS]> {
        let parts = self.digits::<R>(values)?;
        let mut texts = [QuadText { bytes: _mm512_setzero_si512(), written: 0 }; QUADS];
        for ((text, bytes), values) in texts.iter_mut().zip(parts).zip(values) {
            *text = QuadText { bytes, written: self.written(bytes, values) };
        }
        Some(texts)
    }

    /// Turns digit pairs into text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn place(&self, parts: &mut [__m512i; QUADS]) {
        let order = vector(&self.order);
        let template = vector(&self.template);
        for part in parts.iter_mut() {
            *part = _mm512_mask_permutexvar_epi8(template, self.tens | self.ones, order, *part);
        }
        for part in parts.iter_mut() {
            *part = _mm512_mask2_permutex2var_epi8(vector(&TENS[0]), *part, self.tens, vector(&TENS[1]));
        }
        for part in parts {
            *part = _mm512_mask2_permutex2var_epi8(vector(&ONES[0]), *part, self.ones, vector(&ONES[1]));
        }
    }

    /// Returns a mask of the bytes of a quad's text that are written.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
    fn written(&self, bytes: __m512i, values: __m256d) -> u64 {
        let negative = _mm256_movemask_pd(values) as u64;
        let text = self.tens | self.ones | self.always;
        self.significant(bytes) & text | _pdep_u64(negative, FIRST_BYTES)
    }

    /// Returns a mask in which the bit of the first digit to write and all higher bits are set, in each 16 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn significant(&self, bytes: __m512i) -> u64 {
        let digits = self.tens | self.ones;
        let seen = _mm512_mask_cmpneq_epi8_mask(digits, bytes, _mm512_set1_epi8(b'0' as i8)) | self.always;
        seen | (!seen).wrapping_add(FIRST_BYTES)
    }
}

impl LinePlan {
    /// Right-aligns the texts of values below 10^13 after scaling; see [`super::row`].
    ///
    /// Each text ends before the last of its 16 bytes, padded with `-` on the left. Returns the position of each first
    /// digit (16 bits per value of a quad, set from that digit on), or `None` as [`digits`](Self::digits) does.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
    #[target_feature(enable = "bmi2,popcnt")]
    pub(super) fn right_aligned<R: Real>(
        &self,
        values: &[R; QUAD * QUADS],
        texts: &mut [[u8; 64]; QUADS],
    ) -> Option<[u64; QUADS]> {
        let parts = self.digits::<R>(quads(values.as_chunks::<QUAD>().0, 1))?;
        let mut firsts = [0; QUADS];
        for ((bytes, text), first) in parts.into_iter().zip(texts).zip(&mut firsts) {
            *first = self.significant(bytes);
            let filled = _mm512_mask_mov_epi8(bytes, !*first, _mm512_set1_epi8(b'-' as i8));
            // SAFETY: `__m512i` and `[u8; 64]` have the same size, and every bit pattern is valid for bytes.
            *text = unsafe { std::mem::transmute::<__m512i, [u8; 64]>(filled) };
        }
        Some(firsts)
    }
}

/// Text of four values, and a bit for each byte that is written.
#[derive(Clone, Copy)]
struct QuadText {
    bytes: __m512i,
    written: u64,
}

impl QuadText {
    /// Stores the first `count` values, each with a separator.
    ///
    /// # Safety
    /// 64 bytes from `pen` must be inside its buffer, and the CPU has the features that `target_feature` names.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
    unsafe fn store(self, pen: Pen, count: usize) -> Pen {
        let written = _bzhi_u64(self.written, 16 * count as u32);
        // SAFETY: `__m512i` and `[u8; 64]` have the same size, and every bit pattern is valid for bytes. 64 bytes from
        // `pen` are inside the buffer; `written` has at most 64 bits, so that the pen stays within them.
        unsafe {
            let packed: [u8; 64] = std::mem::transmute(_mm512_maskz_compress_epi8(written, self.bytes));
            pen.put(packed, written.count_ones() as usize)
        }
    }
}

/// Loads the values of some rows, each row into its own quads.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn quads<const N: usize, R: Real>(rows: &[[R; N]], quads_per_row: usize) -> [__m256d; QUADS] {
    let mut quads = [_mm256_setzero_pd(); QUADS];
    for (index, quad) in quads.iter_mut().enumerate() {
        let row = index / quads_per_row;
        let first = index % quads_per_row * QUAD;
        if row < rows.len() {
            let values = &rows[row][first..];
            // SAFETY: `values` is the rest of a row, and `count` at most its length.
            *quad = unsafe { load(values.as_ptr(), values.len().min(QUAD)) };
        }
    }
    quads
}

/// Loads `count` (at most 4) values as f64; the remaining lanes are zero.
///
/// # Safety
/// `count` values must be readable at `values`, and the CPU has the features that `target_feature` names.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
unsafe fn load<R: Real>(values: *const R, count: usize) -> __m256d {
    let lanes = !(0xFF << count) & 0xF;
    // SAFETY: a masked load reads only the lanes in its mask: the first `count`, which are readable. `Real` is sealed
    // to f32 and f64, which differ in size.
    unsafe {
        if size_of::<R>() == size_of::<f32>() {
            _mm256_cvtps_pd(_mm_maskz_loadu_ps(lanes, values.cast()))
        } else {
            _mm256_maskz_loadu_pd(lanes, values.cast())
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vector(bytes: &AlignedBytes) -> __m512i {
    // SAFETY: `AlignedBytes` is 64 bytes and `repr(align(64))`, as the aligned load requires.
    unsafe { _mm512_load_si512(bytes.0.as_ptr().cast()) }
}

/// Splits pairs of equal integers below 10^13 into their decimal digits: two in every other byte, lowest first.
///
/// Each step divides all parts at once and leaves the remainder in the lower half of each part and the quotient in the
/// upper: by 10^8 across the pair, then by 10^4 and 100.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512vnni")]
fn split_into_pairs(parts: &mut [__m512i; QUADS]) {
    let mut quotients = [_mm512_setzero_si512(); QUADS];
    for (quotient, part) in quotients.iter_mut().zip(&*parts) {
        // (n · ceil(2^78 / 10^8)) >> 78, exact below 10^13.
        let high = _mm512_madd52hi_epu64(*quotient, *part, _mm512_set1_epi64(3_022_314_549_036_573));
        *quotient = _mm512_srli_epi64::<26>(high);
    }
    for (part, quotient) in parts.iter_mut().zip(quotients) {
        // Modulo 2^52, because there is no multiply-subtract.
        let low = _mm512_madd52lo_epu64(*part, quotient, _mm512_set1_epi64((1 << 52) - 100_000_000));
        *part = _mm512_mask_and_epi64(quotient, 0b0101_0101, low, _mm512_set1_epi64((1 << 52) - 1));
    }
    for part in parts.iter_mut() {
        // (n · ceil(2^52 / 10^4)) >> 52, exact below 10^8.
        let quotient = _mm512_madd52hi_epu64(_mm512_setzero_si512(), *part, _mm512_set1_epi64(450_359_962_738));
        *part = _mm512_madd52lo_epu64(*part, quotient, _mm512_set1_epi64((1 << 32) - 10_000));
    }
    for part in parts {
        // (n · 5243) >> 19, exact below 10^4. Four times the quotient, because 2^16 - 100 does not fit a signed 16-bit
        // integer.
        let quotient = _mm512_srli_epi32::<1>(_mm512_mulhi_epu16(*part, _mm512_set1_epi32(5243)));
        let quotient = _mm512_and_si512(quotient, _mm512_set1_epi32(!3));
        *part = _mm512_dpwssd_epi32(*part, quotient, _mm512_set1_epi32(((1 << 16) - 100) / 4));
    }
}
