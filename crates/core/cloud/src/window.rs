//! Decides which parts of an object to fetch and when. It only does the bookkeeping and sends no requests.
//!
//! Several threads usually read at roughly increasing offsets. As long as they do, the following parts are fetched
//! ahead: one part at first, then twice as many after each part that was fully read, up to [`MAX_DEPTH`]. The first of
//! these parts has 1 MiB, and each later part is twice as large as the previous part, up to [`MAX_PART_BYTES`]. Parts
//! at other offsets are fetched individually, so that reading a few ranges of a large object (the directory of an
//! archive, samples of a mesh) costs little.

use crate::failure::RequestFailure;
use bytes::Bytes;
use polyhaul_fault::planted;
use std::ops::Range;

/// Maximum number of parts to fetch ahead.
const MAX_DEPTH: usize = 8;
/// Maximum number of parts to keep: the parts fetched ahead, and a few at other offsets.
const MAX_PARTS: usize = MAX_DEPTH + 2;
/// Size of the first part, which is fetched when the object is opened.
pub(crate) const FIRST_BYTES: u64 = 256 << 10;
/// Maximum size of a part: large enough that latency matters little, small enough to limit memory to 42 MB.
const MAX_PART_BYTES: u64 = 4 << 20;
/// Maximum distance of a sequential read from the end of the requested parts, in addition to the bytes that may be
/// fetched ahead. This leaves room for a chunk or two of other threads. Reads farther ahead are fetched individually.
const MAX_LEAP_BYTES: u64 = 1 << 20;
/// Alignment of parts that are fetched individually.
const BLOCK_BYTES: u64 = 64 << 10;

/// The parts of one object.
pub(crate) struct ReadWindow {
    size: u64,
    parts: Vec<WindowPart>,
    /// The end of the parts that were requested in order.
    ahead: u64,
    /// The number of parts to fetch ahead.
    depth: usize,
    /// The size of the next part to fetch ahead.
    step: u64,
    /// The end of the last part that was fetched individually, if any.
    alone: Option<u64>,
    clock: u64,
}

struct WindowPart {
    range: Range<u64>,
    state: WindowPartState,
    /// The value of [`ReadWindow::clock`] at its last use.
    used: u64,
    /// The number of bytes read from it.
    taken: u64,
}

enum WindowPartState {
    Pending,
    Ready(Bytes),
    Failed(RequestFailure),
}

/// The result of a read.
pub(crate) enum WindowRead {
    /// The number of bytes copied.
    Copied(usize),
    /// The bytes have been requested.
    Pending,
    Failed(RequestFailure),
}

impl ReadWindow {
    /// Creates the window of an object of `size` bytes. `first` contains the object's first bytes.
    pub(crate) fn new(size: u64, first: Bytes) -> ReadWindow {
        let range = 0..first.len() as u64;
        let ahead = range.end;
        let part = WindowPart { range, state: WindowPartState::Ready(first), used: 0, taken: 0 };
        ReadWindow { size, parts: vec![part], ahead, depth: 1, step: 4 * FIRST_BYTES, alone: None, clock: 0 }
    }

    /// Copies bytes from `offset`. Adds the ranges that must be fetched to `missing_ranges`.
    pub(crate) fn read(&mut self, offset: u64, out: &mut [u8], missing_ranges: &mut Vec<Range<u64>>) -> WindowRead {
        self.clock += 1;
        let Some(index) = self.parts.iter().position(|part| part.range.contains(&offset)) else {
            self.request(offset, out.len() as u64, missing_ranges);
            return WindowRead::Pending;
        };
        let part = &mut self.parts[index];
        part.used = self.clock;
        match &part.state {
            WindowPartState::Pending => WindowRead::Pending,
            WindowPartState::Failed(failure) => {
                let failure = failure.clone();
                // Removed, so that a later read requests the part again.
                self.parts.swap_remove(index);
                WindowRead::Failed(failure)
            }
            WindowPartState::Ready(bytes) => {
                let start = (offset - part.range.start).saturating_sub(planted("cloud-offset").into());
                let bytes = &bytes[start as usize..];
                let count = bytes.len().min(out.len());
                out[..count].copy_from_slice(&bytes[..count]);
                part.taken += count as u64;
                // A part beyond `ahead` was fetched individually, or before `ahead` moved back. It says nothing about
                // the order of the current reads.
                let is_in_order = part.range.end <= self.ahead;
                if part.taken >= part.range.end - part.range.start {
                    self.parts.swap_remove(index);
                    self.depth = (2 * self.depth).min(MAX_DEPTH);
                }
                if is_in_order {
                    self.fetch_ahead(missing_ranges);
                }
                WindowRead::Copied(count)
            }
        }
    }

    /// Requests the part at `offset`, for a read of `bytes` bytes.
    fn request(&mut self, offset: u64, bytes: u64, missing_ranges: &mut Vec<Range<u64>>) {
        if self.alone == Some(offset) {
            // This read continues after a part that was fetched individually, so sequential reading starts here.
            self.ahead = offset;
            self.alone = None;
            self.depth = 1;
        }
        let leap = MAX_LEAP_BYTES + self.depth as u64 * self.step;
        if (self.ahead..=self.ahead.saturating_add(leap)).contains(&offset) {
            while self.ahead <= offset && self.ahead < self.size {
                self.add_next(missing_ranges);
            }
            return self.fetch_ahead(missing_ranges);
        }
        let start = offset - offset % BLOCK_BYTES;
        let end = (offset + bytes.clamp(FIRST_BYTES, MAX_PART_BYTES)).min(self.size);
        // Leave out parts that are present or in flight.
        let next_start = self.parts.iter().map(|part| part.range.start).filter(|&start| start > offset).min();
        let previous_end = self.parts.iter().map(|part| part.range.end).filter(|&end| end <= offset).max();
        let range = start.max(previous_end.unwrap_or(0))..end.min(next_start.unwrap_or(u64::MAX));
        self.alone = Some(range.end);
        self.add(range, missing_ranges);
    }

    fn fetch_ahead(&mut self, missing_ranges: &mut Vec<Range<u64>>) {
        while self.ahead < self.size && self.unread() < self.depth {
            self.add_next(missing_ranges);
        }
    }

    /// Returns the number of parts that were requested in order and have not been read from.
    fn unread(&self) -> usize {
        self.parts.iter().filter(|part| part.taken == 0 && part.range.end <= self.ahead).count()
    }

    fn add_next(&mut self, missing_ranges: &mut Vec<Range<u64>>) {
        let range = self.ahead..(self.ahead + self.step).min(self.size);
        self.step = (2 * self.step).min(MAX_PART_BYTES);
        self.ahead = range.end;
        self.add(range, missing_ranges);
    }

    fn add(&mut self, range: Range<u64>, missing_ranges: &mut Vec<Range<u64>>) {
        if self.parts.len() >= MAX_PARTS {
            // Evicts the least recently used part that is not in flight.
            let ready =
                self.parts.iter().enumerate().filter(|(_, part)| !matches!(part.state, WindowPartState::Pending));
            if let Some((oldest, _)) = ready.min_by_key(|(_, part)| part.used) {
                self.parts.swap_remove(oldest);
            }
        }
        missing_ranges.push(range.clone());
        self.parts.push(WindowPart { range, state: WindowPartState::Pending, used: self.clock, taken: 0 });
    }

    /// Stores a part that arrived or failed.
    pub(crate) fn arrived(&mut self, range: &Range<u64>, result: Result<Bytes, RequestFailure>) {
        if let Some(part) = self.parts.iter_mut().find(|part| part.range == *range) {
            part.state = result.map_or_else(WindowPartState::Failed, WindowPartState::Ready);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 100 << 20;

    /// Reads a range, answering requests immediately; returns the number of bytes requested.
    fn read(window: &mut ReadWindow, range: Range<u64>) -> u64 {
        let mut offset = range.start;
        let mut requested_bytes = 0;
        let mut out = vec![0; 1 << 20];
        while offset < range.end {
            let count = (range.end - offset).min(out.len() as u64) as usize;
            let mut missing_ranges = Vec::new();
            if let WindowRead::Copied(count) = window.read(offset, &mut out[..count], &mut missing_ranges) {
                assert!(out[..count].iter().enumerate().all(|(i, &byte)| byte == (offset + i as u64) as u8));
                offset += count as u64;
            }
            for range in missing_ranges {
                requested_bytes += range.end - range.start;
                window.arrived(&range, Ok(bytes(range.clone())));
            }
        }
        requested_bytes
    }

    fn bytes(range: Range<u64>) -> Bytes {
        range.map(|offset| offset as u8).collect()
    }

    fn window() -> ReadWindow {
        ReadWindow::new(SIZE, bytes(0..FIRST_BYTES))
    }

    #[test]
    fn what_is_read_in_order_is_fetched_once() {
        assert_eq!(read(&mut window(), 0..SIZE), SIZE - FIRST_BYTES);
    }

    #[test]
    fn threads_a_little_out_of_order_cost_nothing() {
        let mut window = window();
        let mut requested_bytes = 0;
        let step = 1 << 20;
        for pair in 0..SIZE / step / 2 {
            requested_bytes += read(&mut window, (2 * pair + 1) * step..(2 * pair + 2) * step);
            requested_bytes += read(&mut window, 2 * pair * step..(2 * pair + 1) * step);
        }
        assert_eq!(requested_bytes, SIZE - FIRST_BYTES);
    }

    #[test]
    fn single_ranges_cost_little() {
        let mut window = window();
        let mut requested_bytes = 0;
        for offset in (1..20).map(|i| i * 5_000_000) {
            requested_bytes += read(&mut window, offset..offset + 100);
        }
        assert!(requested_bytes < 19 * 2 * FIRST_BYTES + (8 << 20), "{requested_bytes}");
    }

    #[test]
    fn a_second_reading_is_fetched_ahead_again() {
        let mut window = window();
        read(&mut window, 0..SIZE);
        let again = read(&mut window, 0..SIZE);
        assert!((SIZE..SIZE + (1 << 20)).contains(&again), "{again}");
    }

    #[test]
    fn a_failure_is_reported_once() {
        let mut window = window();
        let mut missing_ranges = Vec::new();
        let mut out = [0; 10];
        assert!(matches!(window.read(SIZE / 2, &mut out, &mut missing_ranges), WindowRead::Pending));
        window.arrived(&missing_ranges[0], Err(RequestFailure::changed()));
        assert!(matches!(window.read(SIZE / 2, &mut out, &mut missing_ranges), WindowRead::Failed(_)));
        assert!(matches!(window.read(SIZE / 2, &mut out, &mut missing_ranges), WindowRead::Pending));
    }
}
