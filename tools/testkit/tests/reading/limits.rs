//! Tests limits at one below the required value, at that value, and one above; the message names the limit and how to
//! raise it.

use crate::{options, read, read_text};
use polyhaul::model::Scene;
use polyhaul::options::{Codec, Limits, OnError};
use polyhaul::{Error, ErrorKind, Input, Loaded, ReadOptions, Reader};
use polyhaul_testkit::corpus::{self, Folder};
use polyhaul_testkit::packed::pack;

fn check_reading(
    name: &str,
    needed: u64,
    set: fn(&mut Limits) -> &mut u64,
    base: &ReadOptions,
    read: impl Fn(&ReadOptions) -> Result<Loaded<Scene>, Error>,
) {
    for limit in [needed.saturating_sub(1), needed, needed + 1] {
        let mut options = base.clone();
        *set(&mut options.limits) = limit;
        let result = read(&options);
        if limit >= needed {
            assert!(result.is_ok(), "{name} {limit} of {needed}: {result:?}");
            continue;
        }
        let Err(error) = result else {
            panic!("{name} {limit}, where {needed} are needed, was no limit");
        };
        assert_eq!(error.kind(), ErrorKind::Limit, "{name}: {error}");
        let message = error.to_string();
        assert!(message.contains(name) && message.contains(&limit.to_string()), "{message}");
        let hint = error.diagnostic().hint.clone().unwrap_or_default();
        assert!(hint.contains("raise"), "{name}: hint {hint:?}");
    }
}

/// The message shows the line, even if the excerpt starts within a character.
#[test]
fn line_bytes_of_libraries_that_are_no_text() {
    let folder = Folder::new("limits").unwrap();
    let mut options = options(1, None);
    options.limits.line_bytes = 50;
    for byte in [0x80, 0xbf, 0xc3, 0xff, 0] {
        let library = [b"newmtl a\n".as_slice(), &[byte], &[b'x'; 100]].concat();
        folder.file("x.mtl", library).unwrap();
        let scene = folder.file("x.obj", "mtllib x.mtl\n").unwrap();
        let error = read(Input::Path(scene), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}

/// For compressed files, uncompressed bytes count.
#[test]
fn referenced_file_bytes_of_compressed_files() {
    let folder = Folder::new("limits").unwrap();
    let scene = folder.file("x.obj", "mtllib a.mtl\n").unwrap();
    let read = |options: &ReadOptions| read(Input::Path(scene.clone()), options);
    let set: fn(&mut Limits) -> &mut u64 = |limits| &mut limits.referenced_file_bytes;
    for members in [1, 50] {
        let member = pack(Codec::Gzip, b"newmtl a\nKd 1 1 1\n", usize::MAX);
        folder.file("a.mtl", member.repeat(members)).unwrap();
        check_reading("referenced_file_bytes", 18 * members as u64, set, &options(1, None), read);
    }
}

/// The ratio is checked after 64 MiB of output; earlier output is the same for any threads.
#[test]
fn decompressed_ratio() {
    let line = "# ".to_owned() + &"x".repeat(997) + "\n";
    let member = pack(Codec::Gzip, line.repeat(1024).as_bytes(), usize::MAX);
    let bytes = member.repeat(70);
    let ratio = 1_024_000 / member.len() as u64;
    for (limit, threads, is_enough) in [(ratio / 2, 1, false), (ratio / 2, 3, false), (2 * ratio, 2, true)] {
        let mut options = options(threads, None);
        options.limits.decompressed_ratio = limit;
        let result = read_text(&bytes, &options);
        assert_eq!(result.is_ok(), is_enough, "{limit}");
        let Err(error) = result else { continue };
        let message = error.to_string();
        assert!(error.kind() == ErrorKind::Limit && message.contains("decompressed_ratio"), "{message}");
        assert!(
            message.contains(&limit.to_string()) && message.contains("after 67108864 decompressed bytes"),
            "{message}"
        );
        assert!(error.diagnostic().hint.as_ref().is_some_and(|hint| hint.contains("raise")));
    }
    let short = member.repeat(60);
    let mut options = options(1, None);
    options.limits.decompressed_ratio = 1;
    assert!(read_text(short, &options).is_ok());
}

#[test]
fn memory_for_windows() {
    let packed = std::fs::read(corpus::root().join("lz4/good/scene.obj.legacy.lz4")).unwrap();
    let mut options = options(1, None);
    options.run.memory_limit = 1 << 20;
    let error = read_text(packed, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("memory_limit") && error.diagnostic().hint.is_some(), "{error}");
}

/// Extreme but valid options.
#[test]
fn extremes() {
    let text = "v 0 0 0\nf 1 1 1\n";
    for memory_limit in [0, 1, u64::MAX] {
        for threads in [0, 1, usize::MAX] {
            let mut options = options(threads, None);
            options.run.memory_limit = memory_limit;
            assert!(read_text(text, &options).is_ok(), "{memory_limit} {threads}");
        }
    }
    for chunk_bytes in [0, 1 << 20] {
        assert!(read_text(text, &options(2, chunk_bytes)).is_ok(), "{chunk_bytes}");
    }
}

#[test]
fn the_element_over_the_limit_is_the_same_in_chunks_of_any_size() {
    // Skipped statements do not count: one is short, one has an invalid index.
    let lines = ["f 1 2 3\n", "l 1\n", "f  3\n", "f 1 x 3\n", "f 1 2 3 4\n", "l 1 2\n", "f 1 2\n", "f 3 2 1\n"];
    let text = [&lines[..]; 3].concat().concat().into_bytes();
    for elements in 0..12 {
        let place = |chunk_bytes: usize| {
            let mut options = ReadOptions::default();
            options.on_error = OnError::Warn;
            options.limits.elements = elements;
            options.run.chunk_bytes = Some(chunk_bytes);
            let result = Reader::new(Input::Memory(text.clone(), "x.obj".into())).options(&options).scene();
            result.map(|_| ()).map_err(|error| error.to_string())
        };
        let expected = place(1);
        assert_eq!(expected.is_err(), elements < 9, "{expected:?}");
        for chunk_bytes in [10, 40, 1000] {
            assert_eq!(place(chunk_bytes), expected, "{elements} elements, chunks of {chunk_bytes} bytes");
        }
    }
}
