//! Passes the incomplete line or row at the end of a part of a source, called its rest, to the next part.
//!
//! Parts are read in parallel. The bytes after a part's last boundary belong to the next part, so no byte is read
//! twice. A worker waits only for the previous part, which started earlier, so there is no cycle as long as parts start
//! in the order of their numbers. This module does not interpret the bytes.

use crate::run::{Phase, span};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// Rests that were passed on but not yet received.
pub struct Relay<T> {
    rests: Mutex<Rests<T>>,
    changed: Condvar,
}

struct Rests<T> {
    /// Keyed by the number of the receiving part; `None` if the previous part failed.
    by_part: BTreeMap<u64, Option<T>>,
    /// The number of parts that wait. Waking is a system call even if nobody waits.
    waiting: usize,
}

/// Lets a part pass on its rest. Dropping it unused passes `None` to the next part.
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
    /// Starts part `number`.
    pub fn start(&self, number: u64) -> Handover<'_, T> {
        Handover { relay: self, number, is_given: false }
    }

    fn lock(&self) -> MutexGuard<'_, Rests<T>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rests that were never received.
    pub fn into_rests(self) -> impl Iterator<Item = T> {
        self.rests.into_inner().unwrap_or_else(PoisonError::into_inner).by_part.into_values().flatten()
    }
}

impl<T> Handover<'_, T> {
    /// Passes `rest` to the next part.
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

    /// Waits for the previous part's rest. Returns `None` if that part failed. The first part must not call this.
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
    fn parts_receive_the_rest_or_the_failure_of_the_previous_part() {
        let relay = Relay::default();
        std::thread::scope(|scope| {
            let mut first = relay.start(0);
            let second = relay.start(1);
            let third = relay.start(2);
            scope.spawn(move || assert_eq!(third.receive(), None));
            scope.spawn(move || assert_eq!(second.receive(), Some("rest")));
            first.give("rest");
        });
        // The second and third part passed on nothing.
        assert_eq!(relay.into_rests().count(), 0);
    }
}
