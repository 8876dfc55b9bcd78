//! `polyhaul watch` on Linux: handles options and exit codes, and prints the report as text or JSON.
//!
//! `polyhaul-watch` traces the program; `render` formats its report as text.

use crate::args::watch::{RecorderChoice, WatchArgs};
use crate::exit::FAILED;
use crate::json::JsonDetails;
use crate::session::{JsonTo, Session};
use crate::watch::best::BestTime;
use crate::watch::{page, render};
use crate::{console, file, human, json};
use polyhaul::report::{Ceilings, Moved};
use polyhaul::{Error, ErrorKind, Report, measure};
use polyhaul_fault::planted;
use polyhaul_watch::cached::Cached;
use polyhaul_watch::child::Work;
use polyhaul_watch::preload::reach::{self, Obstacle};
use polyhaul_watch::report::Watched;
use polyhaul_watch::trace::{End, Failure, Recorder, Wanted};
use polyhaul_watch::{preload, system, trace};
use serde::Serialize;
use std::path::Path;

/// The exit codes that shells use for a missing program, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Default number of files to list for people.
const SHOWN: usize = 10;

/// Runs the program and reports its file I/O. Returns the exit code of the program, or another exit code on failure.
pub fn run(session: &Session, args: &WatchArgs) -> u8 {
    match watch(session, args) {
        Ok(code) => code,
        Err((error, code)) => {
            session.fail("watch", &error, JsonTo::Stderr);
            code
        }
    }
}

/// An error with its exit code.
type Failed = (Error, u8);

fn watch(session: &Session, args: &WatchArgs) -> std::result::Result<u8, Failed> {
    let failed = |error: Error| {
        let code = session.exit_code(Some(&error));
        (error, code)
    };
    let records = session.take_records();
    let profile = records.is_some() || args.folded.is_some();
    // Check this before running the program, which may take long.
    args.output.as_deref().map_or(Ok(()), file::try_out).map_err(failed)?;
    args.folded.as_deref().map_or(Ok(()), file::try_out).map_err(failed)?;
    let recorder = choose(args).map_err(failed)?;
    if recorder == Recorder::Trace && profile {
        return Err(failed(without_profile(args)));
    }
    let cached = Cached::measure();
    let options = Wanted { all: args.all, stacks: args.stacks, locks: !args.no_locks, profile };
    let hand_over = |process| {
        session.signals().pass_to(Some(process));
        // A terminal sends SIGQUIT to both processes.
        system::ignore(libc::SIGQUIT);
    };
    let seen = match recorder {
        Recorder::Preload => preload::watch(&args.command, options, &hand_over),
        Recorder::Trace => {
            let work = Work::program(&args.command).ok_or_else(|| failed(unsound()))?;
            let costs = trace::trial().map_err(|failure| explain(failure, args))?;
            trace::watch(&work, options, costs, &hand_over)
        }
    };
    // Write the report even if a signal arrives now.
    let _hold = session.signals().hold_on();
    session.signals().pass_to(None);
    let seen = seen.map_err(|failure| explain(failure, args))?;
    let end = seen.end;
    let program = args.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let watched = Watched::new(program, seen, cached, !args.no_locks);
    let ceilings = measure::kept(Path::new("."));
    let written = page::write(&watched, records, args.folded.as_deref(), ceilings.as_ref());
    let top = args.top.or((!session.everywhere.json).then_some(SHOWN));
    let watched = if let Some(top) = top { watched.limited(top) } else { watched };
    let text = describe(session, &watched, ceilings.as_ref());
    let code = if planted("watch-code") { 0 } else { exit_code(end) };
    match &args.output {
        None => console::note(&text),
        Some(path) => file::write(path, text.as_bytes()).map_err(failed)?,
    }
    written.map_err(failed)?;
    Ok(code)
}

/// Chooses how to watch the program.
fn choose(args: &WatchArgs) -> polyhaul::Result<Recorder> {
    let reach = args.command.first().map_or(Ok(()), |program| reach::check(program));
    match (args.recorder, reach) {
        (Some(RecorderChoice::Trace), _) | (None, Err(_)) => Ok(Recorder::Trace),
        (_, Ok(())) => Ok(Recorder::Preload),
        (Some(RecorderChoice::Preload), Err(obstacle)) => {
            let error = Error::new(ErrorKind::Unsupported, refusal(obstacle));
            Err(error.with_hint("omit --recorder to trace the program"))
        }
    }
}

/// Pages, traces, charts and stacks need the recorder.
fn without_profile(args: &WatchArgs) -> Error {
    let reach = args.command.first().map_or(Ok(()), |program| reach::check(program));
    let reason = reach.err().map_or("--recorder trace was given", refusal);
    let message = "--report, --trace, --chart and --folded need the recorder";
    Error::new(ErrorKind::Unsupported, format!("{message}: {reason}"))
        .with_hint("omit these options to trace the program")
}

fn refusal(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::NoRecorder => "this build does not include the recorder, because no C compiler was available",
        Obstacle::NoProc => "/proc is not mounted, so the recorder cannot be preloaded",
        Obstacle::Static => "the program is statically linked, so the recorder cannot be preloaded",
        Obstacle::Privileged => "the program is setuid or setgid, so the recorder cannot be preloaded",
        Obstacle::Unknown => "the program is not an executable for this machine",
    }
}

/// The keys of `--json`.
#[derive(Serialize)]
struct JsonWatched<'a> {
    #[serde(flatten)]
    watched: &'a Watched,
    best_possible_seconds: Option<f64>,
}

/// Formats the report as text or JSON.
fn describe(session: &Session, watched: &Watched, ceilings: Option<&Ceilings>) -> String {
    if !session.everywhere.json {
        return render::text(watched, ceilings);
    }
    let best = BestTime::new(watched, ceilings);
    let details = JsonWatched { watched, best_possible_seconds: best.map(|best| best.seconds) };
    let total = &watched.total;
    let report = Report {
        bytes_in: total.bytes_read,
        plain_bytes_in: total.bytes_read,
        bytes_out: total.bytes_written,
        reads: moved(total.bytes_read),
        writes: moved(total.bytes_written),
        threads: usize::try_from(watched.threads_seen).unwrap_or(usize::MAX),
        ..Report::default()
    };
    json::document("watch", &JsonDetails::new(Some(details)), session.seconds(), &report, None, None)
}

/// Counts bytes of unknown formats.
fn moved(bytes: u64) -> Vec<Moved> {
    let mut moved = Moved::default();
    moved.bytes = bytes;
    moved.plain_bytes = bytes;
    let mut list = Vec::new();
    moved.add_to(&mut list);
    list
}

fn exit_code(end: End) -> u8 {
    match end {
        End::Code(code) => u8::try_from(code & 0xFF).unwrap_or(FAILED),
        End::Signal(_) if planted("watch-signal") => 0,
        End::Signal(signal) => u8::try_from(128 + signal).unwrap_or(FAILED),
    }
}

fn unsound() -> Error {
    Error::new(ErrorKind::Usage, "the command contains a NUL byte")
}

/// The error and exit code if the program could not be watched.
fn explain(failure: Failure, args: &WatchArgs) -> Failed {
    let program = args.command.first().map_or(String::new(), |name| human::safe(&name.to_string_lossy()));
    match failure {
        Failure::Program(error) => {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            let code = if is_missing { NOT_FOUND } else { NOT_STARTED };
            (Error::new(ErrorKind::Io, format!("cannot start {program}: {error}")), code)
        }
        Failure::Forbidden(error) => {
            let error = Error::new(ErrorKind::Unsupported, format!("this system does not allow tracing: {error}"));
            let hint = "in a container, start it with `--cap-add SYS_PTRACE`; elsewhere, check that \
                        /proc/sys/kernel/yama/ptrace_scope is 0 or 1";
            (error.with_hint(hint), FAILED)
        }
        Failure::System(error) => (Error::new(ErrorKind::Io, format!("cannot watch {program}: {error}")), FAILED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_of_shells() {
        assert_eq!([End::Code(0), End::Code(3), End::Signal(9)].map(exit_code), [0, 3, 137]);
    }
}
