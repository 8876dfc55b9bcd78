//! The most memory that this process ever used.

/// Peak resident memory in bytes; `None` if the system does not report it.
pub fn bytes() -> Option<u64> {
    high_water_mark().or_else(usage)
}

/// Linux keeps a separate mark for this program; its `getrusage` also counts the memory of the parent before this
/// program was started.
fn high_water_mark() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(unix)]
fn usage() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is a writable `rusage`, which the call fills as a whole if it returns 0; only then it is read.
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
}
