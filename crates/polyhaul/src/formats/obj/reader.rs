//! OBJ text to a mesh: the job that the pipeline runs, chunk by chunk.
//!
//! Parsing is parallel ([`super::parse`]); the ordered part hands out places in the final arrays
//! and settles the state that crosses chunk borders ([`super::assemble`]); copying to those places
//! is parallel again ([`super::publish`]).

use super::assemble::{Assembler, Sections};
use super::parse::{ChunkText, Parser};
use super::parsed::{Complaint, Parsed, Stream, Weight};
use super::publish::{Columns, Places};
use super::statement::excerpt;
use crate::error::{Diagnostic, Error, ErrorKind, Excerpt, Place, Result};
use crate::model::{Counts, Mesh, Scene};
use crate::options::{OnError, ReadOptions};
use crate::pipeline::chunk::{Text, TextChunks};
use crate::pipeline::run::{Crew, Job, run};
use crate::warnings::Warnings;
use polyhaul_text::cpu::Level;
use polyhaul_text::scan::{Index, PADDING};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of text per chunk: text and values of a chunk stay in a core's own cache (2 MiB here).
/// 128 KiB to 512 KiB measured alike on the reference machine, 64 KiB 4 % slower, 2 MiB 8 %.
const CHUNK_BYTES: usize = 256 << 10;
/// What a slot takes, as a multiple of its chunk: text, values, and room to grow.
const SLOT_FACTOR: usize = 4;

/// What reading an OBJ gives: a scene without materials, and the libraries to ask for them.
pub(crate) struct Obj {
    pub(crate) scene: Scene,
    /// `mtllib` statements in order, each with its place.
    pub(crate) libraries: Vec<Reference>,
    /// The first use of each material, in the order of the scene's materials.
    pub(crate) uses: Vec<Reference>,
    pub(crate) warnings: Warnings,
    pub(crate) threads: usize,
}

/// A name in the text, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) excerpt: Excerpt,
}

impl Reference {
    /// A diagnostic that points at the name.
    pub(crate) fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        let (place, excerpt) = (self.place.clone(), Some(self.excerpt.clone()));
        Diagnostic { place, excerpt, ..Diagnostic::new(message) }
    }
}

/// A chunk in flight.
pub(super) struct Slot {
    pub(super) text: Text,
    index: Box<Index>,
    pub(super) parsed: Parsed,
    pub(super) places: Places,
}

struct ObjJob<'s, 'o> {
    chunks: TextChunks<'s>,
    parser: Parser<'o>,
    options: &'o ReadOptions,
    columns: Columns,
    suspects: Mutex<Vec<Suspect>>,
}

/// What the commits build.
struct State {
    counts: Counts,
    corners: [u32; 3],
    lines: u64,
    assembler: Assembler,
    warnings: Warnings,
    file: Arc<str>,
    last_report: u64,
}

/// A corner whose index points past everything that was read up to the end of its chunk.
///
/// OBJ files may name what comes later, so only the end of the file tells whether it is wrong.
pub(super) struct Suspect {
    pub(super) stream: Stream,
    /// 1-based.
    pub(super) index: u64,
    pub(super) place: Place,
    pub(super) excerpt: Excerpt,
}

/// Reads OBJ text.
pub(crate) fn read(text: TextChunks<'_>, options: &ReadOptions) -> Result<Obj> {
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).max(1);
    let slot_bytes = SLOT_FACTOR * chunk_bytes + (64 << 10);
    let chunk_count = text.size().map_or(u64::MAX, |size| size.div_ceil(chunk_bytes as u64));
    let threads = options.run.worker_threads().min(usize::try_from(chunk_count).unwrap_or(usize::MAX)).max(1);
    let crew = Crew::new(threads, options.run.memory_limit, slot_bytes);
    let job = ObjJob {
        chunks: text.cut(chunk_bytes, options.limits.line_bytes, PADDING),
        parser: Parser { options, level: Level::best() },
        options,
        columns: Columns::new(),
        suspects: Mutex::default(),
    };
    let mut state = State {
        counts: Counts::default(),
        corners: [0; 3],
        lines: 0,
        assembler: Assembler::default(),
        warnings: Warnings::default(),
        file: job.chunks.name().clone(),
        last_report: 0,
    };
    run(&job, &mut state, crew, &options.run.cancel)?;
    job.chunks.check_unchanged()?;
    finish(job, state, crew.threads)
}

impl Job for ObjJob<'_, '_> {
    type Slot = Slot;
    type State = State;

    fn takes_in_order(&self) -> bool {
        self.chunks.in_order()
    }

    fn slot(&self) -> Result<Slot> {
        Ok(Slot {
            text: Text::default(),
            index: Box::new(Index::new()),
            parsed: Parsed::default(),
            places: Places::default(),
        })
    }

    fn take(&self, number: u64, slot: &mut Slot) -> Result<bool> {
        self.chunks.take(number, &mut slot.text)
    }

    fn work(&self, slot: &mut Slot) -> Result<()> {
        let Slot { text, index, parsed, .. } = slot;
        let text = ChunkText { padded: text.padded(), start: text.start, end: text.end };
        self.parser.parse(text, index, parsed)
    }

    fn commit(&self, state: &mut State, slot: &mut Slot) -> Result<()> {
        self.relate(state, slot)?;
        state.complain(slot, self.options)?;
        let added = slot.parsed.counts();
        slot.places = self.columns.place(state.counts, state.corners, &slot.parsed, self.options.limits.elements)?;
        slot.places.first_line = state.lines;
        state.assembler.chunk(slot, state.counts, state.lines, &state.file, self.options, &mut state.warnings)?;
        state.counts = Counts { curves: 0, ..slot.places.end };
        state.corners = slot.places.corners_end;
        state.lines += slot.parsed.line_count;
        debug_assert_eq!(state.counts.faces, slot.places.start.faces + added.faces);
        self.report(state, slot.text.offset + slot.text.len() as u64);
        Ok(())
    }

    fn publish(&self, slot: &mut Slot) -> Result<()> {
        let found = self.columns.publish(slot, self.chunks.name(), self.options.on_error)?;
        if !found.is_empty() {
            let mut suspects = self.suspects.lock().unwrap_or_else(PoisonError::into_inner);
            suspects.try_reserve(found.len()).map_err(|_| Error::memory("suspects"))?;
            suspects.extend(found);
        }
        Ok(())
    }
}

impl ObjJob<'_, '_> {
    /// Gives indices that count backwards their values. One that points before the file's start is broken.
    fn relate(&self, state: &State, slot: &mut Slot) -> Result<()> {
        let counts = [state.counts.positions, state.counts.uvs, state.counts.normals];
        let parsed = &mut slot.parsed;
        let mut complaints = Vec::new();
        for relative in &parsed.relatives {
            let value = i64::from(counts[relative.stream as usize]) + relative.local;
            let slots = parsed.elements[relative.kind as usize].values.as_mut_slice();
            let Some(slot_value) = slots.get_mut(relative.value as usize) else { continue };
            if value >= 1 {
                *slot_value = value.min(i64::from(u32::MAX - 1)) as u32;
                continue;
            }
            // Out of range on purpose: the element goes when the reading ends.
            *slot_value = u32::MAX - 1;
            if self.options.on_error == OnError::Raise || self.options.strict {
                let text = &slot.text.padded()[slot.text.start..slot.text.end];
                complaints.push(before_start(relative.stream, relative.token, text));
                break;
            }
        }
        if !complaints.is_empty() {
            parsed.complaints.append(&mut complaints);
            parsed.complaints.sort_by_key(|complaint| complaint.token.0);
        }
        Ok(())
    }

    /// Tells the caller how far the reading is, every few megabytes.
    fn report(&self, state: &mut State, done: u64) {
        const EVERY_BYTES: u64 = 4 << 20;
        if let Some(progress) = &self.options.run.progress
            && done >= state.last_report + EVERY_BYTES
        {
            state.last_report = done;
            (progress.0)(done, self.chunks.size());
        }
    }
}

fn before_start(stream: Stream, token: (u32, u32), text: &[u8]) -> Complaint {
    Complaint {
        weight: Weight::Broken,
        code: "index-out-of-range",
        message: format!("this index points before the first {}", stream.noun()),
        expected: None,
        hint: Some("negative indices count backwards from the element that was defined last"),
        token,
        excerpt: excerpt(text, token),
    }
}

impl State {
    /// Places and files the complaints of a chunk, in the order of the text.
    fn complain(&mut self, slot: &mut Slot, options: &ReadOptions) -> Result<()> {
        let complaints = std::mem::take(&mut slot.parsed.complaints);
        for complaint in &complaints {
            let diagnostic = Diagnostic {
                message: complaint.message.clone(),
                expected: complaint.expected.map(str::to_owned),
                hint: complaint.hint.map(str::to_owned),
                place: slot.place(complaint.token.0, self.lines, &self.file),
                excerpt: Some(complaint.excerpt.clone()),
            };
            match complaint.weight {
                Weight::Note => self.warnings.note(options, complaint.code, diagnostic)?,
                Weight::Broken => self.warnings.broken(options, complaint.code, diagnostic)?,
                Weight::Limit => {
                    let error = diagnostic.into_error(ErrorKind::Limit);
                    return Err(error.with_hint("raise the limit in Limits to read it"));
                }
            }
        }
        Ok(())
    }
}

impl Slot {
    /// The place of an offset in the chunk's text; `lines_before` lines ended before the chunk.
    pub(super) fn place(&self, offset: u32, lines_before: u64, file: &Arc<str>) -> Place {
        let text = &self.text.padded()[self.text.start..self.text.end];
        let before = &text[..(offset as usize).min(text.len())];
        let line_start = before.iter().rposition(|b| matches!(b, b'\n' | b'\r')).map_or(0, |i| i + 1);
        // A CR that ends `before` may belong to a CR LF, but no statement begins between the two.
        let line = lines_before + polyhaul_text::lines::count(before) as u64 + 1;
        Place {
            file: file.clone(),
            line: Some(line),
            column: Some((before.len() - line_start) as u64 + 1),
            offset: Some(self.text.offset + u64::from(offset)),
        }
    }
}

/// Checks what only the end of the file can tell, and puts the scene together.
fn finish(job: ObjJob<'_, '_>, mut state: State, threads: usize) -> Result<Obj> {
    let suspects = job.suspects.into_inner().unwrap_or_else(PoisonError::into_inner);
    let broken = check_suspects(suspects, state.counts, job.options, &mut state)?;
    // SAFETY: every chunk was committed and published, so all places that were handed out are filled.
    let mut mesh: Mesh = unsafe { job.columns.finish(state.counts, state.corners)? };
    let mut sections = state.assembler.finish(&mut mesh, state.counts)?;
    if broken {
        super::repair::drop_broken(&mut mesh, &mut sections.objects, &mut state.warnings);
    }
    let scene = Scene {
        meshes: vec![mesh],
        objects: sections.objects,
        materials: sections.materials,
        material_libraries: sections.libraries.iter().map(|library| library.name.clone()).collect(),
    };
    let Sections { libraries, uses, .. } = sections;
    Ok(Obj { scene, libraries, uses, warnings: state.warnings, threads })
}

/// The first suspect that is wrong is the error; with [`OnError::Warn`] they are warnings, and
/// `true` says that there are any.
fn check_suspects(mut suspects: Vec<Suspect>, counts: Counts, options: &ReadOptions, state: &mut State) -> Result<bool> {
    suspects.sort_by_key(|suspect| suspect.place.offset);
    let totals = [counts.positions, counts.uvs, counts.normals];
    let mut any = false;
    for suspect in suspects {
        let total = totals[suspect.stream as usize];
        if suspect.index <= u64::from(total) {
            continue;
        }
        any = true;
        let noun = suspect.stream.noun();
        let diagnostic = Diagnostic {
            message: match suspect.index {
                0xFFFF_FFFE => format!("this index points before the first {noun}"),
                index => format!("{noun} {index} does not exist"),
            },
            expected: Some(match total {
                0 => format!("no {noun} index: the file has none"),
                _ => format!("an index from 1 to {total}"),
            }),
            hint: None,
            place: suspect.place,
            excerpt: Some(suspect.excerpt),
        };
        state.warnings.broken(options, "index-out-of-range", diagnostic)?;
    }
    Ok(any)
}
