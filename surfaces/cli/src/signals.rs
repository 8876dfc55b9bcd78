//! SIGINT and SIGTERM stop the work cleanly; SIGXFSZ becomes an error of the write. On Windows, Ctrl-C counts as
//! SIGINT, and Ctrl-Break, a closed console and the end of the session as SIGTERM.
//!
//! The first signal sets the library's cancel flag. The work then ends at its next chunk, removes its temporary file,
//! and `main` exits with 128 plus the signal's number. Work that hangs in a read of a pipe never sees the flag, so a
//! thread ends the process after a moment, unless there is a [`Hold`]: while an output file is open, leaving would
//! leave litter. A second signal ends the process immediately, in any case; the old file is intact even then.

use crate::format;
use polyhaul::options::Cancel;
use polyhaul::{Error, Result};
use polyhaul_fault::planted;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long work without a hold may take to stop.
const GRACE: Duration = Duration::from_millis(800);

/// The signal that was caught, and whether leaving immediately would do harm.
#[derive(Clone, Default)]
pub struct Signals {
    cancel: Cancel,
    /// The signal's number; 0 for none.
    caught: Arc<AtomicUsize>,
    holds: Arc<AtomicUsize>,
    /// The process that signals are meant for; `None` for this one.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    meant_for: Arc<std::sync::Mutex<Option<Other>>>,
}

/// Another process. The descriptor refers only to it, even if its id is reused; systems before Linux 5.3 have none.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
struct Other {
    process: i32,
    descriptor: Option<std::os::fd::OwnedFd>,
}

/// While it lives, the first signal waits for the work to stop by itself.
pub struct Hold(Arc<AtomicUsize>);

impl Signals {
    /// Catches signals from now on. Where that fails, they keep their usual effect.
    pub fn install() -> Signals {
        let signals = Signals::default();
        let _ = signals.catch();
        signals
    }

    /// The flag to run the library with.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// The exit code of the signal that was caught.
    pub fn exit_code(&self) -> Option<u8> {
        match self.caught.load(Ordering::SeqCst) {
            0 => None,
            _ if planted("signal-code") => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }

    /// Declares that an output is open from now on; an error if a signal came first.
    pub fn hold(&self) -> Result<Hold> {
        let hold = self.hold_on();
        // Counted first and checked then: the watching thread does it the other way round.
        if self.caught.load(Ordering::SeqCst) == 0 { Ok(hold) } else { Err(Error::cancelled()) }
    }

    /// The same for an output of this path. Anything but a separate file (a pipe, a device, `-`) leaves nothing behind
    /// and needs no hold.
    pub fn hold_output(&self, path: &Path) -> Result<Option<Hold>> {
        let is_special = || std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if format::is_stream(path) || is_special() { Ok(None) } else { self.hold().map(Some) }
    }

    /// The same even after a signal: for the cleanup of work that stopped.
    pub fn hold_on(&self) -> Hold {
        self.holds.fetch_add(1, Ordering::SeqCst);
        Hold(self.holds.clone())
    }

    /// From now on signals are for another process, which was not waited for yet and which decides when to end; with
    /// `None` they are for this one again. SIGTERM is forwarded to it; it receives SIGINT by itself, since a terminal
    /// sends it to both.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn pass_to(&self, process: Option<i32>) {
        let other = process.map(Other::new);
        *self.meant_for.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = other;
    }

    /// A thread waits for signals, so that their handling need not be async-signal-safe.
    #[cfg(unix)]
    fn catch(&self) -> std::io::Result<()> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        // A handler that does nothing makes the write fail with EFBIG instead of ending the process.
        signal_hook::flag::register(libc::SIGXFSZ, Arc::default())?;
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let watched = self.clone();
        let watch = move || {
            for signal in signals.forever() {
                watched.arrived(signal as usize);
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop)
    }

    /// The system starts a thread for each event.
    #[cfg(windows)]
    fn catch(&self) -> std::io::Result<()> {
        console::catch(self.clone())
    }

    /// The first signal requests a stop and starts the clock; the second ends the process.
    fn arrived(&self, signal: usize) {
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        if let Some(other) = &*self.meant_for.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            if signal == signal_hook::consts::SIGTERM as usize {
                other.terminate();
            }
            return;
        }
        if self.caught.swap(signal, Ordering::SeqCst) != 0 {
            std::process::exit(128 + signal as i32);
        }
        self.cancel.cancel();
        let watched = self.clone();
        let leave = move || {
            std::thread::sleep(GRACE);
            while watched.holds.load(Ordering::SeqCst) > 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            std::process::exit(128 + signal as i32);
        };
        let _ = std::thread::Builder::new().name("leave".into()).spawn(leave);
    }
}

/// Events of the console.
#[cfg(windows)]
mod console {
    use super::Signals;
    use std::io;
    use std::sync::OnceLock;
    use std::time::Duration;

    const SIGINT: usize = 2;
    const SIGTERM: usize = 15;
    const CTRL_C_EVENT: u32 = 0;
    const CTRL_BREAK_EVENT: u32 = 1;

    static SIGNALS: OnceLock<Signals> = OnceLock::new();

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn SetConsoleCtrlHandler(handler: Option<extern "system" fn(u32) -> i32>, add: i32) -> i32;
    }

    pub(super) fn catch(signals: Signals) -> io::Result<()> {
        if SIGNALS.set(signals).is_err() {
            return Ok(());
        }
        // SAFETY: the handler is a function that lives as long as the program and may run on any thread.
        match unsafe { SetConsoleCtrlHandler(Some(handle), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Returns 1, since the event is handled.
    extern "system" fn handle(event: u32) -> i32 {
        if let Some(signals) = SIGNALS.get() {
            signals.arrived(if event == CTRL_C_EVENT { SIGINT } else { SIGTERM });
        }
        // After other events, the system ends the process when this returns, or a few seconds later.
        while event > CTRL_BREAK_EVENT {
            std::thread::sleep(Duration::from_secs(1));
        }
        1
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Other {
    fn new(process: i32) -> Other {
        use std::os::fd::{FromRawFd, OwnedFd};
        // SAFETY: `pidfd_open` takes numbers only. A descriptor that it returns (0 or above) is new, so that `OwnedFd`
        // is its only owner.
        let descriptor = unsafe {
            let descriptor = libc::syscall(libc::SYS_pidfd_open, process, 0);
            i32::try_from(descriptor)
                .ok()
                .filter(|descriptor| *descriptor >= 0)
                .map(|descriptor| OwnedFd::from_raw_fd(descriptor))
        };
        Other { process, descriptor }
    }

    /// Asks it to end; without effect if it has ended. Without a descriptor, an id that was just waited for could be
    /// hit, but a system reuses it only after all other ids.
    fn terminate(&self) {
        use std::os::fd::AsRawFd;
        // SAFETY: the calls take numbers, and a null where a pointer is allowed to be one.
        unsafe {
            match &self.descriptor {
                Some(descriptor) => {
                    let no_details = std::ptr::null::<libc::siginfo_t>();
                    libc::syscall(libc::SYS_pidfd_send_signal, descriptor.as_raw_fd(), libc::SIGTERM, no_details, 0);
                }
                None => _ = libc::kill(self.process, libc::SIGTERM),
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_after_a_signal_is_refused() {
        let signals = Signals::default();
        let hold = signals.hold().unwrap();
        assert_eq!(signals.holds.load(Ordering::SeqCst), 1);
        drop(hold);
        assert_eq!((signals.holds.load(Ordering::SeqCst), signals.exit_code()), (0, None));
        signals.caught.store(15, Ordering::SeqCst);
        assert!(signals.hold().is_err());
        assert_eq!((signals.holds.load(Ordering::SeqCst), signals.exit_code()), (0, Some(143)));
    }
}
