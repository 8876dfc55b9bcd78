//! Appends rows to the log: lines of JSON with a checksum, in one file per run.
//!
//! Files are append-only, so a killed run loses at most the line that it was writing (`lines`). Objects in object
//! stores cannot be appended to: there, a run writes numbered segments, at most one per second, and joins them at the
//! end. The rows of all files, in order of their names, are the library's history. No two runs write to the same file,
//! even on different machines. A run locks its file (`lock`); if the file is removed, renamed or replaced anyway, the
//! run copies its rows to a new file.

use crate::lines::{LogLine, checked_line, each_block, each_line, each_row_within};
use crate::lock::LogFile;
use crate::pool::DoneRow;
use crate::state_folder;
use polyhaul::place::{self, is_url};
use polyhaul::{Error, ErrorKind, FileOptions, Result, Sink};
use polyhaul_bytes::hash::xxh3_64;
use polyhaul_fault::planted;
use std::hash::{BuildHasher, RandomState};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Size of the buffers for reading and writing files.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// Minimum time between two segments.
const SEGMENT: Duration = Duration::from_secs(1);
/// Maximum number of times that the files of a log are listed: a merge may remove files between listing and reading.
const MAX_LISTINGS: u32 = 100;

/// Folder of the log files.
fn log_folder(outputs: &Path) -> PathBuf {
    state_folder(outputs).join("log")
}

/// The log of one run, being written.
pub struct LogWriter {
    folder: PathBuf,
    name: String,
    place: LogPlace,
}

enum LogPlace {
    File(LogFile),
    /// Pending lines, time of the last write, and number of the next segment.
    Segments {
        pending: Vec<u8>,
        last: Instant,
        written: u32,
    },
}

impl LogWriter {
    /// Creates the log of a run that writes to the folder or URL `outputs`. If the log is a file, it stays locked until
    /// the writer is dropped, so merges skip it.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the log file cannot be created.
    pub fn create(outputs: &Path) -> Result<LogWriter> {
        let folder = log_folder(outputs);
        let name = new_name();
        let place = if is_url(&folder) {
            LogPlace::Segments { pending: Vec::new(), last: Instant::now(), written: 0 }
        } else {
            LogPlace::File(LogFile::create(&folder, &name).map_err(|error| io("create", &folder, error))?)
        };
        Ok(LogWriter { folder, name, place })
    }

    /// Appends rows. If the log is a file, the rows survive if this process is killed after this call; in an object
    /// store, only once their segment is written, about a second later.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the log cannot be written, or if another program truncated it.
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
            LogPlace::File(log) => {
                log.file.write_all(&lines).map_err(|error| io("write", &log.path, error))?;
                log.bytes += lines.len() as u64;
                self.restore()
            }
            LogPlace::Segments { pending, .. } => {
                pending.extend_from_slice(&lines);
                self.flush_if_due()
            }
        }
    }

    /// Writes pending rows to an object store if the last segment is at least a second old. Call this regularly.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the segment cannot be written.
    pub fn flush_if_due(&mut self) -> Result<()> {
        match &mut self.place {
            LogPlace::Segments { pending, last, written } if !pending.is_empty() && last.elapsed() >= SEGMENT => {
                // Padded with zeros, so that the names of segments sort in the order in which they were written.
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

    /// Copies the rows to a new file if another program removed, renamed or replaced the log. Fails if another program
    /// truncated it.
    fn restore(&mut self) -> Result<()> {
        let LogPlace::File(log) = &mut self.place else { return Ok(()) };
        let failed = |error| io("restore", &log.path, error);
        if log.is_truncated().map_err(failed)? {
            let message = format!("{}: another program truncated the log during the run", log.path.display());
            let hint = "start the run again: assets whose rows were lost are converted again";
            return Err(Error::new(ErrorKind::Io, message).with_hint(hint));
        }
        if planted("log-removed") || log.is_in_place() {
            return Ok(());
        }
        let mut new = LogFile::create(&self.folder, &new_name()).map_err(failed)?;
        // The open file can still be read after its removal on Unix, with all rows written so far.
        new.bytes = log.file.rewind().and_then(|()| std::io::copy(&mut log.file, &mut new.file)).map_err(failed)?;
        *log = new;
        Ok(())
    }

    /// Completes the log: syncs the file, or joins the segments.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the log cannot be written, or if another program truncated it.
    pub fn finish(mut self) -> Result<()> {
        self.restore()?;
        match &mut self.place {
            LogPlace::File(log) => log.file.sync_data().map_err(|error| io("write", &log.path, error)),
            LogPlace::Segments { pending, written, .. } => {
                let segments: Vec<_> =
                    (0..*written).map(|number| self.folder.join(format!("{}-{number:06}.log", self.name))).collect();
                let mut whole = Vec::new();
                for segment in &segments {
                    let read = each_block(segment, &mut |block| {
                        whole.extend_from_slice(block);
                        Ok(())
                    });
                    // A merge may have moved segments into its own log.
                    read.or_else(|error| if place::is_file(segment) { Err(error) } else { Ok(()) })?;
                }
                whole.append(pending);
                write_whole(&self.folder.join(format!("{}.log", self.name)), &whole)?;
                // Removed only after the joined log is complete: a run killed in between leaves rows twice, but loses
                // none.
                segments.iter().try_for_each(|segment| remove(segment))
            }
        }
    }
}

/// Returns a name unique to this run that sorts after the names of earlier runs, as far as clocks agree. It includes
/// random bits, since two containers on different machines may read the same time and have the same process ID.
fn new_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let random = RandomState::new().hash_one(0) as u32;
    format!("{:020}-{}-{random:08x}", since.as_nanos(), std::process::id())
}

pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = Sink::file(path, FileOptions::default()).and_then(|mut sink| {
        sink.write_all(bytes)?;
        sink.finish()
    });
    written.map(drop).map_err(|error| io("write", path, error))
}

pub(crate) fn remove(path: &Path) -> Result<()> {
    place::remove(path).map_err(|error| io("remove", path, error))
}

/// Damaged lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Number of lines with a wrong checksum, and of lines that are not rows. A torn last line does not count: a killed
    /// run may leave such a line.
    pub lines: u64,
    /// First file with a damaged line.
    pub first: Option<PathBuf>,
}

/// Passes the JSON of all rows of a library to `each`, in the order in which the runs started. `each` returns whether
/// the JSON is a row; if not, the line counts as damaged.
///
/// Clocks of machines differ, so the rows of an asset may not be in the order of its attempts: compare the attempt
/// numbers. Of two rows with the same number, the one passed later counts. A row may be passed more than once, with
/// identical text, if logs are merged at the same time or if a merge was killed.
///
/// # Errors
/// Errors of `each`, and [`ErrorKind::Io`] if the log cannot be listed or read. A library without a log is not an
/// error: it has no rows.
pub fn read_rows(outputs: &Path, each: &mut dyn FnMut(&str) -> Result<bool>) -> Result<Damage> {
    let mut listings = 0;
    loop {
        listings += 1;
        // Starts over with each listing, since all files are then read again.
        let mut damage = Damage::default();
        let mut files = log_files(outputs)?.into_iter();
        let failed = files.find_map(|file| read_file(&file, each, &mut damage).err().map(|error| (file, error)));
        match failed {
            None => return Ok(damage),
            // A merge removed the file after it was listed, so list the files again.
            Some((file, _)) if listings < MAX_LISTINGS && !place::is_file(&file) => {}
            Some((_, error)) => return Err(error),
        }
    }
}

fn read_file(file: &Path, each: &mut dyn FnMut(&str) -> Result<bool>, damage: &mut Damage) -> Result<()> {
    each_line(file, &mut |line| match line {
        LogLine::Sound(json) => {
            if !each(json)? {
                damage.add(file);
            }
            Ok(())
        }
        LogLine::Damaged(bytes) => {
            damage.add(file);
            each_row_within(bytes, &mut |json| each(json).map(drop))
        }
    })
    .map(drop)
}

/// Whether a library has a log, even one without rows.
///
/// # Errors
/// [`ErrorKind::Io`] if the log files cannot be listed.
pub fn has_log(outputs: &Path) -> Result<bool> {
    log_files(outputs).map(|files| !files.is_empty())
}

/// Returns the log files, ordered by name.
pub(crate) fn log_files(outputs: &Path) -> Result<Vec<PathBuf>> {
    let folder = log_folder(outputs);
    let listing = |error| io("list", &folder, error);
    let mut files: Vec<PathBuf> = if is_url(&folder) {
        let listed = place::list_objects(&folder, false).map_err(listing)?;
        listed.into_iter().map(|object| folder.join(object.name)).collect()
    } else {
        match place::names_in(&folder) {
            Ok(names) => names.into_iter().map(|name| folder.join(name)).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(listing(error)),
        }
    };
    files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    files.sort_unstable();
    Ok(files)
}

/// Returns a hash of the names and sizes of all log files. It changes with every row, independently of clocks.
///
/// # Errors
/// [`ErrorKind::Io`] if the log files cannot be listed.
pub(crate) fn logs_hash(outputs: &Path) -> Result<u64> {
    let mut text = String::new();
    for file in log_files(outputs)? {
        let bytes = place::find(&file).ok().and_then(|info| info.bytes);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("{name}/{bytes:?}\n"));
    }
    Ok(xxh3_64(text.as_bytes()))
}

impl Damage {
    fn add(&mut self, path: &Path) {
        self.lines += 1;
        if self.first.is_none() {
            self.first = Some(path.to_path_buf());
        }
    }
}

/// Wraps an I/O error of an operation on a path.
pub(crate) fn io(action: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(action, &place::shown(path), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use crate::{Merged, compact_logs, lock};
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// Returns the names of the assets in the log, sorted.
    fn assets(outputs: &Path) -> Vec<String> {
        let mut assets = Vec::new();
        let damage = read_rows(outputs, &mut |json| {
            assets.push(Row::parse(json).unwrap().asset);
            Ok(true)
        });
        assert_eq!(damage.unwrap(), Damage::default());
        assets.sort();
        assets
    }

    #[test]
    fn merging_leaves_logs_of_active_runs_alone() {
        let scratch = Scratch::new("log-active");
        let outputs = &scratch.0;
        // Active runs before, between and after logs of completed runs.
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
        // A child process forked by another test shares the locks until it calls `exec`.
        let is_merged = || {
            std::thread::yield_now();
            compact_logs(outputs).unwrap() == Merged::default()
        };
        assert!((0..100_000).any(|_| is_merged()));
        assert_eq!(log_files(outputs).unwrap().len(), 1);
        assert_eq!(assets(outputs), ["a", "b", "c", "d", "e", "f", "f", "f"]);
    }

    /// A reader never misses rows that were written before it started.
    #[test]
    fn runs_merges_and_readers_at_once_lose_no_row() {
        const RUNS: usize = 3;
        let scratch = Scratch::new("log-at-once");
        let outputs = &scratch.0;
        let written = Mutex::new(BTreeSet::new());
        let ended = AtomicUsize::new(0);
        let is_over = || ended.load(Ordering::SeqCst) == RUNS;
        let run = |number: usize| {
            for log_number in 0..6 {
                let mut log = LogWriter::create(outputs).unwrap();
                for row_number in 0..4 {
                    let name = format!("{number}-{log_number}-{row_number}");
                    log.append(&[row(&name)]).unwrap();
                    written.lock().unwrap().insert(name);
                }
                log.finish().unwrap();
            }
            ended.fetch_add(1, Ordering::SeqCst);
        };
        let merge = || {
            while !is_over() {
                compact_logs(outputs).unwrap();
            }
        };
        let read = || {
            while !is_over() {
                let expected = written.lock().unwrap().clone();
                let logged = BTreeSet::from_iter(assets(outputs));
                assert!(expected.is_subset(&logged), "{:?}", expected.difference(&logged));
            }
        };
        std::thread::scope(|scope| {
            (0..RUNS).for_each(|number| {
                _ = scope.spawn({
                    let run = &run;
                    move || run(number)
                })
            });
            (0..2).for_each(|_| _ = scope.spawn(merge));
            scope.spawn(read);
        });
        compact_logs(outputs).unwrap();
        assert_eq!(BTreeSet::from_iter(assets(outputs)), *written.lock().unwrap());
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
        // Without further rows, `finish` detects it.
        std::fs::remove_dir_all(outputs).unwrap();
        log.finish().unwrap();
        assert_eq!(assets(outputs), ["a", "b", "c"]);
    }

    /// Runs on two machines may choose the same name, and a merge may take a file before its run locks it.
    #[test]
    fn logs_with_the_same_name_are_two_files() {
        let scratch = Scratch::new("log-names");
        let folder = log_folder(&scratch.0);
        let files = [0, 1, 2].map(|_| LogFile::create(&folder, "7-7").unwrap());
        assert_eq!(log_files(&scratch.0).unwrap().len(), 3);
        assert!(log_files(&scratch.0).unwrap().iter().all(|file| lock::take(file).unwrap().is_none()));
        drop(files);
        assert!(log_files(&scratch.0).unwrap().iter().all(|file| lock::take(file).unwrap().is_some()));
    }
}
