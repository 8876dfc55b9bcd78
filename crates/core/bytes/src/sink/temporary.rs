//! Temporary files in use: names and removal.
//!
//! Their list is global, because code that ends the process needs it. Files are created, renamed and removed under the
//! list's lock, so a file is never unlisted while it exists. For files of killed processes, see `sink/leftovers.rs`.

use super::leftovers::{self, FileLock};
use crate::error::context;
use crate::layer::Layer;
use polyhaul_fault::planted;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of bytes of the target's name in the temporary name. Some file systems limit names to 143 bytes, and
/// the additions need up to 46.
const MAX_STEM_BYTES: usize = 90;
/// The part of every temporary file's name before the process ID.
pub(super) const MARK: &str = ".polyhaul-";
/// The end of the name of every temporary file.
pub(super) const ENDING: &str = ".tmp";
/// Maximum number of names to try. Some may belong to leftovers of a killed process with the same ID.
const MAX_ATTEMPT_COUNT: usize = 1000;
/// Maximum time to retry a rename, and the pause between attempts, while another program has one of the files open.
/// Virus scanners and indexers open new files for a moment.
const RENAME_PATIENCE: Duration = Duration::from_secs(1);
const RENAME_PAUSE: Duration = Duration::from_millis(10);

static SERIAL: AtomicU64 = AtomicU64::new(0);
static IN_FLIGHT: Mutex<InFlight> = Mutex::new(InFlight { paths: Vec::new(), is_ending: false });

struct InFlight {
    paths: Vec<PathBuf>,
    /// Whether the process is ending, so that no more files may be created.
    is_ending: bool,
}

impl InFlight {
    fn forget(&mut self, path: &Path) {
        if let Some(i) = self.paths.iter().position(|p| p == path) {
            self.paths.swap_remove(i);
        }
    }
}

fn in_flight() -> MutexGuard<'static, InFlight> {
    IN_FLIGHT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all unfinished sinks, and prevents new ones: for a program that is about to exit
/// because of a signal. Returns the number of files removed. From then on, sinks fail.
///
/// Call it from an ordinary thread that waits for signals, not from a signal handler: it takes a lock.
pub fn remove_temporaries() -> usize {
    let mut in_flight = in_flight();
    in_flight.is_ending = true;
    let paths = std::mem::take(&mut in_flight.paths);
    let removed = paths.iter().filter(|path| !planted("signal-left") && std::fs::remove_file(path).is_ok());
    removed.count()
}

/// A temporary file. Dropping it removes the file.
pub(super) struct Temporary {
    layer: Arc<dyn Layer>,
    /// Empty once the file is renamed or removed.
    path: PathBuf,
    /// Marks the file as in use for other processes, until it is in place.
    _lock: Option<FileLock>,
}

impl Temporary {
    /// Creates a file in the folder of `target`, under a name that no other process or sink uses.
    pub(super) fn create(layer: Arc<dyn Layer>, target: &Path, mode: u32) -> io::Result<(Temporary, File)> {
        leftovers::remove_from(super::file::folder_of(target));
        for _ in 0..MAX_ATTEMPT_COUNT {
            let path = temporary_path(target)?;
            match create_listed(&*layer, &path, mode) {
                Ok(file) => return Ok((Temporary { layer, path, _lock: FileLock::new(&file) }, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(explain(error, target)),
            }
        }
        Err(explain(io::ErrorKind::AlreadyExists.into(), target))
    }

    /// Renames the file to `target`. If that fails, removes it.
    pub(super) fn rename_to(mut self, target: &Path) -> io::Result<()> {
        let start = Instant::now();
        loop {
            let mut in_flight = in_flight();
            let error = match self.layer.rename(&self.path, target) {
                Ok(()) => {
                    in_flight.forget(&self.path);
                    self.path = PathBuf::new();
                    return Ok(());
                }
                Err(error) => error,
            };
            drop(in_flight);
            let is_in_use = is_in_use(&error);
            if is_in_use && start.elapsed() < RENAME_PATIENCE {
                std::thread::sleep(RENAME_PAUSE);
                continue;
            }
            let cause = if is_in_use { "; another program may have it open" } else { "" };
            let temporary = self.path.display();
            let message = format!("cannot rename the temporary file {temporary} to {}{cause}", target.display());
            return Err(self.abandon(context(error, message)));
        }
    }

    /// Removes the file because of `error`. If the removal fails, adds that to the message.
    pub(super) fn abandon(mut self, error: io::Error) -> io::Error {
        let path = self.path.clone();
        match self.remove() {
            Ok(()) => error,
            Err(_) => context(
                error,
                format!("the temporary file {} could not be removed after another error", path.display()),
            ),
        }
    }

    fn remove(&mut self) -> io::Result<()> {
        if self.path.as_os_str().is_empty() {
            return Ok(());
        }
        let mut in_flight = in_flight();
        let path = std::mem::take(&mut self.path);
        in_flight.forget(&path);
        if planted("temporary-left") {
            return Ok(());
        }
        match self.layer.remove(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // An unfinished sink is dropped after another error or during unwinding, so an error here cannot be reported.
        let _ = self.remove();
    }
}

/// Returns whether a rename may have failed because another program has one of the files open.
fn is_in_use(error: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    cfg!(windows) && matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION))
}

fn create_listed(layer: &dyn Layer, path: &Path, mode: u32) -> io::Result<File> {
    let mut in_flight = in_flight();
    if in_flight.is_ending {
        return Err(io::Error::other("the program is shutting down"));
    }
    let file = layer.create_new(path, mode)?;
    in_flight.paths.push(path.to_owned());
    Ok(file)
}

fn temporary_path(target: &Path) -> io::Result<PathBuf> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file"))?;
    let name = name.to_string_lossy();
    let stem = shortened(&name);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    Ok(target.with_file_name(format!(".{stem}{MARK}{process}-{serial}{ENDING}")))
}

/// Returns the start of `name`, cut at a character boundary.
fn shortened(name: &str) -> &str {
    let end = name.len().min(MAX_STEM_BYTES);
    (0..=end).rev().find_map(|end| name.get(..end)).unwrap_or_default()
}

fn explain(error: io::Error, target: &Path) -> io::Error {
    let folder = super::file::folder_of(target).display();
    let message = match error.kind() {
        io::ErrorKind::NotFound => format!("the folder {folder} does not exist"),
        _ => format!("cannot create a temporary file in the folder {folder}; files are replaced atomically"),
    };
    context(error, message)
}
