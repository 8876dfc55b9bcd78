//! `cargo xtask web`: the package for the browser, in `target/npm`, and the steps of `cargo xtask test` that test it
//! and its kernels in Node.
//!
//! The modules are built by Cargo alone; the package's JavaScript is copied as it is. The step is skipped where the
//! standard library for WebAssembly, Node or its packages cannot be had.

use crate::test::{Outcome, Tally, Totals, counted, each_line, missing_target};
use crate::{root, term};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-wasip1";
/// What browsers have had since 2023.
const FEATURES: &str = "-C target-feature=+simd128";
/// Names of functions are a good part of a module. Cargo forgets the `strip` of a profile that has options for
/// packages.
const STRIPPED: &str = " -C strip=symbols";
/// A module of the package: its name, flags of the compiler, and its formats if it has not all of them.
type Module = (&'static str, &'static str, Option<&'static str>);
const ONLY_READS: &str = " --cfg polyhaul_only_reads";
/// One that reads, for most pages, and one that does everything.
const MODULES: [Module; 2] = [("polyhaul.wasm", ONLY_READS, None), ("polyhaul-convert.wasm", "", None)];
/// Those that read one format alone.
const SMALL_MODULES: [Module; 3] = [
    ("polyhaul-obj.wasm", ONLY_READS, Some("obj")),
    ("polyhaul-ply.wasm", ONLY_READS, Some("ply")),
    ("polyhaul-stl.wasm", ONLY_READS, Some("stl")),
];
/// What the page draws with, and tests compare with.
const THREE: &str = "three@0.187";
/// What opens the page in a browser that is installed.
const DRIVER: &str = "playwright-core@1";

/// Builds the package as it is published, and the page, which any server of files can serve.
pub(crate) fn main() -> ExitCode {
    let modules = [&MODULES[..], &SMALL_MODULES].concat();
    let Some(package) = package("web", "npm", &modules) else { return ExitCode::FAILURE };
    term::out(format!("{}: the package\n", package.display()));
    match install(&[THREE]).then(|| page(&package)).flatten() {
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

/// Puts the page together: its files, the package, and the parts of three.js that it uses.
fn page(package: &Path) -> Option<PathBuf> {
    let (folder, three) = (root::root().join("target/web"), place().join("node_modules/three"));
    let addons = ["loaders/OBJLoader.js", "loaders/PLYLoader.js", "loaders/STLLoader.js", "controls/OrbitControls.js"];
    let parts = addons.map(|name| (format!("examples/jsm/{name}"), format!("addons/{name}")));
    let builds = ["three.module.js", "three.core.js"].map(|name| (format!("build/{name}"), name.to_owned()));
    let copied = copy(&root::root().join("surfaces/wasm/npm/page"), &folder)
        && copy(package, &folder.join("polyhaul"))
        && builds.iter().chain(&parts).all(|(from, to)| copy_file(&three.join(from), &folder.join("three").join(to)));
    copied.then_some(folder)
}

/// Where packages for Node are installed.
fn place() -> PathBuf {
    root::root().join("target/npm-tests")
}

/// Installs packages for Node.
fn install(packages: &[&str]) -> bool {
    let place = place();
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]).args(packages);
    std::fs::create_dir_all(&place).is_ok()
        && std::fs::write(place.join("package.json"), "{\"type\": \"module\"}\n").is_ok()
        && root::succeeds(npm.current_dir(place))
}

/// What is not installed of what every step here needs.
fn missing() -> Option<String> {
    let is_recent = ["-e", "process.exit(Number(parseInt(process.versions.node) < 20))"];
    let node = || (!root::succeeds(Command::new("node").args(is_recent))).then(|| "there is no Node.js 20".into());
    missing_target(TARGET).or_else(node)
}

/// Tests the package in Node, beside three.js' own loaders.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let Some(package) = tested_package() else { return Outcome::Failed };
    let place = place();
    if !install(&[THREE, DRIVER]) {
        return Outcome::Skipped(format!("{THREE} and {DRIVER} cannot be installed"));
    }
    let Some(page) = page(&package) else { return Outcome::Failed };
    let copied = copy(&package, &place.join("node_modules/polyhaul"))
        && copy(&root::root().join("surfaces/wasm/npm/tests"), &place.join("tests"));
    if !copied {
        return Outcome::Failed;
    }
    tested(&place, &page, tally)
}

/// The kernels for WebAssembly give the results of the portable ones, in Node.
pub(crate) fn kernels(tally: &mut Tally) -> Outcome {
    if let Some(missing) = missing() {
        return Outcome::Skipped(missing);
    }
    let mut command = root::cargo();
    command.args(["test", "-p", "polyhaul-text", "--no-fail-fast", "--tests", "--target", TARGET]);
    let runner = format!("node --no-warnings {}", root::root().join("tools/xtask/src/wasi.mjs").display());
    command.env("RUSTFLAGS", FEATURES).env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner);
    counted(&mut command, tally)
}

/// Runs the tests in `place` and counts them by the last lines that Node prints.
fn tested(place: &Path, page: &Path, tally: &mut Tally) -> Outcome {
    let mut sum = Totals::default();
    let mut command = Command::new("node");
    let files = std::fs::read_dir(place.join("tests")).into_iter().flatten().flatten();
    let files = files.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(".test.mjs"));
    command.args(["--test", "--test-reporter=tap"]).args(files).current_dir(place);
    command.env("POLYHAUL_TESTDATA", root::root().join("testdata")).env("POLYHAUL_PAGE", page);
    let ok = each_line(&mut command, |line| {
        let count = |name: &str| line.strip_prefix(name).and_then(|count| count.parse().ok()).unwrap_or(0);
        sum.passed += count("# pass ");
        sum.failed += count("# fail ");
        sum.skipped += count("# skipped ");
        tally.failures.extend(line.trim_start().strip_prefix("not ok ").map(String::from));
    });
    tally.totals.add(sum);
    Outcome::of(ok && sum.failed == 0 && sum.passed > 0)
}

/// The package for tests. Of the modules for one format it has that of OBJ, since each takes a minute; in place of the
/// others is the one that reads everything.
fn tested_package() -> Option<PathBuf> {
    let [obj, others @ ..] = SMALL_MODULES;
    let package = package("release", "npm-tests/package", &[&MODULES[..], &[obj]].concat())?;
    let all = package.join(MODULES[0].0);
    others.iter().all(|(name, ..)| copy_file(&all, &package.join(name))).then_some(package)
}

/// Builds modules and puts the package together in a folder of `target`; returns it.
fn package(profile: &str, folder: &str, modules: &[Module]) -> Option<PathBuf> {
    let folder = root::root().join("target").join(folder);
    _ = std::fs::remove_dir_all(&folder);
    let built = root::root().join("target").join(TARGET).join(profile).join("polyhaul_wasm.wasm");
    let module = |&(name, flags, formats): &Module| {
        let mut command = root::cargo();
        command.args(["build", "-p", "polyhaul-wasm", "--target", TARGET, "--profile", profile]);
        if let Some(formats) = formats {
            command.args(["--no-default-features", "--features", formats]);
        }
        root::runs(command.env("RUSTFLAGS", [FEATURES, STRIPPED, flags].concat()))
            && copy_file(&built, &folder.join(name))
    };
    (copy(&root::root().join("surfaces/wasm/npm"), &folder) && modules.iter().all(module)).then_some(folder)
}

/// Copies the files of a folder, and leaves folders in it out.
fn copy(from: &Path, to: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(from) else { return false };
    std::fs::create_dir_all(to).is_ok()
        && entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).all(|path| {
            let name = path.file_name().unwrap_or_default();
            copy_file(&path, &to.join(name))
        })
}

/// Copies a file, and makes its folder.
fn copy_file(from: &Path, to: &Path) -> bool {
    to.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok()) && std::fs::copy(from, to).is_ok()
}
