//! Observes any program on Linux: its calls on files, their bytes and time, threads that wait, and what limited it.
//!
//! There are two ways to watch a program. [`preload`] records from inside, with a library that counts calls; [`code`]
//! finds the system call instructions that it replaces. [`trace`] stops the program at each call with ptrace: `filter`
//! selects the calls, [`child`] starts the program, and `near` and `delay` remove the overhead from the measurements.
//!
//! Both fill the same tables: [`files`] by file, [`locks`] by thread, [`stacks`] of callers (with `unwind`, `symbols`
//! and `names`). Recorded programs also have a [`timeline`]. [`report`] summarizes the tables, [`verdict`] judges the
//! run, [`cure`] tells what answering small reads achieved, [`slowed`] what throttles did, and [`cached`] measures the
//! cost of buffered calls. Only [`system`], [`child`] and [`preload`] make system calls beyond file I/O. Nothing here
//! prints: the command shows the report.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod cached;
pub mod child;
pub mod code;
pub mod cure;
mod delay;
pub mod files;
pub mod filter;
pub mod locks;
mod names;
mod near;
mod order;
pub mod preload;
pub mod report;
pub mod slowed;
pub mod stacks;
mod symbols;
pub mod system;
pub mod timeline;
pub mod trace;
mod unwind;
pub mod verdict;
