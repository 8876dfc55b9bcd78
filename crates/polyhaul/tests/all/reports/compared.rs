//! `diff` matches equal content in another order or under another name, and reports that.

use crate::support::{memory, read_options};
use polyhaul::Input;
use polyhaul_testkit::corpus::Folder;

/// Kinds of differences and their counts.
fn compared(a: Input, b: Input) -> Vec<(&'static str, u64)> {
    let comparison = polyhaul::diff(a, b, &read_options(1, None), 0.0).unwrap();
    comparison.differences.iter().map(|difference| (difference.what, difference.count)).collect()
}

fn obj(faces: &[&str]) -> String {
    let vertices: String = (0..12).map(|at| format!("v {} {} {}.25\n", at, at * at, at % 5)).collect();
    format!("{vertices}{}", faces.iter().map(|face| format!("f {face}\n")).collect::<String>())
}

#[test]
fn faces_in_another_order_differ_in_order_alone() {
    let first = obj(&["1 2 3", "4 5 6", "7 8 9 10", "2 5 9"]);
    for (faces, expected) in [
        (&["1 2 3", "4 5 6", "7 8 9 10", "2 5 9"][..], &[][..]),
        (&["4 5 6", "1 2 3", "7 8 9 10", "2 5 9"], &[("order", 2)]),
        (&["2 3 1", "4 5 6", "9 10 7 8", "2 5 9"], &[]),
        (&["2 5 9", "4 5 6", "7 8 9 10", "1 2 3"], &[("order", 2)]),
        (&["1 2 3", "4 5 6", "7 8 9 10", "2 5 10"], &[("positions", 3)]),
        (&["1 3 2", "4 5 6", "7 8 9 10", "2 5 9"], &[("positions", 6)]),
    ] {
        let differences = compared(memory(&first, "a.obj"), memory(obj(faces), "b.obj"));
        assert_eq!(differences, expected, "{faces:?}");
    }
    // A vertex moved, and faces in another order: both are reported.
    let moved = obj(&["4 5 6", "1 2 3", "7 8 9 10", "2 5 9"]).replace("v 11 121 1.25", "v 11 121 1.25\n");
    let differences =
        compared(memory(&first, "a.obj"), memory(moved.replace("v 8 64 3.25", "v 8 64 3.2500001"), "b.obj"));
    assert_eq!(differences.iter().map(|(what, _)| *what).collect::<Vec<_>>(), ["order", "positions"]);
}

#[test]
fn materials_with_other_names_are_matched_by_value() {
    let folder = Folder::new("renamed").unwrap();
    for (name, first, second) in [("a", "red", "green"), ("b", "paint", "green"), ("c", "green", "red")] {
        folder.file(&format!("{name}.mtl"), format!("newmtl {first}\nKd 1 0 0\nnewmtl {second}\nKd 0 1 0\n")).unwrap();
        let text = format!(
            "mtllib {name}.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl {first}\nf 1 2 3\nusemtl {second}\nf 3 2 1\n"
        );
        folder.file(&format!("{name}.obj"), text).unwrap();
    }
    let at = |name: &str| Input::Path(folder.join(name));
    assert_eq!(compared(at("a.obj"), at("b.obj")), [("material names", 1)]);
    let swapped = compared(at("a.obj"), at("c.obj"));
    assert!(swapped.iter().any(|(what, count)| *what == "materials" && *count == 2), "{swapped:?}");
}

/// The time for normals grows with the corners, not with the batch size.
#[test]
fn many_instances_are_compared() {
    let vertices: String = (0..100).map(|at| format!("v {at} 0 0\nvn 0 {at} 1\n")).collect();
    let faces: String =
        (1..99).map(|at| format!("f {at}//{at} {}//{} {}//{}\n", at + 1, at + 1, at + 2, at + 2)).collect();
    let text = format!("{vertices}{}", faces.repeat(100));
    assert!(compared(memory(&text, "a.obj"), memory(&text, "b.obj")).is_empty());
}

#[test]
fn vertices_without_faces_and_nan_are_said_to_be_such() {
    let first = obj(&["1 2 3"]);
    let messages = |other: String| -> Vec<String> {
        let comparison =
            polyhaul::diff(memory(&first, "a.obj"), memory(other, "b.obj"), &read_options(1, None), 0.0).unwrap();
        comparison.differences.into_iter().map(|difference| difference.message).collect()
    };
    assert_eq!(messages(first.clone() + "v 9 9 9\n"), ["unused vertices: 9 and 10"]);
    let nan = messages(first.replace("v 1 1 1.25", "v nan 1 1.25"));
    assert_eq!(nan, ["positions: 1 value differs, 1 of them NaN in only one of the files, at face 0, corner 1"]);
    let points = polyhaul::diff(
        memory("v 0 0 0\n", "a.obj"),
        memory("v 0 0 0\nv 1 0 0\n", "b.obj"),
        &read_options(1, None),
        0.0,
    );
    assert_eq!(points.unwrap().differences[0].message, "vertices: 1 and 2");
}

#[test]
fn a_picture_that_shows_nothing_says_so() {
    use polyhaul::preview::{PreviewOptions, Style, preview};

    let options = PreviewOptions::default().with_size([64, 48]);
    for (text, is_empty) in [
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", false),
        ("v 0 0 0\n", false),
        ("v 0 0 0\nv 1 0 0\nl 1 2\n", false),
        ("v 0 0 0\nf 1 1 1\n", true),
        ("v nan nan nan\nv nan nan nan\nv nan nan nan\nf 1 2 3\n", true),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1000000 1000000 1000000\nf 1 2 3\n", false),
    ] {
        for style in [Style::Shaded, Style::Depth] {
            let options = options.clone().with_style(style);
            let drawn = preview(memory(text, "a.obj"), &read_options(1, None), &options).unwrap();
            assert_eq!(drawn.report.warnings.counts().contains_key("empty-picture"), is_empty, "{text}");
        }
    }
}
