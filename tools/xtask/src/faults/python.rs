//! Python package with planted faults: its module, built next to the test binaries, and its sources.
//!
//! Not installed: tests find it before an installed package. Uses the environment of `cargo xtask python`.

use super::{TestBinary, folder, with_faults};
use crate::{python, root};
use std::fs;
use std::path::Path;

/// Module in the package, and the library that Cargo builds for it.
const MODULE: &str = "_polyhaul.abi3.so";
const LIBRARY: &str = "debug/lib_polyhaul.so";

/// Builds the package; returns pytest as a test binary, whose filters are test files. `None` if Python or a requirement
/// is missing.
pub(super) fn build() -> Option<TestBinary> {
    if !python::prepare()? {
        return None;
    }
    let mut command = root::cargo();
    command.args(["build", "--package", "polyhaul-python", "--features", "polyhaul-python/full"]);
    // Otherwise the module is linked with Python.
    with_faults(&mut command).env("PYO3_BUILD_EXTENSION_MODULE", "1");
    if !root::runs(&mut command) {
        return None;
    }
    let packages = folder().join("python");
    let source = root::root().join("surfaces/python");
    copy_package(&source.join("polyhaul"), &packages.join("polyhaul")).ok()?;
    Some(TestBinary {
        program: python::interpreter(),
        arguments: ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"].map(Into::into).into(),
        folder: source,
        search_path: Some(packages),
    })
}

/// Copies the sources of the package, and the module.
fn copy_package(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if path.is_file()
            && let Some(name) = path.file_name()
        {
            fs::copy(&path, to.join(name))?;
        }
    }
    fs::copy(folder().join(LIBRARY), to.join(MODULE)).map(drop)
}
