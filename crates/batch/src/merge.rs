//! Joining the logs of runs that have ended.

use crate::lines::{LogLine, checked_line, each_line};
use crate::lock::{self, FileIdentity, LogGuard};
use crate::log::{BLOCK_BYTES, io, log_files, remove};
use polyhaul::place::{self, is_url};
use polyhaul::{FileOptions, Result, Sink};
use polyhaul_fault::planted;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The end of the names of joined logs in stores.
const JOINED: &str = "-joined";

/// What [`compact_logs`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// Logs that runs are writing, or another merge is joining, which stay as they are.
    pub active: usize,
}

/// Joins the log files of a library into one, except those that runs are writing. The joined log keeps damaged lines as
/// they are.
///
/// # Errors
/// [`polyhaul::ErrorKind::Io`]; no rows are lost.
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
    let Some(mut target) = JoinedLog::create(first)? else { return Ok(merged) };
    let mut joined = Vec::new();
    for file in &files {
        let guard = if file == first { None } else { take(file)? };
        if file != first && guard.is_none() {
            continue;
        }
        let identity = guard.as_ref().and_then(LogGuard::identity);
        let bytes = each_line(file, &mut |line| target.write(line))?;
        joined.push((file, identity, bytes));
    }
    let path = target.finish()?;
    joined.retain(|(file, ..)| *file != &path);
    joined.into_iter().try_for_each(|(file, identity, bytes)| remove_joined(file, identity, bytes))?;
    Ok(merged)
}

/// Removes a log of which this many bytes were joined, unless it has changed since: a run that had just created it may
/// have locked and written it, or another merge may have replaced it.
fn remove_joined(file: &Path, identity: Option<FileIdentity>, bytes: u64) -> Result<()> {
    let guard = take(file)?;
    let is_same = |guard: LogGuard| guard.identity() == identity && guard.has_bytes(bytes);
    if guard.is_some_and(is_same) { remove(file) } else { Ok(()) }
}

fn take(file: &Path) -> Result<Option<LogGuard>> {
    lock::take(file).map_err(|error| io("opening", file, error))
}

/// The log that replaces others.
struct JoinedLog<'a> {
    path: PathBuf,
    lines: BufWriter<Sink<'a>>,
    /// Keeps another merge from joining the file that is replaced.
    guard: LogGuard,
}

impl JoinedLog<'_> {
    /// Prepares to replace the first of the logs, so that the order is preserved; `None` if it is locked. In a store,
    /// it may be a segment, which its run removes at the end, so the joined log gets another name.
    fn create(first: &Path) -> Result<Option<Self>> {
        let Some(guard) = take(first)? else { return Ok(None) };
        let stem = first.file_stem().unwrap_or_default().to_string_lossy();
        let is_first = !is_url(first) || stem.ends_with(JOINED);
        let path = if is_first { first.to_path_buf() } else { first.with_file_name(format!("{stem}{JOINED}.log")) };
        let options = FileOptions::default().with_durable(true);
        let sink = Sink::file(&path, options).map_err(|error| io("writing", &path, error))?;
        Ok(Some(JoinedLog { path, lines: BufWriter::with_capacity(BLOCK_BYTES, sink), guard }))
    }

    fn write(&mut self, line: LogLine<'_>) -> Result<()> {
        let written = match line {
            LogLine::Sound(json) => self.lines.write_all(&checked_line(json)),
            LogLine::Damaged(_) if planted("merge-damage") => Ok(()),
            LogLine::Damaged(bytes) => self.lines.write_all(bytes).and_then(|()| self.lines.write_all(b"\n")),
        };
        written.map_err(|error| io("writing", &self.path, error))
    }

    /// Puts the file in place and returns its path.
    fn finish(self) -> Result<PathBuf> {
        let JoinedLog { path, lines, guard } = self;
        let failed = |error| io("writing", &path, error);
        let sink = lines.into_inner().map_err(|error| failed(error.into_error()))?;
        // On Windows, an open file cannot be replaced.
        let guard = Some(guard).filter(|_| cfg!(not(windows)));
        sink.finish().map_err(failed)?;
        drop(guard);
        Ok(path)
    }
}
