//! CRC-32 as in gzip and zip (RFC 1952, 8): the `crc32fast` crate or, in WebAssembly, a small implementation.
//!
//! The crate has 16 KiB of tables that do not compress, a large part of a browser's download for a single format. The
//! small implementation computes its tables on first use and processes eight bytes at a time.

#[cfg(not(target_family = "wasm"))]
pub(super) use crc32fast::{Hasher, hash};
#[cfg(target_family = "wasm")]
pub(super) use small::{Hasher, hash};

#[cfg(any(target_family = "wasm", test))]
mod small {
    use std::sync::OnceLock;

    /// The standard polynomial, bit-reversed.
    const POLYNOMIAL: u32 = 0xedb8_8320;

    /// Table `n` has the contribution of a byte that is followed by `n` other bytes.
    type Tables = [[u32; 256]; 8];

    /// Computes the CRC of bytes that arrive in parts.
    #[derive(Clone)]
    pub(crate) struct Hasher {
        /// The one's complement of the CRC.
        rest: u32,
        tables: &'static Tables,
    }

    impl Default for Hasher {
        fn default() -> Hasher {
            static TABLES: OnceLock<Box<Tables>> = OnceLock::new();
            Hasher { rest: !0, tables: TABLES.get_or_init(tables) }
        }
    }

    impl Hasher {
        pub(crate) fn update(&mut self, bytes: &[u8]) {
            let (eights, last) = bytes.as_chunks::<8>();
            for eight in eights {
                let mixed = (u64::from_le_bytes(*eight) ^ u64::from(self.rest)).to_le_bytes();
                let each = mixed.iter().zip(self.tables.iter().rev());
                self.rest = each.fold(0, |rest, (&byte, table)| rest ^ table[usize::from(byte)]);
            }
            for byte in last {
                let [lowest, ..] = self.rest.to_le_bytes();
                self.rest = self.rest >> 8 ^ self.tables[0][usize::from(lowest ^ byte)];
            }
        }

        pub(crate) fn finalize(self) -> u32 {
            !self.rest
        }
    }

    pub(crate) fn hash(bytes: &[u8]) -> u32 {
        let mut hasher = Hasher::default();
        hasher.update(bytes);
        hasher.finalize()
    }

    fn tables() -> Box<Tables> {
        let shifted = |rest: u32| if rest & 1 == 1 { rest >> 1 ^ POLYNOMIAL } else { rest >> 1 };
        let mut tables = Box::new([[0; 256]; 8]);
        for byte in 0..256 {
            let mut rest = (0..8).fold(byte as u32, |rest, _| shifted(rest));
            tables[0][byte] = rest;
            for followed in 1..8 {
                rest = (0..8).fold(rest, |rest, _| shifted(rest));
                tables[followed][byte] = rest;
            }
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::small;

    #[test]
    fn the_small_implementation_matches_the_crate() {
        let bytes: Vec<u8> = (0..1000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for end in (0..40).chain([999, 1000]) {
            assert_eq!(small::hash(&bytes[..end]), crc32fast::hash(&bytes[..end]), "{end} bytes");
            let mut parts = small::Hasher::default();
            bytes[..end].chunks(7).for_each(|part| parts.update(part));
            assert_eq!(parts.finalize(), crc32fast::hash(&bytes[..end]), "{end} bytes in parts");
        }
        assert_eq!(small::hash(b"123456789"), 0xcbf4_3926);
    }
}
