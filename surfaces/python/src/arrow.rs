//! Converts tables to and from Apache Arrow streams, in capsules of the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).
//!
//! Columns of polyhaul have no missing values. Exporting a scan moves its numbers; exporting a table, which Python may
//! change, copies them.

use crate::errors;
use crate::tables::{TableIn, TableOut, tables_from_python, tables_to_python, with_values};
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array as _, ArrayRef, ListArray, PrimitiveArray, RecordBatch, RecordBatchReader};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use polyhaul::Error;
use polyhaul::model::{self, Column, Scalar, Table, Values};
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::TryReserveError;
use std::ffi::CStr;
use std::sync::Arc;

/// The capsule name of a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// The capsule name of a schema.
const SCHEMA: &CStr = c"arrow_schema";

/// Exports a stream of `first` and the tables that follow.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    first: Table,
    others: impl Iterator<Item = Result<Table, Error>> + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = Arc::new(schema(&first));
    let rows = Rows { schema, tables: std::iter::once(Ok(first)).chain(others) };
    let stream = FFI_ArrowArrayStream::new(Box::new(rows));
    // If no consumer takes the stream, the capsule releases it on destruction.
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// Exports a Python table as a stream; its numbers are copied.
#[pyfunction]
pub(crate) fn table_to_arrow(py: Python<'_>, table: TableIn) -> PyResult<Bound<'_, PyCapsule>> {
    let mut table = tables_from_python(vec![table]).pop().unwrap_or_default();
    py.detach(|| table.columns.iter_mut().try_for_each(own)).map_err(|_| no_memory())?;
    // Python may have changed offsets in place. arrow would panic for invalid ones, in a callback that must not unwind.
    table.check().map_err(|error| errors::exception(py, &error))?;
    capsule(py, table, std::iter::empty())
}

/// Exports the names and types of a table's columns.
#[pyfunction]
pub(crate) fn table_to_arrow_schema(py: Python<'_>, table: TableIn) -> PyResult<Bound<'_, PyCapsule>> {
    let table = tables_from_python(vec![table]).pop().unwrap_or_default();
    let schema = FFI_ArrowSchema::try_from(schema(&table)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Copies the numbers of a column unless it already owns them.
fn own(column: &mut Column) -> Result<(), TryReserveError> {
    if let Some(offsets) = &mut column.offsets {
        offsets.to_mut()?;
    }
    with_values!(&mut column.values, array => array.to_mut().map(drop))
}

/// Converts tables to record batches.
struct Rows<I> {
    schema: SchemaRef,
    tables: I,
}

impl<I: Iterator<Item = Result<Table, Error>>> Iterator for Rows<I> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.tables.next()?.map_err(external).and_then(|table| batch(table, &self.schema)))
    }
}

impl<I: Iterator<Item = Result<Table, Error>>> RecordBatchReader for Rows<I> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

fn external(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

/// The schema of a table; unnamed columns become `f0`, `f1` and so on.
fn schema(table: &Table) -> Schema {
    let field = |(number, column): (usize, &Column)| {
        let name = if column.name.is_empty() { format!("f{number}") } else { column.name.clone() };
        let kind = data_type(column.values.scalar());
        let kind = if column.offsets.is_some() { DataType::List(item(kind)) } else { kind };
        Field::new(name, kind, false)
    };
    Schema::new(table.columns.iter().enumerate().map(field).collect::<Vec<_>>())
}

/// The field of list items.
fn item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind, false))
}

fn data_type(scalar: Scalar) -> DataType {
    match scalar {
        Scalar::I8 => DataType::Int8,
        Scalar::U8 => DataType::UInt8,
        Scalar::I16 => DataType::Int16,
        Scalar::U16 => DataType::UInt16,
        Scalar::I32 => DataType::Int32,
        Scalar::U32 => DataType::UInt32,
        Scalar::I64 => DataType::Int64,
        Scalar::U64 => DataType::UInt64,
        Scalar::F32 => DataType::Float32,
        Scalar::F64 => DataType::Float64,
    }
}

fn batch(table: Table, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = table.columns.into_iter().map(array).collect::<Result<Vec<_>, _>>()?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(table.row_count));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
}

fn array(column: Column) -> Result<ArrayRef, ArrowError> {
    let kind = data_type(column.values.scalar());
    let values = match column.values {
        Values::I8(values) => primitive::<Int8Type>(values),
        Values::U8(values) => primitive::<UInt8Type>(values),
        Values::I16(values) => primitive::<Int16Type>(values),
        Values::U16(values) => primitive::<UInt16Type>(values),
        Values::I32(values) => primitive::<Int32Type>(values),
        Values::U32(values) => primitive::<UInt32Type>(values),
        Values::I64(values) => primitive::<Int64Type>(values),
        Values::U64(values) => primitive::<UInt64Type>(values),
        Values::F32(values) => primitive::<Float32Type>(values),
        Values::F64(values) => primitive::<Float64Type>(values),
    }?;
    let Some(offsets) = column.offsets else { return Ok(values) };
    let too_long = |_| ArrowError::OffsetOverflowError(usize::MAX);
    let offsets =
        offsets.iter().map(|&offset| i32::try_from(offset).map_err(too_long)).collect::<Result<Vec<_>, _>>()?;
    let list = ListArray::try_new(item(kind), OffsetBuffer::new(ScalarBuffer::from(offsets)), values, None)?;
    Ok(Arc::new(list))
}

fn primitive<T: ArrowPrimitiveType>(values: model::Array<T::Native>) -> Result<ArrayRef, ArrowError> {
    let values = values.into_vec().map_err(|_| external(Error::memory("a batch")))?;
    Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None)))
}

/// Imports a table from the stream of another library, such as a frame of polars, pandas or pyarrow, or a DuckDB
/// result.
#[pyfunction]
pub(crate) fn table_from_arrow(py: Python<'_>, capsule: &Bound<'_, PyCapsule>) -> PyResult<TableOut> {
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name contains such a stream, which belongs to the first consumer that takes it and
    // leaves an empty stream in its place. The capsule lives at least as long as this call.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    let mut reader = reader.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let schema = reader.schema();
    let mut columns = schema.fields().iter().map(|field| Growing::new(field)).collect::<PyResult<Vec<_>>>()?;
    let mut row_count = 0;
    // Detach: the producer may wait for a thread that needs the interpreter; if it needs Python, it attaches by itself.
    loop {
        py.check_signals()?;
        let next;
        (next, reader) = py.detach(move || (reader.next(), reader));
        let Some(batch) = next else { break };
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        row_count += batch.num_rows();
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.extend(array)?;
        }
    }
    let columns = columns.into_iter().map(|growing| growing.column).collect();
    let mut tables = tables_to_python(vec![Table { name: String::new(), row_count, columns }])?;
    tables.pop().ok_or_else(|| PyValueError::new_err("there is no table"))
}

/// A column to which batches are appended.
struct Growing {
    column: Column,
}

impl Growing {
    fn new(field: &Field) -> PyResult<Growing> {
        let (kind, is_list) = match field.data_type() {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                (item.data_type(), true)
            }
            kind => (kind, false),
        };
        let scalar = scalar(kind).ok_or_else(|| {
            let message =
                format!("column {:?} is of type {}; expected numbers: cast it first", field.name(), field.data_type());
            PyTypeError::new_err(message)
        })?;
        let offsets = is_list.then(|| vec![0].into());
        Ok(Growing { column: Column { name: field.name().clone(), values: Values::empty(scalar), offsets } })
    }

    fn extend(&mut self, array: &ArrayRef) -> PyResult<()> {
        let Some(offsets) = &mut self.column.offsets else {
            return append(&mut self.column.values, array, &self.column.name);
        };
        if array.null_count() > 0 {
            let message = format!("column {:?} has missing values; fill or drop them first", self.column.name);
            return Err(PyValueError::new_err(message));
        }
        let (positions, items): (Vec<i64>, &ArrayRef) = match array.data_type() {
            DataType::LargeList(_) => {
                (array.as_list::<i64>().value_offsets().to_vec(), array.as_list::<i64>().values())
            }
            &DataType::FixedSizeList(_, size) => {
                let positions = (0..=array.len() as i64).map(|row| row * i64::from(size));
                (positions.collect(), array.as_fixed_size_list().values())
            }
            _ => {
                let list = array.as_list::<i32>();
                (list.value_offsets().iter().map(|&offset| offset.into()).collect(), list.values())
            }
        };
        let first = positions[0];
        let last = positions[array.len()];
        let before = self.column.values.len() as i64;
        let offsets = offsets.to_mut().map_err(|_| no_memory())?;
        for &position in &positions[1..] {
            let offset = u32::try_from(before + position - first);
            offsets.push(offset.map_err(|_| PyValueError::new_err("the lists have more than 4,294,967,295 values"))?);
        }
        append(&mut self.column.values, &items.slice(first as usize, (last - first) as usize), &self.column.name)
    }
}

fn no_memory() -> PyErr {
    PyMemoryError::new_err("out of memory for the columns")
}

/// The type of a column, or `None` if unsupported. Booleans become bytes, as in numpy.
fn scalar(kind: &DataType) -> Option<Scalar> {
    Some(match kind {
        DataType::Int8 => Scalar::I8,
        DataType::UInt8 | DataType::Boolean => Scalar::U8,
        DataType::Int16 => Scalar::I16,
        DataType::UInt16 => Scalar::U16,
        DataType::Int32 => Scalar::I32,
        DataType::UInt32 => Scalar::U32,
        DataType::Int64 => Scalar::I64,
        DataType::UInt64 => Scalar::U64,
        DataType::Float32 => Scalar::F32,
        DataType::Float64 => Scalar::F64,
        _ => return None,
    })
}

/// Appends the values of an array to a column.
fn append(values: &mut Values, array: &ArrayRef, name: &str) -> PyResult<()> {
    if array.null_count() > 0 {
        return Err(PyValueError::new_err(format!("column {name:?} has missing values; fill or drop them first")));
    }
    match values {
        Values::U8(bytes) if array.data_type() == &DataType::Boolean => {
            extend(bytes, array.as_boolean().values().iter().map(u8::from))
        }
        Values::I8(values) => copy::<Int8Type>(values, array),
        Values::U8(values) => copy::<UInt8Type>(values, array),
        Values::I16(values) => copy::<Int16Type>(values, array),
        Values::U16(values) => copy::<UInt16Type>(values, array),
        Values::I32(values) => copy::<Int32Type>(values, array),
        Values::U32(values) => copy::<UInt32Type>(values, array),
        Values::I64(values) => copy::<Int64Type>(values, array),
        Values::U64(values) => copy::<UInt64Type>(values, array),
        Values::F32(values) => copy::<Float32Type>(values, array),
        Values::F64(values) => copy::<Float64Type>(values, array),
    }
}

fn copy<T: ArrowPrimitiveType>(values: &mut model::Array<T::Native>, array: &ArrayRef) -> PyResult<()> {
    extend(values, array.as_primitive::<T>().values().iter().copied())
}

fn extend<T: Copy>(values: &mut model::Array<T>, new: impl ExactSizeIterator<Item = T>) -> PyResult<()> {
    let values = values.to_mut().map_err(|_| no_memory())?;
    values.try_reserve(new.len()).map_err(|_| no_memory())?;
    values.extend(new);
    Ok(())
}
