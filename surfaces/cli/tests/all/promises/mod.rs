//! What the command promises when things go wrong, tried from outside.
//!
//! Where a tool or a right is missing (strace, private mounts), a line on standard error says so and
//! the test passes.
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

/// The file that is converted where size matters: 2.3 MB, with a library.
const BIG: &str = "grid40k_material_groups";

/// Where the command is.
const COMMAND: &str = env!("CARGO_BIN_EXE_polyhaul");

/// A scene of Blender's.
fn blender(name: &str) -> String {
    data(&format!("blender/{name}.obj"))
}

fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a line of shell in which the command is `"$0"` and the arguments are `"$1"` and on.
fn shell(script: &str, args: &[&str]) -> Output {
    Command::new("bash").args(["-c", script, COMMAND]).args(args).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What must never stand on standard error.
#[track_caller]
fn assert_no_panic(text: &str) {
    for word in ["panicked", "RUST_BACKTRACE", "stack overflow", "memory allocation of"] {
        assert!(!text.contains(word), "{text}");
    }
}
