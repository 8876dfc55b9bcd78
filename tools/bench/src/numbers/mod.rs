//! Compares number kernels in one process: one group per job, alternating rounds, nanoseconds per value.
//!
//! A contender processes all values of its group in one call. The first call verifies its result; later calls alternate
//! with the other contenders in rounds, so that a slow moment of the machine affects all of them. See [`format`] for
//! formatting, [`parse`] for parsing, [`records`] for rows of several types.

mod format;
mod parse;
mod records;

use crate::Failure;
use std::time::Instant;

/// Values per call: too many for the branch predictor to memorize.
const VALUES: usize = 3 << 14;

/// A job of several contenders.
struct Group<'a> {
    name: &'static str,
    values: usize,
    contenders: Vec<Contender<'a>>,
}

/// An implementation of the job.
struct Contender<'a> {
    name: &'static str,
    /// Whether the result is correct, or `None` for a different job, shown only for scale.
    agrees: Option<bool>,
    run: Box<dyn FnMut() + 'a>,
}

/// Measures all groups and prints a line for each contender.
pub fn main(rounds: usize) -> Result<(), Failure> {
    format::groups(&mut |group| measure(group, rounds));
    parse::groups(&mut |group| measure(group, rounds))
}

/// Measures records and prints a line for each contender.
pub fn records(rounds: usize) -> Result<(), Failure> {
    records::groups(&mut |group| measure(group, rounds))
}

/// Prints `numbers group=G name=N ns=MINIMUM median_ns=M agrees=yes|no|other` for each contender.
fn measure(mut group: Group<'_>, rounds: usize) {
    let mut times = vec![Vec::with_capacity(rounds); group.contenders.len()];
    for _ in 0..rounds.max(1) {
        for (contender, times) in group.contenders.iter_mut().zip(&mut times) {
            // Unmeasured: brings code and tables back into the caches.
            (contender.run)();
            let start = Instant::now();
            (contender.run)();
            times.push(start.elapsed().as_secs_f64() * 1e9 / group.values as f64);
        }
    }
    for (contender, times) in group.contenders.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let agrees = contender.agrees.map_or("other", |agrees| if agrees { "yes" } else { "no" });
        let min = times[0];
        let median = times[times.len() / 2];
        println!(
            "numbers group={} name={} ns={min:.3} median_ns={median:.3} agrees={agrees}",
            group.name, contender.name
        );
    }
}

/// Returns random numbers, uniformly distributed over [-100, 100].
fn values() -> Vec<f64> {
    let mut state = 1u64;
    let next = std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ state >> 31) as i64 as f64 / 2f64.powi(63) * 100.0
    });
    next.take(VALUES).collect()
}

/// Returns the same numbers as f32.
fn floats() -> Vec<f32> {
    values().into_iter().map(|value| value as f32).collect()
}
