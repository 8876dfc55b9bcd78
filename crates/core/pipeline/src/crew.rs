//! The workers: scoped threads or the caller's pool.
//!
//! No other module of the crate starts threads. Threads live for one call; [`super::run`] and [`super::parallel`] use
//! them. A worker must never wait for another worker that has not started, because a pool may run its tasks
//! sequentially.

use crate::options::{RunOptions, ThreadPool};
use crate::sync::{Mutex, ScopedJoinHandle, scope, spawn};
use polyhaul_trace::{self as trace, Phase};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

thread_local! {
    /// The pool of the job that this thread works on.
    static POOL: RefCell<Option<ThreadPool>> = const { RefCell::new(None) };
}

/// Runs a job with the pool and the trace of its options.
pub fn within<T>(options: &RunOptions, job: impl FnOnce() -> T) -> T {
    trace::within(options.trace.as_ref(), options.worker_threads(), || with_pool(&options.pool, job))
}

/// Runs a job on `pool`; `None` means new threads.
fn with_pool<T>(pool: &Option<ThreadPool>, job: impl FnOnce() -> T) -> T {
    struct RestorePool(Option<ThreadPool>);
    impl Drop for RestorePool {
        fn drop(&mut self) {
            POOL.set(self.0.take());
        }
    }
    let _restore = RestorePool(POOL.replace(pool.clone()));
    job()
}

/// Whether this build has threads. WebAssembly without shared memory has none, and leaves out the code that starts
/// them.
pub(crate) const HAS_THREADS: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));

/// Runs `work` on `threads` threads including this one, or on fewer if the system refuses to start some. With a pool,
/// `work` runs as often as the pool calls it, up to `threads` times and possibly sequentially, and once more at the
/// end.
pub fn on_threads(threads: usize, work: impl Fn() + Sync) {
    if threads <= 1 || !HAS_THREADS {
        return work();
    }
    on_many_threads(threads, &work);
}

/// Same as [`on_threads`], but compiled once: as a generic function, it and its callees made up three tenths of the
/// LLVM code of `polyhaul-geometry` (352,000 lines became 245,000, by `cargo llvm-lines`).
fn on_many_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    let joint = trace::joint();
    let work = || match &joint {
        Some(joint) => joint.join(work),
        None => work(),
    };
    // A thread without work waits for the other threads.
    let _wait = trace::span(Phase::WaitEnd);
    match POOL.with_borrow(Clone::clone) {
        Some(pool) => on_pool(&pool, threads, &work),
        None => on_own(threads, &work),
    }
}

fn on_own(threads: usize, work: &(dyn Fn() + Sync)) {
    // Joins the threads instead of detaching them: glibc 2.36's `pthread_detach` reads the memory of a thread that may
    // already have ended and freed it, which crashed a test run.
    scope(|scope| {
        let mut others = Vec::new();
        let has_room = others.try_reserve_exact(threads - 1).is_ok();
        for _ in (1..threads).take_while(|_| has_room) {
            match spawn(scope, Box::new(work)) {
                Some(other) => others.push(other),
                None => break,
            }
        }
        work();
        let panics = others.into_iter().filter_map(|other| other.join().err());
        if let Some(panic) = panics.reduce(|first, _| first) {
            resume_unwind(panic);
        }
    });
}

/// Runs `job`, and `helper` in parallel on another thread. Skips `helper` if the job uses a caller's pool or the system
/// refuses a thread. `helper` must end once the job has ended, even if it panicked.
pub(crate) fn beside<T>(helper: impl FnOnce() + Send, job: impl FnOnce() -> T) -> T {
    struct JoinOnDrop<'s>(Option<ScopedJoinHandle<'s, ()>>);
    impl Drop for JoinOnDrop<'_> {
        fn drop(&mut self) {
            let _ = self.0.take().map(ScopedJoinHandle::join);
        }
    }
    if !HAS_THREADS || POOL.with_borrow(Option::is_some) {
        return job();
    }
    scope(|scope| {
        let _joined = JoinOnDrop(spawn(scope, Box::new(helper)));
        job()
    })
}

/// Runs `count` tasks on a pool. Panics do not reach the pool: the first panic is resumed here. Runs `work` once more
/// at the end for tasks that the pool skipped; if nothing is left to do, that call returns at once.
fn on_pool(pool: &ThreadPool, count: usize, work: &(dyn Fn() + Sync)) {
    let panicked: Mutex<Option<Box<dyn Any + Send>>> = Mutex::new(None);
    let task = |_: usize| {
        // Nested parallel loops use the same pool.
        let inside = || with_pool(&Some(pool.clone()), work);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(inside)) {
            panicked.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    };
    (pool.0)(count, &task);
    if let Some(payload) = panicked.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }
    work();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pool(run: impl Fn(usize, &(dyn Fn(usize) + Sync)) + Send + Sync + 'static) -> Option<ThreadPool> {
        Some(ThreadPool(Arc::new(run)))
    }

    /// Returns how many of `threads` workers took any of 100 items, and how many items were taken.
    fn taken(threads: usize) -> (usize, usize) {
        let workers = AtomicUsize::new(0);
        let left = AtomicUsize::new(100);
        let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        on_threads(threads, || {
            workers.fetch_add(usize::from(take()), Ordering::Relaxed);
            while take() {}
        });
        (workers.into_inner(), 100 - left.into_inner())
    }

    #[test]
    fn a_pool_that_runs_tasks_sequentially_or_not_at_all_completes_the_work() {
        let sequential = pool(|count, task| (0..count).for_each(task));
        assert_eq!(with_pool(&sequential, || taken(5)), (1, 100));
        assert_eq!(with_pool(&pool(|_, _| ()), || taken(5)), (1, 100));
        assert_eq!(taken(1), (1, 100));
    }

    #[test]
    fn tasks_started_inside_a_job_use_its_pool() {
        let counts = Arc::new(Mutex::new(Vec::new()));
        let recorded = counts.clone();
        let recording_pool = pool(move |count, task| {
            recorded.lock().unwrap().push(count);
            std::thread::scope(|scope| _ = scope.spawn(|| task(0)));
        });
        with_pool(&recording_pool, || on_threads(3, || on_threads(2, || ())));
        // The work ran twice: on the pool, and afterwards to check that nothing is left.
        assert_eq!(*counts.lock().unwrap(), [3, 2, 2]);
        with_pool(&recording_pool, || with_pool(&None, || on_threads(7, || ())));
        on_threads(7, || ());
        assert_eq!(counts.lock().unwrap().len(), 3);
    }

    #[test]
    fn a_panic_passes_the_pool_by() {
        let completed = Arc::new(AtomicUsize::new(0));
        let counted = completed.clone();
        let sequential = pool(move |count, task| {
            (0..count).for_each(task);
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let planted = || with_pool(&sequential, || on_threads(2, || panic!("a planted panic")));
        assert!(catch_unwind(AssertUnwindSafe(planted)).is_err());
        assert_eq!(completed.load(Ordering::Relaxed), 1);
        assert!(POOL.with_borrow(Option::is_none));
    }
}
