//! Scheduler that enumerates all interleavings with a bounded number of interruptions.
//!
//! When a thread waits or ends, each of the others runs next in turn. Only interrupting a thread that could continue is
//! bounded: most bugs need one or two such switches (Musuvathi and Qadeer, "Iterative Context Bounding", 2007), and the
//! number of interleavings grows with the number of operations to the power of the bound.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// Enumerates interleavings depth first.
pub(crate) struct Bounded {
    max_interruptions: usize,
    /// Interruptions left in the current interleaving.
    left: usize,
    /// Choices of the current interleaving; `next` is the index of the next one to replay.
    choices: Vec<Choice>,
    next: usize,
    is_started: bool,
}

/// Runnable threads at an operation.
struct Choice {
    threads: Vec<TaskId>,
    /// Index of the thread that runs.
    chosen: usize,
    /// Whether choosing any thread but the first is an interruption.
    is_interruptible: bool,
}

impl Bounded {
    pub(crate) fn new(max_interruptions: usize) -> Bounded {
        Bounded { max_interruptions, left: 0, choices: Vec::new(), next: 0, is_started: false }
    }

    /// Moves to the next interleaving: drops exhausted choices at the end, and selects the next thread of the last
    /// remaining one. Returns whether there is a next interleaving.
    fn advance(&mut self) -> bool {
        while let Some(last) = self.choices.last_mut() {
            last.chosen += 1;
            if last.chosen < last.threads.len() {
                return true;
            }
            self.choices.pop();
        }
        false
    }

    fn choice(&self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Choice {
        let current = current.filter(|id| runnable.iter().any(|task| task.id() == *id));
        let others = runnable.iter().map(|task| task.id()).filter(|id| Some(*id) != current);
        let threads = match current {
            Some(id) if is_yielding && runnable.len() > 1 => others.filter(|other| *other != id).collect(),
            Some(id) if self.left == 0 || is_yielding => vec![id],
            Some(id) => [id].into_iter().chain(others).collect(),
            None => others.collect(),
        };
        Choice { threads, chosen: 0, is_interruptible: current.is_some() && !is_yielding }
    }
}

impl Scheduler for Bounded {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.is_started && !self.advance() {
            return None;
        }
        self.is_started = true;
        self.left = self.max_interruptions;
        self.next = 0;
        Some(Schedule::new(0))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        if self.next == self.choices.len() {
            let choice = self.choice(runnable, current, is_yielding);
            self.choices.push(choice);
        }
        let choice = self.choices.get(self.next)?;
        self.next += 1;
        self.left -= usize::from(choice.is_interruptible && choice.chosen > 0);
        choice.threads.get(choice.chosen).copied()
    }

    fn next_u64(&mut self) -> u64 {
        0
    }
}
