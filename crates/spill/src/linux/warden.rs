//! Keeps the process below its limit: releases the pages of arrays on disk when it grows beyond.
//!
//! A thread looks at the size of the process every millisecond, in which two threads touch about 5 MB. This is
//! not in the threads that work, because no part of a job knows how much it touched.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(1);
/// Fewer pages than this are not worth a release: the memory is used by something else.
const LEAST_BYTES: u64 = 16 << 20;

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub struct Warden {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Warden {
    /// Keeps the process below `most` bytes.
    pub fn begin(most: u64) -> io::Result<Warden> {
        let is_over = Arc::new(AtomicBool::new(false));
        let sizes = File::open("/proc/self/statm")?;
        let watched = is_over.clone();
        let thread = Builder::new().name("polyhaul-spill".into()).spawn(move || {
            while !watched.load(Relaxed) {
                if let Some([resident, files]) = read(&sizes)
                    && resident > most
                    && files > LEAST_BYTES
                {
                    super::mapped().release();
                }
                std::thread::sleep(PAUSE);
            }
        })?;
        Ok(Warden { is_over, thread: Some(thread) })
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there would have released nothing more; the job's result does not depend on it.
            let _ = thread.join();
        }
    }
}

/// The resident bytes of this process, and those of mapped files among them.
fn read(sizes: &File) -> Option<[u64; 2]> {
    let mut text = [0; 128];
    let count = sizes.read_at(&mut text, 0).ok()?;
    let text = str::from_utf8(text.get(..count)?).ok()?;
    let mut pages = text.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    // SAFETY: `sysconf` takes a number and returns one.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some([pages.next()? * page, pages.next()? * page])
}
