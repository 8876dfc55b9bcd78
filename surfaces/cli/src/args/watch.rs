//! The options of `polyhaul watch`. `polyhaul-watch` traces the program.

use crate::values;
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// How to watch a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecorderChoice {
    /// Preload a library: dynamically linked programs only, fast
    Preload,
    /// Stop the program at each call: any program, much slower
    Trace,
}

/// `polyhaul watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Linux only. Child processes and threads are followed, and the report is printed to standard error when the \
last of them exits. Exits with the program's exit code, or 128 + N if signal N killed it, 127 if the program \
was not found, 126 if it could not be started, and 1 if watching failed.

Examples:
  polyhaul watch -- python3 load.py
  polyhaul watch --stacks -- ./viewer scene.obj
  polyhaul watch --report viewer.html -- ./viewer scene.obj
  polyhaul watch --fix -- ./importer part.tga
  polyhaul watch --read-rate 200MB/s -- ./viewer scene.obj
  polyhaul watch --json -o calls.json -- make")]
pub struct WatchArgs {
    /// Program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
    /// Number of files and threads to list [default: 10, or all with --json]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// How to watch the program [default: preload if possible, else trace]
    #[arg(long, value_name = "HOW")]
    pub recorder: Option<RecorderChoice>,
    /// Rerun the program with small reads answered from memory, or with another allocator if threads wait for malloc
    #[arg(long)]
    pub fix: bool,
    /// With --fix, check that each run writes the same content to this file; repeat the option for more files
    #[arg(long, value_name = "FILE", requires = "fix", value_hint = ValueHint::FilePath)]
    pub verify: Vec<PathBuf>,
    /// With --fix, write the fastest remedy to a file for `polyhaul run`
    #[arg(long, value_name = "RULE.toml", requires = "fix", value_hint = ValueHint::FilePath,
          value_parser = values::file_named(&["toml"]))]
    pub save: Option<PathBuf>,
    /// Run the program twice, evict its input files from the page cache in between, and report the second run
    #[arg(long)]
    pub cold: bool,
    /// Show which functions made the calls
    #[arg(long)]
    pub stacks: bool,
    /// Do not record waits for locks (faster for programs with thousands of waits per second)
    #[arg(long, overrides_with = "locks")]
    pub no_locks: bool,
    /// Record waits for locks (the default)
    #[arg(long, hide = true)]
    pub locks: bool,
    /// List each pipe, socket and device, instead of one line per kind
    #[arg(long)]
    pub all: bool,
    /// Write CPU time by call stack, in the folded format of flame graph tools
    #[arg(long, value_name = "OUT.txt", value_hint = ValueHint::FilePath)]
    pub folded: Option<PathBuf>,
    /// Write the report to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}
