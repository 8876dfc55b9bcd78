//! What holds for every file of `testdata/off`: cut anywhere, changed in any byte, and read in any way.

use crate::off::*;
use polyhaul::WriteOptions;
use polyhaul::options::{Codec, OnError};
use polyhaul::{ErrorKind, Output};
use polyhaul_testkit::corpus::{Sample, samples};
use polyhaul_testkit::hostile::{Fault, Hostile, Sizes};
use polyhaul_testkit::output::bytes;
use polyhaul_testkit::random::Random;
use polyhaul_testkit::scene::{broken_rule, everything};
use polyhaul_testkit::{growth, mutate};

fn all() -> Vec<Sample> {
    let files: Vec<_> = ["off/good", "off/bad"].iter().flat_map(|folder| samples(folder, "off")).collect();
    assert!(files.len() > 38);
    files
}

fn options(on_error: OnError, run: RunOptions) -> ReadOptions {
    ReadOptions::default().with_on_error(on_error).with_run(run)
}

fn hostile(bytes: &[u8], fault: Fault, seed: u64) -> Input {
    let sizes = if seed == 0 { Sizes::One } else { Sizes::Random(Random::new(seed)) };
    Input::Reader(Box::new(Hostile::new(bytes, sizes).with(fault)), "x.off".into())
}

/// Sound, or an error that says that the file is wrong.
fn check(bytes: &[u8], what: impl Fn() -> String) {
    for on_error in [OnError::Raise, OnError::Warn] {
        match load_with(bytes, &options(on_error, threads(1, None))) {
            Ok(loaded) => assert_eq!(broken_rule(&loaded.value), None, "{}", what()),
            Err(error) => {
                let is_fault = matches!(error.kind(), ErrorKind::Internal | ErrorKind::Memory);
                assert!(!is_fault, "{error} {}", what());
            }
        }
    }
}

#[test]
fn every_beginning_is_an_error_or_a_file() {
    for file in all() {
        let bytes = file.bytes();
        for cut in 0..bytes.len() {
            check(&bytes[..cut], || format!("{} cut at {cut}", file.name));
        }
    }
    // A file that declares its rows does not lose one in silence.
    let whole = file("good/cube.off");
    for cut in 0..whole.len() - 1 {
        let last_line = whole.len() - "4 6 0 2 4\n".len();
        assert!(load(&whole[..cut]).is_err() || cut > last_line, "cut at {cut}");
    }
}

#[test]
fn one_changed_byte_breaks_nothing() {
    for file in all().iter().filter(|file| file.size <= 300) {
        mutate::each_byte(&file.bytes(), |at, byte, bytes| {
            check(bytes, || format!("{} with {byte:#04x} at {at}", file.name));
        });
    }
}

/// Scene, warnings or error as text: NaN is not equal to itself.
fn outcome(result: Result<Loaded<Scene>>) -> String {
    match result {
        Ok(Loaded { value: scene, report }) => format!("{scene:?} {:?}", report.warnings),
        Err(error) => format!("{:?} {:?}", error.kind(), error.diagnostic()),
    }
}

#[test]
fn the_same_in_every_way() {
    for file in all() {
        let bytes = file.bytes();
        for on_error in [OnError::Raise, OnError::Warn] {
            let expected = outcome(load_with(bytes.clone(), &options(on_error, threads(1, None))));
            for (seed, count) in [1, 2, 3, 7, 64].into_iter().enumerate() {
                for chunk_bytes in [Some(1), Some(13), Some(200), None] {
                    let way = options(on_error, threads(count, chunk_bytes));
                    let what = format!("{}, {count} threads, chunks of {chunk_bytes:?}", file.name);
                    assert_eq!(outcome(load_with(bytes.clone(), &way)), expected, "{what}");
                    let streamed =
                        polyhaul::Reader::new(hostile(&bytes, Fault::Interrupted, seed as u64)).options(&way).scene();
                    assert_eq!(outcome(streamed), expected, "a stream, {what}");
                }
            }
        }
    }
}

/// More flaws of several kinds than are kept, in any chunks.
#[test]
fn many_warnings_are_the_same_for_any_chunk() {
    let mut text = "OFF 2000 9000 0\n".to_owned();
    text += &"1 2 3 4\n0 0 0\n".repeat(1000);
    text += &"0\n3 0 1 9999\n3 0 1 1 1 2 3 4 5\n3 0 1 1 7\n".repeat(2250);
    let outcome = |run| outcome(load_with(text.clone(), &options(OnError::Warn, run)));
    let expected = outcome(threads(1, None));
    assert!(expected.contains("\"short-face\": 2250") && expected.contains("\"extra-value\": 3250"));
    for (count, chunk_bytes) in [(1, 100), (2, 5000), (3, 40_000)] {
        assert!(outcome(threads(count, Some(chunk_bytes))) == expected, "{count} {chunk_bytes}");
    }
}

#[test]
fn readers_that_fail_say_so() {
    for file in samples("off/good", "off").iter().filter(|file| file.size > 250) {
        let bytes = file.bytes();
        for at in [0, 3, 100, bytes.len() / 2] {
            for fault in [Fault::FailsAt(at), Fault::PanicsAt(at), Fault::ClaimsTooMuchAt(at)] {
                let way = options(OnError::Raise, threads(2, Some(64)));
                let error =
                    polyhaul::Reader::new(hostile(&bytes, fault, 9)).options(&way).scene().map(drop).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Host), "{} {fault:?}: {error:?}", file.name);
            }
        }
    }
}

#[test]
fn what_is_written_is_the_same_in_every_way() {
    let mut scenes: Vec<Scene> =
        samples("off/good", "off").iter().map(|file| load(file.bytes()).unwrap().value).collect();
    scenes.push(everything());
    for scene in scenes {
        let expected = bytes(&scene, &written(WriteOptions::default()));
        for count in [1, 2, 3, 7, 64] {
            for chunk_bytes in [None, Some(1), Some(77), Some(4000)] {
                let options = written(WriteOptions::default()).with_run(threads(count, chunk_bytes));
                assert!(bytes(&scene, &options) == expected, "{count} {chunk_bytes:?}");
            }
        }
        for codec in [Codec::Gzip, Codec::Zstd, Codec::Lz4] {
            let options = written(WriteOptions::default()).with_compression(codec.into());
            let found = load(bytes(&scene, &options)).unwrap();
            assert_eq!(found.report.codec, Some(codec));
            assert_eq!(format!("{:?}", found.value), format!("{:?}", load(expected.clone()).unwrap().value));
        }
    }
}

#[test]
fn work_is_linear() {
    let shapes = [
        "\n",
        "# 1 2 3\n",
        "0 0 0\n",
        "1e-9 0 0\n",
        "0 0 0 0\n",
        "3 0 0 0\n",
        "2 0 0\n",
        "0\n",
        "3 0 0 9\n",
        "3 0 0 0 .5\n",
        "a/b ",
    ];
    for shape in shapes {
        for header in ["OFF 1 999999 0\n0 0 0\n", "OFF 999999 0 0\n"] {
            let texts = [8_000, 32_000].map(|count| format!("{header}{}", shape.repeat(count)).into_bytes());
            let way = options(OnError::Warn, threads(1, None));
            let complaint = growth::too_fast(&texts, |text| drop(load_with(text.clone(), &way)));
            assert_eq!(complaint, None, "{shape:?}");
        }
    }
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let folder = corpus::Folder::new("off-strict").unwrap();
    let path = folder.file("a.off", "old").unwrap();
    let options = written(WriteOptions::default()).with_strict(true);
    let error = polyhaul::Writer::new(Output::Path(path)).options(&options).scene(&everything()).unwrap_err();
    assert_eq!((error.kind(), folder.text("a.off")), (ErrorKind::Unsupported, "old".to_owned()));
    assert_eq!(folder.names(), ["a.off"]);
}
