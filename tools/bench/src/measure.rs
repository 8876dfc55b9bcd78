//! Measures wall time, CPU time and peak memory of this process, and prints the results.

use crate::program::Failure;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Time of a job.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub seconds: f64,
    /// User and system time of all threads.
    pub cpu_seconds: f64,
}

/// Runs and times `work`.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Timing) {
    let own_cpu_seconds = || cpu_seconds(&usage(libc::RUSAGE_SELF));
    let cpu = own_cpu_seconds();
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    (result, Timing { seconds, cpu_seconds: own_cpu_seconds() - cpu })
}

/// Prints the line of a measurement.
pub fn print(timing: Timing, fields: &[(&str, u64)]) {
    let Timing { seconds, cpu_seconds } = timing;
    let peak = peak_memory_bytes();
    let mut line = format!("bench seconds={seconds:.6} cpu_seconds={cpu_seconds:.6} peak_rss_bytes={peak}");
    for (name, value) in fields {
        line.push_str(&format!(" {name}={value}"));
    }
    println!("{line}");
}

/// Returns the peak memory of this process since its start or the last [`reset_peak_memory`].
pub fn peak_memory_bytes() -> u64 {
    high_water_bytes().unwrap_or_else(|| max_rss_bytes(&usage(libc::RUSAGE_SELF)))
}

/// Returns freed memory to the system and resets the peak, where supported.
pub fn reset_peak_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: no pointers are passed, and the allocator may be trimmed at any time.
    unsafe {
        libc::malloc_trim(0);
    }
    // On Linux, 5 resets the high-water mark to the current use. On other systems the file does not exist.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Reads Linux's VmHWM, which only covers this program; `ru_maxrss` survives `exec` and so includes the memory of the
/// parent.
fn high_water_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Runs an external program as a child process, and prints its time and memory.
pub fn whole(program: &str, args: &[&str]) -> Result<(), Failure> {
    let start = Instant::now();
    let status = Command::new(program).args(args).stdout(Stdio::null()).status()?;
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        return Err(format!("{program}: {status}").into());
    }
    let usage = usage(libc::RUSAGE_CHILDREN);
    let cpu_seconds = cpu_seconds(&usage);
    let peak = max_rss_bytes(&usage);
    println!("bench seconds={seconds:.6} cpu_seconds={cpu_seconds:.6} peak_rss_bytes={peak}");
    Ok(())
}

fn max_rss_bytes(usage: &libc::rusage) -> u64 {
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    usage.ru_maxrss as u64 * unit
}

fn cpu_seconds(usage: &libc::rusage) -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn usage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: zeros are a valid `rusage`, and the call fills the one that is passed.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    }
}
