//! The sources, and the packages of each language: crates, C library, Debian package, wheels, npm, Blender.

use super::commands;
use super::files::{Release, VERSION, of};
use crate::steps::Outcome;
use crate::{capi, root, web, wheels};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Targets of the C library.
const LIBRARIES: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// Archives the files that git tracks.
pub(super) fn source(release: &Release) -> Outcome {
    let name = format!("polyhaul-{VERSION}");
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar.gz", "-9", "HEAD"]).arg(format!("--prefix={name}/"));
    git.arg("--output").arg(release.files.join(format!("{name}-source.tar.gz")));
    Outcome::of(root::runs(git.current_dir(root::root())))
}

/// Packs and compiles every published crate as its users will get it, in the order of their dependencies.
pub(super) fn crates(release: &Release) -> Outcome {
    if !root::runs(root::cargo().args(["publish", "--workspace", "--dry-run", "--locked"])) {
        return Outcome::Failed;
    }
    of(collect(&root::target().join("package"), &["crate"], release))
}

/// Installs and packs the C library for each target, then builds the Debian package.
pub(super) fn library(release: &Release) -> Outcome {
    of(LIBRARIES.iter().try_for_each(|target| {
        let folder = release.empty_folder(&format!("polyhaul-c-{VERSION}-{target}"))?;
        install_library(&folder, target)?;
        release.pack(&folder, false)
    }))
    .and(|| debian(release))
}

fn install_library(folder: &Path, target: &str) -> io::Result<()> {
    let built = commands::build_package(target, &["--package", "polyhaul-capi", "--lib"])?;
    if capi::install_built(folder.into(), target, built) {
        Ok(())
    } else {
        Err(io::Error::other(format!("the C library was not installed for {target}")))
    }
}

/// Builds the package for Debian and Ubuntu: the command, the library, the header.
fn debian(release: &Release) -> Outcome {
    if !root::succeeds(Command::new("dpkg-deb").arg("--version")) {
        return Outcome::Skipped("dpkg-deb is not installed".into());
    }
    of(debian_package(release))
}

fn debian_package(release: &Release) -> io::Result<()> {
    let target = LIBRARIES[0];
    let folder = release.empty_folder("deb")?;
    install_library(&folder, target)?;
    commands::install(&commands::build(target)?, &folder.join("usr/bin"))?;
    commands::copy_all(&root::root().join("surfaces/cli/share"), &folder.join("usr/share"))?;
    let pages = commands::pages(release)?;
    commands::copy_all(&pages.join("man"), &folder.join("usr/share/man/man1"))?;
    let completions = folder.join("usr/share/bash-completion/completions");
    fs::create_dir_all(&completions)?;
    fs::copy(pages.join("completions/polyhaul.bash"), completions.join("polyhaul"))?;
    let control = folder.join("DEBIAN/control");
    fs::create_dir_all(folder.join("DEBIAN"))?;
    fs::write(&control, CONTROL.replace("VERSION", VERSION))?;
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", release.seconds.to_string());
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&folder);
    build.arg(release.files.join(format!("polyhaul_{VERSION}_amd64.deb")));
    if root::runs(&mut build) { Ok(()) } else { Err(io::Error::other("dpkg-deb failed")) }
}

const CONTROL: &str = "\
Package: polyhaul
Version: VERSION
Architecture: amd64
Maintainer: the polyhaul developers <polyhaul@example.org>
Depends: libc6 (>= 2.17), libgcc-s1
Section: graphics
Priority: optional
Description: moves 3D assets between disk and memory as fast as the machine allows
 Converts meshes, scenes, splats, point clouds, images and textures; with the C library and its header.
";

/// Builds the wheels and the source distribution.
pub(super) fn wheels(release: &Release) -> Outcome {
    if wheels::main(&[]) != ExitCode::SUCCESS {
        return Outcome::Failed;
    }
    of(collect(&root::target().join("wheels/out"), &["whl", "gz"], release))
}

/// Builds the package for browsers and packs it.
pub(super) fn npm(release: &Release) -> Outcome {
    if !root::succeeds(Command::new("npm").arg("--version")) {
        return Outcome::Skipped("npm is not installed".into());
    }
    let mut pack = Command::new("npm");
    pack.args(["pack", "./npm", "--pack-destination"]).arg(&release.files).current_dir(root::target());
    Outcome::of(web::main() == ExitCode::SUCCESS && root::runs(&mut pack))
}

/// Builds the extension, with the wheels of this release, and validates it with Blender's module.
pub(super) fn blender(release: &Release) -> Outcome {
    let python = root::target().join("blender/venv/bin/python");
    if !python.exists() {
        return Outcome::Skipped("Blender's module is not installed; `cargo xtask nightly blender` installs it".into());
    }
    let mut package = Command::new(python);
    package.arg("surfaces/blender/package.py").arg(&release.files).current_dir(root::root());
    package.arg(release.files.join(format!("polyhaul-blender-{VERSION}.zip")));
    Outcome::of(root::runs(&mut package))
}

/// Copies the files with these extensions into the release.
fn collect(folder: &Path, extensions: &[&str], release: &Release) -> io::Result<()> {
    let is_chosen = |path: &PathBuf| {
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        extensions.contains(&extension)
    };
    let paths = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_chosen);
    for path in paths {
        fs::copy(&path, release.files.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}
