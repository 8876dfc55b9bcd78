//! Virtual environments for Python: one for polyhaul's package, one for the readers that it is compared
//! with, one for Blender, which wants a Python and a numpy of its own.

use super::build::output_of;
use super::part::Part;
use crate::{root, term};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What polyhaul's package needs, and what else inflates in Python.
const SMALL: &[&str] = &["numpy", "isal"];
/// Readers and writers of meshes, then those of tables.
const PEERS: &[&str] =
    &["trimesh", "meshio", "open3d", "pymeshlab", "plyfile", "numpy-stl", "polars", "pyarrow", "duckdb", "pandas"];
/// What is measured of polyhaul's package where it is there already.
const FUNCTIONS: [&str; 2] = ["savetxt", "loadtxt"];
/// Readers of images.
const IMAGES: &[&str] = &["numpy", "pillow", "OpenImageIO"];
const BLENDER: &[&str] = &["bpy==5.0.1"];
/// The one Python that this Blender runs in.
const BLENDER_PYTHON: &str = "python3.11";

/// The interpreters; each absent one is noted.
#[derive(Default)]
pub(super) struct Pythons {
    /// With little more than numpy.
    pub(super) small: Option<PathBuf>,
    /// The same, once polyhaul's package could be built and installed.
    pub(super) polyhaul: Option<PathBuf>,
    /// Which of [`FUNCTIONS`] the package has.
    pub(super) functions: Vec<&'static str>,
    /// With the other readers.
    pub(super) peers: Option<PathBuf>,
    /// With readers of images.
    pub(super) images: Option<PathBuf>,
    /// With Blender.
    pub(super) blender: Option<PathBuf>,
}

/// Makes the environments that `parts` need, where they are not there yet.
pub(super) fn set_up(parts: &[Part], peers: &mut Vec<String>, notes: &mut Vec<String>) -> Pythons {
    let wanted = |some: &[Part]| parts.iter().any(|part| some.contains(part));
    let mut found = Pythons::default();
    if wanted(&[Part::Python, Part::Blender, Part::Gzip, Part::Ply, Part::Tables]) {
        found.small = environment("python3", "bench-polyhaul", SMALL, peers, notes);
    }
    if wanted(&[Part::Python, Part::Blender, Part::Ply, Part::Tables]) {
        found.polyhaul = found.small.clone().filter(|python| with_polyhaul(python, notes));
    }
    if let Some(python) = found.polyhaul.as_ref().filter(|_| wanted(&[Part::Tables])) {
        found.functions = functions(python, notes);
    }
    if wanted(&[Part::Images]) {
        found.images = environment("python3", "bench-images", IMAGES, peers, notes);
    }
    if wanted(&[Part::Python, Part::Blender]) {
        found.blender = environment(BLENDER_PYTHON, "bench-blender", BLENDER, peers, notes);
    }
    if wanted(&[Part::Python, Part::Ply, Part::Stl, Part::Tables]) {
        found.peers = environment("python3", "bench-python", PEERS, peers, notes);
    }
    found
}

/// A virtual environment with `packages`, or a note why there is none.
fn environment(
    base: &str,
    name: &str,
    packages: &[&str],
    peers: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> Option<PathBuf> {
    let folder = root::root().join("target").join(name);
    let python = folder.join("bin").join("python");
    let names: Vec<&str> =
        packages.iter().map(|package| package.split_once("==").map_or(*package, |(a, _)| a)).collect();
    let versions = || versions(&python, &names);
    let installed = versions().or_else(|| {
        term::out(format!("setting up {name}: {}\n", packages.join(", ")));
        let made = root::runs(Command::new(base).args(["-m", "venv"]).arg(&folder));
        (made && root::runs(pip(&python).args(packages))).then(versions).flatten()
    });
    match installed {
        Some(versions) => {
            let named = names.iter().zip(versions);
            peers.extend(named.map(|(name, version)| format!("{name} {version}")));
            Some(python)
        }
        None => {
            notes.push(format!("{}: no virtual environment with them", names.join(", ")));
            None
        }
    }
}

/// The versions of packages, if all are there.
fn versions(python: &Path, names: &[&str]) -> Option<Vec<String>> {
    let code = "import sys\nfrom importlib.metadata import version\nfor name in sys.argv[1:]: print(version(name))";
    let text = output_of(Command::new(python).args(["-c", code]).args(names))?;
    Some(text.lines().map(String::from).collect())
}

/// Builds polyhaul's package as it is now and installs it.
fn with_polyhaul(python: &Path, notes: &mut Vec<String>) -> bool {
    term::out("building polyhaul's Python package\n");
    let mut install = pip(python);
    install.args(["--force-reinstall", "--no-deps"]).arg(root::root().join("python"));
    install.env("CARGO_TARGET_DIR", root::root().join("target"));
    let built = root::runs(&mut install);
    if !built {
        notes.push("polyhaul's Python package: it did not build".into());
    }
    built
}

/// Those of [`FUNCTIONS`] that polyhaul's package has; each other one is noted.
fn functions(python: &Path, notes: &mut Vec<String>) -> Vec<&'static str> {
    let code = "import sys, polyhaul\nfor name in sys.argv[1:]: print(name) if hasattr(polyhaul, name) else None";
    let text = output_of(Command::new(python).args(["-c", code]).args(FUNCTIONS)).unwrap_or_default();
    let (there, absent): (Vec<_>, Vec<_>) =
        FUNCTIONS.into_iter().partition(|name| text.lines().any(|line| line == *name));
    notes.extend(absent.iter().map(|name| format!("polyhaul.{name}: not in the package")));
    there
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}
