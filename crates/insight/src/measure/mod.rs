//! Measures the maximum rates of this machine and a disk, and stores them.
//!
//! [`ceilings`] measures, in about twenty seconds; [`keep`], [`kept`], [`kept_for`] and [`forget`] manage the file of
//! stored figures. `disk` measures files, `memory` memory and cores, and `load` the load of other programs; the caller
//! supplies parsers, writers and codecs as [`Kernels`]. `place` identifies machine and disk, and `system` wraps system
//! calls. Evaluates no job; see [`crate`] for the use of the figures.

mod disk;
mod kept;
mod load;
mod memory;
mod place;
mod system;

pub use kept::{caches, forget, keep, kept, kept_for};
pub use polyhaul_pipeline::machine::{Container, free_memory_bytes};

use crate::ceilings::Ceilings;
use polyhaul_model::error::Result;
use polyhaul_pipeline::machine::cores;
use polyhaul_pipeline::options::{Cancel, Progress};
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// Minimum rounds per figure, unless they take too long.
const MIN_ROUNDS: usize = 3;
/// Maximum rounds per figure.
const MAX_ROUNDS: usize = 100;
/// Total duration after which a figure gets no more rounds.
const LONG: Duration = Duration::from_secs(3);

polyhaul_model::options! {
    /// Options for [`ceilings`]. The defaults suit large jobs.
    #[derive(Clone, Debug)]
    pub struct MeasureOptions {
        /// Maximum size of the files written, in bytes (256 MiB). Smaller if disk space or memory is scarce, or the
        /// disk is slow.
        pub file_bytes: u64 = 256 << 20, with_file_bytes;
        /// Approximate amount of text for [`Kernels`], in bytes (64 MiB); a quarter of it for images. With less, much
        /// of the time is spent on fresh memory, which large jobs reuse.
        pub data_bytes: usize = 64 << 20, with_data_bytes;
        /// Duration per figure, with at least three rounds (0.3 s).
        pub figure_time: Duration = Duration::from_millis(300), with_figure_time;
        /// Cancellation.
        pub cancel: Cancel = Cancel::default(), with_cancel;
        /// Called before each figure with the number of completed figures and the total.
        pub progress: Option<Progress> = None, with_progress;
    }
}

/// Measures the machine, the disk of `folder` and the `kernels`. Leaves no files behind.
///
/// Some figures use all cores. Other programs degrade the figures, so run this on an idle machine:
/// [`Ceilings::other_load`] is their load, and [`Ceilings::is_quiet`] returns whether it is acceptable.
///
/// # Errors
/// [`ErrorKind::Io`](polyhaul_model::error::ErrorKind::Io) if no file can be created in `folder`, or the disk is full;
/// `Memory`; `Cancelled`.
pub fn ceilings(folder: &Path, options: &MeasureOptions, kernels: &Kernels) -> Result<Ceilings> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut ceilings = Ceilings {
        machine: place::machine(),
        disk: place::disk(folder),
        measured_unix_s: now.map_or(0, |since| since.as_secs()),
        cores: cores(),
        ..Ceilings::default()
    };
    let bench = Bench::new(options, FIGURES + kernels.figures);
    let start_time = load::now();
    let start = Instant::now();
    disk::measure(&bench, folder, &mut ceilings)?;
    memory::measure(&bench, &mut ceilings)?;
    (kernels.measure)(&bench, &mut ceilings)?;
    if let Some(start_time) = start_time
        && let Some(end) = load::now()
    {
        ceilings.other_load = load::others(start_time, end, start.elapsed().as_secs_f64(), ceilings.cores);
    }
    Ok(ceilings)
}

/// Names the machine and the disk of `folder`, and measures memory in less than a tenth of a second. The rates of the
/// disk and of formats stay 0, which is unknown.
pub fn quick(folder: &Path) -> Ceilings {
    let options = MeasureOptions { data_bytes: 4 << 20, figure_time: Duration::from_millis(20), ..Default::default() };
    let mut ceilings =
        Ceilings { machine: place::machine(), disk: place::disk(folder), cores: cores(), ..Ceilings::default() };
    // Without memory, there are no figures.
    let _ = memory::measure_rates(&Bench::new(&options, memory::FIGURES), &mut ceilings);
    ceilings
}

/// Syncs a file and asks the system to drop it from the page cache. Returns `false` if this is not supported (on all
/// systems except Linux) or if the file cannot be opened. The request is a hint: only reading the file shows whether
/// the system followed it ([`polyhaul_trace::Recording::used`]).
pub fn forget_cached(file: &Path) -> bool {
    let Ok(file) = std::fs::File::open(file) else { return false };
    let _ = file.sync_data();
    system::forget_cached(&file);
    cfg!(target_os = "linux")
}

/// Number of figures for machine and disk, excluding [`Kernels`].
pub const FIGURES: u64 = disk::FIGURES + memory::FIGURES;

/// Measures parsers, writers and codecs. Passed in by the caller, since those crates depend on this one.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// Number of figures.
    pub figures: u64,
    /// Fills in [`Ceilings::kernels`] and [`Ceilings::unpacking`].
    pub measure: fn(&Bench<'_>, &mut Ceilings) -> Result<()>,
}

/// State of one [`ceilings`] run: options and progress.
#[derive(Debug)]
pub struct Bench<'a> {
    options: &'a MeasureOptions,
    /// Number of figures.
    total: u64,
    /// Number of figures started.
    started: Cell<u64>,
}

impl<'a> Bench<'a> {
    /// A run of `total` figures.
    pub fn new(options: &'a MeasureOptions, total: u64) -> Bench<'a> {
        Bench { options, total, started: Cell::new(0) }
    }

    /// The options.
    pub fn options(&self) -> &'a MeasureOptions {
        self.options
    }

    /// Number of figures started.
    pub fn started(&self) -> u64 {
        self.started.get()
    }

    /// Counts a figure as started and reports progress.
    pub fn start_figure(&self) {
        let started = self.started.get();
        self.started.set(started + 1);
        if let Some(progress) = &self.options.progress {
            (progress.0)(started.min(self.total), Some(self.total));
        }
    }

    /// Fails if cancelled.
    fn check(&self) -> Result<()> {
        self.options.cancel.check()
    }

    /// Repeats `round` for the configured duration, at least 3 times unless that takes more than 3 s, and at most 100
    /// times.
    pub fn rounds(&self, mut round: impl FnMut() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        for count in 1..=MAX_ROUNDS {
            self.check()?;
            round()?;
            let elapsed = start.elapsed();
            if elapsed > LONG || (count >= MIN_ROUNDS && elapsed > self.options.figure_time) {
                break;
            }
        }
        Ok(())
    }

    /// Measures a figure: amount per second, where `round` returns the amount. Takes the median, since jobs rarely
    /// reach the maximum.
    pub fn rate(&self, mut round: impl FnMut() -> Result<u64>) -> Result<f64> {
        self.start_figure();
        let mut rates = Vec::new();
        self.rounds(|| {
            let start = Instant::now();
            let count = round()?;
            rates.push(per_second(count, start.elapsed()));
            Ok(())
        })?;
        Ok(median(&mut rates))
    }
}

/// Rate per second. Always finite.
pub fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(1e-9)
}

/// Median: the middle value, or the upper of the two middle values; 0 if empty.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A temporary folder, removed on drop.
    pub(crate) struct Folder(pub(crate) std::path::PathBuf);

    impl Folder {
        pub(crate) fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("polyhaul-measure-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_middle_of_rounds_counts() {
        assert_eq!(median(&mut [3.0, 100.0, 1.0]), 3.0);
        assert_eq!(median(&mut [4.0, 2.0]), 4.0);
        assert_eq!(median(&mut []), 0.0);
        assert!(per_second(u64::MAX, Duration::ZERO).is_finite());
    }
}
