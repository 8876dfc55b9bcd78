//! Converts libraries of assets: plans them, runs worker processes and records the results.
//!
//! - [`Plan`]: the assets in folders and URLs, and which of them are already done.
//! - [`Pool`]: worker processes, each converting one [`Task`] at a time. If a worker crashes, or exceeds its memory or
//!   time limit, its asset fails, but the run continues.
//! - [`Row`]: the result of one attempt at an asset. Rows are data, including errors.
//! - [`LogWriter`] and [`read_rows`]: the log of rows next to the outputs, append-only and checksummed. A run needs
//!   nothing else to resume another one.
//! - [`write_manifest`]: the rows as one file, Parquet or JSON Lines, for people and other tools.
//! - [`find_gone`]: outputs whose source no longer exists.
//! - [`Summary`]: totals over the rows.
//!
//! This crate never opens an asset and depends on no format. A worker is any program that reads tasks and prints rows,
//! even one that forwards them to a cluster. The command (`surfaces/cli`, `batch`) is that program, and formats the
//! text.
//!
//! The state of a library is in the folder `.polyhaul` of the output folder or URL: `log/` has one file per run, and
//! the manifest is next to it. Several runs may write concurrently, each to its own file.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod hash;
mod lines;
mod lock;
mod log;
mod manifest;
mod merge;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod pool;
mod prune;
mod row;
mod summary;
mod worker;

pub use log::{Damage, LogWriter, has_log, read_rows};
pub use manifest::{ManifestCounts, StatusRow, each_row, is_manifest_stale, manifest_path, write_manifest};
pub use merge::{Merged, compact_logs};
pub use options::{keep_options, kept_options};
pub use plan::{Asset, AssetState, Plan, PlanOptions, Shard};
pub use pool::{DoneRow, Limits, Pool, WorkerCommand};
pub use prune::{GoneAsset, find_gone};
pub use row::{Row, RowError, RowHeader, RowNote, RowOutput, Task};
pub use summary::{ErrorGroup, SlowAsset, Summary};
pub use worker::serve;

use std::path::{Path, PathBuf};

/// The state folder: log and manifest, inside the output folder.
pub fn state_folder(outputs: &Path) -> PathBuf {
    outputs.join(".polyhaul")
}

/// Current time in seconds since 1970.
pub fn now() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
