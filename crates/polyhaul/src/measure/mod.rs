//! What this machine and one of its disks can do at best, measured once and kept.
//!
//! [`ceilings`] measures, which takes some twenty seconds; [`keep`], [`kept`], [`kept_for`] and [`forget`] have to do
//! with the file where the figures stay. `disk` is about files, `memory` about memory and cores, `kernels` about our
//! own parsers, writers and codecs on what `data` makes, and `load` about what other programs do meanwhile. `place`
//! says which machine and which disk it is, and `system` has the calls that Linux alone knows. What the figures are
//! good for is in [`crate::report`]. Nothing here judges a job.

mod data;
mod disk;
mod kept;
mod kernels;
mod load;
mod memory;
mod place;
mod system;

pub use kept::{caches, forget, keep, kept, kept_for};

use crate::error::{Error, Result};
use crate::options::{Cancel, Progress};
use crate::report::Ceilings;
use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// The fewest rounds of a figure, unless they take very long.
const LEAST_ROUNDS: usize = 3;
/// The most rounds of a figure.
const MOST_ROUNDS: usize = 100;
/// A figure whose rounds take longer in all gets no more of them.
const LONG: Duration = Duration::from_secs(3);

/// How to measure. The defaults are for figures that large jobs can be held against.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The largest file that is written, in bytes (256 MiB). It is smaller where the disk or the memory has little
    /// room, or the disk is slow.
    pub file_bytes: u64,
    /// About how much text our own pieces work on, in bytes (64 MiB); images have a quarter of it. With less, much of
    /// the time goes into memory that large jobs use again and again.
    pub data_bytes: usize,
    /// How long each figure is measured; at least three rounds are made (0.3 s).
    pub figure_time: Duration,
    /// Ask for a stop.
    pub cancel: Cancel,
    /// Called before each figure with how many are done and how many there are.
    pub progress: Option<Progress>,
}

impl Default for MeasureOptions {
    fn default() -> Self {
        MeasureOptions {
            file_bytes: 256 << 20,
            data_bytes: 64 << 20,
            figure_time: Duration::from_millis(300),
            cancel: Cancel::default(),
            progress: None,
        }
    }
}

/// Measures the machine, and the disk of `folder`, in which nothing is left.
///
/// All cores are used where a figure is about them. Other programs that run meanwhile make the figures worse, so this
/// is for an idle machine: [`Ceilings::other_load`] is what they used, and [`Ceilings::is_quiet`] whether that matters.
///
/// ```
/// use polyhaul::measure::{MeasureOptions, ceilings};
/// use std::time::Duration;
///
/// // Far too little for figures that mean something.
/// let (file_bytes, data_bytes, figure_time) = (256 << 10, 16 << 10, Duration::ZERO);
/// let options = MeasureOptions { file_bytes, data_bytes, figure_time, ..MeasureOptions::default() };
/// let found = ceilings(&std::env::temp_dir(), &options)?;
/// assert!(found.cached_read > 0.0 && found.kernel("parse obj").is_some_and(|rate| rate > 0.0));
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`crate::ErrorKind::Io`] where no file can be made in `folder`, or there is no room for one;
/// [`crate::ErrorKind::Memory`]; [`crate::ErrorKind::Cancelled`].
pub fn ceilings(folder: &Path, options: &MeasureOptions) -> Result<Ceilings> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut found = Ceilings {
        machine: place::machine(),
        disk: place::disk(folder),
        measured_unix_s: now.map_or(0, |since| since.as_secs()),
        cores: place::cores(),
        ..Ceilings::default()
    };
    let bench = Bench::new(options);
    let (begin, start) = (load::now(), Instant::now());
    disk::measure(&bench, folder, &mut found)?;
    memory::measure(&bench, &mut found)?;
    kernels::measure(&bench, &mut found)?;
    if let (Some(begin), Some(end)) = (begin, load::now()) {
        found.other_load = load::others(begin, end, start.elapsed().as_secs_f64(), found.cores);
    }
    Ok(found)
}

/// Asks the system to drop what it has of a file in memory, after the disk has all of it; `false` where it cannot be
/// asked (all systems but Linux), or the file cannot be opened. It is advice: whether it was followed shows when the
/// file is read ([`crate::trace::Recording::used`]).
pub fn forget_cached(file: &Path) -> bool {
    let Ok(file) = std::fs::File::open(file) else { return false };
    let _ = file.sync_data();
    system::forget_cached(&file);
    cfg!(target_os = "linux")
}

/// One run of [`ceilings`]: how long figures take, who may stop it, and how far it is.
struct Bench<'a> {
    options: &'a MeasureOptions,
    /// How many figures there are.
    total: u64,
    /// How many figures were begun.
    done: Cell<u64>,
}

impl<'a> Bench<'a> {
    fn new(options: &'a MeasureOptions) -> Bench<'a> {
        Bench { options, total: disk::FIGURES + memory::FIGURES + kernels::FIGURES, done: Cell::new(0) }
    }

    /// A figure begins.
    fn begin(&self) {
        let done = self.done.get();
        self.done.set(done + 1);
        if let Some(progress) = &self.options.progress {
            (progress.0)(done.min(self.total), Some(self.total));
        }
    }

    /// An error where the caller asked for a stop.
    fn check(&self) -> Result<()> {
        if self.options.cancel.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Does `round` again and again, each time something else that takes time.
    fn rounds(&self, mut round: impl FnMut() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        for count in 1..=MOST_ROUNDS {
            self.check()?;
            round()?;
            let elapsed = start.elapsed();
            if elapsed > LONG || (count >= LEAST_ROUNDS && elapsed > self.options.figure_time) {
                break;
            }
        }
        Ok(())
    }

    /// A figure: how much per second `round` does, which says how much it did. It is the middle one of some rounds:
    /// the best would be what hardly any job sees.
    fn rate(&self, mut round: impl FnMut() -> Result<u64>) -> Result<f64> {
        self.begin();
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

/// So much in this time, by the second. Always finite.
fn per_second(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(1e-9)
}

/// The middle one; 0 of none.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    /// Figures that mean nothing, at once.
    pub(crate) fn quick() -> MeasureOptions {
        let (file_bytes, data_bytes, figure_time) = (256 << 10, 16 << 10, Duration::ZERO);
        MeasureOptions { file_bytes, data_bytes, figure_time, ..MeasureOptions::default() }
    }

    /// An empty folder, which goes away.
    pub(crate) struct Folder(pub(crate) std::path::PathBuf);

    impl Folder {
        pub(crate) fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("polyhaul-measure-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn is_empty(&self) -> bool {
            std::fs::read_dir(&self.0).unwrap().next().is_none()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_figure_is_finite_and_more_than_nothing() {
        let folder = Folder::new("figures");
        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = steps.clone();
        let progress = Some(Progress(Arc::new(move |done, total| seen.lock().unwrap().push((done, total)))));
        let found = ceilings(&folder.0, &MeasureOptions { progress, ..quick() }).unwrap();
        let disk = [found.cached_read, found.cached_read_all, found.write, found.write_sync, found.small_read_ns];
        let machine = [found.copy, found.fresh_memory, found.cores_side_by_side];
        let kernels = found.kernels.iter().map(|kernel| kernel.rate);
        let sizes = found.writes.iter().flat_map(|size| [size.bytes as f64, size.write, size.write_sync]);
        let all: Vec<f64> =
            disk.into_iter().chain(machine).chain(kernels).chain(sizes).chain(found.cold_read).collect();
        assert!(all.iter().all(|figure| figure.is_finite() && *figure > 0.0), "{found:?}");
        assert!(found.cold_read.is_some() || found.notes.iter().any(|note| note.contains("cold")), "{found:?}");
        assert!(found.cores > 0 && !found.machine.is_empty() && !found.disk.is_empty());
        assert!(found.measured_unix_s > 1_700_000_000);
        // Nothing is left, and every figure was announced.
        assert!(folder.is_empty());
        let steps = steps.lock().unwrap();
        let total = disk::FIGURES + memory::FIGURES + kernels::FIGURES;
        assert_eq!(*steps, (0..total).map(|done| (done, Some(total))).collect::<Vec<_>>());
    }

    #[test]
    fn it_stops_where_it_is_asked_to_and_leaves_nothing() {
        let total = disk::FIGURES + memory::FIGURES + kernels::FIGURES;
        let folder = Folder::new("stops");
        for last in [0, 2, disk::FIGURES, total - 1] {
            let (cancel, begun) = (Cancel::default(), Arc::new(AtomicU64::new(0)));
            let (stop, counted) = (cancel.clone(), begun.clone());
            let progress = Progress(Arc::new(move |done, _| {
                counted.fetch_add(1, Ordering::Relaxed);
                if done == last {
                    stop.cancel();
                }
            }));
            let options = MeasureOptions { cancel, progress: Some(progress), ..quick() };
            assert_eq!(ceilings(&folder.0, &options).unwrap_err().kind(), crate::ErrorKind::Cancelled);
            assert_eq!(begun.load(Ordering::Relaxed), last + 1);
            assert!(folder.is_empty());
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_it() {
        let error = ceilings(Path::new("/no/such/folder"), &quick()).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Io);
        assert!(error.to_string().contains("folder"), "{error}");
    }

    #[test]
    fn the_middle_of_rounds_counts() {
        assert_eq!(median(&mut [3.0, 100.0, 1.0]), 3.0);
        assert_eq!(median(&mut [4.0, 2.0]), 4.0);
        assert_eq!(median(&mut []), 0.0);
        assert!(per_second(u64::MAX, Duration::ZERO).is_finite());
    }
}
