//! Checks that work is linear: four times as much may not take much more than four times the time and the memory.
//!
//! Time is CPU time, so that other work on the machine counts little; quadratic work would take sixteen times as long.

use crate::alloc::{Use, measure};
use std::time::{Duration, Instant};

/// No trial takes this long.
const LONG: Duration = Duration::from_millis(100);

/// How long this thread has been running, whatever else the machine does; if the system reports it.
#[cfg(target_os = "linux")]
fn processor_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable `timespec` that lives through the call.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Option<Duration> {
    None
}

/// The shortest time of a few rounds of work on this thread, and its allocations.
fn cost<T>(input: &T, work: &impl Fn(&T)) -> (Duration, Use) {
    let mut shortest = Duration::MAX;
    let mut used = None;
    for round in 0..4 {
        let start = (Instant::now(), processor_time());
        let ((), measured) = measure(|| work(input));
        let took = processor_time().zip(start.1).map(|(end, start)| end - start);
        shortest = shortest.min(took.unwrap_or_else(|| start.0.elapsed()));
        used = Some(measured);
        // A slow case is plain after one round.
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
    // Below a millisecond other things than the input take most of the time.
    let slow = time > 8.0 && large > Duration::from_millis(1);
    let text = format!("4 times the input takes {time:.1} times the time ({large:?}), {bytes:.1} times the bytes");
    (slow || bytes > 6.0).then_some(text)
}

/// A description of excessive growth from the first input to the second, which is four times as large.
///
/// Memory is compared only if [`Counting`](crate::alloc::Counting) is the allocator. A busy machine gets three chances.
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
        assert!(too_fast(&[2_000_000, 32_000_000], spin).is_some());
        assert_eq!(too_fast(&[2_000_000, 8_000_000], spin), None);
    }
}
