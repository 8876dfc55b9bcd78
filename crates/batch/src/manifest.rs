//! The manifest: the rows of a library in one file, one row per asset and attempt, for people and their tools.
//!
//! It is a Parquet file with the feature `parquet`, and JSON Lines without it. An asset has at most one row whose
//! status is `done`: its last success. Earlier successes are `replaced`.

use crate::hash::{ByHash, attempt_hash, name_hash};
use crate::log::{Damage, is_newer_than, read_rows};
use crate::plan::invalid_row;
use crate::row::{Row, RowHeader};
use crate::state_folder;
use polyhaul::{Result, place};
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Rows per group.
const GROUP_ROWS: usize = 50_000;

/// Rows with their status.
pub(crate) type Rows<'r> = &'r [(&'static str, Row)];

/// The path of a library's manifest.
pub fn manifest_path(outputs: &Path) -> PathBuf {
    state_folder(outputs).join(if cfg!(feature = "parquet") { "manifest.parquet" } else { "manifest.jsonl" })
}

/// Writes the manifest of a library from its log. Returns the number of rows.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`]; the old manifest is then kept.
pub fn write_manifest(outputs: &Path) -> Result<u64> {
    let path = manifest_path(outputs);
    #[cfg(feature = "parquet")]
    return crate::parquet::write(outputs, &path);
    #[cfg(not(feature = "parquet"))]
    json_lines::write(outputs, &path)
}

/// Whether the manifest lacks rows: it is missing, or a log has changed since it was written. In stores, where times
/// are those of uploads, only whether it is missing.
pub fn is_manifest_stale(outputs: &Path) -> bool {
    let path = manifest_path(outputs);
    !place::is_file(&path) || !place::is_url(&path) && is_newer_than(outputs, &path)
}

/// A row with its status, as one JSON object.
#[derive(Serialize)]
pub struct StatusRow<'r> {
    /// `done`, `failed` or `replaced`.
    pub status: &'static str,
    /// The row.
    #[serde(flatten)]
    pub row: &'r Row,
}

#[cfg(not(feature = "parquet"))]
mod json_lines {
    use crate::log::{BLOCK_BYTES, io};
    use crate::manifest::{StatusRow, each_row};
    use polyhaul::{FileOptions, Result, Sink};
    use std::io::{BufWriter, Write};
    use std::path::Path;

    /// Writes the manifest of a library to a file. Returns the number of rows.
    pub(super) fn write(outputs: &Path, path: &Path) -> Result<u64> {
        let mut sink = Sink::file(path, FileOptions::default()).map_err(|error| io("creating", path, error))?;
        let mut lines = BufWriter::with_capacity(BLOCK_BYTES, &mut sink);
        let (count, _) = each_row(outputs, &mut |status, row| {
            let written = serde_json::to_writer(&mut lines, &StatusRow { status, row }).map_err(std::io::Error::from);
            written.and_then(|()| lines.write_all(b"\n")).map_err(|error| io("writing", path, error))
        })?;
        lines.flush().map_err(|error| io("writing", path, error))?;
        drop(lines);
        sink.finish().map_err(|error| io("writing", path, error))?;
        Ok(count)
    }
}

/// Passes all rows to `write` in groups, each with its status. Returns the number of rows and the damage. The log is
/// read twice: first to find the last success of each asset.
pub(crate) fn each_group(outputs: &Path, write: &mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<(u64, Damage)> {
    let last = last_rows(outputs)?;
    let mut group = Vec::new();
    let mut count = 0;
    let mut seen = HashSet::new();
    let damage = read_rows(outputs, &mut |json| {
        let row: Row = serde_json::from_str(json).map_err(invalid_row)?;
        let attempt = attempt_hash(&row.asset, row.attempt, row.started);
        let last = last.get(&name_hash(&row.asset));
        let is_pruned = last.is_some_and(|last| row.attempt <= last.pruned_attempt);
        if !is_pruned && seen.insert(attempt) {
            let is_last = last.is_some_and(|last| last.success == (row.attempt, attempt));
            group.push((status(&row, is_last), row));
            count += 1;
        }
        if group.len() == GROUP_ROWS {
            write(&group)?;
            group.clear();
        }
        Ok(())
    })?;
    write(&group)?;
    Ok((count, damage))
}

/// Passes all rows of a library to `each`, with their status: `done`, `failed`, or `replaced` by a later success.
/// Returns the number of rows, and the damaged lines of the log.
///
/// # Errors
/// Errors of `each`, and [`polyhaul::ErrorKind::Io`].
pub fn each_row(outputs: &Path, each: &mut dyn FnMut(&'static str, &Row) -> Result<()>) -> Result<(u64, Damage)> {
    each_group(outputs, &mut |group| group.iter().try_for_each(|(status, row)| each(status, row)))
}

fn status(row: &Row, is_last: bool) -> &'static str {
    match (&row.error, is_last) {
        (Some(_), _) => "failed",
        (None, true) => "done",
        (None, false) => "replaced",
    }
}

/// What later rows say about those before them.
#[derive(Default)]
struct LastRows {
    /// The number and the hash of the last success.
    success: (u32, u64),
    /// The number of the last row that says that the asset is gone.
    pruned_attempt: u32,
}

/// The last rows of each asset that succeeded or is gone.
fn last_rows(outputs: &Path) -> Result<ByHash<LastRows>> {
    let mut last = ByHash::<LastRows>::default();
    read_rows(outputs, &mut |json| {
        let row: RowHeader<'_> = serde_json::from_str(json).map_err(invalid_row)?;
        if row.error.is_some() {
            return Ok(());
        }
        let last = last.entry(name_hash(&row.asset)).or_default();
        if row.pruned {
            last.pruned_attempt = last.pruned_attempt.max(row.attempt);
        } else if row.attempt >= last.success.0 {
            last.success = (row.attempt, attempt_hash(&row.asset, row.attempt, row.started));
        }
        Ok(())
    })?;
    Ok(last)
}
