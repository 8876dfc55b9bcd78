//! Throughput of decompression and compression in MB/s of plain bytes, for each format with one and two threads,
//! compared with zlib-rs and libdeflate; and of hashing output. Also the cost of decoding one gzip member ahead of the
//! reading thread.
//!
//! Run with `cargo bench --manifest-path tools/bench/Cargo.toml --bench compress`, with the path of an OBJ file after
//! `--` or otherwise generated text. Prints the minimum and the median of several alternating rounds, so that a slow
//! moment of the machine affects all tasks.
#![allow(clippy::print_stdout, reason = "what it measures goes to the terminal")]

use polyhaul_bytes::hash::Xxh3;
use polyhaul_bytes::{Codec, DecompressLimits, Encoder, MEMBER_BYTES, Source, decompressed};
use std::fmt::Write;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Number of rounds and bytes of generated text: for measurements, and for a test that only checks that this runs.
const MEASURE_SIZE: (usize, usize) = (7, 30_000_000);
const TRIAL_SIZE: (usize, usize) = (1, 2_500_000);
/// Number of bytes per hash update.
const BLOCK_BYTES: usize = 256 << 10;
const CODECS: [Codec; 3] = [Codec::Gzip, Codec::Zstd, Codec::Lz4];

type Task<'t> = (String, Box<dyn Fn() + 't>);

fn main() {
    // Cargo passes `--bench` to benchmarks, but not when it runs them as tests.
    let (rounds, bytes) =
        if std::env::args().any(|argument| argument == "--bench") { MEASURE_SIZE } else { TRIAL_SIZE };
    let plain = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .map_or_else(|| text(bytes), |path| std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")));
    println!("{} plain bytes", plain.len());
    let members = CODECS.map(|codec| pack(codec, None, &plain, 1));
    let whole = deflated(&plain, 6);
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (codec, packed) in CODECS.iter().zip(&members) {
        println!("{codec}: {:.2} times smaller", plain.len() as f64 / packed.len() as f64);
        tasks.push((format!("read {codec}, stream"), Box::new(|| stream(packed))));
        for threads in [1, 2] {
            tasks.push((format!("read {codec}, {threads} threads"), Box::new(move || sweep(packed, threads))));
        }
    }
    tasks.push(("read gzip -6, one member, stream".into(), Box::new(|| stream(&whole))));
    tasks.push(("  zlib-rs".into(), Box::new(|| zlib_rs_reads(&whole))));
    tasks.push(("  libdeflate, as a whole".into(), Box::new(|| libdeflate_reads(&whole, plain.len()))));
    for (codec, levels) in [(Codec::Gzip, &[1, 3, 6][..]), (Codec::Zstd, &[1, 3, 9]), (Codec::Lz4, &[1])] {
        for &level in levels {
            for threads in [1, 2] {
                let plain = &plain;
                let write = move || drop(black_box(pack(codec, Some(level), plain, threads)));
                tasks.push((format!("write {codec} level {level}, {threads} threads"), Box::new(write)));
            }
        }
    }
    tasks.push(("hash of outputs".into(), Box::new(|| hash(&plain))));
    tasks.push(("  xxhash-rust".into(), Box::new(|| hash_by_peer(&plain))));
    report(&tasks, rounds, plain.len());
    report_ahead(&whole, rounds, plain.len());
}

/// Times of one pass over a gzip member, in seconds.
#[derive(Clone, Copy)]
struct AheadTimes {
    /// Decoding on one thread.
    alone: f64,
    /// Work for other threads: finding blocks, decoding them with markers, replacing the markers.
    ahead: f64,
    /// Work left for the reading thread: copying, and the checksum.
    in_order: f64,
    /// Decoding on 16 threads, with the available cores.
    with_16: f64,
}

/// Prints the cost of decoding ahead, and the resulting bound for many cores.
fn report_ahead(packed: &[u8], rounds: usize, bytes: usize) {
    let pass = || {
        let start = Instant::now();
        stream(packed);
        let alone = start.elapsed().as_secs_f64();
        let (ahead, in_order) = in_turn(packed);
        let start = Instant::now();
        beside(packed, 16);
        AheadTimes { alone, ahead, in_order, with_16: start.elapsed().as_secs_f64() }
    };
    let passes: Vec<AheadTimes> = (0..rounds).map(|_| pass()).collect();
    let fastest = |time: fn(&AheadTimes) -> f64| passes.iter().map(time).fold(f64::MAX, f64::min);
    let alone = fastest(|times| times.alone);
    let ahead = fastest(|times| times.ahead);
    let in_order = fastest(|times| times.in_order);
    let rate = |time: f64| bytes as f64 / time / 1e6;
    println!("gzip -6, one member: {:.0} MB/s by one thread", rate(alone));
    println!("  decoded ahead {:.0} MB/s, then read in order {:.0} MB/s", rate(ahead), rate(in_order));
    println!("  all work {:.2} times that of one thread", (ahead + in_order) / alone);
    println!("  16 threads, on the cores of this machine: {:.0} MB/s", rate(fastest(|times| times.with_16)));
    for cores in [2, 8, 16] {
        let bound = in_order.max((ahead + in_order) / f64::from(cores));
        println!("  at best {:.1} times as fast on {cores} cores", alone / bound);
    }
    let noise = noise(packed.len());
    let time = (0..rounds).map(|_| in_turn(&noise).0).fold(f64::MAX, f64::min);
    println!("  search for blocks: {:.0} MB/s of compressed bytes", noise.len() as f64 / time / 1e6);
}

/// Returns bytes after the header of a gzip file in which no block can be found.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..bytes).map(|_| next()).collect();
    let mut packed = deflated(&noise, 0);
    packed.truncate(bytes);
    packed
}

fn one_member(packed: &[u8]) -> Source<'_> {
    decompressed(Source::memory(packed), &DecompressLimits::default().with_threads(16)).unwrap()
}

/// Does all possible work ahead before each read, on one thread. Returns the seconds spent on work ahead and on reads.
fn in_turn(packed: &[u8]) -> (f64, f64) {
    let source = one_member(packed);
    let mut block = vec![0; 1 << 18];
    let mut ahead = 0.0;
    let mut in_order = 0.0;
    loop {
        let start = Instant::now();
        while source.ahead().is_some_and(|ahead| ahead.work()) {}
        let middle = Instant::now();
        let count = source.read_next(black_box(&mut block)).unwrap_or(0);
        ahead += (middle - start).as_secs_f64();
        in_order += middle.elapsed().as_secs_f64();
        if count < block.len() {
            return (ahead, in_order);
        }
    }
}

/// Reads on one thread, while the others decode ahead.
fn beside(packed: &[u8], threads: usize) {
    let source = one_member(packed);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    if !source.ahead().is_some_and(|ahead| ahead.work()) {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            });
        }
        let mut block = vec![0; 1 << 18];
        while source.read_next(black_box(&mut block)).unwrap() == block.len() {}
        is_over.store(true, Relaxed);
    });
}

fn report(tasks: &[Task<'_>], rounds: usize, bytes: usize) {
    let mut times = vec![Vec::new(); tasks.len()];
    for _ in 0..rounds {
        for ((_, run), times) in tasks.iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64());
        }
    }
    for ((name, _), times) in tasks.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let rate = |time: f64| bytes as f64 / time / 1e6;
        println!("{name:36} fastest {:6.0} MB/s   middle {:6.0} MB/s", rate(times[0]), rate(times[rounds / 2]));
    }
}

/// Generates text in the style of exporters: positions, uvs, normals and faces of a wavy grid.
fn text(bytes: usize) -> Vec<u8> {
    const COLUMNS: usize = 400;
    let mut text = String::new();
    let mut row = 0;
    let mut noise = 1u64;
    while text.len() < bytes {
        for column in 0..COLUMNS {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let u = column as f64 / COLUMNS as f64;
            let v = row as f64 / COLUMNS as f64;
            let z = (u * 9.0).sin() * (v * 7.0).cos() + (noise >> 50) as f64 * 1e-7;
            let _ = writeln!(text, "v {:.6} {:.6} {z:.6}\nvt {u:.6} {v:.6}", u * 4.0 - 2.0, v * 4.0 - 2.0);
            let _ = writeln!(text, "vn {:.4} {:.4} {:.4}", z * 0.3, u.cos() * 0.5, v.sin());
        }
        for a in (row * COLUMNS + 1..(row + 1) * COLUMNS).filter(|_| row > 0) {
            let b = a + 1;
            let c = a + 1 - COLUMNS;
            let d = a - COLUMNS;
            let _ = writeln!(text, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c} {d}/{d}/{d}");
        }
        row += 1;
    }
    text.into_bytes()
}

fn pack(codec: Codec, level: Option<i32>, plain: &[u8], threads: usize) -> Vec<u8> {
    let members: Vec<&[u8]> = plain.chunks(MEMBER_BYTES).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut encoder = Encoder::new(codec, level).unwrap();
        let mut results = Vec::new();
        while let Some(member) = members.get(next.fetch_add(1, Relaxed)) {
            let mut packed = Vec::new();
            encoder.encode(member, &mut packed).unwrap();
            results.push((member.as_ptr() as usize, packed));
        }
        results
    };
    let mut packed_members: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    packed_members.sort();
    packed_members.into_iter().flat_map(|(_, packed)| packed).collect()
}

fn deflated(plain: &[u8], level: i32) -> Vec<u8> {
    let mut packed = vec![0; plain.len() + plain.len() / 1000 + 1000];
    let mut deflate = zlib_rs::Deflate::new(level, true, 16 + 15);
    deflate.compress(plain, &mut packed, zlib_rs::DeflateFlush::Finish).unwrap();
    packed.truncate(deflate.total_out() as usize);
    packed
}

/// Hashes the first block as often as the text has blocks: freshly formatted output is in a cache.
fn hash(plain: &[u8]) {
    let mut hash = Xxh3::new();
    plain.chunks(BLOCK_BYTES).for_each(|_| hash.update(black_box(&plain[..BLOCK_BYTES])));
    black_box(hash.digest());
}

fn hash_by_peer(plain: &[u8]) {
    let mut hash = xxhash_rust::xxh3::Xxh3Default::new();
    plain.chunks(BLOCK_BYTES).for_each(|_| hash.update(black_box(&plain[..BLOCK_BYTES])));
    black_box(hash.digest128());
}

/// Decompresses from a stream.
fn stream(packed: &[u8]) {
    let source = Source::reader(Box::new(packed), "packed");
    let source = decompressed(source, &DecompressLimits::default()).unwrap();
    let mut block = vec![0; 1 << 20];
    while source.read_next(black_box(&mut block)).unwrap() == block.len() {}
}

/// Decompresses pieces on several threads.
fn sweep(packed: &[u8], threads: usize) {
    let source = decompressed(Source::memory(packed), &DecompressLimits::default()).unwrap();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut block = vec![0; source.piece_bytes().unwrap()];
        while let Some(piece) = source.piece(next.fetch_add(1, Relaxed) as u64) {
            let len = (piece.end - piece.start) as usize;
            source.read_at(piece.start, black_box(&mut block[..len])).unwrap();
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

fn zlib_rs_reads(packed: &[u8]) {
    let mut inflate = zlib_rs::Inflate::new(true, 16 + 15);
    let mut block = vec![0; 1 << 20];
    loop {
        let rest = &packed[inflate.total_in() as usize..];
        let result = inflate.decompress(rest, black_box(&mut block), zlib_rs::InflateFlush::NoFlush);
        if result.unwrap() == zlib_rs::Status::StreamEnd {
            return;
        }
    }
}

fn libdeflate_reads(packed: &[u8], len: usize) {
    let mut plain = vec![0; len];
    libdeflater::Decompressor::new().gzip_decompress(packed, black_box(&mut plain)).unwrap();
}
