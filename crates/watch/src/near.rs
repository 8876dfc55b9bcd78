//! Keeps the thread that makes most calls on one processor with its watcher, while it does.
//!
//! Two threads that take turns on one processor hand over in a few microseconds; across processors, each of which goes
//! to sleep in between, it takes several times as long. The kernel spreads them, so they are pinned together. The
//! program never sees that: it is undone before any call that would reveal it (see [`Call::Spread`]), and as soon as a
//! second thread makes calls.
//!
//! [`Call::Spread`]: crate::filter::Call::Spread

use crate::system::Processors;
use libc::pid_t;

/// After this many calls in a row, a thread is pinned.
pub const STREAK: u32 = 64;

/// Who is held.
#[derive(Default)]
pub struct Near {
    last: pid_t,
    streak: u32,
    held: Option<Held>,
}

struct Held {
    thread: pid_t,
    /// The processors where it may run otherwise, and those of its watcher.
    before: [Processors; 2],
}

impl Near {
    /// A thread makes a call.
    pub fn met(&mut self, thread: pid_t) {
        if thread != self.last {
            self.spread();
            self.last = thread;
        }
        self.streak = self.streak.saturating_add(1);
        if self.streak == STREAK {
            self.hold(thread);
        }
    }

    fn hold(&mut self, thread: pid_t) {
        let Some(before) = Processors::from_thread(thread).zip(Processors::from_thread(0)) else { return };
        let Some(here) = before.0.current() else { return };
        if here.assign(thread) && here.assign(0) {
            self.held = Some(Held { thread, before: before.into() });
        }
    }

    /// All may run where they could before.
    pub fn spread(&mut self) {
        self.streak = 0;
        if let Some(held) = self.held.take() {
            held.before[0].assign(held.thread);
            held.before[1].assign(0);
        }
    }

    /// Whether this thread is held.
    pub fn holds(&self, thread: pid_t) -> bool {
        self.held.as_ref().is_some_and(|held| held.thread == thread)
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        self.spread();
    }
}
