//! Hash maps keyed by name hashes instead of names, which would take too much memory for a million assets.

use polyhaul_bytes::hash::xxh3_64;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are already hashes.
pub(crate) type ByHash<V> = HashMap<u64, V, BuildHasherDefault<SameHash>>;

/// 64-bit XXH3 of a name.
pub(crate) fn name_hash(name: &str) -> u64 {
    xxh3_64(name.as_bytes())
}

/// A hasher that returns a `u64` key unchanged.
#[derive(Default)]
pub(crate) struct SameHash(u64);

impl Hasher for SameHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    // Hashing again would only cost time: the bits of an XXH3 are already distributed evenly.
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
