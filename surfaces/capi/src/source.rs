//! Inputs and outputs: paths, memory, and callbacks of the host.
//!
//! The callbacks are called in `callbacks.rs`.

use crate::callbacks::{CallbackReader, CallbackWriter, Release};
use crate::raw::{self, Record, usage};
use polyhaul::{Input, Output, Result};
use std::ffi::{c_char, c_void};
use std::path::PathBuf;
use std::sync::Arc;

/// Reads up to `size` bytes into `out`. Required in an input of callbacks.
///
/// Returns how many bytes it read, from 1 to `size`: fewer than asked for are fine. 0 is the end. Below 0 is an error
/// of the host, which ends the job and is `host_code` of ph_error. More than `size` breaks the contract
/// (PH_ERROR_HOST). It is asked for 64 KiB or more at a time, by one thread at a time, though not always by the
/// same one, and never again after it failed.
pub type ph_read_fn = Option<unsafe extern "C" fn(user: *mut c_void, out: *mut c_void, size: usize) -> i64>;

/// Moves to `offset`, in bytes from the beginning, where the next read begins. Optional.
///
/// Returns 0 on success, a positive number if it cannot seek, a negative number for an error.
pub type ph_seek_fn = Option<unsafe extern "C" fn(user: *mut c_void, offset: u64) -> i32>;

/// The total number of bytes to read; negative if unknown. Optional. It is called once, before
/// the first read, and must be right.
pub type ph_size_fn = Option<unsafe extern "C" fn(user: *mut c_void) -> i64>;

/// Takes up to `size` bytes of `data`. Required in an output of callbacks.
///
/// Returns how many it took, from 1 to `size`: the rest is passed again. Below 0 is an error, as for ph_read_fn; 0 and
/// more than `size` break the contract (PH_ERROR_HOST).
pub type ph_write_fn = Option<unsafe extern "C" fn(user: *mut c_void, data: *const c_void, size: usize) -> i64>;

/// A step at the end of an output. Optional. Returns 0, or below 0 for an error.
pub type ph_finish_fn = Option<unsafe extern "C" fn(user: *mut c_void) -> i32>;

/// polyhaul has no more use for `user`, or for the memory of an input. Optional. It is the last callback, and comes
/// exactly once, whether the job succeeded or not.
pub type ph_release_fn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// An input: exactly one of `path`, `memory` and `read` is set.
///
/// It is used for one call and may be a local variable. Its targets must stay valid and unchanged until that call
/// returns, or in an answer of ph_resolve_fn until `release` is called.
///
///     ph_input input = {.struct_size = sizeof input};
///     input.path = "model.obj";
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_input {
    /// `sizeof(ph_input)`.
    pub struct_size: usize,
    /// A file: UTF-8, or on Unix any bytes, with a zero at the end. Compressed files (gzip, zstd, lz4) are known by
    /// their content, here as in every other input.
    pub path: *const c_char,
    /// Bytes in memory; they are not copied.
    pub memory: *const c_void,
    /// The number of bytes in `memory`.
    pub memory_size: usize,
    /// Reads on: see ph_read_fn.
    pub read: ph_read_fn,
    /// Goes to a place: see ph_seek_fn. May be null.
    pub seek: ph_seek_fn,
    /// Tells the size: see ph_size_fn. May be null.
    pub size: ph_size_fn,
    /// Called last: see ph_release_fn. May be null, and may also be set with `path` and `memory`.
    pub release: ph_release_fn,
    /// Passed to the callbacks.
    pub user: *mut c_void,
    /// The name of memory and callbacks in messages; its extension (`.tga`) sets the format if the options do not.
    /// May be null.
    pub name: *const c_char,
}

/// An output: exactly one of `path` and `write` is set.
///
/// A file is replaced as a whole, or unchanged if the job fails; the material library of an OBJ file goes next to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ph_output {
    /// `sizeof(ph_output)`.
    pub struct_size: usize,
    /// A file, as in ph_input. `.gz`, `.zst` and `.lz4` compress.
    pub path: *const c_char,
    /// Takes bytes: see ph_write_fn.
    pub write: ph_write_fn,
    /// Called once when all was written. May be null.
    pub flush: ph_finish_fn,
    /// Called once after that: the output is complete. If it is not called, the job failed and the written bytes should
    /// be discarded. May be null.
    pub close: ph_finish_fn,
    /// Called at last: see ph_release_fn. May be null.
    pub release: ph_release_fn,
    /// Passed to the callbacks.
    pub user: *mut c_void,
    /// The name of the output in messages; its extension sets the format if the options do not. May be null.
    pub name: *const c_char,
}

// SAFETY: `repr(C)`, `struct_size` first, then numbers, pointers, and functions as `Option`, of which null is `None`:
// what C puts there are values.
unsafe impl Record for ph_input {
    const NAME: &'static str = "ph_input";
}

// SAFETY: as for `ph_input`.
unsafe impl Record for ph_output {
    const NAME: &'static str = "ph_output";
}

/// Memory of the caller, until it is released.
struct Memory {
    bytes: &'static [u8],
    _release: Release,
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

/// A path, and what is released when the job is over.
type Held<T> = (T, Option<Release>);

/// The input. The second part is dropped when the job is over.
///
/// # Safety
/// `given` is null or valid as [`ph_input`] says, until the job is over.
pub(crate) unsafe fn input(given: *const ph_input) -> Result<Held<Input>> {
    // SAFETY: `given` is null or has `struct_size` bytes, a part of this function's condition.
    let given = unsafe { raw::need(given) }?;
    let release = Release::new(given.release, given.user);
    // SAFETY: `name` of a valid input is null or ends with a zero byte.
    let name = unsafe { raw::text(given.name, "the name of the input") }?;
    match (given.path.is_null(), given.memory.is_null(), given.read) {
        // SAFETY: `path` is not null in this arm, and that of a valid input ends with a zero byte.
        (false, true, None) => Ok((Input::Path(unsafe { path(given.path) }?), Some(release))),
        (true, false, None) => {
            // SAFETY: `memory_size` bytes are there and stay unchanged until they are released, which `Memory` does
            // when it is dropped: after the last use of `bytes`, its own field.
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

/// The output. The second part is dropped when the job is over.
///
/// # Safety
/// `given` is null or valid as [`ph_output`] says, until the job is over.
pub(crate) unsafe fn output(given: *const ph_output) -> Result<Held<Output>> {
    // SAFETY: `given` is null or has `struct_size` bytes, a part of this function's condition.
    let given = unsafe { raw::need(given) }?;
    let release = Release::new(given.release, given.user);
    // SAFETY: `name` of a valid output is null or ends with a zero byte.
    let name = unsafe { raw::text(given.name, "the name of the output") }?;
    match (given.path.is_null(), given.write) {
        // SAFETY: `path` is not null in this arm, and that of a valid output ends with a zero byte.
        (false, None) => Ok((Output::Path(unsafe { path(given.path) }?), Some(release))),
        (true, Some(write)) => {
            let writer = CallbackWriter::new(write, given.flush, given.close, release);
            Ok((writer.into_output(name.into()), None))
        }
        _ => Err(usage("exactly one of path and write of ph_output must be set")),
    }
}

/// The format suggested by the name, for outputs that are not files.
///
/// # Safety
/// As for [`output`].
pub(crate) unsafe fn format_named(given: *const ph_output) -> Result<Option<polyhaul::Format>> {
    // SAFETY: `given` is null or has `struct_size` bytes, a part of this function's condition.
    let given = unsafe { raw::need(given) }?;
    // SAFETY: `name` of a valid output is null or ends with a zero byte.
    let name = unsafe { raw::text(given.name, "the name of the output") }?;
    Ok(polyhaul::Format::of_path(name.as_ref()).filter(|_| given.path.is_null()))
}

/// A path.
///
/// # Safety
/// `given` is null, or points to text that ends with a zero byte.
#[cfg(unix)]
unsafe fn path(given: *const c_char) -> Result<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: `bytes_of` has this function's condition; the text is copied into the path.
    let bytes = unsafe { raw::bytes_of(given) }.unwrap_or_default();
    Ok(OsStr::from_bytes(bytes).into())
}

/// A path.
///
/// # Safety
/// `given` is null, or points to text that ends with a zero byte.
#[cfg(not(unix))]
unsafe fn path(given: *const c_char) -> Result<PathBuf> {
    // SAFETY: `raw::text` has this function's condition; the text is copied into the path.
    unsafe { raw::text(given, "the path") }.map(PathBuf::from)
}
