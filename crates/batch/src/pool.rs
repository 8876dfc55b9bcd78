//! Runs worker processes: starts, feeds and watches them, and replaces those that die.
//!
//! A worker gets its next tasks while it is still working, so it does not wait for this process. A worker processes its
//! tasks in order, so if it dies or times out, its oldest task is to blame, and its other tasks are reassigned. An
//! engine is a worker that processes many tasks at once and finishes them in any order; if it dies, the run fails.

use crate::row::{Row, RowError, RowNote, Task};
use polyhaul::options::Cancel;
use polyhaul::{Error, ErrorKind, Result};
use polyhaul_fault::planted;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Maximum interval between checks of deadlines and cancellation.
const STEP: Duration = Duration::from_millis(50);
/// Time for a worker to exit after a request or after closing its output, and for its output to end after it has
/// exited.
const GRACE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 3000 });
/// Interval between checks for the exit of a worker.
const GRACE_STEP: Duration = Duration::from_millis(2);
/// Settings for glibc's allocator: blocks of less than 32 MiB come from the heap, and up to 64 MiB of freed memory at
/// the end of the heap is kept for the next asset, since returning it to the system and mapping it again would cost
/// page faults.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_TRIM_THRESHOLD_", "67108864"), ("MALLOC_MMAP_THRESHOLD_", "33554432")];
/// Pause after each group of rows, to let more accumulate.
const PAUSE: Duration = Duration::from_millis(1);
/// Buffer size for reading rows.
const LISTEN_BYTES: usize = 64 << 10;
/// The run fails after this many failed task writes with no row received in between.
const MAX_FAILED_WRITES: u32 = 10;
/// A worker gets no further task once the text of its unfinished tasks reaches this size. All of them then fit into its
/// pipe, so writing does not block if the worker hangs.
const PIPE_BYTES: usize = 32 << 10;
/// Number of bytes at the end of a worker's standard error that are kept for error messages.
const STDERR_BYTES: usize = 2000;

/// Command that starts a worker.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// Program to run.
    pub program: PathBuf,
    /// Arguments.
    pub arguments: Vec<OsString>,
}

/// A finished row: the line written by a worker, which is logged unchanged, or a row created on behalf of a worker that
/// died or timed out.
#[derive(Debug)]
pub enum DoneRow {
    /// Written by a worker.
    Line(RowNote, String),
    /// Created by this process.
    Made(Box<Row>),
}

impl DoneRow {
    fn read(line: String) -> std::result::Result<DoneRow, String> {
        match serde_json::from_str(&line) {
            Ok(note) => Ok(DoneRow::Line(note, line)),
            Err(_) => Err(line),
        }
    }

    fn id(&self) -> u64 {
        match self {
            DoneRow::Line(note, _) => note.id,
            DoneRow::Made(row) => row.id,
        }
    }

    /// Returns the error of a failed attempt.
    pub fn error(&self) -> Option<&RowError> {
        match self {
            DoneRow::Line(note, _) => note.error.as_ref(),
            DoneRow::Made(row) => row.error.as_ref(),
        }
    }

    /// Returns the asset's name, and the duration of the attempt in seconds.
    pub fn asset(&self) -> (&str, f64) {
        match self {
            DoneRow::Line(note, _) => (&note.asset, note.seconds),
            DoneRow::Made(row) => (&row.asset, row.seconds),
        }
    }
}

/// Number of workers, task limits and exit codes of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Number of workers.
    pub workers: usize,
    /// Maximum number of unfinished tasks assigned to a worker.
    pub tasks: usize,
    /// A worker with two or more unfinished tasks gets another task only if their sources total less than this many
    /// bytes, so that it does not hold work that other workers could do.
    pub bytes: u64,
    /// Whether the worker is an engine.
    pub is_engine: bool,
    /// Exit code of a worker that exceeded the memory limit of its task.
    pub memory_code: i32,
    /// Exit code of a worker that rejects its arguments, which ends the run.
    pub usage_code: i32,
}

impl Limits {
    /// Whether a worker with this many tasks, source bytes and text bytes may get another task.
    fn has_room(&self, tasks: usize, bytes: u64, text_bytes: usize) -> bool {
        let fits_pipe = self.is_engine || tasks == 0 || text_bytes < PIPE_BYTES;
        tasks < self.tasks && (tasks < 2 || bytes < self.bytes) && fits_pipe
    }
}

/// A pool of worker processes.
pub struct Pool {
    command: WorkerCommand,
    limits: Limits,
    workers: Vec<Worker>,
    events: Receiver<Event>,
    sender: Sender<Event>,
    started: u64,
    /// Failed task writes since the last row.
    failed_writes: u32,
}

struct Worker {
    /// Sequence number of the process in this pool.
    number: u64,
    child: Child,
    /// Task pipe, or `None` if the worker gets no more tasks.
    tasks: Option<Box<dyn Write + Send>>,
    /// Whether writing tasks failed while the worker was alive: it exits after the tasks that it received, and the
    /// remaining tasks are reassigned.
    is_cut_off: bool,
    /// Unfinished tasks; the worker is processing the first one (an engine, any of them).
    outstanding: VecDeque<Task>,
    /// Total source size of these tasks.
    bytes: u64,
    /// Time at which the worker started the first of these tasks.
    since: Instant,
    /// Task that timed out and for which the worker was killed.
    late: Option<u64>,
    /// Time at which the process was found dead while its output was still open.
    dead_since: Option<Instant>,
    /// Receives the tail of the worker's standard error after it is closed.
    stderr: Receiver<String>,
}

enum Event {
    Rows(u64, Vec<DoneRow>),
    /// A line other than a row.
    Noise(String),
    End(u64),
}

impl Pool {
    /// Creates a pool. Each worker is started when its first task is assigned.
    pub fn new(command: WorkerCommand, limits: Limits) -> Pool {
        let (sender, events) = channel();
        Pool { command, limits, workers: Vec::new(), events, sender, started: 0, failed_writes: 0 }
    }

    /// Runs tasks until `tasks` returns `None` and all are done; workers stay alive. Passes rows to `on_rows` as they
    /// arrive. Cancellation and errors stop the workers; unfinished tasks then get no rows.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if a worker cannot be started, tasks cannot be sent, or an engine died or printed something
    /// other than a row; [`ErrorKind::Usage`] if a worker rejects its arguments; [`ErrorKind::Cancelled`]; errors of
    /// `on_rows`, which is also called several times a second without rows.
    pub fn run(
        &mut self,
        tasks: &mut dyn Iterator<Item = Task>,
        cancel: &Cancel,
        on_rows: &mut dyn FnMut(Vec<DoneRow>) -> Result<()>,
    ) -> Result<()> {
        let result = self.run_to_end(tasks, cancel, on_rows);
        if result.is_err() {
            self.end(false);
        }
        result
    }

    fn run_to_end(
        &mut self,
        tasks: &mut dyn Iterator<Item = Task>,
        cancel: &Cancel,
        on_rows: &mut dyn FnMut(Vec<DoneRow>) -> Result<()>,
    ) -> Result<()> {
        let mut again = VecDeque::new();
        loop {
            self.feed(&mut again, tasks)?;
            if self.workers.iter().all(|worker| worker.outstanding.is_empty()) {
                return Ok(());
            }
            let rows = match self.events.recv_timeout(STEP) {
                Ok(Event::Rows(number, rows)) => self.finished(number, rows),
                Ok(Event::End(number)) => self.ended(number, &mut again)?,
                Ok(Event::Noise(line)) if self.limits.is_engine => return Err(self.broken(&line)),
                Ok(Event::Noise(_)) | Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Err(internal("the workers' channel is closed")),
            };
            on_rows(rows)?;
            cancel.check()?;
            self.kill_late_workers();
            if let Some(number) = self.dead_worker() {
                on_rows(self.ended(number, &mut again)?)?;
            }
        }
    }

    /// Assigns tasks to workers with room, and starts missing workers.
    fn feed(&mut self, again: &mut VecDeque<Task>, tasks: &mut dyn Iterator<Item = Task>) -> Result<()> {
        self.workers.retain_mut(|worker| !worker.died_idle());
        for number in 0..self.limits.workers {
            let worker = self.workers.get(number);
            if worker.is_some_and(|worker| worker.tasks.is_none()) {
                continue;
            }
            let (have, mut bytes) = worker.map_or((0, 0), |worker| (worker.outstanding.len(), worker.bytes));
            let mut text_bytes = worker.map_or(0, |worker| worker.outstanding.iter().map(text_bytes_of).sum());
            // Send tasks in bundles: fewer messages for small assets.
            if have > 2 && (have > self.limits.tasks / 2 || bytes > self.limits.bytes / 2) {
                continue;
            }
            let mut bundle = Vec::new();
            while self.limits.has_room(have + bundle.len(), bytes, text_bytes) {
                let Some(task) = again.pop_front().or_else(|| tasks.next()) else { break };
                bytes = bytes.saturating_add(task.bytes);
                text_bytes += text_bytes_of(&task);
                bundle.push(task);
            }
            if bundle.is_empty() {
                continue;
            }
            if number >= self.workers.len() {
                self.start()?;
            }
            if let Err(error) = self.workers[number].give(bundle)? {
                self.failed_writes += 1;
                if self.limits.is_engine || self.failed_writes >= MAX_FAILED_WRITES {
                    return Err(Error::io("send a task", &self.command.program.display().to_string(), error));
                }
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        let WorkerCommand { program, arguments } = &self.command;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in ALLOCATOR {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        let failed = |error| Error::io("start", &program.display().to_string(), error);
        let mut child = command.spawn().map_err(failed)?;
        self.started += 1;
        let number = self.started;
        let sender = self.sender.clone();
        let rows = child.stdout.take();
        let words = child.stderr.take();
        std::thread::Builder::new().spawn(move || listen(number, rows, &sender)).map_err(failed)?;
        let (collected, stderr) = channel();
        let collect = move || _ = collected.send(collect(words));
        std::thread::Builder::new().spawn(collect).map_err(failed)?;
        self.workers.push(Worker {
            number,
            tasks: child.stdin.take().map(|tasks| Box::new(tasks) as Box<dyn Write + Send>),
            child,
            is_cut_off: false,
            outstanding: VecDeque::new(),
            bytes: 0,
            since: Instant::now(),
            late: None,
            dead_since: None,
            stderr,
        });
        Ok(())
    }

    /// Handles rows from a worker: completes their tasks, and returns only the rows of tasks assigned to this worker.
    fn finished(&mut self, number: u64, mut rows: Vec<DoneRow>) -> Vec<DoneRow> {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.number == number) else { return Vec::new() };
        rows.retain(|row| {
            let is_its_task = |task: &Task| task.id == row.id() && task.asset == row.asset().0;
            let place = worker.outstanding.iter().position(is_its_task);
            let task = place.and_then(|place| worker.outstanding.remove(place));
            // Limited, because `bytes` is a saturating sum: the sizes of all tasks may add up to more.
            worker.bytes -= task.as_ref().map_or(0, |task| task.bytes.min(worker.bytes));
            task.is_some()
        });
        if !rows.is_empty() {
            // The worker now starts its next task, for which the timeout begins.
            worker.since = Instant::now();
            self.failed_writes = 0;
        }
        rows
    }

    /// Handles the end of a worker: its first unfinished task fails, if it is to blame, and its other tasks are
    /// reassigned.
    fn ended(&mut self, number: u64, again: &mut VecDeque<Task>) -> Result<Vec<DoneRow>> {
        let Some(place) = self.workers.iter().position(|worker| worker.number == number) else { return Ok(Vec::new()) };
        let mut worker = self.workers.remove(place);
        // Closes the input of a worker that still runs although it closed its output, which lets it exit.
        worker.tasks = None;
        let deadline = Instant::now() + GRACE;
        let status = wait_until(&mut worker.child, deadline);
        let words = worker.stderr.recv_timeout(GRACE).unwrap_or_default();
        let how = status.as_ref().map_or_else(ToString::to_string, |status| how_it_ended(*status));
        let how = if words.is_empty() { how } else { format!("{how}: {words}") };
        if self.limits.is_engine {
            return Err(self.broken(&how));
        }
        let code = status.ok().and_then(|status| status.code());
        if code == Some(self.limits.usage_code) {
            return Err(Error::new(ErrorKind::Usage, format!("a worker cannot be started: {words}")));
        }
        // No task is to blame if the worker finished the late task just before it was killed, or did not receive all
        // tasks.
        let first = worker.outstanding.front().map(|task| task.id);
        let is_innocent = worker.late.map_or(worker.is_cut_off, |late| Some(late) != first);
        let blamed = if is_innocent {
            None
        } else if planted("blame-last") {
            worker.outstanding.pop_back()
        } else {
            worker.outstanding.pop_front()
        };
        // From the back to the front, so that the tasks keep their order and are assigned before new ones.
        while let Some(other) = worker.outstanding.pop_back() {
            again.push_front(other);
        }
        let Some(task) = blamed else { return Ok(Vec::new()) };
        let seconds = worker.since.elapsed().as_secs_f64();
        let row = if worker.late.is_some() {
            let limit = task.timeout.unwrap_or(seconds);
            Row::failed(&task, "asset-timeout", format!("not finished after {limit} s (--asset-timeout)"))
        } else if code == Some(self.limits.memory_code) {
            let limit = task.memory.unwrap_or(0);
            Row::failed(&task, "asset-memory", format!("needed more than {limit} bytes of memory (--asset-memory)"))
        } else {
            Row::failed(&task, "crash", format!("its worker {how}"))
        };
        Ok(vec![DoneRow::Made(Box::new(Row { seconds, started: crate::now() - seconds, ..row }))])
    }

    /// Kills workers whose current task timed out.
    fn kill_late_workers(&mut self) {
        for worker in &mut self.workers {
            let Some(Task { id, timeout: Some(limit), .. }) = worker.outstanding.front() else { continue };
            if !self.limits.is_engine && worker.late.is_none() && worker.since.elapsed().as_secs_f64() > *limit {
                worker.late = Some(*id);
                // An error means that it already exited, which is handled elsewhere.
                let _ = worker.child.kill();
            }
        }
    }

    /// Returns a worker that exited more than [`GRACE`] ago with unfinished tasks, but whose output is still open
    /// because another process inherited it.
    fn dead_worker(&mut self) -> Option<u64> {
        let workers = self.workers.iter_mut().filter(|worker| !worker.outstanding.is_empty());
        for worker in workers {
            if worker.dead_since.is_none() && !matches!(worker.child.try_wait(), Ok(None)) {
                worker.dead_since = Some(Instant::now());
            }
            if worker.dead_since.is_some_and(|since| since.elapsed() > GRACE) {
                return Some(worker.number);
            }
        }
        None
    }

    /// Ends all workers by closing their input and, after an error, with a signal. Kills those that do not exit in
    /// time.
    fn end(&mut self, is_well: bool) {
        for worker in &mut self.workers {
            worker.tasks = None;
            if !is_well {
                ask_to_end(&worker.child);
            }
        }
        // One deadline for all workers, so that the wait does not grow with their number.
        let end = Instant::now() + GRACE;
        for mut worker in self.workers.drain(..) {
            let _ = wait_until(&mut worker.child, end);
        }
    }

    fn broken(&self, why: &str) -> Error {
        let program = self.command.program.display();
        Error::new(ErrorKind::Io, format!("the engine {program} failed: {}", why.trim()))
    }
}

impl Worker {
    /// Whether the worker exited without unfinished tasks. No task is to blame; the next task starts a new worker.
    fn died_idle(&mut self) -> bool {
        self.outstanding.is_empty() && !matches!(self.child.try_wait(), Ok(None))
    }

    /// Assigns and sends tasks. The inner result reports a failed write to a live worker.
    fn give(&mut self, bundle: Vec<Task>) -> Result<std::io::Result<()>> {
        let mut line = Vec::new();
        for task in &bundle {
            serde_json::to_writer(&mut line, task).map_err(|error| internal(&error.to_string()))?;
            line.push(b'\n');
        }
        if self.outstanding.is_empty() {
            self.since = Instant::now();
        }
        self.bytes = bundle.iter().fold(self.bytes, |bytes, task| bytes.saturating_add(task.bytes));
        self.outstanding.extend(bundle);
        let Some(tasks) = &mut self.tasks else { return Ok(Ok(())) };
        match tasks.write_all(&line).and_then(|()| tasks.flush()) {
            // The worker is dead: its end event follows and reassigns the tasks.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                self.tasks = None;
                Ok(Ok(()))
            }
            // The worker may have received part of a line, so it gets nothing more, and exits at the end of its input.
            Err(error) => {
                self.tasks = None;
                self.is_cut_off = true;
                Ok(Err(error))
            }
            Ok(()) => Ok(Ok(())),
        }
    }
}

/// Waits until a process exits; kills it at the time `end`.
fn wait_until(child: &mut Child, end: Instant) -> std::io::Result<ExitStatus> {
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(GRACE_STEP);
    }
    let _ = child.kill();
    child.wait()
}

/// Returns the approximate length of a task's line.
fn text_bytes_of(task: &Task) -> usize {
    const OTHER_BYTES: usize = 400;
    task.asset.len() + task.source.len() + task.output.len() + task.folder.len() + OTHER_BYTES
}

/// Closes the input of the workers, which lets them exit, and kills those that do not exit in time.
impl Drop for Pool {
    fn drop(&mut self) {
        self.end(true);
    }
}

/// Forwards rows from a worker, at most once per millisecond: waking this process for every row of small assets would
/// take CPU time from the workers.
fn listen(number: u64, rows: Option<impl Read>, events: &Sender<Event>) {
    let Some(rows) = rows else { return };
    let mut rows = BufReader::with_capacity(LISTEN_BYTES, rows);
    let mut line = Vec::new();
    while matches!(rows.read_until(b'\n', &mut line), Ok(1..)) {
        let mut ready = Vec::new();
        loop {
            let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            line.clear();
            match DoneRow::read(text) {
                Ok(row) => ready.push(row),
                Err(noise) => _ = events.send(Event::Noise(noise)),
            }
            // Continues only with a complete line in the buffer: waiting for more would hold back rows that are ready.
            if !rows.buffer().contains(&b'\n') || !matches!(rows.read_until(b'\n', &mut line), Ok(1..)) {
                break;
            }
        }
        if events.send(Event::Rows(number, ready)).is_err() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    let _ = events.send(Event::End(number));
}

/// Returns the tail of a worker's standard error, joined into one line.
fn collect(words: Option<impl Read>) -> String {
    let mut tail = Vec::new();
    let mut block = [0; 4096];
    let Some(mut words) = words else { return String::new() };
    while let Ok(count @ 1..) = words.read(&mut block) {
        tail.extend_from_slice(&block[..count]);
        // The pipe is emptied however much the worker prints, so that the worker never blocks, but little of it is
        // kept.
        tail.drain(..tail.len().saturating_sub(STDERR_BYTES));
    }
    String::from_utf8_lossy(&tail).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(unix)]
fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(9), _) => "was killed (signal 9), possibly because the system ran out of memory".into(),
        (Some(signal), _) => format!("was terminated by signal {signal}"),
        (None, code) => format!("ended with exit code {}", code.unwrap_or(-1)),
    }
}

#[cfg(not(unix))]
fn how_it_ended(status: ExitStatus) -> String {
    format!("ended with exit code {}", status.code().unwrap_or(-1))
}

/// Sends SIGTERM, on which a worker removes its temporary files and exits.
#[cfg(unix)]
fn ask_to_end(child: &Child) {
    let Ok(id) = i32::try_from(child.id()) else { return };
    // SAFETY: the call accesses no memory. The child has not been waited for, so its ID cannot have been reused.
    unsafe { libc::kill(id, libc::SIGTERM) };
}

#[cfg(not(unix))]
fn ask_to_end(_: &Child) {}

fn internal(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns a pool of shell workers that run `script` for each task, with its `$id` and `$asset`.
    fn pool(script: &str, is_engine: bool, tasks: usize, bytes: u64) -> Pool {
        let read = r#"while read -r line; do id=${line#*\"id\":}; id=${id%%,*}; asset=${line#*\"asset\":\"}; asset=${asset%%\"*};"#;
        let arguments = ["-c".into(), format!("{read} {script}; done").into()].to_vec();
        let limits = Limits { workers: 2, tasks, bytes, is_engine, memory_code: 86, usage_code: 2 };
        Pool::new(WorkerCommand { program: "sh".into(), arguments }, limits)
    }

    const ROW: &str = r#"echo "{\"id\":$id,\"asset\":\"$asset\",\"seconds\":0,\"error\":null}""#;

    fn tasks(count: u64) -> impl Iterator<Item = Task> {
        (0..count).map(|id| Task { id, asset: format!("a{id}"), bytes: 1 << 20, ..Task::default() })
    }

    /// Runs tasks; returns the ID and the kind of error of each row, sorted by ID. The kind is empty for a success.
    fn run(pool: &mut Pool, tasks: &mut dyn Iterator<Item = Task>) -> Result<Vec<(u64, String)>> {
        let mut rows = Vec::new();
        pool.run(tasks, &Cancel::default(), &mut |done| {
            rows.extend(
                done.iter().map(|row| (row.id(), row.error().map_or(String::new(), |error| error.kind.clone()))),
            );
            Ok(())
        })?;
        rows.sort_unstable();
        Ok(rows)
    }

    #[test]
    fn a_crash_costs_its_asset() {
        let script = format!("case $asset in a3) exit 7;; a5) exit 86;; *) {ROW};; esac");
        let rows = run(&mut pool(&script, false, 8, 4 << 20), &mut tasks(20)).unwrap();
        assert_eq!(rows.len(), 20);
        let failed: Vec<_> = rows.into_iter().filter(|(_, kind)| !kind.is_empty()).collect();
        assert_eq!(failed, [(3, "crash".into()), (5, "asset-memory".into())]);
    }

    #[test]
    fn a_late_asset_costs_itself() {
        let script = format!("case $asset in a1) exec sleep 60;; *) {ROW};; esac");
        let mut tasks = tasks(6).map(|task| Task { timeout: Some(0.3), ..task });
        let rows = run(&mut pool(&script, false, 8, 4 << 20), &mut tasks).unwrap();
        assert_eq!(rows.iter().filter(|(_, kind)| kind.is_empty()).count(), 5);
        assert_eq!(rows[1], (1, "asset-timeout".into()));
    }

    #[test]
    fn a_worker_that_dies_idle_is_replaced() {
        let mut pool = pool(&format!("{ROW}; exit 1"), false, 1, 1);
        for _ in 0..3 {
            assert_eq!(run(&mut pool, &mut tasks(1)).unwrap(), [(0, String::new())]);
            while !pool.workers.iter_mut().all(Worker::died_idle) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Workers that close their pipes, print rows twice, rows of other tasks or lines that are not rows, or leave their
    /// output open in a child process.
    #[test]
    fn workers_that_misbehave_cost_at_most_their_asset() {
        let other = ROW.replace("$id", "7").replace("$asset", "a8");
        let clock = Instant::now();
        for (script, failed) in [
            (format!("case $asset in a2) exec >&-; exec sleep 60;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) exec <&- >&-; exec sleep 60;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) sleep 60 2>/dev/null & exit 1;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) sleep 60 >/dev/null & exit 1;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) exec <&-; exit 1;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) {other}; exit 1;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) kill -9 $$;; *) {ROW};; esac"), Some(2)),
            (format!("case $asset in a2) printf '\\000\\377{{\\n\\n'; {ROW};; *) {ROW};; esac"), None),
            (format!("{ROW}; {ROW}"), None),
            (format!("{other}; {ROW}; echo; echo '{{}}'; echo null"), None),
            (format!("printf x; echo; {ROW}"), None),
        ] {
            let rows = run(&mut pool(&script, false, 4, 4 << 20), &mut tasks(10)).unwrap();
            assert_eq!(rows.iter().map(|(id, _)| *id).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>(), "{script}");
            let crashed = rows.iter().find(|(_, kind)| kind == "crash").map(|(id, _)| *id);
            assert_eq!(crashed, failed, "{script}");
        }
        assert!(clock.elapsed() < Duration::from_secs(50));
    }

    /// Long names do not fill the pipe of a worker that hangs.
    #[test]
    fn sending_tasks_never_waits() {
        let script = format!("case $asset in a1x*) exec sleep 60;; *) {ROW};; esac");
        let name = "x".repeat(9000);
        let mut tasks =
            tasks(6).map(|task| Task { timeout: Some(0.5), asset: format!("{}{name}", task.asset), ..task });
        let rows = run(&mut pool(&script, false, 32, u64::MAX), &mut tasks).unwrap();
        assert_eq!(rows.iter().filter(|(_, kind)| kind.is_empty()).count(), 5);
    }

    /// A pipe that fails after `left` writes, as when the system is out of memory; if `is_partial`, after half of the
    /// next one.
    struct FailingPipe {
        pipe: Box<dyn Write + Send>,
        left: u32,
        is_partial: bool,
    }

    impl Write for FailingPipe {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match (self.left, self.is_partial) {
                (0, true) => {
                    self.is_partial = false;
                    self.pipe.write(&bytes[..bytes.len() / 2])
                }
                (0, false) => Err(std::io::ErrorKind::OutOfMemory.into()),
                _ => {
                    self.left -= 1;
                    self.pipe.write_all(bytes).map(|()| bytes.len())
                }
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.pipe.flush()
        }
    }

    /// The worker is replaced without counting an attempt for any asset.
    #[test]
    fn a_failed_write_of_tasks_costs_no_asset() {
        for left in 0..3 {
            for is_partial in [false, true] {
                let mut pool = pool(ROW, false, 4, 1);
                pool.start().unwrap();
                let tasks = pool.workers[0].tasks.take();
                pool.workers[0].tasks = tasks.map(|pipe| Box::new(FailingPipe { pipe, left, is_partial }) as _);
                let rows = run(&mut pool, &mut self::tasks(12)).unwrap();
                assert_eq!(rows, (0..12).map(|id| (id, String::new())).collect::<Vec<_>>(), "{left} {is_partial}");
                assert!(pool.started > 1);
            }
        }
    }

    #[test]
    fn writes_that_always_fail_end_the_run() {
        let mut pool = pool(ROW, false, 4, 1);
        pool.failed_writes = MAX_FAILED_WRITES - 1;
        pool.start().unwrap();
        let tasks = pool.workers[0].tasks.take();
        pool.workers[0].tasks = tasks.map(|pipe| Box::new(FailingPipe { pipe, left: 0, is_partial: false }) as _);
        let error = run(&mut pool, &mut self::tasks(3)).unwrap_err();
        assert!(error.to_string().contains("sh: cannot send a task"), "{error}");
    }

    #[test]
    fn a_worker_that_cannot_start_ends_the_run() {
        let error = run(&mut pool("echo wrong words >&2; exit 2", false, 8, 1), &mut tasks(5)).unwrap_err();
        assert!(error.to_string().contains("wrong words"), "{error}");
        let error = run(&mut pool("echo oops", true, 8, 1), &mut tasks(5)).unwrap_err();
        assert!(error.to_string().contains("oops"), "{error}");
    }

    /// An engine distributes its tasks itself, so its byte limit is `u64::MAX` and it gets many tasks, whatever their
    /// sizes.
    #[test]
    fn an_engine_has_many_large_tasks() {
        let limits = |bytes| Limits { workers: 1, tasks: 100, bytes, is_engine: false, memory_code: 86, usage_code: 2 };
        let capacity =
            |limits: Limits| (0..).take_while(|&count| limits.has_room(count, count as u64 * 50_000_000, 0)).count();
        assert_eq!([capacity(limits(4 << 20)), capacity(limits(u64::MAX))], [2, 100]);
    }
}
