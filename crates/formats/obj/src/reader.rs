//! Reads OBJ text into a mesh, as a chunked pipeline job.
//!
//! Parsing is parallel ([`super::parse`]). The ordered step reserves ranges in the final arrays and resolves state that
//! crosses chunk boundaries ([`super::assemble`]). Copying into the arrays is parallel again ([`super::publish`]).
//! Libraries are not opened here: their names are returned.

use super::assemble::{Assembler, Sections};
use super::ordered::Reference;
use super::parse::ObjParser;
use super::parsed::{ElementKind, ObjComplaint, ObjParsed, ObjStream};
use super::publish::{ObjColumns, ObjPieceFaces, ObjPlaces};
use super::relative;
use super::repair::{self, SkippedLines};
use super::suspects::{self, Suspects};
use super::tokens::ObjChunkText;
use polyhaul_bytes::DecodeAhead;
use polyhaul_model::error::{
    Diagnostic, Error, ErrorKind, Place, Result, elements_hint, limit_hint, planted, try_push, try_string,
};
use polyhaul_model::warnings::{Warnings, Weight, counted};
use polyhaul_model::{Axes, Bounds, Counts, Mesh, NONE, Scene};
use polyhaul_pipeline::attempt::Attempt;
use polyhaul_pipeline::chunk::{Text, TextChunks};
use polyhaul_pipeline::consumer::{KnownPositions, MeshConsumer};
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::{ParseOptions, ProgressSteps};
use polyhaul_pipeline::place::Placer;
use polyhaul_pipeline::precision::{PrecisionWatch, asks_for_doubles};
use polyhaul_pipeline::read::Extent;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::cpu::Level;
use polyhaul_text::scan::{Index, PADDING};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of text per chunk: text and values of a chunk fit in a private cache of 2 MiB.
const CHUNK_BYTES: usize = 256 << 10;
/// Slot size as a multiple of the chunk size: text, values and spare capacity.
const SLOT_FACTOR: usize = 4;

/// Result of reading an OBJ file: a scene whose materials have only names, and references to libraries.
pub struct Obj {
    pub scene: Scene,
    /// The names in `mtllib` statements, in file order.
    pub libraries: Vec<Reference>,
    /// First use of each material, in the order of the scene's materials.
    pub uses: Vec<Reference>,
    pub warnings: Warnings,
    /// Number of line endings in the text.
    pub lines: u64,
    pub threads: usize,
}

/// A chunk in flight.
struct ObjSlot {
    text: Text,
    index: Box<Index>,
    parsed: ObjParsed,
    places: ObjPlaces,
    /// Reusable buffers for faces to be sent to a consumer.
    faces: ObjPieceFaces,
}

/// The content of the file to keep.
#[derive(Clone, Copy)]
enum ObjKeeps<'a> {
    Model,
    /// A model of one part of a file.
    Part,
    /// Only the positions.
    Positions,
    /// Nothing: faces are sent to a consumer, together with these positions.
    Pieces(&'a dyn MeshConsumer, &'a [[f32; 3]]),
}

struct ObjJob<'s, 'o> {
    keeps: ObjKeeps<'o>,
    chunks: TextChunks<'s>,
    parser: ObjParser<'o>,
    options: &'o ParseOptions,
    columns: ObjColumns,
    suspects: Mutex<Suspects>,
    slot_bytes: usize,
}

/// State of the ordered step.
struct ObjState {
    counts: Counts,
    corners: [u32; 3],
    lines: u64,
    assembler: Assembler,
    warnings: Warnings,
    watch: PrecisionWatch,
    skipped: SkippedLines,
    /// Whether any OBJ statement was found.
    has_statement: bool,
    progress: ProgressSteps,
}

/// An exceeded limit, and the offset in the chunk's text at which it is exceeded.
struct Excess {
    offset: u32,
    message: String,
    hint: Option<String>,
}

/// Reads OBJ text. Faults are errors or warnings, depending on `options`.
pub fn read(text: TextChunks<'_>, options: &ParseOptions) -> Result<Obj> {
    read_as(text, options, ObjKeeps::Model)
}

/// Reads a part of a file, which must start at the start of a line. Corners may refer to vertices in other parts:
/// indices are relative to the whole file, and the caller checks them.
///
/// # Errors
/// As for [`read`], and [`ErrorKind::Unsupported`] for statements that depend on earlier parts (negative indices,
/// polypaint, curves) and for coordinates that need double precision, which then must be used for all parts.
pub fn read_part(text: TextChunks<'_>, options: &ParseOptions) -> Result<Obj> {
    let alone = || Error::new(ErrorKind::Unsupported, "this part needs double precision: read all parts with it");
    read_as(text, options, ObjKeeps::Part).map_err(|error| if asks_for_doubles(&error) { alone() } else { error })
}

fn read_as(text: TextChunks<'_>, options: &ParseOptions, keeps: ObjKeeps) -> Result<Obj> {
    let (job, state, threads) = run_job(text, options, keeps)?;
    finish(job, state, threads)
}

/// Result of streaming a mesh.
pub struct ObjPieces {
    /// Warnings from reading.
    pub warnings: Warnings,
    /// Number of reader threads.
    pub threads: usize,
}

/// Streams the faces of a mesh to a consumer. Declines if the file has other content that matters (materials,
/// colors, lines, points, curves) or positions in double precision.
///
/// Calls `text` twice to read the text twice: faces may precede their positions, so the first pass reads the positions.
pub fn pieces<'s>(
    text: impl Fn() -> TextChunks<'s>,
    options: &ParseOptions,
    consumer: &dyn MeshConsumer,
) -> Result<Attempt<ObjPieces>> {
    if options.precision.has_doubles() {
        return Ok(Attempt::Declined);
    }
    let (job, state, _) = match run_job(text(), options, ObjKeeps::Positions) {
        Err(error) if error.kind() == ErrorKind::Internal && error.diagnostic().message == HAS_MORE => {
            return Ok(Attempt::Declined);
        }
        result => result?,
    };
    state.check_statements(job.chunks.name())?;
    // SAFETY: the run finished without an error, so every placed chunk was also published.
    let positions = unsafe { job.columns.into_positions(state.counts) };
    consumer.start(KnownPositions::All(&positions))?;
    let keeps = ObjKeeps::Pieces(consumer, &positions);
    let (job, mut state, threads) = run_job(text(), options, keeps)?;
    let suspects = job.suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
    suspects.check(state.counts, job.chunks.name(), options, &mut state.warnings)?;
    Ok(Attempt::Done(ObjPieces { warnings: state.warnings, threads }))
}

/// Creates the error for a part that depends on earlier parts.
fn looks_back() -> Error {
    let message = "this part of a file uses negative indices, polypaint or curves: it cannot be read separately";
    Error::new(ErrorKind::Unsupported, message)
}

/// Message of an internal error that stops reading. It never reaches callers.
const HAS_MORE: &str = "this file must be read as a scene";

fn run_job<'s, 'o>(
    text: TextChunks<'s>,
    options: &'o ParseOptions,
    keeps: ObjKeeps<'o>,
) -> Result<(ObjJob<'s, 'o>, ObjState, usize)> {
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let slot_bytes = SLOT_FACTOR * chunk_bytes + (64 << 10);
    let chunk_count = text.size().map_or(u64::MAX, |size| size.div_ceil(chunk_bytes as u64));
    let crew = Crew::for_chunks(chunk_count, slot_bytes, &options.run);
    let job = ObjJob {
        keeps,
        chunks: text.cut(chunk_bytes, options.limits.line_bytes, PADDING),
        parser: ObjParser { options, level: Level::best() },
        options,
        columns: ObjColumns::new(),
        suspects: Mutex::default(),
        slot_bytes,
    };
    let mut state = ObjState {
        counts: Counts::default(),
        corners: [0; 3],
        lines: 0,
        assembler: Assembler::default(),
        warnings: Warnings::default(),
        watch: PrecisionWatch::default(),
        skipped: SkippedLines::default(),
        has_statement: false,
        progress: ProgressSteps::default(),
    };
    run(&job, &mut state, crew, &options.run.cancel)?;
    job.chunks.check_end(Extent::Whole, &options.run.cancel)?;
    Ok((job, state, crew.threads))
}

impl ChunkJob for ObjJob<'_, '_> {
    type Slot = ObjSlot;
    type State = ObjState;
    const PUBLISHES: bool = true;

    fn takes_in_order(&self) -> bool {
        self.chunks.in_order()
    }

    fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.chunks.ahead()
    }

    fn slot(&self) -> Result<ObjSlot> {
        let index = Index::try_new().ok_or_else(|| Error::memory("the token index"))?;
        Ok(ObjSlot {
            text: Text::default(),
            index,
            parsed: ObjParsed::default(),
            places: ObjPlaces::default(),
            faces: ObjPieceFaces::default(),
        })
    }

    fn take(&self, number: u64, slot: &mut ObjSlot) -> Result<bool> {
        self.chunks.take(number, &mut slot.text)
    }

    /// Copies values to the arrays, now that all earlier counts are known.
    fn publish(&self, slot: &mut ObjSlot) -> Result<()> {
        self.fill(slot)
    }

    fn parse(&self, slot: &mut ObjSlot) -> Result<()> {
        let ObjSlot { text, index, parsed, .. } = slot;
        let text = ObjChunkText { padded: text.padded(), start: text.start, end: text.end };
        self.parser.parse(text, index, parsed)
    }

    /// Resolves state that crosses chunk boundaries and reserves the chunk's ranges in the arrays.
    fn place(&self, state: &mut ObjState, slot: &mut ObjSlot) -> Result<()> {
        let end = slot.text.offset + slot.text.len() as u64;
        let parsed = &slot.parsed;
        let bounds = || Bounds::of(parsed.positions.as_slice());
        state.watch.place(self.options.precision, parsed.loss, bounds, end)?;
        match self.keeps {
            ObjKeeps::Part if slot.parsed.depends_on_others() => return Err(looks_back()),
            _ => relative::resolve(&mut slot.parsed, state.counts, slot.text.bytes(), self.options)?,
        }
        let excess = self.excess(state, slot);
        state.settle(slot, excess, self)?;
        slot.places = match self.keeps {
            ObjKeeps::Model | ObjKeeps::Part => self.columns.place(state.counts, state.corners, &slot.parsed)?,
            ObjKeeps::Positions if slot.parsed.has_more() => return Err(Error::new(ErrorKind::Internal, HAS_MORE)),
            ObjKeeps::Positions => self.columns.place_positions(state.counts, state.corners, &slot.parsed)?,
            ObjKeeps::Pieces(..) => ObjPlaces::ends(state.counts, state.corners, &slot.parsed)?,
        };
        for &(stream, index) in &slot.parsed.skipped {
            let before = [state.counts.positions, state.counts.uvs, state.counts.normals][stream as usize];
            if !planted("obj-skipped") {
                state.skipped.add(stream, before + index)?;
            }
        }
        slot.places.first_line = state.lines;
        state.counts = slot.places.end;
        state.corners = slot.places.corners_end;
        state.lines += slot.parsed.line_count;
        state.progress.report(&self.options.run, end, self.chunks.size());
        Ok(())
    }
}

impl ObjJob<'_, '_> {
    fn fill(&self, slot: &mut ObjSlot) -> Result<()> {
        let ObjSlot { text, parsed, places, faces, .. } = slot;
        let largest = match self.keeps {
            ObjKeeps::Model => self.columns.publish(parsed, places)?,
            // Nothing is a suspect here: the caller checks the indices, which may refer to other parts.
            ObjKeeps::Part => self.columns.publish(parsed, places).map(|_| [0; 3])?,
            ObjKeeps::Positions => self.columns.publish_positions(parsed, places).map(|()| [0; 3])?,
            ObjKeeps::Pieces(consumer, positions) => {
                let parsed_faces = &parsed.elements[ElementKind::Face as usize];
                faces.hand_over(parsed_faces, places.start.faces, positions, consumer)?
            }
        };
        if largest.iter().zip(places.counts_at_end()).any(|(&index, count)| index > count) {
            let chunk_suspects = suspects::find(text, parsed, places, self.options.raises())?;
            let mut suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
            suspects.merge(chunk_suspects, largest)?;
        }
        parsed.shrink(self.slot_bytes);
        text.shrink(self.slot_bytes);
        Ok(())
    }

    /// Returns the limit that this chunk exceeds, with its offset, except for limits that are reported as complaints.
    fn excess(&self, state: &ObjState, slot: &ObjSlot) -> Option<Excess> {
        let limit = self.options.limits.elements.min(u64::from(NONE) - 1);
        let text = slot.text.bytes();
        let added = slot.parsed.counts().to_array();
        let sums = state.counts.to_array().into_iter().zip(added).map(|(a, b)| u64::from(a) + u64::from(b));
        let corners =
            state.corners.iter().zip(&slot.parsed.elements).map(|(&a, b)| u64::from(a) + b.corner_count() as u64);
        if sums.max() > Some(limit) || corners.max() >= Some(u64::from(NONE)) {
            let complaints = slot.parsed.complaints.iter().filter(|complaint| complaint.weight == Weight::Broken);
            let broken = complaints.map(|complaint| complaint.token.0);
            return Some(Excess {
                offset: suspects::find_excess(text, broken, state.counts, limit),
                message: format!("more elements of one kind than the limit `elements` ({limit})"),
                hint: elements_hint(limit),
            });
        }
        let line_bytes = self.chunks.line_bytes();
        slot.text.too_long.then(|| Excess {
            offset: text.len() as u32,
            message: format!("line is longer than the limit `line_bytes` ({line_bytes} bytes)"),
            hint: Some(limit_hint("line_bytes") + " (at most 1 GiB)"),
        })
    }
}

impl ObjState {
    /// Reports complaints and processes statements of a chunk in text order, so that the first error in the text is
    /// returned.
    fn settle(&mut self, slot: &ObjSlot, excess: Option<Excess>, job: &ObjJob<'_, '_>) -> Result<()> {
        let file = job.chunks.name();
        let mut placer = Placer::new(slot.text.bytes(), slot.text.offset, self.lines, file);
        self.has_statement |= slot.parsed.has_statement();
        let stop = excess.as_ref().map_or(u32::MAX, |excess| excess.offset);
        let mut complaints = slot.parsed.complaints.iter().peekable();
        for event in slot.parsed.events.iter().take_while(|event| event.token.0 < stop) {
            while let Some(complaint) = complaints.next_if(|complaint| complaint.token.0 <= event.token.0) {
                self.complain(complaint, &mut placer, job.options)?;
            }
            let name = &slot.parsed.names[event.name.clone()];
            // Counts cannot overflow before `stop`, where they exceed the limit.
            let Some(at) = self.counts.checked_add(event.at) else { continue };
            self.assembler.event(event, name, at, &mut placer, job.options, &mut self.warnings)?;
        }
        for complaint in complaints.take_while(|complaint| complaint.token.0 < stop) {
            self.complain(complaint, &mut placer, job.options)?;
        }
        for ((_, code), count) in &slot.parsed.uncounted {
            self.warnings.count(code, *count);
        }
        match excess {
            Some(Excess { offset, message, hint }) => {
                let place = placer.place(offset);
                Err(Diagnostic { place, hint, ..Diagnostic::new(message) }.into_error(ErrorKind::Limit))
            }
            None => Ok(()),
        }
    }

    /// Fails if the file has words, but no OBJ statement.
    fn check_statements(&self, file: &Arc<str>) -> Result<()> {
        let counts = self.warnings.counts();
        let has_words = ["unknown-statement", "malformed"].iter().any(|code| counts.contains_key(code));
        if !has_words || self.has_statement {
            return Ok(());
        }
        let place = Place { file: file.clone(), line: Some(1), column: Some(1), offset: Some(0) };
        let message = "the file contains no OBJ statements";
        Err(Diagnostic { place, ..Diagnostic::new(message) }.into_error(ErrorKind::Malformed))
    }

    fn complain(&mut self, complaint: &ObjComplaint, placer: &mut Placer<'_>, options: &ParseOptions) -> Result<()> {
        let diagnostic = Diagnostic {
            message: complaint.message.clone(),
            expected: complaint.expected.map(str::to_owned),
            hint: complaint.hint.map(str::to_owned),
            place: placer.place(complaint.token.0),
            excerpt: Some(complaint.excerpt.clone()),
            ..Diagnostic::default()
        };
        match complaint.weight {
            Weight::Note => self.warnings.note(options.faults, complaint.code, diagnostic),
            Weight::Broken => self.warnings.broken(options.faults, complaint.code, diagnostic),
            Weight::Limit => {
                let error = diagnostic.into_error(ErrorKind::Limit);
                Err(error.with_hint(limit_hint("name_bytes")))
            }
        }
    }
}

/// Creates the warning about out-of-range uv or normal indices. `first` describes the first of them.
fn dropped_indices(first: Diagnostic, stream: ObjStream, count: u64) -> Diagnostic {
    let noun = stream.noun();
    let words = [format!("index of a nonexistent {noun}"), format!("indices of nonexistent {noun}s")];
    let message = format!("dropped {}: {}", counted(count, [&words[0], &words[1]]), first.message);
    Diagnostic { message, ..first }
}

/// Runs the checks that need the whole file, and assembles the scene.
fn finish(mut job: ObjJob<'_, '_>, state: ObjState, threads: usize) -> Result<Obj> {
    if matches!(job.keeps, ObjKeeps::Part) && state.assembler.looks_back() {
        return Err(looks_back());
    }
    state.check_statements(job.chunks.name())?;
    let ObjState { counts, corners, lines, assembler, watch, skipped, mut warnings, .. } = state;
    let precision = job.options.precision;
    // SAFETY: as for `finish` below. Either all chunks have doubles, or none has.
    let exact = if precision.has_doubles() { unsafe { job.columns.take_exact(counts) } } else { Vec::new() };
    let file: &Arc<str> = job.chunks.name();
    let suspects = job.suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
    let index_faults = suspects.check(counts, file, job.options, &mut warnings)?;
    // SAFETY: the run finished without an error, so every placed chunk was also published; `counts` and `corners` are
    // the counts at the end of the last chunk.
    let mut mesh: Mesh = unsafe { job.columns.finish(counts, corners)? };
    let bounds = if watch.wants_bounds() { mesh.bounds() } else { None };
    if watch.finish(precision, bounds, job.options.faults, file, &mut warnings)? {
        mesh.exact_positions = exact.into();
    }
    let mut sections = assembler.finish(&mut mesh, counts, job.options, &mut warnings)?;
    for (stream, first) in [ObjStream::Uv, ObjStream::Normal].into_iter().zip(index_faults.first_missing) {
        if let Some(first) = first {
            let count = repair::drop_missing(&mut mesh, stream)?;
            warnings.note_many(
                job.options.faults,
                "missing-corner-value",
                count,
                dropped_indices(first, stream, count),
            )?;
        }
    }
    if index_faults.has_positions || !skipped.is_empty() {
        repair::drop_broken(&mut mesh, &mut sections.objects, &skipped, &mut warnings)?;
    }
    let Sections { objects, materials, libraries, uses } = sections;
    let mut material_libraries = Vec::new();
    for library in &libraries {
        try_push(&mut material_libraries, try_string(&library.name)?, "names")?;
    }
    let meshes = vec![mesh];
    let scene = Scene { meshes, objects, materials, material_libraries, axes: Axes::OBJ, ..Scene::default() };
    Ok(Obj { scene, libraries, uses, warnings, lines, threads })
}
