//! Fresh memory in huge pages, as long as these are cheap.
//!
//! A huge page that the machine has at hand takes a fraction of the time of its 512 small pages. But hosts of virtual
//! machines take free memory back (the balloon's *free page reporting*: blocks of 2 MiB and more, two seconds after
//! they became free), and then the first touch of a huge page waits for the host: 300 MB took 0.57 s in huge pages,
//! and 0.12 s in small ones, which come from blocks that the host leaves alone. So arrays begin with huge pages,
//! change to small ones when one has stalled, and try huge ones again after a while. Reading 300 MB of binary PLY
//! after three idle seconds takes a third of the time since (medians of `read ply binary after a pause`, on 1 and 2
//! threads).
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
    #[cfg(target_os = "linux")]
    claims: linux::Claims,
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

    /// Touches the pages of `range` (in elements) before it is filled, each by one thread; one that would wait touches
    /// one of the next. If one stalls, the rest of the array gets small pages.
    ///
    /// # Safety
    /// `start` is an allocation of `count` elements that contains `range`, and no other thread reads or writes the
    /// range meanwhile.
    pub unsafe fn touch<T>(&self, start: *const T, count: usize, range: Range<usize>) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range in bytes is that of the elements; the conditions are this function's.
        unsafe {
            let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
            linux::touch(self, start as usize, count * size_of::<T>(), bytes);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (start, count, range);
    }
}

/// Appends values to a vector that may become large. If it must grow, there is room for `later` values more, if there
/// is memory for them.
pub fn extend<T: Copy>(out: &mut Vec<T>, values: &[T], later: usize) -> Result<(), TryReserveError> {
    out.try_reserve(values.len() + later).or_else(|_| out.try_reserve(values.len()))?;
    // A vector has no place to remember its mode, and this is one call to the system for many values.
    let pages = HugePages::default();
    pages.request(out.as_ptr(), out.capacity());
    // SAFETY: the range is reserved, unused, and this vector's own.
    unsafe { pages.touch(out.as_ptr(), out.capacity(), out.len()..out.len() + values.len()) };
    out.extend_from_slice(values);
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use super::HUGE_PAGE_BYTES;
    use std::ops::Range;
    use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

    const PAGE_BYTES: usize = 4096;
    const MILLISECOND_NS: u64 = 1_000_000;
    /// A huge page whose first touch takes longer, in time of the thread, has waited for the host.
    const STALL_NS: u64 = MILLISECOND_NS;
    /// For how long arrays get small pages after a stall: at first, and at most, since it doubles with each.
    const MIN_AVOIDED_NS: u64 = 16 * MILLISECOND_NS;
    const MAX_AVOIDED_NS: u64 = 512 * MILLISECOND_NS;
    /// How far ahead of its range a thread touches pages.
    const MOST_AHEAD: usize = 8;
    /// How often a thread lets others run while one of them touches the page that it needs.
    const MOST_YIELDS: usize = 20_000;
    /// Ranges below this size are too many for a call to the system for each.
    const MIN_BYTES: usize = 64 << 10;

    /// When huge pages are to be tried again, in nanoseconds of the monotonic clock. A fact about the machine, like the
    /// instruction set: one job's stall saves the next one its own.
    pub(super) static AVOIDED_UNTIL: AtomicU64 = AtomicU64::new(0);
    /// For how long the last stall made arrays avoid them.
    static AVOIDED_NS: AtomicU64 = AtomicU64::new(0);

    /// Modes of an array: too small to care, in huge pages, or large but in small pages.
    const PLAIN: u8 = 0;
    const HUGE: u8 = 1;
    pub(super) const SMALL: u8 = 2;

    pub(super) fn request(mode: &AtomicU8, start: usize, bytes: usize) {
        let wanted = match bytes {
            ..HUGE_PAGE_BYTES => PLAIN,
            _ if is_avoided() => SMALL,
            _ => HUGE,
        };
        mode.store(wanted, Relaxed);
        match wanted {
            HUGE => _ = advise(start, bytes, libc::MADV_HUGEPAGE),
            SMALL => _ = advise(start, bytes, libc::MADV_NOHUGEPAGE),
            _ => {}
        }
    }

    /// The pages that threads touch and have touched last: each at its number modulo their count, as twice the number,
    /// and one more once it is there. What is forgotten may be touched again, which is cheap.
    ///
    /// When threads touch a page at the same time, the kernel clears one for each of them, and drops all but the first.
    #[derive(Default)]
    pub(super) struct Claims([AtomicUsize; 32]);

    impl Claims {
        /// Whether this thread is the first that comes to a page, and has to touch it.
        pub(super) fn claim(&self, page: usize) -> bool {
            let place = &self.0[page % self.0.len()];
            let found = place.load(Relaxed);
            found / 2 != page && place.compare_exchange(found, 2 * page, Relaxed, Relaxed).is_ok()
        }

        pub(super) fn finish(&self, page: usize) {
            self.0[page % self.0.len()].store(2 * page + 1, Relaxed);
        }

        /// Whether a thread is touching a page.
        pub(super) fn is_claimed(&self, page: usize) -> bool {
            self.0[page % self.0.len()].load(Relaxed) == 2 * page
        }
    }

    /// # Safety
    /// As for [`super::HugePages::touch`]; `range` is in bytes.
    pub(super) unsafe fn touch(pages: &super::HugePages, start: usize, bytes: usize, range: Range<usize>) {
        let (mode, from, end) = (&pages.mode, start + range.start, start + range.end);
        if mode.load(Relaxed) == HUGE {
            // Where the array begins or ends within one, it has small pages.
            let whole = start.div_ceil(HUGE_PAGE_BYTES)..(start + bytes) / HUGE_PAGE_BYTES;
            for page in (from / HUGE_PAGE_BYTES).max(whole.start)..end.div_ceil(HUGE_PAGE_BYTES).min(whole.end) {
                let own = from.max(page * HUGE_PAGE_BYTES) as *mut u8;
                // SAFETY: it is in the range, so it is allocated and this thread's.
                unsafe { reach(&pages.claims, page, whole.end, own) };
            }
        }
        // Stalls are met by all arrays, and so is the end of avoiding them.
        match mode.load(Relaxed) {
            HUGE if is_avoided() && mode.swap(SMALL, Relaxed) == HUGE => {
                _ = advise(start, bytes, libc::MADV_NOHUGEPAGE)
            }
            SMALL if !is_avoided() && mode.swap(HUGE, Relaxed) == SMALL => {
                _ = advise(start, bytes, libc::MADV_HUGEPAGE)
            }
            _ => {}
        }
        if mode.load(Relaxed) == SMALL && range.len() >= MIN_BYTES {
            // One call takes less time than a fault for each page (0.92 of it in the same benchmark).
            advise(from, range.len(), libc::MADV_POPULATE_WRITE);
        }
    }

    /// Touches a huge page, unless another thread has. While that one is at it, this one touches one of the next ones,
    /// up to `end`, which will be needed soon, and then waits for a moment.
    ///
    /// # Safety
    /// `own` is in the page and allocated, and no other thread uses it.
    unsafe fn reach(claims: &Claims, page: usize, end: usize, own: *mut u8) {
        if claims.claim(page) {
            // SAFETY: this function's condition.
            unsafe { touch_page(page, Some(own)) };
            claims.finish(page);
        } else if claims.is_claimed(page) {
            if let Some(next) = (page + 1..end.min(page + 1 + MOST_AHEAD)).find(|&next| claims.claim(next)) {
                // SAFETY: nothing is written.
                unsafe { touch_page(next, None) };
                claims.finish(next);
            }
            (0..MOST_YIELDS).take_while(|_| claims.is_claimed(page)).for_each(|_| std::thread::yield_now());
        }
    }

    /// Touches a huge page, and notes if it stalls. Other threads may write to it meanwhile.
    ///
    /// # Safety
    /// `own` is allocated, and no other thread uses it.
    unsafe fn touch_page(page: usize, own: Option<*mut u8>) {
        let before = now(libc::CLOCK_THREAD_CPUTIME_ID);
        if !advise(page * HUGE_PAGE_BYTES, HUGE_PAGE_BYTES, libc::MADV_POPULATE_WRITE)
            && let Some(own) = own
        {
            // Before Linux 5.14.
            // SAFETY: this function's condition.
            unsafe { own.write_volatile(0) };
        }
        if now(libc::CLOCK_THREAD_CPUTIME_ID) - before > STALL_NS && !is_avoided() {
            let (now, until) = (now(libc::CLOCK_MONOTONIC), AVOIDED_UNTIL.load(Relaxed));
            let avoided = next_avoided(AVOIDED_NS.load(Relaxed), now.saturating_sub(until));
            AVOIDED_NS.store(avoided, Relaxed);
            AVOIDED_UNTIL.store(now + avoided, Relaxed);
        }
    }

    /// For how long to avoid huge pages after a stall, if it was `last` before, which ended `since` ago.
    pub(super) fn next_avoided(last: u64, since: u64) -> u64 {
        if since > MAX_AVOIDED_NS { MIN_AVOIDED_NS } else { (2 * last).clamp(MIN_AVOIDED_NS, MAX_AVOIDED_NS) }
    }

    fn is_avoided() -> bool {
        let until = AVOIDED_UNTIL.load(Relaxed);
        until > 0 && now(libc::CLOCK_MONOTONIC) < until
    }

    /// Advises for all pages of a range, its first and last included. For an array, a part would split the mapping in
    /// two, and then it cannot be moved without a copy when it grows (twice the page faults, measured).
    fn advise(start: usize, bytes: usize, advice: i32) -> bool {
        let from = start / PAGE_BYTES * PAGE_BYTES;
        let end = (start + bytes).next_multiple_of(PAGE_BYTES);
        // SAFETY: the pages contain the array or other memory of the same allocator, and none of the advices used
        // changes contents. A kernel without it returns an error, which has no effect either.
        unsafe { libc::madvise(from as *mut libc::c_void, end - from, advice) == 0 }
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
    fn touches_change_nothing_outside_of_the_range() {
        let mut values = vec![1u8; 3 * HUGE_PAGE_BYTES];
        let (start, count) = (values.as_mut_ptr(), values.len());
        let pages = HugePages::default();
        pages.request(start, count);
        for from in [0, HUGE_PAGE_BYTES, 2 * HUGE_PAGE_BYTES] {
            let range = from..from + HUGE_PAGE_BYTES;
            // SAFETY: the vector is this thread's own.
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
    fn arrays_take_small_pages_while_huge_ones_are_avoided() {
        use std::sync::atomic::Ordering::Relaxed;
        let mut values = vec![1u8; 2 * HUGE_PAGE_BYTES];
        let (start, count) = (values.as_mut_ptr(), values.len());
        let (before, later) = (HugePages::default(), HugePages::default());
        before.request(start, count);
        linux::AVOIDED_UNTIL.store(u64::MAX, Relaxed);
        later.request(start, count);
        // SAFETY: the vector is this thread's own.
        unsafe { before.touch(start, count, 0..count) };
        let modes = [&before, &later].map(|pages| pages.mode.load(Relaxed));
        linux::AVOIDED_UNTIL.store(0, Relaxed);
        assert_eq!(modes, [linux::SMALL; 2]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn one_thread_touches_a_page_and_all_see_when_it_is_there() {
        let claims = linux::Claims::default();
        assert!(claims.claim(7) && claims.is_claimed(7));
        assert!(!claims.claim(7));
        claims.finish(7);
        assert!(!claims.claim(7) && !claims.is_claimed(7));
        // Others do not change that, until one has its place.
        assert!(claims.claim(8) && !claims.is_claimed(7) && claims.is_claimed(8));
        assert!(claims.claim(7 + 32) && !claims.is_claimed(7) && claims.claim(7));
        let firsts = || (100..110).filter(|&page| claims.claim(page)).count();
        let counts = std::thread::scope(|scope| [(); 4].map(|()| scope.spawn(firsts)).map(|it| it.join().unwrap()));
        assert_eq!(counts.iter().sum::<usize>(), 10);
    }

    #[test]
    fn threads_that_fill_an_array_together_find_their_values() {
        let mut values = vec![0u32; 6 * HUGE_PAGE_BYTES / 4];
        let (start, count, part) = (values.as_mut_ptr() as usize, values.len(), 10_000);
        let pages = HugePages::default();
        pages.request(start as *const u32, count);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let pages = &pages;
                scope.spawn(move || {
                    for first in (0..count).step_by(part).skip(thread).step_by(4) {
                        let range = first..count.min(first + part);
                        // SAFETY: the range is in the vector, which nobody else uses, and this thread's alone.
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
    fn stalls_one_after_another_make_arrays_wait_longer() {
        let ms = |count: u64| count * 1_000_000;
        let mut waits = vec![linux::next_avoided(0, ms(10_000))];
        for _ in 0..6 {
            waits.push(linux::next_avoided(waits[waits.len() - 1], ms(1)));
        }
        assert_eq!(waits, [16, 32, 64, 128, 256, 512, 512].map(ms));
        assert_eq!(linux::next_avoided(ms(512), ms(600)), ms(16));
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
