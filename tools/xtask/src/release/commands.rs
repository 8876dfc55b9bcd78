//! The command as an archive for each system: the program, man pages, completions, file types, licenses.
//!
//! On Linux, cargo-zigbuild builds programs that run with an old glibc, or with none (musl), and MinGW builds one for
//! Windows. On macOS and Windows, this builds for the system that it runs on: the release workflow does so.

use super::files::{Release, VERSION, of};
use crate::capi::notices;
use crate::steps::Outcome;
use crate::{root, wheels};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Targets that are built on this system.
const TARGETS: &[&str] = if cfg!(target_os = "macos") {
    &["aarch64-apple-darwin", "x86_64-apple-darwin"]
} else if cfg!(windows) {
    &["x86_64-pc-windows-msvc"]
} else {
    &["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu", "x86_64-pc-windows-gnu"]
};

/// Suffix of targets that selects the oldest supported glibc, the version of manylinux2014.
const OLDEST_GLIBC: &str = ".2.17";

const PACKAGE: &str = "polyhaul-cli";
const FEATURES: [&str; 2] = ["--features", "full"];
const SHELLS: [&str; 4] = ["bash", "zsh", "fish", "powershell"];

pub(super) fn step(release: &Release) -> Outcome {
    of(write(release))
}

fn write(release: &Release) -> io::Result<()> {
    let pages = pages(release)?;
    for target in TARGETS {
        let program = build(target)?;
        check_imports(&program)?;
        let folder = release.empty_folder(&format!("polyhaul-{VERSION}-{target}"))?;
        install(&program, &folder)?;
        copy_all(&pages, &folder)?;
        copy_all(&root::root().join("surfaces/cli/share"), &folder.join("share"))?;
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
            fs::copy(root::root().join(name), folder.join(name))?;
        }
        fs::copy(root::root().join("surfaces/cli/fonts/LICENSE"), folder.join("LICENSE-OFL"))?;
        let licenses = notices::text(PACKAGE, &[&FEATURES[..], &["--target", target]].concat());
        let licenses = licenses.ok_or_else(|| io::Error::other("the licenses of dependencies cannot be read"))?;
        fs::write(folder.join("THIRD-PARTY.txt"), licenses)?;
        release.pack(&folder, target.contains("windows"))?;
    }
    Ok(())
}

/// Builds the program for a target; returns its path.
pub(super) fn build(target: &str) -> io::Result<PathBuf> {
    let folder = build_package(target, &[&["--package", PACKAGE], &FEATURES[..]].concat())?;
    Ok(folder.join(if target.contains("windows") { "polyhaul.exe" } else { "polyhaul" }))
}

/// Builds a package for a target, as chosen by these arguments of Cargo; returns the folder of what was built.
pub(super) fn build_package(target: &str, args: &[&str]) -> io::Result<PathBuf> {
    root::runs(Command::new("rustup").args(["target", "add", target]));
    let mut command = if target.contains("linux") { wheels::zigbuild()? } else { root::cargo() };
    if !target.contains("linux") {
        command.arg("build");
    }
    command.args(["--profile", "dist", "--locked"]).args(args);
    let suffix = if target.ends_with("linux-gnu") { OLDEST_GLIBC } else { "" };
    command.arg("--target").arg(format!("{target}{suffix}"));
    let libraries = if target.ends_with("windows-gnu") { Some(static_libraries()?) } else { None };
    set_flags(&mut command, libraries.as_deref());
    if !root::runs(&mut command) {
        return Err(io::Error::other(format!("{} was not built for {target}", args.join(" "))));
    }
    Ok(root::target().join(target).join("dist"))
}

/// DLLs of MinGW, which Windows lacks.
const MINGW_LIBRARIES: [&str; 3] = ["libstdc++-6.dll", "libgcc_s_seh-1.dll", "libwinpthread-1.dll"];

/// Fails if a program needs a DLL of MinGW.
fn check_imports(program: &Path) -> io::Result<()> {
    let bytes = fs::read(program)?;
    let needs = |name: &&&str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    match MINGW_LIBRARIES.iter().find(needs) {
        Some(name) => Err(io::Error::other(format!("{} needs {name}", program.display()))),
        None => Ok(()),
    }
}

/// Creates a folder with the static C++ library of MinGW alone, so that the linker does not find the DLL first.
fn static_libraries() -> io::Result<PathBuf> {
    let name = "libstdc++.a";
    let mut compiler = Command::new("x86_64-w64-mingw32-g++");
    let path = root::output(compiler.arg(format!("-print-file-name={name}")));
    let path = path.ok_or_else(|| io::Error::other("MinGW's C++ compiler is not installed"))?;
    let folder = root::target().join("release-work/static");
    fs::create_dir_all(&folder)?;
    fs::copy(path.trim(), folder.join(name))?;
    Ok(folder)
}

/// Replaces the paths of this machine in programs, which would differ between machines, and adds a folder of libraries.
fn set_flags(command: &mut Command, libraries: Option<&Path>) {
    let home = std::env::var("CARGO_HOME").unwrap_or_else(|_| {
        let user = std::env::var("HOME").unwrap_or_default();
        format!("{user}/.cargo")
    });
    let mut flags = vec![
        format!("--remap-path-prefix={}=polyhaul", root::root().display()),
        format!("--remap-path-prefix={home}=cargo"),
    ];
    flags.extend(libraries.map(|folder| format!("-Lnative={}", folder.display())));
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
}

/// Writes the man pages and completions, which the program for this machine prints.
pub(super) fn pages(release: &Release) -> io::Result<PathBuf> {
    let folder = release.empty_folder("pages")?;
    let mut build = root::cargo();
    build.args(["build", "--release", "--locked", "--package", PACKAGE]).args(FEATURES);
    let program = root::target().join("release").join(format!("polyhaul{}", std::env::consts::EXE_SUFFIX));
    let man = folder.join("man");
    if !root::runs(&mut build) || !root::runs(Command::new(&program).arg("man").arg(&man)) {
        return Err(io::Error::other("the man pages were not written"));
    }
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    for shell in SHELLS {
        let text = root::output(Command::new(&program).args(["completions", shell]));
        let text = text.ok_or_else(|| io::Error::other(format!("no completions for {shell}")))?;
        fs::write(completions.join(format!("polyhaul.{shell}")), text)?;
    }
    Ok(folder)
}

/// Copies a program without its symbols, which are a third of its bytes.
pub(super) fn install(program: &Path, folder: &Path) -> io::Result<()> {
    let target = folder.join(program.file_name().unwrap_or_default());
    fs::create_dir_all(folder)?;
    fs::copy(program, &target)?;
    let tools = ["llvm-strip", "strip", "aarch64-linux-gnu-strip", "x86_64-w64-mingw32-strip"];
    let is_stripped = tools.iter().any(|tool| root::succeeds(Command::new(tool).arg(&target)));
    if is_stripped { Ok(()) } else { Err(io::Error::other("no tool removes the symbols of the program")) }
}

/// Copies a folder with its subfolders.
pub(super) fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
