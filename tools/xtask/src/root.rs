//! Location of the repository, and calls of cargo and other programs.

use crate::term;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root folder, two levels above this crate.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable when it runs a binary; the compiled-in value is for running the binary directly.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = Path::new(&manifest);
    manifest.ancestors().nth(2).unwrap_or(manifest).to_path_buf()
}

/// The folder of build output.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Calls the cargo that runs this task, in the root folder.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    without_package(command.current_dir(root()));
    command
}

/// Removes the variables with which Cargo describes this program. Build scripts (for example of `ring`) depend on them,
/// so their crates would be recompiled whenever Cargo is called alternately from here and by hand.
pub(crate) fn without_package(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let is_of_package = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_BIN_")
        });
        if is_of_package {
            command.env_remove(name);
        }
    }
    command
}

/// Runs `command` with its output on the terminal; returns whether it succeeded.
pub(crate) fn runs(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Runs `command` without output; returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns the output of `command`, if it succeeds.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Returns the program of a Cargo subcommand such as `cargo-deny`, installing it below `target` if needed.
pub(crate) fn cargo_tool(name: &str) -> Option<PathBuf> {
    tool(&format!("cargo-{name}"), &[name, "--version"])
}

/// Returns a program that a crate of the same name installs, installing it below `target` if needed. With
/// `version_args`, it prints its version.
pub(crate) fn tool(program: &str, version_args: &[&str]) -> Option<PathBuf> {
    let works = |program: &Path| succeeds(Command::new(program).args(version_args));
    if works(Path::new(program)) {
        return Some(program.into());
    }
    let folder = target().join("tools");
    let installed = folder.join("bin").join(program);
    if !installed.is_file() {
        term::out(format!("installing {program}\n"));
        runs(cargo().args(["install", "--quiet", "--locked", program, "--root"]).arg(&folder));
    }
    works(&installed).then_some(installed)
}
