//! `polyhaul validate IN...`: reports every problem found by reading, and some that reading ignores.
//!
//! The checks are in the library (`polyhaul::inspect`); this module formats the results as text and JSON.

use crate::args::{ValidateArgs, WarningsShown};
use crate::exit::FAILED;
use crate::json::JsonInput;
use crate::session::{JsonTo, Session};
use crate::{console, human, many, render, standard};
use polyhaul::inspect::{self, Validation};
use polyhaul::many::claimed_bytes;
use polyhaul::place;
use polyhaul::{Error, ErrorKind, ReadOptions, Report};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct ValidateDetails<'a> {
    /// Whether all inputs are valid, or `null` if an interruption prevented checking some and none is invalid.
    valid: Option<bool>,
    files: Vec<ValidateFile<'a>>,
}

#[derive(Serialize)]
struct ValidateFile<'a> {
    file: String,
    valid: Option<bool>,
    #[serde(flatten)]
    input: JsonInput<'a>,
}

/// The result for one input.
struct ValidateChecked {
    path: PathBuf,
    validation: Validation,
}

impl ValidateChecked {
    /// Whether the input is valid, or `None` if the check was interrupted.
    fn valid(&self) -> Option<bool> {
        let is_cancelled = self.validation.error.as_ref().is_some_and(|error| error.kind() == ErrorKind::Cancelled);
        (!is_cancelled).then_some(self.validation.valid)
    }
}

/// Validates each input.
pub fn run(session: &Session, args: &ValidateArgs) -> u8 {
    let find = |options: &ReadOptions| many::find_all(&args.inputs, &args.find, options, |_| true);
    let prepared = session.validate_options(&args.read).and_then(|options| Ok((find(&options)?, options)));
    let (sources, options) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return session.fail("validate", &error, JsonTo::Stdout),
    };
    let paths: Vec<_> = sources.iter().map(|source| &*source.path).collect();
    let mut results = Vec::new();
    let mut is_open = true;
    let ran = session.each(
        "reading",
        &paths,
        claimed_bytes,
        |number, run| check(paths[number], options.clone().with_run(run)),
        |_, checked| {
            is_open = show(session, &checked);
            results.push(checked);
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    match ran {
        Err(error) if error.kind() != ErrorKind::Cancelled => session.fail("validate", &error, JsonTo::Stdout),
        ran if is_open => finish(session, &results, ran.err()),
        _ => FAILED,
    }
}

/// Checks one input. An unreadable input is invalid.
fn check(path: &Path, options: ReadOptions) -> ValidateChecked {
    let validation = standard::input_of(path).and_then(|input| inspect::validate(input, &options));
    let unread = |error| Validation { report: Report::default(), error: Some(error), valid: false };
    ValidateChecked { path: path.to_owned(), validation: validation.unwrap_or_else(unread) }
}

/// Prints the problems and the verdict. Returns `false` if standard output is closed.
fn show(session: &Session, checked: &ValidateChecked) -> bool {
    if session.everywhere.json {
        return true;
    }
    let warnings = &checked.validation.report.warnings;
    let error = checked.validation.error.as_ref();
    if session.talks() {
        let which = session.everywhere.warnings.unwrap_or(WarningsShown::All);
        console::note(&render::warnings(warnings, which, error.map(Error::diagnostic)));
    }
    if let Some(error) = error {
        let shown = session.talks() && warnings.kept().iter().any(|w| render::same(&w.diagnostic, error.diagnostic()));
        if !shown {
            session.show_error(error);
        }
    }
    session.show_work(&checked.validation.report);
    session.everywhere.quiet || console::result(&verdict(checked))
}

/// The line on standard output for an input.
fn verdict(checked: &ValidateChecked) -> String {
    let name = human::path(&checked.path);
    let warnings = &checked.validation.report.warnings;
    let counts = match warnings.total() {
        0 => String::new(),
        total => format!(" with {}: {}", human::plural(total, "warning"), render::counts(warnings)),
    };
    let word = match checked.valid() {
        Some(true) => "valid",
        Some(false) => "invalid",
        None => "interrupted",
    };
    format!("{name}: {word}{counts}\n")
}

/// Adds up the results, prints the JSON object, and returns the exit code.
fn finish(session: &Session, results: &[ValidateChecked], ended: Option<Error>) -> u8 {
    let error = ended.as_ref().or(results.iter().rev().find_map(|checked| checked.validation.error.as_ref()));
    let failed = results.iter().filter(|checked| checked.valid() == Some(false)).count();
    let is_open = ended.is_some() || results.iter().any(|checked| checked.valid().is_none());
    let valid = if failed == 0 && is_open { None } else { Some(failed == 0) };
    let code = many::exit_code(session, failed, results.len(), error);
    let mut report = Report::default();
    results.iter().for_each(|checked| report.extend(checked.validation.report.clone()));
    session.show_verdict(&report);
    let details = ValidateDetails { valid, files: results.iter().map(entry).collect() };
    session.finish("validate", Some(details), &report, (code, error), JsonTo::Stdout)
}

/// Creates an entry of the array `files`.
fn entry(checked: &ValidateChecked) -> ValidateFile<'_> {
    let Validation { report, error, .. } = &checked.validation;
    ValidateFile {
        file: place::shown(&checked.path),
        valid: checked.valid(),
        input: JsonInput::new(&checked.path, report, error.as_ref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_is_neither_valid_nor_invalid() {
        let of = |error: Option<Error>| {
            let valid = error.is_none();
            ValidateChecked { path: "a.obj".into(), validation: Validation { report: Report::default(), error, valid } }
        };
        let broken = of(Some(Error::new(ErrorKind::Malformed, "broken")));
        let results = [of(Some(Error::cancelled())), broken, of(None)];
        assert_eq!(
            [None, Some(false), Some(true)].as_slice(),
            results.iter().map(ValidateChecked::valid).collect::<Vec<_>>()
        );
        assert_eq!(results.each_ref().map(verdict), ["a.obj: interrupted\n", "a.obj: invalid\n", "a.obj: valid\n"]);
        let entry = serde_json::to_value(entry(&results[0])).unwrap();
        assert!(entry["valid"].is_null() && entry["error"]["kind"] == "cancelled", "{entry}");
    }
}
