//! Converts asset libraries: plans them, runs worker processes and records the results.
//!
//! - [`Plan`]: the assets in files, folders and URLs, each with its state according to the log.
//! - [`Pool`]: worker processes, each converting one [`Task`] at a time. If a worker crashes, or exceeds its memory or
//!   time limit, its asset fails, but the run continues. A pool can also run an engine, one process that converts many
//!   tasks at a time; if it crashes, the run fails.
//! - [`Row`]: the result of one attempt to convert an asset, including its error, or the record that the outputs of an
//!   asset were removed.
//! - [`LogWriter`] and [`read_rows`]: the log of rows in the output folder, append-only and checksummed. To resume an
//!   earlier run, a run needs only this log and the outputs.
//! - [`write_manifest`]: the rows as one file, Parquet or JSON Lines, for people and other tools.
//! - [`find_gone`]: assets whose source no longer exists, with their outputs.
//! - [`Summary`]: totals over the rows.
//!
//! This crate neither converts assets nor depends on their formats. A worker is any program that reads tasks and prints
//! rows, even one that forwards the tasks to a cluster. The command `batch` (in `surfaces/cli`) starts itself as the
//! worker, and formats all text for users.
//!
//! The state of a library is in the folder `.polyhaul` of the output folder or URL: the manifest with its fingerprint,
//! the options of the runs, and the folder `log/` with one file per run until [`compact_logs`] merges them. Several
//! runs may write concurrently, each to its own file.

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

/// Returns the state folder: `.polyhaul` in the output folder or URL `outputs`.
pub fn state_folder(outputs: &Path) -> PathBuf {
    outputs.join(".polyhaul")
}

/// Returns the current time in seconds since 1970 (UTC).
pub fn now() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
