//! Measures the cost of reads from the page cache on this machine, the reference for buffering.

use crate::files::{File, Transfers};
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Size of a buffered read in bytes.
const BLOCK_BYTES: usize = 64 << 10;

/// Number of blocks, and of single bytes, read per round. Each round reads others, since blocks that were just read are
/// in the processor's cache, unlike the files of most programs.
const BLOCKS: u64 = 16;
const ROUNDS: u32 = 4;

/// Cost of reads from the page cache.
#[derive(Clone, Copy, Debug)]
pub struct Cached {
    /// Bytes per second in calls of 64 KiB.
    pub bytes_per_second: f64,
    /// Cost of a one-byte call in nanoseconds.
    pub call_ns: f64,
}

/// Used if the measurement fails.
const UNKNOWN: Cached = Cached { bytes_per_second: 4e9, call_ns: 200.0 };

impl Cached {
    /// Reads this program's executable, which is in the page cache while it runs. Takes a few milliseconds.
    pub fn measure() -> Cached {
        let Ok(file) = std::fs::File::open("/proc/self/exe") else { return UNKNOWN };
        let mut block = vec![0; BLOCK_BYTES];
        let blocks_ns = best_ns(|at| file.read_exact_at(&mut block, at * BLOCK_BYTES as u64).is_ok());
        let mut byte = [0];
        let bytes_ns = best_ns(|at| file.read_exact_at(&mut byte, at).is_ok());
        match (blocks_ns, bytes_ns) {
            (Some(blocks_ns), Some(bytes_ns)) => {
                let bytes_per_second = BLOCK_BYTES as f64 / blocks_ns.max(1.0) * 1e9;
                Cached { bytes_per_second, call_ns: bytes_ns }
            }
            _ => UNKNOWN,
        }
    }

    /// Time of reads or writes in seconds: as measured, but at least the cost of one-byte calls.
    pub fn seconds(&self, transfers: &Transfers) -> f64 {
        // The overhead of tracing may have been overestimated, which would make the measured time too short.
        (transfers.time_ns as f64).max(transfers.calls as f64 * self.call_ns) / 1e9
    }

    /// Estimated time in seconds if a file were read and written in calls of 64 KiB: the time for its bytes at the
    /// cached rate, plus waiting. At most [`Cached::seconds`].
    pub fn buffered_seconds(&self, file: &File) -> f64 {
        // A buffer is filled again after each jump.
        let jumped = file.jumps.saturating_mul(BLOCK_BYTES as u64);
        let is_writing = file.writes.calls > file.reads.calls;
        let buffered = |transfers: &Transfers, jumped: u64| {
            let bytes = transfers.bytes.max(jumped);
            let moving = bytes as f64 / self.bytes_per_second + transfers.waited_ns as f64 / 1e9;
            moving.min(self.seconds(transfers))
        };
        let [read, written] = if is_writing { [0, jumped] } else { [jumped, 0] };
        buffered(&file.reads, read) + buffered(&file.writes, written)
    }
}

/// Minimum over all rounds of the mean time per call. `call` receives its index, and returns `false` on failure.
fn best_ns(mut call: impl FnMut(u64) -> bool) -> Option<f64> {
    let mut best = f64::INFINITY;
    for round in 0..u64::from(ROUNDS) {
        let start = Instant::now();
        if !(round * BLOCKS..(round + 1) * BLOCKS).all(&mut call) {
            return None;
        }
        // The minimum is least disturbed by other programs.
        best = best.min(start.elapsed().as_nanos() as f64 / BLOCKS as f64);
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use crate::filter::Call;

    #[test]
    fn buffering_spares_calls_and_no_waits() {
        let cached = Cached { bytes_per_second: 1e9, call_ns: 100.0 };
        let mut files = Files::new(true);
        let file = files.plain_file("a").unwrap();
        for _ in 0..1000 {
            file.add(Call::Read, Some(3), 0, 1_000);
        }
        assert_eq!((cached.seconds(&file.reads), cached.buffered_seconds(file)), (1e-3, 3e-6));
        file.jumps = 1000;
        assert_eq!(cached.buffered_seconds(file), 1e-3);
        file.jumps = 0;
        file.add(Call::Read, Some(3), 0, 5_000_000);
        assert!((cached.buffered_seconds(file) - 5.003e-3).abs() < 1e-8);
        file.add(Call::Write, Some(1 << 20), 0, -1_000);
        assert_eq!((cached.seconds(&file.writes), file.writes.bytes), (1e-7, 1 << 20));
        assert!(cached.buffered_seconds(file) < 5.1e-3);
    }

    #[test]
    fn the_yardstick_is_sound() {
        let cached = Cached::measure();
        assert!(cached.bytes_per_second > 1e7 && cached.call_ns > 1.0 && cached.call_ns.is_finite());
    }
}
