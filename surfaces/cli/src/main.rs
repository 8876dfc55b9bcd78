//! The `polyhaul` program. Its code is in the library of this crate, which the Python package also runs.

use polyhaul_spill::SpillAllocator;
use std::process::ExitCode;

/// Spills arrays that do not fit in memory to disk.
#[global_allocator]
static ALLOCATOR: SpillAllocator = SpillAllocator;

fn main() -> ExitCode {
    polyhaul_cli::map_large_arrays();
    ExitCode::from(polyhaul_cli::main(std::env::args_os().collect()))
}
