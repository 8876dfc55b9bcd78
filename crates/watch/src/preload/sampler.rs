//! Takes readings of all threads and processes while a program runs, in a thread of the command.
//!
//! Recorders count what threads do in calls; the rest is in `/proc`. Readings take at most 2% of a processor: with many
//! threads, they are less frequent. `timeline` keeps them.

use super::clock::RecordClock;
use super::layout::{READY, RecordLayout, ThreadSlot, tally};
use super::record::{text, used};
use crate::system::{self, Shared};
use crate::timeline::{INTERVAL_NS, Line, MAX_LINES, Moment, ThreadReading, Timeline};
use libc::pid_t;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A reading is followed by a pause of at least this many times its duration.
const MIN_PAUSES: u32 = 50;

/// Maximum number of processes to read at a time.
const MAX_PROCESSES: usize = 64;

/// Number of readings between refreshes of thread names.
const NAMED: usize = 32;

/// The thread that takes readings.
pub(super) struct TimelineSampler {
    stop: Sender<()>,
    thread: JoinHandle<Timeline>,
}

impl TimelineSampler {
    /// Starts the thread. Only processes are read unless `has_lines`.
    pub(super) fn start(shared: Arc<Shared<RecordLayout>>, clock: RecordClock, has_lines: bool) -> TimelineSampler {
        let (stop, stopped) = mpsc::channel();
        let readings = Readings {
            shared,
            clock,
            has_lines,
            interval: Duration::from_nanos(INTERVAL_NS),
            timeline: Timeline::default(),
            threads: HashMap::new(),
            processes: HashMap::new(),
            ended: Moment::default(),
        };
        TimelineSampler { stop, thread: std::thread::spawn(move || readings.take(&stopped)) }
    }

    /// Stops the thread.
    pub(super) fn finish(self) -> Timeline {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

struct Readings {
    shared: Arc<Shared<RecordLayout>>,
    clock: RecordClock,
    has_lines: bool,
    interval: Duration,
    timeline: Timeline,
    /// By index of the slot.
    threads: HashMap<usize, TrackedThread>,
    processes: HashMap<pid_t, TrackedProcess>,
    /// Sums over the processes that have ended.
    ended: Moment,
}

/// A thread with its last reading. Threads beyond the limit have no line.
struct TrackedThread {
    start: u64,
    line: Option<usize>,
    totals: ThreadTotals,
    schedule: Option<File>,
}

/// Totals of a thread since its start.
#[derive(Clone, Copy, Default)]
struct ThreadTotals {
    call_ns: [u64; 3],
    waited_ns: u64,
    locked_ns: u64,
    cpu_ns: u64,
    delay_ns: u64,
    bytes: [u64; 2],
}

/// A process with its last reading.
struct TrackedProcess {
    io: Option<File>,
    memory: Option<File>,
    last: Moment,
    is_seen: bool,
}

impl Readings {
    fn take(mut self, stopped: &Receiver<()>) -> Timeline {
        let mut pause = self.interval;
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let start = Instant::now();
            self.read();
            let duration = start.elapsed();
            pause = self.interval.saturating_sub(duration).max(MIN_PAUSES * duration);
        }
        self.timeline
    }

    fn read(&mut self) {
        let at_ns = self.clock.start.elapsed().as_nanos() as u64;
        let last_ns = self.timeline.moments.last().map_or(0, |moment| moment.at_ns);
        let [threads, locked] = self.read_threads(at_ns - last_ns);
        let moment = Moment { at_ns, threads, locked, ..self.read_processes() };
        if self.timeline.end_interval(moment) {
            self.interval *= 2;
        }
    }

    /// Returns the number of threads, and of those that wait for locks.
    fn read_threads(&mut self, length_ns: u64) -> [u32; 2] {
        let shared = Arc::clone(&self.shared);
        let mut counts = [0; 2];
        for (index, slot) in shared.thread.iter().take(used(&shared.next_thread)).enumerate() {
            if slot.state.load(Acquire) != READY {
                self.forget(index, slot);
                continue;
            }
            counts[0] += 1;
            let is_in_call = slot.call_start.load(Relaxed) != 0;
            counts[1] += u32::from(is_in_call && slot.tally.load(Relaxed) == tally::WAIT);
            if self.has_lines {
                self.read_thread(index, slot, length_ns);
            }
        }
        counts
    }

    fn forget(&mut self, index: usize, slot: &ThreadSlot) {
        let Some(tracked) = self.threads.remove(&index) else { return };
        let name = text(&slot.name);
        if let Some(line) = tracked.line.filter(|_| !name.is_empty() && slot.start.load(Relaxed) == tracked.start) {
            self.timeline.lines[line].name = name;
        }
    }

    fn read_thread(&mut self, index: usize, slot: &ThreadSlot, length_ns: u64) {
        let start = slot.start.load(Relaxed);
        if self.threads.get(&index).is_none_or(|tracked| tracked.start != start) {
            let tracked = self.track(slot, start);
            self.threads.insert(index, tracked);
        }
        let Some(tracked) = self.threads.get_mut(&index) else { return };
        let Some(line) = tracked.line.and_then(|line| self.timeline.lines.get_mut(line)) else { return };
        let totals = ThreadTotals::read(slot, &self.clock, tracked.schedule.as_ref());
        line.push(totals.since(&tracked.totals, length_ns));
        tracked.totals = tracked.totals.max(&totals);
        if self.timeline.moments.len() % NAMED == 1 {
            name(line);
        }
    }

    fn track(&mut self, slot: &ThreadSlot, start: u64) -> TrackedThread {
        let process = self.shared.process.get(slot.process.load(Relaxed) as usize);
        let process = process.map_or(0, |process| process.id.load(Relaxed)) as i32;
        let thread = slot.id.load(Relaxed) as i32;
        let mut line = Line { process, thread, first: self.timeline.moments.len(), ..Line::default() };
        name(&mut line);
        let has_room = self.timeline.lines.len() < MAX_LINES;
        let index = has_room.then_some(self.timeline.lines.len());
        if has_room {
            self.timeline.lines.push(line);
        } else {
            self.timeline.hidden_threads += 1;
        }
        let schedule = index.and_then(|_| File::open(format!("/proc/{thread}/schedstat")).ok());
        TrackedThread { start, line: index, totals: ThreadTotals::default(), schedule }
    }

    /// Reads the processes that run, and returns sums over all.
    fn read_processes(&mut self) -> Moment {
        self.processes.values_mut().for_each(|tracked| tracked.is_seen = false);
        let processes = self.shared.process.iter().take(used(&self.shared.next_process));
        for process in processes.filter(|process| process.state.load(Acquire) == READY) {
            let id = process.id.load(Relaxed) as pid_t;
            if self.processes.len() < MAX_PROCESSES || self.processes.contains_key(&id) {
                self.processes.entry(id).or_insert_with(|| TrackedProcess::open(id)).read(id);
            }
        }
        for (_, gone) in self.processes.extract_if(|_, tracked| !tracked.is_seen) {
            add(&mut self.ended, &Moment { resident_bytes: 0, ..gone.last });
        }
        let mut sum = self.ended;
        self.processes.values().for_each(|tracked| add(&mut sum, &tracked.last));
        sum
    }
}

impl TrackedProcess {
    fn open(process: pid_t) -> TrackedProcess {
        let open = |name: &str| File::open(format!("/proc/{process}/{name}")).ok();
        TrackedProcess { io: open("io"), memory: open("statm"), last: Moment::default(), is_seen: true }
    }

    fn read(&mut self, process: pid_t) {
        self.is_seen = true;
        let cpu_ns = system::process_cpu_ns(process);
        self.last.cpu_ns = cpu_ns.unwrap_or(0).max(self.last.cpu_ns);
        let memory = self.memory.as_ref().map(content).unwrap_or_default();
        let pages: Option<u64> = memory.split(' ').nth(1).and_then(|pages| pages.parse().ok());
        self.last.resident_bytes = pages.unwrap_or(0) * system::page_bytes();
        let io = self.io.as_ref().map(content).unwrap_or_default();
        let field = |name: &str| {
            let value = io.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        self.last.disk_read_bytes = self.last.disk_read_bytes.max(field("read_bytes"));
        self.last.disk_written_bytes = self.last.disk_written_bytes.max(field("write_bytes"));
    }
}

fn add(sum: &mut Moment, other: &Moment) {
    sum.cpu_ns += other.cpu_ns;
    sum.disk_read_bytes += other.disk_read_bytes;
    sum.disk_written_bytes += other.disk_written_bytes;
    sum.resident_bytes += other.resident_bytes;
}

impl ThreadTotals {
    fn read(slot: &ThreadSlot, clock: &RecordClock, schedule: Option<&File>) -> ThreadTotals {
        let mut ticks = [0, 1, 2].map(|kind: usize| slot.activity[kind].ticks.load(Relaxed));
        let mut waited: u64 = slot.activity.iter().map(|activity| activity.waited_ticks.load(Relaxed)).sum();
        let mut locked = slot.wait_ticks.load(Relaxed);
        let call_start = slot.call_start.load(Relaxed);
        let tally = if call_start == 0 { 0 } else { slot.tally.load(Relaxed) };
        let pending_ticks = clock.now().saturating_sub(call_start);
        let kind = match tally {
            tally::READ | tally::SEEK => Some(0),
            tally::WRITE => Some(1),
            tally::SYNC => Some(2),
            _ => None,
        };
        if let Some(kind) = kind {
            ticks[kind] += pending_ticks;
            waited += pending_ticks;
        }
        if tally == tally::WAIT {
            locked += pending_ticks;
        }
        // Time on processors, then in queues for them.
        let schedule = schedule.map(content).unwrap_or_default();
        let mut schedule = schedule.split(' ').map(|number| number.parse().unwrap_or(0));
        ThreadTotals {
            call_ns: ticks.map(|ticks| clock.nanoseconds(ticks)),
            waited_ns: clock.nanoseconds(waited),
            locked_ns: clock.nanoseconds(locked),
            cpu_ns: schedule.next().unwrap_or(0),
            delay_ns: schedule.next().unwrap_or(0),
            bytes: [0, 1].map(|kind: usize| slot.activity[kind].bytes.load(Relaxed)),
        }
    }

    /// A call is neither in progress nor counted for a moment at its end, so totals can become smaller.
    fn max(&self, other: &ThreadTotals) -> ThreadTotals {
        ThreadTotals {
            call_ns: [0, 1, 2].map(|kind: usize| self.call_ns[kind].max(other.call_ns[kind])),
            waited_ns: self.waited_ns.max(other.waited_ns),
            locked_ns: self.locked_ns.max(other.locked_ns),
            cpu_ns: self.cpu_ns.max(other.cpu_ns),
            delay_ns: self.delay_ns.max(other.delay_ns),
            bytes: [0, 1].map(|kind: usize| self.bytes[kind].max(other.bytes[kind])),
        }
    }

    fn since(&self, earlier: &ThreadTotals, length_ns: u64) -> ThreadReading {
        let call_ns = [0, 1, 2].map(|kind: usize| self.call_ns[kind].saturating_sub(earlier.call_ns[kind]));
        ThreadReading {
            length_ns,
            call_ns,
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns).min(call_ns.iter().sum()),
            locked_ns: self.locked_ns.saturating_sub(earlier.locked_ns),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            delay_ns: self.delay_ns.saturating_sub(earlier.delay_ns),
            bytes: [0, 1].map(|kind: usize| self.bytes[kind].saturating_sub(earlier.bytes[kind])),
        }
    }
}

fn name(line: &mut Line) {
    let path = format!("/proc/{}/task/{}/comm", line.process, line.thread);
    // The kernel cuts names after 15 bytes, possibly within a character.
    if let Ok(name) = std::fs::read(path) {
        line.name = String::from_utf8_lossy(&name).trim_end().to_owned();
    }
}

/// The content of a small file of `/proc`; empty if its process has ended.
fn content(file: &File) -> String {
    let mut bytes = [0; 512];
    let count = file.read_at(&mut bytes, 0).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..count]).trim_end().to_owned()
}
