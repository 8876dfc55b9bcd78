//! A parallel loop over indices, for work without order.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work(index)` for every index below `count`, on up to `threads` threads, in any order.
///
/// With one thread, or one index, no thread is started. Where the system refuses a thread, fewer
/// do the work.
pub fn for_each(threads: usize, count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let run = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= count {
            break;
        }
        work(index);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            if std::thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
}
