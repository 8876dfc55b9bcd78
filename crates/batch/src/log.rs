//! The log: rows as lines of JSON, each prefixed with a checksum, in one file per run.
//!
//! A file is only ever appended to, so a run that is killed loses at most the line it was writing; such a line fails
//! its checksum and is skipped. Objects in stores cannot be appended to: there, a run writes numbered segments, at most
//! one per second, and joins them at the end. The rows of all files, in the order of their names, are the library's
//! history. Several runs, on one machine or many, never write to the same file.
//!
//! Format of a line: 16 hexadecimal digits (64-bit XXH3 of the JSON), a space, the JSON, a line feed.

use crate::pool::DoneRow;
use crate::state_folder;
use polyhaul::place::{self, is_url};
use polyhaul::{Error, ErrorKind, FileOptions, Result, Sink, Source};
use polyhaul_bytes::hash::xxh3_64;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes per read and write.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// The minimum time between two segments.
const SEGMENT: Duration = Duration::from_secs(1);
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;

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
    /// Creates the log of a run that writes to the folder or URL `outputs`.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn create(outputs: &Path) -> Result<LogWriter> {
        let folder = log_folder(outputs);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}", since.as_nanos(), std::process::id());
        let place = if is_url(&folder) {
            LogPlace::Segments { pending: Vec::new(), last: Instant::now(), written: 0 }
        } else {
            std::fs::create_dir_all(&folder).map_err(|error| io("creating", &folder, error))?;
            let path = folder.join(format!("{name}.log"));
            let file = OpenOptions::new().create_new(true).append(true).open(&path);
            LogPlace::File(file.map_err(|error| io("creating", &path, error))?)
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
            LogPlace::File(file) => file.write_all(&lines).map_err(|error| io("writing", &self.folder, error)),
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

    /// Completes the log: syncs its file, or joins its segments.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn finish(mut self) -> Result<()> {
        match &mut self.place {
            LogPlace::File(file) => file.sync_data().map_err(|error| io("writing", &self.folder, error)),
            LogPlace::Segments { pending, written, .. } => {
                let segments: Vec<_> =
                    (0..*written).map(|number| self.folder.join(format!("{}-{number:06}.log", self.name))).collect();
                let mut whole = Vec::new();
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
    /// Lines with a wrong checksum, not counting the last line of a file, which a killed run may leave behind.
    pub lines: u64,
    /// The file with the first damaged line.
    pub first: Option<PathBuf>,
}

/// Passes the JSON of all rows of a library to `each`, in the order in which the runs started.
///
/// # Errors
/// Errors of `each`, and [`ErrorKind::Io`]. A library without a log has no rows.
pub fn read_rows(outputs: &Path, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<Damage> {
    let mut damage = Damage::default();
    for file in log_files(outputs)? {
        read_file(&file, each, &mut damage)?;
    }
    Ok(damage)
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

fn read_file(path: &Path, each: &mut dyn FnMut(&str) -> Result<()>, damage: &mut Damage) -> Result<()> {
    // A broken line counts as damage only if another line follows.
    let mut rest = Vec::new();
    let mut broken = 0;
    each_block(path, &mut |block| {
        let mut block = block;
        while let Some(end) = memchr::memchr(b'\n', block) {
            let (line, after) = block.split_at(end);
            damage.add(std::mem::take(&mut broken), path);
            broken = if rest.is_empty() {
                read_line(line, each)?
            } else {
                rest.extend_from_slice(line);
                let broken = read_line(&rest, each)?;
                rest.clear();
                broken
            };
            block = &after[1..];
        }
        rest.extend_from_slice(block);
        Ok(())
    })?;
    Ok(())
}

/// Reads one line; returns 1 if it is broken.
fn read_line(line: &[u8], each: &mut dyn FnMut(&str) -> Result<()>) -> Result<u64> {
    let sound = line.split_at_checked(DIGITS).and_then(|(sum, rest)| {
        let json = rest.strip_prefix(b" ")?;
        let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
        std::str::from_utf8(json).ok().filter(|_| xxh3_64(json) == sum)
    });
    match sound {
        Some(json) => each(json).map(|()| 0),
        None => Ok(1),
    }
}

impl Damage {
    fn add(&mut self, lines: u64, path: &Path) {
        self.lines += lines;
        if lines > 0 && self.first.is_none() {
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

/// Joins all log files of a library into one. No run may be active.
///
/// # Errors
/// [`ErrorKind::Io`]; no rows are lost.
pub fn compact_logs(outputs: &Path) -> Result<()> {
    let files = log_files(outputs)?;
    let [first, _, ..] = &files[..] else { return Ok(()) };
    // The joined file replaces the first one, so the order is preserved.
    let failed = |error| io("writing", first, error);
    let mut sink = Sink::file(first, FileOptions::default().with_durable(true)).map_err(failed)?;
    let mut lines = BufWriter::with_capacity(BLOCK_BYTES, &mut sink);
    for file in &files {
        let mut copy = |json: &str| lines.write_all(&checked_line(json)).map_err(failed);
        read_file(file, &mut copy, &mut Damage::default())?;
    }
    lines.flush().map_err(failed)?;
    drop(lines);
    sink.finish().map_err(failed)?;
    files[1..].iter().try_for_each(|file| remove(file))
}

/// A failed operation on a path.
pub(crate) fn io(doing: &str, path: &Path, error: std::io::Error) -> Error {
    Error::io(doing, &place::shown(path), error)
}
