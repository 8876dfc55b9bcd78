//! x86-64 intrinsics: re-exports `std::arch`, and implements, in plain Rust, the intrinsics that Miri lacks.
//!
//! This lets Miri check every load, store and index of the AVX-512 kernels.

pub(crate) use std::arch::x86_64::*;

#[cfg(miri)]
pub(crate) use interpreted::{
    _mm256_cmp_pd_mask, _mm256_cvtepi64_pd, _mm256_maskz_compress_epi32, _mm256_permutexvar_epi8, _mm256_roundscale_pd,
    _mm512_cmp_pd_mask, _mm512_cvt_roundpd_epu64, _mm512_cvtepi64_epi8, _mm512_cvtepi64_pd, _mm512_cvtepu64_pd,
    _mm512_cvtpd_ps, _mm512_cvtps_pd, _mm512_dpwssd_epi32, _mm512_i64gather_epi64, _mm512_madd52hi_epu64,
    _mm512_madd52lo_epu64, _mm512_mask_permutexvar_epi8, _mm512_maskz_compress_epi8, _mm512_permutex2var_pd,
    _mm512_permutexvar_epi8, _mm512_permutexvar_epi64, _mm512_permutexvar_pd, _mm512_ternarylogic_epi64,
};

/// Replacements for intrinsics of the standard library, with the same names, parameters and results.
#[cfg(any(miri, test))]
mod interpreted {
    use std::arch::x86_64::*;
    use std::array::from_fn;

    /// Splits a vector into its lanes.
    fn lanes<V: Copy, T: Copy, const N: usize>(vector: V) -> [T; N] {
        const { assert!(size_of::<V>() == size_of::<[T; N]>()) };
        // SAFETY: both have the same size, and any bits are valid numbers.
        unsafe { std::mem::transmute_copy(&vector) }
    }

    /// Assembles a vector from its lanes.
    fn vector<V: Copy, T: Copy, const N: usize>(lanes: [T; N]) -> V {
        const { assert!(size_of::<V>() == size_of::<[T; N]>()) };
        // SAFETY: both have the same size, and any bits are valid numbers.
        unsafe { std::mem::transmute_copy(&lanes) }
    }

    /// Returns a mask with a bit for each lane for which the comparison holds.
    fn compare<const PREDICATE: i32, const N: usize>(a: [f64; N], b: [f64; N]) -> __mmask8 {
        let holds = |lane: usize| match PREDICATE {
            _CMP_EQ_OQ => a[lane] == b[lane],
            _CMP_LE_OQ => a[lane] <= b[lane],
            _CMP_NEQ_OQ => a[lane] != b[lane] && !a[lane].is_nan() && !b[lane].is_nan(),
            _ => a[lane] > b[lane],
        };
        (0..N).map(|lane| u8::from(holds(lane)) << lane).sum()
    }

    /// Moves the selected lanes to the front, followed by zeros.
    fn compress<T: Copy + Default, const N: usize>(mask: u64, values: [T; N]) -> [T; N] {
        let mut chosen = (0..N).filter(|lane| mask >> lane & 1 == 1).map(|lane| values[lane]);
        from_fn(|_| chosen.next().unwrap_or_default())
    }

    pub(crate) fn _mm256_cmp_pd_mask<const PREDICATE: i32>(a: __m256d, b: __m256d) -> __mmask8 {
        compare::<PREDICATE, 4>(lanes(a), lanes(b))
    }

    pub(crate) fn _mm512_cmp_pd_mask<const PREDICATE: i32>(a: __m512d, b: __m512d) -> __mmask8 {
        compare::<PREDICATE, 8>(lanes(a), lanes(b))
    }

    pub(crate) fn _mm256_maskz_compress_epi32(mask: __mmask8, a: __m256i) -> __m256i {
        vector(compress::<u32, 8>(mask.into(), lanes(a)))
    }

    pub(crate) fn _mm512_maskz_compress_epi8(mask: __mmask64, a: __m512i) -> __m512i {
        vector(compress::<u8, 64>(mask, lanes(a)))
    }

    pub(crate) fn _mm256_permutexvar_epi8(indices: __m256i, a: __m256i) -> __m256i {
        let [indices, bytes]: [[u8; 32]; 2] = [indices, a].map(lanes);
        vector(indices.map(|index| bytes[usize::from(index) % 32]))
    }

    pub(crate) fn _mm512_permutexvar_epi8(indices: __m512i, a: __m512i) -> __m512i {
        let [indices, bytes]: [[u8; 64]; 2] = [indices, a].map(lanes);
        vector(indices.map(|index| bytes[usize::from(index) % 64]))
    }

    pub(crate) fn _mm512_mask_permutexvar_epi8(
        other: __m512i,
        mask: __mmask64,
        indices: __m512i,
        a: __m512i,
    ) -> __m512i {
        let [other, permuted]: [[u8; 64]; 2] = [other, _mm512_permutexvar_epi8(indices, a)].map(lanes);
        vector::<_, u8, 64>(from_fn(|lane| if mask >> lane & 1 == 1 { permuted[lane] } else { other[lane] }))
    }

    pub(crate) fn _mm512_permutexvar_epi64(indices: __m512i, a: __m512i) -> __m512i {
        let [indices, numbers]: [[u64; 8]; 2] = [indices, a].map(lanes);
        vector(indices.map(|index| numbers[index as usize % 8]))
    }

    pub(crate) fn _mm512_permutexvar_pd(indices: __m512i, a: __m512d) -> __m512d {
        vector::<_, [u64; 8], 1>([lanes(_mm512_permutexvar_epi64(indices, vector::<_, [u64; 8], 1>(lanes(a))))])
    }

    pub(crate) fn _mm512_permutex2var_pd(a: __m512d, indices: __m512i, b: __m512d) -> __m512d {
        let numbers: [[f64; 8]; 2] = [a, b].map(lanes);
        let indices: [usize; 8] = lanes(indices);
        vector(indices.map(|index| numbers[index / 8 % 2][index % 8]))
    }

    /// Rounds to the nearest integer, ties to even: no caller uses another mode.
    pub(crate) fn _mm256_roundscale_pd<const ROUNDING: i32>(a: __m256d) -> __m256d {
        vector(lanes::<_, f64, 4>(a).map(f64::round_ties_even))
    }

    /// Rounds to the nearest integer, ties to even: no caller uses another mode.
    pub(crate) fn _mm512_cvt_roundpd_epu64<const ROUNDING: i32>(a: __m512d) -> __m512i {
        let convert = |value: f64| {
            let rounded = value.round_ties_even();
            // The instruction returns all ones for NaN and for numbers out of range.
            if (0.0..18_446_744_073_709_551_616.0).contains(&rounded) { rounded as u64 } else { u64::MAX }
        };
        vector(lanes::<_, f64, 8>(a).map(convert))
    }

    pub(crate) fn _mm512_cvtepi64_epi8(a: __m512i) -> __m128i {
        let numbers: [u64; 8] = lanes(a);
        vector::<_, u8, 16>(from_fn(|lane| numbers.get(lane).map_or(0, |&number| number as u8)))
    }

    pub(crate) fn _mm256_cvtepi64_pd(a: __m256i) -> __m256d {
        vector(lanes::<_, i64, 4>(a).map(|number| number as f64))
    }

    pub(crate) fn _mm512_cvtepi64_pd(a: __m512i) -> __m512d {
        vector(lanes::<_, i64, 8>(a).map(|number| number as f64))
    }

    pub(crate) fn _mm512_cvtepu64_pd(a: __m512i) -> __m512d {
        vector(lanes::<_, u64, 8>(a).map(|number| number as f64))
    }

    pub(crate) fn _mm512_cvtpd_ps(a: __m512d) -> __m256 {
        vector(lanes::<_, f64, 8>(a).map(|value| value as f32))
    }

    pub(crate) fn _mm512_cvtps_pd(a: __m256) -> __m512d {
        vector(lanes::<_, f32, 8>(a).map(f64::from))
    }

    pub(crate) fn _mm512_dpwssd_epi32(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        let [a, b]: [[i16; 32]; 2] = [a, b].map(lanes);
        let sums: [i32; 16] = lanes(sums);
        let product = |at: usize| i32::from(a[at]) * i32::from(b[at]);
        vector::<_, i32, 16>(from_fn(|lane| {
            sums[lane].wrapping_add(product(2 * lane)).wrapping_add(product(2 * lane + 1))
        }))
    }

    /// # Safety
    /// Eight bytes at each offset are readable.
    pub(crate) unsafe fn _mm512_i64gather_epi64<const SCALE: i32>(offsets: __m512i, base: *const i64) -> __m512i {
        let offsets: [isize; 8] = lanes(offsets);
        // SAFETY: the caller upholds the contract.
        vector(offsets.map(|offset| unsafe { base.wrapping_byte_offset(offset * SCALE as isize).read_unaligned() }))
    }

    /// Multiplies the low 52 bits of each lane, shifts the products right by `shift`, and adds their low 52 bits to
    /// `sums`.
    fn multiply_52(sums: __m512i, a: __m512i, b: __m512i, shift: u32) -> __m512i {
        const MASK: u64 = (1 << 52) - 1;
        let [sums, a, b]: [[u64; 8]; 3] = [sums, a, b].map(lanes);
        let part = |lane: usize| (u128::from(a[lane] & MASK) * u128::from(b[lane] & MASK)) >> shift;
        vector::<_, u64, 8>(from_fn(|lane| sums[lane].wrapping_add(part(lane) as u64 & MASK)))
    }

    pub(crate) fn _mm512_madd52lo_epu64(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        multiply_52(sums, a, b, 0)
    }

    pub(crate) fn _mm512_madd52hi_epu64(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        multiply_52(sums, a, b, 52)
    }

    pub(crate) fn _mm512_ternarylogic_epi64<const TABLE: i32>(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        let [a, b, c]: [[u64; 8]; 3] = [a, b, c].map(lanes);
        let bit = |lane: usize, at: usize| {
            let row = (a[lane] >> at & 1) << 2 | (b[lane] >> at & 1) << 1 | c[lane] >> at & 1;
            (TABLE as u64 >> row & 1) << at
        };
        vector::<_, u64, 8>(from_fn(|lane| (0..64).map(|at| bit(lane, at)).sum()))
    }

    #[cfg(all(test, not(miri)))]
    mod tests {
        use super::*;
        use std::arch::x86_64 as real;

        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

        /// Returns pseudorandom bits.
        fn bits(state: &mut u64) -> [u64; 8] {
            from_fn(|_| {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (*state ^ *state >> 31).rotate_left(29)
            })
        }

        fn same<V: Copy, const N: usize>(a: V, b: V) -> bool {
            lanes::<V, u8, N>(a) == lanes::<V, u8, N>(b)
        }

        /// # Safety
        /// The CPU has AVX-512 with the parts that `target_feature` names.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
        unsafe fn compare_all(state: &mut u64) {
            let [a, b, c]: [__m512i; 3] = from_fn(|_| vector(bits(state)));
            let mask = bits(state)[0];
            let mask8 = mask as u8;
            let [low, other]: [__m256i; 2] = [a, b].map(_mm512_castsi512_si256_of);
            assert!(same::<_, 64>(_mm512_maskz_compress_epi8(mask, a), real::_mm512_maskz_compress_epi8(mask, a)));
            assert!(same::<_, 32>(
                _mm256_maskz_compress_epi32(mask8, low),
                real::_mm256_maskz_compress_epi32(mask8, low)
            ));
            assert!(same::<_, 32>(_mm256_permutexvar_epi8(low, other), real::_mm256_permutexvar_epi8(low, other)));
            let permuted = _mm512_mask_permutexvar_epi8(a, mask, b, c);
            assert!(same::<_, 64>(permuted, real::_mm512_mask_permutexvar_epi8(a, mask, b, c)));
            assert!(same::<_, 64>(_mm512_permutexvar_epi64(a, b), real::_mm512_permutexvar_epi64(a, b)));
            assert!(same::<_, 64>(_mm512_dpwssd_epi32(a, b, c), real::_mm512_dpwssd_epi32(a, b, c)));
            assert!(same::<_, 64>(_mm512_madd52lo_epu64(a, b, c), real::_mm512_madd52lo_epu64(a, b, c)));
            assert!(same::<_, 64>(_mm512_madd52hi_epu64(a, b, c), real::_mm512_madd52hi_epu64(a, b, c)));
            let chosen = _mm512_ternarylogic_epi64::<0xCA>(a, b, c);
            assert!(same::<_, 64>(chosen, real::_mm512_ternarylogic_epi64::<0xCA>(a, b, c)));
            assert!(same::<_, 32>(_mm256_cvtepi64_pd(low), real::_mm256_cvtepi64_pd(low)));
            assert!(same::<_, 64>(_mm512_cvtepi64_pd(a), real::_mm512_cvtepi64_pd(a)));
            assert!(same::<_, 64>(_mm512_cvtepu64_pd(a), real::_mm512_cvtepu64_pd(a)));
            assert!(same::<_, 16>(_mm512_cvtepi64_epi8(a), real::_mm512_cvtepi64_epi8(a)));
            let numbers = bits(state).map(|bits| bits as i64);
            let offsets: __m512i = vector([0_i64, 8, 16, 3, 40, 7, 56, 1]);
            // SAFETY: the offsets are in the numbers, with eight bytes after each.
            let gathered = unsafe { _mm512_i64gather_epi64::<1>(offsets, numbers.as_ptr()) };
            // SAFETY: as above.
            let expected = unsafe { real::_mm512_i64gather_epi64::<1>(offsets, numbers.as_ptr()) };
            assert!(same::<_, 64>(gathered, expected));
            // SAFETY: the caller upholds the contract.
            unsafe { compare_floats(state, a) };
        }

        /// Returns the lower half of a vector, which needs no instruction.
        fn _mm512_castsi512_si256_of(a: __m512i) -> __m256i {
            let bytes: [u8; 64] = lanes(a);
            vector::<_, u8, 32>(from_fn(|lane| bytes[lane]))
        }

        /// # Safety
        /// As for [`compare_all`].
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni")]
        unsafe fn compare_floats(state: &mut u64, indices: __m512i) {
            let value = |bits: u64| (bits as i32 >> (bits >> 60)) as f64 / 8.0;
            let [x, mut y]: [[f64; 8]; 2] = from_fn(|_| bits(state).map(value));
            y[3] = x[3];
            y[5] = f64::NAN;
            let [x, y]: [__m512d; 2] = [x, y].map(vector);
            let pairs = [
                (_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(x, y), real::_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(x, y)),
                (_mm512_cmp_pd_mask::<_CMP_LE_OQ>(x, y), real::_mm512_cmp_pd_mask::<_CMP_LE_OQ>(x, y)),
                (_mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(x, y), real::_mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(x, y)),
                (_mm512_cmp_pd_mask::<_CMP_GT_OQ>(x, y), real::_mm512_cmp_pd_mask::<_CMP_GT_OQ>(x, y)),
            ];
            assert!(pairs.iter().all(|(interpreted, real)| interpreted == real));
            let [half, other] = [_mm512_castpd512_pd256(x), _mm512_castpd512_pd256(y)];
            let mask = _mm256_cmp_pd_mask::<_CMP_EQ_OQ>(half, other);
            assert_eq!(mask, real::_mm256_cmp_pd_mask::<_CMP_EQ_OQ>(half, other));
            let rounded = _mm256_roundscale_pd::<NEAREST>(half);
            assert!(same::<_, 32>(rounded, real::_mm256_roundscale_pd::<NEAREST>(half)));
            let converted = _mm512_cvt_roundpd_epu64::<NEAREST>(y);
            assert!(same::<_, 64>(converted, real::_mm512_cvt_roundpd_epu64::<NEAREST>(y)));
            let narrow = _mm512_cvtpd_ps(x);
            assert!(same::<_, 32>(narrow, real::_mm512_cvtpd_ps(x)));
            assert!(same::<_, 64>(_mm512_cvtps_pd(narrow), real::_mm512_cvtps_pd(narrow)));
            assert!(same::<_, 64>(_mm512_permutexvar_pd(indices, x), real::_mm512_permutexvar_pd(indices, x)));
            let permuted = _mm512_permutex2var_pd(x, indices, y);
            assert!(same::<_, 64>(permuted, real::_mm512_permutex2var_pd(x, indices, y)));
        }

        #[test]
        fn interpreted_instructions_equal_those_of_the_cpu() {
            // CPUs with these have all others, too.
            let has_all = is_x86_feature_detected!("avx512ifma")
                && is_x86_feature_detected!("avx512vbmi2")
                && is_x86_feature_detected!("avx512vnni");
            let mut state = 1;
            for _ in 0..if has_all { 200 } else { 0 } {
                // SAFETY: the features were detected.
                unsafe { compare_all(&mut state) };
            }
        }
    }
}
