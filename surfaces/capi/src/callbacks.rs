//! Adapters from the host's callbacks to the library's traits: readers, writers, resolvers, progress, thread pools.
//!
//! All calls of foreign functions are here, and their results are never trusted.

use crate::host_error::{broken, failed};
use crate::options::{ph_pool_fn, ph_progress_fn, ph_resolve_fn};
use crate::source::{self, ph_finish_fn, ph_input, ph_release_fn, ph_seek_fn, ph_size_fn};
use polyhaul::options::{Cancel, Progress, Resolve, ThreadPool};
use polyhaul::{HostRead, HostWrite, Input, Output};
use std::ffi::{CString, c_void};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The `user` pointer of callbacks, which any thread of the library may call.
#[derive(Clone, Copy)]
struct User(*mut c_void);

// SAFETY: the pointer is only passed back to the host's callbacks, which may be called from any thread by the header's
// rules; nothing here dereferences it.
unsafe impl Send for User {}
// SAFETY: as for `Send`.
unsafe impl Sync for User {}

/// Calls the host's release callback on drop.
pub(crate) struct Release(ph_release_fn, User);

impl Release {
    pub(crate) fn new(release: ph_release_fn, user: *mut c_void) -> Release {
        Release(release, User(user))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            // SAFETY: the host set `release` and `user` together by the header's rules. `take` ensures a single call.
            unsafe { release(self.1.0) }
        }
    }
}

type ReadFn = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i64;
type WriteFn = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> i64;

/// An input that the host's callbacks read.
pub(crate) struct CallbackReader {
    read: ReadFn,
    seek: ph_seek_fn,
    size: ph_size_fn,
    release: Release,
}

impl CallbackReader {
    pub(crate) fn new(read: ReadFn, seek: ph_seek_fn, size: ph_size_fn, release: Release) -> CallbackReader {
        CallbackReader { read, seek, size, release }
    }

    pub(crate) fn into_input(self, name: String) -> Input {
        Input::Host(Box::new(self), name)
    }
}

impl HostRead for CallbackReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the host set `read` and `user` together; `out` is borrowed for the call, and has `out.len()` bytes.
        let count = unsafe { (self.read)(self.release.1.0, out.as_mut_ptr().cast(), out.len()) };
        transferred(count)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        let Some(seek) = self.seek else { return Ok(false) };
        // SAFETY: the host set `seek` and `user` together, and they are not released yet.
        match unsafe { seek(self.release.1.0, offset) } {
            0 => Ok(true),
            code if code > 0 => Ok(false),
            code => Err(failed(code.into())),
        }
    }

    fn size(&mut self) -> Option<u64> {
        // SAFETY: the host set `size` and `user` together, and they are not released yet.
        self.size.and_then(|size| u64::try_from(unsafe { size(self.release.1.0) }).ok())
    }
}

/// Converts the return value of a read or write callback. The library checks that the count is in range.
fn transferred(count: i64) -> io::Result<usize> {
    if count < 0 { Err(failed(count)) } else { Ok(usize::try_from(count).unwrap_or(usize::MAX)) }
}

/// An output that the host's callbacks write.
pub(crate) struct CallbackWriter {
    write: WriteFn,
    flush: ph_finish_fn,
    close: ph_finish_fn,
    release: Release,
}

impl CallbackWriter {
    pub(crate) fn new(write: WriteFn, flush: ph_finish_fn, close: ph_finish_fn, release: Release) -> CallbackWriter {
        CallbackWriter { write, flush, close, release }
    }

    pub(crate) fn into_output(self, name: String) -> Output {
        Output::Host(Box::new(self), name)
    }

    fn finish(&self, step: ph_finish_fn) -> io::Result<()> {
        let Some(step) = step else { return Ok(()) };
        // SAFETY: the host set `step` and `user` together, and they are not released yet.
        match unsafe { step(self.release.1.0) } {
            code if code < 0 => Err(failed(code.into())),
            _ => Ok(()),
        }
    }
}

impl HostWrite for CallbackWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the host set `write` and `user` together; `bytes` is borrowed for the call, and has `bytes.len()`
        // bytes.
        let count = unsafe { (self.write)(self.release.1.0, bytes.as_ptr().cast(), bytes.len()) };
        transferred(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.finish(self.flush)
    }

    fn close(&mut self) -> io::Result<()> {
        self.finish(self.close)
    }
}

/// Adapts the host's resolver.
pub(crate) fn resolver(resolve: ph_resolve_fn, user: *mut c_void) -> Option<Resolve> {
    let resolve = resolve?;
    let user = User(user);
    let ask = move |name: &str| {
        let user = user;
        let Ok(requested) = CString::new(name) else { return Ok(None) };
        let mut answer = ph_input::empty();
        // SAFETY: the host set `resolve` and `user` together. `requested` is zero-terminated and `answer` has its size
        // set; both outlive the call.
        match unsafe { resolve(user.0, requested.as_ptr(), &raw mut answer) } {
            0 => {
                // SAFETY: a host that returned 0 has filled in `answer` by the header's rules: its pointers are valid
                // until it is released. `answer` itself outlives this call.
                let (input, held) = unsafe { source::input(&raw const answer) }.map_err(|e| broken(e.to_string()))?;
                drop(held); // The path was copied.
                Ok(Some(input))
            }
            code if code > 0 => Ok(None),
            code => Err(failed(code.into())),
        }
    };
    Some(Resolve(Arc::new(ask)))
}

/// Adapts the host's progress callback. It is called by one thread at a time, with a count that never decreases; a
/// nonzero return value sets `cancel`.
pub(crate) fn progress(progress: ph_progress_fn, user: *mut c_void, cancel: &Cancel) -> Option<Progress> {
    let progress = progress?;
    let user = User(user);
    let cancel = cancel.clone();
    let max_done = Mutex::new(0);
    let report = move |done_now: u64, total: Option<u64>| {
        let user = user;
        let mut max_done = locked(&max_done);
        *max_done = done_now.max(*max_done);
        // SAFETY: the host set `progress` and `user` together. By the header's rules they stay valid during the job,
        // which owns this closure.
        if unsafe { progress(user.0, *max_done, total.unwrap_or(u64::MAX)) } != 0 {
            cancel.cancel();
        }
    };
    Some(Progress(Arc::new(report)))
}

/// Adapts the host's thread pool.
pub(crate) fn pool(pool: ph_pool_fn, user: *mut c_void) -> Option<ThreadPool> {
    let pool = pool?;
    let user = User(user);
    let run = move |count: usize, task: &(dyn Fn(usize) + Sync)| {
        let user = user;
        let round = Round::start(task, count);
        // SAFETY: the host set `pool` and `user` together, valid during the job, which owns this closure. The context
        // is a `Round`, which is never freed, so a late call of `run_task` is valid too.
        unsafe { pool(user.0, count, Some(run_task), (&raw const *round).cast_mut().cast()) }
        round.end();
    };
    Some(ThreadPool(Arc::new(run)))
}

/// Rounds that have ended. They are reused and never freed, because the host may call a task too late or too often,
/// with any old context. Their number is the maximum number of concurrent rounds so far.
static IDLE: Mutex<Vec<&'static Round>> = Mutex::new(Vec::new());

/// One batch of tasks that the host's threads run; reused for later batches.
#[derive(Default)]
struct Round {
    state: Mutex<RoundState>,
    ended: Condvar,
}

#[derive(Default)]
struct RoundState {
    /// `None` after the end of the round.
    task: Option<Task>,
    count: usize,
    started: usize,
    ended: usize,
}

/// A task of the library, valid until its round ends.
#[derive(Clone, Copy)]
struct Task(*const (dyn Fn(usize) + Sync));

// SAFETY: the pointee is `Sync`, so any thread may call it; `Round` ensures that it is valid.
unsafe impl Send for Task {}

impl Round {
    /// Starts a round, which must [end](Round::end) before the task is dropped.
    fn start<'t>(task: &'t (dyn Fn(usize) + Sync + 't), count: usize) -> &'static Round {
        let round = locked(&IDLE).pop().unwrap_or_else(|| Box::leak(Box::default()));
        type Pointer<'t> = *const (dyn Fn(usize) + Sync + 't);
        // SAFETY: only the lifetime in the type changes. `pool` calls `end` before `task` goes out of scope, and `end`
        // removes the task and waits for every call that has started.
        let task = Task(unsafe { std::mem::transmute::<Pointer<'t>, Pointer<'static>>(task) });
        *locked(&round.state) = RoundState { task: Some(task), count, started: 0, ended: 0 };
        round
    }

    /// Runs the task, unless the round has ended or has started as many calls as it has tasks. A late call for one
    /// round may run a task of the next round, which is harmless: any thread may run it, and `started` still limits the
    /// calls.
    fn run(&self, index: usize) {
        let mut state = locked(&self.state);
        let Some(Task(task)) = state.task.filter(|_| state.started < state.count) else { return };
        state.started += 1;
        drop(state);
        // SAFETY: the task was set when `started` was incremented under the lock. `end` does not return before `ended`
        // equals `started`, and `ended` is incremented below, after the call.
        unsafe { (*task)(index) };
        let mut state = locked(&self.state);
        state.ended += 1;
        self.ended.notify_all();
    }

    /// Prevents further calls, and waits for the calls in progress.
    fn end(&'static self) {
        let mut state = locked(&self.state);
        state.task = None;
        while state.ended < state.started {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        locked(&IDLE).push(self);
    }
}

/// The task function passed to the host's thread pool.
///
/// # Safety
/// `context` points to a [`Round`] that [`pool`] passed to the host.
unsafe extern "C" fn run_task(context: *mut c_void, index: usize) {
    // SAFETY: `context` points to a `Round` by this function's contract. It comes from `Box::leak`, so it is never
    // freed, and all references to it are shared.
    let round = unsafe { &*context.cast_const().cast::<Round>() };
    // Tasks catch their own panics, so none unwinds into C.
    round.run(index);
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ph_input {
    /// Returns an input with only `struct_size` set.
    fn empty() -> ph_input {
        ph_input {
            struct_size: size_of::<ph_input>(),
            path: std::ptr::null(),
            memory: std::ptr::null(),
            memory_size: 0,
            read: None,
            seek: None,
            size: None,
            release: None,
            user: std::ptr::null_mut(),
            name: std::ptr::null(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Appends each context to the list behind `user`, and runs only one of its tasks.
    unsafe extern "C" fn lazy(
        user: *mut c_void,
        _: usize,
        task: Option<unsafe extern "C" fn(*mut c_void, usize)>,
        context: *mut c_void,
    ) {
        // SAFETY: the test passes a list as `user`, and calls are not concurrent.
        let contexts = unsafe { &mut *user.cast::<Vec<*mut c_void>>() };
        contexts.push(context);
        // SAFETY: by the contract of the pool.
        unsafe { task.expect("there is a task")(context, 0) };
    }

    /// Fewer under Miri, which is about 1000 times slower.
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 1000 };

    #[test]
    fn a_pool_that_leaves_tasks_undone_takes_no_more_memory_each_time() {
        let mut contexts: Vec<*mut c_void> = Vec::new();
        let run = pool(Some(lazy), (&raw mut contexts).cast()).expect("there is a pool");
        let calls = AtomicUsize::new(0);
        for _ in 0..ROUNDS {
            (run.0)(3, &|_| _ = calls.fetch_add(1, Ordering::Relaxed));
        }
        // Other tests of this binary may run rounds concurrently.
        let distinct: std::collections::HashSet<_> = contexts.iter().collect();
        assert!(distinct.len() < 10 && contexts.len() == ROUNDS, "{}", distinct.len());
        assert_eq!(calls.load(Ordering::Relaxed), ROUNDS);
        // Late calls run nothing.
        // SAFETY: rounds are never freed.
        contexts.iter().for_each(|context| unsafe { run_task(*context, 1) });
        assert_eq!(calls.load(Ordering::Relaxed), ROUNDS);
    }
}
