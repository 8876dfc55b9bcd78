//! Converts errors of the library to exceptions. The classes are in `surfaces/python/polyhaul/_errors.py`.

use crate::hint::with_keywords;
use polyhaul::Error;
use polyhaul::error::Diagnostic;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::error::Error as _;
use std::io;

/// The exception for an error of the library.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let cause = error.io_error().map(system_error);
    make(py, error.kind().name(), error.diagnostic(), cause)
}

/// The exception for a bug in polyhaul.
pub(crate) fn internal(py: Python<'_>, message: &str) -> PyErr {
    make(py, "internal", &Diagnostic::new(message), None)
}

/// The exception for a callback that violates its contract.
pub(crate) fn host(py: Python<'_>, message: &str) -> PyErr {
    make(py, "host", &Diagnostic::new(message), None)
}

/// The system's error number, if any, and the name of the error kind.
fn system_error(error: &io::Error) -> (Option<i32>, String) {
    let mut number = error.raw_os_error();
    let mut cause = error.source();
    while number.is_none()
        && let Some(inner) = cause
    {
        number = inner.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        cause = inner.source();
    }
    (number, format!("{:?}", error.kind()))
}

/// Converts a diagnostic to a dict with Python's field names.
pub(crate) fn describe<'py>(py: Python<'py>, diagnostic: &Diagnostic) -> PyResult<Bound<'py, PyDict>> {
    let place = &diagnostic.place;
    let path = Some(&*place.file).filter(|file| !file.is_empty());
    let excerpt = diagnostic.excerpt.as_ref().map(|excerpt| {
        // Python counts characters, Rust counts bytes.
        let characters = |end: usize| excerpt.text.get(..end).map_or(0, |text| text.chars().count());
        (&excerpt.text, characters(excerpt.marked.start), characters(excerpt.marked.end))
    });
    let fields = PyDict::new(py);
    fields.set_item("message", &diagnostic.message)?;
    fields.set_item("path", path)?;
    fields.set_item("line", place.line)?;
    fields.set_item("column", place.column)?;
    fields.set_item("offset", place.offset)?;
    fields.set_item("expected", &diagnostic.expected)?;
    fields.set_item("hint", diagnostic.hint.as_deref().map(with_keywords))?;
    fields.set_item("excerpt", excerpt)?;
    Ok(fields)
}

fn make(py: Python<'_>, kind: &str, diagnostic: &Diagnostic, cause: Option<(Option<i32>, String)>) -> PyErr {
    let exception = || -> PyResult<PyErr> {
        let fields = describe(py, diagnostic)?;
        let make = py.import("polyhaul._errors")?.getattr("make")?;
        Ok(PyErr::from_value(make.call((kind, cause), Some(&fields))?))
    };
    exception().unwrap_or_else(|error| {
        let text = PyRuntimeError::new_err(diagnostic.to_string());
        text.set_cause(py, Some(error));
        text
    })
}
