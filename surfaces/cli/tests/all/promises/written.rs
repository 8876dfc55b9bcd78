//! Tests every kind of file that the command writes: on a full or failing disk, and killed at any system call.
//!
//! The main thread writes these files, so strace follows no other thread or process, and the Nth call is the same in
//! each run.

use super::disk::on_small_disk;
use super::strace::can_trace;
use super::{COMMAND, assert_no_panic, stderr};
use crate::common::{Folder, command};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CALLS: &str =
    "?write,?pwrite64,?fsync,?fdatasync,?rename,?renameat,?renameat2,?open,?openat,?close,?ftruncate,?fallocate,?mkdir";

const MANIFEST: &str =
    if cfg!(feature = "parquet") { "out/.polyhaul/manifest.parquet" } else { "out/.polyhaul/manifest.jsonl" };

const TRIANGLE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/// A file, and the command that writes it, with paths relative to the test's folder.
struct Case {
    file: &'static str,
    args: &'static [&'static str],
    /// Commands to run before.
    before: &'static [&'static [&'static str]],
}

const BATCH: &[&str] = &["batch", "in", "-o", "out", "--to", "ply", "-j1"];

const fn case(file: &'static str, args: &'static [&'static str]) -> Case {
    Case { file, args, before: &[] }
}

/// Files that are replaced atomically.
const CASES: [Case; 13] = [
    case("out.ply", &["convert", "a.obj", "out.ply", "-j1"]),
    case("out.gltf", &["convert", "a.obj", "out.gltf", "-j1"]),
    case("out.pbrt", &["convert", "a.obj", "out.pbrt", "-j1"]),
    case("out.csv.gz", &["convert", "a.obj", "out.csv.gz", "-j1"]),
    case("run.html", &["convert", "-q", "a.obj", "b.obj", "--report", "run.html", "-j1"]),
    case("trace.json", &["convert", "-q", "a.obj", "b.obj", "--trace", "trace.json", "-j1"]),
    case("chart.svg", &["convert", "-q", "a.obj", "b.obj", "--chart", "chart.svg", "-j1"]),
    case("picture.png", &["preview", "a.obj", "-o", "picture.png", "-j1"]),
    case("sheet.png", &["preview", "a.obj", "in/a.obj", "--sheet", "-o", "sheet.png", "-j1"]),
    Case { file: "page.html", args: &["batch", "status", "out", "--html", "page.html"], before: &[BATCH] },
    Case { file: MANIFEST, args: &["batch", "merge", "out"], before: &[BATCH] },
    Case { file: "out/.polyhaul/fingerprint", args: &["batch", "merge", "out"], before: &[BATCH] },
    case("dds/image.dds", &["texture", "image.tga", "-o", "dds", "-j1"]),
];

/// A folder with inputs.
struct Place(Folder);

impl Place {
    fn new(name: &str) -> Place {
        let place = Place(Folder::new(&format!("written-{name}")));
        for folder in ["in", "dds"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        place.0.file("a.obj", TRIANGLE);
        place.0.file("in/a.obj", TRIANGLE);
        let image = [&[0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 4, 0, 8, 0][..], &[7; 16]].concat();
        std::fs::write(place.path("image.tga"), image).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.0.path("")).join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        command().args(args).current_dir(self.path("")).output().unwrap()
    }

    /// Runs the command, tracing the calls of its main thread.
    fn trace(&self, args: &[&str], inject: Option<&str>) -> Traced {
        let folder = Folder::new(&format!("written-log-{}", self.path("").file_name().unwrap().to_string_lossy()));
        let log = folder.path("log");
        let mut strace = Command::new("strace");
        strace.args(["-y", "-qq", "-s", "8", "-o", &log, "-e", &format!("trace={CALLS}")]);
        if let Some(inject) = inject {
            strace.args(["-e", &format!("inject={inject}")]);
        }
        let output = strace.arg(COMMAND).args(args).current_dir(self.path("")).output().unwrap();
        let log = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
        Traced { output, log }
    }

    /// Lists all temporary files.
    fn litter(&self) -> Vec<String> {
        let mut folders = vec![self.path("")];
        let mut litter = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap()) {
                let name = entry.file_name().into_string().unwrap();
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if name.ends_with(".tmp") {
                    litter.push(name);
                }
            }
        }
        litter
    }

    /// The asset and status of each row of the library.
    fn rows(&self) -> Vec<(String, String)> {
        let output = self.run(&["batch", "rows", "out"]);
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        let rows = String::from_utf8(output.stdout).unwrap();
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        rows.lines().map(row).map(|row| (text(&row, "asset"), text(&row, "status"))).collect()
    }
}

/// A run under strace.
struct Traced {
    output: Output,
    log: String,
}

impl Traced {
    /// The calls whose lines contain `mark`: name, index among calls with this name, and line.
    fn calls(&self, mark: &str) -> Vec<(String, usize, String)> {
        let mut counts = BTreeMap::new();
        let mut calls = Vec::new();
        for line in self.log.lines() {
            let Some((name, _)) = line.split_once('(') else { continue };
            let count = counts.entry(name).or_insert(0);
            *count += 1;
            if line.contains(mark) {
                calls.push((name.to_owned(), *count, line.to_owned()));
            }
        }
        calls
    }

    fn hit(&self) -> &str {
        self.log.lines().find(|line| line.contains("(INJECTED)")).unwrap_or_default()
    }
}

/// An error that the call can return. It varies with `number`.
fn error_of(call: &str, number: usize) -> &'static str {
    let errors: &[&str] = match call {
        "open" | "openat" => &["EMFILE", "ENOSPC", "EIO"],
        _ => &["ENOSPC", "EIO", "EDQUOT"],
    };
    errors[number % errors.len()]
}

/// Whether a call affects a file being replaced. Others search for leftovers or close a lock.
fn is_for_file(line: &str) -> bool {
    line.contains(".tmp")
}

/// Describes the problems after a call of a command has failed, if any.
fn wrong_after(case: &Case, call: &str, number: usize, error: &str) -> Option<String> {
    let place = Place::new("fault");
    case.before.iter().for_each(|args| assert!(place.run(args).status.success()));
    let target = place.path(case.file);
    if case.before.is_empty() {
        std::fs::write(&target, "old").unwrap();
    }
    let old = std::fs::read(&target).unwrap_or_default();
    let traced = place.trace(case.args, Some(&format!("{call}:error={error}:when={number}")));
    let said = stderr(&traced.output);
    assert_no_panic(&said);
    let hit = traced.hit();
    let name = target.file_name().unwrap().to_str().unwrap();
    // The check before the work writes nothing, so only its call that creates the file can fail.
    let must_fail = is_for_file(hit) && (call != "close" || hit.contains("WRONLY") || !is_only_tried(&traced, hit));
    let mut wrong = Vec::new();
    // The number of writes depends on the order of the threads.
    if call != "write" && !hit.starts_with(call) {
        wrong.push("no call was hit".to_owned());
    }
    if traced.output.status.success() == must_fail {
        wrong.push(format!("exit code {:?}", traced.output.status.code()));
    }
    if must_fail && !said.contains(name) {
        wrong.push("the message does not name the file".to_owned());
    }
    let content = std::fs::read(&target).unwrap_or_default();
    if must_fail && content != old {
        wrong.push(format!("the file has {} bytes", content.len()));
    }
    let litter = place.litter();
    if !litter.is_empty() {
        wrong.push(format!("{litter:?} is left"));
    }
    (!wrong.is_empty()).then(|| format!("{}: {call} {number} {error}: {hit}: {said}: {wrong:?}", case.file))
}

/// Whether the file that a call closes receives no bytes.
fn is_only_tried(traced: &Traced, hit: &str) -> bool {
    let Some((_, file)) = hit.split_once('<') else { return false };
    let Some((file, _)) = file.split_once('>') else { return false };
    !traced.log.lines().any(|line| line.starts_with("write") && line.contains(file))
}

#[test]
fn any_failed_call_leaves_the_old_file_of_each_kind() {
    if !can_trace() {
        return;
    }
    let mut wrong = Vec::new();
    for case in &CASES {
        let place = Place::new("clean");
        case.before.iter().for_each(|args| assert!(place.run(args).status.success()));
        std::fs::write(place.path(case.file), "old").unwrap();
        let traced = place.trace(case.args, None);
        assert!(traced.output.status.success(), "{}: {}", case.file, stderr(&traced.output));
        let name = Path::new(case.file).file_name().unwrap().to_str().unwrap();
        let calls = traced.calls(&format!(".{name}.polyhaul-"));
        for kind in ["open", "write", "close", "rename"] {
            assert!(calls.iter().any(|(call, ..)| call.starts_with(kind)), "{}: {}", case.file, traced.log);
        }
        for (call, number, _) in calls {
            let others = if call == "write" { 2 } else { 0 };
            let errors = (number..=number + others).map(|number| error_of(&call, number));
            wrong.extend(errors.filter_map(|error| wrong_after(case, &call, number, error)));
        }
    }
    assert!(wrong.is_empty(), "{} runs: {wrong:#?}", wrong.len());
}

/// A library with one finished and one new asset.
fn library() -> Place {
    let place = Place::new("library");
    assert!(place.run(BATCH).status.success());
    place.0.file("in/b.obj", TRIANGLE);
    place
}

/// The calls of a run or merge on the files in `.polyhaul`.
fn library_calls(args: &[&str], prepare: &dyn Fn() -> Place) -> Vec<(String, usize, String)> {
    let place = prepare();
    let traced = place.trace(args, None);
    assert!(traced.output.status.success(), "{}", stderr(&traced.output));
    let calls = traced.calls(".polyhaul");
    assert!(calls.len() > 10, "{}", traced.log);
    calls
}

/// Asserts that the next run completes a library in any state, without lost, repeated or damaged rows.
fn check_next_run(place: &Place, case: &str) {
    let next = place.run(BATCH);
    assert_eq!(next.status.code(), Some(0), "{case}: {}", stderr(&next));
    assert!(!stderr(&next).contains("damaged"), "{case}: {}", stderr(&next));
    let mut rows = place.rows();
    rows.sort();
    let successes = rows.iter().filter(|(_, status)| status == "done");
    assert_eq!(successes.map(|(asset, _)| asset.as_str()).collect::<Vec<_>>(), ["a.obj", "b.obj"], "{case}: {rows:?}");
    assert_eq!(rows.iter().filter(|(asset, _)| asset == "a.obj").count(), 1, "{case}: {rows:?}");
    let manifest = std::fs::read(place.path(MANIFEST)).unwrap();
    let lines = manifest.iter().filter(|byte| **byte == b'\n').count();
    assert!(cfg!(feature = "parquet") || lines == rows.len(), "{case}");
    let last = place.run(BATCH);
    assert!(stderr(&last).starts_with("0 assets converted, 2 already done"), "{case}: {}", stderr(&last));
}

#[test]
fn any_failed_call_of_a_run_or_a_merge_loses_no_row() {
    if !can_trace() {
        return;
    }
    for (args, prepare) in [(BATCH, &library as &dyn Fn() -> Place), (&["batch", "merge", "out"], &two_logs)] {
        for (call, number, _) in library_calls(args, prepare) {
            check_failure(args, prepare(), &call, number);
        }
    }
}

/// Fails one call of a run or a merge, and checks the result.
fn check_failure(args: &[&str], place: Place, call: &str, number: usize) {
    let before = place.rows();
    let error = error_of(call, number);
    let traced = place.trace(args, Some(&format!("{call}:error={error}:when={number}")));
    let said = stderr(&traced.output);
    let case = format!("{args:?} {call} {number} {error}: {}: {said}", traced.hit());
    assert_no_panic(&said);
    assert!(place.litter().is_empty(), "{case}: {:?}", place.litter());
    // The stored options only serve a message, and failing to close a file after reading it is harmless.
    let is_optional = traced.hit().contains("options") || call == "close" || said.is_empty();
    let has_failed = !traced.output.status.success();
    assert!(has_failed || is_optional || !is_for_file(traced.hit()), "{case}");
    assert!(!has_failed || said.contains("out/.polyhaul") || said.contains("asset"), "{case}");
    let after = place.rows();
    assert!(before.iter().all(|row| after.contains(row)), "{case}: {before:?} {after:?}");
    check_next_run(&place, &case);
}

/// A library with two logs to merge.
fn two_logs() -> Place {
    let place = library();
    assert!(place.run(BATCH).status.success());
    place
}

#[test]
fn a_kill_at_any_call_loses_no_row() {
    if !can_trace() {
        return;
    }
    for (args, prepare) in [(BATCH, &library as &dyn Fn() -> Place), (&["batch", "merge", "out"], &two_logs)] {
        for (call, number, line) in library_calls(args, prepare) {
            let place = prepare();
            let before = place.rows();
            let traced = place.trace(args, Some(&format!("{call}:signal=SIGKILL:when={number}")));
            let case = format!("{args:?} {call} {number}: {line}");
            assert!(!traced.output.status.success(), "{case}");
            let after = place.rows();
            assert!(before.iter().all(|row| after.contains(row)), "{case}: {before:?} {after:?}");
            check_next_run(&place, &case);
        }
    }
}

/// Where files cannot be locked, a merge skips logs that changed recently.
#[test]
fn without_locks_a_merge_waits() {
    if !can_trace() {
        return;
    }
    for error in ["ENOSYS", "EOPNOTSUPP", "ENOLCK"] {
        let place = two_logs();
        let inject = format!("inject=flock:error={error}");
        let merge = || {
            let mut strace = Command::new("strace");
            strace.args(["-qq", "-o", "/dev/null", "-e", "trace=flock", "-e", &inject, COMMAND]);
            let output = strace.args(["batch", "merge", "out", "--json"]).current_dir(place.path("")).output().unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["active_logs"].as_u64().unwrap()
        };
        assert_eq!(merge(), 2, "{error}");
        let logs: Vec<_> =
            place.path("out/.polyhaul/log").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        for log in &logs {
            let file = std::fs::File::options().append(true).open(log).unwrap();
            file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(7200)).unwrap();
        }
        assert_eq!((logs.len(), merge()), (2, 0), "{error}");
        assert_eq!(place.path("out/.polyhaul/log").read_dir().unwrap().count(), 1, "{error}");
        check_next_run(&place, error);
    }
}

/// On a full disk, a file of each kind keeps its old content; once there is space, the command succeeds.
#[test]
fn a_full_disk_leaves_the_old_file_of_each_kind() {
    for case in &CASES {
        let before: String =
            case.before.iter().map(|args| format!("\"$0\" {} -q || exit 3; ", args.join(" "))).collect();
        let script = format!(
            "mkdir in dds; cp \"$2\"/a.obj \"$2\"/image.tga .; cp a.obj in; {before} [ -e {file} ] || echo old > {file}; \
             cp {file} before; head -c 9m /dev/zero > fill 2> /dev/null; \"$0\" {args} > /dev/null; echo \"exit code $?\"; \
             cmp {file} before; find . -name '*.tmp'; rm fill; \"$0\" {args} > /dev/null; echo \"then $?\"",
            file = case.file,
            args = case.args.join(" "),
        );
        let place = Place::new("disk");
        let Some(output) = on_small_disk("1m", &script, &[place.path("").to_str().unwrap()]) else { return };
        let said = stderr(&output);
        assert_no_panic(&said);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "exit code 1\nthen 0\n", "{}: {said}", case.file);
        // In a library, another file may fail first.
        let name = Path::new(case.file).file_name().unwrap().to_str().unwrap();
        let is_named = said.contains(name) || said.contains("/.polyhaul/");
        assert!(said.contains("No space left") && is_named, "{}: {said}", case.file);
    }
}

/// On a disk too full for rows, the run stops with an error, and the next one converts these assets again.
#[test]
fn a_full_disk_for_the_log_stops_the_run() {
    let script = "mkdir in; cp \"$2\"/a.obj in; \"$0\" batch in -o out --to ply -q; cp in/a.obj in/b.obj; \
        cat out/.polyhaul/log/* out/.polyhaul/manifest.jsonl > before; head -c 9m /dev/zero > fill 2> /dev/null; \
        \"$0\" batch in -o out --to ply -q; echo \"exit code $?\"; cat out/.polyhaul/log/* out/.polyhaul/manifest.jsonl | \
        cmp - before; find . -name '*.tmp'; \"$0\" batch rows out | wc -l; rm fill; \"$0\" batch in -o out --to ply --retry-failed; \
        echo \"then $?\"; \"$0\" batch rows out | wc -l";
    let place = Place::new("disk-log");
    let Some(output) = on_small_disk("1m", script, &[place.path("").to_str().unwrap()]) else { return };
    let said = stderr(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "exit code 1\n1\nthen 0\n2\n", "{said}");
    assert!(said.contains("out/.polyhaul/log/") && said.contains("No space left"), "{said}");
}

/// Arrays that do not fit in memory are spilled to the disk of the output, which is full.
#[test]
fn a_full_disk_for_arrays_leaves_the_old_file() {
    let place = Place::new("spill");
    let faces = "f 1 2 3\n".repeat(1_500_000);
    place.0.file("in/large.obj", &format!("v 0 0 0\nv 1 0 0\nv 0 1 0\n{faces}"));
    let large = place.path("in/large.obj");
    let script = "mkdir out; printf old > out/a.ply; \
        \"$0\" convert -q \"$2\" out/a.ply --memory-limit 16MiB -j1; echo \"exit code $?\"; ls -A out; cat out/a.ply";
    let Some(output) = on_small_disk("4m", script, &[large.to_str().unwrap()]) else { return };
    let said = stderr(&output);
    assert_no_panic(&said);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "exit code 1\na.ply\nold", "{said}");
    assert!(said.starts_with("error: "), "{said}");
}
