//! Runs the command as a user would.
#![allow(dead_code)]

use serde_json::Value;
use std::io::Write;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The command, without environment variables of the developer that could change its output.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polyhaul"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// Runs the command.
pub fn run(args: &[&str]) -> Ran {
    Ran::new(command().args(args).output().unwrap())
}

/// Runs the command with limits on memory and time, so that a fault caused by hostile input affects only the test.
pub fn run_confined(args: &[&str]) -> Ran {
    if !cfg!(target_os = "linux") {
        return run(args);
    }
    let mut shell = Command::new("sh");
    let script = "ulimit -v 4000000; ulimit -t 20; exec \"$0\" \"$@\"";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_polyhaul")]).args(args);
    Ran::new(shell.stdin(Stdio::null()).output().unwrap())
}

/// Runs the command with `input` on standard input.
pub fn run_with(args: &[&str], input: &[u8]) -> Ran {
    Ran::new(run_piped(args, input))
}

/// Like [`run_with`], for output that need not be text.
pub fn run_piped(args: &[&str], input: &[u8]) -> Output {
    let mut command = command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that needs no input may have exited already.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    fn new(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The single JSON object on standard output.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The single entry of `files` in the JSON object.
    pub fn json_file(&self) -> Value {
        let files = self.json()["files"].take();
        assert_eq!(files.as_array().map(Vec::len), Some(1), "{self:?}");
        files[0].clone()
    }

    /// Standard error without the verdict, which is printed only for jobs that take long enough.
    pub fn stderr_without_verdict(&self) -> &str {
        let is_verdict = |line: &str| line.contains("limited by") || line.contains("no single cause");
        let (before, line) = self.stderr.trim_end().rsplit_once('\n').unwrap_or(("", self.stderr.trim_end()));
        if is_verdict(line) { before } else { &self.stderr }
    }

    /// Asserts the exit code and returns the run.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// A file of the test data.
pub fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/obj").join(name);
    path.to_str().unwrap().into()
}

/// Replaces the system's path separators by slashes.
pub fn slashed(path: &str) -> String {
    path.replace(MAIN_SEPARATOR_STR, "/")
}

/// An empty temporary folder for one test, removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        // Several tests may choose the same name.
        static SERIAL: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Adds the drive if the tests were compiled on another system.
        let path = std::path::absolute(path).unwrap();
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A path inside the folder, with the system's separators.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name.replace('/', MAIN_SEPARATOR_STR)).to_str().unwrap().into()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    /// The sorted names of the entries.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A triangle and a quad.
pub const SOUND: &str = "o thing\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 -2.5\nf 1 2 3\nf 1 2 3 4\n";
/// Like [`SOUND`], but a face has a missing position, on line 6.
pub const BROKEN: &str = "o thing\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 -2.5\nf 1 2 9\nf 1 2 3 4\n";
