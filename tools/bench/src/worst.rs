//! Prints a table of the small inputs that are most expensive to read: peak memory and time of the command for each.
//!
//! The inputs come from the test kit's module `worst`, whose test checks the bound on memory.

use crate::measure::reset_peak_memory;
use crate::program::Failure;
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::worst::{self, Work, WorstInput};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Peak memory and time of a process.
#[derive(Default)]
struct Cost {
    seconds: f64,
    peak_bytes: u64,
}

impl Cost {
    fn max(&self, other: &Cost) -> Cost {
        Cost { seconds: self.seconds.max(other.seconds), peak_bytes: self.peak_bytes.max(other.peak_bytes) }
    }
}

/// An input on disk.
struct SavedInput {
    format: String,
    name: &'static str,
    bytes: u64,
    max_bytes: u64,
    path: PathBuf,
}

/// Runs `program` on each input, and prints the table, and the maximum for each format.
pub fn main(program: &Path) -> Result<(), Failure> {
    let folder = Folder::new("worst")?;
    let inputs = worst::inputs().into_iter().map(|input| save(&input, &folder)).collect::<Result<Vec<_>, _>>()?;
    // A child process starts with the peak of its parent.
    reset_peak_memory();
    println!("| format | input | bytes | bound | info | check | convert | diff | preview |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    let mut worst_by_format: BTreeMap<&str, (Cost, usize)> = BTreeMap::new();
    for input in &inputs {
        let mut row = format!("| {} | {} | {} |", input.format, input.name, input.bytes);
        row += &format!(" {} MB |", input.max_bytes / 1_000_000);
        let (of_format, count) = worst_by_format.entry(&input.format).or_default();
        *count += 1;
        for work in Work::ALL {
            let cost = cost(&mut command(program, work, &input.path))?;
            row += &format!(" {} MB, {:.2} s |", cost.peak_bytes / 1_000_000, cost.seconds);
            *of_format = of_format.max(&cost);
        }
        println!("{row}");
    }
    println!("\n| format | inputs | peak memory | longest time |\n|---|--:|--:|--:|");
    for (format, (cost, count)) in worst_by_format {
        println!("| {format} | {count} | {} MB | {:.2} s |", cost.peak_bytes / 1_000_000, cost.seconds);
    }
    Ok(())
}

fn save(input: &WorstInput, folder: &Folder) -> Result<SavedInput, Failure> {
    let bytes = input.bytes();
    let max_bytes = worst::max_bytes(bytes, input.content_bytes);
    Ok(SavedInput { format: input.format().into(), name: input.name, bytes, max_bytes, path: input.save(folder)? })
}

/// Returns the command line for a piece of work.
fn command(program: &Path, work: Work, path: &Path) -> Command {
    let mut command = Command::new(program);
    let output = |extension: &str| path.with_file_name("out").with_extension(extension);
    match work {
        Work::Info => command.arg("info").arg(path),
        Work::Check => command.arg("check").arg(path),
        Work::Convert => command.args(["convert", "-q"]).arg(path).arg(output(worst::target(path).name())),
        Work::Diff => command.arg("diff").arg(path).arg(path),
        Work::Preview => command.arg("preview").arg(path).arg("-o").arg(output("png")),
    };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Runs a command, ignoring its exit code.
fn cost(command: &mut Command) -> Result<Cost, Failure> {
    let start = Instant::now();
    let child = command.spawn()?;
    let mut status = 0;
    // SAFETY: all zeros is a valid `rusage`, which the call fills.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to variables of the expected types, and nothing else waits for the child.
    if unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(Cost { seconds: start.elapsed().as_secs_f64(), peak_bytes: usage.ru_maxrss as u64 * 1024 })
}
