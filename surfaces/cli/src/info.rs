//! `polyhaul info IN...`.

use crate::args::InfoArgs;
use crate::contents::{Listed, table};
use crate::json::{JsonFailure, JsonWarnings, codec};
use crate::session::{JsonTo, Session};
use crate::{FAILED, console, human, many, standard};
use polyhaul::inspect::{self, Inventory};
use polyhaul::many::claimed_bytes;
use polyhaul::place;
use polyhaul::{Error, ErrorKind, ReadOptions, Report};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

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
struct InfoFound {
    path: PathBuf,
    result: Result<Inventory, Error>,
    report: Report,
    /// The table for people, until it is shown.
    text: String,
}

/// Shows the contents of each input.
pub fn run(session: &Session, args: &InfoArgs) -> u8 {
    let find = || many::find(&args.inputs, &args.find, args.find.options()?, |_| true);
    let found = session.read_options(&args.read).and_then(|options| Ok((find()?, options)));
    let (sources, options) = match found {
        Ok(found) => found,
        Err(error) => return session.fail("info", &error, JsonTo::Stdout),
    };
    let paths: Vec<_> = sources.iter().map(|source| &*source.path).collect();
    let (mut all, mut is_open) = (Vec::new(), true);
    let ran = session.each(
        "reading",
        &paths,
        claimed_bytes,
        |number, run| look(session, paths[number], options.clone().with_run(run)),
        |_, mut found| {
            is_open = show(session, &mut found);
            all.push(found);
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    match ran {
        Err(error) if error.kind() != ErrorKind::Cancelled => session.fail("info", &error, JsonTo::Stdout),
        ran if is_open => finish(session, &all, ran.err()),
        _ => FAILED,
    }
}

/// Reads one input and counts its contents.
fn look(session: &Session, path: &Path, options: ReadOptions) -> InfoFound {
    let (path, text) = (path.to_owned(), String::new());
    match standard::input_of(&path).and_then(|input| inspect::info(input, &options)) {
        Err(error) => InfoFound { path, result: Err(error), report: Report::default(), text },
        Ok((inventory, report)) if session.everywhere.json => InfoFound { path, result: Ok(inventory), report, text },
        Ok((inventory, report)) => {
            let (name, size) = (human::path(&path), human::input(&report));
            let text = format!("{name}  ({size})\n{}", table(&inventory));
            InfoFound { path, result: Ok(inventory), report, text }
        }
    }
}

/// Shows the table and the warnings; `false` if standard output is closed.
fn show(session: &Session, found: &mut InfoFound) -> bool {
    session.show_warnings(&found.report);
    session.show_work(&found.report);
    if let Err(error) = &found.result {
        session.show_error(error);
    }
    console::result(&std::mem::take(&mut found.text))
}

/// Adds up the counts, prints the object, and returns the exit code. The fields of a single input are at the top level
/// of the object, several inputs are in an array with their sums above it.
fn finish(session: &Session, all: &[InfoFound], ended: Option<Error>) -> u8 {
    let error = ended.as_ref().or(all.iter().rev().find_map(|found| found.result.as_ref().err()));
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
            file: Some(place::shown(&one.path)),
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
fn entry(found: &InfoFound) -> InfoFile<'_> {
    InfoFile {
        file: place::shown(&found.path),
        inventory: found.result.as_ref().ok().map(Listed::new),
        codec: codec(&found.report),
        bytes_in: found.report.bytes_in,
        plain_bytes_in: found.report.plain_bytes_in,
        warnings: JsonWarnings::new(&found.report.warnings),
        error: found.result.as_ref().err().map(JsonFailure::new),
    }
}
