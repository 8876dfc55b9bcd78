//! What can be asked for of watching programs.

use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// `polyhaul watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs on Linux. Children and threads are followed; the report comes when the last of them has ended. The exit code is that of the
program, 128 and the number of the signal that ended it, 127 where there is no such program, 126 where it cannot
be started, and 1 where watching failed. --json goes to standard error, as the report does.

Examples:
  polyhaul watch -- python3 load.py
  polyhaul watch --stacks -- ./viewer scene.obj
  polyhaul watch --json -o calls.json -- make")]
pub struct WatchArgs {
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// Files and threads that are listed [default: 10, with --json all]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Say which functions made the calls
    #[arg(long)]
    pub stacks: bool,
    /// Leave out waits for locks: for programs that hand over thousands of times a second
    #[arg(long, overrides_with = "locks")]
    pub no_locks: bool,
    /// Watch waits for locks (the default)
    #[arg(long, hide = true)]
    pub locks: bool,
    /// Tell pipes, sockets and devices apart too
    #[arg(long)]
    pub all: bool,
    /// Write the report to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}
