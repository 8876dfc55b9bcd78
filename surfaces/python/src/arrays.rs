//! Arrays shared between Python and the library without copies: the library's arrays as buffers that Python reads, and
//! Python's buffers as slices that the library reads.
//!
//! `surfaces/python/polyhaul/_arrays.py` determines shapes and element types, or `fitting` accepts them unchanged; only
//! safety is checked here. The library writes to Python's memory only through [`Room`]; Python writes to the library's
//! memory only if it owns it or was given writable arrays ([`Array::owned`], [`Array::from_values`]).

use bytemuck::{NoUninit, Pod};
use polyhaul::model;
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::any::Any;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory of the library as a buffer of bytes. The memory lives as long as any view of it.
#[pyclass(frozen, module = "polyhaul._polyhaul")]
pub(crate) struct Array {
    start: NonNull<u8>,
    length: usize,
    /// Whether the library or another array may read the same memory.
    is_shared: bool,
    /// Frees the memory.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: `start` points to memory of the owner, which any thread may read. Python code that writes to a writable view
// must ensure that nothing else uses it meanwhile, as for any numpy array.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Array {
    /// Shares values with Python as read-only memory.
    pub(crate) fn new<T: NoUninit + Send + Sync>(values: impl Into<model::Array<T>>) -> Array {
        let values = values.into();
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let start = NonNull::from(bytes).cast();
        let length = bytes.len();
        Array { start, length, is_shared: true, _owner: Box::new(values) }
    }

    /// Moves values to Python, which may change them.
    pub(crate) fn owned<T: NoUninit + Send + Sync>(mut values: Vec<T>) -> Array {
        let length = size_of_val(&*values);
        let start = NonNull::from(&mut *values).cast();
        Array { start, length, is_shared: false, _owner: Box::new(values) }
    }

    /// Shares text with Python.
    pub(crate) fn text(text: Vec<u8>) -> Array {
        Array::new(text)
    }

    /// Shares values inside a reference-counted owner that does not move.
    pub(crate) fn part_of<O: Any + Send + Sync, T: NoUninit + Send + Sync>(
        owner: Arc<O>,
        part: impl for<'a> FnOnce(&'a O) -> &'a [T],
    ) -> Array {
        let bytes: &[u8] = bytemuck::cast_slice(part(&owner));
        let start = NonNull::from(bytes).cast();
        let length = bytes.len();
        Array { start, length, is_shared: true, _owner: Box::new(owner) }
    }

    /// Shares the values of an array. If Python may write to them, the library may use them only during a call.
    pub(crate) fn from_values<T: NoUninit + Send + Sync>(values: &model::Array<T>, is_writable: bool) -> Array {
        Array { is_shared: !is_writable, ..Array::new(values.clone()) }
    }
}

#[pymethods]
impl Array {
    /// The size in bytes.
    fn __len__(&self) -> usize {
        self.length
    }

    /// Fills in a buffer view.
    ///
    /// # Safety
    ///
    /// `view` is null or points to a buffer structure that the interpreter wants filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("the buffer argument is null"));
        }
        let array = slf.get();
        let start = array.start.as_ptr().cast::<c_void>();
        let length = array.length as ffi::Py_ssize_t;
        let read_only = c_int::from(array.is_shared);
        // SAFETY: the view keeps a reference to the object, the object is frozen, and its owner keeps the memory in
        // place; shared memory is marked as read-only. No allocation is longer than isize::MAX.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, read_only, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// An item of an array: a number, or a row of numbers.
pub(crate) trait Row: Pod + Send + Sync {
    /// Whether buffers with numbers of this type have the same representation.
    fn consists_of(kind: ElementType) -> bool;
}

/// Implements [`Row`] for numbers that only buffers of the same type can contain.
macro_rules! plain_rows {
    ($($number:ty => $kind:ident,)*) => {
        $(impl Row for $number {
            fn consists_of(kind: ElementType) -> bool {
                kind == ElementType::$kind { bytes: size_of::<$number>() }
            }
        })*
    };
}

plain_rows! {
    f32 => Float,
    f64 => Float,
    i8 => SignedInteger,
    i16 => SignedInteger,
    i32 => SignedInteger,
    i64 => SignedInteger,
    u16 => UnsignedInteger,
    u64 => UnsignedInteger,
}

/// Indices: signed integers are accepted too. -1 becomes [`model::NONE`], and other negative numbers become indices
/// that are out of range.
impl Row for u32 {
    fn consists_of(kind: ElementType) -> bool {
        kind == ElementType::UnsignedInteger { bytes: 4 } || i32::consists_of(kind)
    }
}

impl Row for u8 {
    fn consists_of(kind: ElementType) -> bool {
        kind == ElementType::UnsignedInteger { bytes: 1 } || kind == ElementType::Bool
    }
}

impl<R: Row, const COLUMNS: usize> Row for [R; COLUMNS]
where
    [R; COLUMNS]: Pod,
{
    fn consists_of(kind: ElementType) -> bool {
        R::consists_of(kind)
    }
}

/// A Python buffer as values of `T`, held so that its memory stays valid.
pub(crate) struct Held<T> {
    buffer: PyUntypedBuffer,
    start: NonNull<T>,
    count: usize,
}

// SAFETY: any thread may read and release a buffer, and `start` points into it.
unsafe impl<T: Sync> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Held<T> {}

impl<T: Row> Held<T> {
    /// Gets the buffer of `object` if its numbers have the right type, are in C order, and divide into rows.
    pub(crate) fn get(object: &Bound<'_, PyAny>) -> Option<Held<T>> {
        let buffer = PyUntypedBuffer::get(object).ok()?;
        let start = NonNull::new(buffer.buf_ptr().cast::<T>()).filter(|start| start.is_aligned());
        let fits = T::consists_of(native_kind(&buffer))
            && buffer.is_c_contiguous()
            && buffer.len_bytes().is_multiple_of(size_of::<T>());
        let (start, count) = match buffer.len_bytes() {
            0 => (NonNull::dangling(), 0),
            bytes => (start?, bytes / size_of::<T>()),
        };
        fits.then_some(Held { buffer, start, count })
    }

    /// The size of each dimension.
    pub(crate) fn shape(&self) -> &[usize] {
        self.buffer.shape()
    }
}

/// A writable Python buffer.
pub(crate) struct Room<T>(Held<T>);

impl<T: Row> Room<T> {
    /// Gets the buffer of `object` under the conditions of [`Held::get`], if it is writable.
    pub(crate) fn get(object: &Bound<'_, PyAny>) -> Option<Room<T>> {
        Held::get(object).filter(|held| !held.buffer.readonly()).map(Room)
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.0.count
    }

    /// Borrows `count` values, starting at `start`. Returns `None` if they are out of range.
    ///
    /// # Safety
    /// Nothing else reads or writes these values while they are borrowed.
    #[allow(clippy::mut_from_ref, reason = "the memory is Python's; who shares it is the caller's business")]
    pub(crate) unsafe fn part(&self, start: usize, count: usize) -> Option<&mut [T]> {
        let end = start.checked_add(count).filter(|end| *end <= self.0.count)?;
        // SAFETY: `get` checked type, alignment and contiguity, the range was checked above, and the memory stays valid
        // while the buffer is held; the caller ensures exclusive access. All bit patterns are values of `T`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.start.as_ptr().add(start), end - start) })
    }
}

/// The type of the buffer's numbers; unknown for text, and for a byte order other than this machine's.
fn native_kind(buffer: &PyUntypedBuffer) -> ElementType {
    let foreign: &[u8] = if cfg!(target_endian = "little") { b">!c" } else { b"<c" };
    if buffer.format().to_bytes().iter().any(|byte| foreign.contains(byte)) {
        ElementType::Unknown
    } else {
        ElementType::from_format(buffer.format())
    }
}

impl<'a, 'py, T: Row> FromPyObject<'a, 'py> for Held<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Held::get(&object)
            .ok_or_else(|| PyValueError::new_err("the buffer is missing, or its type or layout does not match"))
    }
}

impl<T> AsRef<[T]> for Held<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `get` checked type, alignment and contiguity; the memory stays valid while the buffer is held. The
        // documentation of `write` forbids callers to write to it meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Row> From<Held<T>> for model::Array<T> {
    /// Converts to an array of the library that uses the buffer's memory.
    fn from(held: Held<T>) -> Self {
        if held.count == 0 { model::Array::default() } else { model::Array::shared(Arc::new(held)) }
    }
}
