//! Merges the logs of completed runs.

use crate::lines::{LogLine, checked_line, each_line};
use crate::lock::{self, FileIdentity, LogGuard};
use crate::log::{BLOCK_BYTES, io, log_files, remove};
use crate::state_folder;
use polyhaul::place::{self, is_url};
use polyhaul::{FileOptions, Result, Sink};
use polyhaul_fault::planted;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Name suffix of merged logs in object stores.
const JOINED: &str = "-joined";

/// Result of [`compact_logs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// Number of logs that were skipped because a run is writing them or another merge is joining them.
    pub active: usize,
}

/// Merges the log files of a library into one, except those being written. Damaged lines are kept; torn last lines are
/// dropped.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`] if a log cannot be read, written or removed; no rows are lost.
pub fn compact_logs(outputs: &Path) -> Result<Merged> {
    let mut merged = Merged::default();
    let mut files = Vec::new();
    for file in log_files(outputs)? {
        match take(&file)? {
            Some(_) => files.push(file),
            None if place::is_file(&file) => merged.active += 1,
            // Another merge has joined it.
            None => {}
        }
    }
    let [first, _, ..] = &files[..] else { return Ok(merged) };
    let folder = state_folder(outputs);
    let Some(_guard) = lock::exclude_merges(&folder).map_err(|error| io("lock", &folder, error))? else {
        merged.active += files.len();
        return Ok(merged);
    };
    let Some(mut target) = JoinedLog::create(first)? else { return Ok(merged) };
    let mut joined = Vec::new();
    for file in &files {
        // `target` holds the guard of the first log already.
        let guard = if file == first { None } else { take(file)? };
        if file != first && guard.is_none() {
            continue;
        }
        let identity = guard.as_ref().and_then(LogGuard::identity);
        let bytes = each_line(file, &mut |line| target.write(line))?;
        joined.push((file, identity, bytes));
    }
    let path = target.finish()?;
    // The merged log has the path of the first log, unless they are in an object store, and must not be removed.
    joined.retain(|(file, ..)| *file != &path);
    joined.into_iter().try_for_each(|(file, identity, bytes)| remove_joined(file, identity, bytes))?;
    Ok(merged)
}

/// Removes a log after `bytes` bytes of it were merged, unless it changed since: a run that just created it may have
/// locked and written it, or another merge may have replaced it.
fn remove_joined(file: &Path, identity: Option<FileIdentity>, bytes: u64) -> Result<()> {
    let guard = take(file)?;
    let is_same = |guard: LogGuard| guard.identity() == identity && guard.has_bytes(bytes);
    if guard.is_some_and(is_same) { remove(file) } else { Ok(()) }
}

fn take(file: &Path) -> Result<Option<LogGuard>> {
    lock::take(file).map_err(|error| io("open", file, error))
}

/// The log that replaces the merged logs.
struct JoinedLog<'a> {
    path: PathBuf,
    lines: BufWriter<Sink<'a>>,
    /// Prevents other merges from taking the file being replaced.
    guard: LogGuard,
}

impl JoinedLog<'_> {
    /// Prepares to replace the first log, which preserves the order of the rows. Returns `None` if that log is locked
    /// or no longer exists. In an object store, the first log may be a segment that its run will remove, so the merged
    /// log gets a different name.
    fn create(first: &Path) -> Result<Option<Self>> {
        let Some(guard) = take(first)? else { return Ok(None) };
        let stem = first.file_stem().unwrap_or_default().to_string_lossy();
        let is_first = !is_url(first) || stem.ends_with(JOINED);
        let path = if is_first { first.to_path_buf() } else { first.with_file_name(format!("{stem}{JOINED}.log")) };
        // Durable, because the logs that it replaces are removed afterward: a power failure must not lose both.
        let options = FileOptions::default().with_durable(true);
        let sink = Sink::file(&path, options).map_err(|error| io("write", &path, error))?;
        Ok(Some(JoinedLog { path, lines: BufWriter::with_capacity(BLOCK_BYTES, sink), guard }))
    }

    fn write(&mut self, line: LogLine<'_>) -> Result<()> {
        let written = match line {
            LogLine::Sound(json) => self.lines.write_all(&checked_line(json)),
            LogLine::Damaged(_) if planted("merge-damage") => Ok(()),
            LogLine::Damaged(bytes) => self.lines.write_all(bytes).and_then(|()| self.lines.write_all(b"\n")),
        };
        written.map_err(|error| io("write", &self.path, error))
    }

    /// Replaces the file and returns its path.
    fn finish(self) -> Result<PathBuf> {
        let JoinedLog { path, lines, guard } = self;
        let failed = |error| io("write", &path, error);
        let sink = lines.into_inner().map_err(|error| failed(error.into_error()))?;
        // On Windows, an open file cannot be replaced.
        let guard = Some(guard).filter(|_| cfg!(not(windows)));
        sink.finish().map_err(failed)?;
        drop(guard);
        Ok(path)
    }
}
