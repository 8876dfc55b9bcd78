//! Atomic writes of the command's own small files, such as reports.
//!
//! The library writes assets.

use polyhaul::{Error, FileOptions, Result, Sink};
use std::path::Path;

/// Checks that a file can be created, by starting to write it and discarding the result. Pipes and other special files
/// are not tried, since they can be opened only once.
pub fn try_out(path: &Path) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Ok(());
    }
    let sink = Sink::file(path, FileOptions::default());
    sink.map(drop).map_err(|error| io("create", path, error))
}

/// Writes a file atomically: the old content stays if writing fails.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = Sink::file(path, FileOptions::default()).and_then(|mut sink| {
        sink.write_all(bytes)?;
        sink.finish()
    });
    written.map(drop).map_err(|error| io("write", path, error))
}

/// Wraps an I/O error with the operation and the path.
pub fn io(action: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(action, &polyhaul::place::shown(path), error)
}
