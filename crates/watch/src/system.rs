//! Safe wrappers around system calls for tracing: ptrace, waiting, registers, memory of other processes.
//!
//! Contains no tracing logic: see [`crate::trace`].

use libc::{c_int, pid_t};
use std::ffi::{CStr, CString, OsString, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

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

/// A copy of a descriptor of another process.
pub fn descriptor_of(process: pid_t, descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the calls take numbers only. The results are new descriptors, which nothing else owns.
    unsafe {
        let target = libc::syscall(libc::SYS_pidfd_open, process, 0);
        if target < 0 {
            return Err(io::Error::last_os_error());
        }
        let target = OwnedFd::from_raw_fd(target as RawFd);
        match libc::syscall(libc::SYS_pidfd_getfd, target.as_raw_fd(), descriptor, 0) {
            copy @ 0.. => Ok(OwnedFd::from_raw_fd(copy as RawFd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// What happened to memory of another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryEvent {
    /// A thread waits for the page at an address.
    Fault(u64),
    /// A range was emptied.
    Removed(Range<u64>),
    /// A range was unmapped.
    Unmapped(Range<u64>),
    /// Memory was moved to another address.
    Moved {
        /// Its old address.
        from: u64,
        /// Its new address.
        to: u64,
    },
}

/// How a copy to memory of another process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEnd {
    /// All pages are there.
    Done,
    /// The memory is about to change: the next event tells how.
    Changing,
    /// The process is gone.
    Gone,
    /// The memory cannot be filled.
    Failed,
}

/// Page faults in memory of another process: a descriptor of userfaultfd(2).
pub struct Faults(File);

impl Faults {
    /// Returns `None` for other descriptors.
    pub fn new(descriptor: OwnedFd) -> Option<Faults> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd())).ok()?;
        (link == std::path::Path::new("anon_inode:[userfaultfd]")).then(|| Faults(File::from(descriptor)))
    }

    /// Waits for the next event; `None` if there is none within `patience`.
    pub fn next(&self, patience: Duration) -> Option<MemoryEvent> {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is a local variable that lives through the call.
        let count = unsafe { libc::poll(&raw mut poll, 1, patience.as_millis() as c_int) };
        // `struct uffd_msg`: the kind, and three numbers from byte 8 on.
        let mut message = [0; 32];
        if count != 1 || !matches!((&self.0).read(&mut message), Ok(32)) {
            return None;
        }
        let number = |at: usize| message[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let range = number(8)..number(16);
        match message[0] {
            0x12 => Some(MemoryEvent::Fault(number(16))),
            0x14 => Some(MemoryEvent::Moved { from: range.start, to: range.end }),
            0x15 => Some(MemoryEvent::Removed(range)),
            0x16 => Some(MemoryEvent::Unmapped(range)),
            _ => None,
        }
    }

    /// Copies whole pages to an address, and wakes the threads that wait for them. Pages that are there already stay as
    /// they are, and pages that are not mapped any more are left out.
    pub fn copy(&self, address: u64, bytes: &[u8]) -> CopyEnd {
        const PAGE: usize = 4096;
        let mut copied = 0;
        let mut step = bytes.len();
        while copied < bytes.len() {
            let part = &bytes[copied..bytes.len().min(copied + step)];
            match self.copy_once(address + copied as u64, part) {
                Ok(more) => copied += more,
                // Some of the pages are not mapped.
                Err(libc::ENOENT) if part.len() > PAGE => step = PAGE,
                Err(libc::ENOENT | libc::EEXIST) => copied += PAGE,
                Err(libc::EAGAIN) => return CopyEnd::Changing,
                Err(libc::ENOMEM) => std::thread::sleep(Duration::from_millis(10)),
                Err(libc::ESRCH) => return CopyEnd::Gone,
                Err(_) => return CopyEnd::Failed,
            }
        }
        self.wake_pages(address, bytes.len() as u64);
        CopyEnd::Done
    }

    /// Copies pages until one cannot be copied. Returns the number of bytes, or the number of the error if it is 0.
    fn copy_once(&self, address: u64, bytes: &[u8]) -> Result<usize, c_int> {
        /// `UFFDIO_COPY` of linux/userfaultfd.h.
        const COPY: libc::c_ulong = 0xC028_AA03;
        let mut request = [address, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0];
        // SAFETY: `request` is a `struct uffdio_copy`, whose source is all of `bytes`; the kernel checks the address in
        // the other process.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), COPY as _, request.as_mut_ptr()) };
        // The last number is how many bytes were copied, or a negative error.
        match (result, request[4].cast_signed()) {
            (0, _) => Ok(bytes.len()),
            (_, copied @ 1..) => Ok(copied as usize),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)),
        }
    }

    /// Wakes threads that wait for pages which have arrived meanwhile.
    fn wake_pages(&self, address: u64, size: u64) {
        /// `UFFDIO_WAKE` of linux/userfaultfd.h.
        const WAKE: libc::c_ulong = 0x8010_AA02;
        let mut range = [address, size];
        // SAFETY: `range` is a `struct uffdio_range` that lives through the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), WAKE as _, range.as_mut_ptr()) };
    }
}

/// Sends a signal to a process.
pub fn kill(process: pid_t, signal: c_int) {
    // SAFETY: the call takes numbers only.
    unsafe { libc::kill(process, signal) };
}

/// Kills all processes of a group.
pub fn kill_group(group: pid_t) {
    kill(-group, libc::SIGKILL);
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

    /// The first `count` of them, or all if there are fewer.
    #[must_use]
    pub fn first(&self, count: usize) -> Processors {
        let mut set = self.0;
        // SAFETY: the numbers are below `CPU_SETSIZE`, and the set is a local variable.
        unsafe {
            let numbers = (0..libc::CPU_SETSIZE as usize).filter(|&number| libc::CPU_ISSET(number, &self.0));
            numbers.skip(count).for_each(|number| libc::CPU_CLR(number, &mut set));
        }
        Processors(set)
    }

    /// Restricts a thread to these processors. Returns whether it succeeded.
    pub fn assign(&self, thread: pid_t) -> bool {
        // SAFETY: pointer and size are those of `self.0`, which the call only reads.
        unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const self.0) == 0 }
    }
}

/// Memory that several processes share. `T` contains only atomics, for which any bytes are valid.
pub struct Shared<T> {
    memory: NonNull<T>,
    file: OwnedFd,
}

impl<T> Shared<T> {
    /// Creates zeroed memory.
    pub fn new(name: &CStr) -> io::Result<Shared<T>> {
        let file = memory_file(name)?;
        // SAFETY: `file` is open. The mapping is new, has the size of `T` and a page's alignment, and stays until
        // `drop`.
        unsafe {
            if libc::ftruncate(file.as_raw_fd(), size_of::<T>() as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            let address =
                libc::mmap(std::ptr::null_mut(), size_of::<T>(), rights, libc::MAP_SHARED, file.as_raw_fd(), 0);
            if address == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let memory = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Shared { memory, file })
        }
    }

    /// Ranges of bytes that have memory, because something wrote to them or read them. All others are zero.
    pub fn populated(&self, within: Range<usize>) -> Vec<Range<usize>> {
        let seek = |from: usize, to: c_int| {
            // SAFETY: the call takes numbers only.
            let at = unsafe { libc::lseek(self.descriptor(), from as libc::off_t, to) };
            match usize::try_from(at) {
                Ok(at) => at.min(within.end),
                // The system cannot tell, so everything is read.
                Err(_) if to == libc::SEEK_DATA && io::Error::last_os_error().raw_os_error() != Some(libc::ENXIO) => {
                    from
                }
                Err(_) => within.end,
            }
        };
        let mut ranges = Vec::new();
        let mut at = within.start;
        while at < within.end {
            let start = seek(at, libc::SEEK_DATA);
            at = seek(start, libc::SEEK_HOLE).max(start);
            ranges.push(start..at);
        }
        ranges
    }

    /// Descriptor of the memory.
    pub fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the memory is mapped while `self` lives. All of `T` is atomic, so other processes may write to it,
        // and zeros or any other bytes are valid.
        unsafe { self.memory.as_ref() }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this memory with this size, and no reference to it outlives `self`.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), size_of::<T>()) };
    }
}

// SAFETY: all of `T` is atomic, and the mapping belongs to the process, not to a thread.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// Creates an empty file in memory. It is closed on `exec`.
pub fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: `name` is NUL-terminated. The descriptor is new, so nothing else owns it.
    unsafe {
        // glibc wraps this call only since 2.27; release binaries support 2.17.
        match libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor as RawFd)),
        }
    }
}

/// Waits until a word in shared memory changes from `value`, or for this time.
pub fn wait_for_change(word: &AtomicU32, value: u32, time: Duration) {
    let time = libc::timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    // SAFETY: `word` and `time` live through the call, which reads them.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const time) };
}

/// Wakes all threads of all processes that wait for a word in shared memory to change.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the call takes the address of `word` and numbers, and accesses no memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// The time counter of the processor, which recorders read.
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, and Linux permits it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let count: u64;
        // SAFETY: Linux permits reading this register, and nothing else changes.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        count
    }
}

/// Whether a process exists and has not ended.
pub fn is_alive(process: pid_t) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The fields follow the name, which is in parentheses and may contain any character. A first thread that has ended
    // is a zombie while others run.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| {
        let threads = rest.split(' ').nth(17).and_then(|count| count.parse().ok()).unwrap_or(0);
        !rest.starts_with(['Z', 'X']) || threads > 1
    })
}

/// Ends the calling process when the thread that started it ends.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Time since an arbitrary start, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Time of a process on processors, over all of its threads, in nanoseconds.
pub fn process_cpu_ns(process: pid_t) -> Option<u64> {
    /// Of a process, to the nanosecond: `CPUCLOCK_SCHED` of the kernel (`man 3 clock_getcpuclockid`).
    const EXACT: libc::clockid_t = 2;
    clock_ns(!process << 3 | EXACT)
}

/// What processes used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Time on processors, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it in the kernel.
    pub kernel_ns: u64,
    /// Number of minor page faults, which need no disk.
    pub memory_faults: u64,
    /// Number of page faults that read from a disk.
    pub disk_faults: u64,
    /// Bytes that were read from disks.
    pub disk_bytes: u64,
}

impl Used {
    /// What was used since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Used) -> Used {
        Used {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            kernel_ns: self.kernel_ns.saturating_sub(earlier.kernel_ns),
            memory_faults: self.memory_faults.saturating_sub(earlier.memory_faults),
            disk_faults: self.disk_faults.saturating_sub(earlier.disk_faults),
            disk_bytes: self.disk_bytes.saturating_sub(earlier.disk_bytes),
        }
    }
}

/// Resources used by all reaped children and their reaped descendants.
pub fn used_by_children() -> Used {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is writable and lives through the call; zeros are valid for it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000;
    let kernel_ns = ns(usage.ru_stime);
    Used {
        cpu_ns: ns(usage.ru_utime) + kernel_ns,
        kernel_ns,
        memory_faults: usage.ru_minflt.cast_unsigned(),
        disk_faults: usage.ru_majflt.cast_unsigned(),
        // In blocks of 512 bytes (getrusage(2)).
        disk_bytes: usage.ru_inblock.cast_unsigned() * 512,
    }
}

/// The time of a clock in nanoseconds; `None` if there is no such clock.
fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable and lives through the call.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then(|| time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// Size of a page in bytes.
pub fn page_bytes() -> u64 {
    // SAFETY: the call takes a number only.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// The environment of a program to start: variables in their order.
pub struct Environment {
    pointers: Vec<*const libc::c_char>,
    /// What the pointers refer to.
    _variables: Vec<CString>,
}

// SAFETY: the pointers refer to memory that the structure owns and never changes.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

impl Environment {
    /// Creates an environment. Variables that contain a NUL byte are left out.
    pub fn new(variables: impl Iterator<Item = (OsString, OsString)>) -> Environment {
        let text = |(name, value): (OsString, OsString)| [name.into_vec(), value.into_vec()].join(&b'=');
        let variables: Vec<CString> = variables.filter_map(|variable| CString::new(text(variable)).ok()).collect();
        let pointers = variables.iter().map(|variable| variable.as_ptr()).chain([std::ptr::null()]).collect();
        Environment { pointers, _variables: variables }
    }

    /// Makes this the environment of the calling process, for a program that it will execute. Unlike the methods of
    /// `Command`, this keeps the order.
    ///
    /// # Safety
    ///
    /// The process has one thread, and executes a program or ends before `self` is dropped.
    pub unsafe fn install(&self) {
        unsafe extern "C" {
            static mut environ: *const *const libc::c_char;
        }
        // SAFETY: the pointers end with a null pointer, and outlive the use as the caller promises.
        unsafe { environ = self.pointers.as_ptr() };
    }
}
