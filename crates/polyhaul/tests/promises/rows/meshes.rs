//! PLY, STL and OFF.

use super::has_all_rows;
use crate::content::Reading;
use crate::samples::{
    LimitSample, NO_SAMPLES, Prefix, Sample, Samples, Shape, bad, good, has_line_or_offset, limited, repeated, shape,
};
use polyhaul::Format;

pub const PLY: Samples = Samples {
    format: Format::Ply,
    file_name: "x.ply",
    readings: &[Reading::Tables, Reading::Scene],
    folders: &[("ply/good", "ply"), ("ply/bad", "ply"), ("ply/regression", "ply")],
    made: ply_made,
    // The cut-off end is part of the last number, or white space.
    has_place: has_line_or_offset,
    prefix: has_all_rows,
    limits: ply_limits,
    claims: ply_claims,
    shapes: ply_shapes,
    ..NO_SAMPLES
};

const BINARY: &str = "binary_little_endian";

fn ply(encoding: &str, lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    [format!("ply\nformat {encoding} 1.0\n{lines}end_header\n").as_bytes(), body.as_ref()].concat()
}

const MESH: &str = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n\
                    property list uchar int vertex_indices\n";

/// Rows of [`MESH`] with several faults, or with lines that are not rows.
const ROWS: [&str; 12] = [
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 9\n3 0 x 2\n",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n3 0 1 9 3 0 0 0\n",
    "0 0 0 1 1\n1 2 2 2 3 0 1 2\n3\n2\n1\n9\nmore",
    "0 0 0\r\n1 1 1\r\n\r\n2 2 2\r\n3 0 1 2\r\n3 0 1 9\r\n",
    "0 0 0\r1 1 1\r2 2 2\r\r3 0 1 2\r2 0 1\r",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 9\n3 0 1\n",
    "\n\n0 0 0\n1 1 1\n2 2 2\n2 0 1\n1 0\n",
    "0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n0\n\n\n x\n\n y",
    "0 0 0\n1 1 1\n2 2 2\n3 0 9 2\n4\n0 0\n 0 9 \n",
    "0 0 0\n1 1 1\n2 2 2\n3 0\\\n 9 2\n3 0 1 2\n",
    "1e5 nan inf\n.5 -5. +1\n1e999 1e-999 00000000000000000000001\n3 0 01 +2\n3 0 0 0\n",
];

/// Faces of which all but one are alike, with a flaw before or after that one.
fn odd_row(odd: u16, flaw: Option<u16>) -> Vec<u8> {
    let lines = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 60\n\
                 property list uchar int vertex_indices\nproperty short id\nproperty list ushort double more\n\
                 element last 2\nproperty uchar a\n";
    let mut bytes = ply("binary_big_endian", lines, [0; 36]);
    for row in 0..60u16 {
        let corners: i32 = if row == odd { 4 } else { 3 };
        bytes.push(corners as u8);
        for corner in 0..corners {
            let index = if Some(row) == flaw && corner == 1 { 77 } else { corner % 3 };
            bytes.extend(index.to_be_bytes());
        }
        bytes.extend(row.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend(f64::from(row).to_be_bytes());
    }
    bytes.extend([5, 6, 7]);
    bytes
}

fn ply_made() -> Vec<Sample> {
    let mut made: Vec<Sample> = ROWS.map(|rows| bad(rows, ply("ascii", MESH, rows))).into();
    for odd in [0, 1, 30, 59, 60] {
        for flaw in [None, Some(0), Some(29), Some(31), Some(59)] {
            made.push(bad(format!("row {odd} is odd, {flaw:?} is wrong"), odd_row(odd, flaw)));
        }
    }
    let faces: String = (0..1100).map(|line| format!("3 0 0 {}\n", 1 + line)).collect();
    let lines = MESH.replace("vertex 3", "vertex 1").replace("face 2", "face 1100");
    let short = &faces[..faces.len() - 5 * "3 0 0 1099\n".len()];
    let doubles = MESH.replace("float", "double");
    let survey = "454123.125 5411234.456 100.5\n454124 5411235.789 1e-3\n4 5 0.12345678901234567\n3 0 1 2\n3 0 1 2\n";
    made.push(good("georeferenced", ply("ascii", &doubles, survey)));
    let numbers = [0.5, 5_411_234.456, 0.1, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(f64::to_le_bytes).concat();
    made.push(good("doubles", ply(BINARY, &doubles.replace("face 2", "face 0"), numbers)));
    made.push(bad("more flaws than are kept", ply("ascii", &lines, format!("0 0 0\n{faces}"))));
    made.push(bad("other flaws behind them", ply("ascii", &lines, format!("0 0 0\n{short}{}", "2 0 0\n".repeat(5)))));
    made
}

fn ply_limits() -> Vec<LimitSample> {
    let lists = "element a 2\nproperty list uchar uchar b\n";
    let list = "element a 1\nproperty list uchar uchar b\n";
    let long_name = "property int a_rather_long_name_of_a_property_this_is";
    let many: String = (0..30).map(|n| format!("property uchar p{n}\n")).collect();
    let header = ply(BINARY, &format!("element a 0\n{many}"), "");
    let header_bytes = header.len() as u64 - 1;
    vec![
        limited("elements", 3, ply("ascii", "element a 3\nproperty int b\n", "1\n2\n3\n")),
        limited("elements", 5, ply("ascii", lists, "2 1 2\n3 1 2 3\n")),
        limited("elements", 5, ply("ascii", lists, "2 1 2 3 1\n2 3\n")),
        limited("elements", 5, ply(BINARY, lists, [2, 1, 2, 3, 1, 2, 3])),
        limited("elements", 4, ply(BINARY, lists, [2, 1, 2, 2, 1, 2])),
        limited("name_bytes", long_name.len() as u64, ply("ascii", &format!("element a 1\n{long_name}\n"), "1\n")),
        limited("line_bytes", 100, ply(BINARY, list, [99; 100])).with(&[("name_bytes", 90)]),
        limited("line_bytes", 122, ply("ascii", list, format!("60{}\n", " 7".repeat(60)))).with(&[("name_bytes", 90)]),
        limited("properties", 31, header.clone()),
        limited("header_bytes", header_bytes, header),
    ]
}

fn ply_claims() -> Vec<Sample> {
    let number = |count: &str| ply(BINARY, &format!("element a {count}\nproperty float x\n"), "");
    let list = |size: i32| ply(BINARY, "element a 1\nproperty list int int x\n", size.to_le_bytes());
    let vertices = MESH.replace("vertex 3", "vertex 4000000000");
    let faces = MESH.replace("face 2", "face 4000000000");
    vec![
        bad("-1 rows", number("-1")),
        bad("4e9 rows", number("4000000000")),
        bad("2^64 - 1 rows", number("18446744073709551615")),
        bad("rows without properties", ply(BINARY, "element a 4000000000\n", "")),
        bad("a list of 2e9", list(2_000_000_000)),
        bad("a list of -1", list(-1)),
        bad("4e9 vertices", ply(BINARY, &vertices, [0; 36])),
        bad("4e9 faces", ply(BINARY, &faces, [0; 36])),
        bad("4e9 vertices as text", ply("ascii", &vertices, "0 0 0\n")),
        bad("4e9 faces as text", ply("ascii", &faces, "0 0 0\n0 0 0\n0 0 0\n")),
        bad("10,000 properties", ply(BINARY, &"property uchar a\n".repeat(10_000), "")),
    ]
}

fn ply_shapes() -> Vec<Shape> {
    let rows = |name: &'static str, lines: &'static str, row: &'static str| {
        shape(name, move |size| {
            let count = size / row.len();
            ply("ascii", &lines.replace('N', &count.to_string()), row.repeat(count))
        })
    };
    vec![
        rows("lines", "element a N\nproperty float x\nproperty double y\n", "1.5 -2e3\n"),
        rows("words", "element a N\nproperty float x\nproperty int y\n", "1.5\n2\n"),
        rows("lists", "element a N\nproperty list uchar int x\n", "2 5 6\n"),
        rows("empty lists", "element a N\nproperty list uchar int x\n", "0\n"),
        shape("one list", |size| {
            let list = format!("{}{}\n", size / 2, " 7".repeat(size / 2));
            ply("ascii", "element a 1\nproperty list uint int x\n", list)
        }),
        shape("comments", |size| {
            ply("ascii", &("comment a\n".repeat(size / 10) + "element a 1\nproperty int x\n"), "1\n")
        }),
        shape("properties", |size| ply(BINARY, &format!("element a 1\n{}", "property int x\n".repeat(size / 15)), "")),
        shape("binary lists", |size| {
            let lines = format!("element a {}\nproperty list uchar int x\n", size / 6 * 2);
            ply("binary_big_endian", &lines, [1, 0, 0, 0, 9, 0].repeat(size / 6))
        }),
        shape("vertices", |size| {
            let lines = MESH.replace("vertex 3", &format!("vertex {}", size / 12)).replace("face 2", "face 0");
            ply(BINARY, &lines, vec![0; size / 12 * 12])
        }),
        shape("faces", |size| {
            let lines = MESH.replace("face 2", &format!("face {}", size / 13));
            let face = [&[3u8][..], &[0; 12]].concat();
            ply(BINARY, &lines, [&[0; 36][..], &face.repeat(size / 13)].concat())
        }),
    ]
}

pub const STL: Samples = Samples {
    format: Format::Stl,
    file_name: "x.stl",
    readings: &[Reading::Scene],
    folders: &[("stl/good", "stl"), ("stl/bad", "stl"), ("stl/regression", "stl")],
    made: || {
        let lines: String = (0..1100).map(|line| format!("what {line}\n")).collect();
        vec![
            bad("more flaws than are kept", format!("solid a\n{lines}endsolid\n")),
            bad("a solid that is not closed", format!("solid a\n{FACET}")),
            good(
                "georeferenced",
                format!("solid a\n{}{FACET}endsolid\n", FACET.replace("vertex 0 ", "vertex 5411234.456 ")),
            ),
        ]
    },
    // Without its size, a file that starts like text is text.
    is_same_streamed: |bytes| !bytes.trim_ascii_start().to_ascii_lowercase().starts_with(b"solid"),
    has_place: has_line_or_offset,
    prefix: stl_prefix,
    limits: || {
        let text = format!("solid abc\n{FACET}endsolid abc\n");
        vec![
            limited("elements", 3, text.clone()),
            limited("name_bytes", 3, text.clone()),
            limited("line_bytes", 18, text).with(&[("name_bytes", 9)]),
            limited("elements", 6, triangles(2, 2)),
        ]
    },
    claims: || {
        vec![
            bad("2^32 - 1 triangles", triangles(u32::MAX, 0)),
            bad("100 million triangles", triangles(100_000_000, 3)),
            bad("50 MB of triangles", triangles(1_000_000, 1)),
        ]
    },
    shapes: || {
        let units =
            ["solid a\n", "\n", "bogus ", "vertex 1 2 3\n", "endsolid\n", FACET, "solid b\nfacet normal 0 0 1\n"];
        let mut shapes: Vec<Shape> = units.map(|unit| repeated("solid\n", unit)).into();
        shapes.push(shape("triangles", |size| triangles(size as u32 / 50, size / 50)));
        shapes
    },
    ..NO_SAMPLES
};

const FACET: &str = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet\n";

/// A binary file that declares `declared` triangles but has `count`.
fn triangles(declared: u32, count: usize) -> Vec<u8> {
    let rows = (0..count).flat_map(|row| {
        let values = (0..12).map(move |value| (row * 12 + value) as f32 * 0.37);
        values.flat_map(f32::to_le_bytes).chain([0; 2])
    });
    [vec![b' '; 80], declared.to_le_bytes().into(), rows.collect()].concat()
}

/// Text does not declare the number of solids: a cut inside a solid is a warning, a cut after it is a valid file.
fn stl_prefix(prefix: &Prefix<'_>) -> Option<String> {
    let start = prefix.bytes.trim_ascii_start().get(..5);
    let is_text = start.is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    let last_line = prefix.bytes.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let is_closed = last_line.trim_ascii_start().starts_with(b"endsolid");
    let is_noted = prefix.warnings.contains("missing-endsolid");
    if is_text && (is_closed || is_noted) { None } else { has_all_rows(prefix) }
}

pub const OFF: Samples = Samples {
    format: Format::Off,
    file_name: "x.off",
    readings: &[Reading::Scene],
    folders: &[("off/good", "off"), ("off/bad", "off"), ("off/regression", "off")],
    made: || {
        let vertices = "1 2 3 4\n0 0 0\n".repeat(300);
        let faces = "0\n3 0 1 9999\n3 0 1 1 1 2 3 4 5\n3 0 1 1 7\n".repeat(600);
        let survey = "454123.125 5411234.456 100.5\n454124 5411235.789 1e-3\n454125 5411234 99.5\n";
        vec![
            bad("more flaws than are kept", format!("OFF 600 2400 0\n{vertices}{faces}")),
            good("georeferenced", format!("OFF 63 1 0\n{}{survey}3 0 61 62\n", "1 2 3\n".repeat(60))),
        ]
    },
    has_place: has_line_or_offset,
    prefix: has_all_rows,
    limits: || {
        let text = "# a comment\nOFF\n6 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n0 0 1\n0 0 2\n5 0 1 2 3 4\n";
        vec![
            limited("elements", 6, text),
            limited("line_bytes", 11, text),
            limited("header_bytes", 21, text),
            limited("elements", 7, "OFF 1 7 0\n0 0 0\n0\n0\n0\n0\n0\n0\n0\n"),
            limited("elements", 7, "OFF 1 3 0\n0 0 0\n3 0 0 0\n2 0 0\n4 0 0 0 0\n"),
        ]
    },
    claims: || {
        vec![
            good("nothing", "OFF\n0 0 0\n"),
            bad("4e9 vertices", "OFF\n4000000000 0 0\n0 0 0\n"),
            bad("4e9 faces", "OFF\n1 4000000000 0\n0 0 0\n3 0 0 0\n"),
            bad("2^64 vertices", "OFF\n18446744073709551616 0 0\n"),
            bad("a face of 4e9 corners", "OFF\n1 1 0\n0 0 0\n4000000000 0 0 0\n"),
        ]
    },
    shapes: || {
        let units = [
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
        let headers = ["OFF 1 999999 0\n0 0 0\n", "OFF 999999 0 0\n"];
        headers.into_iter().flat_map(|header| units.map(|unit| repeated(header, unit))).collect()
    },
    ..NO_SAMPLES
};
