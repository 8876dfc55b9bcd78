//! Several inputs and folders: the files that are found and skipped, and the names of outputs.

use crate::common::{Folder, run, slashed};
use std::path::Path;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
const BAD: &str = "v 0 0 0\nf 1 2 x\n";

/// A folder `in` with meshes, an image, and a file of no known format.
fn folder(test: &str) -> (Folder, String, String) {
    let folder = Folder::new(test);
    std::fs::create_dir_all(folder.path("in/sub/deep")).unwrap();
    for name in ["in/b.obj", "in/a.obj", "in/sub/c.obj", "in/sub/deep/d.OBJ"] {
        folder.file(name, TRIANGLE);
    }
    folder.file("in/readme.md", "no mesh");
    folder.file("in/plain", TRIANGLE);
    let tga = [0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, 1, 2];
    std::fs::write(folder.path("in/i.tga"), tga).unwrap();
    let from = folder.path("in");
    let to = folder.path("out");
    (folder, from, to)
}

/// The files below a folder, with paths relative to it.
fn files(folder: &str) -> Vec<String> {
    fn list(folder: &Path, below: &str, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap()) {
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                list(&entry.path(), &format!("{name}/"), names);
            } else {
                names.push(name);
            }
        }
    }
    let mut names = Vec::new();
    list(Path::new(folder), "", &mut names);
    names.sort();
    names
}

#[test]
fn what_is_no_asset_is_left_out_of_folders() {
    let (folder, from, to) = folder("many-no-assets");
    std::fs::create_dir_all(folder.path("in/.git/objects")).unwrap();
    std::fs::create_dir_all(folder.path("in/__MACOSX")).unwrap();
    for name in ["in/.hidden.obj", "in/._a.obj", "in/.git/x.obj", "in/__MACOSX/a.obj"] {
        folder.file(name, TRIANGLE);
    }
    for (name, text) in [
        ("license.txt", "This model is free.\n\nIt was made in 2020, by somebody.\n"),
        ("requirements.txt", "numpy==2.0\nscipy\n"),
        ("empty.txt", ""),
        ("long.txt", &"word ".repeat(3000)),
        (".DS_Store", "x"),
        ("a.mtl", "newmtl a\n"),
    ] {
        folder.file(&format!("in/{name}"), text);
    }
    for (name, text) in [
        ("points.txt", "1 2 3\n4 5 6\n"),
        ("named.txt", "# cloud\nX,Y,Z\n1,2,3\n"),
        ("long_row.txt", &"1.5 ".repeat(3000)),
    ] {
        folder.file(&format!("in/{name}"), text);
    }
    run(&["convert", &from, &to, "--to", "ply", "--recursive"]).expect(0);
    let expected = ["a.ply", "b.ply", "long_row.ply", "named.ply", "points.ply", "sub/c.ply", "sub/deep/d.ply"];
    assert_eq!(files(&to), expected);
    // A pattern includes files regardless of their format.
    let of = |pattern: &str| run(&["info", &from, "--recursive", "--include", pattern, "--json"]).json();
    let count = |pattern: &str| of(pattern)["files"].as_array().map_or(0, Vec::len);
    assert_eq!([count("license.txt"), count("*.obj"), count(".*.obj"), count(".git/*.obj")], [1, 4, 2, 1]);
    // A broken link is a missing asset.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nothing.obj", folder.path("in/broken.obj")).unwrap();
        assert!(run(&["validate", &from]).expect(3).stderr.contains("broken.obj"));
    }
}

#[test]
fn members_of_archives_are_inputs_of_info_validate_and_check() {
    let folder = Folder::new("many-members");
    let zip = folder.path("model.zip");
    let inner = zip_of(&[("c.obj", TRIANGLE.as_bytes())]);
    let stored: [(&str, &[u8]); 8] = [
        ("license.txt", b"Free for all.\n"),
        ("points.csv", b"x,y,z\n1,2,3\n"),
        ("a.obj", TRIANGLE.as_bytes()),
        ("__MACOSX/a.obj", b"x"),
        ("more/b.obj", b"v 0 0 0\nf 1 2 x\n"),
        ("more/inner.zip", &inner),
        ("notes.pdf", b"x"),
        ("i.tga", &[0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, 1, 2]),
    ];
    std::fs::write(&zip, zip_of(&stored)).unwrap();
    let members = ["a.obj", "i.tga", "more/b.obj", "more/inner.zip/c.obj", "points.csv"];
    for subcommand in ["info", "validate"] {
        let json = run(&[subcommand, &zip, "--json"]).expect(3).json();
        let names: Vec<_> =
            json["files"].as_array().unwrap().iter().map(|file| slashed(file["file"].as_str().unwrap())).collect();
        assert_eq!(names, members.map(|name| slashed(&format!("{zip}/{name}"))), "{subcommand}");
        assert_eq!(json["files"][2]["error"]["line"], 2);
    }
    let checked = run(&["check", &zip, "--json"]).expect(2).json();
    assert_eq!(checked["files"].as_array().unwrap().len(), 4, "an image has no surface");
    // An archive of images only is not reported as clean.
    std::fs::write(&zip, zip_of(&[("a.png", b"x"), ("b.png", b"x")])).unwrap();
    assert!(run(&["check", &zip]).expect(2).stderr.contains("no files found"));
    // Reading the archive selects its only scene, which then has the archive's name.
    std::fs::write(&zip, zip_of(&stored[..3])).unwrap();
    assert_eq!(run(&["info", &zip, "--json"]).expect(0).json()["files"].as_array().unwrap().len(), 2);
    run(&["convert", &zip, &folder.path("a.ply")]).expect(0);
    let single = zip_of(&[("license.txt", b"Free.\n"), ("a.obj", TRIANGLE.as_bytes())]);
    std::fs::write(&zip, &single).unwrap();
    let ran = run(&["info", &zip]).expect(0);
    assert!(ran.stdout.starts_with(&format!("{zip}  ({} B zip, 32 B decompressed)\n", single.len())), "{ran:?}");
    std::fs::write(&zip, &single[..40]).unwrap();
    assert!(run(&["info", &zip]).expect(1).stderr.contains("model.zip"));
}

/// A small file can contain very many nested archives; only the first 256 are searched.
#[test]
fn archives_in_archives_are_searched_up_to_a_number() {
    let folder = Folder::new("many-archives");
    let file = folder.path("deep.zip");
    let names = ["0.zip", "1.zip", "2.zip", "3.zip", "4.zip", "5.zip", "6.zip"];
    let mut zip = zip_of(&[("a.obj", TRIANGLE.as_bytes())]);
    for _ in 0..3 {
        zip = zip_of(&names.map(|name| (name, &zip[..])));
    }
    std::fs::write(&file, zip).unwrap();
    let json = run(&["info", &file, "--json"]).expect(3).json();
    let files: Vec<_> = json["files"].as_array().unwrap().iter().map(|file| file["file"].as_str().unwrap()).collect();
    let object_count = files.iter().filter(|name| name.ends_with("a.obj")).count();
    assert_eq!([files.len(), object_count], [229, 219]);
}

/// A zip archive with uncompressed members.
fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in members {
        let offset = archive.len() as u32;
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(crc32(data).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(*data);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([(members.len() as u16).to_le_bytes(), (members.len() as u16).to_le_bytes()].concat());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    archive
}

/// The CRC-32 of zip archives, bit by bit.
fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn sizes_are_those_of_the_files() {
    let folder = Folder::new("many-sizes");
    let text = format!("mtllib a.mtl\n{TRIANGLE}");
    let obj = folder.file("a.obj", &text);
    let library = format!("newmtl a\n{}", "# comment\n".repeat(20));
    folder.file("a.mtl", &library);
    let read = text.len() + library.len();
    let ran = run(&["info", &obj]).expect(0);
    assert!(ran.stdout.starts_with(&format!("{obj}  ({} B; {read} B read)\n", text.len())), "{ran:?}");
    let gltf = folder.path("a.gltf");
    let ran = run(&["convert", &obj, &gltf]).expect(0);
    let bytes = |name: &str| std::fs::metadata(folder.path(name)).unwrap().len();
    let main = bytes("a.gltf");
    let total = main + bytes("a.bin");
    let shown = format!("-> {gltf} ({main} B; {total} B in 2 files): ");
    assert!(ran.stderr.contains(&shown), "{shown} {ran:?}");
    let json = run(&["convert", &obj, &gltf, "--json"]).expect(0).json();
    assert_eq!((&json["input_bytes"], &json["output_bytes"]), (&text.len().into(), &main.into()));
    assert_eq!((&json["bytes_in"], &json["bytes_out"]), (&read.into(), &total.into()));
    // The output replaces the input.
    let same = folder.file("same.obj", TRIANGLE);
    let ran = run(&["convert", &same, &same]).expect(0);
    assert!(
        ran.stderr.contains(&format!("{same} ({} B) -> {same} ({} B)", TRIANGLE.len(), bytes("same.obj"))),
        "{ran:?}"
    );
    // The compressed size does not include the material library.
    let packed = folder.path("b.obj.gz");
    run(&["convert", &obj, &packed]).expect(0);
    let ran = run(&["info", &packed]).expect(0);
    let first = ran.stdout.lines().next().unwrap();
    let plain = run(&["convert", &packed, "-"]).expect(0).stdout.len();
    assert!(first.contains(&format!("({} B gzip, ", bytes("b.obj.gz"))) && plain > 0, "{first}");
}

#[test]
fn gltf_in_a_folder_is_gltf() {
    let (_folder, from, to) = folder("many-gltf");
    run(&["convert", &from, &to, "--to", "gltf"]).expect(0);
    assert_eq!(files(&to), ["a.bin", "a.gltf", "b.bin", "b.gltf"]);
    let input = format!("{from}/a.obj");
    for output in ["-", &format!("{to}/x.glb"), &format!("{to}/x")] {
        let ran = run(&["convert", &input, output, "--to", "gltf"]).expect(2);
        assert!(ran.stderr.contains("--to glb") && ran.stdout.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_folder_is_mirrored() {
    let (folder, from, to) = folder("many-mirror");
    let ran = run(&["convert", &from, &to, "--to", "ply"]).expect(0);
    assert!(ran.stderr.starts_with("2 files converted; ") && ran.stdout.is_empty(), "{ran:?}");
    assert_eq!(files(&to), ["a.ply", "b.ply"]);
    let ran = run(&["convert", &from, &to, "--to", "ply", "--recursive", "--compress", "zstd"]).expect(0);
    assert!(ran.stderr.starts_with("4 files converted; "), "{ran:?}");
    let outputs = ["a.ply", "a.ply.zst", "b.ply", "b.ply.zst", "sub/c.ply.zst", "sub/deep/d.ply.zst"];
    assert_eq!(files(&to), outputs);
    // Each output equals the result of a single conversion.
    let single = folder.path("single.ply");
    run(&["convert", &folder.path("in/a.obj"), &single]).expect(0);
    assert_eq!(std::fs::read(&single).unwrap(), std::fs::read(folder.path("out/a.ply")).unwrap());
}

#[test]
fn patterns_choose_files_of_folders_alone() {
    let (folder, from, to) = folder("many-include");
    let given = folder.path("in/plain");
    let convert = |include: &[&str]| {
        let _ = std::fs::remove_dir_all(&to);
        let include = include.iter().flat_map(|pattern| ["--include", pattern]);
        let fixed = ["convert", &from, &given, &to, "--to", "stl", "--recursive", "--from", "obj"];
        run(&fixed.into_iter().chain(include).collect::<Vec<_>>()).expect(0);
        files(&to)
    };
    assert_eq!(convert(&["[ab].obj"]), ["a.stl", "b.stl", "plain.stl"]);
    assert_eq!(convert(&["sub/*.obj"]), ["plain.stl", "sub/c.stl"]);
    assert_eq!(convert(&["sub/*/*.obj", "A*"]), ["a.stl", "plain.stl", "sub/deep/d.stl"]);
    assert_eq!(convert(&["sub/**/*"]), ["plain.stl", "sub/c.stl", "sub/deep/d.stl"]);
    let ran = run(&["convert", &from, &to, "--to", "stl", "--include", "a[b"]).expect(2);
    assert!(ran.stderr.contains("invalid pattern `a[b`"), "{ran:?}");
    let ran = run(&["info", &from, "--include", "*.fbx"]).expect(2);
    assert!(ran.stderr.contains("no files found in ") && ran.stderr.contains("--recursive"), "{ran:?}");
}

#[test]
fn what_exists_or_is_old_is_skipped_on_request() {
    let (folder, from, to) = folder("many-skip");
    let convert = |options: &[&str]| {
        let value = run(&[&["convert", &from, &to, "--to", "ply", "--json"], options].concat()).expect(0).json();
        ["converted", "skipped", "failed"].map(|name| value[name].as_u64().unwrap())
    };
    assert_eq!(convert(&["--no-clobber"]), [2, 0, 0]);
    assert_eq!(convert(&["--no-clobber"]), [0, 2, 0]);
    assert_eq!(convert(&["--newer"]), [0, 2, 0]);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(folder.path("in/a.obj")).unwrap().set_modified(later).unwrap();
    assert_eq!(convert(&["--newer"]), [1, 1, 0]);
    assert_eq!(convert(&["--no-clobber", "--recursive"]), [2, 2, 0]);
    let single = folder.path("out/a.ply");
    let ran = run(&["convert", &folder.path("in/b.obj"), &single, "--no-clobber"]).expect(0);
    assert!(ran.stderr.starts_with("0 files converted, 1 skipped; "), "{ran:?}");
    run(&["convert", &from, &to, "--to", "ply", "--no-clobber", "--newer"]).expect(2);
}

#[test]
fn a_dry_run_lists_and_writes_nothing() {
    let (folder, from, to) = folder("many-dry");
    let ran = run(&["convert", &from, &to, "--to", "ply", "--dry-run"]).expect(0);
    let path = |name: &str| folder.path(name);
    let line = |name: &str| format!("{} -> {}\n", path(&format!("in/{name}.obj")), path(&format!("out/{name}.ply")));
    assert_eq!(ran.stdout, line("a") + &line("b"));
    assert!(!Path::new(&to).exists());
    std::fs::create_dir(&to).unwrap();
    folder.file("out/a.ply", "old");
    let ran = run(&["convert", &from, &to, "--to", "ply", "--dry-run", "--no-clobber"]).expect(0);
    assert_eq!(ran.stdout, format!("{}: skipped, the output exists\n{}", path("in/a.obj"), line("b")));
    assert_eq!(files(&to), ["a.ply"]);
    let value = run(&["convert", &from, &to, "--to", "ply", "--dry-run", "--json"]).expect(0).json();
    assert_eq!((value["dry_run"].as_bool(), value["files"][1]["outcome"].as_str()), (Some(true), Some("planned")));
}

#[test]
fn a_bad_file_does_not_stop_the_others() {
    let (folder, from, to) = folder("many-bad");
    folder.file("in/a1.obj", BAD);
    let ran = run(&["convert", &from, &to, "--to", "ply"]).expect(3);
    assert!(ran.stderr.contains("a1.obj:2:7") && ran.stderr.contains("2 files converted, 1 failed; "), "{ran:?}");
    assert_eq!(files(&to), ["a.ply", "b.ply"]);
    let value = run(&["convert", &from, &to, "--to", "ply", "--json"]).expect(3).json();
    let outcomes: Vec<_> =
        value["files"].as_array().unwrap().iter().map(|file| file["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["converted", "failed", "converted"]);
    assert_eq!((value["files"][0]["faces"].as_u64(), value["files"][1]["error"]["line"].as_u64()), (Some(1), Some(2)));
    run(&["convert", &folder.path("in/a1.obj"), &to, "--to", "ply"]).expect(1);
}

#[test]
fn outputs_that_cannot_be_are_refused_before_anything_is_read() {
    let (folder, from, to) = folder("many-usage");
    let refused = |args: &[&str], expected: &str| {
        let ran = run(args).expect(2);
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        assert!(!Path::new(&to).exists());
    };
    refused(&["convert", &from], "the output is missing");
    refused(&["convert", &from, &to], "cannot infer the output format for the folder");
    refused(&["convert", &from, &to, "--to", "bmp"], "possible values");
    refused(&["convert", &from, "-", "--to", "ply"], "several inputs cannot be written to `-`");
    refused(&["convert", &from, &folder.path("in/a.obj"), "--to", "ply"], "several inputs cannot be written to");
    refused(&["convert", "-", &from, &to, "--to", "ply"], "standard input (-) has no name");
    refused(&["convert", &from, &folder.path("new.ply"), "--to", "ply"], "several inputs cannot be written to");
    folder.file("in/a.ply", "ply\n");
    refused(&["convert", &from, &to, "--to", "stl"], "a.ply would be written to the same file");
}

#[test]
fn an_output_that_is_another_input_is_refused() {
    let (folder, from, to) = folder("many-overwrite");
    std::fs::create_dir_all(folder.path("out/sub")).unwrap();
    let other = folder.file("out/sub/c.ply", "ply\n");
    let ran = run(&["convert", &other, &from, &to, "--to", "ply", "--recursive"]).expect(2);
    assert!(ran.stderr.contains("c.ply is an input, and would be overwritten by "), "{ran:?}");
    assert_eq!(files(&to), ["sub/c.ply"]);
    // An input may be replaced by its own output, as in a single conversion.
    let ran = run(&["convert", &folder.path("in/a.obj"), &from, "--to", "obj"]).expect(0);
    assert!(ran.stderr.starts_with("1 file converted; "), "{ran:?}");
}

#[test]
fn outputs_below_the_inputs_are_not_inputs() {
    let (folder, from, _) = folder("many-below");
    let to = folder.path("in/sub/deep");
    for _ in 0..2 {
        let ran = run(&["convert", &from, &to, "--to", "obj", "--recursive"]).expect(0);
        assert!(ran.stderr.starts_with("3 files converted; "), "{ran:?}");
    }
    assert_eq!(files(&to).into_iter().filter(|name| !name.ends_with(".mtl")).count(), 4);
}

#[test]
fn folders_are_looked_at_and_checked_in_the_order_of_names() {
    let (folder, from, _) = folder("many-info");
    let names = |args: &[&str], code: i32| {
        let value = run(args).expect(code).json();
        let files = value["files"].as_array().unwrap().iter();
        files.map(|file| slashed(&file["file"].as_str().unwrap()[from.len() + 1..])).collect::<Vec<_>>()
    };
    let inputs = ["a.obj", "b.obj", "i.tga", "sub/c.obj", "sub/deep/d.OBJ"];
    for threads in ["1", "2", "7"] {
        assert_eq!(names(&["info", &from, "--recursive", "--json", "-j", threads], 0), inputs);
    }
    assert_eq!(names(&["validate", &from, "--json"], 0), inputs[..3]);
    folder.file("in/b.obj", BAD);
    assert_eq!(names(&["validate", &from, "--json"], 3), inputs[..3]);
    let ran = run(&["info", &from, "-q"]).expect(3);
    assert!(
        ran.stdout.contains("a.obj") && ran.stdout.contains("i.tga") && ran.stderr.contains("b.obj:2:7"),
        "{ran:?}"
    );
}
