//! Shared options and folders; the test kit has everything else.

pub use polyhaul_testkit::output::*;
pub use polyhaul_testkit::random::Random;

use polyhaul::WriteOptions;
use polyhaul::options::RunOptions;
use polyhaul_testkit::corpus::Folder;

pub const THREADS: [usize; 5] = [1, 2, 3, 7, 64];
pub const CHUNKS: [Option<usize>; 3] = [None, Some(1), Some(100)];
pub const LIMITS: [u64; 2] = [64 << 20, 1];

pub fn run(threads: usize, chunk_bytes: Option<usize>, memory_limit: u64) -> RunOptions {
    RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes).with_memory_limit(memory_limit)
}

pub fn with(options: &WriteOptions) -> WriteOptions {
    with_run(options, run(1, None, LIMITS[0]))
}

pub fn with_run(options: &WriteOptions, run: RunOptions) -> WriteOptions {
    options.clone().with_run(run)
}

/// Options for one thread.
pub fn plain() -> WriteOptions {
    with(&WriteOptions::default())
}

/// An empty folder for one test, removed at the end.
pub fn new_folder() -> Folder {
    Folder::new("evaluated").unwrap()
}
