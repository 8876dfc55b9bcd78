//! Bad files: an error with a location, or a warning, and little memory.

use crate::ply::support::{error, header, lenient, memory, options, outcome};
use polyhaul::{ErrorKind, Reader};
use polyhaul_testkit::corpus::samples;

#[test]
fn every_bad_file_is_an_error_with_a_place() {
    let files = samples("ply/bad", "ply");
    assert!(files.len() > 25);
    for file in files {
        let error = error(file.bytes());
        let is_expected_kind = matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Limit | ErrorKind::Unsupported);
        assert!(is_expected_kind, "{}: {error:?}", file.name);
        let place = error.place();
        assert!(place.offset.is_some() && !place.file.is_empty(), "{}: {error:?}", file.name);
        let in_header = place.line.is_some();
        assert!(in_header || file.bytes().windows(6).any(|word| word == b"binary"), "{}: {error:?}", file.name);
    }
}

#[test]
fn what_is_no_mesh_is_a_table_all_the_same() {
    let good_as_tables = ["idx_neg", "idx_oob"];
    for file in samples("ply/bad", "ply") {
        let result = Reader::new(memory(&file.bytes())).options(&options(1, None)).tables();
        let expected = good_as_tables.iter().any(|name| file.name.contains(name));
        assert_eq!(result.is_ok(), expected, "{}: {}", file.name, outcome(&result));
    }
}

/// Headers with the line, column and part of the message of their error.
const HEADERS: [(&str, u64, u64, &str); 26] = [
    ("plx\n", 1, 1, "not a PLY file"),
    ("ply x\n", 1, 1, "not a PLY file"),
    ("ply", 2, 1, "unexpected end of file in the header"),
    ("ply\nformat\n", 2, 7, "unexpected end of line"),
    ("ply\nformat asci 1.0\n", 2, 8, "unexpected `asci`"),
    ("ply\nformat ascii\n", 2, 13, "unexpected end of line"),
    ("ply\nformat ascii 2.0\n", 2, 14, "unsupported PLY version 2.0"),
    ("ply\nformat ascii 1.0 x\n", 2, 18, "unexpected `x`"),
    ("ply\nformat ascii 1.0\nformat ascii 1.0\n", 3, 1, "twice"),
    ("ply\nend_header\n", 2, 1, "does not declare a format"),
    ("ply\nformat ascii 1.0\nelement\n", 3, 8, "unexpected end of line"),
    ("ply\nformat ascii 1.0\nelement a\n", 3, 10, "unexpected end of line"),
    ("ply\nformat ascii 1.0\nelement a -1\n", 3, 11, "`-1` is not a valid number of rows"),
    ("ply\nformat ascii 1.0\nelement a 18446744073709551616\n", 3, 11, "is not a valid number of rows"),
    ("ply\nformat ascii 1.0\nelement a 18446744073709551615\n", 3, 11, "limit"),
    ("ply\nformat ascii 1.0\nelement a 1 2\n", 3, 13, "unexpected `2`"),
    ("ply\nformat ascii 1.0\nelement a 1\nelement b 1\n", 4, 1, "but no properties"),
    ("ply\nformat ascii 1.0\nelement a 0\nelement a 0\n", 4, 9, "duplicate element `a`"),
    ("ply\nformat ascii 1.0\nproperty float x\n", 3, 1, "property without an element"),
    ("ply\nformat ascii 1.0\nelement a 1\nproperty half x\n", 4, 10, "`half` is not a type"),
    ("ply\nformat ascii 1.0\nelement a 1\nproperty float\n", 4, 15, "unexpected end of line"),
    ("ply\nformat ascii 1.0\nelement a 1\nproperty list float int x\n", 4, 15, "cannot be a float"),
    ("ply\nformat ascii 1.0\nelement a 1\nproperty list uchar x\n", 4, 21, "`x` is not a type"),
    ("ply\nformat ascii 1.0\nelement a 1\nproperty int x\nproperty float x\n", 5, 16, "duplicate property `x`"),
    ("ply\nformat ascii 1.0\nwhat\n", 3, 1, "unexpected `what`"),
    ("ply\nformat ascii 1.0\nelement a\0b 1\n", 3, 10, "NUL"),
];

#[test]
fn headers_say_where_they_are_wrong() {
    for (text, line, column, message) in HEADERS {
        let error = error(text);
        let place = error.place();
        assert_eq!((place.line, place.column), (Some(line), Some(column)), "{text:?}: {error}");
        assert!(error.to_string().contains(message), "{text:?}: {error}");
    }
}

const MESH: &str = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
                    element face 2\nproperty uchar flag\nproperty list uchar int vertex_indices\n";

/// Text rows with the location and part of the message of their error.
const ROWS: [(&str, u64, u64, &str); 8] = [
    ("0 0 0\n1 0\n", 13, 0, "unexpected end of file in `vertex`: found 1 of 3 rows"),
    ("0 0 zero\n1 0 0\n", 11, 5, "`zero` is not a valid value for `z` of `vertex` (row 0)"),
    ("0 0 0\n1 0 0\n0 1 0\n7 3 0 1 2\n9 3 0 1 3\n", 15, 9, "row 1 of `face`: vertex 3 does not exist"),
    ("0 0 0\n1 0 0\n0 1 0\n7 3 0 1 2\n9 3 -2 1 3\n", 15, 5, "vertex -2 does not exist"),
    ("0 0 0\n1 0 0\n0 1 0\n7 300 0 1 2\n", 14, 3, "`300` does not fit in the count"),
    ("0 0 0\n1 0 0\n0 1 0\n7 -1 0 1 2\n", 14, 3, "`-1` does not fit in the count"),
    ("0 0 0\n1 0 0\n0 1 0\n256 3 0 1 2\n", 14, 1, "`256` does not fit in `flag`"),
    ("0 0/0 0\n", 11, 3, "`0/0` is not a valid value for `y`"),
];

#[test]
fn rows_of_text_say_where_they_are_wrong() {
    for (rows, line, column, message) in ROWS {
        let error = error(header("ascii", MESH) + rows);
        let place = error.place();
        let line_and_column = (place.line, place.column.unwrap_or(0));
        assert_eq!(line_and_column, (Some(line), column), "{rows:?}: {error}");
        assert!(error.to_string().contains(message), "{rows:?}: {error}");
    }
}

fn binary(faces: &[(u8, &[i32])]) -> Vec<u8> {
    let mut file = header("binary_little_endian", MESH).into_bytes();
    file.extend([0; 36]);
    for (flag, corners) in faces {
        file.extend([*flag, corners.len() as u8]);
        file.extend(corners.iter().flat_map(|corner| corner.to_le_bytes()));
    }
    file
}

#[test]
fn binary_rows_say_where_they_are_wrong() {
    let body = header("binary_little_endian", MESH).len() as u64 + 36;
    for (faces, at, message) in [
        (&[(7, &[0, 1, 2][..]), (9, &[0, 1, 3])][..], body + 14 + 10, "row 1 of `face`: vertex 3 does not exist"),
        (&[(7, &[0, -2, 2]), (9, &[0, 1, 3])], body + 6, "row 0 of `face`: vertex -2 does not exist"),
        (&[(7, &[0, 1, 2])], body + 14, "unexpected end of file in `face`: found 1 of 2 rows"),
        (&[(7, &[0, 1, 2]), (1, &[0, 1, 2, 5])], body + 14 + 14, "row 1 of `face`: vertex 5"),
    ] {
        let error = error(binary(faces));
        assert_eq!((error.place().line, error.place().offset), (None, Some(at)), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// Other properties may precede the ends of an edge, and the second end the first.
#[test]
fn wrong_ends_of_edges_are_found_where_they_are() {
    const EDGES: &str = "element vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
                         element edge 2\nproperty uchar flag\nproperty int vertex2\nproperty int vertex1\n";
    let text = header("ascii", EDGES) + "0 0 0\n1 0 0\n7 1 0\n8 1 5\n";
    let place = error(text).place().clone();
    assert_eq!((place.line, place.column), (Some(15), Some(5)));
    let mut file = header("binary_little_endian", EDGES).into_bytes();
    let rows = file.len() as u64 + 24;
    file.extend([0; 24]);
    for (flag, ends) in [(7, [1, 0]), (8, [1, 5i32])] {
        file.push(flag);
        file.extend(ends.map(i32::to_le_bytes).concat());
    }
    assert_eq!(error(file).place().offset, Some(rows + 9 + 5));
}

#[test]
fn broken_faces_are_left_out_on_request() {
    let faces: [(u8, &[i32]); 2] = [(7, &[0, -2, 2]), (9, &[0, 1, 2])];
    let ascii = header("ascii", MESH) + "0 0 0\n0 0 0\n0 0 0\n7 3 0 -2 2\n9 3 0 1 2\n";
    for file in [binary(&faces), ascii.into_bytes()] {
        let loaded = Reader::new(memory(&file)).options(&lenient()).scene().unwrap();
        let mesh = &loaded.value.meshes[0];
        assert_eq!((&*mesh.faces.offsets, &*mesh.faces.corner_positions), (&[0, 3][..], &[0, 1, 2][..]));
        assert_eq!(mesh.face_columns[0].values, polyhaul::model::Values::U8([9].into()));
        let counts = loaded.report.warnings.counts();
        assert_eq!((counts["index-out-of-range"], counts["element-left-out"]), (1, 1));
    }
}

#[test]
fn short_faces_are_left_out_and_noted() {
    let file = binary(&[(7, &[0, 1]), (9, &[0, 1, 2])]);
    let loaded = Reader::new(memory(&file)).options(&options(1, None)).scene().unwrap();
    assert_eq!(loaded.value.meshes[0].faces.len(), 1);
    assert_eq!(loaded.report.warnings.counts()["short-face"], 1);
    let strict = options(1, None).with_strict(true);
    assert!(outcome(&Reader::new(memory(&file)).options(&strict).scene()).contains("has 2 corners"));
}

#[test]
fn what_follows_the_last_row_is_noted() {
    let binary = [binary(&[(7, &[0, 1, 2]), (9, &[0, 1, 2])]), b"more".to_vec()].concat();
    let ascii = header("ascii", "element a 1\nproperty int b\n") + "1\n\n  \nmore\nand more\n";
    for (file, place) in [(binary.as_slice(), None), (ascii.as_bytes(), Some(9))] {
        let warnings = Reader::new(memory(file)).options(&options(1, None)).scene().unwrap().report.warnings;
        assert_eq!((warnings.total(), warnings.counts()["extra-data"]), (1, 1));
        assert_eq!(warnings.kept()[0].diagnostic.place.line, place);
    }
    let blank = header("ascii", "element a 1\nproperty int b\n") + "1\n\n  \n\t\n";
    assert!(
        Reader::new(memory(blank.as_bytes())).options(&options(1, None)).scene().unwrap().report.warnings.is_empty()
    );
}

#[test]
fn validating_says_all_of_it() {
    let file = binary(&[(7, &[0, -2, 2]), (9, &[0, 1])]);
    let validation = polyhaul::inspect::validate(memory(&file), &options(1, None)).unwrap();
    assert!(!validation.valid && validation.error.is_some());
    assert_eq!(validation.report.warnings.counts()["index-out-of-range"], 1);
    assert_eq!(validation.report.warnings.counts()["short-face"], 1);
}
