//! Declares the command line and converts its options to the library's.
//!
//! Nothing is opened or read here. `values` parses the values of options; `manual` generates completions and man pages
//! from these declarations.

pub mod batch;
pub mod check;
pub mod diff;
pub mod limits;
pub mod many;
pub mod options;
pub mod pace;
pub mod preview;
pub mod run;
pub mod style;
pub mod sweep;
pub mod texture;
pub mod watch;

use crate::values;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use polyhaul::options::{KindSet, OnError, Strict};
use polyhaul::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use style::{ReadArgs, StyleArgs};

const EXAMPLES: &str = "\
Examples:
  polyhaul convert scene.obj clean.obj            rewrite a scene
  polyhaul convert scene.obj out.obj --up-axis Z --forward-axis Y
  polyhaul convert scan.ply points.csv            convert between any two formats
  curl -s URL | polyhaul convert - scene.obj      read standard input
  polyhaul info scene.obj                         show the contents
  polyhaul validate assets/*.obj                  list every problem and its location
  polyhaul check part.stl                         find holes, flipped and degenerate faces
  polyhaul preview scene.obj -o scene.png         draw a picture
  polyhaul texture assets -o textures             turn images into DDS or KTX2 textures
  polyhaul watch -- python3 load.py               trace the file I/O of a program
  polyhaul demo                                   see how fast this machine is
  polyhaul limits                                 see how fast it could be
  polyhaul sweep scene.obj                        find the best way to store an asset

Exit codes:
  0 done, 1 failed, 2 usage error, 3 some of many files failed, 130 interrupted, 143 terminated";

/// Move 3D assets between disk and memory as fast as the machine allows.
#[derive(Debug, Parser)]
#[command(name = "polyhaul", version, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, subcommand_required = true, max_term_width = 100)]
pub struct Cli {
    /// The options that every subcommand takes.
    #[command(flatten)]
    pub everywhere: Everywhere,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Convert files to another format
    Convert(Box<ConvertArgs>),
    /// Show the contents of files: counts, bounds, names
    Info(InfoArgs),
    /// Check files and list every problem with its location
    Validate(ValidateArgs),
    /// Find holes and other faults in surfaces, and measure them
    Check(check::CheckArgs),
    /// Compare the contents of two files, in any formats
    Diff(diff::DiffArgs),
    /// Draw pictures of scenes, point clouds and images
    Preview(preview::PreviewArgs),
    /// Convert a library of assets: resumable, on one machine or a cluster, with errors as data
    Batch(Box<batch::BatchArgs>),
    /// Convert images to GPU textures with mipmaps and block compression
    Texture(texture::TextureArgs),
    /// Run a program and report its file I/O and the locks it waited for
    Watch(watch::WatchArgs),
    /// Run a program with a remedy for slow file I/O that `watch --fix` found
    Run(run::RunArgs),
    /// Generate a scene, write it, read it back, verify it and show the rates
    Demo(DemoArgs),
    /// Load an asset at several disk speeds and with several codecs, and recommend how to store it
    Sweep(sweep::SweepArgs),
    /// Measure the maximum rates of this machine and a disk, and save them
    Limits(limits::LimitsArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Print the man page, or write all man pages to a folder
    #[command(hide = true)]
    Man(ManArgs),
}

/// When to use color.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The warnings to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WarningsShown {
    /// The first three of each kind, then counts
    Summary,
    /// Every warning, up to 1,000
    All,
}

/// The policy for invalid statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ErrorPolicy {
    /// Stop at the first one
    Raise,
    /// Skip them with a warning
    Warn,
}

/// The options that every subcommand takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Everywhere {
    /// Number of worker threads [default: one per available core]
    #[arg(short = 'j', long, global = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Memory to use, such as 256MB, 1.5GB or 512KiB
    ///
    /// For `convert` of a single file on Linux, this is the memory of the whole process: data that does not fit is
    /// spilled to temporary files [default: three quarters of free memory]. For other subcommands, it is the memory for
    /// buffers, in addition to the data itself [default: 64MiB].
    #[arg(long, global = true, value_name = "SIZE", value_parser = values::size)]
    pub memory_limit: Option<u64>,
    /// Folder for temporary files of `convert` with limited memory [default: the folder of the output]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub spill_folder: Option<String>,
    /// Treat losses and faults as errors, when reading and when writing; with `all`, notes too
    ///
    /// A loss is data that the output could store but does not, or a value that changes; a fault is data that breaks
    /// the rules of the input's format. Notes are about data that users do not expect the output to store, such as
    /// materials in STL.
    #[arg(long, global = true, value_name = "LEVEL", num_args = 0..=1, require_equals = true,
          default_value = "false", default_missing_value = "true", hide_default_value = true, hide_possible_values = true,
          value_parser = values::strict)]
    pub strict: Strict,
    /// Kinds of warnings to accept despite `--strict`, such as `left-out-uvs`
    #[arg(long, global = true, value_name = "CODE,...", value_parser = values::kinds)]
    pub allow: Vec<KindSet>,
    /// What to do about invalid statements
    #[arg(long, global = true, value_name = "ACTION", value_enum, default_value = "raise")]
    pub on_error: ErrorPolicy,
    /// Which warnings to show [default: all for validate, summary otherwise]
    #[arg(long, global = true, value_name = "WHICH", value_enum)]
    pub warnings: Option<WarningsShown>,
    /// Print one JSON object to standard output, including errors
    ///
    /// If the converted file goes to standard output, the object goes to standard error.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also print times, threads, memory and what limited the run
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub verbose: bool,
    /// Write a trace of the run, for Perfetto and chrome://tracing
    ///
    /// The file is written at the end, even if the run fails. Open it at ui.perfetto.dev.
    #[arg(long, global = true, value_name = "OUT.json", value_hint = ValueHint::FilePath,
          value_parser = values::file_named(&["json"]))]
    pub trace: Option<PathBuf>,
    /// Write an HTML report of the run, with charts of its threads, disks and files
    ///
    /// The report is a single self-contained file, written at the end.
    #[arg(long, global = true, value_name = "OUT.html", value_hint = ValueHint::FilePath,
          value_parser = values::file_named(&["html", "htm"]))]
    pub report: Option<PathBuf>,
    /// Write a chart of the run's threads and disks as SVG, or as PNG with the feature `png-charts`
    #[arg(long, global = true, value_name = "OUT.svg|OUT.png", value_hint = ValueHint::FilePath,
          value_parser = values::chart_file())]
    pub chart: Option<PathBuf>,
    /// Do not show a progress bar; by default there is one if standard error is a terminal
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// When to use color; setting NO_COLOR in the environment disables it too
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    pub color: ColorWhen,
    /// Simulated slower devices.
    #[command(flatten)]
    pub pace: pace::PaceArgs,
}

/// A codec.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CodecName {
    /// gzip, the most widely supported
    #[value(alias = "gz")]
    Gzip,
    /// zstd, smaller and faster than gzip
    #[value(alias = "zst")]
    Zstd,
    /// lz4, the fastest
    Lz4,
}

/// The kind of scene that the demo generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoKind {
    /// Meshes and objects in one OBJ file
    Obj,
    /// A scene with instances, in many pbrt and PLY files
    Pbrt,
}

impl DemoKind {
    /// Returns the value of `--kind`.
    pub fn name(self) -> &'static str {
        match self {
            DemoKind::Obj => "obj",
            DemoKind::Pbrt => "pbrt",
        }
    }
}

impl ConvertArgs {
    /// Fails if the output is missing.
    pub fn check(&self) -> Result<()> {
        if self.paths.len() > 1 {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Usage, "the output is missing");
        Err(error.with_hint("the last argument is the output file, or a folder for several inputs"))
    }

    /// The input files and folders.
    pub fn inputs(&self) -> &[PathBuf] {
        self.paths.split_last().map_or(&[], |(_, inputs)| inputs)
    }

    /// The output file, or the folder for several inputs.
    pub fn output(&self) -> &Path {
        self.paths.last().map_or(Path::new(""), |output| output)
    }
}

/// `polyhaul convert`.
#[derive(Debug, Args)]
#[command(override_usage = "polyhaul convert [OPTIONS] <IN>... <OUT>")]
#[command(after_help = "\
Examples:
  polyhaul convert scene.obj clean.obj
  polyhaul convert scene.obj scene.obj.gz                compress (detects input compression)
  polyhaul convert scene.obj scene.obj --triangulate     replace the file atomically
  polyhaul convert - - < scene.obj > shortest.obj --digits shortest
  polyhaul convert y_up.obj z_up.obj --up-axis Z --forward-axis Y --global-scale 100
  polyhaul convert scan.ply scan.ply.gz --ascii          keep every element, property and comment
  polyhaul convert scan.ply points.csv --columns x,y,z,intensity --digits 3
  polyhaul convert readings.csv readings.npy --delimiter semicolon --missing nan
  polyhaul convert island.pbrt split/island.pbrt.gz --meshes ply:1000 --parts 20
  polyhaul convert island.pbrt island.obj                one object per instance (see --instances)
  polyhaul convert chair.obj out/chair.pbrt --copy-assets   copy its textures too
  polyhaul convert assets meshes --to ply --recursive       convert a folder and its subfolders
  polyhaul convert a.obj b.stl meshes --to ply --newer      only if they have changed")]
pub struct ConvertArgs {
    /// Input files or folders, followed by the output file, or by an output folder for several inputs
    ///
    /// `-` reads standard input or writes standard output. No material library is written to standard output.
    // A separate argument for the output would have to follow the inputs without options in between (clap 4.6).
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Options for several files.
    #[command(flatten)]
    pub many: many::ManyArgs,
    /// Options for reading and writing.
    #[command(flatten)]
    pub style: StyleArgs,
}

/// `polyhaul info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul info scene.obj scene.obj.gz
  polyhaul info assets --recursive            show all files of a folder and its subfolders
  polyhaul info readings.csv                  show columns with their types and ranges
  polyhaul info --no-load-meshes island.pbrt  do not read its meshes, which is faster
  polyhaul info scan.ply --element face       show the columns of an element
  polyhaul info --json a.obj b.obj | jq '.files[] | [.file, .faces]'")]
pub struct InfoArgs {
    /// Input files or folders; `-` reads standard input
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Selection of files in folders.
    #[command(flatten)]
    pub find: many::FindArgs,
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `polyhaul validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file is invalid if it breaks the rules of its format: reading it with default options fails or reports \
a fault. Losses and notes are listed but do not count. Files are always read to the end. Besides the \
problems found while reading, degenerate faces, missing textures and names unknown to pbrt are listed.

Examples:
  polyhaul validate scene.obj
  polyhaul validate assets --recursive --include '*.obj'
  polyhaul validate --json assets/*.obj")]
pub struct ValidateArgs {
    /// Input files or folders; `-` reads standard input into memory
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Selection of files in folders.
    #[command(flatten)]
    pub find: many::FindArgs,
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `polyhaul demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul demo
  polyhaul demo --size 500MB -j 4
  polyhaul demo --compress zstd
  polyhaul demo --kind pbrt --size 1GB
  polyhaul demo --keep /tmp/scene        keep the files")]
pub struct DemoArgs {
    /// Kind of scene
    #[arg(long, value_name = "KIND", value_enum, default_value = "obj")]
    pub kind: DemoKind,
    /// Approximate size, from 100KB to 4GB
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = values::demo_size)]
    pub size: u64,
    /// Compress the files
    #[arg(long, value_name = "CODEC", value_enum)]
    pub compress: Option<CodecName>,
    /// Write the scene to this folder and keep it [default: a temporary folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub keep: Option<PathBuf>,
}

/// `polyhaul completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul completions bash > ~/.local/share/bash-completion/completions/polyhaul
  polyhaul completions zsh > ~/.zfunc/_polyhaul")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `polyhaul man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write all man pages to this folder instead
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
}

impl Command {
    /// Returns the name of the subcommand.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Convert(_) => "convert",
            Command::Info(_) => "info",
            Command::Validate(_) => "validate",
            Command::Check(_) => "check",
            Command::Diff(_) => "diff",
            Command::Preview(_) => "preview",
            Command::Batch(_) => "batch",
            Command::Texture(_) => "texture",
            Command::Demo(_) => "demo",
            Command::Completions(_) => "completions",
            Command::Watch(_) => "watch",
            Command::Run(_) => "run",
            Command::Limits(_) => "limits",
            Command::Sweep(_) => "sweep",
            Command::Man(_) => "man",
        }
    }
}

impl Everywhere {
    /// The first given option for files about a run.
    pub fn of_records(&self) -> Option<&'static str> {
        let given =
            [("--trace", self.trace.is_some()), ("--report", self.report.is_some()), ("--chart", self.chart.is_some())];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }

    /// The first given option for simulated devices.
    pub fn of_pace(&self) -> Option<&'static str> {
        let pace = &self.pace;
        let given = [
            ("--read-rate", pace.read_rate.is_some()),
            ("--write-rate", pace.write_rate.is_some()),
            ("--read-latency", pace.read_latency.is_some()),
            ("--write-latency", pace.write_latency.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }

    /// The kinds of warnings to accept despite `--strict`.
    pub fn allowed(&self) -> KindSet {
        self.allow.iter().fold(KindSet::default(), |allowed, set| allowed.union(*set))
    }

    /// The policy for invalid statements. Fails if `--on-error warn` is combined with `--strict`.
    pub fn policy(&self) -> Result<OnError> {
        match self.on_error {
            ErrorPolicy::Raise => Ok(OnError::Raise),
            ErrorPolicy::Warn if self.strict == Strict::Off => Ok(OnError::Warn),
            ErrorPolicy::Warn => {
                let error = Error::new(ErrorKind::Usage, "--strict cannot be used with --on-error warn");
                Err(error.with_hint("--strict stops at the first warning; remove one of the two options"))
            }
        }
    }
}
