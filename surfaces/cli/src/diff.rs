//! `polyhaul diff A B`: compares the content of two files with `polyhaul::diff` and prints the differences.

use crate::args::diff::DiffArgs;
use crate::exit::{DONE, FAILED, USAGE};
use crate::session::{JsonTo, Session};
use crate::{console, format, human, many};
use polyhaul::diff::{Comparison, Difference};
use polyhaul::place;
use polyhaul::{ErrorKind, Input};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct DiffDetails {
    first: String,
    second: String,
    equal: bool,
    kind: &'static str,
    tolerance: f64,
    differences: Vec<DiffEntry>,
}

#[derive(Serialize)]
struct DiffEntry {
    what: &'static str,
    message: String,
    count: u64,
    /// `null` if the difference is not numeric.
    largest: Option<f64>,
    place: Option<String>,
}

impl DiffEntry {
    fn new(difference: &Difference) -> DiffEntry {
        let Difference { what, message, count, largest, place } = difference.clone();
        DiffEntry { what, message, count, largest, place }
    }
}

/// Compares two files.
pub fn run(session: &Session, args: &DiffArgs) -> u8 {
    match compare(session, args) {
        Ok(comparison) => show(session, args, &comparison),
        // 1 means that both files were read and differ, as in diff(1) and cmp(1), so failures exit with 2 or more.
        Err(error) => match error.kind() {
            ErrorKind::Cancelled => session.fail("diff", &error, JsonTo::Stdout),
            _ => session.fail("diff", &error, JsonTo::Stdout).max(USAGE),
        },
    }
}

fn compare(session: &Session, args: &DiffArgs) -> polyhaul::Result<Comparison> {
    many::check_streams(&[args.first.clone(), args.second.clone()])?;
    let input = |path: &Path| if format::is_stream(path) { Input::Stdin } else { Input::Path(path.into()) };
    let options = session.read_options(&args.read)?;
    polyhaul::diff(input(&args.first), input(&args.second), &options, args.tolerance)
}

fn show(session: &Session, args: &DiffArgs, comparison: &Comparison) -> u8 {
    session.show_warnings(&comparison.report);
    let code = if comparison.is_equal() { DONE } else { FAILED };
    if !session.everywhere.json && !session.everywhere.quiet {
        let lines = comparison.differences.iter().map(|difference| format!("{}\n", human::safe(&difference.message)));
        let text = if comparison.is_equal() { "equal\n".to_owned() } else { lines.collect() };
        if !console::result(&text) {
            return USAGE;
        }
    }
    session.show_work(&comparison.report);
    let details = DiffDetails {
        first: place::shown(&args.first),
        second: place::shown(&args.second),
        equal: comparison.is_equal(),
        kind: comparison.kind,
        tolerance: args.tolerance,
        differences: comparison.differences.iter().map(DiffEntry::new).collect(),
    };
    let ended = session.finish("diff", Some(details), &comparison.report, (code, None), JsonTo::Stdout);
    // 1 means that the files differ, so a failure to print exits with 2.
    if ended == code { code } else { ended.max(USAGE) }
}
