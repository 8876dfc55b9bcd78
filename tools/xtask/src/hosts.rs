//! The parts `blender`, `neighbors` and `ray` of `cargo xtask nightly`: tests integrations inside their host programs.
//!
//! All use the wheel of `cargo xtask test`, and build it if needed. Skipped if the host programs, which are large,
//! cannot be installed.

use crate::python::{self, Place};
use crate::steps::{Outcome, Tally};
use crate::{root, term};

/// Tests the extension in `surfaces/blender` inside Blender's Python module.
pub(crate) fn blender(tally: &mut Tally) -> Outcome {
    let folder = root::root().join("surfaces/blender");
    let place = Place {
        folder: root::target().join("blender"),
        source: folder.join("tests"),
        requirements: folder.join("requirements-test.txt"),
    };
    let version = "import sys; sys.exit(sys.version_info[:2] != (3, 11))";
    step(&place, version, "Blender's module `bpy`, which needs Python 3.11", |_| true, tally, &[])
}

/// Tests conversions for other libraries, and the package in `surfaces/python/pyvista`.
pub(crate) fn neighbors(tally: &mut Tally) -> Outcome {
    let source = root::root().join("surfaces/python");
    let place = Place {
        folder: root::target().join("neighbors"),
        requirements: source.join("requirements-neighbors.txt"),
        source: source.clone(),
    };
    let version = "import sys; sys.exit(sys.version_info < (3, 11))";
    let install = |place: &Place| {
        python::wheel().is_some_and(|wheel| place.install_only(wheel)) && place.install_only(&source.join("pyvista"))
    };
    step(&place, version, "PyVista, trimesh or meshio", install, tally, &["neighbors"])
}

/// Tests the Ray engine of `polyhaul batch` on a cluster of two nodes, and object stores.
pub(crate) fn ray(tally: &mut Tally) -> Outcome {
    let source = root::root().join("surfaces/python");
    let place = Place {
        folder: root::target().join("ray"),
        requirements: source.join("requirements-ray.txt"),
        // Ray's workers import from this folder, so it must not contain the package's sources.
        source: source.join("cluster"),
    };
    let version = "import sys; sys.exit(sys.version_info < (3, 11))";
    let install = |place: &Place| python::wheel().is_some_and(|wheel| place.install_only(wheel));
    step(&place, version, "Ray", install, tally, &[])
}

fn step(
    place: &Place,
    version: &str,
    needed: &str,
    install: impl FnOnce(&Place) -> bool,
    tally: &mut Tally,
    paths: &[&str],
) -> Outcome {
    let Some(program) = python::program(version) else {
        return Outcome::Skipped(format!("{needed} cannot be installed: there is no suitable Python"));
    };
    if python::wheel().is_none() {
        term::out("the wheel cannot be built\n");
        return Outcome::Failed;
    }
    if !place.environment(program) {
        return Outcome::Skipped(format!("{needed} cannot be installed"));
    }
    if !install(place) {
        return Outcome::Failed;
    }
    let sum = place.tests(&mut tally.failures, paths);
    tally.totals.add(sum);
    Outcome::of(sum.failed == 0 && sum.passed > 0)
}
