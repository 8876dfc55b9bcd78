//! Tables of numbers, and detection by content, through the command.

use crate::common::{Folder, SOUND, run, run_piped, run_with};
use serde_json::json;
use std::fs;

const READINGS: &str = "%% by hand\nname;level;height\n1;7;0.5\n2;;-2\n3;300;1e9\n";
const PLY: &str = "ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty double y\nproperty double z\n\
    property uchar red\nproperty float heat\nelement face 1\nproperty list uchar int vertex_indices\n\
    property int part\nend_header\n0 0 0.1 9 1\n1 2 3 8 nan\n3 0 1 0 -4\n";

#[test]
fn every_option_of_tables_is_used() {
    let folder = Folder::new("tables-options");
    let source = folder.file("a.txt", READINGS);
    let out = folder.path("b.csv");
    let with = |missing: &str, flags: &[&str]| {
        run(&[&["convert", "-q", &source, &out, "--comment", "%%", "--missing", missing], flags].concat()).expect(0);
        fs::read_to_string(&out).unwrap()
    };
    let convert = |flags: &[&str]| with("-1", flags);
    let whole = "# by hand\nname,level,height\n1,7,0.5\n2,-1,-2\n3,300,1000000000\n";
    assert_eq!(convert(&["--delimiter", "semicolon"]), whole);
    assert_eq!(convert(&["--delimiter", ";", "--max-rows", "1"]), "# by hand\nname,level,height\n1,7,0.5\n");
    assert_eq!(convert(&["--columns", "height,0", "--out-comment", ""]), "height,name\n0.5,1\n-2,2\n1000000000,3\n");
    assert_eq!(convert(&["--skip-lines", "3", "--header", "no"]), "2,-1,-2\n3,300,1000000000\n");
    let digits = convert(&["--column-digits", "0,1,shortest", "--out-delimiter", "tab", "--out-header", "no"]);
    assert_eq!(digits, "# by hand\n1\t7\t0.5\n2\t-1\t-2\n3\t300\t1000000000\n");
    let nan = with("nan", &["--nan", "NA", "--digits", "1", "--columns", "level,height"]);
    assert_eq!(nan, "# by hand\nlevel,height\n7.0,0.5\nNA,-2.0\n300.0,1000000000.0\n");
}

#[test]
fn wrong_tables_say_where_and_what_would_help() {
    let folder = Folder::new("tables-wrong");
    let out = folder.path("b.npy");
    let name = |text: &str| folder.file("a.csv", text);
    let said = |text: &str, flags: &[&str], words: &[&str]| {
        let path = name(text);
        let ran = run(&[&["convert", &path, &out], flags].concat());
        assert!(ran.code > 0 && words.iter().all(|word| ran.stderr.contains(word)), "{words:?} {ran:?}");
        assert_eq!(folder.names(), ["a.csv"]);
    };
    said("a,b\n1,2\n3,x\n", &[], &["a.csv:3:3", "`x`"]);
    said("a,b\n1,2\n3\n", &[], &["a.csv:3:"]);
    said("a,b\n1,\n", &[], &["a.csv:2:"]);
    said("a,b\n1,2\n", &["--columns", "a,z"], &["`z`"]);
    said("a,b\n1,2\n", &["--element", "vertex"], &["--element applies only to PLY input", "is csv"]);
    said("a,b\n1,2\n", &["--delimiter", "pipe"], &["expected one character"]);
    said("a,b\n1,2\n", &["--missing", "none"], &["expected error, nan or a number"]);
    let ran = run(&["convert", &name("a,b\n1,2\n"), &folder.path("b.obj")]).expect(1);
    assert!(ran.stderr.contains("no columns x, y and z"), "{ran:?}");
    let ran = run(&["convert", &name("a,b\n1,2\n"), &folder.path("b.csv"), "--column-digits", "1,2,3"]).expect(2);
    assert!(ran.stderr.contains("2 columns"), "{ran:?}");
}

#[test]
fn info_shows_columns() {
    let folder = Folder::new("tables-info");
    let path = folder.file("a.csv", "id,height\n-5,0.5\n9007199254740993,inf\n7,\n");
    let ran = run(&["info", &path, "--missing", "nan"]).expect(0);
    for part in
        ["rows                   3", "id           int64     -5 to 9007199254740993", "float64   0.5 to inf, 1 missing"]
    {
        assert!(ran.stdout.contains(part), "{part} {}", ran.stdout);
    }
    let value = run(&["info", "--json", &path, "--missing", "nan"]).expect(0).json_file();
    let id = json!({"name": "id", "type": "int64", "count": 3, "min": -5, "max": 9007199254740993_i64});
    let height = json!({"name": "height", "type": "float64", "count": 2, "min": 0.5, "max": null});
    assert_eq!((&value["rows"], &value["columns"]), (&json!(3), &json!([id, height])));
    run(&["validate", &path, "--missing", "nan"]).expect(0);
    run(&["validate", &path]).expect(1);
    let ply = folder.file("a.ply", PLY);
    let value = run(&["info", "--json", &ply, "--element", "face", "--columns", "part"]).expect(0).json_file();
    assert_eq!(value["columns"][0]["min"], -4);
    let value = run(&["info", "--json", &ply]).expect(0).json_file();
    assert!(value.get("columns").is_none() && value["positions"] == 2, "{value}");
}

#[test]
fn converting_tells_what_went_through() {
    let folder = Folder::new("tables-convert");
    let ply = folder.file("a.ply", PLY);
    let value = run(&["convert", "--json", &ply, &folder.path("b.ply")]).expect(0).json();
    let face = json!({"name": "face", "rows": 1, "columns": 2});
    assert_eq!((&value["tables"][1], value.get("faces")), (&face, None));
    let value = run(&["convert", "--json", &ply, &folder.path("b.obj")]).expect(0).json();
    assert!(value["faces"] == 1 && value.get("tables").is_none(), "{value}");
    let ran = run(&["convert", &ply, &folder.path("b.ply")]).expect(0);
    assert!(ran.stderr.contains("vertex with 2 rows of 5 columns, face with 1 row of 2 columns in "), "{ran:?}");
    let table = run(&["convert", "-q", &ply, "-", "--to", "csv", "--columns", "heat,z"]).expect(0).stdout;
    assert_eq!(table, "heat,z\n1,0.1\nnan,3\n");
    let scaled = run(&["convert", "-q", &ply, "-", "--to", "xyz", "--global-scale", "10"]).expect(0).stdout;
    assert_eq!(scaled, "0 0 1\n10 20 30\n");
}

#[test]
fn content_tells_the_format_of_standard_input() {
    let ply = run_with(&["info", "--json", "-"], PLY.as_bytes()).expect(0).json_file();
    assert_eq!((&ply["positions"], &ply["header"]["format"]), (&json!(2), &json!("PLY ascii")));
    let packed =
        run_piped(&["convert", "-q", "-", "-", "--to", "npy", "--compress", "zst", "--columns", "x,y"], PLY.as_bytes());
    let npy = run_piped(&["convert", "-q", "-", "-", "--to", "csv"], &packed.stdout);
    assert_eq!(String::from_utf8(npy.stdout).unwrap(), "0,0\n1,2\n");
    assert_eq!(run_with(&["info", "--json", "-"], SOUND.as_bytes()).expect(0).json()["faces"], 2);
    let folder = Folder::new("tables-content");
    let lying = folder.file("a.obj", PLY);
    let ran = run(&["info", &lying]).expect(1);
    assert!(ran.stderr.contains("use `--from ply`"), "{ran:?}");
    let ran = run(&["info", "--on-error", "warn", &lying]).expect(1);
    assert!(ran.stderr.contains("use `--from ply`"), "{ran:?}");
    run(&["info", &folder.file("a.dat", PLY)]).expect(0);
    let ran = run(&["info", &folder.file("b.dat", "?")]).expect(2);
    assert!(
        ran.stderr.contains("specify the format with `--from FORMAT`, or `format` in the API: obj, ply"),
        "{ran:?}"
    );
}

/// Empty input is an empty scene only if its format is given.
#[test]
fn content_that_says_nothing_is_refused() {
    let folder = Folder::new("tables-nothing");
    for (text, why) in [
        ("", "the input is empty"),
        ("\n# a\n", "only blank lines and comments"),
        ("hello world\n", "ply, npy, glb, spz, stl"),
    ] {
        let from_stdin = run_with(&["info", "-"], text.as_bytes()).expect(2);
        assert!(
            from_stdin.stderr.contains("cannot infer the format") && from_stdin.stderr.contains(why),
            "{from_stdin:?}"
        );
        for name in ["nothing", "nothing.dat"] {
            let file = folder.file(name, text);
            let ran = run(&["info", &file]).expect(2);
            assert!(ran.stderr.contains("cannot infer the format") && ran.stderr.contains(why), "{ran:?}");
            assert!(ran.stderr.contains("--from FORMAT"), "{ran:?}");
            run(&["info", "--from", "obj", &file]).expect(i32::from(text.starts_with("hello")));
        }
        // Words that are not OBJ statements are not OBJ, whatever the extension.
        let code = i32::from(text.starts_with("hello"));
        run(&["info", &folder.file("nothing.obj", text)]).expect(code);
        run_with(&["info", "--from", "obj", "-"], text.as_bytes()).expect(code);
    }
    run(&["info", &folder.file("something", "# a\nv 0 0 0\n")]).expect(0);
}

#[test]
fn digits_are_those_of_all_numbers() {
    let scene = "v 1 2 3\nvt 0.5 0.25\nvn 0 0 1\nf 1/1/1 1/1/1 1/1/1\n";
    let text = run_with(&["convert", "-q", "-", "-", "--digits", "2"], scene.as_bytes()).expect(0).stdout;
    for line in ["v 1.00 2.00 3.00\n", "vt 0.50 0.25\n", "vn 0.00 0.00 1.00\n"] {
        assert!(text.contains(line), "{text}");
    }
    let own_digits = ["convert", "-q", "-", "-", "--digits", "2", "--normal-digits", "1"];
    assert!(run_with(&own_digits, scene.as_bytes()).expect(0).stdout.contains("vn 0.0 0.0 1.0\n"));
}

#[test]
fn limits_of_headers_are_options() {
    let flags = |limit: &'static str| ["info", "-", "--limit", limit];
    assert!(run_with(&flags("properties=8"), PLY.as_bytes()).expect(1).stderr.contains("--limit properties=N"));
    run_with(&flags("properties=9"), PLY.as_bytes()).expect(0);
    assert!(run_with(&flags("header_bytes=100"), PLY.as_bytes()).expect(1).stderr.contains("--limit header_bytes=N"));
}

#[test]
fn rows_are_chosen_from_any_format() {
    let folder = Folder::new("tables-rows");
    let ply = folder.file("a.ply", PLY);
    let csv = folder.file("b.csv", "x,y,z,age\n0,0,0,1\n1,5,2,2\n3,4,9,3\n4,4,4,4\n");
    let out = folder.path("out.csv");
    let rows = |source: &str, flags: &[&str]| {
        run(&[&["convert", "-q", source, &out], flags].concat()).expect(0);
        fs::read_to_string(&out).unwrap().lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&csv, &["--filter", "age > 1", "--filter", "z < 9 or x == 3"]).len(), 3);
    assert_eq!(rows(&csv, &["--box", "0,0,0,3,5,9", "--every", "2"]), ["0,0,0,1", "3,4,9,3"]);
    assert_eq!(rows(&csv, &["--sample", "2", "--columns", "age"]).len(), 2);
    assert_eq!(rows(&csv, &["--filter", "age==4", "--transform", "1,0,0,1,0,1,0,-4,0,0,2,0"]), ["5,0,8,4"]);
    assert_eq!(rows(&ply, &["--filter", "red == 9", "--columns", "z,red"]), ["0.1,9"]);
    let obj = folder.file("c.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 9 9 9\nf 1 2 3\nf 2 3 4\n");
    run(&["convert", "-q", &obj, &folder.path("d.obj"), "--filter", "x + y < 9"]).expect(0);
    let left = fs::read_to_string(folder.path("d.obj")).unwrap();
    assert_eq!((left.matches("\nv ").count(), left.matches("\nf ").count()), (3, 1), "{left}");
}

#[test]
fn wrong_choices_say_where_and_what_would_help() {
    let folder = Folder::new("tables-choices");
    let csv = folder.file("b.csv", "x,y\n0,0\n");
    let said = |flags: &[&str], code: i32, words: &[&str]| {
        let ran = run(&[&["convert", &csv, &folder.path("out.csv")], flags].concat()).expect(code);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{words:?} {ran:?}");
    };
    said(&["--filter", "x > 1 && y > 1"], 2, &["unexpected `&&` at column 7", "write `and`"]);
    said(&["--filter", "age > 1"], 2, &["no column named `age`", "the columns are x, y"]);
    said(&["--box", "0,0,0,1,1"], 2, &["expected 6 numbers"]);
    said(&["--box", "0,0,0,1,1,-1"], 2, &["must not be larger"]);
    said(&["--box", "0,0,0,1,1,1"], 2, &["no column named `z`"]);
    said(&["--every", "0"], 2, &["--every"]);
    said(&["--transform", "1,2,3"], 2, &["expected 12 numbers"]);
    let image = folder.file("a.ppm", "");
    let ran = run(&["convert", &image, &folder.path("out.png"), "--every", "2"]);
    assert!(ran.code > 0, "{ran:?}");
}
