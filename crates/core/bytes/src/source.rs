//! Inputs: a file, an object in an object store, standard input, memory, or a host's reader or callbacks.
//!
//! Regular files (`source/file.rs`), memory, objects whose server supports ranges, members of compressed data with
//! known sizes, and views of hosts that can seek are *positioned*: any thread can read any range. All other sources are
//! *streams*, read in order under a lock (`source/stream.rs`). Except for [`Source::read_part`], a source returns fewer
//! bytes than requested only at its end. It requests at least 64 KiB at a time from a stream. For small sequential
//! reads, see `buffer`.

mod decoded;
mod file;
mod prefetch;
mod stream;

use crate::BLOCK_BYTES;
use crate::codec::Codec;
use crate::host::{self, HostRead, HostReader, HostStream, HostView, SharedHost};
use crate::memory::grow;
use crate::place;
use crate::remote::{self, Remote, RemoteObject};
use crate::stop::{StopFlag, StoppableReader};
use crate::throttle::{FetchedPages, Throttle};
use file::{RegularFile, directory_error, open_without_waiting, refuse_irregular, stdin_file};
use polyhaul_trace::Counters;
use polyhaul_trace::{FileKind, Phase, Trace};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use stream::PeekableStream;

pub use decoded::DecodeAhead;
pub(crate) use decoded::PlainPieces;
pub use prefetch::Prefetch;

/// Bytes to read. Clones are cheap, and refer to the same source.
///
/// `'a` is the lifetime of borrowed memory or a borrowed reader; without one, a source is `Source<'static>`.
///
/// ```
/// use polyhaul_bytes::Source;
///
/// # fn main() -> std::io::Result<()> {
/// let source = Source::memory(b"v 0 0 0\n");
/// let mut block = [0; 16];
/// assert_eq!(source.read_at(2, &mut block)?, 6);
/// assert_eq!(&block[..6], b"0 0 0\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Source<'a> {
    shared: Arc<SharedSource<'a>>,
}

struct SharedSource<'a> {
    name: String,
    kind: SourceKind<'a>,
    /// The offset in bytes at which `read_next` of a positioned source continues.
    next: Mutex<u64>,
    counters: Arc<Counters>,
    /// The codec and the compressed source, if this source decompresses.
    compressed: Option<(Codec, Source<'a>)>,
    /// Decodes parts of a stream before they are read.
    ahead: Option<Box<dyn DecodeAhead + Send + 'a>>,
    /// The size of a stream in bytes, as declared by its host or archive.
    claimed: Option<u64>,
    /// The host that a stream reads from.
    host: Option<SharedHost<'a>>,
    /// Peeked bytes of a file, an object or members: the bytes at the start, and the bytes at the last other offset.
    peeked: Mutex<[Peeked; 2]>,
}

/// Peeked bytes and their offset.
#[derive(Clone, Default)]
struct Peeked {
    offset: u64,
    bytes: Arc<Vec<u8>>,
}

/// Copies peeked bytes at `offset`. Returns the number of copied bytes.
fn copy_peeked(peeked: &[Peeked; 2], offset: u64, out: &mut [u8]) -> usize {
    let mut filled = 0;
    for Peeked { offset: start, bytes } in peeked {
        let at = (offset + filled as u64).checked_sub(*start);
        filled += at.map_or(0, |at| copy_from(bytes, at, &mut out[filled..]));
    }
    filled
}

enum SourceKind<'a> {
    File(RegularFile),
    Remote(RemoteObject),
    Stream(Mutex<PeekableStream<'a>>),
    Host(HostView<'a>),
    Part(Source<'a>, Range<u64>),
    Memory(Box<dyn AsRef<[u8]> + Send + Sync + 'a>),
    Members(Box<dyn PlainPieces + 'a>),
}

impl<'a> SharedSource<'a> {
    /// `phase` is the trace phase of threads during calls of this source; `Other` if another source makes the calls.
    fn new(name: String, kind: SourceKind<'a>, phase: Phase) -> Self {
        let counters = Arc::new(Counters::from_phase(phase));
        let is_memory = matches!(kind, SourceKind::Memory(_));
        let is_file = matches!(kind, SourceKind::File(_));
        Trace::opened(&name, FileKind { is_output: false, is_file, is_memory }, &counters);
        SharedSource {
            name,
            kind,
            next: Mutex::new(0),
            counters,
            compressed: None,
            ahead: None,
            claimed: None,
            host: None,
            peeked: Mutex::default(),
        }
    }
}

impl<'a> Source<'a> {
    /// Opens a path or URL given by the user. A regular file is positioned; a FIFO or device is a stream. Opening or
    /// reading a FIFO waits for its writer.
    ///
    /// `/dev/stdin` and `/dev/fd/N` continue at the position of that descriptor. Files of length 0 are streams, because
    /// files in `/proc` always report 0.
    ///
    /// # Errors
    /// Errors of the system; `IsADirectory` for a folder.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_with(path.as_ref(), StopFlag::default())
    }

    /// Like [`Source::open`], but once `stop` is set, calls that wait for the writer of a pipe or FIFO fail within 100
    /// ms, with [`Stopped`](crate::Stopped) as the cause. Except on Linux, opening a FIFO still waits for its writer;
    /// on Windows, reading waits too.
    ///
    /// # Errors
    /// As for [`Source::open`].
    pub fn open_until(path: impl AsRef<Path>, stop: Arc<AtomicBool>) -> io::Result<Self> {
        Self::open_with(path.as_ref(), StopFlag(Some(stop)))
    }

    fn open_with(path: &Path, stop: StopFlag) -> io::Result<Self> {
        if place::is_url(path) {
            return Self::open_url(path, &stop);
        }
        place::check_scheme(path)?;
        #[cfg(unix)]
        if let Some(file) = crate::descriptor::duplicate(path)? {
            return Self::from_file(file, None, display(path), stop);
        }
        // On other systems, a FIFO without a writer would appear to have ended if it was opened without waiting.
        let opened = match stop.0 {
            Some(_) if cfg!(target_os = "linux") => open_without_waiting(path),
            _ => File::open(path),
        };
        match opened {
            Ok(file) => Self::from_file(file, Some(0), display(path), stop),
            // Windows' own message does not mention that the path is a folder.
            Err(_) if path.is_dir() => Err(directory_error()),
            Err(error) => Err(error),
        }
    }

    /// Opens a file that another file refers to. Accepts only regular files, symlinks to them, and URLs, so that
    /// opening never waits for another process.
    ///
    /// # Errors
    /// Errors of the system; `IsADirectory` for a folder; `InvalidInput` for a FIFO, a device or a socket.
    pub fn open_regular(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        if place::is_url(path) {
            return Self::open_url(path, &StopFlag::default());
        }
        // Checked before opening, because opening a device may already have an effect.
        if place::leads_to_device(path) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a device, not a regular file"));
        }
        refuse_irregular(&fs::metadata(path)?)?;
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        refuse_irregular(&metadata)?;
        let regular = RegularFile::new(file, 0, &metadata);
        Ok(Self::new(display(path), SourceKind::File(regular), Phase::Read))
    }

    /// Opens an object in an object store. The source is positioned if the server supports ranges.
    fn open_url(url: &Path, stop: &StopFlag) -> io::Result<Self> {
        let name = place::shown(url);
        if place::is_folder(url) {
            return Err(directory_error());
        }
        Ok(match remote::open(&place::url_text(url)?, stop)? {
            Remote::Object(object) => Self::new(name, SourceKind::Remote(object), Phase::Read),
            Remote::Stream(stream) => {
                Self::new(name, SourceKind::Stream(Mutex::new(PeekableStream::new(stream))), Phase::Read)
            }
        })
    }

    /// Opens standard input at its current position. The source is positioned if standard input is a regular file.
    /// Skips bytes that `std::io::stdin` has buffered.
    ///
    /// # Errors
    /// Fails if there is no standard input.
    pub fn stdin() -> io::Result<Self> {
        Self::stdin_with(StopFlag::default())
    }

    /// Like [`Source::stdin`], but stops once `stop` is set; see [`Source::open_until`].
    ///
    /// # Errors
    /// As for [`Source::stdin`].
    pub fn stdin_until(stop: Arc<AtomicBool>) -> io::Result<Self> {
        Self::stdin_with(StopFlag(Some(stop)))
    }

    fn stdin_with(stop: StopFlag) -> io::Result<Self> {
        Self::from_file(stdin_file()?, None, "standard input".to_owned(), stop)
    }

    /// Creates a source of bytes in memory, without a copy: `&[u8]`, `Vec<u8>`, `Arc<[u8]>` or any other `AsRef<[u8]>`.
    pub fn memory(bytes: impl AsRef<[u8]> + Send + Sync + 'a) -> Self {
        Self::new("memory".to_owned(), SourceKind::Memory(Box::new(bytes)), Phase::Read)
    }

    /// Like [`Source::memory`], with a name for messages.
    pub fn named_memory(bytes: impl AsRef<[u8]> + Send + Sync + 'a, name: impl Into<String>) -> Self {
        Self::new(name.into(), SourceKind::Memory(Box::new(bytes)), Phase::Read)
    }

    /// Creates a stream that reads from `reader` in calls of at least 64 KiB.
    ///
    /// [`Source::name`] returns `name`. The reader may return fewer bytes than requested, or `Interrupted`; 0 bytes is
    /// the end. After the end or an error, it is not called again, and the error is repeated. Returning more bytes than
    /// requested is an error.
    pub fn reader(reader: Box<dyn Read + Send + 'a>, name: impl Into<String>) -> Self {
        Self::new(name.into(), SourceKind::Stream(Mutex::new(PeekableStream::new(reader))), Phase::Host)
    }

    /// Creates a stream that reads from a host in calls of at least 64 KiB; see [`HostRead`]. Its failures are a
    /// [`HostFault`](crate::HostFault).
    ///
    /// If the host can seek and has a size, [`Source::positioned`] makes it readable at any offset.
    pub fn host(host: Box<dyn HostRead + 'a>, name: impl Into<String>) -> Self {
        let host = Arc::new(Mutex::new(HostReader::new(host)));
        let claimed = host::lock(&host).size();
        let kind = SourceKind::Stream(Mutex::new(PeekableStream::new(Box::new(HostStream(host.clone())))));
        let shared = SharedSource { claimed, host: Some(host), ..SharedSource::new(name.into(), kind, Phase::Host) };
        Source { shared: Arc::new(shared) }
    }

    fn new(name: String, kind: SourceKind<'a>, phase: Phase) -> Self {
        Source { shared: Arc::new(SharedSource::new(name, kind, phase)) }
    }

    fn with_compressed(name: String, kind: SourceKind<'a>, compressed: Option<(Codec, Source<'a>)>) -> Self {
        Source { shared: Arc::new(SharedSource { compressed, ..SharedSource::new(name, kind, Phase::Decompress) }) }
    }

    /// Returns a positioned source of the same bytes, from their start. A stream can only be converted if its host can
    /// seek and has a size; otherwise, returns `None`. After a stream is converted, it must not be read any more.
    ///
    /// # Errors
    /// Errors of the host.
    pub fn positioned(&self) -> io::Result<Option<Source<'a>>> {
        let SourceKind::Stream(stream) = &self.shared.kind else { return Ok(Some(self.clone())) };
        let Some(host) = &self.shared.host else { return Ok(None) };
        let Some(size) = HostView::size_of(host)? else { return Ok(None) };
        let view = HostView::new(host.clone(), size, lock(stream)?.give_up())?;
        let counters = self.shared.counters.clone();
        let shared = SharedSource {
            counters,
            ..SharedSource::new(self.name().to_owned(), SourceKind::Host(view), Phase::Other)
        };
        Ok(Some(Source { shared: Arc::new(shared) }))
    }

    /// Creates a stream of the uncompressed bytes of `packed`. `ahead` decodes parts of them in advance.
    pub(crate) fn decoded(
        codec: Codec,
        packed: Source<'a>,
        plain: Box<dyn Read + Send + 'a>,
        ahead: Option<Box<dyn DecodeAhead + Send + 'a>>,
    ) -> Self {
        let kind = SourceKind::Stream(Mutex::new(PeekableStream::new(plain)));
        let name = packed.name().to_owned();
        let compressed = Some((codec, packed));
        Source {
            shared: Arc::new(SharedSource { compressed, ahead, ..SharedSource::new(name, kind, Phase::Decompress) }),
        }
    }

    /// Creates a stream of the uncompressed bytes of an archive member. `plain_bytes` is its size according to the
    /// archive, and `packed` is the part of the archive that contains it.
    pub(crate) fn member(name: String, packed: Source<'a>, plain: Box<dyn Read + Send + 'a>, plain_bytes: u64) -> Self {
        let kind = SourceKind::Stream(Mutex::new(PeekableStream::new(plain)));
        let shared = SharedSource {
            compressed: Some((Codec::Zip, packed)),
            claimed: Some(plain_bytes),
            ..SharedSource::new(name, kind, Phase::Decompress)
        };
        Source { shared: Arc::new(shared) }
    }

    /// Creates a source of a range of a positioned source, which must contain the range.
    pub fn part(name: String, whole: Source<'a>, range: Range<u64>) -> Self {
        Self::new(name, SourceKind::Part(whole, range), Phase::Other)
    }

    /// Creates a positioned source of the uncompressed bytes of `compressed`.
    pub(crate) fn members(codec: Codec, compressed: Source<'a>, members: Box<dyn PlainPieces + 'a>) -> Self {
        let kind = SourceKind::Members(members);
        Self::with_compressed(compressed.name().to_owned(), kind, Some((codec, compressed)))
    }

    /// Creates a stream of a pipe or a device.
    fn pipe(file: File, name: String, stop: StopFlag) -> Self {
        let reader = StoppableReader { file, stop };
        Self::new(name, SourceKind::Stream(Mutex::new(PeekableStream::new(Box::new(reader)))), Phase::Read)
    }

    /// Creates a source of a file from offset `base`, or from its current position if that is `None`.
    fn from_file(mut file: File, base: Option<u64>, name: String, stop: StopFlag) -> io::Result<Self> {
        let metadata = match file.metadata() {
            Ok(metadata) => metadata,
            // Windows has no metadata for pipes and consoles.
            Err(_) if cfg!(windows) => return Ok(Self::pipe(file, name, stop)),
            Err(error) => return Err(error),
        };
        if metadata.is_dir() {
            return Err(directory_error());
        }
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(Self::pipe(file, name, stop));
        }
        let base = base.map_or_else(|| file.stream_position(), Ok)?;
        let regular = RegularFile::new(file, base, &metadata);
        Ok(Self::new(name, SourceKind::File(regular), Phase::Read))
    }

    /// Limits the source and all its clones to the rate of `throttle`. If the source decompresses or is part of another
    /// source, the rate applies to the underlying bytes.
    ///
    /// Call it once, before the first read; later calls have no effect.
    #[must_use]
    pub fn throttled(self, throttle: &Throttle) -> Self {
        let outside = &self.outside().shared;
        let fetched = match &outside.kind {
            SourceKind::File(file) => FetchedPages::none_of(file.len),
            _ => None,
        };
        outside.counters.set_delay(throttle.of_calls(fetched));
        self
    }

    /// Returns the source whose bytes enter the process: the innermost one, if this source decompresses or is a part.
    fn outside(&self) -> &Source<'a> {
        match (&self.shared.compressed, &self.shared.kind) {
            (Some((_, compressed)), _) => compressed.outside(),
            (None, SourceKind::Part(whole, _)) => whole.outside(),
            _ => self,
        }
    }

    /// Returns the name of this source in messages: the path, the URL without secrets, "standard input", "memory" or
    /// the name of the reader or host.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the size in bytes, or `None` for a stream. For a file, this is its size when it was opened.
    #[allow(clippy::len_without_is_empty, reason = "a stream cannot say whether it is empty")]
    pub fn len(&self) -> Option<u64> {
        match &self.shared.kind {
            SourceKind::File(file) => Some(file.len),
            SourceKind::Remote(object) => Some(object.len()),
            SourceKind::Memory(memory) => Some((**memory).as_ref().len() as u64),
            SourceKind::Members(members) => Some(members.len()),
            SourceKind::Host(view) => Some(view.len()),
            SourceKind::Part(_, range) => Some(range.end - range.start),
            SourceKind::Stream(_) => None,
        }
    }

    /// Returns [`Source::len`], or the size of a stream that its host or archive declares. This is for progress
    /// reports, not for allocation.
    pub fn claimed_len(&self) -> Option<u64> {
        self.len().or(self.shared.claimed)
    }

    /// Returns the byte range of piece `number`, if this source has pieces: parts that cover it and are best read as a
    /// whole. Pieces are groups of members of compressed data: a read inside a piece may decode it from its start.
    pub fn piece(&self, number: u64) -> Option<Range<u64>> {
        match &self.shared.kind {
            SourceKind::Members(members) => members.piece(number),
            _ => None,
        }
    }

    /// Decodes a [piece](Source::piece) to its end if only part of it was read or, with `is_whole`, if none of it was,
    /// because only the end reveals damage. Call it after the last read.
    ///
    /// # Errors
    /// Like [`read_at`](Source::read_at).
    pub fn check_piece(&self, number: u64, is_whole: bool) -> io::Result<()> {
        match &self.shared.kind {
            SourceKind::Members(members) => {
                self.shared.counters.transfer(|| members.check_piece(number, is_whole).map(|()| 0)).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Returns the size of the largest piece in bytes, if this source has [pieces](Source::piece).
    pub fn piece_bytes(&self) -> Option<usize> {
        match &self.shared.kind {
            SourceKind::Members(members) => Some(members.piece_bytes()),
            _ => None,
        }
    }

    /// Records the bytes read from the start of a stream, up to `limit_bytes`, so that they can be read again. Does
    /// nothing for other sources, and after the first read.
    ///
    /// ```
    /// use polyhaul_bytes::Source;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// let source = Source::reader(Box::new(&b"a pipe"[..]), "pipe");
    /// source.record(100)?;
    /// let mut block = [0; 8];
    /// assert_eq!(source.read_next(&mut block)?, 6);
    /// assert!(source.rewind()?);
    /// assert_eq!(source.read_next(&mut block)?, 6);
    /// assert!(!source.rewind()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `OutOfMemory`; an error if another thread panicked while reading.
    pub fn record(&self, limit_bytes: usize) -> io::Result<()> {
        match &self.shared.kind {
            SourceKind::Stream(stream) => lock(stream)?.record(limit_bytes),
            _ => Ok(()),
        }
    }

    /// Returns whether a [recorded](Source::record) stream failed and holds the original error. While it is recorded,
    /// reads return copies of the error with the same message; after that, one read returns the original error.
    pub fn holds_error(&self) -> bool {
        match &self.shared.kind {
            SourceKind::Stream(stream) => lock(stream).is_ok_and(|stream| stream.holds_error()),
            _ => false,
        }
    }

    /// Frees the bytes recorded by [`Source::record`].
    pub fn stop_recording(&self) {
        if let SourceKind::Stream(stream) = &self.shared.kind
            && let Ok(mut stream) = lock(stream)
        {
            stream.stop_recording();
        }
    }

    /// Rewinds a stream to its start if everything read so far was recorded. Returns whether it did. This consumes the
    /// recording. For other sources, which can be read at any offset, does nothing and returns `true`.
    ///
    /// # Errors
    /// An error if another thread panicked while reading.
    pub fn rewind(&self) -> io::Result<bool> {
        match &self.shared.kind {
            SourceKind::Stream(stream) => Ok(lock(stream)?.rewind()),
            _ => Ok(true),
        }
    }

    /// Returns whether [`Source::read_at`] works, also from several threads at the same time.
    pub fn is_positioned(&self) -> bool {
        !matches!(self.shared.kind, SourceKind::Stream(_))
    }

    /// Returns all bytes if they are in memory and not [throttled](Source::throttled).
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.shared.kind {
            SourceKind::Memory(memory) if !self.shared.counters.is_throttled() => Some((**memory).as_ref()),
            _ => None,
        }
    }

    /// Reads at `offset` until `out` is full or the source ends. A smaller result, including 0, means the end.
    ///
    /// # Errors
    /// `Unsupported` for a stream; `UnexpectedEof` if a file ends before the size it had when it was opened; errors of
    /// the system.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        if !matches!(self.shared.kind, SourceKind::File(_) | SourceKind::Remote(_) | SourceKind::Members(_)) {
            return self.fetch(offset, out);
        }
        let peeked = lock(&self.shared.peeked)?.clone();
        let count = copy_peeked(&peeked, offset, out);
        match out.get_mut(count..) {
            Some(rest) if !rest.is_empty() => Ok(count + self.fetch(offset + count as u64, rest)?),
            _ => Ok(count),
        }
    }

    /// Like [`Source::read_at`], but buffers the bytes, at least a block, until another offset is peeked at; bytes at
    /// the start stay buffered. Later reads take them from memory, so no byte is read twice. Bytes of a
    /// [part](Source::part) or a host are not buffered. Peeking at a source in memory is not counted.
    ///
    /// # Errors
    /// Like [`Source::read_at`].
    pub fn peek_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match &self.shared.kind {
            SourceKind::File(_) | SourceKind::Remote(_) | SourceKind::Members(_) => {}
            SourceKind::Memory(memory) => return Ok(copy_from((**memory).as_ref(), offset, out)),
            _ => return self.read_at(offset, out),
        }
        let left = self.len().unwrap_or(0).saturating_sub(offset);
        let up_to_end = |count: usize| usize::try_from(left).map_or(count, |left| left.min(count));
        let mut peeked = lock(&self.shared.peeked)?;
        let count = copy_peeked(&peeked, offset, out);
        if count == up_to_end(out.len()) {
            return Ok(count);
        }
        let mut bytes = Vec::new();
        grow(&mut bytes, up_to_end(out.len().max(BLOCK_BYTES)))?;
        let peeked_count = copy_peeked(&peeked, offset, &mut bytes);
        let fetched_count = self.fetch(offset + peeked_count as u64, &mut bytes[peeked_count..])?;
        bytes.truncate(peeked_count + fetched_count);
        let count = copy_from(&bytes, 0, out);
        peeked[usize::from(offset > 0)] = Peeked { offset, bytes: Arc::new(bytes) };
        Ok(count)
    }

    /// Reads at `offset` from the underlying source, bypassing peeked bytes.
    fn fetch(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match &self.shared.kind {
            SourceKind::File(file) => file.read_at(offset, out, &self.shared.counters),
            SourceKind::Remote(object) => self.shared.counters.transfer(|| object.read_at(offset, out)),
            SourceKind::Memory(memory) => {
                self.shared.counters.transfer(|| Ok(copy_from((**memory).as_ref(), offset, out)))
            }
            SourceKind::Members(members) => self.shared.counters.transfer(|| members.read_at(offset, out)),
            SourceKind::Host(view) => view.read_at(offset, out, &self.shared.counters),
            SourceKind::Part(whole, range) => {
                let left = (range.end - range.start).saturating_sub(offset);
                let count = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
                self.shared.counters.transfer(|| whole.read_at(range.start + offset, &mut out[..count]))
            }
            SourceKind::Stream(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "a stream can only be read sequentially"))
            }
        }
    }

    /// Reads at the current position until `out` is full or the source ends. A smaller result, including 0, means the
    /// end.
    ///
    /// All clones of a source share the position. Streams are read in blocks of at least 64 KiB for any length of
    /// `out`; a length of 64 KiB or more saves a copy. For files, prefer [`Source::read_at`] or a
    /// [`Buffer`](crate::Buffer).
    ///
    /// # Errors
    /// Errors of the reader or the system, and of [`Source::read_at`]; the bytes of the failed call are lost.
    pub fn read_next(&self, out: &mut [u8]) -> io::Result<usize> {
        if let SourceKind::Stream(stream) = &self.shared.kind {
            return lock(stream)?.read_full(out, &self.shared.counters);
        }
        let mut next = lock(&self.shared.next)?;
        let count = self.read_at(*next, out)?;
        *next += count as u64;
        Ok(count)
    }

    /// Like [`Source::read_next`], but a stream returns the bytes of a single call of its reader, at least one unless
    /// it has ended. So bytes before an error are not lost.
    ///
    /// # Errors
    /// Like [`Source::read_next`].
    pub fn read_part(&self, out: &mut [u8]) -> io::Result<usize> {
        match &self.shared.kind {
            SourceKind::Stream(stream) => lock(stream)?.read_once(out, &self.shared.counters),
            _ => self.read_next(out),
        }
    }

    /// Reads from a stream with a single call, at least one byte unless it has ended; reads other sources like
    /// `read_at`.
    pub(crate) fn read_some(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match &self.shared.kind {
            SourceKind::Stream(_) => self.read_part(out),
            _ => self.read_at(offset, out),
        }
    }

    /// Returns the work that idle threads can do ahead of this stream's reader, if parts of the stream can be decoded
    /// ahead.
    pub fn ahead(&self) -> Option<&dyn DecodeAhead> {
        self.shared.ahead.as_deref().map(|ahead| ahead as _)
    }

    /// Returns a [`Prefetch`] for the underlying file, if it is large.
    pub fn prefetch(&self) -> Option<Prefetch<'_>> {
        let outside = &self.outside().shared;
        match &outside.kind {
            SourceKind::File(file) => Prefetch::of_large(file, &outside.counters),
            _ => None,
        }
    }

    /// Returns whether the source is positioned and needs neither a host nor a network.
    pub(crate) fn is_local(&self) -> bool {
        match &self.shared.kind {
            SourceKind::File(_) | SourceKind::Memory(_) => true,
            SourceKind::Part(whole, _) => whole.is_local(),
            _ => false,
        }
    }

    /// Fails if a file's size or modification time changed since it was opened. Call it after the last read.
    ///
    /// # Errors
    /// `InvalidData` if it changed; errors of the system. Streams and memory never fail. A source that decompresses
    /// checks the underlying file.
    pub fn check_unchanged(&self) -> io::Result<()> {
        match (&self.shared.kind, &self.shared.compressed) {
            (_, Some((_, compressed))) => compressed.check_unchanged(),
            (SourceKind::File(file), None) => file.check_unchanged(),
            (SourceKind::Part(whole, _), None) => whole.check_unchanged(),
            _ => Ok(()),
        }
    }

    /// Copies the first bytes into `out` without consuming them. Returns the number of bytes, which is less than
    /// `out.len()` only at the end.
    ///
    /// For a stream, copies the next unread bytes.
    pub fn peek(&self, out: &mut [u8]) -> io::Result<usize> {
        match &self.shared.kind {
            SourceKind::Stream(stream) => lock(stream)?.peek(out, &self.shared.counters),
            _ => self.peek_at(0, out),
        }
    }

    /// Returns the codec, if this source was created by [`decompressed`](crate::decompressed) or
    /// [`Archive::member`](crate::Archive::member).
    pub fn codec(&self) -> Option<Codec> {
        self.shared.compressed.as_ref().map(|(codec, _)| *codec)
    }

    /// Returns the underlying compressed source, if this one decompresses. Only use its properties, such as
    /// [`len`](Source::len): do not read from it.
    pub fn compressed(&self) -> Option<&Source<'a>> {
        self.shared.compressed.as_ref().map(|(_, source)| source)
    }

    /// Returns the counters (bytes, calls, waiting time) of the underlying compressed source, if this one decompresses.
    pub fn compressed_counters(&self) -> Option<&Arc<Counters>> {
        self.compressed().map(Source::counters)
    }

    /// Returns the counters (bytes, calls, waiting time) of this source and all its clones.
    ///
    /// A source that decompresses counts uncompressed bytes and the time spent decompressing.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name()).field("len", &self.len()).finish_non_exhaustive()
    }
}

fn copy_from(bytes: &[u8], offset: u64, out: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    let count = rest.len().min(out.len());
    out[..count].copy_from_slice(&rest[..count]);
    count
}

/// Locks a mutex. If a read panicked under the lock, the state is unknown: this fails instead of panicking again.
fn lock<T>(mutex: &Mutex<T>) -> io::Result<MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| io::Error::other("an earlier read panicked"))
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
