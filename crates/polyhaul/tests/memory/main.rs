//! Memory use of jobs: a separate binary for its allocator, whose counters are global. Each test holds [`alone`], so
//! that tests run one at a time.

mod convert;
mod formats;
mod hostile;
mod images;
mod pbrt;
mod rows;
mod table;
mod write;

#[allow(dead_code, reason = "shared with tests that use all of it")]
#[path = "../all/support.rs"]
mod support;
#[allow(dead_code, unused_imports, reason = "shared with tests that use all of it")]
#[path = "../all/write/support.rs"]
mod write_support;

use polyhaul_testkit::alloc::Counting;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Lets one test run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
