//! Rejected files with the location of the error, and limits.

use crate::off::*;
use polyhaul::options::{Limits, OnError};
use polyhaul::{Error, ErrorKind};

/// Checks the error for all readers and chunks.
#[track_caller]
fn error_with(bytes: &[u8], options: &ReadOptions) -> Error {
    let error = load_with(bytes, options).unwrap_err();
    for count in [1, 2, 7] {
        for chunk_bytes in [None, Some(1), Some(20), Some(70)] {
            let options = options.clone().with_run(run(count, chunk_bytes));
            let what = format!("{count} threads, chunks of {chunk_bytes:?}");
            let again = load_with(bytes, &options).unwrap_err();
            assert_eq!((again.kind(), again.diagnostic()), (error.kind(), error.diagnostic()), "{what}");
            let stream = Input::Reader(Box::new(std::io::Cursor::new(bytes.to_vec())), "x.off".into());
            let streamed = polyhaul::Reader::new(stream).options(&options).scene().unwrap_err();
            assert_eq!((streamed.kind(), streamed.diagnostic()), (error.kind(), error.diagnostic()), "{what}");
        }
    }
    error
}

#[track_caller]
fn error(bytes: &[u8]) -> Error {
    error_with(bytes, &ReadOptions::default())
}

#[test]
fn errors_have_places_and_rows() {
    use ErrorKind::{Limit, Malformed, Unsupported};
    let counts = "the numbers of vertices, faces and edges";
    let table = [
        ("no_bytes", Malformed, format!(":1: the file is empty; expected `OFF`, and {counts}")),
        ("keyword_alone", Malformed, format!(":3: unexpected end of file in the header; expected {counts}")),
        ("no_faces_count", Malformed, format!(":2:1: the number of faces is missing; expected {counts}")),
        ("not_off", Malformed, ":1:1: `solid` is not an OFF keyword; expected `OFF`, optionally prefixed with `ST`, `C` or `N`, or the number of vertices".into()),
        ("binary", Unsupported, ":1:5: binary OFF files are not supported".into()),
        ("four_dimensions", Unsupported, ":1:1: four-dimensional OFF files (`4OFF`) are not supported; expected three dimensions".into()),
        ("any_dimensions", Unsupported, ":1:1: n-dimensional OFF files (`nOFF`) are not supported; expected three dimensions".into()),
        ("short_vertices", Malformed, ":11: unexpected end of file: found 8 of 9 vertices".into()),
        ("short_faces", Malformed, ":17: unexpected end of file: found 6 of 7 faces".into()),
        ("huge_counts", Malformed, ":4: unexpected end of file: found 1 of 4294967294 vertices".into()),
        ("too_many", Limit, ":2:1: more vertices than the limit `elements` (4294967294)".into()),
        ("index", Malformed, ":13:7: face 2: vertex 8 does not exist; expected an index from 0 to 7".into()),
        ("negative_index", Malformed, ":13:5: face 2: vertex -1 does not exist; expected an index from 0 to 7".into()),
        ("number", Malformed, ":7:6: `0,5` is not a number (vertex 4)".into()),
        ("few_values", Malformed, ":3:1: vertex 0 has 3 values; expected x y z nx ny nz on one line".into()),
        ("few_indices", Malformed, ":13:1: face 2 has 3 indices; expected 4 on one line".into()),
        ("color_word", Malformed, ":14:11: `red` is not a color value (face 3)".into()),
    ];
    for (name, kind, said) in &table {
        let error = error(&file(&format!("bad/{name}.off")));
        assert_eq!((error.kind(), error.to_string()), (*kind, format!("x.off{said}")), "{name}");
    }
    let names = std::fs::read_dir(corpus::root().join("off/bad")).unwrap();
    // Rows that share lines are read, with a warning.
    let shared = ["vertex_on_counts", "two_on_a_line"];
    assert_eq!(names.count(), table.len() + shared.len(), "every bad file has a row here");
    for name in shared {
        let loaded = load_with(file(&format!("bad/{name}.off")), &ReadOptions::default()).unwrap();
        assert!(loaded.report.warnings.counts().keys().eq(&["odd-statement"]), "{name}");
    }
    let text = b"OFF 4 0 0\n0 0 0 1 0 0\n1 1 0\n";
    let hint = error(text).diagnostic().hint.clone();
    assert_eq!(hint.unwrap(), "line 2 has extra values: each vertex and each face needs a line of its own");
}

#[test]
fn small_texts_say_what_is_wrong() {
    let table = [
        ("ofF1x 1 0 0", ":1:1: `ofF1x` is not"),
        ("NNOFF 1 0 0", ":1:1: `NNOFF` is not"),
        ("OFF x 0 0", ":1:5: `x` is not a valid number of vertices"),
        ("OFF 1 -1 0", ":1:7: `-1` is not a valid number of faces"),
        ("OFF 1 0 1.5", ":1:9: `1.5` is not a valid number of edges"),
        ("OFF 99999999999999999999 0 0", ":1:5: `99999999999999999999` is not a valid number of vertices"),
        ("COFF\nBINARY\n", ":2:1: binary OFF"),
        ("OFF 1 1 0\n0 0 0\n1.5 0\n", ":3:1: `1.5` is not a valid number of corners (face 0)"),
        ("OFF 1 1 0\n0 0 0\n-1\n", ":3:1: `-1` is not a valid number of corners (face 0)"),
        ("OFF 1 1 0\n0 0 0\n1 0.5\n", ":3:3: `0.5` is not an index (face 0)"),
        ("OFF 1 1 0\n0 0 0\n99999999999 0\n", ":3:1: face 0 has 1 index; expected 99999999999 on one line"),
        ("OFF 0 1 0\n1 0\n", ":2:3: face 0: vertex 0 does not exist: the file has no vertices"),
        ("COFF 1 0 0\n1 2 3 4 5", ":2:1: vertex 0 has 5 values; expected x y z r g b a on one line"),
        ("OFF 1 0 0\n# c\n1", ":3:1: vertex 0 has 1 value; expected x y z on one line"),
        ("OFF 2 0 0\n0 0 0", ":2: unexpected end of file: found 1 of 2 vertices"),
        ("OFF 1 0 0\n0 0 0/0", ":2:5: `0/0` is not a number (vertex 0)"),
    ];
    for (text, said) in table {
        let error = error(text.as_bytes());
        assert!(error.to_string().starts_with(&format!("x.off{said}")), "{text:?}: {error}");
    }
}

#[test]
fn broken_faces_can_be_left_out() {
    let lenient = ReadOptions::default().with_on_error(OnError::Warn);
    for name in ["bad/index.off", "bad/negative_index.off"] {
        let loaded = load_with(file(name), &lenient).unwrap();
        assert_eq!(
            (loaded.value.meshes[0].faces.len(), codes(&loaded.report)),
            (5, vec![("index-out-of-range", 1)]),
            "{name}"
        );
    }
    // One warning per face, in addition to other flaws of its line.
    let text = "OFF 1 5 0\n0 0 0\n3 0 9 -9 1 2 3\n3 0 0 0\n2 0 7\n1 8\n4 0 0 0 0 1\n";
    let loaded = load_with(text, &lenient).unwrap();
    assert_eq!(codes(&loaded.report), [("index-out-of-range", 3), ("left-out-face-colors", 2)]);
    assert_eq!(loaded.value.meshes[0].faces.len(), 2);
    let text = text.replace("3 0 9 -9", "3 0 9 x");
    let loaded = load_with(text.as_str(), &lenient).unwrap();
    assert_eq!(loaded.report.warnings.counts()["malformed"], 1);
    assert!(load_with(text.as_str(), &ReadOptions::default()).is_err());
    for (name, code) in [
        ("bad/number.off", "malformed"),
        ("bad/few_values.off", "malformed"),
        ("bad/few_indices.off", "malformed"),
        ("bad/color_word.off", "malformed"),
        ("bad/short_faces.off", "truncated"),
    ] {
        let loaded = load_with(file(name), &lenient).unwrap();
        assert!(loaded.report.warnings.counts().contains_key(code), "{name}");
        assert_eq!(load_with(file(name), &ReadOptions::default()).unwrap_err().kind(), ErrorKind::Malformed, "{name}");
    }
}

#[test]
fn strict_makes_errors_of_warnings() {
    let strict = ReadOptions::default().with_strict(true);
    for (name, line) in [("extra_values", 9), ("trailing", 19), ("lines_and_points", 20), ("face_colors", 12)] {
        let error = error_with(&file(&format!("good/{name}.off")), &strict);
        assert_eq!(error.place().line, Some(line), "{name}: {error}");
    }
}

#[test]
fn errors_of_limits_have_places() {
    let options = ReadOptions::default().with_limits(Limits::default().with_elements(6));
    let more_faces = error_with(b"OFF 1 7 0\n0 0 0\n0\n0\n0\n0\n0\n0\n0\n", &options);
    assert_eq!((more_faces.kind(), more_faces.place().column), (ErrorKind::Limit, Some(7)));
    let corners = error_with(b"OFF 1 3 0\n0 0 0\n3 0 0 0\n2 0 0\n4 0 0 0 0\n", &options);
    assert_eq!(
        corners.to_string(),
        "x.off:5:1: up to face 2, the faces have more corners than the limit `elements` (6)"
    );
}

/// The first fault in the file is the error, wherever chunks end.
#[test]
fn a_limit_does_not_hide_what_comes_before() {
    let limits = Limits::default().with_elements(40).with_line_bytes(60);
    let options = ReadOptions::default().with_limits(limits);
    for (before, kind) in [(12, ErrorKind::Malformed), (13, ErrorKind::Malformed), (14, ErrorKind::Limit)] {
        let good = "3 0 0 0\n".repeat(before);
        let bad = "3 0 0 1\n";
        let text = format!("OFF 1 40 0\n0 0 0\n{good}{bad}{}", "3 0 0 0\n".repeat(39 - before));
        assert_eq!(error_with(text.as_bytes(), &options).kind(), kind, "{before}");
        let long = format!("OFF 1 40 0\n0 0 0\n{}{bad}{}", "2 0 0\n".repeat(before), "3 ".repeat(100));
        assert_eq!(error_with(long.as_bytes(), &options).kind(), ErrorKind::Malformed);
    }
}
