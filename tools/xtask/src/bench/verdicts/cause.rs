//! What held a job back, from outside observation. These rules share nothing with those of polyhaul's verdict, which
//! knows from inside what each thread does; here there are only samples and calls.
//!
//! Time is that of the cores meant for the job. The samples show what a core did. Idle time is attributed, moment by
//! moment, to whatever worked meanwhile: the others wait for it. In moments without any work, it is attributed to the
//! calls in which threads were seen.

use super::samples::{FRAME, OTHER, Sample, Work};
use super::threads::{Call, Threads};

/// The length of a moment in seconds: ten samples of a core.
const MOMENT: f64 = 0.010;
/// With less work than this of one core, nothing waits for it.
const NOBODY: f64 = 0.25;
/// Calls that return fewer bytes than this are small.
const SMALL_BYTES: f64 = 4096.0;
/// With less than this share of the bytes from a disk it was not the disk.
const FROM_DISK: f64 = 0.1;
/// A limit held a job back if the job is at least this many times as fast without it.
const FASTER: f64 = 1.1;
/// A thread with at least this share of the samples is one that works.
const WORKS: f64 = 0.02;

/// The observations of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// The threads it should use, and the cores available.
    pub(super) threads: usize,
    pub(super) cores: usize,
    pub(super) samples: Vec<Sample>,
    /// The time of a core that a sample represents, in seconds.
    pub(super) period: f64,
    pub(super) calls: Threads,
    /// Bytes that disks were read meanwhile.
    pub(super) disk_bytes: u64,
    /// Whether writing was to be slow.
    pub(super) is_slow_write: bool,
    /// The same job without its memory limit: threads that worked, and how many times as fast it was.
    pub(super) unlimited: Option<(usize, f64)>,
}

/// Time of cores by purpose, in seconds.
#[derive(Clone, Debug, Default)]
struct Shared {
    /// Work of each kind, and the time of others who waited for it.
    works: Vec<(Work, f64, f64)>,
    /// Waiting in moments without work.
    nobody: f64,
}

impl Look {
    /// The duration of the job, without the program's start and end: first to last sample of its work.
    pub(super) fn seconds(&self) -> f64 {
        let times = || self.samples.iter().filter(|it| it.work != FRAME).map(|it| it.seconds);
        let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        (last - first).max(0.0) + self.period
    }

    /// Cores available to it.
    fn lanes(&self) -> f64 {
        self.threads.min(self.cores).max(1) as f64
    }

    /// Threads that worked.
    pub(super) fn workers(&self) -> usize {
        let mut threads: Vec<u32> = self.samples.iter().map(|sample| sample.thread).collect();
        threads.sort_unstable();
        let least = WORKS * threads.len() as f64;
        threads.chunk_by(|a, b| a == b).filter(|of_one| of_one.len() as f64 >= least).count()
    }

    /// The share of the cores' time in which they were at some work.
    pub(super) fn share_of(&self, works: impl Fn(&Sample) -> bool) -> f64 {
        let count = self.samples.iter().filter(|sample| works(sample)).count();
        count as f64 * self.period / (self.seconds() * self.lanes())
    }

    /// The mean number of bytes per call.
    pub(super) fn mean_read(&self) -> f64 {
        let [bytes, calls] = self.calls.read;
        bytes as f64 / calls.max(1) as f64
    }

    fn is_cold(&self) -> bool {
        self.disk_bytes as f64 >= FROM_DISK * self.calls.read[0] as f64
    }

    /// Who was at work, and for whom others waited, moment by moment.
    fn shared(&self) -> Shared {
        let mut samples: Vec<&Sample> = self.samples.iter().filter(|it| it.work != FRAME).collect();
        samples.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let begin = samples.first().map_or(0.0, |first| first.seconds);
        let moment = |sample: &&Sample| ((sample.seconds - begin) / MOMENT) as usize;
        let mut shared = Shared::default();
        let mut with_work = 0;
        for of_one in samples.chunk_by(|a, b| moment(a) == moment(b)) {
            with_work += 1;
            let busy = of_one.len() as f64 * self.period;
            let idle = (self.lanes() * MOMENT - busy).max(0.0);
            let is_work = busy >= NOBODY * MOMENT;
            shared.nobody += if is_work { 0.0 } else { idle };
            let waits = if is_work { idle / of_one.len() as f64 } else { 0.0 };
            of_one.iter().for_each(|sample| shared.add(sample.work, self.period, waits));
        }
        let moments = (self.seconds() / MOMENT).ceil();
        shared.nobody += (moments - f64::from(with_work)).max(0.0) * MOMENT * self.lanes();
        shared
    }

    /// What held it back: causes and their shares of the cores' time, the largest first.
    pub(super) fn causes(&self) -> Vec<(&'static str, f64)> {
        let whole = self.seconds() * self.lanes();
        let mut found = Causes::default();
        let missing = self.held_by_memory();
        let shared = self.shared();
        let work: f64 = shared.works.iter().map(|(_, own, _)| own).sum();
        let [read, write, sleep, lock] = self.in_calls();
        let queue = if self.threads <= self.cores { self.calls.ready_seconds() } else { 0.0 };
        let waiting = (whole - work - read - write - sleep - lock - queue).max(0.0);
        // Missing threads wait for memory, not for others.
        let scale = if missing > 0.0 { 0.0 } else { waiting / shared.waits().max(waiting).max(1e-9) };
        // In moments without work all wait for the calls that some are in.
        let asleep = if self.is_slow_write { "write" } else { self.slow_reading() };
        let calls = [(self.reading(), read), ("write", write), (asleep, sleep), ("other-programs", queue)];
        let sum: f64 = calls.iter().map(|(_, seconds)| seconds).sum();
        let longer = 1.0 + shared.nobody * scale / sum.max(1e-9);
        calls.iter().for_each(|(cause, seconds)| found.add(cause, seconds * longer));
        // Who holds a lock works meanwhile.
        let mut held = lock / (self.lanes() - 1.0).max(1.0);
        for (work, own, waits) in shared.works {
            let waits = waits * scale;
            let under_lock = if work == "host" { held.min(own) } else { 0.0 };
            held -= under_lock;
            found.add("locks", under_lock);
            self.add_work(&mut found, work, own - under_lock, waits);
        }
        found.add("locks", lock);
        found.0.iter_mut().for_each(|(_, seconds)| *seconds *= 1.0 - missing);
        found.add("memory", missing * whole);
        found.shares(whole)
    }

    /// The share of the threads that the memory limit kept from working, if it did and that cost time.
    fn held_by_memory(&self) -> f64 {
        let Some((workers, faster)) = self.unlimited else { return 0.0 };
        let missing = 1.0 - self.workers() as f64 / workers.max(1) as f64;
        if faster >= FASTER { missing.max(0.0) } else { 0.0 }
    }

    /// The time in which threads were seen in each call without a core: that of the cores is in the samples.
    fn in_calls(&self) -> [f64; 4] {
        [Call::Read, Call::Write, Call::Sleep, Call::Lock].map(|call| self.calls.mean(call) * self.seconds())
    }

    fn reading(&self) -> &'static str {
        match () {
            () if self.mean_read() < SMALL_BYTES => "small-reads",
            () if self.is_cold() => "read",
            () => "cached-read",
        }
    }

    /// Sleeping while reading is the requested rate, whatever supplies the bytes.
    fn slow_reading(&self) -> &'static str {
        if self.mean_read() < SMALL_BYTES { "small-reads" } else { "read" }
    }

    /// A kind of work: if others wait for calls or for a codec it is that; if they wait for other work, the cause is
    /// that it is serial.
    fn add_work(&self, found: &mut Causes, work: Work, own: f64, waits: f64) {
        let name = match work {
            "read" => self.reading(),
            "host" if self.mean_read() < SMALL_BYTES => "small-reads",
            FRAME => OTHER,
            name => name,
        };
        if ["read", "host", "write", "decompress", "compress"].contains(&work) {
            return found.add(name, own + waits);
        }
        let alone = (waits / (self.lanes() - 1.0).max(1.0)).min(own);
        found.add("serial", alone + waits);
        found.add(name, own - alone);
    }
}

impl Shared {
    fn add(&mut self, work: Work, own: f64, waits: f64) {
        match self.works.iter_mut().find(|(it, ..)| *it == work) {
            Some((_, all, held)) => (*all, *held) = (*all + own, *held + waits),
            None => self.works.push((work, own, waits)),
        }
    }

    fn waits(&self) -> f64 {
        self.nobody + self.works.iter().map(|(.., waits)| waits).sum::<f64>()
    }
}

/// Time by its cause, in seconds.
#[derive(Default)]
struct Causes(Vec<(&'static str, f64)>);

impl Causes {
    fn add(&mut self, cause: &'static str, seconds: f64) {
        match self.0.iter_mut().find(|(it, _)| *it == cause) {
            Some((_, sum)) => *sum += seconds,
            None => self.0.push((cause, seconds)),
        }
    }

    /// For a short job, observations and samples may add up to more than the whole.
    fn shares(mut self, whole: f64) -> Vec<(&'static str, f64)> {
        let whole = self.0.iter().map(|(_, seconds)| seconds).sum::<f64>().max(whole);
        self.0.retain(|(_, seconds)| *seconds > 0.0);
        self.0.iter_mut().for_each(|(_, seconds)| *seconds /= whole.max(1e-9));
        self.0.sort_by(|a, b| b.1.total_cmp(&a.1));
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of a second of two threads, each of which worked all the time, or had no core.
    fn look(works: &[Option<Work>], calls: &[(Call, u64)]) -> Look {
        let of_one = |(thread, work): (usize, &Option<Work>)| {
            let count = if work.is_some() { 100 } else { 0 };
            let (thread, work) = (thread as u32, work.unwrap_or(OTHER));
            let at = move |ms: u32| Sample { thread, seconds: f64::from(ms) / 1e3, work, is_fault: false };
            (0..count).map(at).collect::<Vec<_>>()
        };
        let samples = works.iter().enumerate().flat_map(of_one).collect();
        let calls = Threads::seen(100, calls, [1 << 20, 16]);
        Look { threads: 2, cores: 2, samples, period: 1e-3, calls, ..Look::default() }
    }

    fn found(look: &Look) -> (&'static str, u32) {
        let causes = look.causes();
        let sum: f64 = causes.iter().map(|(_, share)| share).sum();
        assert!(sum < 1.01, "{causes:?}");
        causes.first().map_or(("", 0), |(cause, share)| (*cause, (share * 100.0).round() as u32))
    }

    #[test]
    fn work_side_by_side_is_what_it_is() {
        for (work, cause) in [("parse", "parse"), ("format", "format"), ("compress", "compress")] {
            assert_eq!(found(&look(&[Some(work), Some(work)], &[])), (cause, 100));
        }
        assert_eq!(found(&look(&[Some("read"), Some("read")], &[])), ("cached-read", 100));
    }

    #[test]
    fn who_works_alone_has_the_time_of_the_others() {
        assert_eq!(found(&look(&[Some("decode"), None], &[])), ("serial", 100));
        assert_eq!(found(&look(&[Some("decompress"), None], &[])), ("decompress", 100));
    }

    #[test]
    fn waiting_is_for_the_calls_that_threads_are_in() {
        let frame = [Some(OTHER), None];
        let mut asleep = look(&frame, &[(Call::Sleep, 100)]);
        // Little work, at the beginning and at the end.
        asleep.samples.retain(|sample| [0.0, 0.099].contains(&sample.seconds));
        assert_eq!(found(&asleep), ("read", 99));
        asleep.is_slow_write = true;
        assert_eq!(found(&asleep), ("write", 99));
        asleep.calls = Threads::seen(100, &[(Call::Read, 100)], [1 << 20, 16]);
        assert_eq!(found(&asleep), ("cached-read", 99));
        asleep.disk_bytes = 1 << 20;
        assert_eq!(found(&asleep), ("read", 99));
    }

    #[test]
    fn a_lock_has_the_time_of_who_holds_it() {
        assert_eq!(found(&look(&[Some("host"), None], &[(Call::Lock, 90)])), ("locks", 90));
    }

    #[test]
    fn many_calls_that_bring_little_are_seen() {
        let mut small = look(&[Some("read"), None], &[]);
        small.calls = Threads::seen(100, &[], [1 << 20, 1 << 11]);
        assert_eq!(found(&small), ("small-reads", 100));
    }

    #[test]
    fn a_limit_is_told_by_what_happens_without_it() {
        let mut limited = look(&[Some("parse"), None], &[]);
        limited.threads = 8;
        assert_eq!(found(&limited).0, "serial");
        limited.unlimited = Some((8, 1.9));
        assert_eq!(found(&limited), ("memory", 88));
        limited.unlimited = Some((8, 1.0));
        assert_eq!(found(&limited).0, "serial");
    }
}
