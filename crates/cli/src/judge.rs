//! What bound the run's jobs, for people and for `--json`.
//!
//! The rules are the library's (`polyhaul::report::Verdict`); here they are asked and shown.

use crate::human;
use polyhaul::Report;
use polyhaul::measure;
use polyhaul::report::{Facts, Verdict};
use polyhaul::trace::Recording;
use serde::Serialize;

/// Causes of less than this share are not listed for people.
const LISTED: f64 = 0.01;

/// The verdict on what was recorded of jobs that did what `report` says.
pub fn of(seen: &Recording, report: &Report) -> Verdict {
    Verdict::of(seen, &Facts::of(report), measure::kept_for(seen).as_ref())
}

/// The line of a verdict behind `of`; with `verbose` its causes and advice, too.
pub fn words(of: &str, verdict: &Verdict, verbose: bool) -> String {
    let mut text = format!("{of}{verdict}\n");
    if verbose {
        let listed = verdict.causes.iter().filter(|(_, share)| *share >= LISTED);
        for (bound, share) in listed {
            text.push_str(&format!("  {:>4.0} %  {}\n", share * 100.0, bound.words()));
        }
        verdict.advice.iter().for_each(|advice| text.push_str(&format!("  {}\n", human::safe(advice))));
    }
    text
}

/// A verdict in JSON.
#[derive(Serialize)]
pub struct Judged {
    bound: &'static str,
    share: f64,
    seconds: f64,
    bytes_per_second: f64,
    best_possible_seconds: Option<f64>,
    times_off: Option<f64>,
    advice: Vec<String>,
    causes: Vec<Cause>,
}

#[derive(Serialize)]
struct Cause {
    bound: &'static str,
    share: f64,
}

impl From<Verdict> for Judged {
    fn from(verdict: Verdict) -> Judged {
        Judged {
            bound: verdict.bound.name(),
            share: verdict.share,
            seconds: verdict.seconds,
            bytes_per_second: verdict.bytes_per_second,
            best_possible_seconds: verdict.best_possible_seconds,
            times_off: verdict.times_off,
            advice: verdict.advice,
            causes: verdict.causes.iter().map(|&(bound, share)| Cause { bound: bound.name(), share }).collect(),
        }
    }
}
