//! `cargo xtask release --dry-run`: makes everything that a release consists of, in `target/release-files`, and uploads
//! nothing.
//!
//! Each part is a step; the Debian package and the parts `npm` and `blender` are skipped with a note if their tools are
//! missing. Archives have the same bytes in every run: sorted entries, the time of the last commit, no paths of this
//! machine (`tools/release/pack.py`). `SHA256SUMS` lists all files. Where to look next: `commands` builds the command
//! for each system, `sbom` lists the dependencies, `notes` cuts the release notes out of the changelog.

mod commands;
mod files;
mod notes;
mod packages;
mod sbom;

use crate::steps::{Outcome, Run};
use crate::{term, usage_error};
use files::{Release, of};
use std::process::ExitCode;

/// A part of a release.
type Part = (&'static str, fn(&Release) -> Outcome);

const PARTS: [Part; 9] = [
    ("source", packages::source),
    ("crates", packages::crates),
    ("commands", commands::step),
    ("library", packages::library),
    ("wheels", packages::wheels),
    ("npm", packages::npm),
    ("blender", packages::blender),
    ("sbom", sbom::step),
    ("notes", notes::step),
];

/// Makes all parts, or some by name.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let ["--dry-run", chosen @ ..] = args else { return usage_error() };
    if !chosen.iter().all(|name| PARTS.iter().any(|(part, _)| part == name)) {
        return usage_error();
    }
    let release = match Release::new() {
        Ok(release) => release,
        Err(error) => {
            term::err(format!("release: {error}\n"));
            return ExitCode::FAILURE;
        }
    };
    let mut run = Run::default();
    for (name, part) in PARTS.iter().filter(|(name, _)| chosen.is_empty() || chosen.contains(name)) {
        run.step(name, |_| part(&release));
    }
    run.step("checksums", |_| of(release.checksums()));
    run.finish()
}
