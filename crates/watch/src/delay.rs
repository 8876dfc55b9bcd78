//! Measures scheduling delay: the time in which a thread was runnable but had no processor. This time must not count as
//! waiting for a disk.
//!
//! The kernel counts it per thread (`schedstat`). It is read only after long calls.

use libc::pid_t;

/// Scheduling delay per stop, caused by switching to the tracer and back, without contention.
const HAND_OVER_NS: u64 = 250;

/// The part of a thread's delay that is already accounted for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    seen_ns: u64,
    stops: u64,
}

impl Delay {
    /// Returns the delay of a thread (0 is the calling thread) since the previous call, minus the delay caused by its
    /// stops since then. `stops` is the total number of its stops. Returns 0 if the kernel does not count the delay.
    pub fn further(&mut self, thread: pid_t, stops: u64) -> i64 {
        let Some(delay_ns) = total(thread) else { return 0 };
        let due = stops.saturating_sub(self.stops).saturating_mul(HAND_OVER_NS);
        let further = delay_ns.saturating_sub(self.seen_ns).saturating_sub(due);
        *self = Delay { seen_ns: delay_ns, stops };
        i64::try_from(further).unwrap_or(i64::MAX)
    }
}

/// Total delay of a thread.
fn total(thread: pid_t) -> Option<u64> {
    let path = if thread == 0 { "/proc/thread-self/schedstat".into() } else { format!("/proc/{thread}/schedstat") };
    std::fs::read_to_string(path).ok()?.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_not_seen_again() {
        let mut delay = Delay { seen_ns: u64::MAX, stops: 0 };
        assert_eq!(delay.further(0, 1), 0);
        let mut delay = Delay::default();
        assert_eq!(delay.further(0, u64::MAX), 0);
        assert!(total(0).is_none_or(|seen_ns| delay.seen_ns <= seen_ns && delay.stops == u64::MAX));
        assert_eq!(delay.further(-1, u64::MAX), 0);
    }
}
