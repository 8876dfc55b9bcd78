//! Resources used by the process or a thread, as far as the system reports them, and the jobs' share of them.

use std::ops::AddAssign;

/// Resources used by the process. Linux inside an emulator may not count disk blocks, and then reports 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// CPU time, summed over cores, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes read from disks; `None` if the system does not report them (Linux does).
    pub disk_read_bytes: Option<u64>,
    /// Bytes written to disks; `None` if the system does not report them.
    pub disk_write_bytes: Option<u64>,
}

impl Usage {
    /// Returns the usage since the process started, or `None` if the system does not report it.
    pub fn now() -> Option<Usage> {
        system::usage()
    }

    /// Returns the usage since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Usage) -> Usage {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            disk_read_bytes: difference(self.disk_read_bytes, earlier.disk_read_bytes),
            disk_write_bytes: difference(self.disk_write_bytes, earlier.disk_write_bytes),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.cpu_ns += other.cpu_ns;
        self.disk_read_bytes = sum(self.disk_read_bytes, other.disk_read_bytes);
        self.disk_write_bytes = sum(self.disk_write_bytes, other.disk_write_bytes);
    }
}

/// A job that starts within this time after a reading and is shorter than [`SHORT_NS`] needs no reading of its own,
/// which would take a noticeable share of the time for a small file.
const UNSEEN_NS: u64 = 1_000_000;
/// See [`UNSEEN_NS`].
const SHORT_NS: u64 = 100_000;

/// Measures the resources used by the process while jobs ran.
///
/// The usage is read at the start and end of a job, except for a short job that starts within a millisecond of the last
/// reading. Short jobs are charged at the next reading, together with the time between them. If the time between them
/// exceeds a hundredth of their duration, their CPU time is capped at their duration times the number of their threads.
#[derive(Default)]
pub(super) struct UsageMeter {
    used: Option<Usage>,
    /// The last reading and its time.
    last_usage: Option<Usage>,
    last_ns: u64,
    start_ns: u64,
    /// Number of threads of the running jobs, and its maximum.
    running: u64,
    threads: u64,
    /// Whether the running job started without a reading.
    is_unseen: bool,
    /// Total duration of the jobs since the last reading.
    busy_ns: u64,
}

impl UsageMeter {
    /// Records the start of a job while no other job runs.
    pub(super) fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.running = 0;
        self.is_unseen = self.last_usage.is_some() && now_ns.saturating_sub(self.last_ns) < UNSEEN_NS;
        if !self.is_unseen {
            self.read(now_ns);
        }
    }

    /// Adds a job with `threads` threads.
    pub(super) fn join(&mut self, threads: usize) {
        self.running = self.running.saturating_add(threads as u64);
        self.threads = self.threads.max(self.running);
    }

    /// Raises the number of threads of a running job.
    pub(super) fn wants(&mut self, threads: usize) {
        self.threads = self.threads.max(threads as u64);
    }

    /// Records the end of the only running job.
    pub(super) fn end(&mut self, now_ns: u64) {
        let job_ns = now_ns.saturating_sub(self.start_ns);
        self.busy_ns += job_ns;
        if !self.is_unseen || job_ns >= SHORT_NS || now_ns.saturating_sub(self.last_ns) >= UNSEEN_NS {
            self.read(now_ns);
        }
    }

    /// Reads the usage and charges the jobs that ended since the last reading.
    fn read(&mut self, now_ns: u64) {
        let busy_ns = std::mem::take(&mut self.busy_ns);
        let usage = Usage::now();
        if let Some(before) = self.last_usage
            && let Some(now) = usage
            && busy_ns > 0
        {
            let mut used = now.since(before);
            let between_ns = now_ns.saturating_sub(self.last_ns).saturating_sub(busy_ns);
            if between_ns > busy_ns / 100 {
                used.cpu_ns = used.cpu_ns.min(busy_ns.saturating_mul(self.threads));
            }
            match &mut self.used {
                Some(sum) => *sum += used,
                none => *none = Some(used),
            }
        }
        self.last_usage = usage;
        self.last_ns = now_ns;
    }

    /// Charges the jobs for their usage so far. Call it while no job runs.
    pub(super) fn settle(&mut self, now_ns: u64) {
        if self.busy_ns > 0 {
            self.read(now_ns);
        }
    }

    /// Returns the usage so far.
    pub(super) fn used(&self) -> Option<Usage> {
        self.used
    }
}

/// Returns the CPU time of this thread so far, in nanoseconds, or `None` if the system does not report it.
pub(super) fn thread_cpu_ns() -> Option<u64> {
    system::thread_cpu_ns()
}

#[cfg(unix)]
mod system {
    use super::Usage;
    use std::mem::MaybeUninit;

    /// Unit of `getrusage`: a disk block.
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
        // On other systems, these count operations.
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
        let complete = Usage { cpu_ns: 5, disk_read_bytes: Some(7), disk_write_bytes: Some(1) };
        let partial = Usage { cpu_ns: 3, disk_read_bytes: None, disk_write_bytes: Some(4) };
        let mut sum = complete;
        sum += partial;
        assert_eq!(sum, Usage { cpu_ns: 8, disk_read_bytes: None, disk_write_bytes: Some(5) });
        assert_eq!(complete.since(partial), Usage { cpu_ns: 2, disk_read_bytes: None, disk_write_bytes: Some(0) });
    }

    #[test]
    #[cfg(unix)]
    fn jobs_that_follow_at_once_share_one_reading() {
        let mut meter = UsageMeter::default();
        let mut job = |start_ns, end_ns| {
            meter.start(start_ns);
            meter.join(1);
            meter.end(end_ns);
            (meter.last_ns, meter.busy_ns)
        };
        assert_eq!(job(0, 10), (10, 0));
        assert_eq!(job(20, 50), (10, 30));
        assert_eq!(job(60, 70), (10, 40));
        assert_eq!(job(UNSEEN_NS - 10, 10 + UNSEEN_NS), (10 + UNSEEN_NS, 0));
        assert_eq!(job(20 + UNSEEN_NS, 30 + UNSEEN_NS), (10 + UNSEEN_NS, 10));
        // A longer job is read at its end, and one that starts later also at its start.
        assert_eq!(job(40 + UNSEEN_NS, 40 + UNSEEN_NS + SHORT_NS), (40 + UNSEEN_NS + SHORT_NS, 0));
        assert_eq!(job(5 * UNSEEN_NS, 5 * UNSEEN_NS + 1), (5 * UNSEEN_NS + 1, 0));
        meter.start(5 * UNSEEN_NS + 2);
        meter.end(5 * UNSEEN_NS + 3);
        meter.settle(6 * UNSEEN_NS);
        assert_eq!((meter.last_ns, meter.busy_ns, meter.used().is_some()), (6 * UNSEEN_NS, 0, true));
    }

    #[test]
    #[cfg(unix)]
    fn short_jobs_have_what_they_used_and_no_more() {
        let used = |threads: &[usize], wants, settled_ns| {
            let mut meter = UsageMeter::default();
            meter.start(0);
            threads.iter().for_each(|&threads| meter.join(threads));
            meter.wants(wants);
            meter.last_usage = Some(Usage { cpu_ns: 0, ..Usage::now().unwrap() });
            meter.is_unseen = true;
            meter.end(1000);
            meter.settle(settled_ns);
            meter.used().unwrap().cpu_ns
        };
        // This process has used far more than a few microseconds of CPU time by now, but the jobs are charged at most
        // for their threads. If nothing ran between them, all of it is theirs.
        let later = 3_600_000_000_000;
        assert_eq!([used(&[2], 0, later), used(&[2, 1], 0, later), used(&[2], 5, later)], [2000, 3000, 5000]);
        assert!(used(&[2], 0, 1005) > 5000);
    }

    #[test]
    #[cfg(unix)]
    fn work_is_seen_and_sleep_is_not() {
        let cpu_ns = || thread_cpu_ns().unwrap();
        let usage_before = Usage::now().unwrap();
        let cpu_ns_before = cpu_ns();
        while cpu_ns() < cpu_ns_before + 3_000_000 {}
        let cpu_ns_awake = cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(cpu_ns() - cpu_ns_awake < 40_000_000);
        assert!(Usage::now().unwrap().since(usage_before).cpu_ns >= 2_000_000);
    }
}
