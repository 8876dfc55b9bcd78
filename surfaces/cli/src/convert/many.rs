//! Converts several files into a folder that mirrors the input folders.
//!
//! [`plan`] names and checks all outputs first; then each file is converted independently.

use super::{What, write_options};
use crate::args::ConvertArgs;
use crate::exit::{DONE, FAILED};
use crate::format::NamedFormat;
use crate::json::{JsonFailure, JsonWarnings, codec};
use crate::session::{JsonTo, Session};
use crate::{console, format, human, many, standard};
use polyhaul::many::{self as files, Source};
use polyhaul::options::{Codec, Compression, RunOptions};
use polyhaul::place;
use polyhaul::{Error, ErrorKind, Format, ReadOptions, Reader, Report, Result, Writer};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file to convert and its output.
struct ConvertJob {
    input: PathBuf,
    output: PathBuf,
    to: Format,
    /// The reason to skip the file.
    skipped: Option<&'static str>,
}

/// The outcome for one file.
enum ConvertOutcome {
    Converted(Box<(What, Report)>),
    Skipped(&'static str),
    Failed(Error),
}

#[derive(Serialize)]
struct ConvertedMany<'a> {
    converted: usize,
    skipped: usize,
    failed: usize,
    dry_run: bool,
    files: Vec<ConvertedFile<'a>>,
}

/// An entry of the JSON array `files`.
#[derive(Serialize)]
struct ConvertedFile<'a> {
    input: String,
    output: String,
    outcome: &'static str,
    /// The reason for skipping the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(flatten)]
    done: Option<ConvertedContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonFailure>,
}

#[derive(Serialize)]
struct ConvertedContent<'a> {
    codec: Option<String>,
    bytes_in: u64,
    bytes_out: u64,
    #[serde(flatten)]
    content: &'a What,
    warnings: JsonWarnings<'a>,
}

/// Whether to use this module: the output is a folder, or an option is given that a single conversion does not support.
pub(super) fn is_many(args: &ConvertArgs) -> bool {
    many::is_folder(args.inputs(), args.output()) || args.many.dry_run || args.many.no_clobber || args.many.newer
}

/// Converts all files.
pub(super) fn run(session: &Session, args: &ConvertArgs, to: JsonTo) -> u8 {
    let planned = session.convert_options(&args.style).and_then(|read| Ok((plan(session, args)?, read)));
    let (jobs, read) = match planned {
        Ok(planned) => planned,
        Err(error) => return session.fail("convert", &error, to),
    };
    if args.many.dry_run {
        return list(session, &jobs, to);
    }
    let paths: Vec<_> = jobs.iter().map(|job| &*job.input).collect();
    // Two conversions that copy the same file would both look for a free name, so run them sequentially.
    let bytes =
        |path: &Path| if args.style.write.is_given("copy_assets") { u64::MAX } else { files::claimed_bytes(path) };
    let work = |number: usize, run| convert(session, args, &jobs[number], &read, run);
    let mut outcomes = Vec::new();
    let is_tried = |job: &&ConvertJob| job.skipped.is_none() && place::check_name(&job.input).is_ok();
    let outputs = jobs.iter().filter(is_tried).map(|job| &*job.output);
    let ran = many::create_folders(outputs).and_then(|()| {
        session.each("converting", &paths, bytes, work, |number, outcome| {
            show(session, &jobs[number], &outcome, jobs.len() > 1);
            outcomes.push((&jobs[number], outcome));
            ControlFlow::Continue(())
        })
    });
    match (ran, &outcomes[..]) {
        // If the only file fails, the run fails like a single conversion.
        (Ok(()), [(_, ConvertOutcome::Failed(error))]) if jobs.len() == 1 => session.fail("convert", error, to),
        (Err(error), _) if error.kind() != ErrorKind::Cancelled => session.fail("convert", &error, to),
        (ran, outcomes) => finish(session, outcomes, ran.err(), to),
    }
}

/// Plans all conversions, and fails if two outputs are the same or options are invalid.
fn plan(session: &Session, args: &ConvertArgs) -> Result<Vec<ConvertJob>> {
    let mut jobs = Vec::new();
    for (input, output, to) in outputs(args)? {
        // Check all options before reading anything.
        write_options(session, &args.style, &input, to)?;
        let skipped = skipped(args, &input, &output);
        jobs.push(ConvertJob { input, output, to, skipped });
    }
    files::check_outputs(jobs.iter().map(|job| (&*job.input, &*job.output)))?;
    Ok(jobs)
}

/// Lists all inputs with their outputs and output formats.
fn outputs(args: &ConvertArgs) -> Result<Vec<(PathBuf, PathBuf, Format)>> {
    let folder = args.output();
    if !many::is_folder(args.inputs(), folder) {
        let to = format::of_output(folder, args.style.to)?;
        return Ok(args.inputs().iter().map(|input| (input.clone(), folder.to_owned(), to)).collect());
    }
    let usage = |message: String| Error::new(ErrorKind::Usage, message);
    if many::is_no_folder(folder) {
        let error = usage(format!("several inputs cannot be written to `{}`", folder.display()));
        return Err(error.with_hint("use a folder for the outputs as the last argument"));
    }
    if args.inputs().iter().any(|input| format::is_stream(input)) {
        let error = usage("standard input (-) has no name for a file in a folder".into());
        return Err(error.with_hint("use an output file instead of a folder"));
    }
    let Some(to) = args.style.to else {
        let error = usage(format!("cannot infer the output format for the folder `{}`", folder.display()));
        return Err(error.with_hint("use `--to FORMAT`"));
    };
    format::check_written(to.format)?;
    let find = args.many.find.options()?.with_exclude(folder);
    let sources = many::find(args.inputs(), &args.many.find, find, |from| from.converts_to(to.format))?;
    let compression = args.style.compression()?;
    let output = |name: &Path| folder.join(target_name(name, to, compression));
    Ok(sources.into_iter().map(|Source { path, name, .. }| (path, output(&name), to.format)).collect())
}

/// Replaces the extension of an input name with the extensions of the format and the compression.
pub(crate) fn target_name(name: &Path, to: NamedFormat, compression: Compression) -> PathBuf {
    let file = name.file_name().unwrap_or_default().to_string_lossy();
    let plain = Codec::of_name(&file).map_or(&*file, |(_, plain)| plain);
    let mut target = name.with_file_name(plain).with_extension(to.extension);
    if let Some(codec) = compression.codec() {
        target.as_mut_os_string().push(format!(".{}", codec.extension()));
    }
    target
}

/// The reason to skip a file, if any.
fn skipped(args: &ConvertArgs, input: &Path, output: &Path) -> Option<&'static str> {
    if format::is_stream(output) {
        return None;
    }
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if args.many.no_clobber && place::is_file(output) {
        return Some("the output exists");
    }
    let is_newer = match (modified(input), modified(output)) {
        (Some(input), Some(output)) => input > output,
        _ => true,
    };
    (args.many.newer && !is_newer).then_some("not newer than the output")
}

fn convert(
    session: &Session,
    args: &ConvertArgs,
    job: &ConvertJob,
    read: &ReadOptions,
    run: RunOptions,
) -> ConvertOutcome {
    if let Some(reason) = job.skipped {
        return ConvertOutcome::Skipped(reason);
    }
    match try_convert(session, args, job, read, run) {
        Ok(converted) => ConvertOutcome::Converted(Box::new(converted)),
        Err(error) => ConvertOutcome::Failed(error),
    }
}

fn try_convert(
    session: &Session,
    args: &ConvertArgs,
    job: &ConvertJob,
    read: &ReadOptions,
    run: RunOptions,
) -> Result<(What, Report)> {
    let write = write_options(session, &args.style, &job.input, job.to)?.with_run(run.clone());
    let input = standard::input_of(&job.input)?;
    let output = standard::output_of(&job.output)?;
    let mut content = What::Tables { tables: Vec::new() };
    let reader = Reader::new(input).options(&read.clone().with_run(run));
    let mut hold = None;
    let conversion = reader.convert_with(Writer::new(output).options(&write), |loaded, _| {
        content = What::from_content(loaded);
        // Signals wait while an output file is open.
        hold = session.signals().hold_output(&job.output)?;
        Ok(())
    })?;
    drop(hold);
    Ok((content, conversion.report()))
}

/// Shows the warnings of one file, and its error if there are several files.
fn show(session: &Session, job: &ConvertJob, outcome: &ConvertOutcome, is_one_of_many: bool) {
    let is_verbose = session.talks() && session.everywhere.verbose;
    match outcome {
        ConvertOutcome::Converted(conversion) => {
            session.show_warnings(&conversion.1);
            if is_verbose {
                console::note(&format!("{}: {}\n", arrow(job), conversion.0.words()));
            }
        }
        ConvertOutcome::Skipped(reason) if is_verbose => console::note(&skip_line(job, reason)),
        ConvertOutcome::Skipped(_) => {}
        ConvertOutcome::Failed(error) if is_one_of_many => session.show_error(error),
        ConvertOutcome::Failed(_) => {}
    }
}

fn arrow(job: &ConvertJob) -> String {
    let shown = |path: &Path| human::path(path);
    format!("{} -> {}", shown(&job.input), shown(&job.output))
}

fn skip_line(job: &ConvertJob, reason: &str) -> String {
    format!("{}: skipped, {reason}\n", human::path(&job.input))
}

/// Lists the planned conversions.
fn list(session: &Session, jobs: &[ConvertJob], to: JsonTo) -> u8 {
    let line = |job: &ConvertJob| job.skipped.map_or_else(|| arrow(job) + "\n", |reason| skip_line(job, reason));
    if !session.everywhere.json && !console::result(&jobs.iter().map(line).collect::<String>()) {
        return FAILED;
    }
    let files = jobs.iter().map(|job| entry(job, None)).collect();
    let skipped = jobs.iter().filter(|job| job.skipped.is_some()).count();
    let details = ConvertedMany { converted: 0, skipped, failed: 0, dry_run: true, files };
    session.finish("convert", Some(details), &Report::default(), (DONE, None), to)
}

/// Adds up the results, prints the summary and the JSON object, and returns the exit code. `ended` is the error that
/// stopped the run early.
fn finish(session: &Session, outcomes: &[(&ConvertJob, ConvertOutcome)], ended: Option<Error>, to: JsonTo) -> u8 {
    let mut counts = [0; 3];
    let mut error = None;
    let mut report = Report::default();
    for (_, outcome) in outcomes {
        match outcome {
            ConvertOutcome::Converted(conversion) => {
                counts[0] += 1;
                report.extend(conversion.1.clone());
            }
            ConvertOutcome::Skipped(_) => counts[1] += 1,
            ConvertOutcome::Failed(failed) => {
                counts[2] += 1;
                error = Some(failed);
            }
        }
    }
    let error = ended.as_ref().or(error);
    let [converted, skipped, failed] = counts;
    let code = many::exit_code(session, failed, outcomes.len(), error);
    if session.talks() {
        console::note(&summary(session, counts, &report));
        for (job, _) in outcomes.iter().filter(|(_, outcome)| matches!(outcome, ConvertOutcome::Failed(_))) {
            console::note(&format!("failed: {}\n", human::path(&job.input)));
        }
    }
    session.show_verdict(&report);
    // The phases of files processed in parallel cannot be added up.
    report.phases.clear();
    let files = outcomes.iter().map(|(job, outcome)| entry(job, Some(outcome))).collect();
    let details = ConvertedMany { converted, skipped, failed, dry_run: false, files };
    session.finish("convert", Some(details), &report, (code, error), to)
}

fn summary(session: &Session, [converted, skipped, failed]: [usize; 3], report: &Report) -> String {
    let mut text = human::plural(converted as u64, "file") + " converted";
    for (count, what) in [(skipped, "skipped"), (failed, "failed")] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", human::count(count as u64)));
        }
    }
    format!("{text}; {} written in {}\n", human::bytes(report.bytes_out), human::seconds(session.seconds()))
}

/// Creates an entry of the array `files`; without an outcome, the file is planned or skipped.
fn entry<'a>(job: &ConvertJob, outcome: Option<&'a ConvertOutcome>) -> ConvertedFile<'a> {
    let input = place::shown(&job.input);
    let output = place::shown(&job.output);
    let plain = ConvertedFile { input, output, outcome: "planned", reason: None, done: None, error: None };
    match outcome {
        None if job.skipped.is_none() => plain,
        None | Some(ConvertOutcome::Skipped(_)) => ConvertedFile { outcome: "skipped", reason: job.skipped, ..plain },
        Some(ConvertOutcome::Failed(error)) => {
            ConvertedFile { outcome: "failed", error: Some(JsonFailure::new(error)), ..plain }
        }
        Some(ConvertOutcome::Converted(converted)) => {
            let (content, report) = &**converted;
            let bytes_in = report.bytes_in;
            let bytes_out = report.bytes_out;
            let warnings = JsonWarnings::new(&report.warnings);
            let converted = ConvertedContent { codec: codec(report), bytes_in, bytes_out, content, warnings };
            ConvertedFile { outcome: "converted", done: Some(converted), ..plain }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_named_after_inputs() {
        let to = |extension| NamedFormat { format: Format::Ply, extension };
        let name = |name: &str, compression| target_name(name.as_ref(), to("ply"), compression);
        assert_eq!(target_name("a/b.obj".as_ref(), to("gltf"), Compression::Auto), Path::new("a/b.gltf"));
        assert_eq!(name("a/b.c.obj", Compression::Auto), Path::new("a/b.c.ply"));
        assert_eq!(name("a/b.obj.gz", Compression::Auto), Path::new("a/b.ply"));
        assert_eq!(name("scan", Compression::Zstd), Path::new("scan.ply.zst"));
    }
}
