//! The locks and threads of this crate: the standard library's, or the model checker's.
//!
//! A model (`run/models.rs`, `column/models_tests.rs`) runs a test with every interleaving of the threads' operations,
//! within a bound; see `tools/models`.

#[cfg(any(not(test), not(polyhaul_shuttle)))]
mod system {
    pub use polyhaul_model::error::planted as mutated;
    pub use polyhaul_trace::lock;
    pub use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
    use std::thread::Builder;
    pub use std::thread::{Scope, ScopedJoinHandle, scope};
    pub use std::thread_local;

    /// Starts a thread if the system allows it. Compiled once instead of once per kind of work.
    pub fn spawn<'s>(
        scope: &'s Scope<'s, '_>,
        work: Box<dyn FnOnce() + Send + 's>,
    ) -> Option<ScopedJoinHandle<'s, ()>> {
        Builder::new().spawn_scoped(scope, work).ok()
    }
}

#[cfg(all(test, polyhaul_shuttle))]
mod system {
    pub use polyhaul_models::mutated;
    pub use polyhaul_models::shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
    pub use polyhaul_models::shuttle::thread::{Scope, ScopedJoinHandle, scope};
    pub use polyhaul_models::shuttle::thread_local;
    use std::sync::PoisonError;

    pub fn spawn<'s>(
        scope: &'s Scope<'s, '_>,
        work: Box<dyn FnOnce() + Send + 's>,
    ) -> Option<ScopedJoinHandle<'s, ()>> {
        Some(scope.spawn(work))
    }

    /// Locks a mutex, ignoring poisoning.
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub use system::*;
