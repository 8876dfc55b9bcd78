//! A slower device than there is: a rate that all sources or sinks share which were given one handle, and a latency
//! for each of their calls.
//!
//! The times are computed from the starts of calls ([`Schedule`], which has no clock), and a call that finished earlier
//! waits: its own duration is included, and late wake-ups are compensated. It changes neither the bytes read and
//! written nor the calls. Who is throttled is decided in `source.rs` and `sink.rs`; the waiting is in
//! `trace/counters.rs`.

mod fetched;

pub(crate) use fetched::Fetched;

use polyhaul_trace::{self as trace, CallDelay, Phase};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much unused time is compensated, in nanoseconds: systems wake threads up to a few milliseconds late.
const CREDIT_NS: u64 = 5_000_000;
/// The longest sleep between two looks at whether waiting is still wanted.
const STEP: Duration = Duration::from_millis(20);

/// A rate and a latency. Cloning gives another handle on the same ones.
///
/// All calls of all handles share the rate. Up to 5 ms without a call are compensated, as by a device that reads ahead,
/// so in any time no more passes than the rate allows in it plus 5 ms. The latency belongs to each call, so calls of
/// several threads wait for it concurrently; with a latency, a call takes the latency and then the time of its bytes,
/// and nothing is read ahead. Bytes of a file that were read before are in the system's memory and cost only the
/// latency; others count in whole pages of 4 KiB, as from a disk.
///
/// ```
/// use polyhaul_bytes::{Source, Throttle};
/// use std::time::{Duration, Instant};
///
/// # fn main() -> std::io::Result<()> {
/// let throttle = Throttle::new(Some(100_000_000), Duration::ZERO);
/// let source = Source::memory(vec![b' '; 1_000_000]).throttled(&throttle);
/// let begin = Instant::now();
/// assert_eq!(source.read_at(0, &mut vec![0; 1_000_000])?, 1_000_000);
/// assert!(begin.elapsed() >= Duration::from_millis(10));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Throttle {
    shared: Arc<Shared>,
    /// Nobody waits any more once this is set.
    released: Option<Arc<AtomicBool>>,
}

#[derive(Debug)]
struct Shared {
    pace: Pace,
    epoch: Instant,
    schedule: Mutex<Schedule>,
}

/// The rate and the latency.
#[derive(Clone, Copy, Debug)]
struct Pace {
    bytes_per_second: Option<u64>,
    latency_ns: u64,
}

/// When calls end, in nanoseconds since some moment.
#[derive(Debug, Default)]
struct Schedule {
    /// The time at which the bytes of all calls so far have passed; `None` before the first call.
    passed_ns: Option<u64>,
    /// How late calls returned, as far as it is not compensated yet.
    late_ns: u64,
}

impl Throttle {
    /// Limits the rate to `bytes_per_second` (`None` and 0: no limit), and adds `latency` to each call.
    pub fn new(bytes_per_second: Option<u64>, latency: Duration) -> Throttle {
        let bytes_per_second = bytes_per_second.filter(|&rate| rate > 0);
        let pace = Pace { bytes_per_second, latency_ns: nanoseconds(latency) };
        let shared = Shared { pace, epoch: Instant::now(), schedule: Mutex::default() };
        Throttle { shared: Arc::new(shared), released: None }
    }

    /// Another handle whose calls no longer wait once `released` is set; calls that are waiting continue within 20 ms:
    /// for a job that was cancelled.
    #[must_use]
    pub fn until(&self, released: Arc<AtomicBool>) -> Throttle {
        Throttle { shared: self.shared.clone(), released: Some(released) }
    }

    /// The rate, if limited.
    pub fn bytes_per_second(&self) -> Option<u64> {
        self.shared.pace.bytes_per_second
    }

    /// What is added to each call, apart from the time of its bytes.
    pub fn latency(&self) -> Duration {
        Duration::from_nanos(self.shared.pace.latency_ns)
    }

    /// What delays the calls of one source or sink; `fetched` records which bytes of a file were fetched before.
    pub(crate) fn of_calls(&self, fetched: Option<Fetched>) -> impl CallDelay + use<> {
        Throttled { throttle: self.clone(), fetched }
    }

    /// Waits until the end of a call that began at `asked` and moved `size` bytes; returns the waiting time in
    /// nanoseconds.
    pub(crate) fn hold(&self, asked: Instant, size: u64) -> u64 {
        if self.is_released() || (size == 0 && self.shared.pace.latency_ns == 0) {
            return 0;
        }
        let begin_ns = nanoseconds(self.shared.epoch.elapsed());
        let asked_ns = nanoseconds(asked.saturating_duration_since(self.shared.epoch));
        let end_ns = self.schedule().take(self.shared.pace, asked_ns, size);
        let _span = trace::span(Phase::Throttle);
        let now_ns = self.wait_until(end_ns);
        self.schedule().came_back(end_ns, now_ns);
        now_ns.saturating_sub(begin_ns)
    }

    /// Sleeps, and returns when it woke up.
    fn wait_until(&self, end_ns: u64) -> u64 {
        loop {
            let now_ns = nanoseconds(self.shared.epoch.elapsed());
            if now_ns >= end_ns || self.is_released() {
                return now_ns;
            }
            std::thread::sleep(Duration::from_nanos(end_ns - now_ns).min(STEP));
        }
    }

    fn is_released(&self) -> bool {
        self.released.as_ref().is_some_and(|released| released.load(Relaxed))
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.shared.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A throttle of the calls on one source or sink.
#[derive(Debug)]
struct Throttled {
    throttle: Throttle,
    fetched: Option<Fetched>,
}

impl CallDelay for Throttled {
    fn hold(&self, asked: Instant, offset: Option<u64>, size: usize) -> u64 {
        let from_device = match (offset, &self.fetched) {
            (Some(offset), Some(fetched)) => fetched.fetch(offset, size),
            _ => size as u64,
        };
        self.throttle.hold(asked, from_device)
    }
}

impl Pace {
    /// The time for this number of bytes.
    fn transfer_ns(self, size: u64) -> u64 {
        let Some(rate) = self.bytes_per_second else { return 0 };
        u64::try_from(u128::from(size) * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX)
    }
}

impl Schedule {
    /// When a call is over that was asked for at `asked_ns`.
    fn take(&mut self, pace: Pace, asked_ns: u64, size: u64) -> u64 {
        if size == 0 {
            // It does not wait for the bytes of others.
            return asked_ns.saturating_add(pace.latency_ns);
        }
        let transfer_ns = pace.transfer_ns(size);
        let free_ns = self.passed_ns.map_or(asked_ns, |passed_ns| passed_ns.max(asked_ns.saturating_sub(CREDIT_NS)));
        let passed_ns = free_ns.saturating_add(transfer_ns);
        self.passed_ns = Some(passed_ns);
        if pace.latency_ns == 0 {
            return passed_ns;
        }
        let own_ns = pace.latency_ns.saturating_add(transfer_ns);
        let late_ns = self.late_ns.min(own_ns);
        let alone_ns = asked_ns.saturating_add(own_ns);
        let end_ns = passed_ns.max(alone_ns - late_ns);
        self.late_ns -= late_ns.min(alone_ns.saturating_sub(end_ns));
        end_ns
    }

    /// Notes when a call came back that was to be over at `end_ns`.
    fn came_back(&mut self, end_ns: u64, now_ns: u64) {
        self.late_ns = self.late_ns.saturating_add(now_ns.saturating_sub(end_ns)).min(CREDIT_NS);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
