//! Properties of library logs under any sequence of runs, kills, merges and damage.
//!
//! The bytes of an input are operations: a letter of `OPERATIONS` followed by its arguments. The expected result
//! follows from the files alone: a row is reported if and only if one of the files contains the row's line, whatever
//! damage surrounds it.

use super::trial::Effort;
use memchr::memmem;
use polyhaul::{Error, ErrorKind};
use polyhaul_batch::{
    Damage, DoneRow, LogWriter, Plan, Row, RowError, RowNote, Summary, compact_logs, each_row, is_manifest_stale,
    state_folder, write_manifest,
};
use polyhaul_bytes::hash::xxh3_64;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Letters of the operations that `LogLibrary::apply` executes.
const OPERATIONS: &[u8] = b"SAFKMWBRIXCUDONG";
/// Maximum number of operations per input.
const MAX_OPERATIONS: usize = 40;
/// Maximum number of concurrent runs.
const MAX_RUNS: usize = 4;
/// Assets of the library.
const ASSETS: [&str; 4] = ["a.obj", "b/ü \"x\".obj", "c {\".obj", "0123456789abcdef {}"];
/// Line of a hypothetical newer format version.
const FOREIGN: &str = r#"{"format":2,"rows":[]}"#;

/// Executes bytes as operations on the logs of a library; all readers must report the same rows and the same damage.
pub fn logs(data: &[u8], effort: Effort) {
    let mut library = LogLibrary::new();
    let mut script = Script(data);
    for _ in 0..MAX_OPERATIONS {
        let Some(operation) = script.operation() else { break };
        library.apply(operation, &mut script);
        if effort == Effort::Full {
            library.check();
        }
    }
    library.check();
    library.runs.clear();
    library.apply(b'M', &mut script);
    library.check();
}

/// Remaining bytes of an input.
struct Script<'d>(&'d [u8]);

impl Script<'_> {
    /// Skips to the next operation.
    fn operation(&mut self) -> Option<u8> {
        let at = self.0.iter().position(|byte| OPERATIONS.contains(byte))?;
        let operation = self.0[at];
        self.0 = &self.0[at + 1..];
        Some(operation)
    }

    /// Returns a number below `limit` from the next two bytes, or 0 at the end.
    fn below(&mut self, limit: usize) -> usize {
        let mut number = 0;
        for _ in 0..2 {
            let Some((byte, rest)) = self.0.split_first() else { break };
            number = number << 8 | usize::from(*byte);
            self.0 = rest;
        }
        number % limit.max(1)
    }
}

/// An active run.
struct Run {
    log: LogWriter,
    path: PathBuf,
    /// Whether its file was removed, renamed or replaced.
    is_disturbed: bool,
    /// Rows in its file before it was disturbed.
    removed: BTreeSet<u64>,
}

/// Library in a temporary folder, and the rows written to its logs.
pub struct LogLibrary {
    folder: PathBuf,
    /// All written rows with their lines, by id.
    issued: BTreeMap<u64, (Row, String)>,
    runs: Vec<Run>,
    serial: u64,
}

/// Content of all log files.
#[derive(Debug, PartialEq)]
struct Content {
    rows: BTreeSet<u64>,
    /// Complete lines that are not valid rows.
    damaged: Vec<Vec<u8>>,
    /// Incomplete last lines of files: lines without a line feed.
    tails: Vec<Vec<u8>>,
    /// Allowed number of damaged lines: an incomplete last line may or may not count.
    damage: RangeInclusive<u64>,
}

impl Drop for LogLibrary {
    fn drop(&mut self) {
        self.runs.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Default for LogLibrary {
    fn default() -> LogLibrary {
        LogLibrary::new()
    }
}

impl LogLibrary {
    /// Creates an empty library, in `/dev/shm` if it exists, since runs sync their files.
    pub fn new() -> LogLibrary {
        static SERIAL: AtomicUsize = AtomicUsize::new(0);
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let folder = place.join(format!("polyhaul-logs-{}-{serial}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        LogLibrary { folder, issued: BTreeMap::new(), runs: Vec::new(), serial: 0 }
    }

    /// Lists the log files, sorted by name.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(state_folder(&self.folder).join("log")).into_iter().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        files.sort();
        files
    }

    /// Writes the log of a complete run with this many rows, and returns its path.
    pub fn run(&mut self, rows: usize) -> PathBuf {
        self.start();
        for _ in 0..rows {
            self.append(self.runs.len() - 1, 1);
        }
        let run = self.runs.pop().unwrap();
        run.log.finish().unwrap();
        run.path
    }

    fn apply(&mut self, operation: u8, script: &mut Script<'_>) {
        let run = script.below(self.runs.len());
        match operation {
            b'S' => self.start(),
            b'M' => self.merge(),
            b'W' if state_folder(&self.folder).is_dir() => self.write_manifest(),
            b'G' => self.start_with_name_of(run),
            b'A' if !self.runs.is_empty() => self.append(run, 1 + script.below(5)),
            b'F' if !self.runs.is_empty() => self.finish(run),
            b'K' if !self.runs.is_empty() => self.kill(run, script),
            b'D' | b'O' | b'N' if !self.runs.is_empty() => self.disturb(operation, run),
            b'A' | b'F' | b'K' | b'D' | b'O' | b'N' | b'W' => {}
            _ => self.change_bytes(operation, script),
        }
    }

    fn start(&mut self) {
        if self.runs.len() < MAX_RUNS {
            let before = self.files();
            let log = LogWriter::create(&self.folder).unwrap();
            let path = self.files().into_iter().find(|path| !before.contains(path)).unwrap();
            self.runs.push(Run { log, path, is_disturbed: false, removed: BTreeSet::new() });
        }
    }

    /// Renames the log of a completed run as if the clock had been far ahead or far behind.
    fn start_with_name_of(&mut self, serial: usize) {
        let running: Vec<_> = self.runs.iter().map(|run| run.path.clone()).collect();
        let Some(file) = self.files().into_iter().find(|path| !running.contains(path)) else { return };
        let clock = if serial.is_multiple_of(2) { "09795842000000000000" } else { "00000000000000000001" };
        self.serial += 1;
        fs::rename(&file, file.with_file_name(format!("{clock}-{}.log", self.serial))).unwrap();
    }

    /// Creates a row; every third row is a failure.
    fn row(&mut self) -> (Row, String) {
        self.serial += 1;
        let asset = ASSETS[(xxh3_64(&self.serial.to_le_bytes()) % ASSETS.len() as u64) as usize];
        let error = self.serial.is_multiple_of(3).then(|| RowError { kind: "io".into(), ..RowError::default() });
        let attempt = self.serial as u32;
        let row = Row { id: self.serial, asset: asset.into(), attempt, error, source_bytes: 7, ..Row::default() };
        let json = serde_json::to_string(&row).unwrap();
        let line = format!("{:016x} {json}", xxh3_64(json.as_bytes()));
        (row, line)
    }

    fn append(&mut self, run: usize, count: usize) {
        let rows: Vec<_> = (0..count).map(|_| self.row()).collect();
        let done_row = |(row, line): &(Row, String)| {
            let note = RowNote { id: row.id, asset: row.asset.clone(), seconds: 0.0, error: row.error.clone() };
            DoneRow::Line(note, line[17..].to_owned())
        };
        let done_rows: Vec<_> = rows.iter().map(done_row).collect();
        let mut expected: BTreeSet<u64> = rows.iter().map(|(row, _)| row.id).collect();
        self.issued.extend(rows.into_iter().map(|(row, line)| (row.id, (row, line))));
        let before = self.files();
        let Err(error) = self.runs[run].log.append(&done_rows) else {
            let after = self.files();
            let run = &mut self.runs[run];
            expected.append(&mut run.removed);
            if std::mem::take(&mut run.is_disturbed) {
                run.path = after.into_iter().find(|path| !before.contains(path)).unwrap();
            }
            assert!(expected.is_subset(&self.content().rows), "rows that were written are not there");
            assert!(is_manifest_stale(&self.folder));
            return;
        };
        self.refused(&error, run);
    }

    /// Removes a run whose log was truncated by another program.
    fn refused(&mut self, error: &Error, run: usize) {
        assert!(error.kind() == ErrorKind::Io && error.to_string().contains("truncated"), "{error}");
        self.runs.remove(run);
    }

    fn finish(&mut self, run: usize) {
        let Run { log, removed, .. } = self.runs.remove(run);
        match log.finish() {
            Ok(()) => assert!(removed.is_subset(&self.content().rows), "the end of a run loses rows"),
            Err(error) => assert!(error.to_string().contains("truncated"), "{error}"),
        }
    }

    /// Kills a run while it writes a line.
    fn kill(&mut self, run: usize, script: &mut Script<'_>) {
        let (_, line) = self.row();
        let cut = script.below(line.len());
        let Run { path, .. } = self.runs.remove(run);
        if let Ok(mut bytes) = fs::read(&path)
            && bytes.last().is_none_or(|last| *last == b'\n')
        {
            bytes.extend_from_slice(&line.as_bytes()[..cut]);
            fs::write(&path, bytes).unwrap();
        }
    }

    /// Removes, renames or replaces the log of a run.
    fn disturb(&mut self, operation: u8, run: usize) {
        let path = self.runs[run].path.clone();
        if !path.exists() {
            return;
        }
        let bytes = fs::read(&path).unwrap();
        let rows = self.rows_in(std::slice::from_ref(&bytes));
        self.runs[run].removed.extend(rows);
        self.runs[run].is_disturbed = true;
        match operation {
            b'D' => fs::remove_file(&path).unwrap(),
            b'O' => fs::rename(&path, path.with_extension("old")).unwrap(),
            _ => {
                let new = path.with_extension("new");
                fs::write(&new, &bytes[..bytes.len() / 2]).unwrap();
                fs::rename(new, &path).unwrap();
            }
        }
    }

    fn merge(&mut self) {
        let before = self.content();
        let reported = self.damage();
        let active = self.runs.iter().filter(|run| run.path.exists() && !run.is_disturbed).count();
        let merged = compact_logs(&self.folder).unwrap();
        assert!(merged.active == active, "{} of {active} runs", merged.active);
        assert!(self.files().len() <= active + 1);
        let mut after = self.content();
        assert_eq!(before.rows, after.rows, "a merge");
        assert_eq!(reported.lines, self.damage().lines, "a merge");
        // Damaged lines are kept; damaged ends of files become lines.
        for line in &before.damaged {
            let at = after.damaged.iter().position(|other| other == line);
            after.damaged.remove(at.expect("a merge keeps damaged lines"));
        }
        assert!(after.damaged.iter().all(|line| before.tails.contains(line)), "{after:?}");
    }

    /// Returns the damage that a resumed run reports.
    fn damage(&self) -> Damage {
        Plan::default().resume(&self.folder, "").unwrap()
    }

    fn write_manifest(&mut self) {
        let counts = write_manifest(&self.folder).unwrap();
        assert!(self.content().damage.contains(&counts.damage.lines));
        assert!(!is_manifest_stale(&self.folder));
    }

    /// Changes the bytes of a file.
    fn change_bytes(&mut self, operation: u8, script: &mut Script<'_>) {
        let files = self.files();
        let Some(file) = files.get(script.below(files.len())) else { return };
        let mut bytes = fs::read(file).unwrap();
        let at = script.below(bytes.len().max(1));
        let byte = script.below(256) as u8;
        match operation {
            b'B' | b'R' | b'C' if bytes.is_empty() => return,
            b'B' => bytes[at] = byte,
            b'R' => _ = bytes.remove(at),
            b'C' => bytes.truncate(at),
            b'I' => bytes.insert(at, byte),
            b'X' => bytes.extend_from_slice(&vec![0; byte.into()]),
            _ => bytes.extend_from_slice(format!("{:016x} {FOREIGN}\n", xxh3_64(FOREIGN.as_bytes())).as_bytes()),
        }
        self.damage_file(file, &bytes);
    }

    /// Overwrites a file in place.
    pub fn damage_file(&self, file: &Path, bytes: &[u8]) {
        fs::write(file, bytes).unwrap();
    }

    /// Returns the rows whose lines are in these files.
    fn rows_in(&self, files: &[Vec<u8>]) -> BTreeSet<u64> {
        let is_there = |line: &str| files.iter().any(|file| memmem::find(file, line.as_bytes()).is_some());
        self.issued.iter().filter(|(_, (_, line))| is_there(line)).map(|(id, _)| *id).collect()
    }

    fn content(&self) -> Content {
        let files: Vec<_> = self.files().iter().map(|file| fs::read(file).unwrap()).collect();
        let mut damaged = Vec::new();
        let mut tails = Vec::new();
        for file in &files {
            let mut lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
            tails.extend(lines.pop().filter(|tail| !tail.is_empty()).map(<[u8]>::to_vec));
            damaged.extend(lines.into_iter().filter(|line| !self.is_line(line)).map(<[u8]>::to_vec));
        }
        let is_damaged = |tail: &&Vec<u8>| !self.is_line(tail) && !self.rows_in(std::slice::from_ref(*tail)).is_empty();
        let min = (damaged.len() + tails.iter().filter(is_damaged).count()) as u64;
        Content { rows: self.rows_in(&files), damage: min..=min + tails.len() as u64, damaged, tails }
    }

    fn is_line(&self, bytes: &[u8]) -> bool {
        self.issued.values().any(|(_, line)| line.as_bytes() == bytes)
    }

    /// Checks that all readers report the rows in the files, and the same damage.
    ///
    /// # Panics
    /// If a reader reports anything else.
    pub fn check(&self) {
        let content = self.content();
        let mut rows = BTreeMap::new();
        let counts = each_row(&self.folder, &mut |status, row| {
            assert!(rows.insert(row.id, status).is_none(), "{row:?} occurs twice");
            assert_eq!(self.issued.get(&row.id).map(|(row, _)| row), Some(row));
            Ok(())
        });
        let counts = counts.unwrap();
        assert_eq!(rows.keys().copied().collect::<BTreeSet<_>>(), content.rows);
        assert!(content.damage.contains(&counts.damage.lines), "{counts:?} {content:?}");
        assert_eq!(rows, self.statuses(&content.rows));
        let summary = Summary::read(&self.folder, 0).unwrap();
        assert_eq!((summary.attempts, summary.damaged_lines), (rows.len() as u64, counts.damage.lines));
        let lasts = self.lasts(&content.rows, |_| true);
        let successes = lasts.values().filter(|row| row.error.is_none()).count() as u64;
        assert_eq!((summary.done, summary.failed), (successes, lasts.len() as u64 - successes));
        let damage = self.damage();
        assert_eq!(damage, counts.damage);
        assert!(damage == Damage::default() || damage.first.is_some_and(|file| self.files().contains(&file)));
    }

    /// Returns the last row of each asset among the `rows` that `is_meant` accepts.
    fn lasts(&self, rows: &BTreeSet<u64>, is_meant: impl Fn(&Row) -> bool) -> BTreeMap<&str, &Row> {
        let rows = rows.iter().map(|id| &self.issued[id].0).filter(|row| is_meant(row));
        // Ids increase with attempts, so the last row wins.
        rows.map(|row| (row.asset.as_str(), row)).collect()
    }

    fn statuses(&self, rows: &BTreeSet<u64>) -> BTreeMap<u64, &'static str> {
        let lasts = self.lasts(rows, |row| row.error.is_none());
        let status = |row: &Row| match lasts.get(row.asset.as_str()) {
            _ if row.error.is_some() => "failed",
            Some(last) if last.id == row.id => "done",
            _ => "replaced",
        };
        rows.iter().map(|id| (*id, status(&self.issued[id].0))).collect()
    }
}
