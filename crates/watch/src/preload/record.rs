//! Reads what recorders wrote: counts, files, threads.
//!
//! Threads and processes that have ended are read while others run, so that their slots are free again. Everything else
//! is read at the end. `modules` answers requests for sites.

use super::clock::RecordClock;
use super::layout::{
    CountSlot, ENDED, FREE, MAGIC, MAX_PATTERN_BYTES, MAX_PROCESSES, MAX_THREADS, OPTION_ALL, OPTION_CLOCK,
    OPTION_CURE, OPTION_THROTTLE, READY, RecordLayout, SampleSlot, TAKEN, ThreadSlot, tally,
};
use super::samples::StackSamples;
use crate::cure::{Aside, AsideReason, CuredFile};
use crate::files::{Allocations, CallTotal, File, Files, Kind, LIMITS, NameCalls, Transfers, WAIT_NS};
use crate::locks::{Locks, Waits};
use crate::slowed::{SlowDevice, SlowedCalls};
use crate::stacks::{Shelf, Stacks};
use crate::system::{self, Shared};
use crate::trace::CpuTime;
use libc::pid_t;
use polyhaul_fault::planted;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU32};
use std::time::Duration;

/// Time over which the rate of the processor's counter is measured at the start.
const MEASURED: Duration = Duration::from_millis(1);

/// Time on a processor between two samples of a thread, and time between two samples of its calls.
pub(super) const SAMPLED: Duration = Duration::from_millis(1);

/// Time for which slower devices read ahead while a program makes no calls. Systems read ahead, too; without it, each
/// pause between two reads of a program would add to the time of its bytes.
const READ_AHEAD: Duration = Duration::from_millis(50);

/// The factor of numbers with a fixed point in the record.
pub(super) const FIXED_ONE: f64 = 4_294_967_296.0;

/// The memory that recorders write to.
pub(super) struct SharedRecord {
    pub(super) shared: Arc<Shared<RecordLayout>>,
    pub(super) clock: RecordClock,
    /// Counts of threads whose slots are free again or still in use at the end.
    files: Files,
    locks: Locks,
    name_calls: NameCalls,
    allocations: Allocations,
    /// Programs that were executed without a recorder, by name.
    unrecorded: BTreeMap<String, u64>,
    /// Files whose small reads were answered, by name.
    cures: BTreeMap<String, CuredFile>,
    slow: [SlowDevice; 2],
    /// Scheduling delay by thread.
    delays: HashMap<pid_t, i64>,
}

/// Everything that was recorded.
pub(super) struct RecordTotals {
    pub(super) files: Files,
    pub(super) locks: Locks,
    pub(super) name_calls: NameCalls,
    pub(super) sleeps: HashMap<pid_t, Stacks>,
    pub(super) allocations: Allocations,
    pub(super) unrecorded: Vec<(String, u64)>,
    pub(super) cures: Vec<CuredFile>,
    pub(super) slowed: [Option<SlowedCalls>; 2],
    pub(super) shelf: Shelf,
    pub(super) cpu: CpuTime,
    pub(super) shared: Arc<Shared<RecordLayout>>,
}

impl SharedRecord {
    /// Creates an empty record.
    pub(super) fn new(effects: &[u8], has_all: bool) -> io::Result<SharedRecord> {
        let shared: Arc<Shared<RecordLayout>> = Arc::new(Shared::new(c"polyhaul-record")?);
        let clock = RecordClock::start();
        let options = if has_all { OPTION_ALL } else { 0 } | if clock.has_counter { 0 } else { OPTION_CLOCK };
        shared.options.store(options, Relaxed);
        shared.size_limits.iter().zip(LIMITS).for_each(|(slot, limit)| slot.store(limit, Relaxed));
        shared.effects.iter().zip(effects).for_each(|(slot, effect)| slot.store(*effect, Relaxed));
        let record = SharedRecord {
            shared,
            clock,
            files: Files::new(has_all),
            locks: Locks::default(),
            name_calls: NameCalls::default(),
            allocations: Allocations::default(),
            unrecorded: BTreeMap::new(),
            cures: BTreeMap::new(),
            slow: Default::default(),
            delays: HashMap::new(),
        };
        while clock.start.elapsed() < MEASURED {
            std::hint::spin_loop();
        }
        let wait_ticks = WAIT_NS as f64 / clock.tick_ns();
        record.shared.wait_ticks.store(wait_ticks as u64, Relaxed);
        record.shared.sample_ticks.store((SAMPLED.as_nanos() as f64 / clock.tick_ns()) as u64, Relaxed);
        record.shared.sample_ns.store(SAMPLED.as_nanos() as u64, Relaxed);
        record.shared.magic.store(MAGIC, Release);
        Ok(record)
    }

    /// Has small reads of files that match these patterns answered. Patterns for which there is no room are left out.
    pub(super) fn cure(&self, patterns: &[String]) {
        let mut rest = self.shared.patterns.split_last().map_or(&[][..], |(_, rest)| rest);
        for pattern in patterns.iter().filter(|pattern| !pattern.is_empty()) {
            let Some((to, after)) = rest.split_at_checked(pattern.len() + 1) else { continue };
            to.iter().zip(pattern.bytes()).for_each(|(slot, byte)| slot.store(byte, Relaxed));
            rest = after;
        }
        if rest.len() + 1 < MAX_PATTERN_BYTES {
            self.shared.options.fetch_or(OPTION_CURE, Release);
        }
    }

    /// Has reads and writes of files take as long as on slower devices.
    pub(super) fn slow_down(&mut self, slow: [SlowDevice; 2]) {
        let tick_ns = self.clock.tick_ns();
        let fixed = |value: f64| (value * FIXED_ONE) as u64;
        self.slow = slow;
        self.shared.tick_ns.store(fixed(tick_ns), Relaxed);
        self.shared.credit_ticks.store((READ_AHEAD.as_nanos() as f64 / tick_ns) as u64, Relaxed);
        for (slot, device) in self.shared.throttles.iter().zip(slow) {
            let factor = if planted("watch-rate") { 0.9e9 } else { 1e9 };
            let byte_ns = device.bytes_per_second.map_or(0.0, |rate| factor / rate.max(1) as f64);
            slot.byte_ticks.store(fixed(byte_ns / tick_ns), Relaxed);
            slot.latency_ticks.store((device.latency.as_nanos() as f64 / tick_ns) as u64, Relaxed);
        }
        if slow.iter().any(SlowDevice::is_slow) {
            self.shared.options.fetch_or(OPTION_THROTTLE, Release);
        }
    }

    /// What was slowed down.
    fn slowed(&self) -> [Option<SlowedCalls>; 2] {
        std::array::from_fn(|index| {
            let slot = &self.shared.throttles[index];
            let device = self.slow[index];
            device.is_slow().then(|| SlowedCalls {
                bytes_per_second: device.bytes_per_second,
                latency_seconds: device.latency.as_secs_f64(),
                calls: slot.calls.load(Relaxed),
                bytes: slot.bytes.load(Relaxed),
                seconds: self.nanoseconds(slot.last.load(Relaxed).saturating_sub(slot.first.load(Relaxed))) as f64
                    / 1e9,
            })
        })
    }

    pub(super) fn nanoseconds(&self, ticks: u64) -> i64 {
        self.clock.nanoseconds(ticks).cast_signed()
    }

    /// Reads and frees the slots of threads and processes that have ended. Returns the processes that still run; 0
    /// stands for one whose number is not known yet.
    pub(super) fn collect(&mut self, checks_lives: bool) -> Vec<pid_t> {
        let mut alive = Vec::new();
        let mut ended = Vec::new();
        let processes = self.shared.process.iter().take(used(&self.shared.next_process)).enumerate();
        for (index, process) in processes {
            let id = process.id.load(Relaxed) as pid_t;
            match process.state.load(Acquire) {
                READY if checks_lives && !system::is_alive(id) => ended.push(index),
                // A process that begins may not know its number yet.
                TAKEN if id != 0 && checks_lives && !system::is_alive(id) => ended.push(index),
                READY | TAKEN => alive.push(id),
                ENDED => ended.push(index),
                _ => {}
            }
        }
        self.collect_threads(&ended);
        for index in ended {
            self.free_samples(self.shared.process[index].id.load(Relaxed));
            self.shared.process[index].state.store(FREE, Release);
        }
        alive
    }

    /// Frees the samples that a process did not finish before it was killed.
    fn free_samples(&self, process: u32) {
        let is_unfinished =
            |slot: &&SampleSlot| slot.state.load(Acquire) == TAKEN && slot.process.load(Relaxed) == process;
        let samples = self.shared.samples.iter().take(used(&self.shared.next_sample));
        for slot in samples.filter(is_unfinished) {
            slot.process.store(0, Relaxed);
            slot.state.store(FREE, Release);
        }
    }

    fn collect_threads(&mut self, ended: &[usize]) {
        for index in 0..used(&self.shared.next_thread).min(MAX_THREADS) {
            let thread = &self.shared.thread[index];
            let state = thread.state.load(Acquire);
            if state != READY && state != ENDED {
                continue;
            }
            let process = thread.process.load(Relaxed) as usize;
            let generation = self.shared.process.get(process).map(|process| process.generation.load(Relaxed));
            let is_over =
                state == ENDED || ended.contains(&process) || generation != Some(thread.generation.load(Relaxed));
            if is_over {
                self.read_thread(index);
                self.shared.thread[index].state.store(FREE, Release);
            }
        }
    }

    /// Adds what a thread counted.
    fn read_thread(&mut self, index: usize) {
        let thread = &self.shared.thread[index];
        let mut waits = Waits {
            name: text(&thread.name),
            thread: thread.id.load(Relaxed) as pid_t,
            count: thread.waits.load(Relaxed),
            time_ns: self.nanoseconds(thread.wait_ticks.load(Relaxed)),
        };
        let pending_ns = self.pending_ns(thread);
        let delay_ns = thread.delay_ns.load(Relaxed).cast_signed();
        if thread.tally.load(Relaxed) == tally::WAIT {
            waits.time_ns += pending_ns;
        }
        let id = waits.thread;
        *self.delays.entry(id).or_default() += delay_ns;
        self.locks.keep(id, waits);
        let own_counts = if planted("record-own") { 0 } else { self.shared.thread[index].counts.len() };
        for slot in 0..own_counts {
            let count = self.counted(&self.shared.thread[index].counts[slot]);
            self.add(count);
        }
        let thread = &self.shared.thread[index];
        let pending = Counted::pending(thread.tally.load(Relaxed), thread.file.load(Relaxed), pending_ns);
        self.add(pending);
    }

    /// Duration of a call that never ended.
    fn pending_ns(&self, thread: &ThreadSlot) -> i64 {
        match thread.call_start.load(Relaxed) {
            0 => 0,
            start => self.nanoseconds(self.clock.now().saturating_sub(start)),
        }
    }

    fn counted(&self, slot: &CountSlot) -> Counted {
        let mut transfers = Transfers::default();
        transfers.calls = slot.calls.load(Relaxed);
        transfers.failed = slot.failed.load(Relaxed);
        transfers.bytes = slot.bytes.load(Relaxed);
        transfers.time_ns = self.nanoseconds(slot.ticks.load(Relaxed));
        transfers.waited_ns = self.nanoseconds(slot.waited_ticks.load(Relaxed)).cast_unsigned();
        transfers.buckets.iter_mut().zip(&slot.classes).for_each(|(bucket, class)| *bucket = class.load(Relaxed));
        for size in &slot.sizes {
            let calls = size.calls.load(Relaxed);
            if calls > 0 {
                transfers.add_size(size.bytes.load(Relaxed), calls.into(), size.before.load(Relaxed).into());
            }
        }
        Counted { tally: slot.tally.load(Relaxed), file: slot.file.load(Relaxed), transfers }
    }

    fn add(&mut self, counted: Counted) {
        let Counted { tally, file, transfers } = counted;
        if transfers.calls == 0 && transfers.time_ns == 0 {
            return;
        }
        if let Some(total) = self.total_of(tally) {
            total.calls += transfers.calls;
            total.failed += transfers.failed;
            total.seconds += transfers.time_ns as f64 / 1e9;
            return;
        }
        if tally == tally::ALLOCATE {
            self.allocations.calls += transfers.calls;
            self.allocations.bytes += transfers.bytes;
            return;
        }
        let (kind, name) = self.file(file);
        if tally == tally::UNRECORDED {
            *self.unrecorded.entry(name).or_default() += transfers.calls;
            return;
        }
        if tally >= tally::ANSWERED {
            self.add_cure(name, tally, &transfers);
        } else if let Some(file) = self.files.file_of_kind(kind, &name) {
            add_to(file, tally, &transfers);
        }
    }

    fn add_cure(&mut self, name: String, tally: u32, transfers: &Transfers) {
        let cure = self.cures.entry(name).or_default();
        let Some(reason) = tally.checked_sub(tally::ASIDE) else {
            cure.answered += transfers.calls;
            cure.bytes += transfers.bytes;
            return;
        };
        let Some(reason) = AsideReason::ALL.get(reason as usize).copied() else { return };
        match cure.asides.iter_mut().find(|aside| aside.reason == reason) {
            Some(aside) => aside.times += transfers.calls,
            None => cure.asides.push(Aside { reason, times: transfers.calls }),
        }
    }

    /// The total of calls that are not counted by file.
    fn total_of(&mut self, tally: u32) -> Option<&mut CallTotal> {
        match tally {
            tally::LOOKUP => Some(&mut self.name_calls.lookups),
            tally::CHANGE => Some(&mut self.name_calls.changes),
            tally::LIST => Some(&mut self.name_calls.listings),
            _ => None,
        }
    }

    /// Kind and name of a file.
    pub(super) fn file(&self, index: u32) -> (Kind, String) {
        let slot = self.shared.file.get(index as usize).filter(|slot| slot.state.load(Acquire) == READY);
        let Some(slot) = slot else { return (Kind::Other, Kind::Other.plural().into()) };
        let kind = match slot.object.load(Relaxed) {
            0 => Kind::File,
            1 => Kind::Folder,
            2 => Kind::Pipe,
            3 => Kind::Socket,
            4 => Kind::Device,
            _ => Kind::Other,
        };
        let start = slot.name.load(Relaxed) as usize;
        let name = self.shared.names.get(start..start + slot.name_bytes.load(Relaxed) as usize);
        let name = text(name.unwrap_or_default());
        (kind, if name.is_empty() { kind.plural().into() } else { name })
    }

    /// Adds the stacks of the calls on files.
    pub(super) fn add_stacks(&mut self, stacks: HashMap<u32, Stacks>) {
        for (index, stacks) in stacks {
            let (kind, name) = self.file(index);
            if let Some(file) = self.files.file_of_kind(kind, &name) {
                file.stacks.append(&stacks);
            }
        }
    }

    /// Indexes of the common counts that may be in use. Reading all 13 MB takes 10 ms, because it allocates the pages.
    fn used_counts(&self) -> impl Iterator<Item = usize> + use<> {
        let start = offset_of!(RecordLayout, counts);
        let bytes = size_of::<CountSlot>();
        let ranges = self.shared.populated(start..start + size_of_val(&self.shared.counts));
        ranges.into_iter().flat_map(move |range| (range.start - start) / bytes..(range.end - start).div_ceil(bytes))
    }

    /// Reads everything that is left.
    pub(super) fn finish(mut self, samples: StackSamples) -> RecordTotals {
        let slowed = self.slowed();
        let StackSamples { shelf, mut cpu, files, waits, wakes, sleeps, allocations, .. } = samples;
        self.locks.wakes = wakes;
        self.allocations.stacks = allocations;
        self.locks.stacks = waits;
        let processes: Vec<usize> = (0..MAX_PROCESSES).collect();
        self.collect_threads(&processes);
        for index in self.used_counts() {
            if self.shared.counts[index].state.load(Acquire) == READY {
                let count = self.counted(&self.shared.counts[index]);
                self.add(count);
            }
        }
        self.add_stacks(files);
        cpu.delays = self.delays;
        let unrecorded = self.unrecorded.into_iter().collect();
        let cures = self.cures.into_iter().map(|(file, cure)| CuredFile { file, ..cure }).collect();
        let SharedRecord { files, locks, name_calls, allocations, shared, .. } = self;
        RecordTotals { files, locks, name_calls, sleeps, allocations, unrecorded, cures, slowed, shelf, cpu, shared }
    }
}

/// Number of slots that may have been taken: they are taken in order at first. Reading a slot gives it memory.
pub(super) fn used(next: &AtomicU32) -> usize {
    next.load(Relaxed) as usize
}

/// Calls of one kind on one file.
struct Counted {
    tally: u32,
    file: u32,
    transfers: Transfers,
}

impl Counted {
    /// A call that never ended.
    fn pending(tally: u32, file: u32, time_ns: i64) -> Counted {
        let mut transfers = Transfers::default();
        if time_ns > 0 && matches!(tally, tally::READ | tally::WRITE | tally::SYNC) {
            transfers.add_time(time_ns);
        }
        Counted { tally, file, transfers }
    }
}

fn add_to(file: &mut File, tally: u32, transfers: &Transfers) {
    match tally {
        tally::OPEN => {
            file.opens += transfers.calls;
            file.open_ns += transfers.time_ns;
        }
        tally::READ => file.reads.add_counted(transfers),
        tally::WRITE => file.writes.add_counted(transfers),
        tally::MAP => {
            file.maps += transfers.calls;
            file.mapped_bytes += transfers.bytes;
        }
        tally::SEEK => {
            file.seeks += transfers.calls;
            file.seek_ns += transfers.time_ns;
        }
        tally::JUMP => file.jumps += transfers.calls,
        tally::SYNC => {
            file.syncs += transfers.calls;
            file.sync_ns += transfers.time_ns;
        }
        _ => {}
    }
}

/// Text up to the first NUL byte.
pub(super) fn text(bytes: &[AtomicU8]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| byte.load(Relaxed)).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
