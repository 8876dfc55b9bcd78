//! The command `polyhaul` of an installed package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command with these words, the first being the program's name: the exit code. It handles signals itself,
/// and the interpreter is to exit afterwards.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| polyhaul_cli::main(words))
}
