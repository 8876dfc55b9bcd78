//! Formats the verdict on a run, as text and JSON.
//!
//! The rules are in the library (`polyhaul::report::Verdict`). Nothing is measured here.

use crate::args::pace::Throttles;
use crate::human;
use polyhaul::Report;
use polyhaul::measure;
use polyhaul::report::Verdict;
use polyhaul::trace::Recording;
use serde::Serialize;

/// Judges a recording of jobs with this `report`, taking the requested throttles into account.
pub fn judge(seen: &Recording, report: &Report, throttles: &Throttles) -> Verdict {
    let facts = report.facts().throttled(throttles.read.as_ref(), throttles.write.as_ref());
    Verdict::from_recording(seen, &facts, measure::kept_for(seen).as_ref())
}

/// Formats the line of a verdict, after the prefix `of`. With `verbose`, its causes and advice follow; otherwise an
/// inconclusive verdict is an empty string.
pub fn words(of: &str, verdict: &Verdict, verbose: bool) -> String {
    if !verbose {
        return if verdict.is_telling() { format!("{of}{verdict}\n") } else { String::new() };
    }
    let mut text = format!("{of}{verdict}\n");
    if verdict.is_telling() {
        for (bound, percent) in verdict.percents() {
            text.push_str(&format!("  {percent:>4}%  {}\n", bound.words()));
        }
    }
    verdict.advice.iter().for_each(|advice| text.push_str(&format!("  {}\n", human::safe(advice))));
    text
}

/// A verdict in JSON.
#[derive(Serialize)]
pub struct Judged {
    bound: &'static str,
    limit: String,
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
            limit: verdict.limit,
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
