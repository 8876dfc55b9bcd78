//! Tracks which pages of a file were read before: they are in the page cache, so reading them again does not use the
//! device.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The page size of the system's file cache.
const PAGE_BYTES: u64 = 4096;

/// Maximum size of a file to track: 1 TiB, which takes 32 MiB of bits.
const MAX_TRACKED_BYTES: u64 = 1 << 40;

/// The pages of a file, as a bit set.
#[derive(Debug)]
pub(crate) struct FetchedPages {
    words: Vec<AtomicU64>,
    bytes: u64,
}

impl FetchedPages {
    /// Creates an empty set for a file of `bytes` bytes. Returns `None` if the file is too large to track, or if out of
    /// memory.
    pub(crate) fn none_of(bytes: u64) -> Option<FetchedPages> {
        if bytes > MAX_TRACKED_BYTES {
            return None;
        }
        let count = usize::try_from(bytes.div_ceil(PAGE_BYTES).div_ceil(64)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize_with(count, AtomicU64::default);
        Some(FetchedPages { words, bytes })
    }

    /// Returns the number of bytes that a read of `size` bytes at `offset` takes from the device: whole pages, each
    /// only once.
    pub(crate) fn fetch(&self, offset: u64, size: usize) -> u64 {
        let end = offset.saturating_add(size as u64).min(self.bytes);
        let pages = offset / PAGE_BYTES..end.div_ceil(PAGE_BYTES);
        pages.filter(|&page| self.is_new(page)).map(|page| (self.bytes - page * PAGE_BYTES).min(PAGE_BYTES)).sum()
    }

    /// Records a page. Returns whether it was new.
    fn is_new(&self, page: u64) -> bool {
        let bit = 1 << (page % 64);
        let word = usize::try_from(page / 64).ok().and_then(|index| self.words.get(index));
        word.is_some_and(|word| word.fetch_or(bit, Relaxed) & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_from_the_device_once() {
        let file = FetchedPages::none_of(10_000).unwrap();
        assert_eq!([file.fetch(5000, 8), file.fetch(4096, 4096)], [4096, 0]);
        assert_eq!([file.fetch(0, 10_000), file.fetch(0, 10_000)], [4096 + 10_000 - 8192, 0]);
        assert!(FetchedPages::none_of(MAX_TRACKED_BYTES + 1).is_none());
        assert_eq!([file.fetch(20_000, 5), FetchedPages::none_of(0).unwrap().fetch(0, 5)], [0, 0]);
    }

    #[test]
    fn threads_fetch_each_page_once() {
        let file = FetchedPages::none_of(1_000_001).unwrap();
        let parts = (0..4).map(|part| part * 200_000);
        let sum: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = parts
                .map(|at| {
                    let file = &file;
                    scope.spawn(move || file.fetch(at, 500_000))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(sum, 1_000_001);
    }
}
