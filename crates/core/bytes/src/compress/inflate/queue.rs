//! The queue of parts that threads decode ahead of the reading thread; see `compress/ahead.rs`.

use super::part::InflatedPart;
use crate::sync::{Condvar, Mutex, MutexGuard, mutated};
use std::sync::PoisonError;

/// Sizes for dividing data into parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartSizes {
    /// Size of a span in compressed bytes. At most one part starts in each.
    pub(crate) span_bytes: u64,
    /// Maximum memory of a part, which ends early if it would need more.
    pub(crate) part_bytes: usize,
}

/// The parts that are decoded or being decoded, and the position of the reading thread.
pub(crate) struct AheadParts {
    pub(crate) sizes: PartSizes,
    spans: u64,
    /// Maximum number of parts at a time.
    max_parts: usize,
    queue: Mutex<PartQueue>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct PartQueue {
    /// The bit offset that the reading thread has reached.
    bit: u64,
    /// The next span to search.
    next: u64,
    /// Numbers and states of spans, unordered because there are only a few.
    spans: Vec<(u64, AheadSpan)>,
    /// The bit offset at which a part ends, and the bytes before it.
    window: Option<(u64, Vec<u8>)>,
    /// Memory to reuse.
    pub(crate) idle: Vec<InflatedPart>,
    is_waiting: bool,
    /// Uncompressed bytes of the parts that were taken.
    #[cfg(test)]
    pub(crate) taken_bytes: usize,
}

enum AheadSpan {
    /// Being searched, or being decoded from this bit.
    Started(Option<u64>),
    Done(InflatedPart),
}

/// A part to decode or resolve. Dropping it records the result, even after a panic.
pub(crate) struct PartJob<'p> {
    pub(crate) parts: &'p AheadParts,
    pub(crate) number: u64,
    pub(crate) part: InflatedPart,
    /// For a part to resolve: the bytes before it.
    pub(crate) window: Option<Vec<u8>>,
    pub(crate) is_done: bool,
}

impl Drop for PartJob<'_> {
    fn drop(&mut self) {
        let part = std::mem::take(&mut self.part);
        let mut queue = self.parts.lock();
        // The reading thread may have passed the part.
        let started = queue.index_of(self.number).map(|index| queue.spans.swap_remove(index));
        if started.is_some() && self.is_done && part.start_bit() >= queue.bit {
            queue.spans.push((self.number, AheadSpan::Done(part)));
        } else {
            queue.idle.push(part);
        }
        if !mutated("part-unwoken") {
            self.parts.wake(&queue);
        }
    }
}

impl AheadParts {
    /// Creates the queue for `bytes` bytes of data. At most `max_parts` parts exist at a time.
    pub(crate) fn new(bytes: u64, sizes: PartSizes, max_parts: usize) -> AheadParts {
        // The reading thread decodes the first span.
        let queue = PartQueue { next: 1, ..PartQueue::default() };
        let spans = bytes.div_ceil(sizes.span_bytes);
        AheadParts { sizes, spans, max_parts, queue: Mutex::new(queue), changed: Condvar::new() }
    }

    /// Reserves space for the maximum number of parts. Returns `None` if out of memory.
    pub(crate) fn reserve(&self) -> Option<()> {
        let mut queue = self.lock();
        queue.spans.try_reserve_exact(self.max_parts).ok()?;
        // One more part is being read.
        queue.idle.try_reserve_exact(self.max_parts + 1).ok()
    }

    #[cfg(all(test, polyhaul_shuttle))]
    pub(crate) fn span_count(&self) -> usize {
        self.lock().spans.len()
    }

    /// Locks the queue. No code under the lock panics.
    pub(crate) fn lock(&self) -> MutexGuard<'_, PartQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether there is a part to decode or resolve now.
    pub(crate) fn has_job(&self) -> bool {
        let queue = self.lock();
        self.may_start(&queue) || self.resolvable(&queue).is_some()
    }

    fn wake(&self, queue: &PartQueue) {
        if queue.is_waiting {
            self.changed.notify_all();
        }
    }

    fn span_of(&self, bit: u64) -> u64 {
        bit / 8 / self.sizes.span_bytes
    }

    fn may_start(&self, queue: &PartQueue) -> bool {
        let end = self.span_of(queue.bit) + 1 + self.max_parts as u64;
        let is_room = queue.spans.len() < self.max_parts || mutated("parts-unbounded");
        queue.next < end.min(self.spans) && is_room
    }

    /// Returns the number of a span with a part whose markers can be replaced now.
    fn resolvable(&self, queue: &PartQueue) -> Option<u64> {
        let (bit, _) = queue.window.as_ref()?;
        let number = self.span_of(*bit);
        match queue.span(number)? {
            AheadSpan::Done(part)
                if (part.start_bit() == *bit || mutated("window-misplaced")) && !part.is_resolved() =>
            {
                Some(number)
            }
            _ => None,
        }
    }

    /// Returns the job that the reading thread needs first, if there is any.
    pub(crate) fn next_job(&self) -> Option<PartJob<'_>> {
        let mut queue = self.lock();
        if let Some(number) = self.resolvable(&queue)
            && let Some((bit, window)) = queue.window.take()
            && let Some(index) = queue.index_of(number)
            && let AheadSpan::Done(part) = std::mem::replace(&mut queue.spans[index].1, AheadSpan::Started(Some(bit)))
        {
            return Some(PartJob { parts: self, number, part, window: Some(window), is_done: false });
        }
        if !self.may_start(&queue) {
            return None;
        }
        let number = queue.next;
        queue.next += 1;
        queue.spans.push((number, AheadSpan::Started(None)));
        let part = queue.idle.pop().unwrap_or_default();
        Some(PartJob { parts: self, number, part, window: None, is_done: false })
    }

    /// Records the bytes before `bit`, the end of a part.
    pub(crate) fn set_window(&self, bit: u64, window: Vec<u8>) {
        self.lock().window = Some((bit, window));
    }

    /// Records that span `number` is being decoded from `bit`. Returns `false` if the reading thread has already passed
    /// this bit.
    pub(crate) fn found_block(&self, number: u64, bit: u64) -> bool {
        let mut queue = self.lock();
        if let Some(index) = queue.index_of(number) {
            queue.spans[index].1 = AheadSpan::Started(Some(bit));
        }
        self.wake(&queue);
        bit >= queue.bit
    }

    /// Takes the part that starts at `bit`, the start of a block. The caller must return it with
    /// [`AheadParts::give_back`]. Waits if the part may be in progress.
    pub(crate) fn take(&self, bit: u64) -> Option<InflatedPart> {
        let number = self.span_of(bit);
        let mut queue = self.lock();
        queue.pass(bit, number);
        loop {
            let index = queue.index_of(number)?;
            let should_wait = match &queue.spans[index].1 {
                AheadSpan::Started(start) => start.is_none_or(|start| start == bit),
                AheadSpan::Done(part) if part.start_bit() > bit => false,
                AheadSpan::Done(_) => match queue.spans.swap_remove(index).1 {
                    AheadSpan::Done(part) if part.start_bit() == bit || mutated("part-misplaced") => return Some(part),
                    AheadSpan::Done(part) => {
                        queue.idle.push(part);
                        false
                    }
                    AheadSpan::Started(_) => false,
                },
            };
            if !should_wait {
                return None;
            }
            queue.is_waiting = true;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.is_waiting = false;
        }
    }

    /// Recycles the memory of a part.
    pub(crate) fn give_back(&self, part: InflatedPart) {
        let mut queue = self.lock();
        #[cfg(test)]
        (queue.taken_bytes += part.len());
        queue.idle.push(part);
    }
}

impl PartQueue {
    /// Records that the reading thread has reached a bit, in span `number`. It decodes that span itself if no other
    /// thread has started it.
    fn pass(&mut self, bit: u64, number: u64) {
        self.bit = bit;
        self.next = self.next.max(number + 1);
        let is_passed = |(other, span): &(u64, AheadSpan)| *other < number && matches!(span, AheadSpan::Done(_));
        while let Some(index) = self.spans.iter().position(is_passed) {
            if let AheadSpan::Done(part) = self.spans.swap_remove(index).1 {
                self.idle.push(part);
            }
        }
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        self.spans.iter().position(|(other, _)| *other == number)
    }

    fn span(&self, number: u64) -> Option<&AheadSpan> {
        self.index_of(number).map(|index| &self.spans[index].1)
    }
}
