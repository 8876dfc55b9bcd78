//! Modes, links and folders: what replacing a file keeps, and which targets are refused.

use super::{COMMAND, assert_no_panic, blender, shell, skip, stderr};
use crate::common::{Folder, SOUND, run, run_with};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

fn mode(path: &str) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_new_file_obeys_the_umask() {
    for (umask, expected) in [("000", 0o666), ("022", 0o644), ("077", 0o600), ("027", 0o640)] {
        let folder = Folder::new(&format!("files-umask-{umask}"));
        let target = folder.path("a.obj");
        let output =
            shell(&format!("umask {umask}; exec \"$0\" convert -q \"$1\" \"$2\""), &[&blender("opt_default"), &target]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!((mode(&target), mode(&folder.path("opt_default.mtl"))), (expected, expected), "umask {umask}");
    }
}

#[test]
fn an_old_file_keeps_its_mode() {
    for old in [0o600, 0o640, 0o664, 0o666, 0o755, 0o400] {
        let folder = Folder::new(&format!("files-mode-{old:o}"));
        let scene = folder.file("opt_default.obj", "old");
        let library = folder.file("opt_default.mtl", "old");
        for path in [&scene, &library] {
            fs::set_permissions(path, fs::Permissions::from_mode(old)).unwrap();
        }
        let output = shell("umask 077; exec \"$0\" convert -q \"$1\" \"$2\"", &[&blender("opt_default"), &scene]);
        if !output.status.success() && old & 0o200 == 0 {
            assert_eq!(fs::read_to_string(&scene).unwrap(), "old");
            continue;
        }
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!((mode(&scene), mode(&library)), (old, old), "{old:o}");
        assert!(fs::metadata(&scene).unwrap().len() > 10_000);
    }
}

#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new("files-link");
    fs::create_dir(folder.path("real")).unwrap();
    let real = folder.file("real/a.obj", "old");
    let link = folder.path("link.obj");
    symlink("real/a.obj", &link).unwrap();
    run(&["convert", "-q", &blender("opt_default"), &link]).expect(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && !fs::symlink_metadata(&real).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().starts_with("# polyhaul"));
    let value = run(&["info", "--json", &link]).expect(0).json();
    assert_eq!((&value["missing_materials"], &value["warnings"]["total"]), (&0.into(), &0.into()), "{value}");
}

#[test]
fn a_link_to_nothing_makes_its_target() {
    let folder = Folder::new("files-dangling");
    let link = folder.path("link.obj");
    symlink("made.obj", &link).unwrap();
    run_with(&["convert", "-q", "-", &link], SOUND.as_bytes()).expect(0);
    assert_eq!(folder.names(), ["link.obj", "made.obj"]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn input_and_output_may_be_the_same_file() {
    let folder = Folder::new("files-same");
    let scene = folder.path("opt_default.obj");
    let link = folder.path("link.obj");
    let hard = folder.path("hard.obj");
    fs::copy(blender("opt_default"), &scene).unwrap();
    fs::copy(blender("opt_default").replace(".obj", ".mtl"), folder.path("opt_default.mtl")).unwrap();
    symlink("opt_default.obj", &link).unwrap();
    fs::hard_link(&scene, &hard).unwrap();
    let body = |path: &str| {
        fs::read_to_string(path).unwrap().lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    let before = (body(&scene), body(&folder.path("opt_default.mtl")));
    for (input, output) in [(&scene, &scene), (&scene, &link), (&link, &scene), (&scene, &hard), (&hard, &scene)] {
        run(&["convert", "-q", input, output]).expect(0);
        assert_eq!((body(&scene), body(&folder.path("opt_default.mtl"))), before);
    }
    // Linked files use the existing library, and no new one is created.
    assert_eq!(folder.names(), ["hard.obj", "link.obj", "opt_default.mtl", "opt_default.obj"]);
}

#[test]
fn what_cannot_be_written_says_why() {
    let folder = Folder::new("files-refused");
    fs::create_dir(folder.path("folder.obj")).unwrap();
    let scene = blender("opt_default");
    let gone = folder.path("gone/a.obj");
    let ran = run(&["convert", &scene, &gone]).expect(1);
    assert!(
        ran.stderr.contains(&gone) && ran.stderr.contains("folder") && ran.stderr.contains("does not exist"),
        "{ran:?}"
    );
    let ran = run(&["convert", &scene, &folder.path("folder.obj")]).expect(1);
    assert!(ran.stderr.contains("folder.obj") && ran.stderr.contains("is a directory"), "{ran:?}");
    let ran = run(&["convert", &scene, &folder.path("")]).expect(2);
    assert!(ran.stderr.contains("help: "), "{ran:?}");
    let file = folder.file("file", "");
    let ran = run(&["convert", &scene, &format!("{file}/a.obj")]).expect(1);
    assert!(ran.stderr.contains("file/a.obj"), "{ran:?}");
    assert_eq!(folder.names(), ["file", "folder.obj"]);
}

/// A file name with a trailing slash names a folder.
#[test]
fn a_name_with_a_slash_after_it_leaves_nothing() {
    let folder = Folder::new("files-slash");
    let ran = run(&["convert", &blender("opt_default"), &folder.path("a.obj/")]);
    assert!(ran.code == 1 || ran.code == 2, "{ran:?}");
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn long_names_and_odd_names_work() {
    let folder = Folder::new("files-names");
    let long = format!("{}.obj", "n".repeat(240));
    for name in [
        long.as_str(),
        "\u{fc}\u{1f600}.obj",
        "with space.obj",
        "new\nline.obj",
        "-dash.obj",
        ".hidden.obj",
        ".obj.obj",
        "a.OBJ",
    ] {
        let target = folder.path(name);
        let ran = run(&["convert", "-q", &blender("opt_default"), &target]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name:?}");
        run(&["info", "--strict", &target]).expect(0);
        fs::remove_file(target).unwrap();
    }
    assert_eq!(folder.names(), ["opt_default.mtl"]);
    let ran = run(&["convert", &blender("opt_default"), &folder.path(&format!("{}.obj", "n".repeat(300)))]).expect(1);
    assert!(ran.stderr.contains("too long"), "{ran:?}");
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error() {
    let folder = Folder::new("files-readonly");
    let target = folder.file("a.obj", "old");
    fs::copy(blender("opt_default"), folder.path("in.obj")).unwrap();
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o666)).unwrap();
    let is_root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let wrapper: &[&str] = if is_root { &nobody } else { &["env"] };
    let run = |args: &[&str]| Command::new(wrapper[0]).args(&wrapper[1..]).arg(COMMAND).args(args).output();
    match run(&["--version"]) {
        Ok(output) if output.status.success() => {
            let output = run(&["convert", &folder.path("in.obj"), &target]).unwrap();
            assert_no_panic(&stderr(&output));
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            assert!(stderr(&output).contains("ermission") && stderr(&output).contains("a.obj"), "{}", stderr(&output));
            assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        }
        _ => skip("the test cannot become a user without rights who may run the command"),
    }
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(folder.names(), ["a.obj", "in.obj"]);
}
