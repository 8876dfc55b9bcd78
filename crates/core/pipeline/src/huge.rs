//! Fresh memory in huge pages, as long as these are fast.
//!
//! Touching an available huge page takes a fraction of the time of its 512 small pages. But in virtual machines with
//! memory ballooning, the host reclaims free memory (*free page reporting*: blocks of 2 MiB and more, two seconds after
//! they became free), and then the first touch of a huge page waits for the host. Small pages come from blocks that the
//! host does not reclaim. So arrays start with huge pages, fall back to small pages when a huge page stalls, and try
//! huge pages again after a while. After three idle seconds, reading 300 MB of binary PLY took 0.43 s with huge pages
//! only, and 0.10 s with this fallback (medians of `read ply binary after a pause` in `tools/bench/record`, 1 thread).
//!
//! Except in [`extend`], this module does not allocate. For arrays that threads fill in parallel, see
//! [`column`](mod@crate::column); for zeroed arrays, see [`arrays`](crate::arrays).

use std::collections::TryReserveError;
use std::ops::Range;

/// The size of a huge page, and of the smallest array that requests them. A smaller array would waste most of a page.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Minimum size of a range for system calls, unless it enters another huge page. Without this minimum, a line appended
/// in pieces of 200 bytes populated its last huge page with each piece, which the test `growth` of pbrt found.
const MIN_TOUCHED_BYTES: usize = 64 << 10;

/// The kind of pages to request for an array's fresh memory. It is used only on Linux, because other systems choose
/// page sizes themselves.
#[derive(Default)]
pub struct HugePages {
    #[cfg(target_os = "linux")]
    mode: std::sync::atomic::AtomicU8,
    #[cfg(target_os = "linux")]
    claims: linux::Claims,
}

impl HugePages {
    /// Requests huge pages if the array is large enough and they do not stall. Call it after each allocation.
    pub fn request<T>(&self, start: *const T, count: usize) {
        #[cfg(target_os = "linux")]
        linux::request(&self.mode, start.addr(), count * size_of::<T>());
        #[cfg(not(target_os = "linux"))]
        let _ = (start, count);
    }

    /// Touches the pages of `range` (in elements) before it is filled. One thread touches each page; a thread that
    /// would have to wait touches a later page instead. If a page stalls, the rest of the array uses small pages.
    ///
    /// # Safety
    /// `start` is an allocation of `count` elements that contains `range`, and no other thread reads or writes the
    /// range meanwhile.
    pub unsafe fn touch<T>(&self, start: *const T, count: usize, range: Range<usize>) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range in bytes covers the elements; the caller upholds the contract.
        unsafe {
            let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
            linux::touch(self, start.cast_mut().cast(), count * size_of::<T>(), bytes);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (start, count, range);
    }
}

/// Appends values to a vector that may become large. If it has to grow, it also reserves space for `later` values, if
/// there is memory for them.
pub fn extend<T: Copy>(out: &mut Vec<T>, values: &[T], later: usize) -> Result<(), TryReserveError> {
    let old_capacity = out.capacity();
    out.try_reserve(values.len() + later).or_else(|_| out.try_reserve(values.len()))?;
    let range = out.len()..out.len() + values.len();
    let start = out.as_ptr().addr() + range.start * size_of::<T>();
    let end = start + size_of_val(values);
    let enters_page = start.div_ceil(HUGE_PAGE_BYTES) < end.div_ceil(HUGE_PAGE_BYTES);
    if end - start >= MIN_TOUCHED_BYTES || enters_page || out.capacity() != old_capacity {
        // Nothing stores the mode of a vector, so it is chosen anew, but this is only one system call for many values.
        let pages = HugePages::default();
        pages.request(out.as_ptr(), out.capacity());
        // SAFETY: the range is reserved and unused, and belongs to this vector.
        unsafe { pages.touch(out.as_ptr(), out.capacity(), range) };
    }
    out.extend_from_slice(values);
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{HUGE_PAGE_BYTES, MIN_TOUCHED_BYTES};
    use std::ops::Range;
    use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

    const PAGE_BYTES: usize = 4096;
    const MILLISECOND_NS: u64 = 1_000_000;
    /// CPU time of a first touch above which the huge page counts as stalled: it waited for the host.
    const STALL_NS: u64 = MILLISECOND_NS;
    /// Minimum and maximum time for which arrays use small pages after a stall. The time doubles with each stall.
    const MIN_AVOIDED_NS: u64 = 16 * MILLISECOND_NS;
    const MAX_AVOIDED_NS: u64 = 512 * MILLISECOND_NS;
    /// Maximum number of pages that a thread touches ahead of its range.
    const MAX_AHEAD: usize = 8;
    /// Maximum number of times to yield while another thread touches the page that this thread needs.
    const MAX_YIELDS: usize = 20_000;

    /// The time at which to try huge pages again, in nanoseconds of the monotonic clock. Shared by all jobs, because
    /// the machine causes the stalls: a stall in one job spares the next job a stall of its own.
    pub(super) static AVOIDED_UNTIL: AtomicU64 = AtomicU64::new(0);
    /// The time for which arrays avoid huge pages after the last stall, in nanoseconds.
    static AVOIDED_NS: AtomicU64 = AtomicU64::new(0);

    /// Modes of an array: too small for huge pages, in huge pages, or large but in small pages.
    const PLAIN: u8 = 0;
    const HUGE: u8 = 1;
    pub(super) const SMALL: u8 = 2;

    pub(super) fn request(mode: &AtomicU8, start: usize, bytes: usize) {
        let new_mode = match bytes {
            ..HUGE_PAGE_BYTES => PLAIN,
            _ if is_avoided() => SMALL,
            _ => HUGE,
        };
        mode.store(new_mode, Relaxed);
        match new_mode {
            HUGE => _ = advise(start, bytes, libc::MADV_HUGEPAGE),
            SMALL => _ = advise(start, bytes, libc::MADV_NOHUGEPAGE),
            _ => {}
        }
    }

    /// The pages that threads are touching or have touched last. Page `n` is in slot `n` modulo the slot count, as
    /// `2 * n` while it is being touched and `2 * n + 1` afterwards. A page whose slot was reused may be touched
    /// again, which is cheap.
    ///
    /// If several threads touch a page at the same time, the kernel clears one page for each of them, and keeps only
    /// the first.
    #[derive(Default)]
    pub(super) struct Claims([AtomicUsize; 32]);

    impl Claims {
        /// Returns whether this thread is the first to reach a page and must touch it.
        pub(super) fn claim(&self, page: usize) -> bool {
            let slot = &self.0[page % self.0.len()];
            let state = slot.load(Relaxed);
            state / 2 != page && slot.compare_exchange(state, 2 * page, Relaxed, Relaxed).is_ok()
        }

        pub(super) fn finish(&self, page: usize) {
            self.0[page % self.0.len()].store(2 * page + 1, Relaxed);
        }

        /// Returns whether a thread is touching this page.
        pub(super) fn is_claimed(&self, page: usize) -> bool {
            self.0[page % self.0.len()].load(Relaxed) == 2 * page
        }
    }

    /// # Safety
    /// As for [`super::HugePages::touch`]; `range` is in bytes.
    pub(super) unsafe fn touch(pages: &super::HugePages, array: *mut u8, bytes: usize, range: Range<usize>) {
        let mode = &pages.mode;
        let start = array.addr();
        let range_start = start + range.start;
        let range_end = start + range.end;
        if mode.load(Relaxed) == HUGE {
            // The array's ends share huge pages with other memory, so only whole pages in between are huge.
            let whole = start.div_ceil(HUGE_PAGE_BYTES)..(start + bytes) / HUGE_PAGE_BYTES;
            let first_page = (range_start / HUGE_PAGE_BYTES).max(whole.start);
            for page in first_page..range_end.div_ceil(HUGE_PAGE_BYTES).min(whole.end) {
                let byte = array.with_addr(range_start.max(page * HUGE_PAGE_BYTES));
                // SAFETY: `byte` is in the range, so it is allocated, and only this thread uses it.
                unsafe { reach(&pages.claims, page, whole.end, byte) };
            }
        }
        // Each array changes its mode after a stall, and again when huge pages are retried.
        match mode.load(Relaxed) {
            HUGE if is_avoided() && mode.swap(SMALL, Relaxed) == HUGE => {
                _ = advise(start, bytes, libc::MADV_NOHUGEPAGE)
            }
            SMALL if !is_avoided() && mode.swap(HUGE, Relaxed) == SMALL => {
                _ = advise(start, bytes, libc::MADV_HUGEPAGE)
            }
            _ => {}
        }
        if mode.load(Relaxed) == SMALL && range.len() >= MIN_TOUCHED_BYTES {
            // One call is faster than one fault per page: 0.92 of the time (`read ply binary after a pause`).
            advise(range_start, range.len(), libc::MADV_POPULATE_WRITE);
        }
    }

    /// Touches a huge page unless another thread does. While another thread touches it, touches one of the next pages
    /// before `end` instead, which will be needed soon, then yields until the first page is ready.
    ///
    /// # Safety
    /// `byte` is in the page and allocated, and no other thread uses it.
    unsafe fn reach(claims: &Claims, page: usize, end: usize, byte: *mut u8) {
        if claims.claim(page) {
            // SAFETY: the caller upholds the contract.
            unsafe { touch_page(page, Some(byte)) };
            claims.finish(page);
        } else if claims.is_claimed(page) {
            if let Some(next) = (page + 1..end.min(page + 1 + MAX_AHEAD)).find(|&next| claims.claim(next)) {
                // SAFETY: nothing is written.
                unsafe { touch_page(next, None) };
                claims.finish(next);
            }
            (0..MAX_YIELDS).take_while(|_| claims.is_claimed(page)).for_each(|_| std::thread::yield_now());
        }
    }

    /// Touches a huge page, and records whether it stalled. Other threads may write to the page meanwhile.
    ///
    /// # Safety
    /// `byte` is allocated, and no other thread uses it.
    unsafe fn touch_page(page: usize, byte: Option<*mut u8>) {
        let before = now(libc::CLOCK_THREAD_CPUTIME_ID);
        if !advise(page * HUGE_PAGE_BYTES, HUGE_PAGE_BYTES, libc::MADV_POPULATE_WRITE)
            && let Some(byte) = byte
        {
            // Before Linux 5.14.
            // SAFETY: the caller upholds the contract.
            unsafe { byte.write_volatile(0) };
        }
        if now(libc::CLOCK_THREAD_CPUTIME_ID) - before > STALL_NS && !is_avoided() {
            let now = now(libc::CLOCK_MONOTONIC);
            let since = now.saturating_sub(AVOIDED_UNTIL.load(Relaxed));
            let avoided = next_avoided(AVOIDED_NS.load(Relaxed), since);
            AVOIDED_NS.store(avoided, Relaxed);
            AVOIDED_UNTIL.store(now + avoided, Relaxed);
        }
    }

    /// Returns the time for which to avoid huge pages after a stall. `last` is the previous such time, which ended
    /// `since` ago.
    pub(super) fn next_avoided(last: u64, since: u64) -> u64 {
        if since > MAX_AVOIDED_NS { MIN_AVOIDED_NS } else { (2 * last).clamp(MIN_AVOIDED_NS, MAX_AVOIDED_NS) }
    }

    fn is_avoided() -> bool {
        let until = AVOIDED_UNTIL.load(Relaxed);
        until > 0 && now(libc::CLOCK_MONOTONIC) < until
    }

    /// Gives advice for all pages of a range, including pages that it covers only partly. Advice for a part of an array
    /// would split the mapping in two, and the kernel could then move it only by copying when it grows.
    fn advise(start: usize, bytes: usize, advice: i32) -> bool {
        let start_page = start / PAGE_BYTES * PAGE_BYTES;
        let end = (start + bytes).next_multiple_of(PAGE_BYTES);
        // SAFETY: the pages contain the array or other memory of the same allocator, and none of the advice used
        // changes contents. A kernel without it returns an error, which has no effect.
        unsafe { libc::madvise(std::ptr::without_provenance_mut(start_page), end - start_page, advice) == 0 }
    }

    fn now(clock: libc::clockid_t) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a writable `timespec`.
        unsafe { libc::clock_gettime(clock, &mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "fills megabytes")]
    fn touches_change_nothing_outside_of_the_range() {
        let mut values = vec![1u8; 3 * HUGE_PAGE_BYTES];
        let start = values.as_mut_ptr();
        let count = values.len();
        let pages = HugePages::default();
        pages.request(start, count);
        for range_start in [0, HUGE_PAGE_BYTES, 2 * HUGE_PAGE_BYTES] {
            let range = range_start..range_start + HUGE_PAGE_BYTES;
            // SAFETY: only this thread uses the vector.
            unsafe {
                pages.touch(start, count, range.clone());
                start.add(range.start).write_bytes(2, range.len());
            }
            assert!(values[..range.end].iter().all(|&byte| byte == 2));
            assert!(values[range.end..].iter().all(|&byte| byte == 1));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[cfg_attr(miri, ignore = "fills megabytes")]
    fn arrays_take_small_pages_while_huge_ones_are_avoided() {
        use std::sync::atomic::Ordering::Relaxed;
        let mut values = vec![1u8; 2 * HUGE_PAGE_BYTES];
        let start = values.as_mut_ptr();
        let count = values.len();
        let before = HugePages::default();
        let later = HugePages::default();
        before.request(start, count);
        linux::AVOIDED_UNTIL.store(u64::MAX, Relaxed);
        later.request(start, count);
        // SAFETY: only this thread uses the vector.
        unsafe { before.touch(start, count, 0..count) };
        let modes = [&before, &later].map(|pages| pages.mode.load(Relaxed));
        linux::AVOIDED_UNTIL.store(0, Relaxed);
        assert_eq!(modes, [linux::SMALL; 2]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn one_thread_touches_a_page_and_all_see_when_it_is_done() {
        let claims = linux::Claims::default();
        assert!(claims.claim(7) && claims.is_claimed(7));
        assert!(!claims.claim(7));
        claims.finish(7);
        assert!(!claims.claim(7) && !claims.is_claimed(7));
        // Other pages do not change this, until one uses the same slot.
        assert!(claims.claim(8) && !claims.is_claimed(7) && claims.is_claimed(8));
        assert!(claims.claim(7 + 32) && !claims.is_claimed(7) && claims.claim(7));
        let firsts = || (100..110).filter(|&page| claims.claim(page)).count();
        let counts =
            std::thread::scope(|scope| [(); 4].map(|()| scope.spawn(firsts)).map(|thread| thread.join().unwrap()));
        assert_eq!(counts.iter().sum::<usize>(), 10);
    }

    #[test]
    #[cfg_attr(miri, ignore = "fills megabytes")]
    fn threads_that_fill_an_array_together_find_their_values() {
        let mut values = vec![0u32; 6 * HUGE_PAGE_BYTES / 4];
        let start = values.as_mut_ptr() as usize;
        let count = values.len();
        let part = 10_000;
        let pages = HugePages::default();
        pages.request(start as *const u32, count);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let pages = &pages;
                scope.spawn(move || {
                    for first in (0..count).step_by(part).skip(thread).step_by(4) {
                        let range = first..count.min(first + part);
                        // SAFETY: the range is in the vector, and only this thread uses it.
                        unsafe {
                            pages.touch(start as *const u32, count, range.clone());
                            range.for_each(|at| (start as *mut u32).add(at).write(at as u32));
                        }
                    }
                });
            }
        });
        assert!(values.iter().enumerate().all(|(at, &value)| value as usize == at));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn consecutive_stalls_make_arrays_wait_longer() {
        let ms = |count: u64| count * 1_000_000;
        let mut waits = vec![linux::next_avoided(0, ms(10_000))];
        for _ in 0..6 {
            waits.push(linux::next_avoided(waits[waits.len() - 1], ms(1)));
        }
        assert_eq!(waits, [16, 32, 64, 128, 256, 512, 512].map(ms));
        assert_eq!(linux::next_avoided(ms(512), ms(600)), ms(16));
    }

    #[test]
    #[cfg_attr(miri, ignore = "fills megabytes")]
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
