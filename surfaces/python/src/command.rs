//! Runs the `polyhaul` command of an installed package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these arguments, starting with the program name, and returns the exit code. The command
/// installs signal handlers, so the interpreter should exit afterwards.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| polyhaul_cli::main(words))
}
