//! The part `fuzz` of `cargo xtask nightly`: fuzzes targets whose parsers have changed since they last passed.

use super::engine::Engine;
use super::targets::{TARGETS, Target};
use crate::memory::{self, Memory};
use crate::steps::{Outcome, Tally, Totals};
use crate::term;
use std::time::Instant;

/// Time for all targets, including the build.
const SECONDS: u64 = 20 * 60;

/// Minimum useful time per target.
const TURN_SECONDS: u64 = 15;

/// Code that every parser uses.
const SHARED: [&str; 3] = ["crates/core/text", "crates/core/bytes", "crates/core/pipeline"];

/// Fuzzes each changed target for its share of the time.
pub(crate) fn step(tally: &mut Tally) -> Outcome {
    let start = Instant::now();
    let engine = match Engine::build() {
        Ok(engine) => engine,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let changed: Vec<(&Target, String)> = TARGETS.iter().filter_map(is_changed).collect();
    let mut is_well = true;
    for (number, (target, hash)) in changed.iter().enumerate() {
        let left = SECONDS.saturating_sub(start.elapsed().as_secs());
        let seconds = (left / (changed.len() - number) as u64).max(TURN_SECONDS);
        let is_ok = engine.run(target, target.max_bytes, seconds).is_some_and(|turn| !turn.found_something);
        if is_ok {
            tally.totals.passed += 1;
            let totals = Totals::default();
            Memory { hash: hash.clone(), seconds: seconds as f64, cpu_seconds: None, totals }.store(&part(target));
        } else {
            is_well = false;
            tally.totals.failed += 1;
            tally.failures.push(part(target));
        }
    }
    term::out(format!("{} of {} targets have changed parsers\n", changed.len(), TARGETS.len()));
    Outcome::of(is_well)
}

fn part(target: &Target) -> String {
    format!("fuzz-{}", target.name)
}

/// Returns the target with the hash of its parser, unless it passed with the same hash.
fn is_changed(target: &'static Target) -> Option<(&'static Target, String)> {
    let inputs: Vec<&str> = SHARED.into_iter().chain([target.parser]).collect();
    let hash = memory::hash(&inputs, &[])?;
    Memory::load(&part(target), &hash).is_none().then_some((target, hash))
}
