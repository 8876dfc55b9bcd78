//! The progress bar of a job, on standard error if that is a terminal.
//!
//! Rates cover the last seconds rather than the whole job, and the remaining time includes the phases that follow.
//! `Gauge` formats the text and has no clock; indicatif draws.

use crate::human;
use indicatif::{ProgressBar, ProgressStyle};
use polyhaul::options::Progress;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Jobs shorter than this show no bar, since it would only flash.
const QUIET_FOR: Duration = Duration::from_millis(300);
/// The period over which a rate is computed.
const WINDOW: Duration = Duration::from_secs(3);
/// The minimum period for a rate.
const MIN_WINDOW: Duration = Duration::from_millis(500);
/// The interval at which amounts are recorded and the text is updated.
const EVERY: Duration = Duration::from_millis(100);

const KNOWN: &str = "{prefix} [{bar:30}] {msg}";
const UNKNOWN: &str = "{prefix} {msg}";

/// The unit of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Files,
    Figures,
}

/// A bar that appears if its job takes long, and disappears on drop.
#[derive(Default)]
pub struct Bar(Option<Arc<Lazy>>);

struct Lazy {
    label: String,
    unit: Unit,
    /// Number of phases that follow and take about as long.
    later: u32,
    /// The time of the first progress report.
    start: OnceLock<Instant>,
    gauge: Mutex<Gauge>,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    /// Creates a bar for a job that counts bytes, if `is_wanted` and standard error is a terminal. `later` phases of
    /// about the same duration follow.
    pub fn new(label: String, is_wanted: bool, later: u32) -> Bar {
        Bar::counting(label, is_wanted, Unit::Bytes, later)
    }

    /// Creates a bar for a job that counts files.
    pub fn files(label: String, is_wanted: bool) -> Bar {
        Bar::counting(label, is_wanted, Unit::Files, 0)
    }

    /// Creates a bar for a job that counts measured figures.
    pub fn figures(label: String, is_wanted: bool) -> Bar {
        Bar::counting(label, is_wanted, Unit::Figures, 0)
    }

    fn counting(label: String, is_wanted: bool, unit: Unit, later: u32) -> Bar {
        let shown = is_wanted && std::io::stderr().is_terminal();
        let start = OnceLock::new();
        let gauge = Mutex::default();
        let bar = OnceLock::new();
        Bar(shown.then(|| Arc::new(Lazy { label, unit, later, start, gauge, bar })))
    }

    /// Hides the bar while `print` runs.
    pub fn aside(&self, print: impl FnOnce()) {
        match self.0.as_ref().and_then(|lazy| lazy.bar.get()) {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// The progress callback for the library, or `None` without a bar.
    pub fn callback(&self) -> Option<Progress> {
        let lazy = self.0.clone()?;
        Some(Progress(Arc::new(move |done_amount, total| lazy.update(done_amount, total))))
    }
}

impl Lazy {
    /// Records progress. Worker threads call this, so it never waits: if another thread is updating, it does nothing.
    fn update(&self, done_amount: u64, total: Option<u64>) {
        let elapsed = self.start.get_or_init(Instant::now).elapsed();
        let Ok(mut gauge) = self.gauge.try_lock() else { return };
        if !gauge.note(elapsed, done_amount) || elapsed < QUIET_FOR {
            return;
        }
        let bar = self.bar.get_or_init(|| bar(&self.label, total));
        bar.set_message(gauge.words(self.unit, total, self.later));
        bar.set_position(done_amount);
    }
}

/// Times within the last [`WINDOW`], with the amounts done by then.
#[derive(Debug, Default)]
struct Gauge(VecDeque<(Duration, u64)>);

impl Gauge {
    /// Records the amount done at a time since the start. Returns `false` if the last record is too recent.
    fn note(&mut self, at: Duration, done_amount: u64) -> bool {
        if self.0.back().is_some_and(|last| at < last.0 + EVERY) {
            return false;
        }
        self.0.push_back((at, done_amount));
        while self.0.get(1).is_some_and(|second| second.0 + WINDOW <= at) {
            self.0.pop_front();
        }
        true
    }

    /// The amount per second, or `None` until enough time has passed.
    fn rate(&self) -> Option<f64> {
        let first = self.0.front()?;
        let last = self.0.back()?;
        let time = last.0.saturating_sub(first.0);
        (time >= MIN_WINDOW).then(|| last.1.saturating_sub(first.1) as f64 / time.as_secs_f64())
    }

    /// The seconds left in a phase of size `total` and in the `later` phases of about the same duration.
    fn seconds_left(&self, total: u64, later: u32) -> Option<f64> {
        let (at, done_amount) = *self.0.back()?;
        let left = total.saturating_sub(done_amount) as f64 / self.rate().filter(|rate| *rate > 0.0)?;
        Some(left + f64::from(later) * (at.as_secs_f64() + left))
    }

    /// The text of the bar: `12.0 MB of 340.0 MB, 133 MB/s, 3 s left`.
    fn words(&self, unit: Unit, total: Option<u64>, later: u32) -> String {
        let done_amount = self.0.back().map_or(0, |last| last.1);
        let amount = |value| if unit == Unit::Bytes { human::bytes(value) } else { human::count(value) };
        let mut text = match total {
            Some(total) => format!("{} of {}", amount(done_amount), amount(total)),
            None => amount(done_amount),
        };
        match unit {
            Unit::Bytes => {
                let rate = self.rate().map(|rate| format!(", {}", human::rate(rate.round() as u64, 1.0)));
                text += &rate.unwrap_or_default();
            }
            Unit::Files => text += " files",
            Unit::Figures => text += " figures",
        }
        let left = total.and_then(|total| self.seconds_left(total, later));
        text + &left.map_or(String::new(), |left| format!(", {} left", time(left)))
    }
}

/// Formats a time in whole seconds: `40 s`, `3 min 20 s`, `2 h 5 min`.
fn time(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn bar(label: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), KNOWN),
        None => (ProgressBar::no_length(), UNKNOWN),
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style.progress_chars("=> ")).with_prefix(label.to_owned())
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.0.as_ref().and_then(|lazy| lazy.bar.get()) {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    /// Creates a gauge from pairs of milliseconds and finished megabytes.
    fn gauge_of(notes: &[(u64, u64)]) -> Gauge {
        let mut gauge = Gauge::default();
        notes.iter().for_each(|&(ms, megabytes)| _ = gauge.note(Duration::from_millis(ms), megabytes * MB));
        gauge
    }

    #[test]
    fn templates_are_valid() {
        assert!([KNOWN, UNKNOWN].iter().all(|template| ProgressStyle::with_template(template).is_ok()));
        assert!(Bar::new("reading".into(), false, 0).callback().is_none());
    }

    #[test]
    fn the_first_figure_is_no_rate() {
        // 40 MB arrived at once, like the first block of a file in the page cache.
        let first = gauge_of(&[(0, 0), (1, 40), (300, 40)]);
        assert_eq!(first.words(Unit::Bytes, Some(400 * MB), 0), "40.0 MB of 400.0 MB");
        let later = gauge_of(&[(0, 0), (1, 40), (300, 40), (600, 60)]);
        assert_eq!(later.words(Unit::Bytes, Some(400 * MB), 0), "60.0 MB of 400.0 MB, 100 MB/s, 3 s left");
    }

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        // One second at 1 GB/s, then ten seconds at 10 MB/s.
        let mut notes: Vec<_> = (0..=10).map(|step| (step * 100, step * 100)).collect();
        notes.extend((1..=100).map(|step| (1000 + step * 100, 1000 + step)));
        let gauge = gauge_of(&notes);
        assert!((gauge.rate().unwrap() / 1e7 - 1.0).abs() < 0.05, "{:?}", gauge.rate());
        assert_eq!(gauge.words(Unit::Bytes, Some(1200 * MB), 0), "1.1 GB of 1.2 GB, 10 MB/s, 10 s left");
        assert!(gauge.0.len() < 40, "{}", gauge.0.len());
    }

    #[test]
    fn the_time_left_counts_the_phases_that_follow() {
        let gauge = gauge_of(&[(0, 0), (1000, 100), (2000, 200)]);
        assert_eq!(gauge.seconds_left(400 * MB, 0), Some(2.0));
        // Writing takes about as long as reading: 4 s.
        assert_eq!(gauge.seconds_left(400 * MB, 1), Some(6.0));
        // Without progress, the remaining time is unknown.
        assert_eq!(gauge_of(&[(0, 100), (4000, 100), (8000, 100)]).seconds_left(400 * MB, 1), None);
    }

    #[test]
    fn other_things_than_bytes_are_counted_too() {
        let mut gauge = Gauge::default();
        (0..=10).for_each(|step| _ = gauge.note(Duration::from_millis(step * 100), step));
        assert_eq!(gauge.words(Unit::Files, Some(1210), 0), "10 of 1,210 files, 2 min 0 s left");
        assert_eq!(gauge.words(Unit::Figures, None, 0), "10 figures");
        assert_eq!([time(59.4), time(200.0), time(7500.0)], ["59 s", "3 min 20 s", "2 h 5 min"]);
    }
}
