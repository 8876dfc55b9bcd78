//! The tracing loop: handles every stop of every thread with ptrace.
//!
//! Calls selected by the filter stop on entry and, if [`Call::has_end`], on exit. Everything else runs at full speed.
//! The time of a call is the time between its stops minus the cost of stopping (`trial`). Threads that stop during
//! handling are all handled before any of them gets another turn. Threads are identified by ID; state shared between
//! them is in their process. The traced program behaves as usual. If the tracer dies, the kernel kills the traced
//! processes.

use crate::child::{Child, Departed, Refusal, Work};
use crate::cure::CuredFile;
use crate::delay::Delay;
use crate::files::{Allocations, Descriptors, Files, NameCalls, WAIT_NS};
use crate::filter::{Call, Filter};
use crate::locks::{Locks, Waits};
use crate::near::{self, Near};
use crate::order;
use crate::slowed::{SlowDevice, SlowedCalls};
use crate::stacks::{Shelf, Space, Stacks};
use crate::system::{self, Registers, Used};
use crate::timeline::Timeline;
use libc::{c_int, pid_t};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Ptrace options for all threads and their children.
const OPTIONS: c_int = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

/// Stop without a separate event: a new thread, a job control stop, or resumption after such a stop.
const EVENT_STOP: c_int = 128;

/// Signal of a stop on entry to or exit from a call.
const CALL_STOP: c_int = libc::SIGTRAP | 0x80;

/// Results of calls that the kernel restarts after a signal.
const AGAIN: std::ops::RangeInclusive<i64> = -516..=-512;

/// Observations requested in addition to the calls on files.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Whether to distinguish pipes, sockets and other objects.
    pub all: bool,
    /// Whether to record call stacks.
    pub stacks: bool,
    /// Whether to record lock waits.
    pub locks: bool,
    /// Whether to record what threads do over time, and the stacks of their time on processors ([`crate::preload`]
    /// only).
    pub profile: bool,
    /// Paths of files whose small reads are answered from memory ([`crate::preload`] only); `*` stands for any
    /// characters.
    pub cured: Vec<String>,
    /// Slower devices for reads and for writes ([`crate::preload`] only).
    pub slow: [SlowDevice; 2],
    /// A library to preload into the program ([`crate::preload`] only).
    pub library: Option<PathBuf>,
    /// Runs the program apart from this one ([`crate::preload`] only).
    pub apart: Option<Apart>,
}

/// A program that runs in a process group of its own, so that it can be stopped as a whole, and without input.
#[derive(Clone, Debug)]
pub struct Apart {
    /// Receives its output and its errors.
    pub output: Arc<fs::File>,
    /// Number of processors that it may use; `None` for all.
    pub processors: Option<usize>,
}

/// Cost of stopping, measured with calls that do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopCost {
    /// Overhead in the measured time of a call.
    pub call_ns: i64,
    /// Total cost of a stop.
    pub stop_ns: i64,
}

/// Costs for threads that are not pinned to the tracer's processor, and for the pinned thread (`near`).
pub type StopCosts = [StopCost; 2];

/// Exit status of the first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Exited with a code.
    Code(c_int),
    /// Killed by a signal.
    Signal(c_int),
}

/// How a program is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorder {
    /// A library in the program counts calls ([`crate::preload`]).
    Preload,
    /// Calls stop the program ([`watch`]).
    #[default]
    Trace,
}

/// Time of threads on processors.
#[derive(Debug, Default)]
pub struct CpuTime {
    /// Stacks by thread; the number of calls is that of samples.
    pub samples: HashMap<pid_t, Stacks>,
    /// Nanoseconds for which a thread could have run, but had no processor.
    pub delays: HashMap<pid_t, i64>,
}

impl CpuTime {
    /// Threads with their time on processors, longest first.
    pub fn threads(&self) -> Vec<(pid_t, i64)> {
        let mut threads: Vec<_> = self.samples.iter().map(|(thread, stacks)| (*thread, stacks.total_ns())).collect();
        order::sort(&mut threads, |left, right| (right.1, left.0).cmp(&(left.1, right.0)));
        threads
    }

    /// Stacks of all threads.
    pub fn stacks(&self) -> Stacks {
        let mut stacks = Stacks::default();
        self.samples.values().for_each(|others| stacks.append(others));
        stacks
    }
}

impl Default for End {
    fn default() -> End {
        End::Code(0)
    }
}

/// The observations of a run.
#[derive(Debug, Default)]
pub struct Seen {
    /// How the program was watched.
    pub recorder: Recorder,
    /// Exit status of the program.
    pub end: End,
    /// Time from the start of the program until all its children ended.
    pub run_ns: u64,
    /// Calls on files.
    pub files: Files,
    /// Lock waits.
    pub locks: Locks,
    /// Calls on names and folders; tracing does not count them.
    pub name_calls: NameCalls,
    /// Callers of sleeps and waits for events, of the first thread of each process by its ID; empty when tracing.
    pub sleeps: HashMap<pid_t, Stacks>,
    /// Large allocations of memory; tracing does not count them.
    pub allocations: Allocations,
    /// Call stacks.
    pub shelf: Shelf,
    /// Whether call stacks were requested. Recorders sample some in any case, for the verdict.
    pub has_stacks: bool,
    /// Number of processes, including the first.
    pub processes: u64,
    /// Number of threads of all processes.
    pub threads: u64,
    /// Number of failed opens.
    pub failed_opens: u64,
    /// Whether queues (io_uring, aio) were set up. Reads and writes through queues are not observed.
    pub has_queues: bool,
    /// Number of operations submitted to io_uring; 0 when tracing.
    pub queued: u64,
    /// Number of times that a thread was stopped for tracing.
    pub stops: u64,
    /// Approximate tracing overhead.
    pub cost_ns: u64,
    /// Time of threads on processors; empty if it was not sampled.
    pub cpu: CpuTime,
    /// Programs that were started but could not be recorded, with the number of times.
    pub unrecorded: Vec<(String, u64)>,
    /// Number of calls, files, threads or processes for which the record had no room.
    pub lost: u64,
    /// Number of places in code where calls are not recorded.
    pub missed_sites: u64,
    /// Number of samples of stacks for which the record had no room.
    pub lost_samples: u64,
    /// What threads and processes did over time; empty when tracing.
    pub timeline: Timeline,
    /// Whether a profile was requested.
    pub has_profile: bool,
    /// Files whose small reads were answered from memory.
    pub cures: Vec<CuredFile>,
    /// Reads and writes that were slowed down.
    pub slowed: [Option<SlowedCalls>; 2],
    /// Number of mapped files that were throttled as a whole when they were mapped.
    pub held_maps: u64,
    /// What all processes used.
    pub used: Used,
}

/// The reason why nothing was observed.
#[derive(Debug)]
pub enum Failure {
    /// The system does not permit tracing.
    Forbidden(io::Error),
    /// The program could not be started.
    Program(io::Error),
    /// Another system call failed.
    System(io::Error),
}

/// Traces a program until it and all its children have ended. `hand_over` receives the process to which signals should
/// go: the program or, once it has ended, another live process, if any.
pub fn watch(work: &Work, request: Wanted, costs: StopCosts, hand_over: &dyn Fn(pid_t)) -> Result<Seen, Failure> {
    let filter = Filter::new(request.locks);
    let before = system::used_by_children();
    let child = Child::fork(work, &filter).map_err(Failure::System)?;
    hand_over(child.pid);
    let departed = child.go(OPTIONS as usize).map_err(Failure::Forbidden)?;
    let mut tracer = Tracer::new(&filter, request, costs, departed.pid);
    tracer.hand_over = hand_over;
    tracer.run().map_err(Failure::System)?;
    let seen = tracer.finish(departed)?;
    Ok(Seen { used: system::used_by_children().since(before), ..seen })
}

/// Measures the cost of stopping.
pub fn trial() -> Result<StopCosts, Failure> {
    const CALLS: u32 = 6 * near::STREAK;
    let filter = Filter::new(false);
    let child = Child::fork(&Work::Calls(CALLS), &filter).map_err(Failure::System)?;
    let departed = child.go(OPTIONS as usize).map_err(Failure::Forbidden)?;
    let mut tracer = Tracer::new(&filter, Wanted::default(), StopCosts::default(), departed.pid);
    tracer.trial = Some(Vec::with_capacity(CALLS as usize));
    tracer.is_program = true;
    tracer.run().map_err(Failure::System)?;
    if let Some(Refusal::Filter(error)) = departed.refusal() {
        return Err(Failure::Forbidden(error));
    }
    let calls = tracer.trial.take().unwrap_or_default();
    let near = calls.partition_point(|call| !call.is_near);
    let cost = |calls: &[Trial]| StopCost {
        call_ns: median(calls.iter().map(|call| call.time_ns)),
        // A call stops twice.
        stop_ns: median(calls.windows(2).map(|pair| (pair[1].end_ns - pair[0].end_ns) / 2)),
    };
    let costs = [cost(&calls[..near]), cost(&calls[near..])];
    Ok(if near < calls.len() { costs } else { [costs[0]; 2] })
}

/// A call of a trial: duration, end time, and whether its thread was pinned.
struct Trial {
    time_ns: i64,
    end_ns: i64,
    is_near: bool,
}

fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// State shared by the threads of a process.
#[derive(Debug, Default)]
struct Process {
    descriptors: RefCell<Descriptors>,
    space: RefCell<Space>,
}

/// State of a thread.
#[derive(Debug, Default)]
struct Thread {
    process: Rc<Process>,
    /// The call in progress.
    call: Option<Pending>,
    waits: Waits,
    stops: u64,
    delay: Delay,
}

/// A call between entry and exit.
#[derive(Debug)]
struct Pending {
    call: Call,
    /// Indices of the files involved; for [`Call::Copy`], source and target.
    files: [Option<usize>; 2],
    bytes: u64,
    stack: Option<u32>,
    start: Instant,
}

/// Interval in which stops were not noticed, because other threads were being handled.
#[derive(Clone, Copy)]
struct Blind {
    from: Instant,
    to: Instant,
}

struct Tracer<'a> {
    filter: &'a Filter,
    wanted: Wanted,
    costs: StopCosts,
    near: Near,
    root: pid_t,
    /// Process to which signals go, or `None` if it has ended and no other live process is known.
    front: Option<pid_t>,
    hand_over: &'a dyn Fn(pid_t),
    threads: HashMap<pid_t, Thread>,
    /// Whether the first process has called `exec`; before that, its calls are our own.
    is_program: bool,
    /// Calls of a trial.
    trial: Option<Vec<Trial>>,
    start: Instant,
    /// Interval in which the current thread may have stopped unnoticed, or `None` if its stop was waited for.
    blind: Option<Blind>,
    /// Time spent on unwinding stacks.
    walk_ns: u64,
    /// Number of stops of threads that are not pinned, and of pinned threads.
    stops: [u64; 2],
    /// Scheduling delay of the tracer's own thread.
    delay: Delay,
    end: Option<End>,
    run_ns: u64,
    files: Files,
    locks: Locks,
    shelf: Shelf,
    processes: u64,
    thread_count: u64,
    failed_opens: u64,
    has_queues: bool,
}

impl<'a> Tracer<'a> {
    fn new(filter: &'a Filter, request: Wanted, costs: StopCosts, root: pid_t) -> Tracer<'a> {
        Tracer {
            filter,
            wanted: request.clone(),
            costs,
            near: Near::default(),
            root,
            front: Some(root),
            hand_over: &|_| (),
            threads: HashMap::from([(root, Thread::default())]),
            is_program: false,
            trial: None,
            start: Instant::now(),
            blind: None,
            walk_ns: 0,
            stops: [0; 2],
            delay: Delay::default(),
            end: None,
            run_ns: 0,
            files: Files::new(request.all),
            locks: Locks::default(),
            shelf: Shelf::default(),
            processes: 1,
            thread_count: 1,
            failed_opens: 0,
            has_queues: false,
        }
    }

    /// Runs until all traced threads have ended. Other children may exist, inherited from before this process's own
    /// `exec`.
    fn run(&mut self) -> io::Result<()> {
        let mut changes = Vec::new();
        let mut looked = Instant::now();
        while !self.threads.is_empty() {
            // A single thread needs no fairness.
            if self.threads.len() > 1 {
                self.blind = Some(Blind { from: looked, to: Instant::now() });
                while let Some(change) = system::wait(-1, libc::WNOHANG)? {
                    changes.push(change);
                }
            }
            if changes.is_empty() {
                self.blind = None;
                let Some(change) = system::wait(-1, 0)? else { return Ok(()) };
                changes.push(change);
            }
            looked = Instant::now();
            for (thread, status) in changes.drain(..) {
                self.changed(thread, status, looked);
            }
        }
        Ok(())
    }

    fn changed(&mut self, thread: pid_t, status: c_int, now: Instant) {
        if libc::WIFSTOPPED(status) {
            self.stopped(thread, status, now);
            self.stops[usize::from(self.near.holds(thread))] += 1;
        } else {
            self.ended(thread, status, now);
        }
    }

    fn finish(self, departed: Departed) -> Result<Seen, Failure> {
        if !self.is_program {
            return Err(match departed.refusal() {
                Some(Refusal::Program(error)) => Failure::Program(error),
                Some(Refusal::Filter(error)) => Failure::Forbidden(error),
                None => Failure::System(io::ErrorKind::Interrupted.into()),
            });
        }
        let stopped = self.stops.iter().zip(self.costs).map(|(stops, cost)| stops * cost.stop_ns.unsigned_abs());
        // Stops of several threads overlap, so their sum can exceed the run time.
        let cost_ns = (self.walk_ns + stopped.sum::<u64>()).min(self.run_ns);
        Ok(Seen {
            recorder: Recorder::Trace,
            end: self.end.unwrap_or(End::Code(0)),
            run_ns: self.run_ns,
            files: self.files,
            locks: self.locks,
            shelf: self.shelf,
            has_stacks: self.wanted.stacks,
            processes: self.processes,
            threads: self.thread_count,
            failed_opens: self.failed_opens,
            has_queues: self.has_queues,
            stops: self.stops.iter().sum(),
            cost_ns,
            ..Seen::default()
        })
    }

    /// Removes a thread that ended; a pending call will not complete.
    fn ended(&mut self, id: pid_t, status: c_int, now: Instant) {
        match self.threads.remove(&id) {
            Some(thread) => self.retire(id, thread, now),
            None if id == self.root => {}
            // Not a traced thread.
            None => return,
        }
        self.run_ns = nanoseconds(self.start, now);
        if id == self.root {
            self.end = Some(if libc::WIFSIGNALED(status) {
                End::Signal(libc::WTERMSIG(status))
            } else {
                End::Code(libc::WEXITSTATUS(status))
            });
        }
        if self.front == Some(id) {
            self.front = None;
            if let Some(other) = self.threads.keys().min() {
                self.advance(relatives(*other).map_or(*other, |[group, _]| group));
            }
        }
    }

    /// Makes this process the target of signals.
    fn advance(&mut self, process: pid_t) {
        self.front = Some(process);
        (self.hand_over)(process);
    }

    fn retire(&mut self, id: pid_t, mut thread: Thread, now: Instant) {
        if let Some(pending) = thread.call.take() {
            let time_ns = nanoseconds(pending.start, now).cast_signed();
            self.record(&mut thread, id, &pending, None, time_ns);
        }
        self.locks.keep(id, thread.waits);
    }

    fn stopped(&mut self, id: pid_t, status: c_int, now: Instant) {
        self.adopt(id);
        let signal = libc::WSTOPSIG(status);
        let event = status >> 16;
        match event {
            libc::PTRACE_EVENT_SECCOMP => self.entered(id),
            0 if signal == CALL_STOP => self.left(id, now),
            // Deliver the signal.
            0 => resume(libc::PTRACE_CONT, id, signal),
            EVENT_STOP if is_stopping(signal) => resume(libc::PTRACE_LISTEN, id, 0),
            libc::PTRACE_EVENT_EXEC => {
                self.became_program(id, now);
                resume(libc::PTRACE_CONT, id, 0);
            }
            libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
                // Register the thread before its first stop, because its parent may end sooner.
                system::message(id).into_iter().for_each(|new| self.adopt(new as pid_t));
                resume(libc::PTRACE_CONT, id, 0);
            }
            _ => resume(libc::PTRACE_CONT, id, 0),
        }
    }

    /// Registers a thread started by a traced thread, unless it is already known or has ended.
    fn adopt(&mut self, id: pid_t) {
        if self.threads.contains_key(&id) {
            return;
        }
        let Some([group, parent]) = relatives(id) else { return };
        let process = match self.threads.get(&group) {
            Some(leader) => leader.process.clone(),
            None => {
                self.processes += 1;
                let from = self.threads.get(&parent).filter(|_| system::share_descriptors(id, parent));
                let descriptors = from.map(|parent| parent.process.descriptors.borrow().clone());
                Rc::new(Process { descriptors: descriptors.unwrap_or_default().into(), ..Process::default() })
            }
        };
        self.thread_count += 1;
        self.threads.insert(id, Thread { process, ..Thread::default() });
        if self.front.is_none() {
            self.advance(group);
        }
    }

    /// Handles an exec: only the calling thread of the process remains, and takes the ID of the process's first thread.
    fn became_program(&mut self, id: pid_t, now: Instant) {
        self.is_program = true;
        self.near.spread();
        let former = system::message(id).map_or(id, |former| former as pid_t);
        let mut thread = self.threads.remove(&former).unwrap_or_default();
        let same = |other: &Thread| Rc::ptr_eq(&other.process, &thread.process);
        let gone: Vec<pid_t> = self.threads.iter().filter(|(_, other)| same(other)).map(|(id, _)| *id).collect();
        for gone in gone {
            if let Some(other) = self.threads.remove(&gone) {
                self.retire(gone, other, now);
            }
        }
        thread.call = None;
        thread.process = Rc::default();
        self.threads.insert(id, thread);
    }

    /// Handles the entry of a call.
    fn entered(&mut self, id: pid_t) {
        let Some(thread) = self.threads.get_mut(&id) else { return resume(libc::PTRACE_CONT, id, 0) };
        thread.stops += 2;
        let registers = system::registers(id).ok().filter(|_| self.is_program);
        let call = registers.and_then(|registers| Some((self.filter.call(registers.number)?, registers)));
        let Some((call, registers)) = call else { return resume(libc::PTRACE_CONT, id, 0) };
        if !call.has_end() {
            match call {
                Call::Queue => self.has_queues = true,
                Call::Spread => self.near.spread(),
                _ => thread.process.close(call, &registers.arguments),
            }
            return resume(libc::PTRACE_CONT, id, 0);
        }
        let descriptors = thread.process.descriptors.borrow().clone();
        let mut file =
            |place: usize| Some(descriptors.file(&mut self.files, id, *registers.arguments.get(place)? as i32));
        let files = match call {
            Call::Copy { from, to } => [file(from), file(to)],
            Call::Map => [file(4), None],
            Call::Open | Call::Wait => [None, None],
            _ => [file(0), None],
        };
        let stack = (self.wanted.stacks && !matches!(call, Call::Open | Call::Map)).then(|| {
            let start = Instant::now();
            let stack = thread.process.space.borrow_mut().walk(id, &registers, &mut self.shelf);
            self.walk_ns += nanoseconds(start, Instant::now());
            stack
        });
        self.near.met(id);
        // The start time is taken last, so that the handling of the stop does not count.
        thread.call = Some(Pending { call, files, bytes: registers.arguments[1], stack, start: Instant::now() });
        resume(libc::PTRACE_SYSCALL, id, 0);
    }

    /// Handles the exit of a call.
    fn left(&mut self, id: pid_t, now: Instant) {
        let registers = system::registers(id);
        // Removed for the moment, because `record` borrows all of `self`.
        if let Some(mut thread) = self.threads.remove(&id) {
            if let Some(pending) = thread.call.take()
                && let Ok(Registers { result, .. }) = registers
            {
                let time_ns = self.time_ns(&mut thread, id, pending.start, now);
                let end_ns = nanoseconds(self.start, now).cast_signed();
                match &mut self.trial {
                    Some(trial) => trial.push(Trial { time_ns, end_ns, is_near: self.near.holds(id) }),
                    None => self.record(&mut thread, id, &pending, Some(result), time_ns),
                }
            }
            self.threads.insert(id, thread);
        }
        resume(libc::PTRACE_CONT, id, 0);
    }

    /// Duration of a call, excluding the cost of stopping, the time in which its thread was not scheduled, and the time
    /// in which it may have ended unnoticed.
    fn time_ns(&mut self, thread: &mut Thread, id: pid_t, start: Instant, now: Instant) -> i64 {
        let StopCost { call_ns, .. } = self.costs[usize::from(self.near.holds(id))];
        let blind_ns = self.blind.map_or(0, |blind| nanoseconds(start.max(blind.from), blind.to).cast_signed());
        // A negative time is kept if only the overhead was overestimated, so that such errors cancel out in sums.
        let least_ns = if blind_ns > call_ns { 0 } else { i64::MIN };
        let time_ns = (nanoseconds(start, now).cast_signed() - blind_ns - call_ns).max(least_ns);
        if time_ns <= WAIT_NS.cast_signed() {
            return time_ns;
        }
        let overall_ns = self.delay.further(0, self.stops.iter().sum());
        let lost_ns = overall_ns.saturating_add(thread.delay.further(id, thread.stops));
        time_ns.saturating_sub(lost_ns).max(0)
    }

    /// Records a call; `result` is `None` if it did not complete.
    fn record(&mut self, thread: &mut Thread, id: pid_t, pending: &Pending, result: Option<i64>, time_ns: i64) {
        let result = result.filter(|result| !AGAIN.contains(result));
        if pending.call == Call::Wait {
            thread.waits.add(id, time_ns, result.is_some());
            if let Some(stack) = pending.stack {
                self.locks.stacks.entry(id).or_default().add(stack, time_ns);
            }
            return;
        }
        let opened = match (pending.call, result) {
            (Call::Open, Some(descriptor @ 0..)) => {
                let descriptors = thread.process.descriptors.borrow();
                Some(descriptors.opened(&mut self.files, id, descriptor as i32))
            }
            (Call::Open, Some(_)) => {
                self.failed_opens += 1;
                None
            }
            _ => pending.files[0],
        };
        if let Some(file) = opened.and_then(|place| self.files.at(place)) {
            file.add(pending.call, result, pending.bytes, time_ns);
            if let Some(stack) = pending.stack {
                file.stacks.add(stack, time_ns);
            }
        }
        // The time of a copy is attributed to its source.
        if let Some(result) = result
            && let Some(target) = pending.files[1].and_then(|place| self.files.at(place))
        {
            target.writes.add(result, 0);
        }
    }
}

impl Process {
    /// Updates the table for a call that closes or replaces descriptors.
    fn close(&self, call: Call, arguments: &[u64; 6]) {
        /// Flags of `close_range`: give the process its own table; close the range on `exec` instead.
        const UNSHARE: u64 = 2;
        const AT_EXEC: u64 = 4;
        let [first, last, flags, ..] = *arguments;
        // The kernel reads 32 bits; programs pass `u32::MAX` as the last descriptor for no limit.
        let number = |value: u64| i32::try_from(value as u32).unwrap_or(i32::MAX);
        match call {
            // Other processes keep the shared table. This process gets an empty one, which is filled again on use.
            Call::CloseRange if flags & UNSHARE != 0 => drop(self.descriptors.take()),
            Call::CloseRange if flags & AT_EXEC != 0 => {}
            Call::CloseRange => self.descriptors.borrow().closed(number(first), number(last)),
            Call::Replace => self.descriptors.borrow().closed(number(last), number(last)),
            _ => self.descriptors.borrow().closed(number(first), number(first)),
        }
    }
}

/// Resumes a thread. Ignores errors: if the thread was killed meanwhile, its end is reported separately.
fn resume(how: system::Request, thread: pid_t, signal: c_int) {
    let _ = system::ptrace(how, thread, 0, signal as usize);
}

/// Whether a signal stops a process instead of ending it.
fn is_stopping(signal: c_int) -> bool {
    [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU].contains(&signal)
}

/// Thread group and parent process of a thread.
fn relatives(thread: pid_t) -> Option<[pid_t; 2]> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([field("Tgid:")?, field("PPid:")?])
}

fn nanoseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}
