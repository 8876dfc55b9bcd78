//! Outputs: a file that is replaced in one step, standard output, memory, or a host's writer or callbacks.
//!
//! A sink passes each block to the system immediately and buffers only small writes to a host, so write large blocks.
//! Only [`Sink::finish`] reports success. For the order of file operations, see `sink/file.rs`; for temporary files in
//! use, `sink/temporary.rs`; for files of killed processes, `sink/leftovers.rs`.

mod file;
mod leftovers;
mod temporary;

pub use temporary::remove_temporaries;

use crate::error::retry;
use crate::hash::Xxh3;
use crate::host::{HostSink, HostWrite};
use crate::layer::{Disk, Layer};
use crate::memory::reserve;
use crate::place;
use crate::remote::RemoteUpload;
use crate::stop::StopFlag;
use crate::throttle::Throttle;
use file::{CompleteFile, FileSink, PlacedFile};
use polyhaul_fault::planted;
use polyhaul_trace::{Counters, Snapshot};
use polyhaul_trace::{FileKind, Phase, Trace};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options for writing a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileOptions {
    /// Whether the new file survives a power failure after [`Sink::finish`]: syncs the file, renames it, and syncs the
    /// folder. By default, a power failure soon afterwards may leave the old or the new file. Windows cannot sync
    /// folders.
    pub durable: bool,
    /// Whether [`Complete::put_all_in_place`] puts another file of the same folder in place after this one, and syncs
    /// the folder for both.
    pub is_part: bool,
    /// Whether to compute [`Finished::hash`].
    pub hash: bool,
}

impl FileOptions {
    /// Sets [`FileOptions::durable`].
    #[must_use]
    pub fn with_durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Sets [`FileOptions::hash`].
    #[must_use]
    pub fn with_hash(mut self, hash: bool) -> Self {
        self.hash = hash;
        self
    }

    /// Sets [`FileOptions::is_part`].
    #[must_use]
    pub fn with_part(mut self, is_part: bool) -> Self {
        self.is_part = is_part;
        self
    }
}

/// The result of a finished sink.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Bytes, calls and waiting time of all writes.
    pub counters: Snapshot,
    /// The bytes of [`Sink::memory`]; `None` for all other sinks.
    pub bytes: Option<Vec<u8>>,
    /// The 128-bit XXH3 hash of the bytes written, if [`FileOptions::hash`] is set.
    pub hash: Option<u128>,
}

/// A sequential output. Dropping it without [`Sink::finish`] abandons the output: a file keeps its old content.
///
/// ```
/// use polyhaul_bytes::Sink;
///
/// # fn main() -> std::io::Result<()> {
/// let mut sink = Sink::memory();
/// sink.write_all(b"v 0 0 0\n")?;
/// assert_eq!(sink.finish()?.bytes.as_deref(), Some(&b"v 0 0 0\n"[..]));
/// # Ok(())
/// # }
/// ```
pub struct Sink<'a> {
    name: String,
    kind: SinkKind<'a>,
    counters: Arc<Counters>,
    failed: bool,
    hash: Option<Box<Xxh3>>,
}

enum SinkKind<'a> {
    File(FileSink),
    Memory(Vec<u8>),
    Writer(Box<dyn Write + Send + 'a>),
    Host(HostSink<'a>),
    Upload(RemoteUpload),
}

impl<'a> Sink<'a> {
    /// Creates or replaces the file `path` in one step, when the sink is finished.
    ///
    /// The bytes are written to a temporary file, whose name starts with a dot, in the same folder. A symlink stays,
    /// and its target is replaced. The new file has the mode of the old one (and its owner, if the system allows that),
    /// or 0666 with the umask applied. Other hard links to the old file keep the old content. Access control lists and
    /// extended attributes are not preserved.
    ///
    /// A URL is uploaded, and appears when the sink is finished; see [`place`].
    ///
    /// Special files (devices, FIFOs, `/dev/stdout`, `/dev/fd/N`) are written directly.
    ///
    /// SIGKILL or a power failure may leave the temporary file behind; for other signals, see [`remove_temporaries`].
    /// The temporary file is locked while in use. A later `Sink::file` in the same folder removes temporary files that
    /// are not locked and have not changed for a minute.
    ///
    /// # Errors
    /// Errors of the system, with an explanation, for example that the folder must be writable; `IsADirectory` for a
    /// folder.
    pub fn file(path: impl AsRef<Path>, options: FileOptions) -> io::Result<Self> {
        Self::file_with(Arc::new(Disk), path, options)
    }

    /// Like [`Sink::file`], but once `stop` is set, calls that wait for the reader of a FIFO fail within 100 ms, with
    /// [`Stopped`](crate::Stopped) as the cause. A write to `/dev/stdout` or `/dev/fd/N` still waits for its reader.
    ///
    /// # Errors
    /// As for [`Sink::file`].
    pub fn file_until(path: impl AsRef<Path>, options: FileOptions, stop: Arc<AtomicBool>) -> io::Result<Self> {
        Self::create(Arc::new(Disk), path.as_ref(), options, StopFlag(Some(stop)))
    }

    /// Like [`Sink::file`], with the file operations of `layer` instead of [`Disk`].
    ///
    /// # Errors
    /// As for [`Sink::file`].
    pub fn file_with(layer: Arc<dyn Layer>, path: impl AsRef<Path>, options: FileOptions) -> io::Result<Self> {
        Self::create(layer, path.as_ref(), options, StopFlag::default())
    }

    fn create(layer: Arc<dyn Layer>, path: &Path, options: FileOptions, stop: StopFlag) -> io::Result<Self> {
        if place::is_url(path) {
            let upload = RemoteUpload::create(&place::url_text(path)?, &stop)?;
            return Ok(Self::new(place::shown(path), SinkKind::Upload(upload)).hashed(options));
        }
        place::check_scheme(path)?;
        let file = FileSink::create(layer, path, options, stop)?;
        Ok(Self::new(path.display().to_string(), SinkKind::File(file)).hashed(options))
    }

    fn hashed(mut self, options: FileOptions) -> Self {
        self.hash = options.hash.then(|| Box::new(Xxh3::new()));
        self
    }

    /// Creates a sink for standard output, after flushing text buffered by `std::io::stdout`.
    ///
    /// # Errors
    /// Fails if there is no standard output, or if the flush fails.
    pub fn stdout() -> io::Result<Self> {
        io::stdout().flush()?;
        let file = FileSink::direct(Arc::new(Disk), stdout_file()?, FileOptions::default());
        Ok(Self::new("standard output".to_owned(), SinkKind::File(file)))
    }

    /// Creates a sink in memory; [`Sink::finish`] returns the bytes. Running out of memory is an error, not an abort.
    pub fn memory() -> Self {
        Self::new("memory".to_owned(), SinkKind::Memory(Vec::new()))
    }

    /// Creates a sink for a writer, which is called for each block and flushed at the end. [`Sink::name`] returns
    /// `name`.
    ///
    /// The writer may accept fewer bytes than passed, or return `Interrupted`. Accepting no bytes, or more than passed,
    /// is an error.
    pub fn writer(writer: Box<dyn Write + Send + 'a>, name: impl Into<String>) -> Self {
        Self::new(name.into(), SinkKind::Writer(writer))
    }

    /// Creates a sink for a host's callbacks, which are called with blocks of at least 64 KiB except for the last one;
    /// see [`HostWrite`]. Their failures are a [`HostFault`](crate::HostFault).
    pub fn host(host: Box<dyn HostWrite + 'a>, name: impl Into<String>) -> Self {
        Self::new(name.into(), SinkKind::Host(HostSink::new(host)))
    }

    fn new(name: String, kind: SinkKind<'a>) -> Self {
        let is_host = matches!(kind, SinkKind::Writer(_) | SinkKind::Host(_));
        let counters = Arc::new(Counters::from_phase(if is_host { Phase::Host } else { Phase::Write }));
        let is_memory = matches!(kind, SinkKind::Memory(_));
        // A pipe or a device is not on a disk.
        let is_file = matches!(&kind, SinkKind::File(file) if file.is_replacement());
        Trace::opened(&name, FileKind { is_output: true, is_file, is_memory }, &counters);
        Sink { name, kind, counters, failed: false, hash: None }
    }

    /// Limits the sink to the rate of `throttle`.
    ///
    /// Call it once, before the first write; later calls have no effect.
    #[must_use]
    pub fn throttled(self, throttle: &Throttle) -> Self {
        self.counters.set_delay(throttle.of_calls(None));
        self
    }

    /// Returns the name for messages: the path as passed, the URL without secrets, "standard output", "memory" or the
    /// name of the writer or host.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counters (bytes, calls, waiting time) of this sink.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Writes all of `bytes`; only small writes to a host are buffered. Pass blocks of 64 KiB or more; only the last
    /// one may be small.
    ///
    /// # Errors
    /// Errors of the system or the writer. After an error, the sink can only be dropped.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check_usable()?;
        let result = match &mut self.kind {
            SinkKind::Host(host) => host.write(bytes, &self.counters),
            _ => self.write_parts(bytes),
        };
        self.failed = result.is_err() && !planted("write-forgotten");
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        result
    }

    fn write_parts(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let kind = &mut self.kind;
            match retry(|| self.counters.transfer(|| kind.write(bytes)))? {
                0 => {
                    return Err(io::Error::new(io::ErrorKind::WriteZero, "the output does not accept more bytes"));
                }
                _ if planted("write-torn") => return Ok(()),
                count => bytes = bytes.get(count..).ok_or_else(|| overrun(count, bytes.len()))?,
            }
        }
        Ok(())
    }

    fn check_usable(&self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        Ok(())
    }

    /// Makes the output final: checks that every write succeeded, closes the file and puts it in place.
    ///
    /// # Errors
    /// Fails if anything failed, including an earlier write. A file then has its old content and the temporary file is
    /// gone, with two exceptions that the message states: syncing the folder failed (the new file is complete and in
    /// place), or the temporary file could not be removed.
    pub fn finish(self) -> io::Result<Finished> {
        self.complete()?.put_in_place()
    }

    /// Like [`Sink::finish`], but does not rename the file yet, for several files that should appear together.
    /// Everything else that can fail has been done.
    ///
    /// # Errors
    /// As for [`Sink::finish`].
    pub fn complete(self) -> io::Result<Complete> {
        self.check_usable()?;
        let kind = match self.kind {
            SinkKind::File(file) => CompleteKind::File(file.complete(&self.counters)?),
            SinkKind::Memory(data) => CompleteKind::Memory(data),
            SinkKind::Writer(mut writer) => {
                retry(|| self.counters.waiting(|| writer.flush()))?;
                CompleteKind::Writer
            }
            SinkKind::Host(host) => {
                host.finish(&self.counters)?;
                CompleteKind::Writer
            }
            SinkKind::Upload(mut upload) => {
                self.counters.waiting(|| upload.complete())?;
                CompleteKind::Upload(upload)
            }
        };
        let hash = self.hash.map(|hash| hash.digest());
        Ok(Complete { kind, counters: self.counters, hash })
    }
}

/// For text writers that pass large blocks, as [`Sink::write_all`] expects. Flushing does nothing: only small writes to
/// a host are buffered, until there is a block or the sink is finished.
impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Sink::write_all(self, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A complete output. A file is not in place yet. Dropping it abandons the file, which keeps its old content.
///
/// ```
/// use polyhaul_bytes::Sink;
///
/// # fn main() -> std::io::Result<()> {
/// let mut sinks = [Sink::memory(), Sink::memory()];
/// sinks[0].write_all(b"Import \"part.pbrt\"\n")?;
/// let complete = sinks.into_iter().map(Sink::complete).collect::<Result<Vec<_>, _>>()?;
/// let sizes: Vec<u64> =
///     complete.into_iter().map(|output| Ok(output.put_in_place()?.counters.bytes)).collect::<std::io::Result<_>>()?;
/// assert_eq!(sizes, [19, 0]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Complete {
    kind: CompleteKind,
    counters: Arc<Counters>,
    hash: Option<u128>,
}

enum CompleteKind {
    File(CompleteFile),
    Memory(Vec<u8>),
    Upload(RemoteUpload),
    Writer,
}

impl Complete {
    /// Makes the output final.
    ///
    /// # Errors
    /// As for [`Sink::finish`].
    pub fn put_in_place(self) -> io::Result<Finished> {
        let (placed, finished) = self.rename()?;
        placed.map_or(Ok(()), |placed| placed.sync())?;
        Ok(finished)
    }

    /// Puts outputs that belong together in place, in order. The last output must be the one that refers to the others.
    ///
    /// The last one is therefore never new while another one is old. If a rename fails, newly created files are
    /// removed; files already replaced keep their new content. Durable files survive a power failure in this order too.
    ///
    /// # Errors
    /// As for [`Sink::finish`], with the index of the output that failed.
    pub fn put_all_in_place(outputs: Vec<Complete>) -> Result<Vec<Finished>, (usize, io::Error)> {
        let last = outputs.len().saturating_sub(1);
        let mut placed = Vec::new();
        let mut finished = Vec::new();
        let reserved = placed.try_reserve_exact(outputs.len()).and_then(|()| finished.try_reserve_exact(outputs.len()));
        reserved.map_err(|_| (0, io::ErrorKind::OutOfMemory.into()))?;
        for (number, complete) in outputs.into_iter().enumerate() {
            let synced = if number == last && number > 0 { complete.sync_folder() } else { Ok(()) };
            match synced.and_then(|()| complete.rename()) {
                Ok((file, result)) => {
                    placed.extend(file);
                    finished.push(result);
                }
                Err(error) => {
                    placed.into_iter().for_each(PlacedFile::take_back);
                    return Err((number, error));
                }
            }
        }
        // All are in place: from here on, none is removed.
        placed.last().map_or(Ok(()), PlacedFile::sync).map_err(|error| (last, error))?;
        Ok(finished)
    }

    fn sync_folder(&self) -> io::Result<()> {
        match &self.kind {
            CompleteKind::File(file) => self.counters.waiting(|| file.sync_folder()),
            _ => Ok(()),
        }
    }

    fn rename(self) -> io::Result<(Option<PlacedFile>, Finished)> {
        let (placed, bytes) = match self.kind {
            CompleteKind::File(file) => (Some(self.counters.waiting(|| file.rename())?), None),
            CompleteKind::Memory(data) => (None, Some(data)),
            CompleteKind::Upload(upload) => {
                self.counters.waiting(|| upload.put_in_place())?;
                (None, None)
            }
            CompleteKind::Writer => (None, None),
        };
        Ok((placed, Finished { counters: self.counters.snapshot(), bytes, hash: self.hash }))
    }
}

impl fmt::Debug for Complete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Complete").finish_non_exhaustive()
    }
}

impl SinkKind<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            SinkKind::File(file) => file.write(bytes),
            SinkKind::Writer(writer) => writer.write(bytes),
            SinkKind::Upload(upload) => upload.write(bytes),
            SinkKind::Host(_) => Err(io::ErrorKind::Unsupported.into()),
            SinkKind::Memory(data) => {
                reserve(data, bytes.len())?;
                data.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("name", &self.name).field("failed", &self.failed).finish_non_exhaustive()
    }
}

fn overrun(count: usize, given: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the writer accepted {count} bytes, more than the {given} given"),
    )
}

#[cfg(unix)]
fn stdout_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdout_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(not(any(unix, windows)))]
fn stdout_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
