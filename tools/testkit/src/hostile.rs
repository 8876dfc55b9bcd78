//! Readers, writers and callbacks that exercise the contract of hosts: short transfers, interruptions and errors, and
//! violations such as claiming more bytes than requested, a wrong size, or panics.

use crate::random::Random;
use polyhaul_bytes::{HostRead, HostWrite};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Number of bytes that a reader returns per call.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// As many as requested.
    All,
    /// One.
    One,
    /// Between one and as many as requested, mostly few.
    Random(Random),
}

/// Fault of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    Nothing,
    /// Every other call returns [`io::ErrorKind::Interrupted`], which must be retried.
    Interrupted,
    /// Returns an error at this byte.
    FailsAt(usize),
    /// From this byte on, claims one byte more than the buffer holds.
    ClaimsTooMuchAt(usize),
    /// Panics at this byte.
    PanicsAt(usize),
}

/// Statistics of the calls of a reader.
#[derive(Debug)]
pub struct Log {
    /// Number of calls.
    pub calls: AtomicUsize,
    /// Smallest buffer passed to it, in bytes.
    pub least_asked: AtomicUsize,
    /// Calls after the end or after an error.
    pub calls_too_late: AtomicUsize,
}

/// Reader over bytes in memory, with a choice of transfer sizes and faults.
pub struct Hostile {
    bytes: Arc<[u8]>,
    at: usize,
    sizes: Sizes,
    fault: Fault,
    interrupt: bool,
    over: bool,
    can_seek: bool,
    size: Option<u64>,
    log: Arc<Log>,
}

impl Hostile {
    /// Creates a reader that returns `bytes` in calls of these sizes.
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
            can_seek: false,
            size: None,
            log: Arc::new(log),
        }
    }

    /// Makes the host callbacks seekable.
    pub fn seekable(mut self) -> Hostile {
        self.can_seek = true;
        self
    }

    /// Makes the host callbacks claim this size.
    pub fn sized(mut self, size: u64) -> Hostile {
        self.size = Some(size);
        self
    }

    /// Sets the fault.
    pub fn with(mut self, fault: Fault) -> Hostile {
        self.fault = fault;
        self
    }

    /// Returns the statistics of its calls.
    pub fn log(&self) -> Arc<Log> {
        self.log.clone()
    }

    /// Returns the number of bytes before the fault.
    fn before_fault(&self) -> usize {
        let place = match self.fault {
            Fault::FailsAt(at) | Fault::ClaimsTooMuchAt(at) | Fault::PanicsAt(at) => at,
            Fault::Nothing | Fault::Interrupted => usize::MAX,
        };
        place.saturating_sub(self.at)
    }

    /// Triggers the fault.
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
        let available = out.len().min(self.bytes.len() - self.at);
        let size = match &mut self.sizes {
            Sizes::All => available,
            Sizes::One => available.min(1),
            Sizes::Random(random) => {
                // The scale is a random power of two, so that most calls are short.
                let scale = 1usize << random.below(17);
                available.min(1 + random.below(scale))
            }
        };
        let count = size.min(self.before_fault());
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        self.over |= count == 0;
        Ok(count)
    }
}

impl HostRead for Hostile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Read::read(self, out)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        if self.can_seek {
            self.at = usize::try_from(offset).map_or(self.bytes.len(), |offset| offset.min(self.bytes.len()));
            self.over = false;
        }
        Ok(self.can_seek)
    }

    fn size(&mut self) -> Option<u64> {
        self.size
    }
}

/// Behavior of a host that is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// Accepts everything.
    All,
    /// Accepts at most this many bytes of a block.
    AtMost(usize),
    /// Returns an error instead of accepting this byte.
    FailsAt(usize),
    /// Accepts nothing from this byte on.
    NothingAt(usize),
    /// At this byte, claims one byte more than it was passed.
    ClaimsTooMuchAt(usize),
    /// Panics at this byte.
    PanicsAt(usize),
    /// Returns an error from `flush`.
    FailsToFlush,
    /// Returns an error from `close`.
    FailsToClose,
}

/// Calls that a host received.
#[derive(Debug, Default)]
pub struct Taken {
    /// All accepted bytes.
    pub bytes: Vec<u8>,
    /// Sizes of the blocks.
    pub blocks: Vec<usize>,
    /// Number of flushes.
    pub flushes: usize,
    /// Number of closes.
    pub closes: usize,
    /// Calls after an error, or after `close`.
    pub calls_too_late: usize,
    is_over: bool,
}

/// Host that is written to.
pub struct Taker {
    taking: Taking,
    taken: Arc<Mutex<Taken>>,
}

impl Taker {
    /// Creates a host; also returns its record of calls.
    pub fn new(taking: Taking) -> (Taker, Arc<Mutex<Taken>>) {
        let taken = Arc::new(Mutex::new(Taken::default()));
        (Taker { taking, taken: taken.clone() }, taken)
    }

    fn fail<T>(&self, taken: &mut Taken) -> io::Result<T> {
        taken.is_over = true;
        Err(io::Error::other("the host's disk is full"))
    }
}

impl HostWrite for Taker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.taken.clone();
        let mut taken = taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        taken.calls_too_late += usize::from(taken.is_over);
        taken.blocks.push(bytes.len());
        let reaches = |at: usize| at < taken.bytes.len() + bytes.len();
        let count = match self.taking {
            Taking::AtMost(max) => max.min(bytes.len()),
            Taking::FailsAt(at) if reaches(at) => return self.fail(&mut taken),
            Taking::NothingAt(at) if reaches(at) => 0,
            Taking::ClaimsTooMuchAt(at) if reaches(at) => bytes.len() + 1,
            Taking::PanicsAt(at) if reaches(at) => {
                taken.is_over = true;
                drop(taken);
                std::panic::resume_unwind(Box::new("the host panics"))
            }
            _ => bytes.len(),
        };
        taken.is_over = count == 0 || count > bytes.len();
        taken.bytes.extend_from_slice(&bytes[..count.min(bytes.len())]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let taken = self.taken.clone();
        let mut taken = taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        taken.calls_too_late += usize::from(taken.is_over);
        taken.flushes += 1;
        if self.taking == Taking::FailsToFlush { self.fail(&mut taken) } else { Ok(()) }
    }

    fn close(&mut self) -> io::Result<()> {
        let taken = self.taken.clone();
        let mut taken = taken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        taken.calls_too_late += usize::from(taken.is_over);
        taken.closes += 1;
        taken.is_over = true;
        if self.taking == Taking::FailsToClose { self.fail(&mut taken) } else { Ok(()) }
    }
}

/// Fault of a [`Faulty`] writer.
#[derive(Clone, Copy, Debug)]
pub enum WriteFault {
    /// Returns an error of this kind.
    Fails(io::ErrorKind),
    /// Accepts no bytes.
    TakesNothing,
    /// Claims one byte more than it was passed.
    ClaimsTooMuch,
    /// Panics.
    Panics,
}

/// Writer with short writes and interruptions, and a fault after a given number of bytes.
pub struct Faulty {
    left: usize,
    fault: WriteFault,
    calls: usize,
    late: Arc<AtomicUsize>,
    done: bool,
}

impl Faulty {
    /// Creates a writer that accepts `bytes` bytes; also returns the count of its calls after the fault.
    pub fn new(bytes: usize, fault: WriteFault) -> (Faulty, Arc<AtomicUsize>) {
        let late = Arc::new(AtomicUsize::new(0));
        (Faulty { left: bytes, fault, calls: 0, late: late.clone(), done: false }, late)
    }
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.done {
            self.late.fetch_add(1, Relaxed);
        }
        if self.calls.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.left > 0 {
            let count = bytes.len().min(self.left).min(10_000);
            self.left -= count;
            return Ok(count);
        }
        self.done = true;
        match self.fault {
            WriteFault::Fails(kind) => Err(kind.into()),
            WriteFault::TakesNothing => Ok(0),
            WriteFault::ClaimsTooMuch => Ok(bytes.len() + 1),
            WriteFault::Panics => std::panic::resume_unwind(Box::new("the host panics")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
        assert_eq!(Read::read(&mut reader, &mut [0; 5]).unwrap(), 6);
    }
}
