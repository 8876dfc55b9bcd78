//! Parallel loops, for work without order.
//!
//! Ordered work uses the numbered chunks of [`super::run`]. These loops do no input or output, and a thread waits
//! only for its next item.

use crate::crew::on_threads;
use crate::options::Cancel;
use crate::sync::{Mutex, lock};
use polyhaul_model::error::{Error, Result};
use polyhaul_trace::{self as trace, Phase};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls `work(scratch, item)` for every item, in any order, on up to `threads` threads. Typical items are disjoint
/// mutable chunks of arrays.
///
/// Items are assigned in order, under a lock, so each item should take at least a few microseconds. Each thread creates
/// its scratch memory once. With one thread or one item, no thread is started, which scenes of a million small meshes
/// rely on. If the system refuses to start threads, fewer threads do the work.
pub fn for_each_item<I, S>(
    threads: usize,
    mut items: I,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I::Item) + Sync,
) where
    I: Iterator<Item: Send> + Send,
{
    // Many iterators cannot report whether they have more than one item.
    let first = items.next();
    let second = items.next();
    let max_items = match second {
        Some(_) => items.size_hint().1.map_or(usize::MAX, |more| more.saturating_add(2)),
        None => 1,
    };
    let items = Mutex::new(first.into_iter().chain(second).chain(items));
    let next = || lock(&items).next();
    on_threads(threads.min(max_items), || {
        let _span = trace::otherwise(Phase::Transform);
        let mut scratch = scratch();
        while let Some(item) = next() {
            work(&mut scratch, item);
            polyhaul_spill::relieve();
        }
    });
}

/// Same as [`for_each_item`], but stops when an item fails or the caller cancels.
///
/// Returns the error of the first failing item for any number of threads: the items before it were assigned earlier and
/// are finished. Some later items may have been processed too.
pub fn try_for_each_item<I, S>(
    threads: usize,
    cancel: &Cancel,
    items: I,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, I::Item) -> Result<()> + Sync,
) -> Result<()>
where
    I: Iterator<Item: Send> + Send,
{
    let stop = AtomicBool::new(false);
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let items = items.enumerate().take_while(|_| !stop.load(Ordering::Relaxed));
    for_each_item(threads, items, scratch, |scratch, (index, item)| {
        let result = cancel.check().and_then(|()| work(scratch, item));
        if let Err(error) = result {
            stop.store(true, Ordering::Relaxed);
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if failed.as_ref().is_none_or(|(first, _)| index < *first) {
                *failed = Some((index, error));
            }
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polyhaul_model::error::ErrorKind;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn every_item_is_visited_once() {
        for threads in [0, 1, 2, 7, 64] {
            let visits: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            for_each_item(
                threads,
                visits.iter(),
                || (),
                |(), visit| {
                    visit.fetch_add(1, Ordering::Relaxed);
                },
            );
            assert!(visits.iter().all(|visit| visit.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn chunks_are_changed_in_place_with_scratch() {
        for threads in [1, 3, 64] {
            let mut values: Vec<u32> = (0..1000).collect();
            for_each_item(threads, values.chunks_mut(7), Vec::new, |scratch: &mut Vec<u32>, chunk| {
                scratch.clear();
                scratch.extend(chunk.iter().map(|value| value * 2));
                chunk.copy_from_slice(scratch);
            });
            assert!(values.iter().enumerate().all(|(index, &value)| value == 2 * index as u32));
        }
    }

    #[test]
    fn the_first_failing_item_is_the_error() {
        for threads in [1, 2, 7, 64] {
            let result = try_for_each_item(
                threads,
                &Cancel::default(),
                0..1000,
                || (),
                |(), item| {
                    if item < 500 { Ok(()) } else { Err(Error::new(ErrorKind::Usage, format!("{item}"))) }
                },
            );
            assert_eq!(result.unwrap_err().diagnostic().message, "500");
        }
    }

    #[test]
    fn a_cancelled_loop_does_nothing_more() {
        let cancel = Cancel::default();
        let result = try_for_each_item(
            1,
            &cancel,
            0..,
            || (),
            |(), item| {
                if item == 3 {
                    cancel.cancel();
                }
                assert!(item <= 3);
                Ok(())
            },
        );
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
