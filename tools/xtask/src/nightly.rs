//! `cargo xtask nightly`: checks that are too slow for every change, in parts of at most 20 minutes.
//!
//! A part that passed is skipped until one of its inputs changes: see [`memory`]. A part whose tool is missing is
//! skipped with a note. To add a part, write its function and add a row to [`PARTS`].

mod budgets;
mod miri;
mod races;
mod rust;
mod wine;
mod workflows;

use crate::memory::{self, Memory};
use crate::steps::{Outcome, Row, Run, Tally};
use crate::{api, deny, faults, fuzz, hosts, term, usage_error, web};
pub(crate) use rust::missing_target;
use std::process::ExitCode;
use std::time::Duration;

/// A part of `cargo xtask nightly`.
struct Part {
    name: &'static str,
    description: &'static str,
    /// Files and folders that affect its outcome, in addition to [`SHARED_INPUTS`]; `:!` excludes one.
    inputs: &'static [&'static str],
    /// Commands that print the versions of other tools that affect its outcome.
    tools: &'static [&'static [&'static str]],
    step: fn(&mut Tally) -> Outcome,
}

/// Inputs of all parts.
const SHARED_INPUTS: [&str; 5] =
    ["Cargo.toml", "Cargo.lock", ".cargo", "tools/xtask/src/nightly.rs", "tools/xtask/src/root.rs"];

/// Inputs of parts that compile the library. Nothing in it may depend on `watch`, which the excluded folder has.
const LIBRARY: [&str; 2] = ["crates", ":!crates/watch"];

/// Inputs of parts that compile the libraries and the command.
const RUST: [&str; 4] = ["crates", "surfaces/cli", "surfaces/capi", "tools/xtask/src/nightly/rust.rs"];

/// Inputs of parts that test the wheel inside other programs.
const WHEEL: [&str; 6] =
    ["crates", "surfaces/cli", "surfaces/python", "testdata", "tools/xtask/src/python.rs", "tools/xtask/src/hosts.rs"];

/// Inputs of parts that measure builds.
const BUDGETS: [&str; 6] = [
    "crates",
    "surfaces/cli",
    "surfaces/capi",
    "surfaces/python",
    "tools/xtask/budgets.toml",
    "tools/xtask/src/nightly/budgets.rs",
];

const PARTS: &[Part] = &[
    Part {
        name: "features",
        description: "the library with one feature at a time",
        inputs: &RUST,
        tools: &[],
        step: rust::features,
    },
    Part {
        name: "unoptimized",
        description: "the command and programs in C without optimization",
        inputs: &RUST,
        tools: &[&["cc", "--version"]],
        step: rust::unoptimized,
    },
    Part {
        name: "docs",
        description: "examples in the documentation, its links, the guide's site",
        inputs: &["crates", "surfaces", "tools/testkit", "testdata", "docs", "tools/xtask/src/nightly/rust.rs"],
        tools: &[],
        step: rust::docs,
    },
    Part {
        name: "workspaces",
        description: "benchmarks and fuzz targets compile",
        inputs: &["crates", "surfaces/cli", "tools", "tools/xtask/src/nightly/rust.rs"],
        tools: &[],
        step: rust::other_workspaces,
    },
    Part {
        name: "blender",
        description: "the extension inside Blender's module for Python",
        inputs: &[WHEEL[0], WHEEL[1], WHEEL[2], WHEEL[3], WHEEL[4], WHEEL[5], "surfaces/blender"],
        tools: &[],
        step: hosts::blender,
    },
    Part {
        name: "neighbors",
        description: "conversions for PyVista, trimesh and meshio",
        inputs: &WHEEL,
        tools: &[],
        step: hosts::neighbors,
    },
    Part {
        name: "ray",
        description: "batches on a Ray cluster, and object stores",
        inputs: &WHEEL,
        tools: &[],
        step: hosts::ray,
    },
    Part {
        name: "browser",
        description: "all WebAssembly modules and the package in Node, beside three.js",
        inputs: &[LIBRARY[0], LIBRARY[1], "surfaces/wasm", "testdata", "tools/xtask/src/web.rs"],
        tools: &[&["node", "--version"]],
        step: web::browser,
    },
    Part {
        name: "bundlers",
        description: "the packed package with Vite, webpack, esbuild, Rollup, Parcel and TypeScript",
        inputs: &[LIBRARY[0], LIBRARY[1], "surfaces/wasm", "tools/xtask/src/web.rs"],
        tools: &[&["node", "--version"]],
        step: web::bundlers,
    },
    Part {
        name: "emulation",
        description: "the kernels of aarch64 in an emulator and those of WebAssembly in Node",
        inputs: &[
            "crates/core/text",
            "tools/xtask/src/nightly/rust.rs",
            "tools/xtask/src/web.rs",
            "tools/xtask/src/wasi.mjs",
        ],
        tools: &[&["qemu-aarch64", "--version"], &["node", "--version"]],
        step: rust::emulation,
    },
    Part {
        name: "cross",
        description: "the workspace compiles for Windows and aarch64",
        inputs: &["crates", "surfaces", "tools", "tools/xtask/src/nightly/rust.rs"],
        tools: &[],
        step: rust::cross,
    },
    Part {
        name: "wine",
        description: "the tests of the library and the command on Windows, under wine",
        inputs: &["crates", "surfaces/cli", "tools/testkit", "testdata", "tools/xtask/src/nightly"],
        tools: &[&["wine", "--version"]],
        step: wine::step,
    },
    Part {
        name: "api",
        description: "the public interfaces equal the stored ones",
        inputs: &["crates", "tools/xtask/src/api.rs"],
        tools: &[&["rustup", "run", "nightly", "rustc", "--version"]],
        step: api::step,
    },
    Part {
        name: "msrv",
        description: "the workspace compiles with the minimum supported Rust version",
        inputs: &["crates", "surfaces", "tools", "tools/xtask/src/nightly/rust.rs"],
        tools: &[],
        step: |_| rust::minimum_version(),
    },
    Part {
        name: "deny",
        description: "licenses, sources and advisories of the dependencies",
        inputs: &["deny.toml", "crates", "surfaces", "tools/xtask/src/deny.rs"],
        tools: &[],
        step: |_| deny::step(),
    },
    Part {
        name: "workflows",
        description: "the workflows of GitHub, with actionlint",
        inputs: &[".github", "tools/xtask/src/nightly/workflows.rs"],
        tools: &[],
        step: |_| workflows::step(),
    },
    Part {
        name: "faults",
        description: "the tests detect planted faults",
        inputs: &[
            "crates",
            "surfaces",
            "tools/testkit",
            "testdata",
            "tools/xtask/src/faults.rs",
            "tools/xtask/src/faults",
        ],
        tools: &[],
        step: faults::step,
    },
    Part {
        name: "fuzz",
        description: "the fuzz targets whose parsers changed, for 20 minutes",
        inputs: &[
            LIBRARY[0],
            LIBRARY[1],
            "tools/testkit/src",
            "tools/fuzz",
            "tools/xtask/src/fuzz.rs",
            "tools/xtask/src/fuzz",
        ],
        tools: &[&["rustup", "run", "nightly", "rustc", "--version"]],
        step: fuzz::step,
    },
    Part {
        name: "races",
        description: "models of code that threads share, and ThreadSanitizer",
        inputs: &[LIBRARY[0], LIBRARY[1], "tools/models", "tools/xtask/src/nightly/races.rs"],
        tools: &[&["rustup", "run", "nightly", "rustc", "--version"]],
        step: races::step,
    },
    Part {
        name: "budgets",
        description: "CPU seconds of default builds, dependencies by feature, sizes of files",
        inputs: &BUDGETS,
        tools: &[],
        step: |tally| budgets::step(false, tally),
    },
    Part {
        name: "budgets-full",
        description: "the same for builds with more features",
        inputs: &BUDGETS,
        tools: &[],
        step: |tally| budgets::step(true, tally),
    },
    Part {
        name: "miri",
        description: "tests inside Miri, which finds undefined behavior, and the unsafe blocks that they run",
        inputs: &[
            LIBRARY[0],
            LIBRARY[1],
            "surfaces/capi",
            "tools/testkit",
            "tools/xtask/unsafe.toml",
            "tools/xtask/src/nightly/miri.rs",
        ],
        tools: &[&["rustup", "run", "nightly", "cargo", "miri", "--version"]],
        step: miri::step,
    },
];

/// Runs the named parts, or all; `--all` includes those that passed with the same inputs, `--list` only lists them.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let options = ["--all", "--list"];
    let names: Vec<&str> = args.iter().copied().filter(|arg| !options.contains(arg)).collect();
    if !names.iter().all(|name| PARTS.iter().any(|part| part.name == *name)) {
        return usage_error();
    }
    let selected = || PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name));
    if args.contains(&"--list") {
        selected().for_each(|part| term::out(format!("{:<12} {}\n", part.name, part.description)));
        return ExitCode::SUCCESS;
    }
    let mut run = Run::default();
    for part in selected() {
        part.run(args.contains(&"--all"), &mut run);
    }
    run.finish()
}

impl Part {
    /// Runs the part, or adds its cached results.
    fn run(&self, ignores_memory: bool, run: &mut Run) {
        let inputs: Vec<&str> = SHARED_INPUTS.iter().chain(self.inputs).copied().collect();
        let hash = memory::hash(&inputs, self.tools);
        let memory = hash.as_deref().filter(|_| !ignores_memory).and_then(|hash| Memory::load(self.name, hash));
        if let Some(memory) = memory {
            run.tally.totals.add(memory.totals);
            run.rows.push(Row {
                name: self.name.into(),
                outcome: Outcome::Ok,
                elapsed: Duration::from_secs_f64(memory.seconds),
                cpu_seconds: memory.cpu_seconds,
                is_remembered: true,
            });
            return;
        }
        let before = run.tally.totals;
        let row = run.step(self.name, self.step);
        let seconds = row.elapsed.as_secs_f64();
        let cpu_seconds = row.cpu_seconds;
        let is_ok = row.outcome == Outcome::Ok;
        if let Some(hash) = hash.filter(|_| is_ok) {
            let totals = run.tally.totals.since(before);
            Memory { hash, seconds, cpu_seconds, totals }.store(self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn every_input_exists() {
        for part in PARTS {
            for input in SHARED_INPUTS.iter().chain(part.inputs) {
                let path = input.trim_start_matches(":!");
                assert!(root::root().join(path).exists(), "{}: {path}", part.name);
            }
        }
    }
}
