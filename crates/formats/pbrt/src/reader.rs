//! Reads a scene: the job that the pipeline runs over the pieces of all files.
//!
//! A piece is parsed by the worker that takes it; the ordered step advances the scene as far as pieces have been read.
//! Files that a piece references are registered immediately, so that they are read in parallel. The order of pieces in
//! the job does not matter, because the scene follows the order of the files. Nothing is opened here: see
//! [`FileOpener`].

use super::directive::Directive;
use super::event::{PbrtEventKind, PbrtParsed, PieceContent};
use super::files::{FileOpener, FilePiece, MAX_DEPTH, OpenFile, PbrtLibrary, PbrtOrigin};
use super::parse::PbrtParser;
use super::resolve::{Pbrt, PbrtScene};
use super::shelf::PbrtShelf;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_pipeline::chunk::Text;
use polyhaul_pipeline::job::ChunkJob;
use polyhaul_pipeline::options::ParseOptions;
use polyhaul_pipeline::run::{Crew, run};
use polyhaul_text::cpu::Level;

/// Bytes of text per piece.
const CHUNK_BYTES: usize = 512 << 10;
/// Memory budget of a slot, as a multiple of its text.
const SLOT_FACTOR: usize = 3;

/// A piece in flight.
struct PbrtSlot {
    text: Text,
    parsed: PbrtParsed,
    origin: PbrtOrigin,
    content: Option<PieceContent>,
    /// Files that the piece references: event index and file index.
    files: Vec<(u32, usize)>,
}

struct PbrtJob<'a> {
    library: &'a PbrtLibrary<'a>,
    parser: PbrtParser<'a>,
    /// Storage for the values of all pieces.
    shelf: PbrtShelf,
    options: &'a ParseOptions,
    slot_bytes: usize,
}

/// Reads the scene that starts in `main`. `files` opens the files that it references.
pub fn read(main: OpenFile, files: &dyn FileOpener, options: &ParseOptions) -> Result<Pbrt> {
    let chunk_bytes = options.run.chunk_bytes.unwrap_or(CHUNK_BYTES).clamp(1, 1 << 30);
    let slot_bytes = SLOT_FACTOR * chunk_bytes.max(main.chunk_bytes.unwrap_or(0)) + (64 << 10);
    let library = PbrtLibrary::new(files, options, chunk_bytes);
    let main = library.add_main(main)?;
    let crew = Crew::new(options.run.worker_threads(), options.run.memory_limit, slot_bytes);
    let parser = PbrtParser { options, level: Level::best() };
    let job = PbrtJob { library: &library, parser, shelf: PbrtShelf::default(), options, slot_bytes };
    let mut scene = PbrtScene::new(main, &library, options);
    // Files that are referenced only in the last pieces of a round are read in the next round.
    while !scene.is_done() {
        library.start_round();
        run(&job, &mut scene, crew, &options.run.cancel)?;
        scene.advance()?;
        if !scene.is_done() && !library.has_more() {
            return Err(Error::new(ErrorKind::Internal, "a part of the scene is missing; this is a bug in polyhaul"));
        }
    }
    scene.finish(crew.threads)
}

impl<'a> ChunkJob for PbrtJob<'a> {
    type Slot = PbrtSlot;
    type State = PbrtScene<'a>;

    /// The library keeps the order of pieces within each file.
    fn takes_in_order(&self) -> bool {
        false
    }

    fn slot(&self) -> Result<PbrtSlot> {
        Ok(PbrtSlot {
            text: Text::default(),
            parsed: PbrtParsed::default(),
            origin: PbrtOrigin::default(),
            content: None,
            files: Vec::new(),
        })
    }

    fn take(&self, number: u64, slot: &mut PbrtSlot) -> Result<bool> {
        let Some(origin) = self.library.take(number, &mut slot.text) else { return Ok(false) };
        slot.origin = origin;
        Ok(true)
    }

    fn parse(&self, slot: &mut PbrtSlot) -> Result<()> {
        slot.content = None;
        slot.files.clear();
        if slot.origin.is_nothing() || slot.origin.failed.is_some() {
            return Ok(());
        }
        let PbrtSlot { text, parsed, .. } = slot;
        let bytes = text.len() as u64;
        let gaps = std::mem::take(&mut text.gaps);
        // Numbers parsed in advance were not list elements, or a message may quote them, so the whole text is read and
        // parsed again.
        if !self.parser.parse(text, gaps, parsed)? {
            self.library.fill(&slot.origin, text, bytes)?;
            self.parser.parse(text, Vec::new(), parsed)?;
        }
        if text.too_long {
            parsed.too_long(self.options.limits.line_bytes)?;
        }
        let mut content = parsed.take(&self.shelf)?;
        content.bytes = bytes;
        self.name_files(&content, &slot.origin, &mut slot.files)?;
        slot.content = Some(content);
        slot.parsed.shrink(self.slot_bytes);
        slot.text.shrink(self.slot_bytes);
        Ok(())
    }

    fn place(&self, scene: &mut PbrtScene<'a>, slot: &mut PbrtSlot) -> Result<()> {
        let piece = match (slot.origin.failed.take(), slot.content.take()) {
            (Some(error), _) => FilePiece::Failed(error),
            (None, Some(mut content)) => {
                content.files = std::mem::take(&mut slot.files);
                FilePiece::Content(Box::new(content))
            }
            (None, None) => return scene.advance(),
        };
        self.library.put(&slot.origin, piece);
        scene.advance()
    }
}

impl PbrtJob<'_> {
    /// Registers the files that a piece references, so that other workers read them before the scene reaches them. The
    /// scene reports references that are nested too deeply or too many.
    fn name_files(&self, content: &PieceContent, origin: &PbrtOrigin, files: &mut Vec<(u32, usize)>) -> Result<()> {
        for (number, event) in content.events.iter().enumerate() {
            let (PbrtEventKind::Directive(Directive::Include) | PbrtEventKind::Directive(Directive::Import)) =
                event.what
            else {
                continue;
            };
            let is_few = (self.library.count() as u64) <= self.options.limits.files;
            if !is_few || self.library.depth(origin.file) >= MAX_DEPTH {
                return Ok(());
            }
            let file = self.library.name(origin.file, (origin.piece, number), content.text(event.a))?;
            try_push(files, (number as u32, file), "files")?;
        }
        Ok(())
    }
}
