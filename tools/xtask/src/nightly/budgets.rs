//! The parts `budgets` and `budgets-full` of `cargo xtask nightly`: compares build times, dependencies and download
//! sizes with the limits in `tools/xtask/budgets.toml`.

use crate::steps::{Outcome, Tally, cpu_seconds};
use crate::{python, root, term};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Budgets {
    build: Vec<Build>,
    file: Vec<FileBudget>,
    crates: Vec<CrateBudget>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Build {
    name: String,
    command: Vec<String>,
    after: Option<String>,
    cpu_seconds: Option<f64>,
    /// Whether it belongs to the part `budgets-full`.
    #[serde(default)]
    is_full: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileBudget {
    build: String,
    name: String,
    bytes: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CrateBudget {
    features: String,
    count: usize,
}

/// A measured figure and its limit.
struct Figure {
    name: String,
    measured: f64,
    limit: f64,
    unit: &'static str,
}

impl Figure {
    fn is_exceeded(&self) -> bool {
        self.measured > self.limit
    }
}

/// Measures the builds of one part; without `is_full`, also counts crates.
pub(super) fn step(is_full: bool, tally: &mut Tally) -> Outcome {
    let budgets = match load() {
        Ok(budgets) => budgets,
        Err(error) => {
            term::err(format!("budgets.toml: {error}\n"));
            return Outcome::Failed;
        }
    };
    if cpu_seconds().is_none() {
        return Outcome::Skipped("CPU seconds are measured on Linux only".into());
    }
    let Some(python) = python::program(python::IS_NEW_ENOUGH) else {
        return Outcome::Skipped("Python 3.11 or later is not installed".into());
    };
    let mut figures = Vec::new();
    for build in budgets.build.iter().filter(|build| build.is_full == is_full) {
        let Some(seconds) = build.measure(python) else {
            term::out(format!("{}: the build failed\n", build.name));
            return Outcome::Failed;
        };
        let name = format!("build: {}", build.name);
        figures.extend(build.cpu_seconds.map(|limit| Figure { name, measured: seconds, limit, unit: "CPU-s" }));
        let files = budgets.file.iter().filter(|file| file.build == build.name);
        figures.extend(files.map(|file| file.measure(&build.folder())));
    }
    if !is_full {
        figures.extend(budgets.crates.iter().filter_map(CrateBudget::measure));
    }
    report(&figures, tally)
}

fn load() -> Result<Budgets, String> {
    let path = root::root().join("tools/xtask/budgets.toml");
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    toml::from_str(&text).map_err(|error| error.to_string())
}

impl Build {
    fn folder(&self) -> PathBuf {
        root::target().join("budgets").join(self.after.as_ref().unwrap_or(&self.name))
    }

    /// Runs the build; returns its CPU seconds.
    fn measure(&self, python: &str) -> Option<f64> {
        let folder = self.folder();
        if self.after.is_none() {
            _ = std::fs::remove_dir_all(&folder);
        }
        // Excludes downloads from the measurement.
        if !root::runs(root::cargo().args(["fetch", "--quiet", "--locked"])) {
            return None;
        }
        let (program, args) = self.command.split_first()?;
        let mut command = match &**program {
            "cargo" => root::cargo(),
            "python" => Command::new(python),
            other => Command::new(other),
        };
        let folder_text = folder.to_string_lossy();
        command.args(args.iter().map(|arg| arg.replace("{folder}", &folder_text)));
        command.current_dir(root::root()).env("CARGO_TARGET_DIR", &folder);
        let start = cpu_seconds()?;
        let is_built = root::runs(&mut command);
        let seconds = cpu_seconds()? - start;
        is_built.then_some(seconds)
    }
}

impl FileBudget {
    fn measure(&self, folder: &Path) -> Figure {
        let bytes = largest(folder, &self.name);
        Figure {
            name: format!("file: {} of {}", self.name, self.build),
            // A missing file exceeds every limit.
            measured: bytes.map_or(f64::INFINITY, |bytes| bytes as f64),
            limit: self.bytes as f64,
            unit: "bytes",
        }
    }
}

/// Returns the size of the largest file in `folder` whose name ends with `end`, which may start with a subfolder.
fn largest(folder: &Path, end: &str) -> Option<u64> {
    let (inner, end) = end.rsplit_once('/').unwrap_or(("", end));
    let files = std::fs::read_dir(folder.join(inner)).ok()?.flatten();
    let files = files.filter(|entry| entry.file_name().to_string_lossy().ends_with(end));
    files.filter_map(|entry| entry.metadata().ok().filter(|file| file.is_file())).map(|file| file.len()).max()
}

impl CrateBudget {
    /// Counts the third-party crates in the output of `cargo tree`. Returns `None` if that fails.
    fn measure(&self) -> Option<Figure> {
        let mut command = root::cargo();
        command.args(["tree", "--package", "polyhaul", "--no-default-features", "--features", &self.features]);
        let tree = root::output(command.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]))?;
        let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        let count = crates.iter().filter(|name| !name.is_empty() && !name.starts_with("polyhaul")).count();
        let name = format!("third-party crates: {}", self.features);
        Some(Figure { name, measured: count as f64, limit: self.count as f64, unit: "" })
    }
}

/// Prints the figures and their limits, and counts each as a test.
fn report(figures: &[Figure], tally: &mut Tally) -> Outcome {
    term::out(format!("{:<40} {:>12} {:>12}\n", "", "measured", "allowed"));
    for figure in figures {
        let Figure { name, measured, limit, unit } = figure;
        let note = if figure.is_exceeded() { "  EXCEEDED" } else { "" };
        term::out(format!("{name:<40} {measured:>12.0} {limit:>12.0} {unit}{note}\n"));
        if figure.is_exceeded() {
            tally.totals.failed += 1;
            tally.failures.push(name.clone());
        } else {
            tally.totals.passed += 1;
        }
    }
    Outcome::of(!figures.iter().any(Figure::is_exceeded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_budgets_is_understood() {
        let budgets = load().unwrap();
        let names: Vec<&str> = budgets.build.iter().map(|build| &*build.name).collect();
        for build in &budgets.build {
            assert!(build.after.as_ref().is_none_or(|after| names.contains(&&**after)), "{}", build.name);
        }
        for file in &budgets.file {
            assert!(names.contains(&&*file.build), "{}", file.build);
        }
    }
}
