//! Determines what limited a run: the cause that explains the largest part of its time, if one does.
//!
//! Judges from sums alone: times of calls, samples of stacks, waits. The rules are plain thresholds, listed below, so
//! that a reader of the report can check them. `report` has the tables; the command words the sentence.

use crate::files::{CallTotal, File, Kind};
use crate::locks::Locks;
use crate::names::Names;
use crate::report::{Moved, Row};
use crate::stacks::{Frame, Shelf, Stacks};
use crate::system;
use crate::trace::{CpuTime, Recorder, Seen};
use libc::pid_t;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// A cause is named if it explains at least this part of the run.
const MIN_SHARE: f64 = 0.3;

/// Shorter runs have no verdict, because starting the program takes much of their time.
const MIN_SECONDS: f64 = 0.05;

/// A run computes if it uses at least this number of processors on average, while it may run.
const MIN_COMPUTING: f64 = 0.5;

/// Other programs are named if the busiest thread has no processor for at least this part of the run, unless the
/// program itself uses most processors.
const MIN_CROWDED_SHARE: f64 = 0.5;
const MAX_OWN_SHARE: f64 = 0.7;

/// A function is named if it takes at least this part of the time on processors.
const MIN_FUNCTION_SHARE: f64 = 0.5;

/// Locks are named if at least two threads wait for them for at least this part of the run. Threads that wait for a
/// lock also wait for processors afterwards.
const MIN_WAIT_SHARE: f64 = 0.2;

/// The kernel is named if it takes at least this part of the time on processors.
const MIN_KERNEL_SHARE: f64 = 0.5;

/// One kind of work in the kernel is named if it takes at least this part of its time.
const MIN_WORK_SHARE: f64 = 0.3;

/// A page fault takes at most this many seconds on average, as in virtual machines.
const MAX_FAULT_SECONDS: f64 = 3e-6;

/// Short processes are named if there are at least this many after the first one, and none uses more than this many
/// seconds of CPU time on average: mostly to start.
const MIN_PROCESSES: u64 = 20;
const MAX_START_SECONDS: f64 = 0.005;

/// A thread with more seconds on processors computes. Short processes may have the same numbers, one after another.
const MIN_BUSY_SECONDS: f64 = 0.05;

/// Functions that start a program or a thread, or run the tasks of a pool. All work is below them, so they are never
/// named.
const STARTS: [&str; 12] = [
    "_start",
    "__libc_start",
    "start_thread",
    "clone",
    "__clone",
    "GOMP_",
    "__kmp",
    "tbb::",
    "rayon_core::",
    // The same without the feature `demangle`.
    "_ZN3tbb",
    "_ZNK3tbb",
    "_ZN10rayon_core",
];

/// Functions that wait for other reasons than a lock.
const OTHER_WAITS: [&str; 6] = ["cond_", "condvar", "join", "sem_", "barrier", "park"];

/// Functions that wait for locks.
const LOCKS: [&str; 4] = ["mutex_lock", "rwlock", "lock_slow", "lock_contended"];

/// Functions that wait for the locks of the allocator.
const ALLOCATORS: [&str; 6] = ["malloc", "free", "calloc", "realloc", "operator new", "operator delete"];

/// Functions that wait for other processes, whose own work is more informative.
const PROCESS_WAITS: [&str; 5] = ["wait", "__wait", "pclose", "system", "__libc_system"];

/// Modules whose functions are not named as callers.
const SYSTEM_MODULES: [&str; 9] =
    ["libc.so", "libc-", "ld-", "libpthread", "libstdc++", "libgcc_s", "libtbb.so", "libgomp.so", "libomp.so"];

/// What limited a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum WatchVerdict {
    /// Many small reads or writes of one file.
    SmallCalls {
        /// The file.
        file: String,
        /// Whether most of them are writes.
        is_writing: bool,
        /// Number of calls.
        calls: u64,
        /// Mean size of a call in bytes.
        bytes_per_call: f64,
        /// Seconds that calls of 64 KiB would save.
        saved_seconds: f64,
        /// Seconds of the run.
        of_seconds: f64,
        /// Function of the program that makes most of the calls.
        caller: Option<String>,
    },
    /// Threads that wait for the same kind of lock.
    Lock {
        /// Number of threads that wait.
        waiting_threads: u64,
        /// Number of all threads.
        threads: u64,
        /// Function that takes the lock.
        function: String,
        /// Part of the run for which they wait, on average.
        share: f64,
        /// Function of the program that most often releases such a lock while others wait.
        holder: Option<String>,
        /// Number of threads that do.
        holding_threads: u64,
    },
    /// Waits for a disk.
    Disk {
        /// Whether it is written to.
        is_writing: bool,
        /// Bytes that were transferred.
        bytes: u64,
        /// Seconds in calls that waited.
        seconds: f64,
        /// Part of the run.
        share: f64,
    },
    /// Frequent syncs.
    Syncs {
        /// The file with most of their time.
        file: String,
        /// Number of syncs of all files.
        syncs: u64,
        /// Seconds in them.
        seconds: f64,
        /// Part of the run.
        share: f64,
    },
    /// Many short-lived processes.
    Processes {
        /// Number of processes after the first.
        processes: u64,
        /// Their mean CPU time in seconds, without threads that compute.
        seconds_each: f64,
        /// Their CPU time as a part of the run.
        share: f64,
    },
    /// Work of the kernel for the program.
    Kernel {
        /// Part of the time on processors.
        share: f64,
        /// The kind of work that takes most of it, if one does.
        work: Option<KernelWork>,
        /// Function of the program that makes most large allocations, if these explain page faults.
        caller: Option<String>,
    },
    /// Calls on names and folders, and opens, that mostly wait.
    Names {
        /// The calls of the kind that takes most time.
        work: KernelWork,
        /// Part of the run.
        share: f64,
    },
    /// Sleeps and waits for events.
    Asleep {
        /// Function that waits.
        function: String,
        /// Function of the program that calls it.
        caller: Option<String>,
        /// Part of the run.
        share: f64,
    },
    /// Computation, on one thread or on several.
    Computing {
        /// The innermost function that takes most of the time, if one does.
        function: Option<String>,
        /// Function of the program that calls it.
        caller: Option<String>,
        /// Part of the time on processors that it takes; all of it if no function is named.
        share: f64,
        /// Mean number of processors in use.
        processors: f64,
        /// Number of all threads.
        threads: u64,
        /// Seconds in reads and writes.
        transfer_seconds: f64,
    },
    /// Threads that could run but had no processor, since other programs used them.
    Crowded {
        /// Part of the run, for the busiest thread.
        share: f64,
    },
    /// Nothing stands out.
    Unclear,
}

/// Work of the kernel of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KernelWork {
    /// What was done.
    pub kind: KernelWorkKind,
    /// Number of calls or page faults.
    pub count: u64,
    /// Bytes that were read or written.
    pub bytes: u64,
    /// Seconds; of page faults, the time in the kernel outside of all calls that are counted.
    pub seconds: f64,
}

/// A kind of work in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum KernelWorkKind {
    Opens,
    Reads,
    Writes,
    Seeks,
    Lookups,
    Changes,
    Listings,
    PageFaults,
}

/// Judges a run, given its regular files, and pipes and other objects.
pub(crate) fn judge(seen: &Seen, [rows, others]: [&[(Row, &File)]; 2], names: &mut Names<'_>) -> WatchVerdict {
    let run = Run::new(seen);
    if run.seconds < MIN_SECONDS {
        return WatchVerdict::Unclear;
    }
    if run.delay_share() >= MIN_CROWDED_SHARE && run.processors < MAX_OWN_SHARE * run.cores {
        return WatchVerdict::Crowded { share: run.delay_share() };
    }
    small_calls(&run, rows, names)
        .or_else(|| lock(&run, &seen.locks, names))
        .or_else(|| disk(&run, &seen.cpu, rows))
        .or_else(|| processes(&run, seen))
        .or_else(|| kernel(&run, seen, &[rows, others], names))
        .or_else(|| computing(&run, &seen.cpu, rows, names))
        .or_else(|| name_calls(&run, seen, rows))
        .or_else(|| asleep(&run, &seen.sleeps, names))
        .unwrap_or(WatchVerdict::Unclear)
}

struct Run {
    seconds: f64,
    /// Seconds of the run, without the scheduling delay of the busiest thread.
    active_seconds: f64,
    threads: u64,
    /// Mean number of processors in use.
    processors: f64,
    /// Seconds on processors.
    cpu_seconds: f64,
    /// Number of processors of the machine.
    cores: f64,
}

impl Run {
    fn new(seen: &Seen) -> Run {
        let seconds = seen.run_ns as f64 / 1e9;
        let busiest = seen.cpu.threads().first().and_then(|(thread, _)| seen.cpu.delays.get(thread));
        let delay_seconds = busiest.map_or(0.0, |delay_ns| *delay_ns as f64 / 1e9);
        // Processes that end soon have no samples.
        let sampled_ns = seen.cpu.stacks().total_ns().max(0).cast_unsigned();
        let cpu_seconds = sampled_ns.max(seen.used.cpu_ns) as f64 / 1e9;
        Run {
            seconds,
            // Never 0, since shares are relative to it.
            active_seconds: (seconds - delay_seconds).max(0.001 * seconds),
            threads: seen.threads,
            processors: cpu_seconds / seconds,
            cpu_seconds,
            cores: std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64),
        }
    }

    fn delay_share(&self) -> f64 {
        1.0 - self.active_seconds / self.seconds
    }
}

fn small_calls(run: &Run, rows: &[(Row, &File)], names: &mut Names<'_>) -> Option<WatchVerdict> {
    let slow = rows.iter().filter(|(row, _)| row.is_slow());
    let (row, file) = slow.max_by(|(a, _), (b, _)| a.saved_seconds().total_cmp(&b.saved_seconds()))?;
    if row.saved_seconds() < MIN_SHARE * run.active_seconds {
        return None;
    }
    let is_writing = row.writes.calls > row.reads.calls;
    let moved = if is_writing { &row.writes } else { &row.reads };
    Some(WatchVerdict::SmallCalls {
        file: row.file.clone(),
        is_writing,
        calls: moved.calls,
        bytes_per_call: moved.usual_bytes.map_or(moved.bytes as f64 / moved.calls as f64, |bytes| bytes as f64),
        saved_seconds: row.saved_seconds(),
        of_seconds: run.seconds,
        caller: caller(&heaviest(&file.stacks, names.shelf()), names),
    })
}

/// The frames of the stack with the longest time.
fn heaviest(stacks: &Stacks, shelf: &Shelf) -> Vec<Frame> {
    stacks.sorted().first().map_or_else(Vec::new, |(stack, _, _)| shelf.frames(*stack).to_vec())
}

/// The innermost function with a name that is not part of a system library.
fn caller(frames: &[Frame], names: &mut Names<'_>) -> Option<String> {
    let name = frames.iter().find_map(|frame| {
        let module = names.module(frame.module);
        if is_system(&module) { None } else { names.function(*frame).map(|(name, _)| name) }
    })?;
    (!starts(&name)).then_some(name)
}

fn starts(function: &str) -> bool {
    STARTS.iter().any(|start| function.starts_with(start))
}

fn is_system(module: &str) -> bool {
    module.starts_with('[') || SYSTEM_MODULES.iter().any(|name| module.starts_with(name))
}

fn lock(run: &Run, locks: &Locks, names: &mut Names<'_>) -> Option<WatchVerdict> {
    let mut functions: HashMap<u32, Option<String>> = HashMap::new();
    let mut times: BTreeMap<String, i64> = BTreeMap::new();
    let mut waiting_threads = 0;
    let mut waited_ns = 0;
    for stacks in locks.stacks.values() {
        let mut thread_ns = 0;
        for (stack, _, time_ns) in stacks.sorted() {
            let function = functions.entry(stack).or_insert_with(|| locked(&function_names(stack, names)).cloned());
            if let Some(function) = function {
                thread_ns += time_ns;
                *times.entry(function.clone()).or_default() += time_ns;
            }
        }
        if thread_ns as f64 / 1e9 >= MIN_WAIT_SHARE * run.active_seconds {
            waiting_threads += 1;
            waited_ns += thread_ns;
        }
    }
    let share = waited_ns as f64 / 1e9 / (run.seconds * waiting_threads.max(1) as f64);
    let (function, _) = times.into_iter().max_by_key(|(_, time_ns)| *time_ns)?;
    let (holder, holding_threads) = holder(locks, &function, names);
    let threads = run.threads;
    let share = share.min(1.0);
    let verdict = WatchVerdict::Lock { waiting_threads, threads, function, share, holder, holding_threads };
    (waiting_threads > 1).then_some(verdict)
}

/// The function of the program that releases locks of this kind most often while others wait, and the number of its
/// threads.
fn holder(locks: &Locks, function: &str, names: &mut Names<'_>) -> (Option<String>, u64) {
    let mut releases: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for stacks in locks.wakes.values() {
        let mut in_thread: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, calls, _) in stacks.sorted() {
            let releases = released(&function_names(stack, names));
            if releases == Some(is_allocator(function)) {
                let frames = names.shelf().frames(stack).to_vec();
                caller(&frames, names).into_iter().for_each(|caller| *in_thread.entry(caller).or_default() += calls);
            }
        }
        for (function, calls) in in_thread {
            let (all_calls, threads) = releases.entry(function).or_default();
            *all_calls += calls;
            *threads += 1;
        }
    }
    let holder = releases.into_iter().max_by_key(|(_, (calls, _))| *calls);
    holder.map_or((None, 0), |(function, (_, threads))| (Some(function), threads))
}

/// Names of the functions of a stack that have one, innermost first.
fn function_names(stack: u32, names: &mut Names<'_>) -> Vec<String> {
    let frames = names.shelf().frames(stack).to_vec();
    frames.iter().filter_map(|frame| names.function(*frame)).map(|(name, _)| name).collect()
}

fn has_any(function: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| function.contains(part))
}

/// Whether a function takes locks of an allocator.
pub fn is_allocator(function: &str) -> bool {
    ALLOCATORS.contains(&function)
}

/// Whether a stack that ends a wait releases a lock of an allocator, or another lock. `None` if it signals a condition
/// or ends a thread.
fn released(functions: &[String]) -> Option<bool> {
    if functions.iter().any(|function| has_any(function, &OTHER_WAITS)) {
        return None;
    }
    let is_allocating = functions.iter().any(|function| is_allocator(function));
    let is_lock = is_allocating || functions.iter().any(|function| function.contains("unlock"));
    is_lock.then_some(is_allocating)
}

/// The function of a stack, innermost first, that waits for a lock.
fn locked(functions: &[String]) -> Option<&String> {
    if functions.iter().any(|function| has_any(function, &OTHER_WAITS)) {
        return None;
    }
    let allocator = functions.iter().find(|function| is_allocator(function));
    allocator.or_else(|| functions.iter().find(|function| has_any(function, &LOCKS)))
}

fn disk(run: &Run, cpu: &CpuTime, rows: &[(Row, &File)]) -> Option<WatchVerdict> {
    let sum = |of: fn(&Row) -> f64| rows.iter().map(|(row, _)| of(row)).sum::<f64>();
    let reading = sum(|row| row.reads.waited_seconds);
    let writing = sum(|row| row.writes.waited_seconds + row.sync_seconds);
    let is_writing = writing > reading;
    // Copies from and to the page cache take long without any wait, but then they use a processor.
    let busiest_ns = cpu.threads().first().map_or(0, |(_, time_ns)| *time_ns);
    let seconds = reading.max(writing).min(run.active_seconds - busiest_ns as f64 / 1e9);
    let bytes = rows.iter().map(|(row, _)| if is_writing { row.writes.bytes } else { row.reads.bytes }).sum();
    let share = (seconds / run.active_seconds).min(1.0);
    let disk = if is_writing { syncs(run, rows, writing) } else { None };
    (share >= MIN_SHARE).then(|| disk.unwrap_or(WatchVerdict::Disk { is_writing, bytes, seconds, share }))
}

/// Syncs, if they take most of the time of writing.
fn syncs(run: &Run, rows: &[(Row, &File)], writing_seconds: f64) -> Option<WatchVerdict> {
    let (row, _) = rows.iter().max_by(|(a, _), (b, _)| a.sync_seconds.total_cmp(&b.sync_seconds))?;
    let syncs = rows.iter().map(|(row, _)| row.syncs).sum();
    let seconds: f64 = rows.iter().map(|(row, _)| row.sync_seconds).sum();
    let share = (seconds / run.active_seconds).min(1.0);
    let is_cause = syncs > 1 && seconds >= 0.5 * writing_seconds;
    is_cause.then(|| WatchVerdict::Syncs { file: row.file.clone(), syncs, seconds, share })
}

/// Short processes, if they take long together. Threads that compute belong to others.
fn processes(run: &Run, seen: &Seen) -> Option<WatchVerdict> {
    let processes = seen.processes.saturating_sub(1);
    let sampled = seen.cpu.threads().into_iter().map(|(_, time_ns)| time_ns as f64 / 1e9);
    let computing: f64 = sampled.filter(|seconds| *seconds > MIN_BUSY_SECONDS).sum();
    let seconds = (run.cpu_seconds - computing).max(0.0);
    let seconds_each = seconds / processes.max(1) as f64;
    let share = (seconds / run.active_seconds).min(1.0);
    let is_cause = processes >= MIN_PROCESSES && seconds_each <= MAX_START_SECONDS && share >= MIN_SHARE;
    is_cause.then_some(WatchVerdict::Processes { processes, seconds_each, share })
}

fn kernel(run: &Run, seen: &Seen, rows: &[&[(Row, &File)]], names: &mut Names<'_>) -> Option<WatchVerdict> {
    let cpu_ns = seen.used.cpu_ns.max(1);
    let share = (seen.used.kernel_ns as f64 / cpu_ns as f64).min(1.0);
    // The kernel works for tracing, too.
    let is_recorded = seen.recorder == Recorder::Preload;
    if !is_recorded || run.cpu_seconds < MIN_COMPUTING * run.active_seconds || share < MIN_KERNEL_SHARE {
        return None;
    }
    let kernel_seconds = seen.used.kernel_ns as f64 / 1e9;
    let mut work = kernel_work(seen, rows);
    // Calls also wait.
    work.iter_mut().for_each(|work| work.seconds = work.seconds.min(kernel_seconds));
    let others = kernel_seconds - work.iter().map(|work| work.seconds).sum::<f64>();
    let faults = seen.used.memory_faults;
    if others <= faults as f64 * MAX_FAULT_SECONDS {
        work.push(KernelWork { kind: KernelWorkKind::PageFaults, count: faults, bytes: 0, seconds: others });
    }
    let longest = work.into_iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let work = longest.filter(|work| work.seconds >= MIN_WORK_SHARE * kernel_seconds);
    let is_faulting = work.is_some_and(|work| work.kind == KernelWorkKind::PageFaults);
    // The others are faults of mapped files, and of memory that comes in small pieces.
    let allocates = seen.allocations.bytes as f64 >= MIN_SHARE * (faults * system::page_bytes()) as f64;
    let frames = if is_faulting && allocates { heaviest(&seen.allocations.stacks, names.shelf()) } else { Vec::new() };
    Some(WatchVerdict::Kernel { share, work, caller: caller(&frames, names) })
}

/// The calls that were counted, by kind.
fn kernel_work(seen: &Seen, rows: &[&[(Row, &File)]]) -> Vec<KernelWork> {
    let of_files = |kind, values: fn(&Row, &File) -> (u64, u64, f64)| {
        let mut work = KernelWork { kind, count: 0, bytes: 0, seconds: 0.0 };
        for (row, file) in rows.iter().copied().flatten() {
            let (count, bytes, seconds) = values(row, file);
            work.count += count;
            work.bytes += bytes;
            work.seconds += seconds;
        }
        work
    };
    let of_names = |kind, total: CallTotal| KernelWork { kind, count: total.calls, bytes: 0, seconds: total.seconds };
    vec![
        of_files(KernelWorkKind::Opens, |_, file| (file.opens, 0, file.open_ns as f64 / 1e9)),
        of_files(KernelWorkKind::Reads, |row, file| transfers(file, &row.reads)),
        of_files(KernelWorkKind::Writes, |row, file| transfers(file, &row.writes)),
        of_files(KernelWorkKind::Seeks, |row, _| (row.seeks, 0, row.seek_seconds)),
        of_names(KernelWorkKind::Lookups, seen.name_calls.lookups),
        of_names(KernelWorkKind::Changes, seen.name_calls.changes),
        of_names(KernelWorkKind::Listings, seen.name_calls.listings),
    ]
}

/// Opens, or calls on names and folders. Files that are made may wait for the disk.
fn name_calls(run: &Run, seen: &Seen, rows: &[(Row, &File)]) -> Option<WatchVerdict> {
    use KernelWorkKind::{Changes, Listings, Lookups, Opens};
    let kinds = [Opens, Changes, Lookups, Listings];
    let work = kernel_work(seen, &[rows]).into_iter().filter(|work| kinds.contains(&work.kind));
    let work = work.max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let share = (work.seconds / run.active_seconds).min(1.0);
    (share >= MIN_SHARE).then_some(WatchVerdict::Names { work, share })
}

/// Calls, bytes and seconds of reads or writes. Those of pipes wait for other programs, which is no work.
fn transfers(file: &File, moved: &Moved) -> (u64, u64, f64) {
    let waited_seconds = if file.kind == Kind::File { 0.0 } else { moved.waited_seconds };
    (moved.calls, moved.bytes, moved.seconds - waited_seconds)
}

/// The function in which the first thread of a process waits longest, other than for processes.
fn asleep(run: &Run, sleeps: &HashMap<pid_t, Stacks>, names: &mut Names<'_>) -> Option<WatchVerdict> {
    let waits = sleeps.values().filter_map(|stacks| longest_sleep(stacks, names));
    let (time_ns, function, frames) = waits.max_by_key(|(time_ns, _, _)| *time_ns)?;
    let share = (time_ns as f64 / 1e9 / run.seconds).min(1.0);
    let caller = caller(&frames, names);
    (share >= MIN_SHARE).then_some(WatchVerdict::Asleep { function, caller, share })
}

/// Nanoseconds, the function, and its longest stack.
fn longest_sleep(stacks: &Stacks, names: &mut Names<'_>) -> Option<(i64, String, Vec<Frame>)> {
    let mut times: BTreeMap<String, (i64, Vec<Frame>)> = BTreeMap::new();
    for (stack, _, time_ns) in stacks.sorted() {
        let frames = names.shelf().frames(stack).to_vec();
        let Some(function) = entered(&frames, names) else { continue };
        if !PROCESS_WAITS.iter().any(|wait| function.starts_with(wait)) {
            // Stacks are sorted, so the first one of a function is its longest.
            times.entry(function).or_insert((0, frames)).0 += time_ns;
        }
    }
    let longest = times.into_iter().max_by_key(|(_, (time_ns, _))| *time_ns);
    longest.map(|(function, (time_ns, frames))| (time_ns, function, frames))
}

/// The function of a system library that the program called.
fn entered(frames: &[Frame], names: &mut Names<'_>) -> Option<String> {
    let inner = frames.iter().take_while(|frame| is_system(&names.module(frame.module)));
    let inner: Vec<Frame> = inner.copied().collect();
    inner.iter().rev().find_map(|frame| names.function(*frame)).map(|(name, _)| name)
}

fn computing(run: &Run, cpu: &CpuTime, rows: &[(Row, &File)], names: &mut Names<'_>) -> Option<WatchVerdict> {
    let stacks = cpu.stacks();
    let total_ns = stacks.total_ns();
    if (total_ns as f64 / 1e9) < MIN_COMPUTING * run.active_seconds {
        return None;
    }
    let dominant = dominant(&stacks, total_ns, names);
    Some(WatchVerdict::Computing {
        share: dominant.as_ref().map_or(1.0, |dominant| dominant.share),
        caller: dominant.as_ref().and_then(|dominant| dominant.caller.clone()),
        function: dominant.map(|dominant| dominant.function),
        processors: total_ns as f64 / 1e9 / run.seconds,
        threads: run.threads,
        transfer_seconds: rows.iter().map(|(row, _)| row.reads.seconds + row.writes.seconds).sum(),
    })
}

/// A function that takes most of the time, with those that it calls.
struct Dominant {
    function: String,
    caller: Option<String>,
    share: f64,
}

/// The innermost function that takes most of the time.
fn dominant(stacks: &Stacks, total_ns: i64, names: &mut Names<'_>) -> Option<Dominant> {
    /// Time of a function, and the sum of its distances from the innermost frame, weighted by time.
    #[derive(Default)]
    struct Inclusive {
        time_ns: i64,
        distance_ns: f64,
    }
    let mut functions: BTreeMap<String, Inclusive> = BTreeMap::new();
    for (stack, _, time_ns) in stacks.sorted() {
        let frames = names.shelf().frames(stack).to_vec();
        let is_system: Vec<bool> = frames.iter().map(|frame| is_system(&names.module(frame.module))).collect();
        let mut counted: Vec<String> = Vec::new();
        for (distance, frame) in frames.iter().enumerate() {
            // Of a library's own functions, only the one that the program called tells its users something.
            let is_inner = is_system[distance] && is_system.get(distance + 1) == Some(&true);
            if is_inner {
                continue;
            }
            let name = match names.function(*frame) {
                Some((name, _)) => name,
                // Stripped programs have no names of functions.
                None if !is_system[distance] => names.module(frame.module),
                None => continue,
            };
            if counted.contains(&name) || starts(&name) || name == "?" {
                continue;
            }
            let inclusive = functions.entry(name.clone()).or_default();
            inclusive.time_ns += time_ns;
            inclusive.distance_ns += distance as f64 * time_ns as f64;
            counted.push(name);
        }
    }
    let is_dominant = |inclusive: &Inclusive| inclusive.time_ns as f64 >= MIN_FUNCTION_SHARE * total_ns as f64;
    let distance = |inclusive: &Inclusive| inclusive.distance_ns / inclusive.time_ns as f64;
    let candidates = functions.into_iter().filter(|(_, inclusive)| is_dominant(inclusive));
    let (function, inclusive) = candidates.min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))?;
    let share = inclusive.time_ns as f64 / total_ns as f64;
    let caller = caller_of(&function, stacks, names);
    Some(Dominant { function, caller, share })
}

/// The function of the program that calls another one in the stack with the longest time.
fn caller_of(function: &str, stacks: &Stacks, names: &mut Names<'_>) -> Option<String> {
    stacks.sorted().into_iter().find_map(|(stack, _, _)| {
        let frames = names.shelf().frames(stack).to_vec();
        let is_function = |frame: &Frame| names.function(*frame).is_some_and(|(name, _)| name == function);
        let position = frames.iter().rposition(is_function)?;
        caller(&frames[position + 1..], names)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cached::Cached;
    use crate::filter::Call;
    use crate::report::Watched;
    use crate::system::Used;
    use crate::trace::Recorder;
    use libc::pid_t;

    /// A run of 10 s with one thread.
    fn seen() -> Seen {
        Seen { recorder: Recorder::Preload, run_ns: 10_000_000_000, processes: 1, threads: 1, ..Seen::default() }
    }

    fn verdict(seen: Seen) -> WatchVerdict {
        let cached = Cached { bytes_per_second: 1e9, call_ns: 100.0 };
        Watched::new(Vec::new(), seen, cached, true).verdict
    }

    fn compute(seen: &mut Seen, thread: pid_t, time_ns: i64) {
        seen.cpu.samples.entry(thread).or_default().add(0, time_ns);
    }

    #[test]
    fn small_calls_come_first() {
        let mut seen = seen();
        let file = seen.files.plain_file("part.tga").unwrap();
        (0..400_000).for_each(|_| file.add(Call::Read, Some(3), 0, 20_000));
        compute(&mut seen, 1, 9_000_000_000);
        let WatchVerdict::SmallCalls { file, calls, saved_seconds, .. } = verdict(seen) else { panic!() };
        assert_eq!((file.as_str(), calls), ("part.tga", 400_000));
        assert!((7.9..8.0).contains(&saved_seconds), "{saved_seconds}");
    }

    #[test]
    fn large_calls_are_never_small() {
        let mut seen = seen();
        let file = seen.files.plain_file("a").unwrap();
        (0..80_000).for_each(|_| file.add(Call::Read, Some(40_000), 0, 90_000));
        assert!(!matches!(verdict(seen), WatchVerdict::SmallCalls { .. }));
    }

    #[test]
    fn waits_for_files_are_those_without_a_processor() {
        let read = |cpu_ns| {
            let mut seen = seen();
            let file = seen.files.plain_file("a").unwrap();
            (0..10).for_each(|_| file.add(Call::Read, Some(1 << 27), 0, 800_000_000));
            compute(&mut seen, 1, cpu_ns);
            verdict(seen)
        };
        assert!(matches!(read(1_000_000_000), WatchVerdict::Disk { is_writing: false, bytes: 1_342_177_280, .. }));
        assert!(matches!(read(9_000_000_000), WatchVerdict::Computing { function: None, .. }));
    }

    #[test]
    fn syncs_are_named_if_they_take_most_of_the_writing() {
        let mut seen = seen();
        let file = seen.files.plain_file("log").unwrap();
        (0..100).for_each(|_| file.add(Call::Write, Some(200), 0, 1_000));
        (0..100).for_each(|_| file.add(Call::Sync, Some(0), 0, 50_000_000));
        (0..10).for_each(|_| file.add(Call::Write, Some(1 << 20), 0, 100_000_000));
        seen.files.plain_file("other").unwrap().add(Call::Sync, Some(0), 0, 1_000_000_000);
        let WatchVerdict::Syncs { file, syncs, share, .. } = verdict(seen) else { panic!() };
        assert_eq!((file.as_str(), syncs, share), ("log", 101, 0.6));
    }

    /// A run of 9 s on a processor, in the kernel for this long, with page faults.
    fn in_kernel(kernel_ns: u64, memory_faults: u64) -> Seen {
        let mut seen = seen();
        compute(&mut seen, 1, 9_000_000_000);
        seen.used = Used { cpu_ns: 9_000_000_000, kernel_ns, memory_faults, ..Used::default() };
        seen.name_calls.lookups = CallTotal { calls: 100_000, failed: 0, seconds: 3.0 };
        seen
    }

    #[test]
    fn the_kernel_is_named_with_most_of_its_work() {
        let work = |seen: Seen| match verdict(seen) {
            WatchVerdict::Kernel { work, .. } => work.map(|work| (work.kind, work.count)),
            other => panic!("{other:?}"),
        };
        assert_eq!(work(in_kernel(6_000_000_000, 0)), Some((KernelWorkKind::Lookups, 100_000)));
        assert_eq!(work(in_kernel(9_000_000_000, 3_000_000)), Some((KernelWorkKind::PageFaults, 3_000_000)));
        let mut unknown = in_kernel(9_000_000_000, 10);
        unknown.name_calls.lookups.seconds = 2.0;
        assert_eq!(work(unknown), None);
        assert!(matches!(verdict(in_kernel(2_000_000_000, 0)), WatchVerdict::Computing { .. }));
    }

    #[test]
    fn calls_on_names_that_wait_are_named() {
        let mut seen = seen();
        seen.name_calls.changes = CallTotal { calls: 2000, failed: 0, seconds: 4.0 };
        let WatchVerdict::Names { work, share } = verdict(seen) else { panic!() };
        assert_eq!((work.kind, work.count, share), (KernelWorkKind::Changes, 2000, 0.4));
    }

    #[test]
    fn short_processes_are_named() {
        let with = |processes: u64, computing_ns: i64| {
            let mut seen = Seen { processes, ..seen() };
            seen.used.cpu_ns = 9_000_000_000;
            compute(&mut seen, 1, computing_ns);
            verdict(seen)
        };
        let expected = WatchVerdict::Processes { processes: 4500, seconds_each: 0.002, share: 0.9 };
        assert_eq!(with(4501, 1_000_000), expected);
        assert!([10, 1000].into_iter().all(|count| with(count, 1_000_000) == WatchVerdict::Unclear));
        assert!(matches!(with(4501, 8_000_000_000), WatchVerdict::Computing { .. }));
    }

    #[test]
    fn other_programs_are_named_if_they_take_the_processors() {
        let mut seen = seen();
        compute(&mut seen, 1, 2_000_000);
        seen.cpu.delays.insert(1, 6_000_000_000);
        assert_eq!(verdict(seen), WatchVerdict::Crowded { share: 0.6 });
    }

    #[test]
    fn short_and_idle_runs_have_no_cause() {
        let mut short = seen();
        short.run_ns = 1_000_000;
        compute(&mut short, 1, 1_000_000);
        assert_eq!([verdict(short), verdict(seen())], [WatchVerdict::Unclear, WatchVerdict::Unclear]);
    }

    fn functions(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn releases_of_locks_are_told_from_other_wakes() {
        let released = |names: &[&str]| released(&functions(names));
        assert_eq!(
            [released(&["pthread_mutex_unlock", "work"]), released(&["free", "work"])],
            [Some(false), Some(true)]
        );
        assert_eq!([released(&["pthread_cond_signal", "work"]), released(&["start_thread"])], [None, None]);
    }

    #[test]
    fn waits_for_locks_are_told_from_other_waits() {
        let lock = |names: &[&str]| locked(&functions(names)).cloned();
        assert_eq!(lock(&["pthread_mutex_lock", "free", "work"]), Some("free".into()));
        assert!(lock(&["std::sys::sync::mutex::futex::Mutex::lock_contended", "work"]).is_some());
        assert_eq!(lock(&["pthread_cond_wait", "pthread_mutex_lock"]), None);
        assert_eq!(lock(&["pthread_join", "main"]), None);
        assert_eq!(lock(&["work", "main"]), None);
    }
}
