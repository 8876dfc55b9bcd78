//! Disk figures of a folder: writing, syncing, cached reads, cold reads, small reads.
//!
//! The data is incompressible and cannot be deduplicated by the file system. Files are unlinked right after creation if
//! the system allows it, so that none remains after a crash. Touches no other files.

use super::system;
use super::system::read_at;
use super::{Bench, LONG, median, per_second};
use crate::ceilings::{Ceilings, Written};
use polyhaul_model::error::{Error, Result};
use polyhaul_pipeline::machine::free_memory_bytes;
use polyhaul_pipeline::parallel::try_for_each_item;
use polyhaul_trace::Usage;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of figures: write sizes and reads.
pub(super) const FIGURES: u64 = SHARES.len() as u64 + 4;

/// Divisors of the largest file size, for the sizes to write.
const SHARES: [u64; 4] = [256, 16, 4, 1];

/// Bytes per call; larger calls are not faster.
const BLOCK_BYTES: usize = 1 << 20;

/// Alignment sufficient for direct I/O on any disk.
const ALIGNMENT_BYTES: usize = 4096;

/// Bytes per small read: an RGB pixel.
const SMALL_BYTES: usize = 3;

/// Small reads per round.
const SMALL_COUNT: u64 = 20_000;

/// Distance between small reads, so that consecutive reads touch different pages.
const STRIDE_BYTES: u64 = 8_191;

/// A file may occupy at most this fraction (1/8) of the free disk space and of the free memory.
const ROOM_SHARE: u64 = 8;

/// Note if cold reads cannot be verified.
const UNSAID: &str = "this system does not report whether data came from the disk";

/// Minimum percentage of a cold read that must come from the disk.
const COLD_PERCENT: u64 = 95;

/// Measures the disk of `folder` into `ceilings`.
pub(super) fn measure(bench: &Bench<'_>, folder: &Path, ceilings: &mut Ceilings) -> Result<()> {
    let scratch = write_sizes(bench, folder, ceilings)?;
    // The smallest file fits into CPU caches: 7.3 GB/s, compared with 4.3 to 4.8 for files of 16 to 256 MiB.
    let counted = match ceilings.writes.as_slice() {
        [_, larger @ ..] if !larger.is_empty() => larger,
        sizes => sizes,
    };
    let best = |rate: fn(&Written) -> f64| counted.iter().map(rate).fold(0.0, f64::max);
    ceilings.write = best(|size| size.write);
    ceilings.write_sync = best(|size| size.write_sync);
    ceilings.cached_read = bench.rate(|| scratch.read(bench, 1))?;
    ceilings.cached_read_all = bench.rate(|| scratch.read(bench, ceilings.cores))?;
    ceilings.small_read_ns = 1e9 / bench.rate(|| scratch.small_reads())?.max(1.0);
    match cold(bench, &scratch, ceilings.cores)? {
        Ok(rate) => ceilings.cold_read = Some(rate),
        Err(why) => ceilings.notes.push(format!("cold reads were not measured: {why}")),
    }
    Ok(())
}

/// Writes files of increasing size until space or memory is scarce or the disk is slow. Returns the last file.
fn write_sizes(bench: &Bench<'_>, folder: &Path, ceilings: &mut Ceilings) -> Result<Scratch> {
    let mut block = incompressible();
    let mut last: Option<Scratch> = None;
    let mut stopped = None;
    for share in SHARES {
        bench.start_figure();
        let bytes = (bench.options.file_bytes / share).max(1);
        stopped = stopped.or_else(|| last.as_ref()?.why_not(bytes));
        if stopped.is_some() {
            continue;
        }
        match write_size(bench, folder, bytes, &mut block) {
            Ok((size, scratch)) => {
                ceilings.writes.push(size);
                last = Some(scratch);
            }
            Err(error) if last.is_some() && is_no_room(&error) => stopped = Some("no space for larger files"),
            Err(error) => return Err(error),
        }
    }
    let Some(last) = last else { return Err(Error::cancelled()) };
    ceilings
        .notes
        .extend(stopped.map(|why| format!("only files of up to {} MB were used: {why}", last.bytes / 1_000_000)));
    Ok(last)
}

/// Measures writing files of one size. Returns the rates and the last file.
fn write_size(bench: &Bench<'_>, folder: &Path, bytes: u64, block: &mut [u8]) -> Result<(Written, Scratch)> {
    let mut write = Vec::new();
    let mut write_sync = Vec::new();
    let mut last = None;
    bench.rounds(|| {
        // Remove the previous file first: two files would need twice the space.
        last = None;
        let mut scratch = Scratch::new(folder)?;
        let start = Instant::now();
        scratch.write(bench, bytes, block)?;
        write.push(per_second(bytes, start.elapsed()));
        scratch.file.sync_all().map_err(|error| scratch.failed("sync", error))?;
        scratch.took = start.elapsed();
        write_sync.push(per_second(bytes, scratch.took));
        last = Some(scratch);
        Ok(())
    })?;
    let size = Written { bytes, write: median(&mut write), write_sync: median(&mut write_sync) };
    // Every successful round leaves a file.
    last.map(|scratch| (size, scratch)).ok_or_else(Error::cancelled)
}

/// Cold read rate, or the reason why it is unknown. The better of two methods counts: through the page cache, and
/// direct I/O if supported.
fn cold(bench: &Bench<'_>, scratch: &Scratch, threads: usize) -> Result<std::result::Result<f64, &'static str>> {
    bench.start_figure();
    if fetched_bytes().is_none() {
        return Ok(Err(UNSAID));
    }
    let through = cold_rounds(bench, scratch, threads)?;
    let past = if system::set_direct(&scratch.file, true) { cold_rounds(bench, scratch, threads) } else { Ok(None) };
    system::set_direct(&scratch.file, false);
    // Some file systems accept direct I/O, then fail to read.
    let past = past.unwrap_or_default();
    bench.check()?;
    let best = [through, past].into_iter().flatten().reduce(f64::max);
    // Emulated systems may count nothing.
    let counts = fetched_bytes() != Some(0);
    Ok(best.ok_or(if counts { "the file system is in memory" } else { UNSAID }))
}

/// Median rate of cold reads, or `None` if data did not come from the disk.
fn cold_rounds(bench: &Bench<'_>, scratch: &Scratch, threads: usize) -> Result<Option<f64>> {
    let mut rates = Vec::new();
    let mut is_cold = true;
    bench.rounds(|| {
        if !is_cold {
            return Ok(());
        }
        system::forget_cached(&scratch.file);
        let before = fetched_bytes();
        let start = Instant::now();
        let bytes = scratch.read(bench, threads)?;
        rates.push(per_second(bytes, start.elapsed()));
        // Without a count, nothing counts as fetched, so the read does not count as cold.
        let fetched = fetched_bytes().unwrap_or(0).saturating_sub(before.unwrap_or(u64::MAX));
        is_cold = fetched >= bytes / 100 * COLD_PERCENT;
        Ok(())
    })?;
    Ok(is_cold.then(|| median(&mut rates)))
}

/// Bytes fetched from disks by this process so far.
fn fetched_bytes() -> Option<u64> {
    Usage::now()?.disk_read_bytes
}

/// An unlinked temporary file.
struct Scratch {
    file: File,
    bytes: u64,
    /// Duration of writing and syncing.
    took: Duration,
    /// Its folder, for error messages.
    folder: PathBuf,
    /// Path to delete on drop, if it could not be unlinked while open.
    left: Option<PathBuf>,
}

impl Scratch {
    fn new(folder: &Path) -> Result<Scratch> {
        let mut attempt = 0;
        loop {
            let path = folder.join(format!(".polyhaul-limits.{}-{attempt}.tmp", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let left = std::fs::remove_file(&path).is_err().then_some(path);
                    return Ok(Scratch { file, bytes: 0, took: Duration::ZERO, folder: folder.to_path_buf(), left });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => {
                    let error = Error::io("create a temporary file", &folder.display().to_string(), error);
                    return Err(error.with_hint("use a writable folder"));
                }
            }
        }
    }

    fn failed(&self, action: &str, error: io::Error) -> Error {
        let what = format!("{action} a temporary file");
        Error::io(&what, &self.folder.display().to_string(), error)
    }

    fn write(&mut self, bench: &Bench<'_>, bytes: u64, block: &mut [u8]) -> Result<()> {
        while self.bytes < bytes {
            bench.check()?;
            stamp(block, self.bytes);
            let count = block.len().min(usize::try_from(bytes - self.bytes).unwrap_or(usize::MAX));
            let part = block.get(..count).unwrap_or_default();
            self.file.write_all(part).map_err(|error| self.failed("write", error))?;
            self.bytes += count as u64;
        }
        Ok(())
    }

    /// Reason not to write a file of this size next, if any.
    fn why_not(&self, bytes: u64) -> Option<&'static str> {
        let is_too_much = |free: Option<u64>| free.is_some_and(|free| bytes > free / ROOM_SHARE);
        if is_too_much(system::free_bytes(&self.file)) {
            Some("the disk is almost full")
        } else if is_too_much(free_memory_bytes()) {
            Some("too little memory is free")
        } else if self.took.as_secs_f64() * (bytes as f64 / self.bytes.max(1) as f64) > LONG.as_secs_f64() {
            Some("the disk is slow")
        } else {
            None
        }
    }

    /// Reads the whole file in blocks, on `threads` threads.
    fn read(&self, bench: &Bench<'_>, threads: usize) -> Result<u64> {
        let blocks = self.bytes.div_ceil(BLOCK_BYTES as u64);
        try_for_each_item(threads, &bench.options.cancel, 0..blocks, room, |room, index| {
            let offset = index * BLOCK_BYTES as u64;
            let length = (self.bytes - offset).min(BLOCK_BYTES as u64) as usize;
            self.read_block(aligned(room), offset, length).map_err(|error| self.failed("read", error))
        })?;
        Ok(self.bytes)
    }

    /// Reads `length` bytes. Requests a whole block even at the end of the file, because direct I/O requires it.
    fn read_block(&self, out: &mut [u8], offset: u64, length: usize) -> io::Result<()> {
        let mut count = 0;
        while count < length {
            match read_at(&self.file, out.get_mut(count..).unwrap_or_default(), offset + count as u64) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(more) => count += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a few bytes many times. Returns the number of reads.
    fn small_reads(&self) -> Result<u64> {
        let mut pixel = [0; SMALL_BYTES];
        let places = self.bytes.saturating_sub(SMALL_BYTES as u64).max(1);
        for index in 0..SMALL_COUNT {
            let offset = index * STRIDE_BYTES % places;
            read_at(&self.file, &mut pixel, offset).map_err(|error| self.failed("read", error))?;
        }
        Ok(SMALL_COUNT)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(path) = &self.left {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A buffer with space to align a block.
fn room() -> Vec<u8> {
    vec![0; BLOCK_BYTES + ALIGNMENT_BYTES]
}

/// The aligned block in a buffer.
fn aligned(room: &mut [u8]) -> &mut [u8] {
    let start = room.as_ptr().align_offset(ALIGNMENT_BYTES).min(ALIGNMENT_BYTES);
    room.get_mut(start..start + BLOCK_BYTES).unwrap_or_default()
}

/// An incompressible block, generated with SplitMix64.
fn incompressible() -> Vec<u8> {
    let word = |index: usize| {
        let mut x = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    (1..=BLOCK_BYTES / 8).flat_map(|index| word(index).to_le_bytes()).collect()
}

/// Makes every page of a block unique to its offset, since some disks deduplicate pages.
fn stamp(block: &mut [u8], offset: u64) {
    for page in block.chunks_exact_mut(ALIGNMENT_BYTES) {
        if let Some(first) = page.first_chunk_mut::<8>() {
            *first = offset.to_le_bytes();
        }
    }
}

/// Returns whether the error is a full disk, or an exceeded quota or file size limit.
fn is_no_room(error: &Error) -> bool {
    let kind = error.io_error().map(io::Error::kind);
    matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cannot_be_packed_and_differ() {
        let mut block = incompressible();
        let mut packed = Vec::new();
        let codec = polyhaul_bytes::Codec::Zstd;
        polyhaul_bytes::Encoder::new(codec, Some(19)).unwrap().encode(&block, &mut packed).unwrap();
        assert!(packed.len() > BLOCK_BYTES);
        let before = block.clone();
        stamp(&mut block, 1 << 20);
        let pages = block.chunks(ALIGNMENT_BYTES).zip(before.chunks(ALIGNMENT_BYTES));
        assert!(pages.into_iter().all(|(page, previous)| page != previous));
    }

    #[test]
    fn blocks_are_aligned() {
        let mut room = room();
        let block = aligned(&mut room);
        assert_eq!((block.len(), block.as_ptr() as usize % ALIGNMENT_BYTES), (BLOCK_BYTES, 0));
    }

    #[test]
    fn what_takes_too_long_or_too_much_room_is_not_written() {
        let mut scratch = Scratch::new(&std::env::temp_dir()).unwrap();
        scratch.bytes = 1000;
        scratch.took = Duration::from_secs(1);
        assert_eq!(scratch.why_not(2000), None);
        assert_eq!(scratch.why_not(4000), Some("the disk is slow"));
        if cfg!(target_os = "linux") {
            assert_eq!(scratch.why_not(u64::MAX), Some("the disk is almost full"));
        }
    }
}
