//! Memory of a conversion: spills arrays that do not fit, if the program's allocator supports it.
//!
//! The allocator in `polyhaul-spill` decides which arrays are spilled.

use crate::input::Output;
use crate::outputs;
use crate::report::Report;
use polyhaul_bytes::place;
use polyhaul_model::error::{Error, ErrorKind, Result, limit_hint};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_spill::Spill;
use std::io;
use std::path::{Path, PathBuf};

/// Divisor of a conversion's memory: a quarter of it is for buffers.
const BUFFER_PART: u64 = 4;

/// Memory budget of a conversion.
pub(super) struct Memory {
    buffer_bytes: u64,
    folder: PathBuf,
    spill: Option<Spill>,
}

impl Memory {
    /// Starts spilling arrays that exceed `total_memory`, if that limit is set.
    pub(super) fn start(run: &RunOptions, output: &Output) -> Result<Memory> {
        let folder = folder(run, output);
        let Some(total) = run.total_memory else {
            return Ok(Memory { buffer_bytes: run.memory_limit, folder, spill: None });
        };
        let spill = match Spill::start(&folder, total) {
            Ok(spill) => spill,
            // Another conversion in this process already started spilling, and its limit applies to the whole process.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            Err(error) if run.spill_folder.is_some() => {
                let message = format!("cannot create temporary files in {}: {error}", folder.display());
                return Err(Error::new(ErrorKind::Io, message).with_hint("choose another `spill_folder`"));
            }
            // If no file can be created next to the output, creating the output fails with a better message.
            Err(_) => None,
        };
        Ok(Memory { buffer_bytes: run.memory_limit.min(total / BUFFER_PART), folder, spill })
    }

    /// Memory for read buffers and, separately, for write buffers, in bytes.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// Adds the peak size of spilled arrays to the report.
    pub(super) fn note(&self, report: &mut Report) {
        report.spilled_bytes = self.spill.as_ref().map_or(0, Spill::peak_bytes);
    }

    /// Replaces an out-of-memory error if the cause is a full disk.
    pub(super) fn explain(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Memory || !self.spill.as_ref().is_some_and(Spill::is_disk_full) {
            return error;
        }
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let disk = disk_of(folder).map_or(String::new(), |disk| format!(" (on the disk at {})", disk.display()));
        let message = format!(
            "no space is left in {}{disk} for arrays spilled from memory: {}",
            folder.display(),
            error.diagnostic().message
        );
        Error::new(ErrorKind::Io, message).with_hint(format!(
            "free some disk space, choose another folder (`--spill-folder`, or `spill_folder` in Python), or {}",
            limit_hint("memory_limit")
        ))
    }
}

/// Mount point of a folder's disk.
#[cfg(unix)]
fn disk_of(folder: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let folder = folder.canonicalize().ok()?;
    let device = |path: &Path| path.metadata().ok().map(|metadata| metadata.dev());
    let device_of_folder = device(&folder)?;
    folder.ancestors().take_while(|path| device(path) == Some(device_of_folder)).last().map(Path::to_owned)
}

#[cfg(not(unix))]
fn disk_of(_folder: &Path) -> Option<PathBuf> {
    None
}

/// Folder for temporary files: by default next to the output, where space is needed anyway.
fn folder(run: &RunOptions, output: &Output) -> PathBuf {
    if let Some(folder) = &run.spill_folder {
        return folder.into();
    }
    match outputs::file_of(output).filter(|path| !place::is_url(path)).and_then(Path::parent) {
        Some(folder) => folder.to_owned(),
        // `temp_dir` panics in a browser.
        None if cfg!(target_family = "wasm") => PathBuf::new(),
        None => std::env::temp_dir(),
    }
}
