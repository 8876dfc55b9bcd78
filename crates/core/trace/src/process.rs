//! System statistics of this process: CPU time, disk bytes, memory, threads and their waits.
//!
//! CPU time and disk bytes come from `usage.rs`. This module only reads; `polyhaul::report::Sampler` samples
//! repeatedly. Linux reports all statistics, other Unix systems report only CPU time, and other systems report none.
//! Missing statistics are 0.

use super::{Sample, Usage};

/// The system's files about this process, kept open for repeated reads.
#[derive(Debug)]
pub struct Process(system::Process);

impl Process {
    /// Opens the files of this process.
    pub fn this() -> Process {
        Process(system::Process::this())
    }

    /// Returns the usage so far, with the caller's `at_ns`.
    pub fn sample(&self, at_ns: u64) -> Sample {
        let used = Usage::now().unwrap_or_default();
        let sample = Sample {
            at_ns,
            cpu_ns: used.cpu_ns,
            disk_read_bytes: used.disk_read_bytes.unwrap_or(0),
            disk_write_bytes: used.disk_write_bytes.unwrap_or(0),
            ..Sample::default()
        };
        self.0.add_to(sample)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::Sample;
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    #[derive(Debug)]
    pub(super) struct Process {
        memory: Option<File>,
        page_bytes: u64,
    }

    impl Process {
        pub(super) fn this() -> Process {
            // SAFETY: `sysconf` takes a number and returns one.
            let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let memory = File::open("/proc/self/statm").ok();
            Process { memory, page_bytes: u64::try_from(page_bytes).unwrap_or(4096) }
        }

        /// Adds memory and threads to a sample.
        pub(super) fn add_to(&self, sample: Sample) -> Sample {
            let [lock_waiters, threads] = threads();
            Sample { resident_bytes: self.resident_bytes(), lock_waiters, threads, ..sample }
        }

        fn resident_bytes(&self) -> u64 {
            with_text(self.memory.as_ref(), |text| {
                let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0u64);
                pages.saturating_mul(self.page_bytes)
            })
        }
    }

    /// Calls `read` with the start of a text file. Returns the default value if the file cannot be read.
    fn with_text<T: Default>(file: Option<&File>, read: impl FnOnce(&str) -> T) -> T {
        let mut bytes = [0; 512];
        let count = file.and_then(|file| file.read_at(&mut bytes, 0).ok()).unwrap_or(0);
        bytes.get(..count).and_then(|bytes| std::str::from_utf8(bytes).ok()).map(read).unwrap_or_default()
    }

    /// Returns the number of threads waiting on a futex, and the total number of threads.
    fn threads() -> [u32; 2] {
        let futex = format!("{} ", libc::SYS_futex);
        let waits = |path: std::path::PathBuf| {
            let file = File::open(path.join("syscall")).ok();
            with_text(file.as_ref(), |text| text.starts_with(&futex))
        };
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let waiting = tasks.map(|task| waits(task.path()));
        waiting.fold([0; 2], |[waiters, threads], waits| [waiters + u32::from(waits), threads + 1])
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::Sample;

    #[derive(Debug)]
    pub(super) struct Process;

    impl Process {
        pub(super) fn this() -> Process {
            Process
        }

        pub(super) fn add_to(&self, sample: Sample) -> Sample {
            sample
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_goes_up() {
        let process = Process::this();
        let before = process.sample(1);
        let mut sum = 0u64;
        while cfg!(unix) && process.sample(2).cpu_ns < before.cpu_ns + 1_000_000 {
            sum = (0..10_000u64).fold(std::hint::black_box(sum), u64::wrapping_add);
        }
        let after = process.sample(3);
        assert_eq!((before.at_ns, after.at_ns), (1, 3));
        assert!(after.disk_read_bytes >= before.disk_read_bytes && after.disk_write_bytes >= before.disk_write_bytes);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_touched_is_resident() {
        let process = Process::this();
        let touch = || {
            let before = process.sample(0).resident_bytes;
            let touched = std::hint::black_box(vec![1u8; 64 << 20]);
            let after = process.sample(0).resident_bytes;
            drop(touched);
            before > 100_000 && after > before + (48 << 20)
        };
        // Other tests in this process may free memory meanwhile, but not every time.
        assert!((0..50).any(|_| touch()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_waits_for_a_lock_is_counted() {
        // Skip systems that do not report thread states, such as emulators.
        if std::fs::read_to_string("/proc/self/syscall").is_err() {
            return;
        }
        let lock = std::sync::Mutex::new(());
        let process = Process::this();
        std::thread::scope(|scope| {
            let held = lock.lock().unwrap();
            scope.spawn(|| drop(lock.lock()));
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
            let mut seen = Sample::default();
            while seen.lock_waiters == 0 && std::time::Instant::now() < deadline {
                std::thread::sleep(std::time::Duration::from_millis(1));
                seen = process.sample(0);
            }
            drop(held);
            assert!(seen.lock_waiters > 0 && seen.threads >= seen.lock_waiters, "{seen:?}");
        });
    }
}
