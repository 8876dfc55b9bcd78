//! The job of reading one input as one format, which the format's reader receives, and its secondary results.
//!
//! `load` opens inputs, detects formats and measures times; the readers are in the registry.

use crate::containers::Near;
use crate::declared::Declared;
use crate::format::Format;
use crate::loaded::Loaded;
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::plain::Plain;
use crate::report::Report;
use polyhaul_model::error::Result;
use polyhaul_model::warnings::Warnings;
use polyhaul_model::{ImagePart, Scene};
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::chunk::TextChunks;
use polyhaul_pipeline::feed::Feed;
use polyhaul_pipeline::options::ParseOptions;
use std::collections::BTreeSet;

/// Reads a mesh that a scene refers to.
pub(crate) type ReadMesh = fn(&Opened, &ReadOptions) -> Result<Loaded<Scene>>;

/// An input to read as one format.
pub(crate) struct ReadJob<'a> {
    pub(crate) plain: &'a Plain,
    /// Location of the input, for finding its other files.
    pub(crate) near: &'a Near,
    pub(crate) format: Format,
    pub(crate) options: &'a ReadOptions,
    /// Reads the meshes in a scene's other files.
    pub(crate) read_mesh: ReadMesh,
    pub(crate) report: &'a mut Report,
    pub(crate) details: ReadDetails,
    /// Whether tables were read, but no row.
    pub(crate) is_rowless: bool,
}

/// Secondary results of reading.
#[derive(Debug, Default)]
pub(crate) struct ReadDetails {
    /// The header, if `info` shows it; its comments are in the content.
    pub(crate) header: Option<Declared>,
    /// The files of a renderer scene.
    pub(crate) files: Option<SceneFiles>,
    /// The parts of an image file, if the format has parts.
    pub(crate) parts: Vec<ImagePart>,
}

/// Statistics of the files of a renderer scene.
#[derive(Debug, Default)]
pub(crate) struct SceneFiles {
    /// The number of occurrences of each directive.
    pub(crate) directives: Vec<(&'static str, u64)>,
    /// Text files. A file that is included twice is read twice, and counts twice.
    pub(crate) text: FileSum,
    /// Mesh files, or `None` if meshes are not read.
    pub(crate) meshes: Option<FileSum>,
    /// Folders of text files, relative to the scene's folder.
    pub(crate) folders: BTreeSet<String>,
}

/// Statistics of files of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileSum {
    pub(crate) count: u64,
    /// Referenced files that could not be read, which `count` excludes.
    pub(crate) missing: u64,
    pub(crate) bytes: u64,
    pub(crate) plain_bytes: u64,
}

impl ReadJob<'_> {
    /// Options common to all readers.
    pub(crate) fn parse_options(&self) -> ParseOptions {
        self.plain.options(self.options)
    }

    /// The decompressed bytes as text.
    pub(crate) fn text(&self) -> TextChunks<'static> {
        TextChunks::new(self.plain.source().clone()).tolerant(self.plain.garbage().cloned())
    }

    /// The decompressed bytes, with random access if possible.
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        Bytes::new(self.plain.source(), self.plain.garbage())
    }

    /// The decompressed bytes in order.
    pub(crate) fn feed(&self) -> Feed<'static> {
        Feed::new(self.plain.source().clone(), self.plain.garbage().cloned())
    }

    /// Records the threads, warnings and bytes of reading.
    pub(crate) fn note(&mut self, threads: usize, warnings: Warnings) {
        self.report.threads = threads;
        self.report.warnings.extend(warnings);
        self.plain.note_garbage(&mut self.report.warnings);
        self.report.note_read(self.plain.moved(self.format.name()));
    }
}
