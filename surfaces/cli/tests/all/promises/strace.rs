//! Fails each system call in turn, or kills the command there: the file is the old or the complete new one, a message
//! names it, and nothing is left behind.

use super::{BIG, COMMAND, assert_no_panic, blender, skip, stderr};
use crate::common::Folder;
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The question marks allow names that some systems lack.
const SYSTEM_CALLS: &str = "?write,?fsync,?rename,?renameat,?renameat2,?open,?openat,?close";

const OLD: &str = "old";

/// The initial content of the folder, and how the command runs.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// Whether a library with the matching name already exists.
    has_library: bool,
    threads: &'static str,
    durable: bool,
    /// The compression of the scene, whatever its extension.
    compress: Option<&'static str>,
    /// The extension of the input, which is converted to itself: a scene, or an image of 2 MB.
    extension: &'static str,
}

const ALONE: Setting = Setting { has_library: false, threads: "-j1", durable: true, compress: None, extension: "obj" };

/// A run under strace.
struct Run {
    folder: Folder,
    output: Output,
    /// The system calls of the command, one per line after the thread id.
    log: Vec<String>,
}

impl Run {
    fn new(setting: Setting, inject: Option<&str>) -> Run {
        static SERIAL: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let serial = SERIAL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = Folder::new(&format!("strace-{serial}"));
        let logs = Folder::new(&format!("strace-log-{serial}"));
        let target = folder.file(&format!("{BIG}.{}", setting.extension), OLD);
        if setting.has_library {
            folder.file(&format!("{BIG}.mtl"), OLD);
        }
        let log = logs.path("log");
        let mut command = Command::new("strace");
        command.args(["-f", "-y", "-qq", "-s", "8", "-o", &log, "-e", &format!("trace={SYSTEM_CALLS}")]);
        if let Some(inject) = inject {
            command.args(["-e", &format!("inject={inject}")]);
        }
        let source = match setting.extension {
            "obj" => blender(BIG),
            extension => image(&logs.path(&format!("image.{extension}"))),
        };
        command.args([COMMAND, "convert", "-q", setting.threads, &source, &target]);
        if setting.durable {
            command.arg("--durable");
        }
        if let Some(codec) = setting.compress {
            command.args(["--compress", codec]);
        }
        let output = command.env("RUST_BACKTRACE", "0").output().unwrap();
        let log = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        Run { folder, output, log: log.lines().map(str::to_owned).collect() }
    }

    fn content(&self, extension: &str) -> String {
        let bytes = fs::read(self.folder.path(&format!("{BIG}.{extension}"))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The calls on our files: the name, and the index among calls with this name in the same thread.
    fn targets(&self) -> Vec<(String, usize)> {
        let place = self.folder.path("");
        let mut counts = BTreeMap::new();
        let mut targets = Vec::new();
        for line in &self.log {
            let Some((thread, call)) = line.split_once(' ') else { continue };
            let Some((name, arguments)) = call.trim_start().split_once('(') else { continue };
            if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                continue;
            }
            let count = counts.entry((thread, name)).or_insert(0);
            *count += 1;
            if arguments.contains(place.trim_end_matches('/')) {
                targets.push((name.to_owned(), *count));
            }
        }
        targets
    }

    fn injected(&self) -> &str {
        self.log.iter().find(|line| line.contains("(INJECTED)")).map_or("no call was hit", String::as_str)
    }

    /// The names of regular files, and of temporary ones.
    fn names(&self) -> (Vec<String>, Vec<String>) {
        self.folder.names().into_iter().partition(|name| !name.ends_with(".tmp"))
    }
}

/// An image file, 700 x 1000 pixels with 24 bits.
fn image(path: &str) -> String {
    let head = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xBC, 2, 0xE8, 3, 24, 0x20];
    fs::write(path, [&head[..], &b"rgb".repeat(700_000)].concat()).unwrap();
    path.to_owned()
}

/// The expected files: scene and library, or image.
fn new(setting: Setting) -> &'static (String, String) {
    static NEW: [OnceLock<(String, String)>; 3] = [const { OnceLock::new() }; 3];
    let place = if setting.extension == "obj" { usize::from(setting.compress.is_some()) } else { 2 };
    NEW[place].get_or_init(|| {
        let run = Run::new(Setting { compress: setting.compress, extension: setting.extension, ..ALONE }, None);
        assert!(run.output.status.success(), "{}", stderr(&run.output));
        (run.content(setting.extension), run.content("mtl"))
    })
}

pub(super) fn can_trace() -> bool {
    let trial = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let works = trial.is_ok_and(|output| output.status.success());
    if !works {
        skip("strace is not installed or may not trace");
    }
    works
}

/// The calls on our files in a run without faults.
fn targets(setting: Setting) -> Vec<(String, usize)> {
    let run = Run::new(setting, None);
    assert!(run.output.status.success() && run.content(setting.extension) == new(setting).0, "{}", stderr(&run.output));
    let targets = run.targets();
    for call in ["write", "rename", "open", "close"] {
        assert!(targets.iter().any(|(name, _)| name.starts_with(call)), "{:#?}", run.log);
    }
    let writes = targets.iter().filter(|(name, _)| name == "write").count();
    assert!(writes >= if setting.compress.is_some() { 3 } else { 9 }, "{:#?}", run.log);
    targets
}

/// Describes the problems after a call has failed, if any.
fn wrong_after_failure(setting: Setting, name: &str, number: usize, error: &str) -> Option<String> {
    let run = Run::new(setting, Some(&format!("{name}:error={error}:when={number}")));
    let hit = run.injected();
    let said = stderr(&run.output);
    let case = format!("{setting:?} {name} {number} {error}: {hit}: {said}");
    if !hit.contains(name) {
        return Some(case);
    }
    assert_no_panic(&said);
    // After the last rename, only the folder is synced and closed: the complete new file is in place.
    let in_place = !hit.contains(".tmp") && !hit.contains(".mtl") && matches!(name, "fsync" | "close");
    // Harmless failures: searching for leftovers, and closing the lock of a file that is already in place. If no spill
    // file can be created, arrays stay in memory.
    let is_harmless =
        hit.contains("O_DIRECTORY") || hit.contains("O_TMPFILE") || name == "close" && !hit.contains(".tmp");
    let (names, litter) = run.names();
    let library = run.content("mtl");
    let mut wrong = Vec::new();
    if run.output.status.code() != Some(if is_harmless { 0 } else { 1 }) {
        wrong.push(format!("exit code {:?}", run.output.status.code()));
    }
    if !litter.is_empty() {
        wrong.push(format!("left behind: {litter:?}"));
    }
    let content = run.content(setting.extension);
    if content != OLD && !((in_place || is_harmless) && content == new(setting).0) {
        wrong.push(format!("the scene has {} bytes", content.len()));
    }
    if setting.has_library && library != OLD && library != new(setting).1 {
        wrong.push(format!("the library has {} bytes", library.len()));
    }
    if !setting.has_library && names.len() > 1 && content == OLD {
        wrong.push(format!("the scene is the old one, with a new library beside it: {names:?}"));
    }
    if !run.output.status.success() && !said.contains(&format!("{BIG}.")) {
        wrong.push("the message does not name the file".into());
    }
    (!wrong.is_empty()).then(|| format!("{}; {case}", wrong.join(", ")))
}

/// Fails every call on our files in turn with each of these errors.
fn fail_all(setting: Setting, errors: impl Fn(&str) -> &'static [&'static str]) {
    if !can_trace() {
        return;
    }
    let mut wrong = Vec::new();
    for (name, number) in targets(setting) {
        for error in errors(&name) {
            wrong.extend(wrong_after_failure(setting, &name, number, error));
        }
    }
    assert!(wrong.is_empty(), "{} runs: {wrong:#?}", wrong.len());
}

#[test]
fn a_write_that_fails_leaves_the_old_file() {
    fail_all(ALONE, |name| match name {
        "write" => &["ENOSPC", "EDQUOT", "EIO"],
        _ => &[],
    });
}

#[test]
fn an_open_sync_or_close_that_fails_leaves_the_old_file() {
    fail_all(ALONE, |name| match name {
        "open" | "openat" => &["EMFILE", "ENOSPC"],
        "fsync" | "close" => &["EIO", "ENOSPC"],
        _ => &[],
    });
}

#[test]
fn a_rename_that_fails_leaves_the_old_file() {
    fail_all(ALONE, |name| if name.starts_with("rename") { &["ENOSPC", "EIO"] } else { &[] });
}

#[test]
fn without_durable_and_with_an_old_library_it_is_the_same() {
    let setting = Setting { has_library: true, durable: false, ..ALONE };
    fail_all(setting, |name| if name == "write" { &["ENOSPC"] } else { &["EIO"] });
}

/// A compressed scene is also written to a single file atomically.
#[test]
fn a_compressed_scene_is_the_same() {
    let setting = Setting { compress: Some("gzip"), ..ALONE };
    fail_all(setting, |name| match name {
        "write" => &["ENOSPC", "EIO"],
        _ => &["EIO"],
    });
}

/// An image is a single file without a library.
#[test]
fn an_image_is_the_same() {
    fail_all(Setting { extension: "tga", ..ALONE }, |name| match name {
        "write" => &["ENOSPC", "EIO"],
        "open" | "openat" => &["EMFILE"],
        _ => &["EIO"],
    });
}

#[test]
fn a_kill_leaves_the_old_or_the_new_image() {
    if !can_trace() {
        return;
    }
    let setting = Setting { extension: "tga", ..ALONE };
    let mut old = 0;
    let mut whole = 0;
    for (name, number) in targets(setting) {
        let run = Run::new(setting, Some(&format!("{name}:signal=SIGKILL:when={number}")));
        let content = run.content("tga");
        old += usize::from(content == OLD);
        whole += usize::from(content == new(setting).0);
        assert!(content == OLD || content == new(setting).0, "{name} {number}: {} bytes", content.len());
        assert!(!run.output.status.success() && run.names().1.len() <= 1, "{name} {number}: {:?}", run.names());
    }
    assert!(old > 5 && whole > 0, "old {old}, new {whole}");
}

/// With several threads, calls vary between them, so call number N fails in every thread.
#[test]
fn on_two_threads_it_is_the_same() {
    if !can_trace() {
        return;
    }
    let setting = Setting { threads: "-j2", ..ALONE };
    for (name, error) in [("write", "ENOSPC"), ("write", "EIO"), ("fsync", "EIO")] {
        for number in 1..=3 {
            let run = Run::new(setting, Some(&format!("{name}:error={error}:when={number}")));
            let hit = run.injected();
            let said = stderr(&run.output);
            if hit.contains(".tmp") {
                assert_eq!((run.output.status.code(), run.content("obj").as_str()), (Some(1), OLD), "{hit}: {said}");
                assert_eq!(run.folder.names(), [format!("{BIG}.obj")], "{hit}: {said}");
            }
        }
    }
}

#[test]
fn a_kill_leaves_the_old_or_the_new_file() {
    if !can_trace() {
        return;
    }
    let setting = Setting { has_library: true, ..ALONE };
    let mut old = 0;
    let mut whole = 0;
    for (name, number) in targets(setting) {
        let run = Run::new(setting, Some(&format!("{name}:signal=SIGKILL:when={number}")));
        assert!(!run.output.status.success(), "{name} {number}");
        let content = run.content("obj");
        let library = run.content("mtl");
        old += usize::from(content == OLD);
        whole += usize::from(content == new(ALONE).0);
        assert!(content == OLD || content == new(ALONE).0, "{name} {number}: {} bytes", content.len());
        assert!(library == OLD || library == new(ALONE).1, "{name} {number}: {library}");
        // The new scene never coexists with the old library.
        assert!(content == OLD || library == new(ALONE).1, "{name} {number}: {library}");
        assert!(run.names().1.len() <= 2, "{name} {number}: {:?}", run.names());
    }
    assert!(old > 5 && whole > 0, "old {old}, new {whole}");
}

/// A signal at any call either arrives in time, and nothing changes, or too late, and the file is complete.
#[test]
fn a_signal_at_any_call_leaves_a_whole_file() {
    if !can_trace() {
        return;
    }
    for (i, (name, number)) in targets(ALONE).into_iter().enumerate() {
        let (signal, code) = if i % 2 == 0 { ("SIGINT", 130) } else { ("SIGTERM", 143) };
        let run = Run::new(ALONE, Some(&format!("{name}:signal={signal}:when={number}")));
        let content = run.content("obj");
        let names = run.names();
        let case = format!("{signal} at {name} {number}: {:?}, {names:?}, {}", run.output.status, stderr(&run.output));
        assert!(names.1.is_empty(), "{case}");
        match run.output.status.code() {
            Some(0) => assert!(content == new(ALONE).0, "{case}"),
            Some(exit_code) if exit_code == code => assert!(content == OLD && names.0.len() == 1, "{case}"),
            _ => panic!("{case}"),
        }
    }
}

#[test]
fn durable_syncs_before_it_renames() {
    if !can_trace() {
        return;
    }
    let run = Run::new(ALONE, None);
    let of = |name: &str, what: &str| {
        let matches = |line: &&String| line.contains(&format!(" {name}")) && line.contains(what);
        run.log.iter().position(|line| matches(&line)).unwrap_or_else(|| panic!("no {name} of {what}: {:#?}", run.log))
    };
    for extension in ["mtl", "obj"] {
        let temporary = format!(".{BIG}.{extension}.");
        let order =
            [of("write", &temporary), of("fsync", &temporary), of("close", &temporary), of("rename", &temporary)];
        assert!(order.is_sorted(), "{order:?} {:#?}", run.log);
        let folder = format!("{}>", run.folder.path("").trim_end_matches('/'));
        let synced = run.log.iter().rposition(|line| line.contains(" fsync") && line.contains(&folder));
        assert!(synced > order.last().copied(), "{:#?}", run.log);
    }
    let plain = Run::new(Setting { durable: false, ..ALONE }, None);
    assert!(!plain.log.iter().any(|line| line.contains(" fsync")));
}
