//! Runs work on a thread of its own while the caller's thread waits for it and serves it.
//!
//! The caller's thread does all that needs Python: it calls back what the work asks for ([`Caller`]),
//! reports progress, and looks for signals, at least every [`STEP`]. The work's thread never attaches
//! to Python, so it cannot hang on the interpreter or outlive it. An exception, from wherever, cancels
//! the work and comes out when the work has cleaned up. Work that hangs in the system (a pipe that
//! nobody fills) is left behind after [`PATIENCE`], unless it holds a file that it must put in order.

use crate::{errors, profile};
use polyhaul::options::{Cancel, Progress, RunOptions};
use polyhaul::trace::Trace;
use polyhaul::{Error, Result};
use pyo3::prelude::*;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often signals are looked for, and progress is reported.
const STEP: Duration = Duration::from_millis(50);

/// How long cancelled work that holds no file may go on before it is left behind.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the work asks the caller's thread to do.
type Task = Box<dyn FnOnce(Python<'_>) -> PyResult<()> + Send>;

/// How work reaches the thread that waits for it.
#[derive(Clone)]
pub(crate) struct Caller(Sender<Task>);

impl Caller {
    /// Calls `task` on the caller's thread. An error means that it raised, or that the caller left:
    /// the exception comes out of [`run`], whatever the work makes of the error.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> io::Result<T> {
        let (reply, answer) = mpsc::sync_channel(1);
        let stopped = || io::Error::other("the caller stopped");
        let task = move |py: Python<'_>| {
            // Nobody listens only where the work has ended meanwhile.
            let _ = reply.send(task(py)?);
            Ok(())
        };
        self.0.send(Box::new(task)).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())
    }
}

/// What work needs to know of its job.
#[derive(Clone)]
pub(crate) struct Job {
    /// Asks the caller's thread.
    pub(crate) caller: Caller,
    cancel: Cancel,
    meter: Arc<Meter>,
    holds: Arc<AtomicBool>,
    /// Records it, where there is a profile.
    trace: Option<Trace>,
}

impl Job {
    /// Makes the library's options obey this job.
    pub(crate) fn rule(&self, options: &mut RunOptions) {
        options.cancel = self.cancel.clone();
        options.trace = self.trace.clone();
        let meter = self.meter.clone();
        options.progress = Some(Progress(Arc::new(move |done, total| meter.set(done, total))));
    }

    /// Whether a stop was asked for.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Says that all is done: `bytes` of them, where no total was known.
    pub(crate) fn complete(&self, bytes: u64) {
        let total = Meter::known(&self.meter.total).unwrap_or(bytes);
        self.meter.set(total, Some(total));
    }

    /// Says that files are in flight from now on, so that the work must be waited for; an error
    /// where the job was cancelled first.
    pub(crate) fn hold(&self) -> Result<()> {
        self.holds.store(true, Ordering::Relaxed);
        // Set first and look then; the caller does it the other way round.
        fence(Ordering::SeqCst);
        if self.cancel.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }
}

/// Runs `work` and returns what it returns; `progress` is called with the bytes done, and in all
/// where that is known, at most every [`STEP`] and once at the end.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Job) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, tasks) = mpsc::channel();
    let (cancel, meter, holds) = (Cancel::default(), Arc::default(), Arc::default());
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

/// Runs `work` on so many threads at once, of which this one is one.
pub(crate) fn side_by_side(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        // Without one more thread it takes longer.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, &work).ok()).collect();
        work();
        // Joined, not let go: `pthread_detach` of glibc may look into memory that an ended thread freed.
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
    /// Serves until the work has ended, or is to be left behind.
    fn serve(&mut self, py: Python<'_>) {
        loop {
            let tasks = &mut self.tasks;
            let result = match py.detach(move || tasks.recv_timeout(STEP)) {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => Ok(()),
                // After an exception nothing is called any more: a dropped task is an error to the work.
                Ok(_) if self.failure.is_some() => Ok(()),
                Ok(task) => task(py),
            };
            match &self.failure {
                Some((_, since)) if since.elapsed() > PATIENCE && !self.holds.load(Ordering::Relaxed) => return,
                Some(_) => {}
                None => {
                    let result = result.and_then(|()| py.check_signals()).and_then(|()| self.reported.update(py));
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

/// How far the work is; filled by its threads.
struct Meter {
    done: AtomicU64,
    /// [`Meter::UNKNOWN`] where it is not known.
    total: AtomicU64,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter { done: AtomicU64::new(Meter::UNKNOWN), total: AtomicU64::new(Meter::UNKNOWN) }
    }
}

impl Meter {
    const UNKNOWN: u64 = u64::MAX;

    fn set(&self, done: u64, total: Option<u64>) {
        self.total.store(total.unwrap_or(Meter::UNKNOWN), Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// What was set last; `None` where nothing was.
    fn get(&self) -> Option<(u64, Option<u64>)> {
        Some((Meter::known(&self.done)?, Meter::known(&self.total)))
    }

    fn known(value: &AtomicU64) -> Option<u64> {
        Some(value.load(Ordering::Relaxed)).filter(|&value| value != Meter::UNKNOWN)
    }
}

/// The progress that the callback knows of.
struct Reported<'py> {
    callback: Option<Bound<'py, PyAny>>,
    meter: Arc<Meter>,
    last: Option<(u64, Option<u64>)>,
    /// Not called again before.
    next: Instant,
}

impl Reported<'_> {
    /// Reports progress where there is any and it is time.
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
