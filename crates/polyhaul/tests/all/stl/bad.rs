//! Rejected files, with the location of the error.

use crate::stl::*;
use polyhaul::options::{Limits, OnError};
use polyhaul::{Error, ErrorKind};

/// Checks the error for all readers and chunks.
#[track_caller]
fn error(bytes: &[u8]) -> Error {
    let error = load(bytes.to_vec()).unwrap_err();
    for count in [1, 2, 7] {
        for chunk_bytes in [None, Some(1), Some(70), Some(300)] {
            let options = ReadOptions::default().with_run(run(count, chunk_bytes));
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
    let error_of_noise = error(&file("bad/solid_and_noise.stl"));
    assert!(matches!(error_of_noise.kind(), ErrorKind::Malformed | ErrorKind::Limit), "{error_of_noise}");
    // Declares as many triangles as indices can address, but has none.
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
    let options = |chunk_bytes| ReadOptions::default().with_on_error(OnError::Warn).with_run(run(3, chunk_bytes));
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
