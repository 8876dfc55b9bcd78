//! Safe wrappers around system calls for tracing: ptrace, waiting, registers, memory of other processes.
//!
//! Contains no tracing logic: see [`crate::trace`].

use libc::{c_int, pid_t};
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;

/// Type of ptrace requests, which differs between C libraries.
#[cfg(target_env = "musl")]
pub type Request = c_int;
/// Type of ptrace requests.
#[cfg(not(target_env = "musl"))]
pub type Request = libc::c_uint;

/// Queries or resumes a stopped thread. `data` is a number or address, depending on the request.
pub fn ptrace(request: Request, thread: pid_t, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: callers pass numbers, which the kernel checks, except `message` and `registers`: they pass the address of
    // a local variable that the kernel may write, of the size that the request requires.
    let result = unsafe { libc::ptrace(request, thread, address as *mut c_void, data as *mut c_void) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Message of a ptrace event: the new thread at a clone or fork, the former thread ID at an exec.
pub fn message(thread: pid_t) -> io::Result<u64> {
    let mut number: libc::c_ulong = 0;
    ptrace(libc::PTRACE_GETEVENTMSG, thread, 0, (&raw mut number) as usize)?;
    Ok(number)
}

/// Waits for a state change of a process, or of any child if `process` is -1. Returns the thread and its status, or
/// `None` if there is nothing left to wait for or, with the flag `WNOHANG`, if nothing has changed yet.
pub fn wait(process: pid_t, flags: c_int) -> io::Result<Option<(pid_t, c_int)>> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a writable `c_int` that lives through the call.
        let thread = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL | flags) };
        if thread >= 0 {
            return Ok((thread > 0).then_some((thread, status)));
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {}
            error if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
            error => return Err(error),
        }
    }
}

/// Registers of a stopped thread, for system calls and unwinding.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// System call number.
    pub number: u64,
    /// System call arguments.
    pub arguments: [u64; 6],
    /// Result of a completed call; negative error number on failure.
    pub result: i64,
    /// Program counter.
    pub pc: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// Return address, if in a register.
    pub link: Option<u64>,
}

/// Reads the registers of a stopped thread.
pub fn registers(thread: pid_t) -> io::Result<Registers> {
    let mut user_registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut place = libc::iovec { iov_base: user_registers.as_mut_ptr().cast(), iov_len: size_of_val(&user_registers) };
    ptrace(libc::PTRACE_GETREGSET, thread, libc::NT_PRSTATUS as usize, (&raw mut place) as usize)?;
    // SAFETY: zeroed above, and filled as far as the kernel had registers; `user_regs_struct` contains only integers,
    // for which zeros are valid.
    Ok(from_user_registers(&unsafe { user_registers.assume_init() }))
}

#[cfg(target_arch = "x86_64")]
fn from_user_registers(user_registers: &libc::user_regs_struct) -> Registers {
    Registers {
        number: user_registers.orig_rax,
        arguments: [
            user_registers.rdi,
            user_registers.rsi,
            user_registers.rdx,
            user_registers.r10,
            user_registers.r8,
            user_registers.r9,
        ],
        result: user_registers.rax as i64,
        pc: user_registers.rip,
        sp: user_registers.rsp,
        fp: user_registers.rbp,
        link: None,
    }
}

#[cfg(target_arch = "aarch64")]
fn from_user_registers(user_registers: &libc::user_regs_struct) -> Registers {
    let [a, b, c, d, e, f, ..] = user_registers.regs;
    Registers {
        number: user_registers.regs[8],
        arguments: [a, b, c, d, e, f],
        result: a as i64,
        pc: user_registers.pc,
        sp: user_registers.sp,
        fp: user_registers.regs[29],
        link: Some(user_registers.regs[30]),
    }
}

/// Reads memory of another process. Returns the number of bytes read.
pub fn memory(process: pid_t, address: u64, into: &mut [u8]) -> usize {
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: address as *mut c_void, iov_len: into.len() };
    // SAFETY: `here` is all of `into`, which is borrowed exclusively. The kernel checks `there`, an address in another
    // process.
    let count = unsafe { libc::process_vm_readv(process, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(count).unwrap_or(0)
}

/// Whether two processes share their descriptor table. Returns `false` if the kernel does not support the query.
pub fn share_descriptors(left: pid_t, right: pid_t) -> bool {
    /// `KCMP_FILES` of linux/kcmp.h.
    const FILES: c_int = 2;
    // SAFETY: the call takes numbers only.
    unsafe { libc::syscall(libc::SYS_kcmp, left, right, FILES, 0, 0) == 0 }
}

/// Makes this program ignore a signal.
pub fn ignore(signal: c_int) {
    // SAFETY: `SIG_IGN` installs no handler, so that no code runs on a signal.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// Processors on which a thread may run; thread 0 is the calling thread.
#[derive(Clone, Copy)]
pub struct Processors(libc::cpu_set_t);

impl Processors {
    /// Affinity of a thread. Returns `None` if it is unknown or if there are more processors than the type holds.
    pub fn from_thread(thread: pid_t) -> Option<Processors> {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: `set` has the size that is passed, and lives through the call; a `cpu_set_t` contains only integers,
        // for which zeros are valid.
        unsafe {
            let result = libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), set.as_mut_ptr());
            (result == 0).then(|| Processors(set.assume_init()))
        }
    }

    /// The processor that runs the calling thread, if it is in the set and the set contains other processors too.
    pub fn current(&self) -> Option<Processors> {
        // SAFETY: `number` is checked against `CPU_SETSIZE` before the set is indexed; the sets are local variables or
        // `self`.
        unsafe {
            let number = usize::try_from(libc::sched_getcpu()).ok()?;
            if number >= libc::CPU_SETSIZE as usize || !libc::CPU_ISSET(number, &self.0) || libc::CPU_COUNT(&self.0) < 2
            {
                return None;
            }
            let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
            libc::CPU_SET(number, &mut set);
            Some(Processors(set))
        }
    }

    /// Restricts a thread to these processors. Returns whether it succeeded.
    pub fn assign(&self, thread: pid_t) -> bool {
        // SAFETY: pointer and size are those of `self.0`, which the call only reads.
        unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const self.0) == 0 }
    }
}
