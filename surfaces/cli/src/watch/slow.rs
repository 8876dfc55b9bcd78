//! Throttled and cold runs of `polyhaul watch`: the devices that the options ask for, the files that a program read,
//! and the first line, which says what was throttled.
//!
//! The recorder holds the calls; `polyhaul_watch::slowed` explains how.

use crate::args::pace::PaceArgs;
use crate::human;
use crate::watch::render;
use polyhaul::measure;
use polyhaul_watch::files::{File, Kind};
use polyhaul_watch::report::Watched;
use polyhaul_watch::slowed::{SlowDevice, SlowedCalls};
use polyhaul_watch::trace::Seen;
use std::path::PathBuf;
use std::time::Duration;

/// The requested devices for reads and for writes.
pub fn devices(pace: &PaceArgs) -> [SlowDevice; 2] {
    let device = |bytes_per_second, latency: Option<Duration>| {
        let latency = latency.unwrap_or_default();
        SlowDevice { bytes_per_second, latency }
    };
    [device(pace.read_rate, pace.read_latency), device(pace.write_rate, pace.write_latency)]
}

/// Paths of the regular files that a program read.
pub fn files_read(seen: &Seen) -> Vec<PathBuf> {
    let is_read = |file: &&File| file.kind == Kind::File && file.reads.bytes + file.mapped_bytes > 0;
    seen.files.list().iter().filter(is_read).map(|file| PathBuf::from(&file.name)).collect()
}

/// Drops files from the page cache, as far as the system does: not those that are mapped or not yet written.
pub fn drop_cached(files: &[PathBuf]) {
    files.iter().for_each(|file| _ = measure::forget_cached(file));
}

/// What was throttled, and what was not; `None` if nothing was to be.
pub fn sentence(watched: &Watched) -> Option<String> {
    let kinds = [("reads", watched.slowed_reads), ("writes", watched.slowed_writes)];
    let parts: Vec<_> = kinds.iter().filter_map(|(kind, slowed)| slowed.map(|slowed| part(kind, &slowed))).collect();
    if parts.is_empty() {
        return None;
    }
    let escaped = render::escaped(watched);
    let rest = if escaped.is_empty() { String::new() } else { format!("; not throttled: {}", escaped.join(", ")) };
    Some(parts.join("; ") + &rest)
}

fn part(kind: &str, slowed: &SlowedCalls) -> String {
    let limit = slowed.bytes_per_second.map(|rate| format!("throttled to {}/s", human::bytes(rate)));
    let latency =
        (slowed.latency_seconds > 0.0).then(|| format!("delayed by {} each", human::seconds(slowed.latency_seconds)));
    let limits: Vec<_> = limit.into_iter().chain(latency).collect();
    let calls = human::plural(slowed.calls, "call");
    let rate = if slowed.seconds > 0.0 { (slowed.bytes as f64 / slowed.seconds) as u64 } else { 0 };
    let moved = human::bytes(slowed.bytes);
    let taken = human::seconds(slowed.seconds);
    format!("{kind} {}: {moved} in {calls} took {taken} ({}/s)", limits.join(" and "), human::bytes(rate))
}
