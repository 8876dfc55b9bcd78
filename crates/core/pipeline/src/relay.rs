//! Passes bytes from one part of a source to the next. Parts are read in parallel, and the bytes after the last
//! boundary of a part (a truncated line or row) belong to the next part, so no byte is read twice.
//!
//! The worker of a part waits only for the previous part, which started earlier and waits for no later one. There is no
//! cycle as long as parts start in the order of their numbers. Nothing here interprets the bytes.

use crate::run::{Phase, span};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Rests that parts have passed on and no part has received yet.
pub struct Relay<T> {
    rests: Mutex<Rests<T>>,
    changed: Condvar,
}

struct Rests<T> {
    /// By the number of the receiving part; `None` if the previous part failed.
    by_part: BTreeMap<u64, Option<T>>,
    /// The number of parts that wait. To wake nobody is a system call too.
    waiting: usize,
}

/// The right and duty of a part to pass on its rest. If it is dropped unused, the next part learns that there is none.
pub struct Handover<'r, T> {
    relay: &'r Relay<T>,
    number: u64,
    is_given: bool,
}

impl<T> Default for Relay<T> {
    fn default() -> Self {
        Relay { rests: Mutex::new(Rests { by_part: BTreeMap::new(), waiting: 0 }), changed: Condvar::new() }
    }
}

impl<T> Relay<T> {
    /// Part `number` begins.
    pub fn begin(&self, number: u64) -> Handover<'_, T> {
        Handover { relay: self, number, is_given: false }
    }

    fn lock(&self) -> MutexGuard<'_, Rests<T>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rests that no part received.
    pub fn into_rests(self) -> impl Iterator<Item = T> {
        self.rests.into_inner().unwrap_or_else(PoisonError::into_inner).by_part.into_values().flatten()
    }
}

impl<T> Handover<'_, T> {
    /// Hands something on to the next part.
    pub fn give(&mut self, rest: T) {
        self.put(Some(rest));
    }

    fn put(&mut self, rest: Option<T>) {
        self.is_given = true;
        let mut rests = self.relay.lock();
        rests.by_part.insert(self.number + 1, rest);
        if rests.waiting > 0 {
            self.relay.changed.notify_all();
        }
    }

    /// Returns the rest of the previous part, waiting for it; `None` if that failed. Not for the first part.
    pub fn receive(&self) -> Option<T> {
        let mut rests = self.relay.lock();
        if let Some(rest) = rests.by_part.remove(&self.number) {
            return rest;
        }
        let _span = span(Phase::WaitInput);
        loop {
            rests.waiting += 1;
            rests = self.relay.changed.wait(rests).unwrap_or_else(PoisonError::into_inner);
            rests.waiting -= 1;
            if let Some(rest) = rests.by_part.remove(&self.number) {
                return rest;
            }
        }
    }
}

impl<T> Drop for Handover<'_, T> {
    fn drop(&mut self) {
        if !self.is_given {
            self.put(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_get_what_the_one_before_gave_or_that_it_failed() {
        let relay = Relay::default();
        std::thread::scope(|scope| {
            let (first, second, third) = (relay.begin(0), relay.begin(1), relay.begin(2));
            scope.spawn(move || assert_eq!(third.receive(), None));
            scope.spawn(move || assert_eq!(second.receive(), Some("rest")));
            let mut first = first;
            first.give("rest");
        });
        // The second passed on nothing, and neither did the third, which was never asked.
        assert_eq!(relay.into_rests().count(), 0);
    }
}
