//! `polyhaul texture IN... -o DIR`: converts images to GPU textures.
//!
//! The library converts (`polyhaul::textures`); this module formats the results as text and JSON.

use crate::args::texture::TextureArgs;
use crate::exit::FAILED;
use crate::json::{JsonFailure, JsonWarnings};
use crate::session::{JsonTo, Session};
use crate::{console, format, human, many};
use polyhaul::place;
use polyhaul::textures::{Imports, Outcome, Source, TextureOptions, find_images, import_textures};
use polyhaul::{Error, ErrorKind, Report, Result};
use serde::Serialize;

#[derive(Serialize)]
struct TextureDetails<'a> {
    made: usize,
    unchanged: usize,
    failed: usize,
    files: Vec<TextureFile<'a>>,
}

/// An entry of the JSON array `files`.
#[derive(Serialize)]
struct TextureFile<'a> {
    file: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    texture: Option<TextureMade>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<JsonWarnings<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonFailure>,
}

#[derive(Serialize)]
struct TextureMade {
    width: usize,
    height: usize,
    encoding: String,
    levels: usize,
    bytes_in: u64,
    bytes_out: u64,
}

/// Imports all images.
pub fn run(session: &Session, args: &TextureArgs) -> u8 {
    match options(session, args).and_then(|options| Ok((find(args)?, options))) {
        Ok((sources, options)) => import(session, args, &sources, options),
        Err(error) => session.fail("texture", &error, JsonTo::Stdout),
    }
}

fn options(session: &Session, args: &TextureArgs) -> Result<TextureOptions> {
    let on_error = session.everywhere.policy()?;
    let options = args
        .options()?
        .with_on_error(on_error)
        .with_strict(session.everywhere.strict)
        .with_allow(session.everywhere.allowed());
    Ok(options.with_run(session.run_options()))
}

/// Lists the images. Fails if there are none.
fn find(args: &TextureArgs) -> Result<Vec<Source>> {
    if args.inputs.iter().any(|input| format::is_stream(input)) {
        let error = Error::new(ErrorKind::Usage, "standard input (-) has no name for a texture in a folder");
        return Err(error.with_hint("use a file, or ./- for a file with that name"));
    }
    let sources = find_images(&args.inputs)?;
    if sources.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "no images found"));
    }
    Ok(sources)
}

fn import(session: &Session, args: &TextureArgs, sources: &[Source], mut options: TextureOptions) -> u8 {
    let bar = session.files_bar("importing");
    options.run.progress = bar.callback();
    // Signals wait while textures are open, so that no temporary file remains.
    let hold = session.signals().hold();
    let observe = |source: &Source, outcome: &Outcome| bar.aside(|| show(session, source, outcome));
    let imports = hold.and_then(|_hold| import_textures(sources, &args.output, &options, args.force, &observe));
    drop(bar);
    match imports {
        Ok(imports) => finish(session, sources, &imports),
        Err(error) => session.fail("texture", &error, JsonTo::Stdout),
    }
}

/// Prints the warnings or the error of one image as soon as it is finished.
fn show(session: &Session, source: &Source, outcome: &Outcome) {
    match outcome {
        Outcome::Failed(error) => session.show_error(error),
        Outcome::Made(made) => {
            session.show_warnings(&made.report);
            if session.talks() && session.everywhere.verbose {
                let name = human::path(&source.path);
                let seconds = human::seconds(made.report.elapsed().as_secs_f64());
                console::note(&format!("{name}: {} x {}, {}, {seconds}\n", made.width, made.height, made.encoding));
            }
        }
        _ => {}
    }
}

/// Adds up the results, prints the summary and the JSON object, and returns the exit code.
fn finish(session: &Session, sources: &[Source], imports: &Imports) -> u8 {
    let [made, unchanged, failed] = imports.counts();
    let error = imports.outcomes.iter().rev().find_map(|outcome| match outcome {
        Outcome::Failed(error) => Some(error),
        _ => None,
    });
    let code = many::exit_code(session, failed, imports.outcomes.len(), error);
    let mut report = Report::default();
    for outcome in &imports.outcomes {
        if let Outcome::Made(made) = outcome {
            report.extend(made.report.clone());
        }
    }
    if session.talks() {
        let mut text = human::plural(made as u64, "texture") + " converted";
        for (count, what) in [(unchanged, "unchanged"), (failed, "failed")] {
            if count > 0 {
                text.push_str(&format!(", {} {what}", human::count(count as u64)));
            }
        }
        if !console::result(&format!(
            "{text}; {} written\n{}",
            human::bytes(report.bytes_out),
            failures(sources, imports)
        )) {
            return FAILED;
        }
    }
    session.show_verdict(&report);
    // The phases of files processed in parallel cannot be added up.
    report.phases.clear();
    let files = sources.iter().zip(&imports.outcomes).map(|(source, outcome)| entry(source, outcome)).collect();
    let details = TextureDetails { made, unchanged, failed, files };
    session.finish("texture", Some(details), &report, (code, error), JsonTo::Stdout)
}

/// Formats a line for each image that failed.
fn failures(sources: &[Source], imports: &Imports) -> String {
    let outcomes = sources.iter().zip(&imports.outcomes);
    let failed = outcomes.filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
    let line = |source: &Source| format!("failed: {}\n", human::path(&source.path));
    failed.map(|(source, _)| line(source)).collect()
}

/// Creates an entry of the array `files`.
fn entry<'a>(source: &Source, outcome: &'a Outcome) -> TextureFile<'a> {
    let file = place::shown(&source.path);
    let plain = TextureFile { file, outcome: "unchanged", texture: None, warnings: None, error: None };
    match outcome {
        Outcome::Failed(error) => TextureFile { outcome: "failed", error: Some(JsonFailure::new(error)), ..plain },
        Outcome::Made(made) => {
            let texture = TextureMade {
                width: made.width,
                height: made.height,
                encoding: made.encoding.to_string(),
                levels: made.level_count,
                bytes_in: made.report.bytes_in,
                bytes_out: made.report.bytes_out,
            };
            let warnings = Some(JsonWarnings::new(&made.report.warnings));
            TextureFile { outcome: "made", texture: Some(texture), warnings, ..plain }
        }
        _ => plain,
    }
}
