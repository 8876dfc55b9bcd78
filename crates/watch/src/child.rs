//! The first process that is watched: started, stopped until somebody watches it, then sent off.
//!
//! It uses a plain fork, because it has to wait for its watcher between fork and exec. In between it takes no memory
//! and no lock: other threads of this program may hold some.

use crate::filter::Filter;
use crate::system;
use libc::{c_char, c_int, pid_t};
use std::ffi::{CString, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;

/// The task of the process.
pub enum Work {
    /// Becoming a program, with its arguments; the first names it.
    Program(Vec<CString>),
    /// Making this many calls that stop and do nothing, to measure the cost of stopping.
    Calls(u32),
}

impl Work {
    /// A command line; `None` if a part of it contains a zero byte.
    pub fn program(command: &[OsString]) -> Option<Work> {
        let parts = command.iter().map(|part| CString::new(part.clone().into_vec()).ok());
        parts.collect::<Option<Vec<CString>>>().map(Work::Program)
    }
}

/// Why the process did not become a program.
#[derive(Debug)]
pub enum Refusal {
    /// The kernel did not take the filter.
    Filter(io::Error),
    /// The program could not be started.
    Program(io::Error),
}

/// A process that waits.
pub struct Child {
    /// Its id.
    pub pid: pid_t,
    go: PipeWriter,
    failure: PipeReader,
}

impl Child {
    /// Starts it.
    pub fn fork(work: &Work, filter: &Filter) -> io::Result<Child> {
        let (wait, go) = io::pipe()?;
        let (failure, report) = io::pipe()?;
        let program = match work {
            Work::Program(parts) => parts.as_slice(),
            Work::Calls(_) => &[],
        };
        let pointers: Vec<_> = program.iter().map(|part| part.as_ptr()).chain([std::ptr::null()]).collect();
        let ends = [wait.as_raw_fd(), go.as_raw_fd(), report.as_raw_fd()];
        // SAFETY: between `fork` and `exec` or `_exit` the child runs `live` only, which makes system calls and neither
        // allocates nor takes a lock.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => live(work, &pointers, filter, ends),
            pid => Ok(Child { pid, go, failure }),
        }
    }

    /// Watches it, with these options of ptrace, and sends it off.
    pub fn go(mut self, options: usize) -> io::Result<Departed> {
        if let Err(error) = system::ptrace(libc::PTRACE_SEIZE, self.pid, 0, options) {
            // It finds the other end closed, and exits.
            drop(self.go);
            let _ = system::wait(self.pid, 0);
            return Err(error);
        }
        self.go.write_all(b"g")?;
        Ok(Departed { pid: self.pid, failure: self.failure })
    }
}

/// A process that is under way.
pub struct Departed {
    /// Its id.
    pub pid: pid_t,
    failure: PipeReader,
}

impl Departed {
    /// Why it did not become a program. To be asked when it is one, or has ended: waits until then.
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

/// The life of the process, which ends here.
fn live(work: &Work, program: &[*const c_char], filter: &Filter, [wait, go, report]: [c_int; 3]) -> ! {
    // SAFETY: `byte` is writable for the one byte that is read. `program` has pointers to strings that end with NUL,
    // and a null at its end; both were made before the fork. `execvp` of the systems' libraries takes no lock.
    unsafe {
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
                // Ignored in Rust programs, and inherited by their children.
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
