//! Checks that work is linear: 16 times the input must not cost much more than 16 times the time and memory.
//!
//! Time is CPU time, which depends little on the load of the machine. Quadratic work would take 256 times as long, so
//! the limit is 64, a factor of 4 from both linear and quadratic work: evicted caches or frequency scaling have made
//! linear work look twice as slow.

use crate::alloc::{Use, measure};
use std::time::{Duration, Instant};

/// Size of the second input, relative to the first.
pub const RATIO: usize = 16;

/// Maximum ratio of CPU times.
const MAX_TIME: f64 = 64.0;

/// Maximum ratio of allocated bytes, which do not depend on the machine.
const MAX_BYTES: f64 = 24.0;

/// A case whose first round takes longer than this is not repeated.
const LONG: Duration = Duration::from_millis(400);

/// Returns the CPU time of this thread, if the system reports it.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable `timespec` that outlives the call.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Option<Duration> {
    None
}

/// Returns the shortest time of up to four rounds of work on this thread, and the allocations of the last round.
fn cost<T>(input: &T, work: &impl Fn(&T)) -> (Duration, Use) {
    let mut shortest = Duration::MAX;
    let mut used = None;
    for round in 0..4 {
        let start = (Instant::now(), processor_time());
        let ((), measured) = measure(|| work(input));
        let took = processor_time().zip(start.1).map(|(end, start)| end - start);
        shortest = shortest.min(took.unwrap_or_else(|| start.0.elapsed()));
        used = Some(measured);
        // Long rounds have little noise: one round is enough.
        if round == 0 && shortest > LONG {
            break;
        }
    }
    (shortest, used.unwrap_or(Use { count: 0, total_bytes: 0, peak_bytes: 0 }))
}

fn once<T>(inputs: &[T; 2], work: &impl Fn(&T)) -> Option<String> {
    let [(small, small_use), (large, large_use)] = inputs.each_ref().map(|input| cost(input, work));
    let time = large.as_secs_f64() / small.as_secs_f64();
    let bytes = large_use.total_bytes as f64 / small_use.total_bytes as f64;
    // Below a millisecond, fixed costs dominate.
    let slow = time > MAX_TIME && large > Duration::from_millis(1);
    let text =
        format!("{RATIO} times the input takes {time:.1} times the time ({large:?}), {bytes:.1} times the bytes");
    (slow || bytes > MAX_BYTES).then_some(text)
}

/// Describes excessive growth from the first input to the second, which is [`RATIO`] times as large. Returns `None` if
/// growth is linear.
///
/// Memory is compared only if [`Counting`](crate::alloc::Counting) is the allocator. Excess must be measured three
/// times in a row, since the machine may be busy.
pub fn too_fast<T>(inputs: &[T; 2], work: impl Fn(&T)) -> Option<String> {
    let complaints: Vec<String> = (0..3).map_while(|_| once(inputs, &work)).collect();
    complaints.into_iter().nth(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_too_fast_and_lines_are_not() {
        let spin = |count: &u64| (0..*count).for_each(|i| _ = std::hint::black_box(i));
        assert!(too_fast(&[200_000, 200_000 * 256], spin).is_some());
        assert_eq!(too_fast(&[200_000, 200_000 * 16], spin), None);
    }
}
