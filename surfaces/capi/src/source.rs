//! Inputs and outputs: paths, memory and callbacks of the host. `callbacks.rs` calls the callbacks.

use crate::callbacks::{CallbackReader, CallbackWriter, Release};
use crate::raw::{self, Record, usage};
use polyhaul::{Input, Output, Result};
use std::ffi::{c_char, c_void};
use std::path::PathBuf;
use std::sync::Arc;

/// Reads up to `size` bytes into `out`. `size` is at least 64 KiB.
///
/// Returns the number of bytes read, from 1 to `size`; 0 at the end of the input; or a negative number on failure,
/// which fails the job with PH_ERROR_HOST and becomes `host_code` of ph_error. Returning more than `size` also fails
/// the job with PH_ERROR_HOST.
///
/// Called by one thread at a time, but not always the same one. Not called again after an error.
pub type ph_read_fn = Option<unsafe extern "C" fn(user: *mut c_void, out: *mut c_void, size: usize) -> i64>;

/// Seeks to `offset`, in bytes from the start. The next read starts there.
///
/// Returns 0 on success, a positive number if seeking is not supported, or a negative number on failure.
pub type ph_seek_fn = Option<unsafe extern "C" fn(user: *mut c_void, offset: u64) -> i32>;

/// Returns the exact size of the input in bytes, or a negative number if it is unknown. Called once, before the first
/// read. If the input then has more or fewer bytes, the job fails with PH_ERROR_HOST.
pub type ph_size_fn = Option<unsafe extern "C" fn(user: *mut c_void) -> i64>;

/// Writes up to `size` bytes of `data`.
///
/// Returns the number of bytes written, from 1 to `size`, or a negative number on failure, as in ph_read_fn. The bytes
/// that were not written are passed again. Returning 0, or more than `size`, fails the job with PH_ERROR_HOST.
pub type ph_write_fn = Option<unsafe extern "C" fn(user: *mut c_void, data: *const c_void, size: usize) -> i64>;

/// Flushes or closes an output. Returns 0 on success, or a negative number on failure.
pub type ph_finish_fn = Option<unsafe extern "C" fn(user: *mut c_void) -> i32>;

/// Releases `user`, or the memory of an input. Called exactly once, after all other callbacks, whether the job succeeds
/// or fails. Not called if the struct itself is rejected: its `struct_size` is invalid, or it sets fields of a newer
/// header.
pub type ph_release_fn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// An input. Set exactly one of `path`, `memory` and `read`.
///
/// It is used for one call, and may be a local variable. Everything it points to must stay valid and unchanged until
/// that call returns, or, for an answer from ph_resolve_fn, until `release` is called.
///
///     ph_input input = {.struct_size = sizeof input};
///     input.path = "model.obj";
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_input {
    /// `sizeof(ph_input)`.
    pub struct_size: usize,
    /// A zero-terminated path: UTF-8, or any bytes on Unix. In all inputs, compression (gzip, zstd, lz4) is detected
    /// from the content.
    pub path: *const c_char,
    /// The content in memory; not copied.
    pub memory: *const c_void,
    /// Size of `memory` in bytes.
    pub memory_size: usize,
    /// Reads bytes; see ph_read_fn.
    pub read: ph_read_fn,
    /// Seeks; see ph_seek_fn. May be null.
    pub seek: ph_seek_fn,
    /// Returns the size; see ph_size_fn. May be null.
    pub size: ph_size_fn,
    /// Called last; see ph_release_fn. May be null, and may also be set with `path` or `memory`.
    pub release: ph_release_fn,
    /// Passed to the callbacks.
    pub user: *mut c_void,
    /// Name in messages, for `memory` and `read`. Its extension sets the format if the options do not. May be null.
    pub name: *const c_char,
}

/// An output. Set exactly one of `path` and `write`.
///
/// A file is replaced when the job succeeds, and left unchanged when it fails. The material library of an OBJ file is
/// written next to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_output {
    /// `sizeof(ph_output)`.
    pub struct_size: usize,
    /// A path, as in ph_input. The extensions `.gz`, `.bgz`, `.zst` and `.lz4` compress the file.
    pub path: *const c_char,
    /// Writes bytes; see ph_write_fn.
    pub write: ph_write_fn,
    /// Called once, after the last write. May be null.
    pub flush: ph_finish_fn,
    /// Called once, after `flush`, when the output is complete. May be null. If `close` is not called, the job has
    /// failed: discard the bytes written.
    pub close: ph_finish_fn,
    /// Called last; see ph_release_fn. May be null.
    pub release: ph_release_fn,
    /// Passed to the callbacks.
    pub user: *mut c_void,
    /// Name of the output in messages. Its extension sets the format if the options do not. May be null.
    pub name: *const c_char,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers, pointers and optional functions, of which null is `None`: any
// bytes that C stores are values.
unsafe impl Record for ph_input {
    const NAME: &'static str = "ph_input";
}

// SAFETY: as for `ph_input`.
unsafe impl Record for ph_output {
    const NAME: &'static str = "ph_output";
}

/// Memory of the caller, released on drop.
struct Memory {
    bytes: &'static [u8],
    _release: Release,
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

/// An input or output. The second part releases the `user` of a path, and must be dropped when the job is over.
type Held<T> = (T, Option<Release>);

/// Converts the caller's input.
///
/// # Safety
/// `given` is null, or valid as [`ph_input`] requires until the job is over.
pub(crate) unsafe fn input(given: *const ph_input) -> Result<Held<Input>> {
    // SAFETY: `given` is null or has `struct_size` bytes by this function's contract.
    let given = unsafe { raw::need(given) }?;
    let release = Release::new(given.release, given.user);
    // SAFETY: `name` of a valid input is null or zero-terminated.
    let name = unsafe { raw::text(given.name, "the name of the input") }?;
    match (given.path.is_null(), given.memory.is_null(), given.read) {
        // SAFETY: `path` is not null in this arm, and the path of a valid input is zero-terminated.
        (false, true, None) => Ok((Input::Path(unsafe { path(given.path) }?), Some(release))),
        (true, false, None) => {
            // SAFETY: `memory` has `memory_size` bytes, unchanged until they are released. `Memory` releases them when
            // it is dropped, after the last use of its field `bytes`.
            let bytes = unsafe { raw::slice(given.memory.cast::<u8>(), given.memory_size, "the memory") }?;
            Ok((Input::Shared(Arc::new(Memory { bytes, _release: release }), name.into()), None))
        }
        (true, true, Some(read)) => {
            let reader = CallbackReader::new(read, given.seek, given.size, release);
            Ok((reader.into_input(name.into()), None))
        }
        _ => Err(usage("exactly one of path, memory and read of ph_input must be set")),
    }
}

/// Converts the caller's output.
///
/// # Safety
/// `given` is null, or valid as [`ph_output`] requires until the job is over.
pub(crate) unsafe fn output(given: *const ph_output) -> Result<Held<Output>> {
    // SAFETY: `given` is null or has `struct_size` bytes by this function's contract.
    let given = unsafe { raw::need(given) }?;
    let release = Release::new(given.release, given.user);
    // SAFETY: `name` of a valid output is null or zero-terminated.
    let name = unsafe { raw::text(given.name, "the name of the output") }?;
    match (given.path.is_null(), given.write) {
        // SAFETY: `path` is not null in this arm, and the path of a valid output is zero-terminated.
        (false, None) => Ok((Output::Path(unsafe { path(given.path) }?), Some(release))),
        (true, Some(write)) => {
            let writer = CallbackWriter::new(write, given.flush, given.close, release);
            Ok((writer.into_output(name.into()), None))
        }
        _ => Err(usage("exactly one of path and write of ph_output must be set")),
    }
}

/// Returns the format that the extension of `name` stands for, or `None` for an output with a path, whose format the
/// library infers.
///
/// # Safety
/// As for [`output`].
pub(crate) unsafe fn format_named(given: *const ph_output) -> Result<Option<polyhaul::Format>> {
    // SAFETY: `given` is null or has `struct_size` bytes by this function's contract.
    let given = unsafe { raw::need(given) }?;
    // SAFETY: `name` of a valid output is null or zero-terminated.
    let name = unsafe { raw::text(given.name, "the name of the output") }?;
    Ok(polyhaul::Format::of_path(name.as_ref()).filter(|_| given.path.is_null()))
}

/// Converts a path.
///
/// # Safety
/// `given` is null or zero-terminated.
#[cfg(unix)]
unsafe fn path(given: *const c_char) -> Result<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: `bytes_of` has the same contract; the text is copied into the path.
    let bytes = unsafe { raw::bytes_of(given) }.unwrap_or_default();
    Ok(OsStr::from_bytes(bytes).into())
}

/// Converts a path.
///
/// # Safety
/// `given` is null or zero-terminated.
#[cfg(not(unix))]
unsafe fn path(given: *const c_char) -> Result<PathBuf> {
    // SAFETY: `raw::text` has the same contract; the text is copied into the path.
    unsafe { raw::text(given, "the path") }.map(PathBuf::from)
}
