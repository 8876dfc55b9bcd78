//! Samples the process counters of the operating system at intervals while a job runs.
//!
//! Uses one thread that sleeps most of the time; samples go to [`Trace::sample`]. The counters are read in
//! `crates/core/trace/src/process.rs`. Evaluates nothing.

use polyhaul_trace::{Process, Trace};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Samples should take at most 1/100 of the time: if many threads make them slow, the interval grows.
const PART: u32 = 100;
/// Maximum factor by which the interval grows, since samples also take long if other programs use the cores.
const LONGEST: u32 = 4;

/// Minimum and maximum interval.
const EVERY: [Duration; 2] = [Duration::from_millis(1), Duration::from_secs(3600)];

/// Adds samples to a trace until dropped.
///
/// On Linux, samples contain CPU time, disk bytes, resident memory, the number of threads, and how many of them wait in
/// a futex for a lock or wake-up; on other Unix systems, CPU time; elsewhere nothing. Idle workers of a job also wait
/// for a wake-up; spans distinguish them.
///
/// ```
/// use polyhaul_insight::Sampler;
/// use polyhaul_trace::{Detail, Trace};
/// use std::time::Duration;
///
/// let trace = Trace::new(Detail::Spans);
/// let sampler = Sampler::start(&trace, Duration::from_millis(10));
/// // Jobs with `trace` run here.
/// drop(sampler);
/// assert!(trace.recording().samples.len() >= 2);
/// ```
#[derive(Debug)]
#[must_use]
pub struct Sampler {
    trace: Trace,
    is_done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts sampling: immediately, at intervals of `every` (clamped to between 1 ms and 1 h), and on drop. If the
    /// sampling thread cannot be started, samples only at the start and at the end.
    pub fn start(trace: &Trace, every: Duration) -> Sampler {
        let every = every.clamp(EVERY[0], EVERY[1]);
        let is_done = Arc::new(AtomicBool::new(false));
        look(trace, &Process::this());
        let watched = trace.clone();
        let stop = is_done.clone();
        let thread = thread::Builder::new().name("sampler".into()).spawn(move || watch(&watched, every, &stop));
        Sampler { trace: trace.clone(), is_done, thread: thread.ok() }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread does not panic, and nothing could be done here.
            let _ = thread.join();
        }
        look(&self.trace, &Process::this());
    }
}

fn look(trace: &Trace, process: &Process) {
    trace.sample(process.sample(trace.now_ns()));
}

fn watch(trace: &Trace, every: Duration, stop: &AtomicBool) {
    let process = Process::this();
    let mut pause = every;
    loop {
        let next = Instant::now() + pause;
        // `park_timeout` may return early.
        while Instant::now() < next {
            if stop.load(Ordering::Acquire) {
                return;
            }
            thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
        let start = Instant::now();
        look(trace, &process);
        pause = every.max((start.elapsed() * PART).min(every * LONGEST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_trace::Detail;

    #[test]
    fn samples_come_in_order_and_end_with_the_sampler() {
        let trace = Trace::new(Detail::Totals);
        let sampler = Sampler::start(&trace, Duration::from_millis(1));
        let deadline = Instant::now() + Duration::from_secs(20);
        while trace.recording().samples.len() < 5 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        drop(sampler);
        let samples = trace.recording().samples;
        assert!(samples.len() >= 5);
        assert!(samples.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns && pair[0].cpu_ns <= pair[1].cpu_ns));
        thread::sleep(Duration::from_millis(5));
        assert_eq!(trace.recording().samples.len(), samples.len());
    }

    #[test]
    fn a_long_interval_does_not_hold_the_end_back() {
        for every in [Duration::from_secs(3600), Duration::MAX] {
            let trace = Trace::new(Detail::Totals);
            let start = Instant::now();
            drop(Sampler::start(&trace, every));
            assert!(start.elapsed() < Duration::from_secs(60) && trace.recording().samples.len() == 2);
        }
    }

    #[test]
    fn no_interval_at_all_is_a_millisecond() {
        let trace = Trace::new(Detail::Totals);
        let sampler = Sampler::start(&trace, Duration::ZERO);
        thread::sleep(Duration::from_millis(20));
        drop(sampler);
        let samples = trace.recording().samples;
        // Without the samples at the start and end.
        let looks = &samples[1..samples.len() - 1];
        assert!(looks.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns >= 1_000_000), "{samples:?}");
    }
}
