//! Attributes the time of every thread to causes.
//!
//! A job's total is its duration times its threads. The time of threads that work in parallel is attributed to that
//! work. Serial work (reading ahead, ordered parts, work before other threads start) is also charged with the time of
//! the threads that wait for it. Time without a known cause stays unattributed.

use super::{Bound, Facts};
use polyhaul_bytes::BLOCK_BYTES;
use polyhaul_model::error::planted;
use polyhaul_trace::{FileUse, Lane, Phase, Recording, Totals};

/// Minimum share of file bytes from a disk; below it, files count as cached.
const FROM_DISK: f64 = 0.1;
/// Calls count as small reads if there are more than this multiple of the calls needed with full blocks.
const MANY_CALLS: u64 = 2;
/// Minimum used share of a container's CPU quota for the quota to count as exhausted. The rest is lost at the ends of
/// scheduling periods.
const USED_UP: f64 = 0.9;
/// Time without a core up to this share of the time that needs a core is noise.
const NOISE: f64 = 0.1;

/// Thread time per cause, in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Account {
    causes: Vec<(Bound, f64)>,
    /// Total thread time.
    whole: f64,
    /// Threads requested for the job.
    pub(super) threads: usize,
    /// Share of file bytes read from a disk instead of the page cache; 0 if negligible, 1 if unknown.
    pub(super) cold: f64,
    /// Share of the time in which threads computed, as opposed to waiting or being in calls.
    pub(super) at_work: f64,
    /// Thread time of requested delays (throttling) of reads and of writes, in nanoseconds.
    pub(super) throttled: [f64; 2],
}

/// Shares of causes in the time of a phase.
type CauseShares = Vec<(Bound, f64)>;

/// Cause shares of phases with more than one cause.
struct Divided {
    reading: CauseShares,
    throttled: CauseShares,
    host: CauseShares,
    place: CauseShares,
}

impl Account {
    pub(super) fn from_recording(seen: &Recording, facts: &Facts) -> Account {
        let cores = facts.cores;
        let totals = seen.totals();
        let threads = seen.wanted_threads.max(1);
        let recorded = totals.sum() as f64;
        let idle = (threads as f64 * seen.elapsed_ns as f64 - recorded).max(0.0);
        let starved = idle.min(seen.starved_ns as f64);
        let memory = starved.min(resting(seen, threads, cores).unwrap_or(f64::INFINITY));
        let whole = recorded + idle - (starved - memory);
        let cold = cold(seen);
        let at_work = work(&totals) / whole.max(1.0);
        let shares = throttled(seen, &totals);
        let throttled = shares.map(|share| share * totals.total(Phase::Throttle) as f64);
        let mut account = Account { causes: Vec::new(), whole, threads, cold, at_work, throttled };
        let divided = Divided {
            reading: reading(seen, cold > 0.0),
            throttled: [Bound::Read, Bound::Write].into_iter().zip(shares).collect(),
            host: host(seen, &totals, threads, cores),
            place: place(&totals),
        };
        account.add(Bound::Memory, memory);
        for phase in Phase::ALL {
            match phase {
                Phase::Lock => account.add(Bound::Locks, totals.total(phase) as f64),
                _ if phase.is_wait() => {}
                _ => account.give(phase, totals.get(Lane::Side, phase) as f64, &divided),
            }
        }
        for (lane, waited_ns) in held(&totals, threads, idle - starved) {
            account.one_for_all(&totals, lane, waited_ns, &divided);
        }
        account.take_stolen(seen, &totals, facts);
        account
    }

    /// Causes with shares, largest first; unattributed time comes after causes of equal size.
    pub(super) fn shares(&self) -> Vec<(Bound, f64)> {
        if self.whole <= 0.0 {
            return vec![(Bound::Unknown, 1.0)];
        }
        let mut shares: Vec<_> = self.causes.iter().map(|&(bound, ns)| (bound, ns / self.whole)).collect();
        shares.retain(|(bound, share)| *bound != Bound::Unknown && *share > 0.0);
        let attributed: f64 = shares.iter().map(|(_, share)| share).sum();
        // Rounding and overlapping clocks can make the sum exceed the total.
        shares.iter_mut().for_each(|(_, share)| *share /= attributed.max(1.0));
        if attributed < 1.0 {
            shares.push((Bound::Unknown, 1.0 - attributed));
        }
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares
    }

    /// Share of a cause.
    pub(super) fn share(&self, bound: Bound) -> f64 {
        self.causes.iter().find(|(cause, _)| *cause == bound).map_or(0.0, |(_, ns)| ns / self.whole.max(1.0))
    }

    fn add(&mut self, bound: Bound, ns: f64) {
        match self.causes.iter_mut().find(|(cause, _)| *cause == bound) {
            Some((_, sum)) => *sum += ns,
            None => self.causes.push((bound, ns)),
        }
    }

    /// Attributes time of a phase to its causes.
    fn give(&mut self, phase: Phase, ns: f64, divided: &Divided) {
        match phase {
            Phase::Read => self.divide(ns, &divided.reading),
            Phase::Throttle if !planted("verdict-throttled") => self.divide(ns, &divided.throttled),
            Phase::Host => self.divide(ns, &divided.host),
            Phase::Place => self.divide(ns, &divided.place),
            phase => self.add(cause(phase), ns),
        }
    }

    fn divide(&mut self, ns: f64, parts: &[(Bound, f64)]) {
        parts.iter().for_each(|&(bound, share)| self.add(bound, ns * share));
    }

    /// Attributes the time of serial work, including the time of threads blocked by it.
    fn one_for_all(&mut self, totals: &Totals, lane: Lane, held: f64, divided: &Divided) {
        let own_ns = own(totals, lane);
        let others = (self.threads - 1) as f64;
        for phase in phases() {
            let time = totals.get(lane, phase) as f64;
            if time <= 0.0 {
                continue;
            }
            let waited = held * (time / own_ns);
            if phase.is_io() || matches!(phase, Phase::Decompress | Phase::Compress) {
                self.give(phase, time + waited, divided);
                continue;
            }
            // While other threads wait, the time of the thread itself is also a cost of serialization.
            let serial = if others > 0.0 { (waited / (others * time)).min(1.0) } else { 0.0 };
            self.add(Bound::Serial, waited + serial * time);
            self.give(phase, (1.0 - serial) * time, divided);
        }
    }

    /// Moves time in which threads were runnable without a core from work to other causes: an exhausted container
    /// quota, or other programs. If there are more threads than cores, their competition with each other does not
    /// count.
    fn take_stolen(&mut self, seen: &Recording, totals: &Totals, facts: &Facts) {
        let Some(used) = seen.used else { return };
        let elapsed_ns = seen.elapsed_ns as f64;
        let wanted_ns = work(totals).min(facts.cores.max(1) as f64 * elapsed_ns);
        let stolen = wanted_ns - used.cpu_ns as f64;
        if stolen <= NOISE * wanted_ns {
            return;
        }
        let ours: f64 = self.causes.iter().filter(|(bound, _)| bound.is_work()).map(|(_, ns)| ns).sum();
        let left = 1.0 - (stolen / wanted_ns).min(1.0);
        self.causes.iter_mut().filter(|(bound, _)| bound.is_work()).for_each(|(_, ns)| *ns *= left);
        let is_used_up = |cores| used.cpu_ns as f64 >= USED_UP * cores * elapsed_ns;
        let is_container = facts.container.cores.is_some_and(is_used_up);
        self.add(if is_container { Bound::Container } else { Bound::OtherPrograms }, ours * (1.0 - left));
    }
}

/// Phases other than waiting.
fn phases() -> impl Iterator<Item = Phase> {
    Phase::ALL.into_iter().filter(|phase| !phase.is_wait())
}

/// Idle time of available cores in nanoseconds: missing threads do not matter if all cores are busy. `None` if the
/// system does not report it.
fn resting(seen: &Recording, threads: usize, cores: usize) -> Option<f64> {
    let available_ns = threads.min(cores.max(1)) as f64 * seen.elapsed_ns as f64;
    Some((available_ns - seen.used?.cpu_ns as f64).max(0.0))
}

/// Thread time that needs a core.
fn work(totals: &Totals) -> f64 {
    phases().filter(|phase| !phase.is_io()).map(|phase| totals.total(phase) as f64).sum()
}

/// Thread time spent in a lane, excluding waits.
fn own(totals: &Totals, lane: Lane) -> f64 {
    phases().map(|phase| totals.get(lane, phase) as f64).sum()
}

/// Time of threads blocked by serial work, by lane. `idle` is the time of missing threads.
///
/// One thread can block at most all other threads. A waiting thread records the reason when it starts to wait, but the
/// reason may change before it wakes up, so waiting beyond that maximum is distributed over lanes that could have
/// blocked more.
fn held(totals: &Totals, threads: usize, idle: f64) -> [(Lane, f64); 3] {
    let max_ns = |lane| (threads - 1) as f64 * own(totals, lane);
    let waits = [
        (Lane::Alone, idle),
        (Lane::Input, totals.total(Phase::WaitInput) as f64),
        (Lane::Turn, totals.total(Phase::WaitTurn) as f64),
    ];
    let mut held = waits.map(|(lane, wait)| (lane, wait.min(max_ns(lane))));
    let sum = |of: &[(Lane, f64); 3]| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let left = sum(&waits) + totals.total(Phase::WaitEnd) as f64 - sum(&held);
    let spare = waits.map(|(lane, wait)| (lane, max_ns(lane) - wait.min(max_ns(lane))));
    let part = if sum(&spare) > 0.0 { (left / sum(&spare)).min(1.0) } else { 0.0 };
    held.iter_mut().zip(spare).for_each(|((_, held), (_, spare))| *held += part * spare);
    held
}

/// Cause of a phase with a single cause.
fn cause(phase: Phase) -> Bound {
    match phase {
        Phase::Write | Phase::Sync => Bound::Write,
        Phase::Decompress => Bound::Decompress,
        Phase::Compress => Bound::Compress,
        Phase::Cut | Phase::Parse => Bound::Parse,
        Phase::Build => Bound::Build,
        Phase::Decode => Bound::Decode,
        Phase::Encode => Bound::Encode,
        Phase::Format => Bound::Format,
        Phase::Transform => Bound::Transform,
        Phase::Draw => Bound::Draw,
        _ => Bound::Unknown,
    }
}

/// Ordered work counts as building or formatting, in proportion to reading and writing work.
fn place(totals: &Totals) -> CauseShares {
    let sum = |phases: &[Phase]| phases.iter().map(|&phase| totals.total(phase) as f64).sum::<f64>();
    let reading = sum(&[Phase::Cut, Phase::Parse, Phase::Build, Phase::Decode]);
    let writing = sum(&[Phase::Format, Phase::Encode, Phase::Compress]);
    let share = if reading + writing > 0.0 { reading / (reading + writing) } else { 0.5 };
    vec![(Bound::Build, share), (Bound::Format, 1.0 - share)]
}

/// Call time on selected files, summed over threads.
fn waiting(seen: &Recording, passes: impl Fn(&FileUse) -> bool) -> f64 {
    seen.files.iter().filter(|file| passes(file)).map(|file| file.calls.waiting_ns as f64).sum()
}

/// Share of file bytes that came from a disk. Returns 0 if it is below [`FROM_DISK`], and 1 if the system does not
/// report it.
fn cold(seen: &Recording) -> f64 {
    let from_disk = seen.used.and_then(|used| used.disk_read_bytes);
    let files = seen.files.iter().filter(|file| !file.is_output && file.is_file);
    let bytes: u64 = files.map(|file| file.calls.bytes).sum();
    let share = match from_disk {
        _ if bytes == 0 => 0.0,
        Some(disk) => (disk as f64 / bytes as f64).min(1.0),
        None => 1.0,
    };
    if share < FROM_DISK { 0.0 } else { share }
}

/// Returns whether reads waited mostly for pipes and sockets instead of files.
pub(super) fn is_piped(seen: &Recording) -> bool {
    let of = |is_pipe: bool| {
        waiting(seen, |file| !file.is_output && file.phase == Phase::Read && !file.is_memory && file.is_file != is_pipe)
    };
    of(true) > of(false)
}

/// Divides reading into cached reads, and reads from disks and pipes.
fn reading(seen: &Recording, is_cold: bool) -> CauseShares {
    let is_cached = |file: &FileUse| file.is_memory || file.is_file && !is_cold;
    let cached = waiting(seen, |file| file.phase == Phase::Read && is_cached(file));
    let outside = waiting(seen, |file| file.phase == Phase::Read && !is_cached(file));
    let share = if cached + outside > 0.0 { cached / (cached + outside) } else { 0.0 };
    vec![(Bound::CachedRead, share), (Bound::Read, 1.0 - share)]
}

/// Shares of reads and writes in throttling.
fn throttled(seen: &Recording, totals: &Totals) -> [f64; 2] {
    let held = |is_output| -> u64 {
        let files = seen.files.iter().filter(|file| file.is_output == is_output);
        files.map(|file| file.calls.throttled_ns).sum()
    };
    let [input, output] = [false, true].map(|is_output| held(is_output) as f64);
    match input + output {
        sum if sum > 0.0 => [input / sum, output / sum],
        // No file recorded throttling. In ordered parts, writes were throttled, because only ordered parts write.
        _ if totals.get(Lane::Turn, Phase::Throttle) > 0 => [0.0, 1.0],
        _ => [1.0, 0.0],
    }
}

/// Divides host calls into small reads, waiting for each other, and the work itself.
fn host(seen: &Recording, totals: &Totals, threads: usize, cores: usize) -> CauseShares {
    let total_ns = totals.total(Phase::Host) as f64;
    if total_ns <= 0.0 {
        return vec![(Bound::Host, 1.0)];
    }
    let small = (waiting(seen, has_small_reads) / total_ns).min(1.0);
    let locks = (queued(seen, threads, cores) / total_ns).min(1.0 - small);
    vec![(Bound::SmallReads, small), (Bound::Locks, locks), (Bound::Host, 1.0 - small - locks)]
}

/// Returns whether a host returned so little per call that many more calls were needed than with full blocks.
pub(super) fn has_small_reads(file: &FileUse) -> bool {
    let needed = file.calls.bytes / BLOCK_BYTES as u64 + 1;
    let with_bytes = file.calls.calls - file.calls.calls_by_size[0];
    file.phase == Phase::Host && !file.is_output && with_bytes > MANY_CALLS * needed + 1
}

/// Time of host calls that waited for each other, including the calls they waited for, in nanoseconds.
///
/// A call that starts while no other call runs takes its normal time. If overlapping calls take longer without using a
/// core, they queue for an exclusive resource. With more threads than cores, they queue for cores, and nothing can be
/// concluded.
fn queued(seen: &Recording, threads: usize, cores: usize) -> f64 {
    let alone = seen.host_alone;
    let beside = seen.host_beside;
    if alone.calls == 0 || beside.calls == 0 || threads < 2 || threads > cores {
        return 0.0;
    }
    let expected = alone.idle_ns as f64 / alone.calls as f64 * beside.calls as f64;
    let queued = (beside.idle_ns as f64 - expected).max(0.0);
    let own_ns = (alone.elapsed_ns + beside.elapsed_ns) as f64 - queued;
    let held = if own_ns > 0.0 { (queued / ((threads - 1) as f64 * own_ns)).min(1.0) } else { 0.0 };
    queued + held * own_ns
}
