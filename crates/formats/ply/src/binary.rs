//! Reads binary rows, element by element, into the sinks.
//!
//! Rows of one size are located without reading earlier rows: every worker reads and parses its own share of a
//! positioned source. Pieces of compressed data are read whole, and the start of a row that spans two pieces is relayed
//! to the second piece. Bytes read after the last row of that size are kept, so that no byte is read twice. Rows with
//! lists are assumed to have the size of the first row, which parsing verifies ([`EvenRowsJob`]). From the first row
//! that differs, and in streams, rows are walked sequentially ([`WalkRowsJob`]), and only parsing is parallel.

use super::delivery::PlyPieces;
use super::layout::{PlyLayout, PlyShape, RowEnd, Walked};
use super::rows::{PlyOutcome, PlyRowsTarget};
use super::sink::{Flaw, PlyScratch, PlySink, PlySinkBlock, SinkFound};
use polyhaul_bytes::{DecodeAhead, Source};
use polyhaul_model::NONE;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, planted, try_copy, try_push};
use polyhaul_model::names;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_pipeline::arrays::{grow_exact, partition_point};
use polyhaul_pipeline::feed::{Feed, FeedPart};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::read::buffer;
use polyhaul_pipeline::relay::Relay;
use polyhaul_pipeline::run::{Crew, Phase, run};
use polyhaul_pipeline::table_parts::RowsSlot;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of rows per chunk: the rows stay in a core's private cache until they are parsed.
const CHUNK_BYTES: usize = 512 << 10;
/// Name of this memory in out-of-memory errors.
pub(super) const ROWS: &str = "a chunk of rows";
/// Bytes to search for the end of the first row, the model for all rows.
const FIRST_ROW_BYTES: u64 = 64 << 10;

/// Context for reading the rows of all elements.
pub(super) struct PlyReader<'a, 'o> {
    pub(super) feed: Feed<'a>,
    pub(super) options: &'o ParseOptions,
    pub(super) warnings: &'o mut Warnings,
    pub(super) threads: usize,
    pub(super) progress: ProgressSteps,
}

/// A chunk in flight.
struct PlyBinarySlot {
    bytes: Vec<u8>,
    /// Size of the complete rows at the start of `bytes`.
    size: usize,
    /// Offset in the file.
    offset: u64,
    first_row: u64,
    rows: usize,
    bases: Vec<u64>,
    totals: Vec<u64>,
    scratch: PlyScratch,
    findings: SinkFound,
    /// The chunk's faces to send to a consumer, and how many of them matched the shape.
    faces: Option<PlySink>,
    faces_known: usize,
}

/// State of the ordered step.
struct PlyBinaryState {
    outcome: PlyOutcome,
    mismatch: Option<u64>,
    /// Chunks that were already read, from the first row of another shape on.
    unused: Vec<FeedPart>,
    warnings: Warnings,
    progress: ProgressSteps,
}

/// Shared by both jobs.
struct Common<'a> {
    target: PlyRowsTarget<'a>,
    options: &'a ParseOptions,
    name: Arc<str>,
    size: Option<u64>,
    chunk_bytes: usize,
}

impl PlyReader<'_, '_> {
    /// Reads all rows of an element.
    pub(super) fn element(&mut self, target: PlyRowsTarget<'_>) -> Result<PlyOutcome> {
        let mut outcome = PlyOutcome::new(target.sink)?;
        let count = target.element.count;
        if count == 0 {
            return Ok(outcome);
        }
        let mut row = 0;
        if self.feed.is_positioned()
            && let Some(shape) = self.shape(target)?
        {
            (row, outcome) = self.even(target, shape, outcome)?;
        }
        if row < count {
            outcome = self.walk(target, row, outcome)?;
        }
        Ok(outcome)
    }

    /// Returns the shape of the first row, if all rows may have it.
    fn shape(&mut self, target: PlyRowsTarget<'_>) -> Result<Option<PlyShape>> {
        let layout = &target.sink.layout;
        let at = self.feed.at();
        let size = self.feed.size().unwrap_or(0);
        let remaining = size.saturating_sub(at);
        let Some(counts) = first_counts(&self.feed, at, layout)? else { return Ok(None) };
        let Some(shape) = layout.shape(&counts)? else { return Ok(None) };
        let rows = target.element.count;
        let limit = self.options.limits.elements.min(u64::from(NONE) - 1);
        let few = counts.iter().all(|&count| u64::from(count) * rows <= limit);
        let total_bytes =
            rows.checked_mul(shape.row_bytes as u64).filter(|&bytes| bytes <= remaining || planted("ply-rows"));
        if total_bytes.is_none() && layout.lists.is_empty() && target.sink.check.is_none() {
            let whole = remaining / shape.row_bytes.max(1) as u64;
            return Err(target.truncated(whole, self.place(size)));
        }
        Ok(total_bytes.filter(|_| few && shape.row_bytes as u64 <= self.options.limits.line_bytes).map(|_| shape))
    }

    fn place(&self, offset: u64) -> Place {
        Place { file: self.feed.name().clone(), offset: Some(offset), ..Place::default() }
    }

    fn common<'c>(&self, target: PlyRowsTarget<'c>, options: &'c ParseOptions) -> Common<'c> {
        let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
        Common::new(target, &self.feed, options, chunk_bytes)
    }

    fn crew(&mut self, bytes: u64, slot_bytes: usize) -> Crew {
        let run = &self.options.run;
        // Besides the rows, findings about them and the starts of lists need memory.
        let crew = Crew::for_chunks(bytes.div_ceil(slot_bytes.max(1) as u64), slot_bytes + (64 << 10), run);
        self.threads = self.threads.max(crew.threads);
        crew
    }

    /// Reads rows, assuming that all have this shape. Returns the number of rows before the first row that differs.
    fn even(&mut self, target: PlyRowsTarget<'_>, shape: PlyShape, outcome: PlyOutcome) -> Result<(u64, PlyOutcome)> {
        let rows = target.element.count;
        let row_bytes = shape.row_bytes;
        if target.pieces.is_none() {
            target.sink.reserve_rows(rows)?;
            let totals: Vec<u64> = shape.totals(rows).collect();
            target.sink.reserve_values(&totals)?;
        }
        let options = self.options;
        let common = self.common(target, options);
        let chunk_rows = (common.chunk_bytes / row_bytes.max(1)).max(1);
        let slot_bytes = self.feed.piece_bytes().map_or(chunk_rows * row_bytes, |bytes| bytes + row_bytes);
        let crew = self.crew(rows * row_bytes as u64, slot_bytes);
        let start = self.feed.at();
        let mut state = self.state(outcome);
        let first_piece = first_piece(&self.feed, start);
        let taken = Mutex::default();
        let relay = Relay::default();
        let job = EvenRowsJob { common, feed: &self.feed, start, shape, chunk_rows, first_piece, taken, relay };
        let result = run(&job, &mut state, crew, &options.run.cancel);
        let EvenRowsJob { shape: PlyShape { counts, .. }, relay, .. } = job;
        let mut unused = std::mem::take(&mut state.unused);
        unused.extend(relay.into_rests());
        let (mut outcome, mismatch) = self.settled(state);
        // Ignore errors after a row of another shape.
        if mismatch.is_none() {
            result?;
        }
        let rows_read = mismatch.unwrap_or(rows);
        for (total, &(_, count)) in outcome.totals.iter_mut().zip(&counts) {
            *total = u64::from(count) * rows_read;
        }
        self.feed.seek(start + rows_read * row_bytes as u64);
        if mismatch.is_some() {
            self.feed.keep(unused);
        }
        Ok((rows_read, outcome))
    }

    /// Reads rows sequentially, starting at row `row`.
    fn walk(&mut self, target: PlyRowsTarget<'_>, row: u64, outcome: PlyOutcome) -> Result<PlyOutcome> {
        let options = self.options;
        let common = self.common(target, options);
        let left = self.feed.size().map_or(u64::MAX, |size| size.saturating_sub(self.feed.at()));
        // A few rows are not worth a thread: there may be thousands of elements.
        let likely_bytes = (target.element.count - row).saturating_mul(8 * target.sink.layout.least_row_bytes() as u64);
        let crew = self.crew(left.min(likely_bytes), common.chunk_bytes);
        let mut bases = Vec::new();
        let mut totals = Vec::new();
        bases.try_reserve_exact(outcome.totals.len())?;
        bases.extend_from_slice(&outcome.totals);
        totals.try_reserve_exact(outcome.totals.len())?;
        totals.resize(outcome.totals.len(), 0);
        let mut state = self.state(outcome);
        let source = self.feed.source().clone();
        let line = PlyBinaryLine { feed: &mut self.feed, row, bases, totals };
        let job = WalkRowsJob { source, common, line: Mutex::new(line) };
        let result = run(&job, &mut state, crew, &options.run.cancel);
        let totals = job.line.into_inner().unwrap_or_else(PoisonError::into_inner).bases;
        let (outcome, _) = self.settled(state);
        result?;
        Ok(PlyOutcome { totals, ..outcome })
    }

    fn state(&mut self, outcome: PlyOutcome) -> PlyBinaryState {
        let warnings = std::mem::take(self.warnings);
        let progress = std::mem::take(&mut self.progress);
        PlyBinaryState { outcome, mismatch: None, unused: Vec::new(), warnings, progress }
    }

    fn settled(&mut self, state: PlyBinaryState) -> (PlyOutcome, Option<u64>) {
        *self.warnings = state.warnings;
        self.progress = state.progress;
        (state.outcome, state.mismatch)
    }

    /// Reports data after the last row.
    pub(super) fn finish(&mut self) -> Result<()> {
        let at = self.feed.at();
        let extra = self.feed.drain()?;
        if extra > 0 {
            self.warnings.note(self.options.faults, "extra-data", extra_data(extra, self.place(at)))?;
        }
        Ok(())
    }
}

/// Creates the warning about `extra` bytes after the last row.
pub(super) fn extra_data(extra: u64, place: Place) -> Diagnostic {
    let words = ["extra byte after the last row was ignored", "extra bytes after the last row were ignored"];
    Diagnostic { place, ..Diagnostic::new(counted(extra, words)) }
}

/// Returns the list counts of the row at `at`, if it is short enough and complete.
pub(super) fn first_counts(feed: &Feed<'_>, at: u64, layout: &PlyLayout) -> Result<Option<Vec<u32>>> {
    if layout.lists.is_empty() {
        return Ok(Some(Vec::new()));
    }
    layout.counts(&first_bytes(feed, at)?)
}

/// Returns whether the first rows at `at`, at most `rows`, all have the list lengths of the first row.
pub(super) fn first_rows_agree(feed: &Feed<'_>, at: u64, rows: u64, layout: &PlyLayout) -> Result<bool> {
    if layout.lists.is_empty() {
        return Ok(true);
    }
    let bytes = first_bytes(feed, at)?;
    let first = layout.counts(&bytes)?.unwrap_or_default();
    let mut at = 0;
    let mut agree = true;
    for _ in 0..rows {
        let row = layout.walk(&bytes, at, |walked| agree &= first.get(walked.list) == Some(&walked.count));
        match row {
            RowEnd::Whole(end) if agree => at = end,
            _ => break,
        }
    }
    Ok(agree)
}

/// Reads up to [`FIRST_ROW_BYTES`] of the rows at `at`.
fn first_bytes(feed: &Feed<'_>, at: u64) -> Result<Vec<u8>> {
    let remaining = feed.size().unwrap_or(0).saturating_sub(at);
    let mut first = buffer(remaining.min(FIRST_ROW_BYTES) as usize)?;
    let have = feed.peek_at(at, &mut first)?;
    first.truncate(have);
    Ok(first)
}

impl<'a> Common<'a> {
    fn new(target: PlyRowsTarget<'a>, feed: &Feed<'_>, options: &'a ParseOptions, chunk_bytes: usize) -> Common<'a> {
        Common { target, options, name: feed.name().clone(), size: feed.size(), chunk_bytes }
    }

    fn slot(&self) -> PlyBinarySlot {
        PlyBinarySlot {
            bytes: Vec::new(),
            size: 0,
            offset: 0,
            first_row: 0,
            rows: 0,
            bases: Vec::new(),
            totals: Vec::new(),
            scratch: PlyScratch::default(),
            findings: SinkFound::default(),
            faces: None,
            faces_known: 0,
        }
    }

    /// Publishes the rows of a slot to the arrays.
    fn publish(&self, slot: &mut PlyBinarySlot, shape: Option<&PlyShape>) -> Result<()> {
        let PlyBinarySlot { bytes, size, first_row, rows, bases, totals, scratch, findings, faces, .. } = slot;
        let first_row = *first_row;
        let rows = *rows;
        let block = PlySinkBlock { bytes: &bytes[..*size], rows, first_row, bases, totals, shape };
        if self.target.pieces.is_some() {
            *findings = PlyPieces::store(&block, self.target.sink, faces, scratch)?;
            return Ok(());
        }
        // SAFETY: chunks have different rows. The values of their lists follow the values of earlier rows: from `bases`
        // on if rows are walked, otherwise from the shape's counts times the index of the first row.
        *findings = unsafe { self.target.sink.publish(&block, scratch)? };
        Ok(())
    }

    /// Sends the faces of a slot to the consumer, if there is one.
    fn hand_over(&self, slot: &mut PlyBinarySlot) -> Result<()> {
        match (self.target.pieces, &mut slot.faces) {
            // SAFETY: `parse` stored the slot's rows, and `place` found how many of them are faces.
            (Some(pieces), Some(faces)) => unsafe { pieces.hand_over(faces, slot.first_row, slot.faces_known) },
            _ => Ok(()),
        }
    }

    fn place(&self, offset: u64) -> Place {
        Place { file: self.name.clone(), offset: Some(offset), ..Place::default() }
    }

    /// Reports the findings in a slot.
    fn settle(&self, state: &mut PlyBinaryState, slot: &PlyBinarySlot) -> Result<()> {
        let at = |flaw: &Flaw| (self.place(slot.offset + flaw.at as u64), None);
        state.outcome.file(self.target, &slot.findings, self.options, &mut state.warnings, at)?;
        state.progress.report(&self.options.run, slot.offset + slot.size as u64, self.size);
        Ok(())
    }
}

/// Reads rows of one size; chunks are independent.
struct EvenRowsJob<'a, 'f> {
    common: Common<'a>,
    feed: &'a Feed<'f>,
    /// Offset of the first row.
    start: u64,
    shape: PlyShape,
    chunk_rows: usize,
    /// Index of the piece with the first row; `None` if the source has no pieces. If it has pieces, they serve as
    /// chunks.
    first_piece: Option<u64>,
    taken: Mutex<Taken>,
    /// Relays rows that span two pieces.
    relay: Relay<FeedPart>,
}

/// The chunks taken so far.
#[derive(Default)]
struct Taken {
    /// One more than the highest chunk number.
    end: u64,
    /// Whether a row has another shape: chunks not yet taken are irrelevant.
    stop: bool,
}

/// Returns the piece with the byte at `start`, if the source has pieces.
fn first_piece(feed: &Feed<'_>, start: u64) -> Option<u64> {
    feed.piece_bytes()?;
    let ends_behind = |number: u64| feed.piece(number).is_none_or(|piece| piece.end > start);
    // The number of pieces is unknown: exponential search, then binary search.
    let mut low = 0;
    let mut high = 1;
    while !ends_behind(high - 1) {
        low = high;
        high *= 2;
    }
    let first = partition_point(low as usize..high as usize, |number| !ends_behind(number as u64)) as u64;
    feed.piece(first).map(|_| first)
}

impl EvenRowsJob<'_, '_> {
    /// Returns whether a chunk must be read. If a later chunk was taken, it always must, so that reading leaves no
    /// gaps.
    fn is_wanted(&self, number: u64) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.stop && number >= taken.end {
            return false;
        }
        taken.end = taken.end.max(number + 1);
        true
    }

    /// Reads the rows of a chunk.
    fn take_rows(&self, first: u64, slot: &mut PlyBinarySlot) -> Result<()> {
        let left = self.common.target.element.count - first;
        slot.rows = left.min(self.chunk_rows as u64) as usize;
        slot.size = slot.rows * self.shape.row_bytes;
        self.place_slot(first, slot)?;
        grow_exact(&mut slot.bytes, slot.size, ROWS)?;
        let PlyBinarySlot { offset, bytes, size, .. } = slot;
        self.read(*offset, &mut bytes[..*size])
    }

    /// Reads a piece for the rows that end in it, and relays the start of the next row.
    fn take_piece(&self, number: u64, piece: Range<u64>, slot: &mut PlyBinarySlot) -> Result<()> {
        let row_bytes = self.shape.row_bytes as u64;
        let end = self.start + self.common.target.element.count * row_bytes;
        let from = piece.start.clamp(self.start, end);
        let to = piece.end.min(end);
        let [first, last] = [from, to].map(|at| (at - self.start) / row_bytes.max(1));
        let mut handover = self.relay.start(number);
        slot.rows = (last - first) as usize;
        slot.size = (last - first) as usize * self.shape.row_bytes;
        self.place_slot(first, slot)?;
        let carried = (from - slot.offset) as usize;
        let have = carried + (to - from) as usize;
        grow_exact(&mut slot.bytes, have, ROWS)?;
        self.read(from, &mut slot.bytes[carried..have])?;
        let rest_at = slot.offset + slot.size as u64;
        // If a row ends in this piece, the rest does not depend on the previous piece: pass it on without waiting.
        if slot.rows > 0 {
            handover.give(FeedPart { offset: rest_at, bytes: try_copy(&slot.bytes[slot.size..have], "a row")? });
        }
        if number > 0 {
            let before = handover.receive().ok_or_else(Error::cancelled)?;
            slot.bytes[..carried].copy_from_slice(before.bytes.get(..carried).ok_or_else(shorter)?);
        }
        if slot.rows == 0 {
            handover.give(FeedPart { offset: rest_at, bytes: try_copy(&slot.bytes[..have], "a row")? });
        }
        Ok(())
    }

    /// Sets the offset of a slot, and the numbers of rows and values before it.
    fn place_slot(&self, first: u64, slot: &mut PlyBinarySlot) -> Result<()> {
        slot.first_row = first;
        slot.offset = self.start + first * self.shape.row_bytes as u64;
        slot.bases.clear();
        slot.bases.try_reserve(self.shape.counts.len())?;
        slot.bases.extend(self.shape.totals(first));
        Ok(())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        read_rows(self.feed, offset, out)
    }
}

/// Reads rows; fails if the source is too short.
pub(super) fn read_rows(feed: &Feed<'_>, offset: u64, out: &mut [u8]) -> Result<()> {
    let have = feed.read_at(offset, out)?;
    if have == out.len() { Ok(()) } else { Err(shorter()) }
}

#[cold]
fn shorter() -> Error {
    Error::new(ErrorKind::Malformed, "the source became shorter while it was read")
}

impl ChunkJob for EvenRowsJob<'_, '_> {
    type Slot = PlyBinarySlot;
    type State = PlyBinaryState;
    const PHASE: Phase = Phase::Build;
    const PUBLISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        false
    }

    fn slot(&self) -> Result<PlyBinarySlot> {
        Ok(self.common.slot())
    }

    fn take(&self, number: u64, slot: &mut PlyBinarySlot) -> Result<bool> {
        let row_bytes = self.shape.row_bytes as u64;
        let count = self.common.target.element.count;
        let Some(first_piece) = self.first_piece else {
            let first = number.saturating_mul(self.chunk_rows as u64);
            let is_wanted = first < count && self.is_wanted(number);
            return if is_wanted { self.take_rows(first, slot).map(|()| true) } else { Ok(false) };
        };
        let end = self.start + count * row_bytes;
        let piece = self.feed.piece(first_piece + number).filter(|piece| piece.start < end);
        match piece.filter(|_| self.is_wanted(number)) {
            Some(piece) => self.take_piece(number, piece, slot).map(|()| true),
            None => Ok(false),
        }
    }

    fn parse(&self, slot: &mut PlyBinarySlot) -> Result<()> {
        if slot.rows == 0 {
            slot.findings = SinkFound::default();
            return Ok(());
        }
        self.common.publish(slot, Some(&self.shape))
    }

    fn place(&self, state: &mut PlyBinaryState, slot: &mut PlyBinarySlot) -> Result<()> {
        slot.faces_known = 0;
        if state.mismatch.is_none() {
            self.common.settle(state, slot)?;
            state.mismatch = slot.findings.mismatch;
            slot.faces_known = state.mismatch.map_or(slot.rows, |row| (row - slot.first_row) as usize);
            if state.mismatch.is_none() {
                return Ok(());
            }
            self.taken.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        }
        let mut bytes = std::mem::take(&mut slot.bytes);
        bytes.truncate(slot.size);
        try_push(&mut state.unused, FeedPart { offset: slot.offset, bytes }, "rows")
    }

    fn publish(&self, slot: &mut PlyBinarySlot) -> Result<()> {
        self.common.hand_over(slot)
    }
}

/// Progress of walking rows.
struct PlyBinaryLine<'a, 'f> {
    feed: &'a mut Feed<'f>,
    /// Index of the row at the feed's position.
    row: u64,
    /// Number of values of each list before that row.
    bases: Vec<u64>,
    /// Number of values of each list in the current slot's rows.
    totals: Vec<u64>,
}

/// Walks rows sequentially; parses them in parallel.
struct WalkRowsJob<'a, 'f> {
    source: Source<'f>,
    common: Common<'a>,
    line: Mutex<PlyBinaryLine<'a, 'f>>,
}

/// Walks rows for a caller that parses them.
pub(super) struct PlyWalk<'a, 'f>(WalkRowsJob<'a, 'f>);

impl<'a, 'f> PlyWalk<'a, 'f> {
    /// Starts at the feed's position, which must be the first row.
    pub(super) fn new(
        target: PlyRowsTarget<'a>,
        feed: &'a mut Feed<'f>,
        options: &'a ParseOptions,
        chunk_bytes: usize,
    ) -> Result<PlyWalk<'a, 'f>> {
        let PlyOutcome { totals, .. } = PlyOutcome::new(target.sink)?;
        let common = Common::new(target, feed, options, chunk_bytes);
        let source = feed.source().clone();
        let line = PlyBinaryLine { feed, row: 0, bases: totals.clone(), totals };
        Ok(PlyWalk(WalkRowsJob { source, common, line: Mutex::new(line) }))
    }

    /// Reads the next rows; returns `false` after the last.
    pub(super) fn take(&self, slot: &mut RowsSlot) -> Result<bool> {
        let mut binary_slot = PlyBinarySlot { bytes: std::mem::take(&mut slot.bytes), ..self.0.common.slot() };
        let is_taken = self.0.next(&mut self.0.line(), &mut binary_slot)?;
        *slot = RowsSlot {
            first_row: binary_slot.first_row,
            rows: binary_slot.rows,
            bytes: binary_slot.bytes,
            size: binary_slot.size,
            end: binary_slot.offset + binary_slot.size as u64,
            totals: binary_slot.totals,
        };
        Ok(is_taken)
    }

    /// Returns the offset after the last row, once it was taken.
    pub(super) fn end(&self) -> Option<u64> {
        let line = self.0.line();
        (line.row == self.0.common.target.element.count).then(|| line.feed.at())
    }
}

/// Reason why a chunk ends.
enum PlyStop {
    /// The chunk has enough rows.
    Done,
    Row(RowEnd),
    /// There are too many list values.
    Values,
    /// A row that is too long.
    Length,
}

impl<'a, 'f> WalkRowsJob<'a, 'f> {
    fn line(&self) -> MutexGuard<'_, PlyBinaryLine<'a, 'f>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the next rows; returns `false` after the last.
    fn next(&self, line: &mut PlyBinaryLine<'_, '_>, slot: &mut PlyBinarySlot) -> Result<bool> {
        if line.row >= self.common.target.element.count {
            return Ok(false);
        }
        slot.offset = line.feed.at();
        let mut have = 0;
        let mut wanted_bytes = self.first_bytes(line);
        let (size, rows) = loop {
            grow_exact(&mut slot.bytes, wanted_bytes, ROWS)?;
            have += line.feed.take(&mut slot.bytes[have..wanted_bytes]);
            let (size, rows, stop) = self.cut(line, &slot.bytes[..have]);
            if rows > 0 {
                break (size, rows);
            }
            if let Err(error) = self.go_on(line, slot.offset, stop) {
                line.row = u64::MAX;
                return Err(error);
            }
            wanted_bytes *= 2;
        };
        line.feed.put_back(&slot.bytes[size..have])?;
        slot.size = size;
        slot.first_row = line.row;
        slot.rows = rows as usize;
        for (to, from) in [(&mut slot.bases, &line.bases), (&mut slot.totals, &line.totals)] {
            to.clear();
            to.try_reserve(from.len())?;
            to.extend_from_slice(from);
        }
        line.row += rows;
        line.bases.iter_mut().zip(&line.totals).for_each(|(base, total)| *base += total);
        Ok(true)
    }

    /// Maximum bytes per row.
    fn longest(&self) -> u64 {
        self.common.options.limits.line_bytes.min(1 << 30)
    }

    /// Number of bytes to read first. If few rows remain, it is small, since the excess is put back.
    fn first_bytes(&self, line: &PlyBinaryLine<'_, '_>) -> usize {
        let Common { target, chunk_bytes, .. } = &self.common;
        let row_bytes = target.sink.layout.least_row_bytes() as u64;
        let rows = (target.element.count - line.row).saturating_mul(row_bytes.saturating_mul(4)).saturating_add(4096);
        usize::try_from(rows).unwrap_or(usize::MAX).min(*chunk_bytes)
    }

    /// Returns the size and the number of the complete rows at the start of `bytes`, and the reason for stopping there.
    fn cut(&self, line: &mut PlyBinaryLine<'_, '_>, bytes: &[u8]) -> (usize, u64, PlyStop) {
        let layout = &self.common.target.sink.layout;
        let rows_left = self.common.target.element.count - line.row;
        let longest = self.longest();
        line.totals.fill(0);
        if layout.lists.is_empty() {
            let size = layout.least_row_bytes();
            if size as u64 > longest {
                return (0, 0, PlyStop::Length);
            }
            let rows = (bytes.len() / size.max(1)) as u64;
            let stop = if rows < rows_left { PlyStop::Row(RowEnd::Cut(size as u64)) } else { PlyStop::Done };
            return (rows.min(rows_left) as usize * size, rows.min(rows_left), stop);
        }
        let limit = self.common.options.limits.elements.min(u64::from(NONE) - 1);
        let mut at = 0;
        let mut rows = 0;
        let bases = &line.bases;
        let totals = &mut line.totals;
        while rows < rows_left {
            // Check a count before its numbers are available, so that the result does not depend on how much has been
            // read.
            let mut verdict = None;
            let end = layout.walk(bytes, at, |Walked { list, start, count }| {
                totals[list] += u64::from(count);
                let size = (start - at) as u64 + u64::from(count) * layout.lists[list].item.bytes() as u64;
                let is_over = bases[list] + totals[list] > limit;
                let excess = if size > longest { Some(PlyStop::Length) } else { is_over.then_some(PlyStop::Values) };
                verdict = verdict.take().or(excess);
            });
            let is_long = |end: usize| (end - at) as u64 > longest;
            let stop = match (verdict, end) {
                (Some(verdict), _) => verdict,
                (None, RowEnd::Whole(end)) if !is_long(end) => {
                    at = end;
                    rows += 1;
                    continue;
                }
                (None, RowEnd::Negative(list, field)) if !is_long(field + layout.lists[list].count.bytes()) => {
                    PlyStop::Row(end)
                }
                (None, RowEnd::Cut(_)) => PlyStop::Row(end),
                (None, _) => PlyStop::Length,
            };
            // The incomplete row was partly counted.
            self.uncount(bytes, at, totals);
            return (at, rows, stop);
        }
        (at, rows, PlyStop::Done)
    }

    /// Subtracts the counts of the row at `at`.
    fn uncount(&self, bytes: &[u8], at: usize, totals: &mut [u64]) {
        self.common.target.sink.layout.walk(bytes, at, |walked| totals[walked.list] -= u64::from(walked.count));
    }

    /// Checks that more of an incomplete row can be read. Fails with the error that prevents it.
    fn go_on(&self, line: &mut PlyBinaryLine<'_, '_>, offset: u64, stop: PlyStop) -> Result<()> {
        let Common { target, options, size, .. } = &self.common;
        let place = |offset: u64| self.common.place(offset);
        let needed = match stop {
            PlyStop::Row(RowEnd::Cut(needed)) if needed <= self.longest() => needed,
            PlyStop::Row(RowEnd::Negative(list, at)) => {
                let name = names::shown(target.list_name(list));
                let row = line.row;
                let element = names::shown(&target.element.name);
                let message = format!("row {row} of `{element}`: the list `{name}` has a negative count");
                let diagnostic = Diagnostic { place: place(offset + at as u64), ..Diagnostic::new(message) };
                return Err(diagnostic.into_error(ErrorKind::Malformed));
            }
            PlyStop::Values => {
                let limit = options.limits.elements.min(u64::from(NONE) - 1);
                return Err(target.too_many_values(line.row, limit, place(offset)));
            }
            _ => return Err(target.too_long(line.row, self.longest(), place(offset))),
        };
        if let Some(size) = size.filter(|&size| offset + needed > size) {
            return Err(target.truncated(line.row, place(size)));
        }
        if !line.feed.is_over() {
            return Ok(());
        }
        let row = line.row;
        let offset = line.feed.at();
        Err(line.feed.failed().unwrap_or_else(|| target.truncated(row, place(offset))))
    }
}

impl ChunkJob for WalkRowsJob<'_, '_> {
    type Slot = PlyBinarySlot;
    type State = PlyBinaryState;
    const PHASE: Phase = Phase::Build;
    const PUBLISHES: bool = true;

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.source.ahead()
    }

    fn slot(&self) -> Result<PlyBinarySlot> {
        Ok(self.common.slot())
    }

    fn take(&self, _: u64, slot: &mut PlyBinarySlot) -> Result<bool> {
        let mut line = self.line();
        let is_taken = self.next(&mut line, slot)?;
        if is_taken && self.common.target.pieces.is_none() {
            self.common.target.sink.reserve_rows(line.row)?;
            self.common.target.sink.reserve_values(&line.bases)?;
        }
        Ok(is_taken)
    }

    fn parse(&self, slot: &mut PlyBinarySlot) -> Result<()> {
        let layout = &self.common.target.sink.layout;
        let even = layout.lists.is_empty().then(|| layout.shape(&[])).transpose()?.flatten();
        self.common.publish(slot, even.as_ref())
    }

    fn place(&self, state: &mut PlyBinaryState, slot: &mut PlyBinarySlot) -> Result<()> {
        self.common.settle(state, slot)?;
        if slot.bytes.len() > 4 * self.common.chunk_bytes.max(64 << 10) {
            // An unusually long row has grown it.
            slot.bytes = Vec::new();
        }
        slot.faces_known = slot.rows;
        Ok(())
    }

    fn publish(&self, slot: &mut PlyBinarySlot) -> Result<()> {
        self.common.hand_over(slot)
    }
}
