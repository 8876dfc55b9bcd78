//! The project's chores: `cargo xtask tidy`, `cargo xtask test`, `cargo xtask python`, `cargo xtask blender`,
//! `cargo xtask neighbors`, `cargo xtask ray`, `cargo xtask web`, `cargo xtask browser`, `cargo xtask header`,
//! `cargo xtask install-c`, `cargo xtask fuzz`, `cargo xtask deny`, `cargo xtask faults`, `cargo xtask bench`.
//!
//! This file only selects the task. Each one is in the module of the same name (the C library is in `capi`). Nothing
//! here is part of the library, and only `header` changes a source file.

mod api;
mod bench;
mod capi;
mod deny;
mod faults;
mod fuzz;
mod hosts;
mod python;
mod root;
mod term;
mod test;
mod tidy;
mod web;
mod wheels;

use std::process::ExitCode;

/// The usage message.
const USAGE: &str = "\
usage: cargo xtask CHORE

  tidy [--list]              check the rules of the code base; findings are printed as path:line: message
                             --list: print the places of what is limited or known instead: habits, circles of imports
  test [--quick]             run all checks: tidy, format, lints, tests, docs, cross checks
                             --quick: only tidy, format and tests
  python                     build, install and test the Python package (a step of test)
  blender                    test the extension inside Blender's module for Python (a step of test; after python)
  neighbors                  test conversions for PyVista, trimesh and meshio (a step of test; after python)
  ray                        test batches on a Ray cluster and on others' object stores (a step of test; after python)
  web                        build the package for the browser, in target/npm
  browser                    test that package in Node, beside three.js' loaders (a step of test)
  wheels [TARGET...]         build wheels for Linux (x86-64 and aarch64, glibc and musl) and the source distribution
  api                        write the public interface of the Rust crates to public-api.txt (compared by test)
  header                     generate surfaces/capi/include/polyhaul.h from the sources
  install-c [--prefix DIR] [--destdir DIR] [--debug]
                             build the C library and install it: headers, static and shared library, pkg-config
                             (default prefix: /usr/local; --destdir: install below DIR, for packages;
                             --debug: without optimizations)
  fuzz [TARGET] [--seconds N]
                             fuzz one target, or each target once (60 seconds each by default)
  fuzz --all --hours N       fuzz all targets in turn, those with the fewest executions first, and add the totals to
                             tools/fuzz/RECORD.md
  deny                       check licenses, origins and advisories of dependencies (deny.toml; a step of test)
  faults                     plant faults one at a time, and check that the tests find each
  bench [PART...] [--without PART] [--size MB] [--rounds N] [--data DIR] [--record DIR] [--install-peers]
        [--programs DIR] [--before BENCH-OBJ] [--level LEVEL]
                             run all benchmarks against other programs, or some: obj python blender gzip ply stl pbrt tables
                             images numbers records trace watch verdicts sweeps; the record goes to tools/bench/record, that of a
                             smaller trial to DIR/record
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
        ["tidy", "--list"] => tidy::list(),
        ["test"] => test::main(false),
        ["test", "--quick"] => test::main(true),
        ["python"] => test::python(),
        ["blender"] => test::host("blender", hosts::blender),
        ["neighbors"] => test::host("neighbors", hosts::neighbors),
        ["ray"] => test::host("ray", hosts::ray),
        ["web"] => web::main(),
        ["browser"] => test::host("browser", web::step),
        ["wheels", targets @ ..] => wheels::main(targets),
        ["header"] => capi::header(),
        ["install-c", rest @ ..] => capi::install(rest).unwrap_or_else(usage_error),
        ["api"] => api::main(),
        ["deny"] => test::deny(),
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

/// Prints the usage to standard error; exit code 2.
fn usage_error() -> ExitCode {
    term::err(USAGE);
    ExitCode::from(2)
}
