//! `polyhaul info IN...`.

use crate::args::InfoArgs;
use crate::contents::{Listed, table};
use crate::json::{JsonFailure, JsonWarnings, codec};
use crate::session::{JsonTo, Session};
use crate::{FAILED, console, human, many};
use polyhaul::inspect::{self, Inventory};
use polyhaul::{Error, ErrorKind, Report};
use serde::Serialize;
use std::path::Path;

/// One file of many in JSON.
#[derive(Serialize)]
struct InfoFile<'a> {
    file: String,
    #[serde(flatten)]
    inventory: Option<Listed<'a>>,
    codec: Option<String>,
    bytes_in: u64,
    plain_bytes_in: u64,
    warnings: JsonWarnings<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonFailure>,
}

#[derive(Serialize)]
struct InfoDetails<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec: Option<Option<String>>,
    #[serde(flatten)]
    inventory: Listed<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<InfoFile<'a>>,
}

/// The contents of one input.
struct InfoFound<'a> {
    path: &'a Path,
    result: Result<Inventory, Error>,
    report: Report,
}

/// Shows the contents of each input.
pub fn run(session: &Session, args: &InfoArgs) -> u8 {
    if let Err(error) = many::check_streams(&args.inputs).and(session.everywhere.policy().map(drop)) {
        return session.fail("info", &error, JsonTo::Stdout);
    }
    let mut all = Vec::new();
    for path in &args.inputs {
        let found = look(session, path, args);
        if !show(session, &found) {
            return FAILED;
        }
        let stop = found.result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled);
        all.push(found);
        if stop {
            break;
        }
    }
    finish(session, &all)
}

/// Reads one input and counts its contents.
fn look<'a>(session: &Session, path: &'a Path, args: &InfoArgs) -> InfoFound<'a> {
    let options = session.read_options(&args.read);
    match options.and_then(|options| session.reading(path, &options, inspect::info)) {
        Ok((inventory, report)) => InfoFound { path, result: Ok(inventory), report },
        Err(error) => InfoFound { path, result: Err(error), report: Report::default() },
    }
}

/// Shows the table and the warnings; `false` if standard output is closed.
fn show(session: &Session, found: &InfoFound<'_>) -> bool {
    session.show_warnings(&found.report);
    session.show_work(&found.report);
    match &found.result {
        Ok(_) if session.everywhere.json => true,
        Ok(inventory) => {
            let name = human::safe(&found.path.display().to_string());
            let size = human::input(&found.report);
            console::result(&format!("{name}  ({size})\n{}", table(inventory)))
        }
        Err(error) => {
            session.show_error(error);
            true
        }
    }
}

/// Adds up the counts, prints the object, and returns the exit code. The fields of a single input are at the top level
/// of the object, several inputs are in an array with their sums above it.
fn finish(session: &Session, all: &[InfoFound<'_>]) -> u8 {
    let error = all.iter().rev().find_map(|found| found.result.as_ref().err());
    let failed = all.iter().filter(|found| found.result.is_err()).count();
    let code = many::exit_code(session, failed, all.len(), error);
    let mut sum = Inventory::default();
    let mut report = Report::default();
    for found in all {
        report.extend(found.report.clone());
        found.result.iter().for_each(|inventory| sum.add(inventory));
    }
    let details = match all {
        [one] => one.result.as_ref().ok().map(|inventory| InfoDetails {
            file: Some(one.path.display().to_string()),
            codec: Some(codec(&one.report)),
            inventory: Listed::new(inventory),
            files: Vec::new(),
        }),
        _ => Some(InfoDetails {
            file: None,
            codec: None,
            inventory: Listed::new(&sum),
            files: all.iter().map(entry).collect(),
        }),
    };
    session.show_verdict(&report);
    session.finish("info", details, &report, (code, error), JsonTo::Stdout)
}

/// One input's place in the array `files`.
fn entry<'a>(found: &'a InfoFound<'_>) -> InfoFile<'a> {
    InfoFile {
        file: found.path.display().to_string(),
        inventory: found.result.as_ref().ok().map(Listed::new),
        codec: codec(&found.report),
        bytes_in: found.report.bytes_in,
        plain_bytes_in: found.report.plain_bytes_in,
        warnings: JsonWarnings::new(&found.report.warnings),
        error: found.result.as_ref().err().map(JsonFailure::new),
    }
}
