//! Runs a command once at a rate, until it ends or prints a line, and stops it if it takes too long.
//!
//! `program` decides what to run; `polyhaul_watch::preload` throttles it.

use crate::watch::slow;
use polyhaul::options::Cancel;
use polyhaul_watch::slowed::SlowDevice;
use polyhaul_watch::trace::{Apart, End, Failure, Seen, Wanted};
use polyhaul_watch::{preload, system};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, PipeReader};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// A rate that limits nothing, at which bytes are still counted.
const UNLIMITED: u64 = 1_000_000_000_000_000;

/// Time between two checks whether to stop the command.
const CHECKED: Duration = Duration::from_millis(10);

/// Time to wait for the rest of the output once the command has ended.
const PATIENCE: Duration = Duration::from_millis(200);

/// Maximum number of characters of a command's last line in a note.
const MAX_LETTERS: usize = 120;

/// A command to run once.
pub struct ProgramAttempt<'a> {
    /// For the shell.
    pub command: String,
    /// Number of processors that it may use; `None` for all.
    pub processors: Option<usize>,
    /// Rate of reading; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Ends the run once a line contains this text.
    pub until: Option<&'a str>,
    /// When to stop it.
    pub deadline: Instant,
    /// Stops it early.
    pub cancel: &'a Cancel,
}

/// A run that came to its end.
pub struct Reached {
    pub seconds: f64,
    /// Bytes that it read from files.
    pub bytes: u64,
    /// Bytes that it read from disks.
    pub disk_bytes: u64,
    /// Files that it read.
    pub files: Vec<PathBuf>,
    /// What was not throttled.
    pub escaped: Option<String>,
}

/// How a run ended otherwise.
#[derive(Debug, PartialEq)]
pub enum Missed {
    /// It was cancelled.
    Cancelled,
    /// The reason, for a note.
    Because(String),
}

impl ProgramAttempt<'_> {
    /// Runs the command.
    pub fn run(&self) -> Result<Reached, Missed> {
        let failed = |error: std::io::Error| Missed::Because(format!("cannot run it: {error}"));
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let output = Arc::new(File::from(OwnedFd::from(writer)));
        let device =
            SlowDevice { bytes_per_second: Some(self.bytes_per_second.unwrap_or(UNLIMITED)), ..Default::default() };
        let apart = Some(Apart { output, processors: self.processors });
        let request = Wanted { slow: [device, SlowDevice::default()], apart, ..Wanted::default() };
        let command: Vec<OsString> = ["sh", "-c", &self.command].map(OsString::from).to_vec();
        let start = Instant::now();
        let guard = Arc::new(Guard::default());
        let (reader_ended, ended) = mpsc::channel::<()>();
        let until = self.until.map(str::to_owned);
        let reading = Arc::clone(&guard);
        // Not waited for: a program that cannot be recorded may keep the pipe open.
        thread::spawn(move || {
            reading.read(reader, until.as_deref());
            drop(reader_ended);
        });
        let seen = thread::scope(|scope| {
            scope.spawn(|| guard.wait(self.deadline, self.cancel));
            let seen = preload::watch(&command, request, &|process| guard.started(process));
            guard.stop();
            guard.is_over.store(true, SeqCst);
            seen
        });
        let _ = ended.recv_timeout(PATIENCE);
        let seen = seen.map_err(|failure| match failure {
            Failure::Program(error) | Failure::System(error) | Failure::Forbidden(error) => failed(error),
        })?;
        self.judge(&seen, &guard, start)
    }

    fn judge(&self, seen: &Seen, guard: &Guard, start: Instant) -> Result<Reached, Missed> {
        let state = guard.state();
        let seconds = match (state.matched, self.until) {
            (Some(matched), _) => matched.duration_since(start).as_secs_f64(),
            (None, _) if self.cancel.is_cancelled() => return Err(Missed::Cancelled),
            (None, _) if guard.is_late.load(SeqCst) => {
                let seconds = start.elapsed().as_secs_f64();
                return Err(Missed::Because(format!("stopped after {seconds:.1} s: reached `--time-limit`")));
            }
            (None, None) if seen.end == End::Code(0) => seen.run_ns as f64 / 1e9,
            (None, until) => return Err(Missed::Because(failure(seen.end, until, &state.last_line))),
        };
        let files = slow::files_read(seen);
        let bytes = seen.slowed[0].map_or(0, |slowed| slowed.bytes);
        Ok(Reached { seconds, bytes, disk_bytes: seen.used.disk_bytes, files, escaped: escaped(seen) })
    }
}

fn failure(end: End, until: Option<&str>, last_line: &str) -> String {
    let end = match end {
        End::Code(0) => format!("exited without printing {:?}", until.unwrap_or_default()),
        End::Code(code) => format!("failed with exit code {code}"),
        End::Signal(signal) => format!("killed by signal {signal}"),
    };
    let line: String = crate::human::safe(last_line).chars().take(MAX_LETTERS).collect();
    if line.is_empty() { end } else { format!("{end}: {line}") }
}

/// What was not throttled.
fn escaped(seen: &Seen) -> Option<String> {
    let programs = seen.unrecorded.iter().map(|(program, _)| crate::human::safe(program));
    let queues = seen.has_queues.then(|| "I/O through io_uring or aio".to_owned());
    let escaped: Vec<_> = programs.chain(queues).collect();
    (!escaped.is_empty()).then(|| format!("not throttled: {}", escaped.join(", ")))
}

/// Watches over a running command from two threads: one reads its output, one stops it when its time is up.
#[derive(Default)]
struct Guard {
    /// The process group of the command; 0 before it starts.
    group: AtomicI32,
    /// The process that was started or found last.
    newest: AtomicI32,
    /// Whether the command has ended.
    is_over: AtomicBool,
    /// Whether it was stopped because its time was up.
    is_late: AtomicBool,
    state: Mutex<GuardState>,
}

#[derive(Default)]
struct GuardState {
    /// When the line was printed.
    matched: Option<Instant>,
    last_line: String,
}

impl Guard {
    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns the process group from the first process. Later ones are its children, which may have other groups.
    fn started(&self, process: i32) {
        let _ = self.group.compare_exchange(0, process, SeqCst, SeqCst);
        self.newest.store(process, SeqCst);
        // The line may have been printed before.
        if self.state().matched.is_some() {
            self.stop();
        }
    }

    fn stop(&self) {
        let group = self.group.load(SeqCst);
        if group > 0 && !self.is_over.load(SeqCst) {
            system::kill_group(group);
            let newest = self.newest.load(SeqCst);
            if newest != group {
                system::kill(newest, libc::SIGKILL);
            }
        }
    }

    fn read(&self, output: PipeReader, until: Option<&str>) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            let text = String::from_utf8_lossy(&line);
            let is_end = until.is_some_and(|end| text.contains(end));
            let mut state = self.state();
            if is_end && state.matched.is_none() {
                state.matched = Some(Instant::now());
            }
            if !text.trim().is_empty() {
                state.last_line = text.trim().to_owned();
            }
            drop(state);
            if is_end {
                self.stop();
            }
            line.clear();
        }
    }

    fn wait(&self, deadline: Instant, cancel: &Cancel) {
        while !self.is_over.load(SeqCst) {
            let is_late = Instant::now() >= deadline;
            let is_matched = self.state().matched.is_some();
            if is_late || is_matched || cancel.is_cancelled() {
                self.is_late.store(is_late, SeqCst);
                self.stop();
            }
            thread::sleep(CHECKED);
        }
    }
}
