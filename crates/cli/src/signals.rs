//! SIGINT and SIGTERM stop the work cleanly; SIGXFSZ becomes an error of the write.
//!
//! The first signal raises the library's cancel flag. The work then ends at its next chunk, takes
//! its temporary file away, and `main` exits with 128 plus the signal's number. Work that hangs in
//! a read of a pipe never sees the flag, so a thread ends the process after a moment, unless the
//! work is held by a [`Hold`]: while an output file is open, leaving would leave litter. A second
//! signal ends the process at once, in any case; the old file is whole even then.

use polyhaul::options::Cancel;
use polyhaul::{Error, Result};
use std::sync::Arc;
#[cfg(unix)]
use std::sync::atomic::AtomicI32;
use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(unix)]
use std::time::Duration;

/// How long work that holds nothing may take to stop.
#[cfg(unix)]
const GRACE: Duration = Duration::from_millis(800);

/// What was caught, and whether leaving at once would do harm.
#[derive(Clone, Default)]
pub struct Signals {
    cancel: Cancel,
    /// The signal's number; 0 for none.
    caught: Arc<AtomicUsize>,
    holds: Arc<AtomicUsize>,
    /// The process that signals are meant for; 0 for this one.
    #[cfg(unix)]
    meant_for: Arc<AtomicI32>,
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
            signal => u8::try_from(128 + signal).ok(),
        }
    }

    /// Says that an output is open from now on; an error where a signal came first.
    pub fn hold(&self) -> Result<Hold> {
        let hold = self.hold_on();
        // Counted first and checked then: the watching thread does it the other way round.
        if self.caught.load(Ordering::SeqCst) == 0 { Ok(hold) } else { Err(Error::cancelled()) }
    }

    /// From now on signals are for another process, which decides when to end; with 0 they are for this one again.
    /// SIGTERM is passed on to it; SIGINT it gets by itself, as a terminal sends it to both.
    #[cfg(target_os = "linux")]
    pub fn pass_to(&self, process: i32) {
        self.meant_for.store(process, Ordering::SeqCst);
    }

    /// The same after a signal, too: for what is done at the end of work that stopped.
    pub fn hold_on(&self) -> Hold {
        self.holds.fetch_add(1, Ordering::SeqCst);
        Hold(self.holds.clone())
    }

    /// A thread waits for signals, so that what they cause need not be safe inside of a handler.
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

    /// Without a thread that waits: the second signal ends a read that hangs.
    #[cfg(not(unix))]
    fn catch(&self) -> std::io::Result<()> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal sets the flag, and the second finds it set.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, self.cancel.flag())?;
            signal_hook::flag::register_usize(signal, self.caught.clone(), signal as usize)?;
            signal_hook::flag::register(signal, self.cancel.flag())?;
        }
        Ok(())
    }

    /// The first signal asks the work to stop and sets the clock; the second ends the process.
    #[cfg(unix)]
    fn arrived(&self, signal: usize) {
        let other = self.meant_for.load(Ordering::SeqCst);
        if other > 0 {
            if signal == signal_hook::consts::SIGTERM as usize {
                // SAFETY: the call takes numbers; the process is a child that was not waited for.
                unsafe { libc::kill(other, libc::SIGTERM) };
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
