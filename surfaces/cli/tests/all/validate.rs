//! `polyhaul validate`: problems, places and exit codes.

use crate::common::{BROKEN, Folder, SOUND, data, run, run_confined, run_with};
use serde_json::json;

#[test]
fn a_sound_file_is_valid() {
    let ran = run_with(&["validate", "-"], SOUND.as_bytes()).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr_without_verdict()), ("-: valid\n", ""));
    run_with(&["validate", "--strict", "-"], SOUND.as_bytes()).expect(0);
}

#[test]
fn a_broken_statement_fails() {
    let folder = Folder::new("validate-broken");
    let scene = folder.file("broken.obj", BROKEN);
    let ran = run(&["validate", &scene]).expect(1);
    assert!(ran.stdout.starts_with(&format!("{scene}: invalid with ")), "{ran:?}");
    assert_eq!(ran.stderr.matches("error: ").count(), 1);
    assert!(ran.stderr.contains(&format!("--> {scene}:6:")), "{ran:?}");
    run_with(&["validate", "-"], BROKEN.as_bytes()).expect(1);
}

#[test]
fn every_complaint_is_listed() {
    let text = BROKEN.replace("f 1 2 3 4", "f 1 1 2\nf 1 2 77\nf 1 2 3 4");
    let ran = run_with(&["validate", "--json", "-"], text.as_bytes()).expect(1);
    let value = ran.json();
    assert_eq!((&value["valid"], &value["error"]["line"]), (&json!(false), &json!(6)));
    let listed = value["files"][0]["warnings"]["listed"].as_array().unwrap();
    let lines: Vec<_> = listed.iter().map(|warning| warning["line"].as_u64()).collect();
    assert!(lines.starts_with(&[Some(6), Some(8)]), "{lines:?}");
    assert_eq!(value["warnings"]["counts"]["degenerate-face"], 1);
}

#[test]
fn only_faults_make_a_file_invalid() {
    let text = SOUND.replace("f 1 2 3 4", "f 1 2 3 3");
    for args in [&["validate", "-"][..], &["validate", "--strict", "-"]] {
        let ran = run_with(args, text.as_bytes()).expect(0);
        assert!(ran.stderr.contains("note[degenerate-face]"), "{ran:?}");
        let ran = run_with(args, format!("{text}what 1\n").as_bytes()).expect(1);
        assert!(ran.stdout.starts_with("-: invalid with 2 warnings"), "{ran:?}");
    }
    let quiet = run_with(&["validate", "-q", "-"], text.as_bytes()).expect(0);
    assert!(quiet.stderr.is_empty() && quiet.stdout.is_empty());
}

#[test]
fn missing_textures_are_found() {
    let folder = Folder::new("validate-textures");
    folder.file("a.mtl", "newmtl paint\nmap_Kd here.png\nmap_Ks gone.png\nbump ../up.png\n");
    folder.file("here.png", "");
    let scene = folder.file("a.obj", &format!("mtllib a.mtl\nusemtl paint\n{SOUND}"));
    let value = run(&["validate", "--json", &scene]).expect(0).json();
    let counts = &value["warnings"]["counts"];
    assert_eq!((&counts["missing-texture"], &counts["outside-texture"]), (&json!(1), &json!(1)));
}

#[test]
fn an_undefined_material_is_a_warning() {
    let ran = run_with(&["validate", "-"], format!("usemtl nowhere\n{SOUND}").as_bytes()).expect(0);
    assert!(ran.stderr.contains("warning[") && ran.stderr.contains("nowhere"), "{ran:?}");
}

#[test]
fn strict_reading_refuses_what_is_not_allowed() {
    let folder = Folder::new("validate-allow");
    let scene = folder.file("a.obj", &format!("{SOUND}nonsense 1\n"));
    run(&["info", &scene]).expect(0);
    let ran = run(&["info", "--strict", &scene]).expect(1);
    assert!(ran.stderr.contains("nonsense"), "{ran:?}");
    run(&["info", "--strict", "--allow", "unknown-statement", &scene]).expect(0);
    run(&["info", "--strict", "--allow", "missing-material", &scene]).expect(1);
}

#[test]
fn some_of_many_is_code_3() {
    let folder = Folder::new("validate-many");
    let good = folder.file("good.obj", SOUND);
    let bad = folder.file("bad.obj", BROKEN);
    let value = run(&["validate", "--json", &good, &bad]).expect(3).json();
    assert_eq!((&value["files"][0]["valid"], &value["files"][1]["valid"]), (&json!(true), &json!(false)));
    run(&["validate", &bad, &bad]).expect(1);
    run(&["validate", &good, &good]).expect(0);
}

#[test]
fn hostile_files_end_in_a_verdict() {
    for entry in std::fs::read_dir(data("bad/generated")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "obj") {
            let ran = run_confined(&["validate", "--json", path.to_str().unwrap()]);
            assert!(matches!(ran.code, 0 | 1), "{}: {ran:?}", path.display());
            assert_eq!(ran.json()["valid"], ran.code == 0);
        }
    }
}

#[test]
fn diff_compares_what_files_mean() {
    let folder = Folder::new("diff");
    let scene = folder.file("a.obj", SOUND);
    let copy = folder.path("a.ply");
    run(&["convert", &scene, &copy]).expect(0);
    // PLY drops only the name of the object.
    let ran = run(&["diff", &scene, &copy]).expect(1);
    assert_eq!(ran.stdout, "names: 1 name differs; name 0: `thing` in the first file, none in the second\n");
    assert_eq!(run(&["diff", &scene, &scene]).expect(0).stdout, "equal\n");
    let moved = folder.file("b.obj", &SOUND.replace("-2.5", "-2.25"));
    let ran = run(&["diff", &scene, &moved]).expect(1);
    assert!(ran.stdout.starts_with("positions: 1 value differs, by 2.5e-1 at most, at face 1, corner 3"), "{ran:?}");
    run(&["diff", "--tolerance", "0.25", &scene, &moved]).expect(0);
    let value = run(&["diff", "--json", &scene, &moved]).expect(1).json();
    assert_eq!((&value["equal"], &value["differences"][0]["largest"]), (&json!(false), &json!(0.25)));
    let table = folder.file("a.csv", "x,y,z\n0,0,0\n");
    run(&["diff", &table, &scene]).expect(1);
    run(&["diff", &scene, &folder.path("missing.obj")]).expect(2);
    run(&["diff", "--tolerance", "-1", &scene, &scene]).expect(2);
    let image = folder.path("a.tga");
    std::fs::write(&image, [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 24, 0, 3, 2, 1]).unwrap();
    let ran = run(&["diff", &scene, &image]).expect(2);
    assert!(ran.stderr.contains("cannot compare a scene (obj) with an image (tga)"), "{ran:?}");
}

#[test]
fn diff_compares_every_value_of_every_column() {
    let folder = Folder::new("diff-columns");
    let cells = [["1", "2.5", "3"], ["4", "5.5", "6"], ["7", "8.5", "9"]];
    let text = |cells: [[&str; 3]; 3]| format!("x,y,z\n{}\n", cells.map(|row| row.join(",")).join("\n"));
    let table = folder.file("a.csv", &text(cells));
    assert_eq!(run(&["diff", &table, &table]).expect(0).stdout, "equal\n");
    for row in 0..3 {
        for (column, name) in ["x", "y", "z"].into_iter().enumerate() {
            let mut changed = cells;
            changed[row][column] = "10";
            let other = folder.file("b.csv", &text(changed));
            let value = run(&["diff", "--json", &table, &other]).expect(1).json();
            let differences = value["differences"].as_array().unwrap();
            assert_eq!(differences.len(), 1, "{value}");
            let words = differences[0].to_string();
            assert!(words.contains(&format!("row {row}")) && words.contains(name), "{words}");
        }
    }
}
