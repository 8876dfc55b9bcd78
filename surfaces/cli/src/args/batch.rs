//! The options of `polyhaul batch`. Options for reading and writing are shared with `convert`.

use super::many::FindArgs;
use super::style::StyleArgs;
use crate::values;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use polyhaul_batch::Shard;
use std::path::PathBuf;

/// `polyhaul batch`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(override_usage = "\
polyhaul batch [OPTIONS] <IN>... -o <OUT>
       polyhaul batch status <OUT>
       polyhaul batch rows <OUT>
       polyhaul batch merge <OUT>")]
#[command(after_help = "\
Each asset is converted by a worker process. A run can be stopped at any time. The next run skips assets \
that are done, as long as their source, options and outputs are unchanged. It also skips assets that failed, \
unless --retry-failed is given. OUT/.polyhaul contains the log and the manifest.

Examples:
  polyhaul batch library -o out --to ply --recursive
  polyhaul batch s3://scans/raw/ -o s3://scans/ply/ --to ply --recursive
  polyhaul batch library -o out --job job.toml            options in a file: to = \"ply\"
  polyhaul batch library -o out --to ply --retry-failed   after fixing the failed sources
  polyhaul batch library -o out --to ply --prune          remove outputs whose source is gone
  polyhaul batch library -o out --to ply --shard 3/16     on the third of 16 machines
  polyhaul batch library -o out --to ply --engine ray     on a Ray cluster
  polyhaul batch status out --html report.html")]
pub struct BatchArgs {
    /// Other operations on a library.
    #[command(subcommand)]
    pub command: Option<BatchCommand>,
    /// Input files, folders or URLs; a URL that ends with a slash is a folder
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Output folder or URL; the subfolders of the inputs are kept
    #[arg(short, long, value_name = "OUT", required = true, value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
    /// Read options from a TOML file whose keys are long options, such as `to = "ply"` or `triangulate = true`
    // `batch::job` replaces `--job FILE` with the options of the file before arguments are parsed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub job: Option<PathBuf>,
    /// Retry assets whose last attempt failed
    #[arg(long)]
    pub retry_failed: bool,
    /// Convert all assets again
    #[arg(long)]
    pub force: bool,
    /// List what would be converted, and what `--prune` would remove, without writing anything
    #[arg(long)]
    pub dry_run: bool,
    /// At the end, remove outputs whose source no longer exists, and their rows in the manifest
    ///
    /// A file is removed only if the log lists it, it still has the logged size, and no other asset writes it. Sources
    /// in missing or empty folders are assumed to exist, because their disk may not be mounted.
    #[arg(long)]
    pub prune: bool,
    /// Keep the input's extension in the output's name: chair.obj.ply
    #[arg(long)]
    pub full_names: bool,
    /// Also write a picture of each asset, with this many pixels per side
    #[arg(long, value_name = "PIXELS", num_args = 0..=1, default_missing_value = "256",
          value_parser = clap::value_parser!(u32).range(16..=4096))]
    pub preview: Option<u32>,
    /// The workers.
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Selection of files in folders.
    #[command(flatten)]
    pub find: FindArgs,
    /// Options for reading and writing assets.
    #[command(flatten)]
    pub style: StyleArgs,
}

/// Options of the workers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub struct EngineArgs {
    /// Number of worker processes [default: the number of threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Fail assets that need more memory than this, such as 4GB (Linux)
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub asset_memory: Option<u64>,
    /// Fail assets that take longer than this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub asset_timeout: Option<u32>,
    /// Where workers run
    #[arg(long, value_name = "NAME", value_enum, default_value = "local")]
    pub engine: EngineName,
    /// Address of the Ray cluster [default: RAY_ADDRESS, or a new cluster on this machine]
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<String>,
    /// Convert only part I of N, such as 2/8; run `polyhaul batch merge OUT` when all parts are done
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Run as a worker: read tasks from standard input, write rows to standard output.
    #[arg(long, hide = true)]
    pub worker: bool,
    /// Run as a worker that delegates to worker processes of its own, so that it survives their crashes.
    #[arg(long, hide = true, conflicts_with = "worker")]
    pub agent: bool,
}

/// Where workers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Processes on this machine
    Local,
    /// A Ray cluster; requires the Python package with its extra `ray`
    Ray,
}

/// Other operations on a library.
#[derive(Debug, Subcommand)]
pub enum BatchCommand {
    /// Show progress, throughput and failures
    Status(StatusArgs),
    /// Print one JSON object for each asset and attempt
    Rows(RowsArgs),
    /// Join the logs of all shards and write the manifest
    Merge(MergeArgs),
}

/// `polyhaul batch status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Output folder or URL of the library
    #[arg(value_name = "OUT", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
    /// Also write an HTML page
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,
    /// Include up to this many pictures made by --preview in the page
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "100", default_value_t = 0,
          requires = "html", hide_default_value = true)]
    pub thumbnails: usize,
}

/// `polyhaul batch rows`.
#[derive(Debug, Args)]
pub struct RowsArgs {
    /// Output folder or URL of the library
    #[arg(value_name = "OUT", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}

/// `polyhaul batch merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Output folder or URL of the library
    #[arg(value_name = "OUT", value_hint = ValueHint::DirPath)]
    pub output: PathBuf,
}
