//! Rules shared by subcommands with several inputs: standard input and the exit code. Reads nothing.

use crate::session::Session;
use crate::{DONE, FAILED, PARTLY, format};
use polyhaul::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// Standard input can be read once.
pub fn check_streams(inputs: &[PathBuf]) -> Result<()> {
    let streams = inputs.iter().filter(|path| format::is_stream(path)).count();
    if streams < 2 {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Usage, "standard input (-) is given more than once");
    Err(error.with_hint("use ./- for a file of that name"))
}

/// The exit code where `failed` of `total` inputs failed, the last of them with `error`.
pub fn exit_code(session: &Session, failed: usize, total: usize, error: Option<&Error>) -> u8 {
    let cancelled = error.is_some_and(|error| error.kind() == ErrorKind::Cancelled);
    match failed {
        _ if cancelled => session.exit_code(error),
        0 => DONE,
        1 if total == 1 => session.exit_code(error).max(FAILED),
        _ if failed == total => FAILED,
        _ => PARTLY,
    }
}
