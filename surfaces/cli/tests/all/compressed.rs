//! Compressed scenes: files, pipes, sizes, levels.

use crate::common::{BROKEN, Folder, SOUND, command, run, run_piped, run_with};
use serde_json::json;

const CODECS: [(&str, &str); 3] = [("gz", "gzip"), ("zst", "zstd"), ("lz4", "lz4")];

/// Writes a compressed scene and returns its path.
fn packed(folder: &Folder, extension: &str, text: &str) -> String {
    let path = folder.path(&format!("scene.obj.{extension}"));
    run_with(&["convert", "-q", "-", &path], text.as_bytes()).expect(0);
    path
}

/// The compressed output of the command.
fn piped(codec: &str) -> Vec<u8> {
    let output = run_piped(&["convert", "-q", "-", "-", "--compress", codec], SOUND.as_bytes());
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn info_tells_codec_and_both_sizes() {
    let folder = Folder::new("compressed-info");
    let plain = run_with(&["convert", "-q", "-", "-"], SOUND.as_bytes()).expect(0).stdout;
    for (extension, codec) in CODECS {
        let path = packed(&folder, extension, SOUND);
        let size = std::fs::metadata(&path).unwrap().len();
        let value = run(&["info", "--json", &path]).expect(0).json_file();
        assert_eq!((&value["codec"], &value["faces"]), (&json!(codec), &json!(2)));
        assert_eq!((&value["bytes_in"], &value["plain_bytes_in"]), (&json!(size), &json!(plain.len())));
        let table = run(&["info", &path]).expect(0).stdout;
        assert!(table.contains(&format!("({size} B {codec}, {} B decompressed)", plain.len())), "{table}");
    }
    let value = run_with(&["info", "--json", "-"], SOUND.as_bytes()).expect(0).json_file();
    assert_eq!((&value["codec"], &value["plain_bytes_in"]), (&json!(null), &json!(SOUND.len())));
    let first = packed(&folder, "gz", SOUND);
    let second = packed(&folder, "zst", SOUND);
    let value = run(&["info", "--json", &first, &second]).expect(0).json();
    let codecs = [&value["files"][0]["codec"], &value["files"][1]["codec"]];
    assert!(codecs == [&json!("gzip"), &json!("zstd")] && value.get("codec").is_none(), "{value}");
    assert_eq!(value["plain_bytes_in"], 2 * plain.len());
}

#[test]
fn pipes_are_recognised_too() {
    let plain = run_with(&["convert", "-q", "-", "-"], SOUND.as_bytes()).expect(0).stdout;
    for (_, codec) in CODECS {
        let packed = piped(codec);
        assert!(!packed.starts_with(b"#"));
        assert_eq!(run_with(&["convert", "-q", "-", "-"], &packed).expect(0).stdout, plain, "{codec}");
        let ran = run_with(&["validate", "-"], &packed).expect(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr_without_verdict()), ("-: valid\n", ""), "{codec}");
        let said = run_with(&["info", "-"], &packed[..packed.len() - 1]).expect(1).stderr;
        assert!(said.contains(&format!("unexpected end of the {codec} data")), "{said}");
    }
}

#[test]
fn places_are_those_of_the_text() {
    let folder = Folder::new("compressed-places");
    let path = folder.path("broken.obj.gz");
    std::fs::write(&path, piped("gzip")).unwrap();
    run(&["validate", &path]).expect(0);
    let text = format!("{SOUND}{}", BROKEN.replace("f 1 2 9", "f 1 2 x"));
    // A gzip file with a stored block, built by hand.
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    packed.extend((text.len() as u16).to_le_bytes());
    packed.extend((!(text.len() as u16)).to_le_bytes());
    packed.extend(text.as_bytes());
    std::fs::write(&path, &packed).unwrap();
    let ran = run(&["info", &path]).expect(1);
    assert!(ran.stderr.contains(&format!("--> {path}:13:")) && ran.stderr.contains("f 1 2 x"), "{ran:?}");
}

#[test]
fn levels_and_codecs_that_make_no_sense() {
    let folder = Folder::new("compressed-levels");
    let scene = folder.file("a.obj", SOUND);
    let refused = |name: &str, flags: &[&str], words: &[&str]| {
        let ran = run(&[&["convert", &scene, &folder.path(name)], flags].concat()).expect(2);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{ran:?}");
    };
    refused("b.obj.gz", &["--level", "13"], &["gzip has no level 13", "from 1 (fastest) to 12 (smallest)"]);
    refused("b.obj.zst", &["--level", "-3"], &["--level", "expected 1 to 22"]);
    refused("b.obj", &["--compress", "lz4", "--level", "9"], &["lz4 has no level 9", "omit the level"]);
    refused("b.obj", &["--level", "3"], &["not compressed", "--compress gzip, zstd or lz4"]);
    refused("b.obj", &["--compress", "rar"], &["rar", "gzip", "zstd", "lz4"]);
    refused("b.obj.gz", &["--compress", "none", "--level", "3"], &["not compressed", "--compress gzip, zstd or lz4"]);
    assert_eq!(folder.names(), ["a.obj"]);
    run(&["convert", "-q", &scene, &folder.path("n.obj.gz"), "--compress", "none"]).expect(0);
    assert!(std::fs::read(folder.path("n.obj.gz")).unwrap().starts_with(b"#"));
    run(&["convert", "-q", &scene, &folder.path("b.obj.zst"), "--level", "19"]).expect(0);
    run(&["convert", "-q", &scene, &folder.path("c.obj"), "--compress", "gz", "--level", "12"]).expect(0);
    run(&["validate", &folder.path("b.obj.zst"), &folder.path("c.obj")]).expect(0);
}

/// Only the extension selects the codec; the rest of the name may be invalid UTF-8.
#[test]
#[cfg(target_os = "linux")]
fn names_need_not_be_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("compressed-bytes");
    let scene = folder.file("a.obj", &format!("mtllib a.mtl\nusemtl red\n{SOUND}"));
    folder.file("a.mtl", "newmtl red\n");
    let out = std::path::Path::new(&folder.path("")).join(OsStr::from_bytes(b"\xff.obj.gz"));
    let convert = |level: &str| command().args(["convert", "-q", &scene, "--level", level]).arg(&out).output().unwrap();
    let output = convert("12");
    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::read(&out).unwrap().starts_with(&[0x1f, 0x8b]));
    let output = convert("13");
    assert!(String::from_utf8_lossy(&output.stderr).contains("gzip has no level 13"), "{output:?}");
}

#[test]
fn a_name_that_promises_too_much_is_a_warning() {
    let folder = Folder::new("compressed-names");
    let path = folder.file("a.obj.gz", SOUND);
    let ran = run(&["info", &path]).expect(0);
    assert!(ran.stderr.starts_with("warning[not-compressed]") && ran.stdout.contains("faces"), "{ran:?}");
    run(&["info", "--strict", &path]).expect(1);
}

#[test]
fn limits_name_the_option() {
    let folder = Folder::new("compressed-limits");
    let path = packed(&folder, "zst", SOUND);
    let ran = run(&["info", &path, "--limit", "decompressed_bytes=10"]).expect(1);
    assert!(ran.stderr.contains("--limit decompressed_bytes=N"), "{ran:?}");
    run(&["info", &path, "--limit", "decompressed_bytes=1MB", "--limit", "decompressed_ratio=1"]).expect(0);
}

#[test]
fn the_demo_may_be_compressed() {
    let folder = Folder::new("compressed-demo");
    let kept_folder = folder.path("kept");
    let args = ["demo", "--json", "--size", "200KB", "--compress", "zstd", "--keep", &kept_folder];
    let value = run(&args).expect(0).json();
    assert_eq!(value["same"], true);
    let value = run(&["info", "--json", &format!("{kept_folder}/demo.obj.zst")]).expect(0).json();
    assert_eq!((&value["files"][0]["codec"], &value["warnings"]["total"]), (&json!("zstd"), &json!(0)));
}
