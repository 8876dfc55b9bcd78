//! The command line: its options, and their translation into the library's options.
//!
//! Nothing is opened or read here. `values` parses values of options; `manual` generates completions and man pages from
//! these declarations.

pub mod batch;
pub mod diff;
mod gltf;
pub mod layers;
pub mod limits;
pub mod many;
pub mod pace;
mod pbrt;
pub mod preview;
pub mod rows;
pub mod sweep;
mod tables;
pub mod texture;
pub mod watch;

use crate::format;
use crate::values::{self, Direction, Places};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use polyhaul::options::{
    Axes, Codec, Compression, Limits, ObjWriteOptions, OnError, Placement, PlyEncoding, PlyWriteOptions, PngLevel,
    StlReadOptions, StlWriteOptions,
};
use polyhaul::{Error, ErrorKind, Format, Result, WriteOptions};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  polyhaul convert scene.obj clean.obj            rewrite a scene
  polyhaul convert scene.obj out.obj --up-axis Z --forward-axis Y
  polyhaul convert scan.ply points.csv            convert between any two formats
  curl -s URL | polyhaul convert - scene.obj      read standard input
  polyhaul info scene.obj                         show the contents
  polyhaul validate --strict assets/*.obj         list every problem and its location
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
    /// Generate a scene, write it, read it back, verify it and show the rates
    Demo(DemoArgs),
    /// Load an asset at several disk speeds and compressions, and advise how to store it
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

/// Which warnings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WarningsShown {
    /// The first three of each kind, then counts
    Summary,
    /// Every warning, up to 1,000
    All,
}

/// What to do about invalid statements.
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
    /// For `convert` of a single file, this is the memory of the whole process: what does not fit is moved to temporary
    /// files [default: three quarters of the memory that is free]. For other subcommands, it is the memory for
    /// buffers, in addition to the data itself [default: 64MiB].
    #[arg(long, global = true, value_name = "SIZE", value_parser = values::size)]
    pub memory_limit: Option<u64>,
    /// Treat warnings as errors, when reading and when writing
    #[arg(long, global = true)]
    pub strict: bool,
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
    /// Do not show a progress bar; there is one only if standard error is a terminal
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// When to use color; setting NO_COLOR in the environment disables it too
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    pub color: ColorWhen,
    /// Simulated slower devices.
    #[command(flatten)]
    pub pace: pace::PaceArgs,
}

/// How to read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// Format of the input [default: from the file extension, else from the content]
    #[arg(long, visible_alias = "format", value_name = "FORMAT", value_parser = format::parser())]
    pub from: Option<Format>,
    /// Merge positions with equal coordinates (STL)
    #[arg(long)]
    pub weld: bool,
    /// Read and copy files outside the scene's folder too
    #[arg(long)]
    pub allow_outside: bool,
    /// Do not read the mesh files of a scene (pbrt)
    #[arg(long)]
    pub lazy: bool,
    /// Change a limit
    #[arg(long, value_name = "NAME=N", value_parser = values::limit, help = values::limit_help())]
    pub limit: Vec<values::Limit>,
    /// How tables are read.
    #[command(flatten)]
    pub table: tables::TableArgs,
    /// Which image is read.
    #[command(flatten)]
    pub image: layers::LayerArgs,
}

/// How a file is compressed.
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

/// How hard pixels of a PNG are packed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PngLevelName {
    /// Fast, slightly larger files
    Fast,
    /// Balance of speed and size
    Balanced,
    /// Slow, small files
    Best,
}

impl From<PngLevelName> for PngLevel {
    fn from(name: PngLevelName) -> PngLevel {
        match name {
            PngLevelName::Fast => PngLevel::Fast,
            PngLevelName::Balanced => PngLevel::Balanced,
            PngLevelName::Best => PngLevel::Best,
        }
    }
}

/// What the demo makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoKind {
    /// Meshes and objects in one OBJ file
    Obj,
    /// A scene with instances, in many pbrt and PLY files
    Pbrt,
}

impl DemoKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            DemoKind::Obj => "obj",
            DemoKind::Pbrt => "pbrt",
        }
    }
}

/// How what is converted is compressed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ArgsPacking {
    /// gzip, the most widely supported
    #[value(alias = "gz")]
    Gzip,
    /// zstd, smaller and faster than gzip
    #[value(alias = "zst")]
    Zstd,
    /// lz4, the fastest
    Lz4,
    /// No compression, whatever the file extension
    None,
}

impl ConvertArgs {
    /// An error if the output is missing.
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

impl StyleArgs {
    /// The requested compression in the library's form, which checks the combination.
    pub fn compression(&self) -> Result<Compression> {
        let codec = match self.compress {
            None => return Ok(Compression::ByName(self.level)),
            Some(ArgsPacking::None) if self.level.is_some() => {
                let error = Error::new(ErrorKind::Usage, "--level cannot be used with --compress none");
                return Err(error.with_hint("remove one of the two options"));
            }
            Some(ArgsPacking::None) => return Ok(Compression::None),
            Some(ArgsPacking::Gzip) => Codec::Gzip,
            Some(ArgsPacking::Zstd) => Codec::Zstd,
            Some(ArgsPacking::Lz4) => Codec::Lz4,
        };
        Ok(Compression::By(codec, self.level))
    }

    /// The options for writing each format, if the output of `input` has the format `to`.
    pub fn formats(&self, input: &Path, to: Format) -> Result<WriteOptions> {
        let mut options = WriteOptions::default()
            .with_copy_assets(self.scene.copy_assets)
            .with_instances(gltf::InstanceUse::option(self.scene.instances))
            .with_gltf(self.gltf.style(to, self.scene.instances)?)
            .with_pbrt(self.pbrt.style(to, (self.read.lazy, self.read.from.or_else(|| Format::of_path(input))))?);
        if let Some(digits) = self.scene.digits {
            options = options.with_digits(digits.0);
        }
        self.obj.apply(&self.scene, &mut options.obj)?;
        self.bytes.apply(&self.scene, &mut options)?;
        self.table.apply(&self.scene, &mut options.table)?;
        Ok(options)
    }
}

/// `polyhaul convert`.
#[derive(Debug, Args)]
#[command(override_usage = "polyhaul convert [OPTIONS] <IN>... <OUT>")]
#[command(after_help = "\
Examples:
  polyhaul convert scene.obj clean.obj
  polyhaul convert scene.obj scene.obj.gz                compress; the input's compression is detected
  polyhaul convert scene.obj scene.obj --triangulate     replace the file atomically
  polyhaul convert - - < scene.obj > shortest.obj --digits shortest
  polyhaul convert y_up.obj z_up.obj --up-axis Z --forward-axis Y --global-scale 100
  polyhaul convert scan.ply scan.ply.gz --ascii          keep every element, property and comment
  polyhaul convert scan.ply points.csv --columns x,y,z,intensity --digits 3
  polyhaul convert readings.csv readings.npy --delimiter semicolon --missing nan
  polyhaul convert island.pbrt split/island.pbrt.gz --meshes ply:1000 --parts 20
  polyhaul convert island.pbrt island.obj                make an object of each instance; see --instances
  polyhaul convert chair.obj out/chair.pbrt --copy-assets   copy its textures, too
  polyhaul convert assets meshes --to ply --recursive       convert a folder and its subfolders
  polyhaul convert a.obj b.stl meshes --to ply --newer      only if they have changed")]
pub struct ConvertArgs {
    /// Input files or folders, followed by the output file, or by an output folder for several inputs
    ///
    /// `-` reads standard input or writes standard output, the latter without a material library.
    // With an argument of its own, the output would have to follow the inputs without options in between (clap 4.6).
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Several files at once.
    #[command(flatten)]
    pub many: many::ManyArgs,
    /// How to read and write.
    #[command(flatten)]
    pub style: StyleArgs,
}

/// How an asset is read and written, whatever it is converted for.
#[derive(Debug, Args)]
pub struct StyleArgs {
    /// Format of the output [default: from the file extension; obj for standard output]
    #[arg(long, value_name = "FORMAT", value_parser = format::output_parser())]
    pub to: Option<Format>,
    /// Compression of the output [default: from the file extension: .gz, .zst, .lz4]
    #[arg(long, value_name = "CODEC", value_enum)]
    pub compress: Option<ArgsPacking>,
    /// Compression level: gzip 1 to 12, zstd 1 to 22 [default: a fast one]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    pub level: Option<i32>,
    /// Sync the file and its folder to disk before returning
    #[arg(long)]
    pub durable: bool,
    /// How to read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// Which rows are kept.
    #[command(flatten)]
    pub rows: rows::RowArgs,
    /// How any format is written.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// How OBJ is written.
    #[command(flatten)]
    pub obj: ObjArgs,
    /// How PLY, STL and OFF are written.
    #[command(flatten)]
    pub bytes: ByteArgs,
    /// How tables are written.
    #[command(flatten)]
    pub table: tables::TableStyleArgs,
    /// How glTF is written.
    #[command(flatten)]
    pub gltf: gltf::GltfArgs,
    /// How pbrt is written.
    #[command(flatten)]
    pub pbrt: pbrt::PbrtArgs,
}

/// How scenes are written, whatever the format: the names are Blender's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub struct SceneArgs {
    /// Forward axis [default: -Z for OBJ, unchanged for other formats]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = values::direction())]
    pub forward_axis: Option<Direction>,
    /// Up axis [default: Y for OBJ, unchanged for other formats]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true, value_parser = values::direction())]
    pub up_axis: Option<Direction>,
    /// Scale positions by this factor
    #[arg(long, value_name = "FACTOR", default_value = "1", allow_hyphen_values = true,
          value_parser = values::scale)]
    pub global_scale: f32,
    /// Copy the files that the input refers to (textures, meshes, spectra) into the output's folder
    ///
    /// The output refers to the copies. No existing file is replaced: a name that is taken gets a number. Files outside
    /// the input's folder are copied only with --allow-outside.
    #[arg(long)]
    pub copy_assets: bool,
    /// Do not write uvs
    #[arg(long)]
    pub no_uv: bool,
    /// Do not write normals
    #[arg(long)]
    pub no_normals: bool,
    /// Do not write vertex colors
    #[arg(long)]
    pub no_colors: bool,
    /// Triangulate faces; STL always does
    #[arg(long)]
    pub triangulate: bool,
    /// How to write the instances of a pbrt scene, and objects that share a mesh [default: instances in pbrt and glTF,
    /// flattened in other formats]
    #[arg(long, value_name = "HOW", value_enum)]
    pub instances: Option<gltf::InstanceUse>,
    /// Decimal places of all numbers: 0 to 12, or `shortest` for the fewest digits that read back exactly [default: 6
    /// for OBJ positions and uvs, 4 for OBJ normals and colors, shortest for other formats]
    #[arg(long, value_name = "N", value_parser = values::places(), hide_possible_values = true)]
    pub digits: Option<Places>,
}

/// How PLY and STL are written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing PLY, STL, OFF, splats and images")]
pub struct ByteArgs {
    /// Write text instead of binary data (PLY, STL)
    #[arg(long)]
    pub ascii: bool,
    /// Write big-endian binary data (PLY)
    #[arg(long, conflicts_with = "ascii")]
    pub big_endian: bool,
    /// Write colors as floats instead of bytes (PLY, OFF)
    #[arg(long)]
    pub float_colors: bool,
    /// Use run-length encoding (TGA)
    #[arg(long)]
    pub rle: bool,
    /// Compression level (PNG)
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "balanced")]
    pub png_level: PngLevelName,
    /// JPEG quality, 1 (small) to 100 (nearly lossless)
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub quality: u8,
    /// Write 32-bit floats instead of 16-bit floats (EXR)
    #[arg(long)]
    pub exr_float: bool,
    /// Version of SPZ files, 2 to 4
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=4))]
    pub spz_version: u8,
    /// Compression level of SPZ files, 1 (fast) to 12 (small), or to 22 for version 4
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=22))]
    pub spz_level: i32,
    /// Highest degree of spherical harmonics of splats, 0 to 4 [default: as many as the format stores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=4))]
    pub sh_degree: Option<u8>,
    /// Keep the order of splats (compressed PLY)
    #[arg(long)]
    pub keep_order: bool,
}

/// How OBJ is written: the names are Blender's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing OBJ")]
pub struct ObjArgs {
    /// Do not write materials or a material library
    #[arg(long)]
    pub no_materials: bool,
    /// Do not write the PBR extensions of materials
    #[arg(long)]
    pub no_pbr_extensions: bool,
    /// Do not write face groups
    #[arg(long)]
    pub no_groups: bool,
    /// Do not write smoothing groups
    #[arg(long)]
    pub no_smooth_groups: bool,
    /// Do not write free-form curves
    #[arg(long)]
    pub no_curves: bool,
    /// Write `g NAME` instead of `o NAME`
    #[arg(long)]
    pub object_groups: bool,
    /// Write `g OBJECT_MATERIAL` before each `usemtl`
    #[arg(long)]
    pub material_groups: bool,
    /// Decimal places of positions [default: that of --digits]
    #[arg(long, value_name = "N", value_parser = values::places(), hide_possible_values = true)]
    pub position_digits: Option<Places>,
    /// Decimal places of uvs [default: that of --digits]
    #[arg(long, value_name = "N", value_parser = values::places(), hide_possible_values = true)]
    pub uv_digits: Option<Places>,
    /// Decimal places of normals [default: that of --digits]
    #[arg(long, value_name = "N", value_parser = values::places(), hide_possible_values = true)]
    pub normal_digits: Option<Places>,
    /// Decimal places of vertex colors [default: that of --digits]
    #[arg(long, value_name = "N", value_parser = values::places(), hide_possible_values = true)]
    pub color_digits: Option<Places>,
}

/// `polyhaul info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul info scene.obj scene.obj.gz
  polyhaul info assets --recursive       show all files of a folder and its subfolders
  polyhaul info readings.csv             show columns with their types and ranges
  polyhaul info --lazy island.pbrt       do not read its meshes, which is faster
  polyhaul info scan.ply --element face  show the columns of an element
  polyhaul info --json a.obj b.obj | jq '.files[] | [.file, .faces]'")]
pub struct InfoArgs {
    /// Input files or folders; `-` reads standard input
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Which files of folders.
    #[command(flatten)]
    pub find: many::FindArgs,
    /// How to read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `polyhaul validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file is invalid if reading it with default options would fail, or with --strict if there is any
warning. Files are always read to the end. Besides the problems found while reading, degenerate faces
and missing textures are listed.

Examples:
  polyhaul validate scene.obj
  polyhaul validate assets --recursive --include '*.obj'
  polyhaul validate --strict --json assets/*.obj")]
pub struct ValidateArgs {
    /// Input files or folders; `-` reads standard input into memory
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::AnyPath)]
    pub inputs: Vec<PathBuf>,
    /// Which files of folders.
    #[command(flatten)]
    pub find: many::FindArgs,
    /// How to read.
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
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Convert(_) => "convert",
            Command::Info(_) => "info",
            Command::Validate(_) => "validate",
            Command::Diff(_) => "diff",
            Command::Preview(_) => "preview",
            Command::Batch(_) => "batch",
            Command::Texture(_) => "texture",
            Command::Demo(_) => "demo",
            Command::Completions(_) => "completions",
            Command::Watch(_) => "watch",
            Command::Limits(_) => "limits",
            Command::Sweep(_) => "sweep",
            Command::Man(_) => "man",
        }
    }
}

impl Everywhere {
    /// The first given option that has no meaning for subcommands that read and write no assets.
    pub fn of_work(&self) -> Option<&'static str> {
        let pace = &self.pace;
        let given = [
            ("--trace", self.trace.is_some()),
            ("--report", self.report.is_some()),
            ("--chart", self.chart.is_some()),
            ("--read-rate", pace.read_rate.is_some()),
            ("--write-rate", pace.write_rate.is_some()),
            ("--read-latency", pace.read_latency.is_some()),
            ("--write-latency", pace.write_latency.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }

    /// What reading does with broken statements; this option and `--strict` exclude each other.
    pub fn policy(&self) -> Result<OnError> {
        match self.on_error {
            ErrorPolicy::Raise => Ok(OnError::Raise),
            ErrorPolicy::Warn if !self.strict => Ok(OnError::Warn),
            ErrorPolicy::Warn => {
                let error = Error::new(ErrorKind::Usage, "--strict cannot be used with --on-error warn");
                Err(error.with_hint("--strict stops at the first warning; remove one of the two options"))
            }
        }
    }
}

impl ReadArgs {
    /// How STL is read.
    pub fn stl(&self) -> StlReadOptions {
        StlReadOptions::default().with_weld(self.weld)
    }

    /// The default limits with the changes that were asked for.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        self.limit.iter().for_each(|limit| limit.apply(&mut limits));
        limits
    }
}

impl ByteArgs {
    /// Applies the arguments to the library's options for PLY, STL, glTF, splats and images.
    fn apply(&self, scene: &SceneArgs, options: &mut WriteOptions) -> Result<()> {
        let encoding = match (self.ascii, self.big_endian) {
            (true, _) => PlyEncoding::Ascii,
            (false, true) => PlyEncoding::BigEndian,
            (false, false) => PlyEncoding::LittleEndian,
        };
        let placement = scene.placement()?;
        options.ply = PlyWriteOptions::default()
            .with_placement(placement)
            .with_encoding(encoding)
            .with_digits(options.ply.digits)
            .with_export_uv(!scene.no_uv)
            .with_export_normals(!scene.no_normals)
            .with_export_colors(!scene.no_colors)
            .with_float_colors(self.float_colors);
        options.stl =
            StlWriteOptions::default().with_placement(placement).with_ascii(self.ascii).with_digits(options.stl.digits);
        options.gltf = options.gltf.placed(placement);
        options.splats = options
            .splats
            .with_spz_version(self.spz_version)
            .with_spz_level(Some(self.spz_level))
            .with_harmonics_degree(self.sh_degree.unwrap_or(options.splats.harmonics_degree))
            .with_keep_order(self.keep_order);
        let (png_level, exr_float) = (self.png_level.into(), self.exr_float);
        let style = options.image.with_tga_rle(self.rle).with_png_level(png_level).with_exr_float(exr_float);
        options.image = style.with_jpeg_quality(self.quality);
        Ok(())
    }
}

impl SceneArgs {
    /// The axes: those not given are OBJ's.
    fn axes(&self) -> Result<Axes> {
        let forward = self.forward_axis.unwrap_or(Direction(Axes::OBJ.forward));
        let up = self.up_axis.unwrap_or(Direction(Axes::OBJ.up));
        if forward.line() != up.line() {
            return Ok(Axes { forward: forward.0, up: up.0 });
        }
        let message = format!("--forward-axis {forward} and --up-axis {up} are parallel");
        let hint = format!("with --up-axis {up}, use for example --forward-axis {}", up.another());
        Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
    }

    /// The transformation of a scene whose coordinates stay unless axes are given.
    pub fn placement(&self) -> Result<Placement> {
        let is_given = self.forward_axis.is_some() || self.up_axis.is_some();
        Ok(Placement::default()
            .with_axes(if is_given { Some(self.axes()?) } else { None })
            .with_global_scale(self.global_scale)
            .with_export_triangulated_mesh(self.triangulate))
    }
}

impl ObjArgs {
    /// Applies the arguments to the library's options, which already have the digits of all numbers.
    fn apply(&self, scene: &SceneArgs, options: &mut ObjWriteOptions) -> Result<()> {
        let Axes { forward: forward_axis, up: up_axis } = scene.axes()?;
        let pick = |own: Option<Places>, shared| own.map_or(shared, |places| places.0);
        // Scenes out of files have neither vertex groups nor smooth flags.
        *options = options
            .clone()
            .with_position_digits(pick(self.position_digits, options.position_digits))
            .with_uv_digits(pick(self.uv_digits, options.uv_digits))
            .with_normal_digits(pick(self.normal_digits, options.normal_digits))
            .with_color_digits(pick(self.color_digits, options.color_digits))
            .with_forward_axis(forward_axis)
            .with_up_axis(up_axis)
            .with_global_scale(scene.global_scale)
            .with_export_uv(!scene.no_uv)
            .with_export_normals(!scene.no_normals)
            .with_export_colors(!scene.no_colors)
            .with_export_materials(!self.no_materials)
            .with_export_pbr_extensions(!self.no_pbr_extensions)
            .with_export_triangulated_mesh(scene.triangulate)
            .with_export_object_groups(self.object_groups)
            .with_export_material_groups(self.material_groups)
            .with_export_groups(!self.no_groups)
            .with_export_smooth_groups(!self.no_smooth_groups)
            .with_export_curves(!self.no_curves);
        Ok(())
    }
}
