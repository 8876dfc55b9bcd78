//! Files that are not read, and where that is said to be.

use crate::stl::*;
use polyhaul::model::Scene;
use polyhaul::options::{Limits, OnError};
use polyhaul::{Error, ErrorKind};

/// What is wrong, whoever reads it and however.
#[track_caller]
fn error(bytes: &[u8]) -> Error {
    let error = load(bytes.to_vec()).unwrap_err();
    for count in [1, 2, 7] {
        for chunk_bytes in [None, Some(1), Some(70), Some(300)] {
            let options = ReadOptions::default().with_run(threads(count, chunk_bytes));
            let again = load_with(bytes.to_vec(), &options).unwrap_err();
            assert_eq!(
                (again.kind(), again.diagnostic()),
                (error.kind(), error.diagnostic()),
                "{count} {chunk_bytes:?}"
            );
            let streamed = polyhaul::Reader::new(stream(bytes.to_vec())).options(&options).scene().unwrap_err();
            assert_eq!((streamed.kind(), streamed.diagnostic()), (error.kind(), error.diagnostic()));
        }
    }
    error
}

#[track_caller]
fn says(name: &str, words: &str) {
    let error = error(&file(name));
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Malformed, format!("x.stl{words}")), "{name}");
}

#[test]
fn errors_have_places_and_triangles() {
    says("bad/truncated_binary.stl", ": byte 447: unexpected end of file in triangle 8 of 12; expected 684 bytes");
    says("bad/count_lies.stl", ": byte 684: unexpected end of file in triangle 13 of 13; expected 734 bytes");
    let four = ":7:7: unexpected `vertex` in triangle 1; expected `endloop`: a triangle has three vertices";
    says("bad/four_vertices.stl", four);
    says("bad/nested.stl", ":8:3: unexpected `facet` in triangle 1; expected `endfacet`");
    let number = ":6:16: unexpected `one` in triangle 1; expected three numbers";
    says("bad/no_number.stl", number);
    let short = ": byte 28: not an STL file: a binary file has at least 84 bytes, and a text file starts with `solid`";
    says("bad/short.stl", short);
    let cut = error(&file("bad/truncated_ascii.stl"));
    assert_eq!(cut.kind(), ErrorKind::Malformed);
    assert!(cut.place().line.is_some(), "{cut}");
}

#[test]
fn counts_are_not_believed() {
    for name in ["bad/huge_count.stl", "bad/solid_and_noise.stl"] {
        let error = error(&file(name));
        assert!(matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{name}: {error}");
    }
    // As many as indices can name, of which nothing comes.
    let mut bytes = file("good/cube_binary.stl");
    bytes[80..84].copy_from_slice(&1_400_000_000u32.to_le_bytes());
    assert_eq!(
        error(&bytes).to_string(),
        "x.stl: byte 684: unexpected end of file in triangle 13 of 1400000000; expected 70000000084 bytes"
    );
    let limits = Limits::default().with_elements(35);
    for name in ["good/cube_binary.stl", "good/cube_ascii.stl"] {
        let options = ReadOptions::default().with_limits(limits);
        assert_eq!(load_with(file(name), &options).unwrap_err().kind(), ErrorKind::Limit);
        let limits = limits.with_elements(36);
        assert!(load_with(file(name), &options.with_limits(limits)).is_ok());
    }
}

#[test]
fn broken_triangles_can_be_left_out() {
    let options = |chunk_bytes| ReadOptions::default().with_on_error(OnError::Warn).with_run(threads(3, chunk_bytes));
    for (name, faces) in [
        ("bad/truncated_binary.stl", 7),
        ("bad/count_lies.stl", 12),
        ("bad/four_vertices.stl", 11),
        ("bad/no_number.stl", 11),
        ("bad/nested.stl", 11),
    ] {
        let expected = load_with(file(name), &options(None)).unwrap();
        assert_eq!(expected.value.meshes[0].faces.len(), faces, "{name}");
        assert_eq!(expected.report.warnings.total(), 1, "{name}: {:?}", expected.report.warnings);
        for chunk_bytes in [1, 60, 100, 250] {
            let loaded = load_with(file(name), &options(Some(chunk_bytes))).unwrap();
            assert!(loaded.value == expected.value && loaded.report.warnings == expected.report.warnings, "{name}");
        }
    }
}

#[test]
fn every_end_is_an_error_or_a_file() {
    for name in ["good/cube_ascii.stl", "good/two_solids.stl", "good/cube_binary.stl", "good/solid_binary.stl"] {
        let whole = file(name);
        for end in (0..whole.len()).step_by(7) {
            let options = welded().with_on_error(OnError::Warn).with_run(threads(2, Some(90)));
            let strict = load(whole[..end].to_vec());
            let lenient = load_with(whole[..end].to_vec(), &options);
            if let Ok(strict) = &strict
                && let Ok(lenient) = &lenient
            {
                let faces =
                    |loaded: &Loaded<Scene>| loaded.value.meshes.iter().map(|mesh| mesh.faces.len()).sum::<usize>();
                assert_eq!(faces(strict), faces(lenient));
            }
        }
    }
}

#[test]
fn noise_is_no_crash() {
    let mut random = polyhaul_testkit::random::Random::new(5);
    let good = [file("good/two_solids.stl"), file("good/attributes.stl")];
    for round in 0..400 {
        let mut bytes = good[round % 2].clone();
        for _ in 0..1 + random.below(6) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.bits() as u8,
                1 => drop(bytes.drain(at..(at + random.below(40)).min(bytes.len()))),
                _ => bytes.insert(at, b" \n\rx0-e"[random.below(7)]),
            }
        }
        let outcome = |count, chunk_bytes| {
            let options = ReadOptions::default().with_on_error(OnError::Warn).with_run(threads(count, chunk_bytes));
            load_with(bytes.clone(), &options)
                .map(|loaded| (format!("{:?}", loaded.value), loaded.report.warnings))
                .map_err(|error| format!("{error:?}"))
        };
        let expected = outcome(1, None);
        for chunk_bytes in [1, 50, 333] {
            assert_eq!(outcome(3, Some(chunk_bytes)), expected, "round {round}, {chunk_bytes}");
        }
    }
}

#[test]
fn names_and_lines_have_limits() {
    let text = |name: usize| format!("solid {}\nendsolid\n", "n".repeat(name)).into_bytes();
    let limits = Limits::default().with_name_bytes(10).with_line_bytes(100);
    let options = ReadOptions::default().with_limits(limits);
    assert!(load_with(text(10), &options).is_ok());
    for size in [11, 200] {
        let error = load_with(text(size), &options).unwrap_err();
        assert_eq!((error.kind(), error.place().line), (ErrorKind::Limit, Some(1)));
    }
}
