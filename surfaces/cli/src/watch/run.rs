//! `polyhaul run --rule RULE -- COMMAND`: runs a program with a remedy that was measured before, and without a report.
//!
//! `rule` reads the rule and checks that it fits. Otherwise, this process becomes the program.

use super::linux;
use super::rule::RemedyRule;
use crate::args::run::RunArgs;
use crate::console;
use crate::session::{JsonTo, Session};
use polyhaul_watch::preload;
use polyhaul_watch::trace::Wanted;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs the program. Returns its exit code, or another exit code on failure.
pub fn run(session: &Session, args: &RunArgs) -> u8 {
    let rule = match RemedyRule::read(&args.rule) {
        Ok(rule) => rule,
        Err(error) => return session.fail("run", &error, JsonTo::Stderr),
    };
    let Some((program, arguments)) = args.command.split_first() else { return crate::exit::USAGE };
    if let Some(reason) = rule.misfit(program) {
        if !session.everywhere.quiet {
            console::note(&format!("note: ignoring {}: {reason}\n", args.rule.display()));
        }
        let error = Command::new(program).args(arguments).exec();
        return linux::fail(session, "run", polyhaul_watch::trace::Failure::Program(error), &args.command);
    }
    let request = Wanted { cured: rule.files, library: rule.allocator, ..Wanted::default() };
    let seen = preload::watch(&args.command, request, &|process| linux::hand_over(session, process));
    session.signals().pass_to(None);
    match seen {
        Ok(seen) => linux::exit_code(seen.end),
        Err(failure) => linux::fail(session, "run", failure, &args.command),
    }
}
