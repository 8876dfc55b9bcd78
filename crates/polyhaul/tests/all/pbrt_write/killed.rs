//! Writing a scene of several files fails, or is killed, at each of its system calls.
//!
//! The writer is this test again, in a child process under strace. If strace is missing or may not trace, a line on
//! standard error says so and the test passes.

use super::{read_text, strip};
use polyhaul::options::{PbrtMeshes, PbrtWriteOptions, RunOptions};
use polyhaul::{WriteOptions, Writer};
use polyhaul_testkit::corpus::Folder;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const TEST: &str = "pbrt_write::killed::a_scene_of_many_files_is_the_old_one_or_the_new_one";
const CHILD: &str = "POLYHAUL_TEST_WRITES_IN";
const SYSTEM_CALLS: &str = "?write,?fsync,?rename,?renameat,?renameat2,?open,?openat,?close";

/// Files that already exist: the scene, a part and a mesh.
const BEFORE: [&str; 3] = ["a.pbrt", "a-part-2.pbrt", "a-mesh-1.ply"];

fn write(folder: &Path) -> polyhaul::Result<polyhaul::Report> {
    let scene = read_text(format!("WorldBegin\n{}", strip(100).repeat(3)).as_bytes());
    let pbrt =
        PbrtWriteOptions::default().with_parts(2).with_meshes(PbrtMeshes::Ply { vertices: 10 }).with_compact(false);
    let run = RunOptions::default().with_threads(Some(1));
    let options = WriteOptions::default().with_pbrt(pbrt).with_run(run).with_durable(true);
    Writer::new(folder.join("a.pbrt")).options(&options).scene(&scene)
}

/// Contents of a folder: the files, and the number of temporary ones.
fn contents(folder: &Path) -> (BTreeMap<String, Vec<u8>>, usize) {
    let mut files = BTreeMap::new();
    let mut litter = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".tmp") { litter += 1 } else { _ = files.insert(name, std::fs::read(&path).unwrap()) }
    }
    (files, litter)
}

fn begun() -> Folder {
    let folder = Folder::new("pbrt-killed").unwrap();
    BEFORE.iter().for_each(|name| _ = folder.file(name, "old").unwrap());
    folder
}

/// A run under strace: whether it succeeded, and its log, one call per line with the thread before it.
fn traced(folder: &Folder, inject: Option<&str>) -> (bool, Vec<String>) {
    let logs = Folder::new("pbrt-killed-log").unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-s", "8", "-e", &format!("trace={SYSTEM_CALLS}"), "-o"]).arg(logs.join("log"));
    if let Some(inject) = inject {
        command.args(["-e", &format!("inject={inject}")]);
    }
    command.arg(std::env::current_exe().unwrap()).args([TEST, "--exact", "--test-threads=1", "--nocapture"]);
    let output = command.env(CHILD, folder.path()).env("RUST_BACKTRACE", "0").output().unwrap();
    (output.status.success(), logs.text("log").lines().map(str::to_owned).collect())
}

/// Calls on files of the folder: their names, and their numbers among calls with the same name and thread.
fn calls(folder: &Folder, log: &[String]) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    let mut calls = Vec::new();
    for line in log {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
        let count = counts.entry((thread, name)).or_insert(0);
        *count += 1;
        if arguments.contains(&folder.path().display().to_string()) && name.chars().all(char::is_alphanumeric) {
            calls.push((name.to_owned(), *count));
        }
    }
    calls
}

/// Describes the fault in a folder after writing was stopped, if any.
fn wrong(folder: &Folder, new: &BTreeMap<String, Vec<u8>>, hit: &str, is_kill: bool) -> Option<String> {
    let (files, litter) = contents(folder.path());
    let is_new = |name: &str| files.get(name) == new.get(name);
    let whole = |(name, bytes): (&String, &Vec<u8>)| is_new(name) || bytes == b"old" && BEFORE.contains(&name.as_str());
    if !files.iter().all(whole) {
        return Some("a file is neither old nor new".into());
    }
    if is_new("a.pbrt") && !new.keys().all(|name| is_new(name)) {
        return Some(format!("the new scene lacks what it names: {:?}", files.keys()));
    }
    if is_kill {
        return None;
    }
    let replaced = BEFORE.iter().filter(|name| is_new(name)).count();
    let is_late = hit.contains("rename") || hit.contains("fsync") && !hit.contains(".tmp") || is_new("a.pbrt");
    if litter > 0 || !is_new("a.pbrt") && files.len() != BEFORE.len() || !is_late && replaced > 0 {
        return Some(format!("{litter} temporary files, {replaced} replaced, {:?}", files.keys()));
    }
    None
}

#[test]
fn a_scene_of_many_files_is_the_old_one_or_the_new_one() {
    if let Some(folder) = std::env::var_os(CHILD) {
        write(Path::new(&folder)).unwrap();
        return;
    }
    let trial = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).status();
    if !trial.is_ok_and(|status| status.success()) {
        let _ = writeln!(std::io::stderr(), "SKIPPED: strace is not installed or may not trace");
        return;
    }
    let folder = begun();
    let (is_well, log) = traced(&folder, None);
    let new = contents(folder.path()).0;
    assert!(is_well && new.len() == 6 && new.values().all(|bytes| bytes != b"old"), "{:?}", new.keys());
    let calls = calls(&folder, &log);
    let count = |call: &str| calls.iter().filter(|(name, _)| name.starts_with(call)).count();
    // The folder is opened once to look for leftovers, and once to be synced before the scene is renamed and once
    // after.
    assert_eq!((count("rename"), count("open"), count("fsync")), (6, 8, 8), "{log:#?}");
    let mut complaints = Vec::new();
    let mut kills = [0; 2];
    for (name, number) in &calls {
        let kinds = ["signal=SIGKILL", "error=EIO", "error=ENOSPC"];
        for kind in &kinds[..if name == "close" { 2 } else { 3 }] {
            let folder = begun();
            let (is_well, log) = traced(&folder, Some(&format!("{name}:{kind}:when={number}")));
            let hit = log.iter().find(|line| line.contains("(INJECTED)")).map_or("", String::as_str);
            let is_kill = kind.starts_with("signal");
            if is_kill {
                kills[usize::from(contents(folder.path()).0["a.pbrt"] != b"old")] += 1;
            }
            let is_old = contents(folder.path()).0["a.pbrt"] == b"old";
            let said = if is_well && is_old { Some("it ended well".to_owned()) } else { None };
            if let Some(what) = said.or_else(|| wrong(&folder, &new, hit, is_kill)) {
                complaints.push(format!("{name} {number} {kind}: {what}: {hit}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(kills[0] > 20 && kills[1] > 0, "{kills:?}");
}
