//! Measures plain reads and writes of the same bytes, and formats rates relative to them.

use crate::file::io;
use crate::human;
use polyhaul::Result;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Bytes per call; larger calls do not increase the plain rates.
const BLOCK_BYTES: usize = 1 << 20;

/// Number of measurements of each plain rate.
const RUNS: usize = 3;

/// A row of the table.
#[derive(Serialize)]
pub struct Rate {
    name: &'static str,
    bytes: u64,
    seconds: f64,
    bytes_per_second: f64,
}

impl Rate {
    /// The rate of `bytes` in `seconds`.
    pub fn new(name: &'static str, bytes: u64, seconds: f64) -> Rate {
        Rate { name, bytes, seconds, bytes_per_second: bytes as f64 / seconds.max(1e-9) }
    }

    /// Formats the row, with the percentage of the machine's `plain` rate.
    pub fn row(&self, plain: Option<&Rate>) -> String {
        let share = plain.map_or(String::new(), |plain| {
            format!("   {:.0}% of {}", 100.0 * self.bytes_per_second / plain.bytes_per_second, plain.name)
        });
        let time = human::seconds(self.seconds);
        let rate = human::rate(self.bytes, self.seconds);
        format!("  {:<12}{time:>10}{rate:>14}{share}\n", self.name)
    }
}

/// The fastest of [`RUNS`] runs in seconds: other processes can only slow a run down, and the rate serves as an upper
/// limit.
fn best(run: impl Fn() -> Result<f64>) -> Result<f64> {
    (0..RUNS).try_fold(f64::INFINITY, |best, _| Ok(best.min(run()?)))
}

/// Seconds to read the files into a reused buffer.
pub fn plain_read(paths: &[PathBuf]) -> Result<f64> {
    best(|| paths.iter().try_fold(0.0, |seconds, path| Ok(seconds + read_once(path)?)))
}

fn read_once(path: &Path) -> Result<f64> {
    let mut buffer = vec![0; BLOCK_BYTES];
    let start = Instant::now();
    let mut file = File::open(path).map_err(|error| io("open", path, error))?;
    while file.read(&mut buffer).map_err(|error| io("read", path, error))? > 0 {}
    Ok(start.elapsed().as_secs_f64())
}

/// Seconds to write `bytes` to `target` by repeating the first block of `path`.
pub fn plain_write(path: &Path, bytes: u64, target: &Path) -> Result<f64> {
    let block = first_block(path).map_err(|error| io("read", path, error))?;
    best(|| {
        let result = write_repeated(&block, bytes, target);
        let _ = std::fs::remove_file(target);
        result.map_err(|error| io("write", target, error))
    })
}

fn first_block(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut block = Vec::new();
    File::open(path)?.take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
    Ok(block)
}

fn write_repeated(block: &[u8], bytes: u64, target: &Path) -> std::io::Result<f64> {
    let start = Instant::now();
    let mut file = File::create_new(target)?;
    let mut left = bytes;
    while left > 0 && !block.is_empty() {
        let part = left.min(block.len() as u64);
        file.write_all(&block[..part as usize])?;
        left -= part;
    }
    Ok(start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_plain_rate() {
        let write = Rate::new("write", 100_000_000, 0.2);
        let plain = Rate::new("plain write", 100_000_000, 0.1);
        assert_eq!(write.row(Some(&plain)), "  write           0.20 s      500 MB/s   50% of plain write\n");
    }

    #[test]
    fn plain_writes_leave_nothing() {
        let folder = super::super::Folder::new(None).unwrap();
        let file = folder.path().join("a");
        let target = folder.path().join("b");
        std::fs::write(&file, vec![7; BLOCK_BYTES + 5]).unwrap();
        let bytes = BLOCK_BYTES as u64 + 5;
        assert!(plain_write(&file, bytes, &target).unwrap() > 0.0);
        assert!(plain_read(&[file.clone(), file]).unwrap() > 0.0);
        assert!(!target.exists());
    }
}
