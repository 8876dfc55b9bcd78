//! Random access to a host, for archives, whose directory is at the end.
//!
//! Even for small requests, the host reads 64 KiB or more except at its end. The most recently read parts are kept, so
//! that reads at neighboring offsets need only one call. One thread reads at a time; the time that other threads wait
//! for the lock does not count as time of the host.

use super::SharedHost;
use crate::BLOCK_BYTES;
use crate::error::{HostFault, retry};
use crate::memory::grow;
use polyhaul_trace::Counters;
use polyhaul_trace::lock;
use std::io;
use std::sync::Mutex;

/// Maximum number of parts to keep. Each is as large as its request, rounded up to whole blocks.
const MAX_PARTS: usize = 4;
/// Minimum size of reads that go directly to the caller's memory and are not kept.
const LARGE_BYTES: usize = 4 * BLOCK_BYTES;

/// A host of known size that can seek.
pub(crate) struct HostView<'a> {
    host: SharedHost<'a>,
    size: u64,
    /// The parts, the latest one last.
    parts: Mutex<Vec<ViewPart>>,
}

/// Bytes of the host and their offset.
struct ViewPart {
    offset: u64,
    bytes: Vec<u8>,
}

impl<'a> HostView<'a> {
    /// Seeks to the start of a host and returns its size. Returns `None` if the size is unknown or the host cannot
    /// seek; in that case, the host has not moved.
    pub(crate) fn size_of(host: &SharedHost<'a>) -> io::Result<Option<u64>> {
        let mut host = lock(host);
        let Some(size) = host.size() else { return Ok(None) };
        Ok(host.seek(0)?.then_some(size))
    }

    /// Creates a view of a host of this size. `head` contains its first bytes, if they were already read.
    pub(crate) fn new(host: SharedHost<'a>, size: u64, head: Vec<u8>) -> io::Result<HostView<'a>> {
        let mut parts = Vec::new();
        keep(&mut parts, ViewPart { offset: 0, bytes: head })?;
        Ok(HostView { host, size, parts: Mutex::new(parts) })
    }

    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    /// Same as [`crate::Source::read_at`].
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        let left = self.size.saturating_sub(offset);
        let count = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        let out = &mut out[..count];
        let mut filled = 0;
        let mut parts = lock(&self.parts);
        while filled < count {
            let at = offset + filled as u64;
            let rest = &mut out[filled..];
            filled += match copy_from(&parts, at, rest) {
                0 if rest.len() >= LARGE_BYTES => self.call(at, rest, counters)?,
                0 => {
                    let part = self.part(at, rest.len(), counters)?;
                    keep(&mut parts, part)?;
                    0
                }
                count => count,
            };
        }
        Ok(count)
    }

    /// Calls the host once, at `at`.
    fn call(&self, at: u64, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        let mut host = lock(&self.host);
        match retry(|| counters.transfer(|| host.read_from(at, out)))? {
            0 => Err(HostFault::broken(format!("the host's data ended after {at} of {} declared bytes", self.size))),
            count => Ok(count),
        }
    }

    /// Reads the whole blocks that contain the `count` bytes at `at`. The last block may be shorter.
    fn part(&self, at: u64, count: usize, counters: &Counters) -> io::Result<ViewPart> {
        let offset = at - at % BLOCK_BYTES as u64;
        let part_bytes = ((at - offset) as usize + count).next_multiple_of(BLOCK_BYTES);
        let part_bytes = usize::try_from(self.size - offset).map_or(part_bytes, |left| left.min(part_bytes));
        let mut bytes = Vec::new();
        let mut filled = 0;
        while filled < part_bytes {
            // Requests at least a block each time, even from a host that returns few bytes.
            grow(&mut bytes, filled + (part_bytes - filled).max(BLOCK_BYTES))?;
            filled += self.call(offset + filled as u64, &mut bytes[filled..], counters)?;
        }
        bytes.truncate(filled);
        Ok(ViewPart { offset, bytes })
    }
}

/// Copies bytes at `at` from a part that contains them. Returns the number of copied bytes.
fn copy_from(parts: &[ViewPart], at: u64, out: &mut [u8]) -> usize {
    let bytes_at = |part: &'_ ViewPart| -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(at.checked_sub(part.offset)?).ok()?;
        let count = part.bytes.get(start..)?.len().min(out.len());
        (count > 0).then_some(start..start + count)
    };
    let Some((part, range)) = parts.iter().find_map(|part| Some((part, bytes_at(part)?))) else { return 0 };
    let count = range.len();
    out[..count].copy_from_slice(&part.bytes[range]);
    count
}

/// Keeps a part, and drops the oldest one if there are too many.
fn keep(parts: &mut Vec<ViewPart>, part: ViewPart) -> io::Result<()> {
    if parts.len() == MAX_PARTS {
        parts.remove(0);
    }
    parts.try_reserve(1).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    parts.push(part);
    Ok(())
}
