//! Compresses and decompresses: the same bytes for any number of threads and pages, and files that other tools can
//! read.

use crate::support::{memory, run, try_converted, try_written};
use polyhaul::model::{Material, Scene};
use polyhaul::options::{Codec, Compression, RunOptions};
use polyhaul::{ErrorKind, Format, ReadOptions, Reader, WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::packed::CODECS;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Converts an OBJ file, which may be compressed, to OBJ, compressed with a codec or uncompressed.
fn converted(bytes: &[u8], codec: Option<Codec>, run: RunOptions) -> Vec<u8> {
    let read = ReadOptions::default().with_run(run.clone());
    let write = WriteOptions::default()
        .with_run(run)
        .with_compression(codec.map_or_else(Compression::default, Compression::from));
    try_converted(memory(bytes, "x.obj"), &read, &write.with_format(Some(Format::Obj))).unwrap().0
}

/// An OBJ file that fills several compressed members, as written by the library.
fn text() -> Vec<u8> {
    let mut text = String::new();
    for i in 0..60_000 {
        let x = i % 251;
        let y = i / 251;
        text += &format!("v {x}.5 {y}.25 {}\nvn 0 {}.5 1\n", i * 7919 % 1000, i % 3);
    }
    for i in 1..50_000 {
        text += &format!("f {i}//{i} {}//{i} {}//{}\n", i + 1, i + 251, i + 3);
    }
    converted(text.as_bytes(), None, run(2, None))
}

#[test]
fn there_and_back_is_the_same_for_any_threads_and_chunks() {
    let plain = text();
    assert!(plain.len() > 3 << 20, "{}", plain.len());
    for (codec, _) in CODECS {
        let packed = converted(&plain, Some(codec), run(1, None));
        assert!(packed.len() < plain.len() / 2);
        for (threads, chunk_bytes) in [(1, 100_000), (2, 300_000), (7, 1 << 20), (64, 5000), (2, 64 << 20)] {
            let way = run(threads, Some(chunk_bytes));
            assert!(converted(&plain, Some(codec), way.clone()) == packed, "{codec} {way:?}");
            assert!(converted(&packed, None, way.clone()) == plain, "{codec} {way:?}");
        }
        for (other, _) in CODECS {
            let again = converted(&packed, Some(other), run(3, None));
            assert!(again == converted(&plain, Some(other), run(1, None)), "{codec} to {other}");
        }
    }
}

#[test]
fn an_empty_scene_is_a_member_too() {
    for (codec, _) in CODECS {
        let write = WriteOptions::default().with_compression(codec.into());
        let (bytes, _) = try_written(&Scene::default(), &write).unwrap();
        let loaded = Reader::new(memory(bytes, "x.obj")).scene().unwrap();
        assert_eq!((loaded.report.codec, loaded.value.totals()), (Some(codec), [0; 7]));
    }
}

#[test]
fn levels_change_the_size_alone() {
    let plain = text();
    let packed = |codec: Codec, level| {
        let write = WriteOptions::default().with_compression(codec.into()).with_level(Some(level));
        let write = write.with_format(Some(Format::Obj));
        try_converted(memory(&plain, "x.obj"), &ReadOptions::default(), &write).map(|(bytes, _)| bytes)
    };
    for (codec, levels) in [(Codec::Gzip, [1, 9]), (Codec::Zstd, [1, 19])] {
        let [fast, small] = levels.map(|level| packed(codec, level).unwrap());
        assert!(fast.len() > small.len(), "{codec}");
        [fast, small].iter().for_each(|bytes| assert!(converted(bytes, None, run(2, None)) == plain, "{codec}"));
    }
    for (codec, level) in [(Codec::Gzip, 99), (Codec::Zstd, 99), (Codec::Gzip, -99)] {
        assert_eq!(packed(codec, level).unwrap_err().kind(), ErrorKind::Usage, "{codec} {level}");
    }
}

/// Output of a tool for the given standard input; `None` if it is not installed.
fn tool(name: &str, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(name);
    let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().ok()?;
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{name} {args:?}: {output:?}");
    Some(output.stdout)
}

#[test]
fn other_tools_read_it_and_theirs_is_read() {
    let plain = text();
    let folder = Folder::new("compressed-tools").unwrap();
    for (codec, extension) in CODECS {
        // The tools have the same names as their formats.
        let name = &codec.to_string();
        let packed = converted(&plain, Some(codec), run(2, None));
        let Some(unpacked) = tool(name, &["-d", "-c", "-q"], &packed) else {
            let _ = writeln!(std::io::stderr(), "SKIPPED: {name} is not installed");
            continue;
        };
        assert!(unpacked == plain, "{name} -d");
        for level in ["-1", "-9"] {
            let theirs = tool(name, &["-c", "-q", level], &plain).unwrap();
            assert!(converted(&theirs, None, run(2, None)) == plain, "{name} {level}");
            let path = folder.file(&format!("x.obj.{extension}"), &theirs).unwrap();
            let loaded = Reader::new(path).scene().unwrap();
            let report = loaded.report;
            assert_eq!((report.bytes_in, report.plain_bytes_in), (theirs.len() as u64, plain.len() as u64));
        }
    }
}

/// Only the end of a name selects the codec: the rest may be invalid UTF-8, also in the name of the library next to it.
#[test]
#[cfg(target_os = "linux")]
fn names_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("compressed-names").unwrap();
    let material = Material { name: "red".into(), ..Material::default() };
    let scene = Scene { materials: vec![material], ..Scene::default() };
    for name in [&b"\xff.obj.gz"[..], b"b\xff.OBJ.Zst", b".obj.gz"] {
        let path = folder.path().join(OsStr::from_bytes(name));
        let options = WriteOptions::default().with_format(Some(Format::Obj));
        Writer::new(&path).options(&options).scene(&scene).unwrap();
        assert!(Codec::of_content(&fs::read(&path).unwrap()).is_some());
    }
    let names = [".obj.gz", ".obj.mtl", "b\u{fffd}.OBJ.Zst", "b\u{fffd}.mtl", "\u{fffd}.mtl", "\u{fffd}.obj.gz"];
    assert_eq!(folder.names(), names);
}
