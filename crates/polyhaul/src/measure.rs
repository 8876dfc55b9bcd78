//! Measures the best rates of this machine and one of its disks, and caches the results.
//!
//! [`ceilings`] measures for about twenty seconds; [`keep`], [`kept`], [`kept_for`] and [`forget`] manage the file that
//! stores the results. `polyhaul-insight` measures the machine and its disk; `kernels` measures this library's parsers,
//! writers and codecs. Nothing here evaluates a job.

pub use polyhaul_insight::measure::{
    Container, MeasureOptions, caches, forget, forget_cached, free_memory_bytes, keep, kept, kept_for, quick,
};

use crate::Result;
use crate::kernels::KERNELS;
use crate::report::Ceilings;
use std::path::Path;

/// Measures the machine and the disk that contains `folder`. No files are left behind in `folder`.
///
/// Multicore figures use all cores. Other running programs distort the results, so run this on an idle machine.
/// [`Ceilings::other_load`] is the load caused by other programs; [`Ceilings::is_quiet`] is whether it was low enough.
///
/// ```
/// use polyhaul::measure::{MeasureOptions, ceilings};
/// use std::time::Duration;
///
/// // Far too little for figures that mean something.
/// let (file_bytes, data_bytes, figure_time) = (256 << 10, 16 << 10, Duration::ZERO);
/// let options = MeasureOptions::default().with_file_bytes(file_bytes).with_data_bytes(data_bytes);
/// let options = options.with_figure_time(figure_time);
/// let found = ceilings(&std::env::temp_dir(), &options)?;
/// assert!(found.cached_read > 0.0 && found.kernel("parse obj").is_some_and(|rate| rate > 0.0));
/// # Ok::<(), polyhaul::Error>(())
/// ```
///
/// # Errors
/// [`crate::ErrorKind::Io`] if a file cannot be created in `folder`, or there is no space for it;
/// [`crate::ErrorKind::Memory`] if memory runs out; [`crate::ErrorKind::Cancelled`] if the job was cancelled.
pub fn ceilings(folder: &Path, options: &MeasureOptions) -> Result<Ceilings> {
    polyhaul_insight::measure::ceilings(folder, options, &KERNELS)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kernels;
    use crate::options::{Cancel, Progress};
    use polyhaul_insight::measure::FIGURES;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// Options for meaningless figures, measured immediately.
    pub(crate) fn quick() -> MeasureOptions {
        let file_bytes = 256 << 10;
        let data_bytes = 16 << 10;
        let figure_time = Duration::ZERO;
        MeasureOptions::default().with_file_bytes(file_bytes).with_data_bytes(data_bytes).with_figure_time(figure_time)
    }

    /// An empty folder, which is removed on drop.
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
        let progress = Some(Progress(Arc::new(move |step, total| seen.lock().unwrap().push((step, total)))));
        let ceilings = ceilings(&folder.0, &quick().with_progress(progress)).unwrap();
        let disk = [
            ceilings.cached_read,
            ceilings.cached_read_all,
            ceilings.write,
            ceilings.write_sync,
            ceilings.small_read_ns,
        ];
        let machine = [ceilings.copy, ceilings.fresh_memory, ceilings.cores_side_by_side];
        let kernels = ceilings.kernels.iter().map(|kernel| kernel.rate);
        let sizes = ceilings.writes.iter().flat_map(|size| [size.bytes as f64, size.write, size.write_sync]);
        let figures: Vec<f64> =
            disk.into_iter().chain(machine).chain(kernels).chain(sizes).chain(ceilings.cold_read).collect();
        assert!(figures.iter().all(|figure| figure.is_finite() && *figure > 0.0), "{ceilings:?}");
        assert!(
            ceilings.cold_read.is_some() || ceilings.notes.iter().any(|note| note.contains("cold")),
            "{ceilings:?}"
        );
        assert!(ceilings.cores > 0 && !ceilings.machine.is_empty() && !ceilings.disk.is_empty());
        assert!(ceilings.measured_unix_s > 1_700_000_000);
        // The folder is empty again, and every figure was announced.
        assert!(folder.is_empty());
        let steps = steps.lock().unwrap();
        let total = FIGURES + kernels::FIGURES;
        assert_eq!(*steps, (0..total).map(|step| (step, Some(total))).collect::<Vec<_>>());
    }

    #[test]
    fn it_stops_where_it_is_asked_to_and_leaves_nothing() {
        let total = FIGURES + kernels::FIGURES;
        let folder = Folder::new("stops");
        for last in [0, 2, FIGURES, total - 1] {
            let cancel = Cancel::default();
            let begun = Arc::new(AtomicU64::new(0));
            let stop = cancel.clone();
            let counted = begun.clone();
            let progress = Progress(Arc::new(move |step, _| {
                counted.fetch_add(1, Ordering::Relaxed);
                if step == last {
                    stop.cancel();
                }
            }));
            let options = quick().with_cancel(cancel).with_progress(Some(progress));
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
}
