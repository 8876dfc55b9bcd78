//! Decoding parts ahead changes neither the bytes nor the error, for any span boundaries and any number of threads.

#[cfg(polyhaul_shuttle)]
mod models;

use super::*;
use crate::compress::decoder::SourceDecoder;
use crate::compress::testing::{Noise, deflated};
use crate::{DecompressError, Encoder};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use zlib_rs::{Deflate, DeflateFlush};

const SMALL: PartSizes = PartSizes { span_bytes: 3000, part_bytes: 1 << 20 };

/// Lines like those of exporters: new numbers and repeated words.
fn text(bytes: usize) -> Vec<u8> {
    let mut noise = Noise(3);
    let mut text = Vec::new();
    while text.len() < bytes {
        let line = match noise.below(4) {
            0 => format!("v {}.{} {}\n", noise.below(9), noise.below(1_000_000), noise.below(1000)),
            1 => format!("usemtl material_{}\n", noise.below(40)),
            _ => format!("f {0}/{0} {1}/{1}\n", noise.below(5000), noise.below(5000)),
        };
        text.extend(line.into_bytes());
    }
    text
}

fn gzip(plain: &[u8], level: i32, block: usize) -> Vec<u8> {
    deflated(plain, level, 16 + 15, block)
}

type Answer = (Vec<u8>, Option<DecompressError>);

fn read_all(decoder: &mut SourceDecoder<'_>, mut before: impl FnMut()) -> Answer {
    let mut plain = Vec::new();
    let mut block = vec![0; 50_000];
    loop {
        before();
        match decoder.read(&mut block) {
            Ok(0) => return (plain, None),
            Ok(count) => plain.extend_from_slice(&block[..count]),
            Err(error) => return (plain, error.get_ref().unwrap().downcast_ref().cloned()),
        }
    }
}

fn alone(packed: &[u8]) -> Answer {
    read_all(&mut SourceDecoder::new(Codec::Gzip, Source::memory(packed), &DecompressLimits::default()).unwrap(), || {})
}

fn following<'a>(packed: &'a [u8], sizes: PartSizes, max_parts: usize) -> (GzipAhead<'a>, SourceDecoder<'a>) {
    let source = Source::memory(packed);
    let ahead = GzipAhead::with_sizes(&source, sizes, max_parts);
    let parts = Some(ahead.parts());
    (ahead, SourceDecoder::following(Codec::Gzip, source, &DecompressLimits::default(), parts).unwrap())
}

/// Decodes all possible parts before each read, on one thread. Also returns the number of uncompressed bytes from
/// parts.
fn in_turn(packed: &[u8], sizes: PartSizes) -> (Answer, usize) {
    let (ahead, mut decoder) = following(packed, sizes, 64);
    let answer = read_all(&mut decoder, || while ahead.work() {});
    (answer, ahead.parts.lock().taken_bytes)
}

/// Decodes parts on other threads whenever possible.
fn beside(packed: &[u8], sizes: PartSizes, threads: usize) -> Answer {
    let (ahead, mut decoder) = following(packed, sizes, threads + 1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    if !ahead.work() {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            });
        }
        let answer = read_all(&mut decoder, || {});
        is_over.store(true, Relaxed);
        answer
    })
}

#[test]
fn bytes_are_the_same_for_any_boundaries() {
    let plain = text(700_000);
    for (level, block) in [(2, 9000), (6, 20_000), (9, 50_000), (6, usize::MAX)] {
        let packed = gzip(&plain, level, block);
        for span_bytes in [700, 3000, 40_000] {
            let (answer, taken) = in_turn(&packed, PartSizes { span_bytes, ..SMALL });
            assert!(answer == (plain.clone(), None), "level {level}, blocks of {block}, spans of {span_bytes}");
            assert!(taken > plain.len() / 2, "level {level}, blocks of {block}, spans of {span_bytes}: {taken}");
        }
        for threads in [1, 2, 8, 16] {
            assert!(beside(&packed, SMALL, threads) == (plain.clone(), None), "level {level}, {threads} threads");
        }
    }
}

#[test]
fn other_compressors_are_followed_too() {
    let plain = text(2_500_000);
    for level in [1, 6, 12] {
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::new(level).unwrap());
        let mut packed = vec![0; plain.len()];
        let count = compressor.gzip_compress(&plain, &mut packed).unwrap();
        let (answer, taken) = in_turn(&packed[..count], PartSizes { span_bytes: 60_000, part_bytes: 4 << 20 });
        assert!(answer == (plain.clone(), None) && taken > plain.len() / 2, "level {level}: {taken}");
    }
}

/// Parts whose last 32 KiB have no markers continue as bytes; parts that would exceed the memory limit end early.
#[test]
fn parts_continue_as_bytes_and_keep_to_their_memory() {
    let mut noise = Noise(5);
    let new_bytes: Vec<u8> = (0..2_000_000).map(|_| noise.below(100) as u8).collect();
    let zeros = vec![0; 20_000_000];
    for (plain, name) in [(new_bytes, "new bytes"), (zeros, "zeros"), (text(2_000_000), "text")] {
        let packed = gzip(&plain, 6, 60_000);
        for part_bytes in [300_000, 1 << 20] {
            let sizes = PartSizes { span_bytes: packed.len() as u64 / 5, part_bytes };
            let (ahead, mut decoder) = following(&packed, sizes, 3);
            let answer = read_all(&mut decoder, || while ahead.work() {});
            assert!(answer == (plain.clone(), None), "{name}, parts of {part_bytes}: {:?}", answer.1);
            let queue = ahead.parts.lock();
            assert!(queue.taken_bytes > 0 && queue.idle.len() <= 4, "{name}, {} parts", queue.idle.len());
            assert!(queue.idle.iter().all(|part| part.memory_bytes() <= part_bytes), "{name}, parts of {part_bytes}");
        }
    }
}

#[test]
fn blocks_of_every_type_and_members_follow_each_other() {
    let plain = text(300_000);
    let stored = gzip(&plain, 0, 7000);
    // At level 1, zlib-rs writes blocks with the fixed codes.
    let fixed = gzip(&plain, 1, 7000);
    let mut encoded = Vec::new();
    Encoder::new(Codec::Gzip, None).unwrap().encode(&plain[..90_000], &mut encoded).unwrap();
    let small: Vec<u8> = plain.chunks(1000).take(60).flat_map(|part| gzip(part, 6, 1000)).collect();
    let large = gzip(&plain, 6, 8000);
    // A member that contains another one, so that its data looks like blocks.
    let nested = gzip(&large, 0, 50_000);
    for (name, packed) in [
        ("stored", stored.clone()),
        ("fixed", fixed.clone()),
        ("small members", small.clone()),
        ("members", [&small[..], &large, &encoded, &large, &stored, &fixed, &large, &small].concat()),
        ("nested", [&nested[..], &large, &nested].concat()),
        ("zeros behind", [&large[..], &[0; 5000]].concat()),
        ("garbage", [&large[..], b"more"].concat()),
        ("garbage that is data", [&large[..], b"more", &large].concat()),
    ] {
        let expected = alone(&packed);
        assert!(expected.0.len() > 50_000, "{name}");
        for span_bytes in [500, 3000, 30_000] {
            assert!(in_turn(&packed, PartSizes { span_bytes, ..SMALL }).0 == expected, "{name}, spans of {span_bytes}");
        }
        assert!(beside(&packed, SMALL, 8) == expected, "{name}");
    }
}

#[test]
fn damage_is_the_same_error_at_the_same_offset() {
    let plain = text(400_000);
    let packed = [gzip(&plain, 6, 12_000), gzip(&plain[..100_000], 9, 12_000)].concat();
    let mut noise = Noise(9);
    let mut failed = 0;
    for round in 0..120 {
        let at = noise.below(packed.len() as u64) as usize;
        let mut damaged = packed.clone();
        if round % 2 == 0 {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << noise.below(8);
        }
        let expected = alone(&damaged);
        failed += usize::from(expected.1.is_some());
        assert!(in_turn(&damaged, SMALL).0 == expected, "byte {at}, round {round}");
        if round % 10 < 2 {
            assert!(beside(&damaged, SMALL, 3) == expected, "byte {at}, round {round}");
        }
    }
    assert!(failed > 100, "{failed}");
}

/// A match that reaches before the start of its member is an error, although a part would have bytes there.
#[test]
fn a_member_does_not_reach_into_the_one_before() {
    let plain = text(200_000);
    let whole = gzip(&plain, 6, 10_000);
    // Turns the blocks after the first ones into a separate member. Only blocks that start at a byte boundary can be
    // cut off.
    let mut packed = vec![0; 300_000];
    let mut deflate = Deflate::new(6, true, 16 + 15);
    deflate.compress(&plain[..20_000], &mut packed, DeflateFlush::SyncFlush).unwrap();
    let cut = deflate.total_out() as usize;
    for part in plain[20_000..].chunks(10_000) {
        let at = deflate.total_out() as usize;
        deflate.compress(part, &mut packed[at..], DeflateFlush::SyncFlush).unwrap();
    }
    packed.truncate(deflate.total_out() as usize);
    let file = [&whole[..], &packed[..10], &packed[cut..]].concat();
    let expected = alone(&file);
    assert!(expected.1.as_ref().is_some_and(|error| error.message.contains("before the start")), "{:?}", expected.1);
    for span_bytes in (500..1500).step_by(50) {
        assert!(in_turn(&file, PartSizes { span_bytes, ..SMALL }).0 == expected, "spans of {span_bytes}");
    }
}

#[test]
fn one_thread_decodes_what_is_small_or_limited_or_not_local() {
    let packed = gzip(&text(9_000_000), 1, usize::MAX);
    let limits = DecompressLimits::default().with_threads(8);
    let is_ahead = |packed: &[u8], limits: &DecompressLimits| {
        crate::decompressed(Source::memory(packed.to_vec()), limits).unwrap().ahead().is_some()
    };
    assert!(is_ahead(&packed, &limits));
    assert!(!is_ahead(&packed, &limits.clone().with_threads(7)));
    assert!(!is_ahead(&packed, &limits.clone().with_ratio(1000)));
    assert!(!is_ahead(&packed, &limits.clone().with_bytes(1 << 40)));
    assert!(!is_ahead(&packed, &limits.clone().with_memory_bytes(1 << 20)));
    assert!(!is_ahead(&gzip(&text(1_000_000), 1, usize::MAX), &limits));
    let stream = crate::decompressed(Source::reader(Box::new(&packed[..]), "stream"), &limits).unwrap();
    assert!(stream.ahead().is_none());
}
