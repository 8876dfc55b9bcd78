//! Programs see the same bytes and positions with small reads answered from memory as without, in whatever way they use
//! their descriptors, and the recorder steps aside where it could not be sure.
//!
//! `coherent.c` has the programs. Without a C compiler, the tests pass with a note on standard error.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use polyhaul_watch::cure::AsideReason::{self, Controlled, Crowded, FileSystem, Shared, Unseen, Written};
use polyhaul_watch::preload;
use polyhaul_watch::trace::{Seen, Wanted};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Cases in which reads are answered and nothing stops that.
const CURED: [&str; 47] = [
    "small",
    "lines",
    "seek_set",
    "seek_current",
    "seek_end",
    "seek_data",
    "size_first",
    "mixed_sizes",
    "positioned",
    "vectors",
    "nothing",
    "bad_pointer",
    "unmapped",
    "protected",
    "page_border",
    "twice",
    "reopened",
    "unlinked",
    "renamed",
    "mapped",
    "flags",
    "status",
    "read_only",
    "unbuffered",
    "buffered",
    "threads",
    "threads_share",
    "handlers",
    "jumps",
    "large",
    "own_output",
    "chunks",
    "backwards",
    "many_opens",
    "errors",
    "duplicated",
    "replaced",
    "itself",
    "fcntl_duplicated",
    "locked",
    "flocked",
    "rest",
    "sent",
    "spliced",
    "copied",
    "current_vectors",
    "proc",
];

/// Cases in which reads are answered at first.
const STOPPED: [(&str, AsideReason); 22] = [
    ("not_replaced", Controlled),
    ("forked", Shared),
    ("forked_in_turns", Shared),
    ("executed", Shared),
    ("spawned", Shared),
    ("spawned_input", Shared),
    ("vforked", Shared),
    ("shell", Shared),
    ("changed_here", Written),
    ("changed_while_open", Written),
    ("appended", Written),
    ("changed_by_child", Shared),
    ("changed_by_program", Written),
    ("changed_by_output", Written),
    ("truncated", Written),
    ("truncated_by_open", Written),
    ("shortened", Written),
    ("mapped_writer", Written),
    ("passed", Shared),
    ("sandboxed", Unseen),
    ("queued", Unseen),
    ("crowded", Crowded),
];

/// Cases without a file to cure.
const OTHERS: [&str; 5] = ["both", "pipes", "zeros", "folder", "standard_input"];

/// The compiled programs, or `None` without a compiler.
fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| common::compiled("coherent")).as_deref()
}

/// A folder with the file that a case reads.
fn folder(case: &str, kind: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cure").join(format!("{case}-{kind}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut state = 1u32;
    let mut byte = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        b"abcdefghijklmnopqrstuvwxyz01234\n"[(state >> 16) as usize % 32]
    };
    fs::write(folder.join("data"), (0..256 * 1024).map(|_| byte()).collect::<Vec<u8>>()).unwrap();
    fs::copy(folder.join("data"), folder.join("input")).unwrap();
    folder
}

/// What a case leaves: its output and files, by name.
fn left(folder: &Path) -> Vec<(OsString, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

/// Runs a case recorded, without or with small reads answered.
fn run(program: &Path, case: &str, cured: &[&str]) -> (Seen, Vec<(OsString, Vec<u8>)>) {
    let folder = folder(case, if cured.is_empty() { "plain" } else { "cured" });
    let script = r#"cd "$2" && exec "$0" "$1" > output.txt < input"#;
    let parts: [&Path; 6] = ["sh".as_ref(), "-c".as_ref(), script.as_ref(), program, case.as_ref(), &folder];
    let cured = cured.iter().map(|pattern| (*pattern).into()).collect();
    let seen = preload::watch(&parts.map(OsString::from), Wanted { cured, ..Wanted::default() }, &|_| ()).unwrap();
    (seen, left(&folder))
}

/// Runs a case without and with the cure, and asserts that both leave the same. Returns the reads and seeks that were
/// answered, and why the cure stopped.
#[track_caller]
fn cure(program: &Path, case: &str) -> (u64, Vec<AsideReason>) {
    let (plain, expected) = run(program, case, &[]);
    let (seen, files) = run(program, case, &["*/data", "*/sparse", "*/out", "/proc/*"]);
    assert_eq!(seen.end, plain.end, "{case}");
    for ((name, bytes), (expected_name, expected_bytes)) in files.iter().zip(&expected) {
        assert_eq!(name, expected_name, "{case}");
        let text = String::from_utf8_lossy(bytes);
        assert!(
            bytes == expected_bytes,
            "{case}: {name:?}: {text}\ninstead of\n{}",
            String::from_utf8_lossy(expected_bytes)
        );
    }
    assert_eq!(files.len(), expected.len(), "{case}");
    let answered = seen.cures.iter().map(|file| file.answered).sum();
    (answered, seen.cures.iter().flat_map(|file| &file.asides).map(|aside| aside.reason).collect())
}

#[test]
fn reads_are_answered_as_without_the_cure() {
    let Some(program) = program() else { return };
    for case in CURED {
        let (answered, reasons) = cure(program, case);
        let is_local = case != "proc";
        assert_eq!(answered > 0, is_local, "{case}");
        assert_eq!(reasons, if is_local { vec![] } else { vec![FileSystem] }, "{case}");
    }
}

#[test]
fn the_cure_stops_where_others_could_tell() {
    let Some(program) = program() else { return };
    for (case, reason) in STOPPED {
        let (answered, reasons) = cure(program, case);
        assert!(reasons.contains(&reason), "{case}: {answered} answered, {reasons:?}");
    }
    for case in OTHERS {
        assert_eq!(cure(program, case).0, 0, "{case}");
    }
}

/// Compiles the cure into a program with threads, and runs it. Returns `None` if these options are not supported.
fn race(name: &str, options: &[&str]) -> Option<Output> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/racing.c");
    let program = folder.join(name);
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-g", "-w", "-pthread"]).args(options).arg("-o").arg(&program).arg(source);
    compile.output().ok().filter(|output| output.status.success())?;
    // ThreadSanitizer needs its usual addresses.
    let mut run = Command::new("setarch");
    run.arg("-R").arg(&program).arg(folder.join(format!("{name}.data")));
    let output = run.output().ok()?;
    let is_refused = String::from_utf8_lossy(&output.stderr).contains("setarch:");
    (!is_refused && !String::from_utf8_lossy(&output.stderr).contains("unexpected memory mapping")).then_some(output)
}

#[test]
fn threads_share_positions_without_races() {
    for (name, options) in [("racing", &[][..]), ("racing-checked", &["-fsanitize=thread"])] {
        let Some(output) = race(name, options) else {
            assert!(!options.is_empty() || program().is_none(), "{name} cannot be compiled");
            let _ = writeln!(std::io::stderr(), "SKIPPED: {name} cannot be compiled or run");
            continue;
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed == "all reads are right\n", "{name}: {printed}{errors}");
        assert!(!errors.contains("ThreadSanitizer"), "{name}: {errors}");
    }
}
