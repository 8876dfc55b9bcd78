//! A failed allocation is an error, never an abort, never a broken file. A separate binary for its allocator, which
//! fails on request; each test uses child processes.

mod evaluated;
mod formats;
mod gltf;
mod images;
mod pbrt;
mod splats;
mod table;
mod textures;
mod write;

#[allow(dead_code, unused_imports, reason = "shared with tests that use all of it")]
#[path = "../all/evaluated/scenes.rs"]
mod scenes;
#[allow(dead_code, unused_imports, reason = "shared with tests that use all of it")]
#[path = "../all/evaluated/support.rs"]
mod support;

use polyhaul::options::RunOptions;
use polyhaul::{ReadOptions, Reader, Result, WriteOptions, Writer};
use polyhaul_testkit::alloc::Failing;
use std::path::{Path, PathBuf};

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// A single-threaded job that converts a file to a second one, and that to a third.
fn there_and_back(from: PathBuf, there: PathBuf, back: PathBuf) -> impl Fn() -> Result<()> {
    let run = RunOptions::default().with_threads(Some(1));
    let read = ReadOptions::default().with_run(run.clone());
    let write = WriteOptions::default().with_run(run);
    let convert = move |from: &Path, to: &Path| {
        Reader::new(from).options(&read).convert(Writer::new(to).options(&write)).map(drop)
    };
    move || {
        convert(&from, &there)?;
        convert(&there, &back)
    }
}
