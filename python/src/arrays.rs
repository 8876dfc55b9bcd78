//! Arrays across the border, without copies: the library's as buffers that Python reads, and Python's
//! buffers as slices that the library reads.
//!
//! Shapes and element types are settled in `python/polyhaul/_arrays.py`; here only what would be
//! unsafe is checked. Nothing here writes to memory that the other side can see.

use bytemuck::{NoUninit, Pod};
use polyhaul::model;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
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

/// A buffer of Python, held so that its memory stays, seen as values of `T` that consist of `E`s.
pub(crate) struct Held<E: Element, T> {
    buffer: PyBuffer<E>,
    values: PhantomData<T>,
}

impl<'a, 'py, E: Element, T> FromPyObject<'a, 'py> for Held<E, T> {
    type Error = PyErr;

    /// The buffer of `object`, which has elements of type `E` in the order of C.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(&object)?;
        match buffer.is_c_contiguous() && (buffer.item_count() * size_of::<E>()).is_multiple_of(size_of::<T>().max(1)) {
            true => Ok(Held { buffer, values: PhantomData }),
            false => Err(PyValueError::new_err("the buffer is not contiguous, or its size does not fit")),
        }
    }
}

impl<E: Element + Pod, T: Pod> AsRef<[T]> for Held<E, T> {
    fn as_ref(&self) -> &[T] {
        let Some(elements) = self.buffer.as_slice_ptr() else {
            return &[];
        };
        // SAFETY: `extract` saw to type, alignment and contiguity; the memory stays while the buffer is held. That
        // nobody writes to it meanwhile is asked of callers in the documentation of `write`.
        let elements: &[E] = unsafe { elements.as_ref() };
        bytemuck::try_cast_slice(elements).unwrap_or_default()
    }
}

impl<E: Element + Pod + Send + Sync, T: Pod + Send + Sync> From<Held<E, T>> for model::Array<T> {
    /// The buffer's memory as an array of the library.
    fn from(held: Held<E, T>) -> Self {
        if held.as_ref().is_empty() { model::Array::default() } else { model::Array::shared(Arc::new(held)) }
    }
}
