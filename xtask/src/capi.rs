//! `cargo xtask header` and `cargo xtask install-c`: the C library as its users get it.
//!
//! The header is made by a test of `crates/capi`, which also holds that it is current. Installing copies what cargo
//! built: headers, the static and the shared library, and a file for pkg-config.

use crate::{root, term};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

/// The version, and the number in the name of the shared library (see `crates/capi/build.rs`).
const VERSION: &str = env!("CARGO_PKG_VERSION");
const SHARED_NUMBER: &str = "0";

/// What the static library needs of the system.
const PRIVATE: &str = if cfg!(target_os = "linux") {
    "-lpthread -ldl -lm"
} else if cfg!(target_os = "macos") {
    "-liconv -lSystem -lm"
} else {
    ""
};

/// Writes the header.
pub(crate) fn header() -> ExitCode {
    let mut command = root::cargo();
    command.args(["test", "--quiet", "--package", "polyhaul-capi", "--test", "header"]).env("POLYHAUL_HEADER", "write");
    if root::runs(&mut command) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where to install.
struct Place {
    /// Where programs will find it.
    prefix: PathBuf,
    /// Where it is put instead, for packages.
    destdir: Option<PathBuf>,
    /// Build without optimising.
    debug: bool,
}

/// Builds the library and installs it; `None` where the arguments are not understood.
pub(crate) fn install(args: &[&str]) -> Option<ExitCode> {
    let place = parse(args)?;
    let result = built(place.debug).and_then(|folder| copy(&folder, &place));
    Some(match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            term::err(format!("install-c: {error}\n"));
            ExitCode::FAILURE
        }
    })
}

fn parse(args: &[&str]) -> Option<Place> {
    let mut place = Place { prefix: "/usr/local".into(), destdir: None, debug: false };
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--prefix" => place.prefix = args.next()?.into(),
            "--destdir" => place.destdir = Some(args.next()?.into()),
            "--debug" => place.debug = true,
            _ => return None,
        }
    }
    place.prefix.is_absolute().then_some(place)
}

/// Builds the library; the folder that it is in.
fn built(debug: bool) -> io::Result<PathBuf> {
    let mut command = root::cargo();
    command.args(["build", "--package", "polyhaul-capi", "--lib", "--message-format", "json-render-diagnostics"]);
    if !debug {
        command.args(["--profile", "dist"]);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let folder = folder_of(&text, static_name()).filter(|_| output.status.success());
    folder.ok_or_else(|| io::Error::other("the library could not be built"))
}

/// The folder of the last file of that name in what cargo tells as JSON.
fn folder_of(messages: &str, name: &str) -> Option<PathBuf> {
    let end = messages.rfind(&format!("{name}\""))?;
    let start = messages[..end].rfind('"')? + 1;
    Some(messages[start..end].replace("\\\\", "\\").into())
}

fn static_name() -> &'static str {
    if cfg!(windows) { "polyhaul.lib" } else { "libpolyhaul.a" }
}

/// Copies everything to its place.
fn copy(built: &Path, place: &Place) -> io::Result<()> {
    let target = match &place.destdir {
        Some(destdir) => destdir.join(place.prefix.strip_prefix("/").unwrap_or(&place.prefix)),
        None => place.prefix.clone(),
    };
    let (include, lib) = (target.join("include"), target.join("lib"));
    fs::create_dir_all(&include)?;
    fs::create_dir_all(lib.join("pkgconfig"))?;
    for name in ["polyhaul.h", "polyhaul.hpp"] {
        install_file(&root::root().join("crates/capi/include").join(name), &include.join(name))?;
    }
    if cfg!(windows) {
        fs::create_dir_all(target.join("bin"))?;
        install_file(&built.join("polyhaul.dll"), &target.join("bin/polyhaul.dll"))?;
        install_file(&built.join("polyhaul.dll.lib"), &lib.join("polyhaul.lib"))?;
        install_file(&built.join(static_name()), &lib.join("polyhaul_static.lib"))?;
    } else {
        install_file(&built.join(static_name()), &lib.join(static_name()))?;
        shared(built, &lib)?;
    }
    fs::write(lib.join("pkgconfig/polyhaul.pc"), package(&place.prefix))?;
    term::out(format!("installed polyhaul {VERSION} in {}\n", target.display()));
    Ok(())
}

/// The shared library under its full name, and links to it under shorter ones.
fn shared(built: &Path, lib: &Path) -> io::Result<()> {
    let name = |number: &str| {
        if cfg!(target_os = "macos") { format!("libpolyhaul{number}.dylib") } else { format!("libpolyhaul.so{number}") }
    };
    let full = name(&format!(".{VERSION}"));
    install_file(&built.join(name("")), &lib.join(&full))?;
    for short in [name(&format!(".{SHARED_NUMBER}")), name("")] {
        link(&full, &lib.join(short))?;
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> io::Result<()> {
    remove(path)?;
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Copies a file to a new one: programs that run with the old one go on with it.
fn install_file(from: &Path, to: &Path) -> io::Result<()> {
    remove(to)?;
    let note = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", from.display()));
    fs::copy(from, to).map(drop).map_err(note)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What pkg-config is told.
fn package(prefix: &Path) -> String {
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: polyhaul\n\
         Description: Moves 3D assets between disk and memory\nVersion: {VERSION}\n\
         Cflags: -I${{includedir}}\nLibs: -L${{libdir}} -lpolyhaul\nLibs.private: {PRIVATE}\n",
        prefix.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood_or_refused() {
        let place = parse(&["--prefix", "/opt/p", "--destdir", "/tmp/d", "--debug"]).unwrap();
        assert_eq!((place.prefix, place.destdir, place.debug), ("/opt/p".into(), Some("/tmp/d".into()), true));
        assert_eq!(parse(&[]).unwrap().prefix, Path::new("/usr/local"));
        for wrong in [&["--prefix"][..], &["--prefix", "relative"], &["--other"]] {
            assert!(parse(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn the_folder_of_the_library_is_found_in_what_cargo_tells() {
        let told = "{\"filenames\":[\"/t/debug/deps/libx.a\"]}\n{\"filenames\":[\"/t/debug/libpolyhaul.a\",\"/t/debug/libpolyhaul.so\"]}";
        assert_eq!(folder_of(told, "libpolyhaul.a"), Some("/t/debug/".into()));
        assert_eq!(folder_of(told, "libother.a"), None);
    }
}
