//! Powers of ten from 10^-323 to 10^342, 128 bits each, computed at compile time.

/// Lowest power needed: for the smallest f64.
const LOWEST: i32 = -323;
/// Highest power needed: for the smallest f64 with [`super::significant::MAX`] digits.
const HIGHEST: i32 = 342;
const COUNT: usize = (HIGHEST - LOWEST + 1) as usize;

/// The upper 128 bits of 10^k, truncated. The highest bit is set.
#[derive(Clone, Copy)]
pub(super) struct PowerBits {
    pub(super) high: u64,
    pub(super) low: u64,
}

/// Returns the bits of 10^`k`, and the binary exponent of its highest bit. The bits are zeros if `k` is outside the
/// table.
#[inline(always)]
pub(super) fn power(k: i32) -> (PowerBits, i32) {
    // A power below the table becomes a very large index, and is therefore outside the table as well.
    let power = TABLE.get((k - LOWEST) as usize).copied().unwrap_or(PowerBits { high: 0, low: 0 });
    (power, highest_bit(k))
}

/// Returns whether [`PowerBits`] hold 10^`k` exactly: 5^55 fits into 128 bits, but 5^56 does not.
#[inline(always)]
pub(super) fn is_exact(k: i32) -> bool {
    // Negative powers become large numbers: none of them is exact, because 1/5 is not a finite binary fraction.
    (k as u32) <= 55
}

/// Returns the binary exponent of the highest bit of 10^`k`. The construction of the table asserts that the
/// approximation is exact for all of its powers.
#[inline(always)]
pub(super) const fn highest_bit(k: i32) -> i32 {
    // 217,706 / 2^16 approximates log2(10).
    (k * 217_706) >> 16
}

static TABLE: [PowerBits; COUNT] = {
    let mut table = [PowerBits { high: 0, low: 0 }; COUNT];
    // 10^k = 5^k · 2^k: 5^k is an integer for k >= 0; for negative k, 2^(BITS - 1) / 5^-k is computed.
    let mut five = PowerInteger::power_of_two(0);
    let mut k = 0;
    while k <= HIGHEST {
        table[(k - LOWEST) as usize] = five.upper_bits();
        assert!(five.highest_bit() + k == highest_bit(k));
        five.times_five();
        k += 1;
    }
    let mut fifth = PowerInteger::power_of_two(PowerInteger::BITS - 1);
    let mut k = 0;
    while k >= LOWEST {
        if k < 0 {
            table[(k - LOWEST) as usize] = fifth.upper_bits();
            assert!(fifth.highest_bit() - (PowerInteger::BITS as i32 - 1) + k == highest_bit(k));
        }
        fifth.divide_by_five();
        k -= 1;
    }
    table
};

/// Fixed-size integer, lowest limb first: enough for 5^342, and for 2^895 / 5^323 to 128 bits.
struct PowerInteger([u64; 14]);

impl PowerInteger {
    const LIMBS: usize = 14;
    const BITS: usize = 64 * Self::LIMBS;

    const fn power_of_two(exponent: usize) -> Self {
        let mut limbs = [0; Self::LIMBS];
        limbs[exponent / 64] = 1 << (exponent % 64);
        Self(limbs)
    }

    const fn times_five(&mut self) {
        let mut limb = 0;
        let mut carry = 0;
        while limb < Self::LIMBS {
            let wide = self.0[limb] as u128 * 5 + carry;
            self.0[limb] = wide as u64;
            carry = wide >> 64;
            limb += 1;
        }
    }

    /// Drops the remainder: repeated division yields the same quotient as a single division by the product.
    const fn divide_by_five(&mut self) {
        let mut limb = Self::LIMBS;
        let mut rest = 0;
        while limb > 0 {
            limb -= 1;
            let wide = rest << 64 | self.0[limb] as u128;
            self.0[limb] = (wide / 5) as u64;
            rest = wide % 5;
        }
    }

    const fn highest_bit(&self) -> i32 {
        let mut limb = Self::LIMBS;
        while limb > 1 && self.0[limb - 1] == 0 {
            limb -= 1;
        }
        limb as i32 * 64 - 1 - self.0[limb - 1].leading_zeros() as i32
    }

    const fn limb(&self, index: i32) -> u128 {
        if index >= 0 && index < Self::LIMBS as i32 { self.0[index as usize] as u128 } else { 0 }
    }

    const fn upper_bits(&self) -> PowerBits {
        let lowest = self.highest_bit() - 127;
        let limb = lowest.div_euclid(64);
        let shift = lowest.rem_euclid(64) as u32;
        let lower = (self.limb(limb + 1) << 64 | self.limb(limb)) >> shift;
        // A shift by all 128 bits would overflow.
        let upper = if shift == 0 { 0 } else { self.limb(limb + 2) << (128 - shift) };
        let bits = upper | lower;
        PowerBits { high: (bits >> 64) as u64, low: bits as u64 }
    }
}
