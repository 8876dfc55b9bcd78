//! Files that appear together: each is written as a temporary file, and all take their places at the end, the main file
//! last.
//!
//! A failure before that changes nothing on disk. A failure among the renames removes the files that are new, and the
//! main file keeps its old content. What the files contain is decided elsewhere: see `save`, `save_pbrt` and
//! `references`.

use crate::Output;
use crate::report::Report;
use polyhaul_bytes::Complete;
use polyhaul_insight::Moved;
use polyhaul_model::error::{Error, Result};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is complete and not in its place yet.
pub(crate) struct Written {
    /// What messages call it.
    pub(crate) name: String,
    pub(crate) file: Complete,
    /// How it is counted once it is in place.
    pub(crate) moved: Moved,
    /// Its path, where no other file may be replaced.
    pub(crate) is_new_at: Option<PathBuf>,
    /// Whether it is a copy of a referenced file.
    pub(crate) is_copy: bool,
}

impl Written {
    /// A file that may replace an older one.
    pub(crate) fn new(name: String, file: Complete, moved: Moved) -> Written {
        Written { name, file, moved, is_new_at: None, is_copy: false }
    }
}

/// The file that an output is or becomes, beside which other files can be written: a stream, a device or a pipe has no
/// such place.
pub(crate) fn file_of(output: &Output) -> Option<&Path> {
    match output {
        Output::Path(path) if path.metadata().map_or(true, |found| found.is_file()) => Some(path),
        _ => None,
    }
}

/// Renames all files, the last one last, and counts them.
pub(crate) fn put_in_place(complete: Vec<Written>, report: &mut Report) -> Result<()> {
    let (mut notes, mut files) = (Vec::new(), Vec::new());
    notes.try_reserve_exact(complete.len())?;
    files.try_reserve_exact(complete.len())?;
    for Written { name, file, moved, is_new_at, is_copy } in complete {
        if is_new_at.is_some_and(|path| path.symlink_metadata().is_ok()) {
            let exists = io::Error::new(io::ErrorKind::AlreadyExists, "another program created a file of this name");
            return Err(Error::io("writing", &name, exists));
        }
        notes.push((name, moved, is_copy));
        files.push(file);
    }
    let finished = Complete::put_all_in_place(files).map_err(|(number, error)| {
        let name = notes.get(number).map_or("the scene", |(name, ..)| name);
        Error::io("writing", name, error)
    })?;
    let is_beside = |moved: &Moved, is_copy: bool| is_copy || moved.format == Some("mtl");
    // The asset itself comes first in the report.
    for beside in [false, true] {
        for ((_, moved, is_copy), file) in notes.iter().zip(&finished) {
            if is_beside(moved, *is_copy) == beside {
                report.copied_files += u64::from(*is_copy);
                report.copied_bytes += if *is_copy { file.counters.bytes } else { 0 };
                report.note_written(moved.clone(), file.counters.bytes);
            }
        }
    }
    Ok(())
}
