//! Keeps the process below its limit by releasing the pages of arrays on disk.
//!
//! Worker threads check the size of the process between pieces of work, and passes over many objects check it between
//! objects (`paced`), but no more often than once per [`PAUSE`], in which two threads touch a few megabytes. A separate
//! thread checks it during all other work. That thread alone would react too late: a pass over a million objects maps
//! 64 KiB around each page that it reads, faster than pages are released.

use super::{blocks, is_active, lock_arrays};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Minimum time between two checks of the process size.
const PAUSE: Duration = Duration::from_micros(200);
/// Minimum size of mapped pages worth a release: below it, something else uses the memory.
const MIN_RELEASE_BYTES: u64 = 16 << 20;

/// Margin for pages that are touched between the check that triggers a release and the end of the release: the limit
/// divided by this number, up to [`MAX_MARGIN_BYTES`].
const MARGIN_DIVISOR: u64 = 8;
const MAX_MARGIN_BYTES: u64 = 64 << 20;

/// Maximum resident size of the process; `u64::MAX` without a warden.
static MAX_PROCESS_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);
/// Maximum resident size excluding mapped files; above it, new blocks go to disk.
static MAX_OWN_BYTES: AtomicU64 = AtomicU64::new(u64::MAX);
/// Destination of new blocks; [`UNWATCHED`] without a warden.
static BLOCKS: AtomicU8 = AtomicU8::new(UNWATCHED);
const UNWATCHED: u8 = 0;
const IN_MEMORY: u8 = 1;
const ON_DISK: u8 = 2;
/// Number of bytes of new blocks after which the allocating thread checks the size of the process.
const BLOCK_BYTES_PER_CHECK: usize = 1 << 20;
/// Descriptor of `/proc/self/statm`, the system's file with the sizes of this process. It stays open.
static SIZES: AtomicI32 = AtomicI32::new(-1);
/// Time of the last check by a worker, in nanoseconds of the monotonic clock.
static CHECKED_NS: AtomicU64 = AtomicU64::new(0);

/// The separate thread that checks the size of the process. Dropping this stops the thread.
#[derive(Debug)]
pub struct Warden {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Warden {
    /// Starts the thread. The process may grow by `memory` bytes from its present size, of which up to `max_own_bytes`
    /// may be outside mapped files.
    pub fn start(memory: u64, max_own_bytes: u64) -> io::Result<Warden> {
        if SIZES.load(Relaxed) < 0 {
            SIZES.store(File::open("/proc/self/statm")?.into_raw_fd(), Relaxed);
        }
        // Memory that the program already uses, such as an interpreter's, cannot be released.
        let [before, files_before] = read().unwrap_or_default();
        let margin = (memory / MARGIN_DIVISOR).min(MAX_MARGIN_BYTES);
        MAX_PROCESS_BYTES.store((memory - margin).saturating_add(before), Relaxed);
        MAX_OWN_BYTES.store(max_own_bytes.saturating_add(before - files_before), Relaxed);
        let is_over = Arc::new(AtomicBool::new(false));
        let watched = is_over.clone();
        let thread = Builder::new().name("polyhaul-spill".into()).spawn(move || {
            while !watched.load(Relaxed) {
                if is_too_large() {
                    lock_arrays().release();
                    blocks::release();
                }
                std::thread::sleep(PAUSE);
            }
        })?;
        BLOCKS.store(IN_MEMORY, Relaxed);
        Ok(Warden { is_over, thread: Some(thread) })
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        MAX_PROCESS_BYTES.store(u64::MAX, Relaxed);
        BLOCKS.store(UNWATCHED, Relaxed);
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, pages are no longer released, which does not affect the job's result.
            let _ = thread.join();
        }
    }
}

/// Releases pages if the process is too large and no worker checked within [`PAUSE`].
pub fn relieve() {
    if !is_active() {
        return;
    }
    let now = now();
    let last = CHECKED_NS.load(Relaxed);
    let is_due = now.saturating_sub(last) >= PAUSE.as_nanos() as u64;
    if is_due && CHECKED_NS.compare_exchange(last, now, Relaxed, Relaxed).is_ok() && is_too_large() {
        // If another thread is releasing pages, this thread waits instead of touching more pages meanwhile: a pass over
        // a million objects maps pages faster than they are released.
        let arrays = lock_arrays();
        if is_too_large() {
            arrays.release();
            blocks::release();
        }
    }
}

/// Returns whether new blocks go to disk, and counts a new block of this size for the next check.
pub fn are_blocks_on_disk(bytes: usize) -> bool {
    let state = BLOCKS.load(Relaxed);
    if state != UNWATCHED {
        count_block(bytes);
    }
    state == ON_DISK
}

/// Checks the size of the process after every [`BLOCK_BYTES_PER_CHECK`] bytes of new blocks in this thread, because
/// blocks alone can fill the memory between other checks.
fn count_block(bytes: usize) {
    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }
    // Exiting threads no longer have a counter.
    let _ended = BYTES.try_with(|counted| {
        let sum = counted.get() + bytes;
        counted.set(if sum < BLOCK_BYTES_PER_CHECK { sum } else { 0 });
        if sum >= BLOCK_BYTES_PER_CHECK {
            relieve();
        }
    });
}

/// Returns whether the process is too large and has pages to release. Also decides where new blocks go.
fn is_too_large() -> bool {
    let max_bytes = MAX_PROCESS_BYTES.load(Relaxed);
    if max_bytes == u64::MAX {
        return false;
    }
    let Some([resident, files]) = read() else { return false };
    let is_over = resident.saturating_sub(files) > MAX_OWN_BYTES.load(Relaxed);
    // Without a warden, the state stays unchanged.
    let _unwatched = BLOCKS.fetch_update(Relaxed, Relaxed, |state| {
        (state != UNWATCHED).then_some(if is_over { ON_DISK } else { IN_MEMORY })
    });
    resident > max_bytes && files > MIN_RELEASE_BYTES
}

/// Returns the resident bytes of this process, and how many of them belong to mapped files.
fn read() -> Option<[u64; 2]> {
    let mut text = [0u8; 128];
    // SAFETY: `text` has room for the requested bytes; a descriptor that is not open is an error.
    let count = unsafe { libc::pread(SIZES.load(Relaxed), text.as_mut_ptr().cast(), text.len(), 0) };
    let text = str::from_utf8(text.get(..usize::try_from(count).ok()?)?).ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    // SAFETY: `sysconf` takes a number and returns one.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some([pages.next()? * page, pages.next()? * page])
}

fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
