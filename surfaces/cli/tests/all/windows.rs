//! Windows: console events, line endings, and reserved names.

use crate::common::{BROKEN, Folder, SOUND, command, run};
use std::fs::File;
use std::io::{Error, Write};
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts the process with a new console without a window.
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
/// The environment variable with the task of [`helper`].
const TASK: &str = "POLYHAUL_TEST_TASK";
const COLUMNS: usize = 80;
const ROWS: usize = 20;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn FreeConsole() -> i32;
    fn AttachConsole(process: u32) -> i32;
    fn SetConsoleCtrlHandler(handler: Option<extern "system" fn(u32) -> i32>, add: i32) -> i32;
    fn GenerateConsoleCtrlEvent(event: u32, group: u32) -> i32;
    fn ReadConsoleOutputCharacterW(console: RawHandle, out: *mut u16, count: u32, start: u32, read: *mut u32) -> i32;
}

/// Not a test, but a program that runs in its own console.
#[test]
fn helper() {
    let Ok(task) = std::env::var(TASK) else { return };
    let words: Vec<&str> = task.split('|').collect();
    match words[..] {
        ["event", event, process, group] => {
            send(event.parse().unwrap(), process.parse().unwrap(), group.parse().unwrap())
        }
        ["screen", ref args @ ..] => std::fs::write(args[0], screen_after(&args[1..])).unwrap(),
        _ => unreachable!("{task}"),
    }
}

/// Runs [`helper`] in a folder.
fn help(task: &str, folder: &Folder) {
    let mut helper = Command::new(std::env::current_exe().unwrap());
    helper.args(["--exact", "windows::helper"]).env(TASK, task).creation_flags(CREATE_NO_WINDOW);
    let output = helper.current_dir(folder.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Sends an event to a process group in the console of `process`; group 0 means all its processes.
fn send(event: u32, process: u32, group: u32) {
    extern "system" fn ignore(_: u32) -> i32 {
        1
    }
    // SAFETY: the calls take integers; the handler is a function.
    unsafe {
        FreeConsole();
        assert_ne!(AttachConsole(process), 0, "{}", Error::last_os_error());
        SetConsoleCtrlHandler(Some(ignore), 1);
        assert_ne!(GenerateConsoleCtrlEvent(event, group), 0, "{}", Error::last_os_error());
    }
}

/// The text in the console after running the command.
fn screen_after(args: &[&str]) -> String {
    let console = File::options().read(true).write(true).open("CONOUT$").unwrap();
    let handle = || console.try_clone().unwrap();
    command().args(args).stdout(handle()).stderr(handle()).status().unwrap();
    let mut letters = [0; COLUMNS * ROWS];
    let mut count = 0;
    // SAFETY: `letters` has as many elements as the call is allowed to write.
    let is_read = unsafe {
        ReadConsoleOutputCharacterW(console.as_raw_handle(), letters.as_mut_ptr(), letters.len() as u32, 0, &mut count)
    };
    assert_ne!(is_read, 0, "{}", Error::last_os_error());
    let rows = letters.chunks(COLUMNS).map(|row| String::from_utf16_lossy(row).trim_end().to_owned() + "\n");
    rows.collect::<String>().trim_end().to_owned()
}

/// Starts a command with its own console.
fn spawn(args: &[&str], flags: u32) -> Child {
    let mut command = command();
    command.args(args).creation_flags(CREATE_NO_WINDOW | flags).stdin(Stdio::piped()).stderr(Stdio::piped());
    command.stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn ctrl_c_removes_the_temporary_file_and_the_old_file_stays() {
    check_event("windows-ctrl-c", 0, 0, 130);
}

#[test]
fn ctrl_break_does_the_same() {
    check_event("windows-ctrl-break", CREATE_NEW_PROCESS_GROUP, 1, 143);
}

#[track_caller]
fn check_event(name: &str, flags: u32, event: u32, code: i32) {
    let folder = Folder::new(name);
    let scene = folder.file("in.obj", &SOUND.repeat(10_000));
    let out = folder.file("out.obj", "old");
    let mut child = spawn(&["convert", &scene, &out, "--write-rate=10kB/s"], flags);
    let end = Instant::now() + Duration::from_secs(60);
    while folder.names().len() < 3 {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = child.id();
    help(&format!("event|{event}|{process}|{}", if flags == 0 { 0 } else { process }), &folder);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!(
        (&*folder.names(), &*std::fs::read(&out).unwrap()),
        (&["in.obj".into(), "out.obj".into()][..], &b"old"[..])
    );
}

#[test]
fn an_event_ends_a_read_that_hangs() {
    let folder = Folder::new("windows-hang");
    let mut child = spawn(&["convert", "-", &folder.path("out.obj")], 0);
    let mut pipe = child.stdin.take().unwrap();
    // More than a pipe holds, so the command has started reading.
    pipe.write_all(SOUND.repeat(20_000).as_bytes()).unwrap();
    help(&format!("event|0|{}|0", child.id()), &folder);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.names().is_empty());
}

/// Holds whether the console interprets escape sequences, or colors are set by calls.
#[test]
fn a_console_shows_text_and_no_escape_sequences() {
    check_console("auto");
}

#[test]
fn a_console_without_colors_shows_text() {
    check_console("never");
}

#[track_caller]
fn check_console(color: &str) {
    let folder = Folder::new(&format!("windows-console-{color}"));
    folder.file("é日.obj", BROKEN);
    help(&format!("screen|screen.txt|validate|--color|{color}|é日.obj"), &folder);
    let text = std::fs::read_to_string(folder.path("screen.txt")).unwrap();
    assert!(text.contains("é日.obj:6:") && text.contains("f 1 2 9"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn devices_are_outputs_and_their_names_with_an_extension_are_not() {
    let folder = Folder::new("windows-devices");
    let scene = folder.file("in.obj", SOUND);
    run(&["convert", "--to", "obj", &scene, "NUL"]).expect(0);
    let ran = run(&["convert", &scene, &folder.path("aux.obj")]).expect(1);
    assert!(ran.stderr.contains("aux.obj is the name of a device on Windows"), "{ran:?}");
    assert_eq!(folder.names(), ["in.obj"]);
}

#[test]
fn patterns_may_have_backslashes() {
    let folder = Folder::new("windows-patterns");
    for name in ["s/x", "s/y"] {
        std::fs::create_dir_all(folder.path(name)).unwrap();
        folder.file(&format!("{name}/a.obj"), SOUND);
    }
    let out = folder.path("out");
    std::fs::create_dir(&out).unwrap();
    run(&["convert", "--recursive", "--include", r"x\*.obj", "--to", "ply", &folder.path("s"), &out]).expect(0);
    assert!(std::fs::exists(folder.path("out/x/a.ply")).unwrap() && !std::fs::exists(folder.path("out/y")).unwrap());
}
