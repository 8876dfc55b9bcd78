//! Unwinds the samples of stacks that recorders took.
//!
//! A sample is a copy of a stack. The code that it refers to is read from the memory of its process, so samples of
//! processes that have ended meanwhile have one frame.

use super::layout::{FREE, READY, STACK_BYTES, SampleSlot, tally};
use super::record::{SAMPLED, SharedRecord, used};
use crate::stacks::{Shelf, Space, StackCopy, Stacks};
use crate::trace::CpuTime;
use libc::pid_t;
use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Number of programs whose modules are remembered.
const MAX_SPACES: usize = 64;

/// Stacks of calls and of time on processors.
#[derive(Default)]
pub(super) struct StackSamples {
    pub(super) shelf: Shelf,
    pub(super) cpu: CpuTime,
    /// By index of the file.
    pub(super) files: HashMap<u32, Stacks>,
    pub(super) waits: HashMap<pid_t, Stacks>,
    /// Of threads that end the waits of others.
    pub(super) wakes: HashMap<pid_t, Stacks>,
    /// Of first threads that sleep or wait for events.
    pub(super) sleeps: HashMap<pid_t, Stacks>,
    /// Of large allocations; bytes instead of nanoseconds.
    pub(super) allocations: Stacks,
    /// Modules by process and number of the program in it.
    spaces: HashMap<(pid_t, u32), Space>,
}

impl StackSamples {
    /// Unwinds all samples that are ready.
    pub(super) fn collect(&mut self, record: &SharedRecord) {
        let samples = record.shared.samples.iter().take(used(&record.shared.next_sample));
        for slot in samples.filter(|slot| slot.state.load(Acquire) == READY) {
            let tally = slot.tally.load(Relaxed);
            let stack = self.unwind(slot);
            let weight = slot.weight.load(Relaxed);
            let amount = slot.amount.load(Relaxed);
            let time_ns = record.nanoseconds(amount);
            let file = slot.file.load(Relaxed);
            match tally {
                0 => self.add_cpu(slot.thread.load(Relaxed) as pid_t, stack, weight),
                tally::WAIT => {
                    let waits = self.waits.entry(slot.thread.load(Relaxed) as pid_t).or_default();
                    waits.add_several(stack, weight, time_ns);
                }
                tally::WAKE => {
                    let wakes = self.wakes.entry(slot.thread.load(Relaxed) as pid_t).or_default();
                    wakes.add_several(stack, weight, 0);
                }
                tally::SLEEP => {
                    let sleeps = self.sleeps.entry(slot.thread.load(Relaxed) as pid_t).or_default();
                    sleeps.add_several(stack, weight, time_ns);
                }
                tally::ALLOCATE => self.allocations.add_several(stack, weight, amount.cast_signed()),
                _ => self.files.entry(file).or_default().add_several(stack, weight, time_ns),
            }
            slot.process.store(0, Relaxed);
            slot.state.store(FREE, Release);
        }
    }

    fn add_cpu(&mut self, thread: pid_t, stack: u32, periods: u64) {
        let time_ns = periods.saturating_mul(SAMPLED.as_nanos() as u64).cast_signed();
        self.cpu.samples.entry(thread).or_default().add_time(stack, periods, time_ns);
    }

    fn unwind(&mut self, slot: &SampleSlot) -> u32 {
        let process = slot.process.load(Relaxed) as pid_t;
        let count = (slot.stack_bytes.load(Relaxed) as usize).min(STACK_BYTES);
        let mut bytes = vec![0; count];
        let (words, _) = bytes.as_chunks_mut();
        words.iter_mut().zip(&slot.stack).for_each(|(bytes, word)| *bytes = word.load(Relaxed).to_le_bytes());
        let link = Some(slot.link.load(Relaxed)).filter(|link| *link != 0);
        let pc = slot.pc.load(Relaxed);
        let copy = StackCopy { pc, sp: slot.sp.load(Relaxed), fp: slot.fp.load(Relaxed), link, bytes: &bytes };
        if self.spaces.len() >= MAX_SPACES {
            self.spaces.clear();
        }
        let space = self.spaces.entry((process, slot.generation.load(Relaxed))).or_default();
        space.walk_copy(process, &copy, &mut self.shelf)
    }
}
