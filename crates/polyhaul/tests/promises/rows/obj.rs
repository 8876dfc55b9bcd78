//! OBJ, and its material libraries.

use crate::content::{Content, Reading};
use crate::samples::{
    LimitSample, NO_SAMPLES, Prefix, Sample, Samples, bad, file_part, good, has_line_or_offset, limited, shape,
};
use polyhaul_testkit::generate::Shape;
use polyhaul_testkit::naive;

/// Files among the faulty ones that are odd but valid.
const ODD: [&str; 6] = ["bom_crlf", "continuation_", "digits_", "empty", "longline_", "/mtl_"];

pub const OBJ: Samples = Samples {
    file_name: "x.obj",
    readings: &[Reading::Scene],
    folders: &[("obj/good", "obj"), ("obj/bad", "obj"), ("obj/blender", "obj"), ("obj/regression", "obj")],
    is_refused: |name| name.contains("/bad/") && !ODD.iter().any(|file| name.contains(file)),
    made,
    // Libraries are only found next to files; they have rows of their own.
    options: |options| options.load_materials = false,
    has_place: has_line_or_offset,
    prefix: declares_all,
    limits,
    claims,
    shapes: || Shape::ALL.map(|kind| shape(format!("{kind:?}"), move |size| kind.text(size))).into(),
    ..NO_SAMPLES
};

pub const MTL: Samples = Samples {
    part: "mtl",
    file_name: "x.mtl",
    readings: &[Reading::Scene],
    folders: &[("obj/good/own", "mtl"), ("obj/bad/generated", "mtl")],
    split: Some(|bytes| vec![file_part("x.obj", *b"mtllib x.mtl\n"), file_part("x.mtl", bytes)]),
    is_always_read: true,
    is_refused: |_| false,
    limits: library_limits,
    shapes: || {
        let units = ["newmtl a\n", "Kd 1 1 1\n", "map_Kd a.png\n", "foo\n", "# c\n", "\n"];
        let repeat = |unit: &'static str| {
            shape(format!("{unit:?}"), move |size| format!("newmtl m\n{}", unit.repeat(size / unit.len())).into())
        };
        let numbered =
            shape("materials", |size| (0..size / 12).map(|n| format!("newmtl {n}\n")).collect::<String>().into());
        units.into_iter().map(repeat).chain([numbered]).collect()
    },
    ..NO_SAMPLES
};

/// Texts that refer to several libraries, for limits on their number.
pub const LIBRARIES: Samples = Samples {
    part: "libraries",
    file_name: "x.obj",
    readings: &[Reading::Scene],
    split: Some(|bytes| {
        let libraries = ["a.mtl", "b.mtl", "c.mtl"];
        let library = |name: &'static str| file_part(name, format!("newmtl {name}\n"));
        std::iter::once(file_part("x.obj", bytes)).chain(libraries.map(library)).collect()
    }),
    limits: || {
        vec![
            limited("files", 3, *b"mtllib a.mtl b.mtl\nmtllib a.mtl\nmtllib c.mtl\n"),
            limited("name_bytes", 10, *b"mtllib 123456.mtl\nv 0 0 0\n"),
        ]
    },
    ..NO_SAMPLES
};

/// Texts for which the order of messages depends on several parts of the reader.
const MIXED: [&[u8]; 14] = [
    b"#MRGB zz\nv 1\n",
    b"curv 1\nv 1\n",
    b"o \xff\nfoo\n",
    b"usemtl \xff\nfoo\no \xfe\nbar\n",
    b"v 1 2 3\nv 4 5 6\nf 1 2 9\nv 1\n",
    b"f -1 -1 -1\nv 1\n",
    b"v nan 0 0\nf -4 1 1\n#MRGB 1\n",
    b"v 0 0 0\rv 0 0 0\rv 1\r",
    b"v 0 0 0\r\n\rfoo\r\n\n\rbar\r",
    b"v 1 2 3\\\r\nv\\\rv 1\n",
    b"\xef\xbb\xbffoo\nv 1 \\\n2\n",
    b"\xef\xbb\xbf\rfoo",
    b"g a\nv 0 0 0\ng b\nvt 0 0\nv 0 0 0\np 1\ng c\n\n\n\n\n\n\n\n\nv 0 0 0\n",
    b"#MRGB ffffffff\nv 0 0 0\n#MRGB ff112233ff112233\nv 1 1 1\n#MRGB ff445566\n",
];

/// Number of statements with a flaw each, more than the maximum number of warnings kept.
const FLAWS: usize = 1100;

/// Points that need double precision.
const SURVEY: &str =
    "v 454123.125 5411234.456 100.5\nv +454124 5411235.789 1e-3 1 .5 0\nv 454123 -5.411235457E6 99.5\n";

fn made() -> Vec<Sample> {
    let numbered = |line: &dyn Fn(usize) -> String| (0..FLAWS).map(line).collect::<String>();
    let triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    let mixed = |line: usize| match line % 4 {
        0 => format!("f 1 2 {}\n", 10 + line),
        1 => format!("v {line}\n"),
        2 => format!("word{line} \u{e9}\n"),
        _ => format!("l 1 {0}\np {0} \\\n  {0}\n", 7 + line),
    };
    let forward = numbered(&|line| format!("f {0} {0} {0}\n", 1 + line));
    let mut made = vec![
        bad("unknown statements, then indices out of range", "foo\n".repeat(FLAWS) + &"f 1 2 3\n".repeat(5)),
        bad("forward references", forward + &"v 0 0 0\n".repeat(500)),
        bad("indices out of range", triangle.to_owned() + &numbered(&|line| format!("f 1 2 {}\n", 10 + line))),
        bad("wide faces", triangle.to_owned() + &numbered(&|line| format!("f{} {line}\n", " 3".repeat(line % 9)))),
        bad("flaws of all kinds", triangle.to_owned() + &numbered(&mixed)),
        good("georeferenced", [SURVEY, "f 1 2 3\n"].concat()),
        good("georeferenced at the end", [&triangle.repeat(60), SURVEY, "f 1 2 3\n"].concat()),
        good("long numbers far away", "v 5411234.00012345678 1.5 2e-3\nv 5411235.333333333333333 1 2\n".repeat(9)),
        bad("colors", "v 0 0 0\n".to_owned() + &"#MRGB ff\nfoo\n".repeat(FLAWS)),
    ];
    made.extend(MIXED.map(|text| bad(String::from_utf8_lossy(text), text)));
    made
}

/// A read without an error has all elements that the text declares.
fn declares_all(prefix: &Prefix<'_>) -> Option<String> {
    let Content::Scene(scene) = prefix.content else { return None };
    let totals = scene.totals();
    let counts: naive::Totals = std::array::from_fn(|kind| totals[kind] as usize);
    let declared = naive::declared(prefix.bytes);
    (declared != counts).then(|| format!("{counts:?} elements of {declared:?}"))
}

fn limits() -> Vec<LimitSample> {
    let long = format!("v 0 0 0\n#{}\nv 0 0 0\n", "x".repeat(9999));
    let marked = format!("\u{feff}#{}\nv 0 0 0\n", "x".repeat(9999));
    let curve = "cstype bspline\ndeg 1\ncurv 0 1 1 1\nparm u 0 0 1 1\nend\n";
    let curves = format!("v 0 0 0\n{curve}{curve}{curve}");
    [
        ("line_bytes", 10, "v 1 2 3456"),
        ("line_bytes", 10, "v 1 2 3456\n"),
        ("line_bytes", 10, "v 1 2 3456\r\n"),
        ("line_bytes", 10, "v 1 2 3\nv 1 2 3456\nv 1 2 3\n"),
        ("line_bytes", 11, "v 1 2 3\nv 1 2 \\\n345\nv 1 2 3\n"),
        ("line_bytes", 10_000, &long),
        ("line_bytes", 10_000, &marked),
        ("name_bytes", 10, "o 123456.mtl\nv 0 0 0\n"),
        ("name_bytes", 10, "g 123456.mtl\nv 0 0 0\n"),
        ("name_bytes", 10, "usemtl 123456.mtl\nv 0 0 0\n"),
        ("elements", 3, "v 0 0 0\nv 0 0 0\nv 0 0 0\n"),
        ("elements", 3, "vt 0 0\nvt 0 0\nvt 0 0\n"),
        ("elements", 3, "vn 0 0 0\nvn 0 0 0\nvn 0 0 0\n"),
        ("elements", 3, "v 0 0 0\nf 1 1 1\nf 1 1 1\nf 1 1 1\n"),
        ("elements", 3, "v 0 0 0\nl 1 1\nl 1 1\nl 1 1\n"),
        ("elements", 3, "v 0 0 0\np 1 1\np 1\n"),
        ("elements", 3, &curves),
        ("objects", 3, "o a\no b\no a\n"),
        ("objects", 3, "o a\nv 0 0 0\no b\nv 0 0 0\no c\nv 0 0 0\np 1\n"),
        ("objects", 3, "g a\nv 0 0 0\ng a\nv 0 0 0\ng a\nv 0 0 0\n"),
        ("objects", 3, "v 0 0 0\ng a\np 1\ng b\np 1\ng a\ng c\np 1\n"),
        ("materials", 3, "v 0 0 0\nusemtl a\np 1\nusemtl b\np 1\nusemtl a\nusemtl c\np 1\n"),
    ]
    .map(|(limit, needed, text)| limited(limit, needed, text))
    .into()
}

fn library_limits() -> Vec<LimitSample> {
    let line = |odd: &str| format!("newmtl a\n# {odd}{}\nKd 1 1 1\n", "x".repeat(98 - odd.len()));
    vec![
        limited("name_bytes", 10, *b"newmtl 1234567890\nKd 1 1 1\n"),
        limited("line_bytes", 100, line("x")),
        limited("line_bytes", 100, line("\u{e9}")),
        limited("materials", 3, *b"newmtl a\nnewmtl b\nKd 1 1 1\nnewmtl a\nnewmtl c\n"),
        limited("referenced_file_bytes", 18, *b"newmtl a\nKd 1 1 1\n"),
    ]
}

fn claims() -> Vec<Sample> {
    vec![
        bad("a corner of four billion", *b"v 0 0 0\nf 4000000000 1 1\n"),
        bad("a corner behind 2^32", *b"v 0 0 0\nf 4294967297 1 1\n"),
        bad("a degree of a billion", *b"v 0 0 0\ncstype bspline\ndeg 1000000000\ncurv 0 1 1 1\nend\n"),
        bad("a far control point", format!("v 0 0 0\ncstype bspline\ndeg 1\ncurv 0 1 {} 1\nend\n", i64::MIN)),
        bad("one line", "v".repeat(1_000_000)),
    ]
}
