//! A worker: converts the assets that it is told to, one at a time, and says what became of each.
//!
//! It is a process of its own, so that an asset that crashes it, or takes all memory, is that asset's matter alone.

use crate::args::batch::BatchArgs;
use crate::convert::write_options;
use crate::format;
use crate::peak::{self, PeakMeter};
use crate::session::Session;
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

/// The exit code of a worker that needed more memory than its task allowed.
pub const MEMORY_CODE: i32 = 86;
/// Smaller assets take too short to say what limited them.
const JUDGED_BYTES: u64 = 256 << 10;
/// How often memory is looked at.
const WATCH: Duration = Duration::from_millis(10);

/// Works until there are no more tasks.
pub fn run(session: &Session, args: &BatchArgs) -> Result<()> {
    let limit = Arc::new(AtomicU64::new(u64::MAX));
    let failed = |error| Error::io("working", "standard input", error);
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

/// Ends the process once it has more memory than it may.
fn watch_memory(limit: &AtomicU64) {
    loop {
        if peak::resident_bytes().is_some_and(|bytes| bytes > limit.load(Ordering::Relaxed)) {
            polyhaul::remove_temporaries();
            std::process::exit(MEMORY_CODE);
        }
        std::thread::sleep(WATCH);
    }
}

/// What a worker has for all its tasks.
struct Worker<'a> {
    session: &'a Session,
    args: &'a BatchArgs,
    /// What rows call it.
    name: String,
    /// The folder that was created last.
    folder: Option<PathBuf>,
    peak: PeakMeter,
}

impl Worker<'_> {
    fn attempt(&mut self, task: &Task) -> Row {
        self.peak.reset();
        let (started, clock) = (polyhaul_batch::now(), Instant::now());
        let trace = (task.bytes >= JUDGED_BYTES).then(|| Trace::new(Detail::default()));
        let run = self.session.run_options().with_threads(Some(task.threads)).with_trace(trace.clone());
        let result = self.convert(task, &run);
        let (peak_bytes, worker) = (self.peak.bytes(), self.name.clone());
        let mut row = Row { started, peak_bytes, worker, ..Row::new(task) };
        match result {
            Ok(report) => {
                // Without the machine's best rates, whose lookup costs more than a small asset.
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

    /// Converts one asset, and draws it if that is wanted.
    fn convert(&mut self, task: &Task, run: &RunOptions) -> Result<Report> {
        let (session, args) = (self.session, self.args);
        let (source, output) = (PathBuf::from(&task.source), PathBuf::from(&task.output));
        self.create_folder(&output)?;
        let to = format::of_output(&output, args.style.to)?;
        let read = session.read_options(&args.style.read)?.with_run(run.clone());
        let write = write_options(session, &args.style, &source, to)?.with_run(run.clone()).with_hash(true);
        let _hold = session.signals().hold()?;
        let is_texture = Format::of_path(&source).is_some_and(Format::is_texture);
        let mut report = if to.is_texture() && !is_texture {
            let options =
                TextureOptions::default().with_format(Some(to)).with_durable(args.style.durable).with_hash(true);
            let options = options.with_strict(session.everywhere.strict).with_run(run.clone());
            import_texture(&source, &output, &options)?.report
        } else {
            let writer = Writer::new(output.as_path()).options(&write);
            Reader::new(&source).options(&read).convert_with(writer, |_, _| Ok(()))?.report()
        };
        if let Some(pixels) = args.preview {
            let options = PreviewOptions::default().with_size([pixels as usize; 2]).with_run(run.clone());
            let drawn = preview(&source, &read, &options)?;
            let write = WriteOptions::default().with_format(Format::named("png")).with_run(run.clone()).with_hash(true);
            report.extend(Writer::new(picture_path(&output)).options(&write).image(&drawn.value)?);
        }
        Ok(report)
    }

    /// Creates the folder of an output, unless it is that of the last one.
    fn create_folder(&mut self, output: &Path) -> Result<()> {
        let Some(folder) = output.parent().filter(|folder| !place::is_url(folder)) else { return Ok(()) };
        if self.folder.as_deref() != Some(folder) {
            let failed = |error| Error::io("creating", &folder.display().to_string(), error);
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
        file,
        line: place.line,
        column: place.column,
        offset: place.offset,
    }
}

/// Where the picture of an output goes.
fn picture_path(output: &Path) -> PathBuf {
    let mut path = output.to_path_buf().into_os_string();
    path.push(".png");
    path.into()
}

/// The outputs below the folder of all outputs.
fn outputs(task: &Task, report: &Report) -> Vec<RowOutput> {
    let folder = place::public(Path::new(&task.folder));
    let one = |file: &FileWritten| {
        let path = Path::new(&file.path);
        let below = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        RowOutput { path: below, bytes: file.bytes, hash: format!("{:032x}", file.hash.unwrap_or_default()) }
    };
    report.files.iter().map(one).collect()
}

/// What this machine calls itself.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
    name.or_else(|| std::env::var("COMPUTERNAME").ok()).or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default()
}

/// Whether an attempt ended because the run did: it is no row.
pub fn is_cancelled(error: &RowError) -> bool {
    error.kind == ErrorKind::Cancelled.name()
}
