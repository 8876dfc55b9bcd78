//! Hostile inputs that every parser must handle, one by one, for PLY, STL and tables: the outcome of each, for any
//! number of threads and chunk size.
//!
//! Hostile compressed data is tested with the decoders; hostile file systems are tested where files are opened.

use polyhaul::options::RunOptions;
use polyhaul::{ErrorKind, Input, ReadOptions, Reader};
use std::time::Instant;

/// Number of the hostile input, file name, bytes, and the expected error; `None` if the file is read.
type Case = (u8, &'static str, Vec<u8>, Option<ErrorKind>);

const FINE: Option<ErrorKind> = None;
const MALFORMED: Option<ErrorKind> = Some(ErrorKind::Malformed);
const LIMIT: Option<ErrorKind> = Some(ErrorKind::Limit);

fn ply(form: &str, lines: &str, body: &[u8]) -> Vec<u8> {
    let mut file = format!("ply\nformat {form} 1.0\n{lines}end_header\n").into_bytes();
    file.extend_from_slice(body);
    file
}

const BINARY: &str = "binary_little_endian";
const NUMBER: &str = "element a 1\nproperty float x\n";
const LIST: &str = "element a 1\nproperty list int int x\n";
const FACES: &str = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
                     element face 1\nproperty list uchar uint vertex_indices\n";

fn face(indices: &str) -> Vec<u8> {
    ply("ascii", FACES, format!("0 0 0\n1 0 0\n0 1 0\n{indices}\n").as_bytes())
}

fn stl(vertex: &str) -> Vec<u8> {
    let facet = format!("facet normal 0 0 1\nouter loop\nvertex {vertex}\nvertex 1 0 0\nvertex 0 1 0\nendloop\n");
    format!("solid a\n{facet}endfacet\nendsolid a\n").into_bytes()
}

fn triangles(count: u32) -> Vec<u8> {
    let mut file = vec![0; 80];
    file.extend(count.to_le_bytes());
    file
}

fn plys() -> Vec<Case> {
    let x = "x.ply";
    let count = |count: &str| ply(BINARY, &format!("element a {count}\nproperty float x\n"), b"");
    let list = |size: i32| ply(BINARY, LIST, &size.to_le_bytes());
    let endless = "comment and so on\n".repeat(100_000);
    vec![
        (1, x, face("3 0 1 2"), FINE),
        (1, x, face("3 0 1 4294967297"), MALFORMED),
        (1, x, face("3 0 1 9223372036854775808"), MALFORMED),
        (2, x, face("0"), FINE),
        (2, x, ply("ascii", LIST, ("10000000".to_owned() + &" 1".repeat(10_000_000)).as_bytes()), FINE),
        (3, x, ply("ascii", "element face 1\nproperty list uchar int vertex_indices\n", b"3 0 1 2\n"), FINE),
        (4, x, ply("ascii", NUMBER, &b" ".repeat(1 << 20)), MALFORMED),
        (4, x, ply("ascii", NUMBER, b"1"), FINE),
        (4, x, ply("ascii", NUMBER, b"1\0\n"), MALFORMED),
        (5, x, [b"\xEF\xBB\xBF".as_slice(), &ply("ascii", NUMBER, b"1\n")].concat(), FINE),
        (5, x, String::from_utf8(ply("ascii", NUMBER, b"1\n")).unwrap().replace('\n', "\r").into_bytes(), FINE),
        (5, x, ply("ascii", "element a 1\nproperty float \u{e4}\n", b"1\n"), FINE),
        (6, x, ply("ascii", NUMBER, b"nan\n"), FINE),
        (6, x, ply("ascii", NUMBER, b"1e999\n"), FINE),
        (6, x, ply("ascii", NUMBER, &b"7".repeat(10_000)), FINE),
        (6, x, ply("ascii", NUMBER, b"1,5\n"), MALFORMED),
        (8, x, count("-1"), MALFORMED),
        (8, x, count("4000000000"), MALFORMED),
        (8, x, count("18446744073709551615"), LIMIT),
        (9, x, ply(BINARY, "element a 4000000000\n", b""), MALFORMED),
        (10, x, list(2_000_000_000), LIMIT),
        (10, x, list(-1), MALFORMED),
        (10, x, ply("ascii", "element a 1\nproperty list float int x\n", b"1 1\n"), MALFORMED),
        (11, x, ply("ascii", "element a 1\nproperty int x\nproperty int x\n", b"1 1\n"), MALFORMED),
        (11, x, ply("ascii", &[NUMBER, NUMBER].concat(), b"1\n1\n"), MALFORMED),
        (11, x, String::from_utf8(ply(BINARY, NUMBER, b"abcd")).unwrap().replace('\n', "\r\n").into_bytes(), FINE),
        (11, x, ply("ascii", &endless, b"")[..1_500_000].to_vec(), MALFORMED),
    ]
}

fn stls() -> Vec<Case> {
    let x = "x.stl";
    vec![
        (
            2,
            x,
            b"solid\nfacet normal 0 0 1\nouter loop\nvertex 1 2 3\nendloop\nendfacet\nendsolid\n".to_vec(),
            MALFORMED,
        ),
        (2, x, stl(&"0 0 0\nvertex ".repeat(100_000)), MALFORMED),
        (4, x, stl("0 0 0").repeat(1)[..].to_vec(), FINE),
        (4, x, stl(&format!("0 0{}0", " ".repeat(1 << 20))), FINE),
        // With a NUL it is recognized as binary, so its count consists of letters.
        (4, x, stl("0 0 0\0"), LIMIT),
        (5, x, String::from_utf8(stl("0 0 0")).unwrap().replace('\n', "\r").into_bytes(), FINE),
        (6, x, stl("nan inf -inf"), FINE),
        (6, x, stl("1e999 1e-400 -0"), FINE),
        (6, x, stl(&format!("{} 0 0", "7".repeat(10_000))), FINE),
        (6, x, stl("0,5 0 0"), MALFORMED),
        (8, x, triangles(u32::MAX), MALFORMED),
        (8, x, triangles(1), MALFORMED),
        (8, x, triangles(0), FINE),
        (13, x, b"solid a\nfacet normal".to_vec(), MALFORMED),
    ]
}

fn tables() -> Vec<Case> {
    let x = "x.csv";
    let npy = |shape: &str| {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        [b"\x93NUMPY\x01\0".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat()
    };
    let utf16: Vec<u8> = "\u{feff}1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        (2, x, b"1,2\n3\n".to_vec(), MALFORMED),
        (4, x, b"1,2".to_vec(), FINE),
        (4, x, format!("1{}\n", " ".repeat(1 << 20)).into_bytes(), FINE),
        (4, x, b"1,2\n3,4\0\n".to_vec(), MALFORMED),
        (5, x, b"\xEF\xBB\xBF1,2\n".to_vec(), FINE),
        (5, x, utf16, Some(ErrorKind::Unsupported)),
        (5, x, b"1,2\r3,4\r".to_vec(), FINE),
        (6, x, b"nan,inf\n-inf,1e999\n1e-400,-0\n".to_vec(), FINE),
        (6, x, [b"7".repeat(10_000).as_slice(), b",1\n"].concat(), FINE),
        (6, "x.xyz", b"0,5 1 2\n0,5 1 x\n".to_vec(), MALFORMED),
        (8, "x.npy", npy("(1000000000,)"), MALFORMED),
        (13, "x.npy", npy("(18446744073709551616,)"), MALFORMED),
        (13, "x.npy", npy("(9223372036854775807, 9223372036854775807)"), LIMIT),
    ]
}

/// Error kind of reading a file.
fn outcome(name: &str, bytes: &[u8], run: RunOptions) -> Option<ErrorKind> {
    let options = ReadOptions::default().with_run(run);
    let input = || Input::Memory(bytes.to_vec(), name.into());
    let error = match name {
        "x.stl" => polyhaul::Reader::new(input()).options(&options).scene().err(),
        _ => Reader::new(input()).options(&options).tables().err(),
    };
    if let Some(error) = &error {
        assert!(error.to_string().len() < 2000, "{error}");
    }
    error.map(|error| error.kind())
}

#[test]
fn each_is_read_or_refused() {
    let mut wrong = Vec::new();
    for (number, name, bytes, expected) in plys().into_iter().chain(stls()).chain(tables()) {
        let start = Instant::now();
        for (threads, chunk_bytes) in [(1, None), (2, Some(1 << 16)), (7, None)] {
            let run = RunOptions::default().with_threads(Some(threads)).with_chunk_bytes(chunk_bytes);
            let actual = outcome(name, &bytes, run);
            if actual != expected {
                let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
                wrong.push(format!("({number}) {name}, {threads} threads: {actual:?}, not {expected:?}: {text:?}"));
            }
        }
        assert!(start.elapsed().as_secs() < 60, "({number}) {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
