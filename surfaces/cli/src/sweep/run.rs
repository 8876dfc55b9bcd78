//! Loads every variant at every rate with every thread count, in rounds.
//!
//! The files stay in the page cache, and a throttle limits reading to the simulated rate. Loads from the disk itself
//! come last, since they drop the files from the cache. A cell that cannot be measured as requested gets a note.

use super::files::{self, Load};
use super::variants::Variant;
use crate::args::sweep::Until;
use polyhaul::options::Throttle;
use polyhaul::place;
use polyhaul::report::{Ceilings, Cell, Device, Times, load_seconds};
use polyhaul::{Error, ErrorKind, ReadOptions, Result, measure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A cell counts as limited by the rate if its first load takes at most this multiple of the time for its bytes at the
/// rate. Such a cell needs no further rounds.
const DECIDED: f64 = 1.03;
/// Maximum share of bytes from the disk for a load from the page cache, and the minimum for a load from the disk.
const IN_MEMORY: f64 = 0.1;
const ON_DISK: f64 = 0.9;
/// Number of retries of a load that should have found the files in the page cache.
const AGAIN: usize = 2;

/// The loads to run.
pub struct RunPlan<'a> {
    pub variants: &'a [Variant],
    /// In ascending order of rate.
    pub devices: Vec<Device>,
    pub threads: Vec<usize>,
    pub rounds: usize,
    /// Measured from `start`.
    pub time_limit: Duration,
    pub start: Instant,
    pub is_warm: bool,
    /// The options for loading. If its cancel flag is set, loading stops and the measurements so far are kept.
    pub read: &'a ReadOptions,
    /// The ceilings for each thread count; empty if the machine has not been measured.
    pub ceilings: &'a BTreeMap<usize, Ceilings>,
    /// The counts of the original asset, which every copy must reproduce.
    pub expected_counts: &'a [u64],
    /// The event at which a load counts as finished.
    pub until: &'a Until,
}

/// The progress of a plan.
struct Run<'a> {
    plan: &'a RunPlan<'a>,
    cells: Vec<Cell>,
    /// Number of cells started.
    visited: u64,
    /// Whether loads were skipped because of a signal.
    is_interrupted: bool,
}

impl RunPlan<'_> {
    /// The cells to measure, with predictions where the ceilings allow them.
    pub fn predict(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for device in self.devices.iter().copied().chain((!self.is_warm).then_some(Device::Disk)) {
            // Loads from the disk use only the largest thread count.
            let skipped = if device == Device::Disk { self.threads.len().saturating_sub(1) } else { 0 };
            for &threads in self.threads.iter().skip(skipped) {
                for stored in 0..self.variants.len() {
                    let predicted_seconds = self.predicted(stored, threads, device);
                    cells.push(Cell { stored, threads, device, predicted_seconds, ..Cell::default() });
                }
            }
        }
        cells
    }

    fn predicted(&self, stored: usize, threads: usize, device: Device) -> Option<f64> {
        let ceilings = self.ceilings.get(&threads)?;
        let rate = match device {
            Device::Rate(rate) => Some(rate as f64),
            Device::Disk => Some(ceilings.cold_read?),
            _ => None,
        };
        load_seconds(&self.variants.get(stored)?.moved, threads, rate, ceilings)
    }

    /// Runs all loads; returns the cells, and whether a signal stopped the run early. Calls `tell` with the number of
    /// finished cells and of all cells.
    ///
    /// # Errors
    /// Errors of loading, and [`polyhaul::ErrorKind::Cancelled`] if a signal came before anything was measured.
    pub fn run(&self, tell: impl Fn(u64, u64)) -> Result<(Vec<Cell>, bool)> {
        let mut run = Run { plan: self, cells: self.predict(), visited: 0, is_interrupted: false };
        let total = run.cells.len() as u64;
        // Interleave the cells of one rate and thread count, so that all find the machine in the same state.
        let mut first = 0;
        let mut end = 0;
        while first < run.cells.len() {
            let same = |cell: &Cell| (cell.device, cell.threads) == (run.cells[first].device, run.cells[first].threads);
            end += run.cells[end..].iter().take_while(|cell| same(cell)).count();
            run.group(first..end, |finished| tell(finished, total))?;
            first = end;
        }
        if run.is_interrupted && run.cells.iter().all(|cell| cell.measured.is_none()) {
            return Err(Error::cancelled());
        }
        Ok((run.cells, run.is_interrupted))
    }
}

impl Run<'_> {
    /// Loads the cells of a group, round by round.
    fn group(&mut self, cells: std::ops::Range<usize>, tell: impl Fn(u64)) -> Result<()> {
        let mut seconds = vec![Vec::new(); cells.len()];
        for round in 0..self.plan.rounds {
            for (index, times) in cells.clone().zip(&mut seconds) {
                if round == 0 {
                    tell(self.visited);
                    self.visited += 1;
                }
                if !self.needs_load(index, times) {
                    continue;
                }
                match self.load(index) {
                    // Cancelled: `needs_load` notes in the cell that it was interrupted.
                    Err(error) if error.kind() == ErrorKind::Cancelled => _ = self.needs_load(index, times),
                    loaded => times.extend(loaded?),
                }
            }
        }
        for (index, times) in cells.zip(seconds) {
            self.cells[index].measured = Times::from_seconds(times);
        }
        Ok(())
    }

    /// Whether to load a cell again. If not, notes the reason unless the cell is complete.
    fn needs_load(&mut self, index: usize, times: &[f64]) -> bool {
        let min_seconds = self.min_seconds(index);
        let predicted = self.cells[index].predicted_seconds.unwrap_or(0.0);
        let expected = times.first().copied().unwrap_or_else(|| min_seconds.max(predicted));
        let has_time = self.plan.start.elapsed().as_secs_f64() + expected <= self.plan.time_limit.as_secs_f64();
        let rounds = self.plan.rounds;
        let is_stopped = self.plan.read.run.cancel.is_cancelled();
        let cell = &mut self.cells[index];
        let note = match times.first() {
            // The first load showed that the cell cannot be measured.
            None if cell.note.is_some() => return false,
            None if is_stopped => "skipped: interrupted".into(),
            None if !has_time => {
                let long = if expected >= 1.0 { format!(" (estimated: {expected:.0} s)") } else { String::new() };
                format!("skipped: not enough time left of `--time-limit`{long}")
            }
            Some(first) if !has_time || *first <= min_seconds * DECIDED => return false,
            Some(_) if is_stopped => format!("interrupted after {} of {rounds} rounds", times.len()),
            _ => return true,
        };
        self.is_interrupted |= is_stopped;
        cell.note.get_or_insert(note);
        false
    }

    /// The time for a cell's bytes at its rate, or 0 without a rate.
    fn min_seconds(&self, index: usize) -> f64 {
        let cell = &self.cells[index];
        match (cell.device, self.plan.variants.get(cell.stored)) {
            (Device::Rate(rate), Some(variant)) => variant.stored.bytes as f64 / rate.max(1) as f64,
            _ => 0.0,
        }
    }

    /// Loads a cell once. Returns `None`, and adds a note to the cell, if it cannot be measured as requested.
    fn load(&mut self, index: usize) -> Result<Option<f64>> {
        let Cell { stored, threads, device, .. } = self.cells[index];
        let Some(variant) = self.plan.variants.get(stored) else { return Ok(None) };
        let is_cold = device == Device::Disk;
        let mut result = None;
        for _ in 0..=AGAIN {
            if is_cold && !variant.files.iter().all(|file| measure::forget_cached(file)) {
                self.cells[index].note = Some("skipped: this system cannot drop files from its page cache".into());
                return Ok(None);
            }
            let (load, seconds) = self.once(variant, threads, device)?;
            let share = from_disk(&load, variant.stored.bytes);
            result = Some(seconds);
            match share {
                Some(share) if is_cold && share < ON_DISK => {
                    self.cells[index].note = Some("skipped: the files stayed in the page cache".into());
                    return Ok(None);
                }
                Some(share) if !is_cold && share > IN_MEMORY => {}
                _ => return Ok(result),
            }
        }
        self.cells[index].note = Some("partly read from the disk: the files do not fit into the page cache".into());
        Ok(result)
    }

    fn once(&self, variant: &Variant, threads: usize, device: Device) -> Result<(Load, f64)> {
        let read_throttle = match device {
            Device::Rate(rate) => Some(Throttle::new(Some(rate), Duration::ZERO)),
            _ => None,
        };
        let run = self.plan.read.run.clone().with_threads(Some(threads)).with_read_throttle(read_throttle);
        // The original was already loaded with the requested strictness; copies cause warnings about their extensions.
        let resolver = variant.resolver.clone();
        let options = self.plan.read.clone().with_run(run).with_resolver(resolver).with_strict(false);
        let (load, seconds) = files::load(&variant.main, &options, self.plan.until)?;
        let mut stored: BTreeSet<&Path> = BTreeSet::new();
        stored.extend(variant.files.iter().map(|path| &**path));
        // Recordings store names as text, so a name that is not Unicode can only be compared as displayed.
        let is_shown = |path: &Path| stored.iter().any(|file| file.display().to_string() == path.display().to_string());
        let is_stored = |path: &PathBuf| place::real(path).is_ok_and(|path| stored.contains(&*path)) || is_shown(path);
        let other = files::opened(&load.seen).find(|path| !is_stored(path));
        let wrong = match other {
            Some(other) => format!("{} was read, which is not one of its files", other.display()),
            None if load.counts != self.plan.expected_counts => "it loads as different content".into(),
            None => return Ok((load, seconds)),
        };
        let message = format!("the copy stored as {} does not match the asset: {wrong}", variant.stored.name);
        let error = Error::new(ErrorKind::Usage, message);
        Err(error.with_hint("if the asset did not change during the sweep, use `--codecs as-is` to skip copies"))
    }
}

/// The share of the bytes that came from the disk, or `None` if the system does not report it.
fn from_disk(load: &Load, bytes: u64) -> Option<f64> {
    let fetched = load.seen.used?.disk_read_bytes?;
    Some(fetched as f64 / bytes.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::sweep::Storing;
    use crate::args::{Cli, Command};
    use clap::Parser as _;
    use polyhaul::report::Stored;

    static NO_CEILINGS: BTreeMap<usize, Ceilings> = BTreeMap::new();

    /// A file to sweep as is, at two rates with one and two threads; removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("polyhaul-run-{name}-{}.obj", std::process::id()));
            std::fs::write(&path, "v 0 0.25 1\n".repeat(500)).unwrap();
            Scratch(place::real(&path).unwrap())
        }

        fn counts(&self) -> Vec<u64> {
            files::load(&self.0, &ReadOptions::default(), &Until::Model).unwrap().0.counts
        }

        fn variant(&self) -> Variant {
            let stored = Stored { name: "as is".into(), bytes: 5500, plain_bytes: 5500 };
            let main = self.0.clone();
            let files = vec![self.0.clone()];
            Variant { storing: Storing::AsIs, main, files, resolver: None, stored, moved: Vec::new(), is_new: false }
        }

        fn plan<'a>(variants: &'a [Variant], read: &'a ReadOptions, expected_counts: &'a [u64]) -> RunPlan<'a> {
            RunPlan {
                variants,
                devices: vec![Device::Memory, Device::Rate(1_000_000_000)],
                threads: vec![1, 2],
                rounds: 3,
                time_limit: Duration::from_secs(1000),
                start: Instant::now(),
                is_warm: true,
                read,
                ceilings: &NO_CEILINGS,
                expected_counts,
                until: &Until::Model,
            }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_stop_keeps_what_was_measured() {
        let scratch = Scratch::new("stop");
        let variants = [scratch.variant()];
        let expected_counts = scratch.counts();
        let stopped_at = |cell: u64| {
            let read = ReadOptions::default();
            let stop = |finished, _| {
                if finished == cell {
                    read.run.cancel.cancel()
                }
            };
            Scratch::plan(&variants, &read, &expected_counts).run(stop)
        };
        let (cells, is_interrupted) = stopped_at(2).unwrap();
        let is_measured: Vec<_> = cells.iter().map(|cell| cell.measured.is_some()).collect();
        assert_eq!((is_measured, is_interrupted), (vec![true, true, false, false], true));
        assert!(cells[2..].iter().all(|cell| cell.note.as_deref() == Some("skipped: interrupted")));
        let (cells, is_interrupted) = stopped_at(9).unwrap();
        assert!(!is_interrupted && cells.iter().all(|cell| cell.measured.is_some()));
        // If nothing was measured, the sweep fails.
        assert_eq!(stopped_at(0).unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn slow_rates_run_first() {
        let scratch = Scratch::new("order");
        let variants = [scratch.variant()];
        let read = ReadOptions::default();
        let cli = Cli::try_parse_from(["polyhaul", "sweep", "a.obj", "--rates", "unlimited,1GB/s,50MB/s"]).unwrap();
        let Command::Sweep(args) = cli.command else { panic!("{cli:?}") };
        let plan = RunPlan { devices: args.devices(), threads: vec![1], ..Scratch::plan(&variants, &read, &[]) };
        let devices: Vec<_> = plan.predict().iter().map(|cell| cell.device).collect();
        assert_eq!(devices, [Device::Rate(50_000_000), Device::Rate(1_000_000_000), Device::Memory]);
    }

    #[test]
    fn a_cell_that_does_not_fit_the_time_left_is_skipped_and_says_how_long_it_takes() {
        let scratch = Scratch::new("time");
        let variants = [scratch.variant()];
        let read = ReadOptions::default();
        let devices = vec![Device::Rate(100), Device::Memory];
        let time_limit = Duration::from_secs(20);
        let plan = RunPlan { devices, time_limit, ..Scratch::plan(&variants, &read, &[]) };
        let mut run = Run { plan: &plan, cells: plan.predict(), visited: 0, is_interrupted: false };
        // 5,500 bytes at 100 bytes per second.
        assert!(!run.needs_load(0, &[]) && !run.is_interrupted);
        let note = "skipped: not enough time left of `--time-limit` (estimated: 55 s)";
        assert_eq!(run.cells[0].note.as_deref(), Some(note));
    }

    #[test]
    fn fewer_rounds_than_asked_for_are_told() {
        let scratch = Scratch::new("rounds");
        let variants = [scratch.variant()];
        let expected_counts = scratch.counts();
        let read = ReadOptions::default();
        let plan = Scratch::plan(&variants, &read, &expected_counts);
        let mut run = Run { plan: &plan, cells: plan.predict(), visited: 0, is_interrupted: false };
        assert!(run.needs_load(0, &[1.0]));
        read.run.cancel.cancel();
        assert!(!run.needs_load(0, &[1.0, 1.0]) && run.is_interrupted);
        assert_eq!(run.cells[0].note.as_deref(), Some("interrupted after 2 of 3 rounds"));
    }

    #[test]
    fn a_file_that_is_no_copy_is_named() {
        let scratch = Scratch::new("other");
        let other = Variant { files: Vec::new(), ..scratch.variant() };
        let read = ReadOptions::default();
        let error = Scratch::plan(&[other], &read, &[]).run(|_, _| {}).unwrap_err();
        let name = scratch.0.display().to_string();
        assert!(error.kind() == ErrorKind::Usage && error.to_string().contains(&name), "{error}");
        let error = Scratch::plan(&[scratch.variant()], &read, &[]).run(|_, _| {}).unwrap_err();
        assert!(error.to_string().contains("it loads as different content"), "{error}");
    }
}
