//! Arrays across the border, without copies: the library's as buffers that Python reads, and Python's
//! buffers as slices that the library reads.
//!
//! Shapes and element types are determined in `surfaces/python/polyhaul/_arrays.py`, or accepted unchanged by
//! `fitting`; here only safety is checked. Nothing here writes to memory that the other side can see; Python may write
//! to memory that was handed over for good ([`Array::owned`]).

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

/// Memory of the library as a buffer of bytes. It lives as long as any view of it.
#[pyclass(frozen, module = "polyhaul._polyhaul")]
pub(crate) struct Array {
    start: NonNull<u8>,
    length: usize,
    /// Whether the library, or another array, may read the same memory.
    is_shared: bool,
    /// Frees the memory.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: `start` points to memory of the owner, which may be looked at from any thread. Who writes to a view that may
// be written to is asked to see to it that nobody else uses it, as for any array of numpy.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Array {
    /// Passes values to Python, which may only read them.
    pub(crate) fn new<T: NoUninit + Send + Sync>(values: impl Into<model::Array<T>>) -> Array {
        let values = values.into();
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let start = NonNull::from(bytes).cast();
        let length = bytes.len();
        Array { start, length, is_shared: true, _owner: Box::new(values) }
    }

    /// Passes values to Python for good: it may change them.
    pub(crate) fn owned<T: NoUninit + Send + Sync>(mut values: Vec<T>) -> Array {
        let length = size_of_val(&*values);
        let start = NonNull::from(&mut *values).cast();
        Array { start, length, is_shared: false, _owner: Box::new(values) }
    }

    /// Hands text over to Python.
    pub(crate) fn text(text: Vec<u8>) -> Array {
        Array::new(text)
    }

    /// Values inside of something shared that does not move.
    pub(crate) fn part_of<O: Any + Send + Sync, T: NoUninit + Send + Sync>(
        owner: Arc<O>,
        part: impl for<'a> FnOnce(&'a O) -> &'a [T],
    ) -> Array {
        let bytes: &[u8] = bytemuck::cast_slice(part(&owner));
        let start = NonNull::from(bytes).cast();
        let length = bytes.len();
        Array { start, length, is_shared: true, _owner: Box::new(owner) }
    }

    /// The values of a shared array. If Python may write to them, the library uses them only when it is called.
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

    /// Fills in a view.
    ///
    /// # Safety
    ///
    /// `view` points to a buffer structure that the interpreter wants to have filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("the buffer argument is null"));
        }
        let array = slf.get();
        let start = array.start.as_ptr().cast::<c_void>();
        let length = array.length as ffi::Py_ssize_t;
        let read_only = c_int::from(array.is_shared);
        // SAFETY: the view keeps a reference to the object, the object is frozen and its owner keeps the memory where
        // it is; shared memory is marked as read-only. No memory is longer than isize::MAX.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, read_only, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// The items of an array: numbers, or rows of them.
pub(crate) trait Row: Pod + Send + Sync {
    /// Whether numbers of this kind have its bytes.
    fn consists_of(kind: ElementType) -> bool;
}

/// Numbers that may only come from buffers of the same type.
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
    /// The buffer of `object`, if it has such numbers, in C order, that divide into rows.
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

    /// The size in each dimension.
    pub(crate) fn shape(&self) -> &[usize] {
        self.buffer.shape()
    }
}

/// A buffer of Python that is written to.
pub(crate) struct Room<T>(Held<T>);

impl<T: Row> Room<T> {
    /// The buffer of `object`, under the conditions of [`Held::get`], if it is writable.
    pub(crate) fn get(object: &Bound<'_, PyAny>) -> Option<Room<T>> {
        Held::get(object).filter(|held| !held.buffer.readonly()).map(Room)
    }

    /// The number of values that fit.
    pub(crate) fn len(&self) -> usize {
        self.0.count
    }

    /// `count` values of it, if it has them.
    ///
    /// # Safety
    /// Nobody else looks at them, or changes them, while they are used.
    #[allow(clippy::mut_from_ref, reason = "the memory is Python's; who shares it is the caller's business")]
    pub(crate) unsafe fn part(&self, start: usize, count: usize) -> Option<&mut [T]> {
        let end = start.checked_add(count).filter(|end| *end <= self.0.count)?;
        // SAFETY: `get` saw to type, alignment and contiguity, the range is inside, and the memory stays while the
        // buffer is held; the rest is the caller's promise. All bytes are values of `T`.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.start.as_ptr().add(start), end - start) })
    }
}

/// The kind of the buffer's numbers; unknown if their byte order differs from this machine's, or they are text.
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
        // SAFETY: `get` saw to type, alignment and contiguity; the memory stays while the buffer is held. That
        // callers must not write to it meanwhile, as the documentation of `write` says.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T: Row> From<Held<T>> for model::Array<T> {
    /// The buffer's memory as an array of the library.
    fn from(held: Held<T>) -> Self {
        if held.count == 0 { model::Array::default() } else { model::Array::shared(Arc::new(held)) }
    }
}
