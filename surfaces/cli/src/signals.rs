//! Handles SIGINT and SIGTERM by stopping the work cleanly, and turns SIGXFSZ into a write error. On Windows, Ctrl-C
//! counts as SIGINT; Ctrl-Break, a closed console and the end of the session count as SIGTERM.
//!
//! The first signal sets the library's cancel flag. The work then stops at its next chunk and removes its temporary
//! file, and `main` exits with 128 plus the signal number. Work that is blocked reading a pipe never checks the flag,
//! so a thread ends the process after [`GRACE`], unless a [`Hold`] exists: exiting while an output file is open would
//! leave a temporary file behind. A second signal always ends the process immediately; even then, the old output is
//! intact.

use crate::format;
use polyhaul::options::Cancel;
use polyhaul::{Error, Result};
use polyhaul_fault::planted;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Time for work without a hold to stop.
const GRACE: Duration = Duration::from_millis(800);

/// The caught signal, and the holds that delay an exit.
#[derive(Clone, Default)]
pub struct Signals {
    cancel: Cancel,
    /// The signal number, or 0 for none.
    caught: Arc<AtomicUsize>,
    holds: Arc<AtomicUsize>,
    /// The process to forward signals to; `None` to handle them here.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    meant_for: Arc<std::sync::Mutex<Option<Other>>>,
}

/// Another process. The pidfd refers only to this process, even if its id is reused. It is `None` before Linux 5.3.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
struct Other {
    process: i32,
    descriptor: Option<std::os::fd::OwnedFd>,
}

/// While a hold exists, the process does not exit after the first signal, but waits for the work to stop by itself.
pub struct Hold(Arc<AtomicUsize>);

impl Signals {
    /// Installs the handlers. If that fails, signals keep their default effect.
    pub fn install() -> Signals {
        let signals = Signals::default();
        let _ = signals.catch();
        signals
    }

    /// The cancel flag to pass to the library.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// The exit code for the caught signal, if any.
    pub fn exit_code(&self) -> Option<u8> {
        match self.caught.load(Ordering::SeqCst) {
            0 => None,
            _ if planted("signal-code") => None,
            signal => u8::try_from(128 + signal).ok(),
        }
    }

    /// Marks an output as open until the hold is dropped. Fails if a signal has already arrived.
    pub fn hold(&self) -> Result<Hold> {
        let hold = self.hold_on();
        // This thread adds the hold and then checks for a signal; `arrived` stores the signal and then checks for
        // holds. So at least one of the two sees the other's store.
        if self.caught.load(Ordering::SeqCst) == 0 { Ok(hold) } else { Err(Error::cancelled()) }
    }

    /// Like [`hold`](Signals::hold), for the output at `path`. Returns `None` for pipes, devices and `-`, which leave
    /// nothing behind.
    pub fn hold_output(&self, path: &Path) -> Result<Option<Hold>> {
        let is_special = || std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if format::is_stream(path) || is_special() { Ok(None) } else { self.hold().map(Some) }
    }

    /// Holds even after a signal, for the cleanup of stopped work.
    pub fn hold_on(&self) -> Hold {
        self.holds.fetch_add(1, Ordering::SeqCst);
        Hold(self.holds.clone())
    }

    /// Forwards signals to another process from now on; `None` handles them here again. The process must not have been
    /// waited for, and decides itself when to end. Only SIGTERM is forwarded: a terminal sends SIGINT to both
    /// processes.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn pass_to(&self, process: Option<i32>) {
        let other = process.map(Other::new);
        *self.meant_for.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = other;
    }

    /// Starts a thread that waits for signals, so that handling them need not be async-signal-safe.
    #[cfg(unix)]
    fn catch(&self) -> std::io::Result<()> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        // With a no-op handler, a write beyond the file size limit fails with EFBIG instead of ending the process.
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

    /// Registers a handler, which the system calls in a new thread for each event.
    #[cfg(windows)]
    fn catch(&self) -> std::io::Result<()> {
        console::catch(self.clone())
    }

    /// Handles a signal: the first one requests a stop and starts the clock, the second ends the process.
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

/// Console events on Windows.
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
        // SAFETY: the handler is a function that exists as long as the program and may run on any thread.
        match unsafe { SetConsoleCtrlHandler(Some(handle), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Returns 1 to mark the event as handled.
    extern "system" fn handle(event: u32) -> i32 {
        if let Some(signals) = SIGNALS.get() {
            signals.arrived(if event == CTRL_C_EVENT { SIGINT } else { SIGTERM });
        }
        // After the other events, the system ends the process when this returns, or a few seconds later.
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
        // SAFETY: `pidfd_open` takes only integers. A descriptor that it returns (0 or above) is new, so `OwnedFd` is
        // its only owner.
        let descriptor = unsafe {
            let descriptor = libc::syscall(libc::SYS_pidfd_open, process, 0);
            i32::try_from(descriptor)
                .ok()
                .filter(|descriptor| *descriptor >= 0)
                .map(|descriptor| OwnedFd::from_raw_fd(descriptor))
        };
        Other { process, descriptor }
    }

    /// Sends SIGTERM; does nothing if the process has ended. Without a pidfd, the signal could reach another process
    /// that reuses the id after the process was waited for, but systems reuse an id only after all other ids.
    fn terminate(&self) {
        use std::os::fd::AsRawFd;
        // SAFETY: the calls take integers, and a null pointer where one is allowed.
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
