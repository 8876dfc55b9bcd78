//! The batch worker: converts the assets it receives on standard input, and writes one row per asset.
//!
//! It is a separate process, so an asset that crashes it or exhausts memory does not affect the other assets.

use crate::args::batch::BatchArgs;
use crate::convert::write_options;
use crate::peak::{self, PeakMeter};
use crate::session::Session;
use crate::{format, json};
use polyhaul::options::RunOptions;
use polyhaul::place;
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::report::{FileWritten, Verdict};
use polyhaul::textures::{TextureOptions, import_texture};
use polyhaul::trace::{Detail, Trace};
use polyhaul::{Error, ErrorKind, Format, Reader, Report, Result, WriteOptions, Writer};
use polyhaul_batch::{Row, RowError, RowOutput, Task};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Exit code of a worker that exceeded the memory limit of its task.
pub const MEMORY_CODE: i32 = 86;
/// Minimum asset size for a verdict. Smaller assets finish too quickly to determine their bottleneck.
const JUDGED_BYTES: u64 = 256 << 10;
/// Interval between checks of the resident memory.
const WATCH: Duration = Duration::from_millis(10);

/// Converts tasks until standard input ends.
pub fn run(session: &Session, args: &BatchArgs) -> Result<()> {
    let limit = Arc::new(AtomicU64::new(u64::MAX));
    let failed = |error| Error::io("read tasks", "standard input", error);
    if args.engine.asset_memory.is_some() {
        let watched = limit.clone();
        std::thread::Builder::new().spawn(move || watch_memory(&watched)).map_err(failed)?;
    }
    let name = format!("{}:{}", host_name(), std::process::id());
    let mut worker = Worker { session, args, name, folder: None, peak: PeakMeter::new() };
    let work = |task: &Task| {
        limit.store(task.memory.unwrap_or(u64::MAX), Ordering::Relaxed);
        let row = worker.attempt(task);
        limit.store(u64::MAX, Ordering::Relaxed);
        row
    };
    polyhaul_batch::serve(std::io::stdin().lock(), std::io::stdout().lock(), work).map_err(failed)
}

/// Exits the process once its resident memory exceeds the limit.
fn watch_memory(limit: &AtomicU64) {
    loop {
        if peak::resident_bytes().is_some_and(|bytes| bytes > limit.load(Ordering::Relaxed)) {
            polyhaul::remove_temporaries();
            std::process::exit(MEMORY_CODE);
        }
        std::thread::sleep(WATCH);
    }
}

/// The state of a worker across its tasks.
struct Worker<'a> {
    session: &'a Session,
    args: &'a BatchArgs,
    /// The name of the worker in rows: `HOST:PID`.
    name: String,
    /// The most recently created folder.
    folder: Option<PathBuf>,
    peak: PeakMeter,
}

impl Worker<'_> {
    fn attempt(&mut self, task: &Task) -> Row {
        self.peak.reset();
        let started = polyhaul_batch::now();
        let clock = Instant::now();
        let trace = (task.bytes >= JUDGED_BYTES).then(|| Trace::new(Detail::default()));
        let run = self.session.run_options().with_threads(Some(task.threads)).with_trace(trace.clone());
        let result = self.convert(task, &run);
        let peak_bytes = self.peak.bytes();
        let worker = self.name.clone();
        let mut row = Row { started, peak_bytes, worker, ..Row::new(task) };
        match result {
            Ok(report) => {
                // Omit the machine's best rates: looking them up costs more than converting a small asset.
                let verdict = trace.map(|trace| Verdict::from_recording(&trace.recording(), &report.facts(), None));
                row.verdict = verdict.filter(Verdict::is_telling).map(|verdict| verdict.limit);
                row.warnings =
                    report.warnings.counts().iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
                for phase in &report.phases {
                    *row.phases.entry(phase.name.to_owned()).or_default() += phase.elapsed.as_secs_f64();
                }
                row.outputs = outputs(task, &report);
            }
            Err(error) => row.error = Some(row_error(&error)),
        }
        row.seconds = clock.elapsed().as_secs_f64();
        row
    }

    /// Converts one asset and renders its preview if requested.
    fn convert(&mut self, task: &Task, run: &RunOptions) -> Result<Report> {
        let session = self.session;
        let args = self.args;
        let source = PathBuf::from(&task.source);
        let output = PathBuf::from(&task.output);
        let failed = |error| Error::io("open", &place::shown(&source), error);
        place::check_name(&source).map_err(failed)?;
        self.create_folder(&output)?;
        let to = args.style.to.map_or_else(|| format::of_output(&output, None), |to| Ok(to.format))?;
        let read = session.convert_options(&args.style)?.with_run(run.clone());
        let write = write_options(session, &args.style, &source, to)?.with_run(run.clone()).with_hash(true);
        let _hold = session.signals().hold()?;
        let is_texture = Format::of_path(&source).is_some_and(Format::is_texture);
        let mut report = if to.is_texture() && !is_texture {
            let options = TextureOptions::default()
                .with_format(Some(to))
                .with_image(write.image)
                .with_durable(write.durable)
                .with_hash(true);
            let options = options
                .with_from(read.format)
                .with_limits(read.limits)
                .with_on_error(read.on_error)
                .with_strict(session.everywhere.strict)
                .with_allow(session.everywhere.allowed())
                .with_run(run.clone());
            import_texture(&source, &output, &options)?.report
        } else {
            let writer = Writer::new(output.as_path()).options(&write);
            Reader::new(&source).options(&read).convert_with(writer, |_, _| Ok(()))?.report()
        };
        if let Some(pixels) = args.preview {
            let options = PreviewOptions::default().with_size([pixels as usize; 2]).with_run(run.clone());
            let drawn = preview(&source, &read, &options)?;
            // The conversion already reported the other warnings.
            let warnings = drawn.report.warnings.kept().iter().filter(|warning| warning.code.starts_with("coarse-"));
            warnings
                .for_each(|warning| report.warnings.push_many(warning.code, warning.count, warning.diagnostic.clone()));
            let write = WriteOptions::default().with_format(Format::named("png")).with_run(run.clone()).with_hash(true);
            report.extend(Writer::new(picture_path(&output)).options(&write).image(&drawn.value)?);
        }
        Ok(report)
    }

    /// Creates the parent folder of an output, unless the previous output used the same folder.
    fn create_folder(&mut self, output: &Path) -> Result<()> {
        let Some(folder) = output.parent().filter(|folder| !place::is_url(folder)) else { return Ok(()) };
        if self.folder.as_deref() != Some(folder) {
            let failed = |error| Error::io("create", &folder.display().to_string(), error);
            std::fs::create_dir_all(folder).map_err(failed)?;
            self.folder = Some(folder.to_path_buf());
        }
        Ok(())
    }
}

fn row_error(error: &Error) -> RowError {
    let place = error.place();
    let file = Some(place.file.to_string()).filter(|file| !file.is_empty());
    RowError {
        kind: error.kind().name().to_owned(),
        message: error.diagnostic().message.clone(),
        cause: json::cause(error),
        file,
        line: place.line,
        column: place.column,
        offset: place.offset,
    }
}

/// The path of the preview: the output's path plus `.png`.
fn picture_path(output: &Path) -> PathBuf {
    let mut path = output.to_path_buf().into_os_string();
    path.push(".png");
    path.into()
}

/// Lists the files written, with paths relative to the output folder.
fn outputs(task: &Task, report: &Report) -> Vec<RowOutput> {
    let folder = place::public(Path::new(&task.folder));
    let row_of = |file: &FileWritten| {
        let path = Path::new(&file.path);
        let below = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        RowOutput { path: below, bytes: file.bytes, hash: format!("{:032x}", file.hash.unwrap_or_default()) }
    };
    let mut files: Vec<_> = report.files.iter().collect();
    // The converted asset comes first, although its buffers are written before it.
    let output = place::public(Path::new(&task.output));
    files.sort_by_key(|file| Path::new(&file.path) != output);
    files.into_iter().map(row_of).collect()
}

/// The host name; empty if unknown.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
    name.or_else(|| std::env::var("COMPUTERNAME").ok()).or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default()
}

/// Whether an attempt ended because the run was cancelled. Such attempts are not logged.
pub fn is_cancelled(error: &RowError) -> bool {
    error.kind == ErrorKind::Cancelled.name()
}
