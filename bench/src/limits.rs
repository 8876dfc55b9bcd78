//! What no reader and no writer can beat: moving the same number of bytes and doing next to
//! nothing with them.

use crate::{Failure, measure};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::Path;

/// Blocks of this size measured fastest in both directions: they stay in the second-level cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Reads `file` once: `limit-lines` counts its lines in a reused block, `limit-memory` puts it into
/// fresh memory.
pub fn read(name: &str, file: &Path) -> Result<(), Failure> {
    let (result, timing) = match name {
        "limit-lines" => measure::timed(|| count_lines(file)),
        _ => measure::timed(|| Ok((black_box(std::fs::read(file)?).len() as u64, 0))),
    };
    let (bytes, lines) = result?;
    measure::print(timing, &[("bytes", bytes), ("lines", lines)]);
    Ok(())
}

/// Bytes and lines of `file`.
fn count_lines(file: &Path) -> Result<(u64, u64), Failure> {
    let mut file = File::open(file)?;
    let mut block = vec![0; BLOCK_BYTES];
    let (mut bytes, mut lines) = (0, 0);
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((bytes, lines));
        }
        bytes += count as u64;
        lines += memchr::memchr_iter(b'\n', &block[..count]).count() as u64;
    }
}

/// Writes as many bytes as `file` has into the new file `output`. They all come from one block: a
/// writer that formats into a reused buffer has its bytes in the cache too.
pub fn write(file: &Path, output: &Path) -> Result<(), Failure> {
    let size = std::fs::metadata(file)?.len();
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    File::open(file)?.take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
    let (result, timing) = measure::timed(|| write_blocks(&block, size, output));
    result?;
    std::fs::remove_file(output)?;
    measure::print(timing, &[("bytes", size)]);
    Ok(())
}

fn write_blocks(block: &[u8], size: u64, output: &Path) -> std::io::Result<()> {
    let mut file = File::create_new(output)?;
    let mut left = size;
    while left > 0 {
        let count = left.min(block.len() as u64);
        file.write_all(&block[..count as usize])?;
        left -= count;
    }
    Ok(())
}
