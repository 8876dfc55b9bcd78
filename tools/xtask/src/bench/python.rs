//! Creates Python virtual environments: for polyhaul's package, for the readers that it is compared with, and for
//! Blender, which requires a specific Python and NumPy.

use super::build::{Tools, output_of};
use super::plan::{Environment, PLAN};
use crate::{root, term};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment that polyhaul's package is installed into.
const OWN: &str = "numpy";
/// Functions of polyhaul's package that are measured if they exist.
const FUNCTIONS: [&str; 2] = ["savetxt", "loadtxt"];

/// Creates missing environments that are used; notes those that cannot be created.
pub(super) fn set_up(uses: &BTreeSet<&str>, tools: &mut Tools) {
    let is_wanted = uses.contains("polyhaul") || FUNCTIONS.iter().any(|name| uses.contains(name));
    for environment in &PLAN.python {
        let name = environment.name.as_str();
        if !(uses.contains(name) || name == OWN && is_wanted) {
            continue;
        }
        let Some(python) = environment.made(tools) else { continue };
        if name == OWN && is_wanted && with_polyhaul(&python, tools) {
            tools.programs.insert("polyhaul", python.clone());
            let there = functions(&python, uses, tools);
            tools.programs.extend(there.into_iter().map(|function| (function, python.clone())));
        }
        tools.programs.insert(name, python);
    }
}

impl Environment {
    /// Returns the interpreter, or notes why it is missing.
    fn made(&self, tools: &mut Tools) -> Option<PathBuf> {
        let folder = root::root().join("target").join(&self.folder);
        let python = folder.join("bin").join("python");
        let names: Vec<&str> = self.packages.iter().filter_map(|package| package.split("==").next()).collect();
        let versions = || versions(&python, &names);
        let installed = versions().or_else(|| {
            term::out(format!("setting up {}: {}\n", self.folder, self.packages.join(", ")));
            let made = root::runs(Command::new(&self.base).args(["-m", "venv"]).arg(&folder));
            (made && root::runs(pip(&python).args(&self.packages))).then(versions).flatten()
        });
        match installed {
            Some(versions) => {
                let named = names.iter().zip(versions);
                tools.peers.extend(named.map(|(name, version)| format!("{name} {version}")));
                Some(python)
            }
            None => {
                tools.notes.push(format!("{}: no virtual environment with them", names.join(", ")));
                None
            }
        }
    }
}

/// Returns the versions of packages, if all are installed.
fn versions(python: &Path, names: &[&str]) -> Option<Vec<String>> {
    let code = "import sys\nfrom importlib.metadata import version\nfor name in sys.argv[1:]: print(version(name))";
    let text = output_of(Command::new(python).args(["-c", code]).args(names))?;
    Some(text.lines().map(String::from).collect())
}

/// Builds and installs polyhaul's current package.
fn with_polyhaul(python: &Path, tools: &mut Tools) -> bool {
    term::out("building polyhaul's Python package\n");
    let mut install = pip(python);
    install.args(["--force-reinstall", "--no-deps"]).arg(root::root().join("surfaces/python"));
    install.env("CARGO_TARGET_DIR", root::root().join("target"));
    let built = root::runs(&mut install);
    if !built {
        tools.notes.push("polyhaul's Python package: it did not build".into());
    }
    built
}

/// Returns the used [`FUNCTIONS`] that polyhaul's package has, and notes the missing functions.
fn functions(python: &Path, uses: &BTreeSet<&str>, tools: &mut Tools) -> Vec<&'static str> {
    let code = "import sys, polyhaul\nfor name in sys.argv[1:]: print(name) if hasattr(polyhaul, name) else None";
    let text = output_of(Command::new(python).args(["-c", code]).args(FUNCTIONS)).unwrap_or_default();
    let used = FUNCTIONS.into_iter().filter(|name| uses.contains(name));
    let (there, absent): (Vec<_>, Vec<_>) = used.partition(|name| text.lines().any(|line| line == *name));
    tools.notes.extend(absent.iter().map(|name| format!("polyhaul.{name}: not in the package")));
    there
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}
