//! Fills mapped files of throttled programs as they are used, at the rate of the slower device.
//!
//! A recorder replaces a mapping with empty memory (`recorder/mapped.c`). The kernel reports its page faults to this
//! process, and the faulting thread waits until a chunk of the file has been copied there (userfaultfd(2)). The chunks
//! after it are read ahead, as the kernel does for files, so that a program can work while its file is read.

use super::layout::{
    ENDED, FREE, FilledMapSlot, READY, RecordLayout, SERVED, ThrottleSlot, WISH_ALL, WISH_FULFILLED, WISH_LEFT,
    WISH_NONE,
};
use super::record::FIXED_ONE;
use crate::system::{self, CopyEnd, Faults, MemoryEvent, Shared};
use polyhaul_fault::planted;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::Duration;

/// Bytes that are copied at a time: the kernel reads as much per fault.
const CHUNK: u64 = 128 << 10;

const PAGE: u64 = 4096;

/// Maximum number of chunks to read ahead of a fault. The number doubles with each fault at the end of what was read
/// ahead, from two on.
const MAX_AHEAD: u64 = 256;

/// Maximum number of places from which to read ahead.
const MAX_STREAMS: usize = 16;

/// Shorter waits are left to a later chunk, as in `recorder/throttle.c`.
const MIN_WAIT: Duration = Duration::from_micros(200);

/// Time between two checks whether the process still runs, or waits for all of its mapping.
const CHECKED: Duration = Duration::from_millis(5);

/// Serves all requests.
pub(super) fn answer(shared: &Arc<Shared<RecordLayout>>, now: fn() -> u64, is_over: &Arc<AtomicBool>) {
    for (index, slot) in shared.filled_maps.iter().enumerate() {
        match slot.state.load(Acquire) {
            READY => {}
            // The process ended before it saw the refusal.
            ENDED if !system::is_alive(slot.process.load(Relaxed).cast_signed()) => {
                slot.state.store(FREE, Release);
                continue;
            }
            _ => continue,
        }
        let filler = Filler::new(shared, index, now);
        let state = if filler.is_some() { SERVED } else { ENDED };
        // The process may have given up.
        let is_taken = slot.state.compare_exchange(READY, state, Release, Relaxed).is_ok();
        system::wake(&slot.state);
        if let Some(mut filler) = filler.filter(|_| is_taken) {
            let is_over = Arc::clone(is_over);
            thread::spawn(move || filler.serve(&is_over));
        }
    }
}

/// A sequential read of a mapped file, in chunks.
struct ChunkStream {
    /// The next chunk to read.
    next: u64,
    /// Where to stop.
    end: u64,
    /// Number of chunks to read ahead after the next fault.
    window: u64,
}

struct Filler {
    shared: Arc<Shared<RecordLayout>>,
    index: usize,
    now: fn() -> u64,
    faults: Faults,
    file: File,
    /// Address of the mapping.
    start: u64,
    bytes: u64,
    /// Offset of its start in the file.
    offset: u64,
    /// Which chunks have been copied.
    is_filled: Vec<bool>,
    /// Where the program reads, the last one first.
    streams: VecDeque<ChunkStream>,
    /// Addresses that are still mapped.
    rest: Vec<Range<u64>>,
    /// Ranges to retry, since their memory was about to change.
    again: Vec<Range<u64>>,
    buffer: Vec<u8>,
}

impl Filler {
    /// Takes over the descriptors of a request. Returns `None` if that is not allowed.
    fn new(shared: &Arc<Shared<RecordLayout>>, index: usize, now: fn() -> u64) -> Option<Filler> {
        let slot = &shared.filled_maps[index];
        let process = slot.process.load(Relaxed).cast_signed();
        let take = |descriptor: u32| system::descriptor_of(process, descriptor.cast_signed()).ok();
        let faults = Faults::new(take(slot.faults.load(Relaxed))?)?;
        let file = File::from(take(slot.file.load(Relaxed))?);
        let identity = file.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok()?;
        // A process with other numbers than here has named another file.
        if identity != (slot.device.load(Relaxed), slot.inode.load(Relaxed)) || system::page_bytes() != PAGE {
            return None;
        }
        let start = slot.start.load(Relaxed);
        let bytes = slot.bytes.load(Relaxed);
        Some(Filler {
            shared: Arc::clone(shared),
            index,
            now,
            faults,
            file,
            start,
            bytes,
            offset: slot.offset.load(Relaxed),
            is_filled: vec![false; usize::try_from(bytes.div_ceil(CHUNK)).ok()?],
            streams: VecDeque::new(),
            rest: vec![pages(start, bytes)],
            again: Vec::new(),
            buffer: vec![0; CHUNK as usize],
        })
    }

    fn slot(&self) -> &FilledMapSlot {
        &self.shared.filled_maps[self.index]
    }

    /// Fills the mapping until the process unmaps all of it or ends.
    fn serve(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Relaxed) {
            let ahead = self.ahead();
            let is_idle = ahead.is_none() && self.again.is_empty();
            let patience = if is_idle { CHECKED } else { Duration::ZERO };
            let goes_on = match (self.faults.next(patience), ahead) {
                (Some(MemoryEvent::Fault(address)), _) => self.fault(address),
                (Some(MemoryEvent::Removed(range)), _) => self.forget(&range),
                (Some(MemoryEvent::Unmapped(range)), _) => self.cut(&range),
                (Some(MemoryEvent::Moved { from, to }), _) => self.follow(from, to),
                (None, _) if !self.again.is_empty() => self.again.pop().is_none_or(|range| self.copy(range)),
                (None, Some(chunk)) => self.fill(chunk, false),
                // Fails once the process executes another program.
                (None, None) if self.slot().wish.load(Relaxed) == WISH_LEFT => self.copy(0..PAGE),
                (None, None) => system::is_alive(self.process()),
            };
            if !goes_on {
                break;
            }
        }
        self.answer_wish();
        self.shared.filled_bytes.fetch_sub(self.bytes, Relaxed);
        self.slot().state.store(FREE, Release);
    }

    /// The chunk to read next although no thread waits for it.
    fn ahead(&mut self) -> Option<u64> {
        if self.slot().wish.load(Acquire) == WISH_ALL {
            let rest = self.is_filled.iter().position(|filled| !filled);
            if rest.is_none() && self.again.is_empty() {
                self.answer_wish();
            }
            return rest.map(|chunk| chunk as u64);
        }
        for stream in &mut self.streams {
            while stream.next < stream.end && self.is_filled.get(stream.next as usize) == Some(&true) {
                stream.next += 1;
            }
        }
        let chunks = self.is_filled.len() as u64;
        self.streams.iter().find(|stream| stream.next < stream.end.min(chunks)).map(|stream| stream.next)
    }

    /// Tells a process that waits before it forks that all chunks are there.
    fn answer_wish(&self) {
        self.slot().wish.store(WISH_FULFILLED, Release);
        system::wake(&self.slot().wish);
    }

    /// Fills what a thread waits for. Returns whether the mapping still exists, as the functions below.
    fn fault(&mut self, address: u64) -> bool {
        let Some(at) = address.checked_sub(self.start).filter(|at| *at < self.bytes.next_multiple_of(PAGE)) else {
            return self.give_up();
        };
        let chunk = at / CHUNK;
        match self.is_filled.get(chunk as usize) {
            // A page that was removed, or a fault that was answered meanwhile.
            Some(true) | None => return self.copy(at / PAGE * PAGE..(at / PAGE + 1) * PAGE),
            Some(false) => {}
        }
        let position = self.streams.iter().position(|stream| (stream.next..=stream.end).contains(&chunk));
        let window = position.and_then(|index| self.streams.remove(index)).map_or(1, |stream| stream.window);
        let window = (2 * window).min(MAX_AHEAD);
        self.streams.push_front(ChunkStream { next: chunk + 1, end: chunk + 1 + window, window });
        self.streams.truncate(MAX_STREAMS);
        self.fill(chunk, true)
    }

    /// Copies a chunk after the time that the device takes for it.
    fn fill(&mut self, chunk: u64, is_awaited: bool) -> bool {
        let start = (self.now)();
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.bytes);
        let throttle = &self.shared.throttles[0];
        let end = throttle.take(start, range.end - range.start, self.shared.credit_ticks.load(Relaxed), is_awaited);
        let tick_ns = self.shared.tick_ns.load(Relaxed) as f64 / FIXED_ONE;
        let now = (self.now)();
        let wait = Duration::from_nanos((end.saturating_sub(now) as f64 * tick_ns) as u64);
        if wait >= MIN_WAIT {
            thread::sleep(wait);
        }
        self.is_filled[chunk as usize] = true;
        self.copy(range)
    }

    fn copy(&mut self, range: Range<u64>) -> bool {
        let range = range.start..range.end.next_multiple_of(PAGE);
        let buffer = &mut self.buffer[..(range.end - range.start) as usize];
        let offset = if planted("watch-mapped") { 0 } else { self.offset };
        let at = |read: usize| offset + range.start + read as u64;
        let mut read = 0;
        while read < buffer.len() {
            match self.file.read_at(&mut buffer[read..], at(read)) {
                // Bytes past the end of a truncated file are zero.
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.give_up(),
            }
        }
        buffer[read..].fill(0);
        match self.faults.copy(self.start + range.start, buffer) {
            CopyEnd::Done => true,
            CopyEnd::Changing => {
                self.again.push(range);
                true
            }
            CopyEnd::Gone => false,
            CopyEnd::Failed => self.give_up(),
        }
    }

    /// Ends the process as the kernel does if a mapped file cannot be read: it must not see other bytes.
    fn give_up(&self) -> bool {
        system::kill(self.process(), libc::SIGBUS);
        false
    }

    fn process(&self) -> libc::pid_t {
        self.slot().process.load(Relaxed).cast_signed()
    }

    /// Memory was emptied: its pages are copied again at their next faults.
    fn forget(&mut self, range: &Range<u64>) -> bool {
        let first = range.start.saturating_sub(self.start) / CHUNK;
        let end = range.end.saturating_sub(self.start).div_ceil(CHUNK);
        for chunk in first..end.min(self.is_filled.len() as u64) {
            self.is_filled[chunk as usize] = false;
        }
        let _ = self.slot().wish.compare_exchange(WISH_FULFILLED, WISH_NONE, Release, Relaxed);
        true
    }

    /// Memory was unmapped.
    fn cut(&mut self, range: &Range<u64>) -> bool {
        let parts =
            |rest: Range<u64>| [rest.start..rest.end.min(range.start), rest.start.max(range.end)..rest.end].into_iter();
        self.rest = self.rest.drain(..).flat_map(parts).filter(|part| !part.is_empty()).collect();
        !self.rest.is_empty()
    }

    /// All of the memory was moved.
    fn follow(&mut self, from: u64, to: u64) -> bool {
        if from == self.start {
            self.start = to;
            self.rest = vec![pages(to, self.bytes)];
        }
        true
    }
}

/// Addresses of the pages of a mapping.
fn pages(start: u64, bytes: u64) -> Range<u64> {
    start..start + bytes.next_multiple_of(PAGE)
}

impl ThrottleSlot {
    /// The time at which the device has read these bytes, as `hold` in `recorder/throttle.c` computes it. Only bytes
    /// that a thread waits for have a latency.
    fn take(&self, start: u64, bytes: u64, credit: u64, is_awaited: bool) -> u64 {
        let cost = ((u128::from(bytes) * u128::from(self.byte_ticks.load(Relaxed))) >> 32) as u64;
        let latency = if is_awaited { self.latency_ticks.load(Relaxed) } else { 0 };
        let end_of = |free: u64| if free == 0 { start } else { free.max(start.saturating_sub(credit)) } + cost;
        let mut free = self.free.load(Relaxed);
        while let Err(other) = self.free.compare_exchange_weak(free, end_of(free), Relaxed, Relaxed) {
            free = other;
        }
        let alone = if latency > 0 { start + latency + cost } else { 0 };
        let end = end_of(free).max(alone);
        self.calls.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        let _ = self.first.compare_exchange(0, start, Relaxed, Relaxed);
        self.last.fetch_max(end, Relaxed);
        end
    }
}
