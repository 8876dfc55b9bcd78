//! Gathers rows from several columns by index, in parallel. numpy gathers the columns sequentially, on one thread.

use crate::arrays::{Held, Room, Row};
use crate::job::{self, Job};
use polyhaul::options::RunOptions;
use polyhaul::{Error, ErrorKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of rows to gather at a time, small enough that their indices stay in the cache from column to column.
const BLOCK_ROWS: usize = 1 << 13;

/// Fills each output with the rows of its column that `rows` selects. Columns may contain numbers of any type, passed
/// as unsigned integers of the same size.
#[pyfunction]
pub(crate) fn gather(py: Python<'_>, columns: Vec<Lane>, rows: Held<i64>, threads: Option<usize>) -> PyResult<()> {
    if columns.iter().any(|column| column.0.room_count() != rows.as_ref().len()) {
        return Err(PyValueError::new_err("a column has fewer elements than rows"));
    }
    let threads = RunOptions::default().with_threads(threads).worker_threads();
    job::run(py, None, move |job| match gather_all(&columns, rows.as_ref(), threads, job) {
        true => Ok(()),
        false if job.is_cancelled() => Err(Error::cancelled()),
        false => Err(Error::new(ErrorKind::Usage, "a row index is out of range")),
    })
}

/// A column, and the output for its rows.
pub(crate) struct Lane(Box<dyn Pick + Send + Sync>);

trait Pick {
    /// The number of rows that fit in the output.
    fn room_count(&self) -> usize;

    /// Gathers `rows` into the output, starting at `start`. Returns `false` if an index is out of range.
    ///
    /// # Safety
    /// Nothing else accesses these output rows meanwhile.
    unsafe fn pick(&self, rows: &[i64], start: usize) -> bool;
}

impl<T: Row> Pick for (Held<T>, Room<T>) {
    fn room_count(&self) -> usize {
        self.1.len()
    }

    unsafe fn pick(&self, rows: &[i64], start: usize) -> bool {
        let values = self.0.as_ref();
        // SAFETY: the caller ensures exclusive access.
        let Some(out) = (unsafe { self.1.part(start, rows.len()) }) else { return false };
        for (slot, &row) in out.iter_mut().zip(rows) {
            // As `usize`, a negative index is out of range.
            let Some(value) = values.get(row as usize) else { return false };
            *slot = *value;
        }
        true
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Lane {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        fn lane<T: Row>(column: &Bound<'_, PyAny>, room: &Bound<'_, PyAny>) -> Option<Lane> {
            Some(Lane(Box::new((Held::<T>::get(column)?, Room::<T>::get(room)?))))
        }
        let (column, room) = object.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let column = &column;
        let room = &room;
        lane::<u32>(column, room)
            .or_else(|| lane::<u64>(column, room))
            .or_else(|| lane::<u8>(column, room))
            .or_else(|| lane::<u16>(column, room))
            .ok_or_else(|| PyValueError::new_err("the type or layout of a column does not match"))
    }
}

/// Fills all outputs block by block on up to `threads` threads. Returns `false` if an index is out of range or the job
/// was cancelled.
fn gather_all(columns: &[Lane], rows: &[i64], threads: usize, job: &Job) -> bool {
    let next = AtomicUsize::new(0);
    let is_fine = AtomicBool::new(true);
    let work = || {
        loop {
            let start = next.fetch_add(BLOCK_ROWS, Ordering::Relaxed);
            let Some(rows) = rows.get(start..).filter(|rows| !rows.is_empty()) else { return };
            let rows = rows.get(..BLOCK_ROWS).unwrap_or(rows);
            // SAFETY: `next` returns each start once, so blocks do not overlap.
            if job.is_cancelled() || !columns.iter().all(|column| unsafe { column.0.pick(rows, start) }) {
                is_fine.store(false, Ordering::Relaxed);
                return;
            }
        }
    };
    job::side_by_side(threads.min(rows.len().div_ceil(BLOCK_ROWS)), work);
    is_fine.into_inner()
}
