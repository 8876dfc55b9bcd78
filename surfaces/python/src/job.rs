//! Runs work on a separate thread while the calling thread waits and handles everything that needs Python.
//!
//! The calling thread makes the calls that the work requests ([`Caller`]), reports progress, and checks for signals, at
//! least every [`STEP`]. The worker thread never attaches to Python, so it cannot block on the interpreter or outlive
//! it. Any exception cancels the work and is raised after the work has cleaned up. Work that is blocked in the system,
//! such as on a pipe without a writer, is abandoned after [`PATIENCE`], unless it holds a file that it must finish.

use crate::{errors, profile};
use polyhaul::Result;
use polyhaul::options::{Cancel, Progress, RunOptions};
use polyhaul::trace::Trace;
use polyhaul_fault::planted;
use pyo3::prelude::*;
use std::any::Any;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The interval between checks for signals and progress reports.
const STEP: Duration = Duration::from_millis(50);

/// The time that cancelled work has to stop before it is abandoned. Work that holds open files is never abandoned.
const PATIENCE: Duration = Duration::from_millis(100);

/// A call that the work requests from the calling thread.
type Task = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// The channel to the thread that called [`run`].
#[derive(Clone)]
pub(crate) struct Caller(Sender<Task>);

impl Caller {
    /// Calls `task` on the calling thread. Fails if `task` raised an exception or the caller no longer waits; [`run`]
    /// then raises the exception, whatever the work does with the error.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> io::Result<T> {
        let (reply, answer) = mpsc::sync_channel(1);
        let stopped = || io::Error::other("the caller stopped");
        let task = move |py: Python<'_>| {
            // Fails only if the work has ended and dropped the receiver.
            let _ = reply.send(task(py)?);
            Ok(())
        };
        self.0.send(Box::new(task)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())
    }
}

/// The context of a running job.
#[derive(Clone)]
pub(crate) struct Job {
    /// The channel to the calling thread.
    pub(crate) caller: Caller,
    cancel: Cancel,
    meter: Arc<Meter>,
    holds: Arc<AtomicBool>,
    /// The profile's trace, if there is a profile.
    trace: Option<Trace>,
}

impl Job {
    /// Connects the run options to the job's cancel flag, trace and progress.
    pub(crate) fn rule(&self, options: &mut RunOptions) {
        options.cancel = self.cancel.clone();
        options.trace = self.trace.clone();
        let meter = self.meter.clone();
        options.progress = Some(Progress(Arc::new(move |finished, total| meter.set(finished, total))));
    }

    /// Whether a stop was requested.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Reports completion of the known total, or of `bytes` if no total was known.
    pub(crate) fn complete(&self, bytes: u64) {
        let total = Meter::known(&self.meter.total).unwrap_or(bytes);
        self.meter.set(total, Some(total));
    }

    /// Marks files as open, so that the caller waits for the work. Fails if the job was cancelled before.
    pub(crate) fn hold(&self) -> Result<()> {
        self.holds.store(true, Ordering::Relaxed);
        // This thread sets `holds` and then checks for cancellation; the caller cancels and then checks `holds`. So at
        // least one of the two sees the other's store.
        fence(Ordering::SeqCst);
        self.cancel.check()
    }
}

/// Runs `work` and returns its result. Calls `progress` with the finished bytes, and with the total if known, at most
/// every [`STEP`] and once at the end.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Job) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    // Of any type, so that the code that runs and awaits work exists once instead of for each kind of work.
    let work = move |job: &Job| work(job).map(|value| Box::new(value) as JobValue);
    let value = run_boxed(py, progress, Box::new(work))?.downcast::<T>();
    value.map(|value| *value).map_err(|_| errors::internal(py, "a job returned a value of another type"))
}

/// The result of work: a value of any type.
type JobValue = Box<dyn Any + Send>;

/// Work of any kind.
type BoxedWork = Box<dyn FnOnce(&Job) -> Result<JobValue> + Send>;

fn run_boxed(py: Python<'_>, progress: Option<Bound<'_, PyAny>>, work: BoxedWork) -> PyResult<JobValue> {
    let (sender, tasks) = mpsc::channel();
    let cancel = Cancel::default();
    let meter = Arc::default();
    let holds = Arc::default();
    let job = Job { caller: Caller(sender), cancel, meter, holds, trace: profile::trace(py)? };
    let mut waiting = Waiting {
        tasks,
        cancel: job.cancel.clone(),
        holds: job.holds.clone(),
        reported: Reported { callback: progress, meter: job.meter.clone(), last: None, next: Instant::now() + STEP },
        failure: None,
    };
    let worker = thread::Builder::new().name("polyhaul".into()).spawn(move || work(&job))?;
    waiting.serve(py);
    waiting.finish(py, worker)
}

/// Runs `work` on `threads` threads, including the current thread.
pub(crate) fn side_by_side(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        // If a thread cannot be started, the other threads do its share.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, &work).ok()).collect();
        work();
        // Join the threads: glibc's `pthread_detach` may access memory that an ended thread freed.
        others.into_iter().for_each(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}

/// The caller's side of a job.
struct Waiting<'py> {
    tasks: Receiver<Task>,
    cancel: Cancel,
    holds: Arc<AtomicBool>,
    reported: Reported<'py>,
    /// The first exception and its time.
    failure: Option<(PyErr, Instant)>,
}

impl Waiting<'_> {
    /// Serves the work until it has ended or must be abandoned.
    fn serve(&mut self, py: Python<'_>) {
        loop {
            let tasks = &mut self.tasks;
            let result = match py.detach(move || tasks.recv_timeout(STEP)) {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => Ok(()),
                // After an exception, drop tasks instead of calling them, so that `ask` fails in the work.
                Ok(_) if self.failure.is_some() => Ok(()),
                Ok(task) => task(py),
            };
            match &self.failure {
                Some((_, since)) if since.elapsed() > PATIENCE && !self.holds.load(Ordering::Relaxed) => return,
                Some(_) => {}
                None => {
                    let result = result.and_then(|()| py.check_signals());
                    let result = result.and_then(|()| self.reported.update(py));
                    self.note(result);
                }
            }
        }
    }

    /// Stores an exception and cancels the work.
    fn note(&mut self, result: PyResult<()>) {
        if let Err(error) = result {
            self.failure = Some((error, Instant::now()));
            self.cancel.cancel();
            fence(Ordering::SeqCst);
        }
    }

    /// Returns the result of the work, or the exception that came first.
    fn finish(mut self, py: Python<'_>, worker: JoinHandle<Result<JobValue>>) -> PyResult<JobValue> {
        if let Some((error, _)) = self.failure {
            if planted("python-exception") {
                return Err(errors::internal(py, "a callback failed"));
            }
            return Err(error);
        }
        // Detach: the thread may be about to release buffers, for which it needs the interpreter.
        let result = py.detach(|| worker.join());
        match result {
            Ok(Ok(value)) => self.reported.finish().map(|()| value),
            Ok(Err(error)) => Err(errors::exception(py, &error)),
            Err(_) => Err(errors::internal(py, "the job panicked; see the message on standard error")),
        }
    }
}

/// The progress of the work, updated by its threads.
struct Meter {
    finished: AtomicU64,
    /// [`Meter::UNKNOWN`] if unknown.
    total: AtomicU64,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { finished: AtomicU64::new(Meter::UNKNOWN), total: AtomicU64::new(Meter::UNKNOWN) }
    }
}

impl Meter {
    const UNKNOWN: u64 = u64::MAX;

    fn set(&self, finished: u64, total: Option<u64>) {
        self.total.store(total.unwrap_or(Meter::UNKNOWN), Ordering::Relaxed);
        self.finished.store(finished, Ordering::Relaxed);
    }

    /// The latest values, or `None` before the first report.
    fn get(&self) -> Option<(u64, Option<u64>)> {
        Some((Meter::known(&self.finished)?, Meter::known(&self.total)))
    }

    fn known(value: &AtomicU64) -> Option<u64> {
        Some(value.load(Ordering::Relaxed)).filter(|&value| value != Meter::UNKNOWN)
    }
}

/// The progress last passed to the callback.
struct Reported<'py> {
    callback: Option<Bound<'py, PyAny>>,
    meter: Arc<Meter>,
    last: Option<(u64, Option<u64>)>,
    /// The earliest time of the next call.
    next: Instant,
}

impl Reported<'_> {
    /// Calls the callback if it is due and there is new progress.
    fn update(&mut self, _: Python<'_>) -> PyResult<()> {
        if self.callback.is_none() || Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + STEP;
        self.finish()
    }

    /// Calls the callback if there is new progress.
    fn finish(&mut self) -> PyResult<()> {
        let now = self.meter.get();
        match (&self.callback, now) {
            (Some(callback), Some(values)) if now != self.last => {
                self.last = now;
                callback.call1(values).map(drop)
            }
            _ => Ok(()),
        }
    }
}
