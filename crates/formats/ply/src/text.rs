//! Reads text rows into the sinks, as a chunked pipeline job.
//!
//! The row index of a line depends on all lines before it. So a chunk's lines are counted first; an ordered step
//! determines their row indices; they are parsed ([`super::lines`]); another ordered step reserves slots for list
//! values; and the rows are published like binary rows.
//!
//! In the format itself, rows are sequences of words, and line endings have no meaning. From the first line that is not
//! a row, words are processed sequentially ([`super::words`]), which is slow but rare. This cannot be parallel, because
//! the end of a row depends on every earlier word, including list counts, so counting the words of chunks in parallel
//! does not suffice.

mod damaged;

use super::layout::{PlyShape, RowEnd};
use super::lines::{PlyDecimals, PlyLines, PlyLinesOrder, PlyLinesParsed, PlyNumbers, PlySegment};
use super::rows::{PlyOutcome, PlyRowsTarget};
use super::sink::{Flaw, PlyScratch, PlySinkBlock, SinkFound};
use super::words;
use super::words::{Fed, whole, words};
use damaged::PlyDamage;
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::NONE;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Excerpt, Place, Result, planted, try_push};
use polyhaul_model::limits::OnError;
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::chunk::{Text, TextChunks};
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::place::Placer;
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::parse::number;
use polyhaul_text::scan::{Index, PADDING};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of text per chunk: text and rows of a chunk fit in a core's private cache.
const CHUNK_BYTES: usize = 256 << 10;
/// Slot size as a multiple of the chunk size: the text, and up to 4 times as many bytes of rows (one-digit f64s).
const SLOT_FACTOR: usize = 5;
/// Marks a row that starts in an earlier chunk.
const CARRIED: u32 = u32::MAX;

/// A chunk in flight.
struct PlyTextSlot {
    text: Text,
    /// Start of the rows in the padded text.
    body: usize,
    index: Box<Index>,
    numbers: PlyNumbers,
    /// Number of line endings in the text, and number of lines that should be rows.
    lines: u64,
    rows: u64,
    /// Number of lines and number of rows before the chunk.
    first_line: u64,
    first_row: u64,
    parsed: PlyLinesParsed,
    /// Location of the first row, if it started in an earlier chunk.
    carried: Option<(Place, Excerpt)>,
    scratch: PlyScratch,
    findings: Vec<SinkFound>,
    /// What follows the parsed rows: an error, or the offset of words after the last row.
    error: Option<Error>,
    extra: Option<usize>,
    damage: PlyDamage,
}

/// State of sequential parsing, which starts at the first line that is not a row.
struct Serial {
    progress: words::PlyWordsProgress,
    /// Index of the next or incomplete row, counted over all elements.
    row: u64,
    /// Bytes of the incomplete row, and its location.
    partial: Vec<u8>,
    place: Option<(Place, Excerpt)>,
    /// Whether several rows were on one line.
    has_shared_line: bool,
}

/// State of the ordered steps.
struct PlyTextState {
    lines: u64,
    rows: u64,
    /// Number of rows parsed.
    done: u64,
    serial: Option<Serial>,
    /// Whether an error was found; the rest of the file is then irrelevant.
    over: bool,
    /// Whether words after the last row were reported.
    noted: bool,
    /// Number of integers written as decimals, and a warning about the first one. They are reported at the end, so that
    /// the order of warnings does not depend on chunks.
    decimals: (u64, Option<Diagnostic>),
    /// Skipped rows and dropped values, also reported at the end.
    left_out: (u64, Option<Diagnostic>),
    dropped: (u64, Option<Diagnostic>),
    /// Explanation for errors after a line with the wrong number of values.
    wide_line: Option<WideLine>,
    /// End of the text so far.
    end: u64,
    outcomes: Vec<PlyOutcome>,
    warnings: Warnings,
    progress: ProgressSteps,
}

/// Codes of the warnings reported at the end.
const AT_THE_END: [&str; 3] = ["decimal-integer", "malformed", "extra-value"];

struct PlyTextJob<'s, 'a> {
    chunks: TextChunks<'s>,
    /// Offset of the rows in the file.
    body: u64,
    targets: &'a [PlyRowsTarget<'a>],
    /// Shapes of elements without lists.
    shapes: Vec<Option<PlyShape>>,
    order: PlyLinesOrder,
    options: &'a ParseOptions,
    /// Whether sequential parsing has started. Then lines need not be parsed in parallel.
    serial: AtomicBool,
    rows_of: RowsOf,
    slot_bytes: usize,
}

/// How words form rows after the first line that is not a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowsOf {
    /// From consecutive words, regardless of lines.
    Words,
    /// By line, skipping lines that are not rows: see [`damaged`].
    Lines,
    /// Each line is one row; values after the row are dropped.
    EachLine,
}

/// Reads the rows of all elements.
///
/// If reading continues past errors, first forms rows regardless of lines. If these are malformed, forms rows by line.
/// If that fails too and a line has the wrong number of values, takes each line as a row. A stream can be read only
/// once, so its rows are formed by line at once.
pub(super) fn read(
    feed: Feed<'_>,
    body: u64,
    targets: &[PlyRowsTarget<'_>],
    options: &ParseOptions,
    warnings: &mut Warnings,
) -> Result<(Vec<PlyOutcome>, usize)> {
    let is_lenient = options.faults.on_error == OnError::Warn;
    if !is_lenient || !feed.is_positioned() {
        let rows_of = if is_lenient { RowsOf::Lines } else { RowsOf::Words };
        return read_rows(feed, body, targets, options, warnings, rows_of).map_err(|failed| failed.error);
    }
    let again = feed.again();
    let before = warnings.clone();
    let mut attempt = |feed, rows_of| {
        // Each attempt starts over, without the warnings of the attempt that failed.
        *warnings = before.clone();
        read_rows(feed, body, targets, options, warnings, rows_of)
    };
    match attempt(feed, RowsOf::Words) {
        Err(failed) if failed.error.kind() == ErrorKind::Malformed => {}
        result => return result.map_err(|failed| failed.error),
    }
    match attempt(again.again(), RowsOf::Lines) {
        Err(RowsError { error, has_wide_line: true }) => match attempt(again, RowsOf::EachLine) {
            Ok(read) if read.0.iter().all(|outcome| outcome.left_out.is_empty()) => Ok(read),
            _ => Err(error),
        },
        result => result.map_err(|failed| failed.error),
    }
}

/// Reason why rows cannot be read.
struct RowsError {
    error: Error,
    /// Whether a line has a different number of values than a row.
    has_wide_line: bool,
}

/// A line whose number of values differs from that of a row.
struct WideLine {
    line: u64,
    why: String,
}

impl WideLine {
    /// Adds the explanation to an error at this line or after it. Earlier errors are left unchanged, because how far
    /// reading was ahead of them depends on chunks.
    fn explain(&self, error: Error) -> Error {
        if error.place().line.is_some_and(|line| line >= self.line) { error.with_hint(&self.why) } else { error }
    }
}

impl From<Error> for RowsError {
    fn from(error: Error) -> RowsError {
        RowsError { error, has_wide_line: false }
    }
}

fn read_rows(
    feed: Feed<'_>,
    body: u64,
    targets: &[PlyRowsTarget<'_>],
    options: &ParseOptions,
    warnings: &mut Warnings,
    rows_of: RowsOf,
) -> std::result::Result<(Vec<PlyOutcome>, usize), RowsError> {
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let slot_bytes = SLOT_FACTOR * chunk_bytes + (128 << 10);
    let chunk_count = feed.size().map_or(u64::MAX, |size| size.div_ceil(chunk_bytes as u64));
    let crew = Crew::for_chunks(chunk_count, slot_bytes, &options.run);
    reserve(feed.size(), body, targets)?;
    let mut shapes = Vec::new();
    let mut outcomes = Vec::new();
    for target in targets {
        let layout = &target.sink.layout;
        let shape = if layout.lists.is_empty() { layout.shape(&[])? } else { None };
        try_push(&mut shapes, shape, "elements")?;
        try_push(&mut outcomes, PlyOutcome::new(target.sink)?, "elements")?;
    }
    let job = PlyTextJob {
        chunks: feed.into_text().cut(chunk_bytes, options.limits.line_bytes, PADDING),
        body,
        targets,
        shapes,
        order: PlyLinesOrder::from_targets(targets)?,
        options,
        serial: AtomicBool::new(false),
        rows_of,
        slot_bytes,
    };
    let mut state = PlyTextState {
        lines: 0,
        rows: 0,
        done: 0,
        serial: None,
        over: false,
        noted: false,
        decimals: (0, None),
        left_out: (0, None),
        dropped: (0, None),
        wide_line: None,
        end: body,
        outcomes,
        warnings: std::mem::take(warnings),
        progress: ProgressSteps::default(),
    };
    let result = run(&job, &mut state, crew, &options.run.cancel).and_then(|()| state.note_at_the_end(options));
    *warnings = std::mem::take(&mut state.warnings);
    let has_wide_line = state.wide_line.is_some();
    result.map_err(|error| RowsError { error, has_wide_line })?;
    if let Err(error) = job.check_end(&state) {
        if rows_of == RowsOf::Words {
            return Err(RowsError { error, has_wide_line });
        }
        warnings.note(options.faults, "truncated", error.diagnostic().clone())?;
        state.end_early(&job.order);
    }
    job.chunks.check_end(Extent::Whole, &options.run.cancel)?;
    Ok((state.outcomes, crew.threads))
}

/// Reserves space for the declared rows of elements as long as the text can hold them: each number takes at least two
/// bytes.
fn reserve(size: Option<u64>, body: u64, targets: &[PlyRowsTarget<'_>]) -> Result<()> {
    // One more byte, because no white space needs to follow the last number.
    let Some(mut left) = size.map(|size| size.saturating_sub(body) + 1) else { return Ok(()) };
    for target in targets {
        let words = target.element.properties.len() as u64;
        let min_bytes = words.saturating_mul(2).saturating_mul(target.element.count);
        let Some(rest) = left.checked_sub(min_bytes) else { return Ok(()) };
        left = rest;
        target.sink.reserve_rows(target.element.count)?;
    }
    Ok(())
}

impl PlyTextState {
    /// Sets the row counts of elements to the number of rows found.
    fn end_early(&mut self, order: &PlyLinesOrder) {
        let Some((last, row, _)) = order.find(self.done) else { return };
        for (number, outcome) in self.outcomes.iter_mut().enumerate().skip(last) {
            outcome.row_count = Some(if number == last { row } else { 0 });
        }
    }

    /// Reports the counted warnings.
    fn note_at_the_end(&mut self, options: &ParseOptions) -> Result<()> {
        let counted = [&mut self.decimals, &mut self.left_out, &mut self.dropped].map(std::mem::take);
        for (code, (count, first)) in AT_THE_END.into_iter().zip(counted) {
            if let Some(first) = first {
                self.warnings.note_many(options.faults, code, count, first)?;
            }
        }
        Ok(())
    }
}

impl ChunkJob for PlyTextJob<'_, '_> {
    type Slot = PlyTextSlot;
    type State = PlyTextState;
    const PUBLISHES: bool = true;
    const SCANS: bool = true;
    const FINISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        self.chunks.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.chunks.ahead()
    }

    fn slot(&self) -> Result<PlyTextSlot> {
        let index = Index::try_new().ok_or_else(|| Error::memory("the token index"))?;
        Ok(PlyTextSlot {
            text: Text::default(),
            body: 0,
            index,
            numbers: PlyNumbers::default(),
            lines: 0,
            rows: 0,
            first_line: 0,
            first_row: 0,
            parsed: PlyLinesParsed::default(),
            carried: None,
            scratch: PlyScratch::default(),
            findings: Vec::new(),
            error: None,
            extra: None,
            damage: PlyDamage::default(),
        })
    }

    fn take(&self, number: u64, slot: &mut PlyTextSlot) -> Result<bool> {
        self.chunks.take(number, &mut slot.text)
    }

    fn scan(&self, slot: &mut PlyTextSlot) -> Result<()> {
        self.count(slot);
        Ok(())
    }

    fn number(&self, state: &mut PlyTextState, slot: &mut PlyTextSlot) -> Result<()> {
        slot.first_line = state.lines;
        slot.first_row = state.rows;
        state.lines += slot.lines;
        state.rows += slot.rows;
        Ok(())
    }

    fn parse(&self, slot: &mut PlyTextSlot) -> Result<()> {
        self.parse_rows(slot)
    }

    fn place(&self, state: &mut PlyTextState, slot: &mut PlyTextSlot) -> Result<()> {
        self.settle(state, slot)
    }

    fn publish(&self, slot: &mut PlyTextSlot) -> Result<()> {
        self.publish_rows(slot)
    }

    fn finish(&self, state: &mut PlyTextState, slot: &mut PlyTextSlot) -> Result<()> {
        self.file(state, slot)
    }
}

impl PlyTextJob<'_, '_> {
    /// Counts lines, and the lines that should be rows.
    fn count(&self, slot: &mut PlyTextSlot) {
        let text = slot.text.bytes();
        let skipped = self.body.saturating_sub(slot.text.offset).min(text.len() as u64) as usize;
        slot.body = slot.text.start + skipped;
        let (header, rows) = text.split_at(skipped);
        slot.rows = polyhaul_text::lines::count(rows) as u64;
        slot.lines = slot.rows + polyhaul_text::lines::count(header) as u64;
        slot.lines -= u64::from(planted("ply-lines") && slot.rows > 1);
        // A CR at the end of one chunk and an LF at the start of the next form one line end.
        let is_open = rows.last().is_some_and(|last| !matches!(last, b'\n' | b'\r'));
        slot.rows += u64::from(is_open);
    }

    fn parse_rows(&self, slot: &mut PlyTextSlot) -> Result<()> {
        slot.parsed.clear();
        if self.serial.load(Ordering::Relaxed) {
            return Ok(());
        }
        let lines = PlyLines {
            order: &self.order,
            targets: self.targets,
            padded: slot.text.padded(),
            start: slot.body,
            end: slot.text.end,
            first_row: slot.first_row,
        };
        lines.parse(&mut slot.index, &mut slot.numbers, &mut slot.parsed)
    }

    /// Counts the chunk's rows and reserves their slots. Parses words sequentially if lines are not rows.
    fn settle(&self, state: &mut PlyTextState, slot: &mut PlyTextSlot) -> Result<()> {
        slot.carried = None;
        slot.error = None;
        slot.extra = None;
        slot.damage = PlyDamage::default();
        if state.over {
            slot.parsed.clear();
            return Ok(());
        }
        // A chunk in which no line starts has no text.
        state.end = state.end.max(slot.text.offset + slot.text.len() as u64);
        if state.serial.is_none() {
            state.done += slot.parsed.segments.iter().map(|segment| segment.rows as u64).sum::<u64>();
            slot.extra = slot.parsed.rest;
            if let Some(stop) = slot.parsed.stop {
                self.serial.store(true, Ordering::Relaxed);
                let row = state.done;
                state.wide_line = self.wide_line(slot, stop, row);
                let progress = words::PlyWordsProgress::default();
                let mut serial = Serial { progress, row, partial: Vec::new(), place: None, has_shared_line: false };
                self.take_serially(&mut serial, stop, slot)?;
                state.done = serial.row;
                state.serial = Some(serial);
            }
        } else if let Some(serial) = &mut state.serial {
            slot.parsed.clear();
            slot.carried = serial.place.clone();
            let body = slot.body;
            self.take_serially(serial, body, slot)?;
            state.done = serial.row;
        }
        for &(element, row) in &slot.damage.rows {
            try_push(&mut state.outcomes[element].left_out, row, "rows")?;
        }
        if let Some(wide) = &state.wide_line {
            slot.error = slot.error.take().map(|error| wide.explain(error));
        }
        self.hand_out(state, slot)?;
        if slot.text.too_long && slot.error.is_none() && state.done < self.order.total() {
            let (place, _) = self.placed(slot, slot.text.end..slot.text.end);
            slot.error = Some(self.chunks.too_long(place));
        }
        state.over = slot.error.is_some();
        Ok(())
    }

    /// Returns the location of a word in a chunk's padded text, and an excerpt.
    fn placed(&self, slot: &PlyTextSlot, word: Range<usize>) -> (Place, Excerpt) {
        let text = slot.text.bytes();
        let mut placer = Placer::new(text, slot.text.offset, slot.first_line, self.chunks.name());
        let token = ((word.start - slot.text.start) as u32, word.len() as u32);
        (placer.place(token.0), placer.excerpt(token))
    }

    /// Parses the text sequentially, starting at `from`.
    fn take_serially(&self, serial: &mut Serial, from: usize, slot: &mut PlyTextSlot) -> Result<()> {
        match self.rows_of {
            RowsOf::Words => self.take_words(serial, from, slot),
            RowsOf::Lines | RowsOf::EachLine => self.take_lines(serial, from, slot),
        }
    }

    /// Parses words one by one, starting at `from`.
    fn take_words(&self, serial: &mut Serial, from: usize, slot: &mut PlyTextSlot) -> Result<()> {
        let mut parsed = std::mem::take(&mut slot.parsed);
        let mut row_start = parsed.rows.len();
        parsed.rows.try_reserve(serial.partial.len()).map_err(|_| Error::memory("a row"))?;
        parsed.rows.append(&mut serial.partial);
        let mut segment: Option<PlySegment> = None;
        // First word of the incomplete row, if it is in this chunk.
        let mut begun: Option<Range<usize>> = None;
        for word in words(slot.text.padded(), from, slot.text.end) {
            let Some((number, row, _)) = self.order.find(serial.row) else {
                slot.extra = Some(word.start);
                break;
            };
            let target = self.targets[number];
            if segment.as_ref().is_none_or(|segment| segment.element != number) {
                close(&mut segment, row_start, &mut parsed.segments)?;
                segment = Some(PlySegment::new(number, row, self.targets, (row_start, word.start))?);
            }
            if serial.progress.is_fresh() {
                begun = Some(word.clone());
            }
            let fed = serial.progress.feed(target.element, &slot.text.padded()[word.clone()], &mut parsed.rows)?;
            if fed.is_ok() && serial.progress.was_decimal {
                parsed.decimals.add(word.clone());
            }
            match fed {
                Ok(Fed::Part) => {}
                Ok(Fed::Last) => {
                    let start = begun.take().map_or(CARRIED, |word| word.start as u32);
                    if let Some(segment) = &mut segment {
                        try_push(&mut segment.starts, start, "rows")?;
                        segment.count(&target.sink.layout, &parsed.rows[row_start..]);
                    }
                    serial.row += 1;
                    row_start = parsed.rows.len();
                }
                Err(fault) => slot.error = Some(self.fault(slot, word, fault, row)),
            }
            let limit = self.chunks.line_bytes();
            if slot.error.is_none() && (parsed.rows.len() - row_start) as u64 > limit {
                let carried = slot.carried.clone().map(|(place, _)| place);
                let here = begun.clone().map(|word| self.placed(slot, word).0);
                slot.error = Some(target.too_long(row, limit, here.or(carried).unwrap_or_default()));
            }
            if slot.error.is_some() {
                break;
            }
        }
        close(&mut segment, row_start, &mut parsed.segments)?;
        slot.parsed = parsed;
        self.carry(serial, row_start, begun, slot)
    }

    /// Stores the incomplete row at the end of a chunk for the next chunk. Its values start at `row_start`, and its
    /// first word is `begun`.
    fn carry(
        &self,
        serial: &mut Serial,
        row_start: usize,
        begun: Option<Range<usize>>,
        slot: &mut PlyTextSlot,
    ) -> Result<()> {
        let rows = &mut slot.parsed.rows;
        serial.partial.try_reserve(rows.len() - row_start).map_err(|_| Error::memory("a row"))?;
        serial.partial.extend_from_slice(&rows[row_start..]);
        rows.truncate(row_start);
        if let Some(word) = begun {
            serial.place = Some(self.placed(slot, word));
        }
        Ok(())
    }

    /// Returns an explanation for later errors if the line at `start`, the first that is not a row, has a different
    /// number of values than a row of its element: from this line, rows are formed regardless of lines.
    fn wide_line(&self, slot: &PlyTextSlot, start: usize, row: u64) -> Option<WideLine> {
        let element = self.targets[self.order.find(row)?.0].element;
        let padded = slot.text.padded();
        let end = line_start(padded, start, slot.text.end, 1);
        let mut line = words(padded, start, end);
        let mut values = 0;
        let mut expected = 0u64;
        for property in &element.properties {
            expected = expected.saturating_add(1);
            let Some(word) = line.next() else { continue };
            values += 1;
            if property.count.is_some() {
                let count = number::u64(&padded[word]).unwrap_or(0);
                expected = expected.saturating_add(count);
                values += line.by_ref().take(usize::try_from(count).unwrap_or(usize::MAX)).count() as u64;
            }
        }
        values += line.count() as u64;
        let line = self.placed(slot, start..start).0.line?;
        let declared = element.place.line?;
        let name = names::shown(&element.name);
        let why = || {
            format!(
                "line {line} has {values} values, but the header declares {expected} for each row of `{name}` (line {declared})"
            )
        };
        (values != expected).then(|| WideLine { line, why: why() })
    }

    /// Creates the error for an unexpected word.
    fn fault(&self, slot: &PlyTextSlot, word: Range<usize>, fault: words::PlyFault, row: u64) -> Error {
        self.fault_diagnostic(slot, word, fault, row).into_error(ErrorKind::Malformed)
    }

    fn fault_diagnostic(&self, slot: &PlyTextSlot, word: Range<usize>, fault: words::PlyFault, row: u64) -> Diagnostic {
        let (place, excerpt) = self.placed(slot, word);
        let words::PlyFault { message, expected } = fault;
        let message = format!("{message} (row {row})");
        let expected = Some(expected);
        Diagnostic { place, expected, excerpt: Some(excerpt), ..Diagnostic::new(message) }
    }

    /// Reserves slots for the rows of a chunk and for their list values.
    fn hand_out(&self, state: &mut PlyTextState, slot: &mut PlyTextSlot) -> Result<()> {
        let limit = self.options.limits.elements.min(u64::from(NONE) - 1);
        let mut cut = None;
        for (number, segment) in slot.parsed.segments.iter_mut().enumerate() {
            let target = &self.targets[segment.element];
            let outcome = &mut state.outcomes[segment.element];
            segment.bases.try_reserve_exact(outcome.totals.len())?;
            segment.bases.extend_from_slice(&outcome.totals);
            let over = segment.bases.iter().zip(&segment.totals).any(|(base, total)| base + total > limit);
            if over {
                cut = Some(number);
                break;
            }
            outcome.totals.iter_mut().zip(&segment.totals).for_each(|(total, added)| *total += added);
            target.sink.reserve_rows(segment.first_row + segment.rows as u64)?;
            target.sink.reserve_values(&outcome.totals)?;
        }
        match cut {
            Some(cut) => self.cut_short(slot, cut, limit),
            None => Ok(()),
        }
    }

    /// Drops the row of segment `cut` whose lists exceed the limit, and everything after it, so that flaws of earlier
    /// rows are reported first.
    fn cut_short(&self, slot: &mut PlyTextSlot, cut: usize, limit: u64) -> Result<()> {
        let mut segment = slot.parsed.segments[cut].clone();
        let target = self.targets[segment.element];
        let layout = &target.sink.layout;
        let rows = std::mem::take(&mut segment.rows);
        let mut at = segment.bytes.start;
        let mut totals = segment.totals.clone();
        segment.totals.fill(0);
        for _ in 0..rows {
            totals.copy_from_slice(&segment.totals);
            let RowEnd::Whole(end) =
                layout.walk(&slot.parsed.rows, at, |walked| totals[walked.list] += u64::from(walked.count))
            else {
                break;
            };
            if segment.bases.iter().zip(&totals).any(|(base, total)| base + total > limit) {
                break;
            }
            segment.totals.copy_from_slice(&totals);
            at = end;
            segment.rows += 1;
        }
        segment.bytes.end = at;
        let row = segment.first_row + segment.rows as u64;
        let (place, _) = self.place_of_row(slot, &segment, segment.rows);
        slot.error = Some(target.too_many_values(row, limit, place));
        target.sink.reserve_rows(row)?;
        totals.iter_mut().zip(&segment.bases).zip(&segment.totals).for_each(|((sum, base), added)| *sum = base + added);
        target.sink.reserve_values(&totals)?;
        slot.parsed.segments.truncate(cut);
        try_push(&mut slot.parsed.segments, segment, "rows")
    }

    fn publish_rows(&self, slot: &mut PlyTextSlot) -> Result<()> {
        slot.findings.clear();
        for segment in &slot.parsed.segments {
            let block = PlySinkBlock {
                bytes: &slot.parsed.rows[segment.bytes.clone()],
                rows: segment.rows,
                first_row: segment.first_row,
                bases: &segment.bases,
                totals: &segment.totals,
                shape: self.shapes[segment.element].as_ref(),
            };
            // SAFETY: `hand_out` (or `cut_short`) assigned the segment its rows in order, and set its `bases` to the
            // number of values in all earlier segments, so that no two segments share slots.
            let findings = unsafe { self.targets[segment.element].sink.publish(&block, &mut slot.scratch)? };
            try_push(&mut slot.findings, findings, "warnings")?;
        }
        Ok(())
    }

    /// Reports the findings in text order.
    fn file(&self, state: &mut PlyTextState, slot: &mut PlyTextSlot) -> Result<()> {
        for (segment, findings) in slot.parsed.segments.iter().zip(&slot.findings) {
            let place = |flaw: &Flaw| self.place_of_flaw(slot, segment, flaw);
            let outcome = &mut state.outcomes[segment.element];
            let filed = outcome.file(self.targets[segment.element], findings, self.options, &mut state.warnings, place);
            filed.map_err(|error| match &state.wide_line {
                Some(wide) => wide.explain(error),
                None => error,
            })?;
        }
        self.count_decimals(state, slot);
        count(&mut state.left_out, slot.damage.rows.len() as u64, &mut slot.damage.first_row);
        count(&mut state.dropped, slot.damage.extra, &mut slot.damage.first_extra);
        if let Some(error) = slot.error.take() {
            return Err(error);
        }
        self.note_extra(state, slot)?;
        let end = slot.text.offset + slot.text.len() as u64;
        state.progress.report(&self.options.run, end, self.chunks.size());
        slot.text.shrink(self.slot_bytes);
        if slot.parsed.rows.capacity() > 4 * self.slot_bytes {
            slot.parsed = PlyLinesParsed::default();
        }
        Ok(())
    }

    /// Counts integers written as decimals; locates the first one.
    fn count_decimals(&self, state: &mut PlyTextState, slot: &PlyTextSlot) {
        let PlyDecimals { count, first: Some(word) } = slot.parsed.decimals.clone() else { return };
        state.decimals.0 += count;
        state.decimals.1.get_or_insert_with(|| {
            let value = slot.text.padded().get(word.clone()).and_then(whole);
            let read = value.map_or_else(String::new, |value| format!("; read as {value}"));
            let (place, excerpt) = self.placed(slot, word);
            let message = format!("an integer is written as a decimal{read}");
            Diagnostic { place, excerpt: Some(excerpt), ..Diagnostic::new(message) }
        });
    }

    /// Reports the first word after the last row.
    fn note_extra(&self, state: &mut PlyTextState, slot: &PlyTextSlot) -> Result<()> {
        let Some(from) = slot.extra.filter(|_| !state.noted) else { return Ok(()) };
        let Some(word) = words(slot.text.padded(), from, slot.text.end).next() else { return Ok(()) };
        state.noted = true;
        let (place, excerpt) = self.placed(slot, word.clone());
        let excerpt = Some(excerpt);
        let hint = state.wide_line.as_ref().map(|wide| wide.why.clone());
        let shares_lines = state.serial.as_ref().is_some_and(|serial| serial.has_shared_line);
        let is_misread = hint.is_some() && (self.rows_of == RowsOf::Words || shares_lines);
        let outcome = if is_misread { "" } else { " was ignored" };
        let message = format!("extra data after the last row{outcome}");
        let diagnostic = Diagnostic { place, excerpt, hint, ..Diagnostic::new(message) };
        if is_misread {
            // The values of a line were parsed as several rows, and some values are left over.
            return Err(diagnostic.into_error(ErrorKind::Malformed));
        }
        state.warnings.note(self.options.faults, "extra-data", diagnostic)
    }

    /// Returns the location of a flaw: the word if each row has its own line, otherwise the start of the row.
    fn place_of_flaw(&self, slot: &PlyTextSlot, segment: &PlySegment, flaw: &Flaw) -> (Place, Option<Excerpt>) {
        let row = (flaw.row - segment.first_row) as usize;
        if !segment.starts.is_empty() {
            return self.place_of_row(slot, segment, row);
        }
        let padded = slot.text.padded();
        let start = line_start(padded, segment.text_start, slot.text.end, row);
        let mut words = words(padded, start, slot.text.end);
        let word = self.targets[segment.element].word_of(flaw, &mut words, |word| &padded[word]);
        let (place, excerpt) = self.placed(slot, word.unwrap_or(start..start + 1));
        (place, Some(excerpt))
    }

    /// Returns the location of a row of a segment.
    fn place_of_row(&self, slot: &PlyTextSlot, segment: &PlySegment, row: usize) -> (Place, Option<Excerpt>) {
        let padded = slot.text.padded();
        let start = match segment.starts.get(row) {
            Some(&CARRIED) => {
                let (place, excerpt) = slot.carried.clone().unwrap_or_default();
                return (place, Some(excerpt));
            }
            Some(&start) => start as usize,
            None => line_start(padded, segment.text_start, slot.text.end, row),
        };
        let word = words(padded, start, slot.text.end).next();
        let (place, excerpt) = self.placed(slot, word.unwrap_or(start..start + 1));
        (place, Some(excerpt))
    }

    /// Fails if rows are missing.
    fn check_end(&self, state: &PlyTextState) -> Result<()> {
        let Some((element, row, _)) = self.order.find(state.done) else { return Ok(()) };
        let line = Some(state.lines + 1);
        let offset = Some(state.end);
        let place = Place { file: self.chunks.name().clone(), line, offset, column: None };
        Err(self.targets[element].truncated(row, place))
    }
}

/// Adds to a count, and keeps the earliest diagnostic.
fn count(total: &mut (u64, Option<Diagnostic>), count: u64, first: &mut Option<Diagnostic>) {
    total.0 += count;
    total.1 = total.1.take().or_else(|| first.take());
}

/// Closes a segment at offset `end` of the rows; adds it to `segments` if it has rows.
fn close(segment: &mut Option<PlySegment>, end: usize, segments: &mut Vec<PlySegment>) -> Result<()> {
    match segment.take() {
        Some(mut segment) if segment.rows > 0 => {
            segment.bytes.end = end;
            try_push(segments, segment, "rows")
        }
        _ => Ok(()),
    }
}

/// Returns the start of the line that is `lines` lines after the line at `from`.
fn line_start(text: &[u8], from: usize, end: usize, lines: usize) -> usize {
    let mut at = from;
    for _ in 0..lines {
        let Some(size) = text.get(at..end).and_then(|rest| memchr::memchr2(b'\n', b'\r', rest)) else { break };
        at += size + if text[at + size..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    at
}
