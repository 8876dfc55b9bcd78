//! `polyhaul check`: faults of surfaces, measurements and exit codes.

use crate::common::{Folder, run, run_with};
use serde_json::json;

const POSITIONS: &str = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 0 0 2\nv 2 0 2\nv 2 2 2\nv 0 2 2\n";
const SIDES: [&str; 6] = ["f 1 4 3 2", "f 5 6 7 8", "f 1 2 6 5", "f 2 3 7 6", "f 3 4 8 7", "f 4 1 5 8"];

/// A cube with the given sides.
fn cube(sides: &[&str]) -> String {
    format!("{POSITIONS}{}\n", sides.join("\n"))
}

#[test]
fn a_closed_cube_is_clean() {
    let ran = run_with(&["check", "-"], cube(&SIDES).as_bytes()).expect(0);
    let rows: Vec<Vec<_>> = ran.stdout.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        "surfaces 1",
        "components 1",
        "faces 6",
        "edges 12",
        "open edges 0",
        "non-manifold edges 0",
        "flipped edges 0",
        "duplicate faces 0",
        "degenerate faces 0",
        "watertight yes",
        "area 24",
        "volume 8",
        "bounds 0 0 0 to 2 2 2",
    ];
    assert_eq!(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>(), expected);
    let quiet = run_with(&["check", "-q", "-"], cube(&SIDES).as_bytes()).expect(0);
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
}

#[test]
fn faults_are_code_1() {
    let ran = run_with(&["check", "-"], cube(&SIDES[1..]).as_bytes()).expect(1);
    assert!(ran.stdout.contains("open edges                       4  0-1 3-0 1-2 2-3\n"), "{ran:?}");
    assert!(ran.stdout.contains("volume                        none  not closed\n"), "{ran:?}");
    run_with(&["check", "--allow-open", "-"], cube(&SIDES[1..]).as_bytes()).expect(0);
    let flipped = cube(&SIDES).replace("f 5 6 7 8", "f 8 7 6 5\nf 1 1 2\nf 2 3 4 1");
    let value = run_with(&["check", "--json", "--allow-open", "-"], flipped.as_bytes()).expect(1).json();
    assert_eq!((&value["command"], &value["clean"]), (&json!("check"), &json!(false)));
    let surface = &value["files"][0]["surfaces"][0];
    assert_eq!(
        (&surface["watertight"], &surface["consistent"], &surface["volume"]),
        (&json!(false), &json!(false), &json!(null))
    );
    assert_eq!((&surface["duplicate_faces"], &surface["degenerate_faces"]), (&json!([3]), &json!([2])));
    assert_eq!(surface["flipped_edges"].as_array().unwrap().len(), 4);
    assert_eq!(value["counts"]["non_manifold_edges"], 4);
}

#[test]
fn seams_are_not_open_unless_asked() {
    // Each side has its own positions, as in files with one normal per vertex.
    let mut text = String::new();
    for side in SIDES {
        for corner in side.split(' ').skip(1) {
            let position = POSITIONS.lines().nth(corner.parse::<usize>().unwrap() - 1).unwrap();
            text += &format!("{position}\n");
        }
        text += "f -4 -3 -2 -1\n";
    }
    run_with(&["check", "-"], text.as_bytes()).expect(0);
    let value = run_with(&["check", "--json", "--no-merge", "-"], text.as_bytes()).expect(1).json();
    assert_eq!((&value["counts"]["open_edges"], &value["counts"]["components"]), (&json!(24), &json!(6)));
}

#[test]
fn several_inputs_and_objects_add_up() {
    let folder = Folder::new("check-many");
    let second: String = SIDES[1..].iter().map(|line| shifted(line) + "\n").collect();
    let good = folder.file("good.obj", &cube(&SIDES));
    let text = format!("o whole\n{}o holed\n{POSITIONS}{second}", cube(&SIDES));
    let bad = folder.file("bad.obj", &text);
    let ran = run(&["check", &bad]).expect(1);
    assert!(ran.stdout.contains("    holed: 4 open edges\n") && ran.stdout.contains("no  1 of 2\n"), "{ran:?}");
    let value = run(&["check", "--json", &good, &bad]).expect(1).json();
    assert_eq!((&value["counts"]["surfaces"], &value["counts"]["watertight"]), (&json!(3), &json!(2)));
    assert_eq!((&value["files"][0]["clean"], &value["files"][0]["volume"]), (&json!(true), &json!(8.0)));
    assert_eq!(value["files"][1]["surfaces"][1]["first_face"], 6);
    let missing = folder.path("missing.obj");
    let value = run(&["check", "--json", &good, &missing]).expect(2).json();
    assert_eq!((&value["clean"], &value["files"][1]["error"]["kind"]), (&json!(null), &json!("io")));
    run(&["check", &missing]).expect(2);
}

/// The face of a second object with the same number of positions.
fn shifted(face: &str) -> String {
    let corners = face.split(' ').skip(1).map(|corner| (corner.parse::<usize>().unwrap() + 8).to_string());
    std::iter::once("f".to_owned()).chain(corners).collect::<Vec<_>>().join(" ")
}

#[test]
fn images_in_folders_are_skipped_and_images_alone_are_errors() {
    let folder = Folder::new("check-images");
    folder.file("a.obj", &cube(&SIDES));
    let image = folder.path("a.tga");
    std::fs::write(&image, [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1]).unwrap();
    run(&["check", &folder.path("")]).expect(0);
    let ran = run(&["check", &image]).expect(2);
    assert!(ran.stderr.contains("cannot check the surfaces of") && ran.stderr.contains("it is an image"), "{ran:?}");
}
