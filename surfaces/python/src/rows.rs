//! Formats rows of columns as text: `format_rows` and `write_rows` of the library.
//!
//! `surfaces/python/polyhaul/_rows.py` determines the columns and the names of their types.

use crate::arrays::Array;
use crate::job;
use crate::options::NativeWriteOptions;
use crate::sources::{Target, run_writing};
use polyhaul::rows::{self, PrintfDialect, RowFormat, StridedColumn, ValueType};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyDict;

/// The rows, and how to format them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RowsIn {
    template: PyBackedStr,
    /// `numpy` or `older numpy` for `printf` conversions in that dialect; otherwise the template has named fields.
    notation: PyBackedStr,
    columns: Vec<Values>,
    /// The column names, for named fields.
    names: Vec<PyBackedStr>,
}

/// A column: a one-dimensional array, and the name of its type.
#[derive(FromPyObject)]
struct Values(PyUntypedBufferIn, PyBackedStr);

/// A buffer of any type.
struct PyUntypedBufferIn(PyUntypedBuffer);

impl<'a, 'py> FromPyObject<'a, 'py> for PyUntypedBufferIn {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        PyUntypedBuffer::get(&object).map(PyUntypedBufferIn)
    }
}

/// Writes a header, the rows and a footer; returns the report as a dict.
#[pyfunction]
pub(crate) fn write_rows<'py>(
    py: Python<'py>,
    rows: RowsIn,
    ends: (PyBackedBytes, PyBackedBytes),
    target: Target,
    options: &NativeWriteOptions,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    run_writing(py, options, progress, move |job, options| {
        rows::write_rows(&rows.format()?, &rows.columns()?, &ends.0, &ends.1, target.output(job)?, options)
    })
}

/// Formats rows into the buffer `out`, or into a new one; returns the new one and the number of bytes.
#[pyfunction]
pub(crate) fn format_rows(
    py: Python<'_>,
    rows: RowsIn,
    out: Option<Out>,
    options: &NativeWriteOptions,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Option<Array>, usize)> {
    let mut run = options.options.run.clone();
    job::run(py, progress, move |job| {
        job.rule(&mut run);
        let format = rows.format()?;
        let columns = rows.columns()?;
        let (text, length) = match out {
            Some(mut out) => (None, rows::format_rows(&format, &columns, out.bytes(), &run)?),
            None => {
                let text = rows::format_rows_to_vec(&format, &columns, &run)?;
                let length = text.len();
                (Some(Array::text(text)), length)
            }
        };
        job.complete(length as u64);
        Ok((text, length))
    })
}

impl RowsIn {
    fn format(&self) -> polyhaul::Result<RowFormat> {
        let kinds = self.columns.iter().map(Values::kind).collect::<polyhaul::Result<Vec<ValueType>>>()?;
        let field = |name: &str| {
            let column = self.names.iter().position(|known_name| **known_name == *name)?;
            Some((column, *kinds.get(column)?))
        };
        match &*self.notation {
            "numpy" => rows::printf(&self.template, &kinds, PrintfDialect::Python),
            "older numpy" => rows::printf(&self.template, &kinds, PrintfDialect::OlderNumpy),
            _ => rows::fields(&self.template, field),
        }
    }

    fn columns(&self) -> polyhaul::Result<Vec<StridedColumn<'_>>> {
        self.columns.iter().map(Values::column).collect()
    }
}

impl Values {
    fn kind(&self) -> polyhaul::Result<ValueType> {
        let size = self.0.0.item_size();
        let kind = match &*self.1 {
            "i1" => ValueType::I8,
            "i2" => ValueType::I16,
            "i4" => ValueType::I32,
            "i8" => ValueType::I64,
            "u1" => ValueType::U8,
            "u2" => ValueType::U16,
            "u4" => ValueType::U32,
            "u8" => ValueType::U64,
            "f4" => ValueType::F32,
            "f8" => ValueType::F64,
            "b1" => ValueType::Bool,
            "text" => ValueType::Text(size),
            _ => ValueType::Bytes(size),
        };
        if kind.bytes() == size { Ok(kind) } else { Err(unfit()) }
    }

    /// The values in place.
    fn column(&self) -> polyhaul::Result<StridedColumn<'_>> {
        let buffer = &self.0.0;
        let kind = self.kind()?;
        let shape = (buffer.shape(), buffer.strides(), buffer.suboffsets());
        let ([count], [stride], None) = shape else {
            return Err(unfit());
        };
        let bytes = match *count {
            0 => &[],
            count => {
                let stride = usize::try_from(*stride).map_err(|_| unfit())?;
                let span = (count - 1).checked_mul(stride).and_then(|span| span.checked_add(kind.bytes()));
                let start = buffer.buf_ptr().cast::<u8>().cast_const();
                // SAFETY: the buffer protocol guarantees that all values are in a single allocation; the memory stays
                // valid while the buffer is held. Callers must not write to it meanwhile.
                unsafe { std::slice::from_raw_parts(start, span.ok_or_else(unfit)?) }
            }
        };
        StridedColumn::new(bytes, 0, stride.unsigned_abs(), *count, kind).ok_or_else(unfit)
    }
}

fn unfit() -> polyhaul::Error {
    polyhaul::Error::new(polyhaul::ErrorKind::Internal, "the type or layout of a column does not match")
}

/// A writable Python buffer for text.
pub(crate) struct Out(PyUntypedBuffer);

impl Out {
    fn bytes(&mut self) -> &mut [u8] {
        match self.0.len_bytes() {
            0 => &mut [],
            // SAFETY: `extract` checked that the buffer is contiguous and writable; it stays valid while it is held.
            // Callers must not use it meanwhile.
            length => unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast::<u8>(), length) },
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Out {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(&object)?;
        if !buffer.readonly() && buffer.is_c_contiguous() {
            Ok(Out(buffer))
        } else {
            Err(PyValueError::new_err("out is not writable or not contiguous"))
        }
    }
}
