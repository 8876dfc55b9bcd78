//! Detects standard streams that were closed when the program started.
//!
//! Rust's runtime opens `/dev/null` in place of closed streams before `main`, so that no file gets their descriptors.
//! This also hides a mistake: `polyhaul convert a.obj - >&-` would succeed and write nothing. So the check runs
//! earlier, when the program is loaded. Nothing is read or written here.

use crate::format;
use polyhaul::{Error, ErrorKind, Input, Output, Result};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

/// A bit per descriptor, set if it was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The loader calls the functions in this section before Rust's runtime starts.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

#[cfg(unix)]
extern "C" fn look() {
    for descriptor in 0..3 {
        // SAFETY: `F_GETFD` takes only integers and changes nothing; it fails for a closed descriptor.
        let is_closed = unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0;
        CLOSED.fetch_or(u8::from(is_closed) << descriptor, Ordering::Relaxed);
    }
}

fn is_closed(descriptor: u8) -> bool {
    CLOSED.load(Ordering::Relaxed) & 1 << descriptor != 0
}

/// Standard input.
///
/// # Errors
/// If it was closed.
pub fn input() -> Result<Input> {
    if is_closed(0) { Err(closed("cannot open standard input: it is closed")) } else { Ok(Input::Stdin) }
}

/// A file, or standard input for `-`.
///
/// # Errors
/// As for [`input`].
pub fn input_of(path: &Path) -> Result<Input> {
    if format::is_stream(path) { input() } else { Ok(path.into()) }
}

/// A file, or standard output for `-`.
///
/// # Errors
/// As for [`output`].
pub fn output_of(path: &Path) -> Result<Output> {
    if format::is_stream(path) { output() } else { Ok(path.into()) }
}

/// Standard output.
///
/// # Errors
/// If it was closed.
pub fn output() -> Result<Output> {
    if is_output_closed() { Err(closed("cannot open standard output: it is closed")) } else { Ok(Output::Stdout) }
}

/// Whether standard output is closed.
pub fn is_output_closed() -> bool {
    is_closed(1)
}

fn closed(message: &str) -> Error {
    Error::new(ErrorKind::Io, message)
}
