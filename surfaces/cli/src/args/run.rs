//! The options of `polyhaul run`.

use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// `polyhaul run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Linux only. A rule for another build of the program, or one that needs a missing library, is ignored, and a note \
says why. Exits with the program's exit code, or with 127 if the program was not found, 126 if it could not be \
started, and 1 or 2 if the rule cannot be read.

Examples:
  polyhaul watch --fix --save importer.toml -- ./importer part.tga
  polyhaul run --rule importer.toml -- ./importer other.tga")]
pub struct RunArgs {
    /// Rule that `polyhaul watch --fix --save` wrote
    #[arg(long, value_name = "RULE.toml", value_hint = ValueHint::FilePath)]
    pub rule: PathBuf,
    /// Program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true,
          value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
