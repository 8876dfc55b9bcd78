//! The public interface of the crates that users import, kept as text: a change shows in its review.
//!
//! It needs a nightly toolchain and cargo-public-api, and says so if they are missing. The meaning of the items is in
//! their documentation.

use crate::test::Outcome;
use crate::{root, term};
use std::process::{Command, ExitCode};

/// The crates, and their interfaces. Items that come from other crates of ours are there by their names alone.
const CRATES: [(&str, &str); 2] =
    [("polyhaul", "crates/polyhaul/public-api.txt"), ("polyhaul-model", "crates/core/model/public-api.txt")];

/// Writes the interfaces as they are.
pub(crate) fn main() -> ExitCode {
    for (name, file) in CRATES {
        let Some(found) = interface(name) else {
            term::err("this needs `rustup toolchain install nightly` and `cargo install --locked cargo-public-api`\n");
            return ExitCode::FAILURE;
        };
        if let Err(error) = std::fs::write(root::root().join(file), found) {
            term::err(format!("{file}: {error}\n"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Whether the interfaces equal the stored ones.
pub(crate) fn step() -> Outcome {
    if !root::succeeds(nightly().args(["public-api", "--version"])) {
        return Outcome::Skipped(
            "not installed (cargo install --locked cargo-public-api, and a nightly toolchain)".into(),
        );
    }
    let mut is_same = true;
    for (name, file) in CRATES {
        let kept = std::fs::read_to_string(root::root().join(file)).unwrap_or_default();
        let Some(found) = interface(name) else { return Outcome::Failed };
        let only = |a: &str, b: &str| a.lines().filter(|&line| !b.lines().any(|other| other == line)).count();
        if kept != found {
            is_same = false;
            let (gone, new) = (only(&kept, &found), only(&found, &kept));
            term::out(format!(
                "{file}: {gone} lines are gone and {new} are new; if that is right, `cargo xtask api`\n"
            ));
        }
    }
    Outcome::of(is_same)
}

fn interface(name: &str) -> Option<String> {
    root::output(nightly().args(["public-api", "-p", name, "-sss"]))
}

fn nightly() -> Command {
    let mut command = Command::new("rustup");
    // Else the toolchain of this chore would be asked for.
    command.args(["run", "nightly", "cargo"]).env_remove("CARGO").current_dir(root::root());
    command
}
