//! The scheduler: the only place with threads.

mod parallel;

pub use parallel::for_each;
