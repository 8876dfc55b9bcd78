//! How a job runs: threads, memory, cancellation, progress.

use polyhaul_bytes::{Sink, Source, Throttle};
use polyhaul_model::limits::{FaultPolicy, Limits};
use polyhaul_trace::{self as trace, Trace};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The options that the reader of every format takes, and `own`: those of its own format.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions<O = ()> {
    /// Threads, memory, cancellation, progress.
    pub run: RunOptions,
    /// What the data may ask for.
    pub limits: Limits,
    /// What to do with faults in the data.
    pub faults: FaultPolicy,
    /// Options of the format alone.
    pub own: O,
}

impl ParseOptions {
    /// The same with the options of a format.
    pub fn with<O>(self, own: O) -> ParseOptions<O> {
        ParseOptions { run: self.run, limits: self.limits, faults: self.faults, own }
    }
}

impl<O> ParseOptions<O> {
    /// Whether a broken statement ends the reading.
    pub fn raises(&self) -> bool {
        self.faults.raises()
    }
}

polyhaul_model::options! {
    /// How to run: shared by reading and writing.
    #[derive(Clone, Debug)]
    pub struct RunOptions {
        /// Worker threads; all cores that the process may use when `None`.
        pub threads: Option<usize> = None, with_threads;
        /// Memory for work in flight, in bytes (default 64 MiB). The model's arrays come on top. A compressed input
        /// that needs a window of more than this is refused.
        pub memory_limit: u64 = 64 << 20, with_memory_limit;
        /// About how many bytes of text a chunk has; chosen by measurement when `None`. No result depends
        /// on it. Of compressed files with many members each member is a chunk.
        pub chunk_bytes: Option<usize> = None, with_chunk_bytes;
        /// Ask for a stop.
        pub cancel: Cancel = Cancel::default(), with_cancel;
        /// Called now and then from a worker thread. Of a compressed input it counts compressed bytes.
        pub progress: Option<Progress> = None, with_progress;
        /// Who runs the workers of reading, writing and converting; threads of our own, started for the job, when
        /// `None`.
        pub pool: Option<ThreadPool> = None, with_pool;
        /// Records what the job did when, if somebody asks (nobody). Of a conversion it is that of the options for
        /// reading.
        pub trace: Option<Trace> = None, with_trace;
        /// Read as from a slower device: everything that is opened shares this rate, files that a scene names included.
        /// Of what is compressed that is the rate of the compressed bytes. No result depends on it, and a job that is
        /// cancelled is not held up by it.
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
        /// Write as to a slower device, likewise.
        pub write_throttle: Option<Throttle> = None, with_write_throttle;
    }
}

/// A flag that stops a job: clone it, keep one, call [`Cancel::cancel`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// A progress callback: bytes done, and bytes in all where that is known.
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(u64, Option<u64>) + Send + Sync>);

impl Progress {
    /// Tells the caller, in time that is its own.
    pub fn tell(&self, done: u64, all: Option<u64>) {
        let _span = trace::callback();
        (self.0)(done, all);
    }
}

/// The caller's own threads: called with a count and a task, it runs the task for every index below the count, in any
/// order, side by side or one after another, and returns when all are done. Nothing depends on how many of them run at
/// once; a task must not be left waiting for one behind it.
///
/// A task that the pool leaves out is done by whoever called it, and its panics come out there.
///
/// ```
/// use polyhaul_pipeline::crew::within;
/// use polyhaul_pipeline::options::{RunOptions, ThreadPool};
/// use polyhaul_pipeline::parallel::for_each_item;
/// use std::sync::Arc;
///
/// let alone = ThreadPool(Arc::new(|count, task| (0..count).for_each(task)));
/// let run = RunOptions::default().with_threads(Some(4)).with_pool(Some(alone));
/// let mut values = [1, 2, 3];
/// within(&run, || for_each_item(4, values.iter_mut(), || (), |(), value| *value *= 2));
/// assert_eq!(values, [2, 4, 6]);
/// ```
#[derive(Clone)]
pub struct ThreadPool(pub Arc<RunTasks>);

/// What a [`ThreadPool`] is called with: a count, and a task that takes an index.
pub type RunTasks = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync;

impl RunOptions {
    /// The threads to use: what was asked for, or as many as the process may run side by side
    /// (which respects CPU affinity and, on Linux, control groups). From 1 to 1024.
    pub fn worker_threads(&self) -> usize {
        // Asked once: on Linux the system's answer takes reading several files, and scenes of
        // thousands of meshes would ask for each of them.
        static AVAILABLE: OnceLock<usize> = OnceLock::new();
        let available = || *AVAILABLE.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
        self.threads.unwrap_or_else(available).clamp(1, 1024)
    }

    /// What was opened for reading, as fast as it may be read.
    pub fn paced_source<'a>(&self, source: Source<'a>) -> Source<'a> {
        match &self.read_throttle {
            Some(throttle) => source.throttled(&throttle.until(self.cancel.flag())),
            None => source,
        }
    }

    /// What was opened for writing, as fast as it may be written.
    pub fn paced_sink<'a>(&self, sink: Sink<'a>) -> Sink<'a> {
        match &self.write_throttle {
            Some(throttle) => sink.throttled(&throttle.until(self.cancel.flag())),
            None => sink,
        }
    }
}

impl Cancel {
    /// Ask for a stop; it takes effect at the next chunk.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for signal handlers.
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
