//! Reading a scene: the job that the pipeline runs over the pieces of all files.
//!
//! A piece is parsed by the worker that takes it; the ordered part advances the scene as far as pieces have been read.
//! The files that a piece names are registered immediately, so that they are read in parallel. The numbers of pieces in
//! the job have no meaning: the order of the scene is that of the files.

use super::directive::Directive;
use super::event::{EventKind, PbrtParsed, PbrtSaid};
use super::files::{FilePiece, Files, MOST_DEEP, OpenFile, PbrtLibrary, PbrtOrigin};
use super::parse::PbrtParser;
use super::resolve::PbrtScene;
use super::shelf::PbrtShelf;
use polyhaul_model::error::{Error, ErrorKind, Place, Result, try_push};
use polyhaul_model::render::Render;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::chunk::Text;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::cpu::Level;

/// Bytes of text per piece.
const CHUNK_BYTES: usize = 512 << 10;
/// The memory of a slot, as a multiple of its text.
const SLOT_FACTOR: usize = 3;

/// A scene that was read.
pub struct Pbrt {
    /// The scene, without the meshes in files.
    pub render: Render,
    /// What was repaired, dropped or missing.
    pub warnings: Warnings,
    /// Shapes that are separate meshes.
    pub meshes: Vec<MeshUse>,
    /// The number of each directive, by name, without those that do not occur.
    pub directives: Vec<(&'static str, u64)>,
    /// Worker threads.
    pub threads: usize,
}

/// A shape that names a file with a mesh.
pub struct MeshUse {
    /// The index of the shape.
    pub shape: u32,
    /// The file's name.
    pub name: String,
    /// The folder of the file that contains it.
    pub folder: std::sync::Arc<str>,
    /// Its place.
    pub place: Place,
}

/// A piece in flight.
struct PbrtSlot {
    text: Text,
    parsed: PbrtParsed,
    origin: PbrtOrigin,
    said: Option<PbrtSaid>,
    /// The files it names: the event, and the file.
    files: Vec<(u32, usize)>,
}

struct PbrtJob<'a> {
    library: &'a PbrtLibrary<'a>,
    parser: PbrtParser<'a>,
    /// The storage for the values of all pieces.
    shelf: PbrtShelf,
    options: &'a ParseOptions,
    slot_bytes: usize,
}

/// Reads the scene of a file; `files` opens those that it names.
pub fn read(main: OpenFile, files: &dyn Files, options: &ParseOptions) -> Result<Pbrt> {
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let slot_bytes = SLOT_FACTOR * chunk_bytes.max(main.chunk_bytes.unwrap_or(0)) + (64 << 10);
    let library = PbrtLibrary::new(files, options, chunk_bytes);
    let main = library.begin(main)?;
    let crew = Crew::new(options.run.worker_threads(), options.run.memory_limit, slot_bytes);
    let parser = PbrtParser { options, level: Level::best() };
    let job = PbrtJob { library: &library, parser, shelf: PbrtShelf::default(), options, slot_bytes };
    let mut scene = PbrtScene::new(main, &library, options);
    // Files that the last pieces of others name are read in the next round.
    while !scene.is_done() {
        library.begin_round();
        run(&job, &mut scene, crew, &options.run.cancel)?;
        scene.go_on()?;
        if !scene.is_done() && !library.has_more() {
            return Err(Error::new(ErrorKind::Internal, "a part of the scene is missing; this is a bug in polyhaul"));
        }
    }
    scene.finish(crew.threads)
}

impl<'a> ChunkJob for PbrtJob<'a> {
    type Slot = PbrtSlot;
    type State = PbrtScene<'a>;

    /// Each file keeps its own order.
    fn takes_in_order(&self) -> bool {
        false
    }

    fn slot(&self) -> Result<PbrtSlot> {
        let (text, parsed, origin) = (Text::default(), PbrtParsed::default(), PbrtOrigin::default());
        Ok(PbrtSlot { text, parsed, origin, said: None, files: Vec::new() })
    }

    fn take(&self, number: u64, slot: &mut PbrtSlot) -> Result<bool> {
        let Some(origin) = self.library.take(number, &mut slot.text) else { return Ok(false) };
        slot.origin = origin;
        Ok(true)
    }

    fn parse(&self, slot: &mut PbrtSlot) -> Result<()> {
        slot.said = None;
        slot.files.clear();
        if slot.origin.is_nothing() || slot.origin.failed.is_some() {
            return Ok(());
        }
        let PbrtSlot { text, parsed, .. } = slot;
        let bytes = text.len() as u64;
        let gaps = std::mem::take(&mut text.gaps);
        if !self.parser.parse(text, gaps, parsed)? {
            self.library.fill(&slot.origin, text, bytes)?;
            self.parser.parse(text, Vec::new(), parsed)?;
        }
        if text.too_long {
            parsed.too_long(self.options.limits.line_bytes)?;
        }
        let mut said = parsed.take(&self.shelf)?;
        said.bytes = bytes;
        self.name_files(&said, &slot.origin, &mut slot.files)?;
        slot.said = Some(said);
        slot.parsed.shrink(self.slot_bytes);
        slot.text.shrink(self.slot_bytes);
        Ok(())
    }

    fn place(&self, scene: &mut PbrtScene<'a>, slot: &mut PbrtSlot) -> Result<()> {
        let piece = match (slot.origin.failed.take(), slot.said.take()) {
            (Some(error), _) => FilePiece::Failed(error),
            (None, Some(mut said)) => {
                said.files = std::mem::take(&mut slot.files);
                FilePiece::Said(Box::new(said))
            }
            (None, None) => return scene.go_on(),
        };
        self.library.put(&slot.origin, piece);
        scene.go_on()
    }
}

impl PbrtJob<'_> {
    /// Registers the files that a piece names, so that others read them while the scene is elsewhere. Too deep or too
    /// many files are left to the scene, which reports them when it reaches them.
    fn name_files(&self, said: &PbrtSaid, origin: &PbrtOrigin, files: &mut Vec<(u32, usize)>) -> Result<()> {
        for (number, event) in said.events.iter().enumerate() {
            let (EventKind::Directive(Directive::Include) | EventKind::Directive(Directive::Import)) = event.what
            else {
                continue;
            };
            let is_few = (self.library.count() as u64) <= self.options.limits.files;
            if !is_few || self.library.depth(origin.file) >= MOST_DEEP {
                return Ok(());
            }
            let file = self.library.name(origin.file, (origin.piece, number), said.text(event.a))?;
            try_push(files, (number as u32, file), "files")?;
        }
        Ok(())
    }
}
