//! What a process or a thread used, as far as the system reports it, and the share of the jobs.

use std::ops::AddAssign;

/// What the process used of its machine. Linux inside an emulator may not count disk blocks, and then reports 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Time of all cores, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes read from disks; `None` if the system does not report them (Linux does).
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to disks; `None` if the system does not report them.
    pub disk_write_bytes: Option<u64>,
}

impl Usage {
    /// Returns the usage since the process started; `None` if the system does not report it.
    pub fn now() -> Option<Usage> {
        system::usage()
    }

    /// Returns the usage since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Usage) -> Usage {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            disk_read_bytes: less(self.disk_read_bytes, earlier.disk_read_bytes),
            disk_write_bytes: less(self.disk_write_bytes, earlier.disk_write_bytes),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        let more = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        self.cpu_ns += other.cpu_ns;
        self.disk_read_bytes = more(self.disk_read_bytes, other.disk_read_bytes);
        self.disk_write_bytes = more(self.disk_write_bytes, other.disk_write_bytes);
    }
}

/// Jobs that begin within this time of a reading need no new one if they are this short, in nanoseconds: a reading
/// takes a noticeable share of the time of reading a small file.
const UNSEEN_NS: u64 = 1_000_000;
const SHORT_NS: u64 = 100_000;

/// What the process used while jobs ran.
///
/// The system is asked when a job begins and when it ends, except for a short job that begins within a millisecond of
/// the last reading. Such jobs are charged at the next reading, together with what the process did between them; if
/// that was more than a hundredth of the time, their CPU time is limited to that of their threads.
#[derive(Default)]
pub(super) struct Meter {
    used: Option<Usage>,
    /// The last look, and when it was.
    seen: Option<Usage>,
    seen_ns: u64,
    begin_ns: u64,
    /// The threads of running jobs, and their maximum.
    running: u64,
    threads: u64,
    /// Whether the job that runs began without a look.
    is_unseen: bool,
    /// The duration of jobs since then.
    busy_ns: u64,
}

impl Meter {
    /// A job begins while no other runs.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.begin_ns, self.running) = (now_ns, 0);
        self.is_unseen = self.seen.is_some() && now_ns.saturating_sub(self.seen_ns) < UNSEEN_NS;
        if !self.is_unseen {
            self.look(now_ns);
        }
    }

    /// Adds a job with this many threads.
    pub(super) fn join(&mut self, threads: usize) {
        self.running = self.running.saturating_add(threads as u64);
        self.threads = self.threads.max(self.running);
    }

    /// Raises the number of threads of a running job.
    pub(super) fn wants(&mut self, threads: usize) {
        self.threads = self.threads.max(threads as u64);
    }

    /// It ends, and no other runs.
    pub(super) fn end(&mut self, now_ns: u64) {
        let job_ns = now_ns.saturating_sub(self.begin_ns);
        self.busy_ns += job_ns;
        if !self.is_unseen || job_ns >= SHORT_NS || now_ns.saturating_sub(self.seen_ns) >= UNSEEN_NS {
            self.look(now_ns);
        }
    }

    /// Looks, for the jobs that ended since the last time.
    fn look(&mut self, now_ns: u64) {
        let (busy_ns, now) = (std::mem::take(&mut self.busy_ns), Usage::now());
        if let (Some(before), Some(now), true) = (self.seen, now, busy_ns > 0) {
            let mut used = now.since(before);
            let between_ns = now_ns.saturating_sub(self.seen_ns).saturating_sub(busy_ns);
            if between_ns > busy_ns / 100 {
                used.cpu_ns = used.cpu_ns.min(busy_ns.saturating_mul(self.threads));
            }
            match &mut self.used {
                Some(sum) => *sum += used,
                none => *none = Some(used),
            }
        }
        (self.seen, self.seen_ns) = (now, now_ns);
    }

    /// Charges the jobs for their usage so far, while none is running.
    pub(super) fn settle(&mut self, now_ns: u64) {
        if self.busy_ns > 0 {
            self.look(now_ns);
        }
    }

    /// Returns the usage so far.
    pub(super) fn used(&self) -> Option<Usage> {
        self.used
    }
}

/// Returns the CPU time of this thread so far, in nanoseconds; `None` if the system does not report it.
pub(super) fn thread_cpu_ns() -> Option<u64> {
    system::thread_cpu_ns()
}

#[cfg(unix)]
mod system {
    use super::Usage;
    use std::mem::MaybeUninit;

    /// The unit of `getrusage`: a disk block.
    const BLOCK_BYTES: u64 = 512;

    pub(super) fn usage() -> Option<Usage> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` is a writable `rusage`, which the call fills entirely if it returns 0; it is only read in
        // that case.
        let usage = unsafe {
            if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
                return None;
            }
            usage.assume_init()
        };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        // Elsewhere these are numbers of operations.
        let bytes = |blocks| cfg!(target_os = "linux").then_some(blocks as u64 * BLOCK_BYTES);
        Some(Usage {
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            disk_read_bytes: bytes(usage.ru_inblock),
            disk_write_bytes: bytes(usage.ru_oublock),
        })
    }

    pub(super) fn thread_cpu_ns() -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a writable `timespec` that lives through the call.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        (result == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

#[cfg(not(unix))]
mod system {
    pub(super) fn usage() -> Option<super::Usage> {
        None
    }

    pub(super) fn thread_cpu_ns() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_stays_unknown() {
        let known = Usage { cpu_ns: 5, disk_read_bytes: Some(7), disk_write_bytes: Some(1) };
        let unknown = Usage { cpu_ns: 3, disk_read_bytes: None, disk_write_bytes: Some(4) };
        let mut sum = known;
        sum += unknown;
        assert_eq!(sum, Usage { cpu_ns: 8, disk_read_bytes: None, disk_write_bytes: Some(5) });
        assert_eq!(known.since(unknown), Usage { cpu_ns: 2, disk_read_bytes: None, disk_write_bytes: Some(0) });
    }

    #[test]
    #[cfg(unix)]
    fn jobs_that_follow_at_once_share_one_look() {
        let mut meter = Meter::default();
        let mut job = |begin_ns, end_ns| {
            meter.begin(begin_ns);
            meter.join(1);
            meter.end(end_ns);
            (meter.seen_ns, meter.busy_ns)
        };
        assert_eq!(job(0, 10), (10, 0));
        assert_eq!(job(20, 50), (10, 30));
        assert_eq!(job(60, 70), (10, 40));
        assert_eq!(job(UNSEEN_NS - 10, 10 + UNSEEN_NS), (10 + UNSEEN_NS, 0));
        assert_eq!(job(20 + UNSEEN_NS, 30 + UNSEEN_NS), (10 + UNSEEN_NS, 10));
        // One that takes longer is looked at itself at its end, and one that begins later from its beginning on.
        assert_eq!(job(40 + UNSEEN_NS, 40 + UNSEEN_NS + SHORT_NS), (40 + UNSEEN_NS + SHORT_NS, 0));
        assert_eq!(job(5 * UNSEEN_NS, 5 * UNSEEN_NS + 1), (5 * UNSEEN_NS + 1, 0));
        meter.begin(5 * UNSEEN_NS + 2);
        meter.end(5 * UNSEEN_NS + 3);
        meter.settle(6 * UNSEEN_NS);
        assert_eq!((meter.seen_ns, meter.busy_ns, meter.used().is_some()), (6 * UNSEEN_NS, 0, true));
    }

    #[test]
    #[cfg(unix)]
    fn short_jobs_have_what_they_used_and_no_more() {
        let used = |threads: &[usize], wants, seen_ns| {
            let mut meter = Meter::default();
            meter.begin(0);
            threads.iter().for_each(|&threads| meter.join(threads));
            meter.wants(wants);
            (meter.seen, meter.is_unseen) = (Some(Usage { cpu_ns: 0, ..Usage::now().unwrap() }), true);
            meter.end(1000);
            meter.settle(seen_ns);
            meter.used().unwrap().cpu_ns
        };
        // This process has used far more than a few microseconds of CPU time so far, and the jobs were charged as many
        // cores. If nothing ran between them, all of it is theirs.
        let later = 3_600_000_000_000;
        assert_eq!([used(&[2], 0, later), used(&[2, 1], 0, later), used(&[2], 5, later)], [2000, 3000, 5000]);
        assert!(used(&[2], 0, 1005) > 5000);
    }

    #[test]
    #[cfg(unix)]
    fn work_is_seen_and_sleep_is_not() {
        let had = || thread_cpu_ns().unwrap();
        let (before, thread_before) = (Usage::now().unwrap(), had());
        while had() < thread_before + 3_000_000 {}
        let slept = had();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(had() - slept < 40_000_000);
        assert!(Usage::now().unwrap().since(before).cpu_ns >= 2_000_000);
    }
}
