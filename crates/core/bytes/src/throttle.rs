//! Simulates a slower device: sources or sinks with the same throttle share a rate, and each of their calls has a
//! latency.
//!
//! [`Schedule`], which has no clock, computes the ends of calls from their starts. A call that is done earlier waits
//! until its scheduled end, so its own duration is included and late wake-ups are compensated. Neither the bytes read
//! and written nor the calls change. `source.rs` and `sink.rs` decide what to throttle; `trace/counters.rs` waits.

mod fetched;

pub(crate) use fetched::FetchedPages;

use polyhaul_trace::{self as trace, CallDelay, Phase};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum unused time to compensate, in nanoseconds: systems wake threads up to a few milliseconds late.
const MAX_CREDIT_NS: u64 = 5_000_000;
/// Maximum sleep before checking whether to continue waiting.
const MAX_SLEEP: Duration = Duration::from_millis(20);

/// A rate and a latency. Clones share them.
///
/// All calls through all clones share the rate. Up to 5 ms without a call are compensated, as if the device read ahead,
/// so in any period, at most the bytes for this period plus 5 ms pass. The latency applies to each call, so calls of
/// several threads wait for it concurrently. With a latency, a call takes the latency and then the time of its bytes,
/// without read-ahead. Bytes of a file that were read before count as cached, and cost only the latency; other bytes of
/// files count in whole 4 KiB pages, as on a disk.
///
/// ```
/// use polyhaul_bytes::{Source, Throttle};
/// use std::time::{Duration, Instant};
///
/// # fn main() -> std::io::Result<()> {
/// let throttle = Throttle::new(Some(100_000_000), Duration::ZERO);
/// let source = Source::memory(vec![b' '; 1_000_000]).throttled(&throttle);
/// let start = Instant::now();
/// assert_eq!(source.read_at(0, &mut vec![0; 1_000_000])?, 1_000_000);
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Throttle {
    shared: Arc<SharedThrottle>,
    /// Once this is set, calls no longer wait.
    released: Option<Arc<AtomicBool>>,
}

#[derive(Debug)]
struct SharedThrottle {
    rate: ThrottleRate,
    epoch: Instant,
    schedule: Mutex<Schedule>,
}

/// The rate and the latency.
#[derive(Clone, Copy, Debug)]
struct ThrottleRate {
    bytes_per_second: Option<u64>,
    latency_ns: u64,
}

/// Computes the ends of calls, in nanoseconds since the throttle's epoch.
#[derive(Debug, Default)]
struct Schedule {
    /// The time by which all bytes so far have passed; `None` before the first call.
    passed_ns: Option<u64>,
    /// Lateness of past calls that was not compensated yet.
    late_ns: u64,
}

impl Throttle {
    /// Limits the rate to `bytes_per_second` (no limit if `None` or 0), and adds `latency` to each call.
    pub fn new(bytes_per_second: Option<u64>, latency: Duration) -> Throttle {
        let bytes_per_second = bytes_per_second.filter(|&rate| rate > 0);
        let rate = ThrottleRate { bytes_per_second, latency_ns: nanoseconds(latency) };
        let shared = SharedThrottle { rate, epoch: Instant::now(), schedule: Mutex::default() };
        Throttle { shared: Arc::new(shared), released: None }
    }

    /// Returns a clone whose calls no longer wait once `released` is set, because the job was cancelled. Calls already
    /// waiting continue within 20 ms.
    #[must_use]
    pub fn until(&self, released: Arc<AtomicBool>) -> Throttle {
        Throttle { shared: self.shared.clone(), released: Some(released) }
    }

    /// Returns the rate, if limited.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.shared.rate.bytes_per_second
    }

    /// Returns the latency of each call, to which the time of its bytes is added.
    pub fn latency(&self) -> Duration {
        Duration::from_nanos(self.shared.rate.latency_ns)
    }

    /// Returns the delay for calls on one source or sink. `fetched` records the pages of a file that were read before.
    pub(crate) fn of_calls(&self, fetched: Option<FetchedPages>) -> impl CallDelay + use<> {
        Throttled { throttle: self.clone(), fetched }
    }

    /// Waits until the scheduled end of a call that started at `start` and moved `size` bytes. Returns the waiting time
    /// in nanoseconds.
    pub(crate) fn hold(&self, start: Instant, size: u64) -> u64 {
        if self.is_released() || (size == 0 && self.shared.rate.latency_ns == 0) {
            return 0;
        }
        let before_ns = nanoseconds(self.shared.epoch.elapsed());
        let start_ns = nanoseconds(start.saturating_duration_since(self.shared.epoch));
        let end_ns = self.schedule().take(self.shared.rate, start_ns, size);
        let _span = trace::span(Phase::Throttle);
        let now_ns = self.wait_until(end_ns);
        self.schedule().returned(end_ns, now_ns);
        now_ns.saturating_sub(before_ns)
    }

    /// Sleeps until `end_ns`, or until the throttle is released. Returns the time of waking up.
    fn wait_until(&self, end_ns: u64) -> u64 {
        loop {
            let now_ns = nanoseconds(self.shared.epoch.elapsed());
            if now_ns >= end_ns || self.is_released() {
                return now_ns;
            }
            std::thread::sleep(Duration::from_nanos(end_ns - now_ns).min(MAX_SLEEP));
        }
    }

    fn is_released(&self) -> bool {
        self.released.as_ref().is_some_and(|released| released.load(Relaxed))
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.shared.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The throttle for calls on one source or sink.
#[derive(Debug)]
struct Throttled {
    throttle: Throttle,
    fetched: Option<FetchedPages>,
}

impl CallDelay for Throttled {
    fn hold(&self, start: Instant, offset: Option<u64>, size: usize) -> u64 {
        let from_device = match (offset, &self.fetched) {
            (Some(offset), Some(fetched)) => fetched.fetch(offset, size),
            _ => size as u64,
        };
        self.throttle.hold(start, from_device)
    }
}

impl ThrottleRate {
    /// Returns the time to transfer `size` bytes, in nanoseconds.
    fn transfer_ns(self, size: u64) -> u64 {
        let Some(bytes_per_second) = self.bytes_per_second else { return 0 };
        u64::try_from(u128::from(size) * 1_000_000_000 / u128::from(bytes_per_second)).unwrap_or(u64::MAX)
    }
}

impl Schedule {
    /// Schedules a call that started at `start_ns` and moved `size` bytes. Returns its end.
    fn take(&mut self, rate: ThrottleRate, start_ns: u64, size: u64) -> u64 {
        if size == 0 {
            // A call without bytes does not wait for the bytes of other calls.
            return start_ns.saturating_add(rate.latency_ns);
        }
        let transfer_ns = rate.transfer_ns(size);
        let free_ns =
            self.passed_ns.map_or(start_ns, |passed_ns| passed_ns.max(start_ns.saturating_sub(MAX_CREDIT_NS)));
        let passed_ns = free_ns.saturating_add(transfer_ns);
        self.passed_ns = Some(passed_ns);
        if rate.latency_ns == 0 {
            return passed_ns;
        }
        let call_ns = rate.latency_ns.saturating_add(transfer_ns);
        let late_ns = self.late_ns.min(call_ns);
        let alone_ns = start_ns.saturating_add(call_ns);
        let end_ns = passed_ns.max(alone_ns - late_ns);
        self.late_ns -= late_ns.min(alone_ns.saturating_sub(end_ns));
        end_ns
    }

    /// Records that a call scheduled to end at `end_ns` returned at `now_ns`.
    fn returned(&mut self, end_ns: u64, now_ns: u64) {
        self.late_ns = self.late_ns.saturating_add(now_ns.saturating_sub(end_ns)).min(MAX_CREDIT_NS);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
