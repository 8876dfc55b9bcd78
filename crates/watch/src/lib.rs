//! The file accesses of any program, on Linux: calls, bytes, time, and threads that wait.
//!
//! [`trace`] is the loop and `filter` the calls that stop; [`child`] starts the program, [`files`] knows what
//! descriptors refer to, [`locks`] who waited, [`stacks`] with `unwind` and `symbols` who called; `near` and `delay`
//! keep the cost of watching out of the figures, [`cached`] measures what buffered calls would take. [`report`]
//! summarizes everything. Only [`system`] and [`child`] talk to the kernel beyond files. Nothing here prints: the
//! command shows the report.
//!
//! The program runs under ptrace with a seccomp filter (`man 2 ptrace`, `man 2 seccomp`), so only calls on files stop
//! it.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod cached;
pub mod child;
mod delay;
pub mod files;
pub mod filter;
pub mod locks;
mod near;
pub mod report;
pub mod stacks;
mod symbols;
pub mod system;
pub mod trace;
mod unwind;
