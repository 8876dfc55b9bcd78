//! How the curves of a sweep must look: the plain one flat where the disk is not what decides, the compressed ones
//! crossing it, all of them the disk's at the slow end, and each where the model says.

use super::{Bound, Verdict, ratio};
use crate::bench::sweeps::{Cell, Sweep};

/// How far a cell may be from the model.
const CLOSE: f64 = 0.2;
/// Where a curve is flat, or the disk's: at most so much more.
const SAME: f64 = 1.1;
/// Where the disk decides, what is compressed is faster at least so many times.
const GAIN: f64 = 1.5;
/// The asset as it is, or as nobody compressed it.
const PLAIN: [&str; 2] = ["as is", "none"];

pub(super) fn curves(sweep: &Sweep) -> Vec<Verdict> {
    let title = &sweep.title;
    let mut threads: Vec<u64> = sweep.cells.iter().map(|cell| cell.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let each = threads.iter().flat_map(|&threads| of_threads(sweep, threads));
    std::iter::once(close(title, &sweep.cells)).chain(each).collect()
}

/// Cells beside the model.
fn close(title: &str, cells: &[Cell]) -> Verdict {
    let errors: Vec<f64> = cells.iter().filter_map(Cell::error).collect();
    let close = errors.iter().filter(|error| error.abs() <= CLOSE).count();
    let farthest = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    // What was left out is not right either.
    let total = cells.iter().filter(|cell| cell.device != "disk" && cell.predicted.is_some()).count();
    let far = farthest.map_or(String::new(), |error| format!(", the farthest {:+.0} %", error * 100.0));
    Verdict {
        what: format!("sweep of {title}: loads that the model predicts within 20 %"),
        wanted: "all".into(),
        got: format!("{close} of {total}{far}"),
        met: (total > 0).then_some(close == total),
    }
}

/// The shape of the curves of so many threads.
fn of_threads(sweep: &Sweep, threads: u64) -> Vec<Verdict> {
    let title = format!("sweep of {}, {threads} thread{}", sweep.title, if threads == 1 { "" } else { "s" });
    let of = |is_there: &dyn Fn(&Cell) -> bool| -> Vec<&Cell> {
        sweep.cells.iter().filter(|cell| cell.threads == threads && cell.median.is_some() && is_there(cell)).collect()
    };
    let rates: Vec<f64> = of(&|cell| cell.rate.is_some()).iter().filter_map(|cell| cell.rate).collect();
    let lowest = rates.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let highest = rates.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let [slow, fast] = [lowest, highest].map(|rate| of(&|cell| cell.rate == Some(rate)));
    let in_memory = of(&|cell| cell.device == "memory");
    let flat = plain(&fast).zip(plain(&in_memory)).map(|(fast, memory)| fast / memory);
    let of_disk = slow.iter().filter_map(|cell| Some(cell.median? * lowest / cell.bytes)).reduce(f64::max);
    let gain = gains(&slow).into_iter().reduce(f64::min);
    let loss = gains(&in_memory).into_iter().reduce(f64::max);
    vec![
        ratio(format!("{title}: plain at the highest rate against no limit"), flat, Bound::AtMost(SAME)),
        ratio(format!("{title}: lowest rate, against that of the bytes, at most"), of_disk, Bound::AtMost(SAME)),
        ratio(format!("{title}: lowest rate, compressed against plain, at least"), gain, Bound::AtLeast(GAIN)),
        ratio(format!("{title}: no limit, compressed against plain, at most"), loss, Bound::AtMost(1.0)),
    ]
}

/// The time of the asset as it is.
fn plain(cells: &[&Cell]) -> Option<f64> {
    cells.iter().find(|cell| PLAIN.contains(&cell.stored.as_str()))?.median
}

/// How many times as fast the other ways are.
fn gains(cells: &[&Cell]) -> Vec<f64> {
    let others = cells.iter().filter(|cell| !PLAIN.contains(&cell.stored.as_str()));
    others.filter_map(|cell| Some(plain(cells)? / cell.median?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes that take 1 s to parse, and 2 s out of 250 compressed ones.
    fn sweep(change: impl Fn(&mut Cell)) -> Sweep {
        let rates = [("rate", Some(100.0)), ("rate", Some(1000.0)), ("rate", Some(9000.0)), ("memory", None)];
        let ways = [(PLAIN[0], 1000.0, 1.0), ("zstd", 250.0, 2.0)];
        let cell = |(device, rate): (&str, Option<f64>), (stored, bytes, work): (&str, f64, f64)| {
            let seconds = rate.map_or(work, |rate| f64::max(work, bytes / rate));
            let (stored, device) = (stored.into(), device.into());
            Cell { stored, bytes, threads: 1, device, rate, median: Some(seconds), predicted: Some(seconds) }
        };
        let mut cells: Vec<_> = rates.into_iter().flat_map(|rate| ways.map(|way| cell(rate, way))).collect();
        cells.iter_mut().for_each(change);
        Sweep { title: "a".into(), cells, ..Sweep::default() }
    }

    fn met(sweep: &Sweep) -> Vec<Option<bool>> {
        curves(sweep).iter().map(|verdict| verdict.met).collect()
    }

    #[test]
    fn curves_are_judged() {
        assert_eq!(met(&sweep(|_| {})), [Some(true); 5]);
        assert_eq!(met(&Sweep::default()), [None]);
        let far = sweep(|cell| {
            cell.predicted = cell.predicted.map(|it| if cell.rate == Some(1000.0) { 1.3 * it } else { it })
        });
        assert_eq!(met(&far), [Some(false), Some(true), Some(true), Some(true), Some(true)]);
        assert_eq!(curves(&far)[0].got, "6 of 8, the farthest +30 %");
        let steep =
            sweep(|cell| cell.median = cell.median.map(|it| if cell.rate == Some(9000.0) { 2.0 * it } else { it }));
        assert_eq!(met(&steep)[1], Some(false));
        let slow = sweep(|cell| cell.median = cell.median.map(|it| if cell.stored == "zstd" { 2.0 * it } else { it }));
        assert_eq!(met(&slow)[2..4], [Some(false), Some(true)]);
        let useless =
            sweep(|cell| cell.median = cell.median.map(|it| if cell.stored == "zstd" { 0.4 * it } else { it }));
        assert_eq!(met(&useless)[4], Some(false));
        let nothing = sweep(|cell| cell.median = None);
        assert_eq!(met(&nothing), [Some(false), None, None, None, None]);
    }
}
