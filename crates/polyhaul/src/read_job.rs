//! Reading one input as one format: the input of a format's reader, and its secondary results.
//!
//! Opening, detecting and timing are in `load`; formats are in the registry.

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

/// Reads a mesh that a scene names, by the options.
pub(crate) type ReadMesh = fn(&Opened, &ReadOptions) -> Result<Loaded<Scene>>;

/// An input that is read as one format.
pub(crate) struct ReadJob<'a> {
    pub(crate) plain: &'a Plain,
    /// Where its other files are.
    pub(crate) near: &'a Near,
    pub(crate) format: Format,
    pub(crate) options: &'a ReadOptions,
    /// How the meshes in a scene's other files are read.
    pub(crate) read_mesh: ReadMesh,
    pub(crate) report: &'a mut Report,
    pub(crate) details: ReadDetails,
}

/// The secondary results of reading.
#[derive(Debug, Default)]
pub(crate) struct ReadDetails {
    /// The header, if the format has one that is shown; its comments are in the content.
    pub(crate) header: Option<Declared>,
    /// The files of a scene for a renderer.
    pub(crate) files: Option<SceneFiles>,
    /// The parts of an image file, if the format has them.
    pub(crate) parts: Vec<ImagePart>,
}

/// Statistics of the files of a scene.
#[derive(Debug, Default)]
pub(crate) struct SceneFiles {
    /// The number of each directive, by name.
    pub(crate) directives: Vec<(&'static str, u64)>,
    /// The files with text. One that is included twice is read twice, and counts twice.
    pub(crate) text: FileSum,
    /// The files with meshes; `None` if meshes are not read.
    pub(crate) meshes: Option<FileSum>,
    /// The folders of files with text, relative to that of the scene.
    pub(crate) folders: BTreeSet<String>,
}

/// Files of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileSum {
    pub(crate) count: u64,
    /// The files that are named but could not be read; they are not in `count`.
    pub(crate) missing: u64,
    pub(crate) bytes: u64,
    pub(crate) plain_bytes: u64,
}

impl ReadJob<'_> {
    /// The options that every reader has.
    pub(crate) fn parse_options(&self) -> ParseOptions {
        self.plain.options(self.options)
    }

    /// The plain bytes as text.
    pub(crate) fn text(&self) -> TextChunks<'static> {
        TextChunks::new(self.plain.source().clone()).tolerant(self.plain.garbage().cloned())
    }

    /// The plain bytes at any place, or in order.
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        Bytes::new(self.plain.source(), self.plain.garbage())
    }

    /// The plain bytes in order.
    pub(crate) fn feed(&self) -> Feed<'static> {
        Feed::new(self.plain.source().clone(), self.plain.garbage().cloned())
    }

    /// Records the threads and warnings of reading.
    pub(crate) fn note(&mut self, threads: usize, warnings: Warnings) {
        self.report.threads = threads;
        self.report.warnings.extend(warnings);
        self.plain.note_garbage(&mut self.report.warnings);
        self.report.note_read(self.plain.moved(self.format.name()));
    }
}
