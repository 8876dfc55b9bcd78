//! `polyhaul limits`: figures are measured, stored, shown and deleted, and no file is left in the measured folder.

use crate::common::{Folder, command};
use serde_json::{Value, json};
use std::process::Output;

/// Options for an instant measurement with meaningless figures.
const QUICK: [&str; 7] = ["limits", "--file-bytes", "262144", "--data-bytes", "16384", "--figure-ms", "0"];

/// Runs the command with a separate cache folder, set as each system expects.
fn limits(folder: &Folder, cache: &Folder, args: &[&str]) -> Output {
    let mut command = command();
    for name in ["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"] {
        command.env(name, cache.path(""));
    }
    // Tests run in parallel, so do not refuse figures of a busy machine.
    let force = if args.contains(&"--forget") { None } else { Some("--force") };
    command.args(QUICK).arg(folder.path("")).args(args).args(force).output().unwrap()
}

fn parsed(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn figures_are_measured_once_and_kept() {
    let folder = Folder::new("limits-kept");
    let cache = Folder::new("limits-kept-cache");
    let first = parsed(&limits(&folder, &cache, &["--json"]));
    assert_eq!(
        [&first["command"], &first["is_new"], &first["is_kept"]],
        [&json!("limits"), &json!(true), &json!(true)]
    );
    for name in ["cached_read", "cached_read_all", "write", "write_sync", "copy", "fresh_memory"] {
        assert!(first["bytes_per_second"][name].as_f64().unwrap() > 0.0, "{name}");
    }
    let cold = &first["bytes_per_second"]["cold_read"];
    assert!(cold.as_f64().is_some_and(|rate| rate > 0.0) || cold.is_null() && first["notes"][0].is_string(), "{first}");
    assert!(first["cores"].as_u64() > Some(0) && first["cores_side_by_side"].as_f64() > Some(0.0));
    assert!(first["small_read_ns"].as_f64() > Some(0.0));
    assert_eq!(first["kernels"][0]["name"], "parse obj");
    assert_eq!(first["writes"][3]["bytes"], 256 << 10);
    assert_eq!(first["phases"][0]["name"], "measure");

    // Stored figures are returned unchanged, and replaced only on request.
    let second = parsed(&limits(&folder, &cache, &["--json"]));
    assert_eq!([&second["is_new"], &second["phases"]], [&json!(false), &json!([])]);
    for name in ["bytes_per_second", "kernels", "writes", "measured_unix_s", "machine", "disk", "notes"] {
        assert_eq!(second[name], first[name], "{name}");
    }
    let again = parsed(&limits(&folder, &cache, &["--json", "--again"]));
    assert!(again["is_new"] == true && again["kernels"] != first["kernels"]);

    assert_eq!(parsed(&limits(&folder, &cache, &["--json", "--forget"]))["forgotten"], true);
    assert_eq!(parsed(&limits(&folder, &cache, &["--json", "--forget"]))["forgotten"], false);
    assert!(folder.names().is_empty());
}

#[test]
fn the_table_is_for_people() {
    let folder = Folder::new("limits-table");
    let cache = Folder::new("limits-table-cache");
    let output = limits(&folder, &cache, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["machine   ", "disk      ", ", now\n", "\ncores\n", "  write and sync  ", "  parse obj  ", " MB/s\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(output.stderr.is_empty());
    let text = String::from_utf8(limits(&folder, &cache, &[]).stdout).unwrap();
    assert!(text.contains(", less than a day ago\n"), "{text}");
    let text = String::from_utf8(limits(&folder, &cache, &["--forget"]).stdout).unwrap();
    assert_eq!(text, "deleted\n");
}

#[test]
#[cfg(target_os = "linux")]
fn the_cache_is_where_the_user_wants_it() {
    let folder = Folder::new("limits-cache");
    let cache = Folder::new("limits-cache-cache");
    let run = |name: &str, value: &str| {
        let mut command = command();
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env(name, value);
        parsed(&command.args(QUICK).args(["--force", "--json", &folder.path("")]).output().unwrap())
    };
    let of = |folder: &str| std::fs::read_dir(cache.path(folder)).map_or(0, |entries| entries.count());
    assert_eq!(run("XDG_CACHE_HOME", &cache.path("xdg"))["is_kept"], true);
    assert_eq!(run("HOME", &cache.path("home"))["is_kept"], true);
    assert_eq!([of("xdg/polyhaul"), of("home/.cache/polyhaul")], [1, 1]);
    // Figures are shown even without a cache folder, or if it cannot be created.
    let file = cache.file("file", "");
    for value in ["", "relative", &file] {
        let shown = run("HOME", value);
        assert!(shown["is_new"] == true && shown["is_kept"] == false, "{shown}");
        let notes = shown["notes"].as_array().unwrap();
        assert!(notes.last().and_then(Value::as_str).is_some_and(|note| note.contains("cache")), "{notes:?}");
    }
    // Damaged figures are measured again, and then intact.
    let path = std::fs::read_dir(cache.path("xdg/polyhaul")).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    assert_eq!(run("XDG_CACHE_HOME", &cache.path("xdg"))["is_new"], true);
    assert_eq!(run("XDG_CACHE_HOME", &cache.path("xdg"))["is_new"], false);
}

#[test]
fn what_cannot_be_measured_is_an_error_with_its_folder() {
    let cache = Folder::new("limits-error-cache");
    let file = cache.file("file", "");
    for folder in [cache.path("none"), file] {
        let output =
            command().env("XDG_CACHE_HOME", cache.path("")).args(["limits", "--json", &folder]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!([&value["error"]["kind"], &value["error"]["file"]], [&json!("io"), &json!(folder)]);
        assert!(value["error"]["hint"].as_str().unwrap().contains("folder"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_interruption_leaves_nothing() {
    let folder = Folder::new("limits-stop");
    let cache = Folder::new("limits-stop-cache");
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-KILL", None)] {
        let mut command = command();
        command.env("XDG_CACHE_HOME", cache.path("")).args(["limits", "-q", &folder.path("")]);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        // Its unnamed temporary file shows that it has started working.
        let descriptors = format!("/proc/{}/fd", child.id());
        let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
            let link = std::fs::read_link(entry.unwrap().path()).unwrap_or_default();
            link.to_string_lossy().contains(".polyhaul-limits.")
        };
        while child.try_wait().unwrap().is_none() && !std::fs::read_dir(&descriptors).unwrap().any(is_ours) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), code);
        assert!(folder.names().is_empty());
        // On a busy machine, the signal may arrive when all figures are saved.
        assert!(cache.names().iter().all(|name| name == "polyhaul"), "{:?}", cache.names());
    }
}
