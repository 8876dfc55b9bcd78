//! Makes the system fetch a cold file ahead of the threads that parse it.
//!
//! Without this, the disk idles while threads parse: the system reads a few MB ahead, and continues only when a reader
//! gets there. Reading single bytes at intervals makes the system read everything in between, without a copy. The bytes
//! end up in the page cache, from which the parsers read as usual. So results, errors and memory do not depend on
//! fetching, and failures here are ignored. This module starts no threads; see `polyhaul_pipeline::prefetch`.

use super::file::{RegularFile, read_file_at};
use crate::error::retry;
use polyhaul_trace::Counters;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of bytes to fetch ahead of the readers, beyond the system's own read-ahead.
const WINDOW_BYTES: u64 = 32 << 20;
/// Distance between the bytes to read. The system continues its read-ahead when a read reaches the first block of the
/// previous read-ahead, and blocks are at least this large once it reads ahead by MBs.
const STEP_BYTES: u64 = 64 << 10;
/// Maximum ratio of the window to the bytes read so far, so that little is fetched if only the header is read.
const MAX_GROWTH: u64 = 4;
/// Minimum size of a file to fetch. The system reads smaller files ahead in one or two steps.
const MIN_FILE_BYTES: u64 = 16 << 20;
/// Number of offsets to probe in a file, besides its end.
const PROBE_COUNT: u64 = 16;

/// The progress of a file's readers.
pub(super) struct ReadProgress {
    /// The largest end of a read so far, in bytes.
    reached: AtomicU64,
    /// The offset at which a reader must wake waiting threads.
    wake_at: AtomicU64,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Default for ReadProgress {
    fn default() -> Self {
        ReadProgress {
            reached: AtomicU64::new(0),
            wake_at: AtomicU64::new(u64::MAX),
            lock: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

impl ReadProgress {
    /// Records a read up to `end`.
    pub(super) fn reach(&self, end: u64) {
        self.reached.fetch_max(end, SeqCst);
        if end >= self.wake_at.load(SeqCst) {
            self.wake();
        }
    }

    fn reached(&self) -> u64 {
        self.reached.load(SeqCst)
    }

    fn wake(&self) {
        // While this holds the lock, no thread is between its last check and its wait.
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.notify_all();
    }

    /// Waits until the readers reach `end` or `is_over` returns true.
    fn wait(&self, end: u64, is_over: impl Fn() -> bool) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.wake_at.fetch_min(end, SeqCst);
            if self.reached() >= end || is_over() {
                break;
            }
            lock = self.changed.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        // Other waiting threads were woken too, and set their offsets again.
        self.wake_at.store(u64::MAX, SeqCst);
    }
}

/// A large file to fetch ahead of its readers. Created by [`Source::prefetch`](super::Source::prefetch).
pub struct Prefetch<'s> {
    file: &'s RegularFile,
    /// The counters of the readers.
    counters: &'s Counters,
    is_stopped: AtomicBool,
}

/// What [`Prefetch::run`] does next.
#[derive(Debug, PartialEq, Eq)]
enum NextFetch {
    /// Fetch the bytes at this offset.
    Fetch(u64),
    /// Wait until the readers reach this offset.
    Wait(u64),
    Done,
}

impl<'s> Prefetch<'s> {
    /// Creates a prefetch for a large file. Returns `None` for a small file, for which the system's read-ahead
    /// suffices.
    pub(super) fn of_large(file: &'s RegularFile, counters: &'s Counters) -> Option<Prefetch<'s>> {
        (file.len >= MIN_FILE_BYTES).then(|| Prefetch { file, counters, is_stopped: AtomicBool::new(false) })
    }

    /// Returns whether parts of the file are known to be missing from the page cache.
    pub fn is_cold(&self) -> bool {
        let RegularFile { base, len, .. } = self.file;
        // Probes the end first: a probe fetches a missing page, which disturbs the read-ahead if the page is in the
        // middle.
        let mut offsets = (0..PROBE_COUNT).rev().map(|probe| len / PROBE_COUNT * probe);
        is_missing(self.file, base + len - 1) || offsets.any(|offset| is_missing(self.file, base + offset))
    }

    /// Fetches until the end of the file, an error or a call of [`Prefetch::stop`].
    pub fn run(&self) {
        let Ok(file) = reopened(self.file) else { return };
        let progress = &self.file.progress;
        let mut fetched = 0;
        while !self.is_stopped() {
            match next(fetched, progress.reached(), self.counters.snapshot().bytes, self.file.len) {
                NextFetch::Fetch(offset) => match retry(|| read_file_at(&file, self.file.base + offset, &mut [0])) {
                    Ok(1..) => fetched = offset + STEP_BYTES,
                    // Readers report the error when they get there.
                    Ok(0) | Err(_) => return,
                },
                NextFetch::Wait(end) => progress.wait(end, || self.is_stopped()),
                NextFetch::Done => return,
            }
        }
    }

    /// Stops [`Prefetch::run`] after its current read.
    pub fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
        self.file.progress.wake();
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(SeqCst)
    }
}

/// Returns the step after fetching up to `fetched` in a file of `len` bytes, when the readers have read `bytes` bytes,
/// up to offset `reached`.
fn next(fetched: u64, reached: u64, bytes: u64, len: u64) -> NextFetch {
    let start = fetched.max(reached);
    let window = WINDOW_BYTES.min(bytes.saturating_mul(MAX_GROWTH));
    let end = len.min(start + STEP_BYTES);
    if start >= len {
        NextFetch::Done
    } else if end <= reached + window {
        NextFetch::Fetch(start)
    } else {
        // Refills the window once a quarter of it is used, because each wakeup is a system call.
        NextFetch::Wait((end + window / 4).saturating_sub(window).max(reached + 1))
    }
}

/// Opens the same file again, for its own read-ahead state in the system: reads slightly out of order would disturb the
/// read-ahead of the readers' descriptor.
#[cfg(target_os = "linux")]
fn reopened(file: &RegularFile) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.file.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn reopened(file: &RegularFile) -> io::Result<File> {
    file.file.try_clone()
}

/// Returns whether the page at `offset` is known to be missing from the page cache.
#[cfg(target_os = "linux")]
fn is_missing(file: &RegularFile, offset: u64) -> bool {
    crate::descriptor::is_cached(&file.file, offset) == Some(false)
}

/// Other systems do not report this.
#[cfg(not(target_os = "linux"))]
fn is_missing(_: &RegularFile, _: u64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use std::fs;
    use std::sync::mpsc;
    use std::time::Duration;

    const MB: u64 = 1 << 20;

    #[test]
    fn the_window_grows_with_the_bytes_read_and_is_bounded() {
        assert_eq!(next(0, 0, 0, 100 * MB), NextFetch::Wait(STEP_BYTES));
        assert_eq!(next(MB, MB, MB / 4, 100 * MB), NextFetch::Fetch(MB));
        assert_eq!(next(2 * MB, MB, MB / 4, 100 * MB), NextFetch::Wait(MB + STEP_BYTES + MB / 4));
        let full = 10 * MB + WINDOW_BYTES;
        assert_eq!(next(full - STEP_BYTES, 10 * MB, 10 << 40, 1 << 40), NextFetch::Fetch(full - STEP_BYTES));
        assert_eq!(next(full, 10 * MB, u64::MAX, 1 << 40), NextFetch::Wait(10 * MB + STEP_BYTES + WINDOW_BYTES / 4));
    }

    #[test]
    fn fetching_continues_after_readers_that_are_ahead_and_stops_at_the_end() {
        assert_eq!(next(MB, 50 * MB, 50 * MB, 100 * MB), NextFetch::Fetch(50 * MB));
        assert_eq!(next(100 * MB - 5, 90 * MB, 50 * MB, 100 * MB), NextFetch::Fetch(100 * MB - 5));
        assert_eq!(next(100 * MB, 50 * MB, 50 * MB, 100 * MB), NextFetch::Done);
        assert_eq!(next(0, 100 * MB, 1, 100 * MB), NextFetch::Done);
    }

    /// Creates a sparse file of zeros.
    fn zeros(bytes: u64) -> (Source<'static>, File) {
        let path = std::env::temp_dir().join(format!("polyhaul-prefetch-{}-{bytes}", std::process::id()));
        let file = File::create(&path).unwrap();
        file.set_len(bytes).unwrap();
        let source = Source::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        (source, file)
    }

    /// Fetches while `read` reads; fails if fetching does not stop.
    fn fetch_while(prefetch: &Prefetch<'_>, read: impl FnOnce()) {
        let (ended, end) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                prefetch.run();
                ended.send(()).unwrap();
            });
            read();
            let result = end.recv_timeout(Duration::from_secs(60));
            prefetch.stop();
            result.expect("the file is still being fetched");
        });
    }

    #[test]
    fn fetching_ends_with_the_readers_or_a_stop() {
        let (source, _) = zeros(100 * MB + 7);
        let mut block = vec![0; 1 << 20];
        fetch_while(&source.prefetch().unwrap(), || {
            let mut at = 0;
            while let count @ 1.. = source.read_at(at, &mut block).unwrap() {
                at += count as u64;
            }
            assert_eq!(at, 100 * MB + 7);
        });
        for is_started in [false, true] {
            let (source, _) = zeros(100 * MB + u64::from(is_started));
            let prefetch = source.prefetch().unwrap();
            fetch_while(&prefetch, || {
                if is_started {
                    source.read_at(0, &mut block).unwrap();
                }
                prefetch.stop();
            });
        }
    }

    #[test]
    fn a_file_that_was_just_read_is_not_cold() {
        let (source, _) = zeros(20 * MB + 1);
        assert_eq!(source.read_at(0, &mut vec![0; 20 << 20 | 1]).unwrap(), 20 << 20 | 1);
        assert!(!source.prefetch().unwrap().is_cold());
    }

    #[test]
    fn fetching_ends_at_a_failure_which_the_reader_reports() {
        let (source, file) = zeros(100 * MB + 9);
        source.read_at(0, &mut vec![0; 1 << 20]).unwrap();
        file.set_len(0).unwrap();
        fetch_while(&source.prefetch().unwrap(), || ());
        assert!(source.read_at(1 << 20, &mut [0; 100]).unwrap_err().to_string().contains("shrank"));
    }

    #[test]
    fn a_small_file_is_left_to_the_system() {
        let (source, _) = zeros(MIN_FILE_BYTES - 1);
        assert!(source.prefetch().is_none() && Source::memory(b"v 0 0 0").prefetch().is_none());
    }
}
