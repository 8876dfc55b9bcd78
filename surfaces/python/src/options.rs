//! Options from Python: names and values from the library's table of options, as strings, set one at a time. Checks
//! that depend on Python types are in `surfaces/python/polyhaul/_options.py`.

use polyhaul::model::{Axis, Bounds, Scalar};
use polyhaul::options::{
    ColumnName, ColumnTypes, OptionGroup, OptionKind, OptionRow, OptionValue, RunOptions, SetError, Throttle,
};
use polyhaul::textures::TextureOptions;
use polyhaul::{Format, ReadOptions, WriteOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use crate::errors;

static READ_ROWS: LazyLock<Vec<OptionRow>> = LazyLock::new(ReadOptions::rows);
static WRITE_ROWS: LazyLock<Vec<OptionRow>> = LazyLock::new(WriteOptions::rows);

/// A row of the table of options, as a dict: `Row` in `_options.py`.
#[derive(IntoPyObject)]
pub(crate) struct RowOut {
    name: &'static str,
    group: &'static str,
    alias: &'static str,
    /// `flag`, `integer`, `size` (an integer that may have a unit), `positive`, `text`, `choice`, or the name of a
    /// special kind.
    kind: &'static str,
    is_optional: bool,
    choices: Vec<&'static str>,
    default: String,
    docs: &'static str,
    formats: Vec<&'static str>,
    reads: bool,
    writes: bool,
}

/// Lists all rows of the table. Texture options are marked as neither reading nor writing.
#[pyfunction]
pub(crate) fn option_rows() -> Vec<RowOut> {
    let is_among = |rows: &[OptionRow], row: &OptionRow| rows.iter().any(|other| other.is(row.group, row.name));
    let only_written = WRITE_ROWS.iter().filter(|row| !is_among(&READ_ROWS, row));
    let rows = READ_ROWS.iter().chain(only_written);
    let rows = rows.map(|row| RowOut::new(row, is_among(&READ_ROWS, row), is_among(&WRITE_ROWS, row)));
    rows.chain(TextureOptions::rows().iter().map(|row| RowOut::new(row, false, false))).collect()
}

/// The names of all formats.
pub(crate) fn format_names() -> Vec<&'static str> {
    Format::ALL.map(Format::name).into()
}

/// The format for a file name, by its extension, which the extension of a codec may follow.
#[pyfunction]
pub(crate) fn format_of_name(name: &str) -> Option<&'static str> {
    Format::of_path(Path::new(name)).map(Format::name)
}

/// Parses a size such as `64MB` to bytes.
#[pyfunction]
pub(crate) fn parse_size(text: &str) -> PyResult<u64> {
    u64::parse(text.trim()).map_err(PyValueError::new_err)
}

impl RowOut {
    fn new(row: &OptionRow, reads: bool, writes: bool) -> RowOut {
        let (kind, is_optional) = match row.kind {
            OptionKind::Optional(kind, _) => (*kind, true),
            kind => (kind, false),
        };
        let kind_name = match kind {
            OptionKind::Flag => "flag",
            OptionKind::Integer(_, max) if max == i128::from(u64::MAX) && !is_optional => "size",
            OptionKind::Integer(..) => "integer",
            OptionKind::Positive => "positive",
            OptionKind::Choice(_) => "choice",
            OptionKind::Special { name, .. } => name,
            OptionKind::Text | OptionKind::Optional(..) => "text",
        };
        RowOut {
            name: row.name,
            group: row.group,
            alias: row.alias,
            kind: kind_name,
            is_optional,
            choices: kind.choices().iter().map(|choice| choice.name).collect(),
            default: row.default.clone(),
            docs: row.docs,
            formats: row.formats.to_vec(),
            reads,
            writes,
        }
    }
}

/// Options for reading.
#[pyclass]
pub(crate) struct NativeReadOptions {
    pub(crate) options: ReadOptions,
    /// The memory limit, if set.
    pub(crate) memory_limit: Option<u64>,
}

#[pymethods]
impl NativeReadOptions {
    /// Creates the default options, with a throttle of `rate` bytes per second and `latency` seconds.
    #[new]
    fn new(rate: Option<u64>, latency: Option<f64>) -> NativeReadOptions {
        let run = RunOptions::default().with_read_throttle(throttle(rate, latency));
        NativeReadOptions { options: ReadOptions::default().with_run(run), memory_limit: None }
    }

    /// Sets an option from text. The exception describes the expected value.
    fn set(&mut self, name: &str, text: &str) -> PyResult<()> {
        set(&mut self.options, &READ_ROWS, name, text)?;
        if name == "memory_limit" {
            self.memory_limit = Some(self.options.run.memory_limit);
        }
        Ok(())
    }

    /// The value of an option as text.
    fn get(&self, name: &str) -> Option<String> {
        READ_ROWS.iter().find(|row| row.is_named(name)).and_then(|row| self.options.value(row))
    }

    /// Selects columns. They are not set as text, because names in text cannot contain commas or be numbers.
    fn set_columns(&mut self, columns: Vec<ColumnKey>) {
        let name = |column| match column {
            ColumnKey::Index(index) => ColumnName::Index(index),
            ColumnKey::Name(name) => ColumnName::Name(name),
        };
        self.options.table.columns = Some(columns.into_iter().map(name).collect());
    }

    /// Parses comments and numbers like numpy.
    fn set_numpy(&mut self) {
        self.options.table.is_numpy = true;
    }

    /// Sets the types of columns: one for all, or one per column.
    fn set_types(&mut self, types: Types) -> PyResult<()> {
        self.options.table.types = match types {
            Types::All(name) => ColumnTypes::All(scalar(&name)?),
            Types::Each(names) => {
                let each = names.iter().map(|name| name.as_deref().map(scalar).transpose());
                ColumnTypes::Each(each.collect::<PyResult<_>>()?)
            }
        };
        Ok(())
    }

    /// Keeps only rows in this box, which may be infinite.
    fn set_bounds(&mut self, min: [f64; 3], max: [f64; 3]) {
        self.options.rows.bounds = Some(Bounds { min, max });
    }

    /// Transforms rows by a matrix.
    fn set_transform(&mut self, matrix: [[f64; 4]; 4]) {
        self.options.rows.transform = Some(matrix);
    }

    /// Adds a condition that rows must also meet.
    fn add_filter(&mut self, py: Python<'_>, text: &str) -> PyResult<()> {
        let filter = text.parse().and_then(|filter| self.options.rows.clone().and_filter(filter));
        self.options.rows = filter.map_err(|error| errors::exception(py, &error))?;
        Ok(())
    }
}

/// Options for writing.
#[pyclass]
pub(crate) struct NativeWriteOptions {
    pub(crate) options: WriteOptions,
}

#[pymethods]
impl NativeWriteOptions {
    /// Creates the default options, with a throttle of `rate` bytes per second and `latency` seconds.
    #[new]
    fn new(rate: Option<u64>, latency: Option<f64>) -> NativeWriteOptions {
        let run = RunOptions::default().with_write_throttle(throttle(rate, latency));
        NativeWriteOptions { options: WriteOptions::default().with_run(run) }
    }

    /// Sets an option from text. The exception describes the expected value.
    fn set(&mut self, name: &str, text: &str) -> PyResult<()> {
        set(&mut self.options, &WRITE_ROWS, name, text)
    }

    /// The value of an option as text.
    fn get(&self, name: &str) -> Option<String> {
        WRITE_ROWS.iter().find(|row| row.is_named(name)).and_then(|row| self.options.value(row))
    }
}

/// A column of a file, by index or name.
#[derive(FromPyObject)]
enum ColumnKey {
    Index(usize),
    Name(String),
}

/// numpy names of column types: one for all columns, or one per column.
#[derive(FromPyObject)]
enum Types {
    All(String),
    Each(Vec<Option<String>>),
}

/// Sets an option that is among `rows`.
fn set(options: &mut impl OptionGroup, rows: &[OptionRow], name: &str, text: &str) -> PyResult<()> {
    let row = rows.iter().find(|row| row.is_named(name));
    let result = row.and_then(|row| options.set_value(row, text)).unwrap_or_else(|| {
        let error = SetError { name: name.into(), text: text.into(), reason: None };
        Err(error.to_string())
    });
    result.map_err(PyValueError::new_err)
}

/// Creates a throttle of `rate` bytes per second and `latency` seconds, if either is given.
fn throttle(rate: Option<u64>, latency: Option<f64>) -> Option<Throttle> {
    let is_asked_for = rate.is_some() || latency.is_some();
    let latency = latency.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    is_asked_for.then(|| Throttle::new(rate, latency.unwrap_or_default()))
}

/// The numpy names of scalar types.
const SCALARS: [(Scalar, &str); 10] = [
    (Scalar::I8, "i1"),
    (Scalar::U8, "u1"),
    (Scalar::I16, "i2"),
    (Scalar::U16, "u2"),
    (Scalar::I32, "i4"),
    (Scalar::U32, "u4"),
    (Scalar::I64, "i8"),
    (Scalar::U64, "u8"),
    (Scalar::F32, "f4"),
    (Scalar::F64, "f8"),
];

/// The scalar type with this numpy name.
fn scalar(name: &str) -> PyResult<Scalar> {
    let row = SCALARS.iter().find(|(_, scalar_name)| *scalar_name == name);
    row.map(|(scalar, _)| *scalar).ok_or_else(|| PyValueError::new_err(format!("unknown type {name:?}")))
}

/// The numpy name of a scalar type.
pub(crate) fn scalar_name(scalar: Scalar) -> &'static str {
    SCALARS.iter().find(|(other, _)| *other == scalar).map_or("", |(_, name)| name)
}

/// Parses the name of an axis.
pub(crate) fn axis(name: &str) -> PyResult<Axis> {
    Axis::parse(name).map_err(PyValueError::new_err)
}

/// The Blender name of an axis, such as `NEGATIVE_X`.
pub(crate) fn axis_name(axis: Axis) -> String {
    axis.print().replace('-', "NEGATIVE_")
}
