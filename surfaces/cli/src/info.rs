//! `polyhaul info IN...`: lists the contents of files.

use crate::args::InfoArgs;
use crate::contents::{Listed, Summed, table};
use crate::exit::FAILED;
use crate::json::JsonInput;
use crate::session::{JsonTo, Session};
use crate::{console, human, many, standard};
use polyhaul::inspect::{self, Inventory};
use polyhaul::many::claimed_bytes;
use polyhaul::place;
use polyhaul::{Error, ErrorKind, ReadOptions, Report};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// An entry of the JSON array `files`.
#[derive(Serialize)]
struct InfoFile<'a> {
    file: String,
    #[serde(flatten)]
    inventory: Option<Listed<'a>>,
    #[serde(flatten)]
    input: JsonInput<'a>,
}

/// The sums over all files, and an entry for each.
#[derive(Serialize)]
struct InfoDetails<'a> {
    #[serde(flatten)]
    sum: Summed,
    files: Vec<InfoFile<'a>>,
}

/// The contents of one input.
struct InfoFound {
    path: PathBuf,
    result: Result<Inventory, Error>,
    report: Report,
    /// The table for people; taken when it is shown.
    text: String,
}

/// Shows the contents of each input.
pub fn run(session: &Session, args: &InfoArgs) -> u8 {
    let find = |options: &ReadOptions| many::find_all(&args.inputs, &args.find, options, |_| true);
    let prepared = session.read_options(&args.read).and_then(|options| Ok((find(&options)?, options)));
    let (sources, options) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return session.fail("info", &error, JsonTo::Stdout),
    };
    let paths: Vec<_> = sources.iter().map(|source| &*source.path).collect();
    let mut infos = Vec::new();
    let mut is_open = true;
    let ran = session.each(
        "reading",
        &paths,
        claimed_bytes,
        |number, run| look(session, paths[number], options.clone().with_run(run)),
        |_, mut info| {
            is_open = show(session, &mut info);
            infos.push(info);
            if is_open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    match ran {
        Err(error) if error.kind() != ErrorKind::Cancelled => session.fail("info", &error, JsonTo::Stdout),
        ran if is_open => finish(session, &infos, ran.err()),
        _ => FAILED,
    }
}

/// Reads one input and counts its contents.
fn look(session: &Session, path: &Path, options: ReadOptions) -> InfoFound {
    let path = path.to_owned();
    let text = String::new();
    match standard::input_of(&path).and_then(|input| inspect::info(input, &options)) {
        Err(error) => InfoFound { path, result: Err(error), report: Report::default(), text },
        Ok((inventory, report)) if session.everywhere.json => InfoFound { path, result: Ok(inventory), report, text },
        Ok((inventory, report)) => {
            let name = human::path(&path);
            let size = human::input(human::file_bytes(&path), &report);
            let text = format!("{name}  ({size})\n{}", table(&inventory));
            InfoFound { path, result: Ok(inventory), report, text }
        }
    }
}

/// Shows the table and the warnings. Returns `false` if standard output is closed.
fn show(session: &Session, info: &mut InfoFound) -> bool {
    session.show_warnings(&info.report);
    session.show_work(&info.report);
    if let Err(error) = &info.result {
        session.show_error(error);
    }
    console::result(&std::mem::take(&mut info.text))
}

/// Adds up the counts, prints the JSON object, and returns the exit code. The object has the sums and an array of all
/// inputs, even if there is only one.
fn finish(session: &Session, infos: &[InfoFound], ended: Option<Error>) -> u8 {
    let error = ended.as_ref().or(infos.iter().rev().find_map(|info| info.result.as_ref().err()));
    let failed = infos.iter().filter(|info| info.result.is_err()).count();
    let code = many::exit_code(session, failed, infos.len(), error);
    let mut sum = Inventory::default();
    let mut report = Report::default();
    for info in infos {
        report.extend(info.report.clone());
        info.result.iter().for_each(|inventory| sum.add(inventory));
    }
    let details = Some(InfoDetails { sum: Summed::new(&sum), files: infos.iter().map(entry).collect() });
    session.show_verdict(&report);
    session.finish("info", details, &report, (code, error), JsonTo::Stdout)
}

/// Creates an entry of the array `files`.
fn entry(info: &InfoFound) -> InfoFile<'_> {
    InfoFile {
        file: place::shown(&info.path),
        inventory: info.result.as_ref().ok().map(Listed::new),
        input: JsonInput::new(&info.path, &info.report, info.result.as_ref().err()),
    }
}
