//! Starts the first traced process, which waits until it is traced.
//!
//! Uses a plain fork, since the process has to wait for its tracer between fork and exec. In between, it must not
//! allocate or lock: other threads of this program may have held locks at the fork.

use crate::filter::Filter;
use crate::system;
use libc::{c_char, c_int, pid_t};
use std::ffi::{CString, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;

/// The work of the process.
pub enum Work {
    /// Executes a program; the first argument names it.
    Program(Vec<CString>),
    /// Makes this many traced calls without effect, to measure the cost of stopping.
    Calls(u32),
}

impl Work {
    /// Converts a command line. Returns `None` if an argument contains a NUL byte.
    pub fn program(command: &[OsString]) -> Option<Work> {
        let parts = command.iter().map(|part| CString::new(part.clone().into_vec()).ok());
        parts.collect::<Option<Vec<CString>>>().map(Work::Program)
    }
}

/// The reason why the process did not execute its program.
#[derive(Debug)]
pub enum Refusal {
    /// The kernel rejected the filter.
    Filter(io::Error),
    /// The program could not be executed.
    Program(io::Error),
}

/// A process waiting to be traced.
pub struct Child {
    /// Process ID.
    pub pid: pid_t,
    go: PipeWriter,
    failure: PipeReader,
}

impl Child {
    /// Forks the process.
    pub fn fork(work: &Work, filter: &Filter) -> io::Result<Child> {
        let (wait, go) = io::pipe()?;
        let (failure, report) = io::pipe()?;
        let program = match work {
            Work::Program(parts) => parts.as_slice(),
            Work::Calls(_) => &[],
        };
        let pointers: Vec<_> = program.iter().map(|part| part.as_ptr()).chain([std::ptr::null()]).collect();
        let ends = [wait.as_raw_fd(), go.as_raw_fd(), report.as_raw_fd()];
        // SAFETY: between `fork` and `exec` or `_exit` the child runs only `live`, which makes system calls and neither
        // allocates nor takes a lock.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => live(work, &pointers, filter, ends),
            pid => Ok(Child { pid, go, failure }),
        }
    }

    /// Starts tracing the process with these ptrace options, and lets it continue.
    pub fn go(mut self, options: usize) -> io::Result<Departed> {
        if let Err(error) = system::ptrace(libc::PTRACE_SEIZE, self.pid, 0, options) {
            // The process reads the end of the pipe, and exits.
            drop(self.go);
            let _ = system::wait(self.pid, 0);
            return Err(error);
        }
        self.go.write_all(b"g")?;
        Ok(Departed { pid: self.pid, failure: self.failure })
    }
}

/// A process being traced.
pub struct Departed {
    /// Process ID.
    pub pid: pid_t,
    failure: PipeReader,
}

impl Departed {
    /// Returns the reason why the process did not execute its program, or `None` if it reported no failure. Blocks
    /// until the process has called `exec` or has ended.
    pub fn refusal(mut self) -> Option<Refusal> {
        let mut words = [0; 5];
        self.failure.read_exact(&mut words).ok()?;
        let [step, number @ ..] = words;
        let error = io::Error::from_raw_os_error(i32::from_ne_bytes(number));
        Some(if step == FILTER { Refusal::Filter(error) } else { Refusal::Program(error) })
    }
}

const FILTER: u8 = 1;
const PROGRAM: u8 = 2;

/// Runs in the child; never returns.
fn live(work: &Work, program: &[*const c_char], filter: &Filter, [wait, go, report]: [c_int; 3]) -> ! {
    // SAFETY: `byte` is writable for the one byte that is read. `program` contains pointers to NUL-terminated strings
    // and a terminating null, all created before the fork. `execvp` of the supported C libraries takes no lock.
    unsafe {
        // If this process also held the writing end, the read below would not notice that the tracer has gone.
        libc::close(go);
        let mut byte = 0u8;
        if libc::read(wait, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(1);
        }
        if let Err(error) = filter.install() {
            fail(report, FILTER, &error);
        }
        match work {
            Work::Calls(count) => {
                for _ in 0..*count {
                    libc::pread(-1, (&raw mut byte).cast(), 1, 0);
                }
                libc::_exit(0)
            }
            Work::Program(_) => {
                // Rust programs ignore SIGPIPE, and their children inherit this setting.
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                libc::execvp(program[0], program.as_ptr());
                fail(report, PROGRAM, &io::Error::last_os_error())
            }
        }
    }
}

fn fail(report: c_int, step: u8, error: &io::Error) -> ! {
    let [a, b, c, d] = error.raw_os_error().unwrap_or(0).to_ne_bytes();
    let words = [step, a, b, c, d];
    // SAFETY: pointer and length are those of `words`, which lives through the call.
    unsafe {
        libc::write(report, words.as_ptr().cast(), words.len());
        libc::_exit(127)
    }
}
