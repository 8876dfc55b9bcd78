//! Atomic replacement of a file: write a temporary file next to the target, sync, close, rename, sync the folder.
//!
//! This module decides the order of the operations and the state after an error; `layer.rs` performs them. Failures are
//! detected early: a folder that must be synced is opened before the first byte is written.

use super::FileOptions;
use super::temporary::Temporary;
use crate::error::context;
use crate::layer::{Layer, is_unknown};
use crate::place;
use crate::stop::StopFlag;
use polyhaul_fault::planted;
use polyhaul_trace::Counters;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of symlinks to follow, as on Linux.
const MAX_LINK_COUNT: usize = 40;
/// The mode of a new file, before the umask is applied.
const NEW_FILE_MODE: u32 = 0o666;
/// The mode of the temporary file until it gets the old file's mode. Keeps the content private.
const PRIVATE_MODE: u32 = 0o600;

pub(super) struct FileSink {
    /// Declared before `replacement`, because Windows must close the file before removing it.
    file: File,
    layer: Arc<dyn Layer>,
    durable: bool,
    /// `None` if the bytes are written directly to the target.
    replacement: Option<Replacement>,
    /// Stops waiting for the reader of a FIFO.
    stop: StopFlag,
}

/// A file that was written and closed but is not in place yet. Dropping it removes the temporary file.
pub(super) struct CompleteFile {
    layer: Arc<dyn Layer>,
    replacement: Option<Replacement>,
}

/// A file that is in place.
pub(super) struct PlacedFile {
    layer: Arc<dyn Layer>,
    /// The path, if the file did not exist before.
    new: Option<PathBuf>,
    /// The folder, open if it must be synced.
    folder: Option<File>,
}

impl CompleteFile {
    /// Syncs the folder, after renames of other files in it.
    pub(super) fn sync_folder(&self) -> io::Result<()> {
        match self.replacement.as_ref().and_then(|replacement| replacement.folder.as_ref()) {
            Some(folder) => self.layer.sync_folder(folder),
            None => Ok(()),
        }
    }

    /// Puts the file in place. If that fails, the old one remains.
    pub(super) fn rename(self) -> io::Result<PlacedFile> {
        let Some(Replacement { temporary, target, is_new, folder }) = self.replacement else {
            return Ok(PlacedFile { layer: self.layer, new: None, folder: None });
        };
        temporary.rename_to(&target)?;
        Ok(PlacedFile { layer: self.layer, new: is_new.then_some(target), folder })
    }
}

impl PlacedFile {
    /// Makes the rename survive a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.layer.sync_folder(folder).map_err(|error| {
            context(error, "the new file is complete and in place, but its folder could not be synced, so it may not survive a power failure")
        })
    }

    /// Removes the file if it did not exist before.
    pub(super) fn take_back(self) {
        if let Some(path) = self.new {
            // The caller already has an error to report.
            let _ = self.layer.remove(&path);
        }
    }
}

struct Replacement {
    temporary: Temporary,
    target: PathBuf,
    /// Whether the target did not exist before.
    is_new: bool,
    /// The folder, open if it must be synced.
    folder: Option<File>,
}

enum SinkTarget {
    New(PathBuf),
    Regular(PathBuf, Metadata),
    Special {
        path: PathBuf,
        is_fifo: bool,
    },
    #[cfg_attr(not(unix), expect(dead_code, reason = "descriptors have paths on unix only"))]
    Open(File),
}

impl FileSink {
    pub(super) fn create(layer: Arc<dyn Layer>, path: &Path, options: FileOptions, stop: StopFlag) -> io::Result<Self> {
        match resolve(&*layer, path)? {
            SinkTarget::New(path) => Self::replacing(layer, path, None, options),
            SinkTarget::Regular(path, old) => Self::replacing(layer, path, Some(old), options),
            SinkTarget::Special { path, is_fifo } => {
                let file = open_special(&*layer, &path, is_fifo, &stop)?;
                Ok(FileSink { stop, ..Self::direct(layer, file, options) })
            }
            SinkTarget::Open(file) => Ok(Self::direct(layer, file, options)),
        }
    }

    pub(super) fn direct(layer: Arc<dyn Layer>, file: File, options: FileOptions) -> Self {
        FileSink { file, layer, durable: options.durable, replacement: None, stop: StopFlag::default() }
    }

    fn replacing(
        layer: Arc<dyn Layer>,
        target: PathBuf,
        old: Option<Metadata>,
        options: FileOptions,
    ) -> io::Result<Self> {
        if old.is_some() {
            layer.check_writable(&target)?;
        }
        let folder = match folder_of(&target) {
            folder if options.durable && !options.is_part => layer
                .open_folder(folder)
                .map_err(|error| context(error, format!("cannot open the folder {} to sync it", folder.display())))?,
            _ => None,
        };
        let mode = if old.is_some() { PRIVATE_MODE } else { NEW_FILE_MODE };
        let (temporary, file) = Temporary::create(layer.clone(), &target, mode)?;
        let is_new = old.is_none();
        let old = old.filter(|_| !planted("mode-lost"));
        let kept_attributes = old.map_or(Ok(()), |old| layer.keep_attributes(&file, &old));
        let sink = FileSink {
            file,
            layer,
            durable: options.durable,
            replacement: Some(Replacement { temporary, target, is_new, folder }),
            stop: StopFlag::default(),
        };
        match kept_attributes {
            Ok(()) => Ok(sink),
            Err(error) => {
                let error = context(error, "cannot copy the mode of the old file to the new one");
                Err(sink.abandon(error))
            }
        }
    }

    /// Returns whether this writes a new file that is renamed at the end, not a pipe, a device or the caller's
    /// descriptor.
    pub(super) fn is_replacement(&self) -> bool {
        self.replacement.is_some()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.layer.write(&self.file, bytes) {
                // The FIFO, opened in non-blocking mode, is full.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stop.wait_writable(&self.file)?,
                result => return result,
            }
        }
    }

    pub(super) fn complete(self, counters: &Counters) -> io::Result<CompleteFile> {
        counters.waiting(|| self.close())
    }

    fn close(self) -> io::Result<CompleteFile> {
        let synced = if self.durable && !planted("rename-unsynced") { self.sync() } else { Ok(()) };
        // Close before renaming: the old file then survives an error that only `close` reports.
        let closed = self.layer.close(self.file);
        match (synced.and(closed), self.replacement) {
            (Ok(()), replacement) => Ok(CompleteFile { layer: self.layer, replacement }),
            (Err(error), Some(replacement)) => Err(replacement.temporary.abandon(error)),
            (Err(error), None) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.layer.sync(&self.file) {
            // A FIFO or a terminal cannot be synced.
            Err(error) if self.replacement.is_none() && is_unknown(&error) => Ok(()),
            result => result,
        }
    }

    /// Abandons the file because of `error`. If the temporary file remains, adds that to the message.
    fn abandon(self, error: io::Error) -> io::Error {
        drop(self.file);
        match self.replacement {
            Some(replacement) => replacement.temporary.abandon(error),
            None => error,
        }
    }
}

/// Follows symlinks up to the file to write, by hand because the last one may be dangling.
fn resolve(layer: &dyn Layer, path: &Path) -> io::Result<SinkTarget> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINK_COUNT {
        #[cfg(unix)]
        if let Some(file) = crate::descriptor::duplicate(&path)? {
            return Ok(SinkTarget::Open(file));
        }
        check_name(&path)?;
        if place::leads_to_device(&path) {
            return Ok(SinkTarget::Special { path, is_fifo: false });
        }
        let metadata = match layer.metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SinkTarget::New(path)),
            metadata => metadata?,
        };
        if metadata.is_symlink() {
            let link = layer.read_link(&path)?;
            path = folder_of(&path).join(link);
        } else if metadata.is_file() {
            return Ok(SinkTarget::Regular(path, metadata));
        } else if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file"));
        } else {
            return Ok(SinkTarget::Special { is_fifo: is_fifo(&metadata), path });
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("more than {MAX_LINK_COUNT} symlinks in a chain")))
}

/// Rejects names with a different meaning on Windows: `a:b.obj` is a stream of the file `a`, and `aux.obj` the device
/// `AUX`. A device name without an extension is accepted as a device.
fn check_name(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let why = match () {
        () if !cfg!(windows) => return Ok(()),
        () if name.contains(':') => "has a colon, which is not valid",
        () if path.extension().is_some() && place::leads_to_device(path) => "is the name of a device",
        () => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name} {why} on Windows: choose another name")))
}

/// Opens a device or a FIFO. Waits until a FIFO has a reader.
fn open_special(layer: &dyn Layer, path: &Path, is_fifo: bool, stop: &StopFlag) -> io::Result<File> {
    loop {
        match layer.open(path) {
            Err(error) if is_fifo && has_no_reader(&error) => stop.pause()?,
            result => return result,
        }
    }
}

#[cfg(unix)]
fn is_fifo(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_fifo(_: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn has_no_reader(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENXIO)
}

#[cfg(not(unix))]
fn has_no_reader(_: &io::Error) -> bool {
    false
}

/// Returns the folder of `path`, or the current folder for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
