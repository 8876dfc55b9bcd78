//! The cost of reads on this machine when the file is in the page cache: the yardstick for buffering.

use crate::files::{File, Transfers};
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// The read size of a buffer.
const BLOCK_BYTES: usize = 64 << 10;

/// The number of blocks, and of single bytes, read in each of a few rounds.
const BLOCKS: u64 = 32;
const ROUNDS: u32 = 8;

/// The cost of reads from the page cache.
#[derive(Clone, Copy, Debug)]
pub struct Cached {
    /// Bytes per second in calls of 64 KiB.
    pub bytes_per_second: f64,
    /// A call of one byte, nanoseconds.
    pub call_ns: f64,
}

/// If nothing could be measured.
const UNKNOWN: Cached = Cached { bytes_per_second: 4e9, call_ns: 200.0 };

impl Cached {
    /// Reads this program's own file, which is in the page cache while it runs; takes some milliseconds.
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

    /// The time of reads and writes, in seconds: as measured, and at least the cost of minimal calls.
    pub fn seconds(&self, transfers: &Transfers) -> f64 {
        (transfers.time_ns as f64).max(transfers.calls as f64 * self.call_ns) / 1e9
    }

    /// The time of all of a file's reads and writes, in seconds, had they been made 64 KiB at a time: the bytes at the
    /// cached rate, plus waiting. Never more than the actual time.
    pub fn buffered_seconds(&self, file: &File) -> f64 {
        let buffered = |transfers: &Transfers| {
            let moving = transfers.bytes as f64 / self.bytes_per_second + transfers.waited_ns as f64 / 1e9;
            moving.min(self.seconds(transfers))
        };
        buffered(&file.reads) + buffered(&file.writes)
    }
}

/// The least time of a call among some rounds, by its number.
fn best_ns(mut call: impl FnMut(u64) -> bool) -> Option<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        if !(0..BLOCKS).all(&mut call) {
            return None;
        }
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
