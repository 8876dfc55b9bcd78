//! The options for reading and writing assets that several subcommands share.

use super::options::{self, GivenOptions};
use crate::format::{self, NamedFormat};
use clap::Args;
use polyhaul::options::{Compression, Limits, PbrtMeshes, RowOptions};
use polyhaul::{Error, ErrorKind, Format, ReadOptions, Result, WriteOptions};
use std::path::Path;

/// The format of the input, and resource limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct SourceArgs {
    /// Format of the input [default: from the file extension, else from the content]
    #[arg(long, value_name = "FORMAT", value_parser = format::parser())]
    pub from: Option<Format>,
    /// Change a limit
    #[arg(long, value_name = "NAME=N", value_parser = options::limit, help = options::limit_help())]
    limit: Vec<(String, String)>,
}

/// Options for reading.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// The input.
    #[command(flatten)]
    pub source: SourceArgs,
    /// The options of the formats.
    #[command(flatten)]
    pub options: GivenOptions<ReadOptions>,
}

/// Options for reading, selecting and writing, shared by `convert` and `batch`.
#[derive(Debug, Args)]
pub struct StyleArgs {
    /// Read options.
    #[command(flatten)]
    pub read: ReadArgs,
    /// Selection and transformation of rows.
    #[command(flatten)]
    pub rows: GivenOptions<RowOptions>,
    /// Format of the output [default: from the file extension; obj for standard output]
    #[arg(long, value_name = "FORMAT", value_parser = format::output_parser(), help_heading = "Writing")]
    pub to: Option<NamedFormat>,
    /// Write options.
    #[command(flatten)]
    pub write: GivenOptions<WriteOptions>,
}

impl SourceArgs {
    /// The limits.
    pub fn limits(&self) -> Limits {
        options::limits(&self.limit)
    }
}

impl ReadArgs {
    /// Returns the library's options, except the options of [`super::Everywhere`].
    ///
    /// # Errors
    /// As for [`GivenOptions::apply`].
    pub fn options(&self) -> Result<ReadOptions> {
        let mut options = ReadOptions::default().with_format(self.source.from).with_limits(self.source.limits());
        self.options.apply(&mut options)?;
        Ok(options)
    }
}

impl StyleArgs {
    /// The options for writing the output of `input` in the format `to`.
    ///
    /// # Errors If an option does not apply to the output, or contradicts another option.
    pub fn write_options(&self, input: &Path, to: Format) -> Result<WriteOptions> {
        self.write.check(&[Some(to)])?;
        let mut options = WriteOptions::default();
        self.write.apply(&mut options)?;
        options.scene.axes()?;
        self.check_lazy(input, to, &options)?;
        Ok(options)
    }

    /// Checks the options for reading, and that `--lazy` is used only if the output can reference the unread meshes.
    fn check_lazy(&self, input: &Path, to: Format, options: &WriteOptions) -> Result<()> {
        let from = self.read.source.from.or_else(|| Format::of_path(input));
        self.read.options.check(&[from])?;
        self.read.options.check_shared(&[from, Some(to)])?;
        if !self.read.options.is_given("load_meshes") {
            return Ok(());
        }
        if to != Format::Pbrt {
            let message = format!(
                "--lazy keeps meshes in their files, which only pbrt can refer to, but the output format is {}",
                to.name()
            );
            let hint = "remove `--lazy`, or write pbrt: use an output name ending in .pbrt, or `--to pbrt`";
            return Err(Error::new(ErrorKind::Usage, message).with_hint(hint));
        }
        if options.pbrt.meshes == PbrtMeshes::Inline {
            let error = Error::new(ErrorKind::Usage, "--lazy cannot be used with --meshes inline");
            return Err(error.with_hint("--lazy does not read meshes; remove one of the two options"));
        }
        Ok(())
    }

    /// The requested compression.
    ///
    /// # Errors
    /// As for [`GivenOptions::apply`].
    pub fn compression(&self) -> Result<Compression> {
        let mut options = WriteOptions::default();
        self.write.apply(&mut options)?;
        Ok(options.compression)
    }
}
