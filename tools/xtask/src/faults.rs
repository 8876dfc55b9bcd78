//! The part `faults` of `cargo xtask nightly`: plants faults one at a time, and checks that the tests detect each.
//!
//! The places call `error::planted` of the library, which is `false` unless it was built with `--cfg polyhaul_faults`.

use crate::root;
use crate::steps::{Outcome, Tally};
use crate::term;
use std::process::{Command, Stdio};

/// A fault, and the tests that must detect it.
struct Fault {
    name: &'static str,
    binary: &'static str,
    /// What the names of the tests contain.
    filter: &'static str,
}

/// A fault that the tests of a module of `tests/all` detect.
const fn module(name: &'static str, filter: &'static str) -> Fault {
    Fault { name, binary: "all", filter }
}

/// A fault, most often a missing check of bounds, that the promises of a format detect.
const fn promise(name: &'static str, filter: &'static str) -> Fault {
    Fault { name, binary: "promises", filter }
}

/// All faults; those with the same tests are adjacent.
const FAULTS: &[Fault] = &[
    module("image-pixels", "images::"),
    module("image-upward", "images::"),
    module("tga-pages", "images::"),
    module("ply-index", "ply::"),
    module("ply-lines", "ply::"),
    module("ply-pages", "ply_write::"),
    module("split-normals", "ply_write::"),
    module("stl-machine", "stl::"),
    module("stl-truncated", "stl::"),
    module("pbrt-import", "pbrt::"),
    module("pbrt-instances", "pbrt::"),
    module("pbrt-lines", "pbrt::"),
    module("pbrt-pages", "pbrt_write::"),
    module("severity-cell", "losses::"),
    module("severity-target", "losses::"),
    promise("bmp-palette", "::bmp"),
    promise("csv-columns", "::csv"),
    promise("csv-columns", "::tsv"),
    promise("csv-columns", "::txt"),
    promise("csv-columns", "::xyz"),
    promise("dds-pixels", "::dds"),
    promise("exr-twice", "::exr"),
    promise("glb-index", "::glb"),
    promise("hdr-run", "::hdr"),
    promise("jpg-end", "::jpg"),
    promise("ktx2-size", "::ktx2"),
    promise("npy-size", "::npy"),
    promise("chunk-crlf", "::obj"),
    promise("obj-index", "::obj"),
    promise("off-index", "::off"),
    promise("pbrt-numbers", "::pbrt"),
    promise("ply-index", "::ply"),
    promise("ply-rows", "::ply"),
    promise("png-palette", "::png"),
    promise("psd-run", "::psd"),
    promise("pts-count", "::pts"),
    promise("sog-pixels", "::sog"),
    promise("splat-cut", "::splat"),
    promise("spz-cut", "::spz"),
    promise("stl-truncated", "::stl"),
    promise("tga-map", "::tga"),
];

/// Runs the tests once without a fault, and once with each.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    let mut is_ok = true;
    for tests in FAULTS.chunk_by(|left, right| (left.binary, left.filter) == (right.binary, right.filter)) {
        let Fault { binary, filter, .. } = tests[0];
        is_ok &= count(&format!("{binary} {filter} passes without a fault"), tests[0].passes(false), tally);
        for fault in tests {
            is_ok &= count(&format!("{binary} {filter} detects {}", fault.name), !fault.passes(true), tally);
        }
    }
    Outcome::of(is_ok)
}

/// Prints and counts a result.
pub(crate) fn count(check: &str, is_ok: bool, tally: &mut Tally) -> bool {
    term::out(format!("{check}: {}\n", if is_ok { "yes" } else { "NO" }));
    if is_ok {
        tally.totals.passed += 1;
    } else {
        tally.totals.failed += 1;
        tally.failures.push(check.into());
    }
    is_ok
}

impl Fault {
    /// Whether the tests pass, with the fault or without.
    fn passes(&self, is_planted: bool) -> bool {
        let mut command = Command::new("cargo");
        command.args(["test", "--quiet", "-p", "polyhaul", "--test", self.binary, self.filter]);
        command.current_dir(root::root()).env("RUSTFLAGS", "--cfg polyhaul_faults");
        command.env("CARGO_TARGET_DIR", root::root().join("target/faults"));
        command.env("POLYHAUL_FAULT", if is_planted { self.name } else { "" });
        // A detected fault prints a lot.
        if is_planted {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        root::runs(&mut command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_planted_once() {
        let mut folders = vec![root::root().join("crates")];
        let mut text = String::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    text += &std::fs::read_to_string(path).unwrap();
                }
            }
        }
        let mut names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            assert_eq!(text.matches(&format!("planted(\"{name}\")")).count(), 1, "{name}");
        }
        assert_eq!(text.matches("planted(\"").count(), names.len());
    }
}
