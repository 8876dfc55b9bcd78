//! `polyhaul validate IN...`: everything that reading complains about, and what it cannot see.
//!
//! What is looked at is the library's, `polyhaul::inspect`; here are the verdicts for people and as JSON.

use crate::args::ValidateArgs;
use crate::json::{Failure, Warnings, codec};
use crate::session::{JsonTo, Session};
use crate::{FAILED, console, human, many, render};
use polyhaul::inspect::{self, Validation};
use polyhaul::warnings::KEPT;
use polyhaul::{Error, ErrorKind, Report};
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
    codec: Option<String>,
    bytes_in: u64,
    plain_bytes_in: u64,
    warnings: Warnings<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

/// What became of one input.
struct Checked<'a> {
    path: &'a Path,
    found: Validation,
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
        let stop = checked.found.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::Cancelled);
        all.push(checked);
        if stop {
            break;
        }
    }
    finish(session, &all)
}

/// Looks at one input from all sides. What cannot be read at all is not valid either.
fn check<'a>(session: &Session, path: &'a Path, args: &ValidateArgs) -> Checked<'a> {
    let options = session.validate_options(&args.read);
    let found = session.reading(path, &options, inspect::validate);
    let unread = |error| Validation { report: Report::default(), error: Some(error), valid: false };
    Checked { path, found: found.unwrap_or_else(unread) }
}

/// Shows the complaints and the verdict; `false` where nobody listens any more.
fn show(session: &Session, checked: &Checked<'_>) -> bool {
    if session.everywhere.json {
        return true;
    }
    let (warnings, error) = (&checked.found.report.warnings, checked.found.error.as_ref());
    if session.talks() {
        console::note(&render::warnings(warnings, KEPT, error.map(Error::diagnostic)));
    }
    if let Some(error) = error {
        let shown = session.talks() && warnings.kept().iter().any(|w| render::same(&w.diagnostic, error.diagnostic()));
        if !shown {
            session.show_error(error);
        }
    }
    session.show_work(&checked.found.report);
    session.everywhere.quiet || console::result(&verdict(checked))
}

/// The one line that standard output gets for each input.
fn verdict(checked: &Checked<'_>) -> String {
    let name = human::safe(&checked.path.display().to_string());
    let warnings = &checked.found.report.warnings;
    let counts = match warnings.total() {
        0 => String::new(),
        total => format!(" with {}: {}", human::plural(total, "complaint"), render::counts(warnings)),
    };
    let word = if checked.found.valid { "valid" } else { "failed" };
    format!("{name}: {word}{counts}\n")
}

/// Adds up the verdicts, prints the object, and gives the exit code.
fn finish(session: &Session, all: &[Checked<'_>]) -> u8 {
    let error = all.iter().rev().find_map(|checked| checked.found.error.as_ref());
    let failed = all.iter().filter(|checked| !checked.found.valid).count();
    let code = many::exit_code(session, failed, all.len(), error);
    let mut report = Report::default();
    all.iter().for_each(|checked| report.extend(checked.found.report.clone()));
    session.show_verdict(&report);
    let details = Details { valid: failed == 0, files: all.iter().map(entry).collect() };
    session.finish("validate", Some(details), &report, (code, error), JsonTo::Stdout)
}

/// One input's place in the array `files`.
fn entry<'a>(checked: &'a Checked<'_>) -> File<'a> {
    let Validation { report, error, valid } = &checked.found;
    File {
        file: checked.path.display().to_string(),
        valid: *valid,
        codec: codec(report),
        bytes_in: report.bytes_in,
        plain_bytes_in: report.plain_bytes_in,
        warnings: Warnings::new(&report.warnings),
        error: error.as_ref().map(Failure::new),
    }
}
