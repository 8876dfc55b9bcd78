//! The log: rows as lines of JSON, each prefixed with a checksum, in one file per run.
//!
//! A file is only ever appended to, so a run that is killed loses at most the line it was writing; such a line fails
//! its checksum and is skipped. Objects in stores cannot be appended to: there, a run writes numbered segments, at most
//! one per second, and joins them at the end. The rows of all files, in the order of their names, are the library's
//! history. Several runs, on one machine or many, never write to the same file. A run locks its file (`lock`); if the
//! file is removed all the same, the run writes its rows to another one.
//!
//! Format of a line: 16 hexadecimal digits (64-bit XXH3 of the JSON), a space, the JSON, a line feed.

use crate::lock::{self, LogGuard};
use crate::pool::DoneRow;
use crate::state_folder;
use polyhaul::place::{self, is_url};
use polyhaul::{Error, ErrorKind, FileOptions, Result, Sink, Source};
use polyhaul_bytes::hash::xxh3_64;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes per read and write.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// The minimum time between two segments.
const SEGMENT: Duration = Duration::from_secs(1);
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;
/// The end of the names of joined logs in stores.
const JOINED: &str = "-joined";

/// The folder of the log files.
fn log_folder(outputs: &Path) -> PathBuf {
    state_folder(outputs).join("log")
}

/// The log file of one run.
pub struct LogWriter {
    folder: PathBuf,
    name: String,
    place: LogPlace,
}

enum LogPlace {
    File(File),
    /// Lines not yet written, the time of the last write, and the number of the next segment.
    Segments {
        pending: Vec<u8>,
        last: Instant,
        written: u32,
    },
}

impl LogWriter {
    /// Creates the log of a run that writes to the folder or URL `outputs`. A log file is locked until the writer is
    /// dropped, so merging leaves it alone.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn create(outputs: &Path) -> Result<LogWriter> {
        let folder = log_folder(outputs);
        let name = new_name();
        let place = if is_url(&folder) {
            LogPlace::Segments { pending: Vec::new(), last: Instant::now(), written: 0 }
        } else {
            let file = lock::create(&folder, &name).map_err(|error| io("creating", &folder, error))?;
            LogPlace::File(file)
        };
        Ok(LogWriter { folder, name, place })
    }

    /// Appends rows. From then on, rows in a file survive if this process is killed; rows in a store, about a second
    /// later.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn append(&mut self, rows: &[DoneRow]) -> Result<()> {
        let mut lines = Vec::new();
        for row in rows {
            match row {
                DoneRow::Line(_, json) => lines.extend(checked_line(json)),
                DoneRow::Made(row) => {
                    let json = serde_json::to_string(row);
                    lines.extend(checked_line(
                        &json.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?,
                    ));
                }
            }
        }
        match &mut self.place {
            LogPlace::File(file) => {
                file.write_all(&lines).map_err(|error| io("writing", &self.folder, error))?;
                self.restore()
            }
            LogPlace::Segments { pending, .. } => {
                pending.extend_from_slice(&lines);
                self.flush_if_due()
            }
        }
    }

    /// Writes pending rows if the last segment is more than a second old. Call this regularly.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn flush_if_due(&mut self) -> Result<()> {
        match &mut self.place {
            LogPlace::Segments { pending, last, written } if !pending.is_empty() && last.elapsed() >= SEGMENT => {
                let path = self.folder.join(format!("{}-{written:06}.log", self.name));
                write_whole(&path, pending)?;
                pending.clear();
                *written += 1;
                *last = Instant::now();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes the rows so far to a new file if somebody removed the log, or its folder, during the run.
    fn restore(&mut self) -> Result<()> {
        let LogPlace::File(file) = &mut self.place else { return Ok(()) };
        let failed = |error| io("restoring", &self.folder, error);
        if !lock::is_removed(file).map_err(failed)? {
            return Ok(());
        }
        let name = new_name();
        let mut new = lock::create(&self.folder, &name).map_err(failed)?;
        file.rewind().and_then(|()| std::io::copy(file, &mut new)).map_err(failed)?;
        self.place = LogPlace::File(new);
        self.name = name;
        Ok(())
    }

    /// Completes the log: syncs its file, or joins its segments.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn finish(mut self) -> Result<()> {
        self.restore()?;
        match &mut self.place {
            LogPlace::File(file) => file.sync_data().map_err(|error| io("writing", &self.folder, error)),
            LogPlace::Segments { pending, written, .. } => {
                let segments: Vec<_> =
                    (0..*written).map(|number| self.folder.join(format!("{}-{number:06}.log", self.name))).collect();
                let mut whole = Vec::new();
                // Segments that a merge has joined are in its log.
                let segments: Vec<_> = segments.into_iter().filter(|segment| place::is_file(segment)).collect();
                for segment in &segments {
                    each_block(segment, &mut |block| {
                        whole.extend_from_slice(block);
                        Ok(())
                    })?;
                }
                whole.append(pending);
                write_whole(&self.folder.join(format!("{}.log", self.name)), &whole)?;
                segments.iter().try_for_each(|segment| remove(segment))
            }
        }
    }
}

/// A name that no other run has, and that sorts after those of earlier runs.
fn new_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:020}-{}", since.as_nanos(), std::process::id())
}

fn checked_line(json: &str) -> Vec<u8> {
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes())).into_bytes()
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = Sink::file(path, FileOptions::default()).and_then(|mut sink| {
        sink.write_all(bytes)?;
        sink.finish()
    });
    written.map(drop).map_err(|error| io("writing", path, error))
}

fn remove(path: &Path) -> Result<()> {
    place::remove(path).map_err(|error| io("removing", path, error))
}

/// The damaged lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Lines with a wrong checksum, not counting a last line without a line feed, which a killed run may leave behind.
    pub lines: u64,
    /// The file with the first damaged line.
    pub first: Option<PathBuf>,
}

/// A line of a log.
enum LogLine<'a> {
    /// The JSON of a row.
    Sound(&'a str),
    /// Bytes with a wrong checksum.
    Damaged(&'a [u8]),
}

/// Passes the JSON of all rows of a library to `each`, in the order in which the runs started.
///
/// Clocks of machines differ, so this is not the order of the attempts at an asset: their numbers are, and rows with
/// the same number are in the order in which they are passed.
///
/// # Errors
/// Errors of `each`, and [`ErrorKind::Io`]. A library without a log has no rows.
pub fn read_rows(outputs: &Path, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<Damage> {
    let mut damage = Damage::default();
    for file in log_files(outputs)? {
        each_line(&file, &mut |line| match line {
            LogLine::Sound(json) => each(json),
            LogLine::Damaged(_) => {
                damage.add(&file);
                Ok(())
            }
        })?;
    }
    Ok(damage)
}

/// Whether a log file has changed after another file.
pub(crate) fn is_newer_than(outputs: &Path, other: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let files = log_files(outputs).unwrap_or_default();
    files.iter().any(|file| changed(file) > changed(other))
}

/// Whether a library has a log, even one without rows.
///
/// # Errors
/// [`ErrorKind::Io`].
pub fn has_log(outputs: &Path) -> Result<bool> {
    log_files(outputs).map(|files| !files.is_empty())
}

/// The log files, in the order of their names.
fn log_files(outputs: &Path) -> Result<Vec<PathBuf>> {
    let folder = log_folder(outputs);
    let mut files: Vec<PathBuf> = if is_url(&folder) {
        let listed = place::list_objects(&folder, false).map_err(|error| io("listing", &folder, error))?;
        listed.into_iter().map(|object| folder.join(object.name)).collect()
    } else {
        match folder.read_dir() {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(io("listing", &folder, error)),
        }
    };
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort_unstable();
    Ok(files)
}

/// Passes the lines of a file to `each`. Returns the number of bytes read.
fn each_line(path: &Path, each: &mut dyn FnMut(LogLine<'_>) -> Result<()>) -> Result<u64> {
    let mut rest = Vec::new();
    let mut bytes = 0;
    each_block(path, &mut |block| {
        bytes += block.len() as u64;
        let mut block = block;
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (line, after) = block.split_at(end);
            if rest.is_empty() {
                each(check(line))?;
            } else {
                rest.extend_from_slice(line);
                each(check(&rest))?;
                rest.clear();
            }
            block = &after[1..];
        }
        rest.extend_from_slice(block);
        Ok(())
    })?;
    Ok(bytes)
}

/// Compares a line with its checksum.
fn check(line: &[u8]) -> LogLine<'_> {
    let sound = line.split_at_checked(DIGITS).and_then(|(sum, rest)| {
        let json = rest.strip_prefix(b" ")?;
        let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
        std::str::from_utf8(json).ok().filter(|_| xxh3_64(json) == sum)
    });
    sound.map_or(LogLine::Damaged(line), LogLine::Sound)
}

impl Damage {
    fn add(&mut self, path: &Path) {
        self.lines += 1;
        if self.first.is_none() {
            self.first = Some(path.to_path_buf());
        }
    }
}

/// Passes a file to `each` block by block. A run may be appending to it, so growth is not an error.
fn each_block(path: &Path, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let failed = |error| io("reading", path, error);
    let source = Source::open(path).map_err(failed)?;
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let count = source.read_next(&mut block).map_err(failed)?;
        each(&block[..count])?;
        if count < block.len() {
            return Ok(());
        }
    }
}

/// What [`compact_logs`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// Logs that runs are writing, which stay as they are.
    pub active: usize,
    /// Damaged lines, which the joined log keeps as they are.
    pub damage: Damage,
}

/// Joins the log files of a library into one, except those that runs are writing.
///
/// # Errors
/// [`ErrorKind::Io`]; no rows are lost.
pub fn compact_logs(outputs: &Path) -> Result<Merged> {
    let mut merged = Merged::default();
    let mut files = Vec::new();
    for file in log_files(outputs)? {
        match lock::take(&file).map_err(|error| io("opening", &file, error))? {
            Some(_) => files.push(file),
            None => merged.active += 1,
        }
    }
    let mut target = None;
    if let [first, _, ..] = &files[..] {
        target = JoinedLog::create(first)?;
    }
    let mut joined = Vec::new();
    for file in &files {
        let is_taken = target.as_ref().is_some_and(|target| target.first == *file);
        let guard = if is_taken { None } else { lock::take(file).map_err(|error| io("opening", file, error))? };
        if !is_taken && guard.is_none() {
            continue;
        }
        let bytes = each_line(file, &mut |line| {
            if let LogLine::Damaged(_) = line {
                merged.damage.add(file);
            }
            target.as_mut().map_or(Ok(()), |target| target.write(line))
        })?;
        joined.push((file, bytes));
    }
    let Some(target) = target else { return Ok(merged) };
    let path = target.finish()?;
    for (file, bytes) in joined.into_iter().filter(|(file, _)| *file != &path) {
        // A run that has just created its file may have locked and written it since.
        let guard = lock::take(file).map_err(|error| io("opening", file, error))?;
        if guard.is_some_and(|guard| guard.has_bytes(bytes)) {
            remove(file)?;
        }
    }
    Ok(merged)
}

/// The log that replaces others.
struct JoinedLog<'a> {
    /// The first of the logs.
    first: PathBuf,
    path: PathBuf,
    lines: BufWriter<Sink<'a>>,
    /// Keeps another merge from joining the file that is replaced.
    guard: LogGuard,
}

impl JoinedLog<'_> {
    /// Prepares to replace the first of the logs, so that the order is preserved; `None` if it is locked. In a store,
    /// it may be a segment, which its run removes at the end, so the joined log gets another name.
    fn create(first: &Path) -> Result<Option<Self>> {
        let Some(guard) = lock::take(first).map_err(|error| io("opening", first, error))? else { return Ok(None) };
        let stem = first.file_stem().unwrap_or_default().to_string_lossy();
        let is_first = !is_url(first) || stem.ends_with(JOINED);
        let path = if is_first { first.to_path_buf() } else { first.with_file_name(format!("{stem}{JOINED}.log")) };
        let options = FileOptions::default().with_durable(true);
        let sink = Sink::file(&path, options).map_err(|error| io("writing", &path, error))?;
        let lines = BufWriter::with_capacity(BLOCK_BYTES, sink);
        Ok(Some(JoinedLog { first: first.to_path_buf(), path, lines, guard }))
    }

    fn write(&mut self, line: LogLine<'_>) -> Result<()> {
        let written = match line {
            LogLine::Sound(json) => self.lines.write_all(&checked_line(json)),
            LogLine::Damaged(bytes) => self.lines.write_all(&[bytes, b"\n"].concat()),
        };
        written.map_err(|error| io("writing", &self.path, error))
    }

    /// Puts the file in place and returns its path.
    fn finish(self) -> Result<PathBuf> {
        let JoinedLog { path, lines, guard, .. } = self;
        let failed = |error| io("writing", &path, error);
        let sink = lines.into_inner().map_err(|error| failed(error.into_error()))?;
        // On Windows, an open file cannot be replaced.
        let guard = Some(guard).filter(|_| cfg!(not(windows)));
        sink.finish().map_err(failed)?;
        drop(guard);
        Ok(path)
    }
}

/// A failed operation on a path.
pub(crate) fn io(doing: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(doing, &place::shown(path), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let folder = std::env::temp_dir().join(format!("polyhaul-batch-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            Scratch(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn row(asset: &str) -> DoneRow {
        DoneRow::Made(Box::new(Row { asset: asset.into(), attempt: 1, ..Row::default() }))
    }

    /// The assets in the log, sorted.
    fn assets(outputs: &Path) -> Vec<String> {
        let mut assets = Vec::new();
        let damage = read_rows(outputs, &mut |json| {
            let row: Row = serde_json::from_str(json).unwrap();
            assets.push(row.asset);
            Ok(())
        });
        assert_eq!(damage.unwrap(), Damage::default());
        assets.sort();
        assets
    }

    #[test]
    fn merging_leaves_logs_of_active_runs_alone() {
        let scratch = Scratch::new("log-active");
        let outputs = &scratch.0;
        // Active runs before, between and after logs of runs that have ended.
        let mut active = Vec::new();
        for (number, asset) in ["a", "b", "c", "d", "e"].iter().enumerate() {
            let mut log = LogWriter::create(outputs).unwrap();
            log.append(&[row(asset)]).unwrap();
            if number % 2 == 0 { active.push(log) } else { log.finish().unwrap() }
        }
        let merged = compact_logs(outputs).unwrap();
        assert_eq!((merged.active, log_files(outputs).unwrap().len()), (3, 4));
        for log in &mut active {
            log.append(&[row("f")]).unwrap();
        }
        assert_eq!(compact_logs(outputs).unwrap().active, 3);
        drop(active.pop());
        active.into_iter().try_for_each(LogWriter::finish).unwrap();
        // A process that another test starts holds copies of the locks until it runs its program.
        let is_merged = || {
            std::thread::yield_now();
            compact_logs(outputs).unwrap() == Merged::default()
        };
        assert!((0..100_000).any(|_| is_merged()));
        assert_eq!(log_files(outputs).unwrap().len(), 1);
        assert_eq!(assets(outputs), ["a", "b", "c", "d", "e", "f", "f", "f"]);
    }

    #[cfg(unix)]
    #[test]
    fn rows_survive_the_removal_of_the_log_during_a_run() {
        let scratch = Scratch::new("log-removed");
        let outputs = &scratch.0;
        let mut log = LogWriter::create(outputs).unwrap();
        log.append(&[row("a")]).unwrap();
        std::fs::remove_file(&log_files(outputs).unwrap()[0]).unwrap();
        log.append(&[row("b")]).unwrap();
        assert_eq!(assets(outputs), ["a", "b"]);
        std::fs::remove_dir_all(outputs).unwrap();
        log.append(&[row("c")]).unwrap();
        assert_eq!(compact_logs(outputs).unwrap().active, 1);
        // Without further rows, the end of the run notices it.
        std::fs::remove_dir_all(outputs).unwrap();
        log.finish().unwrap();
        assert_eq!(assets(outputs), ["a", "b", "c"]);
    }

    /// Runs on two machines may have the same name, and a merge may take a file before its run has locked it.
    #[test]
    fn logs_with_the_same_name_are_two_files() {
        let scratch = Scratch::new("log-names");
        let folder = log_folder(&scratch.0);
        let files = [0, 1, 2].map(|_| lock::create(&folder, "7-7").unwrap());
        assert_eq!(log_files(&scratch.0).unwrap().len(), 3);
        assert!(log_files(&scratch.0).unwrap().iter().all(|file| lock::take(file).unwrap().is_none()));
        drop(files);
        assert!(log_files(&scratch.0).unwrap().iter().all(|file| lock::take(file).unwrap().is_some()));
    }
}
