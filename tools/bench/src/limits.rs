//! Limits of readers and writers: the time to move the same number of bytes with almost no work.

use crate::{Failure, measure};
use polyhaul_bytes::{DecompressLimits, Source, decompressed};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// Fastest block size in both directions when measured: blocks stay in the L2 cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Reads `file` once: `limit-once` into a reused block, `limit-lines` also counts its lines, `limit-memory` reads it,
/// or all files of a folder, into fresh memory.
pub fn read(name: &str, file: &Path) -> Result<(), Failure> {
    let (result, timing) = match name {
        "limit-once" => measure::timed(|| blocks(file, BLOCK_BYTES, |_| 0)),
        "limit-lines" => measure::timed(|| blocks(file, BLOCK_BYTES, count_lines)),
        _ => measure::timed(|| memory(file)),
    };
    let (bytes, lines) = result?;
    measure::print(timing, &[("bytes", bytes), ("lines", lines)]);
    Ok(())
}

/// Touches as much fresh memory as `file` has bytes, once per page: `huge` or `small` pages, with a page fault for
/// each; or `populated`, small pages with a system call per 256 KiB.
#[cfg(target_os = "linux")]
pub fn touch(file: &Path, kind: &str) -> Result<(), Failure> {
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    let bytes = (std::fs::metadata(file)?.len() as usize).next_multiple_of(HUGE_PAGE_BYTES);
    let (step, advice) = match kind {
        "huge" => (HUGE_PAGE_BYTES, libc::MADV_HUGEPAGE),
        "small" => (4096, libc::MADV_NOHUGEPAGE),
        "populated" => (BLOCK_BYTES, libc::MADV_NOHUGEPAGE),
        _ => return Err(format!("no kind {kind} of pages").into()),
    };
    let layout = std::alloc::Layout::from_size_align(bytes, HUGE_PAGE_BYTES)?;
    // SAFETY: the size is only zero for an empty file, which no input is; all accessed addresses lie in the allocation,
    // which is never freed.
    let ((), timing) = unsafe {
        let start = std::alloc::alloc(layout);
        libc::madvise(start.cast(), bytes, advice);
        measure::timed(|| {
            for at in (0..bytes).step_by(step) {
                match kind {
                    "populated" => _ = libc::madvise(start.add(at).cast(), step, libc::MADV_POPULATE_WRITE),
                    _ => start.add(at).write_volatile(1),
                }
            }
        })
    };
    measure::print(timing, &[("bytes", bytes as u64)]);
    Ok(())
}

fn count_lines(block: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', block).count() as u64
}

/// Reads `file` once in calls of `call_bytes`, like a program written that way.
pub fn calls(file: &Path, call_bytes: usize) -> Result<(), Failure> {
    let (result, timing) = measure::timed(|| blocks(file, call_bytes, |_| 0));
    measure::print(timing, &[("bytes", result?.0)]);
    Ok(())
}

/// Lists all files in a folder and its subfolders, sorted by name, or the file itself.
pub fn files(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    let mut paths: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
    paths.sort();
    let inner: Vec<Vec<PathBuf>> = paths.iter().map(|path| files(path)).collect::<Result<_, _>>()?;
    Ok(inner.concat())
}

fn memory(path: &Path) -> Result<(u64, u64), Failure> {
    let contents: Vec<Vec<u8>> = files(path)?.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    Ok((black_box(&contents).iter().map(|bytes| bytes.len() as u64).sum(), 0))
}

/// Copies a file, or all files of a folder, to `/dev/null` with `cat`.
pub fn cat(path: &Path) -> Result<(), Failure> {
    let mut cat = Command::new("cat");
    cat.args(files(path)?).stdout(Stdio::null());
    let (status, timing) = measure::timed(|| cat.status());
    if !status?.success() {
        return Err("cat failed".into());
    }
    measure::print(timing, &[]);
    Ok(())
}

/// Returns the size of `file`, and the sum of `look` over its blocks of `block_bytes`.
fn blocks(file: &Path, block_bytes: usize, look: impl Fn(&[u8]) -> u64) -> Result<(u64, u64), Failure> {
    let mut file = File::open(file)?;
    let mut block = vec![0; block_bytes];
    let mut bytes = 0;
    let mut total = 0;
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((bytes, total));
        }
        bytes += count as u64;
        total += look(black_box(&block[..count]));
    }
}

/// Decompresses `file`, or sequentially all files of a folder, with polyhaul, and discards the data. Uncompressed files
/// are only read.
pub fn inflate(path: &Path, threads: usize) -> Result<(), Failure> {
    let files = files(path)?;
    let (result, timing) =
        measure::timed(|| files.iter().map(|file| inflate_file(file, threads)).sum::<std::io::Result<u64>>());
    measure::print(timing, &[("bytes", result?)]);
    Ok(())
}

fn inflate_file(file: &Path, threads: usize) -> std::io::Result<u64> {
    let source = decompressed(Source::open(file)?, &DecompressLimits::default())?;
    match source.is_positioned() {
        true => inflate_pieces(&source, threads),
        false => inflate_stream(&source),
    }
}

fn inflate_stream(source: &Source<'_>) -> std::io::Result<u64> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut bytes = 0;
    loop {
        match source.read_next(&mut block)? {
            0 => return Ok(bytes),
            count => bytes += black_box(&block[..count]).len() as u64,
        }
    }
}

/// Decompresses pieces in parallel; each thread takes the next piece.
fn inflate_pieces(source: &Source<'_>, threads: usize) -> std::io::Result<u64> {
    let next = AtomicU64::new(0);
    let work = || -> std::io::Result<u64> {
        let mut block = vec![0; source.piece_bytes().unwrap_or(BLOCK_BYTES)];
        let mut bytes = 0;
        while let Some(piece) = source.piece(next.fetch_add(1, Ordering::Relaxed)) {
            let room = &mut block[..(piece.end - piece.start) as usize];
            bytes += black_box(source.read_at(piece.start, room)?) as u64;
        }
        Ok(bytes)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work()?;
        workers.into_iter().try_fold(mine, |sum, worker| Ok(sum + worker.join().unwrap_or(Ok(0))?))
    })
}

/// Writes as many bytes as `file` has to the new file `output`, all from one block: a writer that formats into a reused
/// buffer also has its bytes in the cache.
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
