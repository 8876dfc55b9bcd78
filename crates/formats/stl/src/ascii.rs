//! Reads text STL, in chunks of lines that are parsed in parallel.
//!
//! A chunk can start inside a triangle. Its first statements are stored and processed later, in file order, up to and
//! including the first statement after which earlier statements no longer matter (`StlWord::starts_anew`). The rest of
//! the chunk is processed directly. Triangles of seven lines each are parsed in batches
//! ([`polyhaul_text::parse::facets`]), all other triangles statement by statement.

use super::facets::{Facets, Solid, StlPlaces, StlReadFacet, StlRoom, check_count};
use super::machine::{Machine, StlStep, StlTriangle};
use super::reader::StlFound;
use super::statement::{Statements, StlStatement, StlWord};
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::Bounds;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, limit_hint, planted, try_push};
use polyhaul_model::names;
use polyhaul_model::options::StlReadOptions;
use polyhaul_model::warnings::{KEPT, Warnings, is_kept};
use polyhaul_pipeline::arrays::zeroed;
use polyhaul_pipeline::chunk::{Text, TextChunks};
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::place::{Placer, excerpt};
use polyhaul_pipeline::precision::{PrecisionPass, PrecisionWatch};
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::cpu::Level;
use polyhaul_text::parse::facets::{self, ExactCorners};
use polyhaul_text::parse::positions::DigitLoss;
use polyhaul_text::parse::rows::Window;
use polyhaul_text::scan::{Index, PADDING};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of text per chunk.
const CHUNK_BYTES: usize = 256 << 10;
/// Slot size as a multiple of the chunk size: text and triangles.
const SLOT_FACTOR: usize = 3;
/// Code of warnings about harmless deviations from the format.
const ODD_STATEMENT: &str = "odd-statement";
/// Number of triangles per batch.
const TOGETHER: usize = 32;

struct StlTextJob<'a, 'o> {
    chunks: TextChunks<'a>,
    options: &'o ParseOptions<StlReadOptions>,
    facets: Facets<'o>,
}

struct StlTextSlot {
    text: Text,
    index: Box<Index>,
    parsed: StlParsed,
    /// A triangle that started in an earlier chunk.
    first: Option<StlTriangle>,
    places: StlPlaces,
    room: StlRoom,
}

/// Parsed content of a chunk.
#[derive(Default)]
struct StlParsed {
    /// Statements that depend on earlier chunks.
    head: Vec<StlStatement>,
    facets: Vec<StlReadFacet>,
    /// Corners in double precision, if requested.
    exact: Vec<ExactCorners>,
    has_doubles: bool,
    /// Precision that the corners lose as 32-bit floats.
    loss: DigitLoss,
    solids: Vec<LocalSolid>,
    complaints: Vec<StlComplaint>,
    /// Number of complaints that were not kept, for faults and for harmless deviations.
    more_complaints: [u64; 2],
    /// State of the last triangle; `None` if it depends on earlier chunks.
    machine: Option<Machine>,
    /// Whether a solid is open at the end; `None` if it depends on earlier chunks.
    is_open: Option<bool>,
    lines: u64,
}

/// Buffers for a batch of triangles.
struct StlBatch {
    facets: [StlReadFacet; TOGETHER],
    /// Empty unless doubles are requested.
    exact: Vec<ExactCorners>,
}

impl StlBatch {
    fn new(has_doubles: bool) -> Result<StlBatch> {
        let exact = zeroed(if has_doubles { TOGETHER } else { 0 }, "triangles")?;
        Ok(StlBatch { facets: [[[0.0; 3]; 4]; TOGETHER], exact })
    }
}

/// A solid that starts in a chunk, after `first` of its triangles.
struct LocalSolid {
    name: Range<u32>,
    first: usize,
}

/// A misplaced, invalid or nonstandard statement.
#[derive(Clone, Copy)]
struct StlComplaint {
    expected: &'static str,
    /// If the deviation is harmless, how the statement was read.
    habit: Option<&'static str>,
    token: (u32, u32),
    /// Number of the chunk's triangles before the statement.
    facets: usize,
}

#[derive(Default)]
struct StlTextState {
    machine: Machine,
    solids: Vec<Solid>,
    is_open: bool,
    count: usize,
    lines: u64,
    end: u64,
    watch: PrecisionWatch,
    progress: ProgressSteps,
    warnings: Warnings,
}

/// Reads text STL into a model, or sends it to a consumer.
pub fn read(
    text: TextChunks<'_>,
    options: &ParseOptions<StlReadOptions>,
    consumer: Option<&dyn MeshConsumer>,
) -> Result<StlFound> {
    if let Some(consumer) = consumer {
        consumer.start(KnownPositions::Unknown)?;
    }
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let count = text.size().map_or(u64::MAX, |size| size.div_ceil(chunk_bytes as u64));
    let crew = Crew::for_chunks(count, SLOT_FACTOR * chunk_bytes + (64 << 10), &options.run);
    let chunks = text.cut(chunk_bytes, options.limits.line_bytes, PADDING);
    let mut job = StlTextJob { chunks, options, facets: Facets::new(consumer) };
    let mut state = StlTextState::default();
    run(&job, &mut state, crew, &options.run.cancel)?;
    job.chunks.check_end(Extent::Whole, &options.run.cancel)?;
    state.end(&job)?;
    let StlTextState { mut solids, count, lines, end, watch, mut warnings, .. } = state;
    let precision = options.precision;
    let (bounds, exact) = match consumer {
        Some(_) => (None, Vec::new()),
        // SAFETY: the run finished without an error, so every chunk was placed and published; `count` is the total
        // number of their triangles.
        None => unsafe { job.facets.take_exact(count, precision.has_doubles()) },
    };
    let is_exact = watch.finish(precision, bounds, options.faults, job.chunks.name(), &mut warnings)?;
    let exact = if is_exact { exact } else { Vec::new() };
    // The last solid can be empty. It is then dropped, unless it is the only one.
    if solids.len() > 1
        && let Some(last) = solids.pop_if(|last| last.first == count)
    {
        let place = Place { file: job.chunks.name().clone(), line: Some(lines + 1), offset: Some(end), column: None };
        let message = format!("the empty solid `{}` at the end was dropped", names::shown(&last.name));
        warnings.note(options.faults, "empty-solid", Diagnostic { place, ..Diagnostic::new(message) })?;
    }
    // Triangles before the first `solid` belong to a solid without a name.
    if solids.first().is_none_or(|solid| solid.first > 0) {
        solids.try_reserve(1)?;
        solids.insert(0, Solid { name: String::new(), first: 0 });
    }
    // SAFETY: the run finished without an error, so every chunk was placed and published; `count` is the total number
    // of their triangles.
    let scene = unsafe { job.facets.finish(count, exact, solids, options)? };
    Ok(StlFound { scene, warnings, threads: crew.threads })
}

impl StlParsed {
    fn clear(&mut self) {
        self.head.clear();
        self.facets.clear();
        self.exact.clear();
        self.solids.clear();
        self.complaints.clear();
        self.more_complaints = [0; 2];
        self.machine = None;
        self.is_open = None;
        self.lines = 0;
    }

    /// Parses a chunk, up to the first fault if `stops`, and up to the first loss of precision if such a loss ends the
    /// pass.
    fn parse(&mut self, text: &Text, index: &mut Index, stops: bool, precision: PrecisionPass) -> Result<()> {
        self.clear();
        self.loss = precision.loss();
        self.has_doubles = precision.has_doubles();
        self.lines = polyhaul_text::lines::count(text.bytes()) as u64;
        let mut at = text.start + self.head(text.bytes())?;
        let mut room = StlBatch::new(precision.has_doubles())?;
        while at < text.end {
            // A newline after the text terminates an unterminated last line.
            index.scan(text.padded(), at, text.end + 1, Level::best());
            let goes_on = if index.lines().is_empty() {
                let size = memchr::memchr2(b'\n', b'\r', &text.padded()[at..text.end]);
                let end = size.map_or(text.end, |size| at + size);
                let line = at..end;
                at = end + 1;
                self.line(text, line, stops)?
            } else {
                at = index.next_start();
                self.window(text, index, &mut room, stops)?
            };
            if !goes_on || self.loss.short > 0 && precision.is_over_at_loss() {
                break;
            }
        }
        Ok(())
    }

    /// Stores the statements that depend on earlier chunks, up to and including the first statement that starts a
    /// triangle, or starts or ends a solid. Returns the offset of their end. [`StlTextState::settle`] processes them in
    /// order.
    fn head(&mut self, text: &[u8]) -> Result<usize> {
        let mut statements = Statements::new(text);
        for statement in statements.by_ref() {
            let is_last = statement.word.starts_anew();
            if is_last {
                // The state after this statement does not depend on the state before it, so a new machine has it as
                // well.
                let mut machine = Machine::default();
                machine.step(&statement.word);
                self.machine = Some(machine);
            }
            try_push(&mut self.head, statement, "statements")?;
            if is_last {
                break;
            }
        }
        Ok(statements.at())
    }

    /// Parses the lines of a window, in batches if triangles have seven lines each. Returns `false` if a fault stops
    /// reading.
    fn window(&mut self, text: &Text, index: &Index, room: &mut StlBatch, stops: bool) -> Result<bool> {
        let window = Window { padded: text.padded(), index, level: Level::best() };
        let mut line = 0;
        while line < index.lines().len() && index.line_start(line) < text.end {
            if !self.machine.is_some_and(|machine| machine.is_inside()) {
                let StlBatch { facets, exact } = room;
                let taken = facets::facets(window, line, facets, exact, &mut self.loss);
                if taken > 0 {
                    self.facets.try_reserve(taken).map_err(|_| Error::memory("triangles"))?;
                    self.facets.extend_from_slice(&facets[..taken]);
                    if !exact.is_empty() {
                        self.exact.try_reserve(taken).map_err(|_| Error::memory("triangles"))?;
                        self.exact.extend_from_slice(&exact[..taken]);
                    }
                    self.machine = Some(Machine::default());
                    self.is_open = Some(true);
                    line += facets::LINES * taken;
                    continue;
                }
            }
            let end = (index.lines()[line].newline as usize).min(text.end);
            if !self.line(text, index.line_start(line)..end, stops)? {
                return Ok(false);
            }
            line += 1;
        }
        Ok(true)
    }

    /// Parses the line at `line` of the padded text. Returns `false` if a fault stops reading.
    fn line(&mut self, text: &Text, line: Range<usize>, stops: bool) -> Result<bool> {
        let mut machine = self.machine.unwrap_or_default();
        let mut goes_on = true;
        for StlStatement { word, token, habit } in
            Statements::of_line(text.bytes(), line.start - text.start..line.end - text.start)
        {
            if habit.is_some() {
                self.complain(StlComplaint { expected: "", habit, token, facets: self.facets.len() })?;
            }
            match machine.step(&word) {
                StlStep::Fine => self.open(&word)?,
                StlStep::Whole(triangle) => self.add(triangle)?,
                StlStep::Wrong(expected) => {
                    self.complain(StlComplaint { expected, habit: None, token, facets: self.facets.len() })?;
                    if stops {
                        goes_on = false;
                        break;
                    }
                    self.open(&word)?;
                }
            }
        }
        self.machine = Some(machine);
        Ok(goes_on)
    }

    fn add(&mut self, triangle: StlTriangle) -> Result<()> {
        self.loss.extend(triangle.loss);
        if self.has_doubles {
            try_push(&mut self.exact, triangle.corners, "triangles")?;
        }
        try_push(&mut self.facets, triangle.facet, "triangles")
    }

    /// Records the start or end of a solid.
    #[inline]
    fn open(&mut self, word: &StlWord) -> Result<()> {
        match word {
            StlWord::Solid(name) => {
                self.is_open = Some(true);
                let solid = LocalSolid { name: name.clone(), first: self.facets.len() };
                try_push(&mut self.solids, solid, "solids")?;
            }
            StlWord::Facet(_) => self.is_open = Some(true),
            StlWord::EndSolid => self.is_open = Some(false),
            _ => {}
        }
        Ok(())
    }

    fn complain(&mut self, complaint: StlComplaint) -> Result<()> {
        let is_habit = complaint.habit.is_some();
        let alike = self.complaints.iter().filter(|other| other.habit.is_some() == is_habit).count();
        if alike < KEPT {
            return try_push(&mut self.complaints, complaint, "warnings");
        }
        self.more_complaints[usize::from(is_habit)] += 1;
        Ok(())
    }
}

impl StlTextState {
    /// Processes the parts of a chunk that depend on earlier chunks. Returns the triangle that ends in the chunk's
    /// head, if any.
    fn settle(&mut self, slot: &StlTextSlot, job: &StlTextJob<'_, '_>) -> Result<Option<StlTriangle>> {
        let StlTextSlot { text, parsed, .. } = slot;
        let file = job.chunks.name();
        let mut placer = Placer::new(text.bytes(), text.offset, self.lines, file);
        let mut first = None;
        for StlStatement { word, token, habit } in &parsed.head {
            let facets = usize::from(first.is_some());
            if habit.is_some() {
                let complaint = StlComplaint { expected: "", habit: *habit, token: *token, facets };
                self.complain(&complaint, text, &mut placer, job.options)?;
            }
            match self.machine.step(word) {
                StlStep::Fine => {}
                StlStep::Whole(triangle) => first = Some(triangle),
                StlStep::Wrong(expected) => {
                    let complaint = StlComplaint { expected, habit: None, token: *token, facets };
                    self.complain(&complaint, text, &mut placer, job.options)?;
                }
            }
            match word {
                StlWord::Solid(name) => {
                    self.start_solid(name, usize::from(first.is_some()), text, &mut placer, job.options)?
                }
                StlWord::Facet(_) => self.is_open = true,
                StlWord::EndSolid => self.is_open = false,
                _ => {}
            }
        }
        let before = usize::from(first.is_some());
        let mut complaints = parsed.complaints.iter().peekable();
        for solid in &parsed.solids {
            // In text order, because starting a solid can fail as well, and the first error in the text is returned.
            while let Some(complaint) = complaints.next_if(|complaint| complaint.token.0 <= solid.name.start) {
                self.complain(&complaint.after(before), text, &mut placer, job.options)?;
            }
            self.start_solid(&solid.name, before + solid.first, text, &mut placer, job.options)?;
        }
        for complaint in complaints {
            self.complain(&complaint.after(before), text, &mut placer, job.options)?;
        }
        for (code, count) in ["broken-facet", ODD_STATEMENT].into_iter().zip(parsed.more_complaints) {
            if count > 0 {
                self.warnings.count(code, count);
            }
        }
        self.machine = parsed.machine.unwrap_or(if planted("stl-machine") { Machine::default() } else { self.machine });
        self.is_open = parsed.is_open.unwrap_or(self.is_open);
        Ok(first)
    }

    /// Starts a solid after `facets` triangles of the chunk.
    fn start_solid(
        &mut self,
        name: &Range<u32>,
        facets: usize,
        text: &Text,
        placer: &mut Placer<'_>,
        options: &ParseOptions<StlReadOptions>,
    ) -> Result<()> {
        self.is_open = true;
        let first = self.count + facets;
        check_count(first as u64, options)?;
        let start = name.start;
        let bytes = text.bytes().get(start as usize..name.end as usize).unwrap_or_default();
        let limit = options.limits.name_bytes;
        if bytes.len() as u64 > limit {
            let message = format!("name is longer than the limit `name_bytes` ({limit} bytes)");
            let diagnostic = Diagnostic { place: placer.place(start), ..Diagnostic::new(message) };
            return Err(diagnostic.into_error(ErrorKind::Limit).with_hint(limit_hint("name_bytes")));
        }
        let name = names::decode(bytes, &placer.place(start), options.faults, &mut self.warnings)?.into_owned();
        match self.solids.last_mut().filter(|last| last.first == first) {
            // The next solid replaces an empty solid. Otherwise, a small file could declare very many solids.
            Some(last) => {
                let message = format!("the empty solid `{}` before this one was dropped", names::shown(&last.name));
                let diagnostic = Diagnostic { place: placer.place(start), ..Diagnostic::new(message) };
                self.warnings.note(options.faults, "empty-solid", diagnostic)?;
                last.name = name;
            }
            None => try_push(&mut self.solids, Solid { name, first }, "solids")?,
        }
        Ok(())
    }

    fn complain(
        &mut self,
        complaint: &StlComplaint,
        text: &Text,
        placer: &mut Placer<'_>,
        options: &ParseOptions<StlReadOptions>,
    ) -> Result<()> {
        let StlComplaint { expected, habit, token, facets } = *complaint;
        if let Some(habit) = habit {
            return self.note_habit(habit, token, text, placer, options);
        }
        // If there were too many triangles before this statement, that error is earlier, so it is reported instead.
        check_count((self.count + facets) as u64, options)?;
        let kinds = self.warnings.kept().iter().map(|warning| warning.code);
        if !options.raises() && !is_kept(kinds, "broken-facet") {
            self.warnings.count("broken-facet", 1);
            return Ok(());
        }
        let start = token.0 as usize;
        let word = text.bytes().get(start..start + token.1 as usize).unwrap_or_default();
        let facet = self.count + facets + 1;
        let message = match &*String::from_utf8_lossy(word) {
            "" => format!("unexpected end of line in triangle {facet}"),
            word => format!("unexpected `{}` in triangle {facet}", names::shown(word)),
        };
        let diagnostic = Diagnostic {
            expected: Some(expected.to_owned()),
            place: placer.place(token.0),
            excerpt: Some(excerpt(text.bytes(), token)),
            ..Diagnostic::new(message)
        };
        self.warnings.broken(options.faults, "broken-facet", diagnostic)
    }

    fn note_habit(
        &mut self,
        habit: &'static str,
        token: (u32, u32),
        text: &Text,
        placer: &mut Placer<'_>,
        options: &ParseOptions<StlReadOptions>,
    ) -> Result<()> {
        let kinds = self.warnings.kept().iter().map(|warning| warning.code);
        if !options.faults.refuses(ODD_STATEMENT) && !is_kept(kinds, ODD_STATEMENT) {
            self.warnings.count(ODD_STATEMENT, 1);
            return Ok(());
        }
        let start = token.0 as usize;
        let word = text.bytes().get(start..start + token.1 as usize).unwrap_or_default();
        let message = format!("unusual `{}`: {habit}", names::shown(&String::from_utf8_lossy(word)));
        let diagnostic = Diagnostic {
            place: placer.place(token.0),
            excerpt: Some(excerpt(text.bytes(), token)),
            ..Diagnostic::new(message)
        };
        self.warnings.note(options.faults, ODD_STATEMENT, diagnostic)
    }

    /// Adds a chunk's precision loss to the total.
    fn watch_chunk(&mut self, slot: &StlTextSlot, precision: PrecisionPass) -> Result<()> {
        let mut loss = slot.parsed.loss;
        slot.first.iter().for_each(|triangle| loss.extend(triangle.loss));
        let bounds = || {
            let facets = slot.first.iter().map(|triangle| &triangle.facet).chain(&slot.parsed.facets);
            let corners = facets.map(|[_, corners @ ..]| Bounds::of(corners));
            corners.flatten().reduce(Bounds::union)
        };
        self.watch.place(precision, loss, bounds, slot.text.offset + slot.text.len() as u64)
    }

    /// Runs the checks that need the whole file.
    fn end(&mut self, job: &StlTextJob<'_, '_>) -> Result<()> {
        let file: &Arc<str> = job.chunks.name();
        let place = Place { file: file.clone(), line: Some(self.lines + 1), offset: Some(self.end), column: None };
        if self.machine.is_inside() {
            let message = format!("unexpected end of file in triangle {}", self.count + 1);
            let diagnostic = Diagnostic { place, ..Diagnostic::new(message) };
            return self.warnings.broken(job.options.faults, "broken-facet", diagnostic);
        }
        if self.is_open {
            let diagnostic = Diagnostic { place, ..Diagnostic::new("the last solid has no `endsolid`") };
            self.warnings.note(job.options.faults, "missing-endsolid", diagnostic)?;
        }
        Ok(())
    }
}

impl StlComplaint {
    /// Returns the complaint with `facets` added to the number of triangles before it.
    fn after(&self, facets: usize) -> StlComplaint {
        StlComplaint { facets: self.facets + facets, ..*self }
    }
}

impl ChunkJob for StlTextJob<'_, '_> {
    type Slot = StlTextSlot;
    type State = StlTextState;
    const PUBLISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        self.chunks.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.chunks.ahead()
    }

    fn slot(&self) -> Result<StlTextSlot> {
        let index = Index::try_new().ok_or_else(|| Error::memory("the token index"))?;
        Ok(StlTextSlot {
            text: Text::default(),
            index,
            parsed: StlParsed::default(),
            first: None,
            places: StlPlaces::default(),
            room: StlRoom::default(),
        })
    }

    fn take(&self, number: u64, slot: &mut StlTextSlot) -> Result<bool> {
        self.chunks.take(number, &mut slot.text)
    }

    fn parse(&self, slot: &mut StlTextSlot) -> Result<()> {
        let stops = self.options.raises();
        slot.parsed.parse(&slot.text, &mut slot.index, stops, self.options.precision)
    }

    fn publish(&self, slot: &mut StlTextSlot) -> Result<()> {
        let StlTextSlot { first, parsed, places, room, .. } = slot;
        let first_facet = first.iter().map(|triangle| &triangle.facet);
        let facets = first_facet.chain(&parsed.facets).map(|facet| (*facet, 0));
        // SAFETY: `place` stored the slots that `Facets::place` returned for this chunk alone.
        unsafe {
            if self.options.precision.has_doubles() {
                let first_corners = first.iter().map(|triangle| &triangle.corners);
                self.facets.publish_exact(places, first_corners.chain(&parsed.exact).copied())?;
            }
            self.facets.publish(places, facets, room)
        }
    }

    fn place(&self, state: &mut StlTextState, slot: &mut StlTextSlot) -> Result<()> {
        slot.first = state.settle(slot, self)?;
        state.watch_chunk(slot, self.options.precision)?;
        let end = state.count + usize::from(slot.first.is_some()) + slot.parsed.facets.len();
        check_count(end as u64, self.options)?;
        slot.places = self.facets.place(state.count..end, false)?;
        state.count = end;
        state.lines += slot.parsed.lines;
        if !slot.text.is_empty() || slot.text.too_long {
            state.end = slot.text.offset + slot.text.len() as u64;
        }
        if slot.text.too_long {
            let file = self.chunks.name().clone();
            let line = Some(state.lines + 1);
            return Err(self.chunks.too_long(Place { file, line, offset: Some(state.end), ..Place::default() }));
        }
        state.progress.report(&self.options.run, state.end, self.chunks.size());
        Ok(())
    }
}
