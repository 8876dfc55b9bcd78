//! Values whose meaning a conversion could change.

use crate::support::{self, memory};
use polyhaul::options::Digits;
use polyhaul::{ErrorKind, Format, Input, ReadOptions, Report, WriteOptions};

fn try_converted(bytes: &[u8], from: &str, to: Format, digits: Digits) -> polyhaul::Result<(Vec<u8>, Report)> {
    let mut write = WriteOptions::default().with_format(Some(to));
    write.scene.digits = Some(digits);
    write.scene.ascii = true;
    support::try_converted(memory(bytes, &format!("x.{from}")), &ReadOptions::default(), &write)
}

#[track_caller]
fn converted(bytes: &[u8], from: &str, to: Format) -> Vec<u8> {
    try_converted(bytes, from, to, Digits::Shortest).unwrap().0
}

fn properties(ply: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(ply);
    let lines = text.lines().filter_map(|line| line.strip_prefix("property "));
    lines.map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned()).collect()
}

const NORMALS: &str = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
    property float nx\nproperty float ny\nproperty float nz\nend_header\n1 2 3 0 0 1\n4 5 6 0 -1 0\n";

#[test]
fn normals_stay_normals() {
    for digits in [Digits::Shortest, Digits::Fixed(0), Digits::Fixed(3)] {
        for format in [Format::Xyz, Format::Txt] {
            let (there, _) = try_converted(NORMALS.as_bytes(), "ply", format, digits).unwrap();
            let back = converted(&there, format.name(), Format::Ply);
            assert_eq!(
                properties(&back),
                ["x", "y", "z", "nx", "ny", "nz"],
                "{digits:?} {}",
                String::from_utf8_lossy(&there)
            );
        }
    }
    // Positive values, which could be colors, and integers of another file.
    let positive = NORMALS.replace("0 -1 0", "0 1 0");
    let back = converted(&converted(positive.as_bytes(), "ply", Format::Xyz), "xyz", Format::Ply);
    assert_eq!(properties(&back)[3..], ["nx", "ny", "nz"]);
    let back = converted(&converted(b"x,y,z,nx,ny,nz\n1,2,3,0,0,1\n", "csv", Format::Xyz), "xyz", Format::Ply);
    assert_eq!(properties(&back)[3..], ["nx", "ny", "nz"]);
}

#[test]
fn normals_beside_colors_stay_normals() {
    let text =
        NORMALS.replace("end_header\n", "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n");
    let text = text.replace("0 0 1\n", "0 0 1 7 8 9\n").replace("0 -1 0\n", "0 1 0 1 0 1\n");
    let there = converted(text.as_bytes(), "ply", Format::Xyz);
    assert_eq!(String::from_utf8_lossy(&there), "1 2 3 7 8 9 0.0 0.0 1.0\n4 5 6 1 0 1 0.0 1.0 0.0\n");
    let back = properties(&converted(&there, "xyz", Format::Ply));
    assert_eq!(back[3..], ["red", "green", "blue", "nx", "ny", "nz"]);
}

#[test]
fn integers_of_other_writers_are_told_apart() {
    let names = |text: &str| properties(&converted(text.as_bytes(), "xyz", Format::Ply));
    assert_eq!(names("1 2 3 0 0 -1\n")[3..], ["nx", "ny", "nz"]);
    assert_eq!(names("1 2 3 255 0 1\n")[3..], ["red", "green", "blue"]);
    assert_eq!(names("1 2 3 255 0 1 0 0 1\n")[3..], ["red", "green", "blue", "nx", "ny", "nz"]);
    assert_eq!(names("1 2 3 0 0 1 255 0 1\n")[3..6], ["red", "green", "blue"]);
    assert_eq!(names("1 2 3 0 0 -1 255 0 1\n")[3..], ["nx", "ny", "nz", "red", "green", "blue"]);
}

#[test]
fn negative_integers_are_not_written_as_colors() {
    let (there, report) =
        try_converted(b"x,y,z,red,green,blue\n1,2,3,-1,0,1\n", "csv", Format::Xyz, Digits::Shortest).unwrap();
    assert_eq!(there, b"1 2 3\n");
    assert_eq!(report.warnings.counts()["left-out-columns"], 3);
}

#[test]
fn comments_are_made_safe() {
    let csv = b"# a\0b\x1b[31m\nx,y,z\n1,2,3\n";
    for (format, end) in
        [(Format::Ply, "comment a_b_[31m\n"), (Format::Csv, "# a_b_[31m\n"), (Format::Xyz, "# a_b_[31m\n")]
    {
        let (there, report) = try_converted(csv, "csv", format, Digits::Shortest).unwrap();
        assert!(String::from_utf8_lossy(&there).contains(end), "{format:?}");
        assert_eq!(report.warnings.counts()["changed-remarks"], 1, "{format:?}");
        converted(&there, format.name(), Format::Csv);
    }
}

#[test]
fn points_need_three_columns() {
    for (text, format) in
        [("1\n", Format::Xyz), ("1,2\n", Format::Xyz), ("1\n", Format::Pts), ("a,b\n1,2\n", Format::Txt)]
    {
        let converted = try_converted(text.as_bytes(), "csv", format, Digits::Shortest);
        match format {
            Format::Txt => assert!(converted.is_ok()),
            _ => {
                let error = converted.unwrap_err();
                assert!(error.kind() == ErrorKind::Usage && error.to_string().contains("3 columns"), "{error}");
            }
        }
    }
}

#[test]
fn names_that_a_table_cannot_keep_are_warned_of() {
    let cases: [(&str, Format, &str); 5] = [
        ("a,b\n1,2\n", Format::Txt, "left-out-column-names"),
        ("a,b\n1,2\n", Format::Npy, "left-out-column-names"),
        ("a b,c\n1,2\n", Format::Ply, "changed-names"),
        ("a,a\n1,2\n", Format::Ply, "changed-names"),
        ("x,y,z,time\n1,2,3,4\n", Format::Xyz, "left-out-columns"),
    ];
    for (text, format, code) in cases {
        let (_, report) = try_converted(text.as_bytes(), "csv", format, Digits::Shortest).unwrap();
        assert!(report.warnings.counts().contains_key(code), "{text:?} {format:?} {:?}", report.warnings.counts());
    }
    // A column without a name does not get the name of another column.
    assert_eq!(converted(b"a,\"\",c\n1,2,3\n", "csv", Format::Tsv), b"a\t\"\"\tc\n1\t2\t3\n");
}

#[test]
fn formulas_are_escaped_on_request() {
    let mut write = WriteOptions::default().with_format(Some(Format::Csv));
    write.table.csv_safe = true;
    let input = memory("\"=cmd|x\",@a,-b,c\n1,2,3,4\n", "x.csv");
    let (bytes, _) = support::try_converted(input, &ReadOptions::default(), &write).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), "'=cmd|x,'@a,'-b,c\n1,2,3,4\n");
}

#[test]
fn rows_that_are_too_wide_name_the_header() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 0.5\n1 0 0.5\n3 0 1 0\n";
    let strict = ReadOptions::default().with_strict(true);
    let error = polyhaul::Reader::new(Input::Memory(ply.replace("3 0 1 0", "3 0 1 0 7").into(), "x.ply".into()))
        .options(&strict)
        .scene()
        .unwrap_err();
    let hint = error.diagnostic().hint.clone().unwrap_or_default();
    assert!(
        hint.contains("line 10 has 4 values") && hint.contains("declares 3") && hint.contains("(line 3)"),
        "{error} {hint}"
    );
}

/// Found by fuzzing: a column without a name gets one in the conversion, and stays the same column.
#[test]
fn columns_without_names_are_compared_by_place() {
    let differences = |a: &[u8], b: &[u8], from: &str| {
        let input = |bytes: &[u8], name: String| Input::Memory(bytes.to_vec(), name);
        let [a, b] = [input(a, "a.csv".into()), input(b, format!("b.{from}"))];
        let comparison = polyhaul::diff(a, b, &ReadOptions::default(), 0.0).unwrap();
        comparison.differences.into_iter().map(|difference| difference.message).collect::<Vec<_>>()
    };
    let text = "1,2,3\n4,5,6\n";
    let nameless = format!(",z\u{f0},y\n{text}").into_bytes();
    let ply = converted(&nameless, "csv", Format::Ply);
    assert_eq!(differences(&nameless, &ply, "ply"), ["column names: 1 named only in the second file"]);
    let named = |names: &str| format!("{names}\n{text}").into_bytes();
    assert!(differences(&named("a,b,c"), &named("a,b,c"), "csv").is_empty());
    // Matched by name wherever they are, then by position.
    let listed = differences(&named("a,b,c"), &named("b,,c"), "csv");
    assert_eq!(listed[0], "columns: 1 only in the first file: a");
    assert_eq!(listed[1], "columns: 1 only in the second file: column 2");
    // PLY has properties such as `z` in lowercase. Found by fuzzing.
    for rows in ["", "1,2,3\n"] {
        let uppercase = format!("x,y,Z\n{rows}\n").into_bytes();
        assert!(differences(&uppercase, &converted(&uppercase, "csv", Format::Ply), "ply").is_empty(), "{rows}");
    }
    assert!(differences(&named("a,A,c"), &named("A,c,a"), "csv").len() == 3, "values of the same names");
    let listed = differences(&named("a,A,c"), &named("A,a,C"), "csv");
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert_eq!(listed[0], "column names: 1 in different letter case");
}

/// Objects without slots have materials by statement, which glTF stores for each primitive.
#[test]
fn lines_and_points_keep_their_material() {
    const VERTICES: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\n";
    /// Mode and name of the material.
    type Drawn = (Option<u64>, &'static str);
    let cases: [(&str, &[Drawn], u64, u64); 4] = [
        ("usemtl a\nf 1 2 3\nusemtl b\nl 1 2\np 3\n", &[(None, "a"), (Some(1), "b"), (Some(0), "b")], 0, 0),
        ("usemtl b\nl 1 2\nl 2 3\nusemtl a\n", &[(Some(1), "b")], 0, 1),
        ("l 1 2\nusemtl a\nf 1/1 2/1 3/1\nl 1/1 2/1\n", &[(None, "a"), (Some(1), "")], 1, 2),
        ("usemtl a\nl 1 2\no two\nusemtl b\nl 2 3\n", &[(Some(1), "a"), (Some(1), "b")], 0, 1),
    ];
    for (elements, expected, materials, uvs) in cases {
        let obj = format!("{VERTICES}{elements}");
        let write = WriteOptions::default().with_format(Some(Format::Glb));
        let (file, report) = support::try_converted(memory(&obj, "x.obj"), &ReadOptions::default(), &write).unwrap();
        let length = u32::from_le_bytes(*file[12..].first_chunk().unwrap()) as usize;
        let document: serde_json::Value = serde_json::from_slice(&file[20..20 + length]).unwrap();
        let name = |number: &serde_json::Value| match number.as_u64() {
            Some(number) => document["materials"][number as usize]["name"].as_str().unwrap(),
            None => "",
        };
        let meshes = document["meshes"].as_array().unwrap().iter();
        let primitives = meshes.flat_map(|mesh| mesh["primitives"].as_array().unwrap());
        let shown: Vec<_> =
            primitives.map(|primitive| (primitive["mode"].as_u64(), name(&primitive["material"]))).collect();
        assert_eq!(shown, expected, "{elements}");
        let count = |code| report.warnings.counts().get(code).copied().unwrap_or(0);
        assert_eq!([count("left-out-materials"), count("left-out-uvs")], [materials, uvs], "{elements}");
    }
}
