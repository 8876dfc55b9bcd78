//! Arrays across the border, without copies: the library's as buffers that Python reads, and Python's
//! buffers as slices that the library reads.
//!
//! Shapes and element types are settled in `python/polyhaul/_arrays.py`, or taken as they are by
//! `fitting`; here only what would be unsafe is checked. Nothing here writes to memory that the other
//! side can see.

use bytemuck::{NoUninit, Pod};
use polyhaul::model;
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory of the library as a read-only buffer of bytes. It lives as long as a view of it.
#[pyclass(frozen, module = "polyhaul._polyhaul")]
pub(crate) struct Array(Box<dyn AsBytes + Send + Sync>);

/// Memory that can be seen as bytes, and stays where it is while it is only looked at.
trait AsBytes {
    fn bytes(&self) -> &[u8];
}

impl<T: NoUninit> AsBytes for model::Array<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl Array {
    /// Hands values over to Python.
    pub(crate) fn new<T: NoUninit + Send + Sync>(values: impl Into<model::Array<T>>) -> Array {
        Array(Box::new(values.into()))
    }

    /// Hands text over to Python.
    pub(crate) fn text(text: Vec<u8>) -> Array {
        Array(Box::new(text))
    }

    /// The same values as those of an array that is shared.
    pub(crate) fn of<T: NoUninit + Send + Sync>(values: &model::Array<T>) -> Array {
        Array::new(values.clone())
    }
}

#[pymethods]
impl Array {
    /// How many bytes it has.
    fn __len__(&self) -> usize {
        self.0.bytes().len()
    }

    /// Fills in a view, which may be read and not written.
    ///
    /// # Safety
    ///
    /// `view` points to a buffer structure that the interpreter wants to have filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no buffer to fill in"));
        }
        let bytes = slf.get().0.bytes();
        let start = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: the view keeps a reference to the object, the object is frozen and owns the bytes, and the
        // buffer is marked as read-only. A slice is never longer than isize::MAX.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, bytes.len() as ffi::Py_ssize_t, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

impl AsBytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// What an array consists of: numbers, or rows of them.
pub(crate) trait Row: Pod + Send + Sync {
    /// Whether numbers of this kind have its bytes.
    fn consists_of(kind: ElementType) -> bool;
}

impl Row for f32 {
    fn consists_of(kind: ElementType) -> bool {
        kind == ElementType::Float { bytes: 4 }
    }
}

impl Row for i32 {
    fn consists_of(kind: ElementType) -> bool {
        kind == ElementType::SignedInteger { bytes: 4 }
    }
}

/// Indices: -1 is [`model::NONE`], and other negative numbers are more than there can be of anything.
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

/// A buffer of Python, held so that its memory stays, seen as values of `T`.
pub(crate) struct Held<T> {
    buffer: PyUntypedBuffer,
    start: NonNull<T>,
    count: usize,
}

// SAFETY: a buffer may be looked at and released from any thread, and `start` points into it.
unsafe impl<T: Sync> Send for Held<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Held<T> {}

impl<T: Row> Held<T> {
    /// The buffer of `object`, where it has one of such numbers, in the order of C, that divide into rows.
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

    /// How many numbers there are in each direction.
    pub(crate) fn shape(&self) -> &[usize] {
        self.buffer.shape()
    }
}

/// The kind of the buffer's numbers; unknown where their bytes are in another order than this machine's,
/// or are text.
fn native_kind(buffer: &PyUntypedBuffer) -> ElementType {
    let foreign: &[u8] = if cfg!(target_endian = "little") { b">!c" } else { b"<c" };
    match buffer.format().to_bytes().iter().any(|byte| foreign.contains(byte)) {
        true => ElementType::Unknown,
        false => ElementType::from_format(buffer.format()),
    }
}

impl<'a, 'py, T: Row> FromPyObject<'a, 'py> for Held<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Held::get(&object)
            .ok_or_else(|| PyValueError::new_err("the buffer is missing, or its type or layout does not fit"))
    }
}

impl<T> AsRef<[T]> for Held<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `get` saw to type, alignment and contiguity; the memory stays while the buffer is held. That
        // nobody writes to it meanwhile is asked of callers in the documentation of `write`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Row> From<Held<T>> for model::Array<T> {
    /// The buffer's memory as an array of the library.
    fn from(held: Held<T>) -> Self {
        if held.count == 0 { model::Array::default() } else { model::Array::shared(Arc::new(held)) }
    }
}
