//! Selects the system calls to trace, with a BPF program for seccomp.
//!
//! The kernel runs the program before each system call. Calls that the program does not select proceed at full speed;
//! selected calls stop for [`crate::trace`]. No call is ever denied.

use libc::{c_long, sock_filter};
use polyhaul_fault::planted;
use std::io;

/// Effect of a system call on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Creates a descriptor from a path.
    Open,
    /// Reads from the descriptor in argument 0.
    Read,
    /// Writes to the descriptor in argument 0.
    Write,
    /// Copies bytes between descriptors, given by argument index.
    Copy {
        /// Argument index of the source descriptor.
        from: usize,
        /// Argument index of the target descriptor.
        to: usize,
    },
    /// Closes the descriptor in argument 0.
    Close,
    /// Closes the descriptors from argument 0 to argument 1.
    CloseRange,
    /// Replaces the descriptor in argument 1.
    Replace,
    /// Maps the file in argument 4; argument 1 is the size in bytes.
    Map,
    /// Waits until the file in argument 0 has been written to the disk.
    Sync,
    /// Waits for a lock.
    Wait,
    /// Sets up queues for file I/O without system calls.
    Queue,
    /// Starts a thread or process, or accesses a thread's processor affinity.
    Spread,
}

impl Call {
    /// Whether the call also stops on exit.
    pub fn has_end(self) -> bool {
        !matches!(self, Call::Close | Call::CloseRange | Call::Replace | Call::Queue | Call::Spread)
    }
}

/// Calls on files. `mmap` stops only for file mappings.
pub(crate) const FILES: &[(c_long, Call)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, Call::Open),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, Call::Open),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_dup2, Call::Replace),
    (libc::SYS_openat, Call::Open),
    (libc::SYS_openat2, Call::Open),
    (libc::SYS_read, Call::Read),
    (libc::SYS_pread64, Call::Read),
    (libc::SYS_readv, Call::Read),
    (libc::SYS_preadv, Call::Read),
    (libc::SYS_preadv2, Call::Read),
    (libc::SYS_write, Call::Write),
    (libc::SYS_pwrite64, Call::Write),
    (libc::SYS_writev, Call::Write),
    (libc::SYS_pwritev, Call::Write),
    (libc::SYS_pwritev2, Call::Write),
    (libc::SYS_sendfile, Call::Copy { from: 1, to: 0 }),
    (libc::SYS_copy_file_range, Call::Copy { from: 0, to: 2 }),
    (libc::SYS_splice, Call::Copy { from: 0, to: 2 }),
    (libc::SYS_close, Call::Close),
    (libc::SYS_close_range, Call::CloseRange),
    (libc::SYS_dup3, Call::Replace),
    (libc::SYS_mmap, Call::Map),
    (libc::SYS_fsync, Call::Sync),
    (libc::SYS_fdatasync, Call::Sync),
    (libc::SYS_io_uring_setup, Call::Queue),
    (libc::SYS_io_setup, Call::Queue),
    (libc::SYS_sched_getaffinity, Call::Spread),
    (libc::SYS_sched_setaffinity, Call::Spread),
    (libc::SYS_clone, Call::Spread),
    (libc::SYS_clone3, Call::Spread),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_fork, Call::Spread),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_vfork, Call::Spread),
];

/// Calls that wait for locks. `futex` stops only for waiting operations.
pub(crate) const LOCKS: &[(c_long, Call)] = &[(libc::SYS_futex, Call::Wait), (libc::SYS_futex_waitv, Call::Wait)];

/// `futex` operations that can wait; 13 is `FUTEX_LOCK_PI2`.
const WAITING: [u32; 5] = [
    libc::FUTEX_WAIT as u32,
    libc::FUTEX_LOCK_PI as u32,
    libc::FUTEX_WAIT_BITSET as u32,
    libc::FUTEX_WAIT_REQUEUE_PI as u32,
    13,
];

/// Architecture value in `seccomp_data` for native system calls (linux/audit.h).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

/// Field offsets in `seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// Jump target of a conditional instruction.
#[derive(Clone, Copy)]
enum To {
    /// Skips this many instructions.
    Skip(u8),
    /// Lets the call proceed.
    Allow,
    /// Stops the call.
    Stop,
}

const NEXT: To = To::Skip(0);

/// The table of traced calls, and the BPF program that stops them.
pub struct Filter {
    calls: Vec<Option<Call>>,
    program: Vec<sock_filter>,
}

impl Filter {
    /// Selects calls on files and, with `locks`, calls that wait for locks.
    pub fn new(locks: bool) -> Filter {
        let rows = FILES.iter().chain(if locks { LOCKS } else { &[] });
        let mut calls = vec![None; 512];
        for (number, call) in rows.clone().skip(planted("watch-open").into()) {
            if let Some(slot) = usize::try_from(*number).ok().and_then(|number| calls.get_mut(number)) {
                *slot = Some(*call);
            }
        }
        Filter { calls, program: program(rows.map(|(number, _)| *number as u32)) }
    }

    /// Effect of the system call with a number, or `None` if it is not traced.
    pub fn call(&self, number: u64) -> Option<Call> {
        usize::try_from(number).ok().and_then(|number| *self.calls.get(number)?)
    }

    /// Installs the program for this thread and its future children. Without the required privilege, sets
    /// `no_new_privs`, as the kernel demands, which disables setuid programs. Allocates nothing.
    pub fn install(&self) -> io::Result<()> {
        let program = libc::sock_fprog { len: self.program.len() as u16, filter: self.program.as_ptr().cast_mut() };
        // SAFETY: `program` is a valid `sock_fprog` with the pointer and length of `self.program`; both live through
        // the calls, which only read them.
        unsafe {
            let install = || libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program);
            if install() == 0 {
                return Ok(());
            }
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install() == 0 {
                return Ok(());
            }
        }
        Err(io::Error::last_os_error())
    }
}

/// Instructions with symbolic targets, resolved in [`Assembly::finish`]. The opcodes are defined in linux/bpf_common.h:
/// 0x06 RET, 0x15 JEQ, 0x20 LD, 0x35 JGE, 0x45 JSET, 0x54 AND.
#[derive(Default)]
struct Assembly(Vec<(u16, u32, To, To)>);

impl Assembly {
    fn load(&mut self, offset: u32) {
        self.0.push((0x20, offset, NEXT, NEXT));
    }

    fn and(&mut self, mask: u32) {
        self.0.push((0x54, mask, NEXT, NEXT));
    }

    fn if_equal(&mut self, value: u32, then: To, otherwise: To) {
        self.0.push((0x15, value, then, otherwise));
    }

    #[cfg(target_arch = "x86_64")]
    fn if_at_least(&mut self, value: u32, then: To, otherwise: To) {
        self.0.push((0x35, value, then, otherwise));
    }

    fn if_any_bit(&mut self, bits: u32, then: To, otherwise: To) {
        self.0.push((0x45, bits, then, otherwise));
    }

    /// Resolves targets to distances. Appends an instruction that allows the call, then one that stops it.
    fn finish(self) -> Vec<sock_filter> {
        let count = self.0.len();
        // Distances fit in 8 bits, because the program has far fewer than 256 instructions.
        let distance = |at: usize, to: To| match to {
            To::Skip(instructions) => instructions,
            To::Allow => (count - at - 1) as u8,
            To::Stop => (count - at) as u8,
        };
        let instruction = |(at, (code, k, then, otherwise)): (usize, (u16, u32, To, To))| sock_filter {
            code,
            jt: distance(at, then),
            jf: distance(at, otherwise),
            k,
        };
        let end = |k| sock_filter { code: 0x06, jt: 0, jf: 0, k };
        let ends = [end(libc::SECCOMP_RET_ALLOW), end(libc::SECCOMP_RET_TRACE)];
        self.0.into_iter().enumerate().map(instruction).chain(ends).collect()
    }
}

fn program(numbers: impl Iterator<Item = u32>) -> Vec<sock_filter> {
    let mut code = Assembly::default();
    code.load(ARCHITECTURE_AT);
    code.if_equal(ARCHITECTURE, NEXT, To::Allow);
    code.load(NUMBER_AT);
    // x32 calls have different numbers and are not traced.
    #[cfg(target_arch = "x86_64")]
    code.if_at_least(0x4000_0000, To::Allow, NEXT);
    let mut locks = false;
    for number in numbers {
        match c_long::from(number) {
            libc::SYS_mmap => {}
            libc::SYS_futex => locks = true,
            _ => code.if_equal(number, To::Stop, NEXT),
        }
    }
    code.if_equal(libc::SYS_mmap as u32, NEXT, To::Skip(2));
    // The low half of argument 3, the flags; arguments have 64 bits, little-endian.
    code.load(ARGUMENTS_AT + 8 * 3);
    code.if_any_bit(libc::MAP_ANONYMOUS as u32, To::Allow, To::Stop);
    if locks {
        code.if_equal(libc::SYS_futex as u32, NEXT, To::Allow);
        code.load(ARGUMENTS_AT + 8);
        // Drops the flags `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
        code.and(0x7F);
        for operation in WAITING {
            code.if_equal(operation, To::Stop, NEXT);
        }
    }
    code.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets a program like the kernel; returns whether it stops a call.
    fn stops(program: &[sock_filter], architecture: u32, number: u32, arguments: [u32; 6]) -> bool {
        let word = |offset: u32| match offset {
            NUMBER_AT => number,
            ARCHITECTURE_AT => architecture,
            _ => arguments[(offset - ARGUMENTS_AT) as usize / 8],
        };
        let mut at = 0;
        let mut value = 0;
        loop {
            let step = program[at];
            at += 1;
            let branch = |met: bool| usize::from(if met { step.jt } else { step.jf });
            match step.code {
                0x20 => value = word(step.k),
                0x54 => value &= step.k,
                0x15 => at += branch(value == step.k),
                0x35 => at += branch(value >= step.k),
                0x45 => at += branch(value & step.k != 0),
                0x06 => return step.k == libc::SECCOMP_RET_TRACE,
                code => panic!("{code}"),
            }
        }
    }

    #[test]
    fn the_calls_of_the_table_stop_and_no_others() {
        for locks in [false, true] {
            let filter = Filter::new(locks);
            for number in 0..512u32 {
                let special = [libc::SYS_mmap, libc::SYS_futex].contains(&c_long::from(number));
                let is_listed = filter.call(u64::from(number)).is_some();
                if !special {
                    assert_eq!(stops(&filter.program, ARCHITECTURE, number, [0; 6]), is_listed, "{number}");
                }
                assert!(!stops(&filter.program, 3, number, [0; 6]) && !special | is_listed | !locks);
            }
            #[cfg(target_arch = "x86_64")]
            assert!(!stops(&filter.program, ARCHITECTURE, 0x4000_0000, [0; 6]));
        }
    }

    #[test]
    fn memory_and_wakes_go_on() {
        let filter = Filter::new(true);
        let map = |flags| stops(&filter.program, ARCHITECTURE, libc::SYS_mmap as u32, [0, 9, 1, flags, 3, 0]);
        assert!(map(libc::MAP_PRIVATE as u32) && !map((libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u32));
        let futex = |program, op| stops(program, ARCHITECTURE, libc::SYS_futex as u32, [0, op as u32, 0, 0, 0, 0]);
        let private = libc::FUTEX_PRIVATE_FLAG;
        assert!(futex(&filter.program, libc::FUTEX_WAIT | private) && futex(&filter.program, libc::FUTEX_WAIT_BITSET));
        assert!(!futex(&filter.program, libc::FUTEX_WAKE | private));
        assert!(!futex(&Filter::new(false).program, libc::FUTEX_WAIT));
    }
}
