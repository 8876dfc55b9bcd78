//! Tests that need a separate process: system calls that fail or in which the process is killed (with strace), a full
//! disk, a umask.
//!
//! This test has no harness. The same binary, started with a target in its environment, is the child under test,
//! without the threads and calls of a harness, so no other binary must be built or found. If strace or private mounts
//! are missing, it prints a line and passes.

#[cfg(target_os = "linux")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}
