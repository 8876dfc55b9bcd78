//! Tables of numbers: csv, tsv, txt, xyz, pts and npy.

use super::has_all_rows;
use crate::content::Reading;
use crate::samples::{NO_SAMPLES, Prefix, Sample, Samples, Shape, bad, good, limited, refused, repeated, shape};
use polyhaul::options::MissingValue;
use polyhaul::{Format, ReadOptions};
use polyhaul_testkit::random::Random;

/// The row of comma-separated text; the other text formats only differ in their names.
pub const CSV: Samples = Samples {
    format: Format::Csv,
    file_name: "x.csv",
    readings: &[Reading::Tables, Reading::Array, Reading::Scene],
    folders: &[("table/good", "csv"), ("table/bad", "csv")],
    made: || {
        let mut made = texts(",");
        let flaws: String = (0..1100).map(|row| format!("{row},1\n")).collect();
        made.push(bad("more flaws than are kept", format!("x,y,z\n{flaws}")));
        made.push(bad("other flaws behind them", format!("x,y,z\n{flaws}{}", "1,x,3\n".repeat(5))));
        made.push(bad("quotes", "\"x\",\"y, z\"\n\"1\",\"2\"\n\"3\" , 4\n\"5\"\"\",6\n7,\"8\n"));
        made
    },
    options: allow_missing,
    prefix: has_rows_of_its_lines,
    limits: || {
        let long = ["1,2\n".repeat(40), format!("3,{}4\n", " ".repeat(197)), "5,6\n".repeat(40)].concat();
        vec![
            limited("elements", 60, numbers(",", 60)),
            limited("line_bytes", 200, long).with(&[("name_bytes", 100)]),
            limited("columns", 3, numbers(",", 2)),
            limited("name_bytes", 12, "a_long_title,b\n1,2\n"),
        ]
    },
    claims: wide_rows,
    shapes,
    ..NO_SAMPLES
};

pub const TSV: Samples = Samples {
    format: Format::Tsv,
    file_name: "x.tsv",
    folders: &[("table/good", "tsv"), ("table/bad", "tsv")],
    made: || texts("\t"),
    limits: || vec![limited("elements", 60, numbers("\t", 60)), limited("columns", 3, numbers("\t", 2))],
    ..CSV
};

pub const TXT: Samples = Samples {
    format: Format::Txt,
    file_name: "x.txt",
    folders: &[],
    made: || texts(" "),
    limits: || vec![limited("elements", 60, numbers(" ", 60)), limited("columns", 3, numbers(" ", 2))],
    ..CSV
};

pub const XYZ: Samples =
    Samples { format: Format::Xyz, file_name: "x.xyz", folders: &[("table/good", "xyz"), ("table/bad", "xyz")], ..TXT };

pub const PTS: Samples = Samples {
    format: Format::Pts,
    file_name: "x.pts",
    folders: &[("table/good", "pts"), ("table/bad", "pts")],
    made: || {
        let counted = |count: usize| ["60\n".to_owned(), numbers(" ", count)].concat();
        vec![good("60 points", counted(60)), bad("59 points", counted(59)), bad("61 points", counted(61))]
    },
    prefix: |prefix| {
        // The line with the count may be cut.
        let has_count = prefix.bytes.windows(2).any(|pair| pair[1] == b'\n');
        if has_count { has_all_rows(prefix) } else { None }
    },
    claims: || {
        let mut claims = wide_rows();
        claims.push(bad("4e9 points", "4000000000\n1 2 3\n"));
        claims.push(bad("2^64 points", "18446744073709551616\n1 2 3\n"));
        claims
    },
    ..TXT
};

/// Reads missing values as NaN, so that more reads succeed.
fn allow_missing(options: &mut ReadOptions) {
    options.table.missing = MissingValue::Nan;
}

/// Rows of three numbers.
fn numbers(separator: &str, count: usize) -> String {
    (0..count).map(|row| format!("{row}{separator}0.5{separator}-{row}e-3\n")).collect()
}

/// Tables with numbers of all kinds, and some flaws.
fn texts(separator: &str) -> Vec<Sample> {
    let names = ["x", "y", "z"].join(separator);
    let many = |seed, has_flaws| rows(separator, seed, 120, has_flaws);
    let integers = |last: &str| format!("{}{last}", format!("123{separator}4{separator}5\n").repeat(60));
    vec![
        good("numbers", numbers(separator, 40)),
        good("names and numbers", format!("# made\n{names}\n{}", numbers(separator, 3))),
        good("georeferenced", ["454123.125", "5411234.456", "100.5\n"].join(separator).repeat(30)),
        good("nothing", ""),
        refused("a row of four", format!("{}{}\n", numbers(separator, 3), ["1", "2", "3", "4"].join(separator))),
        bad("blank lines and comments", "\n#\n\na b\n\n# x\n\n1 2"),
        bad("many kinds", many(0, false)),
        bad("many kinds, with flaws", many(9, true)),
        good("integers that become floats", integers(&format!("0.5{separator}9007199254740993{separator}1\n"))),
        good("returns", numbers(separator, 9).replace('\n', "\r")),
        good("returns and new lines", numbers(separator, 9).replace('\n', "\r\n")),
    ]
}

/// Rows with every kind of value.
fn rows(separator: &str, seed: u64, count: usize, has_flaws: bool) -> String {
    let mut random = Random::new(seed);
    let mut text = format!("# made\n{}\n", ["x", "y", "\"z, or not\""].join(separator));
    for _ in 0..count {
        let mut value = || match random.below(if has_flaws { 60 } else { 30 }) {
            0 => "1e3".into(),
            1 => "nan".into(),
            2 => "12345678901234567".into(),
            3 => "-0".into(),
            4 => "\"7\"".into(),
            5 => "1.25".into(),
            31 => "what".into(),
            32 => "1,2".into(),
            number => format!("{}", number as i64 - 20),
        };
        text += &[value(), value(), value()].join(separator);
        text.push_str(["\n", "\r\n", " # c\n", "\n\n", "\n# comment\n", "\n"][random.below(6)]);
    }
    text
}

/// A prefix has at least as many rows as complete lines.
fn has_rows_of_its_lines(prefix: &Prefix<'_>) -> Option<String> {
    let rest = &prefix.whole_bytes[prefix.bytes.len()..];
    let lines = rest.split(|&byte| byte == b'\n' || byte == b'\r').filter(|line| !line.trim_ascii().is_empty());
    let missing_lines = lines.count() as u64;
    let rows = prefix.content.counts()[0];
    let expected = prefix.whole.counts()[0];
    (rows + missing_lines < expected)
        .then(|| format!("{rows} rows of {expected}, and {missing_lines} lines are missing"))
}

/// A first row that is wider than all other rows together.
fn wide_rows() -> Vec<Sample> {
    let row = |count: usize| "1 ".repeat(count);
    vec![
        bad("99,999 columns", format!("{}\n1 2 3\n", row(99_999))),
        bad("99,999 columns of one row", row(99_999)),
        bad("a million columns", row(1_000_000)),
        bad("one line", " ".repeat(1_000_000)),
        bad("one number", "7".repeat(1_000_000)),
    ]
}

fn shapes() -> Vec<Shape> {
    let units = [
        "1e5 1\n",
        "1e5,1\n",
        "#\n",
        "\n",
        "1,\n",
        "12345678901234567890,2\n",
        "\"1\",2\n",
        "1.500000 2.500000\n",
        "x\n",
    ];
    let mut shapes: Vec<Shape> = units.map(|unit| repeated("", unit)).into();
    shapes.push(shape("one row", |size| "1 ".repeat(size / 2).into()));
    shapes.push(shape("one number", |size| "7".repeat(size).into()));
    shapes.push(shape("quotes", |size| format!("1\n{}\n", "\"".repeat(size)).into()));
    shapes
}

pub const NPY: Samples = Samples {
    format: Format::Npy,
    file_name: "x.npy",
    readings: &[Reading::Tables, Reading::Scene],
    folders: &[("table/good", "npy"), ("table/bad", "npy")],
    made: || {
        let data: Vec<u8> = (0..600_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let array = |fortran: bool, shape: &str| npy(1, "'<u4'", fortran, shape, &data);
        vec![
            good("rows", array(false, "(100, 6)")),
            good("columns", array(true, "(100, 6)")),
            good("wide columns", array(true, "(6, 100)")),
            good("one column", array(false, "(600,)")),
            good("one column of two", array(true, "(300, 2)")),
            good("records", npy(3, "[('x', '<f4'), ('n', '>i2')]", false, "(2,)", &[1; 12])),
            bad("bytes behind it", npy(1, "'<f4'", false, "(2,)", &[1; 12])),
        ]
    },
    prefix: has_all_rows,
    limits: || {
        vec![
            limited("elements", 3, npy(1, "'|u1'", false, "(3,)", &[0; 3])),
            limited("columns", 3, npy(1, "'|u1'", false, "(1, 3)", &[0; 3])),
        ]
    },
    claims: || {
        let array = |descr: &str, fortran: bool, shape: &str| npy(1, descr, fortran, shape, &[0; 16]);
        vec![
            bad("4e9 rows", array("'<f8'", false, "(4000000000,)")),
            bad("4e9 rows of 60,000", array("'<f8'", false, "(4000000000, 60000)")),
            bad("60,000 columns of 4e9", array("'<f8'", true, "(4000000000, 60000)")),
            bad("2^64 rows", array("'<f8'", false, "(18446744073709551616,)")),
            bad("2^126 values", array("'<f8'", false, "(9223372036854775807, 9223372036854775807)")),
            bad("100 MB", array("'|u1'", false, "(100000000,)")),
            bad("a header of 4 GB", [b"\x93NUMPY\x02\0".as_slice(), &u32::MAX.to_le_bytes()].concat()),
        ]
    },
    shapes: || {
        let array = |name: &'static str, shape_of: fn(usize) -> String, fortran: bool| {
            shape(name, move |size| npy(1, "'<f4'", fortran, &shape_of(size), &vec![0; size / 400 * 400]))
        };
        vec![
            array("one column", |size| format!("({},)", size / 400 * 100), false),
            array("rows", |size| format!("({}, 10)", size / 400 * 10), false),
            array("columns", |size| format!("({}, 10)", size / 400 * 10), true),
            array("one row", |size| format!("(1, {})", size / 400 * 100), false),
            shape("fields", |size| {
                let fields: String = (0..size / 16).map(|number| format!("('n{number}', '<f4'), ")).collect();
                npy(2, &format!("[{fields}]"), false, "(1,)", &vec![0; size / 16 * 4])
            }),
        ]
    },
    ..NO_SAMPLES
};

/// A file with the layout of `numpy.save`.
fn npy(version: u8, descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let start = if version == 1 { 10 } else { 12 };
    let header_bytes = (start + header.len() + 1).next_multiple_of(64) - start;
    let size = (header_bytes as u32).to_le_bytes();
    let padding = " ".repeat(header_bytes - header.len() - 1);
    let size = if version == 1 { &size[..2] } else { &size[..] };
    [b"\x93NUMPY", &[version, 0][..], size, header.as_bytes(), padding.as_bytes(), b"\n", data].concat()
}
