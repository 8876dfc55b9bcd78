//! Runs work on a separate thread while the caller's thread waits for it and serves it.
//!
//! The caller's thread does everything that needs Python: it makes the calls requested by the work ([`Caller`]),
//! reports progress, and checks for signals, at least every [`STEP`]. The work's thread never attaches to Python, so it
//! cannot hang on the interpreter or outlive it. An exception, wherever it comes from, cancels the work and is raised
//! after the work has cleaned up. Work that hangs in the system (a pipe that nobody fills) is abandoned after
//! [`PATIENCE`], unless it holds a file that it must finish.

use crate::{errors, profile};
use polyhaul::Result;
use polyhaul::options::{Cancel, Progress, RunOptions};
use polyhaul::trace::Trace;
use polyhaul_fault::planted;
use pyo3::prelude::*;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The interval of checking for signals and reporting progress.
const STEP: Duration = Duration::from_millis(50);

/// How long cancelled work without open files may continue before it is abandoned.
const PATIENCE: Duration = Duration::from_millis(100);

/// A request of the work to the caller's thread.
type Task = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// The channel to the thread that waits for the work.
#[derive(Clone)]
pub(crate) struct Caller(Sender<Task>);

impl Caller {
    /// Calls `task` on the caller's thread. An error means that it raised, or that the caller left: the exception is
    /// raised by [`run`], whatever the work does with the error.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> io::Result<T> {
        let (reply, answer) = mpsc::sync_channel(1);
        let stopped = || io::Error::other("the caller stopped");
        let task = move |py: Python<'_>| {
            // There is a listener unless the work has ended meanwhile.
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
    /// Asks the caller's thread.
    pub(crate) caller: Caller,
    cancel: Cancel,
    meter: Arc<Meter>,
    holds: Arc<AtomicBool>,
    /// Records it, if there is a profile.
    trace: Option<Trace>,
}

impl Job {
    /// Makes the library's options obey this job.
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

    /// Reports completion: `bytes` of them, if no total was known.
    pub(crate) fn complete(&self, bytes: u64) {
        let total = Meter::known(&self.meter.total).unwrap_or(bytes);
        self.meter.set(total, Some(total));
    }

    /// Declares that files are open from now on, so that the work must be waited for; an error if the job was cancelled
    /// first.
    pub(crate) fn hold(&self) -> Result<()> {
        self.holds.store(true, Ordering::Relaxed);
        // Set first, then check; the caller does it in the opposite order.
        fence(Ordering::SeqCst);
        self.cancel.check()
    }
}

/// Runs `work` and returns its result; `progress` is called with the bytes done, and the total if known, at most every
/// [`STEP`] and once at the end.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Job) -> Result<T> + Send + 'static,
) -> PyResult<T> {
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

/// Runs `work` on this many threads, including this one.
pub(crate) fn side_by_side(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        // Without one more thread it takes longer.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, &work).ok()).collect();
        work();
        // Joined, not detached: glibc's `pthread_detach` may access memory that an ended thread freed.
        others.into_iter().for_each(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
}

/// The caller's side of a job.
struct Waiting<'py> {
    tasks: Receiver<Task>,
    cancel: Cancel,
    holds: Arc<AtomicBool>,
    reported: Reported<'py>,
    /// The first exception, and when it came.
    failure: Option<(PyErr, Instant)>,
}

impl Waiting<'_> {
    /// Serves until the work has ended, or should be abandoned.
    fn serve(&mut self, py: Python<'_>) {
        loop {
            let tasks = &mut self.tasks;
            let result = match py.detach(move || tasks.recv_timeout(STEP)) {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => Ok(()),
                // After an exception nothing is called any more: a dropped task is an error for the work.
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

    /// Keeps an exception, and cancels the work.
    fn note(&mut self, result: PyResult<()>) {
        if let Err(error) = result {
            self.failure = Some((error, Instant::now()));
            self.cancel.cancel();
            fence(Ordering::SeqCst);
        }
    }

    /// The result of the work, unless an exception came first.
    fn finish<T: Send>(mut self, py: Python<'_>, worker: JoinHandle<Result<T>>) -> PyResult<T> {
        if let Some((error, _)) = self.failure {
            if planted("python-exception") {
                return Err(errors::internal(py, "a callback failed"));
            }
            return Err(error);
        }
        // The thread may be about to release buffers, for which it needs the interpreter.
        let result = py.detach(|| worker.join());
        match result {
            Ok(Ok(value)) => self.reported.finish().map(|()| value),
            Ok(Err(error)) => Err(errors::exception(py, &error)),
            Err(_) => Err(errors::internal(py, "the job panicked; standard error has the message")),
        }
    }
}

/// The progress of the work; updated by its threads.
struct Meter {
    finished: AtomicU64,
    /// [`Meter::UNKNOWN`] if it is not known.
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

    /// The latest values; `None` if there are none.
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
    /// Not called again before.
    next: Instant,
}

impl Reported<'_> {
    /// Reports progress if there is any and it is due.
    fn update(&mut self, _: Python<'_>) -> PyResult<()> {
        if self.callback.is_none() || Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + STEP;
        self.finish()
    }

    /// Reports what was not reported yet.
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
