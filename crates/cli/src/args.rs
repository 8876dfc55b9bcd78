//! What the command line can ask for.
//!
//! Only declarations and their translation into the library's options: nothing is opened here.

pub mod limits;
pub mod pace;
mod pbrt;
pub mod sweep;
mod tables;
pub mod texture;
pub mod watch;

use crate::format;
use crate::values::{self, Direction, Places};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use polyhaul::options::{
    Axes, Codec, Compression, ImageStyle, Limits, ObjOptions, OnError, Placement, PlyEncoding, PlyOptions, PngLevel,
    StlOptions, StlReadOptions,
};
use polyhaul::{Error, ErrorKind, Format, Result, WriteOptions};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  polyhaul convert scene.obj clean.obj            rewrite a scene
  polyhaul convert scene.obj out.obj --up-axis Z --forward-axis Y
  polyhaul convert scan.ply points.csv            any pair of formats
  curl -s URL | polyhaul convert - scene.obj      read standard input
  polyhaul info scene.obj                         what is inside
  polyhaul validate --strict assets/*.obj         every complaint, with its place
  polyhaul texture assets -o textures             images to DDS or KTX 2
  polyhaul watch -- python3 load.py               what a program does to files
  polyhaul demo                                   how fast is this machine?
  polyhaul limits                                 how fast could it be?
  polyhaul sweep scene.obj                        how to store it, for which disks

Exit codes:
  0 done, 1 failed, 2 wrong usage, 3 some of many files failed, 130 interrupted, 143 terminated";

/// Moves 3D assets between disk and memory as fast as the machine allows.
#[derive(Debug, Parser)]
#[command(name = "polyhaul", version, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, subcommand_required = true, max_term_width = 100)]
pub struct Cli {
    /// The options that every subcommand takes.
    #[command(flatten)]
    pub everywhere: Everywhere,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Read a file and write it, in any pair of formats
    Convert(ConvertArgs),
    /// Say what is inside: counts, bounds, names
    Info(InfoArgs),
    /// List every complaint about a file, with its place
    Validate(ValidateArgs),
    /// Make textures for graphics cards out of images, with mip levels, in blocks
    Texture(texture::TextureArgs),
    /// Run a program and say what it did to each file, and for which locks it waited
    Watch(watch::WatchArgs),
    /// Make a scene, write it, read it back, check it, and show the rates
    Demo(DemoArgs),
    /// Load an asset at many rates, compressed in several ways, and say how to store it
    Sweep(sweep::SweepArgs),
    /// Measure what this machine and a folder's disk can do at best, and keep it
    Limits(limits::LimitsArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write all pages to a folder
    #[command(hide = true)]
    Man(ManArgs),
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do with broken statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ErrorPolicy {
    /// Stop at the first.
    Raise,
    /// Leave them out and count them.
    Warn,
}

/// The options that every subcommand takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Everywhere {
    /// Worker threads [default: one per core that the process may use]
    #[arg(short = 'j', long, global = true, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Memory for work in flight, on top of the scene itself (64MB, 1.5GB, 512KiB)
    #[arg(long, global = true, value_name = "SIZE", default_value = "64MiB", value_parser = values::size)]
    pub memory_limit: u64,
    /// Treat warnings as errors
    #[arg(long, global = true)]
    pub strict: bool,
    /// What to do with a broken statement: stop, or leave it out and warn
    #[arg(long, global = true, value_name = "WHAT", value_enum, default_value = "raise")]
    pub on_error: ErrorPolicy,
    /// Print exactly one JSON object on standard output, errors included
    ///
    /// When the scene itself goes to standard output, the object goes to standard error.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print times, threads and memory too
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub verbose: bool,
    /// Write what the run did when to a file that Perfetto and chrome://tracing open
    ///
    /// The file is written at the end, also of a run that failed. See ui.perfetto.dev.
    #[arg(long, global = true, value_name = "OUT.json", value_hint = ValueHint::FilePath,
          value_parser = values::file_named(&["json"]))]
    pub trace: Option<PathBuf>,
    /// Write a page about the run, with charts of its threads, disks and files, for a browser
    ///
    /// It is one file without any part outside of it, written at the end.
    #[arg(long, global = true, value_name = "OUT.html", value_hint = ValueHint::FilePath,
          value_parser = values::file_named(&["html", "htm"]))]
    pub report: Option<PathBuf>,
    /// Write the chart of the run's threads and disks as a picture, SVG or PNG
    #[arg(long, global = true, value_name = "OUT.svg|OUT.png", value_hint = ValueHint::FilePath,
          value_parser = values::file_named(crate::picture::ENDINGS))]
    pub chart: Option<PathBuf>,
    /// Show no progress bar (it appears only where standard error is a terminal)
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// When to use colours; NO_COLOR in the environment turns them off too
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    pub color: ColorWhen,
    /// Devices as slow as one likes.
    #[command(flatten)]
    pub pace: pace::PaceArgs,
}

/// How to read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// The format of the input [default: as its name says, or else its content]
    #[arg(long, visible_alias = "format", value_name = "FORMAT", value_parser = format::parser())]
    pub from: Option<Format>,
    /// Make positions with the same coordinates one (STL)
    #[arg(long)]
    pub weld: bool,
    /// Let a scene refer to files outside of its folder
    #[arg(long)]
    pub allow_outside: bool,
    /// Leave meshes and textures that a scene names in their files, unread (pbrt)
    #[arg(long)]
    pub lazy: bool,
    /// Raise or lower a limit
    #[arg(long, value_name = "NAME=N", value_parser = values::limit, help = values::limit_help())]
    pub limit: Vec<values::Limit>,
    /// How tables are read.
    #[command(flatten)]
    pub table: tables::TableArgs,
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CodecName {
    /// Members of gzip, read by everything.
    #[value(alias = "gz")]
    Gzip,
    /// Frames of zstd, smaller than gzip's.
    #[value(alias = "zst")]
    Zstd,
    /// Frames of lz4, the fastest to write.
    Lz4,
}

/// How hard pixels of a PNG are packed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PngLevelName {
    /// Fast, and somewhat larger.
    Fast,
    /// Neither.
    Balanced,
    /// Small, and slow.
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
    /// Meshes and objects in one OBJ file.
    Obj,
    /// A scene for a renderer, in many pbrt and PLY files.
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
pub enum Packing {
    /// Members of gzip, read by everything.
    #[value(alias = "gz")]
    Gzip,
    /// Frames of zstd, smaller than gzip's.
    #[value(alias = "zst")]
    Zstd,
    /// Frames of lz4, the fastest to write.
    Lz4,
    /// Not at all, whatever the name says.
    None,
}

impl ConvertArgs {
    /// What was asked for, as the library has it, which knows what goes together.
    pub fn compression(&self) -> Result<Compression> {
        let codec = match self.compress {
            None => return Ok(Compression::ByName(self.level)),
            Some(Packing::None) if self.level.is_some() => {
                let error = Error::new(ErrorKind::Usage, "--level and --compress none contradict each other");
                return Err(error.with_hint("leave one of the two out"));
            }
            Some(Packing::None) => return Ok(Compression::None),
            Some(Packing::Gzip) => Codec::Gzip,
            Some(Packing::Zstd) => Codec::Zstd,
            Some(Packing::Lz4) => Codec::Lz4,
        };
        Ok(Compression::By(codec, self.level))
    }

    /// How each format is written, where the output is of the format `to`.
    pub fn formats(&self, to: Format) -> Result<WriteOptions> {
        let mut options = WriteOptions {
            instances: pbrt::InstanceUse::option(self.scene.instances),
            pbrt: self.pbrt.style(to, (self.read.lazy, self.read.from.or_else(|| Format::of_path(&self.input))))?,
            ..WriteOptions::default()
        };
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
#[command(after_help = "\
Examples:
  polyhaul convert scene.obj clean.obj
  polyhaul convert scene.obj scene.obj.gz                compresses; what is read is recognised by content
  polyhaul convert scene.obj scene.obj --triangulate     replaces the file, whole or not at all
  polyhaul convert - - < scene.obj > shortest.obj --digits shortest
  polyhaul convert y_up.obj z_up.obj --up-axis Z --forward-axis Y --global-scale 100
  polyhaul convert scan.ply scan.ply.gz --ascii          every element, property and comment is kept
  polyhaul convert scan.ply points.csv --columns x,y,z,intensity --digits 3
  polyhaul convert readings.csv readings.npy --delimiter semicolon --missing nan
  polyhaul convert island.pbrt split/island.pbrt.gz --meshes ply:1000 --parts 20
  polyhaul convert island.pbrt island.obj                each instance is an object; see --instances")]
pub struct ConvertArgs {
    /// The file to read; `-` is standard input
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub input: PathBuf,
    /// The file to write; `-` is standard output, which gets no material library
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The format of the output [default: by name; obj for standard output]
    #[arg(long, value_name = "FORMAT", value_parser = format::parser())]
    pub to: Option<Format>,
    /// Compress the output [default: as its name says: .gz, .zst, .lz4]
    #[arg(long, value_name = "CODEC", value_enum)]
    pub compress: Option<Packing>,
    /// How hard to compress: gzip 1 to 12, zstd 1 to 22 [default: fast]
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true)]
    pub level: Option<i32>,
    /// Make the file durable before returning: sync the file, rename it, sync the folder
    #[arg(long)]
    pub durable: bool,
    /// How to read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How any format is written.
    #[command(flatten)]
    pub scene: SceneArgs,
    /// How OBJ is written.
    #[command(flatten)]
    pub obj: ObjArgs,
    /// How PLY and STL are written.
    #[command(flatten)]
    pub bytes: ByteArgs,
    /// How tables are written.
    #[command(flatten)]
    pub table: tables::TableStyleArgs,
    /// How pbrt is written.
    #[command(flatten)]
    pub pbrt: pbrt::PbrtArgs,
}

/// How scenes are written, whatever the format: the names are Blender's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub struct SceneArgs {
    /// The axis that faces forward: X, Y, Z, -X, -Y or -Z (NEGATIVE_X works too) [default: -Z in OBJ, as it is in the
    /// others]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    pub forward_axis: Option<Direction>,
    /// The axis that points up [default: Y in OBJ, as it is in the others]
    #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
    pub up_axis: Option<Direction>,
    /// Multiply positions by this
    #[arg(long, value_name = "FACTOR", default_value = "1", allow_hyphen_values = true,
          value_parser = values::scale)]
    pub global_scale: f32,
    /// Leave uvs out
    #[arg(long)]
    pub no_uv: bool,
    /// Leave normals out
    #[arg(long)]
    pub no_normals: bool,
    /// Leave vertex colours out
    #[arg(long)]
    pub no_colors: bool,
    /// Cut faces into triangles, as STL always does
    #[arg(long)]
    pub triangulate: bool,
    /// What becomes of instances (pbrt): each is flattened to shapes or objects of its own, or each definition stands
    /// once, under its name [default: kept in pbrt, flattened in the others]
    #[arg(long, value_name = "HOW", value_enum)]
    pub instances: Option<pbrt::InstanceUse>,
    /// Digits after the point of all numbers, 0 to 12, or `shortest` that reads back the same [default: 6 for positions
    /// and uvs of OBJ, 4 for its normals and colours, shortest for the others]
    #[arg(long, value_name = "N")]
    pub digits: Option<Places>,
}

/// How PLY and STL are written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing PLY and STL")]
pub struct ByteArgs {
    /// Write text and not bytes
    #[arg(long)]
    pub ascii: bool,
    /// Write the highest byte of numbers first (PLY)
    #[arg(long, conflicts_with = "ascii")]
    pub big_endian: bool,
    /// Write colours as floats and not as bytes (PLY)
    #[arg(long)]
    pub float_colors: bool,
    /// Write runs of equal pixels as packets, which is smaller (TGA)
    #[arg(long)]
    pub rle: bool,
    /// How hard pixels are packed (PNG)
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "balanced")]
    pub png_level: PngLevelName,
    /// Write floats of 32 bits and not of 16 (EXR)
    #[arg(long)]
    pub exr_float: bool,
}

/// How OBJ is written: the names are Blender's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing OBJ")]
pub struct ObjArgs {
    /// Leave materials out, and write no material library
    #[arg(long)]
    pub no_materials: bool,
    /// Leave the PBR extensions of materials out
    #[arg(long)]
    pub no_pbr_extensions: bool,
    /// Leave the groups of faces out
    #[arg(long)]
    pub no_groups: bool,
    /// Leave smoothing groups out
    #[arg(long)]
    pub no_smooth_groups: bool,
    /// Leave free-form curves out
    #[arg(long)]
    pub no_curves: bool,
    /// Write `g NAME` in place of `o NAME`
    #[arg(long)]
    pub object_groups: bool,
    /// Write `g OBJECT_MATERIAL` before each `usemtl`
    #[arg(long)]
    pub material_groups: bool,
    /// Digits of positions [default: as --digits]
    #[arg(long, value_name = "N")]
    pub position_digits: Option<Places>,
    /// Digits of uvs [default: as --digits]
    #[arg(long, value_name = "N")]
    pub uv_digits: Option<Places>,
    /// Digits of normals [default: as --digits]
    #[arg(long, value_name = "N")]
    pub normal_digits: Option<Places>,
    /// Digits of vertex colours [default: as --digits]
    #[arg(long, value_name = "N")]
    pub color_digits: Option<Places>,
}

/// `polyhaul info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  polyhaul info scene.obj scene.obj.gz
  polyhaul info readings.csv             the columns, with types and ends
  polyhaul info --lazy island.pbrt       without its meshes, which takes less time
  polyhaul info scan.ply --element face  the same of an element
  polyhaul info --json a.obj b.obj | jq '.files[] | [.file, .faces]'")]
pub struct InfoArgs {
    /// The files; `-` is standard input
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
    /// How to read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `polyhaul validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file fails when a default read of it would stop; with --strict, on any warning. --on-error has no
effect here: reading always goes on to the end. Beyond what reading complains about, faces that use
a position twice and textures that do not exist are listed.

Examples:
  polyhaul validate scene.obj
  polyhaul validate --strict --json assets/*.obj")]
pub struct ValidateArgs {
    /// The files; `-` is standard input, which is held in memory
    #[arg(value_name = "IN", required = true, value_hint = ValueHint::FilePath)]
    pub inputs: Vec<PathBuf>,
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
  polyhaul demo --keep /tmp/scene        look at what was written")]
pub struct DemoArgs {
    /// The scene: meshes and objects in one file (obj), or for a renderer, with instances, in many (pbrt)
    #[arg(long, value_name = "KIND", value_enum, default_value = "obj")]
    pub kind: DemoKind,
    /// About how much to make, 100KB to 4GB
    #[arg(long, value_name = "SIZE", default_value = "100MB", value_parser = values::demo_size)]
    pub size: u64,
    /// Compress what is written, and read that
    #[arg(long, value_name = "CODEC", value_enum)]
    pub compress: Option<CodecName>,
    /// Write to this folder and keep the scene [default: a temporary folder]
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
    /// Write the pages of all subcommands to this folder instead
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
    /// The first option that was given and means nothing where no assets are read or written.
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

    /// What reading does with broken statements; that and `--strict` must not contradict each other.
    pub fn policy(&self) -> Result<OnError> {
        match self.on_error {
            ErrorPolicy::Raise => Ok(OnError::Raise),
            ErrorPolicy::Warn if !self.strict => Ok(OnError::Warn),
            ErrorPolicy::Warn => {
                let error = Error::new(ErrorKind::Usage, "--strict and --on-error warn contradict each other");
                Err(error.with_hint("--strict stops at the first warning; leave one of the two out"))
            }
        }
    }
}

impl ReadArgs {
    /// How STL is read.
    pub fn stl(&self) -> StlReadOptions {
        StlReadOptions { weld: self.weld }
    }

    /// The default limits with the changes that were asked for.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        self.limit.iter().for_each(|limit| limit.apply(&mut limits));
        limits
    }
}

impl ByteArgs {
    /// Puts what is asked for into the library's options for PLY, STL and images.
    fn apply(&self, scene: &SceneArgs, options: &mut WriteOptions) -> Result<()> {
        let encoding = match (self.ascii, self.big_endian) {
            (true, _) => PlyEncoding::Ascii,
            (false, true) => PlyEncoding::BigEndian,
            (false, false) => PlyEncoding::LittleEndian,
        };
        let placement = scene.placement()?;
        options.ply = PlyOptions {
            placement,
            encoding,
            digits: options.ply.digits,
            export_uv: !scene.no_uv,
            export_normals: !scene.no_normals,
            export_colors: !scene.no_colors,
            float_colors: self.float_colors,
        };
        options.stl = StlOptions { placement, ascii: self.ascii, digits: options.stl.digits };
        let (png_level, exr_float) = (self.png_level.into(), self.exr_float);
        options.image = ImageStyle { tga_rle: self.rle, png_level, exr_float, ..options.image };
        Ok(())
    }
}

impl SceneArgs {
    /// The axes: those that are not given are OBJ's.
    fn axes(&self) -> Result<Axes> {
        let forward = self.forward_axis.unwrap_or(Direction(Axes::OBJ.forward));
        let up = self.up_axis.unwrap_or(Direction(Axes::OBJ.up));
        if forward.line() != up.line() {
            return Ok(Axes { forward: forward.0, up: up.0 });
        }
        let message = format!("--forward-axis {forward} and --up-axis {up} lie on one line");
        let hint = format!("with --up-axis {up}, choose for example --forward-axis {}", up.another());
        Err(Error::new(ErrorKind::Usage, message).with_hint(hint))
    }

    /// What is done to a scene whose coordinates stay unless axes are given.
    pub fn placement(&self) -> Result<Placement> {
        let is_given = self.forward_axis.is_some() || self.up_axis.is_some();
        Ok(Placement {
            axes: if is_given { Some(self.axes()?) } else { None },
            global_scale: self.global_scale,
            export_triangulated_mesh: self.triangulate,
        })
    }
}

impl ObjArgs {
    /// Puts what is asked for into the library's options, which have the digits of all numbers already.
    fn apply(&self, scene: &SceneArgs, options: &mut ObjOptions) -> Result<()> {
        let Axes { forward: forward_axis, up: up_axis } = scene.axes()?;
        let pick = |own: Option<Places>, shared| own.map_or(shared, |places| places.0);
        *options = ObjOptions {
            position_digits: pick(self.position_digits, options.position_digits),
            uv_digits: pick(self.uv_digits, options.uv_digits),
            normal_digits: pick(self.normal_digits, options.normal_digits),
            color_digits: pick(self.color_digits, options.color_digits),
            forward_axis,
            up_axis,
            global_scale: scene.global_scale,
            export_uv: !scene.no_uv,
            export_normals: !scene.no_normals,
            export_colors: !scene.no_colors,
            export_materials: !self.no_materials,
            export_pbr_extensions: !self.no_pbr_extensions,
            export_triangulated_mesh: scene.triangulate,
            export_object_groups: self.object_groups,
            export_material_groups: self.material_groups,
            export_groups: !self.no_groups,
            export_smooth_groups: !self.no_smooth_groups,
            export_curves: !self.no_curves,
            // Scenes out of files have neither vertex groups nor smooth flags.
            ..options.clone()
        };
        Ok(())
    }
}
