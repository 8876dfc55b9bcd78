//! What the system says that a process or a thread used, as far as it says it. Nothing is kept here.

use std::ops::AddAssign;

/// What the process used of its machine. A Linux that runs inside of an emulator may count no blocks of disks, and then
/// says 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Time of all cores, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes that came from disks; `None` where the system does not say (it does on Linux).
    pub disk_read_bytes: Option<u64>,
    /// Bytes that were written towards disks; `None` where the system does not say.
    pub disk_write_bytes: Option<u64>,
}

impl Usage {
    /// Until now, since the process began; `None` where the system does not say.
    pub fn now() -> Option<Usage> {
        system::usage()
    }

    /// What came after `earlier`.
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

/// The time of a core that this thread had until now, in nanoseconds; `None` where the system does not say.
pub(super) fn thread_cpu_ns() -> Option<u64> {
    system::thread_cpu_ns()
}

#[cfg(unix)]
mod system {
    use super::Usage;
    use std::mem::MaybeUninit;

    /// What `getrusage` counts in: blocks of a disk.
    const BLOCK_BYTES: u64 = 512;

    pub(super) fn usage() -> Option<Usage> {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the pointer is to writable memory of the right type, which the call fills on success.
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
        // SAFETY: the pointer is to writable memory of the right type.
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
