//! A summary of the observations, sorted and with sums: the object of `--json`, from which `render` makes the text.
//!
//! Times are seconds of threads: two threads that read at the same time take twice the elapsed time.

use crate::cached::Cached;
use crate::files::{File, Kind, LIMITS, Transfers};
use crate::locks::Waits;
use crate::stacks::{Shelf, Stacks};
use crate::symbols::Symbols;
use crate::trace::{End, Seen};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// Stacks reported for a file, and for locks.
const MAX_STACKS: usize = 32;

/// A file is called slow if buffering would save this much, and half of its time.
const WORTH_SECONDS: f64 = 0.000_5;

/// Opening a file is reported separately if it took this long.
const SLOW_OPEN_SECONDS: f64 = 0.000_1;

/// All of it.
#[derive(Serialize)]
pub struct Watched {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The program's exit code; `null` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From the start of the program until all its children had ended.
    pub run_seconds: f64,
    /// Processes, and the threads of all of them.
    pub processes: u64,
    /// Threads of all processes.
    pub threads_seen: u64,
    /// About how much longer the program took because it was watched.
    pub watch_seconds: f64,
    /// How often a thread was stopped for that.
    pub stops: u64,
    /// Whether reads and writes through queues (io_uring, aio) may be missing here.
    pub has_queues: bool,
    /// Opens that failed.
    pub failed_opens: u64,
    /// The rate of a buffer reading from the page cache.
    pub cached_bytes_per_second: f64,
    /// All plain files that were used, and their sums.
    pub file_count: u64,
    /// The sums.
    pub total: Sum,
    /// The worst files first.
    pub files: Vec<Row>,
    /// Pipes, terminals and the like.
    pub others: Vec<Row>,
    /// The number of used ones that are not listed.
    #[serde(skip)]
    pub further_others: u64,
    /// Waits for locks, if requested.
    pub locks: Option<Locked>,
}

/// The sum over files.
#[derive(Default, Serialize)]
pub struct Sum {
    /// Calls that read.
    pub reads: u64,
    /// Bytes that they read.
    pub bytes_read: u64,
    /// Calls that write.
    pub writes: u64,
    /// Bytes that they wrote.
    pub bytes_written: u64,
    /// Calls that wait for the disk.
    pub syncs: u64,
    /// Seconds in all calls.
    pub seconds: f64,
    /// Seconds that buffered calls would take.
    pub buffered_seconds: f64,
}

/// One file.
#[derive(Serialize)]
pub struct Row {
    /// The path, as the program opened it.
    pub file: String,
    /// How often it was opened.
    pub opens: u64,
    /// Reading.
    pub reads: Moved,
    /// Writing.
    pub writes: Moved,
    /// How often it was mapped.
    pub maps: u64,
    /// Bytes that were mapped.
    pub mapped_bytes: u64,
    /// Calls that wait for the disk.
    pub syncs: u64,
    /// Seconds in those.
    pub sync_seconds: f64,
    /// Opening, reading, writing and syncing.
    pub seconds: f64,
    /// Reading and writing, had that been in calls of 64 KiB.
    pub buffered_seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Which functions made the calls, the slowest first.
    pub stacks: Vec<Stack>,
    #[serde(skip)]
    /// Its kind.
    pub kind: Kind,
}

/// Reads or writes.
#[derive(Serialize)]
pub struct Moved {
    /// The number of calls.
    pub calls: u64,
    /// The number that failed.
    pub failed: u64,
    /// Bytes in all.
    pub bytes: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// The part of it in calls of more than a tenth of a millisecond.
    pub waited_seconds: f64,
    /// The bytes of nine calls in ten.
    pub usual_bytes: Option<u64>,
    /// The calls by size.
    pub sizes: Vec<Size>,
}

/// Calls of at least some size, in bytes, and below another; `null` for no upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// The smallest size.
    pub from: u64,
    /// The upper end, exclusive; `None` if there is none.
    pub below: Option<u64>,
    /// Calls of these sizes.
    pub calls: u64,
}

/// Calls that came from one place.
#[derive(Serialize)]
pub struct Stack {
    /// Calls from there.
    pub calls: u64,
    /// Seconds in those.
    pub seconds: f64,
    /// The innermost first.
    pub frames: Vec<String>,
}

/// Waits for locks.
#[derive(Serialize)]
pub struct Locked {
    /// The number of waits.
    pub waits: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// The threads that waited longest.
    pub threads: Vec<Waiting>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Which functions waited, the longest first.
    pub stacks: Vec<Stack>,
}

/// A thread that waited.
#[derive(Serialize)]
pub struct Waiting {
    /// The name of the thread.
    pub name: String,
    /// Its number.
    pub thread: i32,
    /// How often it waited.
    pub waits: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// The share of the run, 0 to 1.
    pub share: f64,
}

impl Watched {
    /// Summarizes what was observed; at most `top` files and threads.
    pub fn new(program: Vec<String>, seen: Seen, cached: Cached, locks: bool, top: usize) -> Watched {
        let mut names = Names { shelf: &seen.shelf, symbols: HashMap::new() };
        let here = std::env::current_dir().ok();
        let row = |file| Row::new(file, &cached, here.as_deref());
        let (mut files, mut others): (Vec<_>, Vec<_>) =
            seen.files.list().iter().map(|file| (row(file), file)).partition(|(row, _)| is_listed(row.kind));
        let total = Sum::from_rows(files.iter().map(|(row, _)| row));
        let file_count = files.len() as u64;
        let mut finish = |rows: &mut Vec<(Row, &File)>| -> Vec<Row> {
            rows.sort_by(|(left, _), (right, _)| worse(left, right));
            let rows = rows.drain(..).take(top);
            rows.map(|(row, file)| Row { stacks: names.stacks(&file.stacks), ..row }).collect()
        };
        let used_others = others.iter().filter(|(row, _)| row.is_used()).count();
        let files = finish(&mut files);
        let others = finish(&mut others);
        let further_others = used_others.saturating_sub(others.len()) as u64;
        let run_seconds = seen.run_ns as f64 / 1e9;
        let locks = locks.then(|| {
            let (waits, time_ns) = seen.locks.total();
            let stacks = names.stacks(&seen.locks.stacks);
            let threads = seen.locks.sorted().into_iter().take(top);
            let threads = threads.map(|waits| Waiting::new(waits, run_seconds)).collect();
            Locked { waits, seconds: time_ns as f64 / 1e9, threads, stacks }
        });
        let (exit_code, signal) = match seen.end {
            End::Code(code) => (Some(code), None),
            End::Signal(signal) => (None, Some(signal)),
        };
        Watched {
            program,
            exit_code,
            signal,
            run_seconds,
            processes: seen.processes,
            threads_seen: seen.threads,
            watch_seconds: seen.cost_ns as f64 / 1e9,
            stops: seen.stops,
            has_queues: seen.has_queues,
            failed_opens: seen.failed_opens,
            cached_bytes_per_second: cached.bytes_per_second,
            file_count,
            total,
            files,
            others,
            further_others,
            locks,
        }
    }
}

/// Whether it is listed among files; folders have no bytes and are left out like other kinds.
fn is_listed(kind: Kind) -> bool {
    kind == Kind::File
}

/// The one with the larger saving comes first, then the one that took longer, then the one with more bytes; unused ones
/// are last. Savings that cannot be measured reliably are ignored.
fn worse(left: &Row, right: &Row) -> std::cmp::Ordering {
    let tenths = |seconds: f64| (seconds * 1e4).round() as u64;
    let bytes = |row: &Row| row.reads.bytes + row.writes.bytes + row.mapped_bytes;
    let rank = |row: &Row| {
        let saved = if row.is_slow() { tenths(row.saved_seconds()) } else { 0 };
        (row.is_used(), saved, tenths(row.seconds), bytes(row))
    };
    rank(right).cmp(&rank(left)).then_with(|| left.file.cmp(&right.file))
}

impl Row {
    fn new(file: &File, cached: &Cached, here: Option<&Path>) -> Row {
        let reads = Moved::new(&file.reads, cached);
        let writes = Moved::new(&file.writes, cached);
        let sync_seconds = seconds(file.sync_ns);
        let below = here.and_then(|here| Path::new(&file.name).strip_prefix(here).ok());
        let short = below.map(|path| path.to_string_lossy().into_owned()).filter(|path| !path.is_empty());
        Row {
            file: short.unwrap_or_else(|| file.name.clone()),
            opens: file.opens,
            maps: file.maps,
            mapped_bytes: file.mapped_bytes,
            syncs: file.syncs,
            sync_seconds,
            seconds: reads.seconds + writes.seconds + sync_seconds + seconds(file.open_ns),
            buffered_seconds: cached.buffered_seconds(file),
            reads,
            writes,
            stacks: Vec::new(),
            kind: file.kind,
        }
    }

    /// Whether it is shown to people: it was used for more than opening, or that took long.
    pub fn is_used(&self) -> bool {
        !self.is_opened_only() || self.opens > 0 && self.seconds >= SLOW_OPEN_SECONDS
    }

    /// Whether it was only opened.
    pub fn is_opened_only(&self) -> bool {
        self.reads.calls + self.writes.calls + self.maps + self.syncs == 0
    }

    /// The saving by buffering.
    fn saved_seconds(&self) -> f64 {
        (self.reads.seconds + self.writes.seconds - self.buffered_seconds).max(0.0)
    }

    /// Whether buffering would be worth it.
    pub fn is_slow(&self) -> bool {
        let saved = self.saved_seconds();
        saved > WORTH_SECONDS && saved > 0.5 * (self.reads.seconds + self.writes.seconds)
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

impl Waiting {
    fn new(waits: Waits, run_seconds: f64) -> Waiting {
        let seconds = seconds(waits.time_ns);
        let share = if run_seconds > 0.0 { seconds / run_seconds } else { 0.0 };
        Waiting { name: waits.name, thread: waits.thread, waits: waits.count, seconds, share }
    }
}

fn seconds(time_ns: i64) -> f64 {
    time_ns.max(0) as f64 / 1e9
}

/// Finds names for frames.
struct Names<'a> {
    shelf: &'a Shelf,
    symbols: HashMap<u32, Symbols>,
}

impl Names<'_> {
    fn stacks(&mut self, stacks: &Stacks) -> Vec<Stack> {
        let worst = stacks.sorted().into_iter().take(MAX_STACKS);
        let stack = |(stack, calls, time_ns)| {
            let frames = self.shelf.frames(stack).iter().map(|frame| self.frame(frame.module, frame.address)).collect();
            Stack { calls, seconds: seconds(time_ns), frames }
        };
        worst.map(stack).collect()
    }

    /// `libc.so.6 pread64+0x14`, or the address alone if it has no name.
    fn frame(&mut self, module: u32, address: u64) -> String {
        let path = self.shelf.modules.get(module as usize).map_or("", String::as_str);
        let name = self.symbols.entry(module).or_insert_with(|| Symbols::from_file(path)).name(address);
        let file = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        let file = if file.is_empty() { "?".into() } else { file };
        match name {
            Some((name, into)) => format!("{file} {name}+{into:#x}"),
            None => format!("{file}+{address:#x}"),
        }
    }
}
