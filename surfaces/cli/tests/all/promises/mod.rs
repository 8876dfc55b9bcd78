//! Fault tests: what the command guarantees when things go wrong, tested from outside.
//!
//! If a tool or a privilege is missing (strace, private mounts), the test passes with a note on standard error.
#![cfg(unix)]

mod corpus;
mod disk;
mod files;
mod json;
#[cfg(target_os = "linux")]
mod machine;
mod signals;
#[cfg(target_os = "linux")]
mod strace;
#[cfg(target_os = "linux")]
mod written;

use crate::common::data;
use std::io::Write;
use std::process::{Command, Output};

/// A file for tests where size matters: 2.3 MB, with a material library.
const BIG: &str = "grid40k_material_groups";

/// The path of the command.
const COMMAND: &str = env!("CARGO_BIN_EXE_polyhaul");

/// A scene exported by Blender.
fn blender(name: &str) -> String {
    data(&format!("blender/{name}.obj"))
}

fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a shell script with the command as `"$0"` and the arguments as `"$1"` and so on.
fn shell(script: &str, args: &[&str]) -> Output {
    Command::new("bash").args(["-c", script, COMMAND]).args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that standard error contains no panic.
#[track_caller]
fn assert_no_panic(text: &str) {
    for word in ["panicked", "RUST_BACKTRACE", "stack overflow", "memory allocation of"] {
        assert!(!text.contains(word), "{text}");
    }
}
