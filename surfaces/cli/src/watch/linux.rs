//! `polyhaul watch` on Linux: handles options and exit codes, and prints the report as text or JSON.
//!
//! `polyhaul-watch` traces the program; `render` formats its report as text.

use crate::args::watch::{RecorderChoice, WatchArgs};
use crate::exit::FAILED;
use crate::json::JsonDetails;
use crate::session::{JsonTo, Session};
use crate::watch::best::BestTime;
use crate::watch::fix::{self, Fixed, FixedRun};
use crate::watch::{page, render, slow, verify};
use crate::{console, file, human, json};
use polyhaul::report::{Ceilings, Moved};
use polyhaul::{Error, ErrorKind, Report, measure};
use polyhaul_fault::planted;
use polyhaul_watch::cached::Cached;
use polyhaul_watch::child::Work;
use polyhaul_watch::preload::reach::{self, Obstacle};
use polyhaul_watch::report::Watched;
use polyhaul_watch::trace::{End, Failure, Recorder, Seen, Wanted};
use polyhaul_watch::{preload, system, trace};
use serde::Serialize;
use std::ffi::OsString;
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
    let recorder = prepare(session, args, profile)?;
    let cached = Cached::measure();
    let slow = slow::devices(&session.everywhere.pace);
    let request =
        Wanted { all: args.all, stacks: args.stacks, locks: !args.no_locks, profile, slow, ..Wanted::default() };
    let mut read = Vec::new();
    if args.cold {
        let first = observe(session, args, recorder, request.clone())?;
        if is_interrupted(first.end) {
            return Ok(exit_code(first.end));
        }
        read = slow::files_read(&first);
    }
    slow::drop_cached(&read);
    let seen = observe(session, args, recorder, request.clone())?;
    // Write the report even if a signal arrives now.
    let mut _hold = session.signals().hold_on();
    let mut end = seen.end;
    let program = args.command.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let watched = Watched::new(program, seen, cached, !args.no_locks);
    let first_outputs = verify::FirstOutputs::read(&args.verify);
    let mut runs = Vec::new();
    for remedy in if args.fix { fix::remedies(&watched) } else { Vec::new() } {
        if is_interrupted(end) {
            break;
        }
        drop(_hold);
        slow::drop_cached(&read);
        let request = remedy.request(&request);
        let seen = observe(session, args, recorder, request)?;
        _hold = session.signals().hold_on();
        end = seen.end;
        runs.push(FixedRun::new(&watched, remedy, seen, first_outputs.changed()));
    }
    let fixed = Fixed::new(watched.run_seconds, runs);
    let saved = args.save.as_deref().map_or(Ok(String::new()), |path| fix::save(path, args, fixed.as_ref()));
    let ceilings = measure::kept(Path::new("."));
    let written = page::write(&watched, records, args.folded.as_deref(), ceilings.as_ref());
    let top = args.top.or((!session.everywhere.json).then_some(SHOWN));
    let watched = if let Some(top) = top { watched.limited(top) } else { watched };
    let text = describe(session, args, &watched, fixed.as_ref(), ceilings.as_ref());
    let is_changed = fixed.as_ref().is_some_and(Fixed::is_changed);
    let code = if planted("watch-code") { 0 } else { exit_code(end) };
    let code = if is_changed && code == 0 { FAILED } else { code };
    let line = saved.as_ref().map_or("", String::as_str);
    let text = if session.everywhere.json { text } else { text + line };
    match &args.output {
        None => console::note(&text),
        Some(path) => file::write(path, text.as_bytes()).map_err(failed)?,
    }
    saved.and(written).map_err(failed)?;
    Ok(code)
}

/// Checks the options, and that the outputs can be written, before the program runs, which may take long.
fn prepare(session: &Session, args: &WatchArgs, profile: bool) -> std::result::Result<Recorder, Failed> {
    let failed = |error: Error| {
        let code = session.exit_code(Some(&error));
        (error, code)
    };
    args.output.as_deref().map_or(Ok(()), file::try_out).map_err(failed)?;
    args.folded.as_deref().map_or(Ok(()), file::try_out).map_err(failed)?;
    args.save.as_deref().map_or(Ok(()), file::try_out).map_err(failed)?;
    let recorder = choose(args).map_err(failed)?;
    if recorder == Recorder::Trace && profile {
        return Err(failed(without_profile(args)));
    }
    let only_recorded = args.fix.then_some("--fix").or(session.everywhere.of_pace());
    if let Some(option) = only_recorded.filter(|_| recorder == Recorder::Trace) {
        return Err(failed(without_recorder(args, &format!("{option} needs the recorder"))));
    }
    Ok(recorder)
}

/// Forwards signals to another process.
pub fn hand_over(session: &Session, process: i32) {
    session.signals().pass_to(Some(process));
    // A terminal sends SIGQUIT to both processes.
    system::ignore(libc::SIGQUIT);
}

/// Reports why a program did not run. Returns the exit code.
pub fn fail(session: &Session, command: &str, failure: Failure, program: &[OsString]) -> u8 {
    let (error, code) = explain(failure, program);
    session.fail(command, &error, JsonTo::Stderr);
    code
}

/// Runs the program once. Signals go to it meanwhile.
fn observe(
    session: &Session,
    args: &WatchArgs,
    recorder: Recorder,
    request: Wanted,
) -> std::result::Result<Seen, Failed> {
    let hand_over = |process| hand_over(session, process);
    let seen = match recorder {
        Recorder::Preload => preload::watch(&args.command, request, &hand_over),
        Recorder::Trace => {
            let unsound = || (unsound(), session.exit_code(Some(&unsound())));
            let work = Work::program(&args.command).ok_or_else(unsound)?;
            let costs = trace::trial().map_err(|failure| explain(failure, &args.command))?;
            trace::watch(&work, request, costs, &hand_over)
        }
    };
    session.signals().pass_to(None);
    seen.map_err(|failure| explain(failure, &args.command))
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
    without_recorder(args, "--report, --trace, --chart and --folded need the recorder")
}

fn without_recorder(args: &WatchArgs, message: &str) -> Error {
    let reach = args.command.first().map_or(Ok(()), |program| reach::check(program));
    let reason = reach.err().map_or("--recorder trace was given", refusal);
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
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'a Fixed>,
}

/// Formats the report as text or JSON.
fn describe(
    session: &Session,
    args: &WatchArgs,
    watched: &Watched,
    fixed: Option<&Fixed>,
    ceilings: Option<&Ceilings>,
) -> String {
    if !session.everywhere.json {
        let fix = if args.fix { fix::text(watched, fixed) } else { String::new() };
        return render::text(watched, ceilings) + &fix;
    }
    let best = BestTime::new(watched, ceilings);
    let best_possible_seconds = best.map(|best| best.seconds);
    let details = JsonWatched { watched, best_possible_seconds, fixed };
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

/// Whether a user has stopped the program, so that it does not run again.
fn is_interrupted(end: End) -> bool {
    const CODES: [i32; 2] = [128 + libc::SIGINT, 128 + libc::SIGTERM];
    match end {
        End::Code(code) => CODES.contains(&code),
        End::Signal(signal) => CODES.contains(&(128 + signal)),
    }
}

/// The exit code that a shell gives for this end.
pub fn exit_code(end: End) -> u8 {
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
fn explain(failure: Failure, program: &[OsString]) -> Failed {
    let program = program.first().map_or(String::new(), |name| human::safe(&name.to_string_lossy()));
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
