//! `polyhaul sweep`: every cell has a time or a note, copies equal the asset, and no files are left where none were
//! requested.

use crate::common::{Folder, command};
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};

/// The command with separate cache folders.
fn isolated(cache: &Folder) -> Command {
    let mut command = command();
    for name in ["XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"] {
        command.env(name, cache.path(""));
    }
    command
}

fn polyhaul(cache: &Folder, args: &[&str]) -> Output {
    isolated(cache).args(args).output().unwrap()
}

fn parsed(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A scene of several files: text that includes another text, and a mesh.
fn scene(folder: &Folder) -> String {
    std::fs::create_dir_all(folder.path("parts")).unwrap();
    let vertices = "0 0 0\n1 0 0\n1 1 0\n".repeat(100);
    let ply = "ply\nformat ascii 1.0\nelement vertex 300\nproperty float x\nproperty float y\nproperty float z\n\
               element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    folder.file("parts/mesh.ply", &format!("{ply}{vertices}3 0 1 2\n"));
    folder.file("parts/more.pbrt", &"Shape \"sphere\" \"float radius\" 0.25\n".repeat(50));
    let shape = "Shape \"plymesh\" \"string filename\" \"parts/mesh.ply\"\n";
    folder.file("scene.pbrt", &format!("WorldBegin\n{shape}Include \"parts/more.pbrt\"\n"))
}

fn cell<'a>(sweep: &'a Value, stored: &str, device: &str) -> &'a Value {
    let cells = sweep["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["stored"] == stored && cell["device"] == device).unwrap()
}

#[test]
fn a_scene_of_several_files_is_swept() {
    let folder = Folder::new("sweep-scene");
    let cache = Folder::new("sweep-scene-cache");
    let main = scene(&folder);
    let csv = folder.path("out.csv");
    let svg = folder.path("out.svg");
    let args = ["sweep", &main, "--rates", "100MB/s,unlimited", "--codecs", "as-is,zstd", "--sweep-threads", "2"];
    let more = ["--rounds", "1", "--warm", "--json", "--csv", &csv, "--chart", &svg];
    let json = parsed(&polyhaul(&cache, &[&args[..], &more].concat()));
    assert_eq!([&json["command"], &json["files"]], [&json!("sweep"), &json!(3)]);
    assert_eq!([&json["stored"][0]["name"], &json["stored"][1]["name"]], ["as is", "zstd"]);
    assert!(json["stored"][1]["bytes"].as_u64() < json["stored"][0]["bytes"].as_u64());
    assert_eq!(json["cells"].as_array().unwrap().len(), 4);
    for stored in ["as is", "zstd"] {
        for device in ["rate", "memory"] {
            let cell = cell(&json, stored, device);
            assert!(cell["median_seconds"].as_f64() > Some(0.0) && cell["rounds"] == 1, "{cell}");
        }
    }
    assert_eq!((&json["cache"]["made"], json["crossings"].is_array()), (&json!(1), true));
    assert_eq!(json["advice"][0]["threads"], 2);
    let text = std::fs::read_to_string(&csv).unwrap();
    assert!(text.starts_with("stored,bytes,") && text.lines().count() == 5, "{text}");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("scene.pbrt"));
    // The copy equals the asset, and the second run uses it.
    let copied = find(&cache.path(""), "scene.pbrt");
    let converted = |from: &str| {
        let out = Folder::new("sweep-scene-out");
        assert_eq!(polyhaul(&cache, &["convert", from, &out.path("a.obj")]).status.code(), Some(0));
        std::fs::read(out.path("a.obj")).unwrap()
    };
    assert!(converted(&main) == converted(&copied));
    let again = parsed(&polyhaul(&cache, &[&args[..], &["--rounds", "1", "--warm", "--json"]].concat()));
    assert_eq!(again["cache"]["made"], 0);
    let forgotten = parsed(&polyhaul(&cache, &["sweep", &main, "--forget", "--json"]));
    assert_eq!(forgotten["forgotten_bytes"], json["cache"]["bytes"]);
    assert!(find(&cache.path(""), "scene.pbrt").is_empty());
}

#[test]
fn nothing_of_the_asset_and_nothing_of_others_is_touched() {
    let folder = Folder::new("sweep-own");
    let cache = Folder::new("sweep-own-cache");
    let table = folder.file("u.csv", &format!("x,y,z\n{}", "1,2,3\n".repeat(100)));
    let args = ["--rates", "unlimited", "--rounds", "1", "--warm", "--codecs", "zstd", "--cache", &cache.path("")];
    for more in [["--csv", &table, "-q"], ["--csv", &folder.path("./u.csv"), "-q"]] {
        let output = polyhaul(&cache, &[&["sweep", &table], &args[..], &more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("is a file of the asset"), "{output:?}");
    }
    assert!(std::fs::read_to_string(&table).unwrap().starts_with("x,y"));
    // A folder with a name like ours, created by another program.
    let others = cache.path("sweep/0123456789abcdef");
    std::fs::create_dir_all(&others).unwrap();
    std::fs::write(format!("{others}/mine"), "mine").unwrap();
    assert_eq!(polyhaul(&cache, &[&["sweep", &table], &args[..]].concat()).status.code(), Some(0));
    let forgotten = polyhaul(&cache, &["sweep", "--forget", "--json", "--cache", &cache.path("")]);
    assert!(parsed(&forgotten)["forgotten_bytes"].as_u64() > Some(0));
    assert_eq!(std::fs::read_to_string(format!("{others}/mine")).unwrap(), "mine");
    assert!(find(&cache.path(""), "u.csv").is_empty());
}

/// Options for a quick sweep with copies.
const QUICK: [&str; 7] = ["--rates", "unlimited", "--rounds", "1", "--warm", "--codecs", "zstd"];

#[test]
fn names_that_lead_elsewhere_are_led_to_the_copies() {
    let folder = Folder::new("sweep-astray");
    let cache = Folder::new("sweep-astray-cache");
    let main = scene(&folder);
    let mesh = folder.path("parts/mesh.ply");
    let more = folder.path("parts/more.pbrt");
    let text = format!("Include {more:?}\nShape \"plymesh\" \"string filename\" {mesh:?}\n");
    folder.file("scene.pbrt", &format!("WorldBegin\n{text}"));
    // The included file includes another one by a name relative to itself.
    folder.file("parts/more.pbrt", "Include \"last.pbrt\"\n");
    folder.file("parts/last.pbrt", &"Shape \"sphere\"\n".repeat(50));
    let args = |main| [&["sweep", main], &QUICK[..], &["--allow-outside", "--json"]].concat();
    let json = parsed(&polyhaul(&cache, &args(&main)));
    assert_eq!((&json["files"], &json["cache"]["made"]), (&json!(4), &json!(1)));
    assert!(cell(&json, "zstd", "memory")["median_seconds"].as_f64() > Some(0.0), "{json}");
}

#[test]
#[cfg(unix)]
fn links_are_led_to_the_copies() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("sweep-links");
    let cache = Folder::new("sweep-links-cache");
    scene(&folder);
    // Like in some stores of large files: all names are links to files without extensions.
    std::fs::create_dir_all(folder.path("store")).unwrap();
    for (number, name) in ["scene.pbrt", "parts/mesh.ply", "parts/more.pbrt"].into_iter().enumerate() {
        let store = folder.path(&format!("store/{number}"));
        std::fs::rename(folder.path(name), &store).unwrap();
        symlink(&store, folder.path(name)).unwrap();
    }
    let json = parsed(&polyhaul(&cache, &[&["sweep", &folder.path("scene.pbrt")], &QUICK[..], &["--json"]].concat()));
    assert_eq!(json["files"], 3);
    assert!(cell(&json, "zstd", "memory")["median_seconds"].as_f64() > Some(0.0), "{json}");
}

#[test]
fn sweeps_at_the_same_time_share_copies() {
    let folder = Folder::new("sweep-two");
    let cache = Folder::new("sweep-two-cache");
    let main = folder.file("a.obj", &"v 0 0.5 1\n".repeat(100_000));
    let start = |_| {
        let args = [&["sweep", &main], &QUICK[..], &["--json"]].concat();
        isolated(&cache).args(args).stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    let made = children.into_iter().map(|child| parsed(&child.wait_with_output().unwrap())["cache"]["made"].as_u64());
    assert_eq!(made.map(Option::unwrap).sum::<u64>(), 1);
}

#[test]
fn what_is_not_there_is_said() {
    let folder = Folder::new("sweep-absolute");
    let cache = Folder::new("sweep-absolute-cache");
    scene(&folder);
    let mesh = folder.path("parts/mesh.ply");
    let main = folder.file("scene.pbrt", &format!("WorldBegin\nShape \"plymesh\" \"string filename\" {mesh:?}\n"));
    // A missing mesh is reported, and so is a pipe, which cannot be read twice.
    std::fs::remove_file(&mesh).unwrap();
    let output = polyhaul(
        &cache,
        &["sweep", &main, "--rates", "unlimited", "--rounds", "1", "--codecs", "as-is", "--json", "--allow-outside"],
    );
    assert_eq!(parsed(&output)["warnings"]["counts"]["missing-mesh"], 1);
    let output = polyhaul(&cache, &["sweep", "-"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("only once"), "{output:?}");
}

/// The path of a file with this name below a folder; empty if there is none.
fn find(folder: &str, name: &str) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of = |path: std::path::PathBuf| match path.is_dir() {
        true => find(path.to_str().unwrap(), name),
        false if path.ends_with(name) => path.to_str().unwrap().to_owned(),
        false => String::new(),
    };
    entries.map(of).find(|notes| !notes.is_empty()).unwrap_or_default()
}

#[test]
fn copies_need_not_be_what_their_names_promise() {
    let folder = Folder::new("sweep-named");
    let cache = Folder::new("sweep-named-cache");
    let plain = folder.file("points.obj", &"v 0.25 1 2\n".repeat(1000));
    let main = folder.path("points.obj.gz");
    assert!(polyhaul(&cache, &["convert", &plain, &main]).status.success());
    let packed = std::fs::read(&main).unwrap();
    let args = ["sweep", &main, "--rates", "unlimited", "--rounds", "1", "--warm", "--json"];
    for (bytes, how) in
        [(packed.clone(), ["--strict", "-q"]), ([&packed[..], b"more"].concat(), ["--on-error", "warn"])]
    {
        std::fs::write(&main, bytes).unwrap();
        let json = parsed(&polyhaul(&cache, &[&args[..], &how].concat()));
        let times: Vec<_> = json["cells"].as_array().unwrap().iter().map(|cell| &cell["rounds"]).collect();
        assert!(times.len() > 2 && times.iter().all(|rounds| **rounds == 1), "{json}");
    }
}

#[test]
fn names_that_go_in_circles_end() {
    let folder = Folder::new("sweep-circles");
    let cache = Folder::new("sweep-circles-cache");
    for part in ["x", "y"] {
        std::fs::create_dir_all(folder.path(&format!("s/{part}"))).unwrap();
        folder.file(&format!("s/{part}/a.pbrt"), "Include \"../x/a.pbrt\"\nInclude \"../y/a.pbrt\"\n");
    }
    let main = folder.file("main.pbrt", "Include \"s/x/a.pbrt\"\n");
    let quick = ["--file-bytes", "262144", "--data-bytes", "16384", "--figure-ms", "0", "--json"];
    parsed(&polyhaul(&cache, &[&["limits", "--force", &*folder.path("")], &quick[..]].concat()));
    let args = ["sweep", &main, "--model", "--allow-outside", "--rates", "unlimited", "--json"];
    assert_eq!(parsed(&polyhaul(&cache, &args))["files"], 3);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_at_the_end_is_said() {
    let folder = Folder::new("sweep-full");
    let cache = Folder::new("sweep-full-cache");
    let main = scene(&folder);
    for option in ["--csv", "--chart"] {
        let args = ["sweep", &main, "--rates", "unlimited", "--codecs", "as-is", "--rounds", "1", "--warm", option];
        let ran = polyhaul(&cache, &[&args[..], &["/dev/full"]].concat());
        let [output, errors] = [&ran.stdout, &ran.stderr].map(|stream| String::from_utf8_lossy(stream));
        assert!(ran.status.code() == Some(1) && output.contains("as is") && errors.contains("/dev/full"), "{ran:?}");
    }
}

#[test]
fn people_get_tables_and_cells_that_are_left_out_say_why() {
    let folder = Folder::new("sweep-table");
    let cache = Folder::new("sweep-table-cache");
    let main = folder.file("a.obj", &"v 0 0.5 1\n".repeat(100));
    let args = ["sweep", &main, "--rates", "1KB/s,unlimited", "--codecs", "as-is", "--sweep-threads", "1", "--warm"];
    let output = polyhaul(&cache, &[&args[..], &["--time-limit", "0.5s", "--rounds", "1"]].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for part in ["a.obj: as is 1.0 kB", "1 thread, seconds", "unlimited", "1 kB/s", "note: as is at 1 kB/s: skipped: "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("run `polyhaul limits` once"), "{text}");
    // No copies are made if everything is stored as is.
    assert!(find(&cache.path(""), "asset.txt").is_empty() && !text.contains("copies use"), "{text}");
}

#[test]
fn a_prediction_loads_and_writes_nothing() {
    let folder = Folder::new("sweep-model");
    let cache = Folder::new("sweep-model-cache");
    let main = scene(&folder);
    let nothing = polyhaul(&cache, &["sweep", &main, "--model"]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("polyhaul limits"));
    let quick = ["--file-bytes", "262144", "--data-bytes", "16384", "--figure-ms", "0"];
    let limits = polyhaul(&cache, &[&["limits", "--force", &folder.path("")], &quick[..]].concat());
    assert_eq!(limits.status.code(), Some(0));
    let cached_names = cache.names();
    // Prediction works even if the scene cannot be loaded.
    folder.file(
        "scene.pbrt",
        "Include \"parts/more.pbrt\" Shape \"plymesh\" \"string filename\" \"parts/mesh.ply\" Wrong\n",
    );
    let json = parsed(&polyhaul(&cache, &["sweep", &main, "--model", "--json", "--sweep-threads", "1"]));
    assert_eq!((&json["files"], json["cells"].as_array().unwrap().len()), (&json!(3), 9 * 4 + 4));
    for cell in json["cells"].as_array().unwrap() {
        let is_known = cell["predicted_seconds"].as_f64() > Some(0.0) || cell["device"] == "disk";
        assert!(is_known && cell["median_seconds"].is_null(), "{cell}");
    }
    assert_eq!(cache.names(), cached_names);
}

/// Runs a sweep with instant cells and ten that take a tenth of a second each, and sends a signal `wait` after its
/// copies are complete.
#[cfg(unix)]
fn signalled(cache: &Folder, args: &[&str], signal: &str, wait: std::time::Duration) -> Output {
    let rates = (1..=9).map(|tens| format!("9{tens}00B/s,")).collect::<String>() + "10KB/s,unlimited";
    let options = ["--sweep-threads", "1", "--codecs", "as-is,zstd", "--warm"];
    let args = [args, &["--rates", &rates, "--rounds", "1"], &options].concat();
    let child = isolated(cache).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while find(&cache.path(""), "zstd.txt").is_empty() && std::time::Instant::now() < end {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    std::thread::sleep(wait);
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &*id]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

/// Returns the first result of `attempt`. On a slow machine, an early signal comes before anything is measured.
#[cfg(unix)]
fn patient<T>(attempt: impl Fn(std::time::Duration) -> Option<T>) -> T {
    [200, 500, 900].into_iter().map(std::time::Duration::from_millis).find_map(attempt).unwrap()
}

#[test]
#[cfg(unix)]
fn what_was_measured_before_a_signal_is_kept() {
    let folder = Folder::new("sweep-signal");
    let cache = Folder::new("sweep-signal-cache");
    let main = folder.file("a.obj", &"v 0 0.5 1\n".repeat(100));
    let csv = folder.path("out.csv");
    let svg = folder.path("out.svg");
    let (text, code) = patient(|wait| {
        let output = signalled(&cache, &["sweep", &main, "--csv", &csv, "--chart", &svg], "-INT", wait);
        let text = String::from_utf8(output.stdout).unwrap();
        (!text.is_empty()).then_some((text, output.status.code()))
    });
    assert_eq!(code, Some(130));
    for part in ["interrupted: ", " of 22 cells did not run", "note: ", ": skipped: interrupted", "unlimited"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let lines = std::fs::read_to_string(&csv).unwrap();
    assert!(lines.lines().count() == 23 && lines.contains(",,,,,\"skipped: interrupted\""), "{lines}");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("a.obj (interrupted: "));
    let (json, code) = patient(|wait| {
        let output = signalled(&cache, &["sweep", &main, "--json"], "-TERM", wait);
        let json: Value = serde_json::from_slice(&output.stdout).ok()?;
        json["cells"].is_array().then_some((json, output.status.code()))
    });
    assert_eq!((code, &json["interrupted"], &json["error"]["kind"]), (Some(143), &json!(true), &json!("cancelled")));
    // Slow rates run first.
    assert!(json["cells"][0]["median_seconds"].as_f64() > Some(0.05), "{json}");
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let folder = Folder::new("sweep-usage");
    let cache = Folder::new("sweep-usage-cache");
    let main = folder.file("a.obj", "v 0 0 0\n");
    let wrong: [&[&str]; 9] = [
        &["sweep"],
        &["sweep", &main, "--rates", "fast"],
        &["sweep", &main, "--rates", "0MB/s"],
        &["sweep", &main, "--codecs", "zip"],
        &["sweep", &main, "--codecs", "gzip:40"],
        &["sweep", &main, "--sweep-threads", "0"],
        &["sweep", &main, "--rounds", "0"],
        &["sweep", &main, "--read-rate", "1MB/s"],
        &["sweep", &main, "--chart", "a.obj"],
    ];
    for args in wrong {
        let output = polyhaul(&cache, args);
        assert_eq!(output.status.code(), Some(2), "{args:?} {output:?}");
    }
    let missing = polyhaul(&cache, &["sweep", &folder.path("none.obj")]);
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    // An unwritable file is reported before anything is loaded.
    let nowhere = polyhaul(&cache, &["sweep", &folder.path("none.obj"), "--csv", &folder.path("no/such/a.csv")]);
    assert!(nowhere.status.code() == Some(1) && String::from_utf8_lossy(&nowhere.stderr).contains("a.csv"));
    assert!(cache.names().is_empty());
}
