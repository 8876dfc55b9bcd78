//! Schedules under a simulated clock, with callers that wake up late; and released throttles.

use super::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn rate_of(bytes_per_second: Option<u64>, latency_ns: u64) -> ThrottleRate {
    ThrottleRate { bytes_per_second, latency_ns }
}

/// Pseudorandom numbers from 0 up to a bound.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A simulated machine: threads that call without pause, and how late they wake up.
struct Machine {
    threads: usize,
    /// The sizes of calls, equally likely.
    sizes: &'static [u64],
    /// Minimum and maximum delay of a wake-up, in nanoseconds.
    late_ns: [u64; 2],
}

impl Machine {
    /// Runs calls for this long; returns bytes and calls per second.
    fn run(&self, rate: ThrottleRate, duration_ns: u64) -> [f64; 2] {
        let mut schedule = Schedule::default();
        let mut random = Random(self.threads as u64);
        // For each thread: the time at which it continues, and the scheduled end and size of its call.
        let mut threads = vec![(0, 0, 0); self.threads];
        let mut totals = [0; 2];
        loop {
            let next = threads.iter_mut().min_by_key(|(now_ns, ..)| *now_ns).unwrap();
            let (now_ns, end_ns, size) = *next;
            schedule.returned(end_ns, now_ns);
            totals = [totals[0] + size, totals[1] + u64::from(size > 0)];
            if now_ns >= duration_ns {
                return totals.map(|sum| sum as f64 / (now_ns as f64 / 1e9));
            }
            let size = self.sizes[random.below(self.sizes.len() as u64) as usize];
            let end_ns = schedule.take(rate, now_ns, size);
            // Copied at 8 GB/s, after a microsecond for the call.
            let done_ns = now_ns + 1_000 + size / 8;
            let woken_ns = end_ns + self.late_ns[0] + random.below(self.late_ns[1] - self.late_ns[0] + 1);
            *next = (if done_ns < end_ns { woken_ns } else { done_ns }, end_ns, size);
        }
    }
}

const SIZES: [&[u64]; 4] = [&[64 << 10], &[1 << 20], &[16 << 20], &[64 << 10, 100_000, 1 << 20, 4 << 20]];
const LATE_NS: [[u64; 2]; 3] = [[0, 50_000], [50_000, 50_000], [0, MS]];

#[test]
fn the_rate_is_accurate_however_late_threads_wake_up() {
    for rate in [10_000_000, 50_000_000, 200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000] {
        for (threads, late_ns) in [1, 2, 16].into_iter().flat_map(|threads| LATE_NS.map(|late_ns| (threads, late_ns))) {
            for sizes in SIZES {
                let machine = Machine { threads, sizes, late_ns };
                let [bytes_per_second, _] =
                    machine.run(rate_of(Some(rate), 0), (4 * SECOND * SECOND / rate).max(SECOND));
                let error = bytes_per_second / rate as f64 - 1.0;
                assert!(error.abs() < 0.03, "{rate} B/s, {threads} threads, {sizes:?}, {late_ns:?}: {error}");
            }
        }
    }
}

#[test]
fn latencies_of_threads_pass_concurrently() {
    for (threads, late_ns) in [1, 2, 16].into_iter().flat_map(|threads| LATE_NS.map(|late_ns| (threads, late_ns))) {
        for latency_ns in [100_000, 5 * MS] {
            let machine = Machine { threads, sizes: &[65_536], late_ns };
            let [_, calls] = machine.run(rate_of(None, latency_ns), SECOND);
            let error = calls * latency_ns as f64 / 1e9 / threads as f64 - 1.0;
            assert!(error.abs() < 0.03, "{latency_ns} ns, {threads} threads, {late_ns:?}: {error}");
        }
    }
}

#[test]
fn a_call_takes_its_latency_and_then_its_bytes_time() {
    let machine = Machine { threads: 1, sizes: &[1_000_000], late_ns: [50_000, 60_000] };
    let [_, calls] = machine.run(rate_of(Some(500_000_000), 3 * MS), 10 * SECOND);
    assert!((calls / 200.0 - 1.0).abs() < 0.01, "{calls}");
    // More threads do not exceed the rate.
    let machine = Machine { threads: 16, ..machine };
    let [_, calls] = machine.run(rate_of(Some(500_000_000), 3 * MS), 10 * SECOND);
    assert!((calls / 500.0 - 1.0).abs() < 0.02, "{calls}");
}

#[test]
fn no_call_ends_before_all_bytes_can_have_passed() {
    let mut schedule = Schedule::default();
    let mut random = Random(3);
    let mut bytes = 0;
    let start_ns = 7 * SECOND;
    let mut now_ns = start_ns;
    for _ in 0..10_000 {
        let size = random.below(1 << 20);
        bytes += size;
        let end_ns = schedule.take(rate_of(Some(1_000_000_000), 0), now_ns, size);
        assert!(end_ns + 10_000 >= start_ns + bytes, "{bytes}");
        // Some work in between, longer and shorter than the bytes' time.
        now_ns = now_ns.max(end_ns) + random.below(2 * MS);
    }
}

#[test]
fn idling_earns_no_more_than_the_credit() {
    let mut schedule = Schedule::default();
    let rate = rate_of(Some(1_000_000_000), 0);
    assert_eq!(schedule.take(rate, SECOND, 1000), SECOND + 1000);
    let now_ns = 100 * SECOND;
    let at_once = (0..1000).take_while(|_| schedule.take(rate, now_ns, 100_000) <= now_ns).count();
    assert_eq!(at_once as u64 * 100_000, MAX_CREDIT_NS);
}

#[test]
fn lateness_is_compensated_once() {
    let mut schedule = Schedule::default();
    let rate = rate_of(None, MS);
    assert_eq!(schedule.take(rate, 0, 10), MS);
    schedule.returned(MS, MS + 300_000);
    assert_eq!(schedule.take(rate, MS + 300_000, 10), 2 * MS);
    assert_eq!(schedule.take(rate, 2 * MS, 10), 3 * MS);
    // A delay longer than a latency is compensated over several calls, up to the credit.
    schedule.returned(3 * MS, 60 * MS);
    let ends: Vec<_> = (0..7).map(|_| schedule.take(rate, 60 * MS, 10) / MS).collect();
    assert_eq!(ends, [60, 60, 60, 60, 60, 61, 61]);
}

#[test]
fn no_limit_means_no_wait_and_nothing_overflows() {
    let mut schedule = Schedule::default();
    assert_eq!(schedule.take(rate_of(None, 0), 5, usize::MAX as u64), 5);
    assert_eq!(schedule.take(rate_of(Some(1), u64::MAX), 5, u64::MAX), u64::MAX);
    assert_eq!(schedule.take(rate_of(Some(1), u64::MAX), u64::MAX, u64::MAX), u64::MAX);
    let throttle = Throttle::new(Some(0), Duration::MAX);
    assert_eq!((throttle.bytes_per_second(), throttle.latency()), (None, Duration::from_nanos(u64::MAX)));
}

/// Each of the calls would take a year.
#[test]
fn a_released_throttle_no_longer_waits() {
    let released = Arc::new(AtomicBool::new(false));
    let throttle = Throttle::new(Some(1), Duration::ZERO).until(released.clone());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| throttle.hold(Instant::now(), 40_000_000));
        }
        std::thread::sleep(Duration::from_millis(5));
        released.store(true, Relaxed);
    });
    assert_eq!(throttle.hold(Instant::now(), 40_000_000), 0);
}

#[test]
fn throttled_time_is_counted_for_the_throttled_source() {
    let throttle = Throttle::new(Some(20_000_000), Duration::ZERO);
    let [throttled, free] = [true, false].map(|is_throttled| {
        let source = crate::Source::memory(vec![0; 1_000_000]);
        let source = if is_throttled { source.throttled(&throttle) } else { source };
        source.read_at(0, &mut vec![0; 1_000_000]).unwrap();
        source.counters().snapshot()
    });
    assert!(throttled.throttled_ns > MS && throttled.throttled_ns <= throttled.waiting_ns, "{throttled:?}");
    assert_eq!(free.throttled_ns, 0);
}
