//! Runs the `polyhaul` command of an installed package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these words, the first being the program name; returns the exit code. It installs signal
/// handlers, so the interpreter should exit afterwards.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| polyhaul_cli::main(words))
}
