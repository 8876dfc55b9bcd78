//! The options of `polyhaul check`.

use super::many::FindArgs;
use super::style::ReadArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// `polyhaul check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each object is a surface; one that appears several times is checked once, without its transforms. \
Faults are open edges (of a single face), non-manifold edges (used more than twice), flipped edges (two \
faces use them in the same direction), duplicate faces (with the positions of an earlier one) and \
degenerate faces (which use a position more than once, or have no area). Indices count from 0.

Exit codes: 0 without faults, 1 with faults, 2 if an input cannot be read.

Examples:
  polyhaul check part.stl
  polyhaul check terrain.ply --allow-open
  polyhaul check assets --recursive --include '*.obj'
  polyhaul check --json part.stl | jq '.files[].surfaces[].open_edges'")]
pub struct CheckArgs {
    /// Input files or folders; `-` reads standard input
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Do not count open edges as faults, for surfaces such as terrain
    #[arg(long)]
    pub allow_open: bool,
    /// Treat equal positions with different indices as different positions
    ///
    /// By default, equal positions are merged, so that UV and normal seams do not count as open edges.
    #[arg(long)]
    pub no_merge: bool,
    /// Selection of files in folders.
    #[command(flatten)]
    pub find: FindArgs,
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
}
