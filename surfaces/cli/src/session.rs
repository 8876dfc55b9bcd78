//! A run of the command: calls the library with the global options, and ends the run.
//!
//! Each subcommand does its work in its own module; `render`, `json` and `judge` format the output.

use crate::args::pace::Throttles;
use crate::args::style::{ReadArgs, StyleArgs};
use crate::args::{Everywhere, WarningsShown};
use crate::exit::{DONE, FAILED, USAGE};
use crate::json::JsonDetails;
use crate::progress::Bar;
use crate::records::Records;
use crate::signals::Signals;
use crate::{console, format, human, json, judge, peak, render, standard};
use polyhaul::many;
use polyhaul::measure::{Container, free_memory_bytes};
use polyhaul::model::Scene;
use polyhaul::options::RunOptions;
use polyhaul::report::{Document, Heading, Verdict};
use polyhaul::trace::{Recording, Trace};
use polyhaul::{
    Content, Converted, Error, ErrorKind, Input, Loaded, ReadOptions, Reader, Report, Result, WriteOptions, Writer,
};
use polyhaul_fault::planted;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The state of a run.
pub struct Session {
    /// The global options.
    pub everywhere: Everywhere,
    signals: Signals,
    start: Instant,
    /// Records all jobs of the run.
    trace: Trace,
    records: Records,
    throttles: Throttles,
}

/// The stream for the JSON object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum JsonTo {
    /// Standard output.
    Stdout,
    /// Standard error, since standard output contains the scene or belongs to the watched program.
    Stderr,
}

impl Session {
    /// Starts the clock and the recording, and installs the signal handlers.
    pub fn new(everywhere: Everywhere) -> Session {
        console::set_color(everywhere.color);
        let signals = Signals::install();
        let (trace, records) = Records::start(&everywhere);
        let throttles = everywhere.pace.throttles();
        Session { everywhere, signals, start: Instant::now(), trace, records, throttles }
    }

    /// Fails if a file requested for the end of the run cannot be written. Call it before starting the work.
    ///
    /// Also fails if such a file, or a rate, is requested for a subcommand that neither reads or writes assets nor runs
    /// a program that may (`is_work` is false).
    pub fn check(&self, is_work: bool) -> Result<()> {
        let Some(option) = self.everywhere.of_records().or(self.everywhere.of_pace()).filter(|_| !is_work) else {
            return self.records.check();
        };
        self.records.forget();
        let message = format!("{option} applies only to subcommands that read or write assets, and to watch");
        Err(Error::new(ErrorKind::Usage, message).with_hint(format!("remove {option}")))
    }

    /// Takes the files that are requested for the end of the run, so that the session does not write them, with their
    /// heading.
    pub fn take_records(&self) -> Option<(Vec<(Document, PathBuf)>, Heading)> {
        self.records.take()
    }

    /// Whether to print text for people other than errors.
    pub fn talks(&self) -> bool {
        !self.everywhere.json && !self.everywhere.quiet
    }

    /// The signal state, for holding signals off.
    pub fn signals(&self) -> &Signals {
        &self.signals
    }

    /// The options for reading.
    pub fn read_options(&self, args: &ReadArgs) -> Result<ReadOptions> {
        Ok(self.validate_options(args)?.with_on_error(self.everywhere.policy()?))
    }

    /// The options for reading the input of a conversion.
    pub fn convert_options(&self, args: &StyleArgs) -> Result<ReadOptions> {
        let mut options = self.read_options(&args.read)?;
        args.rows.apply(&mut options.rows)?;
        Ok(options)
    }

    /// The options for validation, which ignores `--on-error`.
    pub fn validate_options(&self, args: &ReadArgs) -> Result<ReadOptions> {
        Ok(args
            .options()?
            .with_run(self.run_options())
            .with_strict(self.everywhere.strict)
            .with_allow(if planted("allow-ignored") { Default::default() } else { self.everywhere.allowed() }))
    }

    /// The run options of every job.
    pub fn run_options(&self) -> RunOptions {
        let usual = RunOptions::default();
        let memory_limit = self.everywhere.memory_limit.unwrap_or(usual.memory_limit);
        usual
            .with_threads(self.everywhere.threads.map(usize::from))
            .with_memory_limit(memory_limit)
            .with_spill_folder(self.everywhere.spill_folder.clone())
            .with_cancel(self.signals.cancel())
            .with_trace(Some(self.trace.clone()))
            .with_read_throttle(self.throttles.read.clone())
            .with_write_throttle(self.throttles.write.clone())
    }

    /// Runs `work` on each file and passes the results to `each_result` in order, until it returns `Break`. `work`
    /// receives the index of the file and the run options; it runs in parallel for files that need little memory, as
    /// estimated by `bytes`.
    pub fn each<T: Send>(
        &self,
        doing: &str,
        paths: &[&Path],
        bytes: impl Fn(&Path) -> u64 + Sync,
        work: impl Fn(usize, RunOptions) -> T + Sync,
        mut each_result: impl FnMut(usize, T) -> ControlFlow<()> + Send,
    ) -> Result<()> {
        if let [path] = paths {
            let bar = self.bar(doing, path, 0);
            let result = work(0, self.run_options().with_progress(bar.callback()));
            drop(bar);
            let _ = each_result(0, result);
            return Ok(());
        }
        let bar = self.files_bar(doing);
        let run = self.run_options().with_progress(bar.callback());
        let bytes = |number: usize| bytes(paths[number]);
        many::for_each_file(paths.len(), &run, bytes, work, |number, result| {
            let mut flow = ControlFlow::Continue(());
            bar.aside(|| flow = each_result(number, result));
            flow
        })
    }

    /// Loads the scene in `path`, or in standard input for `-`.
    pub fn load(&self, path: &Path, options: &ReadOptions) -> Result<Loaded<Scene>> {
        self.reading(path, options, |input, options| Reader::new(input).options(options).scene())
    }

    /// Calls `read` with `path`, or with standard input for `-`, and shows its progress.
    pub fn reading<T>(
        &self,
        path: &Path,
        options: &ReadOptions,
        read: impl FnOnce(Input, &ReadOptions) -> Result<T>,
    ) -> Result<T> {
        let input = standard::input_of(path)?;
        let bar = self.bar("reading", path, 0);
        let mut options = options.clone();
        options.run.progress = bar.callback();
        read(input, &options)
    }

    /// Writes a scene to `path`, or to standard output for `-`. Signals wait while the file is open.
    pub fn save(&self, scene: &Scene, path: &Path, options: &WriteOptions) -> Result<Report> {
        let bar = self.bar("writing", path, 0);
        let mut options = options.clone();
        options.run.progress = bar.callback();
        if format::is_stream(path) {
            return Writer::new(standard::output()?).options(&options).scene(scene);
        }
        let _hold = self.signals.hold_output(path)?;
        Writer::new(path).options(&options).scene(scene)
    }

    /// Converts one path to another; `-` is a standard stream. Calls `before` with the content after reading and before
    /// the output is replaced.
    pub fn convert(
        &self,
        [from, to]: [&Path; 2],
        read: &ReadOptions,
        write: &WriteOptions,
        before: impl FnOnce(Content<'_>, &Report),
    ) -> Result<Converted> {
        let input = standard::input_of(from)?;
        let output = standard::output_of(to)?;
        let reading = self.bar("reading", from, 1);
        let writing = self.bar("writing", to, 0);
        let mut read = read.clone();
        let mut write = write.clone();
        read.run.progress = reading.callback();
        write.run.progress = writing.callback();
        // Content that does not fit is spilled to disk, which is faster than a system that runs out of memory.
        read.run.total_memory = self.everywhere.memory_limit.or_else(|| free_memory_bytes().map(|bytes| bytes / 4 * 3));
        // The output may be opened while the input is read. Signals are held during reading only if the input is a
        // regular file, because reading other inputs may block.
        let is_file = std::fs::metadata(from).is_ok_and(|metadata| metadata.is_file());
        let mut hold = if is_file { self.signals.hold_output(to)? } else { None };
        let writer = Writer::new(output).options(&write);
        let result = Reader::new(input).options(&read).convert_with(writer, |content, report| {
            drop(reading);
            before(content, report);
            // Signals wait while the output file is open.
            if hold.is_none() {
                hold = self.signals.hold_output(to)?;
            }
            Ok(())
        });
        drop(hold);
        result
    }

    /// Creates a bar that counts files.
    pub fn files_bar(&self, doing: &str) -> Bar {
        Bar::files(doing.to_owned(), !self.everywhere.quiet && !self.everywhere.no_progress)
    }

    /// Creates a bar for work on a file, followed by `later` phases.
    fn bar(&self, doing: &str, path: &Path, later: u32) -> Bar {
        let is_wanted = !self.everywhere.quiet && !self.everywhere.no_progress;
        Bar::new(format!("{doing} {}", human::path(path)), is_wanted, later)
    }

    /// Prints warnings, unless the output is quiet or JSON.
    pub fn show_warnings(&self, report: &Report) {
        if self.talks() {
            let shown = self.everywhere.warnings.unwrap_or(WarningsShown::Summary);
            console::note(&render::warnings(&report.warnings, shown, None));
        }
    }

    /// Prints an error, unless the output is JSON.
    pub fn show_error(&self, error: &Error) {
        if !self.everywhere.json {
            console::note(&render::error(error.diagnostic()));
        }
    }

    /// Prints times, threads and memory with `--verbose`.
    pub fn show_work(&self, report: &Report) {
        if !self.talks() || !self.everywhere.verbose {
            return;
        }
        let time =
            |phase: &polyhaul::report::Phase| format!("{} {}", phase.name, human::seconds(phase.elapsed.as_secs_f64()));
        let phases: Vec<_> = report.phases.iter().map(time).collect();
        let peak = peak::bytes().map_or(String::new(), |peak| format!("; peak memory {}", human::bytes(peak)));
        let threads = human::plural(report.threads as u64, "thread");
        let moved = match report.spilled_bytes {
            0 => String::new(),
            bytes => format!("; {} spilled to disk", human::bytes(bytes)),
        };
        let container = human::container(Container::this()).map_or(String::new(), |limits| format!("; {limits}"));
        console::note(&format!("time: {}; {threads}{peak}{moved}{container}\n", phases.join(", ")));
    }

    /// The recording of the jobs so far.
    pub fn recording(&self) -> Recording {
        self.trace.recording()
    }

    /// The verdict on all jobs so far, or `None` if no job has finished. `report` covers the jobs.
    fn verdict(&self, report: &Report) -> Option<Verdict> {
        let seen = self.recording();
        (seen.elapsed_ns > 0).then(|| self.judge(&seen, report))
    }

    /// The verdict on a recording of jobs; `report` covers the same jobs.
    pub fn judge(&self, seen: &Recording, report: &Report) -> Verdict {
        judge::judge(seen, report, &self.throttles)
    }

    /// Prints the verdict on the run's jobs.
    pub fn show_verdict(&self, report: &Report) {
        if moved(report)
            && self.talks()
            && let Some(verdict) = self.verdict(report)
        {
            console::note(&judge::words("", &verdict, self.everywhere.verbose));
        }
    }

    /// Writes the requested files about the run, and prints the JSON object if requested. Returns the code of
    /// `outcome`, or failure if writing or printing failed.
    pub fn finish<T: Serialize>(
        &self,
        command: &str,
        details: Option<T>,
        report: &Report,
        outcome: (u8, Option<&Error>),
        to: JsonTo,
    ) -> u8 {
        let details = JsonDetails::new(details);
        let verdict = if self.everywhere.json && moved(report) { self.verdict(report) } else { None };
        self.finish_with(command, &details, report, verdict, outcome, to)
    }

    /// Like [`finish`](Session::finish), with the given verdict instead of the one on the whole run.
    pub fn finish_with(
        &self,
        command: &str,
        details: &JsonDetails,
        report: &Report,
        verdict: Option<Verdict>,
        outcome: (u8, Option<&Error>),
        to: JsonTo,
    ) -> u8 {
        let written = self.leave_records(Some(report).filter(|report| moved(report)));
        let (code, error) = match (&written, outcome) {
            (Err(error), (code, None)) => (code.max(FAILED), Some(error)),
            (_, outcome) => outcome,
        };
        if !self.everywhere.json {
            return code;
        }
        let verdict = verdict.map(Into::into);
        let text = json::document(command, details, self.seconds(), report, verdict, error);
        match to {
            JsonTo::Stderr => console::note(&text),
            JsonTo::Stdout if !console::result(&text) => return code.max(FAILED),
            JsonTo::Stdout => {}
        }
        code
    }

    /// Ends a run that failed as a whole. A broken pipe on standard output is a silent success.
    pub fn fail(&self, command: &str, error: &Error, to: JsonTo) -> u8 {
        if console::reader_left(error) {
            return self.finish(command, None::<()>, &Report::default(), (DONE, None), to);
        }
        self.show_error(error);
        let code = self.exit_code(Some(error));
        self.finish(command, None::<()>, &Report::default(), (code, Some(error)), to)
    }

    /// Writes the requested files about the run now; `report` covers its jobs.
    pub fn leave(&self, report: &Report) -> Result<()> {
        self.leave_records(Some(report))
    }

    /// Ends a run without a JSON object: returns `code`, or failure if the requested files cannot be written.
    pub fn end(&self, code: u8) -> u8 {
        if self.leave_records(None).is_ok() { code } else { code.max(FAILED) }
    }

    /// Writes the requested files about the run; later calls do nothing.
    fn leave_records(&self, report: Option<&Report>) -> Result<()> {
        // Signals wait, even if one has already arrived, so that no temporary file remains.
        let _hold = self.signals.hold_on();
        self.records.write(&self.trace, report, &self.throttles).inspect_err(|error| self.show_error(error))
    }

    /// The exit code for an error.
    pub fn exit_code(&self, error: Option<&Error>) -> u8 {
        match error.map(Error::kind) {
            None => DONE,
            Some(ErrorKind::Usage) => USAGE,
            Some(ErrorKind::Cancelled) => self.signals.exit_code().unwrap_or(FAILED),
            Some(_) if planted("exit-lost") => DONE,
            Some(_) => FAILED,
        }
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// Whether any job read or wrote bytes; otherwise there is no verdict.
fn moved(report: &Report) -> bool {
    report.bytes_in + report.bytes_out > 0
}
