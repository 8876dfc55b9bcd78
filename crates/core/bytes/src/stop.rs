//! Calls that wait for another process (a FIFO without a reader, a pipe without data), and the flag that stops them.
//!
//! Waiting calls check the flag every 50 ms, so a cancelled job ends within 100 ms whatever the other process does.
//! `source` and `sink/file.rs` make these calls.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between checks of the flag.
const STEP: Duration = Duration::from_millis(50);

/// The cause of an error in a call that ended because the caller requested a stop; see
/// [`Source::open_until`](crate::Source::open_until).
///
/// ```
/// use polyhaul_bytes::Stopped;
///
/// assert!(Stopped::caused(&std::io::Error::other(Stopped)));
/// assert!(!Stopped::caused(&std::io::Error::other("a disk fault")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl Stopped {
    /// Returns whether a stop caused `error`.
    pub fn caused(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped while waiting for another process")
    }
}

impl std::error::Error for Stopped {}

/// The flag that stops waiting calls. Without a flag, they wait indefinitely.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(pub(crate) Option<Arc<AtomicBool>>);

impl StopFlag {
    /// Fails once a stop was requested.
    pub(crate) fn check(&self) -> io::Result<()> {
        match &self.0 {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(io::Error::other(Stopped)),
            _ => Ok(()),
        }
    }

    /// Waits for one step, if no system call can wait for the event itself.
    pub(crate) fn pause(&self) -> io::Result<()> {
        self.check()?;
        std::thread::sleep(STEP);
        self.check()
    }

    /// Waits until reading `file` does not block, including at its end.
    #[cfg(unix)]
    fn wait_readable(&self, file: &File) -> io::Result<()> {
        self.wait(file, libc::POLLIN)
    }

    /// Windows has no such wait; reading blocks.
    #[cfg(not(unix))]
    fn wait_readable(&self, _: &File) -> io::Result<()> {
        self.check()
    }

    /// Waits until writing to `file` does not block, or its reader is gone.
    #[cfg(unix)]
    pub(crate) fn wait_writable(&self, file: &File) -> io::Result<()> {
        self.wait(file, libc::POLLOUT)
    }

    /// On other systems, files are not opened in non-blocking mode.
    #[cfg(not(unix))]
    pub(crate) fn wait_writable(&self, _: &File) -> io::Result<()> {
        self.pause()
    }

    #[cfg(unix)]
    fn wait(&self, file: &File, events: libc::c_short) -> io::Result<()> {
        loop {
            self.check()?;
            if crate::descriptor::wait(file, events, STEP)? {
                return Ok(());
            }
        }
    }
}

/// A pipe or a device that is read until its end or a stop.
pub(crate) struct StoppableReader {
    pub(crate) file: File,
    pub(crate) stop: StopFlag,
}

impl Read for StoppableReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.0.is_some() {
                self.stop.wait_readable(&self.file)?;
            }
            match self.file.read(out) {
                // Another reader of the same pipe took the bytes.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.stop.0.is_some() => {
                    self.stop.check()?
                }
                result => return result,
            }
        }
    }
}
