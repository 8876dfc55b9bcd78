//! Summarizes observations: sorted, with totals. `--json` prints [`Watched`] as is; otherwise, the command formats it
//! as text (`watch/render.rs`).
//!
//! Times are summed over threads: two threads reading concurrently count twice the elapsed time.

use crate::cached::Cached;
use crate::files::{Allocations, File, Kind, LIMITS, NameCalls, Transfers};
use crate::locks::{Locks, Waits};
use crate::names::Names;
use crate::order;
use crate::slowed::SlowedCalls;
use crate::stacks::Stacks;
use crate::timeline::Timeline;
use crate::trace::{End, Recorder, Seen};
use crate::verdict::{self, WatchVerdict};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// Maximum number of stacks reported per file, and for all lock waits.
const MAX_STACKS: usize = 32;

/// A file with at least this many reads that are small on average needs the cure. Fewer take less than a millisecond.
const MIN_SMALL_READS: u64 = 1000;

/// A file is slow if buffering would save more than this, and more than half of the time of its reads and writes.
const WORTH_SECONDS: f64 = 0.000_5;

/// Calls with fewer bytes than this on average are small.
const SMALL_BYTES: u64 = 32 << 10;

/// A file that was only opened is shown if its opens took at least this long.
const SLOW_OPEN_SECONDS: f64 = 0.000_1;

/// Where the files of the system are: libraries, settings, information of the kernel.
const SYSTEM_FOLDERS: [&str; 8] = ["/usr/", "/lib/", "/lib64/", "/etc/", "/proc/", "/sys/", "/bin/", "/nix/store/"];

/// A system file is listed if it takes at least this part of the time in all files.
const SYSTEM_SHARE: f64 = 0.05;

/// Everything that was observed during a run.
#[derive(Serialize)]
pub struct Watched {
    /// What limited the run.
    pub verdict: WatchVerdict,
    /// Program and arguments.
    pub program: Vec<String>,
    /// Exit code of the program; `null` if a signal ended it.
    pub exit_code: Option<i32>,
    /// Signal that ended the program.
    pub signal: Option<i32>,
    /// Time from the start until all children ended.
    pub run_seconds: f64,
    /// How the program was watched.
    pub recorder: Recorder,
    /// Programs that were started but could not be recorded.
    pub unrecorded: Vec<Unrecorded>,
    /// Number of calls, files, threads or processes for which the record had no room.
    pub lost: u64,
    /// Number of places in code whose calls are not recorded.
    pub missed_sites: u64,
    /// Number of samples of stacks for which the record had no room.
    pub lost_samples: u64,
    /// Number of processes.
    pub processes: u64,
    /// Number of threads of all processes.
    pub threads_seen: u64,
    /// Approximate tracing overhead.
    pub watch_seconds: f64,
    /// Number of times that a thread was stopped for tracing.
    pub stops: u64,
    /// Whether queues (io_uring, aio) were set up. Reads and writes through queues are not observed.
    pub has_queues: bool,
    /// Number of operations submitted to io_uring; 0 when tracing.
    pub queued: u64,
    /// Number of failed opens.
    pub failed_opens: u64,
    /// Rate of reads from the page cache in calls of 64 KiB.
    pub cached_bytes_per_second: f64,
    /// Number of regular files, including those that were only opened.
    pub file_count: u64,
    /// Totals over these files.
    pub total: Sum,
    /// Regular files, sorted by the time that buffering would save.
    pub files: Vec<Row>,
    /// Folders, pipes, terminals and other objects, in the same order.
    pub others: Vec<Row>,
    /// Number of system files that are not listed in `files` because they took little time. 0 unless the list is
    /// limited.
    pub system_files: u64,
    /// Seconds in them.
    pub system_seconds: f64,
    /// Number of other objects that were used but are not listed in `others`.
    #[serde(skip)]
    pub further_others: u64,
    /// Lock waits, if requested.
    pub locks: Option<Locked>,
    /// Calls on names and folders; 0 when tracing.
    pub name_calls: NameCalls,
    /// Allocations of at least 1 MiB; 0 when tracing.
    pub allocations: Allocated,
    /// Reads that were slowed down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed_reads: Option<SlowedCalls>,
    /// Writes that were slowed down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed_writes: Option<SlowedCalls>,
    /// Number of mapped files that took the time of all their bytes when they were mapped, because they could not be
    /// filled as they were used.
    pub held_maps: u64,
    /// Seconds of all processes on processors.
    pub cpu_seconds: f64,
    /// The part of them in the kernel.
    pub kernel_seconds: f64,
    /// Number of minor page faults, which need no disk.
    pub memory_faults: u64,
    /// Number of page faults that read from a disk: of mapped files, and of memory that was swapped out.
    pub disk_faults: u64,
    /// Bytes that were read from disks, for files and for memory that was swapped out.
    pub disk_bytes: u64,
    /// Largest resident memory of all processes together, in bytes, of readings every 10 ms; 0 if unknown.
    pub peak_bytes: u64,
    /// What threads and processes did over time.
    #[serde(skip)]
    pub timeline: Timeline,
    /// Time on processors by stack, most first, if a profile was requested.
    #[serde(skip)]
    pub profile: Vec<ProfiledStack>,
}

/// Time on processors with the same stack.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfiledStack {
    /// Functions, outermost first.
    pub functions: Vec<String>,
    /// Nanoseconds.
    pub time_ns: u64,
}

/// A program that was started but could not be recorded.
#[derive(Debug, Serialize)]
pub struct Unrecorded {
    /// Path as given to the system.
    pub program: String,
    /// Number of times that it was started.
    pub starts: u64,
}

/// Totals over all regular files.
#[derive(Default, Serialize)]
pub struct Sum {
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Number of syncs.
    pub syncs: u64,
    /// Seconds in opens, reads, writes, seeks and syncs.
    pub seconds: f64,
    /// Estimated seconds if all reads and writes were made in calls of 64 KiB.
    pub buffered_seconds: f64,
}

/// Calls on one file.
#[derive(Serialize)]
pub struct Row {
    /// Path, relative to the working directory if below it.
    pub file: String,
    /// Number of opens.
    pub opens: u64,
    /// Number, size and time of its reads.
    pub reads: Moved,
    /// Number, size and time of its writes.
    pub writes: Moved,
    /// Number of memory mappings.
    pub maps: u64,
    /// Total size of the mappings in bytes.
    pub mapped_bytes: u64,
    /// Number of seeks; tracing does not count them.
    pub seeks: u64,
    /// Seconds in seeks.
    pub seek_seconds: f64,
    /// Number of reads and writes that start over 64 KiB away from the end of the last one; tracing does not count
    /// them.
    pub jumps: u64,
    /// Number of syncs.
    pub syncs: u64,
    /// Seconds in syncs.
    pub sync_seconds: f64,
    /// Seconds in opens, reads, writes, seeks and syncs.
    pub seconds: f64,
    /// Estimated seconds if its reads and writes were made in calls of 64 KiB.
    pub buffered_seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Callers by stack, slowest first.
    pub stacks: Vec<Stack>,
    #[serde(skip)]
    /// Kind of object.
    pub kind: Kind,
}

/// Reads or writes.
#[derive(Serialize)]
pub struct Moved {
    /// Number of calls.
    pub calls: u64,
    /// Number of failed calls.
    pub failed: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Total seconds.
    pub seconds: f64,
    /// Seconds in calls longer than 0.1 ms.
    pub waited_seconds: f64,
    /// Size of at least 90% of the calls that transferred bytes, or `None` if no size is that frequent.
    pub usual_bytes: Option<u64>,
    /// Number of calls in each size class with any calls.
    pub sizes: Vec<Size>,
}

/// Number of calls in a size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Lower limit in bytes, inclusive.
    pub from: u64,
    /// Upper limit in bytes, exclusive, or `None` for no limit.
    pub below: Option<u64>,
    /// Number of calls.
    pub calls: u64,
}

/// Calls with the same stack.
#[derive(Serialize)]
pub struct Stack {
    /// Number of calls.
    pub calls: u64,
    /// Total seconds.
    pub seconds: f64,
    /// Frames, innermost first.
    pub frames: Vec<String>,
}

/// Large allocations of memory.
#[derive(Serialize)]
pub struct Allocated {
    /// Number of allocations.
    pub calls: u64,
    /// Total bytes.
    pub bytes: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Callers by stack, most bytes first.
    pub stacks: Vec<AllocatedStack>,
}

/// Allocations with the same stack.
#[derive(Serialize)]
pub struct AllocatedStack {
    /// Number of allocations.
    pub calls: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Frames, innermost first.
    pub frames: Vec<String>,
}

/// Waits for locks.
#[derive(Serialize)]
pub struct Locked {
    /// Number of waits.
    pub waits: u64,
    /// Total seconds.
    pub seconds: f64,
    /// Threads, longest wait first.
    pub threads: Vec<Waiting>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Callers by stack, longest wait first.
    pub stacks: Vec<Stack>,
}

/// Lock waits of a thread.
#[derive(Serialize)]
pub struct Waiting {
    /// Thread name.
    pub name: String,
    /// Thread ID.
    pub thread: i32,
    /// Number of waits.
    pub waits: u64,
    /// Total seconds.
    pub seconds: f64,
    /// Lock waits as a fraction of the run time.
    pub share: f64,
}

impl Watched {
    /// Summarizes observations.
    pub fn new(program: Vec<String>, seen: Seen, cached: Cached, locks: bool) -> Watched {
        let mut names = Names::new(&seen.shelf);
        let here = std::env::current_dir().ok();
        let row = |file| Row::new(file, &cached, here.as_deref());
        let (mut files, mut others): (Vec<_>, Vec<_>) =
            seen.files.list().iter().map(|file| (row(file), file)).partition(|(row, _)| is_listed(row.kind));
        let total = Sum::from_rows(files.iter().map(|(row, _)| row));
        let file_count = files.len() as u64;
        let verdict = verdict::judge(&seen, [&files, &others], &mut names);
        let mut finish = |rows: &mut Vec<(Row, &File)>| -> Vec<Row> {
            order::sort(rows, |(left, _), (right, _)| worse(left, right));
            let mut stacks = |file: &File| if seen.has_stacks { list(&mut names, &file.stacks) } else { Vec::new() };
            rows.drain(..).map(|(row, file)| Row { stacks: stacks(file), ..row }).collect()
        };
        let files = finish(&mut files);
        let others = finish(&mut others);
        let run_seconds = seen.run_ns as f64 / 1e9;
        let allocations = Allocated::new(&seen, &mut names);
        let locks = locks.then(|| {
            let stacks = if seen.has_stacks { list(&mut names, &seen.locks.stacks()) } else { Vec::new() };
            Locked::new(seen.locks, stacks, run_seconds)
        });
        let profile = if seen.has_profile { profile(&mut names, &seen.cpu.stacks()) } else { Vec::new() };
        // Neither includes all: the first lacks daemons, the second processes that end soon.
        let cpu_ns = seen.used.cpu_ns.max(seen.timeline.moments.last().map_or(0, |moment| moment.cpu_ns));
        let (exit_code, signal) = match seen.end {
            End::Code(code) => (Some(code), None),
            End::Signal(signal) => (None, Some(signal)),
        };
        let unrecorded = seen.unrecorded.into_iter().map(|(program, starts)| Unrecorded { program, starts });
        Watched {
            verdict,
            program,
            exit_code,
            signal,
            run_seconds,
            recorder: seen.recorder,
            unrecorded: unrecorded.collect(),
            lost: seen.lost,
            missed_sites: seen.missed_sites,
            lost_samples: seen.lost_samples,
            processes: seen.processes,
            threads_seen: seen.threads,
            watch_seconds: seen.cost_ns as f64 / 1e9,
            stops: seen.stops,
            has_queues: seen.has_queues,
            queued: seen.queued,
            failed_opens: seen.failed_opens,
            cached_bytes_per_second: cached.bytes_per_second,
            file_count,
            total,
            files,
            others,
            system_files: 0,
            system_seconds: 0.0,
            further_others: 0,
            locks,
            name_calls: seen.name_calls,
            allocations,
            slowed_reads: seen.slowed[0],
            slowed_writes: seen.slowed[1],
            held_maps: seen.held_maps,
            cpu_seconds: cpu_ns as f64 / 1e9,
            kernel_seconds: seen.used.kernel_ns as f64 / 1e9,
            memory_faults: seen.used.memory_faults,
            disk_faults: seen.used.disk_faults,
            disk_bytes: seen.used.disk_bytes,
            peak_bytes: seen.timeline.peak_bytes,
            timeline: seen.timeline,
            profile,
        }
    }

    /// Keeps at most `top` files, other objects and threads: the slowest. System files that took little time are only
    /// counted.
    #[must_use]
    pub fn limited(mut self, top: usize) -> Watched {
        let shown_seconds = SYSTEM_SHARE * self.total.seconds;
        for row in self.files.extract_if(.., |row| row.is_system() && !row.is_slow() && row.seconds < shown_seconds) {
            self.system_files += 1;
            self.system_seconds += row.seconds;
        }
        let used_others = self.others.iter().filter(|row| row.is_used()).count();
        self.files.truncate(top);
        self.others.truncate(top);
        self.further_others = used_others.saturating_sub(self.others.len()) as u64;
        self.locks.iter_mut().for_each(|locks| locks.threads.truncate(top));
        self
    }
}

/// Whether the kind is listed as a file. Folders transfer no bytes and are listed with the other objects.
fn is_listed(kind: Kind) -> bool {
    kind == Kind::File
}

/// Sort order: larger savings first, then longer times, then more bytes; unused files last. Savings too small to be
/// measured reliably are ignored.
fn worse(left: &Row, right: &Row) -> std::cmp::Ordering {
    // Tenths of a millisecond: smaller differences are noise, and must not decide the order.
    let tenths = |seconds: f64| (seconds * 1e4).round() as u64;
    let bytes = |row: &Row| row.reads.bytes + row.writes.bytes + row.mapped_bytes;
    let rank = |row: &Row| {
        let saved = if row.is_slow() { tenths(row.saved_seconds()) } else { 0 };
        (row.is_used(), saved, tenths(row.seconds), bytes(row))
    };
    rank(right).cmp(&rank(left)).then_with(|| left.file.cmp(&right.file))
}

impl Locked {
    fn new(locks: Locks, stacks: Vec<Stack>, run_seconds: f64) -> Locked {
        let (waits, time_ns) = locks.total();
        let threads = locks.sorted().into_iter().map(|waits| Waiting::new(waits, run_seconds)).collect();
        Locked { waits, seconds: time_ns as f64 / 1e9, threads, stacks }
    }
}

impl Row {
    fn new(file: &File, cached: &Cached, here: Option<&Path>) -> Row {
        let reads = Moved::new(&file.reads, cached);
        let writes = Moved::new(&file.writes, cached);
        let sync_seconds = seconds(file.sync_ns);
        let seek_seconds = seconds(file.seek_ns);
        let below = here.and_then(|here| Path::new(&file.name).strip_prefix(here).ok());
        let short = below.map(|path| path.to_string_lossy().into_owned()).filter(|path| !path.is_empty());
        Row {
            file: short.unwrap_or_else(|| file.name.clone()),
            opens: file.opens,
            maps: file.maps,
            mapped_bytes: file.mapped_bytes,
            seeks: file.seeks,
            seek_seconds,
            jumps: file.jumps,
            syncs: file.syncs,
            sync_seconds,
            seconds: reads.seconds + writes.seconds + seek_seconds + sync_seconds + seconds(file.open_ns),
            buffered_seconds: cached.buffered_seconds(file),
            reads,
            writes,
            stacks: Vec::new(),
            kind: file.kind,
        }
    }

    /// Whether to show the file: it was used after opening, or opening it took long.
    pub fn is_used(&self) -> bool {
        !self.is_opened_only() || self.opens > 0 && self.seconds >= SLOW_OPEN_SECONDS
    }

    /// Whether the file belongs to the system rather than to the program's work.
    pub fn is_system(&self) -> bool {
        SYSTEM_FOLDERS.iter().any(|folder| self.file.starts_with(folder))
    }

    /// Whether the file was never read, written, mapped or synced.
    pub fn is_opened_only(&self) -> bool {
        self.reads.calls + self.writes.calls + self.seeks + self.maps + self.syncs == 0
    }

    /// Seconds that buffering would save. Buffered reads need hardly any seeks.
    pub(crate) fn saved_seconds(&self) -> f64 {
        (self.moving_seconds() - self.buffered_seconds).max(0.0)
    }

    fn moving_seconds(&self) -> f64 {
        self.reads.seconds + self.writes.seconds + self.seek_seconds
    }

    /// Whether it is a file with many small reads, which [`crate::cure`] answers.
    pub fn needs_cure(&self) -> bool {
        let are_small = self.reads.bytes < SMALL_BYTES * self.reads.calls;
        self.kind == Kind::File && are_small && self.reads.calls >= MIN_SMALL_READS.max(self.writes.calls)
    }

    /// Whether buffering is worthwhile.
    pub fn is_slow(&self) -> bool {
        let saved = self.saved_seconds();
        let are_small = self.reads.bytes + self.writes.bytes < SMALL_BYTES * (self.reads.calls + self.writes.calls);
        are_small && saved > WORTH_SECONDS && saved > 0.5 * self.moving_seconds()
    }
}

impl Moved {
    fn new(transfers: &Transfers, cached: &Cached) -> Moved {
        let limits = LIMITS.iter().map(|limit| Some(*limit)).chain([None]);
        let froms = [0].iter().chain(&LIMITS);
        let sizes = transfers.buckets.iter().zip(froms.zip(limits));
        let sizes = sizes.map(|(calls, (from, below))| Size { from: *from, below, calls: *calls });
        Moved {
            calls: transfers.calls,
            failed: transfers.failed,
            bytes: transfers.bytes,
            seconds: cached.seconds(transfers),
            waited_seconds: transfers.waited_ns as f64 / 1e9,
            usual_bytes: transfers.usual_size(),
            sizes: sizes.filter(|size| size.calls > 0).collect(),
        }
    }
}

impl Sum {
    fn from_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> Sum {
        rows.fold(Sum::default(), |sum, row| Sum {
            reads: sum.reads + row.reads.calls,
            bytes_read: sum.bytes_read + row.reads.bytes,
            writes: sum.writes + row.writes.calls,
            bytes_written: sum.bytes_written + row.writes.bytes,
            syncs: sum.syncs + row.syncs,
            seconds: sum.seconds + row.seconds,
            buffered_seconds: sum.buffered_seconds + row.buffered_seconds,
        })
    }
}

impl Allocated {
    fn new(seen: &Seen, names: &mut Names<'_>) -> Allocated {
        let Allocations { calls, bytes, stacks } = &seen.allocations;
        let row = |(stack, calls, bytes): (u32, u64, i64)| AllocatedStack {
            calls,
            bytes: bytes.max(0).cast_unsigned(),
            frames: names.frames(stack),
        };
        let listed = if seen.has_stacks { MAX_STACKS } else { 0 };
        let stacks = stacks.sorted().into_iter().take(listed).map(row).collect();
        Allocated { calls: *calls, bytes: *bytes, stacks }
    }
}

impl Waiting {
    fn new(waits: Waits, run_seconds: f64) -> Waiting {
        let seconds = seconds(waits.time_ns);
        let share = if run_seconds > 0.0 { seconds / run_seconds } else { 0.0 };
        Waiting { name: waits.name, thread: waits.thread, waits: waits.count, seconds, share }
    }
}

/// The slowest stacks, with names.
fn list(names: &mut Names<'_>, stacks: &Stacks) -> Vec<Stack> {
    let worst = stacks.sorted().into_iter().take(MAX_STACKS);
    worst
        .map(|(stack, calls, time_ns)| Stack { calls, seconds: seconds(time_ns), frames: names.frames(stack) })
        .collect()
}

/// All stacks of time on processors. Those that differ only in positions within functions are one.
fn profile(names: &mut Names<'_>, stacks: &Stacks) -> Vec<ProfiledStack> {
    let mut times: HashMap<Vec<String>, u64> = HashMap::new();
    for (stack, _, time_ns) in stacks.sorted() {
        let mut functions = names.functions(stack);
        functions.reverse();
        *times.entry(functions).or_default() += time_ns.max(0).cast_unsigned();
    }
    let mut stacks: Vec<_> =
        times.into_iter().map(|(functions, time_ns)| ProfiledStack { functions, time_ns }).collect();
    order::sort(&mut stacks, |a, b| (b.time_ns, &a.functions).cmp(&(a.time_ns, &b.functions)));
    stacks
}

fn seconds(time_ns: i64) -> f64 {
    time_ns.max(0) as f64 / 1e9
}
