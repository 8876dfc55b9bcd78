//! `polyhaul batch status OUT`: prints the progress, throughput and failures of a library.

use super::page;
use crate::args::batch::StatusArgs;
use crate::exit::{DONE, FAILED};
use crate::session::{JsonTo, Session};
use crate::{console, file, human};
use polyhaul::{Error, ErrorKind, Report, Result};
use polyhaul_batch::Summary;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Maximum number of slowest assets, and of failed assets per kind of error, to print.
const EXAMPLES: usize = 3;

/// The summary in the JSON object, with warnings in the form that all subcommands use.
#[derive(Serialize)]
struct StatusDetails {
    #[serde(flatten)]
    summary: Summary,
    warnings: WarningCounts,
}

#[derive(Serialize)]
struct WarningCounts {
    total: u64,
    counts: BTreeMap<String, u64>,
}

pub fn run(session: &Session, args: &StatusArgs) -> u8 {
    match status(session, args).map(StatusDetails::from) {
        Ok(details) => session.finish("batch", Some(details), &Report::default(), (DONE, None), JsonTo::Stdout),
        Err(error) => session.fail("batch", &error, JsonTo::Stdout),
    }
}

impl From<Summary> for StatusDetails {
    fn from(mut summary: Summary) -> StatusDetails {
        let counts = std::mem::take(&mut summary.warnings);
        StatusDetails { summary, warnings: WarningCounts { total: counts.values().sum(), counts } }
    }
}

fn status(session: &Session, args: &StatusArgs) -> Result<Summary> {
    let summary = Summary::read(&args.output, args.thumbnails)?;
    if summary.attempts == 0 && summary.damaged_lines == 0 {
        return Err(no_log(&args.output));
    }
    if let Some(path) = &args.html {
        file::write(path, page::page(&args.output, &summary).as_bytes())?;
    }
    if !session.everywhere.json && !console::result(&text(&summary)) {
        return Err(Error::new(ErrorKind::Io, format!("cannot write to standard output ({FAILED})")));
    }
    Ok(summary)
}

/// The error for a folder that contains no log.
pub fn no_log(output: &Path) -> Error {
    let message = format!("`{}` has no log of a batch run", human::path(output));
    Error::new(ErrorKind::Usage, message).with_hint("use the output folder of the run (-o)")
}

/// Formats the summary as text.
fn text(summary: &Summary) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| _ = writeln!(text, "{name:<14}{value}");
    line("done", human::count(summary.done));
    line("failed", human::count(summary.failed));
    line("attempts", human::count(summary.attempts));
    line("read", human::bytes(summary.bytes_in));
    line("written", human::bytes(summary.bytes_out));
    if let Some((start, end)) = summary.span {
        let rate = human::rate(summary.bytes_in, end - start);
        line("time", format!("{} from first to last attempt, {rate}", human::seconds(end - start)));
    }
    line("worker time", human::seconds(summary.worker_seconds));
    for (limit, count) in &summary.verdicts {
        line("limited by", format!("{limit}: {}", human::plural(*count, "asset")));
    }
    for (kind, count) in &summary.warnings {
        line("warnings", format!("{kind}: {}", human::count(*count)));
    }
    for slow in summary.slowest.iter().take(EXAMPLES) {
        let asset = human::safe(&slow.asset);
        let size = human::bytes(slow.bytes);
        line("slowest", format!("{asset} ({size}): {}", human::seconds(slow.seconds)));
    }
    for group in &summary.errors {
        line("error", format!("{}: {}", group.kind, human::plural(group.count, "asset")));
        for (asset, message) in group.examples.iter().take(EXAMPLES) {
            line("", format!("{}: {}", human::safe(asset), human::safe(message)));
        }
    }
    if summary.damaged_lines > 0 {
        line("log", human::plural(summary.damaged_lines, "damaged line"));
    }
    text
}
