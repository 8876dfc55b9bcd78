//! `cargo xtask wheels`: wheels of the Python package, and its source distribution, in `target/wheels/out`. Nothing is
//! uploaded.
//!
//! On Linux, zig serves as C compiler and linker, so that wheels run with an old glibc, and cross-compiling needs no
//! other machine. macOS and Windows build their own wheels.
//!
//! Wheels have the default features: `full` would make them larger, and Python can open URLs through fsspec.

use crate::python::{self, Place};
use crate::{root, term};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Default targets on this system: Rust target, and platform tag of the wheel, empty for the default tag.
const TARGETS: &[(&str, &str)] = if cfg!(target_os = "macos") {
    &[("aarch64-apple-darwin", ""), ("x86_64-apple-darwin", "")]
} else if cfg!(windows) {
    &[("x86_64-pc-windows-msvc", "")]
} else {
    &[
        ("x86_64-unknown-linux-gnu", "manylinux2014"),
        ("aarch64-unknown-linux-gnu", "manylinux2014"),
        ("x86_64-unknown-linux-musl", "musllinux_1_2"),
        ("aarch64-unknown-linux-musl", "musllinux_1_2"),
    ]
};

/// Built only by name: Windows builds the wheel of a release itself, with MSVC. Shows on Linux that the package
/// compiles for Windows.
const WINDOWS: (&str, &str) = ("x86_64-pc-windows-gnu", "");

/// Maximum size of a wheel or of the source distribution.
const MAX_BYTES: u64 = 8_000_000;

/// Builds wheels for some of the targets, or all that belong to a release.
pub(crate) fn main(targets: &[&str]) -> ExitCode {
    let Some(place) = environment() else {
        term::err("cannot create the environment that builds wheels\n");
        return ExitCode::FAILURE;
    };
    let out = place.folder.join("out");
    let chosen: Vec<_> = if targets.is_empty() {
        // Wheels of an earlier version would be released, too.
        let _absent = fs::remove_dir_all(&out);
        TARGETS.to_vec()
    } else {
        TARGETS.iter().chain([&WINDOWS]).filter(|(name, _)| targets.contains(name)).copied().collect()
    };
    let mut built = targets.is_empty() || chosen.len() == targets.len();
    if !built {
        term::err("unknown target\n");
    }
    for (target, tag) in &chosen {
        term::out(format!("== {target}\n"));
        built &= build(&place, &out, target, tag);
    }
    built &= !targets.is_empty() || root::runs(place.module("maturin").args(["sdist", "--out"]).arg(&out));
    ExitCode::from(u8::from(!(built && check(&place, &out))))
}

/// Installs the programs that build wheels.
fn environment() -> Option<Place> {
    let source = root::root().join("surfaces/python");
    let requirements = source.join("requirements-wheels.txt");
    let place = Place { folder: root::target().join("wheels"), source, requirements };
    let is_ready = python::program(python::IS_NEW_ENOUGH).is_some_and(|program| place.environment(program));
    is_ready.then_some(place)
}

/// Returns the command that builds programs with zig, without its arguments.
pub(crate) fn zigbuild() -> io::Result<Command> {
    let place = environment().ok_or_else(|| io::Error::other("cargo-zigbuild cannot be installed"))?;
    let mut command = Command::new(place.programs().join("cargo-zigbuild"));
    root::without_package(command.arg("zigbuild").current_dir(root::root()));
    add_programs(&mut command, &place)?;
    Ok(command)
}

/// Adds the environment's programs to `PATH`, where zig is searched for.
fn add_programs(command: &mut Command, place: &Place) -> io::Result<()> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::join_paths([place.programs()].into_iter().chain(std::env::split_paths(&paths)));
    command.env("PATH", paths.map_err(io::Error::other)?);
    Ok(())
}

fn build(place: &Place, out: &Path, target: &str, tag: &str) -> bool {
    if !root::runs(Command::new("rustup").args(["target", "add", target])) {
        return false;
    }
    let mut command = place.module("maturin");
    command
        .args(["build", "--profile", "dist", "--quiet", "--target", target, "--compression-level", "9", "--out"])
        .arg(out);
    if !tag.is_empty() {
        command.args(["--zig", "--compatibility", tag]);
    }
    command.env("CARGO_TARGET_DIR", place.folder.join("build"));
    add_programs(&mut command, place).is_ok() && root::runs(&mut command)
}

/// Checks the size of every wheel and of the source distribution, and that their descriptions can be rendered.
fn check(place: &Place, out: &Path) -> bool {
    let files = fs::read_dir(out).into_iter().flatten().flatten().map(|entry| entry.path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "whl" || end == "gz")).collect();
    let mut fits = true;
    for path in &files {
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        term::out(format!("{name}: {:.1} MB\n", bytes as f64 / 1e6));
        fits &= bytes <= MAX_BYTES;
    }
    if !fits {
        term::err(format!("a wheel may have at most {} MB\n", MAX_BYTES / 1_000_000));
    }
    fits && !files.is_empty() && root::runs(place.module("twine").arg("check").args(&files))
}
