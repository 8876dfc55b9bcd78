//! `bench-obj`: one measurement per process, `bench-obj read NAME FILE` or `bench-obj write NAME FILE OUTPUT`. polyhaul
//! also accepts `-` for standard input, and files with the extension `.gz`.
//!
//! Each call performs one job once and prints one line, `bench key=value key=value ...`: seconds, CPU seconds, bytes,
//! peak memory, and counts. `cargo xtask bench` starts this program repeatedly and computes rounds, ratios and records.
//! Also contains the generator of the input files and the comparison of number kernels. Only for Unix (`getrusage`).

mod generate;
mod images;
mod limits;
mod measure;
mod numbers;
mod program;
mod readers;
mod throttle;
mod trace;
mod worst;
mod writers;

use program::Failure;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: bench-obj generate single|plain|objects|ply-binary|ply-ascii|ply-splat|stl-binary|stl-ascii|table MEGABYTES FILE
       bench-obj generate obj|ply|stl|table MEGABYTES FILE --style STYLE
       bench-obj generate files MEGABYTES FOLDER
       bench-obj generate pbrt-one|pbrt-many[-gz|-zst] MEGABYTES FOLDER
       bench-obj read polyhaul|tobj|obj|obj-rs|ufbx FILE [THREADS]
       bench-obj read polyhaul|polyhaul-tables|serde-ply[-triangles|-splat]|ply-rs-bw[-splat] FILE [THREADS]
       bench-obj read polyhaul|stl_io FILE [THREADS]
       bench-obj read polyhaul-pbrt FOLDER [THREADS]
       bench-obj read polyhaul-files|tobj-files FOLDER [THREADS]
       bench-obj read limit-once|limit-lines|limit-memory FILE
       bench-obj read limit-calls FILE BYTES
       bench-obj read limit-touch FILE huge|small|populated (Linux)
       bench-obj read limit-cat|limit-memory|limit-inflate FILE-OR-FOLDER [THREADS]
       bench-obj write polyhaul|polyhaul-text|obj|stl_io|limit FILE OUTPUT [THREADS]
       bench-obj numbers|records ROUNDS
       bench-obj images make FOLDER | measure FOLDER ROUNDS
       bench-obj trace|throttle FILE FOLDER ROUNDS
       bench-obj whole PROGRAM ARGUMENTS...
       bench-obj worst PROGRAM
       bench-obj level";

fn main() -> ExitCode {
    program::main("bench-obj", run)
}

fn run(args: &[&str]) -> Result<(), Failure> {
    let threads = |rest: &[&str]| rest.first().map_or(Ok(1), |text| text.parse::<usize>());
    match args {
        ["generate", kind, megabytes, file, "--style", style] => {
            generate::main(&format!("{kind}-{style}"), megabytes.parse()?, Path::new(file))
        }
        ["generate", kind, megabytes, file] => generate::main(kind, megabytes.parse()?, Path::new(file)),
        #[cfg(target_os = "linux")]
        ["read", "limit-touch", file, kind] => limits::touch(Path::new(file), kind),
        ["read", name @ ("limit-once" | "limit-lines" | "limit-memory"), file, ..] => {
            limits::read(name, Path::new(file))
        }
        ["read", "limit-calls", file, call_bytes] => limits::calls(Path::new(file), call_bytes.parse()?),
        ["read", "limit-cat", file, ..] => limits::cat(Path::new(file)),
        ["read", "limit-inflate", file, rest @ ..] => limits::inflate(Path::new(file), threads(rest)?),
        ["read", name, file, rest @ ..] => readers::main(name, Path::new(file), threads(rest)?),
        ["write", "limit", file, output, ..] => limits::write(Path::new(file), Path::new(output)),
        ["write", name, file, output, rest @ ..] => {
            writers::main(name, Path::new(file), Path::new(output), threads(rest)?)
        }
        ["numbers", rounds] => numbers::main(rounds.parse()?),
        ["records", rounds] => numbers::records(rounds.parse()?),
        ["images", "make", folder] => images::make(Path::new(folder)),
        ["images", "measure", folder, rounds] => images::main(Path::new(folder), rounds.parse()?),
        ["trace", file, folder, rounds] => trace::main(Path::new(file), Path::new(folder), rounds.parse()?),
        ["throttle", file, folder, rounds] => throttle::main(Path::new(file), Path::new(folder), rounds.parse()?),
        ["whole", program, args @ ..] => measure::whole(program, args),
        ["worst", program] => worst::main(Path::new(program)),
        ["level"] => program::level(),
        _ => Err(USAGE.into()),
    }
}
