//! `polyhaul sweep`: loads one asset stored with several codecs at several rates, and shows the best at each rate.
//!
//! `files` finds the files of the asset, `variants` stores it with other codecs, `run` loads, and `table` prints.
//! `program` sweeps commands instead.
//! Curves, crossings, advice, predictions and the chart are in the library (`polyhaul::report`).

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod attempt;
mod files;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod program;
mod run;
mod table;
mod variants;

use crate::args::sweep::{Storing, SweepArgs, Until};
use crate::exit::{DONE, FAILED};
use crate::json::JsonDetails;
use crate::progress::Bar;
use crate::session::{JsonTo, Session};
use crate::{console, file, human, picture};
use files::{Asset, RequestedNames};
use polyhaul::options::Codec;
use polyhaul::place;
use polyhaul::report::{Ceilings, Device, Moved, Sweep};
use polyhaul::{Error, ErrorKind, Format, ReadOptions, Report, Result, measure};
use run::RunPlan;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;
use variants::{Cache, Variant};

/// The results of a sweep.
#[derive(Default)]
struct SweepFound {
    sweep: Sweep,
    file_count: usize,
    /// The folder of the copies, their total size, and the number of variants that this run stored.
    cache: Option<(PathBuf, u64, usize)>,
    has_ceilings: bool,
}

/// Runs the subcommand.
pub fn run(session: &Session, args: &SweepArgs, chart: Option<&Path>) -> u8 {
    if args.forget {
        return forget(session, args);
    }
    // Report unwritable outputs before doing anything.
    let tried = args.csv.as_deref().into_iter().chain(chart).try_for_each(file::try_out);
    if let Err(error) = tried {
        return session.fail("sweep", &error, JsonTo::Stdout);
    }
    let mut report = Report::default();
    // Hold signals, so that the first one ends the running step but not the process: no partial copy is left, and the
    // measurements are shown.
    let hold = session.signals().hold();
    let swept_asset = hold.as_ref().map_err(Clone::clone).and_then(|_| swept(session, args, chart, &mut report));
    match swept_asset {
        Ok(results) => {
            if !session.everywhere.json && !console::result(&text(&results)) {
                return FAILED;
            }
            session.show_work(&report);
            let interrupted = results.sweep.is_interrupted.then(Error::cancelled);
            let unwritten = write(&results.sweep, args, chart).inspect_err(|error| session.show_error(error));
            let error = unwritten.err().or(interrupted);
            let outcome = (session.exit_code(error.as_ref()), error.as_ref());
            let details = JsonDetails::new(Some(SweepDetails::new(&results)));
            session.finish_with("sweep", &details, &report, None, outcome, JsonTo::Stdout)
        }
        Err(error) => session.fail("sweep", &error, JsonTo::Stdout),
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod program {
    use super::*;

    pub fn swept(_: &Session, _: &SweepArgs, _: &mut Report) -> Result<SweepFound> {
        Err(Error::new(ErrorKind::Unsupported, "`sweep --program` is supported only on Linux, on x86-64 and aarch64"))
    }
}

fn swept(session: &Session, args: &SweepArgs, chart: Option<&Path>, report: &mut Report) -> Result<SweepFound> {
    if args.program {
        return program::swept(session, args, report);
    }
    let main = args.input.as_deref().unwrap_or(Path::new(""));
    if main == Path::new("-") {
        let error = Error::new(ErrorKind::Usage, "cannot sweep standard input: it can be read only once");
        return Err(error.with_hint("use a file"));
    }
    let until = args.end_of_load().ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, "--until LINE needs --program");
        error.with_hint("use `--until model` or `--until first-pixel`")
    })?;
    let outputs: Vec<&Path> = args.csv.as_deref().into_iter().chain(chart).collect();
    let mut read = session.read_options(&args.read)?;
    read.run.trace = None;
    // The variants are named after the files they resolve to, and the target of a symlink may have another extension.
    read.format = read.format.or_else(|| Format::of_path(main));
    // Drawing times cannot be predicted.
    let ceilings = measure::kept(files::folder_of(main)).filter(|_| until == Until::Model);
    let asset = main.file_name().unwrap_or(main.as_os_str()).to_string_lossy();
    let asset = if until == Until::FirstPixel { format!("{asset}, first pixel") } else { asset.into_owned() };
    if args.model {
        let (files, codecs) = predictable(main, &read, ceilings.as_ref())?;
        spare(&files, &outputs)?;
        let variants = variants::predicted(&files, &args.storings(&codecs), &read)?;
        let file_count = files.files.len();
        let threads = args.threads(read.run.worker_threads());
        let ceilings =
            ceilings.iter().flat_map(|ceilings| threads.iter().map(|&threads| (threads, ceilings.clone()))).collect();
        let cells = plan(args, &until, &read, &variants, &ceilings, &[]).predict();
        let stored = variants.into_iter().map(|variant| variant.stored).collect();
        let sweep = Sweep { asset, stored, cells, ..Sweep::default() };
        return Ok(SweepFound { sweep, file_count, has_ceilings: true, ..SweepFound::default() });
    }
    let requested = RequestedNames::default();
    let first = read.clone().with_resolver(Some(requested.listener()));
    let (first, _) = report.phase("first load", || files::load(main, &first, &until))?;
    refuse_archive(first.report.codec, main)?;
    let files = Asset::of_load(main, &first.seen, &requested, &read)?;
    spare(&files, &outputs)?;
    report.warnings = first.report.warnings.clone();
    let cache = Cache::new(args.cache.as_deref())?;
    let say = || {
        if session.talks() {
            console::note("waiting for another sweep to finish\n");
        }
    };
    let _alone = cache.alone(&read.run.cancel, say)?;
    let mut variants =
        report.phase("compress", || stored(session, &cache, &files, args, &first.report.reads, &read))?;
    for variant in variants.iter_mut().filter(|variant| variant.storing == Storing::AsIs) {
        // The load measured the decompressed size exactly; a sample only estimates it.
        variant.stored.plain_bytes = first.report.plain_bytes_in;
        variant.moved = first.report.reads.clone();
    }
    let bar = Bar::figures("loading".into(), !session.everywhere.quiet && !session.everywhere.no_progress);
    let tell = bar.callback();
    let report_progress = |finished, total| tell.iter().for_each(|tell| (tell.0)(finished, Some(total)));
    let start = Instant::now();
    let ceilings = report.phase("calibration", || fitted(main, args, &until, &read, ceilings, start))?;
    let plan = RunPlan { start, ..plan(args, &until, &read, &variants, &ceilings, &first.counts) };
    let (cells, is_interrupted) = report.phase("loads", || plan.run(report_progress))?;
    report.threads = cells.iter().map(|cell| cell.threads).max().unwrap_or(0);
    let made = variants.iter().filter(|variant| variant.is_new).count();
    let stored = variants.into_iter().map(|variant| variant.stored).collect();
    Ok(SweepFound {
        file_count: files.files.len(),
        cache: Some((cache.folder().to_path_buf(), cache.bytes(&files), made)),
        has_ceilings: !ceilings.is_empty(),
        sweep: Sweep { asset, stored, cells, is_interrupted, ..Sweep::default() },
    })
}

/// Fits the ceilings to loads of the asset, for each thread count. Loads up to `rounds` times, fewer if the time limit,
/// which counts from `start`, would be exceeded. Returns an empty map if there are no ceilings.
fn fitted(
    main: &Path,
    args: &SweepArgs,
    until: &Until,
    read: &ReadOptions,
    ceilings: Option<Ceilings>,
    start: Instant,
) -> Result<BTreeMap<usize, Ceilings>> {
    let Some(ceilings) = ceilings else { return Ok(BTreeMap::new()) };
    let fit = |threads| -> Result<(usize, Ceilings)> {
        let run = read.run.clone().with_threads(Some(threads));
        let options = read.clone().with_run(run);
        let (mut load, mut shortest) = files::load(main, &options, until)?;
        for _ in 1..args.rounds {
            if start.elapsed().as_secs_f64() + shortest > args.time_limit.as_secs_f64() {
                break;
            }
            // Use the fastest load: interference, such as page faults in a virtual machine, only slows a load down.
            let (other, seconds) = files::load(main, &options, until)?;
            if seconds < shortest {
                load = other;
                shortest = seconds;
            }
        }
        Ok((threads, ceilings.as_loaded(&load.report.reads, &load.seen)))
    };
    let mut loads = BTreeMap::new();
    for threads in args.threads(read.run.worker_threads()) {
        let (threads, ceilings) = fit(threads)?;
        loads.insert(threads, ceilings);
    }
    Ok(loads)
}

/// Creates the plan for the requested runs.
fn plan<'a>(
    args: &SweepArgs,
    until: &'a Until,
    read: &'a ReadOptions,
    variants: &'a [Variant],
    ceilings: &'a BTreeMap<usize, Ceilings>,
    expected_counts: &'a [u64],
) -> RunPlan<'a> {
    RunPlan {
        variants,
        devices: args.devices(),
        threads: args.threads(read.run.worker_threads()),
        rounds: usize::from(args.rounds),
        time_limit: args.time_limit,
        start: Instant::now(),
        is_warm: args.warm,
        read,
        ceilings,
        expected_counts,
        until,
    }
}

/// Finds the files to predict, and their codecs. Fails if the ceilings of this machine have not been measured.
fn predictable(main: &Path, read: &ReadOptions, ceilings: Option<&Ceilings>) -> Result<(Asset, Vec<Option<Codec>>)> {
    if ceilings.is_none() {
        let error = Error::new(ErrorKind::Usage, "cannot predict without the figures of this machine");
        return Err(error.with_hint("run `polyhaul limits FOLDER` on the asset's folder first"));
    }
    let files = Asset::of_names(main, read)?;
    let codecs = variants::codecs(&files, read)?;
    refuse_archive(codecs.first().copied().flatten(), main)?;
    Ok((files, codecs))
}

/// Fails if an output would overwrite a file of the asset, or both outputs are the same file.
fn spare(asset: &Asset, outputs: &[&Path]) -> Result<()> {
    let real = |path: &&Path| place::real(path).unwrap_or_else(|_| path.to_path_buf());
    let outputs: Vec<PathBuf> = outputs.iter().map(real).collect();
    let is_twice = matches!(&*outputs, [one, other] if one == other);
    let file = outputs.iter().find(|output| is_twice || asset.files.iter().any(|file| file.path == **output));
    let Some(file) = file else { return Ok(()) };
    let what = if is_twice { "would be written twice" } else { "is a file of the asset" };
    Err(Error::new(ErrorKind::Usage, format!("{} {what}", file.display())).with_hint("use another name"))
}

/// Stores the asset with every requested codec, reusing existing copies.
fn stored(
    session: &Session,
    cache: &Cache,
    files: &Asset,
    args: &SweepArgs,
    reads: &[Moved],
    read: &ReadOptions,
) -> Result<Vec<Variant>> {
    let storings = args.storings(&reads.iter().map(|moved| moved.codec).collect::<Vec<_>>());
    let bar = Bar::figures("compressing".into(), !session.everywhere.quiet && !session.everywhere.no_progress);
    let tell = bar.callback();
    let total = storings.len() as u64;
    let variant = |(index, storing)| {
        tell.iter().for_each(|tell| (tell.0)(index as u64, Some(total)));
        cache.variant(files, storing, read)
    };
    storings.into_iter().enumerate().map(variant).collect()
}

fn refuse_archive(codec: Option<Codec>, main: &Path) -> Result<()> {
    if codec != Some(Codec::Zip) {
        return Ok(());
    }
    let message = format!("cannot sweep {}: it is in an archive", main.display());
    Err(Error::new(ErrorKind::Usage, message).with_hint("extract the archive first"))
}

/// Writes the requested CSV and chart.
fn write(sweep: &Sweep, args: &SweepArgs, chart: Option<&Path>) -> Result<()> {
    if let Some(path) = &args.csv {
        file::write(path, sweep.csv().as_bytes())?;
    }
    chart.map_or(Ok(()), |path| picture::write(&sweep.svg(), path))
}

/// Formats the results for people.
fn text(results: &SweepFound) -> String {
    let mut text = table::table(&results.sweep);
    if let Some((folder, bytes, _)) = results.cache.as_ref().filter(|cache| cache.1 > 0) {
        let folder = human::safe(&folder.display().to_string());
        text += &format!("compressed copies use {} in {folder}; use `--forget` to delete them\n", human::bytes(*bytes));
    }
    if !results.has_ceilings {
        text += "run `polyhaul limits` once to get predictions next to measured times\n";
    }
    text
}

/// Removes the copies.
fn forget(session: &Session, args: &SweepArgs) -> u8 {
    let forgotten = Cache::new(args.cache.as_deref()).and_then(|cache| cache.forget(args.input.as_deref()));
    let bytes = match forgotten {
        Ok(bytes) => bytes,
        Err(error) => return session.fail("sweep", &error, JsonTo::Stdout),
    };
    let words = match bytes {
        0 => "no copies found\n".to_owned(),
        bytes => format!("deleted {}\n", human::bytes(bytes)),
    };
    if !session.everywhere.json && !console::result(&words) {
        return FAILED;
    }
    let details = serde_json::json!({ "forgotten_bytes": bytes });
    session.finish("sweep", Some(details), &Report::default(), (DONE, None), JsonTo::Stdout)
}

/// The additional fields for `--json`.
#[derive(Serialize)]
struct SweepDetails {
    asset: String,
    files: usize,
    stored: Vec<StoredRow>,
    cells: Vec<CellRow>,
    /// Whether cells are missing because of a signal.
    interrupted: bool,
    crossings: Vec<CrossingRow>,
    advice: Vec<AdviceRow>,
    cache: Option<CacheRow>,
}

#[derive(Serialize)]
struct StoredRow {
    name: String,
    bytes: u64,
    plain_bytes: u64,
}

#[derive(Serialize)]
struct CellRow {
    stored: String,
    threads: usize,
    /// `rate`, `memory` or `disk`.
    device: &'static str,
    bytes_per_second: Option<u64>,
    median_seconds: Option<f64>,
    least_seconds: Option<f64>,
    rounds: usize,
    predicted_seconds: Option<f64>,
    note: Option<String>,
}

#[derive(Serialize)]
struct CrossingRow {
    threads: usize,
    below: String,
    above: String,
    bytes_per_second: f64,
    seconds: f64,
}

#[derive(Serialize)]
struct AdviceRow {
    threads: usize,
    advice: Vec<String>,
}

#[derive(Serialize)]
struct CacheRow {
    folder: String,
    bytes: u64,
    /// Number of variants that this run stored.
    made: usize,
}

impl SweepDetails {
    fn new(results: &SweepFound) -> SweepDetails {
        let sweep = &results.sweep;
        let name = |stored: usize| sweep.stored.get(stored).map_or(String::new(), |stored| stored.name.clone());
        let cell = |cell: &polyhaul::report::Cell| {
            let (device, bytes_per_second) = match cell.device {
                Device::Rate(rate) => ("rate", Some(rate)),
                Device::Disk => ("disk", None),
                _ => ("memory", None),
            };
            CellRow {
                stored: name(cell.stored),
                threads: cell.threads,
                device,
                bytes_per_second,
                median_seconds: cell.measured.map(|times| times.median),
                least_seconds: cell.measured.map(|times| times.least),
                rounds: cell.measured.map_or(0, |times| times.rounds),
                predicted_seconds: cell.predicted_seconds,
                note: cell.note.clone(),
            }
        };
        let crossings = |threads| {
            let row = move |crossing: polyhaul::report::Crossing| (threads, crossing);
            sweep.crossings(threads).into_iter().map(row)
        };
        let crossing = |(threads, crossing): (usize, polyhaul::report::Crossing)| CrossingRow {
            threads,
            below: name(crossing.below),
            above: name(crossing.above),
            bytes_per_second: crossing.rate,
            seconds: crossing.seconds,
        };
        let stored = sweep.stored.iter();
        let row = |stored: &polyhaul::report::Stored| StoredRow {
            name: stored.name.clone(),
            bytes: stored.bytes,
            plain_bytes: stored.plain_bytes,
        };
        let cache = results.cache.as_ref().map(|(folder, bytes, made)| CacheRow {
            folder: folder.display().to_string(),
            bytes: *bytes,
            made: *made,
        });
        let threads = sweep.threads();
        SweepDetails {
            asset: sweep.asset.clone(),
            files: results.file_count,
            stored: stored.map(row).collect(),
            cells: sweep.cells.iter().map(cell).collect(),
            interrupted: sweep.is_interrupted,
            crossings: threads.iter().flat_map(|&threads| crossings(threads)).map(crossing).collect(),
            advice: threads.iter().map(|&threads| AdviceRow { threads, advice: sweep.advice(threads) }).collect(),
            cache,
        }
    }
}
