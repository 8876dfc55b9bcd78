//! Memory of this process: its peak, in total or for part of the work, and how large arrays are allocated.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};

/// Makes glibc map every large array separately, for the life of the process.
///
/// glibc does so at first, but raises its threshold whenever such an array is freed. Later arrays are then grown by
/// copying within the heap, between the holes that earlier arrays left. The effect is largest for a file that is read
/// twice because its last number needs double precision (`late.obj` of tools/bench/python/survey.py). The setting
/// affects the whole process, so libraries do not change it.
pub fn map_large_arrays() {
    /// Freed memory up to this size is kept for the next small arrays. Setting any value stops glibc from adjusting its
    /// thresholds.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    const KEPT_BYTES: libc::c_int = 64 << 20;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two integers; it is called at program start, before other threads exist.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

/// Peak resident memory in bytes, or `None` if the system does not report it.
pub fn bytes() -> Option<u64> {
    high_water_mark().or_else(usage)
}

/// Measures the peak memory of parts of a run. Only Linux can reset the peak.
///
/// See <https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html>. The files in /proc stay open, since there
/// are many small parts.
pub struct PeakMeter {
    forget: Option<File>,
    status: Option<File>,
}

impl PeakMeter {
    /// Opens the files for this process.
    pub fn new() -> PeakMeter {
        let forget = OpenOptions::new().write(true).open("/proc/self/clear_refs").ok();
        PeakMeter { forget, status: File::open("/proc/self/status").ok() }
    }

    /// Starts a part: resets the peak.
    pub fn reset(&mut self) {
        if let Some(forget) = &mut self.forget {
            // If this fails, the peak includes earlier parts.
            let _ = forget.write_all(b"5");
        }
    }

    /// The peak since the last reset in bytes, or the peak of the whole process if it cannot be reset.
    pub fn bytes(&mut self) -> Option<u64> {
        let Some(status) = &mut self.status else { return usage() };
        let mut text = [0; 4096];
        status.rewind().ok()?;
        let count = status.read(&mut text).ok()?;
        marked(&String::from_utf8_lossy(&text[..count]))
    }
}

/// Current resident memory in bytes, or `None` if the system does not report it.
pub fn resident_bytes() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse::<u64>().ok()?;
    Some(pages * page_bytes())
}

#[cfg(unix)]
fn page_bytes() -> u64 {
    // SAFETY: `sysconf` takes an integer and returns one.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(not(unix))]
fn page_bytes() -> u64 {
    4096
}

/// Linux keeps this mark per program; `getrusage` also counts the memory of the parent from before `exec`.
fn high_water_mark() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    marked(&status)
}

fn marked(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(unix)]
fn usage() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is a writable `rusage`, which the call fills completely if it returns 0; it is read only then.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    u64::try_from(usage.ru_maxrss).ok().map(|peak| peak * unit)
}

#[cfg(not(unix))]
fn usage() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(unix)]
    fn the_peak_is_more_than_nothing() {
        assert!(super::bytes().unwrap() > 100_000);
        assert!(super::usage().unwrap() > 100_000);
    }

    /// The meter includes memory that a part touched, and excludes earlier parts.
    #[test]
    #[cfg(target_os = "linux")]
    fn each_part_has_its_own_peak() {
        const LARGE: usize = 64 << 20;
        let mut meter = super::PeakMeter::new();
        let before = meter.bytes().unwrap();
        drop(std::hint::black_box(vec![1_u8; LARGE]));
        let during = meter.bytes().unwrap();
        assert!(during >= before + LARGE as u64 / 2, "{before} {during}");
        meter.reset();
        assert!(meter.bytes().unwrap() <= during - LARGE as u64 / 2);
    }
}
