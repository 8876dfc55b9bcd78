//! Compares storage variants of one asset at several device rates: crossing points and advice.
//!
//! Measures nothing: the command does that. Curves are piecewise linear on logarithmic axes. The chart is in
//! `sweep/chart.rs`; predictions come from `model`.

mod chart;

use super::words::{self, rate};
use std::fmt::Write;

/// Relative difference that counts as noise.
const NOISE: f64 = 0.05;

/// The subject of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepKind {
    /// Ways to store an asset.
    #[default]
    Storage,
    /// Commands.
    Programs,
}

/// Results of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The subject of the comparison.
    pub kind: SweepKind,
    /// File name of the asset, or name of the program.
    pub asset: String,
    /// Storage variants, or commands; the first is the original.
    pub stored: Vec<Stored>,
    /// One cell per variant, thread count and device, in any order.
    pub cells: Vec<Cell>,
    /// Whether the sweep was interrupted before all cells ran as often as requested.
    pub is_interrupted: bool,
}

/// A storage variant of the asset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stored {
    /// Name: `as is`, `zstd`, `gzip:9`.
    pub name: String,
    /// Total size of all files in bytes.
    pub bytes: u64,
    /// Uncompressed size in bytes.
    pub plain_bytes: u64,
}

/// A storage variant loaded with one thread count from one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Index into [`Sweep::stored`].
    pub stored: usize,
    /// Number of threads.
    pub threads: usize,
    /// Device read from.
    pub device: Device,
    /// Measured times, or `None` if the cell did not run.
    pub measured: Option<Times>,
    /// Predicted time in seconds, if known.
    pub predicted_seconds: Option<f64>,
    /// Reason why the cell did not run, or a remark on its run.
    pub note: Option<String>,
}

/// Source of the file data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Device {
    /// Page cache, throttled to this many bytes per second.
    Rate(u64),
    /// Page cache at full speed.
    #[default]
    Memory,
    /// The disk, with uncached files.
    Disk,
}

/// Load times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Minimum.
    pub least: f64,
    /// Median.
    pub median: f64,
    /// Number of loads.
    pub rounds: usize,
}

impl Times {
    /// Summarizes load times. Returns `None` if there are none.
    pub fn from_seconds(mut seconds: Vec<f64>) -> Option<Times> {
        seconds.sort_by(f64::total_cmp);
        let median = *seconds.get(seconds.len() / 2)?;
        Some(Times { least: *seconds.first()?, median, rounds: seconds.len() })
    }
}

/// Predicts the time of a program at a rate: the larger of its transfer time and its own time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramModel {
    /// Bytes that it reads.
    pub bytes: f64,
    /// Time without a limit, in seconds.
    pub seconds: f64,
    /// The part of that time in which it does not read, such as before its first read and after its last one.
    pub apart_seconds: f64,
}

impl ProgramModel {
    /// Time at a rate in bytes per second: work goes on while bytes are read, except for the part before and after.
    pub fn at(&self, rate: f64) -> f64 {
        self.seconds.max(self.bytes / rate + self.apart_seconds)
    }

    /// The rate below which reading limits the program; `None` if it reads nothing.
    fn border(&self) -> Option<f64> {
        let seconds = self.seconds - self.apart_seconds;
        (self.bytes > 0.0 && seconds > 0.0).then(|| self.bytes / seconds)
    }
}

/// The device rate at which two variants load equally fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Variant that is faster below the rate, as an index into [`Sweep::stored`].
    pub below: usize,
    /// Variant that is faster above the rate.
    pub above: usize,
    /// Rate in bytes per second.
    pub rate: f64,
    /// Load time at the rate, in seconds.
    pub seconds: f64,
}

impl Device {
    /// Display name: `500 MB/s`.
    pub fn words(self) -> String {
        match self {
            Device::Rate(value) => rate(value as f64),
            Device::Memory => "unlimited".into(),
            Device::Disk => "cold disk".into(),
        }
    }
}

impl Cell {
    /// Measured or, if `is_model`, predicted time in seconds.
    fn seconds(&self, is_model: bool) -> Option<f64> {
        let measured = self.measured.map(|times| times.median);
        (if is_model { self.predicted_seconds } else { measured }).filter(|seconds| *seconds > 0.0)
    }

    /// Measured time, or else the prediction: the value in tables.
    fn shown_seconds(&self) -> Option<f64> {
        self.seconds(false).or_else(|| self.seconds(true))
    }

    /// Relative error of the prediction.
    pub fn error(&self) -> Option<f64> {
        Some(self.seconds(true)? / self.seconds(false)? - 1.0)
    }
}

/// Points (ln rate, ln seconds) by ascending rate.
type Curve = Vec<(f64, f64)>;

impl Sweep {
    /// Thread counts, ascending.
    pub fn threads(&self) -> Vec<usize> {
        let mut threads: Vec<_> = self.cells.iter().map(|cell| cell.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Devices from slow to fast; the disk is last.
    pub fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<_> = self.cells.iter().map(|cell| cell.device).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// Finds a cell.
    pub fn cell(&self, stored: usize, threads: usize, device: Device) -> Option<&Cell> {
        self.cells.iter().find(|cell| (cell.stored, cell.threads, cell.device) == (stored, threads, device))
    }

    /// Returns whether any cell ran.
    pub fn is_measured(&self) -> bool {
        self.cells.iter().any(|cell| cell.measured.is_some())
    }

    /// Note on an interrupted sweep (a sentence without a period), or `None` if it was complete.
    pub fn interruption(&self) -> Option<String> {
        let missing = self.cells.iter().filter(|cell| cell.measured.is_none()).count();
        self.is_interrupted.then(|| match missing {
            0 => "interrupted: the last cells ran fewer times than the others".into(),
            _ => format!("interrupted: {missing} of {} cells did not run", self.cells.len()),
        })
    }

    /// Crossing points of the variants by rate, at most one per pair. Uses predictions for cells that did not run.
    pub fn crossings(&self, threads: usize) -> Vec<Crossing> {
        let curves: Vec<_> = (0..self.stored.len()).map(|stored| self.curve(stored, threads)).collect();
        let mut crossings = Vec::new();
        for first in 0..curves.len() {
            for second in first + 1..curves.len() {
                crossings.extend(crossing(&curves, first, second));
            }
        }
        crossings.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        crossings
    }

    /// Curve of a variant for a thread count.
    fn curve(&self, stored: usize, threads: usize) -> Curve {
        let point = |device| match device {
            Device::Rate(rate) => {
                let seconds = self.cell(stored, threads, device)?.shown_seconds()?;
                Some(((rate as f64).ln(), seconds.ln()))
            }
            _ => None,
        };
        self.devices().into_iter().filter_map(point).collect()
    }

    /// The best variant for a device. Returns `None` if the time of any variant is unknown, since that variant may be
    /// the best. Prefers the original, then `before` (the choice for the previous rate), if they take at most 5% longer
    /// than the fastest variant, since neither requires a change.
    fn choice(&self, threads: usize, device: Device, before: Option<usize>) -> Option<usize> {
        let seconds = |stored| self.cell(stored, threads, device)?.shown_seconds();
        let times: Option<Vec<_>> = (0..self.stored.len()).map(|stored| Some((stored, seconds(stored)?))).collect();
        let (best, shortest) = times?.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let is_good = |stored: &usize| seconds(*stored).is_some_and(|time| time <= shortest * (1.0 + NOISE));
        Some([Some(0), before].into_iter().flatten().find(is_good).unwrap_or(best))
    }

    /// The best variant at each rate, as (ln rate, index), ascending.
    fn choices(&self, threads: usize) -> Vec<(f64, usize)> {
        let mut choices: Vec<(f64, usize)> = Vec::new();
        for device in self.devices() {
            let Device::Rate(rate) = device else { continue };
            let before = choices.last().map(|choice| choice.1);
            choices.extend(self.choice(threads, device, before).map(|choice| ((rate as f64).ln(), choice)));
        }
        choices
    }

    /// Advice on the best variant for each range of device rates, as sentences without a period. Consistent with the
    /// table: uses predictions for cells that did not run, and ignores differences up to 5%. For programs, starts with
    /// the rates that limit each variant.
    pub fn advice(&self, threads: usize) -> Vec<String> {
        let mut advice = self.limits(threads);
        if self.stored.len() < 2 {
            return advice;
        }
        let choices = self.choices(threads);
        advice.extend(self.advice_by_rate(threads, &choices));
        let last = choices.last().map(|choice| choice.1);
        for device in self.devices().into_iter().filter(|device| !matches!(device, Device::Rate(_))) {
            let Some(choice) = self.choice(threads, device, last).filter(|choice| Some(*choice) != last) else {
                continue;
            };
            let place = if device == Device::Disk { "on this disk" } else { "in the page cache" };
            advice.push(match self.kind {
                SweepKind::Storage => format!("{place}, it loads fastest as {}", self.named(choice)),
                SweepKind::Programs => format!("{place}, {} is fastest", self.named(choice)),
            });
        }
        advice
    }

    /// The rate below which reading limits each program.
    fn limits(&self, threads: usize) -> Vec<String> {
        if self.kind == SweepKind::Storage {
            return Vec::new();
        }
        let limit = |(index, stored): (usize, &Stored)| {
            let model = self.program_model(index, threads)?;
            let border = rate(two_digits(model.border()?));
            let time = words::seconds(model.seconds);
            Some(format!("{} is read-bound below {border} and takes {time} above that", stored.name))
        };
        self.stored.iter().enumerate().filter_map(limit).collect()
    }

    /// The model of a program, fitted to its times without a limit and at the slowest measured rate.
    pub fn program_model(&self, stored: usize, threads: usize) -> Option<ProgramModel> {
        let bytes = self.stored.get(stored)?.bytes as f64;
        let seconds = self.cell(stored, threads, Device::Memory)?.measured?.median;
        let mut model = ProgramModel { bytes, seconds, apart_seconds: 0.0 };
        let measured = |device| Some((device, self.cell(stored, threads, device)?.measured?.median));
        if let Some((Device::Rate(rate), slowest)) = self.devices().into_iter().find_map(measured) {
            model.apart_seconds = (slowest - bytes / rate as f64).clamp(0.0, seconds);
        }
        Some(model)
    }

    fn advice_by_rate(&self, threads: usize, choices: &[(f64, usize)]) -> Option<String> {
        let &(_, first) = choices.first()?;
        let is_rate = |cell: &&Cell| cell.threads == threads && matches!(cell.device, Device::Rate(_));
        let is_all = choices.len() == self.devices().iter().filter(|device| matches!(device, Device::Rate(_))).count();
        let is_mixed =
            self.is_measured() && self.cells.iter().filter(is_rate).any(|cell| cell.seconds(false).is_none());
        let rates = if is_all { "these rates" } else { "the rates with results" };
        let note = if is_all && is_mixed { " (partly predicted)" } else { "" };
        if choices.iter().all(|choice| choice.1 == first) {
            let name = self.named(first);
            return Some(match (self.kind, first) {
                (SweepKind::Storage, 0) => {
                    format!("keep it as is: no other codec is 5% faster at any of {rates}{note}")
                }
                (SweepKind::Storage, _) => format!("store it as {name} at all of {rates}{note}"),
                (SweepKind::Programs, 0) => format!("nothing is 5% faster than {name} at any of {rates}{note}"),
                (SweepKind::Programs, _) => format!("{name} is fastest at all of {rates}{note}"),
            });
        }
        let crossings = self.crossings(threads);
        let border = |(slow, below): (f64, usize), (fast, above): (f64, usize)| {
            let between = crossings.iter().find(|crossing| {
                [crossing.below, crossing.above] == [below, above] && (slow..=fast).contains(&crossing.rate.ln())
            });
            between.map_or(((slow + fast) / 2.0).exp(), |crossing| crossing.rate)
        };
        let mut parts = Vec::new();
        for (index, pair) in choices.windows(2).filter(|pair| pair[0].1 != pair[1].1).enumerate() {
            let until = rate(two_digits(border(pair[0], pair[1])));
            let below = if index == 0 { "below" } else { "up to" };
            let name = self.named(pair[0].1);
            parts.push(match (self.kind, index) {
                (SweepKind::Storage, _) => format!("as {name} {below} {until}"),
                (SweepKind::Programs, 0) => format!("{name} is fastest {below} {until}"),
                (SweepKind::Programs, _) => format!("{name} {below} {until}"),
            });
        }
        let parts = parts.join(", ");
        let last = self.named(choices.last().map_or(first, |choice| choice.1));
        Some(match self.kind {
            SweepKind::Storage => format!("store it {parts} and as {last} above that{note}"),
            SweepKind::Programs => format!("{parts} and {last} above that{note}"),
        })
    }

    /// Name of a variant as used in advice: `as is` becomes `is`, since `as` precedes it.
    fn named(&self, stored: usize) -> &str {
        let name = self.stored.get(stored).map_or("", |stored| stored.name.as_str());
        let is_as_is = stored == 0 && self.kind == SweepKind::Storage;
        if is_as_is { name.strip_prefix("as ").unwrap_or(name) } else { name }
    }

    /// CSV with a header and a line per cell, in seconds and bytes. Missing values are empty.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "stored,bytes,plain_bytes,threads,device,bytes_per_second,least_seconds,median_seconds,rounds,\
             predicted_seconds,note\n",
        );
        for cell in &self.cells {
            let stored = self.stored.get(cell.stored).cloned().unwrap_or_default();
            let (kind, rate) = match cell.device {
                Device::Rate(rate) => ("rate", rate.to_string()),
                Device::Memory => ("memory", String::new()),
                Device::Disk => ("disk", String::new()),
            };
            let times = cell
                .measured
                .map_or(",,".into(), |times| format!("{:.6},{:.6},{}", times.least, times.median, times.rounds));
            let predicted = cell.predicted_seconds.map_or(String::new(), |seconds| format!("{seconds:.6}"));
            let Stored { name, bytes, plain_bytes } = stored;
            // A quote would end the field.
            let note = cell.note.as_deref().unwrap_or_default().replace('"', "'");
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{name},{bytes},{plain_bytes},{},{kind},{rate},{times},{predicted},\"{note}\"",
                cell.threads
            );
        }
        text
    }

    /// SVG chart of seconds against rate, both logarithmic, on white. Each thread count has a panel, and each variant a
    /// curve: solid for measurements, dashed for predictions. Uses common sans-serif fonts.
    pub fn svg(&self) -> String {
        chart::svg(self)
    }
}

/// Rounds to two significant digits, the precision of measured rates.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

/// The crossing of two curves. Returns `None` unless each curve is lower than the other by more than noise on one side
/// of the crossing.
fn crossing(curves: &[Curve], first: usize, second: usize) -> Option<Crossing> {
    // Common points: ln rate, ln seconds, difference.
    let shared = curves[first].iter().filter_map(|&(x, a)| {
        let &(_, b) = curves[second].iter().find(|point| point.0 == x)?;
        Some((x, a, a - b))
    });
    let shared: Vec<_> = shared.collect();
    // Differences of logarithms are compared, in which a relative difference becomes its logarithm.
    let noise = NOISE.ln_1p();
    let is_clear = |point: &(f64, f64, f64)| point.2.abs() > noise;
    // Points before the first and after the last clear difference are noise.
    let clear = shared.iter().position(is_clear)?..=shared.iter().rposition(is_clear)?;
    let is_above = |point: &(f64, f64, f64)| point.2 > 0.0;
    let starts_above = is_above(&shared[*clear.start()]);
    if starts_above == is_above(&shared[*clear.end()]) {
        return None;
    }
    let pair = shared[clear]
        .windows(2)
        .find(|pair| is_above(&pair[0]) == starts_above && is_above(&pair[1]) != starts_above)?;
    let (x0, a0, d0) = pair[0];
    let (x1, a1, d1) = pair[1];
    let part = d0 / (d0 - d1);
    let (below, above) = if starts_above { (second, first) } else { (first, second) };
    Some(Crossing { below, above, rate: (x0 + part * (x1 - x0)).exp(), seconds: (a0 + part * (a1 - a0)).exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep of a 1000 MB asset that is parsed at 1 GB/s, and a variant of a fifth of the size that takes 1.5 s of a
    /// core.
    pub(super) fn sample(rates: &[u64]) -> Sweep {
        let stored = |name: &str, bytes| Stored { name: name.into(), bytes, plain_bytes: 1_000_000_000 };
        let mut sweep = Sweep {
            asset: "island.pbrt".into(),
            stored: vec![stored("as is", 1_000_000_000), stored("zstd", 200_000_000)],
            ..Sweep::default()
        };
        let devices = rates.iter().map(|&rate| Device::Rate(rate)).chain([Device::Memory]);
        for device in devices {
            for (stored, work) in [(0, 1.0), (1, 1.5)] {
                let bytes = sweep.stored[stored].bytes as f64;
                let disk = if let Device::Rate(rate) = device { bytes / rate as f64 } else { 0.0 };
                let measured = Times::from_seconds(vec![disk.max(work)]);
                let predicted_seconds = Some(disk.max(work));
                sweep.cells.push(Cell { stored, threads: 2, device, measured, predicted_seconds, note: None });
            }
        }
        sweep
    }

    #[test]
    fn programs_are_told_what_limits_them() {
        let mut sweep = sample(&[50_000_000, 200_000_000, 900_000_000]);
        sweep.kind = SweepKind::Programs;
        sweep.stored[0].name = "plain".into();
        let advice = sweep.advice(2);
        assert_eq!(advice.len(), 3, "{advice:?}");
        assert!(advice[0].starts_with("plain is read-bound below "), "{advice:?}");
        assert!(advice[2].starts_with("zstd is fastest below ") && advice[2].ends_with(" and plain above that"));
        // 100 MB, and 0.25 s without reading: 2.25 s at 50 MB/s.
        let model = ProgramModel { bytes: 100e6, seconds: 0.75, apart_seconds: 0.25 };
        assert_eq!((model.at(50e6), model.at(1e9), model.border()), (2.25, 0.75, Some(200e6)));
        assert_eq!(ProgramModel { bytes: 0.0, ..model }.border(), None);
    }

    #[test]
    fn curves_cross_where_they_are_equal() {
        // 1 / r = 1.5 at 667 MB/s, between measured points of both curves.
        let sweep = sample(&[50_000_000, 200_000_000, 500_000_000, 900_000_000, 4_000_000_000]);
        let crossings = sweep.crossings(2);
        let [crossing] = crossings.as_slice() else { panic!("{crossings:?}") };
        assert_eq!((crossing.below, crossing.above), (1, 0));
        assert!(
            (crossing.rate / 666.7e6 - 1.0).abs() < 0.001 && (crossing.seconds - 1.5).abs() < 0.001,
            "{crossing:?}"
        );
        assert_eq!(sweep.advice(2), ["store it as zstd below 670 MB/s and as is above that"]);
        assert!(sweep.advice(3).is_empty() && sweep.crossings(3).is_empty());
    }

    #[test]
    fn one_choice_needs_no_border() {
        let slow = sample(&[10_000_000, 50_000_000]);
        assert_eq!(
            slow.advice(2),
            ["store it as zstd at all of these rates", "in the page cache, it loads fastest as is"]
        );
        let fast = sample(&[2_000_000_000, 4_000_000_000]);
        assert_eq!(fast.advice(2), ["keep it as is: no other codec is 5% faster at any of these rates"]);
    }

    #[test]
    fn noise_is_no_advice_and_no_crossing() {
        let mut sweep = sample(&[50_000_000, 500_000_000, 4_000_000_000]);
        for (index, cell) in sweep.cells.iter_mut().enumerate() {
            // Equally fast within 4%, alternating.
            let seconds = if index % 4 == 0 || index % 4 == 3 { 1.0 } else { 1.04 };
            cell.measured = Times::from_seconds(vec![seconds]);
        }
        assert!(sweep.crossings(2).is_empty());
        assert_eq!(sweep.advice(2), ["keep it as is: no other codec is 5% faster at any of these rates"]);
    }

    #[test]
    fn curves_do_not_cross_within_noise() {
        let mut sweep = sample(&[10_000_000, 20_000_000, 100_000_000, 1_000_000_000]);
        // The variant takes 1% less, 1% more, 20% less and 20% more time.
        for (cell, seconds) in sweep.cells.iter_mut().zip([1.0, 0.99, 1.0, 1.01, 1.0, 0.8, 1.0, 1.2]) {
            cell.measured = Times::from_seconds(vec![seconds]);
        }
        let crossings = sweep.crossings(2);
        let [crossing] = crossings.as_slice() else { panic!("{crossings:?}") };
        assert!((crossing.below, crossing.above) == (1, 0) && crossing.rate > 100e6, "{crossing:?}");
    }

    #[test]
    fn what_is_only_predicted_counts_where_nothing_was_measured() {
        let mut sweep = sample(&[50_000_000, 200_000_000, 900_000_000]);
        sweep.cells.iter_mut().for_each(|cell| cell.measured = None);
        assert_eq!((sweep.is_measured(), sweep.crossings(2).len()), (false, 1));
        // For a cell that did not run, the prediction in the table counts.
        let mut sweep = sample(&[50_000_000, 200_000_000, 900_000_000]);
        sweep.cells[1].measured = None;
        assert_eq!(sweep.crossings(2).len(), 1);
        let advice = sweep.advice(2).remove(0);
        assert!(advice.starts_with("store it as zstd below ") && advice.ends_with(" (partly predicted)"), "{advice}");
    }

    #[test]
    fn a_time_limit_does_not_change_the_advice() {
        let rates = [50_000_000, 200_000_000, 500_000_000, 900_000_000, 4_000_000_000];
        let whole = sample(&rates).advice(2);
        // Only the slow rates ran.
        let mut sweep = sample(&rates);
        sweep.cells.iter_mut().skip(4).for_each(|cell| cell.measured = None);
        assert_eq!(sweep.advice(2), [whole[0].clone() + " (partly predicted)"]);
        // Without predictions the other rates have no results.
        sweep.cells.iter_mut().for_each(|cell| cell.predicted_seconds = None);
        assert_eq!(sweep.advice(2), ["store it as zstd at all of the rates with results"]);
    }

    #[test]
    fn advice_is_about_every_row_of_the_table() {
        // The compressed variant is fastest from memory, but at no rate: its codec uses little CPU time.
        let mut sweep = sample(&[2_000_000_000, 4_000_000_000]);
        let memory = |cell: &Cell| cell.device == Device::Memory;
        let slower = |cell: &mut Cell| cell.measured = Times::from_seconds(vec![9.0]);
        sweep.cells.iter_mut().filter(|cell| memory(cell) && cell.stored == 0).for_each(slower);
        let disk = |stored, seconds| Cell {
            stored,
            threads: 2,
            device: Device::Disk,
            measured: Times::from_seconds(vec![seconds]),
            ..Cell::default()
        };
        sweep.cells.extend([disk(0, 5.0), disk(1, 1.5)]);
        let advice = [
            "keep it as is: no other codec is 5% faster at any of these rates",
            "in the page cache, it loads fastest as zstd",
            "on this disk, it loads fastest as zstd",
        ];
        assert_eq!(sweep.advice(2), advice);
    }

    #[test]
    fn what_was_interrupted_is_not_taken_for_complete() {
        let mut sweep = sample(&[10_000_000, 50_000_000]);
        assert_eq!(sweep.interruption(), None);
        sweep.is_interrupted = true;
        assert_eq!(sweep.interruption().unwrap(), "interrupted: the last cells ran fewer times than the others");
        // One variant ran at the slow rate, the other did not.
        sweep.cells[1].measured = None;
        assert_eq!(sweep.interruption().unwrap(), "interrupted: 1 of 6 cells did not run");
        assert_eq!(sweep.advice(2)[0], "store it as zstd at all of these rates (partly predicted)");
        assert!(sweep.svg().contains("Time to load island.pbrt (interrupted: 1 of 6 cells did not run)"));
    }

    #[test]
    fn the_middle_round_counts() {
        assert_eq!(Times::from_seconds(vec![3.0, 1.0, 2.0]), Some(Times { least: 1.0, median: 2.0, rounds: 3 }));
        assert_eq!(Times::from_seconds(Vec::new()), None);
    }

    #[test]
    fn tables_have_a_line_for_each_cell() {
        let mut sweep = sample(&[50_000_000]);
        sweep.cells[0].note = Some("said \"so\"".into());
        sweep.cells[1].measured = None;
        sweep.cells[1].predicted_seconds = None;
        let text = sweep.csv();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[1],
            "as is,1000000000,1000000000,2,rate,50000000,20.000000,20.000000,1,20.000000,\"said 'so'\""
        );
        assert_eq!(lines[2], "zstd,200000000,1000000000,2,rate,50000000,,,,,\"\"");
        assert!(lines[3].starts_with("as is,1000000000,1000000000,2,memory,,1.000000,"));
        let fields = |line: &str| line.split(',').count();
        assert!(lines.iter().all(|line| fields(line) == fields(lines[0])));
    }
}
