//! Fresh memory in huge pages, as long as these are cheap.
//!
//! A huge page that the machine has at hand takes 0.1 ms, a tenth of what its 512 small pages take. But hosts of
//! virtual machines take free memory back (the balloon's *free page reporting*: blocks of 2 MiB and more, two seconds
//! after they became free), and then the first touch of a huge page waits for the host, for 3 to 6 ms where we measured
//! it: 0.4 GB/s, against 2.5 GB/s for small pages, which come from blocks that the host leaves alone. So arrays begin
//! with huge pages, change to small ones when one has stalled, and try huge ones again after a while. Reading 300 MB of
//! binary PLY on such a machine after three idle seconds took 0.63 s before, 0.18 s since; with two threads 0.36 and
//! 0.12 s (medians).
//!
//! This module never allocates. See [`column`](mod@crate::column) for arrays that threads fill in parallel, and
//! [`arrays`](crate::arrays) for zeroed ones.

use std::collections::TryReserveError;
use std::ops::Range;

/// The size of a huge page, and the least size of an array that requests them; smaller ones would waste most of one.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// How an array's fresh memory is requested. Nothing is done except on Linux; other systems choose the size of pages
/// themselves.
#[derive(Default)]
pub struct HugePages {
    #[cfg(target_os = "linux")]
    mode: std::sync::atomic::AtomicU8,
}

impl HugePages {
    /// Requests huge pages for an array that is large enough, unless they stall: to be called whenever it was
    /// allocated.
    pub fn request<T>(&self, start: *const T, count: usize) {
        #[cfg(target_os = "linux")]
        linux::request(&self.mode, start as usize, count * size_of::<T>());
        #[cfg(not(target_os = "linux"))]
        let _ = (start, count);
    }

    /// Touches the pages of `range` (in elements) before it is filled, by writing a zero byte to each. If one stalls,
    /// the rest of the array gets small pages.
    ///
    /// # Safety
    /// `start` is an allocation of `count` elements that contains `range`, and no other thread reads or writes the
    /// range meanwhile.
    pub unsafe fn touch<T>(&self, start: *const T, count: usize, range: Range<usize>) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range in bytes is that of the elements; the conditions are this function's.
        unsafe {
            let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
            linux::touch(&self.mode, start as usize, count * size_of::<T>(), bytes);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (start, count, range);
    }
}

/// Appends values to a vector that may become large. If it must grow, there is room for `later` values more, if there
/// is memory for them.
pub fn extend<T: Copy>(out: &mut Vec<T>, values: &[T], later: usize) -> Result<(), TryReserveError> {
    let (pages, capacity) = (HugePages::default(), out.capacity());
    out.try_reserve(values.len() + later).or_else(|_| out.try_reserve(values.len()))?;
    pages.request(out.as_ptr(), out.capacity());
    if out.capacity() > capacity {
        // SAFETY: the range is reserved, unused, and this vector's own.
        unsafe { pages.touch(out.as_ptr(), out.capacity(), out.len()..out.len() + values.len()) };
    }
    out.extend_from_slice(values);
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::HUGE_PAGE_BYTES;
    use std::ops::Range;
    use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
    use std::time::Duration;

    const PAGE_BYTES: usize = 4096;
    /// A huge page that takes longer, in time of the thread, has waited for the host. Clearing one takes 0.1 to 0.4 ms.
    const STALL: Duration = Duration::from_millis(1);
    const MILLISECOND: u64 = 1_000_000;
    /// For how long arrays get small pages after the next stall: first 16 ms, then twice as long each time.
    static AVOIDED: AtomicU64 = AtomicU64::new(16 * MILLISECOND);
    const MOST_AVOIDED: u64 = 512 * MILLISECOND;
    /// Ranges below this size are too many for a look at the clock each, unless a huge page begins in them.
    const LEAST_BYTES: usize = 64 << 10;

    /// When huge pages are to be tried again, in nanoseconds of the monotonic clock. A fact about the machine, like the
    /// instruction set: one job's stall saves the next one its own.
    static AVOIDED_UNTIL: AtomicU64 = AtomicU64::new(0);

    /// Modes of an array: too small to care, in huge pages, or large but in small pages.
    const PLAIN: u8 = 0;
    const HUGE: u8 = 1;
    const SMALL: u8 = 2;

    pub(super) fn request(mode: &AtomicU8, start: usize, bytes: usize) {
        let wanted = match bytes {
            ..HUGE_PAGE_BYTES => PLAIN,
            _ if is_avoided() => SMALL,
            _ => HUGE,
        };
        mode.store(wanted, Relaxed);
        match wanted {
            HUGE => advise(start, bytes, libc::MADV_HUGEPAGE),
            SMALL => advise(start, bytes, libc::MADV_NOHUGEPAGE),
            _ => {}
        }
    }

    /// # Safety
    /// As for [`super::HugePages::touch`]; `range` is in bytes.
    pub(super) unsafe fn touch(mode: &AtomicU8, start: usize, bytes: usize, range: Range<usize>) {
        let (from, end) = (start + range.start, start + range.end);
        if mode.load(Relaxed) == HUGE {
            let mut at = if range.len() >= LEAST_BYTES { from } else { from.next_multiple_of(HUGE_PAGE_BYTES) };
            while at < end {
                // SAFETY: `at` is in the range, which is allocated and this thread's alone.
                unsafe { touch_page(at as *mut u8) };
                at = (at + 1).next_multiple_of(HUGE_PAGE_BYTES);
            }
        }
        // Stalls are met by all arrays, and so is the end of avoiding them.
        match mode.load(Relaxed) {
            HUGE if is_avoided() && mode.swap(SMALL, Relaxed) == HUGE => advise(start, bytes, libc::MADV_NOHUGEPAGE),
            SMALL if !is_avoided() && mode.swap(HUGE, Relaxed) == SMALL => advise(start, bytes, libc::MADV_HUGEPAGE),
            _ => {}
        }
        if mode.load(Relaxed) == SMALL && range.len() >= LEAST_BYTES {
            // One call takes three quarters of the time of a fault for each page.
            advise(from, range.len(), libc::MADV_POPULATE_WRITE);
        }
    }

    /// # Safety
    /// `place` is allocated, and no other thread uses it.
    unsafe fn touch_page(place: *mut u8) {
        let before = now(libc::CLOCK_THREAD_CPUTIME_ID);
        // SAFETY: this function's condition.
        unsafe { place.write_volatile(0) };
        if now(libc::CLOCK_THREAD_CPUTIME_ID) - before > STALL.as_nanos() as u64 {
            avoid();
        }
    }

    /// After a stall.
    pub(super) fn avoid() {
        let avoided = AVOIDED.load(Relaxed);
        AVOIDED_UNTIL.store(now(libc::CLOCK_MONOTONIC) + avoided, Relaxed);
        AVOIDED.store((2 * avoided).min(MOST_AVOIDED), Relaxed);
    }

    fn is_avoided() -> bool {
        let until = AVOIDED_UNTIL.load(Relaxed);
        until > 0 && now(libc::CLOCK_MONOTONIC) < until
    }

    /// Advises for all pages of a range, its first and last included. For an array, a part would split the mapping in
    /// two, and then it cannot be moved without a copy when it grows (twice the page faults, measured).
    fn advise(start: usize, bytes: usize, advice: i32) {
        let from = start / PAGE_BYTES * PAGE_BYTES;
        let end = (start + bytes).next_multiple_of(PAGE_BYTES);
        // SAFETY: the pages contain the array or other memory of the same allocator, and none of the advices used
        // changes contents. A kernel without it returns an error, which has no effect either.
        unsafe { libc::madvise(from as *mut libc::c_void, end - from, advice) };
    }

    fn now(clock: libc::clockid_t) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a valid place for the answer.
        unsafe { libc::clock_gettime(clock, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_keeps_what_was_written_and_changes_its_pages_after_a_stall() {
        let mut values = vec![1u8; 3 * HUGE_PAGE_BYTES];
        let (start, count) = (values.as_mut_ptr(), values.len());
        let pages = HugePages::default();
        pages.request(start, count);
        for (from, stall) in [(0, false), (HUGE_PAGE_BYTES, true), (2 * HUGE_PAGE_BYTES, false)] {
            #[cfg(target_os = "linux")]
            if stall {
                linux::avoid();
            }
            let range = from..from + HUGE_PAGE_BYTES;
            // SAFETY: the vector is this thread's own.
            unsafe {
                pages.touch(start, count, range.clone());
                start.add(range.start).write_bytes(2, range.len());
            }
            let _ = stall;
            assert!(values[..range.end].iter().all(|&byte| byte == 2));
            assert!(values[range.end..].iter().all(|&byte| byte == 1));
        }
    }

    #[test]
    fn a_vector_that_becomes_large_keeps_its_values() {
        let mut out = Vec::new();
        let part: Vec<u32> = (0..300_000).collect();
        for _ in 0..7 {
            extend(&mut out, &part, 1000).unwrap();
        }
        assert_eq!(out, part.repeat(7));
        assert!(extend(&mut out, &[0], usize::MAX / 8).is_ok());
    }
}
