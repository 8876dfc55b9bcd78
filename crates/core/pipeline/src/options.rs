//! Options for running a job: threads, memory, cancellation, progress.

use crate::machine;
use crate::precision::PrecisionPass;
use polyhaul_bytes::{Sink, Source, Throttle};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::limits::{FaultPolicy, Limits};
use polyhaul_trace::{self as trace, Trace};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The options of every format's reader. `own` contains the options of one format.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions<O = ()> {
    /// Threads, memory, cancellation, progress.
    pub run: RunOptions,
    /// Resource limits.
    pub limits: Limits,
    /// Handling of faults in the data.
    pub faults: FaultPolicy,
    /// The precision of coordinates.
    pub precision: PrecisionPass,
    /// If the format supports it, reads only the first rows of an image, about this many pixels in total, which is
    /// enough for an average color.
    pub first_pixels: Option<u64>,
    /// Options of the format.
    pub own: O,
}

impl ParseOptions {
    /// Adds the options of a format.
    pub fn with<O>(self, format: O) -> ParseOptions<O> {
        let ParseOptions { run, limits, faults, precision, first_pixels, own: () } = self;
        ParseOptions { run, limits, faults, precision, first_pixels, own: format }
    }
}

impl<O> ParseOptions<O> {
    /// Returns whether an invalid statement stops reading.
    pub fn raises(&self) -> bool {
        self.faults.raises()
    }
}

polyhaul_model::options! {
    /// Options for running a job, shared by reading and writing.
    #[derive(Clone, Debug)]
    pub struct RunOptions {
        /// Worker threads; if absent, one for each core that the process may use. On Linux, unless this is 1, an
        /// additional thread prefetches large files that are not in the page cache.
        pub threads: Option<usize> = None, with_threads => [] in 1..=1024;
        /// Memory for work in flight, in bytes (default 64 MiB). The arrays of the model are not included. Compressed
        /// inputs that need a larger window are rejected.
        pub memory_limit: u64 = 64 << 20, with_memory_limit => [] in 1..=(u64::MAX as i128);
        /// Memory of a whole conversion, in bytes: data that does not fit is spilled to temporary files beside the
        /// output. By default, nothing is spilled. It takes effect on Linux, in programs whose global allocator is
        /// `polyhaul_spill::SpillAllocator`, as in the command and the Python package. For a conversion, set it in the
        /// options for reading.
        pub total_memory: Option<u64> = None, with_total_memory;
        /// Folder for the temporary files of a conversion in limited memory (default: the folder of the output, or the
        /// system's temporary folder if the output is not a file).
        pub spill_folder: Option<String> = None, with_spill_folder => [];
        /// Approximate bytes of text per chunk; if `None`, a measured default. It does not affect results. In
        /// compressed files with many members, each member is a chunk.
        pub chunk_bytes: Option<usize> = None, with_chunk_bytes;
        /// Stops the job on request.
        pub cancel: Cancel = Cancel::default(), with_cancel;
        /// Called from time to time on a worker thread. For compressed input, it receives the number of compressed
        /// bytes.
        pub progress: Option<Progress> = None, with_progress;
        /// The pool that runs the workers of reading, writing and converting; if `None`, the job starts its own
        /// threads.
        pub pool: Option<ThreadPool> = None, with_pool;
        /// Records a timeline of the job; by default none. For a conversion, set it in the options for reading.
        pub trace: Option<Trace> = None, with_trace;
        /// Simulates a slower device for reading: all files of the job share this rate, including those that a scene
        /// refers to. For compressed files it limits compressed bytes. It does not affect results or delay
        /// cancellation.
        ///
        /// ```
        /// use polyhaul_bytes::{Source, Throttle};
        /// use polyhaul_pipeline::options::RunOptions;
        /// use std::time::{Duration, Instant};
        ///
        /// let slow = Throttle::new(Some(10_000_000), Duration::from_micros(100));
        /// let run = RunOptions::default().with_read_throttle(Some(slow));
        /// let source = run.paced_source(Source::memory(vec![b' '; 80_000]));
        /// let start = Instant::now();
        /// source.read_at(0, &mut [0; 80_000])?;
        /// assert!(start.elapsed() >= Duration::from_millis(8));
        /// # Ok::<(), std::io::Error>(())
        /// ```
        pub read_throttle: Option<Throttle> = None, with_read_throttle;
        /// Simulates a slower device for writing; see [`RunOptions::read_throttle`].
        pub write_throttle: Option<Throttle> = None, with_write_throttle;
    }
}

/// A flag that stops a job. To stop a job, keep a clone of its flag, and call [`Cancel::cancel`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// A progress callback, called with the bytes done and the total, if known.
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(u64, Option<u64>) + Send + Sync>);

impl Progress {
    /// Calls the function, and attributes its time to the host in traces.
    pub fn report(&self, bytes: u64, total: Option<u64>) {
        let _span = trace::callback();
        (self.0)(bytes, total);
    }
}

/// Reports the progress of one job every few megabytes.
#[derive(Debug, Default)]
pub struct ProgressSteps {
    reported: u64,
}

impl ProgressSteps {
    const STEP_BYTES: u64 = 4 << 20;

    /// Reports `bytes` of `total`, unless less than a step was done since the last report.
    pub fn report(&mut self, run: &RunOptions, bytes: u64, total: Option<u64>) {
        if let Some(progress) = &run.progress
            && bytes >= self.reported + Self::STEP_BYTES
        {
            self.reported = bytes;
            progress.report(bytes, total);
        }
    }
}

/// The caller's thread pool. Called with a count and a task, it runs the task for every index below the count, in any
/// order, in parallel or sequentially, and returns when all tasks are done. It may run any number of tasks at a time,
/// but must not make a task wait for a later task.
///
/// Tasks that the pool does not run are run on the calling thread, which also resumes the panics of tasks.
///
/// ```
/// use polyhaul_pipeline::crew::within;
/// use polyhaul_pipeline::options::{RunOptions, ThreadPool};
/// use polyhaul_pipeline::parallel::for_each_item;
/// use std::sync::Arc;
///
/// let sequential = ThreadPool(Arc::new(|count, task| (0..count).for_each(task)));
/// let run = RunOptions::default().with_threads(Some(4)).with_pool(Some(sequential));
/// let mut values = [1, 2, 3];
/// within(&run, || for_each_item(4, values.iter_mut(), || (), |(), value| *value *= 2));
/// assert_eq!(values, [2, 4, 6]);
/// ```
#[derive(Clone)]
pub struct ThreadPool(pub Arc<RunTasks>);

/// The type of a [`ThreadPool`]'s function: it receives a count, and a task that takes an index.
pub type RunTasks = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync;

impl RunOptions {
    /// Returns the number of threads to use: the requested number or [`machine::cores`], from 1 to 1024.
    pub fn worker_threads(&self) -> usize {
        self.threads.unwrap_or_else(machine::cores).clamp(1, 1024)
    }

    /// Applies the read throttle to an opened source.
    pub fn paced_source<'a>(&self, source: Source<'a>) -> Source<'a> {
        match &self.read_throttle {
            Some(throttle) => source.throttled(&throttle.until(self.cancel.flag())),
            None => source,
        }
    }

    /// Applies the write throttle to an opened sink.
    pub fn paced_sink<'a>(&self, sink: Sink<'a>) -> Sink<'a> {
        match &self.write_throttle {
            Some(throttle) => sink.throttled(&throttle.until(self.cancel.flag())),
            None => sink,
        }
    }
}

impl Cancel {
    /// Requests cancellation, which takes effect at the next chunk.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether cancellation was requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails with [`ErrorKind::Cancelled`](polyhaul_model::error::ErrorKind::Cancelled) if cancellation was requested.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Returns the flag itself, for signal handlers.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl std::fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ThreadPool")
    }
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}
