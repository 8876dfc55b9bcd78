//! The locks of the queue of parts to decode ahead: the standard library's, or the model checker's.
//!
//! The models (`compress/ahead/tests/models.rs`) run tests with many interleavings of the threads' operations; see
//! `tools/models`.

#[cfg(any(not(test), not(polyhaul_shuttle)))]
mod system {
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

    /// Returns whether a model has planted this mutation.
    pub(crate) const fn mutated(_: &str) -> bool {
        false
    }
}

#[cfg(all(test, polyhaul_shuttle))]
mod system {
    pub(crate) use polyhaul_models::mutated;
    pub(crate) use polyhaul_models::shuttle::sync::{Condvar, Mutex, MutexGuard};
}

pub(crate) use system::*;
