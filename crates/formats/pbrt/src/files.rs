//! Schedules the files of a scene and stores their pieces until the scene reaches them.
//!
//! A file is registered when it is referenced, and opened when its turn comes, so that only the files being read are
//! open. It is read in pieces, and this module keeps their events. It opens no files itself: [`FileOpener`] does.
//!
//! Files are read in the order in which the scene needs them. A file's order is the list of positions (piece and event)
//! at which the file and the files that include it are referenced, outermost first. These lists are compared
//! lexicographically, and a file comes after the files it references: by then, only its remainder is unread.

use super::ahead::AheadPool;
use super::borders::DIRECTIVES;
use super::event::PieceContent;
use polyhaul_model::Precision;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push, try_string};
use polyhaul_pipeline::chunk::{Text, TextChunks};
use polyhaul_pipeline::options::{Cancel, ParseOptions};
use polyhaul_pipeline::read::Extent;
use polyhaul_text::scan::PADDING;
use std::cmp::Ordering as Order;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Opens the files that a scene references.
pub trait FileOpener: Sync {
    /// Opens the file that a file in `folder` refers to by `name`.
    fn open(&self, name: &str, folder: &str) -> Result<OpenFile>;
    /// Closes a file after reading. Fails if the file changed in the meantime.
    fn close(&self, key: usize) -> Result<()>;
}

/// An opened file.
pub struct OpenFile {
    /// Text of the file.
    pub text: TextChunks<'static>,
    /// Approximate bytes per piece; `None` for the job's default.
    pub chunk_bytes: Option<usize>,
    /// Path that identifies the file, to detect cycles and repeated includes.
    pub identity: Option<PathBuf>,
    /// Folder relative to the scene's: empty, or with a trailing slash.
    pub folder: String,
    /// Key for [`FileOpener::close`].
    pub key: usize,
}

/// Maximum nesting depth of files below the scene's main file.
pub(super) const MAX_DEPTH: usize = 64;

/// A file being read.
pub(super) struct PbrtReading {
    text: TextChunks<'static>,
    key: usize,
    next: AtomicU64,
    /// Index of the next piece, if the file can only be read in order.
    in_order: Mutex<u64>,
}

/// A piece that was parsed, or could not be read.
pub(super) enum FilePiece {
    Content(Box<PieceContent>),
    Failed(Error),
}

/// A file of the scene.
struct PbrtFile {
    /// Position of the reference, which determines the reading order.
    order: Arc<[u64]>,
    parent: Option<usize>,
    name: String,
    file_name: Arc<str>,
    folder: Arc<str>,
    identity: Option<PathBuf>,
    reading: Option<Arc<PbrtReading>>,
    /// Reason why the file could not be opened.
    refused: Option<Error>,
    pieces: BTreeMap<u64, FilePiece>,
    /// Number of pieces, once known.
    piece_count: Option<u64>,
}

/// Registered files.
#[derive(Default)]
struct PbrtTable {
    files: Vec<PbrtFile>,
    /// Files to read. Some may have been read in the meantime.
    queue: BinaryHeap<PbrtTurn>,
    round: PbrtRound,
}

/// A queue entry. The greatest entry is the file that the scene needs first.
struct PbrtTurn {
    order: Arc<[u64]>,
    file: usize,
}

impl Ord for PbrtTurn {
    fn cmp(&self, other: &PbrtTurn) -> Order {
        match self.order == other.order {
            true => Order::Equal,
            false if is_before(&self.order, &other.order) => Order::Greater,
            false => Order::Less,
        }
    }
}

impl PartialOrd for PbrtTurn {
    fn partial_cmp(&self, other: &PbrtTurn) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PbrtTurn {
    fn eq(&self, other: &PbrtTurn) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for PbrtTurn {}

impl PbrtTable {
    /// Returns the unread file that the scene needs first.
    fn first(&mut self) -> Option<usize> {
        while let Some(turn) = self.queue.peek() {
            // Finished files are removed lazily.
            if self.files[turn.file].piece_count.is_none() {
                return Some(turn.file);
            }
            self.queue.pop();
        }
        None
    }

    fn queue(&mut self, file: usize) -> Result<()> {
        let turn = PbrtTurn { order: self.files[file].order.clone(), file };
        self.queue.try_reserve(1)?;
        self.queue.push(turn);
        Ok(())
    }
}

/// State of a run of the job, in which workers take pieces with ascending numbers. Numbers below the highest number
/// that got a piece must not be skipped.
#[derive(Default)]
struct PbrtRound {
    /// Number of workers that are looking for a piece.
    looking: usize,
    /// Highest number that got a piece, plus one.
    end: u64,
    is_over: bool,
}

/// Index of the scene's main file.
pub(super) const MAIN: usize = 0;

/// Files of a scene.
pub(super) struct PbrtLibrary<'f> {
    table: Mutex<PbrtTable>,
    opener: &'f dyn FileOpener,
    chunk_bytes: usize,
    line_bytes: u64,
    ahead: Arc<AheadPool>,
    /// Whether all points are read in double precision.
    wants_doubles: bool,
}

/// File and index of a piece.
#[derive(Clone, Default)]
pub(super) struct PbrtOrigin {
    pub(super) file: usize,
    pub(super) piece: u64,
    /// Reason why the text is missing.
    pub(super) failed: Option<Error>,
}

impl PbrtOrigin {
    fn nothing() -> PbrtOrigin {
        PbrtOrigin { file: 0, piece: u64::MAX, failed: None }
    }

    /// Returns whether there is nothing to parse.
    pub(super) fn is_nothing(&self) -> bool {
        self.piece == u64::MAX
    }
}

/// State of the piece that the scene needs next.
pub(super) enum PbrtNext {
    Piece(FilePiece),
    /// The piece is not read yet.
    Wait,
    /// The piece is after the last one.
    End,
    /// The file could not be opened.
    Refused(Error),
}

impl<'f> PbrtLibrary<'f> {
    pub(super) fn new(opener: &'f dyn FileOpener, options: &ParseOptions, chunk_bytes: usize) -> PbrtLibrary<'f> {
        let line_bytes = options.limits.line_bytes;
        let wants_doubles = options.precision.precision == Precision::Double;
        PbrtLibrary { table: Mutex::default(), opener, chunk_bytes, line_bytes, ahead: Arc::default(), wants_doubles }
    }

    fn lock(&self) -> MutexGuard<'_, PbrtTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers the scene's main file.
    pub(super) fn add_main(&self, open: OpenFile) -> Result<usize> {
        let name = try_string(open.text.name())?;
        let file = self.add(None, Vec::new(), &name)?;
        self.opened(file, open);
        Ok(file)
    }

    /// Registers a file that file `parent` references at `at` (piece and event).
    pub(super) fn name(&self, parent: usize, at: (u64, usize), name: &str) -> Result<usize> {
        let mut order = Vec::new();
        {
            let table = self.lock();
            let before = &table.files[parent].order;
            order.try_reserve_exact(before.len() + 1)?;
            order.extend_from_slice(before);
        }
        // Piece and event as one number, so that they are compared in this order.
        order.push(at.0 << 32 | at.1 as u64 & u64::from(u32::MAX));
        self.add(Some(parent), order, name)
    }

    fn add(&self, parent: Option<usize>, order: Vec<u64>, name: &str) -> Result<usize> {
        let name = try_string(name)?;
        let mut table = self.lock();
        let number = table.files.len();
        let file = PbrtFile {
            order: order.into(),
            parent,
            file_name: name.as_str().into(),
            name,
            folder: "".into(),
            identity: None,
            reading: None,
            refused: None,
            pieces: BTreeMap::new(),
            piece_count: None,
        };
        try_push(&mut table.files, file, "files")?;
        table.queue(number)?;
        Ok(number)
    }

    /// Returns the number of registered files.
    pub(super) fn count(&self) -> usize {
        self.lock().files.len()
    }

    /// Returns the nesting depth of a file.
    pub(super) fn depth(&self, file: usize) -> usize {
        self.lock().files[file].order.len()
    }

    /// Returns a file's name, for messages.
    pub(super) fn file_name(&self, file: usize) -> Arc<str> {
        self.lock().files[file].file_name.clone()
    }

    /// Returns the identity of an opened file: its path, or its name.
    pub(super) fn identity(&self, file: usize) -> PathBuf {
        let table = self.lock();
        let file = &table.files[file];
        let path = file.identity.clone();
        path.unwrap_or_else(|| PathBuf::from(&*file.file_name))
    }

    /// Returns the folder of a file.
    pub(super) fn folder(&self, file: usize) -> Arc<str> {
        self.lock().files[file].folder.clone()
    }

    /// Returns whether any pieces are left to read.
    pub(super) fn has_more(&self) -> bool {
        self.lock().first().is_some()
    }

    fn opened(&self, file: usize, open: OpenFile) {
        let OpenFile { text, chunk_bytes, identity, folder, key } = open;
        let chunk_bytes = chunk_bytes.unwrap_or(self.chunk_bytes);
        let text = text.cut(chunk_bytes, self.line_bytes, PADDING).at_borders(DIRECTIVES);
        let pool = self.ahead.clone();
        // Numbers parsed in advance have no doubles.
        let text = if self.wants_doubles {
            text
        } else {
            text.parse_ahead(Box::new(move |text, range| pool.numbers(text, range)))
        };
        let mut table = self.lock();
        let entry = &mut table.files[file];
        entry.identity = identity;
        entry.folder = folder.into();
        entry.file_name = text.name().clone();
        let in_order = Mutex::default();
        entry.reading = Some(Arc::new(PbrtReading { text, key, next: AtomicU64::new(0), in_order }));
    }

    /// Opens a file that was taken from the queue, and puts it back for all workers. Returns whether the file could be
    /// opened.
    fn open(&self, file: usize) -> bool {
        let table = self.lock();
        let parent = table.files[file].parent;
        let name = table.files[file].name.clone();
        let folder: Arc<str> = parent.map_or("".into(), |parent| table.files[parent].folder.clone());
        // Open it without the lock, since opening may block.
        drop(table);
        let result = self.opener.open(&name, &folder).and_then(|open| self.check_ring(file, open));
        let result = result.and_then(|open| {
            self.opened(file, open);
            self.lock().queue(file)
        });
        result.map_err(|error| self.lock().files[file].refused = Some(error)).is_ok()
    }

    /// Fails if a file includes itself, directly or indirectly.
    fn check_ring(&self, file: usize, open: OpenFile) -> Result<OpenFile> {
        let table = self.lock();
        let mut parent = table.files[file].parent;
        if open.identity.is_none() {
            return Ok(open);
        }
        while let Some(number) = parent {
            let other = &table.files[number];
            if other.identity == open.identity {
                return Err(Error::new(ErrorKind::Malformed, "it includes itself"));
            }
            parent = other.parent;
        }
        Ok(open)
    }

    /// Starts a new run of the job.
    pub(super) fn start_round(&self) {
        self.lock().round = PbrtRound::default();
    }

    /// Takes a piece as number `number` of this run. Returns `None` at the end of the run. Returns an empty piece if no
    /// piece is left for this number, but a higher number has a piece or may still get one.
    pub(super) fn take(&self, number: u64, text: &mut Text) -> Option<PbrtOrigin> {
        // `looking` counts the workers whose reads, which happen outside the lock, may still yield a piece.
        let is_over = {
            let round = &mut self.lock().round;
            round.looking += 1;
            round.is_over
        };
        let origin = if is_over { None } else { self.take_next(text) };
        let round = &mut self.lock().round;
        round.looking -= 1;
        match origin {
            Some(_) => round.end = round.end.max(number + 1),
            None if number < round.end || !round.is_over && round.looking > 0 => return Some(PbrtOrigin::nothing()),
            None => round.is_over = true,
        }
        origin
    }

    /// Takes a piece of the file that the scene needs first. Returns `None` if no piece is left.
    fn take_next(&self, text: &mut Text) -> Option<PbrtOrigin> {
        loop {
            let (file, reading) = {
                let mut table = self.lock();
                let file = table.first()?;
                let reading = table.files[file].reading.clone();
                if reading.is_none() {
                    // Removed from the queue, so that only this worker opens it.
                    table.queue.pop();
                }
                (file, reading)
            };
            let Some(reading) = reading else {
                if !self.open(file) {
                    // The scene reports the error when it reaches the file.
                    return Some(PbrtOrigin::nothing());
                }
                continue;
            };
            if let Some(origin) = self.take_from(file, &reading, text) {
                return Some(origin);
            }
        }
    }

    fn take_from(&self, file: usize, reading: &PbrtReading, text: &mut Text) -> Option<PbrtOrigin> {
        let (piece, taken) = if reading.text.in_order() {
            // The lock covers the read: this source cannot be read out of order.
            let mut next = reading.in_order.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = reading.text.take(*next, text);
            *next += 1;
            (*next - 1, taken)
        } else {
            let piece = reading.next.fetch_add(1, Ordering::Relaxed);
            (piece, reading.text.take(piece, text))
        };
        match taken {
            Ok(true) => Some(PbrtOrigin { file, piece, failed: None }),
            Ok(false) => {
                self.end(file, piece);
                None
            }
            Err(error) => {
                self.end(file, piece + 1);
                Some(PbrtOrigin { file, piece, failed: Some(error) })
            }
        }
    }

    /// Reads a piece of `bytes` bytes again, this time with its gaps filled.
    pub(super) fn fill(&self, origin: &PbrtOrigin, text: &mut Text, bytes: u64) -> Result<()> {
        let reading = self.lock().files[origin.file].reading.clone();
        let missing = || Error::new(ErrorKind::Internal, "a file of the scene is missing; this is a bug in polyhaul");
        reading.ok_or_else(missing)?.text.fill(text, bytes as usize)
    }

    /// Records that a file has at most `count` pieces.
    fn end(&self, file: usize, count: u64) {
        let mut table = self.lock();
        let entry = &mut table.files[file];
        // Several workers may find the end, each at a different piece.
        entry.piece_count = Some(entry.piece_count.map_or(count, |earlier| earlier.min(count)));
    }

    /// Stores a piece until the scene reaches it.
    pub(super) fn put(&self, origin: &PbrtOrigin, piece: FilePiece) {
        if !origin.is_nothing() {
            self.lock().files[origin.file].pieces.insert(origin.piece, piece);
        }
    }

    /// Returns the state of a piece, and removes it.
    pub(super) fn next(&self, file: usize, piece: u64) -> PbrtNext {
        let mut table = self.lock();
        let entry = &mut table.files[file];
        if let Some(error) = entry.refused.take() {
            return PbrtNext::Refused(error);
        }
        if let Some(piece) = entry.pieces.remove(&piece) {
            return PbrtNext::Piece(piece);
        }
        match entry.piece_count {
            Some(count) if piece >= count => PbrtNext::End,
            _ => PbrtNext::Wait,
        }
    }

    /// Closes a file that the scene has finished.
    pub(super) fn close(&self, file: usize, cancel: &Cancel) -> Result<()> {
        let reading = self.lock().files[file].reading.take();
        match reading {
            Some(reading) => {
                reading.text.check_end(Extent::Whole, cancel)?;
                self.opener.close(reading.key)
            }
            None => Ok(()),
        }
    }
}

/// Returns whether the scene needs one file before another. Nested files precede the rest of their parent.
fn is_before(order: &[u64], other: &[u64]) -> bool {
    let mut order = order.iter();
    let mut other = other.iter();
    loop {
        match (order.next(), other.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => return a < b,
            (Some(_), None) => return true,
            (None, _) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_before;

    #[test]
    fn files_are_needed_in_the_order_of_the_scene() {
        let orders: [&[u64]; 5] = [&[1, 5], &[1], &[2, 0, 7], &[2], &[]];
        for (at, file) in orders.iter().enumerate() {
            for (other_at, other) in orders.iter().enumerate() {
                assert_eq!(is_before(file, other), at < other_at, "{file:?} {other:?}");
            }
        }
    }
}
