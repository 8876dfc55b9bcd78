//! Writing members, and reading them with many threads.

use crate::common::{Answer, Folder, Random, hostile};
use polyhaul_bytes::{
    Codec, DecompressError, DecompressErrorKind as Kind, DecompressLimit as Limit, DecompressLimits, Encoder,
    MEMBER_BYTES, Source, decompressed,
};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

const CODECS: [Codec; 3] = [Codec::Gzip, Codec::Zstd, Codec::Lz4];

fn text(len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = Vec::with_capacity(len + 40);
    while text.len() < len {
        writeln!(text, "v {}.{:06} 0.5", random.below(9), random.below(1_000_000)).unwrap();
    }
    text.truncate(len);
    text
}

/// Compresses `plain` in members of `member_bytes`.
fn pack(codec: Codec, plain: &[u8], member_bytes: usize) -> Vec<u8> {
    let mut encoder = Encoder::new(codec, None).unwrap();
    let mut packed = Vec::new();
    for member in plain.chunks(member_bytes) {
        encoder.encode(member, &mut packed).unwrap();
    }
    packed
}

/// Compresses `plain` as BGZF, including its empty last member.
fn bgzf(plain: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for part in plain.chunks(65_000).chain([&[][..]]) {
        let member = pack_one(part);
        let (head, data) = member.split_at(20);
        packed.extend_from_slice(&head[..10]);
        packed.extend_from_slice(&[6, 0, b'B', b'C', 2, 0]);
        packed.extend_from_slice(&(18 + data.len() as u16 - 1).to_le_bytes());
        packed.extend_from_slice(data);
    }
    packed
}

fn pack_one(plain: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    Encoder::new(Codec::Gzip, None).unwrap().encode(plain, &mut packed).unwrap();
    packed
}

fn limits() -> DecompressLimits {
    DecompressLimits::default()
}

fn unpack(source: Source<'_>) -> std::io::Result<Vec<u8>> {
    let source = decompressed(source, &limits())?;
    let mut plain = Vec::new();
    let mut part = vec![0; 100_000];
    loop {
        match source.read_next(&mut part)? {
            0 => return Ok(plain),
            count => plain.extend_from_slice(&part[..count]),
        }
    }
}

fn stream(packed: &[u8]) -> Source<'static> {
    Source::reader(hostile(packed, |_, _| Answer::Give(70_000)), "r")
}

fn damage(error: &std::io::Error) -> &DecompressError {
    error.get_ref().and_then(|inner| inner.downcast_ref()).unwrap_or_else(|| panic!("not about the data: {error}"))
}

/// Threads read overlapping shares in order, like the scheduler.
fn sweep(source: &Source<'_>, plain: &[u8], threads: usize) {
    const SHARE: u64 = 1 << 20;
    let next = AtomicU64::new(0);
    let read = || {
        let mut block = vec![0; SHARE as usize + 4099];
        loop {
            let share = next.fetch_add(1, Ordering::Relaxed);
            let start = (share * SHARE).saturating_sub(3);
            if start >= plain.len() as u64 {
                return;
            }
            let len = ((share + 1) * SHARE + 4096 - start) as usize;
            let count = source.read_at(start, &mut block[..len]).unwrap();
            let expected = &plain[start as usize..plain.len().min(start as usize + len)];
            assert!(block[..count] == *expected, "share {share}");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(read);
        }
    });
}

/// Threads read whole pieces in order, each piece once.
fn by_pieces(source: &Source<'_>, plain: &[u8], threads: usize) {
    let next = AtomicU64::new(0);
    let sum = AtomicU64::new(0);
    let read = || {
        let mut block = vec![0; source.piece_bytes().unwrap()];
        while let Some(piece) = source.piece(next.fetch_add(1, Ordering::Relaxed)) {
            let expected = &plain[piece.start as usize..piece.end as usize];
            assert_eq!(source.read_at(piece.start, &mut block[..expected.len()]).unwrap(), expected.len());
            assert!(block[..expected.len()] == *expected, "{piece:?}");
            sum.fetch_add(expected.len() as u64, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(read)));
    assert_eq!(sum.into_inner(), plain.len() as u64);
}

fn compressed_bytes_read(source: &Source<'_>) -> u64 {
    source.compressed_counters().unwrap().snapshot().bytes
}

/// The index is built from the sizes at the ends of members.
#[test]
fn a_member_that_declares_no_content_is_an_error() {
    let plain = text(1_200_000, 5);
    let mut packed = pack(Codec::Gzip, &plain, 600_000);
    let end = packed.len();
    packed[end - 4..].fill(0);
    let result = unpack(Source::memory(packed));
    assert!(result.is_err(), "{:?}", result.map(|bytes| bytes.len()));
}

#[test]
fn pieces_are_read_in_parallel_and_decoded_once() {
    let plain = text(9 << 20, 1);
    let mut files: Vec<_> = CODECS.map(|codec| pack(codec, &plain, MEMBER_BYTES)).into();
    files.push(bgzf(&plain));
    files.push(pack(Codec::Zstd, &plain, 3_333_333));
    for (i, packed) in files.iter().enumerate() {
        for threads in [1, 2, 3, 7, 64] {
            let source = decompressed(Source::memory(packed), &limits()).unwrap();
            assert!(source.is_positioned() && source.len() == Some(plain.len() as u64), "file {i}");
            let before = compressed_bytes_read(&source);
            by_pieces(&source, &plain, threads);
            assert_eq!(compressed_bytes_read(&source) - before, packed.len() as u64, "file {i}");
            sweep(&source, &plain, threads);
            assert_eq!(source.read_at(plain.len() as u64, &mut [0; 9]).unwrap(), 0);
        }
        assert!(unpack(stream(packed)).unwrap() == plain, "file {i}");
    }
}

#[test]
fn sequential_reads_in_small_parts_decode_once_too() {
    let plain = text(3 << 20, 13);
    for packed in CODECS.map(|codec| pack(codec, &plain, MEMBER_BYTES)).into_iter().chain([bgzf(&plain)]) {
        let source = decompressed(Source::memory(&packed), &limits()).unwrap();
        let before = compressed_bytes_read(&source);
        let mut unpacked = Vec::new();
        let mut part = [0; 1000];
        while let count @ 1.. = source.read_next(&mut part).unwrap() {
            unpacked.extend_from_slice(&part[..count]);
        }
        assert!(unpacked == plain);
        assert_eq!(compressed_bytes_read(&source) - before, packed.len() as u64);
    }
}

#[test]
fn with_little_memory_members_are_a_stream() {
    let plain = text(5 << 20, 2);
    for codec in CODECS {
        let packed = pack(codec, &plain, 300_000);
        for (memory_bytes, has_pieces) in [(20 << 20, true), (3 << 20, false)] {
            let limits = limits().with_memory_bytes(memory_bytes);
            let source = decompressed(Source::memory(&packed), &limits).unwrap();
            assert_eq!((source.is_positioned(), source.piece(0).is_some()), (has_pieces, has_pieces));
            let whole = &mut vec![0; plain.len()][..];
            assert_eq!(source.read_next(whole).unwrap(), plain.len());
            assert!(*whole == plain);
        }
    }
}

#[test]
fn any_range_is_right() {
    let plain = text(4 << 20, 3);
    let packed = bgzf(&plain);
    let source = decompressed(Source::memory(&packed), &limits()).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let source = &source;
            let plain = &plain;
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..60 {
                    let start = random.below(plain.len() + 100);
                    let mut out = vec![0; random.below(3 << 20)];
                    let count = source.read_at(start as u64, &mut out).unwrap();
                    let end = plain.len().min(start + out.len());
                    assert!(out[..count] == plain[start.min(end)..end]);
                }
            });
        }
    });
}

#[test]
fn damage_in_one_member_affects_only_its_readers() {
    let plain = text(6 << 20, 4);
    for codec in CODECS {
        let member = pack(codec, &plain[..MEMBER_BYTES], MEMBER_BYTES).len();
        let mut packed = pack(codec, &plain, MEMBER_BYTES);
        let at = member * 5 / 2;
        packed[at] ^= 0x55;
        let source = decompressed(Source::memory(&packed), &limits()).unwrap();
        assert!(source.is_positioned());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..20 {
                        let mut out = vec![0; 2 << 20];
                        assert_eq!(source.read_at(0, &mut out).unwrap(), out.len());
                        assert!(out == plain[..2 << 20]);
                        let error = source.read_at(1 << 20, &mut out).unwrap_err();
                        let damage = damage(&error);
                        assert!(matches!(damage.kind, Kind::Corrupt | Kind::Checksum), "{codec} {round}: {error}");
                        assert!((2 << 20..=3 << 20).contains(&damage.plain_offset), "{codec}: {error}");
                        assert_eq!(source.read_at(3 << 20, &mut out).unwrap(), out.len());
                    }
                });
            }
        });
        assert_eq!(damage(&unpack(Source::memory(&packed)).unwrap_err()).codec, codec);
    }
}

#[test]
fn wrong_sizes_are_errors() {
    let plain = text(300_000, 5);
    // The size of the third member in its header.
    for change in [1u8, 0x80] {
        let mut packed = pack(Codec::Gzip, &plain, 100_000);
        let member = pack_one(&plain[..100_000]).len();
        let second = member + pack_one(&plain[100_000..200_000]).len();
        packed[second + 16] ^= change;
        assert_eq!(damage(&unpack(Source::memory(&packed)).unwrap_err()).kind, Kind::Corrupt);
        assert_eq!(damage(&unpack(stream(&packed)).unwrap_err()).kind, Kind::Corrupt);
    }
    // A trailer that declares more uncompressed bytes than there are, also for members decoded separately.
    let long = text(3 << 20, 6);
    let mut packed = pack(Codec::Gzip, &long, MEMBER_BYTES);
    let end = packed.len();
    packed[end - 4..].copy_from_slice(&(MEMBER_BYTES as u32 + 7).to_le_bytes());
    let source = decompressed(Source::memory(&packed), &limits()).unwrap();
    assert!(source.is_positioned());
    assert!(unpack(Source::memory(&packed)).is_err() && unpack(stream(&packed)).is_err());
    // Content sizes of zstd and lz4 frames.
    for (codec, at) in [(Codec::Zstd, 6), (Codec::Lz4, 6)] {
        let mut packed = pack(codec, &long, MEMBER_BYTES);
        packed[at] ^= 1;
        assert!(unpack(Source::memory(&packed)).is_err() && unpack(stream(&packed)).is_err(), "{codec}");
    }
}

#[test]
fn limits_are_checked_before_members_are_decoded() {
    let plain = text(4 << 20, 7);
    for codec in CODECS {
        let packed = pack(codec, &plain, MEMBER_BYTES);
        for (limit, is_enough) in [(plain.len() - 1, false), (plain.len(), true)] {
            let limits = limits().with_bytes(limit as u64);
            let result = decompressed(Source::memory(&packed), &limits);
            assert_eq!(result.is_ok(), is_enough);
            if let Err(error) = result {
                assert_eq!(damage(&error).kind, Kind::Limit(Limit::Bytes));
            }
        }
    }
    let zeros = vec![b'0'; 70 << 20];
    let packed = pack(Codec::Zstd, &zeros, MEMBER_BYTES);
    assert_eq!(damage(&decompressed(Source::memory(&packed), &limits()).unwrap_err()).kind, Kind::Limit(Limit::Ratio));
    assert!(decompressed(Source::memory(&packed), &limits().with_ratio(u64::MAX)).is_ok());
}

#[test]
fn a_changed_file_is_noticed_through_its_members() {
    let folder = Folder::new();
    let plain = text(3 << 20, 8);
    let mut packed = pack(Codec::Gzip, &plain, MEMBER_BYTES);
    let path = folder.file("a.gz", &packed);
    let source = decompressed(Source::open(&path).unwrap(), &limits()).unwrap();
    assert!(source.is_positioned());
    source.check_unchanged().unwrap();
    packed.push(0);
    std::fs::write(&path, &packed).unwrap();
    assert!(source.check_unchanged().is_err());
    let source = decompressed(Source::open(&path).unwrap(), &limits()).unwrap();
    std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    let mut out = vec![0; plain.len()];
    assert_eq!(source.read_next(&mut out).unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn members_of_any_size_and_level_come_back() {
    for codec in CODECS {
        for len in [0, 1, 100, 65_536, 3 << 20] {
            let plain = text(len, 9);
            let packed = pack(codec, &plain, 5 << 20);
            let packed = if len == 0 { pack_empty(codec) } else { packed };
            assert!(unpack(Source::memory(&packed)).unwrap() == plain, "{codec} {len}");
            let noise = Random::new(len as u64).bytes(len.min(200_000));
            assert!(unpack(Source::memory(pack_again(codec, &noise))).unwrap() == noise, "{codec} {len}");
        }
        let levels = [1, 6, 9, 12, 19].map(|level| Encoder::new(codec, Some(level)));
        for mut encoder in levels.into_iter().flatten() {
            let plain = text(50_000, 10);
            let mut packed = b"before".to_vec();
            encoder.encode(&plain, &mut packed).unwrap();
            assert!(packed.starts_with(b"before"));
            assert!(unpack(Source::memory(&packed[6..])).unwrap() == plain);
            assert_eq!(encoder.codec(), codec);
        }
        for level in [0, -1, 23, i32::MAX, i32::MIN] {
            let error = Encoder::new(codec, Some(level)).err().unwrap();
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        }
    }
}

fn pack_empty(codec: Codec) -> Vec<u8> {
    let mut packed = Vec::new();
    Encoder::new(codec, None).unwrap().encode(b"", &mut packed).unwrap();
    packed
}

/// Compresses with an encoder that was used before, and checks that the bytes are the same.
fn pack_again(codec: Codec, plain: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(codec, None).unwrap();
    let mut packed = Vec::new();
    encoder.encode(&text(70_000, 11), &mut packed).unwrap();
    packed.clear();
    encoder.encode(plain, &mut packed).unwrap();
    let mut fresh = Vec::new();
    Encoder::new(codec, None).unwrap().encode(plain, &mut fresh).unwrap();
    assert!(packed == fresh, "{codec}");
    packed
}

/// Returns the output of `program` for `input`, if the program is installed.
fn tool(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{program} {arguments:?}");
    Some(output.stdout)
}

#[test]
fn other_tools_read_and_write_the_same() {
    let plain = text(3 << 20, 12);
    for (codec, program) in CODECS.into_iter().zip(["gzip", "zstd", "lz4"]) {
        for plain in [&plain[..], b"x", b""] {
            let mut packed = pack(codec, plain, MEMBER_BYTES);
            if plain.is_empty() {
                packed = pack_empty(codec);
            }
            if let Some(unpacked) = tool(program, &["-dc"], &packed) {
                assert!(unpacked == plain, "{program} reads something else");
            }
            for level in ["-1", "-9"] {
                if let Some(packed) = tool(program, &["-c", level], plain) {
                    assert!(unpack(Source::memory(packed)).unwrap() == plain, "{program} {level}");
                }
            }
        }
    }
    if let Some(packed) = tool("lz4", &["-c", "-l"], &plain) {
        assert!(unpack(stream(&packed)).unwrap() == plain);
    }
    if let Some(packed) = tool("lz4", &["-c", "-BD", "-B4", "--content-size"], &plain) {
        assert!(unpack(stream(&packed)).unwrap() == plain);
    }
}
