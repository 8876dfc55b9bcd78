//! Independent tests of reading, with one module per guarantee.
//!
//! New files in `testdata` are included automatically. All random input has a fixed seed.

mod archives;
mod compressed;
mod differential;
mod expected;
mod files;
mod fuzzing;
mod host_io;
mod libraries;
mod limits;
mod logs;
mod matrix;
mod progress;
mod repair;
mod resolver;

use polyhaul::model::Scene;
use polyhaul::options::OnError;
use polyhaul::{Error, Input, Loaded, ReadOptions, Reader};
use polyhaul_testkit::alloc::{self, Counting};
use polyhaul_testkit::summary;
use std::sync::Once;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Cap on memory, so that a runaway allocation does not exhaust the machine.
const MAX_BYTES: u64 = 3 << 30;
/// Time limit of the process, far above the total of all tests, to stop a hanging test.
const LONGEST: Duration = Duration::from_secs(600);

/// Reads a scene, with limits on memory and time.
fn read(input: Input, options: &ReadOptions) -> Result<Loaded<Scene>, Error> {
    static GUARD: Once = Once::new();
    GUARD.call_once(|| {
        alloc::cap(MAX_BYTES);
        std::thread::spawn(|| {
            std::thread::sleep(LONGEST);
            std::process::abort();
        });
    });
    Reader::new(input).options(options).scene()
}

/// Reads OBJ text in memory.
fn read_text(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Loaded<Scene>, Error> {
    read(Input::Memory(text.as_ref().to_vec(), "x.obj".into()), options)
}

/// Reads OBJ text and prints the outcome.
fn outcome(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    summary::outcome(&read_text(text, options))
}

/// Returns options with these threads and chunks; `None` is the library's default.
fn options(threads: usize, chunk_bytes: impl Into<Option<usize>>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    options.run.chunk_bytes = chunk_bytes.into();
    options
}

/// Returns options that continue after errors.
fn lenient() -> ReadOptions {
    options(1, None).with_on_error(OnError::Warn)
}
