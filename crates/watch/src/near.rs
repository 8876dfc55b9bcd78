//! Pins a thread to its tracer's processor once it has made [`STREAK`] calls in a row.
//!
//! Two threads that alternate on one processor switch in a few microseconds. On two processors, which go to sleep in
//! between, switching takes several times as long. The scheduler would spread the two threads over the processors, so
//! they are pinned. The program cannot observe the pinning: it is undone before any call that would reveal it (see
//! [`Call::Spread`]), and as soon as another thread makes a call.
//!
//! [`Call::Spread`]: crate::filter::Call::Spread

use crate::system::Processors;
use libc::pid_t;

/// Number of consecutive calls after which a thread is pinned.
pub const STREAK: u32 = 64;

/// The pinned thread, if any.
#[derive(Default)]
pub struct Near {
    last: pid_t,
    streak: u32,
    held: Option<Held>,
}

struct Held {
    thread: pid_t,
    /// Original affinities of the thread and of its tracer.
    before: [Processors; 2],
}

impl Near {
    /// Registers a call of a thread.
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
        if here.assign(thread) {
            self.held = Some(Held { thread, before: before.into() });
            if !here.assign(0) {
                self.spread();
            }
        }
    }

    /// Restores the original affinities.
    pub fn spread(&mut self) {
        self.streak = 0;
        if let Some(held) = self.held.take() {
            held.before[0].assign(held.thread);
            held.before[1].assign(0);
        }
    }

    /// Whether this thread is pinned.
    pub fn holds(&self, thread: pid_t) -> bool {
        self.held.as_ref().is_some_and(|held| held.thread == thread)
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        self.spread();
    }
}
