//! Checks the public API of each library crate against its `public-api.txt`, so that changes show up in reviews.
//!
//! Needs a nightly toolchain and cargo-public-api, which is installed below `target` if possible. The items are
//! described in their own documentation.

use crate::steps::{Outcome, Tally};
use crate::{root, term};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// File with the API, in the folder of its crate. Items of our other crates appear by name only.
const FILE: &str = "public-api.txt";

/// A library crate.
struct Library {
    name: String,
    folder: PathBuf,
}

/// Writes all `public-api.txt` files.
pub(crate) fn main() -> ExitCode {
    let Some(program) = program() else {
        term::err("this needs `rustup toolchain install nightly` and `cargo install --locked cargo-public-api`\n");
        return ExitCode::FAILURE;
    };
    for library in libraries() {
        let path = library.folder.join(FILE);
        let Some(interface) = interface(&program, &library) else { return ExitCode::FAILURE };
        if let Err(error) = std::fs::write(&path, interface) {
            term::err(format!("{}: {error}\n", path.display()));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Compares the APIs with the stored files. Each crate counts as a test.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    let Some(program) = program() else {
        return Outcome::Skipped("a nightly toolchain or cargo-public-api is not installed".into());
    };
    let mut is_ok = true;
    for library in libraries() {
        let stored = std::fs::read_to_string(library.folder.join(FILE)).unwrap_or_default();
        let current = interface(&program, &library);
        if current.as_ref() == Some(&stored) {
            tally.totals.passed += 1;
            continue;
        }
        is_ok = false;
        tally.totals.failed += 1;
        tally.failures.push(format!("public interface of {}", library.name));
        if let Some(current) = current {
            let count_only = |a: &str, b: &str| a.lines().filter(|line| !b.lines().any(|other| other == *line)).count();
            let removed = count_only(&stored, &current);
            let added = count_only(&current, &stored);
            let name = &library.name;
            term::out(format!("{name}: {removed} lines removed, {added} added; if intended, run `cargo xtask api`\n"));
        }
    }
    Outcome::of(is_ok)
}

/// Lists the crates in `crates` that have a library, sorted.
fn libraries() -> Vec<Library> {
    let manifests =
        root::output(Command::new("git").current_dir(root::root()).args(["ls-files", "crates/**/Cargo.toml"]));
    let library = |manifest: &str| {
        let folder = root::root().join(Path::new(manifest).parent()?);
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        let name = text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?.to_owned();
        folder.join("src/lib.rs").is_file().then_some(Library { name, folder })
    };
    manifests.unwrap_or_default().lines().filter_map(library).collect()
}

/// Finds or installs cargo-public-api, if there is a nightly toolchain.
fn program() -> Option<PathBuf> {
    let has_nightly = root::succeeds(Command::new("rustup").args(["run", "nightly", "rustc", "--version"]));
    has_nightly.then(|| root::cargo_tool("public-api")).flatten()
}

fn interface(program: &Path, library: &Library) -> Option<String> {
    let mut command = Command::new("rustup");
    // `CARGO` names the toolchain that runs this program.
    command.env_remove("CARGO").current_dir(root::root()).args(["run", "nightly"]).arg(program);
    let output = command.args(["public-api", "-p", &library.name, "-sss"]).output().ok()?;
    if !output.status.success() {
        term::err(format!("{}: {}\n", library.name, String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    String::from_utf8(output.stdout).ok()
}
