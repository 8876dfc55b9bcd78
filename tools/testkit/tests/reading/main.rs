//! Independent tests of reading: each module is a promise.
//!
//! The files of `testdata` are taken up by themselves. Whatever is random comes from a fixed seed.

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

/// No test here needs more; a fault that eats all memory must not take the machine with it.
const MAX_BYTES: u64 = 3 << 30;
/// All tests together take a small part of this; a fault that never ends must not wait for ever.
const LONGEST: Duration = Duration::from_secs(600);

/// Reads, under guard.
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

/// Reads text in memory; the name says that it is OBJ.
fn read_text(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Loaded<Scene>, Error> {
    read(Input::Memory(text.as_ref().to_vec(), "x.obj".into()), options)
}

/// What reading comes to, as text.
fn outcome(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    summary::outcome(&read_text(text, options))
}

/// Options with these threads and chunks; the defaults of the library for `None`.
fn options(threads: usize, chunk_bytes: impl Into<Option<usize>>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.run.threads = Some(threads);
    options.run.chunk_bytes = chunk_bytes.into();
    options
}

/// Goes on after what is broken.
fn lenient() -> ReadOptions {
    options(1, None).with_on_error(OnError::Warn)
}
