//! The logs of libraries: merging during a run, deviating clocks, damage, and JSON without duplicate keys.

use crate::common::{Folder, Ran, run};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// Any JSON value without duplicate keys in objects.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<UniqueKeys, D::Error> {
        input.deserialize_any(UniqueKeys)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = UniqueKeys;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<UniqueKeys, A::Error> {
        while values.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<UniqueKeys, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some((key, _)) = values.next_entry::<String, UniqueKeys>()? {
            if !keys.insert(key.clone()) {
                return Err(serde::de::Error::custom(format!("the key {key} occurs twice")));
            }
        }
        Ok(UniqueKeys)
    }
}

/// A library with one asset, `a.obj`, and its output folder.
struct Library {
    folder: Folder,
}

impl Library {
    fn new(name: &str) -> Library {
        let folder = Folder::new(name);
        std::fs::create_dir(folder.path("in")).unwrap();
        let library = Library { folder };
        library.write("a.obj", TRIANGLE);
        library
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path(&format!("in/{name}")), text).unwrap();
    }

    fn batch(&self, more: &[&str]) -> Ran {
        let input = self.folder.path("in");
        let output = self.folder.path("out");
        run(&[&["batch", &input, "-o", &output, "--to", "ply", "--json"][..], more].concat())
    }

    fn ask(&self, what: &str, more: &[&str]) -> Ran {
        run(&[&["batch", what, &self.folder.path("out")][..], more].concat())
    }

    /// The log files, sorted by name.
    fn logs(&self) -> Vec<PathBuf> {
        let folder = self.folder.path("out/.polyhaul/log");
        let mut logs: Vec<_> = Path::new(&folder).read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        logs.sort();
        logs
    }

    /// The status and the source size of each row.
    fn rows(&self) -> Vec<(String, u64)> {
        let rows = self.ask("rows", &[]).expect(0).stdout;
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["status"].as_str().unwrap().to_owned(), row["source_bytes"].as_u64().unwrap())
        };
        rows.lines().map(row).collect()
    }
}

#[test]
fn json_has_no_key_twice() {
    let library = Library::new("json-keys");
    library.write("b.obj", TRIANGLE);
    let a = library.folder.path("in/a.obj");
    let input = library.folder.path("in");
    let out = library.folder.path("out");
    let png = library.folder.path("a.png");
    let ply = library.folder.path("a.ply");
    library.batch(&[]).expect(0);
    for args in [
        &["batch", &input, "-o", &out, "--to", "ply"][..],
        &["batch", "status", &out],
        &["batch", "merge", &out],
        &["info", &a],
        &["info", &input],
        &["validate", &a],
        &["convert", &a, &ply],
        &["convert", &input, &out, "--to", "stl"],
        &["diff", &a, &ply],
        &["preview", &a, "-o", &png],
        &["check", &a],
        &["info", &out],
    ] {
        let ran = run(&[args, &["--json"]].concat());
        let texts = [&ran.stdout, &ran.stderr];
        let text = texts.into_iter().find(|text| text.starts_with('{')).unwrap_or_else(|| panic!("{args:?}: {ran:?}"));
        let parsed: Result<UniqueKeys, _> = serde_json::from_str(text.lines().next().unwrap());
        assert!(parsed.is_ok(), "{args:?}: {:?}\n{text}", parsed.err());
    }
    let status = library.ask("status", &["--json"]).expect(0).json();
    assert_eq!(status["bytes_in"], 2 * TRIANGLE.len());
    assert_eq!(status["warnings"]["total"], 0);
}

/// If a machine's clock is ahead or behind, the names of the logs do not reflect the order of the attempts.
#[test]
fn the_later_attempt_counts_whatever_the_clocks() {
    for (name, first_clock) in [("clock-ahead", "09795842000000000000"), ("clock-behind", "00000000000000000001")] {
        let library = Library::new(name);
        library.batch(&[]).expect(0);
        let log = &library.logs()[0];
        std::fs::rename(log, log.with_file_name(format!("{first_clock}-1.log"))).unwrap();
        library.write("a.obj", &TRIANGLE.repeat(2));
        assert_eq!(library.batch(&[]).expect(0).json()["converted"], 1, "{name}");
        assert_eq!(library.batch(&[]).expect(0).json()["skipped"], 1, "{name}");
        let mut rows = library.rows();
        rows.sort();
        let bytes = TRIANGLE.len() as u64;
        assert_eq!(rows, [("done".into(), 2 * bytes), ("replaced".into(), bytes)], "{name}");
        let status = library.ask("status", &["--json"]).expect(0).json();
        assert_eq!((&status["done"], &status["bytes_in"]), (&1.into(), &(2 * bytes).into()), "{name}");
        // The last attempt fails, but the output of the earlier success is still there.
        library.write("a.obj", "v 0 0\n");
        library.batch(&[]).expect(1);
        assert_eq!(library.batch(&[]).expect(1).json()["skipped_failed"], 1, "{name}");
        let status = library.ask("status", &["--json"]).expect(0).json();
        assert_eq!((&status["done"], &status["failed"]), (&0.into(), &1.into()), "{name}");
        library.ask("merge", &[]).expect(0);
        assert_eq!(library.batch(&[]).expect(1).json()["skipped_failed"], 1, "{name}");
    }
}

#[test]
fn all_report_damaged_lines_and_merging_keeps_them() {
    let library = Library::new("log-damage");
    library.batch(&[]).expect(0);
    library.write("b.obj", TRIANGLE);
    library.batch(&[]).expect(0);
    let log = &library.logs()[1];
    let text = std::fs::read_to_string(log).unwrap();
    // A complete last line can be damaged; a line that a killed run leaves has no line feed.
    std::fs::write(log, text.replace("b.obj", "c.obj") + "0123456789abcdef {cut").unwrap();
    for _ in 0..2 {
        assert!(library.ask("rows", &[]).expect(0).stderr.contains("1 damaged line"));
        assert_eq!(library.ask("status", &["--json"]).expect(0).json()["damaged_lines"], 1);
        assert_eq!(library.ask("merge", &["--json"]).expect(0).json()["damaged_lines"], 1);
    }
    assert_eq!((library.logs().len(), library.rows().len()), (1, 1));
    assert!(std::fs::read_to_string(&library.logs()[0]).unwrap().contains("c.obj"));
    assert_eq!(library.batch(&[]).expect(0).json()["converted"], 1);
}

/// Covers log lines written by a newer version or another program.
#[test]
fn lines_that_are_not_rows_are_damaged() {
    let library = Library::new("log-foreign");
    library.batch(&[]).expect(0);
    library.write("b.obj", TRIANGLE);
    library.batch(&[]).expect(0);
    library.ask("merge", &[]).expect(0);
    let log = &library.logs()[0];
    let text = std::fs::read_to_string(log).unwrap();
    for json in [r#"{"format":2}"#, r#"{"asset":["a.obj"]}"#, "7", "null", r#"{"asset":""}"#] {
        let line = format!("{:016x} {json}\n", polyhaul_bytes::hash::xxh3_64(json.as_bytes()));
        std::fs::write(log, format!("{line}{text}")).unwrap();
        std::fs::write(log.with_file_name("9.log"), "").unwrap();
        let counts = ["status", "merge"].map(|what| library.ask(what, &["--json"]).expect(0).json());
        assert_eq!(counts.map(|json| json["damaged_lines"].as_u64()), [Some(1); 2], "{json}");
        assert!(library.ask("rows", &[]).expect(0).stderr.contains("1 damaged line"), "{json}");
        assert_eq!((library.rows().len(), library.logs().len()), (2, 1), "{json}");
        assert_eq!(library.batch(&[]).expect(0).json()["skipped"], 2, "{json}");
        assert!(std::fs::read_to_string(log).unwrap().contains(&line));
    }
}

/// The manifest is compared with the log and with what was written, never by clocks.
#[test]
fn a_manifest_that_does_not_fit_is_written_by_a_run_without_work() {
    let library = Library::new("log-manifest");
    library.batch(&[]).expect(0);
    let state = library.folder.path("out/.polyhaul");
    let is_manifest = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "manifest");
    let entries = Path::new(&state).read_dir().unwrap().map(|entry| entry.unwrap().path());
    let manifest = entries.into_iter().find(is_manifest).unwrap();
    let old = std::fs::read(&manifest).unwrap();
    library.write("b.obj", TRIANGLE);
    library.batch(&[]).expect(0);
    let whole = std::fs::read(&manifest).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    let longer = [&whole[..], b"more\n"].concat();
    let none = whole[..0].to_vec();
    let times = [std::time::UNIX_EPOCH, std::time::SystemTime::now() + std::time::Duration::from_secs(1 << 30)];
    for content in [None, Some(&none), Some(&old), Some(&changed), Some(&longer), Some(&whole)] {
        for time in times {
            std::fs::remove_file(&manifest).unwrap();
            if let Some(content) = content {
                std::fs::write(&manifest, content).unwrap();
                std::fs::File::options().append(true).open(&manifest).unwrap().set_modified(time).unwrap();
            }
            assert_eq!(library.batch(&[]).expect(0).json()["skipped"], 2);
            assert!(std::fs::read(&manifest).unwrap() == whole, "{content:?}");
        }
    }
    // Like a run that was killed after adding a row, before it wrote the manifest. Clocks do not matter.
    for time in times {
        std::fs::write(&manifest, &old).unwrap();
        std::fs::File::options().append(true).open(&library.logs()[1]).unwrap().set_modified(time).unwrap();
        std::fs::remove_file(format!("{state}/fingerprint")).unwrap();
        library.batch(&[]).expect(0);
        assert!(std::fs::read(&manifest).unwrap() == whole);
    }
    // A folder replaces the manifest: the run fails, and the rows are safe.
    std::fs::remove_file(&manifest).unwrap();
    std::fs::create_dir(&manifest).unwrap();
    let ran = library.batch(&[]).expect(1);
    assert!(ran.stdout.contains("manifest") && ran.stdout.contains("directory"), "{ran:?}");
    assert_eq!(library.rows().len(), 2);
}
