//! The program `polyhaul`. Everything is in the library, which the Python package runs, too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(polyhaul_cli::main(std::env::args_os().collect()))
}
