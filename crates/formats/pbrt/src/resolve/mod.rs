//! Processes the events of all files in scene order: tracks the graphics state and fills the model.
//!
//! Processing advances as far as pieces have been read, and never reads or parses text itself. Directives change
//! [`state`] and create [`entities`].

mod check;
mod entities;
mod finish;
mod state;

pub use finish::{MeshUse, Pbrt};

use super::directive::{COUNT, Directive};
use super::event::{PbrtComplaint, PbrtEvent, PbrtEventKind, PieceContent, PointLoss, Spot, exactly, place};
use super::files::{FilePiece, MAX_DEPTH, PbrtLibrary, PbrtNext};
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Place, Result, limit_hint, planted, try_push};
use polyhaul_model::names;
use polyhaul_model::render::{Name, Render};
use polyhaul_model::warnings::{Warnings, Weight};
use polyhaul_pipeline::options::ParseOptions;
use state::{Graphics, Systems};
use std::collections::HashMap;
use std::path::PathBuf;

/// A position in the scene's files, small enough to be stored in every scope.
#[derive(Clone, Copy, Debug)]
struct SceneSpot {
    file: u32,
    line: u32,
    column: u32,
}

/// A file being processed.
struct PbrtFrame {
    file: usize,
    /// Index of the current or the next piece.
    piece: u64,
    content: Option<Box<PieceContent>>,
    segment: u32,
    event: usize,
    /// Number of lines before the piece.
    lines: u64,
    /// Length so far of the line in which the previous piece ended.
    column: u32,
    /// Bytes of text read so far.
    bytes: u64,
    /// Position of the include; `None` for the scene's main file.
    named: Option<SceneSpot>,
    /// State to restore after an Import.
    import: Option<Box<SavedState>>,
}

/// Amounts of text. A few bytes can include a file many times, so repeated text is limited as well.
#[derive(Default)]
struct Volume {
    /// Bytes of each finished file.
    by_file: HashMap<PathBuf, u64>,
    /// Bytes of all finished files, each of which counts once.
    unique_bytes: u64,
    /// Bytes of repeated files.
    repeated_bytes: u64,
}

/// State that an Import leaves unchanged.
struct SavedState {
    graphics: Graphics,
    scopes: usize,
    systems: Systems,
    node_count: u32,
    object: Option<usize>,
}

/// The scene so far.
pub(super) struct PbrtScene<'a> {
    library: &'a PbrtLibrary<'a>,
    options: &'a ParseOptions,
    render: Render,
    warnings: Warnings,
    meshes: Vec<MeshUse>,
    /// Precision that points lost as 32-bit floats.
    rounding: PointLoss,
    /// Number of uses of each directive.
    directives: [u64; COUNT],
    frames: Vec<PbrtFrame>,
    /// Number of included files.
    file_count: u64,
    /// Amount of text in the finished files.
    volume: Volume,
    names: HashMap<Box<str>, u32>,
    state: state::PbrtState,
    entities: entities::PbrtTables,
    /// Names to check at the end, for validation.
    checks: check::PbrtChecks,
    done: bool,
    warned_of_transform_begin: bool,
    /// Whether a class or parameter of an older version was noted.
    warned_of_version: bool,
}

impl<'a> PbrtScene<'a> {
    pub(super) fn new(main: usize, library: &'a PbrtLibrary<'a>, options: &'a ParseOptions) -> PbrtScene<'a> {
        let main = PbrtFrame::new(main, None, None);
        PbrtScene {
            library,
            options,
            render: Render::default(),
            warnings: Warnings::default(),
            meshes: Vec::new(),
            rounding: PointLoss::default(),
            directives: [0; COUNT],
            frames: vec![main],
            file_count: 0,
            volume: Volume::default(),
            names: HashMap::new(),
            state: state::PbrtState::default(),
            entities: entities::PbrtTables::default(),
            checks: check::PbrtChecks::default(),
            done: false,
            warned_of_transform_begin: false,
            warned_of_version: false,
        }
    }

    /// Returns whether all files are finished.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Processes the scene as far as its pieces have been read.
    pub(super) fn advance(&mut self) -> Result<()> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(content) = frame.content.take() {
                self.events(content)?;
                continue;
            }
            match self.library.next(frame.file, frame.piece) {
                PbrtNext::Wait => return Ok(()),
                PbrtNext::End => self.leave()?,
                PbrtNext::Refused(error) => self.refused(error)?,
                PbrtNext::Piece(FilePiece::Failed(error)) => return Err(error),
                PbrtNext::Piece(FilePiece::Content(content)) => self.enter(content)?,
            }
        }
        self.done = true;
        Ok(())
    }

    /// Moves a piece into the model: its values unchanged, and its names into the common table.
    fn enter(&mut self, mut content: Box<PieceContent>) -> Result<()> {
        self.count_bytes(content.bytes)?;
        self.rounding.extend(content.rounding);
        self.directives.iter_mut().zip(content.directives).for_each(|(sum, count)| *sum += u64::from(count));
        let mut names = Vec::new();
        names.try_reserve_exact(content.names.len())?;
        for name in &content.names {
            names.push(self.name(name)?);
        }
        // The events of the piece still need the names, so the content keeps a copy.
        let mut moved = std::mem::take(&mut content.segment);
        content.segment.names = exactly(&names)?;
        moved.names = names.into_boxed_slice();
        if let Some(frame) = self.frames.last_mut() {
            moved.folder = self.library.folder(frame.file);
        }
        let segment = self.render.segments.len() as u32;
        try_push(&mut self.render.segments, moved, "values")?;
        if let Some(frame) = self.frames.last_mut() {
            frame.segment = segment;
            frame.event = 0;
            frame.content = Some(content);
        }
        Ok(())
    }

    /// Counts the text of a piece of the current file. At the start of a repeated file, checks its whole size against
    /// the limit.
    fn count_bytes(&mut self, bytes: u64) -> Result<()> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        frame.bytes += bytes;
        let file = frame.file;
        let Some(named) = frame.named.filter(|_| frame.piece == 0) else { return Ok(()) };
        let Some(file_bytes) = self.volume.by_file.get(&self.library.identity(file)) else { return Ok(()) };
        self.volume.repeated_bytes += file_bytes;
        let Volume { unique_bytes, repeated_bytes, .. } = self.volume;
        let limit = self.options.limits.included_bytes;
        // Repetition may double the text, or add as much as the limit if that is more.
        if repeated_bytes <= limit.max(unique_bytes) {
            return Ok(());
        }
        let message = format!(
            "repeated includes add {repeated_bytes} bytes of text, more than the limit `included_bytes` ({limit} bytes)"
        );
        let mut diagnostic = Diagnostic { place: self.place_of(named), ..Diagnostic::new(message) };
        diagnostic.hint = Some(format!("{} to {repeated_bytes} or more", limit_hint("included_bytes")));
        Err(diagnostic.into_error(ErrorKind::Limit))
    }

    /// Records the size of a finished file.
    fn count_file(&mut self, file: usize, bytes: u64) -> Result<()> {
        self.volume.by_file.try_reserve(1).map_err(|_| Error::memory("files"))?;
        let identity = self.library.identity(file);
        if self.volume.by_file.insert(identity, bytes).is_none() {
            self.volume.unique_bytes += bytes;
        }
        Ok(())
    }

    /// Returns the scene's name for this text, which is added if it is new.
    fn name(&mut self, text: &str) -> Result<Name> {
        if let Some(&number) = self.names.get(text) {
            return Ok(Name(number));
        }
        let number = self.render.names.len() as u32;
        let copy = || polyhaul_model::error::try_string(text).map(String::into_boxed_str);
        try_push(&mut self.render.names, copy()?, "names")?;
        self.names.try_reserve(1).map_err(|_| Error::memory("names"))?;
        self.names.insert(copy()?, number);
        Ok(Name(number))
    }

    /// Processes the events of a piece, until an event includes a file.
    fn events(&mut self, content: Box<PieceContent>) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let segment = frame.segment;
        let first = frame.event;
        for (number, event) in content.events.iter().enumerate().skip(first) {
            match event.what {
                PbrtEventKind::Directive(Directive::Include | Directive::Import) => {
                    let depth = self.frames.len();
                    self.include(&content, number, event)?;
                    if self.frames.len() > depth {
                        // The included file is now on top, so the current file is below it.
                        let frame = &mut self.frames[depth - 1];
                        frame.event = number + 1;
                        frame.content = Some(content);
                        return Ok(());
                    }
                }
                PbrtEventKind::Directive(directive) => self.directive(directive, false, event, &content, segment)?,
                PbrtEventKind::FullMatrix(directive) => self.directive(directive, true, event, &content, segment)?,
                PbrtEventKind::Complaint => self.complaint(&content.complaints[event.a as usize])?,
            }
        }
        for (code, count) in &content.uncounted {
            self.warnings.count(code, *count);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.piece += 1;
            frame.lines += u64::from(content.end.line) - u64::from(planted("pbrt-lines") && content.end.line > 1);
            frame.column = if content.bytes == 0 { frame.column } else { content.end.column };
        }
        Ok(())
    }

    fn complaint(&mut self, complaint: &PbrtComplaint) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let mut diagnostic = complaint.diagnostic(&self.library.file_name(frame.file), frame.lines);
        self.add_chain(&mut diagnostic);
        match complaint.weight {
            Weight::Note => self.warnings.note(self.options.faults, complaint.code, diagnostic),
            Weight::Broken => self.warnings.broken(self.options.faults, complaint.code, diagnostic),
            Weight::Limit => Err(diagnostic.into_error(ErrorKind::Limit)),
        }
    }

    /// Reports an error at a position of the piece.
    #[cold]
    fn broken(&mut self, spot: Spot, code: &'static str, message: String) -> Result<()> {
        self.complaint(&PbrtComplaint::at(spot, Weight::Broken, code, message))
    }

    /// Adds a warning at a position of the piece.
    #[cold]
    fn note(&mut self, spot: Spot, code: &'static str, message: String) -> Result<()> {
        self.complaint(&PbrtComplaint::at(spot, Weight::Note, code, message))
    }

    /// Reports an exceeded limit at a position of the piece.
    #[cold]
    fn limit(&mut self, spot: Spot, message: String, hint: Option<String>) -> Result<()> {
        let mut complaint = PbrtComplaint::at(spot, Weight::Limit, "limit", message);
        complaint.hint = hint;
        self.complaint(&complaint)
    }

    /// Adds the positions of the includes that lead to the current file to the message.
    fn add_chain(&self, diagnostic: &mut Diagnostic) {
        /// Maximum number of files shown.
        const MAX_SHOWN: usize = 8;
        let mut named: Vec<_> = self.frames.iter().rev().filter_map(|frame| frame.named).collect();
        if named.is_empty() {
            return;
        }
        let more = named.len() > MAX_SHOWN;
        named.truncate(MAX_SHOWN);
        let shown: Vec<_> = named.iter().map(|&at| self.place_of(at).to_string()).collect();
        let end = if more { ", ..." } else { "" };
        diagnostic.message.push_str(&format!(" (included at {}{end})", shown.join(", ")));
    }

    /// Converts a position in the piece to a position in the scene's files.
    fn at(&self, spot: Spot) -> SceneSpot {
        let (file, lines) = self.frames.last().map_or((0, 0), |frame| (frame.file, frame.lines));
        let line = lines + u64::from(spot.line);
        SceneSpot { file: file as u32, line: u32::try_from(line).unwrap_or(u32::MAX), column: spot.column }
    }

    fn place_of(&self, at: SceneSpot) -> Place {
        let name = self.library.file_name(at.file as usize);
        place(&name, 0, Spot { line: at.line, column: at.column })
    }

    /// Enters a file that an event references.
    fn include(&mut self, content: &PieceContent, number: usize, event: &PbrtEvent) -> Result<()> {
        let is_import = event.what == PbrtEventKind::Directive(Directive::Import);
        if is_import && !self.state.in_world {
            let message = "`Import` is allowed only after `WorldBegin`".to_owned();
            return self.broken(event.spot, "wrong-block", message);
        }
        if self.frames.len() > MAX_DEPTH {
            let message = format!("includes are nested more than {MAX_DEPTH} levels deep");
            let hint = "check whether a file includes itself; this limit is fixed";
            return self.limit(event.spot, message, Some(hint.to_owned()));
        }
        let limit = self.options.limits.files;
        if self.file_count >= limit {
            let message = format!("the scene includes more files than the limit `files` ({limit})");
            return self.limit(event.spot, message, Some(limit_hint("files")));
        }
        self.file_count += 1;
        let Some(frame) = self.frames.last() else { return Ok(()) };
        // The worker that parsed the piece registered its files, except files beyond a limit.
        // Sorted, because files are registered in the order of their events.
        let registered = content.files.binary_search_by_key(&(number as u32), |&(event, _)| event);
        let file = match registered.ok().and_then(|at| content.files.get(at)) {
            Some(&(_, file)) => file,
            None => self.library.name(frame.file, (frame.piece, number), content.text(event.a))?,
        };
        // An imported file does not see the coordinate systems of this file, nor does it define any for this file.
        let import = is_import.then(|| {
            Box::new(SavedState {
                graphics: self.state.graphics,
                scopes: self.state.open_from,
                systems: std::mem::take(&mut self.state.systems),
                node_count: self.render.nodes.len() as u32,
                object: self.state.object,
            })
        });
        if is_import {
            self.state.open_from = self.state.scopes.len();
        }
        let named = Some(self.at(event.spot));
        try_push(&mut self.frames, PbrtFrame::new(file, named, import), "files")
    }

    /// Reports a file that could not be opened.
    fn refused(&mut self, error: Error) -> Result<()> {
        use ErrorKind::{Cancelled, Host, Limit, Memory};
        let Some(frame) = self.frames.pop() else { return Err(error) };
        self.restore(frame.import)?;
        // These errors always fail; any other error may be reported as a missing file.
        let is_fatal = matches!(error.kind(), Limit | Memory | Host | Cancelled);
        let Some(named) = frame.named.filter(|_| !is_fatal) else {
            return Err(error);
        };
        let why = match error.io_error() {
            Some(io) if error.kind() == ErrorKind::Io => io.to_string(),
            _ => error.diagnostic().message.clone(),
        };
        let name = self.library.file_name(frame.file);
        let message = format!("cannot read the file `{}`: {why}", names::shown(&name));
        let hint = error.diagnostic().hint.clone();
        let mut diagnostic = Diagnostic { place: self.place_of(named), hint, ..Diagnostic::new(message).about(&*name) };
        self.add_chain(&mut diagnostic);
        self.warnings.broken(self.options.faults, "missing-file", diagnostic)
    }

    /// Leaves a file at its end.
    fn leave(&mut self) -> Result<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let file = frame.file;
        let is_main = frame.named.is_none();
        let is_import = frame.import.is_some();
        self.count_file(file, frame.bytes)?;
        // An Include only inserts text, so scopes may start before it and end in it, or the other way around.
        if is_main || is_import {
            self.check_scopes()?;
        }
        if is_main && !self.state.in_world {
            self.broken(self.end_of_file(), "no-world", "the scene has no `WorldBegin`".into())?;
        }
        let import = self.frames.pop().and_then(|frame| frame.import);
        self.restore(import)?;
        self.library.close(file, &self.options.run.cancel)
    }

    /// Returns the end of the current file.
    fn end_of_file(&self) -> Spot {
        Spot { line: 0, column: self.frames.last().map_or(0, |frame| frame.column) }
    }

    /// Restores the state after an Import.
    fn restore(&mut self, import: Option<Box<SavedState>>) -> Result<()> {
        if let Some(saved) = import {
            // Scopes that the imported file left open end with it.
            self.state.scopes.truncate(self.state.open_from);
            if planted("pbrt-import") {
                return Ok(());
            }
            self.state.graphics = saved.graphics;
            self.state.open_from = saved.scopes;
            self.state.systems = saved.systems;
            self.state.object = saved.object;
            self.drop_nodes(saved.node_count);
        }
        Ok(())
    }
}

impl PbrtFrame {
    fn new(file: usize, named: Option<SceneSpot>, import: Option<Box<SavedState>>) -> PbrtFrame {
        PbrtFrame { file, piece: 0, content: None, segment: 0, event: 0, lines: 0, column: 0, bytes: 0, named, import }
    }
}
