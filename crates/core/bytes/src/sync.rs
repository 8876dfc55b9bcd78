//! The locks of the queue that decodes ahead: the standard library's, or the model checker's.
//!
//! The model (`compress/ahead/tests/models.rs`) runs a test with every interleaving of the threads' operations; see
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
