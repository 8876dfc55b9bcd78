//! Small inputs that are expensive to read: at most 1 MB each, built to use as much memory and time as a reader allows.
//!
//! [`inputs`] generates all of them, [`Work`] is the typical work on a file, and [`max_bytes`] is the bound on memory.
//! The test `worst` checks the bound, and `cargo xtask bench` measures the command with the same files.

mod pixels;
mod rows;
mod scenes;

use crate::corpus::Folder;
use polyhaul::ops::SurfacePositions;
use polyhaul::preview::PreviewOptions;
use polyhaul::{Format, Output, ReadOptions, Reader, Result, WriteOptions, Writer};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum size of an input, including the files that it refers to.
pub const MAX_INPUT_BYTES: u64 = 1 << 20;

/// An input and the files that it refers to.
pub struct WorstInput {
    /// Short description of the attack.
    pub name: &'static str,
    /// File names and contents; the first one is opened.
    pub files: Vec<(String, Vec<u8>)>,
    /// Upper bound for the size of the loaded arrays: declared by the file and backed by its data, or by a limit.
    pub content_bytes: u64,
}

impl WorstInput {
    fn new(name: &'static str, file: &str, bytes: impl Into<Vec<u8>>) -> WorstInput {
        WorstInput { name, files: vec![(file.into(), bytes.into())], content_bytes: 0 }
    }

    /// Adds a file that the input refers to.
    fn with(mut self, file: &str, bytes: impl Into<Vec<u8>>) -> WorstInput {
        self.files.push((file.into(), bytes.into()));
        self
    }

    /// Sets the bound for loaded arrays.
    fn content(self, content_bytes: u64) -> WorstInput {
        WorstInput { content_bytes, ..self }
    }

    /// Returns the extension of the first file.
    pub fn format(&self) -> &str {
        self.files[0].0.rsplit('.').next().unwrap_or_default()
    }

    /// Returns the total size of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Writes its files to a subfolder; returns the path of the first.
    pub fn save(&self, folder: &Folder) -> io::Result<PathBuf> {
        let mut paths = Vec::new();
        for (name, bytes) in &self.files {
            paths.push(folder.file(&format!("{}/{name}", self.name.replace(' ', "-")), bytes)?);
        }
        Ok(paths.swap_remove(0))
    }
}

/// Generates all inputs, grouped by format.
pub fn inputs() -> Vec<WorstInput> {
    [scenes::gltf(), scenes::pbrt(), scenes::obj(), rows::meshes(), rows::tables(), pixels::images(), pixels::packed()]
        .into_iter()
        .flatten()
        .collect()
}

/// Command to run on an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `polyhaul info`.
    Info,
    /// `polyhaul check`.
    Check,
    /// `polyhaul convert`, to the format of [`target`].
    Convert,
    /// `polyhaul diff` of the file with itself.
    Diff,
    /// `polyhaul preview`.
    Preview,
}

impl Work {
    /// All commands.
    pub const ALL: [Work; 5] = [Work::Info, Work::Check, Work::Convert, Work::Diff, Work::Preview];

    /// Runs the command on an input saved at `path`. Many inputs are rejected with an error.
    pub fn run(self, path: &Path, options: &ReadOptions) -> Result<()> {
        match self {
            Work::Info => polyhaul::inspect::info(path, options).map(drop),
            Work::Check => polyhaul::inspect::check(path, SurfacePositions::Merged, options).map(drop),
            Work::Convert => convert(path, options),
            Work::Diff => polyhaul::diff::diff(path, path, options, 0.0).map(drop),
            Work::Preview => {
                let preview = PreviewOptions::default().with_run(options.run.clone());
                polyhaul::preview::preview(path, options, &preview).map(drop)
            }
        }
    }
}

/// Returns a format that stores most of a file's content: PNG for images, PLY for everything else.
pub fn target(path: &Path) -> Format {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|name| pixels::EXTENSIONS.contains(&name)) { Format::Png } else { Format::Ply }
}

fn convert(path: &Path, options: &ReadOptions) -> Result<()> {
    let write = WriteOptions::default().with_run(options.run.clone()).with_format(Some(target(path)));
    let output = Output::Writer(Box::new(io::sink()), "nowhere".into());
    Reader::new(path).options(options).convert(Writer::new(output).options(&write)).map(drop)
}

/// Returns the maximum memory of a command, in addition to the process's own: 128 MiB, of which 64 MiB are buffers, 4
/// times the input, and twice the content, because a growing array needs space for its copy.
pub fn max_bytes(input_bytes: u64, content_bytes: u64) -> u64 {
    (128 << 20) + 4 * input_bytes + 2 * content_bytes
}
