//! The host's callbacks in the library's form: readers, writers, resolvers, progress, threads.
//!
//! All calls of foreign functions are here. Their results are checked and never trusted.

use crate::host_error::{broken, failed};
use crate::options::{ph_pool_fn, ph_progress_fn, ph_resolve_fn};
use crate::source::{self, ph_finish_fn, ph_input, ph_release_fn, ph_seek_fn, ph_size_fn};
use polyhaul::options::{Cancel, Progress, Resolve, ThreadPool};
use polyhaul::{HostRead, HostWrite, Input, Output};
use std::ffi::{CString, c_void};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The pointer that callbacks are called with. The library calls them from any of its threads.
#[derive(Clone, Copy)]
struct User(*mut c_void);

// SAFETY: the pointer is only handed back to the host's callbacks, which the header says are called from any thread;
// nothing here reads through it.
unsafe impl Send for User {}
// SAFETY: as for `Send`: nothing here reads through it.
unsafe impl Sync for User {}

/// Calls the host's release when it is dropped.
pub(crate) struct Release(ph_release_fn, User);

impl Release {
    pub(crate) fn new(release: ph_release_fn, user: *mut c_void) -> Release {
        Release(release, User(user))
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            // SAFETY: the host set `release` and `user` together, as the header describes them. `take` lets the call
            // happen once.
            unsafe { release(self.1.0) }
        }
    }
}

type ReadFn = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i64;
type WriteFn = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> i64;

/// Bytes that the host reads.
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

    /// In the library's form.
    pub(crate) fn into_input(self, name: String) -> Input {
        Input::Host(Box::new(self), name)
    }
}

impl HostRead for CallbackReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the host set `read` and `user` together; `out` is borrowed for the call and has the `out.len()` bytes
        // that the function is told.
        let count = unsafe { (self.read)(self.release.1.0, out.as_mut_ptr().cast(), out.len()) };
        transferred(count)
    }

    fn seek(&mut self, offset: u64) -> io::Result<bool> {
        let Some(seek) = self.seek else { return Ok(false) };
        // SAFETY: the host set `seek` and `user` together, and has not been told to release them.
        match unsafe { seek(self.release.1.0, offset) } {
            0 => Ok(true),
            code if code > 0 => Ok(false),
            code => Err(failed(code.into())),
        }
    }

    fn size(&mut self) -> Option<u64> {
        // SAFETY: the host set `size` and `user` together, and has not been told to release them.
        self.size.and_then(|size| u64::try_from(unsafe { size(self.release.1.0) }).ok())
    }
}

/// How many bytes a callback claims to have moved. The library checks whether that is possible.
fn transferred(count: i64) -> io::Result<usize> {
    if count < 0 { Err(failed(count)) } else { Ok(usize::try_from(count).unwrap_or(usize::MAX)) }
}

/// A host that receives bytes.
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

    /// In the library's form.
    pub(crate) fn into_output(self, name: String) -> Output {
        Output::Host(Box::new(self), name)
    }

    fn finish(&self, step: ph_finish_fn) -> io::Result<()> {
        let Some(step) = step else { return Ok(()) };
        // SAFETY: the host set `step` and `user` together, and has not been told to release them.
        match unsafe { step(self.release.1.0) } {
            code if code < 0 => Err(failed(code.into())),
            _ => Ok(()),
        }
    }
}

impl HostWrite for CallbackWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the host set `write` and `user` together; `bytes` is borrowed for the call and has the `bytes.len()`
        // bytes that the function is told.
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

/// The host's resolver in the library's form.
pub(crate) fn resolver(resolve: ph_resolve_fn, user: *mut c_void) -> Option<Resolve> {
    let resolve = resolve?;
    let user = User(user);
    let ask = move |name: &str| {
        let user = user;
        let Ok(requested) = CString::new(name) else { return Ok(None) };
        let mut answer = ph_input::empty();
        // SAFETY: the host set `resolve` and `user` together. `requested` ends with a zero byte and `answer` has its
        // size set; both live through the call.
        match unsafe { resolve(user.0, requested.as_ptr(), &raw mut answer) } {
            0 => {
                // SAFETY: a host that returned 0 has filled `answer` in by the header's rules, which make it valid
                // until it is released. `answer` itself lives to the end of this call.
                let (input, held) = unsafe { source::input(&raw const answer) }.map_err(|e| broken(e.to_string()))?;
                drop(held); // A path is copied.
                Ok(Some(input))
            }
            code if code > 0 => Ok(None),
            code => Err(failed(code.into())),
        }
    };
    Some(Resolve(Arc::new(ask)))
}

/// The host's progress as the library reports it: one call at a time, and never a step back. An answer that is not 0
/// cancels.
pub(crate) fn progress(progress: ph_progress_fn, user: *mut c_void, cancel: &Cancel) -> Option<Progress> {
    let progress = progress?;
    let user = User(user);
    let cancel = cancel.clone();
    let max_done = Mutex::new(0);
    let report = move |done_now: u64, total: Option<u64>| {
        let user = user;
        let mut max_done = locked(&max_done);
        *max_done = done_now.max(*max_done);
        // SAFETY: the host set `progress` and `user` together, and the header asks that they stay valid for the job,
        // which owns this closure.
        if unsafe { progress(user.0, *max_done, total.unwrap_or(u64::MAX)) } != 0 {
            cancel.cancel();
        }
    };
    Some(Progress(Arc::new(report)))
}

/// The host's threads as the library uses them.
pub(crate) fn pool(pool: ph_pool_fn, user: *mut c_void) -> Option<ThreadPool> {
    let pool = pool?;
    let user = User(user);
    let run = move |count: usize, task: &(dyn Fn(usize) + Sync)| {
        let user = user;
        let round = Round::start(task, count);
        // SAFETY: the host set `pool` and `user` together, for the job, which owns this closure. The context is a
        // `Round`, which is never freed, so that a late call of `run_task` is valid too.
        unsafe { pool(user.0, count, Some(run_task), (&raw const *round).cast_mut().cast()) }
        round.end();
    };
    Some(ThreadPool(Arc::new(run)))
}

/// Rounds that are over. A host may call with the context of any of them at any time, too late or too often: so they
/// are never freed but reused. There are as many as were ever in progress at the same time.
static IDLE: Mutex<Vec<&'static Round>> = Mutex::new(Vec::new());

/// One piece of work that the host's threads run; reused for the next one.
#[derive(Default)]
struct Round {
    state: Mutex<RoundState>,
    ended: Condvar,
}

#[derive(Default)]
struct RoundState {
    /// `None` when the round is over.
    task: Option<Task>,
    count: usize,
    started: usize,
    ended: usize,
}

/// A task of the library, which lives until its round is over.
#[derive(Clone, Copy)]
struct Task(*const (dyn Fn(usize) + Sync));

// SAFETY: the pointee is `Sync`, so any thread may call it; how long it lives is the business of `Round`.
unsafe impl Send for Task {}

impl Round {
    /// A round for a task, to be [ended](Round::end) before the task is dropped.
    fn start<'t>(task: &'t (dyn Fn(usize) + Sync + 't), count: usize) -> &'static Round {
        let round = locked(&IDLE).pop().unwrap_or_else(|| Box::leak(Box::default()));
        type Pointer<'t> = *const (dyn Fn(usize) + Sync + 't);
        // SAFETY: only the lifetime in the type changes. `end` takes the task away and waits for every call that has
        // started, and it is called before `task` goes out of scope in `pool`.
        let task = Task(unsafe { std::mem::transmute::<Pointer<'t>, Pointer<'static>>(task) });
        *locked(&round.state) = RoundState { task: Some(task), count, started: 0, ended: 0 };
        round
    }

    /// Runs the task, unless the round is over or was run often enough. A late call for one round may run the task of
    /// the next one: any thread may, and it is not run more often for that.
    fn run(&self, index: usize) {
        let mut state = locked(&self.state);
        let Some(Task(task)) = state.task.filter(|_| state.started < state.count) else { return };
        state.started += 1;
        drop(state);
        // SAFETY: the task was still set under the lock when `started` was counted, and `end` returns only when `ended`
        // has caught up, which happens below, after the call.
        unsafe { (*task)(index) };
        let mut state = locked(&self.state);
        state.ended += 1;
        self.ended.notify_all();
    }

    /// Waits for the calls in progress, and lets no further ones start.
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

/// The function that the host's threads call.
///
/// # Safety
/// `context` points to a [`Round`] that [`pool`] handed out.
unsafe extern "C" fn run_task(context: *mut c_void, index: usize) {
    // SAFETY: `context` points to a `Round`, this function's condition, which came from `Box::leak`: it is never freed,
    // and is only shared.
    let round = unsafe { &*context.cast_const().cast::<Round>() };
    // The library catches the panics of its tasks.
    round.run(index);
}

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ph_input {
    /// Nothing is set except for the size.
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

    /// Keeps the contexts that it receives in a list behind `user`, and runs one task of each.
    unsafe extern "C" fn lazy(
        user: *mut c_void,
        _: usize,
        task: Option<unsafe extern "C" fn(*mut c_void, usize)>,
        context: *mut c_void,
    ) {
        // SAFETY: the test gives a list for `user`, and this is not called by two threads at once.
        let contexts = unsafe { &mut *user.cast::<Vec<*mut c_void>>() };
        contexts.push(context);
        // SAFETY: the contract of the pool.
        unsafe { task.expect("there is a task")(context, 0) };
    }

    /// Miri takes a thousand times as long.
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 1000 };

    #[test]
    fn a_pool_that_leaves_tasks_undone_takes_no_more_memory_each_time() {
        let mut contexts: Vec<*mut c_void> = Vec::new();
        let run = pool(Some(lazy), (&raw mut contexts).cast()).expect("there is a pool");
        let calls = AtomicUsize::new(0);
        for _ in 0..ROUNDS {
            (run.0)(3, &|_| _ = calls.fetch_add(1, Ordering::Relaxed));
        }
        // Other tests of this binary may have rounds at the same time.
        let distinct: std::collections::HashSet<_> = contexts.iter().collect();
        assert!(distinct.len() < 10 && contexts.len() == ROUNDS, "{}", distinct.len());
        assert_eq!(calls.load(Ordering::Relaxed), ROUNDS);
        // Too late: nothing is there to be run.
        // SAFETY: rounds are never freed.
        contexts.iter().for_each(|context| unsafe { run_task(*context, 1) });
        assert_eq!(calls.load(Ordering::Relaxed), ROUNDS);
    }
}
