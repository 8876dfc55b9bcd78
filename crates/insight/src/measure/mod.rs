//! The best rates of this machine and one of its disks, measured once and stored.
//!
//! [`ceilings`] measures, which takes about twenty seconds; [`keep`], [`kept`], [`kept_for`] and [`forget`] handle the
//! file that stores the figures. `disk` is about files, `memory` about memory and cores, `kernels` about our own
//! parsers, writers and codecs on the input made by `data`, and `load` about other programs. `place` identifies the
//! machine and the disk, and `system` has the calls specific to Linux. The use of the figures is described in
//! [`crate`]. Nothing here judges a job.

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

/// Minimum number of rounds of a figure, unless they take very long.
const MIN_ROUNDS: usize = 3;
/// Maximum number of rounds of a figure.
const MAX_ROUNDS: usize = 100;
/// A figure gets no more rounds once they took this long in total.
const LONG: Duration = Duration::from_secs(3);

polyhaul_model::options! {
    /// Options for measuring. The defaults yield figures that suit large jobs.
    #[derive(Clone, Debug)]
    pub struct MeasureOptions {
        /// The largest file that is written, in bytes (256 MiB). It is smaller if the disk or the memory has little
        /// room, or the disk is slow.
        pub file_bytes: u64 = 256 << 20, with_file_bytes;
        /// The approximate amount of text for our own components, in bytes (64 MiB); images have a quarter of it. With
        /// less, much of the time goes into memory that large jobs reuse.
        pub data_bytes: usize = 64 << 20, with_data_bytes;
        /// How long each figure is measured; there are at least three rounds (0.3 s).
        pub figure_time: Duration = Duration::from_millis(300), with_figure_time;
        /// Ask for a stop.
        pub cancel: Cancel = Cancel::default(), with_cancel;
        /// Called before each figure with the number of finished ones and the total.
        pub progress: Option<Progress> = None, with_progress;
    }
}

/// Measures the machine, the disk of `folder`, in which nothing is left, and `kernels`.
///
/// All cores are used for figures about all cores. Other programs that run at the same time worsen the figures, so this
/// is for an idle machine: [`Ceilings::other_load`] is what they used, and [`Ceilings::is_quiet`] whether that matters.
///
/// # Errors
/// [`ErrorKind::Io`](polyhaul_model::error::ErrorKind::Io) if no file can be created in `folder`, or there is no room
/// for one; `Memory`; `Cancelled`.
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

/// Asks the system to drop what it has of a file in memory, after all of it is on the disk; `false` if that is not
/// possible (all systems but Linux), or the file cannot be opened. It is a hint: whether it was followed shows when the
/// file is read ([`polyhaul_trace::Recording::used`]).
pub fn forget_cached(file: &Path) -> bool {
    let Ok(file) = std::fs::File::open(file) else { return false };
    let _ = file.sync_data();
    system::forget_cached(&file);
    cfg!(target_os = "linux")
}

/// The number of figures of the machine and the disk; the figures of [`Kernels`] are added to it.
pub const FIGURES: u64 = disk::FIGURES + memory::FIGURES;

/// Measures parsers, writers and codecs: they are above this crate, so the caller passes them in.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// The number of figures.
    pub figures: u64,
    /// Fills in [`Ceilings::kernels`] and [`Ceilings::unpacking`].
    pub measure: fn(&Bench<'_>, &mut Ceilings) -> Result<()>,
}

/// One run of [`ceilings`]: the time per figure, cancellation, and progress.
#[derive(Debug)]
pub struct Bench<'a> {
    options: &'a MeasureOptions,
    /// The number of figures.
    total: u64,
    /// The number of figures started.
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

    /// The number of figures started.
    pub fn started(&self) -> u64 {
        self.started.get()
    }

    /// Counts a figure as started, and reports progress.
    pub fn start_figure(&self) {
        let started = self.started.get();
        self.started.set(started + 1);
        if let Some(progress) = &self.options.progress {
            (progress.0)(started.min(self.total), Some(self.total));
        }
    }

    /// An error if the caller requested a stop.
    fn check(&self) -> Result<()> {
        self.options.cancel.check()
    }

    /// Repeats `round` until it ran long enough.
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

    /// A figure: the amount per second of `round`, which returns its amount. It is the median of some rounds: few jobs
    /// ever reach the best one.
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

/// This amount in this time, per second. Always finite.
pub fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(1e-9)
}

/// The median; 0 for none.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An empty folder, which is removed on drop.
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
