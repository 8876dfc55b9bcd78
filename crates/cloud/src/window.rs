//! Which parts of an object are fetched, and when: pure bookkeeping, without requests.
//!
//! Readers ask for offsets in roughly rising order, from several threads. As long as they do, the parts after the last
//! one are fetched ahead: one at first, twice as many with each part that was used up, [`DEPTH`] at most; the parts
//! grow the same way. An offset elsewhere is fetched alone, so that looking at a few places of a large object (the
//! directory of an archive, samples of a mesh) costs little.

use crate::failure::Failure;
use bytes::Bytes;
use std::ops::Range;

/// The most parts that are fetched ahead.
const DEPTH: usize = 8;
/// The most parts that are kept: those, and some at other places.
const MOST_PARTS: usize = DEPTH + 2;
/// The first part, fetched when the object is opened.
pub(crate) const FIRST_BYTES: u64 = 256 << 10;
/// The largest part: large enough that the time to its first byte matters little, and memory stays at 40 MiB.
const LARGEST_BYTES: u64 = 4 << 20;
/// How far a reader may be ahead of what was requested and still count as one that reads in order, besides what may be
/// fetched ahead: a chunk or two of other threads.
const LEAP_BYTES: u64 = 1 << 20;
/// Single places are fetched in multiples of this.
const BLOCK_BYTES: u64 = 64 << 10;

/// The parts of one object.
pub(crate) struct Window {
    size: u64,
    parts: Vec<Part>,
    /// The end of what was requested in order.
    ahead: u64,
    /// How many parts may be ahead.
    depth: usize,
    /// The size of the next one.
    step: u64,
    /// The end of the last part that was fetched alone.
    alone: Option<u64>,
    clock: u64,
}

struct Part {
    range: Range<u64>,
    state: PartState,
    /// When it was last used.
    used: u64,
    /// How many of its bytes were read.
    taken: u64,
}

enum PartState {
    Pending,
    Ready(Bytes),
    Failed(Failure),
}

/// What a reader finds.
pub(crate) enum WindowRead {
    /// So many bytes were copied.
    Copied(usize),
    /// They were requested.
    Pending,
    Failed(Failure),
}

impl Window {
    /// Of an object of `size` bytes, whose first ones are there.
    pub(crate) fn new(size: u64, first: Bytes) -> Window {
        let range = 0..first.len() as u64;
        let ahead = range.end;
        let part = Part { range, state: PartState::Ready(first), used: 0, taken: 0 };
        Window { size, parts: vec![part], ahead, depth: 1, step: 4 * FIRST_BYTES, alone: None, clock: 0 }
    }

    /// Copies bytes from `offset` on; ranges that have to be fetched are added to `wanted`.
    pub(crate) fn read(&mut self, offset: u64, out: &mut [u8], wanted: &mut Vec<Range<u64>>) -> WindowRead {
        self.clock += 1;
        let Some(index) = self.parts.iter().position(|part| part.range.contains(&offset)) else {
            self.request(offset, out.len() as u64, wanted);
            return WindowRead::Pending;
        };
        let (clock, part) = (self.clock, &mut self.parts[index]);
        part.used = clock;
        match &part.state {
            PartState::Pending => WindowRead::Pending,
            PartState::Failed(failure) => {
                let failure = failure.clone();
                self.parts.swap_remove(index);
                WindowRead::Failed(failure)
            }
            PartState::Ready(bytes) => {
                let bytes = &bytes[(offset - part.range.start) as usize..];
                let count = bytes.len().min(out.len());
                out[..count].copy_from_slice(&bytes[..count]);
                part.taken += count as u64;
                let is_in_order = part.range.end <= self.ahead;
                if part.taken >= part.range.end - part.range.start {
                    self.parts.swap_remove(index);
                    self.depth = (2 * self.depth).min(DEPTH);
                }
                if is_in_order {
                    self.fetch_ahead(wanted);
                }
                WindowRead::Copied(count)
            }
        }
    }

    /// Requests the part at `offset`, for a reader that wants so many bytes.
    fn request(&mut self, offset: u64, bytes: u64, wanted: &mut Vec<Range<u64>>) {
        if self.alone == Some(offset) {
            // A second part at the end of one that was fetched alone: someone reads in order from there.
            (self.ahead, self.alone, self.depth) = (offset, None, 1);
        }
        let leap = LEAP_BYTES + self.depth as u64 * self.step;
        if (self.ahead..=self.ahead.saturating_add(leap)).contains(&offset) {
            while self.ahead <= offset && self.ahead < self.size {
                self.add_next(wanted);
            }
            return self.fetch_ahead(wanted);
        }
        let start = offset - offset % BLOCK_BYTES;
        let end = (offset + bytes.clamp(FIRST_BYTES, LARGEST_BYTES)).min(self.size);
        // Not what is there or on its way.
        let next = self.parts.iter().map(|part| part.range.start).filter(|&other| other > offset).min();
        let before = self.parts.iter().map(|part| part.range.end).filter(|&other| other <= offset).max();
        let range = start.max(before.unwrap_or(0))..end.min(next.unwrap_or(u64::MAX));
        self.alone = Some(range.end);
        self.add(range, wanted);
    }

    fn fetch_ahead(&mut self, wanted: &mut Vec<Range<u64>>) {
        while self.ahead < self.size && self.unread() < self.depth {
            self.add_next(wanted);
        }
    }

    /// The parts that were requested in order and that nobody has read from.
    fn unread(&self) -> usize {
        self.parts.iter().filter(|part| part.taken == 0 && part.range.end <= self.ahead).count()
    }

    fn add_next(&mut self, wanted: &mut Vec<Range<u64>>) {
        let range = self.ahead..(self.ahead + self.step).min(self.size);
        self.step = (2 * self.step).min(LARGEST_BYTES);
        self.ahead = range.end;
        self.add(range, wanted);
    }

    fn add(&mut self, range: Range<u64>, wanted: &mut Vec<Range<u64>>) {
        if self.parts.len() >= MOST_PARTS {
            // The one that was not used for the longest time, except those that readers wait for.
            let ready = self.parts.iter().enumerate().filter(|(_, part)| !matches!(part.state, PartState::Pending));
            if let Some((oldest, _)) = ready.min_by_key(|(_, part)| part.used) {
                self.parts.swap_remove(oldest);
            }
        }
        wanted.push(range.clone());
        self.parts.push(Part { range, state: PartState::Pending, used: self.clock, taken: 0 });
    }

    /// A part arrived or failed.
    pub(crate) fn arrived(&mut self, range: &Range<u64>, result: Result<Bytes, Failure>) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.range == *range) {
            part.state = result.map_or_else(PartState::Failed, PartState::Ready);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 100 << 20;

    /// Reads a range as a reader does, with requests that are answered at once; returns the bytes requested.
    fn read(window: &mut Window, range: Range<u64>) -> u64 {
        let (mut at, mut requested, mut out) = (range.start, 0, vec![0; 1 << 20]);
        while at < range.end {
            let count = (range.end - at).min(out.len() as u64) as usize;
            let mut wanted = Vec::new();
            if let WindowRead::Copied(count) = window.read(at, &mut out[..count], &mut wanted) {
                assert!(out[..count].iter().enumerate().all(|(i, &byte)| byte == (at + i as u64) as u8));
                at += count as u64;
            }
            for range in wanted {
                requested += range.end - range.start;
                window.arrived(&range, Ok(bytes(range.clone())));
            }
        }
        requested
    }

    fn bytes(range: Range<u64>) -> Bytes {
        range.map(|at| at as u8).collect()
    }

    fn window() -> Window {
        Window::new(SIZE, bytes(0..FIRST_BYTES))
    }

    #[test]
    fn what_is_read_in_order_is_fetched_once() {
        assert_eq!(read(&mut window(), 0..SIZE), SIZE - FIRST_BYTES);
    }

    #[test]
    fn threads_a_little_out_of_order_cost_nothing() {
        let (mut window, mut requested, step) = (window(), 0, 1 << 20);
        for pair in 0..SIZE / step / 2 {
            requested += read(&mut window, (2 * pair + 1) * step..(2 * pair + 2) * step);
            requested += read(&mut window, 2 * pair * step..(2 * pair + 1) * step);
        }
        assert_eq!(requested, SIZE - FIRST_BYTES);
    }

    #[test]
    fn single_places_cost_little() {
        let (mut window, mut requested) = (window(), 0);
        for place in 1..20 {
            requested += read(&mut window, place * 5_000_000..place * 5_000_000 + 100);
        }
        assert!(requested < 19 * 2 * FIRST_BYTES + (8 << 20), "{requested}");
    }

    #[test]
    fn a_second_reading_is_fetched_ahead_again() {
        let mut window = window();
        read(&mut window, 0..SIZE);
        let again = read(&mut window, 0..SIZE);
        assert!((SIZE..SIZE + (1 << 20)).contains(&again), "{again}");
    }

    #[test]
    fn a_failure_is_told_once() {
        let (mut window, mut wanted) = (window(), Vec::new());
        let mut out = [0; 10];
        assert!(matches!(window.read(SIZE / 2, &mut out, &mut wanted), WindowRead::Pending));
        window.arrived(&wanted[0], Err(Failure::changed()));
        assert!(matches!(window.read(SIZE / 2, &mut out, &mut wanted), WindowRead::Failed(_)));
        assert!(matches!(window.read(SIZE / 2, &mut out, &mut wanted), WindowRead::Pending));
    }
}
