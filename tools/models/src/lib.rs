//! Models of code that threads share: tests that run with every order of its operations.
//!
//! Crates compile their locks and threads against [`shuttle`] instead of the standard library if they are tested with
//! `--cfg polyhaul_shuttle`, in a module `sync`. Then one thread runs all threads of a test, and changes between them
//! only where they use such a type. `cargo xtask nightly races` runs all models.

#[cfg(polyhaul_shuttle)]
mod bounded;
#[cfg(polyhaul_shuttle)]
mod model;

#[cfg(polyhaul_shuttle)]
pub use model::{Model, mutated};
#[cfg(polyhaul_shuttle)]
pub use shuttle;
