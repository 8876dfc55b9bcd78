//! The development tasks of the project, `cargo xtask TASK`.
//!
//! This file only selects the task. Most tasks are in the module of the same name; `header` and `install-c` are in
//! `capi`, `option-page` is in `test`, `option-types` in `python`, `unsafe` in `tidy`, `fault-page` in `faults`, and
//! the parts of `nightly` are in several modules. None of this is part of the library, and only `header`,
//! `option-types`, `option-page`, `unsafe`, `fault-page`, `api`, `fuzz --all` and `bench` change files in git.

mod api;
mod bench;
mod book;
mod capi;
mod deny;
mod faults;
mod fuzz;
mod hosts;
mod memory;
mod nightly;
mod python;
mod release;
mod root;
mod steps;
mod term;
mod test;
mod tidy;
mod web;
mod wheels;

use std::process::ExitCode;

/// Usage message.
const USAGE: &str = "\
usage: cargo xtask TASK

  test [--quick]             run the checks that every change must pass: tidy, formatting, lints, tests in Rust and
                             Python, one WebAssembly module; the last line is the sum of all tests
                             --quick: without lints and WebAssembly
  nightly [PART...] [--all] [--list]
                             run all other checks, or some parts of them; parts that passed with the same inputs are
                             skipped
                             --all: run them anyway; --list: print the parts
  tidy                       check the rules of the code base; prints findings as path:line: message
  unsafe [--write]           print how many unsafe blocks Miri runs, by crate, and the reasons for the others
                             --write: first write tools/xtask/unsafe.toml from the last measurement (nightly miri)
  python                     build, install and test the Python package (a step of test)
  web                        build the package for the browser, in target/npm
  wheels [TARGET...]         build wheels for Linux (x86-64 and aarch64, glibc and musl) and the source distribution
  api                        write the public interfaces of the Rust crates to their public-api.txt
  header                     generate surfaces/capi/include/polyhaul.h from the sources
  release --dry-run [PART...]
                             make the files of a release, or some parts of it, in target/release-files: source crates
                             commands library wheels npm blender sbom notes; uploads nothing
  book                       build the guide as a site, in target/book
  option-page                generate docs/guide/options.md and losses.md from the tables of options and kinds of warnings,
                             and messages.md from the test data
  option-types               generate surfaces/python/polyhaul/_option_types.py from the table of options
  install-c [--prefix DIR] [--destdir DIR] [--target TRIPLE] [--debug]
                             build the C library and install it: headers, static and shared library, files for CMake
                             and pkg-config, licenses (default prefix: /usr/local; --destdir: install below DIR, for
                             packages; --target: for another system; --debug: without optimization)
  faults [FILTER]            plant faults, or those whose names, packages or tests contain FILTER, one at a time, and
                             check that the tests detect each; docs/faults.md lists them
  fault-page                 generate docs/faults.md from the list of faults
  fuzz [TARGET] [--seconds N]
                             fuzz one target, or each target once (default: 60 seconds each)
  fuzz --all --hours N       fuzz all targets in turn, those with the fewest executions first, and add the totals to
                             tools/fuzz/RECORD.md
  bench [PART...] [--without PART] [--size MB] [--rounds N] [--data DIR] [--record DIR] [--install-peers]
        [--programs DIR] [--before BENCH-OBJ] [--level LEVEL]
                             run all benchmarks against other programs, or some: obj python blender gzip ply stl pbrt tables
                             images numbers records trace watch sweeps; the record goes to tools/bench/record, that of a smaller
                             trial to DIR/record
                             --programs: also measure ready programs in DIR (fast_obj, rapidobj, miniply, minipbrt),
                             each as a whole process that gets a file
                             --before: also measure an earlier build of bench-obj (tools/bench/target/release), in turn
                             with this one
                             --level: hold polyhaul at the instructions of avx2, vector or portable (Rust programs only)
                             --install-peers: install the requirements of C++ and Python peers with apt-get
  bench --readme             print the README's tables, from the latest records
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => tidy::main(),
        ["unsafe"] => tidy::unsafe_code::main(false),
        ["unsafe", "--write"] => tidy::unsafe_code::main(true),
        ["test"] => test::main(false),
        ["test", "--quick"] => test::main(true),
        ["nightly", rest @ ..] => nightly::main(rest),
        ["python"] => test::python(),
        ["web"] => web::main(),
        ["wheels", targets @ ..] => wheels::main(targets),
        ["header"] => capi::header(),
        ["option-page"] => test::option_page(),
        ["option-types"] => python::option_types(),
        ["install-c", rest @ ..] => capi::install(rest).unwrap_or_else(usage_error),
        ["api"] => api::main(),
        ["faults"] => faults::main(""),
        ["faults", filter] => faults::main(filter),
        ["fault-page"] => faults::write_page(),
        ["fuzz", rest @ ..] => fuzz::main(rest),
        ["book"] => book::main(),
        ["release", rest @ ..] => release::main(rest),
        ["bench", rest @ ..] => bench::main(rest),
        ["help" | "-h" | "--help"] => {
            term::out(USAGE);
            ExitCode::SUCCESS
        }
        _ => usage_error(),
    }
}

/// Prints the usage to standard error; exits with 2.
fn usage_error() -> ExitCode {
    term::err(USAGE);
    ExitCode::from(2)
}
