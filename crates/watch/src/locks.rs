//! Records the threads that waited for locks, and the time they waited.
//!
//! Observes `futex` waits, which implement locks, condition variables, joins and channels. Uncontended locks make no
//! system call.

use crate::order;
use crate::stacks::Stacks;
use libc::pid_t;
use std::collections::HashMap;

/// Number of threads that remain distinguished whenever twice as many are stored; the other threads are combined.
const MAX_THREADS: usize = 4096;

/// Lock waits of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The name of the thread when it was last read.
    pub name: String,
    /// Thread ID.
    pub thread: pid_t,
    /// Number of completed waits.
    pub count: u64,
    /// Total time.
    pub time_ns: i64,
}

impl Waits {
    /// Adds a wait, or part of an unfinished wait.
    pub fn add(&mut self, thread: pid_t, time_ns: i64, is_over: bool) {
        // Threads set their names after they start, so the name is read again at growing intervals.
        if self.count.is_power_of_two() || self.name.is_empty() {
            self.thread = thread;
            // The kernel cuts names after 15 bytes, possibly within a character.
            if let Ok(name) = std::fs::read(format!("/proc/{thread}/comm")) {
                self.name = String::from_utf8_lossy(&name).trim_end().to_owned();
            }
        }
        self.count += u64::from(is_over);
        self.time_ns += time_ns;
    }
}

/// Lock waits of all threads.
#[derive(Debug, Default)]
pub struct Locks {
    threads: Vec<Waits>,
    others: Waits,
    /// Callers by thread, by stack.
    pub stacks: HashMap<pid_t, Stacks>,
    /// Callers that ended waits of other threads, by thread, by stack, without times.
    pub wakes: HashMap<pid_t, Stacks>,
}

impl Locks {
    /// Callers of all threads.
    pub fn stacks(&self) -> Stacks {
        let mut stacks = Stacks::default();
        self.stacks.values().for_each(|others| stacks.append(others));
        stacks
    }

    /// Stores the waits of a thread that ended.
    pub fn keep(&mut self, thread: pid_t, waits: Waits) {
        if waits.count == 0 && waits.time_ns <= 0 {
            return;
        }
        self.threads.push(Waits { thread, ..waits });
        if self.threads.len() >= 2 * MAX_THREADS {
            self.sort();
            for less in self.threads.drain(MAX_THREADS..) {
                self.others.count += less.count;
                self.others.time_ns += less.time_ns;
            }
        }
    }

    fn sort(&mut self) {
        let key = |waits: &Waits| (std::cmp::Reverse(waits.time_ns), waits.thread);
        order::sort(&mut self.threads, |left, right| key(left).cmp(&key(right)));
    }

    /// Threads that waited, longest first.
    pub fn sorted(mut self) -> Vec<Waits> {
        if self.others.count > 0 {
            let others = std::mem::take(&mut self.others);
            self.threads.push(Waits { name: "more threads".into(), ..others });
        }
        self.sort();
        self.threads
    }

    /// Number and time of all waits.
    pub fn total(&self) -> (u64, i64) {
        let threads = self.threads.iter().chain([&self.others]);
        threads.fold((0, 0), |(count, time_ns), waits| (count + waits.count, time_ns + waits.time_ns.max(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_waited_are_kept() {
        let mut locks = Locks::default();
        let me = std::process::id() as pid_t;
        let mut waits = Waits::default();
        waits.add(me, 7, false);
        waits.add(me, 5, true);
        assert!(!waits.name.is_empty() && (waits.count, waits.time_ns, waits.thread) == (1, 12, me));
        locks.keep(me, waits);
        locks.keep(3, Waits::default());
        for thread in 0..2 * MAX_THREADS as pid_t {
            locks.keep(thread, Waits { count: 1, time_ns: 2, ..Waits::default() });
        }
        assert_eq!(locks.total(), (1 + 2 * MAX_THREADS as u64, 12 + 4 * MAX_THREADS as i64));
        let sorted = locks.sorted();
        assert!(sorted[0].name == "more threads" && sorted[1].time_ns == 12 && sorted.len() <= 2 * MAX_THREADS);
    }
}
