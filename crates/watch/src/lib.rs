//! Observes the file accesses of any program on Linux: calls, bytes, time, and threads waiting for locks.
//!
//! [`trace`] is the event loop, and `filter` selects the system calls that stop. [`child`] starts the program,
//! [`files`] resolves descriptors to files, [`locks`] records waits, and [`stacks`] records callers (with `unwind` and
//! `symbols`). `near` and `delay` remove the overhead of tracing from the measurements, and [`cached`] measures the
//! cost of buffered calls. [`report`] summarizes the observations. Only [`system`] and [`child`] make system calls
//! beyond file I/O. Nothing here prints: the command shows the report.
//!
//! The program runs under ptrace with a seccomp filter (`man 2 ptrace`, `man 2 seccomp`), so only the calls that the
//! filter selects stop it.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod cached;
pub mod child;
pub mod code;
mod delay;
pub mod files;
pub mod filter;
pub mod locks;
mod names;
mod near;
pub mod preload;
pub mod report;
pub mod stacks;
mod symbols;
pub mod system;
pub mod timeline;
pub mod trace;
mod unwind;
pub mod verdict;
