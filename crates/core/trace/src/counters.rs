//! Counters of one source or sink: bytes, calls by size, and their duration.
//!
//! They are always on, and cost two clock readings and a few relaxed atomic additions per call, which usually moves 64
//! KiB or more. They count calls to the system or the host, not the consumer's requests, and never influence what is
//! read or written. Because every call passes through here, throttled calls also wait here.

use crate::snapshot::{BUCKET_COUNT, Snapshot, Sums, bucket};
use crate::{FileEntryRef, Phase, span_from};
use polyhaul_fault::planted;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Delays calls to imitate a slower device.
pub trait CallDelay: fmt::Debug + Send + Sync {
    /// Delays the end of a call that started at `start` and moved `size` bytes, in files at `offset`. Returns the delay
    /// in nanoseconds.
    fn hold(&self, start: Instant, offset: Option<u64>, size: usize) -> u64;
}

/// Running totals, which threads share through an `Arc`.
///
/// ```
/// use polyhaul_trace::Counters;
/// use std::time::Duration;
///
/// let counters = Counters::new();
/// counters.record(65_536, Duration::from_micros(10));
/// counters.record(100, Duration::from_micros(1));
/// let seen = counters.snapshot();
/// assert_eq!((seen.bytes, seen.calls, seen.waiting_ns), (65_636, 2, 11_000));
/// assert_eq!((seen.min_size, seen.max_size), (100, 65_536));
/// assert_eq!(seen.histogram().collect::<Vec<_>>(), [(64, 1), (65_536, 1)]);
/// ```
#[derive(Debug)]
pub struct Counters {
    bytes: AtomicU64,
    waiting_ns: AtomicU64,
    throttled_ns: AtomicU64,
    min_size: AtomicU64,
    max_size: AtomicU64,
    calls_by_size: [AtomicU64; BUCKET_COUNT],
    /// Phase of a thread during a call.
    phase: Phase,
    /// The trace that records the calls.
    noted: OnceLock<FileEntryRef>,
    delay: OnceLock<Box<dyn CallDelay>>,
}

impl Counters {
    /// Creates counters at zero. Their calls are not traced as a source or sink.
    pub fn new() -> Self {
        Self::from_phase(Phase::Other)
    }

    /// Creates counters at zero. Their traced calls have this phase.
    pub fn from_phase(phase: Phase) -> Self {
        Counters {
            bytes: AtomicU64::new(0),
            waiting_ns: AtomicU64::new(0),
            throttled_ns: AtomicU64::new(0),
            min_size: AtomicU64::new(u64::MAX),
            max_size: AtomicU64::new(0),
            calls_by_size: [const { AtomicU64::new(0) }; BUCKET_COUNT],
            phase,
            noted: OnceLock::new(),
            delay: OnceLock::new(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn noted(&self) -> &OnceLock<FileEntryRef> {
        &self.noted
    }

    /// Delays all further calls, unless a delay is already set.
    pub fn set_delay(&self, delay: impl CallDelay + 'static) {
        let _ = self.delay.set(Box::new(delay));
    }

    /// Returns whether calls are delayed.
    pub fn is_throttled(&self) -> bool {
        self.delay.get().is_some()
    }

    /// Counts a call that moved `size` bytes in `elapsed`.
    pub fn record(&self, size: usize, elapsed: Duration) {
        let size = size as u64;
        self.bytes.fetch_add(size, Relaxed);
        self.calls_by_size[bucket(size)].fetch_add(1, Relaxed);
        self.max_size.fetch_max(size, Relaxed);
        if size > 0 {
            self.min_size.fetch_min(size, Relaxed);
        }
        self.wait(elapsed);
    }

    /// Counts the time of an operation that moves no bytes, such as a sync.
    pub fn wait(&self, elapsed: Duration) {
        let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.waiting_ns.fetch_add(elapsed_ns, Relaxed);
    }

    /// Returns the counts so far.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.sums(), self.calls_by_class())
    }

    pub(crate) fn sums(&self) -> Sums {
        let min_size = self.min_size.load(Relaxed);
        Sums {
            bytes: self.bytes.load(Relaxed),
            waiting_ns: self.waiting_ns.load(Relaxed),
            throttled_ns: self.throttled_ns.load(Relaxed),
            min_size: if min_size == u64::MAX { 0 } else { min_size },
            max_size: self.max_size.load(Relaxed),
        }
    }

    /// Returns each size class that occurred and its number of calls.
    pub(crate) fn calls_by_class(&self) -> impl Iterator<Item = (usize, u64)> {
        let largest = bucket(self.max_size.load(Relaxed));
        let calls = self.calls_by_size[..=largest].iter().map(|calls| calls.load(Relaxed));
        calls.enumerate().filter(|&(_, calls)| calls > 0)
    }

    /// Runs and counts `call`, which returns the number of bytes it moved.
    pub fn transfer(&self, call: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        self.transfer_at(None, call)
    }

    /// Same as [`Counters::transfer`], for a call at an offset of a file.
    pub fn transfer_at(&self, offset: Option<u64>, call: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        let start = Instant::now();
        let span = span_from(self.phase, start);
        let result = call();
        if let Some(delay) = self.delay.get()
            && let Ok(size) = &result
        {
            self.throttled_ns.fetch_add(delay.hold(start, offset, *size), Relaxed);
        }
        let end = Instant::now();
        match result {
            Ok(size) => self.record(size, end.saturating_duration_since(start)),
            Err(_) if planted("trace-failed") => self.record(0, end.saturating_duration_since(start)),
            Err(_) => self.wait(end.saturating_duration_since(start)),
        }
        span.moved(self, *result.as_ref().unwrap_or(&0) as u64, end);
        result
    }

    /// Runs `call`, which moves no bytes, and counts its time.
    pub fn waiting<T>(&self, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let phase = if self.phase == Phase::Write { Phase::Sync } else { self.phase };
        let span = span_from(phase, start);
        let result = call();
        let end = Instant::now();
        self.wait(end.saturating_duration_since(start));
        span.ended(end);
        result
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        if let Some(noted) = self.noted.get() {
            noted.close(self);
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_counted_is_all_zero() {
        let snapshot = Counters::default().snapshot();
        assert_eq!((snapshot.bytes, snapshot.calls, snapshot.min_size, snapshot.max_size), (0, 0, 0, 0));
        assert_eq!(snapshot.histogram().count(), 0);
    }

    #[test]
    fn the_end_is_a_call_but_not_a_small_one() {
        let counters = Counters::new();
        counters.record(10, Duration::ZERO);
        counters.record(0, Duration::ZERO);
        let snapshot = counters.snapshot();
        assert_eq!((snapshot.calls, snapshot.min_size, snapshot.max_size), (2, 10, 10));
    }

    #[test]
    fn a_failed_call_counts_as_waiting_only() {
        let counters = Counters::new();
        let failed = counters.transfer(|| {
            std::thread::sleep(Duration::from_millis(1));
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        let snapshot = counters.snapshot();
        assert_eq!(snapshot.calls, 0);
        assert!(snapshot.waiting_ns >= 1_000_000);
    }

    #[test]
    fn threads_share_the_totals() {
        let counters = Counters::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| counters.record(3, Duration::from_nanos(2))));
            }
        });
        let snapshot = counters.snapshot();
        assert_eq!((snapshot.bytes, snapshot.calls, snapshot.waiting_ns), (12_000, 4_000, 8_000));
    }
}
