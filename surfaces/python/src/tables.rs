//! Passes tables to and from Python as tuples of buffers. The public class is in `surfaces/python/polyhaul/_table.py`.
//!
//! Python owns the columns of tables that were read, so it may change them.

use crate::arrays::{Array, Held};
use crate::options::{NativeWriteOptions, scalar_name};
use crate::report;
use crate::sources::{ReadCall, Target, run_reading, run_writing};
use polyhaul::model::{self, Column, Table, Values};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A column for Python: name, type, values, and the offsets of lists.
#[derive(IntoPyObject)]
pub(crate) struct ColumnOut(String, &'static str, Array, Option<Array>);

/// A table for Python: name, row count, columns.
#[derive(IntoPyObject)]
pub(crate) struct TableOut(String, usize, Vec<ColumnOut>);

/// The tables of a source, its comments, its `obj_info` lines, and the report as a dict.
#[derive(IntoPyObject)]
pub(crate) struct TablesOut<'py>(Vec<TableOut>, Vec<String>, Vec<String>, Bound<'py, PyDict>);

/// An array for Python: type, values, shape as (rows, columns), and the report as a dict.
#[derive(IntoPyObject)]
pub(crate) struct ArrayOut<'py>(&'static str, Array, (usize, usize), Bound<'py, PyDict>);

/// A column from Python: name, values, and the offsets of lists. Nothing is copied.
#[derive(FromPyObject)]
pub(crate) struct ColumnIn(String, ValuesIn, Option<Held<u32>>);

/// A table from Python: name, row count, columns.
#[derive(FromPyObject)]
pub(crate) struct TableIn(String, usize, Vec<ColumnIn>);

/// Numbers of any supported type.
struct ValuesIn(Values);

/// Runs `$body` with `$array` as the array of `$values`, whatever its type.
macro_rules! with_values {
    ($values:expr, $array:ident => $body:expr) => {
        match $values {
            Values::I8($array) => $body,
            Values::U8($array) => $body,
            Values::I16($array) => $body,
            Values::U16($array) => $body,
            Values::I32($array) => $body,
            Values::U32($array) => $body,
            Values::I64($array) => $body,
            Values::U64($array) => $body,
            Values::F32($array) => $body,
            Values::F64($array) => $body,
        }
    };
}
pub(crate) use with_values;

/// Reads the tables of a source.
#[pyfunction]
pub(crate) fn read_tables<'py>(py: Python<'py>, reading: ReadCall<'py>) -> PyResult<TablesOut<'py>> {
    let loaded = run_reading(py, reading, |job, input, options| {
        let loaded = polyhaul::Reader::new(input).options(options).tables()?;
        job.complete(loaded.report.bytes_in);
        Ok(loaded)
    })?;
    let tables = tables_to_python(loaded.value.tables)?;
    Ok(TablesOut(tables, loaded.value.comments, loaded.value.infos, report::report(py, &loaded.report)?))
}

/// Reads text into a single array.
#[pyfunction]
pub(crate) fn read_array<'py>(py: Python<'py>, reading: ReadCall<'py>) -> PyResult<ArrayOut<'py>> {
    let loaded = run_reading(py, reading, |job, input, options| {
        let loaded = polyhaul::Reader::new(input).options(options).array()?;
        job.complete(loaded.report.bytes_in);
        Ok(loaded)
    })?;
    let (kind, values) = owned(loaded.value.values)?;
    let shape = (loaded.value.row_count, loaded.value.column_count);
    Ok(ArrayOut(kind, values, shape, report::report(py, &loaded.report)?))
}

/// Writes tables, with `notes` as comments and `obj_info` lines; returns the report as a dict.
#[pyfunction]
pub(crate) fn write_tables<'py>(
    py: Python<'py>,
    tables: Vec<TableIn>,
    notes: (Vec<String>, Vec<String>),
    target: Target,
    options: &NativeWriteOptions,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let tables = tables_from_python(tables);
    run_writing(py, options, progress, move |job, options| {
        polyhaul::Writer::new(target.output(job)?).options(options).tables_with(&tables, &notes.0, &notes.1)
    })
}

/// Moves tables to Python.
pub(crate) fn tables_to_python(tables: Vec<Table>) -> PyResult<Vec<TableOut>> {
    tables.into_iter().map(TableOut::new).collect()
}

/// Converts to tables of the library.
pub(crate) fn tables_from_python(tables: Vec<TableIn>) -> Vec<Table> {
    let table = |TableIn(name, row_count, columns)| Table { name, row_count, columns: columns_from_python(columns) };
    tables.into_iter().map(table).collect()
}

/// Shares columns with Python as read-only memory.
pub(crate) fn columns_to_python(columns: &[Column]) -> Vec<ColumnOut> {
    let column = |column: &Column| {
        let (kind, values) = shared(&column.values);
        ColumnOut(
            column.name.clone(),
            kind,
            values,
            column.offsets.as_ref().map(|offsets| Array::from_values(offsets, false)),
        )
    };
    columns.iter().map(column).collect()
}

/// Converts to columns of the library.
pub(crate) fn columns_from_python(columns: Vec<ColumnIn>) -> Vec<Column> {
    let column = |ColumnIn(name, values, offsets)| Column { name, values: values.0, offsets: offsets.map(Into::into) };
    columns.into_iter().map(column).collect()
}

/// Makes columns cheap to clone, by sharing their arrays.
pub(crate) fn share(columns: &mut [Column]) {
    for Column { values, offsets, .. } in columns {
        with_values!(values, array => array.share());
        offsets.iter_mut().for_each(model::Array::share);
    }
}

impl TableOut {
    fn new(table: Table) -> PyResult<TableOut> {
        let column = |column: Column| {
            let (kind, values) = owned(column.values)?;
            let offsets = column.offsets.map(|offsets| offsets.into_vec().map(Array::owned)).transpose();
            Ok(ColumnOut(column.name, kind, values, offsets.map_err(out_of_memory)?))
        };
        let columns: PyResult<_> = table.columns.into_iter().map(column).collect();
        Ok(TableOut(table.name, table.row_count, columns?))
    }
}

/// Moves numbers to Python; also returns their numpy type.
fn owned(values: Values) -> PyResult<(&'static str, Array)> {
    let kind = scalar_name(values.scalar());
    with_values!(values, array => Ok((kind, Array::owned(array.into_vec().map_err(out_of_memory)?))))
}

/// Shares numbers with Python; also returns their numpy type.
fn shared(values: &Values) -> (&'static str, Array) {
    (scalar_name(values.scalar()), with_values!(values, array => Array::from_values(array, false)))
}

fn out_of_memory(error: std::collections::TryReserveError) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}

impl<'a, 'py> FromPyObject<'a, 'py> for ValuesIn {
    type Error = PyErr;

    /// Uses the values in place. If several types fit the buffer, the first one is used.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let held = Held::get(&object).map(|held: Held<f32>| Values::F32(held.into()));
        held.or_else(|| Held::get(&object).map(|held: Held<f64>| Values::F64(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<i8>| Values::I8(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<u8>| Values::U8(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<i16>| Values::I16(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<u16>| Values::U16(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<i32>| Values::I32(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<u32>| Values::U32(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<i64>| Values::I64(held.into())))
            .or_else(|| Held::get(&object).map(|held: Held<u64>| Values::U64(held.into())))
            .map(ValuesIn)
            .ok_or_else(|| PyValueError::new_err("the type or layout of a column does not match"))
    }
}
