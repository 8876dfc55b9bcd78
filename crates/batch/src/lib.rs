//! Libraries of assets: what is to be done, by whom, and what was done.
//!
//! - [`Plan`]: the assets below folders and URLs, and which of them are done already.
//! - [`Pool`]: worker processes, each converting one [`Task`] at a time. One that crashes, needs too much memory or
//!   takes too long costs its asset, not the run.
//! - [`Row`]: what became of one attempt at an asset. Rows are data: errors are, too.
//! - [`LogWriter`] and [`read_rows`]: the log of rows beside the outputs, append-only and with checksums, which is all
//!   that a run needs to continue where another one stopped.
//! - [`write_manifest`]: the same rows as one Parquet file, for people and their tools.
//! - [`Summary`]: what the rows say in sum.
//!
//! It never opens an asset, and knows no format: a worker is any program that reads tasks and prints rows, so a cluster
//! is one, too. The command (`crates/cli`, `batch`) is that program, and makes the text.
//!
//! The files of a library are in the folder `.polyhaul` of the outputs' folder or URL: `log/` has one file per run, and
//! `manifest.parquet` is beside it. Several runs may write at the same time, each its own file.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod hash;
mod log;
mod parquet;
mod plan;
mod pool;
mod row;
mod summary;
mod worker;

pub use log::{Damage, LogWriter, compact_logs, read_rows};
pub use parquet::{each_row, manifest_path, write_manifest};
pub use plan::{Asset, AssetState, Plan, PlanOptions, Shard};
pub use pool::{DoneRow, Limits, Pool, WorkerCommand};
pub use row::{Row, RowError, RowHeader, RowNote, RowOutput, Task};
pub use summary::{ErrorGroup, SlowAsset, Summary};
pub use worker::serve;

use std::path::{Path, PathBuf};

/// The folder of a library's own files, in that of its outputs.
pub fn state_folder(outputs: &Path) -> PathBuf {
    outputs.join(".polyhaul")
}

/// Seconds since 1970.
pub fn now() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
