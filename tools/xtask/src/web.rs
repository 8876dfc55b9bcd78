//! `cargo xtask web`: the package for browsers, in `target/npm`, and the steps of `cargo xtask test` and
//! `cargo xtask nightly` that test it and its kernels in Node.
//!
//! Modules are built only with Cargo, with the flags in `.cargo/config.toml`; the package's JavaScript is copied
//! unchanged, except for the worker script. Steps are skipped if the standard library for WebAssembly, Node or its
//! packages are missing.

use crate::nightly::missing_target;
use crate::steps::{Outcome, Stream, Tally, Totals, counted, each_line};
use crate::{root, term};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-wasip1";

/// Module of the package: file name, and features of `polyhaul-wasm`.
type Module = (&'static str, &'static str);

/// Reads all formats of the package, for most pages.
const READER: Module = ("polyhaul.wasm", "obj,ply,stl,off,table");
/// Also converts and writes.
const CONVERTER: Module = ("polyhaul-convert.wasm", "obj,ply,stl,off,table,convert");
/// Modules for a single format.
const SMALL_MODULES: [Module; 3] =
    [("polyhaul-obj.wasm", "obj"), ("polyhaul-ply.wasm", "ply"), ("polyhaul-stl.wasm", "stl")];

/// Renders the page, and serves as a reference in tests.
const THREE: &str = "three@0.187";
/// Opens the page in an installed browser.
const DRIVER: &str = "playwright-core@1";
/// Bundlers that tests build pages with.
const BUNDLERS: [&str; 16] = [
    "vite@8",
    "vite-7@npm:vite@7",
    "webpack@5",
    "webpack-cli@7",
    "webpack-dev-server@5",
    "esbuild@0.28",
    "rollup@4",
    "@rollup/plugin-node-resolve@16",
    "@web/rollup-plugin-import-meta-assets@2",
    "parcel@2",
    "next@16",
    "react@19",
    "react-dom@19",
    "typescript@7",
    "@types/three@0.187",
    DRIVER,
];
/// Worker script with its imports, in order.
const WORKER: [&str; 3] = ["engine.js", "remote.js", "worker.js"];
/// Tests without dependencies on other packages.
const TESTS_OF_ONE: [&str; 3] = ["parts.test.mjs", "read.test.mjs", "remote.test.mjs"];

/// Builds the package as published, and the page, which can be hosted as static files.
pub(crate) fn main() -> ExitCode {
    let Some(package) = package("web", "npm", &all_modules()) else { return ExitCode::FAILURE };
    term::out(format!("{}: the package\n", package.display()));
    match install(&place(), &[THREE]).then(|| page(&package)).flatten() {
        Some(folder) => {
            term::out(format!("{}: the page\n", folder.display()));
            ExitCode::SUCCESS
        }
        None => {
            term::err(format!("the page needs npm, and {THREE} from its registry\n"));
            ExitCode::FAILURE
        }
    }
}

/// Assembles the page: its files, the package, and the parts of three.js that it uses.
fn page(package: &Path) -> Option<PathBuf> {
    let folder = root::target().join("web");
    let three = place().join("node_modules/three");
    let addons = ["loaders/OBJLoader.js", "loaders/PLYLoader.js", "loaders/STLLoader.js", "controls/OrbitControls.js"];
    let parts = addons.map(|name| (format!("examples/jsm/{name}"), format!("addons/{name}")));
    let builds = ["three.module.js", "three.core.js"].map(|name| (format!("build/{name}"), name.to_owned()));
    let copied = copy(&root::root().join("surfaces/wasm/npm/page"), &folder)
        && copy(package, &folder.join("polyhaul"))
        && builds.iter().chain(&parts).all(|(from, to)| copy_file(&three.join(from), &folder.join("three").join(to)));
    copied.then_some(folder)
}

fn all_modules() -> Vec<Module> {
    [&[READER, CONVERTER][..], &SMALL_MODULES].concat()
}

/// Folder of installed Node packages.
fn place() -> PathBuf {
    root::target().join("npm-tests")
}

/// Installs Node packages in `place`.
fn install(place: &Path, packages: &[&str]) -> bool {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]).args(packages);
    std::fs::create_dir_all(place).is_ok()
        && std::fs::write(place.join("package.json"), "{\"type\": \"module\"}\n").is_ok()
        && root::succeeds(npm.current_dir(place))
}

/// Returns the name of a missing tool, if any.
fn missing() -> Option<String> {
    missing_target(TARGET).or_else(missing_node)
}

fn missing_node() -> Option<String> {
    let is_recent = ["-e", "process.exit(Number(!process.getBuiltinModule))"];
    (!root::succeeds(Command::new("node").args(is_recent))).then(|| "Node.js 20.16 is not installed".into())
}

/// Builds the module with all features, and runs the package's tests that need no other package.
pub(crate) fn one_module(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing_target(TARGET) {
        return Outcome::Skipped(missing);
    }
    let place = root::target().join("npm-test");
    let Some(package) = package("dev", "npm-test/node_modules/polyhaul", &[CONVERTER]) else { return Outcome::Failed };
    if let Some(missing) = missing_node() {
        return Outcome::Skipped(format!("the module compiles, but {missing}"));
    }
    let module = package.join(CONVERTER.0);
    let copied = all_modules().iter().all(|(name, _)| *name == CONVERTER.0 || copy_file(&module, &package.join(name)));
    let tests = root::root().join("surfaces/wasm/npm/tests");
    if !copied || !TESTS_OF_ONE.iter().all(|name| copy_file(&tests.join(name), &place.join("tests").join(name))) {
        return Outcome::Failed;
    }
    tested(&place, None, tally)
}

/// Tests the package in Node, and compares it with three.js' own loaders.
pub(crate) fn browser(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let Some(package) = package("release", "npm-tests/package", &all_modules()) else { return Outcome::Failed };
    let place = place();
    if !install(&place, &[THREE, DRIVER]) {
        return Outcome::Skipped(format!("{THREE} and {DRIVER} cannot be installed"));
    }
    let Some(page) = page(&package) else { return Outcome::Failed };
    let copied = copy(&package, &place.join("node_modules/polyhaul"))
        && copy(&root::root().join("surfaces/wasm/npm/tests"), &place.join("tests"));
    if !copied {
        return Outcome::Failed;
    }
    tested(&place, Some(&page), tally)
}

/// Tests the output of `npm pack` in projects of bundlers.
pub(crate) fn bundlers(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let Some(package) = package("release", "npm-bundlers/package", &all_modules()) else { return Outcome::Failed };
    let place = root::target().join("npm-bundlers");
    if !install(&place, &BUNDLERS) {
        return Outcome::Skipped(format!("{} cannot be installed", BUNDLERS.join(", ")));
    }
    let tests = root::root().join("surfaces/wasm/npm/tests/bundlers");
    let is_ready = pack(&package, &place.join("packed")) && copy(&tests, &place.join("tests"));
    if is_ready { tested(&place, None, tally) } else { Outcome::Failed }
}

/// Packs the package as published, as the only file of a folder.
fn pack(package: &Path, folder: &Path) -> bool {
    _ = std::fs::remove_dir_all(folder);
    let mut npm = Command::new("npm");
    npm.args(["pack", "--loglevel=error", "--pack-destination"]).arg(folder);
    std::fs::create_dir_all(folder).is_ok() && root::succeeds(npm.current_dir(package))
}

/// Checks in Node that the WebAssembly kernels return the same results as the portable kernels.
pub(crate) fn kernels(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let mut command = root::cargo();
    command.args(["test", "-p", "polyhaul-text", "--no-fail-fast", "--tests", "--target", TARGET]);
    let runner = format!("node --no-warnings {}", root::root().join("tools/xtask/src/wasi.mjs").display());
    counted(command.env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner), tally)
}

/// Runs the tests in `place` and parses their counts from Node's last lines.
fn tested(place: &Path, page: Option<&Path>, tally: &mut Tally) -> Outcome {
    let mut sum = Totals::default();
    let mut command = Command::new("node");
    let files = std::fs::read_dir(place.join("tests")).into_iter().flatten().flatten();
    let files = files.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(".test.mjs"));
    command.args(["--test", "--test-reporter=tap"]).args(files).current_dir(place);
    command.env("POLYHAUL_TESTDATA", root::root().join("testdata"));
    command.envs(page.map(|page| ("POLYHAUL_PAGE", page)));
    let is_ok = each_line(Stream::Output, &mut command, |line| {
        let count = |name: &str| line.strip_prefix(name).and_then(|count| count.parse().ok()).unwrap_or(0);
        sum.passed += count("# pass ");
        sum.failed += count("# fail ");
        sum.skipped += count("# skipped ");
        tally.failures.extend(line.trim_start().strip_prefix("not ok ").map(String::from));
    });
    tally.totals.add(sum);
    Outcome::of(is_ok && sum.failed == 0 && sum.passed > 0)
}

/// Builds modules and assembles the package in a folder of `target`; returns the folder.
fn package(profile: &str, folder: &str, modules: &[Module]) -> Option<PathBuf> {
    let folder = root::target().join(folder);
    _ = std::fs::remove_dir_all(&folder);
    let profile_folder = if profile == "dev" { "debug" } else { profile };
    let built = root::target().join(TARGET).join(profile_folder).join("polyhaul_wasm.wasm");
    let build = |&(name, features): &Module| {
        let mut command = root::cargo();
        command.args(["build", "-p", "polyhaul-wasm", "--target", TARGET, "--profile", profile]);
        command.args(["--no-default-features", "--features", features]);
        root::runs(&mut command) && copy_file(&built, &folder.join(name))
    };
    let licenses = ["LICENSE-MIT", "LICENSE-APACHE"];
    let copied = copy(&root::root().join("surfaces/wasm/npm"), &folder)
        && licenses.iter().all(|name| copy_file(&root::root().join(name), &folder.join(name)))
        && join_worker(&folder).is_ok();
    (copied && modules.iter().all(build)).then_some(folder)
}

/// Joins the worker script with its imports, so that bundlers and users can copy it as a single file.
fn join_worker(folder: &Path) -> std::io::Result<()> {
    let mut script = String::new();
    for name in WORKER {
        let text = std::fs::read_to_string(folder.join(name))?;
        for line in text.lines().filter(|line| !line.starts_with("import ")) {
            script.extend([line.strip_prefix("export ").unwrap_or(line), "\n"]);
        }
    }
    std::fs::write(folder.join("worker.js"), script)
}

/// Copies the files of a folder, without subfolders.
fn copy(from: &Path, to: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(from) else { return false };
    std::fs::create_dir_all(to).is_ok()
        && entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).all(|path| {
            let name = path.file_name().unwrap_or_default();
            copy_file(&path, &to.join(name))
        })
}

/// Copies a file, creating its folder.
fn copy_file(from: &Path, to: &Path) -> bool {
    to.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok()) && std::fs::copy(from, to).is_ok()
}
