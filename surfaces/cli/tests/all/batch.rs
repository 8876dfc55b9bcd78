//! Libraries of assets, and URLs in a command that cannot open them. Stores and clusters are tested in Python.

use crate::common::{Folder, command, run};

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
    let json = batch(&[]).expect(0).json();
    assert_eq!((json["skipped"].as_u64(), json["skipped_failed"].as_u64()), (Some(1), Some(1)));
    std::fs::write(asset, TRIANGLE.repeat(2)).unwrap();
    assert_eq!(batch(&[]).expect(0).json()["converted"], 1);
    let rows = run(&["batch", "rows", &out]).expect(0).stdout;
    let statuses: Vec<_> = rows.lines().map(|row| &row[..row.find(',').unwrap()]).collect();
    assert_eq!(statuses.iter().filter(|status| status.contains("done")).count(), 1);
    assert_eq!(statuses.iter().filter(|status| status.contains("replaced")).count(), 1);
}

#[test]
fn mistakes_are_explained() {
    let folder = Folder::new("batch-mistakes");
    let asset = folder.file("a.obj", TRIANGLE);
    let out = folder.path("out");
    for (args, words) in [
        (&["batch", &asset, "-o", &out][..], "the output format is missing"),
        (&["batch", &asset, "--to", "ply"], "--output"),
        (&["batch", &asset, "-o", &asset, "--to", "ply"], "is not a folder"),
        (&["batch", &out, "-o", &out, "--to", "ply"], "No such file"),
        (&["batch", &asset, "-o", &out, "--to", "ply", "--shard", "3/2"], "expected i/n"),
        (&["batch", &asset, "-o", &out, "--to", "ply", "--trace", "t.json"], "--trace applies only"),
        (&["batch", &asset, "-o", &out, "--to", "ply", "--strict", "--on-error", "warn"], "--strict cannot be used"),
        (&["batch", "status", &out], "no log of a batch"),
        (&["batch", &asset, "-o", &out, "--job", &out], "reading failed"),
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
    // What may be secret is not shown.
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
