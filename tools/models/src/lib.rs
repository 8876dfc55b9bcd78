//! Models of concurrent code: tests that run with every interleaving of their operations, within a bound.
//!
//! If tested with `--cfg polyhaul_shuttle`, crates compile their locks and threads, which they import from a module
//! `sync`, against `shuttle` instead of the standard library. A single thread then runs all threads of a test, and
//! only switches between them at operations of these types. `cargo xtask nightly races` runs all models.

#[cfg(polyhaul_shuttle)]
mod bounded;
#[cfg(polyhaul_shuttle)]
mod model;

#[cfg(polyhaul_shuttle)]
pub use model::{Model, mutated};
#[cfg(polyhaul_shuttle)]
pub use shuttle;
