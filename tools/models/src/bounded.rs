//! Every order of operations in which few threads are interrupted.
//!
//! A thread that waits or ends is followed by each of the others in turn. Only interrupting one that could continue is
//! bounded: most faults need one or two such changes (Musuvathi and Qadeer, "Iterative Context Bounding", 2007), and
//! the number of orders grows with the number of operations to the power of the bound.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// Enumerates the orders depth first.
pub(crate) struct Bounded {
    max_interruptions: usize,
    /// Interruptions left in this order.
    left: usize,
    /// The choices of this order, and the next one to repeat.
    choices: Vec<Choice>,
    next: usize,
    is_started: bool,
}

/// The threads that could run at one operation.
struct Choice {
    threads: Vec<TaskId>,
    /// The index of the one that runs.
    chosen: usize,
    /// Whether any but the first is an interruption.
    is_interruptible: bool,
}

impl Bounded {
    pub(crate) fn new(max_interruptions: usize) -> Bounded {
        Bounded { max_interruptions, left: 0, choices: Vec::new(), next: 0, is_started: false }
    }

    /// Removes the last choices that have no other thread, and takes the next thread of the one before them.
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
