//! The project's chores: `cargo xtask tidy`, `cargo xtask test`, `cargo xtask python`, `cargo xtask
//! fuzz`, `cargo xtask faults`, `cargo xtask bench`.
//!
//! This file only picks the chore. What each one checks is in the module of the same name. Nothing
//! here is part of the library, and no chore changes a source file.

mod bench;
mod faults;
mod fuzz;
mod python;
mod root;
mod term;
mod test;
mod tidy;

use std::process::ExitCode;

/// How the chores are called.
const USAGE: &str = "\
usage: cargo xtask CHORE

  tidy                       the rules of the code base, each finding as path:line: rule: message
  test [--quick]             everything that must hold: tidy, format, lints, tests, docs, cross checks
                             --quick: tidy, format and tests alone
  python                     the step of test that builds, installs and tests the Python package
  fuzz [TARGET] [--seconds N]
                             fuzz one target, or all in turn (60 seconds each unless told)
  faults                     plants faults one at a time, and holds that the tests find each
  bench [PART...] [--without PART] [--size MB] [--rounds N] [--data DIR] [--record DIR] [--install-peers]
                             all parts beside other programs, or some: obj python blender gzip ply stl pbrt tables
                             numbers records; the record goes to bench/record, that of a smaller trial to DIR/record
                             --install-peers: install what peers in C++ and Python need by apt-get
  bench --readme             the README's tables, from the latest records
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => tidy::main(),
        ["test"] => test::main(false),
        ["test", "--quick"] => test::main(true),
        ["python"] => test::python(),
        ["faults"] => faults::main(),
        ["fuzz", rest @ ..] => fuzz::main(rest),
        ["bench", rest @ ..] => bench::main(rest),
        ["help" | "-h" | "--help"] => {
            term::out(USAGE);
            ExitCode::SUCCESS
        }
        _ => usage_error(),
    }
}

/// Says how the chores are called, on standard error; exit code 2.
fn usage_error() -> ExitCode {
    term::err(USAGE);
    ExitCode::from(2)
}
