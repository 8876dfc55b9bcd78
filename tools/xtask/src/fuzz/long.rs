//! Long run of the fuzz targets: always picks the target that is farthest from its goal, and records every turn.

use super::engine::Engine;
use super::record::{self, Record, Turn};
use super::targets::{TARGETS, Target};
use crate::term;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum length of a turn: short enough that all targets have had one after a few hours.
const TURN_SECONDS: u64 = 600;

/// Maximum size of inputs in turns with large inputs.
const LARGE_INPUT_BYTES: usize = 65_536;

/// One turn in this many has large inputs.
const LARGE_SHARE: u64 = 8;

/// State shared by the worker threads.
struct State {
    record: Record,
    /// Targets that are running, that could not run, or with findings, which they would only find again.
    closed: Vec<&'static str>,
    stopped: usize,
    turns: u64,
}

/// Runs targets until the time is up or all have reached their goals; returns the number with findings or that could
/// not run.
pub(super) fn run(engine: &Engine, time: Duration) -> usize {
    let end = Instant::now() + time;
    let record = match Record::load() {
        Ok(record) => record,
        Err(error) => {
            term::err(format!("{}: {error}\n", record::PATH));
            return 1;
        }
    };
    let state = Mutex::new(State { record, closed: Vec::new(), stopped: 0, turns: 0 });
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let turn_seconds = (time.as_secs() * jobs as u64 / TARGETS.len() as u64).clamp(1, TURN_SECONDS);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| take_turns(engine, &state, end, turn_seconds));
        }
    });
    state.into_inner().unwrap_or_else(PoisonError::into_inner).stopped
}

fn take_turns(engine: &Engine, state: &Mutex<State>, end: Instant, turn_seconds: u64) {
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        let Some((target, number)) = lock().next().filter(|_| left > 0) else { return };
        // Turn numbers are independent of targets, so each target gets large inputs eventually.
        let is_large = number % LARGE_SHARE == LARGE_SHARE - 1;
        let max_bytes = if is_large { LARGE_INPUT_BYTES } else { target.max_bytes };
        let turn = engine.run(target, max_bytes, turn_seconds.min(left));
        lock().finish(target, turn);
    }
}

impl State {
    /// Returns the next target and the number of its turn, or `None` if all have reached their goals.
    fn next(&mut self) -> Option<(&'static Target, u64)> {
        let open = TARGETS.iter().filter(|target| !self.closed.contains(&target.name));
        let part = |target: &&Target| self.record.executions(target.name) * 1000 / target.goal;
        let target = open.min_by_key(part).filter(|target| part(target) < 1000)?;
        self.closed.push(target.name);
        self.turns += 1;
        Some((target, self.turns - 1))
    }

    /// Records a turn; a target without findings may get more.
    fn finish(&mut self, target: &Target, turn: Option<Turn>) {
        if turn.as_ref().is_some_and(|turn| !turn.found_something) {
            self.closed.retain(|name| *name != target.name);
        } else {
            self.stopped += 1;
        }
        let Some(turn) = turn else { return };
        self.record.add(target.name, &turn);
        if let Err(error) = self.record.save() {
            term::err(format!("{}: {error}\n", record::PATH));
        }
    }
}
