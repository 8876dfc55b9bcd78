//! Plain to compressed and back: the same bytes for any number of threads and any pages, and files that other tools read.

use polyhaul::model::Scene;
use polyhaul::options::{Codec, RunOptions};
use polyhaul::{Input, Output, ReadOptions, WriteOptions, convert, load, save};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const CODECS: [(&str, Codec, &str); 3] =
    [("gz", Codec::Gzip, "gzip"), ("zst", Codec::Zstd, "zstd"), ("lz4", Codec::Lz4, "lz4")];

/// A writer whose bytes can be had afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn run(threads: usize, chunk_bytes: Option<usize>) -> RunOptions {
    RunOptions { threads: Some(threads), chunk_bytes, ..RunOptions::default() }
}

/// Converts bytes to bytes; a codec compresses them.
fn converted(bytes: &[u8], codec: Option<Codec>, run: RunOptions) -> Vec<u8> {
    let out = Shared::default();
    let read = ReadOptions { run: run.clone(), ..ReadOptions::default() };
    let write = WriteOptions { run, compression: codec, ..WriteOptions::default() };
    let input = Input::Memory(bytes.to_vec(), "x.obj".into());
    convert(input, Output::Writer(Box::new(out.clone()), "x.obj".into()), &read, &write).unwrap();
    std::mem::take(&mut *out.0.lock().unwrap())
}

/// A text of a few members, as the library writes it.
fn text() -> Vec<u8> {
    let mut text = String::new();
    for i in 0..60_000 {
        let (x, y) = (i % 251, i / 251);
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
    for (_, codec, _) in CODECS {
        let packed = converted(&plain, Some(codec), run(1, None));
        assert!(packed.len() < plain.len() / 2);
        for (threads, chunk_bytes) in [(1, 100_000), (2, 300_000), (7, 1 << 20), (64, 5000), (2, 64 << 20)] {
            let way = run(threads, Some(chunk_bytes));
            assert!(converted(&plain, Some(codec), way.clone()) == packed, "{codec} {way:?}");
            assert!(converted(&packed, None, way.clone()) == plain, "{codec} {way:?}");
        }
        for other in CODECS {
            let again = converted(&packed, Some(other.1), run(3, None));
            assert!(again == converted(&plain, Some(other.1), run(1, None)), "{codec} to {}", other.1);
        }
    }
}

#[test]
fn an_empty_scene_is_a_member_too() {
    for (_, codec, _) in CODECS {
        let out = Shared::default();
        let write = WriteOptions { compression: Some(codec), ..WriteOptions::default() };
        save(&Scene::default(), Output::Writer(Box::new(out.clone()), "x".into()), &write).unwrap();
        let packed = out.0.lock().unwrap().clone();
        let loaded = load(Input::Memory(packed, "x".into()), &ReadOptions::default()).unwrap();
        assert_eq!((loaded.report.codec, loaded.scene.totals()), (Some(codec), [0; 7]));
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a tool makes of its standard input; `None` where it is not installed.
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
    let folder = Folder::new("compressed-tools");
    for (extension, codec, name) in CODECS {
        let packed = converted(&plain, Some(codec), run(2, None));
        let Some(found) = tool(name, &["-d", "-c", "-q"], &packed) else {
            let _ = writeln!(std::io::stderr(), "SKIPPED: {name} is not installed");
            continue;
        };
        assert!(found == plain, "{name} -d");
        for level in ["-1", "-9"] {
            let theirs = tool(name, &["-c", "-q", level], &plain).unwrap();
            assert!(converted(&theirs, None, run(2, None)) == plain, "{name} {level}");
            let path = folder.0.join(format!("x.obj.{extension}"));
            fs::write(&path, &theirs).unwrap();
            let loaded = load(Input::Path(path), &ReadOptions::default()).unwrap();
            let report = loaded.report;
            assert_eq!((report.bytes_in, report.plain_bytes_in), (theirs.len() as u64, plain.len() as u64));
        }
    }
}
