//! Members decoded by many threads at once, each once: the plain bytes of an indexed source, from any place.
//!
//! A few slots hold decoded groups of members. Who needs a group that nobody has begins to decode it; who needs one that another
//! thread is decoding decodes what else it needs and then waits. A thread that waits has no group in the making, so that the others
//! always get on. The slots are as many as the memory allows, but no more than the readers of the moment need: fresh memory costs
//! more than decoding.

use super::decoder::Decoder;
use super::index::Groups;
use super::{Codec, DecompressLimits};
use crate::Source;
use crate::error::{grow, repeat};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Groups that one reader works on before it looks again.
const WINDOW: usize = 8;
/// Slots that serve neighbours, whatever the number of readers: the group before, the one after, and two for those that come late.
const SPARE_SLOTS: usize = 4;

/// The plain bytes of a source whose groups of members are known.
pub(crate) struct Members<'a> {
    codec: Codec,
    source: Source<'a>,
    groups: Groups,
    limits: DecompressLimits,
    slot_limit: usize,
    state: Mutex<State<'a>>,
    changed: Condvar,
}

struct State<'a> {
    slots: Vec<Slot>,
    decoders: Vec<Decoder<'a>>,
    /// Readers at work, and the most there ever were.
    readers: usize,
    most_readers: usize,
    /// Counts uses, to find the slot that was not used for longest.
    clock: u64,
}

struct Slot {
    group: usize,
    content: Content,
    /// Readers that copy from it.
    users: usize,
    last_use: u64,
}

enum Content {
    /// A thread decodes it, and has the memory.
    Busy,
    Ready(Arc<Vec<u8>>),
    /// It could not be decoded; the memory is kept for the next group.
    Failed(Arc<Vec<u8>>, io::Error),
}

/// What a reader gets when it asks for a group.
enum Claim {
    Ready(usize, Arc<Vec<u8>>),
    Failed(io::Error),
    /// The reader has to decode it, into this memory.
    Mine(usize, Vec<u8>),
    /// Another thread is decoding it, or all slots are in use.
    Busy,
}

impl<'a> Members<'a> {
    pub(super) fn new(codec: Codec, source: Source<'a>, groups: Groups, limits: &DecompressLimits) -> Self {
        let slot_limit = limits.memory_bytes / groups.largest_bytes().max(1) as u64;
        let state = State { slots: Vec::new(), decoders: Vec::new(), readers: 0, most_readers: 0, clock: 0 };
        Members {
            codec,
            source,
            groups,
            limits: limits.clone(),
            slot_limit: usize::try_from(slot_limit).unwrap_or(usize::MAX).max(1),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.groups.plain_bytes()
    }

    /// As [`Source::read_at`]. The error is that of the first group that has one.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let end = self.len().min(offset.saturating_add(out.len() as u64));
        if offset >= end {
            return Ok(0);
        }
        let wanted = offset..end;
        let _reader = Reader::enter(self);
        let groups = self.groups.holding(&wanted);
        for first in groups.clone().step_by(WINDOW) {
            self.read_window(first..groups.end.min(first + WINDOW), &wanted, out)?;
        }
        Ok((end - offset) as usize)
    }

    fn read_window(&self, groups: Range<usize>, wanted: &Range<u64>, out: &mut [u8]) -> io::Result<()> {
        let mut is_left = [false; WINDOW];
        let mut result = Ok(());
        let mut end = groups.end;
        for group in groups.clone() {
            match self.obtain(group, false, wanted, out) {
                Ok(is_done) => is_left[group - groups.start] = !is_done,
                Err(error) => {
                    (result, end) = (Err(error), group);
                    break;
                }
            }
        }
        for group in (groups.start..end).filter(|group| is_left[group - groups.start]) {
            self.obtain(group, true, wanted, out)?;
        }
        result
    }

    /// Copies what is wanted of a group; `false` if that would mean to wait.
    fn obtain(&self, group: usize, may_wait: bool, wanted: &Range<u64>, out: &mut [u8]) -> io::Result<bool> {
        let claim = {
            let mut state = self.lock();
            loop {
                match state.claim(group, self.slot_limit) {
                    Claim::Busy if may_wait => {
                        state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                    }
                    claim => break claim,
                }
            }
        };
        match claim {
            Claim::Busy => Ok(false),
            Claim::Failed(error) => Err(error),
            Claim::Ready(slot, plain) => {
                self.copy(group, &plain, wanted, out);
                drop(plain);
                self.release(slot);
                Ok(true)
            }
            Claim::Mine(slot, memory) => {
                let plain = self.decode(group, slot, memory)?;
                self.copy(group, &plain, wanted, out);
                drop(plain);
                self.release(slot);
                Ok(true)
            }
        }
    }

    /// Decodes into a slot that this thread has claimed, and keeps it in use.
    fn decode(&self, group: usize, slot: usize, mut memory: Vec<u8>) -> io::Result<Arc<Vec<u8>>> {
        let mut promise = Promise { members: self, slot, content: None };
        let mut decoder = self.lock().decoders.pop();
        let place = self.groups.get(group);
        let fresh = || Decoder::new(self.codec, self.source.clone(), &self.limits);
        let len = (place.plain.end - place.plain.start) as usize;
        let result = grow(&mut memory, self.groups.largest_bytes()).and_then(|()| {
            let decoder = decoder.get_or_insert_with(fresh);
            decoder.decode_members(place.packed, place.plain.start, &mut memory[..len])
        });
        let memory = Arc::new(memory);
        promise.content = Some(match &result {
            Ok(()) => Content::Ready(Arc::clone(&memory)),
            Err(error) => Content::Failed(Arc::clone(&memory), repeat(error)),
        });
        drop(promise);
        self.lock().decoders.extend(decoder);
        result.map(|()| memory)
    }

    fn copy(&self, group: usize, plain: &[u8], wanted: &Range<u64>, out: &mut [u8]) {
        let place = self.groups.get(group).plain;
        let (begin, end) = (place.start.max(wanted.start), place.end.min(wanted.end));
        let from = &plain[(begin - place.start) as usize..(end - place.start) as usize];
        out[(begin - wanted.start) as usize..][..from.len()].copy_from_slice(from);
    }

    fn release(&self, slot: usize) {
        self.lock().slots[slot].users -= 1;
        self.changed.notify_all();
    }

    /// Nothing panics while the lock is held, and what it guards is whole between any two lines.
    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State<'_> {
    fn claim(&mut self, group: usize, slot_limit: usize) -> Claim {
        self.clock += 1;
        let clock = self.clock;
        if let Some((i, slot)) = self.slots.iter_mut().enumerate().find(|(_, slot)| slot.group == group) {
            slot.last_use = clock;
            return match &slot.content {
                Content::Busy => Claim::Busy,
                Content::Failed(_, error) => Claim::Failed(repeat(error)),
                Content::Ready(plain) => {
                    slot.users += 1;
                    Claim::Ready(i, Arc::clone(plain))
                }
            };
        }
        let slot = Slot { group, content: Content::Busy, users: 1, last_use: clock };
        if self.slots.len() < slot_limit.min(2 * self.most_readers + SPARE_SLOTS) {
            self.slots.push(slot);
            return Claim::Mine(self.slots.len() - 1, Vec::new());
        }
        let unused = self.slots.iter_mut().enumerate().filter(|(_, slot)| slot.users == 0);
        let Some((i, oldest)) = unused.min_by_key(|(_, slot)| slot.last_use) else {
            return Claim::Busy;
        };
        let memory = match std::mem::replace(oldest, slot).content {
            Content::Ready(memory) | Content::Failed(memory, _) => Arc::into_inner(memory),
            Content::Busy => None,
        };
        Claim::Mine(i, memory.unwrap_or_default())
    }
}

/// Counts a reader for as long as it lives.
struct Reader<'m, 'a>(&'m Members<'a>);

impl<'m, 'a> Reader<'m, 'a> {
    fn enter(members: &'m Members<'a>) -> Self {
        let mut state = members.lock();
        state.readers += 1;
        state.most_readers = state.most_readers.max(state.readers);
        Reader(members)
    }
}

impl Drop for Reader<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().readers -= 1;
    }
}

/// Settles a claimed slot, whatever happens: others wait for it.
struct Promise<'m, 'a> {
    members: &'m Members<'a>,
    slot: usize,
    content: Option<Content>,
}

impl Drop for Promise<'_, '_> {
    fn drop(&mut self) {
        let panicked = || Content::Failed(Arc::default(), io::Error::other("decoding panicked"));
        let content = self.content.take().unwrap_or_else(panicked);
        let mut state = self.members.lock();
        let slot = &mut state.slots[self.slot];
        // A group that failed has nothing to copy.
        slot.users = usize::from(matches!(content, Content::Ready(_)));
        slot.content = content;
        drop(state);
        self.members.changed.notify_all();
    }
}
