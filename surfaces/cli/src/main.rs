//! The program `polyhaul`. Everything is in the library, which the Python package runs, too.

use polyhaul_spill::SpillAllocator;
use std::process::ExitCode;

/// Lets conversions move arrays to disk that do not fit in memory.
#[global_allocator]
static ALLOCATOR: SpillAllocator = SpillAllocator;

fn main() -> ExitCode {
    polyhaul_cli::map_large_arrays();
    ExitCode::from(polyhaul_cli::main(std::env::args_os().collect()))
}
