//! The part `workflows`: checks the workflows of GitHub with actionlint.

use crate::python::{self, Place};
use crate::root;
use crate::steps::Outcome;
use std::process::Command;

/// Checks all workflows; skipped if actionlint cannot be installed.
pub(super) fn step() -> Outcome {
    let source = root::root().join(".github");
    let requirements = source.join("requirements.txt");
    let place = Place { folder: root::target().join("workflows"), source, requirements };
    if !python::program(python::IS_NEW_ENOUGH).is_some_and(|program| place.environment(program)) {
        return Outcome::Skipped("actionlint cannot be installed".into());
    }
    let mut lint = Command::new(place.programs().join("actionlint"));
    Outcome::of(root::runs(lint.arg("-color").current_dir(root::root())))
}
