//! Records a program from inside: a preloaded library counts its calls at a fraction of the cost of tracing.
//!
//! The library (`recorder/`, in C, embedded) replaces the system call instructions of the program's libraries in
//! memory, and writes to memory that it shares with this process. `record` reads that memory, `sampler` at intervals,
//! `modules` finds the instructions for it, `filler` fills mapped files of throttled programs, `layout` describes the
//! memory, `effects` says what each call does, and `reach` which programs can be recorded. The others can be traced.

mod clock;
mod effects;
mod filler;
mod layout;
mod modules;
pub mod reach;
mod record;
mod sampler;
mod samples;

use crate::slowed::SlowDevice;
use crate::system::{self, Environment, Processors};
use crate::trace::{Apart, End, Failure, Recorder, Seen, Wanted};
use libc::pid_t;
use record::{RecordTotals, SharedRecord};
use sampler::TimelineSampler;
use samples::StackSamples;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// The preloaded library; empty if there was no C compiler.
static RECORDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recorder.so"));

/// Time between two polls of the record.
const PERIOD: Duration = Duration::from_millis(10);

/// Number of polls after which a process that has not started is assumed to have been killed.
const MAX_WAITS: u32 = 100;

/// Number of polls between checks for processes that were killed.
const CHECKED: u32 = 10;

/// Whether this program contains the recorder.
pub fn is_available() -> bool {
    !RECORDER.is_empty()
}

/// Records a program until it and all its children have ended. `hand_over` receives the process to which signals should
/// go, as in [`crate::trace::watch`].
pub fn watch(command: &[OsString], request: Wanted, hand_over: &dyn Fn(pid_t)) -> Result<Seen, Failure> {
    let effects =
        effects::table(request.locks, !request.cured.is_empty(), request.slow.iter().any(SlowDevice::is_slow));
    let mut record = SharedRecord::new(&effects, request.all).map_err(Failure::System)?;
    record.cure(&request.cured);
    record.slow_down(request.slow);
    let mut library = File::from(system::memory_file(c"polyhaul-recorder").map_err(Failure::System)?);
    library.write_all(RECORDER).map_err(Failure::System)?;
    let start = Instant::now();
    let before = system::used_by_children();
    let child = start_program(command, &record, &library, &request).map_err(Failure::Program)?;
    let samples = StackSamples::default();
    let sampler = TimelineSampler::start(Arc::clone(&record.shared), record.clock, request.profile);
    let mut session = RecordSession { hand_over, front: child.id() as pid_t, record, samples, is_over: Arc::default() };
    hand_over(session.front);
    let status = session.serve(child).map_err(Failure::System)?;
    let run_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let timeline = sampler.finish();
    let used = system::used_by_children().since(before);
    let mut seen = Seen { timeline, used, ..session.finish(status, run_ns) };
    seen.has_stacks = request.stacks;
    seen.has_profile = request.profile;
    if seen.processes == 0 {
        let program = command.first().map_or(String::new(), |program| program.to_string_lossy().into_owned());
        seen.unrecorded.push((program, 1));
    }
    Ok(seen)
}

fn start_program(command: &[OsString], record: &SharedRecord, library: &File, request: &Wanted) -> io::Result<Child> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let here = std::process::id();
    let mut preload = OsString::from(format!("/proc/{here}/fd/{}", library.as_raw_fd()));
    let others = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty());
    for library in request.library.as_ref().map(|library| library.clone().into_os_string()).into_iter().chain(others) {
        preload.push(":");
        preload.push(library);
    }
    let place = format!("{here}/{}/{}/", record.shared.descriptor(), library.as_raw_fd());
    let variables = std::env::vars_os().filter(|(name, _)| name != "LD_PRELOAD");
    let further = [("LD_PRELOAD".into(), preload), ("POLYHAUL_WATCH".into(), place.into())];
    let environment = Environment::new(variables.chain(further));
    let mut start = Command::new(program);
    // SAFETY: the closure runs between `fork` and `exec` in a process with one thread, and only makes a system call and
    // sets a pointer to memory that lives until `exec`.
    unsafe {
        start.args(arguments).pre_exec(move || {
            environment.install();
            system::end_with_parent()
        });
    }
    match &request.apart {
        Some(apart) => start_apart(&mut start, apart),
        None => start.spawn(),
    }
}

fn start_apart(start: &mut Command, apart: &Apart) -> io::Result<Child> {
    let output = Stdio::from(apart.output.try_clone()?);
    start.stdin(Stdio::null()).stdout(output).stderr(apart.output.try_clone()?).process_group(0);
    let processors = Processors::from_thread(0);
    // The child has the processors of the thread that starts it.
    if let Some(count) = apart.processors {
        processors.inspect(|processors| _ = processors.first(count).assign(0));
    }
    let child = start.spawn();
    processors.inspect(|processors| _ = processors.assign(0));
    child
}

struct RecordSession<'a> {
    hand_over: &'a dyn Fn(pid_t),
    /// Process to which signals go.
    front: pid_t,
    record: SharedRecord,
    samples: StackSamples,
    /// Ends the threads that fill mapped files.
    is_over: Arc<AtomicBool>,
}

impl RecordSession<'_> {
    /// Answers recorders until all processes have ended.
    fn serve(&mut self, child: Child) -> io::Result<ExitStatus> {
        let root = child.id() as pid_t;
        let ended = self.wait_for(child);
        let mut status = None;
        let mut waits = 0;
        for round in 0u32.. {
            let bell = self.record.shared.bell.load(Relaxed);
            modules::answer(&self.record.shared);
            filler::answer(&self.record.shared, self.record.clock.source(), &self.is_over);
            self.samples.collect(&self.record);
            if status.is_none() {
                status = ended.try_recv().ok().transpose()?;
            }
            let alive = self.record.collect(status.is_some() || round % CHECKED == 0);
            if let Some(status) = status {
                let others: Vec<pid_t> = alive.into_iter().filter(|process| *process != root).collect();
                let next = others.iter().filter(|process| **process != 0).min();
                match next {
                    None if others.is_empty() || waits == MAX_WAITS => return Ok(status),
                    None => waits += 1,
                    Some(_) if others.contains(&self.front) => {}
                    Some(next) => {
                        self.front = *next;
                        (self.hand_over)(*next);
                    }
                }
            }
            system::wait_for_change(&self.record.shared.bell, bell, PERIOD);
        }
        Err(io::ErrorKind::Interrupted.into())
    }

    /// Waits for the first process in a thread, which rings the bell at its end.
    fn wait_for(&self, mut child: Child) -> Receiver<io::Result<ExitStatus>> {
        let (sender, receiver) = mpsc::channel();
        let bell = Arc::clone(&self.record.shared);
        std::thread::spawn(move || {
            let _ = sender.send(child.wait());
            bell.bell.fetch_add(1, Release);
            system::wake(&bell.bell);
        });
        receiver
    }

    fn finish(self, status: ExitStatus, run_ns: u64) -> Seen {
        self.is_over.store(true, Release);
        let RecordTotals {
            files,
            locks,
            name_calls,
            sleeps,
            allocations,
            unrecorded,
            cures,
            slowed,
            shelf,
            cpu,
            shared,
        } = self.record.finish(self.samples);
        let end = match (status.code(), status.signal()) {
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.unwrap_or(0)),
        };
        Seen {
            recorder: Recorder::Preload,
            slowed,
            end,
            run_ns,
            files,
            locks,
            name_calls,
            sleeps,
            allocations,
            shelf,
            cpu,
            processes: shared.processes.load(Relaxed),
            threads: shared.threads.load(Relaxed),
            failed_opens: shared.failed_opens.load(Relaxed),
            has_queues: shared.has_queues.load(Relaxed) != 0,
            queued: shared.queued.load(Relaxed),
            unrecorded,
            cures,
            lost: shared.lost.load(Relaxed),
            held_maps: shared.held_maps.load(Relaxed),
            missed_sites: shared.not_patched.load(Relaxed),
            lost_samples: shared.lost_samples.load(Relaxed),
            ..Seen::default()
        }
    }
}
