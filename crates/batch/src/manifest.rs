//! Writes the manifest: the rows of a library in one file, one row per attempt to convert an asset, for people and
//! other tools.
//!
//! The format is Parquet with the `parquet` feature, otherwise JSON Lines. At most one row per asset has the status
//! `done`: its last success. Earlier successes are `replaced`. Removals and the attempts before them are left out.

use crate::hash::{ByHash, name_hash};
use crate::lines::each_block;
use crate::log::{Damage, logs_hash, read_rows, write_whole};
use crate::row::{Row, RowHeader};
use crate::state_folder;
use polyhaul::place::{self, is_url};
use polyhaul::{FileOptions, Result};
use polyhaul_bytes::hash::{Xxh3, xxh3_64};
use polyhaul_fault::planted;
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Maximum number of rows per row group of a Parquet file.
const GROUP_ROWS: usize = 50_000;

/// Rows, each with its status.
pub(crate) type Rows<'r> = &'r [(&'static str, Row)];

/// Returns the path of a library's manifest.
pub fn manifest_path(outputs: &Path) -> PathBuf {
    state_folder(outputs).join(if cfg!(feature = "parquet") { "manifest.parquet" } else { "manifest.jsonl" })
}

/// Row count of a manifest, and damage of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestCounts {
    /// Number of rows.
    pub rows: u64,
    /// Damaged lines of the log.
    pub damage: Damage,
}

/// Writes the manifest of a library from its log.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`] if the log cannot be read or a file cannot be written. The manifest is then either the
/// old one or complete.
pub fn write_manifest(outputs: &Path) -> Result<ManifestCounts> {
    let path = manifest_path(outputs);
    // Hash first: rows added during writing make the manifest stale.
    let logs = logs_hash(outputs)?;
    #[cfg(feature = "parquet")]
    let written = crate::parquet::write(outputs, &path);
    #[cfg(not(feature = "parquet"))]
    let written = json_lines::write(outputs, &path);
    let (counts, finished) = written?;
    let fingerprint = Fingerprint { logs, bytes: finished.counters.bytes, hash: finished.hash.unwrap_or_default() };
    write_whole(&fingerprint_path(outputs), fingerprint.text().as_bytes())?;
    Ok(counts)
}

/// Whether the manifest is missing, was changed, or does not match the log. In object stores, only its size is
/// compared, not its content.
pub fn is_manifest_stale(outputs: &Path) -> bool {
    let path = manifest_path(outputs);
    let mut text = Vec::new();
    let read = each_block(&fingerprint_path(outputs), &mut |block| {
        text.extend_from_slice(block);
        Ok(())
    });
    let Some(fingerprint) = read.ok().and_then(|()| Fingerprint::parse(&text)) else { return true };
    let bytes = place::find(&path).ok().and_then(|info| info.bytes);
    let is_same = || is_url(&path) || file_hash(&path).is_ok_and(|hash| hash == fingerprint.hash);
    !planted("manifest-stale")
        && (bytes != Some(fingerprint.bytes) || logs_hash(outputs).ok() != Some(fingerprint.logs) || !is_same())
}

/// Options for writing manifests.
pub(crate) fn file_options() -> FileOptions {
    FileOptions::default().with_hash(true)
}

/// Fingerprint of a manifest and its log, stored in the same folder. A run without work uses it to decide whether
/// manifest and log still match, without clocks and without reading the log.
struct Fingerprint {
    logs: u64,
    bytes: u64,
    hash: u128,
}

fn fingerprint_path(outputs: &Path) -> PathBuf {
    state_folder(outputs).join("fingerprint")
}

impl Fingerprint {
    fn text(&self) -> String {
        format!("{:016x} {} {:032x}\n", self.logs, self.bytes, self.hash)
    }

    fn parse(text: &[u8]) -> Option<Fingerprint> {
        let mut parts = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
        let logs = u64::from_str_radix(parts.next()?, 16).ok()?;
        let bytes = parts.next()?.parse().ok()?;
        let hash = u128::from_str_radix(parts.next()?, 16).ok()?;
        Some(Fingerprint { logs, bytes, hash })
    }
}

fn file_hash(path: &Path) -> Result<u128> {
    let mut hash = Xxh3::new();
    each_block(path, &mut |block| {
        hash.update(block);
        Ok(())
    })?;
    Ok(hash.digest())
}

/// A row with its status, serialized as one JSON object.
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
    use crate::manifest::{ManifestCounts, StatusRow, each_row, file_options};
    use polyhaul::{Result, Sink};
    use polyhaul_bytes::Finished;
    use std::io::{BufWriter, Write};
    use std::path::Path;

    /// Writes the manifest of a library.
    pub(super) fn write(outputs: &Path, path: &Path) -> Result<(ManifestCounts, Finished)> {
        let mut sink = Sink::file(path, file_options()).map_err(|error| io("create", path, error))?;
        let mut lines = BufWriter::with_capacity(BLOCK_BYTES, &mut sink);
        let counts = each_row(outputs, &mut |status, row| {
            let written = serde_json::to_writer(&mut lines, &StatusRow { status, row }).map_err(std::io::Error::from);
            written.and_then(|()| lines.write_all(b"\n")).map_err(|error| io("write", path, error))
        })?;
        lines.flush().map_err(|error| io("write", path, error))?;
        drop(lines);
        let finished = sink.finish().map_err(|error| io("write", path, error))?;
        Ok((counts, finished))
    }
}

/// Passes rows with their status to `write` in groups, except for repeated rows, removals, and attempts before a
/// removal. Reads the log twice: the first pass finds the last success and the last removal of each asset. Rows added
/// in between are skipped.
pub(crate) fn each_group(outputs: &Path, write: &mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<ManifestCounts> {
    let LastRows { last, mut lines } = last_rows(outputs)?;
    let mut group = Vec::new();
    let mut rows = 0;
    let damage = read_rows(outputs, &mut |json| {
        let Some(row) = Row::parse(json) else { return Ok(false) };
        let line = xxh3_64(json.as_bytes());
        let last = last.get(&name_hash(&row.asset));
        let is_pruned = last.is_some_and(|last| row.attempt <= last.pruned_attempt);
        // Removing the hash skips rows that are passed again, and rows that were added after the first pass.
        if lines.remove(&line) && !is_pruned {
            let is_last = last.is_some_and(|last| last.success == (row.attempt, line));
            group.push((status(&row, is_last), row));
            rows += 1;
        }
        if group.len() == GROUP_ROWS {
            write(&group)?;
            group.clear();
        }
        Ok(true)
    })?;
    write(&group)?;
    Ok(ManifestCounts { rows, damage })
}

/// Passes the rows of a library to `each` with their status: `done`, `failed`, or `replaced` by a later success. Leaves
/// out removals and the attempts before them.
///
/// # Errors
/// Errors of `each`, and [`polyhaul::ErrorKind::Io`] if the log cannot be read.
pub fn each_row(outputs: &Path, each: &mut dyn FnMut(&'static str, &Row) -> Result<()>) -> Result<ManifestCounts> {
    each_group(outputs, &mut |group| group.iter().try_for_each(|(status, row)| each(status, row)))
}

fn status(row: &Row, is_last: bool) -> &'static str {
    match (&row.error, is_last) {
        (Some(_), _) => "failed",
        (None, true) => "done",
        (None, false) => "replaced",
    }
}

/// Result of the first pass over the log.
#[derive(Default)]
struct LastRows {
    last: ByHash<LastRow>,
    /// Hashes of all row lines.
    lines: HashSet<u64>,
}

/// The last success and removal of an asset.
#[derive(Default)]
struct LastRow {
    /// Attempt number and line hash of the last success.
    success: (u32, u64),
    /// Attempt number of the last removal, or 0 if there was none.
    pruned_attempt: u32,
}

/// Finds the last success and removal of each asset.
fn last_rows(outputs: &Path) -> Result<LastRows> {
    let mut rows = LastRows::default();
    read_rows(outputs, &mut |json| {
        let Some(row) = RowHeader::parse(json) else { return Ok(false) };
        let line = xxh3_64(json.as_bytes());
        rows.lines.insert(line);
        if row.error.is_some() {
            return Ok(true);
        }
        let last = rows.last.entry(name_hash(&row.asset)).or_default();
        if row.pruned {
            last.pruned_attempt = last.pruned_attempt.max(row.attempt);
        // Of two rows with the same number, the one passed later counts (see `read_rows`).
        } else if row.attempt >= last.success.0 {
            last.success = (row.attempt, line);
        }
        Ok(true)
    })?;
    Ok(rows)
}
