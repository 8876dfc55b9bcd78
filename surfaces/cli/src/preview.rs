//! `polyhaul preview IN... -o OUT`: draws pictures of files.
//!
//! The library reads and draws (`polyhaul::preview`); this module names the outputs and reports the results.

use crate::args::preview::PreviewArgs;
use crate::json::{JsonFailure, JsonWarnings};
use crate::session::{JsonTo, Session};
use crate::{console, format, human, many, standard};
use polyhaul::many::{self as files, Source};
use polyhaul::model::Image;
use polyhaul::options::RunOptions;
use polyhaul::place;
use polyhaul::preview::{PIXEL_BYTES, PreviewOptions, Sheet, preview};
use polyhaul::{Error, ErrorKind, Format, Loaded, ReadOptions, Report, Result, WriteOptions, Writer};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A file to draw, and its output.
struct PreviewJob {
    input: PathBuf,
    /// The label on a sheet.
    name: String,
    /// The file of the picture, or of the sheet that contains it.
    output: PathBuf,
}

struct Picture {
    size: [usize; 2],
    /// Seconds until the picture was in memory.
    first_pixel: f64,
    report: Report,
    /// The picture, if it goes on a sheet.
    image: Option<Image>,
}

#[derive(Serialize)]
struct PreviewDetails<'a> {
    drawn: usize,
    failed: usize,
    files: Vec<PreviewFile<'a>>,
}

/// An entry of the JSON array `files`.
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
    let planned = session.read_options(&args.read).and_then(|read| Ok((plan(args)?, read, args.options())));
    let (jobs, read, options) = match planned {
        Ok(planned) => planned,
        Err(error) => return session.fail("preview", &error, to),
    };
    let paths: Vec<_> = jobs.iter().map(|job| &*job.input).collect();
    let [width, height] = options.size;
    let bytes = |path: &Path| files::claimed_bytes(path).saturating_add(PIXEL_BYTES * (width * height) as u64);
    let work = |number: usize, run: RunOptions| draw(session, &jobs[number], &read, &options, args.sheet, run);
    let mut results = Vec::new();
    let sheet = if args.sheet { Sheet::new(jobs.len(), options.size).map(Some) } else { Ok(None) };
    let mut sheet = match sheet {
        Ok(sheet) => sheet,
        Err(error) => return session.fail("preview", &error, to),
    };
    let ran = many::create_folders(jobs.iter().map(|job| &*job.output)).and_then(|()| {
        session.each("drawing", &paths, bytes, work, |number, mut result| {
            show(session, &jobs[number], &result, jobs.len() > 1);
            if let Some(sheet) = &mut sheet {
                put(sheet, number, &jobs[number], &mut result);
            }
            results.push((&jobs[number], result));
            ControlFlow::Continue(())
        })
    });
    let ran = ran.and_then(|()| {
        sheet.map_or(Ok(()), |sheet| write(session, &args.output, &sheet.finish(), RunOptions::default()).map(drop))
    });
    match (ran, &results[..]) {
        (Ok(()), [(_, Err(error))]) if jobs.len() == 1 => session.fail("preview", error, to),
        (Err(error), _) if error.kind() != ErrorKind::Cancelled => session.fail("preview", &error, to),
        (ran, results) => finish(session, results, ran.err(), to),
    }
}

/// Lists all inputs with their outputs.
fn plan(args: &PreviewArgs) -> Result<Vec<PreviewJob>> {
    let sources = many::find(&args.inputs, &args.find, args.find.options()?.with_exclude(&args.output), |_| true)?;
    let real = |path: &Path| place::real(path).ok();
    if args.inputs.iter().any(|input| input.is_dir() && real(input) == real(&args.output)) {
        let error = Error::new(ErrorKind::Usage, "the output folder is also an input");
        return Err(error.with_hint("use another output folder"));
    }
    if let [source] = &sources[..]
        && !(args.sheet || many::is_folder(&args.inputs, &args.output))
    {
        check_format(&args.output)?;
        if real(&args.output).is_some_and(|output| real(&source.path) == Some(output)) {
            let message = format!("{} would be overwritten by its picture", source.path.display());
            return Err(Error::new(ErrorKind::Usage, message).with_hint("use another output file"));
        }
        return Ok(vec![PreviewJob::new(source, args.output.clone())]);
    }
    if args.sheet {
        check_format(&args.output)?;
        let outputs = sources.iter().map(|source| real(&source.path)).collect::<Vec<_>>();
        if real(&args.output).is_some_and(|output| outputs.contains(&Some(output))) {
            let message = format!("{} is an input, and would be overwritten by the sheet", args.output.display());
            return Err(Error::new(ErrorKind::Usage, message).with_hint("use another output file"));
        }
        return Ok(sources.iter().map(|source| PreviewJob::new(source, args.output.clone())).collect());
    }
    if many::is_no_folder(&args.output) {
        let message = format!("several pictures cannot be written to `{}`", args.output.display());
        return Err(Error::new(ErrorKind::Usage, message).with_hint("-o takes a folder for several inputs"));
    }
    let job = |source: &Source| {
        // Keep the extension, so that files that differ only in it get different pictures.
        let mut name = source.name.clone().into_os_string();
        name.push(".png");
        PreviewJob::new(source, args.output.join(name))
    };
    let jobs: Vec<_> = sources.iter().map(job).collect();
    files::check_outputs(jobs.iter().map(|job| (&*job.input, &*job.output)))?;
    Ok(jobs)
}

/// Fails unless the output is an image format that can be written, or a stream, which becomes PNG.
fn check_format(output: &Path) -> Result<()> {
    let hint = "pictures can be written as png, jpg, tga, hdr or exr";
    let usage = |message: String| Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
    match Format::of_path(output) {
        _ if format::is_stream(output) => Ok(()),
        Some(to) if to.is_image() && to.is_written() => Ok(()),
        Some(to) if to.is_image() => usage(format!("pictures cannot be written as {}", to.name())),
        Some(to) => usage(format!("{} is not an image format", to.name())),
        None => usage(format!("cannot infer the image format from `{}`", output.display())),
    }
}

impl PreviewJob {
    fn new(source: &Source, output: PathBuf) -> PreviewJob {
        PreviewJob { input: source.path.clone(), name: source.name.display().to_string(), output }
    }
}

/// Draws a file, and writes its picture unless it goes on a sheet.
fn draw(
    session: &Session,
    job: &PreviewJob,
    read: &ReadOptions,
    options: &PreviewOptions,
    for_sheet: bool,
    run: RunOptions,
) -> Result<Picture> {
    let input = standard::input_of(&job.input)?;
    let read = read.clone().with_run(run.clone());
    let Loaded { value: image, mut report } = preview(input, &read, &options.clone().with_run(run.clone()))?;
    let first_pixel = report.first_pixel.unwrap_or_default().as_secs_f64();
    let size = [image.width, image.height];
    if for_sheet {
        return Ok(Picture { size, first_pixel, report, image: Some(image) });
    }
    report.extend(write(session, &job.output, &image, run)?);
    Ok(Picture { size, first_pixel, report, image: None })
}

fn write(session: &Session, output: &Path, image: &Image, run: RunOptions) -> Result<Report> {
    let mut options = WriteOptions::default().with_run(run);
    options.format = Format::of_path(output).or(Format::named("png"));
    let target = standard::output_of(output)?;
    // Signals wait while an output file is open.
    let _hold = session.signals().hold_output(output)?;
    Writer::new(target).options(&options).image(image)
}

/// Adds a picture to a sheet, labeled with the name and size of its file, or the error if drawing failed.
fn put(sheet: &mut Sheet, number: usize, job: &PreviewJob, result: &mut Result<Picture>) {
    match result {
        Ok(picture) => {
            let size = human::bytes(human::file_bytes(&job.input).unwrap_or(picture.report.bytes_in));
            let is_coarse = picture.report.warnings.counts().keys().any(|code| code.starts_with("coarse-"));
            let size = if is_coarse { format!("{size}, coarse") } else { size };
            sheet.put(number, picture.image.take().as_ref(), &[&job.name, &size]);
        }
        Err(error) => sheet.put(number, None, &[&job.name, &error.diagnostic().message]),
    }
}

/// Shows the warnings of a file, its summary line if it is the only file or `--verbose` is given, and its error if
/// there are several files.
fn show(session: &Session, job: &PreviewJob, result: &Result<Picture>, is_one_of_many: bool) {
    match result {
        Err(error) if is_one_of_many => session.show_error(error),
        Err(_) => {}
        Ok(picture) => {
            session.show_warnings(&picture.report);
            if session.talks() && (session.everywhere.verbose || !is_one_of_many) {
                let [input, output] = [&*job.input, &*job.output].map(human::path);
                let size = human::input(human::file_bytes(&job.input), &picture.report);
                let seconds = human::seconds(picture.first_pixel);
                console::note(&format!("{input} ({size}) -> {output}: drawn in {seconds}\n"));
            }
            session.show_work(&picture.report);
        }
    }
}

/// Adds up the results, prints the JSON object, and returns the exit code. `ended` is the error that stopped the run
/// early.
fn finish(session: &Session, results: &[(&PreviewJob, Result<Picture>)], ended: Option<Error>, to: JsonTo) -> u8 {
    let error = ended.as_ref().or(results.iter().rev().find_map(|(_, result)| result.as_ref().err()));
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let code = many::exit_code(session, failed, results.len(), error);
    let mut report = Report::default();
    results.iter().flat_map(|(_, result)| result).for_each(|picture| report.extend(picture.report.clone()));
    if session.talks() && results.len() > 1 {
        let drawn = human::plural((results.len() - failed) as u64, "picture");
        let failed = if failed > 0 { format!(", {} failed", human::count(failed as u64)) } else { String::new() };
        console::note(&format!("{drawn} drawn{failed} in {}\n", human::seconds(session.seconds())));
    }
    session.show_verdict(&report);
    if results.len() > 1 {
        // The phases of files processed in parallel cannot be added up.
        report.phases.clear();
    }
    let files = results.iter().map(|(job, result)| entry(job, result)).collect();
    let details = PreviewDetails { drawn: results.len() - failed, failed, files };
    session.finish("preview", Some(details), &report, (code, error), to)
}

/// Creates an entry of the array `files`.
fn entry<'a>(job: &PreviewJob, result: &'a Result<Picture>) -> PreviewFile<'a> {
    let picture = result.as_ref().ok();
    PreviewFile {
        input: place::shown(&job.input),
        output: place::shown(&job.output),
        outcome: if picture.is_some() { "drawn" } else { "failed" },
        width: picture.map(|picture| picture.size[0]),
        height: picture.map(|picture| picture.size[1]),
        first_pixel_seconds: picture.map(|picture| picture.first_pixel),
        warnings: picture.map(|picture| JsonWarnings::new(&picture.report.warnings)),
        error: result.as_ref().err().map(JsonFailure::new),
    }
}
