//! Keeps the process below its limit: releases the pages of arrays on disk when it grows beyond.
//!
//! The threads that work look at the size of the process between two pieces of work, at most every [`PAUSE`], in which
//! two threads touch a few megabytes. A thread of its own looks as well, for work that has no pieces; alone it
//! would come too late when all cores are busy.

use super::{is_active, mapped, try_mapped};
use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often the size of the process is looked at.
const PAUSE: Duration = Duration::from_micros(500);
/// Fewer pages than this are not worth a release: the memory is used by something else.
const LEAST_BYTES: u64 = 16 << 20;

/// Room for the pages that are touched between the look that finds the process too large and the end of the release: a
/// part of its memory, up to a limit.
const MARGIN_PART: u64 = 8;
const MOST_MARGIN: u64 = 64 << 20;

/// The most bytes that the process may have; `u64::MAX` without a warden.
static MOST: AtomicU64 = AtomicU64::new(u64::MAX);
/// The system's file with the size of this process; it stays open.
static SIZES: AtomicI32 = AtomicI32::new(-1);
/// When a thread that works looked at it last, in nanoseconds of the monotonic clock.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Warden {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Warden {
    /// Lets the process grow by `memory` bytes.
    pub fn begin(memory: u64) -> io::Result<Warden> {
        if SIZES.load(Relaxed) < 0 {
            SIZES.store(File::open("/proc/self/statm")?.into_raw_fd(), Relaxed);
        }
        // What the program has already, such as the memory of an interpreter, cannot be released.
        let [before, _] = read().unwrap_or_default();
        let margin = (memory / MARGIN_PART).min(MOST_MARGIN);
        MOST.store((memory - margin).saturating_add(before), Relaxed);
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = is_over.clone();
        let thread = Builder::new().name("polyhaul-spill".into()).spawn(move || {
            while !watched.load(Relaxed) {
                if is_too_large() {
                    mapped().release();
                }
                std::thread::sleep(2 * PAUSE);
            }
        })?;
        Ok(Warden { is_over, thread: Some(thread) })
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        MOST.store(u64::MAX, Relaxed);
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there would have released nothing more; the job's result does not depend on it.
            let _ = thread.join();
        }
    }
}

/// Releases pages if the process is too large and nobody looked a moment ago.
pub fn relieve() {
    if !is_active() {
        return;
    }
    let now = now();
    let last = LOOKED.load(Relaxed);
    let is_due = now.saturating_sub(last) >= PAUSE.as_nanos() as u64;
    if is_due && LOOKED.compare_exchange(last, now, Relaxed, Relaxed).is_ok() && is_too_large() {
        // A thread that has the lock releases pages, or makes an array, which is followed by another look.
        if let Some(arrays) = try_mapped() {
            arrays.release();
        }
    }
}

/// Whether the process is too large, and has pages that can be released.
fn is_too_large() -> bool {
    let most = MOST.load(Relaxed);
    most != u64::MAX && read().is_some_and(|[resident, files]| resident > most && files > LEAST_BYTES)
}

/// The resident bytes of this process, and those of mapped files among them.
fn read() -> Option<[u64; 2]> {
    let mut text = [0u8; 128];
    // SAFETY: `text` has room for as many bytes as are asked for; a descriptor that is not open is an error.
    let count = unsafe { libc::pread(SIZES.load(Relaxed), text.as_mut_ptr().cast(), text.len(), 0) };
    let text = str::from_utf8(text.get(..usize::try_from(count).ok()?)?).ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    // SAFETY: `sysconf` takes a number and returns one.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some([pages.next()? * page, pages.next()? * page])
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
