//! The `polyhaul` command: parses arguments, calls the library, and prints the results.
//!
//! The crate contains no code for individual formats. `args` declares the options, `session` runs the library with
//! them, each subcommand has its own module, `render`, `json` and `human` format text, and only `console` prints.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod args;
mod batch;
mod channels;
mod check;
mod console;
mod contents;
mod convert;
mod demo;
mod diff;
mod exit;
mod file;
mod format;
mod hint;
mod human;
mod info;
mod json;
mod judge;
mod limits;
mod manual;
mod many;
mod peak;
mod picture;
mod preview;
mod progress;
mod records;
mod render;
mod session;
mod signals;
mod standard;
mod sweep;
mod texture;
mod validate;
mod values;
mod watch;
mod words;

pub use peak::map_large_arrays;

use args::{Cli, Command};
use clap::FromArgMatches;
use exit::{DONE, FAILED, USAGE};
use session::Session;
use std::ffi::OsString;

/// Runs the command with these arguments, starting with the program name, and returns its exit code. Call it once per
/// process, because it installs signal handlers that are never removed.
pub fn main(words: Vec<OsString>) -> u8 {
    let words = match batch::with_job(words) {
        Ok(words) => words::keep(words),
        Err((words, error)) => return refuse_job(words::keep(words), &error),
    };
    // Not freed, because the process ends soon: freeing the declarations of all flags would take an eighth of the
    // instructions of a start (`valgrind --tool=callgrind`).
    let mut command = std::mem::ManuallyDrop::new(manual::command());
    let parsed = command.try_get_matches_from_mut(words).and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => run(cli),
        Err(error) => refuse(&error),
    }
}

fn run(mut cli: Cli) -> u8 {
    let is_work = !matches!(
        cli.command,
        Command::Batch(_)
            | Command::Watch(_)
            | Command::Run(_)
            | Command::Limits(_)
            | Command::Sweep(_)
            | Command::Completions(_)
            | Command::Man(_)
    );
    // `sweep` draws a different chart, so the session must not draw its own.
    let sweep_chart = if matches!(cli.command, Command::Sweep(_)) { cli.everywhere.chart.take() } else { None };
    let session = Session::new(cli.everywhere);
    let is_watch = matches!(cli.command, Command::Watch(_));
    if let Err(error) = session.check(is_work || is_watch) {
        return session.fail(cli.command.name(), &error, convert::json_to(&cli.command));
    }
    let code = match cli.command {
        Command::Convert(args) => convert::run(&session, &args),
        Command::Batch(args) => batch::run(&session, &args),
        Command::Info(args) => info::run(&session, &args),
        Command::Validate(args) => validate::run(&session, &args),
        Command::Check(args) => check::run(&session, &args),
        Command::Diff(args) => diff::run(&session, &args),
        Command::Texture(args) => texture::run(&session, &args),
        Command::Preview(args) => preview::run(&session, &args),
        Command::Watch(args) => watch::run(&session, &args),
        Command::Run(args) => watch::run_by_rule(&session, &args),
        Command::Sweep(args) => sweep::run(&session, &args, sweep_chart.as_deref()),
        Command::Demo(args) => demo::run(&session, &args),
        Command::Limits(args) => limits::run(&session, &args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::pages(&args),
    };
    session.end(code)
}

/// Reports an unusable job file as a usage error.
fn refuse_job(words: &[OsString], error: &polyhaul::Error) -> u8 {
    if words.iter().any(|word| word == "--json") {
        let _ = console::result(&json::usage(&error.to_string(), Some("batch")));
    } else {
        console::note(&render::error(error.diagnostic()));
    }
    USAGE
}

/// Prints a parser error. clap returns help and version as errors too; they go to standard output and succeed.
fn refuse(error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        return if console::is_written(|| error.print()) { DONE } else { FAILED };
    }
    // A failure to print is ignored: the exit code is the same.
    if words::arguments().any(|word| word == "--json") {
        let _ = console::result(&json::usage(&error.to_string(), meant().as_deref()));
    } else {
        let _ = error.print();
    }
    USAGE
}

/// The subcommand named in the arguments, for the JSON error.
fn meant() -> Option<String> {
    let names: Vec<_> =
        manual::command().get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    words::arguments().filter_map(|word| word.to_str()).map(str::to_owned).find(|word| names.contains(word))
}
