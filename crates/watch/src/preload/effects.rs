//! Assigns effects to system calls, for recorders (`enum effect` in `recorder/layout.h`).

use super::layout::MAX_CALLS;
use crate::filter::{Call, FILES, LOCKS};
use libc::c_long;
use polyhaul_fault::planted;

/// Effects that only recorders use.
const OTHERS: &[(c_long, u8)] = &[
    (libc::SYS_clone, 14),
    (libc::SYS_clone3, 15),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_fork, 16),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_vfork, 17),
    (libc::SYS_execve, 18),
    (libc::SYS_execveat, 19),
    (libc::SYS_exit, 20),
    (libc::SYS_exit_group, 21),
    (libc::SYS_rt_sigaction, 22),
    (libc::SYS_seccomp, 23),
    (libc::SYS_prctl, 24),
    (libc::SYS_rt_sigprocmask, 26),
    (libc::SYS_lseek, 27),
];

const SHARE: u8 = 33;
const MEMORY: u8 = 34;

/// Calls that share or control descriptors, or change which memory is writable. They matter for cures alone.
const FOR_CURES: &[(c_long, u8)] = &[
    (libc::SYS_dup, SHARE),
    (libc::SYS_fcntl, SHARE),
    (libc::SYS_ioctl, SHARE),
    (libc::SYS_flock, SHARE),
    (libc::SYS_splice, SHARE),
    (libc::SYS_tee, SHARE),
    (libc::SYS_unshare, SHARE),
    (libc::SYS_munmap, MEMORY),
    (libc::SYS_mprotect, MEMORY),
    (libc::SYS_pkey_mprotect, MEMORY),
    (libc::SYS_mremap, MEMORY),
    (libc::SYS_brk, MEMORY),
];

/// Reads and writes whose position is in argument 3.
const POSITIONED: [c_long; 6] =
    [libc::SYS_pread64, libc::SYS_preadv, libc::SYS_preadv2, libc::SYS_pwrite64, libc::SYS_pwritev, libc::SYS_pwritev2];

const SLEEP: u8 = 25;

/// Calls that look up names or properties of files.
const LOOKUPS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
];

/// Calls that change names or properties of files. Not `fallocate`, which a signal may end: to repeat it, as recorders
/// do, might take forever.
const CHANGES: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_mknodat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls that list folders.
const LISTINGS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    libc::SYS_getdents64,
];

const NAMES: [(&[c_long], u8); 3] = [(LOOKUPS, 28), (CHANGES, 29), (LISTINGS, 30)];

/// Calls that sleep and that the kernel does not restart after a signal, or not always (`man 7 signal`).
const SLEEPS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pause,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_io_getevents,
    libc::SYS_io_uring_enter,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
];

/// The effect of each system call, by number; 0 for none.
pub(super) fn table(has_locks: bool, has_cures: bool, is_slow: bool) -> [u8; MAX_CALLS] {
    let locks = if has_locks { LOCKS } else { &[] };
    let mut effects = [0; MAX_CALLS];
    let rows = FILES.iter().chain(locks).map(|(number, call)| (*number, effect(*number, *call)));
    let waits = if has_locks { &[] } else { LOCKS };
    let waits = waits.iter().map(|(number, _)| *number);
    let sleeps = SLEEPS.iter().copied().chain(waits).map(|number| (number, SLEEP));
    let names = NAMES.into_iter().flat_map(|(numbers, effect)| numbers.iter().map(move |number| (*number, effect)));
    let is_planted = |effect| effect == SHARE && planted("cure-share") || effect == MEMORY && planted("cure-memory");
    let for_cures = FOR_CURES.iter().filter(|(_, effect)| has_cures && !is_planted(*effect));
    let for_throttles = is_slow.then_some((libc::SYS_mremap, MEMORY));
    let others = OTHERS.iter().chain(for_cures).copied().chain(for_throttles);
    for (number, effect) in rows.chain(others).chain(sleeps).chain(names) {
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| effects.get_mut(number)) {
            *slot = effect;
        }
    }
    effects
}

fn effect(number: c_long, call: Call) -> u8 {
    match call {
        Call::Open => 1,
        Call::Read if planted("record-effect") => 0,
        Call::Read if POSITIONED.contains(&number) => 31,
        Call::Read => 2,
        Call::Write if POSITIONED.contains(&number) => 32,
        Call::Write => 3,
        Call::Copy { from: 1, .. } => 4,
        Call::Copy { .. } => 5,
        Call::Close => 6,
        Call::CloseRange => 7,
        Call::Replace => 8,
        Call::Map => 9,
        Call::Sync => 10,
        Call::Wait if number == libc::SYS_futex => 11,
        Call::Wait => 12,
        Call::Queue => 13,
        Call::Spread => 0,
    }
}
