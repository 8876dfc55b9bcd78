//! Readers that do what a host may do (short reads, interruptions, errors) and what it must not do
//! (claim more than was asked for, panic).

use crate::random::Random;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many bytes a call gives.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// As many as asked for.
    All,
    /// One.
    One,
    /// From one to as many as asked for, mostly few.
    Random(Random),
}

/// What a reader does at a place in its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None.
    Nothing,
    /// Every other call is interrupted, which means: call again.
    Interrupted,
    /// An error at this byte.
    FailsAt(usize),
    /// From this byte on it claims to have read one byte more than there was room for.
    ClaimsTooMuchAt(usize),
    /// A panic at this byte.
    PanicsAt(usize),
}

/// What was asked of a reader.
#[derive(Debug)]
pub struct Log {
    /// Calls.
    pub calls: AtomicUsize,
    /// The smallest room that was offered, in bytes.
    pub least_asked: AtomicUsize,
    /// Calls after the end or after an error.
    pub calls_too_late: AtomicUsize,
}

/// A reader over bytes with sizes and a fault.
pub struct Hostile {
    bytes: Arc<[u8]>,
    at: usize,
    sizes: Sizes,
    fault: Fault,
    interrupt: bool,
    over: bool,
    log: Arc<Log>,
}

impl Hostile {
    /// A reader that gives `bytes` in calls of these sizes.
    pub fn new(bytes: impl Into<Arc<[u8]>>, sizes: Sizes) -> Hostile {
        let log = Log {
            calls: AtomicUsize::new(0),
            least_asked: AtomicUsize::new(usize::MAX),
            calls_too_late: AtomicUsize::new(0),
        };
        Hostile {
            bytes: bytes.into(),
            at: 0,
            sizes,
            fault: Fault::Nothing,
            interrupt: false,
            over: false,
            log: Arc::new(log),
        }
    }

    /// The same reader with a fault.
    pub fn with(mut self, fault: Fault) -> Hostile {
        self.fault = fault;
        self
    }

    /// What is asked of it.
    pub fn log(&self) -> Arc<Log> {
        self.log.clone()
    }

    /// How many bytes come before the next fault.
    fn before_fault(&self) -> usize {
        let place = match self.fault {
            Fault::FailsAt(at) | Fault::ClaimsTooMuchAt(at) | Fault::PanicsAt(at) => at,
            Fault::Nothing | Fault::Interrupted => usize::MAX,
        };
        place.saturating_sub(self.at)
    }

    /// The fault, at the byte where it lies.
    fn fail(&mut self, room: usize) -> io::Result<usize> {
        match self.fault {
            Fault::ClaimsTooMuchAt(_) => Ok(room + 1),
            Fault::PanicsAt(_) => std::panic::resume_unwind(Box::new("the host panics")),
            _ => {
                self.over = true;
                Err(io::Error::other("the host's disk is gone"))
            }
        }
    }
}

impl Read for Hostile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.log.calls.fetch_add(1, Relaxed);
        self.log.least_asked.fetch_min(out.len(), Relaxed);
        self.log.calls_too_late.fetch_add(usize::from(self.over), Relaxed);
        if self.fault == Fault::Interrupted {
            self.interrupt = !self.interrupt;
            if self.interrupt {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        if self.before_fault() == 0 {
            return self.fail(out.len());
        }
        let most = out.len().min(self.bytes.len() - self.at);
        let wanted = match &mut self.sizes {
            Sizes::All => most,
            Sizes::One => most.min(1),
            Sizes::Random(random) => {
                let scale = 1usize << random.below(17);
                most.min(1 + random.below(scale))
            }
        };
        let count = wanted.min(self.before_fault());
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        self.over |= count == 0;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_through_whatever_the_sizes() {
        let bytes: Vec<u8> = (0..200u8).cycle().take(100_000).collect();
        for sizes in [Sizes::All, Sizes::One, Sizes::Random(Random::new(1))] {
            let mut out = Vec::new();
            let mut reader = Hostile::new(bytes.clone(), sizes).with(Fault::Interrupted);
            reader.read_to_end(&mut out).unwrap();
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn faults_come_at_their_byte() {
        let read = |fault| {
            let mut out = Vec::new();
            let mut reader = Hostile::new(vec![7; 100], Sizes::All).with(fault);
            (reader.read_to_end(&mut out).is_err(), out.len())
        };
        assert_eq!(read(Fault::FailsAt(42)), (true, 42));
        assert_eq!(read(Fault::Nothing), (false, 100));
        let mut reader = Hostile::new(vec![7; 9], Sizes::All).with(Fault::ClaimsTooMuchAt(0));
        assert_eq!(reader.read(&mut [0; 5]).unwrap(), 6);
    }
}
