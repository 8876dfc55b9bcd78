//! Compressed input yields the same scene, warnings and errors as uncompressed text, for any source and any threads.

use crate::{lenient, options, read};
use polyhaul::options::{Codec, OnError, Progress};
use polyhaul::{Error, ErrorKind, Format, Input, Loaded, ReadOptions};
use polyhaul_testkit::corpus::{Folder, Sample, samples};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::packed::{CODECS, pack};
use polyhaul_testkit::random::Random;
use polyhaul_testkit::{generate, summary};
use std::fs;
use std::sync::{Arc, Mutex};

/// Returns the sample scenes of a codec.
fn scenes(extension: &str, part: &str) -> Vec<Sample> {
    let mut files = samples(&format!("{extension}/{part}"), extension);
    files.retain(|file| file.name.contains("/scene.obj."));
    assert!(files.len() >= 7, "{extension} {part}");
    files
}

/// Returns options for OBJ, regardless of the name, without libraries, which only files have.
fn obj(base: ReadOptions) -> ReadOptions {
    base.with_format(Some(Format::Obj)).with_load_materials(false)
}

/// Kinds of sources.
const SOURCES: [&str; 4] = ["memory", "stream", "stream byte by byte", "stream in bits"];

fn input(source: &str, bytes: &[u8], name: &str) -> Input {
    let hostile = |sizes| Input::Reader(Box::new(Hostile::new(bytes, sizes).with(Fault::Interrupted)), name.into());
    match source {
        "memory" => Input::Memory(bytes.to_vec(), name.into()),
        "stream" => hostile(Sizes::All),
        "stream byte by byte" => hostile(Sizes::One),
        _ => hostile(Sizes::Random(Random::new(bytes.len() as u64))),
    }
}

/// Reads in many ways; each outcome must equal `expected`, or otherwise the first one.
fn same(bytes: &[u8], name: &str, base: &ReadOptions, expected: Option<String>) -> Vec<String> {
    let mut expected = expected;
    let mut wrong = Vec::new();
    for (t, threads) in [1, 2, 3, 7, 64].into_iter().enumerate() {
        for (c, chunk_bytes) in [Some(1), Some(7), Some(100), Some(1000), None].into_iter().enumerate() {
            for (s, source) in SOURCES.into_iter().enumerate() {
                let crowded = chunk_bytes == Some(1) && threads > 3;
                if crowded || !(t + c + s).is_multiple_of(3) {
                    continue;
                }
                let mut options = base.clone();
                options.run.threads = Some(threads);
                options.run.chunk_bytes = chunk_bytes;
                let outcome = summary::outcome(&read(input(source, bytes, name), &options));
                let expected = expected.get_or_insert_with(|| outcome.clone());
                if *expected != outcome && wrong.len() < 2 {
                    let place = expected.lines().zip(outcome.lines()).find(|(a, b)| a != b);
                    wrong.push(format!("{name}, {threads} threads, chunks of {chunk_bytes:?}, {source}: {place:?}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn good_files_are_their_plain_text() {
    let mut wrong = Vec::new();
    for (codec, extension) in CODECS {
        for file in scenes(extension, "good") {
            let plain = fs::read(file.path.with_file_name("scene.obj")).unwrap();
            let base = obj(options(1, None));
            let expected = summary::outcome(&read(input("memory", &plain, "x"), &base));
            wrong.extend(same(&file.bytes(), "x", &base, Some(expected)));
            let report = read(Input::Path(file.path.clone()), &base).unwrap().report;
            assert_eq!((report.codec, report.bytes_in), (Some(codec), file.size), "{}", file.name);
            assert_eq!((report.plain_bytes_in, report.warnings.total()), (plain.len() as u64, 0), "{}", file.name);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_files_end_alike_however_they_are_read() {
    let mut wrong = Vec::new();
    for (_, extension) in CODECS {
        for file in scenes(extension, "bad") {
            for base in [options(1, None), lenient()] {
                let base = obj(base);
                let result = read(Input::Path(file.path.clone()), &base);
                let name = file.path.display().to_string();
                let is_noted = base.on_error == OnError::Warn && file.name.contains("trailing_garbage");
                assert_eq!(result.is_ok(), is_noted, "{name}: {result:?}");
                wrong.extend(same(&file.bytes(), &name, &base, Some(summary::outcome(&result))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn garbage_behind_the_data_may_be_a_warning() {
    for (_, extension) in CODECS {
        let file = scenes(extension, "bad").into_iter().find(|file| file.name.contains("trailing_garbage")).unwrap();
        let error = read(Input::Path(file.path.clone()), &obj(options(1, None))).unwrap_err();
        assert_eq!((error.kind(), error.place().offset.is_some()), (ErrorKind::Malformed, true), "{error}");
        let loaded = read(Input::Path(file.path.clone()), &obj(lenient())).unwrap();
        assert_eq!(loaded.report.warnings.counts().get("trailing-garbage"), Some(&1));
        assert_eq!(&loaded.report.warnings.kept()[0].diagnostic.place, error.place());
        assert!(loaded.value.totals()[0] > 100);
    }
}

/// Errors name the codec, the cause, the offset in the file, and the amount of text before it.
#[test]
fn damage_is_told_in_plain_words() {
    for (file, kind, words) in [
        ("gz/bad/scene.obj.truncated_trailer.gz", ErrorKind::Malformed, "unexpected end of the gzip data (after 11571"),
        ("gz/bad/scene.obj.bad_crc.gz", ErrorKind::Malformed, "the gzip data is damaged: the checksum"),
        ("lz4/bad/scene.obj.bad_header_checksum.lz4", ErrorKind::Malformed, "the lz4 data is damaged: the checksum"),
        ("zst/bad/scene.obj.needs_dictionary.zst", ErrorKind::Unsupported, "this zstd data cannot be read"),
        ("gz/bad/scene.obj.bad_method.gz", ErrorKind::Unsupported, "this gzip data cannot be read"),
    ] {
        let path = polyhaul_testkit::corpus::root().join(file);
        let error = read(Input::Path(path), &obj(options(2, None))).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.place().offset.is_some() && error.to_string().contains(words), "{error}");
        assert!(error.io_error().is_some());
    }
}

/// Generates text of about `bytes` bytes, optionally with an invalid statement.
fn text(bytes: u64, fault_at: Option<usize>) -> Vec<u8> {
    let mut text = Vec::new();
    generate::grid(bytes, &mut text).unwrap();
    if let Some(at) = fault_at {
        let at = at + text[at..].iter().position(|&byte| byte == b'\n').unwrap();
        text.splice(at + 1..at + 1, *b"v 1 what\n");
    }
    text
}

/// If both the text is invalid and a member is damaged, the error is the first by position, for any threads and chunk
/// sizes, for a file and for a pipe.
#[test]
fn the_first_by_position_is_the_error() {
    const MEMBER_BYTES: usize = 100_000;
    let mut wrong = Vec::new();
    for (codec, _) in CODECS {
        for (fault_at, damaged, is_text) in
            [(Some(150_000), 9, true), (Some(1_250_000), 13, true), (Some(1_500_000), 3, false), (None, 7, false)]
        {
            let plain = text(1_600_000, fault_at);
            let mut packed = pack(codec, &plain[..damaged * MEMBER_BYTES], MEMBER_BYTES);
            let start = packed.len();
            packed.extend(pack(codec, &plain[damaged * MEMBER_BYTES..], MEMBER_BYTES));
            // Damages the first member of the second part, away from its header, so that members are still found.
            packed[start + 10_000] ^= 0x55;
            let mut expected = None;
            for threads in [1, 2, 3, 7, 64] {
                for chunk_bytes in [Some(30_000), Some(1 << 20), None, Some(10 << 20)] {
                    for source in ["memory", "stream", "stream in bits"] {
                        let base = obj(options(threads, chunk_bytes));
                        let outcome = summary::outcome(&read(input(source, &packed, "x.obj"), &base));
                        let expected = expected.get_or_insert_with(|| outcome.clone());
                        if *expected != outcome {
                            wrong.push(format!(
                                "{codec} {fault_at:?} {damaged} {threads} {chunk_bytes:?} {source}\n{expected}{outcome}"
                            ));
                        }
                    }
                }
            }
            let expected = expected.unwrap();
            // A damaged member may decode to invalid text, but never affects earlier members.
            assert!(!is_text || expected.contains("what"), "{codec} {fault_at:?}: {expected}");
            assert!(expected.starts_with("error"), "{codec}: {expected}");
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
}

#[test]
fn the_content_decides_and_the_name_is_noted() {
    let plain = b"v 0 0 0\np 1\n".to_vec();
    let noted = |bytes: &[u8], name: &str| {
        let loaded = read(input("memory", bytes, name), &options(1, None)).unwrap();
        assert_eq!(loaded.value.totals()[0], 1, "{name}");
        (loaded.report.codec, loaded.report.warnings.counts().get("not-compressed").copied())
    };
    for (codec, extension) in CODECS {
        let packed = pack(codec, &plain, 100);
        assert_eq!(noted(&packed, &format!("x.obj.{extension}")), (Some(codec), None));
        assert_eq!(noted(&packed, "x.obj"), (Some(codec), None));
        assert_eq!(noted(&packed, "x"), (Some(codec), None));
        assert_eq!(noted(&plain, &format!("x.obj.{extension}")), (None, Some(1)));
        let other = if codec == Codec::Gzip { "zst" } else { "GZ" };
        assert_eq!(noted(&packed, &format!("x.obj.{other}")), (Some(codec), Some(1)));
    }
    let strict = options(1, None).with_strict(true);
    let error = read(input("memory", &plain, "x.obj.gz"), &strict).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(read(input("memory", b"", "x.obj.gz"), &options(1, None)).is_ok());
}

#[test]
fn the_extension_before_that_of_the_codec_is_the_format() {
    let folder = Folder::new("compressed").unwrap();
    let packed = pack(Codec::Zstd, b"v 0 0 0\n", 100);
    for name in ["x.obj.zst", "x.OBJ.Zst", "x.zst", "x.obj.gz", "x.obj"] {
        let result = read(Input::Path(folder.file(name, &packed).unwrap()), &options(1, None));
        assert_eq!(result.unwrap().value.totals()[0], 1, "{name}");
    }
    let error = read(Input::Path(folder.file("x.fbx.gz", &packed).unwrap()), &options(1, None)).unwrap_err();
    assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("`fbx`"), "{error}");
}

/// Libraries may be compressed, which is detected by their content, under any name.
#[test]
fn libraries_may_be_compressed() {
    let folder = Folder::new("compressed").unwrap();
    let library = b"newmtl paint\nKd 1 0 0\n";
    let text = "mtllib a.mtl b.mtl.gz c.mtl\nusemtl paint\n";
    let scene = folder.file("x.obj", text).unwrap();
    folder.file("a.mtl", pack(Codec::Lz4, library, 100)).unwrap();
    folder.file("b.mtl.gz", pack(Codec::Gzip, b"newmtl b\n", 100)).unwrap();
    let mut cut = pack(Codec::Gzip, b"newmtl c\n", 100);
    cut.truncate(30);
    folder.file("c.mtl", cut).unwrap();
    let Loaded { value: scene, report } = read(Input::Path(scene), &options(1, None)).unwrap();
    let names: Vec<_> = scene.materials.iter().map(|material| (material.name.as_str(), material.missing)).collect();
    assert_eq!(names, [("paint", false), ("b", false)]);
    assert_eq!(scene.material_libraries, ["a.mtl", "b.mtl.gz", "c.mtl"]);
    assert_eq!(report.warnings.counts().get("missing-library"), Some(&1));
    let message = &report.warnings.kept()[0].diagnostic.message;
    assert!(message.contains("unexpected end of the gzip data"), "{message}");
    assert_eq!((report.codec, report.plain_bytes_in), (None, text.len() as u64 + 22 + 9));
}

/// Progress counts compressed bytes.
#[test]
fn progress_is_of_the_file() {
    let plain = text(12_000_000, None);
    for member_bytes in [1 << 20, usize::MAX] {
        let packed = pack(Codec::Gzip, &plain, member_bytes);
        let size = packed.len() as u64;
        for source in ["memory", "stream"] {
            let calls = Arc::new(Mutex::new(Vec::new()));
            let seen = calls.clone();
            let mut options = obj(options(2, None));
            options.run.progress =
                Some(Progress(Arc::new(move |finished, total| seen.lock().unwrap().push((finished, total)))));
            let loaded = read(input(source, &packed, "x.obj"), &options).unwrap();
            assert_eq!((loaded.report.bytes_in, loaded.report.plain_bytes_in), (size, plain.len() as u64));
            let calls = calls.lock().unwrap();
            assert!(calls.len() >= 2 && calls.is_sorted(), "{calls:?}");
            let total = (source == "memory").then_some(size);
            assert!(
                calls.iter().all(|&(finished, size_of_all)| finished <= size && size_of_all == total),
                "{calls:?} of {size}"
            );
        }
    }
}

/// Errors of a host's reader are passed through unchanged, regardless of what was decoded before.
#[test]
fn errors_of_readers_come_out_as_they_are() {
    struct Failing(std::io::Cursor<Vec<u8>>);
    #[derive(Debug)]
    struct Mine;
    impl std::fmt::Display for Mine {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("mine")
        }
    }
    impl std::error::Error for Mine {}
    impl std::io::Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(std::io::Error::other(Mine)),
                count => Ok(count),
            }
        }
    }
    let plain = text(300_000, None);
    for (codec, _) in CODECS {
        let packed = pack(codec, &plain, 70_000);
        for cut in [0, 3, 20, packed.len() / 2, packed.len()] {
            let reader = Failing(std::io::Cursor::new(packed[..cut].to_vec()));
            let input = Input::Reader(Box::new(reader), "host.obj".into());
            let error: Error = read(input, &obj(options(2, None))).unwrap_err();
            let inner = error.io_error().and_then(|error| error.get_ref()).is_some_and(|inner| inner.is::<Mine>());
            assert!(error.kind() == ErrorKind::Io && inner, "{codec} {cut}: {error}");
        }
    }
}

#[test]
fn a_reader_that_panics_or_lies_is_the_hosts_fault() {
    let packed = pack(Codec::Gzip, &text(300_000, None), 70_000);
    for at in [0, 3, 1000, packed.len() - 1] {
        for fault in [Fault::PanicsAt(at), Fault::ClaimsTooMuchAt(at)] {
            let reader = Hostile::new(packed.clone(), Sizes::All).with(fault);
            let error = read(Input::Reader(Box::new(reader), "host.obj".into()), &obj(options(2, None))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Host, "{fault:?}: {error}");
        }
    }
}
