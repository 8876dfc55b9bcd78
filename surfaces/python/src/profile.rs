//! Records jobs for Python: the native half of `surfaces/python/polyhaul/_profile.py`, which has the public classes.
//!
//! While recording, a profile is a trace of the library and the sum of its jobs' reports. After its end, it is a
//! recording and a verdict, which never change. The current profile is a variable of Python's context, which is looked
//! up on the thread that starts a job ([`trace`], [`note`]). No jobs are run here.

use crate::errors;
use polyhaul::report::{self, Ceilings, Document, Heading, Sampler, Verdict};
use polyhaul::trace::{Detail, FileUse, Phase, Recording, Trace};
use polyhaul::warnings::Warnings;
use polyhaul::{Error, Report, measure};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The sampling interval.
const EVERY: Duration = Duration::from_millis(5);

/// Records jobs from its creation until [`NativeProfile::end`].
#[pyclass(frozen, module = "polyhaul._polyhaul")]
pub(crate) struct NativeProfile {
    trace: Trace,
    began_unix_s: Option<u64>,
    /// `None` after the end.
    open: Mutex<Option<Open>>,
    ended: OnceLock<Ended>,
}

/// The state during recording.
struct Open {
    sampler: Option<Sampler>,
    /// The sum of all jobs' reports, without phases and warnings.
    report: Report,
}

/// The results after the end.
struct Ended {
    recording: Recording,
    verdict: Verdict,
    ceilings: Option<Ceilings>,
}

/// A verdict for Python, with the field names of the Python class.
#[derive(IntoPyObject)]
struct VerdictOut<'a> {
    bound: &'static str,
    share: f64,
    seconds: f64,
    bytes_per_second: f64,
    best_possible_seconds: Option<f64>,
    times_off: Option<f64>,
    advice: &'a [String],
    causes: Vec<(&'static str, f64)>,
    line: String,
}

/// The calls on a source or sink, with the field names of the Python class.
#[derive(IntoPyObject)]
struct FileOut<'a> {
    name: &'a str,
    phase: &'static str,
    is_output: bool,
    bytes: u64,
    calls: u64,
    waiting_seconds: f64,
    histogram: Vec<(u64, u64)>,
    callers: Vec<(&'static str, u64)>,
}

#[pymethods]
impl NativeProfile {
    #[new]
    fn new(spans: bool, samples: bool) -> NativeProfile {
        let trace = Trace::new(if spans { Detail::Spans } else { Detail::Totals });
        let sampler = samples.then(|| Sampler::start(&trace, EVERY));
        let began = SystemTime::now().duration_since(UNIX_EPOCH);
        NativeProfile {
            trace,
            began_unix_s: began.ok().map(|since| since.as_secs()),
            open: Mutex::new(Some(Open { sampler, report: Report::default() })),
            ended: OnceLock::new(),
        }
    }

    /// Ends the recording. A second call does nothing.
    fn end(&self, py: Python<'_>) {
        py.detach(|| {
            let Some(Open { sampler, report }) = self.open().take() else { return };
            drop(sampler);
            // Cannot fail: only the first call took the open state.
            let _ = self.ended.set(Ended::from_recording(self.trace.recording(), &report));
        });
    }

    /// Returns the verdict.
    fn verdict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        VerdictOut::from(&self.ended()?.verdict).into_pyobject(py)
    }

    /// The calls on each source and sink, sorted by waiting time in descending order.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        // Omit files that were opened but never read or written.
        let is_used = |file: &&FileUse| file.calls.calls > 0 || file.calls.waiting_ns > 0;
        let mut files: Vec<&FileUse> = self.ended()?.recording.files.iter().filter(is_used).collect();
        files.sort_by_key(|file| Reverse((file.calls.waiting_ns, file.calls.calls)));
        files.into_iter().map(|file| FileOut::from(file).into_pyobject(py)).collect()
    }

    /// The seconds of each phase that occurred, summed over threads, in descending order.
    fn phases(&self) -> PyResult<Vec<(&'static str, f64)>> {
        let totals = self.ended()?.recording.totals();
        let mut phases: Vec<_> = Phase::ALL.into_iter().map(|phase| (phase, totals.total(phase))).collect();
        phases.retain(|(_, ns)| *ns > 0);
        phases.sort_by_key(|(phase, ns)| (Reverse(*ns), *phase));
        Ok(phases.into_iter().map(|(phase, ns)| (phase.name(), seconds(ns))).collect())
    }

    /// Draws the chart as SVG.
    fn picture(&self, py: Python<'_>, title: String) -> PyResult<String> {
        let ended = self.ended()?;
        let heading = self.heading(title);
        let Ended { recording, verdict, ceilings } = ended;
        Ok(py.detach(|| report::svg(recording, &heading, Some(verdict), ceilings.as_ref())))
    }

    /// Writes a document: a `trace`, a `report` or a `chart`.
    fn write(&self, py: Python<'_>, kind: &str, path: PathBuf, title: String) -> PyResult<()> {
        let ended = self.ended()?;
        let heading = self.heading(title);
        let document = match kind {
            "trace" => Document::Trace,
            "report" => Document::Page,
            "chart" => Document::Picture,
            _ => return Err(PyValueError::new_err(format!("unknown kind of profile output {kind:?}"))),
        };
        let Ended { recording, verdict, ceilings } = ended;
        let written = py.detach(|| document.write(&path, recording, &heading, Some(verdict), ceilings.as_ref()));
        let placed = |error| Error::io("write", &path.display().to_string(), error);
        written.map_err(|error| errors::exception(py, &placed(error)))
    }
}

impl NativeProfile {
    fn open(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> PyResult<&Ended> {
        self.ended.get().ok_or_else(|| PyRuntimeError::new_err("the profile is still recording"))
    }

    fn heading(&self, command: String) -> Heading {
        Heading { command, began_unix_s: self.began_unix_s, ..Heading::default() }
    }
}

/// The trace for a job started on this thread, taken from the context's innermost profile unless that has ended.
pub(crate) fn trace(py: Python<'_>) -> PyResult<Option<Trace>> {
    Ok(current(py)?.filter(|profile| profile.get().open().is_some()).map(|profile| profile.get().trace.clone()))
}

/// Adds the report of a job on this thread to the current profile.
pub(crate) fn note(py: Python<'_>, report: &Report) -> PyResult<()> {
    if let Some(profile) = current(py)?
        && let Some(open) = &mut *profile.get().open()
    {
        open.report.extend(Report { warnings: Warnings::default(), phases: Vec::new(), ..report.clone() });
    }
    Ok(())
}

/// The context's innermost profile.
fn current(py: Python<'_>) -> PyResult<Option<Bound<'_, NativeProfile>>> {
    py.import("polyhaul._profile")?.getattr("current")?.call0()?.extract().map_err(PyErr::from)
}

impl Ended {
    fn from_recording(recording: Recording, report: &Report) -> Ended {
        let ceilings = measure::kept_for(&recording);
        let verdict = Verdict::from_recording(&recording, &report.facts(), ceilings.as_ref());
        Ended { recording, verdict, ceilings }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl<'a> From<&'a Verdict> for VerdictOut<'a> {
    fn from(verdict: &'a Verdict) -> Self {
        VerdictOut {
            bound: verdict.bound.name(),
            share: verdict.share,
            seconds: verdict.seconds,
            bytes_per_second: verdict.bytes_per_second,
            best_possible_seconds: verdict.best_possible_seconds,
            times_off: verdict.times_off,
            advice: &verdict.advice,
            causes: verdict.causes.iter().map(|(bound, share)| (bound.name(), *share)).collect(),
            line: verdict.to_string(),
        }
    }
}

impl<'a> From<&'a FileUse> for FileOut<'a> {
    fn from(file: &'a FileUse) -> Self {
        FileOut {
            name: &file.name,
            phase: file.phase.name(),
            is_output: file.is_output,
            bytes: file.calls.bytes,
            calls: file.calls.calls,
            waiting_seconds: seconds(file.calls.waiting_ns),
            histogram: file.calls.histogram().collect(),
            callers: file.callers.iter().map(|(phase, calls)| (phase.name(), *calls)).collect(),
        }
    }
}
