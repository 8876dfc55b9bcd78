//! What only a process of its own can show: system calls that fail or kill (with strace), a full disk, a umask.
//!
//! This test has no harness: started again with a target in its environment, the same binary is the child under test,
//! with no thread and no call of a harness around it. So nothing else has to be built or found, and nothing is
//! published. Where strace or private mounts are missing, a line says so and the test passes.

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
