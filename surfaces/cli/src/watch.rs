//! `polyhaul watch -- COMMAND`: runs a program and reports its use of each file. `polyhaul run` runs it with a remedy
//! that `watch --fix` found.
//!
//! Linux uses ptrace with a seccomp filter (`linux`); on other systems, the subcommand fails. Standard output belongs
//! to the program: the report is written to standard error or to a file.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod best;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod fix;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod page;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod render;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod rule;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod run;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod slow;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod verdict;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod verify;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use linux::run;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use run::run as run_by_rule;

/// Fails, since this system is not supported.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn run(session: &crate::session::Session, _: &crate::args::watch::WatchArgs) -> u8 {
    refuse(session, "watch")
}

/// Fails, since this system is not supported.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn run_by_rule(session: &crate::session::Session, _: &crate::args::run::RunArgs) -> u8 {
    refuse(session, "run")
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn refuse(session: &crate::session::Session, command: &str) -> u8 {
    let message = format!("`{command}` is supported only on Linux, on x86-64 and aarch64");
    let error = polyhaul::Error::new(polyhaul::ErrorKind::Unsupported, message);
    let error = error.with_hint("use Windows Performance Recorder on Windows, or Instruments on macOS");
    session.fail(command, &error, crate::session::JsonTo::Stderr)
}
