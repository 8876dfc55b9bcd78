//! The memory of a conversion: arrays that do not fit are moved to disk, if the program's allocator can do so.
//!
//! Nothing here knows which arrays there are; see `polyhaul-spill`.

use crate::input::Output;
use crate::outputs;
use crate::report::Report;
use polyhaul_bytes::place;
use polyhaul_model::error::{Error, ErrorKind, limit_hint};
use polyhaul_pipeline::options::RunOptions;
use polyhaul_spill::Spill;
use std::path::{Path, PathBuf};

/// The part of a conversion's memory that buffers may take.
const BUFFER_PART: u64 = 4;

/// The memory of a conversion.
pub(super) struct Memory {
    buffer_bytes: u64,
    folder: PathBuf,
    spill: Option<Spill>,
}

impl Memory {
    /// Arrays beyond the conversion's memory go to disk from now on.
    pub(super) fn start(run: &RunOptions, output: &Output) -> Memory {
        let folder = folder(output);
        let Some(total) = run.total_memory else {
            return Memory { buffer_bytes: run.memory_limit, folder, spill: None };
        };
        // If no file can be created there, the output cannot be either, and says so. If another conversion in this
        // process has begun, its memory is shared.
        let spill = Spill::start(&folder, total).ok().flatten();
        Memory { buffer_bytes: run.memory_limit.min(total / BUFFER_PART), folder, spill }
    }

    /// The memory for buffers of reading, and of writing.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// Notes what was moved.
    pub(super) fn note(&self, report: &mut Report) {
        report.spilled_bytes = self.spill.as_ref().map_or(0, Spill::peak_bytes);
    }

    /// An error that ended the conversion, with the reason if that is a full disk.
    pub(super) fn explain(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Memory || !self.spill.as_ref().is_some_and(Spill::is_disk_full) {
            return error;
        }
        let folder = self.folder.display();
        error.with_hint(format!(
            "arrays that do not fit in memory are moved to {folder}, where no space is left: free some, or {} \
             (`RunOptions::total_memory` in Rust)",
            limit_hint("memory_limit")
        ))
    }
}

/// Where temporary files go: beside the output, where there has to be room for it anyway.
fn folder(output: &Output) -> PathBuf {
    match outputs::file_of(output).filter(|path| !place::is_url(path)).and_then(Path::parent) {
        Some(folder) => folder.to_owned(),
        // Asked for its folder, a browser would end.
        None if cfg!(target_family = "wasm") => PathBuf::new(),
        None => std::env::temp_dir(),
    }
}
