//! A worker: converts the assets that it is told to, one at a time, and says what became of each.
//!
//! It is a process of its own, so that an asset that crashes it, or takes all memory, is that asset's matter alone.

use super::job_of_words;
use crate::args::batch::BatchArgs;
use crate::convert::write_options;
use crate::format;
use crate::peak::{self, PeakMeter};
use crate::session::Session;
use polyhaul::options::RunOptions;
use polyhaul::place;
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::report::Verdict;
use polyhaul::textures::{TextureOptions, import_texture};
use polyhaul::trace::{Detail, Trace};
use polyhaul::{Error, ErrorKind, Format, Reader, Report, Result, Source, WriteOptions, Writer};
use polyhaul_batch::{Row, RowError, RowOutput, Task};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::Xxh3Default;

/// The exit code of a worker that needed more memory than its task allowed.
pub const MEMORY_CODE: i32 = 86;
/// Smaller assets take too short to say what limited them, and recording them takes a tenth of that.
const JUDGED_BYTES: u64 = 256 << 10;
/// How often memory is looked at.
const WATCH: Duration = Duration::from_millis(10);
/// Bytes of a file that are hashed at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Works until there are no more tasks.
pub fn run(session: &Session, args: &BatchArgs) -> Result<()> {
    let limit = Arc::new(AtomicU64::new(u64::MAX));
    let failed = |error| Error::io("working", "standard input", error);
    if args.engine.asset_memory.is_some() {
        let watched = limit.clone();
        std::thread::Builder::new().spawn(move || watch_memory(&watched)).map_err(failed)?;
    }
    let name = format!("{}:{}", host_name(), std::process::id());
    let mut worker = Worker { session, args, name, options: job_of_words(), folder: None, peak: PeakMeter::new() };
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
    /// The hash of the options.
    options: String,
    /// The folder that was created last.
    folder: Option<PathBuf>,
    peak: PeakMeter,
}

impl Worker<'_> {
    fn attempt(&mut self, task: &Task) -> Row {
        let source = Path::new(&task.source);
        let found = place::find(source).ok();
        self.peak.reset();
        let (started, clock) = (polyhaul_batch::now(), Instant::now());
        let trace = (task.bytes >= JUDGED_BYTES).then(|| Trace::new(Detail::default()));
        let run = self.session.run_options().with_threads(Some(task.threads)).with_trace(trace.clone());
        let result = self.convert(task, &run);
        let mut row = Row {
            id: task.id,
            asset: task.asset.clone(),
            attempt: task.attempt,
            source: place::shown(source),
            source_bytes: found.as_ref().and_then(|found| found.bytes).unwrap_or(task.bytes),
            source_version: found.and_then(|found| found.version).unwrap_or_default(),
            options: self.options.clone(),
            started,
            peak_bytes: self.peak.bytes(),
            worker: self.name.clone(),
            ..Row::default()
        };
        match result.and_then(|report| Ok((outputs(task, &report)?, report))) {
            Ok((outputs, report)) => {
                // Without the machine's best rates, whose lookup costs more than a small asset.
                let verdict = trace.map(|trace| Verdict::from_recording(&trace.recording(), &report.facts(), None));
                row.verdict = verdict.filter(Verdict::is_telling).map(|verdict| verdict.limit);
                row.warnings =
                    report.warnings.counts().iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
                for phase in &report.phases {
                    *row.phases.entry(phase.name.to_owned()).or_default() += phase.elapsed.as_secs_f64();
                }
                row.outputs = outputs;
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
            let options = TextureOptions::default().with_format(Some(to)).with_durable(args.style.durable);
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
fn outputs(task: &Task, report: &Report) -> Result<Vec<RowOutput>> {
    let folder = place::public(Path::new(&task.folder));
    let one = |file: &polyhaul::report::FileWritten| {
        let path = Path::new(&file.path);
        let below = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let hash = file.hash.map_or_else(|| hash_file(path), Ok)?;
        Ok(RowOutput { path: below, bytes: file.bytes, hash: format!("{hash:032x}") })
    };
    report.files.iter().map(one).collect()
}

/// The hash of a file that was written without one.
fn hash_file(path: &Path) -> Result<u128> {
    let failed = |error| Error::io("reading", &place::shown(path), error);
    let source = Source::open(path).map_err(failed)?;
    let (mut hash, mut block) = (Xxh3Default::new(), vec![0; BLOCK_BYTES]);
    loop {
        let count = source.read_next(&mut block).map_err(failed)?;
        hash.update(&block[..count]);
        if count < block.len() {
            return Ok(hash.digest128());
        }
    }
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
