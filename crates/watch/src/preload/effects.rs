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

const SLEEP: u8 = 25;

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
pub(super) fn table(has_locks: bool) -> [u8; MAX_CALLS] {
    let locks = if has_locks { LOCKS } else { &[] };
    let mut effects = [0; MAX_CALLS];
    let rows = FILES.iter().chain(locks).map(|(number, call)| (*number, effect(*number, *call)));
    let waits = if has_locks { &[] } else { LOCKS };
    let waits = waits.iter().map(|(number, _)| *number);
    let sleeps = SLEEPS.iter().copied().chain(waits).map(|number| (number, SLEEP));
    for (number, effect) in rows.chain(OTHERS.iter().copied()).chain(sleeps) {
        if let Some(slot) = usize::try_from(number).ok().and_then(|number| effects.get_mut(number)) {
            *slot = effect;
        }
    }
    effects
}

fn effect(number: c_long, call: Call) -> u8 {
    match call {
        Call::Open => 1,
        Call::Read => {
            if planted("record-effect") {
                0
            } else {
                2
            }
        }
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
