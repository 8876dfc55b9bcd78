//! Callbacks of a host (an editor, an engine) that reads and writes archives, caches or a network itself.
//!
//! One thread at a time calls a host, with blocks of at least 64 KiB except at the end, and never again after it
//! failed. Its results are not trusted: an invalid count, a wrong size or a panic is a [`HostFault`], like an error
//! that it returns. During a callback, no locks are held that other sources or sinks need, so the callback may use this
//! library. `host/view.rs` reads a host at any offset.

mod view;

pub(crate) use view::HostView;

use crate::BLOCK_BYTES;
use crate::error::{HostFault, repeat, retry};
use crate::memory::reserve;
use polyhaul_fault::planted;
use polyhaul_trace::Counters;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Callbacks of a host that provides bytes. Only [`HostRead::read`] is required.
///
/// ```
/// use polyhaul_bytes::{HostRead, Source};
/// use std::io;
///
/// /// Bytes of the host.
/// struct Asset {
///     bytes: Vec<u8>,
///     at: usize,
/// }
///
/// impl HostRead for Asset {
///     fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
///         let count = out.len().min(self.bytes.len() - self.at);
///         out[..count].copy_from_slice(&self.bytes[self.at..][..count]);
///         self.at += count;
///         Ok(count)
///     }
///
///     fn size(&mut self) -> Option<u64> {
///         Some(self.bytes.len() as u64)
///     }
/// }
///
/// let source = Source::host(Box::new(Asset { bytes: vec![7; 300], at: 0 }), "asset.bin");
/// let mut block = [0; 1000];
/// assert_eq!(source.read_next(&mut block)?, 300);
/// # Ok::<(), io::Error>(())
/// ```
pub trait HostRead: Send {
    /// Reads at least one byte into `out`, which is at least 64 KiB long. Returns the number of bytes read, or 0 at the
    /// end. It may return fewer bytes than fit.
    ///
    /// # Errors
    /// Any error; the caller receives it as a [`HostFault`]. After `Interrupted`, the call is repeated.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize>;

    /// Seeks to `offset`, in bytes from the start, for the next read. `Ok(false)`, the default, means that the host
    /// cannot seek and has not moved. Only archives are read with seeks.
    ///
    /// # Errors
    /// Any error of the host.
    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        let _ = offset;
        Ok(false)
    }

    /// Returns the size in bytes, if known (default: unknown). Called once, before the first read. Must be correct.
    fn size(&mut self) -> Option<u64> {
        None
    }
}

/// Callbacks of a host that receives bytes. Only [`HostWrite::write`] is required.
///
/// [`HostWrite::close`] signals success: if it is not called, discard the output.
///
/// ```
/// use polyhaul_bytes::{HostWrite, Sink};
/// use std::io;
/// use std::sync::{Arc, Mutex};
///
/// /// Collects bytes, and publishes them when they are complete.
/// struct Asset {
///     bytes: Vec<u8>,
///     published: Arc<Mutex<Vec<u8>>>,
/// }
///
/// impl HostWrite for Asset {
///     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
///         self.bytes.extend_from_slice(bytes);
///         Ok(bytes.len())
///     }
///
///     fn close(&mut self) -> io::Result<()> {
///         *self.published.lock().unwrap() = std::mem::take(&mut self.bytes);
///         Ok(())
///     }
/// }
///
/// let published = Arc::new(Mutex::new(Vec::new()));
/// let mut sink = Sink::host(Box::new(Asset { bytes: Vec::new(), published: published.clone() }), "asset.bin");
/// sink.write_all(b"v 0 0 0\n")?;
/// assert!(published.lock().unwrap().is_empty());
/// sink.finish()?;
/// assert_eq!(*published.lock().unwrap(), b"v 0 0 0\n");
/// # Ok::<(), io::Error>(())
/// ```
pub trait HostWrite: Send {
    /// Receives bytes: blocks of 64 KiB or more, except for the last one and the rest of a block that was accepted only
    /// in part. Returns the number of bytes accepted, at least one.
    ///
    /// # Errors
    /// Any error; the caller receives it as a [`HostFault`]. After `Interrupted`, the call is repeated.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Called once, after the last write.
    ///
    /// # Errors
    /// Any error of the host.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called once, after the flush and as the last call: the output is complete.
    ///
    /// # Errors
    /// Any error of the host; the output then counts as not written.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Calls a host, and converts its failures, including panics but not `Interrupted`, into a [`HostFault`].
fn guarded<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Err(error)) if error.kind() != io::ErrorKind::Interrupted => Err(HostFault::wrap(error)),
        Ok(result) => result,
        Err(_) => Err(HostFault::wrap(io::Error::other("the host's callback panicked"))),
    }
}

/// A host to read from, and its position.
pub(crate) struct HostReader<'a> {
    host: Box<dyn HostRead + 'a>,
    /// The offset of the next byte.
    at: u64,
    /// The size that the host claims.
    size: Option<u64>,
    failed: Option<io::Error>,
}

impl<'a> HostReader<'a> {
    pub(crate) fn new(mut host: Box<dyn HostRead + 'a>) -> Self {
        let (size, failed) = match guarded(|| Ok(host.size())) {
            Ok(size) => (size, None),
            Err(error) => (None, Some(error)),
        };
        HostReader { host, at: 0, size, failed }
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Calls the host; all calls except `size` are made here. After a failure, repeats the error instead.
    fn call<T>(&mut self, call: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        if let Some(error) = &self.failed {
            return Err(repeat(error));
        }
        let result = call(self);
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failed = Some(repeat(error));
        }
        result
    }

    /// Seeks to `offset` from any position. Returns `false` if the host cannot seek.
    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        self.call(|this| {
            let has_moved = retry(|| guarded(|| this.host.seek(offset)))?;
            if has_moved {
                this.at = offset;
            }
            Ok(has_moved)
        })
    }

    /// Reads at `offset`, and seeks there first if the host is at another offset.
    fn read_from(&mut self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        if self.at != offset && !self.seek(offset)? {
            return Err(HostFault::broken("the host can no longer seek"));
        }
        self.read(out)
    }
}

impl Read for HostReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.call(|this| {
            let count = guarded(|| this.host.read(out))?;
            if count > out.len() && !planted("host-overrun") {
                let requested = out.len();
                let message = format!("the host returned {count} bytes, more than the {requested} requested");
                return Err(HostFault::broken(message));
            }
            this.at = this.at.saturating_add(count as u64);
            match this.size {
                Some(size) if this.at > size => {
                    Err(HostFault::broken(format!("the host's data exceeds its declared size of {size} bytes")))
                }
                Some(size) if count == 0 && this.at < size => {
                    let message = format!("the host's data ended after {} of {size} declared bytes", this.at);
                    Err(HostFault::broken(message))
                }
                _ => Ok(count),
            }
        })
    }
}

/// A host that a stream and a view share. No code under the lock panics.
pub(crate) type SharedHost<'a> = Arc<Mutex<HostReader<'a>>>;

/// Reads a shared host as a stream.
pub(crate) struct HostStream<'a>(pub(crate) SharedHost<'a>);

impl Read for HostStream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        lock(&self.0).read(out)
    }
}

pub(crate) fn lock<'m, 'a>(host: &'m SharedHost<'a>) -> MutexGuard<'m, HostReader<'a>> {
    host.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A host to write to, and the bytes that it has not received yet, fewer than a block.
pub(crate) struct HostSink<'a> {
    host: Box<dyn HostWrite + 'a>,
    pending: Vec<u8>,
}

impl<'a> HostSink<'a> {
    pub(crate) fn new(host: Box<dyn HostWrite + 'a>) -> Self {
        HostSink { host, pending: Vec::new() }
    }

    /// Accepts all of `bytes`, and passes whole blocks to the host.
    pub(crate) fn write(&mut self, mut bytes: &[u8], counters: &Counters) -> io::Result<()> {
        if !self.pending.is_empty() || bytes.len() < BLOCK_BYTES {
            let count = bytes.len().min(BLOCK_BYTES - self.pending.len());
            reserve(&mut self.pending, count)?;
            self.pending.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
            if self.pending.len() < BLOCK_BYTES {
                return Ok(());
            }
            self.give_pending(counters)?;
        }
        if bytes.len() >= BLOCK_BYTES || planted("host-small") && !bytes.is_empty() {
            return give(&mut *self.host, bytes, counters);
        }
        reserve(&mut self.pending, bytes.len())?;
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn give_pending(&mut self, counters: &Counters) -> io::Result<()> {
        give(&mut *self.host, &self.pending, counters)?;
        self.pending.clear();
        Ok(())
    }

    /// Passes the remaining bytes to the host, and closes it.
    pub(crate) fn finish(mut self, counters: &Counters) -> io::Result<()> {
        self.give_pending(counters)?;
        let host = &mut self.host;
        retry(|| counters.waiting(|| guarded(|| host.flush())))?;
        retry(|| counters.waiting(|| guarded(|| host.close())))
    }
}

fn give(host: &mut dyn HostWrite, mut bytes: &[u8], counters: &Counters) -> io::Result<()> {
    while !bytes.is_empty() {
        let given = bytes.len();
        let mut checked = || match guarded(|| host.write(bytes))? {
            0 => Err(HostFault::broken("the host does not accept more bytes")),
            count if count > given => {
                let message = format!("the host accepted {count} bytes, more than the {given} given");
                Err(HostFault::broken(message))
            }
            count => Ok(count),
        };
        let count = retry(|| counters.transfer(&mut checked))?;
        bytes = bytes.get(count..).unwrap_or_default();
    }
    Ok(())
}
