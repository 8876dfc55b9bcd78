//! `polyhaul sweep --program`: runs commands at several rates with several thread counts, and shows the best at each.
//!
//! `attempt` runs a command once. Runs without a limit come first, and then those at the slowest rate:
//! `polyhaul::report::ProgramModel` is fitted to both, and predicts the others. Runs from the disk come last, since
//! they drop the files from the page cache. A cell that cannot be measured gets a note.

use super::SweepFound;
use super::attempt::{Missed, ProgramAttempt, Reached};
use crate::args::sweep::{ProgramVariant, SweepArgs, Until};
use crate::progress::Bar;
use crate::session::Session;
use crate::watch::slow;
use polyhaul::options::Cancel;
use polyhaul::report::{Cell, Device, Stored, Sweep, SweepKind, Times};
use polyhaul::{Error, ErrorKind, Report, Result};
use polyhaul_watch::preload;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A cell counts as limited by the rate if its first run takes at most this multiple of the time of its bytes.
const DECIDED: f64 = 1.03;

/// Minimum share of bytes from the disk for a run with uncached files.
const ON_DISK: f64 = 0.9;

/// What stands for the thread count in commands.
const THREADS: &str = "{threads}";

/// Sweeps the commands.
pub fn swept(session: &Session, args: &SweepArgs, report: &mut Report) -> Result<SweepFound> {
    if !preload::is_available() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "--program needs the recorder, which this build does not include",
        ));
    }
    let until = match &args.until {
        None => None,
        Some(Until::Line(line)) => Some(line.as_str()),
        Some(_) => {
            let error = Error::new(ErrorKind::Usage, "with --program, --until takes the text of an output line");
            return Err(error.with_hint("omit it to measure until the program exits"));
        }
    };
    let options = session.run_options();
    let stored = args.variants.iter().map(|variant| Stored { name: variant.name.clone(), ..Stored::default() });
    let asset = title(&args.variants, until);
    let mut sweeper = ProgramSweep {
        variants: args.variants.iter().map(|variant| Measured { variant, files: Vec::new(), failure: None }).collect(),
        sweep: Sweep { kind: SweepKind::Programs, asset, stored: stored.collect(), ..Sweep::default() },
        rounds: usize::from(args.rounds),
        until,
        start: Instant::now(),
        time_limit: args.time_limit,
        cancel: options.cancel.clone(),
    };
    let bar = Bar::figures("running".into(), !session.everywhere.quiet && !session.everywhere.no_progress);
    let tell = bar.callback();
    let threads = args.threads(options.worker_threads());
    report.phase("runs", || {
        sweeper.run(&threads, &args.devices(), args.cold, |finished, total| {
            tell.iter().for_each(|tell| (tell.0)(finished, Some(total)));
        })
    })?;
    report.threads = threads.iter().copied().max().unwrap_or(0);
    let file_count = sweeper.variants.iter().flat_map(|variant| &variant.files).collect::<BTreeSet<_>>().len();
    Ok(SweepFound { sweep: sweeper.sweep, file_count, has_ceilings: true, ..SweepFound::default() })
}

/// The name of the first program, and the end of its runs.
fn title(variants: &[ProgramVariant], until: Option<&str>) -> String {
    let command = variants.first().map_or("", |variant| variant.command.as_str());
    let program = command.split_whitespace().find(|word| !word.contains('=')).unwrap_or(command);
    let name = Path::new(program).file_name().map_or(program.into(), |name| name.to_string_lossy());
    let end = until.map_or_else(String::new, |line| format!(", until {line:?}"));
    format!("{name}{end}")
}

/// A command and what its runs showed.
struct Measured<'a> {
    variant: &'a ProgramVariant,
    /// Files that it reads.
    files: Vec<PathBuf>,
    /// Why its first run failed.
    failure: Option<String>,
}

struct ProgramSweep<'a> {
    variants: Vec<Measured<'a>>,
    sweep: Sweep,
    rounds: usize,
    until: Option<&'a str>,
    start: Instant,
    time_limit: Duration,
    cancel: Cancel,
}

impl ProgramSweep<'_> {
    /// Runs all cells. Calls `tell` with the number of finished cells and of all cells.
    fn run(&mut self, threads: &[usize], devices: &[Device], is_cold: bool, tell: impl Fn(u64, u64)) -> Result<()> {
        let rates = devices.iter().copied().filter(|device| *device != Device::Memory);
        let devices: Vec<Device> =
            [Device::Memory].into_iter().chain(rates).chain(is_cold.then_some(Device::Disk)).collect();
        let total = (devices.len() * threads.len() * self.variants.len()) as u64;
        self.warm_up(threads);
        for device in devices {
            for &threads in threads {
                tell(self.sweep.cells.len() as u64, total);
                self.group(threads, device);
            }
        }
        let is_measured = self.sweep.cells.iter().any(|cell| cell.measured.is_some());
        if self.sweep.is_interrupted && !is_measured {
            return Err(Error::cancelled());
        }
        let note = self.sweep.cells.iter().find_map(|cell| cell.note.as_deref()).filter(|_| !is_measured);
        note.map_or(Ok(()), |note| Err(Error::new(ErrorKind::Usage, format!("no command ran as requested: {note}"))))
    }

    /// Runs each command once, so that its files are in the page cache. One that fails does not run again.
    fn warm_up(&mut self, threads: &[usize]) {
        for index in 0..self.variants.len() {
            let threads = threads.last().copied().unwrap_or(1);
            match self.attempt(index, threads, Device::Memory) {
                Ok(reached) => self.learn(index, &reached),
                Err(Missed::Because(reason)) => self.variants[index].failure = Some(reason),
                Err(Missed::Cancelled) => {}
            }
        }
    }

    fn learn(&mut self, index: usize, reached: &Reached) {
        let measured = &mut self.variants[index];
        self.sweep.stored[index].bytes = reached.bytes;
        self.sweep.stored[index].plain_bytes = reached.bytes;
        measured.files.clone_from(&reached.files);
    }

    /// Runs the commands at a rate with a thread count, round by round, so that all find the machine in the same state.
    fn group(&mut self, threads: usize, device: Device) {
        let first = self.sweep.cells.len();
        for stored in 0..self.variants.len() {
            let predicted_seconds = self.predicted(stored, threads, device);
            let note = self.variants[stored].failure.clone();
            self.sweep.cells.push(Cell { stored, threads, device, predicted_seconds, note, ..Cell::default() });
        }
        let mut seconds = vec![Vec::new(); self.variants.len()];
        for _ in 0..self.rounds {
            for (stored, times) in seconds.iter_mut().enumerate() {
                self.round(first + stored, times);
            }
        }
        for (stored, times) in seconds.into_iter().enumerate() {
            self.sweep.cells[first + stored].measured = Times::from_seconds(times);
            // The slowest rate has changed the model.
            self.sweep.cells[first + stored].predicted_seconds = self.predicted(stored, threads, device);
        }
    }

    fn predicted(&self, stored: usize, threads: usize, device: Device) -> Option<f64> {
        let model = self.sweep.program_model(stored, threads)?;
        if let Device::Rate(rate) = device { Some(model.at(rate as f64)) } else { None }
    }

    /// Runs a cell once more, unless that is needless or impossible.
    fn round(&mut self, index: usize, times: &mut Vec<f64>) {
        let Cell { stored, threads, device, predicted_seconds, .. } = self.sweep.cells[index];
        let expected = times.first().copied().or(predicted_seconds).unwrap_or(0.0);
        let has_time = self.start.elapsed().as_secs_f64() + expected <= self.time_limit.as_secs_f64();
        let is_decided = times.first().is_some_and(|first| *first <= self.transfer_seconds(stored, device) * DECIDED);
        let is_unrunnable = times.is_empty() && self.sweep.cells[index].note.is_some();
        let is_enough = is_decided || (!times.is_empty() && !has_time);
        if is_unrunnable || is_enough {
            return;
        }
        let ran = if self.cancel.is_cancelled() {
            Err(Missed::Cancelled)
        } else if !has_time {
            Err(Missed::Because("skipped: not enough time left of `--time-limit`".into()))
        } else {
            self.attempt(stored, threads, device)
        };
        let note = match ran {
            Ok(reached) => {
                times.push(reached.seconds);
                let note = self.doubt(stored, device, &reached);
                if device == Device::Memory {
                    self.learn(stored, &reached);
                }
                note
            }
            Err(Missed::Cancelled) => {
                self.sweep.is_interrupted = true;
                Some(match times.len() {
                    0 => "skipped: interrupted".into(),
                    rounds => format!("interrupted after {rounds} of {} rounds", self.rounds),
                })
            }
            Err(Missed::Because(reason)) => Some(reason),
        };
        let cell = &mut self.sweep.cells[index];
        cell.note = cell.note.take().or(note);
    }

    /// Why a run may not be as requested.
    fn doubt(&self, stored: usize, device: Device, reached: &Reached) -> Option<String> {
        let is_cached = (reached.disk_bytes as f64) < ON_DISK * self.sweep.stored[stored].bytes as f64;
        match device {
            Device::Disk if is_cached => {
                let fetched = crate::human::bytes(reached.disk_bytes);
                Some(format!("only {fetched} came from the disk: files that are mapped or not yet written stay cached"))
            }
            _ => reached.escaped.clone(),
        }
    }

    fn attempt(&self, index: usize, threads: usize, device: Device) -> std::result::Result<Reached, Missed> {
        let Measured { variant, files, .. } = &self.variants[index];
        if device == Device::Disk {
            slow::drop_cached(files);
        }
        let is_told = variant.command.contains(THREADS);
        let attempt = ProgramAttempt {
            command: variant.command.replace(THREADS, &threads.to_string()),
            processors: (!is_told).then_some(threads),
            bytes_per_second: if let Device::Rate(rate) = device { Some(rate) } else { None },
            until: self.until,
            deadline: self.start + self.time_limit,
            cancel: &self.cancel,
        };
        attempt.run()
    }

    /// The time of a command's bytes at a rate; 0 without a rate.
    fn transfer_seconds(&self, stored: usize, device: Device) -> f64 {
        match device {
            Device::Rate(rate) => self.sweep.stored[stored].bytes as f64 / rate.max(1) as f64,
            _ => 0.0,
        }
    }
}
