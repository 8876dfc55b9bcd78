//! `polyhaul watch -- COMMAND`: runs any program, and reports its use of each file.
//!
//! On Linux, by ptrace and a filter of system calls in the kernel (`linux`); other systems get an error. The program's
//! output is not touched: the report goes to standard error, or to a file.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod render;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use linux::run;

/// Says that this system has no way to watch.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn run(session: &crate::session::Session, _: &crate::args::watch::WatchArgs) -> u8 {
    let message = "`watch` is supported only on Linux, on x86-64 and aarch64";
    let error = polyhaul::Error::new(polyhaul::ErrorKind::Unsupported, message);
    session.fail("watch", &error, crate::session::JsonTo::Stderr)
}
