//! The clock of recorders: the counter of the processor, or the system's clock if the counter is not reliable.

use crate::system;
use std::time::Instant;

/// Time sources of the kernel that use the processor's counter, so that the recorder can use it, too.
const COUNTERS: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

/// Converts ticks of recorders to time.
#[derive(Clone, Copy)]
pub(super) struct RecordClock {
    pub(super) start: Instant,
    start_ticks: u64,
    pub(super) has_counter: bool,
}

impl RecordClock {
    pub(super) fn start() -> RecordClock {
        RecordClock { start: Instant::now(), start_ticks: system::ticks(), has_counter: has_counter() }
    }

    /// Nanoseconds per tick, more exact the longer the clock runs.
    pub(super) fn tick_ns(&self) -> f64 {
        if !self.has_counter {
            return 1.0;
        }
        self.start.elapsed().as_nanos() as f64 / system::ticks().wrapping_sub(self.start_ticks).max(1) as f64
    }

    /// The current time as recorders see it.
    pub(super) fn now(&self) -> u64 {
        self.source()()
    }

    /// The function that returns the current time.
    pub(super) fn source(&self) -> fn() -> u64 {
        if self.has_counter { system::ticks } else { system::monotonic_ns }
    }

    pub(super) fn nanoseconds(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.tick_ns()) as u64
    }
}

/// Whether the counter of the processor can be used as a clock.
fn has_counter() -> bool {
    match std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        Ok(source) => COUNTERS.contains(&source.trim()),
        // Containers may lack /sys.
        Err(_) => std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.contains(" nonstop_tsc ")),
    }
}
