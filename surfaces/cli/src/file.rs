//! Small files that the command writes itself: whole or not at all, tried before the work starts.
//!
//! Assets are written by the library.

use polyhaul::{Error, FileOptions, Result, Sink};
use std::path::Path;

/// Begins to write a file and undoes that. Anything but a regular file, such as a pipe, is opened only once.
pub fn try_out(path: &Path) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Ok(());
    }
    let sink = Sink::file(path, FileOptions::default());
    sink.map(drop).map_err(|error| io("creating", path, error))
}

/// Writes a file as a whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = Sink::file(path, FileOptions::default()).and_then(|mut sink| {
        sink.write_all(bytes)?;
        sink.finish()
    });
    written.map(drop).map_err(|error| io("writing", path, error))
}

/// A failed operation of the system on a path.
pub fn io(doing: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(doing, &polyhaul::place::shown(path), error)
}
