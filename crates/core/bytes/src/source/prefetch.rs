//! Has the system fetch a cold file ahead of the threads that parse it.
//!
//! Without this, the disk idles while a thread parses: the system reads a few MB ahead, and goes on only once a reader
//! gets there. To read a byte here and there is enough for the system to read everything in between, and costs no copy.
//! The bytes end up in the system's page cache, from which the parsers read them as before: so no result, no error and
//! no memory of ours depends on whether a file was fetched, and failures here are ignored. It starts no thread: see
//! `polyhaul_pipeline::prefetch`.

use super::{RegularFile, read_file_at};
use crate::error::retry;
use polyhaul_trace::Counters;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// How far ahead of the readers, in bytes. The system's own reading ahead comes on top.
const WINDOW_BYTES: u64 = 32 << 20;
/// One byte of this many is read. The system reads on once someone reads in the first block of what it read ahead last,
/// and its blocks are no smaller once it reads ahead by MBs.
const STEP_BYTES: u64 = 64 << 10;
/// The window is at most this many times what was read so far, so that little is fetched of a file of which only the
/// header is wanted.
const GROWTH: u64 = 4;
/// Smaller files are left to the system, which reads them ahead in one or two steps.
const LEAST_BYTES: u64 = 16 << 20;
/// In how many places a file is probed, besides its end.
const PROBES: u64 = 16;

/// How far the readers of a file got, for those who run ahead of them.
pub(super) struct Progress {
    /// The end of the last range in the file that was asked for, in bytes.
    reached: AtomicU64,
    /// Where the readers wake those who wait.
    wake_at: AtomicU64,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Default for Progress {
    fn default() -> Self {
        let (reached, wake_at) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Progress { reached, wake_at, lock: Mutex::default(), changed: Condvar::new() }
    }
}

impl Progress {
    /// Someone reads up to `end`.
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
        // Under the lock, nobody is between the last look and the wait.
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.changed.notify_all();
    }

    /// Waits until the readers reach `end`, or until `is_over`.
    fn wait(&self, end: u64, is_over: impl Fn() -> bool) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.wake_at.fetch_min(end, SeqCst);
            if self.reached() >= end || is_over() {
                break;
            }
            lock = self.changed.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        // Others who wait were woken too, and say again where.
        self.wake_at.store(u64::MAX, SeqCst);
    }
}

/// A large file that can be fetched ahead of its readers; [`Source::prefetch`](super::Source::prefetch) makes one.
pub struct Prefetch<'s> {
    file: &'s RegularFile,
    /// Those of the readers.
    counters: &'s Counters,
    is_stopped: AtomicBool,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Fetch what is at this offset and after it.
    Fetch(u64),
    /// Wait until the readers reach this offset.
    Wait(u64),
    Done,
}

impl<'s> Prefetch<'s> {
    /// `None` for a file so small that the system's own reading ahead suffices.
    pub(super) fn of_large(file: &'s RegularFile, counters: &'s Counters) -> Option<Prefetch<'s>> {
        (file.len >= LEAST_BYTES).then(|| Prefetch { file, counters, is_stopped: AtomicBool::new(false) })
    }

    /// Whether parts of the file are known to be missing from the system's memory.
    pub fn is_cold(&self) -> bool {
        let RegularFile { base, len, .. } = self.file;
        // The end first: a missing page is fetched, and in the middle it would be in the way of reading ahead.
        let mut places = (0..PROBES).rev().map(|probe| len / PROBES * probe);
        is_missing(self.file, base + len - 1) || places.any(|at| is_missing(self.file, base + at))
    }

    /// Fetches until the end of the file, an error or [`Prefetch::stop`].
    pub fn run(&self) {
        let Ok(own) = reopened(self.file) else { return };
        let (progress, mut at) = (&self.file.progress, 0);
        while !self.is_stopped() {
            match next(at, progress.reached(), self.counters.snapshot().bytes, self.file.len) {
                Next::Fetch(from) => match retry(|| read_file_at(&own, self.file.base + from, &mut [0])) {
                    Ok(1..) => at = from + STEP_BYTES,
                    // The reader who gets there says so.
                    Ok(0) | Err(_) => return,
                },
                Next::Wait(end) => progress.wait(end, || self.is_stopped()),
                Next::Done => return,
            }
        }
    }

    /// Ends [`Prefetch::run`], after the read that it is in.
    pub fn stop(&self) {
        self.is_stopped.store(true, SeqCst);
        self.file.progress.wake();
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(SeqCst)
    }
}

/// What comes after fetching up to `at`, when the readers have reached `reached` and read `bytes` of a file of `len`
/// bytes.
fn next(at: u64, reached: u64, bytes: u64, len: u64) -> Next {
    let from = at.max(reached);
    let window = WINDOW_BYTES.min(bytes.saturating_mul(GROWTH));
    let end = len.min(from + STEP_BYTES);
    if from >= len {
        Next::Done
    } else if end <= reached + window {
        Next::Fetch(from)
    } else {
        // A full window is filled again when a quarter of it is used, since to wake is a system call.
        Next::Wait((end + window / 4).saturating_sub(window).max(reached + 1))
    }
}

/// The same file, with a reading ahead of its own in the system: that of the readers' descriptor is disturbed by reads
/// that are not quite in order.
#[cfg(target_os = "linux")]
fn reopened(file: &RegularFile) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.file.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn reopened(file: &RegularFile) -> io::Result<File> {
    file.file.try_clone()
}

/// Whether the page at `offset` is known to be missing from the system's memory.
#[cfg(target_os = "linux")]
fn is_missing(file: &RegularFile, offset: u64) -> bool {
    crate::descriptor::is_cached(&file.file, offset) == Some(false)
}

/// Other systems do not tell.
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
        assert_eq!(next(0, 0, 0, 100 * MB), Next::Wait(STEP_BYTES));
        assert_eq!(next(MB, MB, MB / 4, 100 * MB), Next::Fetch(MB));
        assert_eq!(next(2 * MB, MB, MB / 4, 100 * MB), Next::Wait(MB + STEP_BYTES + MB / 4));
        let full = 10 * MB + WINDOW_BYTES;
        assert_eq!(next(full - STEP_BYTES, 10 * MB, 10 << 40, 1 << 40), Next::Fetch(full - STEP_BYTES));
        assert_eq!(next(full, 10 * MB, u64::MAX, 1 << 40), Next::Wait(10 * MB + STEP_BYTES + WINDOW_BYTES / 4));
    }

    #[test]
    fn readers_who_are_ahead_are_not_followed_and_the_end_is_the_end() {
        assert_eq!(next(MB, 50 * MB, 50 * MB, 100 * MB), Next::Fetch(50 * MB));
        assert_eq!(next(100 * MB - 5, 90 * MB, 50 * MB, 100 * MB), Next::Fetch(100 * MB - 5));
        assert_eq!(next(100 * MB, 50 * MB, 50 * MB, 100 * MB), Next::Done);
        assert_eq!(next(0, 100 * MB, 1, 100 * MB), Next::Done);
    }

    /// A file of zeros, which take no space.
    fn zeros(bytes: u64) -> (Source<'static>, File) {
        let path = std::env::temp_dir().join(format!("polyhaul-prefetch-{}-{bytes}", std::process::id()));
        let file = File::create(&path).unwrap();
        file.set_len(bytes).unwrap();
        let source = Source::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        (source, file)
    }

    /// Fetches while `read` reads; fails if the fetching goes on although it should not.
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
        for is_begun in [false, true] {
            let (source, _) = zeros(100 * MB + u64::from(is_begun));
            let prefetch = source.prefetch().unwrap();
            fetch_while(&prefetch, || {
                if is_begun {
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
        let (source, _) = zeros(LEAST_BYTES - 1);
        assert!(source.prefetch().is_none() && Source::memory(b"v 0 0 0").prefetch().is_none());
    }
}
