//! The small inputs that ask for most: peak memory and time of the command for each, as a table.
//!
//! The inputs are those of the test kit's `worst`, whose test holds the library to the bound.

use crate::program::Failure;
use polyhaul_testkit::corpus::Folder;
use polyhaul_testkit::worst::{self, Work};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What takes longer is ended.
const MAX_SECONDS: f64 = 60.0;
/// The interval of checking whether a process has ended.
const PAUSE: Duration = Duration::from_millis(1);

/// What a process took.
struct Cost {
    seconds: f64,
    peak_bytes: u64,
}

/// Runs `program` on each input, and prints the table.
pub fn main(program: &Path) -> Result<(), Failure> {
    let folder = Folder::new("worst")?;
    println!("| format | input | bytes | bound | info | check | convert | diff | preview |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    for input in worst::inputs() {
        let path = input.save(&folder)?;
        let mut row = format!("| {} | {} | {} |", input.format(), input.name, input.bytes());
        row += &format!(" {} MB |", worst::max_bytes(input.bytes(), input.content_bytes) / 1_000_000);
        for work in Work::ALL {
            row += &match cost(&mut command(program, work, &path))? {
                Some(cost) => format!(" {} MB, {:.2} s |", cost.peak_bytes / 1_000_000, cost.seconds),
                None => format!(" over {MAX_SECONDS} s |"),
            };
        }
        println!("{row}");
    }
    Ok(())
}

/// The command line for a piece of work.
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

/// Runs a command, whatever its exit code is; `None` if it takes too long.
fn cost(command: &mut Command) -> Result<Option<Cost>, Failure> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    loop {
        let mut status = 0;
        // SAFETY: all zeros is a valid `rusage`, which the call fills.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to variables of the expected types, and nobody else waits for the child.
        let ended = unsafe { libc::wait4(child.id() as i32, &mut status, libc::WNOHANG, &mut usage) };
        let seconds = start.elapsed().as_secs_f64();
        match ended {
            0 if seconds > MAX_SECONDS => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            0 => sleep(PAUSE),
            -1 => return Err(std::io::Error::last_os_error().into()),
            _ => return Ok(Some(Cost { seconds, peak_bytes: usage.ru_maxrss as u64 * 1024 })),
        }
    }
}
