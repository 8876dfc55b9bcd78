//! Formats rows into a single buffer owned by the caller.
//!
//! The offset of a row is known once all rows before it are formatted. Each thread therefore formats a block of rows
//! into its own memory, which stays in its cache. When the block's turn comes, the thread passes the turn on together
//! with the end offset of its block, and only then copies. The turn is an atomic number: no thread takes a lock or
//! waits for another thread's copy.

use super::{about_row_bytes, bound, in_row};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_pipeline::crew::{on_threads, within};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_text::format::{BoundFormat, Page, RowFormat, RowValueError, StridedColumn};
use polyhaul_trace::{self as trace, Phase};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Scratch space in which a thread formats a block before it copies: large enough that passing the turn costs little,
/// small enough for the L2 cache.
const BLOCK_BYTES: usize = 128 << 10;
/// Space that a page needs beyond its rows to accept them at full speed.
const SPARE_BYTES: usize = 64;
/// Number of checks for the turn before a thread yields its core.
const SPINS: usize = 200;

/// Writes all rows to the start of `out`, and returns the number of bytes written.
///
/// With one thread and no trace, nothing is allocated if `out` is long enough; otherwise each thread allocates one
/// block of memory. The rest of `out`, after the rows, may be overwritten.
///
/// Returns an error if `out` is too short (the message states the required size), if a value cannot be written in this
/// format, such as NaN as an integer (the message states the row and column), or if the columns do not match the
/// format.
pub fn format_rows(
    format: &RowFormat,
    columns: &[StridedColumn<'_>],
    out: &mut [u8],
    run: &RunOptions,
) -> Result<usize> {
    let room = out.len();
    match fill(&bound(format, columns)?, format.max_bytes(), out, run)? {
        needed if needed > room => {
            let message = format!("the rows need {needed} bytes, but the buffer has {room}");
            Err(Error::new(ErrorKind::Usage, message))
        }
        length => Ok(length),
    }
}

/// Writes all rows to a new buffer.
///
/// Returns the same errors as [`format_rows`], and an error if memory runs out.
pub fn format_rows_to_vec(format: &RowFormat, columns: &[StridedColumn<'_>], run: &RunOptions) -> Result<Vec<u8>> {
    let rows = bound(format, columns)?;
    let max_bytes = format.max_bytes();
    let about = rows.count().saturating_mul(about_row_bytes(&rows, max_bytes));
    let max_length = rows.count().saturating_mul(max_bytes);
    let mut out = zeros(max_length.min(about.saturating_add(about / 8 + (64 << 10))))?;
    let mut length = fill(&rows, max_bytes, &mut out, run)?;
    if length > out.len() {
        // Some rows are much longer than the sampled rows.
        drop(out);
        out = zeros(length)?;
        length = fill(&rows, max_bytes, &mut out, run)?.min(out.len());
    }
    out.truncate(length);
    Ok(out)
}

fn zeros(count: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count).map_err(|_| Error::memory("text of rows"))?;
    bytes.resize(count, 0);
    Ok(bytes)
}

/// Writes rows while they fit; returns the total size of all rows.
fn fill(rows: &BoundFormat<'_>, max_bytes: usize, out: &mut [u8], run: &RunOptions) -> Result<usize> {
    let block_bytes = BLOCK_BYTES.max(max_bytes.saturating_add(SPARE_BYTES));
    let block_rows = (block_bytes - SPARE_BYTES) / max_bytes.max(1);
    let count = rows.count().div_ceil(block_rows);
    let threads = run.worker_threads().min(count);
    let line = Line::new(out, run, count);
    let work = Work { rows, block_rows, block_bytes };
    within(run, || {
        let _section = trace::section("format");
        match threads {
            0 | 1 => work.alone(&line),
            _ => on_threads(threads, || work.together(&line)),
        }
    });
    line.finish()
}

/// Number of rows formatted.
type Done = std::result::Result<usize, RowValueError>;

/// Rows, split into blocks.
struct Work<'a> {
    rows: &'a BoundFormat<'a>,
    block_rows: usize,
    /// Sufficient for any block.
    block_bytes: usize,
}

impl Work<'_> {
    /// Formats directly into the buffer, on one thread, as long as blocks fit.
    fn alone(&self, line: &Line<'_>) {
        while let Some(block) = line.take() {
            let Some(start) = line.wait(block) else { return };
            // SAFETY: `alone` runs on one thread, and `page` is not used after this iteration, so nothing else uses
            // this part of the buffer.
            let mut page = Page::new(unsafe { line.from(start) });
            let result = self.format(block, &mut page);
            if result.is_ok_and(|count| count < self.count(block)) {
                // The remaining rows are only counted.
                return self.rest(line, block);
            }
            if !line.pass(block, start, page.len(), result) {
                return;
            }
        }
    }

    /// Takes a block and continues until all are done.
    fn together(&self, line: &Line<'_>) {
        if let Some(block) = line.take() {
            self.rest(line, block);
        }
    }

    fn rest(&self, line: &Line<'_>, mut block: usize) {
        let _stops = StopsOnPanic(line);
        let mut scratch = match zeros(self.block_bytes) {
            Ok(scratch) => scratch,
            Err(error) => return line.fail(error),
        };
        let mut page = Page::new(&mut scratch);
        loop {
            page.clear();
            let result = self.format(block, &mut page);
            let Some(start) = line.wait(block) else { return };
            if !line.pass(block, start, page.len(), result) {
                return;
            }
            line.copy(start, page.as_bytes());
            match line.take() {
                Some(next) => block = next,
                None => return,
            }
        }
    }

    /// Appends the rows of a block while they fit.
    fn format(&self, block: usize, page: &mut Page<'_>) -> Done {
        let _span = trace::chunk(None, Phase::Format, block as u64);
        let start = block * self.block_rows;
        self.rows.write(page, start..start + self.count(block))
    }

    /// The number of rows in a block.
    fn count(&self, block: usize) -> usize {
        (self.rows.count() - block * self.block_rows).min(self.block_rows)
    }
}

/// Blocks waiting in line for their offsets in a buffer.
struct Line<'a> {
    out: *mut u8,
    room: usize,
    run: &'a RunOptions,
    count: usize,
    /// Next block to take.
    next: AtomicUsize,
    /// Block whose offset is known.
    turn: AtomicUsize,
    /// Offset of that block; stored before the turn is.
    place: AtomicUsize,
    stopped: AtomicBool,
    failed: Mutex<Option<Error>>,
    _out: PhantomData<&'a mut [u8]>,
}

// SAFETY: blocks have consecutive ranges of `out`, each passed on with the turn, so threads write to disjoint parts of
// it. The other fields can be shared.
unsafe impl Sync for Line<'_> {}

impl<'a> Line<'a> {
    fn new(out: &'a mut [u8], run: &'a RunOptions, count: usize) -> Self {
        Line {
            room: out.len(),
            out: out.as_mut_ptr(),
            run,
            count,
            next: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            place: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            failed: Mutex::new(None),
            _out: PhantomData,
        }
    }

    /// Takes the next block.
    fn take(&self) -> Option<usize> {
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        (block < self.count).then_some(block)
    }

    /// Waits for the offset of `block`. Returns `None` if the work has stopped.
    fn wait(&self, block: usize) -> Option<usize> {
        // Pairs with the release in `pass`, so `place` can be loaded relaxed.
        if self.turn.load(Ordering::Acquire) == block {
            return Some(self.place.load(Ordering::Relaxed));
        }
        let _span = trace::span(Phase::WaitTurn);
        let mut looks = 0;
        while self.turn.load(Ordering::Acquire) != block {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            looks += 1;
            if looks < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        Some(self.place.load(Ordering::Relaxed))
    }

    /// Passes the turn on from `block`, which has the turn and `length` bytes, starting at `start`. Returns `false` if
    /// the work has stopped.
    ///
    /// Turns come in order, so the error of the first failing row stops the work.
    fn pass(&self, block: usize, start: usize, length: usize, result: Done) -> bool {
        let error = result.err().map(in_row).or_else(|| self.run.cancel.is_cancelled().then(Error::cancelled));
        if let Some(error) = error {
            self.fail(error);
            return false;
        }
        let end = start.saturating_add(length);
        self.place.store(end, Ordering::Relaxed);
        self.turn.store(block + 1, Ordering::Release);
        if let Some(progress) = &self.run.progress {
            let about_all = end as u128 * self.count as u128 / (block as u128 + 1);
            progress.report(end as u64, Some(about_all as u64));
        }
        true
    }

    /// Copies a block to its offset, if it fits in the buffer.
    fn copy(&self, start: usize, text: &[u8]) {
        let _span = trace::span(Phase::Build);
        if start.checked_add(text.len()).is_some_and(|end| end <= self.room) {
            // SAFETY: `start + text.len() <= room` was checked, and `room` bytes at `out` are borrowed exclusively for
            // the lifetime of `self`. Only this block received the offset `start`, and `text` is in the thread's own
            // memory.
            unsafe { self.out.add(start).copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        }
    }

    /// The part of the buffer that starts at `start`; empty if `start` is beyond the end of the buffer.
    ///
    /// # Safety
    /// Until the result is dropped, nothing else uses the buffer from `start` on.
    #[allow(clippy::mut_from_ref)]
    unsafe fn from(&self, start: usize) -> &mut [u8] {
        let start = start.min(self.room);
        // SAFETY: `start` is clamped to `room`, so the slice is inside the buffer, which is borrowed exclusively for
        // the lifetime of `self`. The caller guarantees that nothing else uses this part.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(start), self.room - start) }
    }

    fn fail(&self, error: Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Total size of all blocks in bytes, or the error that stopped the work.
    fn finish(self) -> Result<usize> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(self.place.into_inner()),
        }
    }
}

/// Stops the work if a thread panics, so that no other thread waits for its turn.
struct StopsOnPanic<'a, 'l>(&'a Line<'l>);

impl Drop for StopsOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stopped.store(true, Ordering::Relaxed);
        }
    }
}
