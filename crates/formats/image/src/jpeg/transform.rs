//! Converts the coefficients of a block to samples: the inverse DCT (T.81, A.3.3) in integer arithmetic.
//!
//! The algorithm is C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical fast 1-D DCT algorithms with 11
//! multiplications" (ICASSP 1989), with 13 fractional bits for factors and 2 for samples between the passes. libjpeg
//! rounds identically, so samples are equal: see `tools/testkit/make_jpegs.py`.
//!
//! Coefficients and intermediate values have 16 bits, so that SIMD instructions can multiply and add pairs. Only
//! damaged files have larger values, which wrap or are clamped identically for every instruction set.

use super::blocks::Block;
use polyhaul_text::cpu::Level;

/// One value per column or row of a block.
type Lanes = [i32; 8];

/// Fractional bits of a factor.
const FACTOR_BITS: u32 = 13;

/// Fractional bits of a sample after the first pass.
const BETWEEN_BITS: u32 = 2;

/// Bits rounded off by each pass: the fractional bits of the factors and, in the second pass, also of the samples,
/// which the transform scales by 8.
const FIRST_BITS: u32 = FACTOR_BITS - BETWEEN_BITS;
const SECOND_BITS: u32 = FACTOR_BITS + BETWEEN_BITS + 3;

/// Returns a factor as a fixed-point number.
const fn factor(value: f64) -> i32 {
    (value * (1 << FACTOR_BITS) as f64 + 0.5) as i32
}

#[inline(always)]
fn zip(first: Lanes, second: Lanes, with: impl Fn(i32, i32) -> i32) -> Lanes {
    let mut result = [0; 8];
    for lane in 0..8 {
        result[lane] = with(first[lane], second[lane]);
    }
    result
}

/// Adds two 16-bit numbers with wrapping.
#[inline(always)]
fn add_narrow(first: Lanes, second: Lanes) -> Lanes {
    zip(first, second, |first, second| i32::from(first.wrapping_add(second) as i16))
}

/// Adds with wrapping: damaged files have coefficients of any size.
#[inline(always)]
fn add(first: Lanes, second: Lanes) -> Lanes {
    zip(first, second, i32::wrapping_add)
}

#[inline(always)]
fn subtract(first: Lanes, second: Lanes) -> Lanes {
    zip(first, second, i32::wrapping_sub)
}

#[inline(always)]
fn times(lanes: Lanes, factor: i32) -> Lanes {
    lanes.map(|lane| lane.wrapping_mul(factor))
}

/// Computes eight 1-D transforms of eight numbers. Rounds off `bits` bits of the results.
#[inline(always)]
fn pass(input: [Lanes; 8], bits: u32) -> [Lanes; 8] {
    // Even part: inputs 0, 2, 4 and 6.
    let turned = times(add(input[2], input[6]), factor(0.541_196_100));
    let even_2 = add(turned, times(input[6], -factor(1.847_759_065)));
    let even_3 = add(turned, times(input[2], factor(0.765_366_865)));
    let even_0 = add(input[0], input[4]).map(|lane| lane << FACTOR_BITS);
    let even_1 = subtract(input[0], input[4]).map(|lane| lane << FACTOR_BITS);
    let even = [add(even_0, even_3), add(even_1, even_2), subtract(even_1, even_2), subtract(even_0, even_3)];

    // Odd part: inputs 1, 3, 5 and 7.
    let sum_71 = times(add(input[7], input[1]), -factor(0.899_976_223));
    let sum_53 = times(add(input[5], input[3]), -factor(2.562_915_447));
    let sum_73 = add_narrow(input[7], input[3]);
    let sum_51 = add_narrow(input[5], input[1]);
    let shared = times(add(sum_73, sum_51), factor(1.175_875_602));
    let sum_73 = add(times(sum_73, -factor(1.961_570_560)), shared);
    let sum_51 = add(times(sum_51, -factor(0.390_180_644)), shared);
    let odd = [
        add(times(input[1], factor(1.501_321_110)), add(sum_71, sum_51)),
        add(times(input[3], factor(3.072_711_026)), add(sum_53, sum_73)),
        add(times(input[5], factor(2.053_119_869)), add(sum_53, sum_51)),
        add(times(input[7], factor(0.298_631_336)), add(sum_71, sum_73)),
    ];

    let rounded = |lanes: Lanes| lanes.map(|lane| lane.wrapping_add(1 << (bits - 1)) >> bits);
    let mut output = [[0; 8]; 8];
    for index in 0..4 {
        output[index] = rounded(add(even[index], odd[index]));
        output[7 - index] = rounded(subtract(even[index], odd[index]));
    }
    output
}

/// Transposes a block.
#[inline(always)]
fn transposed(input: [Lanes; 8]) -> [Lanes; 8] {
    let mut output = [[0; 8]; 8];
    for (row, lanes) in input.iter().enumerate() {
        for (column, lane) in lanes.iter().enumerate() {
            output[column][row] = *lane;
        }
    }
    output
}

/// Writes the samples of a block to rows `stride` bytes apart. The first row is at the start of `samples`.
fn samples_of(block: &Block, quantization: &[u16; 64], samples: &mut [u8], stride: usize) {
    let mut input = [[0; 8]; 8];
    for ((value, coefficient), step) in input.as_flattened_mut().iter_mut().zip(block).zip(quantization) {
        *value = i32::from(coefficient.wrapping_mul(*step as i16));
    }
    let narrow = |lanes: Lanes| lanes.map(|lane| lane.clamp(i32::from(i16::MIN), i32::from(i16::MAX)));
    let columns = pass(input, FIRST_BITS).map(narrow);
    let rows = pass(transposed(columns), SECOND_BITS);
    for (row, samples) in transposed(rows).iter().zip(samples.chunks_mut(stride)) {
        for (value, sample) in row.iter().zip(samples) {
            *sample = value.saturating_add(128).clamp(0, 255) as u8;
        }
    }
}

/// Writes the samples of a block with only a DC coefficient, which is 8 times the value of each sample.
fn flat(mean: i16, samples: &mut [u8], stride: usize) {
    let value = ((i32::from(mean) + 4) >> 3).saturating_add(128).clamp(0, 255) as u8;
    for row in samples.chunks_mut(stride).take(8) {
        row[..8].fill(value);
    }
}

/// Writes the samples of a block to rows `stride` bytes apart. The first row is at the start of `samples`. `last` is
/// the index of the last nonzero coefficient, or larger.
pub(super) fn write_block(
    level: Level,
    block: &Block,
    last: usize,
    quantization: &[u16; 64],
    samples: &mut [u8],
    stride: usize,
) {
    // The last row may end before a full stride.
    let samples = &mut samples[..7 * stride + 8];
    if last == 0 {
        return flat(block[0].wrapping_mul(quantization[0] as i16), samples, stride);
    }
    #[cfg(target_arch = "x86_64")]
    if level.min(Level::best()) >= Level::Avx2 {
        // SAFETY: `Level::best()` bounds the level, so the CPU has AVX2.
        return unsafe { x86::samples_of(block, quantization, samples, stride) };
    }
    let _ = level;
    samples_of(block, quantization, samples, stride);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Block, FACTOR_BITS, FIRST_BITS, SECOND_BITS, factor};
    use std::arch::x86_64::*;

    /// Returns two factors for the 16-bit halves of each lane.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn factors(first: i32, second: i32) -> __m256i {
        _mm256_set1_epi32(second << 16 | first & 0xFFFF)
    }

    /// Interleaves the numbers of two rows.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn zipped(first: __m128i, second: __m128i) -> __m256i {
        _mm256_set_m128i(_mm_unpackhi_epi16(first, second), _mm_unpacklo_epi16(first, second))
    }

    /// Same as `super::pass`, with products regrouped by input: each `madd` computes two products and their sum.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn pass<const BITS: i32>(input: [__m128i; 8]) -> [__m256i; 8] {
        // Combined factors are below 4 in magnitude, so they fit in 16 bits.
        const ONE: i32 = 1 << FACTOR_BITS;
        let [turn, plus, minus] = [factor(0.541_196_100), factor(0.765_366_865), factor(1.847_759_065)];
        let pair = zipped(input[2], input[6]);
        let even_3 = _mm256_madd_epi16(pair, factors(turn + plus, turn));
        let even_2 = _mm256_madd_epi16(pair, factors(turn, turn - minus));
        let pair = zipped(input[0], input[4]);
        let even_0 = _mm256_madd_epi16(pair, factors(ONE, ONE));
        let even_1 = _mm256_madd_epi16(pair, factors(ONE, -ONE));
        let even = [
            _mm256_add_epi32(even_0, even_3),
            _mm256_add_epi32(even_1, even_2),
            _mm256_sub_epi32(even_1, even_2),
            _mm256_sub_epi32(even_0, even_3),
        ];

        let shared = factor(1.175_875_602);
        let sums = zipped(_mm_add_epi16(input[7], input[3]), _mm_add_epi16(input[5], input[1]));
        let sum_73 = _mm256_madd_epi16(sums, factors(shared - factor(1.961_570_560), shared));
        let sum_51 = _mm256_madd_epi16(sums, factors(shared, shared - factor(0.390_180_644)));
        let [outer, inner] = [factor(0.899_976_223), factor(2.562_915_447)];
        let pair = zipped(input[7], input[1]);
        let odd_3 = _mm256_madd_epi16(pair, factors(factor(0.298_631_336) - outer, -outer));
        let odd_0 = _mm256_madd_epi16(pair, factors(-outer, factor(1.501_321_110) - outer));
        let pair = zipped(input[5], input[3]);
        let odd_2 = _mm256_madd_epi16(pair, factors(factor(2.053_119_869) - inner, -inner));
        let odd_1 = _mm256_madd_epi16(pair, factors(-inner, factor(3.072_711_026) - inner));
        let odd = [
            _mm256_add_epi32(odd_0, sum_51),
            _mm256_add_epi32(odd_1, sum_73),
            _mm256_add_epi32(odd_2, sum_51),
            _mm256_add_epi32(odd_3, sum_73),
        ];

        let half = _mm256_set1_epi32(1 << (BITS - 1));
        let mut output = [half; 8];
        for index in 0..4 {
            // One addition rounds both outputs, since both contain the even part.
            let even = _mm256_add_epi32(even[index], half);
            output[index] = _mm256_srai_epi32::<BITS>(_mm256_add_epi32(even, odd[index]));
            output[7 - index] = _mm256_srai_epi32::<BITS>(_mm256_sub_epi32(even, odd[index]));
        }
        output
    }

    /// Narrows rows to 16 bits, clamped.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn narrowed(wide: [__m256i; 8]) -> [__m128i; 8] {
        let mut rows = [_mm_setzero_si128(); 8];
        for index in [0, 2, 4, 6] {
            // Packing interleaves 128-bit halves, so the middle quarters must be swapped.
            let packed = _mm256_packs_epi32(wide[index], wide[index + 1]);
            let both = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
            rows[index] = _mm256_castsi256_si128(both);
            rows[index + 1] = _mm256_extracti128_si256::<1>(both);
        }
        rows
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn transposed(rows: [__m128i; 8]) -> [__m128i; 8] {
        let mut twos = rows;
        let mut fours = rows;
        let mut columns = rows;
        for index in 0..4 {
            twos[2 * index] = _mm_unpacklo_epi16(rows[2 * index], rows[2 * index + 1]);
            twos[2 * index + 1] = _mm_unpackhi_epi16(rows[2 * index], rows[2 * index + 1]);
        }
        for index in [0, 4] {
            fours[index] = _mm_unpacklo_epi32(twos[index], twos[index + 2]);
            fours[index + 1] = _mm_unpackhi_epi32(twos[index], twos[index + 2]);
            fours[index + 2] = _mm_unpacklo_epi32(twos[index + 1], twos[index + 3]);
            fours[index + 3] = _mm_unpackhi_epi32(twos[index + 1], twos[index + 3]);
        }
        for index in 0..4 {
            columns[2 * index] = _mm_unpacklo_epi64(fours[index], fours[index + 4]);
            columns[2 * index + 1] = _mm_unpackhi_epi64(fours[index], fours[index + 4]);
        }
        columns
    }

    /// Converts columns of samples to rows of bytes, two per vector. Samples are clamped, and 0 becomes 128.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn bytes(columns: [__m128i; 8]) -> [__m128i; 4] {
        let halves = [0, 1, 2, 3].map(|index| _mm_packs_epi16(columns[index], columns[index + 4]));
        let twos = [
            _mm_unpacklo_epi8(halves[0], halves[1]),
            _mm_unpacklo_epi8(halves[2], halves[3]),
            _mm_unpackhi_epi8(halves[0], halves[1]),
            _mm_unpackhi_epi8(halves[2], halves[3]),
        ];
        let low = [_mm_unpacklo_epi16(twos[0], twos[1]), _mm_unpacklo_epi16(twos[2], twos[3])];
        let high = [_mm_unpackhi_epi16(twos[0], twos[1]), _mm_unpackhi_epi16(twos[2], twos[3])];
        let rows = [
            _mm_unpacklo_epi32(low[0], low[1]),
            _mm_unpackhi_epi32(low[0], low[1]),
            _mm_unpacklo_epi32(high[0], high[1]),
            _mm_unpackhi_epi32(high[0], high[1]),
        ];
        rows.map(|row| _mm_xor_si128(row, _mm_set1_epi8(i8::MIN)))
    }

    /// Same as `super::samples_of`, with two products and their sum per instruction.
    #[target_feature(enable = "avx2")]
    pub(super) fn samples_of(block: &Block, quantization: &[u16; 64], samples: &mut [u8], stride: usize) {
        let mut input = [_mm_setzero_si128(); 8];
        let rows = block.as_chunks::<8>().0.iter().zip(quantization.as_chunks::<8>().0);
        for (row, (coefficients, steps)) in input.iter_mut().zip(rows) {
            // SAFETY: each load reads 8 numbers of 2 bytes, which the arrays have.
            let loaded =
                unsafe { [_mm_loadu_si128(coefficients.as_ptr().cast()), _mm_loadu_si128(steps.as_ptr().cast())] };
            *row = _mm_mullo_epi16(loaded[0], loaded[1]);
        }
        let columns = narrowed(pass::<{ FIRST_BITS as i32 }>(input));
        let rows = bytes(narrowed(pass::<{ SECOND_BITS as i32 }>(transposed(columns))));
        let mut places = samples.chunks_mut(stride);
        for row in rows {
            let pair = [_mm_cvtsi128_si64(row), _mm_extract_epi64::<1>(row)];
            for (bytes, place) in pair.map(i64::to_le_bytes).into_iter().zip(&mut places) {
                place[..8].copy_from_slice(&bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(level: Level, block: &Block, last: usize) -> [u8; 64] {
        let mut samples = [0; 64];
        write_block(level, block, last, &[3; 64], &mut samples, 8);
        samples
    }

    fn random_block(seed: u32, range: i32) -> Block {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        [0; 64].map(|_: i16| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state as i32 % range) as i16
        })
    }

    /// The inverse DCT in floating point, by its definition.
    fn exact(block: &Block) -> [f64; 64] {
        let factor = |index: usize| if index == 0 { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
        let wave = |index: usize, at: usize| ((2 * at + 1) as f64 * index as f64 * std::f64::consts::PI / 16.0).cos();
        std::array::from_fn(|sample| {
            let mut sum = 0.0;
            for (index, coefficient) in block.iter().enumerate() {
                let value = 3.0 * f64::from(*coefficient);
                let weight = factor(index / 8) * factor(index % 8);
                sum += weight * value * wave(index / 8, sample / 8) * wave(index % 8, sample % 8);
            }
            (sum / 4.0 + 128.0).clamp(0.0, 255.0)
        })
    }

    #[test]
    fn samples_are_within_one_of_the_definition() {
        for seed in 0..200 {
            let block = random_block(seed, 60);
            let decoded = samples(Level::Portable, &block, 63);
            for (decoded, exact) in decoded.iter().zip(exact(&block)) {
                assert!((f64::from(*decoded) - exact).abs() < 1.0, "{decoded} {exact}");
            }
        }
    }

    #[test]
    fn every_level_gives_the_same() {
        for seed in 0..200 {
            for range in [5, 300, 32_767] {
                let block = random_block(seed, range);
                let portable = samples(Level::Portable, &block, 63);
                for level in Level::all() {
                    assert_eq!(samples(level, &block, 63), portable);
                }
            }
        }
    }

    #[test]
    fn blocks_of_one_color_are_the_same_in_either_way() {
        for mean in [-32_768, -700, -3, -1, 0, 1, 2, 341, 5000] {
            let mut block = [0; 64];
            block[0] = mean;
            assert_eq!(samples(Level::Portable, &block, 0), samples(Level::Portable, &block, 63), "{mean}");
        }
    }
}
