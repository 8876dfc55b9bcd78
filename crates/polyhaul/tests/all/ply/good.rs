//! Good files, compared with the slow reader and with equivalent files in other encodings.

use crate::ply::reference;
use crate::ply::support::{NAME, memory, options, outcome, scene, tables};
use polyhaul::Reader;
use polyhaul_testkit::corpus::samples;

#[test]
fn every_number_is_that_of_the_slow_reader() {
    let files = samples("ply/good", "ply");
    assert!(files.len() > 40);
    for file in files {
        let bytes = file.bytes();
        let loaded = Reader::new(memory(&bytes)).options(&options(1, None)).tables().unwrap();
        assert_eq!(reference::of_tables(&loaded.value.tables), reference::read(&bytes).unwrap(), "{}", file.name);
        // This file has one more face than it declares.
        let extra = u64::from(file.name == "ply/good/rply/input.ply");
        assert_eq!(loaded.report.warnings.total(), extra, "{}: {:?}", file.name, loaded.report.warnings);
        for table in &loaded.value.tables {
            assert!(table.columns.iter().all(|column| column.row_count() == table.row_count), "{}", file.name);
        }
    }
}

#[test]
fn twins_are_equal() {
    let files = samples("ply/good/generated", "ply");
    let mut pairs = 0;
    for file in &files {
        let Some(stem) = file.name.strip_suffix("_ascii.ply") else { continue };
        for form in ["le", "be"] {
            let twin = files.iter().find(|file| file.name == format!("{stem}_{form}.ply")).unwrap();
            let a = file.bytes();
            let b = twin.bytes();
            assert_eq!(tables(&a), tables(&b), "{}", twin.name);
            assert_eq!(scene(&a).value, scene(&b).value, "{}", twin.name);
            pairs += 1;
        }
    }
    assert!(pairs >= 20);
}

#[test]
fn all_are_scenes_too() {
    for file in samples("ply/good", "ply") {
        let result = Reader::new(memory(&file.bytes())).options(&options(1, None)).scene();
        assert!(result.is_ok(), "{}: {}", file.name, outcome(&result));
        assert_eq!(polyhaul_testkit::scene::broken_rule(&result.unwrap().value), None, "{}", file.name);
    }
}

#[test]
fn comments_and_remarks_are_kept() {
    let generated = samples("ply/good/generated", "ply");
    let file = generated.iter().find(|file| file.name.ends_with("all_types_le.ply")).unwrap();
    let loaded = scene(file.bytes()).value;
    assert_eq!(loaded.comments, ["made for tests", "", "  spaces   and \u{e9} \u{6f22}\u{5b57}"]);
    assert_eq!(loaded.infos, [" num_cols 3"]);
}

const TEXT: &str = "ply|format ascii 1.0|comment a|element vertex 2|property float x|property int8 y|property list uchar \
                    short z|obj_info b|end_header|1.5 -3 2 7 8|2.5 4 0|";

#[test]
fn any_line_end_will_do() {
    let expected =
        outcome(&Reader::new(memory(TEXT.replace('|', "\n").as_bytes())).options(&options(1, None)).tables());
    assert!(expected.contains("[1.5, 2.5]"), "{expected}");
    for end in ["\r\n", "\r"] {
        let text = TEXT.replace('|', end);
        assert_eq!(
            outcome(&Reader::new(memory(text.as_bytes())).options(&options(1, None)).tables()),
            expected,
            "{end:?}"
        );
    }
    // Header lines that end in a single carriage return: a line feed after it is the first byte of the rows.
    let head = "ply\rformat binary_little_endian 1.0\relement a 1\rproperty short b\rend_header\r";
    let rows = tables([head.as_bytes(), b"\n\x01"].concat());
    assert_eq!(reference::of_tables(&rows)[0].1[0].2, [["266"]]);
    let rows = tables([head.replace('\r', "\r\n").as_bytes(), b"\n\x01"].concat());
    assert_eq!(reference::of_tables(&rows)[0].1[0].2, [["266"]]);
}

#[test]
fn wide_integers_and_many_lists() {
    let lines = "element e 3\nproperty list uint64 int64 a\nproperty double b\nproperty list short uint64 c\n\
                 property list char double d\n";
    let text = crate::ply::support::header("ascii", lines)
        + "2 -9223372036854775808 1 1e300 1 18446744073709551615 0\n0 -0.5 0 2 1 2\n1 7 nan 3 1 2 3 1 inf\n";
    assert_eq!(reference::of_tables(&tables(&text)), reference::read(text.as_bytes()).unwrap());
    assert_eq!(NAME, "x.ply");
}
