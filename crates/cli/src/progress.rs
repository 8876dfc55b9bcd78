//! The progress bar of one job, on standard error and only where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use polyhaul::options::Progress;
use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Jobs shorter than this show no bar: a flash says nothing.
const QUIET_FOR: Duration = Duration::from_millis(300);

const KNOWN: &str = "{msg} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
const UNKNOWN: &str = "{msg} {bytes}, {bytes_per_sec}";

const FILES: &str = "{msg} [{bar:30}] {pos} of {len} files, {eta} left";

const FIGURES: &str = "{msg} [{bar:30}] {pos} of {len} figures, {eta} left";

/// A bar that appears when its job takes long, and goes away with it.
#[derive(Default)]
pub struct Bar(Option<Arc<Lazy>>);

struct Lazy {
    label: String,
    /// How it looks where the end is known.
    known: &'static str,
    /// When the job first said something.
    start: OnceLock<Instant>,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    /// A bar for a job, where one is `wanted` and standard error is a terminal.
    pub fn new(label: String, wanted: bool) -> Bar {
        Bar::of(label, wanted, KNOWN)
    }

    /// The same for a job whose progress is files.
    pub fn files(label: String, wanted: bool) -> Bar {
        Bar::of(label, wanted, FILES)
    }

    /// The same for a job whose progress is figures.
    pub fn figures(label: String, wanted: bool) -> Bar {
        Bar::of(label, wanted, FIGURES)
    }

    fn of(label: String, wanted: bool, known: &'static str) -> Bar {
        let shown = wanted && std::io::stderr().is_terminal();
        Bar(shown.then(|| Arc::new(Lazy { label, known, start: OnceLock::new(), bar: OnceLock::new() })))
    }

    /// Does what prints, while the bar is away.
    pub fn aside(&self, print: impl FnOnce()) {
        match self.0.as_ref().and_then(|lazy| lazy.bar.get()) {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// What the library calls.
    pub fn callback(&self) -> Option<Progress> {
        let lazy = self.0.clone()?;
        Some(Progress(Arc::new(move |done, total| lazy.update(done, total))))
    }
}

impl Lazy {
    /// Called from worker threads, so it must not wait long: drawing is limited by the bar itself.
    fn update(&self, done: u64, total: Option<u64>) {
        if self.start.get_or_init(Instant::now).elapsed() < QUIET_FOR {
            return;
        }
        self.bar.get_or_init(|| bar(&self.label, total, self.known)).set_position(done);
    }
}

fn bar(label: &str, total: Option<u64>, known: &str) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), known),
        None => (ProgressBar::no_length(), UNKNOWN),
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style.progress_chars("=> ")).with_message(label.to_owned())
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

    #[test]
    fn templates_are_sound() {
        for template in [KNOWN, UNKNOWN, FILES, FIGURES] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
        assert!(Bar::new("reading".into(), false).callback().is_none());
    }
}
