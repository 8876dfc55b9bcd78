//! Reading compressed data: all samples, every truncation and every changed byte of the small ones, hostile readers,
//! limits.

use crate::common::{Answer, Random, hostile};
use polyhaul_bytes::{
    Codec, DecompressError, DecompressErrorKind as Kind, DecompressLimit as Limit, DecompressLimits, Encoder, Source,
    decompressed,
};
use std::fs;
use std::io;
use std::path::PathBuf;

fn folder(format: &str, part: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../../testdata", format, part].iter().collect()
}

/// Returns names and bytes of all files in a folder of samples.
fn samples(format: &str, part: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder(format, part)).unwrap();
    let read = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    let mut files: Vec<_> = entries.map(read).filter(|(name, _)| name.ends_with(format)).collect();
    files.sort();
    assert!(files.len() > 10);
    files
}

fn plain_of(name: &str) -> Vec<u8> {
    let plain = if name.starts_with("scene.obj") { "scene.obj" } else { "mesh.ply" };
    fs::read(folder("gz", "good").join(plain)).unwrap()
}

/// Reads all uncompressed bytes before the end or an error, in calls of `block` bytes.
fn read_all(source: &Source<'_>, block: usize) -> (Vec<u8>, Option<io::Error>) {
    let mut plain = Vec::new();
    let mut part = vec![0; block];
    loop {
        match source.read_next(&mut part) {
            Ok(0) => return (plain, None),
            Ok(count) => plain.extend_from_slice(&part[..count]),
            Err(error) => return (plain, Some(error)),
        }
    }
}

fn unpack_with(source: Source<'_>, limits: &DecompressLimits, block: usize) -> (Vec<u8>, Option<io::Error>) {
    match decompressed(source, limits) {
        Ok(source) => read_all(&source, block),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn unpack(source: Source<'_>) -> (Vec<u8>, Option<io::Error>) {
    unpack_with(source, &DecompressLimits::default(), 4096)
}

fn damage(error: &io::Error) -> &DecompressError {
    error.get_ref().and_then(|inner| inner.downcast_ref()).unwrap_or_else(|| panic!("not about the data: {error}"))
}

#[test]
fn good_files_unpack_however_they_are_read() {
    for format in ["gz", "zst", "lz4"] {
        for (name, packed) in samples(format, "good") {
            let plain = plain_of(&name);
            let check = |source, block, how: &str| {
                let (unpacked, error) = unpack_with(source, &DecompressLimits::default(), block);
                assert!(error.is_none(), "{name} {how}: {error:?}");
                assert!(unpacked == plain, "{name} {how}: {} of {} bytes", unpacked.len(), plain.len());
            };
            check(Source::open(folder(format, "good").join(&name)).unwrap(), 1 << 20, "file");
            for block in [1, 7, 1000, 65_536, 1 << 20] {
                check(Source::memory(&packed), block, "memory");
            }
            check(Source::reader(hostile(&packed, |_, _| Answer::Give(1)), "r"), 4096, "bytes");
            let mut random = Random::new(packed.len() as u64);
            let splits = move |_, _| Answer::Give(1 + random.below(300));
            check(Source::reader(hostile(&packed, splits), "r"), 70_000, "splits");
        }
    }
}

fn expected_kinds(name: &str) -> &'static [Kind] {
    let fault = name.split('.').nth(2).unwrap();
    match fault {
        "bad_crc" | "bad_isize" | "bad_checksum" | "bad_content_checksum" | "bad_header_checksum" => &[Kind::Checksum],
        "bad_method" | "needs_dictionary" => &[Kind::Unsupported],
        "corrupt_data" => &[Kind::Corrupt, Kind::Checksum],
        "reserved_flags" | "block_size_2g" => &[Kind::Corrupt],
        "trailing_garbage" => &[Kind::TrailingGarbage],
        _ => &[Kind::Truncated],
    }
}

#[test]
fn bad_files_end_in_the_right_error_which_stays() {
    for format in ["gz", "zst", "lz4"] {
        for (name, packed) in samples(format, "bad") {
            if name.starts_with("bomb") || name.contains("bad_magic") {
                continue;
            }
            let plain = plain_of(&name);
            let bytes = hostile(&packed, |_, _| Answer::Give(1));
            for source in [Source::memory(&packed), Source::reader(bytes, "r")] {
                let source = decompressed(source, &DecompressLimits::default()).unwrap();
                let (unpacked, error) = read_all(&source, 100);
                let error = error.unwrap_or_else(|| panic!("{name} was read without an error"));
                let first = damage(&error).clone();
                assert!(expected_kinds(&name).contains(&first.kind), "{name}: {error}");
                assert!(first.offset <= packed.len() as u64 && first.plain_offset <= 12_000, "{name}: {error}");
                if first.kind != Kind::Checksum && !name.contains("corrupt") {
                    assert!(plain.starts_with(&unpacked), "{name}");
                }
                assert_eq!(damage(&source.read_next(&mut [0; 9]).unwrap_err()), &first, "{name}");
            }
        }
    }
}

/// Zeros after the data are allowed; other data after them is an error at its own offset.
#[test]
fn garbage_after_zeros_has_the_same_offset_however_it_is_read() {
    for format in ["gz", "zst", "lz4"] {
        let kind = if format == "lz4" { "frame" } else { "single" };
        let packed = fs::read(folder(format, "good").join(format!("mesh.ply.{kind}.{format}"))).unwrap();
        let garbage_offset = packed.len() as u64 + 20;
        let packed = [&packed[..], &[0; 20], b"more"].concat();
        for size in [1, 7, 10_000] {
            let (_, error) = unpack(Source::reader(hostile(&packed, move |_, _| Answer::Give(size)), "r"));
            let error = damage(&error.unwrap()).clone();
            assert_eq!((error.kind, error.offset), (Kind::TrailingGarbage, garbage_offset), "{format} {size}");
        }
        let (_, error) = unpack(Source::memory(&packed));
        assert_eq!(damage(&error.unwrap()).offset, garbage_offset, "{format}");
    }
}

#[test]
fn a_wrong_magic_number_is_not_compressed_data() {
    let packed = fs::read(folder("zst", "bad").join("mesh.ply.bad_magic.zst")).unwrap();
    assert_eq!(unpack(Source::memory(&packed)).0, packed);
}

#[test]
fn no_cut_goes_unnoticed() {
    for (format, names) in [
        ("gz", ["single", "stored", "header_fields", "fixed"]),
        ("zst", ["single", "fast", "level19", "no_check"]),
        ("lz4", ["frame", "block_checksum", "hc", "content_size"]),
    ] {
        for name in names.map(|kind| format!("mesh.ply.{kind}.{format}")) {
            let packed = fs::read(folder(format, "good").join(&name)).unwrap();
            let plain = plain_of(&name);
            for cut in 8..packed.len() {
                let (unpacked, error) = unpack(Source::memory(&packed[..cut]));
                assert!(plain.starts_with(&unpacked), "{name} cut at {cut}");
                let error = error.unwrap_or_else(|| panic!("{name} cut at {cut} was read without an error"));
                assert_eq!(damage(&error).kind, Kind::Truncated, "{name} cut at {cut}: {error}");
            }
        }
    }
}

#[test]
fn no_changed_byte_breaks_it_or_goes_unnoticed() {
    for (format, kinds) in
        [("gz", ["bgzf", "header_fields"]), ("zst", ["single", "multi_frame"]), ("lz4", ["frame", "legacy"])]
    {
        for kind in kinds {
            let name = format!("mesh.ply.{kind}.{format}");
            let mut packed = fs::read(folder(format, "good").join(&name)).unwrap();
            let plain = plain_of(&name);
            let has_checksum = kind != "legacy";
            for at in 0..packed.len() {
                let old = packed[at];
                for new in [0, 0xff, old ^ 1, old ^ 0x80, old.wrapping_add(1), b'9'] {
                    packed[at] = new;
                    let (unpacked, error) = unpack(Source::memory(&packed));
                    if error.is_none() && has_checksum && Codec::of_content(&packed).is_some() {
                        assert!(unpacked == plain || unpacked.is_empty(), "{name}: byte {at} is {new}");
                    }
                }
                packed[at] = old;
            }
        }
    }
}

/// Builds the header of a gzip member, and a block with fixed codes (RFC 1951, 3.2.6) that starts with `count` letters.
fn letters(count: usize) -> Vec<u8> {
    let code = 0x30 + b'a';
    let letter = (0..8).rev().map(|bit| code >> bit & 1);
    let bits: Vec<u8> = [0, 1, 0].into_iter().chain(std::iter::repeat_n(letter, count).flatten()).collect();
    let bytes = bits.chunks_exact(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit));
    [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3].into_iter().chain(bytes).collect()
}

#[test]
fn garbage_after_a_header_never_breaks_it() {
    let letters = letters(1500);
    let heads: [&[u8]; 5] = [
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
        &letters,
        &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58],
        &[0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0],
        &[0x02, 0x21, 0x4c, 0x18],
    ];
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        for head in heads {
            let mut packed = head.to_vec();
            let count = random.below(400);
            packed.extend(random.bytes(count));
            let limits = DecompressLimits::default().with_bytes(1 << 20);
            let (whole, error) = unpack_with(Source::memory(&packed), &limits, 1 << 16);
            let split = hostile(&packed, |_, _| Answer::Give(1));
            let (parts, split_error) = unpack_with(Source::reader(split, "r"), &limits, 1 << 16);
            assert!(whole == parts, "seed {seed}");
            assert_eq!(error.map(|e| damage(&e).clone()), split_error.map(|e| damage(&e).clone()), "seed {seed}");
        }
    }
}

#[test]
fn bombs_are_stopped_by_the_limits() {
    let bomb = folder("zst", "bad").join("bomb_1g.obj.zst");
    let (unpacked, error) = unpack_with(Source::open(&bomb).unwrap(), &DecompressLimits::default(), 1 << 20);
    assert_eq!(damage(&error.unwrap()).kind, Kind::Limit(Limit::Ratio));
    assert!(unpacked.len() <= 64 << 20);
    for (format, ratio) in [("gz", 500), ("lz4", 200), ("zst", 1000)] {
        let bomb =
            if format == "zst" { bomb.clone() } else { folder(format, "bad").join(format!("bomb_100m.obj.{format}")) };
        let limits = DecompressLimits::default().with_bytes(1 << 20);
        let (unpacked, error) = unpack_with(Source::open(&bomb).unwrap(), &limits, 1 << 16);
        assert_eq!(damage(&error.unwrap()).kind, Kind::Limit(Limit::Bytes));
        assert_eq!(unpacked.len(), 1 << 20, "{format}");
        let limits = DecompressLimits::default().with_ratio(ratio);
        let (unpacked, error) = unpack_with(Source::open(&bomb).unwrap(), &limits, 1 << 20);
        assert_eq!(damage(&error.unwrap()).kind, Kind::Limit(Limit::Ratio));
        assert!(unpacked.len() <= 64 << 20, "{format}");
    }
}

#[test]
fn the_limit_of_bytes_is_exact() {
    for format in ["gz", "zst", "lz4"] {
        let kind = ["single", "single", "frame"][["gz", "zst", "lz4"].iter().position(|f| *f == format).unwrap()];
        let path = folder(format, "good").join(format!("mesh.ply.{kind}.{format}"));
        let size = plain_of("mesh.ply").len() as u64;
        for (limit, is_enough) in [(size - 1, false), (size, true), (size + 1, true)] {
            let limits = DecompressLimits::default().with_bytes(limit);
            let (_, error) = unpack_with(Source::open(&path).unwrap(), &limits, 1000);
            assert_eq!(error.is_none(), is_enough, "{format} {limit}");
        }
    }
}

#[test]
fn windows_stay_within_the_memory_limit() {
    // A frame that declares a window of 64 MiB, and one whose content is a single segment of 1 TiB.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0, 16 << 3, 1, 0, 0];
    let segment = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0];
    for packed in [&window[..], &segment] {
        let limits = DecompressLimits::default().with_memory_bytes((64 << 20) - 1);
        let (_, error) = unpack_with(Source::memory(packed), &limits, 100);
        assert_eq!(damage(error.as_ref().unwrap()).kind, Kind::Limit(Limit::Memory));
        assert!(error.unwrap().to_string().contains("more than 67108863 bytes"));
    }
    let limits = DecompressLimits::default().with_memory_bytes(64 << 20);
    assert!(unpack_with(Source::memory(window), &limits, 100).1.is_none());
    let lz4 = fs::read(folder("lz4", "good").join("mesh.ply.legacy.lz4")).unwrap();
    let limits = DecompressLimits::default().with_memory_bytes(1 << 20);
    assert_eq!(damage(&unpack_with(Source::memory(&lz4), &limits, 100).1.unwrap()).kind, Kind::Limit(Limit::Memory));
}

#[test]
fn errors_of_readers_are_returned_unchanged() {
    for format in ["gz", "zst", "lz4"] {
        let packed = &samples(format, "good")[0].1;
        let answer = |call, _| if call < 3 { Answer::Give(500) } else { Answer::Fail(io::ErrorKind::ConnectionReset) };
        let source = Source::reader(hostile(packed, answer), "r");
        let source = decompressed(source, &DecompressLimits::default()).unwrap();
        let (unpacked, error) = read_all(&source, 100);
        assert!(unpacked.len() < plain_of("scene.obj").len());
        assert_eq!(error.unwrap().kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(source.read_next(&mut [0; 9]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}

#[test]
fn uncompressed_data_comes_back_unchanged() {
    for len in [0, 1, 2, 5, 100, 70_000, 300_000] {
        let plain: Vec<u8> = (0..len).map(|i| b"v 0 1\n"[i % 6]).collect();
        for max_count in [1, 1000, usize::MAX] {
            let source = Source::reader(hostile(&plain, move |_, _| Answer::Give(max_count)), "r");
            let source = decompressed(source, &DecompressLimits::default()).unwrap();
            assert_eq!(source.codec(), None);
            assert!(read_all(&source, 1 << 16).0 == plain, "{len} bytes by {max_count}");
        }
        let source = decompressed(Source::memory(&plain), &DecompressLimits::default()).unwrap();
        assert!(source.is_positioned() && read_all(&source, 999).0 == plain);
    }
}

#[test]
fn skippable_frames_belong_to_the_next_frame() {
    let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for codec in [Codec::Zstd, Codec::Lz4] {
        let mut packed = skippable.repeat(3);
        Encoder::new(codec, None).unwrap().encode(b"plain", &mut packed).unwrap();
        assert_eq!(Codec::of_content(&packed), Some(codec));
        let stream = Source::reader(hostile(&packed, |_, _| Answer::Give(1)), "r");
        assert_eq!(unpack(stream).0, b"plain");
    }
    assert_eq!(Codec::of_content(&skippable), Some(Codec::Zstd));
}

#[test]
fn both_sides_are_counted() {
    let path = folder("gz", "good").join("scene.obj.single.gz");
    let source = decompressed(Source::open(&path).unwrap(), &DecompressLimits::default()).unwrap();
    let (plain, _) = read_all(&source, 1 << 16);
    assert_eq!(source.codec(), Some(Codec::Gzip));
    assert_eq!(source.counters().snapshot().bytes, plain.len() as u64);
    let packed = fs::metadata(&path).unwrap().len();
    assert_eq!(source.compressed().and_then(Source::len), Some(packed));
    // The first bytes are read twice.
    let read = source.compressed_counters().unwrap().snapshot().bytes;
    assert!((packed..packed + 100).contains(&read), "{read} of {packed}");
}

/// Returns zlib's verdict on deflate data (end, error, or more data needed), and the number of uncompressed bytes.
fn verdict(data: &[u8], plain: &mut [u8]) -> (&'static str, usize) {
    let mut inflate = zlib_rs::Inflate::new(false, 15);
    let result = inflate.decompress(data, plain, zlib_rs::InflateFlush::NoFlush);
    let count = inflate.total_out() as usize;
    match result {
        Ok(zlib_rs::Status::StreamEnd) => ("end", count),
        Ok(_) => ("more", count),
        Err(_) => ("error", count),
    }
}

#[test]
fn damaged_deflate_data_is_judged_as_zlib_does() {
    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let mut seen = [0; 3];
    let plain = plain_of("mesh.ply");
    let mut data = Vec::new();
    for seed in 0..6000 {
        let mut random = Random::new(seed);
        if seed % 100 == 0 {
            let level = 1 + (seed / 100 % 9) as i32;
            let start = random.below(plain.len() - 500);
            let mut deflate = zlib_rs::Deflate::new(level, false, 15);
            data.resize(20_000, 0);
            deflate.compress(&plain[start..], &mut data, zlib_rs::DeflateFlush::Finish).unwrap();
            data.truncate(deflate.total_out() as usize);
        }
        let mut broken = data.clone();
        for _ in 0..random.below(3) {
            let at = random.below(broken.len().min(300));
            broken[at] ^= 1 << random.below(8);
        }
        if random.below(4) == 0 {
            broken.truncate(random.below(broken.len()));
        }
        let mut expected = vec![0; 1 << 20];
        let (word, count) = verdict(&broken, &mut expected);
        let packed = [&HEAD[..], &broken].concat();
        let (unpacked, error) =
            unpack_with(Source::memory(packed), &DecompressLimits::default(), 1 + random.below(5000));
        let damage = damage(error.as_ref().unwrap());
        assert!(expected[..count].starts_with(&unpacked), "seed {seed}");
        assert_eq!(damage.plain_offset, count as u64, "seed {seed}: {damage}");
        let is_right = match word {
            // No checksum follows, unless the rest of the data is read as one.
            "end" => matches!(damage.kind, Kind::Truncated | Kind::Checksum),
            "more" => damage.kind == Kind::Truncated,
            _ => damage.kind == Kind::Corrupt,
        };
        assert!(is_right, "seed {seed}: {word}, {damage}");
        seen[["end", "more", "error"].iter().position(|w| *w == word).unwrap()] += 1;
    }
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
}

/// Generates text with codes of many lengths: the frequency of bytes halves every three values, and earlier pieces are
/// repeated.
fn uneven(random: &mut Random, len: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(len + 300);
    while text.len() < len {
        if text.len() > 1000 && random.below(4) == 0 {
            let start = random.below(text.len());
            let end = text.len().min(start + 3 + random.below(290));
            text.extend_from_within(start..end);
        } else {
            let bits = random.below(1 << 20) as u32;
            text.push((bits.trailing_zeros() * 3) as u8 + (bits >> 18) as u8);
        }
    }
    text
}

#[test]
fn every_way_to_write_deflate_is_read() {
    let mut random = Random::new(5);
    for len in [0, 1, 300, 5000, 400_000] {
        for plain in [uneven(&mut random, len), random.bytes(len), vec![b'x'; len], b"v 0.5 1.25\n".repeat(len / 11)] {
            for level in 0..=9 {
                let mut packed = vec![0; plain.len() * 2 + 10_000];
                let mut deflate = zlib_rs::Deflate::new(level, true, 16 + 15);
                deflate.compress(&plain, &mut packed, zlib_rs::DeflateFlush::Finish).unwrap();
                packed.truncate(deflate.total_out() as usize);
                for block in [1 + random.below(100), 3000, 33_000, 1 << 20] {
                    let (unpacked, error) = unpack_with(Source::memory(&packed), &DecompressLimits::default(), block);
                    assert!(
                        error.is_none() && unpacked == plain,
                        "{len} bytes, level {level}, block {block}: {error:?}"
                    );
                }
            }
        }
    }
}
