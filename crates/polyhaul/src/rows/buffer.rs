//! Rows into one buffer of the caller.
//!
//! The place of a row is known when all before it are done. So each thread formats a block of rows into its own memory,
//! which stays in its cache; when its block's turn comes, it passes the turn on with the place where its block ends,
//! and then copies. The turn is an atomic number: no thread takes a lock or waits for a copy.

use super::{about_row_bytes, bound, in_row};
use polyhaul_model::error::{Error, ErrorKind, Result};
use polyhaul_pipeline::crew::{on_threads, within};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_text::format::{BoundFormat, Page, RowFormat, RowValueError, StridedColumn};
use polyhaul_trace::{self as trace, Phase};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Room for what a thread formats before it copies. Measured: half of it is slower, twice of it no faster.
const BLOCK_BYTES: usize = 128 << 10;
/// What a page needs beyond its rows to accept them at full speed.
const SPARE_BYTES: usize = 64;
/// How often a thread checks for its turn before it yields its core.
const SPINS: usize = 200;

/// Writes all rows to the start of `out`, and returns the number of bytes written.
///
/// With one thread and no trace, nothing is allocated; otherwise each thread allocates one block of memory. The rest of
/// `out`, after the rows, may be overwritten.
///
/// Returns an error if `out` is too short (the message says how many bytes are needed), if a value cannot be written in
/// this format, such as NaN as an integer (the message gives the row and column), or if the columns do not match the
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
        // Some rows are far longer than the sampled ones.
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

/// Writes rows while they fit; returns the size of all of them.
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

/// How many rows were formatted.
type Done = std::result::Result<usize, RowValueError>;

/// The rows, in blocks.
struct Work<'a> {
    rows: &'a BoundFormat<'a>,
    block_rows: usize,
    /// Enough for any block.
    block_bytes: usize,
}

impl Work<'_> {
    /// Writes directly into the buffer, as long as the blocks fit.
    fn alone(&self, line: &Line<'_>) {
        while let Some(block) = line.take() {
            let Some(start) = line.wait(block) else { return };
            // SAFETY: `alone` runs on one thread, and `page` is not used after this round, so that nobody else has this
            // part of the buffer.
            let mut page = Page::new(unsafe { line.from(start) });
            let result = self.format(block, &mut page);
            if result.is_ok_and(|count| count < self.count(block)) {
                // From here on they are only counted.
                return self.rest(line, block);
            }
            if !line.pass(block, start, page.len(), result) {
                return;
            }
        }
    }

    /// Continues with `block`, which was taken, and those after it.
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

    /// Appends the rows of a block, while they fit.
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

/// Blocks in line for their places in a buffer.
struct Line<'a> {
    out: *mut u8,
    room: usize,
    run: &'a RunOptions,
    count: usize,
    /// The next free block.
    next: AtomicUsize,
    /// The block whose place is known.
    turn: AtomicUsize,
    /// Its place; set before the turn is.
    place: AtomicUsize,
    stopped: AtomicBool,
    failed: Mutex<Option<Error>>,
    _out: PhantomData<&'a mut [u8]>,
}

// SAFETY: blocks get consecutive places, each handed on with the turn, so that threads write to disjoint parts of
// `out`. The other fields may be shared.
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

    /// A block to work on.
    fn take(&self) -> Option<usize> {
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        (block < self.count).then_some(block)
    }

    /// The place of `block`, once known; `None` if the work has stopped.
    fn wait(&self, block: usize) -> Option<usize> {
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

    /// Passes the turn on from `block`, which has the turn and `length` bytes; `false` if the work has ended.
    ///
    /// Turns come in order, so the first error by row is the one that ends the work.
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

    /// Copies a block to its place, if it is in the buffer.
    fn copy(&self, start: usize, text: &[u8]) {
        let _span = trace::span(Phase::Build);
        if start.checked_add(text.len()).is_some_and(|end| end <= self.room) {
            // SAFETY: `start + text.len() <= room` was checked, and `room` bytes at `out` are borrowed exclusively as
            // long as `self`. Only this block has the turn's place `start`, and `text` is in the thread's own buffer.
            unsafe { self.out.add(start).copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        }
    }

    /// The buffer from `start` on; empty if it ends before.
    ///
    /// # Safety
    /// Until the result is dropped, nothing else uses the buffer from `start` on.
    #[allow(clippy::mut_from_ref)]
    unsafe fn from(&self, start: usize) -> &mut [u8] {
        let start = start.min(self.room);
        // SAFETY: `start` was cut to `room`, so the slice is inside the buffer, which is borrowed exclusively as long
        // as `self`. Nobody else uses this part, this function's condition.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(start), self.room - start) }
    }

    fn fail(&self, error: Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The size of all blocks in bytes.
    fn finish(self) -> Result<usize> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(self.place.into_inner()),
        }
    }
}

/// Nobody must wait for the turn of a thread that panicked.
struct StopsOnPanic<'a, 'l>(&'a Line<'l>);

impl Drop for StopsOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stopped.store(true, Ordering::Relaxed);
        }
    }
}
