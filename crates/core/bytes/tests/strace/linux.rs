//! The tests, the child process, and the parser for strace's log.

use super::common::Folder;
use polyhaul_bytes::{BLOCK_BYTES, FileOptions, Sink};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, SystemTime};

/// The variable with the file that a child writes to. If it is set, no tests run.
const TARGET: &str = "POLYHAUL_TEST_TARGET";
const DURABLE: &str = "POLYHAUL_TEST_DURABLE";
const FOLDER: &str = "POLYHAUL_TEST_FOLDER";
/// Paths that the child looks up before and after its work, to distinguish its system calls from startup and exit.
const START: &str = "/polyhaul-start";
const END: &str = "/polyhaul-end";
const OLD: &[u8] = b"old";
const BLOCK_COUNT: usize = 3;
/// The question marks allow calls that some systems lack.
const SYSTEM_CALLS: &str =
    "?write,?fsync,?rename,?renameat,?renameat2,?open,?openat,?close,?unlink,?unlinkat,?lstat,?newfstatat,?statx";

const TESTS: [(&str, fn()); 10] = [
    ("any_failed_call_leaves_the_old_file", any_failed_call_leaves_the_old_file),
    ("a_kill_leaves_the_old_or_the_new_file", a_kill_leaves_the_old_or_the_new_file),
    ("the_run_after_a_killed_one_removes_its_leftovers", the_run_after_a_killed_one_removes_its_leftovers),
    ("durable_syncs_in_the_right_order", durable_syncs_in_the_right_order),
    ("blocks_reach_the_system_unchanged", blocks_reach_the_system_unchanged),
    ("a_new_file_obeys_the_umask", a_new_file_obeys_the_umask),
    ("a_replaced_file_ignores_the_umask", a_replaced_file_ignores_the_umask),
    ("another_group_gets_no_more_rights_than_everyone", another_group_gets_no_more_rights_than_everyone),
    ("a_full_disk_leaves_the_old_file", a_full_disk_leaves_the_old_file),
    ("a_file_size_limit_is_an_error", a_file_size_limit_is_an_error),
];

/// Runs the tests whose names contain an argument, or all; or the child, if the environment has a target.
pub(super) fn main() -> ExitCode {
    if let Some(target) = std::env::var_os(TARGET) {
        return child_main(Path::new(&target));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_list = arguments.iter().any(|a| a == "--list");
    if is_list && arguments.iter().any(|a| a == "--ignored") {
        return ExitCode::SUCCESS;
    }
    let filters: Vec<_> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|f| name.contains(*f));
    let mut passed_count = 0;
    let mut failed_count = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| is_wanted(name)) {
        let verdict = match is_list {
            true => "test",
            false if std::panic::catch_unwind(test).is_ok() => "ok",
            false => "FAILED",
        };
        passed_count += usize::from(verdict == "ok");
        failed_count += usize::from(verdict == "FAILED");
        say(&format!("{name}: {verdict}"));
    }
    // `cargo xtask test` parses lines like those of Rust's harness.
    if !is_list {
        let verdict = if failed_count == 0 { "ok" } else { "FAILED" };
        say(&format!("test result: {verdict}. {passed_count} passed; {failed_count} failed; 0 ignored"));
    }
    ExitCode::from(u8::from(failed_count > 0))
}

fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn child_main(target: &Path) -> ExitCode {
    let durable = std::env::var_os(DURABLE).is_some();
    let _ = fs::symlink_metadata(START);
    let result = write_blocks(target, durable);
    let _ = fs::symlink_metadata(END);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn write_blocks(path: &Path, durable: bool) -> io::Result<()> {
    let mut sink = Sink::file(path, FileOptions::default().with_durable(durable))?;
    for block in new_content().chunks(BLOCK_BYTES) {
        sink.write_all(block)?;
    }
    sink.finish().map(drop)
}

fn new_content() -> Vec<u8> {
    vec![b'n'; BLOCK_COUNT * BLOCK_BYTES]
}

/// Returns a command that runs this binary as a child of `wrapper`.
fn child(wrapper: &[&str], target: &Path) -> Command {
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(std::env::current_exe().unwrap());
    command.env(TARGET, target);
    command
}

/// Returns a command for a child started from a shell script as `"$0"`.
fn child_in_shell(script: &str, target: &Path) -> Command {
    child(&["sh", "-c", script], target)
}

fn can_trace() -> bool {
    let trial = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let works = trial.is_ok_and(|output| output.status.success());
    if !works {
        say("SKIPPED: strace is not installed or may not trace");
    }
    works
}

/// A run of the child under strace.
struct Run {
    folder: Folder,
    status: ExitStatus,
    /// The child's calls before its work, one line each.
    earlier: Vec<String>,
    /// The calls during its work.
    calls: Vec<String>,
    injected: Option<String>,
}

impl Run {
    fn clean(durable: bool) -> Run {
        Run::new(None, durable)
    }

    fn with(inject: &str) -> Run {
        Run::new(Some(format!("inject={inject}")), true)
    }

    fn new(inject: Option<String>, durable: bool) -> Run {
        let folder = Folder::new();
        let target = folder.file("target", OLD);
        let logs = Folder::new();
        let log = logs.join("log");
        let trace = format!("trace={SYSTEM_CALLS}");
        let mut wrapper = vec!["strace", "-y", "-qq", "-s", "8", "-o", log.to_str().unwrap()];
        for expression in [Some(&trace), inject.as_ref()].into_iter().flatten() {
            wrapper.extend(["-e", expression]);
        }
        let mut command = child(&wrapper, &target);
        if durable {
            command.env(DURABLE, "1");
        }
        let status = command.output().unwrap().status;
        let log = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        Run::parse(folder, status, &log)
    }

    fn parse(folder: Folder, status: ExitStatus, log: &str) -> Run {
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        let find = |mark: &str| lines.iter().position(|line| line.contains(mark));
        let start = find(START).unwrap_or(lines.len());
        let end = find(END).unwrap_or(lines.len());
        Run {
            folder,
            status,
            earlier: lines[..start].to_vec(),
            calls: lines.get(start + 1..end).unwrap_or_default().to_vec(),
            injected: find("(INJECTED)").map(|i| lines[i].clone()),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.calls.iter().map(|call| name_of(call)).collect()
    }

    fn content(&self) -> Vec<u8> {
        fs::read(self.folder.join("target")).unwrap()
    }

    /// Returns the calls to fail in the child's work: the name, and the number among all calls of that name.
    fn targets(&self) -> Vec<(&'static str, usize)> {
        let names = ["write", "fsync", "rename", "renameat", "renameat2", "open", "openat", "close"];
        let mut targets = Vec::new();
        for name in names {
            let count = |calls: &[String]| calls.iter().filter(|call| name_of(call) == name).count();
            let before = count(&self.earlier);
            let call_count = count(&self.calls);
            targets.extend((1..=call_count).map(|n| (name, before + n)));
        }
        targets
    }
}

fn name_of(call: &str) -> &str {
    call.split('(').next().unwrap_or_default()
}

fn any_failed_call_leaves_the_old_file() {
    if !can_trace() {
        return;
    }
    let clean = Run::clean(true);
    assert!(clean.status.success());
    assert!(clean.content() == new_content());
    let targets = clean.targets();
    for prefix in ["write", "fsync", "rename", "open", "close"] {
        assert!(targets.iter().any(|(name, _)| name.starts_with(prefix)), "{:?}", clean.calls);
    }
    for (name, n) in targets {
        check_failure(name, n, "ENOSPC");
        match name {
            "write" => check_failure(name, n, "EDQUOT"),
            "open" | "openat" => check_failure(name, n, "EMFILE"),
            _ => check_failure(name, n, "EIO"),
        }
    }
}

fn check_failure(name: &str, n: usize, error: &str) {
    let run = Run::with(&format!("{name}:error={error}:when={n}"));
    let hit = run.injected.as_deref().unwrap_or("no call");
    assert!(hit.starts_with(name), "{name} {n}: {hit}");
    assert_eq!(run.folder.names(), ["target"], "{hit}");
    // All calls on the temporary file precede the rename. Afterwards, the folder is synced, where a failure leaves the
    // new file in place, and closed, which does not affect the file.
    let is_after_rename = !hit.contains(".tmp") && matches!(name, "fsync" | "close");
    // The search for leftovers may fail.
    let is_search = hit.contains("O_DIRECTORY");
    let expected = if is_after_rename || is_search { new_content() } else { OLD.to_vec() };
    assert!(run.content() == expected, "{hit}");
    assert_eq!(run.status.success(), is_after_rename && name == "close" || is_search, "{hit}");
}

fn a_kill_leaves_the_old_or_the_new_file() {
    if !can_trace() {
        return;
    }
    let mut old_count = 0;
    let mut new_count = 0;
    for (name, n) in Run::clean(true).targets() {
        let run = Run::with(&format!("{name}:signal=SIGKILL:when={n}"));
        assert!(!run.status.success(), "{name} {n}");
        let content = run.content();
        old_count += usize::from(content == OLD);
        new_count += usize::from(content == new_content());
        assert!(content == OLD || content == new_content(), "{name} {n}: {}", content.len());
    }
    assert!(old_count > 0 && new_count > 0, "killed before ({old_count}) and after ({new_count}) the rename");
}

fn the_run_after_a_killed_one_removes_its_leftovers() {
    if !can_trace() {
        return;
    }
    let mut left_count = 0;
    for (name, n) in Run::clean(true).targets() {
        let run = Run::with(&format!("{name}:signal=SIGKILL:when={n}"));
        let left: Vec<String> = run.folder.names().into_iter().filter(|name| name.ends_with(".tmp")).collect();
        left_count += left.len();
        let next = || {
            assert!(child_in_shell("exec \"$0\"", &run.folder.join("target")).status().unwrap().success());
            run.folder.names()
        };
        assert_eq!(next().len(), 1 + left.len(), "young files may be in use: {name} {n}");
        for name in &left {
            let file = fs::File::options().write(true).open(run.folder.join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(61)).unwrap();
        }
        assert_eq!(next(), ["target"], "{name} {n}");
        assert!(run.content() == new_content());
    }
    assert!(left_count > 3, "{left_count}");
}

fn durable_syncs_in_the_right_order() {
    if !can_trace() {
        return;
    }
    let run = Run::clean(true);
    let names = run.names();
    let first = |name: &str| names.iter().position(|n| n.starts_with(name)).unwrap();
    let last = |name: &str| names.iter().rposition(|n| n.starts_with(name)).unwrap();
    let closed = run.calls.iter().position(|call| name_of(call) == "close" && call.contains(".tmp>")).unwrap();
    let order = [last("write"), first("fsync"), closed, first("rename"), last("fsync"), last("close")];
    assert!(order.is_sorted_by(|a, b| a < b), "{:#?}", run.calls);
    assert!(run.calls[first("fsync")].contains(".tmp>"), "{:#?}", run.calls);
    let folder = format!("{}>", run.folder.path().display());
    assert!(run.calls[last("fsync")].contains(&folder), "{:#?}", run.calls);
    assert!(!Run::clean(false).names().contains(&"fsync"));
}

fn blocks_reach_the_system_unchanged() {
    if !can_trace() {
        return;
    }
    let run = Run::clean(false);
    let writes: Vec<_> = run.calls.iter().filter(|call| name_of(call) == "write").collect();
    assert_eq!(writes.len(), BLOCK_COUNT);
    assert!(writes.iter().all(|call| call.ends_with("= 65536")), "{writes:?}");
}

fn a_new_file_obeys_the_umask() {
    for (umask, expected) in [("000", 0o666), ("022", 0o644), ("077", 0o600)] {
        let folder = Folder::new();
        let target = folder.join("target");
        let output = child_in_shell(&format!("umask {umask}; exec \"$0\""), &target).output().unwrap();
        assert!(output.status.success());
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, expected, "umask {umask}");
    }
}

fn a_replaced_file_ignores_the_umask() {
    let folder = Folder::new();
    let target = folder.file("target", OLD);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o666)).unwrap();
    let output = child_in_shell("umask 077; exec \"$0\"", &target).output().unwrap();
    assert!(output.status.success());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o7777, 0o666);
}

fn another_group_gets_no_more_rights_than_everyone() {
    let folder = Folder::new();
    let target = folder.file("target", OLD);
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    for (old, new) in [(0o666, 0o666), (0o676, 0o666), (0o662, 0o622)] {
        // The child runs as a user who is neither the owner nor in the group, and cannot change either.
        fs::set_permissions(&target, fs::Permissions::from_mode(old)).unwrap();
        std::os::unix::fs::chown(&target, Some(12), Some(34)).ok();
        if !child(&nobody, &target).output().is_ok_and(|output| output.status.success()) {
            return say("SKIPPED: this test cannot become another user");
        }
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o7777, new, "{old:o}");
    }
}

fn a_full_disk_leaves_the_old_file() {
    let folder = Folder::new();
    // Only the child sees the mount, so it also inspects the result.
    let run = |script: &str| {
        let script = format!("mount -t tmpfs -o size=100k none \"${FOLDER}\" && cd \"${FOLDER}\" && {script}");
        let mut command = child(&["unshare", "-rm", "sh", "-c", &script], &folder.join("target"));
        command.env(FOLDER, folder.path()).output()
    };
    if !run("true").is_ok_and(|output| output.status.success()) {
        return say("SKIPPED: no small disk can be mounted here");
    }
    let output = run("printf old > target; \"$0\"; echo \"exit code $?\"; ls -A; cat target").unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "exit code 1\ntarget\nold");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("No space left"), "{message}");
}

fn a_file_size_limit_is_an_error() {
    let folder = Folder::new();
    let target = folder.file("target", OLD);
    // Programs must ignore the signal themselves to get the error. The unit is 512 or 1024 bytes, so the limit is less
    // than three blocks in both cases.
    let output = child_in_shell("trap '' XFSZ; ulimit -f 100; exec \"$0\"", &target).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read(&target).unwrap(), OLD);
    assert_eq!(folder.names(), ["target"]);
}
