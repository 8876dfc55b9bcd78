//! `polyhaul validate IN...`: everything that reading complains about, and what it cannot see.
//!
//! A file is read to its end with every complaint kept. Where there were any, it is read once more
//! with the defaults, which tells whether a plain read would stop; so this module needs no list of
//! which complaints are serious. The further checks are in `checks`.

mod checks;

use crate::args::ValidateArgs;
use crate::json::{Failure, Warnings};
use crate::session::{JsonTo, Session};
use crate::{FAILED, console, format, human, many, render};
use polyhaul::options::OnError;
use polyhaul::warnings::KEPT;
use polyhaul::{Error, ErrorKind, Input, Loaded, ReadOptions, Report, Result};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Details<'a> {
    valid: bool,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    file: String,
    valid: bool,
    bytes_in: u64,
    warnings: Warnings<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// What became of one input.
struct Checked<'a> {
    path: &'a Path,
    report: Report,
    /// What stops a default read.
    error: Option<Error>,
    valid: bool,
}

/// Lists every complaint about each input.
pub fn run(session: &Session, args: &ValidateArgs) -> u8 {
    if let Err(error) = many::check_streams(&args.inputs) {
        return session.fail("validate", &error, JsonTo::Stdout);
    }
    let mut all = Vec::new();
    for path in &args.inputs {
        let checked = check(session, path, args);
        if !show(session, &checked) {
            return FAILED;
        }
        let stop = checked.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::Cancelled);
        all.push(checked);
        if stop {
            break;
        }
    }
    finish(session, &all)
}

/// Reads one input and looks at it from all sides.
fn check<'a>(session: &Session, path: &'a Path, args: &ValidateArgs) -> Checked<'a> {
    let options = session.lenient_options(&args.read);
    match read(session, path, &options) {
        Ok((Loaded { scene, mut report }, error)) => {
            checks::degenerate_faces(&scene, path, &mut report.warnings);
            checks::missing_textures(&scene, path, &mut report.warnings);
            let strict = session.everywhere.strict && !report.warnings.is_empty();
            Checked { path, valid: error.is_none() && !strict, report, error }
        }
        Err(error) => Checked { path, report: Report::default(), error: Some(error), valid: false },
    }
}

/// Reads to the end, and once more to see what would stop a default read.
fn read(session: &Session, path: &Path, options: &ReadOptions) -> Result<(Loaded, Option<Error>)> {
    let mut again = Again::new(path)?;
    let loaded = session.load_input(again.input(path), path, options)?;
    if loaded.report.warnings.is_empty() {
        return Ok((loaded, None));
    }
    let default = ReadOptions { on_error: OnError::Raise, ..options.clone() };
    let error = session.load_input(again.input(path), path, &default).err();
    Ok((loaded, error))
}

/// An input that can be read twice: a file, or the bytes of a stream.
struct Again(Option<Vec<u8>>);

impl Again {
    /// Opens nothing but streams: a file is left to the library.
    fn new(path: &Path) -> Result<Again> {
        let io = |error| Error::io("reading", &format::input_name(path), error);
        if format::is_stream(path) {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes).map_err(io)?;
            return Ok(Again(Some(bytes)));
        }
        // A pipe with a name (`<(...)` in a shell) gives its bytes once.
        let pipe = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
        Ok(Again(if pipe { Some(std::fs::read(path).map_err(io)?) } else { None }))
    }

    fn input(&mut self, path: &Path) -> Input {
        match &self.0 {
            Some(bytes) => Input::Memory(bytes.clone(), format::input_name(path)),
            None => Input::Path(path.into()),
        }
    }
}

/// Shows the complaints and the verdict; `false` where nobody listens any more.
fn show(session: &Session, checked: &Checked<'_>) -> bool {
    if session.everywhere.json {
        return true;
    }
    let (warnings, error) = (&checked.report.warnings, checked.error.as_ref());
    if session.talks() {
        console::note(&render::warnings(warnings, KEPT, error.map(Error::diagnostic)));
    }
    if let Some(error) = error {
        let shown = session.talks() && warnings.kept().iter().any(|w| render::same(&w.diagnostic, error.diagnostic()));
        if !shown {
            session.show_error(error);
        }
    }
    session.show_work(&checked.report);
    session.everywhere.quiet || console::result(&verdict(checked))
}

/// The one line that standard output gets for each input.
fn verdict(checked: &Checked<'_>) -> String {
    let name = human::safe(&checked.path.display().to_string());
    let warnings = &checked.report.warnings;
    let counts = match warnings.total() {
        0 => String::new(),
        total => format!(" with {}: {}", human::plural(total, "complaint"), render::counts(warnings)),
    };
    let word = if checked.valid { "valid" } else { "failed" };
    format!("{name}: {word}{counts}\n")
}

/// Adds up the verdicts, prints the object, and gives the exit code.
fn finish(session: &Session, all: &[Checked<'_>]) -> u8 {
    let error = all.iter().rev().find_map(|checked| checked.error.as_ref());
    let failed = all.iter().filter(|checked| !checked.valid).count();
    let code = many::exit_code(session, failed, all.len(), error);
    let mut report = Report::default();
    all.iter().for_each(|checked| report.extend(checked.report.clone()));
    let details = Details { valid: failed == 0, files: all.iter().map(entry).collect() };
    session.finish("validate", Some(details), &report, (code, error), JsonTo::Stdout)
}

/// One input's place in the array `files`.
fn entry<'a>(checked: &'a Checked<'_>) -> File<'a> {
    File {
        file: checked.path.display().to_string(),
        valid: checked.valid,
        bytes_in: checked.report.bytes_in,
        warnings: Warnings::new(&checked.report.warnings),
        error: checked.error.as_ref().map(Failure::new),
    }
}
