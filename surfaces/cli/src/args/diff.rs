//! The options of `polyhaul diff`.

use super::style::ReadArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `polyhaul diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
The contents are compared: faces corner by corner, lines, objects with their transforms applied, materials, \
tables column by column, and pixels. How a file stores them does not matter, and comments are ignored.

Exit codes: 0 if both are equal, 1 if they differ, 2 if they cannot be read or compared.

Examples:
  polyhaul diff scene.obj scene.ply
  polyhaul diff --tolerance 1e-6 before.obj after.obj
  polyhaul diff --json a.png b.exr | jq '.differences[].what'")]
pub struct DiffArgs {
    /// The first file; `-` is standard input
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub first: PathBuf,
    /// The second file
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub second: PathBuf,
    /// Largest difference between two numbers that still counts as equal (absolute; colors and pixels are 0 to 1)
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, value_parser = tolerance)]
    pub tolerance: f64,
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("expected a number of at least 0, such as 1e-6".into()),
    }
}
