//! Values of counters at one moment.

/// Number of size classes: one for each bit length of a 64-bit size, and one for size 0.
pub const BUCKET_COUNT: usize = 65;

/// Values of [`Counters`](super::Counters) at one moment.
///
/// The fields are read one by one, so while other threads count, they may be from slightly different moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes moved.
    pub bytes: u64,
    /// Successful calls, including calls at the end of the data (size 0).
    pub calls: u64,
    /// Time inside the calls, summed over threads, in nanoseconds, including failed calls, syncs, closes and
    /// throttling.
    pub waiting_ns: u64,
    /// Part of `waiting_ns` that was added by a [`CallDelay`](super::CallDelay), in nanoseconds.
    pub throttled_ns: u64,
    /// Smallest nonzero size moved by one call, in bytes; 0 if nothing was moved.
    pub min_size: u64,
    /// Largest size moved by one call, in bytes; 0 if nothing was moved.
    pub max_size: u64,
    /// Calls by size: index 0 counts calls of size 0, and index `i` counts calls of sizes from `2^(i-1)` to `2^i - 1`.
    pub calls_by_size: [u64; BUCKET_COUNT],
}

/// A [`Snapshot`] without the calls by size.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    pub(crate) bytes: u64,
    pub(crate) waiting_ns: u64,
    pub(crate) throttled_ns: u64,
    pub(crate) min_size: u64,
    pub(crate) max_size: u64,
}

impl Snapshot {
    pub(crate) fn new(sums: Sums, sizes: impl Iterator<Item = (usize, u64)>) -> Snapshot {
        let Sums { bytes, waiting_ns, throttled_ns, min_size, max_size } = sums;
        let mut calls = 0;
        let mut calls_by_size = [0; BUCKET_COUNT];
        for (class, count) in sizes {
            calls += count;
            calls_by_size[class] = count;
        }
        Snapshot { bytes, calls, waiting_ns, throttled_ns, min_size, max_size, calls_by_size }
    }

    /// Returns the size classes that occurred, smallest first, as (smallest size of the class in bytes, number of
    /// calls).
    pub fn histogram(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let occurred = |(_, calls): &(usize, &u64)| **calls > 0;
        self.calls_by_size.iter().enumerate().filter(occurred).map(|(i, &calls)| (smallest_size(i), calls))
    }
}

pub(crate) fn bucket(size: u64) -> usize {
    (u64::BITS - size.leading_zeros()) as usize
}

fn smallest_size(bucket: usize) -> u64 {
    if bucket == 0 { 0 } else { 1 << (bucket - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_falls_into_its_bucket() {
        for (size, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (65_535, 16), (65_536, 17)] {
            assert_eq!(bucket(size), expected, "{size}");
        }
        assert_eq!(bucket(u64::MAX), BUCKET_COUNT - 1);
        for i in 0..BUCKET_COUNT {
            assert_eq!(bucket(smallest_size(i)), i);
        }
    }
}
