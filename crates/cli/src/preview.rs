//! `polyhaul preview IN... -o OUT`: pictures of files.
//!
//! Reading and drawing are the library's (`polyhaul::preview`); this names the outputs and reports.

use crate::args::preview::PreviewArgs;
use crate::json::{JsonFailure, JsonWarnings};
use crate::session::{JsonTo, Session};
use crate::{console, format, human, many, standard};
use polyhaul::many::{self as files, Source};
use polyhaul::options::RunOptions;
use polyhaul::preview::{PreviewOptions, preview};
use polyhaul::{Error, ErrorKind, Format, ReadOptions, Report, Result, WriteOptions, Writer};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// A file and its picture.
struct Job {
    source: Source,
    output: PathBuf,
}

struct Picture {
    size: [usize; 2],
    /// The time until the picture was in memory, in seconds.
    first_pixel: f64,
    report: Report,
}

#[derive(Serialize)]
struct PreviewDetails<'a> {
    drawn: usize,
    failed: usize,
    files: Vec<PreviewFile<'a>>,
}

/// One of several files in JSON.
#[derive(Serialize)]
struct PreviewFile<'a> {
    input: String,
    output: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_pixel_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<JsonWarnings<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonFailure>,
}

/// Draws all inputs.
pub fn run(session: &Session, args: &PreviewArgs) -> u8 {
    let to = if format::is_stream(&args.output) { JsonTo::Stderr } else { JsonTo::Stdout };
    let planned = session.read_options(&args.read).and_then(|read| Ok((plan(args)?, read, args.options()?)));
    let (jobs, read, options) = match planned {
        Ok(planned) => planned,
        Err(error) => return session.fail("preview", &error, to),
    };
    let sources: Vec<_> = jobs.iter().map(|job| job.source.clone()).collect();
    let mut all = Vec::new();
    // While pictures are written, signals wait: so no temporary file stays.
    let ran = session.signals().hold().and_then(|_hold| {
        create_folders(&jobs)?;
        let work = |number: usize, run: RunOptions| draw(&jobs[number], &read, &options, run);
        session.each("drawing", (&sources, true), work, |number, result| {
            show(session, &jobs[number], &result);
            let is_cancelled = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled);
            all.push(result);
            if is_cancelled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    match ran {
        Ok(()) => finish(session, &jobs, &all, to),
        Err(error) => session.fail("preview", &error, to),
    }
}

/// All inputs with their outputs.
fn plan(args: &PreviewArgs) -> Result<Vec<Job>> {
    let sources = many::find(&args.inputs, &args.find, args.find.options()?.with_exclude(&args.output), |_| true)?;
    if let ([source], false) = (&sources[..], is_folder(args)) {
        let to = format::of_output(&args.output, args.stream_format())?;
        if !to.is_image() {
            let error = Error::new(ErrorKind::Usage, format!("{} is not an image format", to.name()));
            return Err(error.with_hint("a picture is written as PNG, JPEG, TGA, HDR or EXR"));
        }
        return Ok(vec![Job { source: source.clone(), output: args.output.clone() }]);
    }
    if format::is_stream(&args.output) || args.output.is_file() || Format::of_path(&args.output).is_some() {
        let message = format!("several pictures cannot be written to `{}`", args.output.display());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("-o takes a folder for several inputs"));
    }
    let output = |source: &Source| {
        // Files that differ in their extension have different pictures.
        let mut name = source.name.clone().into_os_string();
        name.push(".png");
        args.output.join(name)
    };
    let jobs: Vec<_> = sources.into_iter().map(|source| Job { output: output(&source), source }).collect();
    files::check_outputs(jobs.iter().map(|job| (&*job.source.path, &*job.output)))?;
    Ok(jobs)
}

/// Whether the pictures go into a folder.
fn is_folder(args: &PreviewArgs) -> bool {
    let ends_in_slash = args.output.to_string_lossy().ends_with(std::path::is_separator);
    args.inputs.len() > 1 || args.inputs.iter().any(|input| input.is_dir()) || args.output.is_dir() || ends_in_slash
}

fn create_folders(jobs: &[Job]) -> Result<()> {
    let folders: BTreeSet<_> = jobs.iter().filter_map(|job| job.output.parent()).collect();
    let mut wanted = folders.into_iter().filter(|folder| !folder.as_os_str().is_empty());
    wanted.try_for_each(|folder| {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("creating", &folder.display().to_string(), e))
    })
}

fn draw(job: &Job, read: &ReadOptions, options: &PreviewOptions, run: RunOptions) -> Result<Picture> {
    let (input, output) = (standard::input_of(&job.source.path)?, standard::output_of(&job.output)?);
    let read = read.clone().with_run(run.clone());
    let drawn = preview(input, &read, &options.clone().with_run(run.clone()))?;
    let first_pixel = drawn.report.elapsed().as_secs_f64();
    let mut write = WriteOptions::default().with_run(run);
    write.format = Format::of_path(&job.output).or(Format::named("png"));
    let mut report = drawn.report;
    report.extend(Writer::new(output).options(&write).image(&drawn.value)?);
    Ok(Picture { size: [drawn.value.width, drawn.value.height], first_pixel, report })
}

/// Shows the warnings and the line of one file.
fn show(session: &Session, job: &Job, result: &Result<Picture>) {
    match result {
        Err(error) => session.show_error(error),
        Ok(picture) => {
            session.show_warnings(&picture.report);
            if session.talks() {
                let [input, output] =
                    [&*job.source.path, &*job.output].map(|it| human::safe(&it.display().to_string()));
                let (size, seconds) = (human::input(&picture.report), human::seconds(picture.first_pixel));
                console::note(&format!("{input} ({size}) -> {output}: first picture after {seconds}\n"));
            }
            session.show_work(&picture.report);
        }
    }
}

/// Adds up the results, prints the object, and returns the exit code.
fn finish(session: &Session, jobs: &[Job], all: &[Result<Picture>], to: JsonTo) -> u8 {
    let error = all.iter().rev().find_map(|result| result.as_ref().err());
    let failed = all.iter().filter(|result| result.is_err()).count();
    let code = many::exit_code(session, failed, all.len(), error);
    let mut report = Report::default();
    all.iter().flatten().for_each(|picture| report.extend(picture.report.clone()));
    session.show_verdict(&report);
    if all.len() > 1 {
        // Phases of files in parallel mean nothing when added up.
        report.phases.clear();
    }
    let files = jobs.iter().zip(all).map(|(job, result)| entry(job, result)).collect();
    let details = PreviewDetails { drawn: all.len() - failed, failed, files };
    session.finish("preview", Some(details), &report, (code, error), to)
}

/// One file's place in the array `files`.
fn entry<'a>(job: &Job, result: &'a Result<Picture>) -> PreviewFile<'a> {
    let picture = result.as_ref().ok();
    PreviewFile {
        input: job.source.path.display().to_string(),
        output: job.output.display().to_string(),
        outcome: if picture.is_some() { "drawn" } else { "failed" },
        width: picture.map(|picture| picture.size[0]),
        height: picture.map(|picture| picture.size[1]),
        first_pixel_seconds: picture.map(|picture| picture.first_pixel),
        warnings: picture.map(|picture| JsonWarnings::new(&picture.report.warnings)),
        error: result.as_ref().err().map(JsonFailure::new),
    }
}
