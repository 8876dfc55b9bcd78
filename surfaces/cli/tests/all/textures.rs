//! `polyhaul texture`: converted, skipped, failed and interrupted images.

use crate::common::{Folder, run};

/// A TGA with two gray pixels.
fn tga(first: u8, second: u8) -> [u8; 20] {
    [0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, first, second]
}

/// A folder with some images in `in`.
fn folder(test: &str) -> (Folder, String, String) {
    let folder = Folder::new(test);
    let from = folder.path("in");
    let to = folder.path("out");
    std::fs::create_dir_all(folder.path("in/deep")).unwrap();
    for (number, name) in ["in/a.tga", "in/deep/b.tga", "in/deep/c_n.tga"].into_iter().enumerate() {
        std::fs::write(folder.path(name), tga(number as u8, 9)).unwrap();
    }
    (folder, from, to)
}

#[test]
fn a_folder_becomes_a_folder_of_textures() {
    let (folder, from, to) = folder("texture-folder");
    let arguments = ["texture", &from, "-o", &to, "--encoding", "rgba8"];
    let ran = run(&arguments).expect(0);
    assert!(ran.stdout.starts_with("3 textures converted; "), "{ran:?}");
    for name in ["out/a.dds", "out/deep/b.dds", "out/deep/c_n.dds", "out/.polyhaul-textures"] {
        assert!(std::path::Path::new(&folder.path(name)).is_file(), "{name}");
    }
    assert!(run(&arguments).expect(0).stdout.starts_with("0 textures converted, 3 unchanged; "));
    std::fs::write(folder.path("in/a.tga"), tga(77, 78)).unwrap();
    assert!(run(&arguments).expect(0).stdout.starts_with("1 texture converted, 2 unchanged; "));
    assert!(run(&[&arguments[..], &["--force", "-q"]].concat()).expect(0).stdout.is_empty());
    let ran = run(&[&arguments[..], &["--to", "ktx2", "--json"]].concat()).expect(0).json();
    assert_eq!((ran["made"].as_u64(), ran["unchanged"].as_u64(), ran["failed"].as_u64()), (Some(3), Some(0), Some(0)));
    let file = &ran["files"][0];
    assert_eq!((file["outcome"].as_str(), file["texture"]["encoding"].as_str()), (Some("made"), Some("rgba8")));
    assert_eq!((file["texture"]["width"].as_u64(), file["texture"]["levels"].as_u64()), (Some(2), Some(2)));
    assert!(std::path::Path::new(&folder.path("out/a.ktx2")).is_file());
    // An earlier name of the option is still accepted; standard input is not, since it has no name.
    run(&[&arguments[..], &["--format", "ktx2", "-q"]].concat()).expect(0);
    assert!(run(&["texture", "-", "-o", &to]).expect(2).stderr.contains("standard input (-) has no name"));
}

#[test]
fn a_bad_file_is_told_and_the_others_are_done() {
    let (folder, from, to) = folder("texture-bad");
    std::fs::write(folder.path("in/bad.tga"), &tga(1, 2)[..19]).unwrap();
    let arguments = ["texture", &from, "-o", &to, "--encoding", "rgba8"];
    let ran = run(&arguments).expect(3);
    assert!(ran.stderr.contains("unexpected end of file"), "{ran:?}");
    let list = format!("failed: {}\n", folder.path("in/bad.tga"));
    assert!(ran.stdout.starts_with("3 textures converted, 1 failed") && ran.stdout.ends_with(&list), "{ran:?}");
    let value = run(&[&arguments[..], &["--json"]].concat()).expect(3).json();
    let failed = value["files"].as_array().unwrap().iter().find(|file| file["outcome"] == "failed").unwrap();
    assert_eq!(failed["error"]["kind"].as_str(), Some("malformed"));
    let bad = folder.path("in/bad.tga");
    run(&["texture", &bad, "-o", &to]).expect(1);
    run(&["texture", &bad, &bad.replace("bad", "none"), "-o", &to]).expect(1);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (folder, from, to) = folder("texture-usage");
    std::fs::copy(folder.path("in/a.tga"), folder.path("in/a.hdr")).unwrap();
    let ran = run(&["texture", &from, "-o", &to]).expect(2);
    assert!(ran.stderr.contains("would be written to the same file") && ran.stderr.contains("a.hdr"), "{ran:?}");
    let empty = folder.path("empty");
    std::fs::create_dir_all(&empty).unwrap();
    assert!(run(&["texture", &empty, "-o", &to]).expect(2).stderr.contains("no images"));
    run(&["texture", &from]).expect(2);
    run(&["texture", &from, "-o", &to, "--alpha-cutoff", "2"]).expect(2);
    run(&["texture", &from, "-o", &to, "--linear", "--srgb"]).expect(2);
    assert!(!std::path::Path::new(&to).exists());
}

#[cfg(unix)]
#[test]
fn an_interruption_keeps_what_is_finished() {
    use std::time::{Duration, Instant};
    let folder = Folder::new("texture-interrupt");
    let from = folder.path("in");
    let to = folder.path("out");
    std::fs::create_dir_all(&from).unwrap();
    // Noise, whose encoding takes long.
    let mut large = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 24, 0];
    large.extend((0..256 * 256 * 3_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8));
    for number in 0..40 {
        large[18] = number;
        std::fs::write(folder.path(&format!("in/{number:02}.tga")), &large).unwrap();
    }
    let arguments =
        ["texture", &from, "-o", &to, "--quality", "best", "-j", "1", "--mips", "none", "--encoding", "bc7"];
    let mut child = crate::common::command().args(arguments).spawn().unwrap();
    let finished = || {
        let names =
            std::fs::read_dir(&to).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".dds") && !name.starts_with('.')).count()
    };
    let end = Instant::now() + Duration::from_secs(60);
    while finished() == 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let finished_count = finished();
    assert!((1..40).contains(&finished_count), "{finished_count}");
    // There are only textures and their list.
    assert_eq!(std::fs::read_dir(&to).unwrap().count(), finished_count + 1);
    // The list contains all of them, so the next run continues from here.
    let list = std::fs::read_to_string(folder.path("out/.polyhaul-textures")).unwrap();
    assert_eq!(list.lines().count(), finished_count);
}
