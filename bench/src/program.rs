//! What both programs of the benchmark begin with: their arguments and their exit codes. What they do is `main.rs` and
//! `jobs.rs`.

use std::process::ExitCode;

/// What can go wrong is only shown.
pub type Failure = Box<dyn std::error::Error>;

/// Runs the program `name` with its arguments.
pub fn main(name: &str, run: impl FnOnce(&[&str]) -> Result<(), Failure>) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints which instructions polyhaul uses.
pub fn level() -> Result<(), Failure> {
    println!("{:?}", polyhaul_text::cpu::Level::best());
    Ok(())
}
