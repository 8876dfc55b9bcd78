//! A host read at any place: for archives, whose directory is at their end.
//!
//! However little is requested, the host is asked for 64 KiB or more, except for the tail, and its latest answers are
//! kept, so that reads at neighboring places are one call. One thread reads at a time; the others wait for a lock,
//! which does not count as the host's time.

use super::{HostFault, SharedHost};
use crate::BLOCK_BYTES;
use crate::error::retry;
use crate::memory::grow;
use polyhaul_trace::Counters;
use polyhaul_trace::lock;
use std::io;
use std::sync::Mutex;

/// Parts that are kept, each as large as the request, in whole blocks.
const PART_COUNT: usize = 4;
/// From here on bytes are read straight into the caller's memory, and not kept.
const LARGE_BYTES: usize = 4 * BLOCK_BYTES;

/// A host of known size that can seek.
pub(crate) struct View<'a> {
    host: SharedHost<'a>,
    size: u64,
    /// The most recently used is at the end.
    parts: Mutex<Vec<Part>>,
}

/// Bytes of the host, and their offset.
struct Part {
    offset: u64,
    bytes: Vec<u8>,
}

impl<'a> View<'a> {
    /// The size of a host that can be viewed, which is then positioned at its beginning; `None` if it does not know its
    /// size or cannot seek; its position is then unchanged.
    pub(crate) fn size_of(host: &SharedHost<'a>) -> io::Result<Option<u64>> {
        let mut host = lock(host);
        let Some(size) = host.size() else { return Ok(None) };
        Ok(host.seek(0)?.then_some(size))
    }

    /// Views a host of this size. `head` are its first bytes, as far as they were already read.
    pub(crate) fn new(host: SharedHost<'a>, size: u64, head: Vec<u8>) -> io::Result<View<'a>> {
        let mut parts = Vec::new();
        keep(&mut parts, Part { offset: 0, bytes: head })?;
        Ok(View { host, size, parts: Mutex::new(parts) })
    }

    pub(crate) fn len(&self) -> u64 {
        self.size
    }

    /// Like [`crate::Source::read_at`].
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

    /// One call of the host, at `at`.
    fn call(&self, at: u64, out: &mut [u8], counters: &Counters) -> io::Result<usize> {
        let mut host = lock(&self.host);
        match retry(|| counters.transfer(|| host.read_from(at, out)))? {
            0 => Err(HostFault::broken(format!("the host ended at byte {at}, but declared {} bytes", self.size))),
            count => Ok(count),
        }
    }

    /// Whole blocks that hold `count` bytes from `at` on, or as many of them as there are.
    fn part(&self, at: u64, count: usize, counters: &Counters) -> io::Result<Part> {
        let offset = at - at % BLOCK_BYTES as u64;
        let wanted = ((at - offset) as usize + count).next_multiple_of(BLOCK_BYTES);
        let wanted = usize::try_from(self.size - offset).map_or(wanted, |left| left.min(wanted));
        let (mut bytes, mut filled) = (Vec::new(), 0);
        while filled < wanted {
            // A host that returns little at a time is still asked for much.
            grow(&mut bytes, filled + (wanted - filled).max(BLOCK_BYTES))?;
            filled += self.call(offset + filled as u64, &mut bytes[filled..], counters)?;
        }
        bytes.truncate(filled);
        Ok(Part { offset, bytes })
    }
}

/// Copies the bytes from `at` on that a part has; returns how many.
fn copy_from(parts: &[Part], at: u64, out: &mut [u8]) -> usize {
    let here = |part: &Part| {
        let begin = usize::try_from(at.checked_sub(part.offset)?).ok()?;
        let bytes = part.bytes.get(begin..)?;
        let count = bytes.len().min(out.len());
        (count > 0).then_some((begin, count))
    };
    let Some((part, (begin, count))) = parts.iter().find_map(|part| Some((part, here(part)?))) else { return 0 };
    out[..count].copy_from_slice(&part.bytes[begin..begin + count]);
    count
}

/// Keeps a part, in place of that which was read first.
fn keep(parts: &mut Vec<Part>, part: Part) -> io::Result<()> {
    if parts.len() == PART_COUNT {
        parts.remove(0);
    }
    parts.try_reserve(1).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    parts.push(part);
    Ok(())
}
