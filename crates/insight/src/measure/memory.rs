//! Memory and core figures: copying, fresh pages, and the throughput of all cores in parallel.
//!
//! Touches no files. The pipeline starts the threads.

use super::{Bench, median, per_second};
use crate::ceilings::Ceilings;
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::crew::on_threads;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of figures.
pub(super) const FIGURES: u64 = 3;

/// Iterations of the compute loop between clock reads.
const STEPS: u64 = 10_000;

/// Duration of each core measurement over three rounds, as a multiple of `MeasureOptions::figure_time`. A round then
/// also covers schedulers with time slices of 0.1 s.
const WATCHED: u32 = 2;

/// Measures memory and cores.
pub(super) fn measure(bench: &Bench<'_>, ceilings: &mut Ceilings) -> Result<()> {
    measure_rates(bench, ceilings)?;
    ceilings.cores_side_by_side = side_by_side(bench, ceilings.cores)?;
    Ok(())
}

/// Measures memory alone.
pub(super) fn measure_rates(bench: &Bench<'_>, ceilings: &mut Ceilings) -> Result<()> {
    let bytes = bench.options.data_bytes.max(1);
    ceilings.copy = copy(bench, bytes)?;
    ceilings.fresh_memory = bench.rate(|| fresh(bytes).map(|memory| memory.len() as u64))?;
    Ok(())
}

fn copy(bench: &Bench<'_>, bytes: usize) -> Result<f64> {
    let from = fresh(bytes)?;
    let mut to = fresh(bytes)?;
    bench.rate(|| {
        black_box(&mut to).copy_from_slice(black_box(&from));
        Ok(bytes as u64)
    })
}

/// Allocates and writes memory. Allocators return blocks of this size as fresh pages.
fn fresh(bytes: usize) -> Result<Vec<u8>> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|_| Error::memory("a buffer"))?;
    memory.resize(bytes, 1);
    black_box(&mut memory);
    Ok(memory)
}

/// Throughput of `threads` threads relative to one thread. Rounds alternate, so that both see the machine in the same
/// state.
fn side_by_side(bench: &Bench<'_>, threads: usize) -> Result<f64> {
    bench.start_figure();
    if threads <= 1 {
        return Ok(1.0);
    }
    let watched = (bench.options.figure_time * WATCHED / 3).max(Duration::from_millis(1));
    let mut alone = Vec::new();
    let mut together = Vec::new();
    bench.rounds(|| {
        alone.push(computed(1, watched));
        together.push(computed(threads, watched));
        Ok(())
    })?;
    Ok(median(&mut together) / median(&mut alone))
}

/// Total iterations per second on `threads` threads.
fn computed(threads: usize, time: Duration) -> f64 {
    let start = Instant::now();
    let steps = AtomicU64::new(0);
    on_threads(threads, || {
        let mut value = 1u64;
        let mut count = 0;
        while count == 0 || start.elapsed() < time {
            for step in 0..STEPS {
                value = (value ^ (value >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9).wrapping_add(step);
            }
            value = black_box(value);
            count += STEPS;
        }
        steps.fetch_add(count, Ordering::Relaxed);
    });
    per_second(steps.into_inner(), start.elapsed())
}
