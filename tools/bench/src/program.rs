//! Arguments and exit code of the program, and the instruction set that it may use. See `main.rs` for its work.

use polyhaul_text::cpu::Level;
use std::process::ExitCode;

/// Errors are only printed.
pub type Failure = Box<dyn std::error::Error>;

/// Runs the program `name` with its arguments.
pub fn main(name: &str, run: impl FnOnce(&[&str]) -> Result<(), Failure>) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match cap_level().and_then(|()| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Limits polyhaul to the instruction set in `POLYHAUL_BENCH_LEVEL`, to measure the levels of other machines on one
/// machine.
fn cap_level() -> Result<(), Failure> {
    let Ok(level_name) = std::env::var("POLYHAUL_BENCH_LEVEL") else { return Ok(()) };
    let level = Level::all().find(|level| format!("{level:?}").eq_ignore_ascii_case(&level_name));
    level.ok_or_else(|| format!("this CPU has no level {level_name}"))?.cap();
    Ok(())
}

/// Prints the instruction set that polyhaul uses.
pub fn level() -> Result<(), Failure> {
    println!("{:?}", Level::best());
    Ok(())
}
