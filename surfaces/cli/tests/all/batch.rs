//! `polyhaul batch`, and URLs in a command built without support for them. Object stores and clusters are tested in
//! Python.

use crate::common::{Folder, command, run};
use std::path::Path;

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

#[test]
fn a_library_is_converted_once() {
    let folder = Folder::new("batch-once");
    let asset = folder.file("a.obj", TRIANGLE);
    let out = folder.path("out");
    folder.file("b.obj", "v 0 0\n");
    let library = folder.path("");
    let args = ["--to", "ply", "--json"];
    let batch = |more: &[&str]| run(&[&["batch", &library, "-o", &out][..], &args, more].concat());
    let json = batch(&[]).expect(3).json();
    assert_eq!((json["converted"].as_u64(), json["failed"].as_u64()), (Some(1), Some(1)));
    // The exit code tells scripts that the library is incomplete.
    let json = batch(&[]).expect(3).json();
    assert_eq!((json["skipped"].as_u64(), json["skipped_failed"].as_u64()), (Some(1), Some(1)));
    std::fs::write(asset, TRIANGLE.repeat(2)).unwrap();
    assert_eq!(batch(&[]).expect(3).json()["converted"], 1);
    let rows = run(&["batch", "rows", &out]).expect(0).stdout;
    let statuses: Vec<_> = rows.lines().map(|row| &row[..row.find(',').unwrap()]).collect();
    assert_eq!(statuses.iter().filter(|status| status.contains("done")).count(), 1);
    assert_eq!(statuses.iter().filter(|status| status.contains("replaced")).count(), 1);
}

#[test]
fn failed_rows_decide_about_the_exit_code_until_they_are_gone() {
    let folder = Folder::new("batch-exit");
    std::fs::create_dir_all(folder.path("in")).unwrap();
    let library = folder.path("in");
    let out = folder.path("out");
    let bad = folder.file("in/bad.obj", "v 0 0\n");
    let batch = |more: &[&str]| run(&[&["batch", &library, "-o", &out, "--to", "ply"][..], more].concat());
    // All assets failed, in this run or an earlier one.
    batch(&[]).expect(1);
    assert!(batch(&[]).expect(1).stderr.contains("1 failed before (use `--retry-failed`)"));
    folder.file("in/a.obj", TRIANGLE);
    batch(&[]).expect(3);
    batch(&["--retry-failed"]).expect(3);
    std::fs::write(bad, TRIANGLE).unwrap();
    batch(&[]).expect(0);
    batch(&[]).expect(0);
}

#[test]
fn a_run_says_which_options_changed() {
    let folder = Folder::new("batch-options");
    let library = folder.path("in");
    std::fs::create_dir_all(&library).unwrap();
    folder.file("in/a.obj", TRIANGLE);
    let out = folder.path("out");
    let batch = |more: &[&str]| run(&[&["batch", &library, "-o", &out, "--to", "ply"][..], more].concat()).expect(0);
    assert!(!batch(&["--digits", "3", "--ascii"]).stderr.contains("note: "));
    // Options that do not affect the outputs are not reported.
    let of_run = ["-j", "1", "--workers", "1", "--recursive"];
    let again = batch(&[&["--digits", "3", "--ascii"][..], &of_run].concat()).stderr;
    assert!(again.contains("1 already done") && !again.contains("note: "), "{again}");
    let changed = batch(&["--digits", "4", "--compress", "gzip"]).stderr;
    let words = "note: 1 asset had other options: no --ascii, --compression gzip (was not set), --digits 4 (was 3)\n";
    assert!(changed.contains(words) && changed.contains("1 asset converted"), "{changed}");
    let json = batch(&["--dry-run", "--json"]).json();
    assert_eq!(json["changed_options"], serde_json::json!(["no --compression gzip", "no --digits 4"]));
    assert_eq!(
        batch(&["--digits", "4", "--compress", "gzip", "--json"]).json()["changed_options"],
        serde_json::json!([])
    );
}

#[test]
fn outputs_without_a_source_are_pruned() {
    let folder = Folder::new("batch-prune");
    let library = folder.path("in");
    let out = folder.path("out");
    std::fs::create_dir_all(folder.path("in/sub")).unwrap();
    for name in ["in/a.obj", "in/b.stl.obj", "in/sub/c.obj", "in/sub/d.obj", "in/e.obj"] {
        folder.file(name, TRIANGLE);
    }
    folder.file("in/bad.obj", "v 0 0\n");
    let args = ["batch", &library, "-o", &out, "--to", "ply", "--recursive"];
    let batch = |more: &[&str]| run(&[&args[..], more].concat());
    batch(&[]).expect(3);
    for name in ["in/a.obj", "in/sub/c.obj", "in/sub/d.obj", "in/e.obj", "in/bad.obj"] {
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    // The output of `e` now belongs to another asset, the output of `a` was changed, and `other.ply` is not in the log.
    folder.file("in/e.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
    folder.file("out/a.ply", "mine");
    folder.file("out/other.ply", "mine");
    // Nothing is removed without the option, and a dry run only lists.
    batch(&[]).expect(0);
    let listed = batch(&["--prune", "--dry-run"]).expect(0).stdout;
    let lines: Vec<_> = listed.lines().map(|line| line.rsplit_once(": ").unwrap().1).collect();
    let below = |name: &str| format!("remove {}", folder.path(name));
    let nothing = "remove no outputs".to_owned();
    assert_eq!(lines, [&nothing, &nothing, &nothing, &below("out/sub/c.ply"), &below("out/sub/d.ply")]);
    assert!(Path::new(&folder.path("out/sub/c.ply")).exists());
    let json = batch(&["--prune", "--json"]).expect(0).json();
    assert_eq!((json["pruned"].as_u64(), json["skipped"].as_u64()), (Some(5), Some(2)));
    for (name, is_there) in [("a.ply", true), ("b.stl.ply", true), ("e.ply", true), ("other.ply", true), ("sub", false)]
    {
        assert_eq!(Path::new(&folder.path(&format!("out/{name}"))).exists(), is_there, "{name}");
    }
    // The rows of removed assets, including failed ones, are gone until the sources return.
    let rows = run(&["batch", "rows", &out]).expect(0).stdout;
    let asset =
        |row: &str| serde_json::from_str::<serde_json::Value>(row).unwrap()["asset"].as_str().unwrap().to_owned();
    let assets = |rows: &str| rows.lines().map(asset).collect::<Vec<_>>();
    assert_eq!(assets(&rows), ["b.stl.obj", "e.off"]);
    let status = run(&["batch", "status", &out]).expect(0).stdout;
    assert!(status.starts_with("done          2\nfailed        0\n"), "{status}");
    assert!(batch(&["--prune"]).expect(0).stderr.starts_with("0 assets converted, 2 already done;"));
    folder.file("in/sub/c.obj", TRIANGLE);
    assert!(batch(&["--prune"]).expect(0).stderr.contains("1 asset converted"));
    run(&["batch", "merge", &out]).expect(0);
    assert_eq!(assets(&run(&["batch", "rows", &out]).expect(0).stdout).len(), 3);
}

#[test]
fn what_this_run_does_not_look_for_is_not_pruned() {
    let folder = Folder::new("batch-prune-part");
    let library = folder.path("in");
    let out = folder.path("out");
    std::fs::create_dir_all(folder.path("in/sub")).unwrap();
    for name in ["in/a.obj", "in/sub/b.obj"] {
        folder.file(name, TRIANGLE);
    }
    let batch = |more: &[&str]| run(&[&["batch", "-o", &out, "--to", "ply"][..], more].concat()).expect(0).stderr;
    batch(&[&library, "--recursive"]);
    let pruned = |more: &[&str]| batch(&[&[&*library, "--prune"], more].concat()).contains("gone");
    // Pruning ignores subfolders, patterns and shards that a run does not cover.
    assert!(!pruned(&[]) && !pruned(&["--include", "a.*"]));
    std::fs::remove_file(folder.path("in/sub/b.obj")).unwrap();
    let shards = ["1/2", "2/2"].map(|shard| pruned(&["--recursive", "--shard", shard]));
    assert_eq!(shards.iter().filter(|is_pruned| **is_pruned).count(), 1);
    // A missing library, such as one on an unmounted disk, prunes nothing.
    std::fs::rename(&library, folder.path("elsewhere")).unwrap();
    std::fs::create_dir(&library).unwrap();
    run(&["batch", &library, "-o", &out, "--to", "ply", "--prune"]).expect(2);
    assert!(Path::new(&folder.path("out/a.ply")).exists());
    // A library that was moved has the same assets.
    assert!(!batch(&[&folder.path("elsewhere"), "--prune", "--recursive"]).contains("gone"));
    assert!(Path::new(&folder.path("out/a.ply")).exists());
}

#[test]
fn gltf_and_textures_are_named_after_the_format() {
    let folder = Folder::new("batch-extensions");
    let library = folder.path("in");
    std::fs::create_dir_all(&library).unwrap();
    folder.file("in/a.obj", TRIANGLE);
    std::fs::write(
        folder.path("in/i.tga"),
        [0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 4, 0, 8, 0].iter().copied().chain([7; 16]).collect::<Vec<u8>>(),
    )
    .unwrap();
    for (to, files) in
        [("gltf", &["a.bin", "a.gltf"][..]), ("glb", &["a.glb"]), ("dds", &["i.dds"]), ("ktx2", &["i.ktx2"])]
    {
        let out = folder.path(to);
        run(&["batch", &library, "-o", &out, "--to", to]).expect(0);
        let mut names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != ".polyhaul");
        names.sort();
        assert_eq!(names, files, "{to}");
    }
    // Limits and write options apply to textures too.
    let out = folder.path("limited");
    run(&["batch", &library, "-o", &out, "--to", "dds", "--limit", "pixels=15"]).expect(1);
    assert!(!Path::new(&folder.path("limited/i.dds")).exists());
    run(&["batch", &library, "-o", &folder.path("plain"), "--to", "ktx2", "--zstd-level", "0"]).expect(0);
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert_ne!(read("plain/i.ktx2"), read("ktx2/i.ktx2"));
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("batch-mistakes");
    let asset = folder.file("a.obj", TRIANGLE);
    let jobs = [folder.file("ply.toml", "to = 'ply'\n"), folder.file("digits.toml", "digits = 3\n")];
    let twice = run(&["batch", &asset, "-o", &folder.path("out"), "--job", &jobs[0], "--job", &jobs[1]]).expect(2);
    assert!(twice.stderr.contains("digits.toml` was not read"), "{}", twice.stderr);
    let out = folder.path("out");
    for (args, words) in [
        (&["batch", &asset, "-o", &out][..], "the output format is missing"),
        (&["batch", &asset, "--to", "ply"], "--output"),
        (&["batch", "-", "-o", &out, "--to", "ply"], "standard input (-) cannot be an asset"),
        (&["batch", &asset, "-o", &asset, "--to", "ply"], "is not a folder"),
        (&["batch", &out, "-o", &out, "--to", "ply"], "cannot open: "),
        (&["batch", &asset, "-o", &out, "--to", "ply", "--shard", "3/2"], "expected i/n"),
        (&["batch", &asset, "-o", &out, "--to", "ply", "--trace", "t.json"], "--trace applies only"),
        (&["batch", &asset, "-o", &out, "--to", "ply", "--strict", "--on-error", "warn"], "--strict cannot be used"),
        (&["batch", "status", &out], "no log of a batch"),
        (&["batch", "merge", &out], "no log of a batch"),
        (&["batch", "rows", &out], "no log of a batch"),
        (&["batch", &asset, "-o", &out, "--job", &out], "cannot read"),
    ] {
        let ran = run(args);
        assert!(ran.code != 0 && ran.stderr.contains(words), "{args:?}: {ran:?}");
    }
}

#[test]
#[cfg(not(feature = "cloud"))]
fn urls_need_a_feature() {
    for args in [&["info", "s3://bucket/a.obj"][..], &["convert", "https://host/a.obj", "a.ply"]] {
        let ran = run(args).expect(1);
        assert!(ran.stderr.contains("--features cloud"), "{ran:?}");
    }
    let ran = run(&["info", "sftp://host/a.obj"]).expect(1);
    assert!(ran.stderr.contains("sftp:// URLs are not supported"), "{ran:?}");
    // Secrets are not printed.
    let ran = run(&["info", "https://me:hidden@host/a.obj?signature=hidden"]).expect(1);
    assert!(!ran.stderr.contains("hidden"), "{ran:?}");
}

#[test]
#[cfg(unix)]
fn names_act_on_no_terminal_and_no_page() {
    const HOSTILE: &str = "\u{1b}[31m\u{202e}<script>&\"'.obj";
    let folder = Folder::new("batch-names");
    folder.file(HOSTILE, "v 0 0\n");
    let library = folder.path("");
    let out = folder.path("out");
    let page = folder.path("page.html");
    let mut texts = Vec::new();
    for args in [
        &["batch", &library, "-o", &out, "--to", "ply"][..],
        &["batch", "rows", &out],
        &["batch", "status", &out, "--html", &page],
        &["batch", &library, "-o", &out, "--to", "ply", "--dry-run", "--force"],
    ] {
        let output = command().args(args).output().unwrap();
        texts.push([output.stdout, output.stderr].concat());
    }
    let page = std::fs::read(&page).unwrap();
    assert!(!String::from_utf8_lossy(&page).contains("<script>&"));
    texts.push(page);
    for text in texts {
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    }
}
