//! Reads OFF text into a scene, as a chunked pipeline job.
//!
//! The row index of a line depends on all lines before it. So the lines of a chunk are counted first; an ordered step
//! determines the indices, and finds the header in the first chunks. The lines are then parsed in parallel
//! ([`super::rows`]); their values are assigned slots in order and copied to the slots in parallel ([`super::arrays`]).
//! This module does not interpret lines.

use super::arrays::{OffArrays, OffColors, OffCounts};
use super::flaw::{OffFault, OffFlaw};
use super::header::{OffHead, OffHeader, OffRow};
use super::lines;
use super::lines::LineCounts;
use super::reflow::Reflow;
use super::repair;
use super::rows::{OffChunk, OffRows};
use polyhaul_bytes::{DecodeAhead, Source};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result};
use polyhaul_model::limits::OnError;
use polyhaul_model::warnings::{Warnings, counted};
use polyhaul_model::{NONE, Scene};
use polyhaul_pipeline::chunk::{Text, TextChunks};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::place::Placer;
use polyhaul_pipeline::precision::{PrecisionWatch, asks_for_doubles};
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::scan::{Index, PADDING};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of text per chunk. The text and the values of a chunk fit in a core's private cache.
const CHUNK_BYTES: usize = 256 << 10;
/// Slot size as a multiple of the chunk size. The values of a vertex with single digits take twice as many bytes as its
/// text.
const SLOT_FACTOR: usize = 5;

/// A scene read from OFF, with its warnings.
pub struct OffFound {
    /// One mesh, and the comments of the header.
    pub scene: Scene,
    /// Warnings about dropped or unusual parts of the file.
    pub warnings: Warnings,
    /// Maximum number of threads used.
    pub threads: usize,
}

/// A chunk in flight.
struct OffSlot {
    text: Text,
    counts: LineCounts,
    /// Start of the rows in the padded text.
    body: usize,
    /// Number of line endings before the chunk.
    first_line: u64,
    /// Number of rows before the chunk.
    first_row: u64,
    index: Box<Index>,
    rows: OffRows,
    /// Element counts before the chunk.
    before: OffCounts,
}

/// State of the ordered steps.
#[derive(Default)]
struct OffState {
    head: OffHead,
    /// Number of line endings so far.
    lines: u64,
    /// Number of rows so far.
    rows: u64,
    counts: OffCounts,
    /// Indices of skipped vertices.
    bad_vertices: Vec<u64>,
    colors: OffColors,
    /// Number of faces with colors.
    colored: u64,
    /// Message about the first face with a color.
    color: Option<Diagnostic>,
    /// Whether data after the last row was reported.
    is_noted: bool,
    /// Line of the first row with extra values.
    wide_line: Option<u64>,
    /// Offset in the file of the end of the text so far.
    end: u64,
    watch: PrecisionWatch,
    progress: ProgressSteps,
    warnings: Warnings,
}

struct OffJob<'s, 'o> {
    chunks: TextChunks<'s>,
    options: &'o ParseOptions,
    header: OnceLock<OffHeader>,
    arrays: OffArrays,
    slot_bytes: usize,
    /// Whether malformed rows are skipped.
    skips_rows: bool,
}

/// Reads OFF text.
///
/// # Errors
/// [`ErrorKind::Malformed`] with line and column for invalid OFF, [`ErrorKind::Unsupported`] for binary files and for
/// files with more than three dimensions, [`ErrorKind::Limit`] if the options' limits are exceeded.
///
/// # Examples
///
/// ```
/// use polyhaul_bytes::Source;
/// use polyhaul_pipeline::chunk::TextChunks;
/// use polyhaul_pipeline::options::ParseOptions;
///
/// let text = b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
/// let found = polyhaul_off::read(TextChunks::new(Source::memory(text.to_vec())), &ParseOptions::default())?;
/// assert_eq!(found.scene.meshes[0].faces.corner_positions, [0, 1, 2]);
/// # Ok::<(), polyhaul_model::error::Error>(())
/// ```
pub fn read(text: TextChunks<'_>, options: &ParseOptions) -> Result<OffFound> {
    let text = text.kept()?;
    let again = text.source_again();
    let is_lenient = options.faults.on_error == OnError::Warn;
    let first = read_lines(text, options, is_lenient && again.is_none());
    match (first, again) {
        (Err(error), Some(source)) if error.kind() == ErrorKind::Malformed => {
            let lines = TextChunks::new(source.clone());
            match reflowed(source, options, error) {
                Err(error) if is_lenient && error.kind() == ErrorKind::Malformed => read_lines(lines, options, true),
                result => result,
            }
        }
        (result, _) => result,
    }
}

/// Rewrites text that does not have one row per line, and reads it. If that fails too, or changes nothing, returns the
/// original `error`. But a request for double precision, cancellation and out of memory are returned as they are.
fn reflowed(source: Source<'_>, options: &ParseOptions, error: Error) -> Result<OffFound> {
    let changed = Arc::new(AtomicU64::new(0));
    let name = source.name().to_owned();
    let lines = Reflow::new(source, options.limits.line_bytes, changed.clone());
    let text = TextChunks::new(Source::reader(Box::new(lines), name));
    let mut reflowed_text = match read_lines(text, options, false) {
        Ok(reflowed_text) => reflowed_text,
        Err(again) if asks_for_doubles(&again) || matches!(again.kind(), ErrorKind::Cancelled | ErrorKind::Memory) => {
            return Err(again);
        }
        Err(_) => return Err(error),
    };
    let count = changed.load(Ordering::Relaxed);
    if count == 0 || reflowed_text.warnings.counts().contains_key("extra-data") {
        return Err(error);
    }
    let message = "expected one row per line; read anyway, because the number of values matches the declared rows";
    let place = error.diagnostic().place.clone();
    reflowed_text.warnings.note_many(
        options.faults,
        "odd-statement",
        count,
        Diagnostic { place, ..Diagnostic::new(message) },
    )?;
    Ok(reflowed_text)
}

/// Reads text with one row per line. If `skips_rows`, skips malformed rows, and only warns if the file is truncated.
fn read_lines(text: TextChunks<'_>, options: &ParseOptions, skips_rows: bool) -> Result<OffFound> {
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let slot_bytes = SLOT_FACTOR * chunk_bytes + (64 << 10);
    let count = text.size().map_or(u64::MAX, |size| size.div_ceil(chunk_bytes as u64));
    let crew = Crew::for_chunks(count, slot_bytes, &options.run);
    let chunks = text.cut(chunk_bytes, options.limits.line_bytes, PADDING);
    let arrays = OffArrays::new();
    let mut job = OffJob { chunks, options, header: OnceLock::new(), arrays, slot_bytes, skips_rows };
    let mut state = OffState::default();
    run(&job, &mut state, crew, &options.run.cancel)?;
    let header = match job.check_end(&state) {
        Err(error) if skips_rows && job.header.get().is_some() => {
            state.warnings.note(options.faults, "truncated", error.diagnostic().clone())?;
            job.header.get().copied().unwrap_or_default()
        }
        result => result?,
    };
    job.chunks.check_end(Extent::Whole, &options.run.cancel)?;
    let OffState { head, counts, bad_vertices, colors, colored, color, watch, mut warnings, .. } = state;
    // SAFETY: every chunk was placed and published.
    let bounds = if watch.wants_bounds() { unsafe { job.arrays.bounds(counts.vertices) } } else { None };
    let is_exact = watch.finish(options.precision, bounds, options.faults, job.chunks.name(), &mut warnings)?;
    if let Some(said) = color {
        let message = format!("the colors of {} were dropped", counted(colored, ["face", "faces"]));
        let code = OffFault::Color.code();
        warnings.push_many_as(code, options.faults.severity(code), colored, Diagnostic { message, ..said });
    }
    let mut scene = head.scene();
    let is_exact = is_exact && counts.vertices > 0;
    // SAFETY: every chunk was placed and published.
    unsafe { job.arrays.finish(header.form, colors, counts, is_exact, &options.run, &mut scene)? };
    if let [mesh] = &mut scene.meshes[..]
        && !bad_vertices.is_empty()
    {
        let dropped = repair::drop_vertices(mesh, &bad_vertices)?;
        let words =
            ["element that uses a skipped vertex was dropped", "elements that use skipped vertices were dropped"];
        let message = counted(dropped, words);
        warnings.push_many("element-left-out", dropped, Diagnostic::new(message));
        let end = mesh.counts();
        scene.objects.iter_mut().for_each(|object| object.end = end);
        scene.objects.retain(|object| object.end != Default::default());
    }
    Ok(OffFound { scene, warnings, threads: crew.threads })
}

impl ChunkJob for OffJob<'_, '_> {
    type Slot = OffSlot;
    type State = OffState;
    const SCANS: bool = true;
    const PUBLISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        self.chunks.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.chunks.ahead()
    }

    fn slot(&self) -> Result<OffSlot> {
        let index = Index::try_new().ok_or_else(|| Error::memory("the token index"))?;
        Ok(OffSlot {
            text: Text::default(),
            counts: LineCounts::default(),
            body: 0,
            first_line: 0,
            first_row: 0,
            index,
            rows: OffRows::default(),
            before: OffCounts::default(),
        })
    }

    fn take(&self, number: u64, slot: &mut OffSlot) -> Result<bool> {
        self.chunks.take(number, &mut slot.text)
    }

    fn scan(&self, slot: &mut OffSlot) -> Result<()> {
        slot.counts = lines::count(slot.text.bytes());
        Ok(())
    }

    fn number(&self, state: &mut OffState, slot: &mut OffSlot) -> Result<()> {
        slot.body = slot.text.start;
        slot.first_line = state.lines;
        if self.header.get().is_none() {
            self.find_header(state, slot)?;
        }
        slot.first_row = state.rows;
        state.lines += slot.counts.ends;
        state.rows += slot.counts.rows;
        Ok(())
    }

    fn parse(&self, slot: &mut OffSlot) -> Result<()> {
        self.parse_rows(u64::MAX, slot)
    }

    fn place(&self, state: &mut OffState, slot: &mut OffSlot) -> Result<()> {
        self.settle(state, slot)
    }

    fn publish(&self, slot: &mut OffSlot) -> Result<()> {
        let Some(header) = self.header.get() else { return Ok(()) };
        // SAFETY: `place` reserved these slots, and assigned them to this chunk alone.
        unsafe { self.arrays.publish(header.form, slot.before, &slot.rows)? };
        slot.rows.shrink(self.slot_bytes);
        slot.text.shrink(self.slot_bytes);
        Ok(())
    }
}

impl OffJob<'_, '_> {
    /// Searches a chunk for the header. Only the rows after the header are parsed later.
    fn find_header(&self, state: &mut OffState, slot: &mut OffSlot) -> Result<()> {
        slot.body = slot.text.end;
        slot.counts.rows = 0;
        let text = slot.text.bytes();
        let file = self.chunks.name();
        let warnings = &mut state.warnings;
        let Some((header, body)) = state.head.feed(text, slot.text.offset, file, self.options, warnings)? else {
            return Ok(());
        };
        slot.counts.rows = lines::count(&text[body..]).rows;
        slot.body = slot.text.start + body;
        if let Some(size) = self.chunks.size() {
            self.arrays.expect(&header, size.saturating_sub(slot.text.offset + body as u64))?;
        }
        // The header is not set yet: this step runs in order, and not after the header was found.
        let _ = self.header.set(header);
        Ok(())
    }

    /// Parses the rows of a chunk. Its faces may have up to `corners` corners in total.
    fn parse_rows(&self, corners: u64, slot: &mut OffSlot) -> Result<()> {
        let Some(header) = self.header.get() else { return Ok(()) };
        let chunk = OffChunk {
            header,
            faults: self.options.faults,
            precision: self.options.precision,
            padded: slot.text.padded(),
            origin: slot.text.start,
            start: slot.body,
            end: slot.text.end,
            first_row: slot.first_row,
            skips_rows: self.skips_rows,
            corners: (corners, self.most_corners()),
        };
        slot.rows.parse(chunk, &mut slot.index)
    }

    fn most_corners(&self) -> u64 {
        self.options.limits.elements.min(u64::from(NONE) - 1)
    }

    /// Reports the flaws of a chunk, and reserves slots for its rows.
    fn settle(&self, state: &mut OffState, slot: &mut OffSlot) -> Result<()> {
        if let Some(header) = self.header.get() {
            let room = self.most_corners().saturating_sub(state.counts.corners as u64);
            if slot.rows.corners.len() as u64 > room {
                // Parse again with the actual limit, so that faults before the face that exceeds it are reported first.
                self.parse_rows(room, slot)?;
            }
            let rows = &slot.rows;
            let bounds = || rows.bounds(header.form);
            let end = slot.text.offset + slot.text.len() as u64;
            state.watch.place(self.options.precision, rows.loss, bounds, end)?;
            self.file(state, slot, header)?;
            state.colored += slot.rows.colored;
            state.colors.are_bytes |= slot.rows.are_bytes;
            state.colors.lack_alpha |= slot.rows.lack_alpha;
            state.bad_vertices.try_reserve(slot.rows.bad_vertices.len())?;
            state.bad_vertices.extend_from_slice(&slot.rows.bad_vertices);
            slot.before = state.counts;
            state.counts = state.counts.with(&slot.rows);
            self.arrays.reserve(header.form, state.counts)?;
        }
        if !slot.text.is_empty() || slot.text.too_long {
            // A chunk in which no line ends has no text.
            state.end = state.end.max(slot.text.offset + slot.text.len() as u64);
        }
        if slot.text.too_long {
            return Err(self.too_long(slot));
        }
        state.progress.report(&self.options.run, state.end, self.chunks.size());
        Ok(())
    }

    /// Reports the flaws of a chunk in text order.
    fn file(&self, state: &mut OffState, slot: &OffSlot, header: &OffHeader) -> Result<()> {
        let text = slot.text.bytes();
        let mut placer = Placer::new(text, slot.text.offset, slot.first_line, self.chunks.name());
        for flaw in &slot.rows.flaws.kept {
            let OffFlaw { what, token, .. } = flaw;
            let place = placer.place(token.0);
            let said = Diagnostic { excerpt: Some(placer.excerpt(*token)), ..flaw.describe(header) };
            let said = Diagnostic { place, ..said };
            match what {
                // All face colors are covered by a single warning at the end.
                OffFault::Color if !self.options.faults.refuses(what.code()) => _ = state.color.get_or_insert(said),
                OffFault::Data if state.is_noted => {}
                _ => {
                    state.is_noted |= matches!(what, OffFault::Data);
                    if matches!(what, OffFault::Extra { .. }) {
                        state.wide_line = state.wide_line.or(said.place.line);
                    }
                    let filed = flaw.file(said, self.options.faults, &mut state.warnings);
                    filed.map_err(|error| explained(error, state.wide_line))?;
                }
            }
        }
        slot.rows.flaws.count_others(&mut state.warnings);
        Ok(())
    }

    fn too_long(&self, slot: &OffSlot) -> Error {
        let text = slot.text.bytes();
        let mut placer = Placer::new(text, slot.text.offset, slot.first_line, self.chunks.name());
        self.chunks.too_long(placer.place(text.len() as u32))
    }

    /// Fails if the header is missing, or if rows are missing.
    fn check_end(&self, state: &OffState) -> Result<OffHeader> {
        let file = self.chunks.name();
        let Some(&header) = self.header.get() else { return Err(state.head.unfinished(state.lines, state.end, file)) };
        let message = match header.row(state.rows) {
            None => return Ok(header),
            Some((OffRow::Vertex, _)) => format!("found {} of {} vertices", state.rows, header.vertices),
            Some((OffRow::Face, _)) => format!("found {} of {} faces", state.rows - header.vertices, header.faces),
        };
        let place = Place { file: file.clone(), line: Some(state.lines + 1), column: None, offset: Some(state.end) };
        let diagnostic = Diagnostic { place, ..Diagnostic::new(format!("unexpected end of file: {message}")) };
        Err(explained(diagnostic.into_error(ErrorKind::Malformed), state.wide_line))
    }
}

/// Adds a hint that an earlier line had too many values, because it may have contained several rows.
fn explained(error: Error, wide_line: Option<u64>) -> Error {
    match wide_line {
        Some(line) if error.kind() == ErrorKind::Malformed => {
            error.with_hint(format!("line {line} has extra values: each vertex and each face needs a line of its own"))
        }
        _ => error,
    }
}
