//! The uncompressed bytes of an indexed source, at any offset, for any number of threads.
//!
//! Each thread decodes directly into its own buffer, so threads do not wait for each other, and only decoders are
//! cached. Reading a whole group of members decodes it once. Reading part of a group decodes it from its start, unless
//! an idle decoder is at that position or before it in the group, so small sequential reads decode nothing twice.
//! Damage may be detected only at the end of a member, so groups that were read in part are recorded until their end is
//! reached.

use super::decoder::SourceDecoder;
use super::index::{MemberGroup, MemberGroups};
use super::limits::DecompressLimits;
use crate::codec::Codec;
use crate::memory::grow;
use crate::source::PlainPieces;
use crate::{BLOCK_BYTES, Source};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The uncompressed bytes of a source with known groups of members.
pub(crate) struct Members<'a> {
    codec: Codec,
    source: Source<'a>,
    groups: MemberGroups,
    limits: DecompressLimits,
    /// Idle readers, about as many as were in use at the same time; the most recently used are last.
    idle: Mutex<Vec<MemberReader<'a>>>,
    /// The state of each group: [`UNREAD`], [`READ`] or [`CHECKED`].
    states: Vec<AtomicU8>,
}

/// Maximum number of idle readers in the middle of a group, before one of them is reused for another group.
const MAX_IN_GROUPS: usize = 2;

/// Nothing of the group was read.
const UNREAD: u8 = 0;
/// Part of the group was read.
const READ: u8 = 1;
/// The group was decoded to its end without an error.
const CHECKED: u8 = 2;

impl<'a> Members<'a> {
    /// Creates a reader for `source`, whose groups are known.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(
        codec: Codec,
        source: Source<'a>,
        groups: MemberGroups,
        limits: &DecompressLimits,
    ) -> io::Result<Members<'a>> {
        let mut states = Vec::new();
        states.try_reserve_exact(groups.count())?;
        states.resize_with(groups.count(), || AtomicU8::new(UNREAD));
        Ok(Members { codec, source, groups, limits: limits.clone(), idle: Mutex::default(), states })
    }

    fn note(&self, group: usize, state: u8) {
        self.states[group].fetch_max(state, Ordering::Relaxed);
    }

    /// Returns an idle reader that can continue to `offset`, or one that is not in a group. If there is neither,
    /// returns a new reader or, if [`MAX_IN_GROUPS`] readers are idle, the least recently used one.
    fn reader(&self, group: usize, offset: u64) -> io::Result<MemberReader<'a>> {
        let mut idle = self.lock();
        let fits = idle.iter().position(|reader| reader.is_before(group, offset));
        let chosen = fits.or_else(|| idle.iter().position(|reader| reader.group.is_none()));
        // Reusing a reader in the middle of a group would mean decoding that group again later.
        if chosen.is_none() && idle.len() < MAX_IN_GROUPS {
            drop(idle);
            let decoder = SourceDecoder::new(self.codec, self.source.clone(), &self.limits)?;
            return Ok(MemberReader { decoder, group: None, passed: Vec::new() });
        }
        Ok(idle.remove(chosen.unwrap_or_default()))
    }

    /// Locks the idle readers. No code under the lock panics.
    fn lock(&self) -> MutexGuard<'_, Vec<MemberReader<'a>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlainPieces for Members<'_> {
    fn check_piece(&self, number: u64, is_whole: bool) -> io::Result<()> {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let state = self.states.get(number).map_or(CHECKED, |state| state.load(Ordering::Relaxed));
        if state == CHECKED || state == UNREAD && !is_whole {
            return Ok(());
        }
        let group = self.groups.get(number);
        let end = group.plain.end;
        let mut reader = self.reader(number, end)?;
        self.note(number, reader.read(number, group, end, &mut [])?);
        self.lock().push(reader);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.groups.plain_bytes()
    }

    fn piece(&self, number: u64) -> Option<Range<u64>> {
        let number = usize::try_from(number).ok().filter(|&number| number < self.groups.count())?;
        Some(self.groups.get(number).plain)
    }

    fn piece_bytes(&self) -> usize {
        self.groups.largest_bytes()
    }

    /// Returns the error of the first group that has one.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let end = self.len().min(offset.saturating_add(out.len() as u64));
        if offset >= end {
            return Ok(0);
        }
        let mut groups = self.groups.holding(&(offset..end));
        let mut reader = self.reader(groups.start, offset)?;
        let mut at = offset;
        groups.try_for_each(|number| {
            let group = self.groups.get(number);
            let part = (at - offset) as usize..(end.min(group.plain.end) - offset) as usize;
            self.note(number, reader.read(number, group, at, &mut out[part.clone()])?);
            at = offset + part.end as u64;
            io::Result::Ok(())
        })?;
        self.lock().push(reader);
        Ok((end - offset) as usize)
    }
}

/// A decoder and its position.
struct MemberReader<'a> {
    decoder: SourceDecoder<'a>,
    /// The group in which it stopped, if any.
    group: Option<usize>,
    /// Buffer for skipped bytes.
    passed: Vec<u8>,
}

impl MemberReader<'_> {
    /// Returns whether the reader can continue to `offset` without restarting.
    fn is_before(&self, group: usize, offset: u64) -> bool {
        self.group == Some(group) && self.decoder.plain_offset() <= offset
    }

    /// Fills `out` from offset `offset` of the uncompressed bytes, which is in `group`. Returns [`CHECKED`] if it
    /// reaches the end of the group, and [`READ`] otherwise.
    fn read(&mut self, number: usize, group: MemberGroup, offset: u64, out: &mut [u8]) -> io::Result<u8> {
        if !self.is_before(number, offset) {
            self.decoder.restart(group.packed, group.plain.start);
        }
        // The reader must restart after an error.
        self.group = None;
        while self.decoder.plain_offset() < offset {
            grow(&mut self.passed, BLOCK_BYTES)?;
            let count = (offset - self.decoder.plain_offset()).min(self.passed.len() as u64);
            self.decoder.fill(&mut self.passed[..count as usize])?;
        }
        self.decoder.fill(out)?;
        if self.decoder.plain_offset() == group.plain.end {
            self.decoder.check_end()?;
            return Ok(CHECKED);
        }
        self.group = Some(number);
        Ok(READ)
    }
}
