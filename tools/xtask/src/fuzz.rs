//! `cargo xtask fuzz [TARGET] [--seconds N]` and `cargo xtask fuzz --all --hours N`: builds `tools/fuzz/` with
//! AddressSanitizer and runs its targets, seeded with the test data.
//!
//! A long run always picks the target that is farthest from its goal, one per processor at a time, keeps the corpora in
//! tools/fuzz/corpus, and adds each turn to the table of `tools/fuzz/RECORD.md` (see `record`). The part `fuzz` of
//! `cargo xtask nightly` runs the targets whose parsers changed (see `changed`). Requires only a nightly toolchain, for
//! AddressSanitizer. The bodies of the targets are in the test kit, whose normal tests run them over the same files.

mod changed;
mod engine;
mod long;
mod record;
mod targets;

use crate::{term, usage_error};
pub(crate) use changed::step;
use engine::Engine;
use std::process::ExitCode;
use std::time::Duration;
use targets::TARGETS;

/// Default time per target.
const SECONDS: u64 = 60;

/// Selected run.
#[derive(Debug, PartialEq)]
enum Plan<'a> {
    /// One target, or each target once.
    Once { name: Option<&'a str>, seconds: u64 },
    /// All targets in turns for this long; totals are recorded.
    Long { seconds: u64 },
}

/// Fuzzes as specified by `args`.
pub(crate) fn main(args: &[&str]) -> ExitCode {
    let Some(plan) = parse(args) else {
        return usage_error();
    };
    let engine = match Engine::build() {
        Ok(engine) => engine,
        Err(reason) => {
            term::err(format!("{reason}\n"));
            return ExitCode::FAILURE;
        }
    };
    let failed = match plan {
        Plan::Once { name, seconds } => once(&engine, name, seconds),
        Plan::Long { seconds } => long::run(&engine, Duration::from_secs(seconds)),
    };
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse<'a>(args: &[&'a str]) -> Option<Plan<'a>> {
    if let ["--all", "--hours", hours] = args {
        let hours: f64 = hours.parse().ok().filter(|hours| (0.0..=1e6).contains(hours))?;
        return Some(Plan::Long { seconds: (hours * 3600.0) as u64 });
    }
    let (name, options) = match args {
        [name, rest @ ..] if !name.starts_with('-') => (Some(*name), rest),
        rest => (None, rest),
    };
    let seconds = match options {
        [] => SECONDS,
        ["--seconds", number] => number.parse().ok()?,
        _ => return None,
    };
    let is_known = name.is_none_or(|name| TARGETS.iter().any(|target| target.name == name));
    is_known.then_some(Plan::Once { name, seconds })
}

/// Fuzzes one target, or all of them even if one has findings; returns the number of targets with findings or that
/// could not run.
fn once(engine: &Engine, name: Option<&str>, seconds: u64) -> usize {
    let chosen = TARGETS.iter().filter(|target| name.is_none_or(|name| name == target.name));
    chosen
        .filter(|target| engine.run(target, target.max_bytes, seconds).is_none_or(|turn| turn.found_something))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_and_time_are_read() {
        assert_eq!(parse(&[]), Some(Plan::Once { name: None, seconds: SECONDS }));
        assert_eq!(parse(&["obj"]), Some(Plan::Once { name: Some("obj"), seconds: SECONDS }));
        assert_eq!(parse(&["mtl", "--seconds", "5"]), Some(Plan::Once { name: Some("mtl"), seconds: 5 }));
        assert_eq!(parse(&["--seconds", "5"]), Some(Plan::Once { name: None, seconds: 5 }));
        assert_eq!(parse(&["--all", "--hours", "1.5"]), Some(Plan::Long { seconds: 5400 }));
        for wrong in [&["dxf"][..], &["--seconds"], &["--seconds", "soon"], &["obj", "mtl"], &["--all"]] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
        assert_eq!(parse(&["--all", "--hours", "-1"]), None);
    }
}
