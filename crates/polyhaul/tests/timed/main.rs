//! Tests that measure time or the process, separate from tests that would disturb them.

mod causes;
mod throttle;
mod verdict;
