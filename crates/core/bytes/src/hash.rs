//! XXH32 and XXH3, for checksums of lz4 frames and hashes of outputs, names and options. They detect changes and
//! damage, but do not resist attackers.
//!
//! The whole workspace uses these, so that only one crate is built for hashing. twox-hash chooses the widest vector
//! instructions at run time; a crate that chooses at compile time is limited to SSE2 on x86-64, at two thirds of the
//! rate (`cargo bench --manifest-path tools/bench/Cargo.toml --bench compress`, "hash of outputs").

use twox_hash::{XxHash3_64, XxHash3_128, XxHash32, xxhash3_128};

/// Computes the 64-bit XXH3 hash, with the default secret and no seed.
pub fn xxh3_64(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Computes the 128-bit XXH3 hash, with the default secret and no seed.
pub fn xxh3_128(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

/// Computes the XXH32 hash with seed 0.
pub(crate) fn xxh32(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}

/// Computes [`xxh3_128`] of bytes that arrive in parts.
pub struct Xxh3(xxhash3_128::Hasher);

impl Xxh3 {
    /// Creates a hasher that has received no bytes.
    pub fn new() -> Self {
        Self(xxhash3_128::Hasher::new())
    }

    /// Appends bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Returns the hash of all bytes so far.
    pub fn digest(&self) -> u128 {
        self.0.finish_128()
    }
}

impl Default for Xxh3 {
    fn default() -> Self {
        Self::new()
    }
}

/// Computes [`xxh32`] of bytes that arrive in parts.
pub(crate) struct Xxh32(XxHash32);

impl Xxh32 {
    pub(crate) fn new() -> Self {
        Self(XxHash32::with_seed(0))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        std::hash::Hasher::write(&mut self.0, bytes);
    }

    pub(crate) fn digest(&self) -> u32 {
        self.0.finish_32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"Nobody inspects the spammish repetition";

    #[test]
    fn known_sums_of_32_bits() {
        let sums: [(&[u8], u32); 4] =
            [(b"", 0x02cc_5d05), (b"a", 0x550d_7456), (b"abc", 0x32d1_53ff), (LINE, 0xe229_3b2f)];
        for (bytes, sum) in sums {
            assert_eq!(xxh32(bytes), sum, "{bytes:?}");
        }
    }

    /// One size per branch of the algorithm. The values are from xxHash 0.8.4, the C reference.
    #[test]
    fn known_hashes_of_64_and_128_bits() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|i| (i * 31 % 251) as u8).collect();
        for (len, hash_64, hash_128) in [
            (0, 0x2d06_8005_38d3_94c2, 0x99aa_06d3_0147_98d8_6001_c324_468d_497f),
            (3, 0x3698_b801_91e6_25f9, 0x4af3_603b_5bd3_0dfe_3698_b801_91e6_25f9),
            (8, 0x60e1_baa9_1347_a1f2, 0x791e_22cd_c308_80ba_073a_2581_2fe4_f600),
            (16, 0x8626_370b_70d8_ac70, 0x4ad7_8932_9416_e438_7df5_1ed5_8f26_bee2),
            (128, 0x040e_9775_6280_237a, 0x2420_6774_99e7_4989_29b1_0332_4f4d_f782),
            (240, 0x8ace_cb90_be72_b9c3, 0x7cf7_7784_0022_08a5_4231_67d7_599e_74a5),
            (241, 0x82d3_ebf5_0a3e_9c42, 0x095d_0994_f2a5_191d_82d3_ebf5_0a3e_9c42),
            (1024, 0xcbdf_f56b_050f_2c1c, 0x5f6e_a7ec_3ae7_85eb_cbdf_f56b_050f_2c1c),
            (10_000, 0xd9d5_5cc0_b132_41b1, 0xd9e8_5e78_9e92_ef1a_d9d5_5cc0_b132_41b1),
        ] {
            assert_eq!(xxh3_64(&bytes[..len]), hash_64, "{len} bytes");
            assert_eq!(xxh3_128(&bytes[..len]), hash_128, "{len} bytes");
        }
    }

    #[test]
    fn any_split_gives_the_same_hash() {
        let bytes: Vec<u8> = (0..300_u32).map(|i| (i % 251) as u8).collect();
        for middle in 0..=bytes.len() {
            let (front, back) = bytes.split_at(middle);
            let mut sum = Xxh32::new();
            let mut hash = Xxh3::new();
            for part in [front, back] {
                sum.update(part);
                hash.update(part);
            }
            assert_eq!(sum.digest(), xxh32(&bytes), "{middle}");
            assert_eq!(hash.digest(), xxh3_128(&bytes), "{middle}");
        }
    }
}
