//! Small inputs that ask for much: at most 1 MB each, made to cost as much memory and time as a reader lets them.
//!
//! [`inputs`] makes all of them, [`Work`] is what people do with files, and [`max_bytes`] is the bound that holds. The
//! test `worst` checks the bound, and `cargo xtask bench` measures the command with the same files.

mod pixels;
mod rows;
mod scenes;

use crate::corpus::Folder;
use polyhaul::ops::SurfacePositions;
use polyhaul::preview::PreviewOptions;
use polyhaul::{Format, Output, ReadOptions, Reader, Result, WriteOptions, Writer};
use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of an input, with the files that it refers to.
pub const MAX_INPUT_BYTES: u64 = 1 << 20;

/// An input, with the files that it refers to.
pub struct WorstInput {
    /// What is bad about it, in a few words.
    pub name: &'static str,
    /// The names and contents of its files; the first one is opened.
    pub files: Vec<(String, Vec<u8>)>,
    /// The most bytes that its content may take as arrays: declared by the file and backed by its data, or by a limit.
    pub content_bytes: u64,
}

impl WorstInput {
    fn new(name: &'static str, file: &str, bytes: impl Into<Vec<u8>>) -> WorstInput {
        WorstInput { name, files: vec![(file.into(), bytes.into())], content_bytes: 0 }
    }

    /// Adds a file that it refers to.
    fn with(mut self, file: &str, bytes: impl Into<Vec<u8>>) -> WorstInput {
        self.files.push((file.into(), bytes.into()));
        self
    }

    /// Allows arrays of this size.
    fn content(self, content_bytes: u64) -> WorstInput {
        WorstInput { content_bytes, ..self }
    }

    /// The format, as the extension of the first file.
    pub fn format(&self) -> &str {
        self.files[0].0.rsplit('.').next().unwrap_or_default()
    }

    /// The bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Writes its files into a folder of their own; returns the path of the first.
    pub fn save(&self, folder: &Folder) -> io::Result<PathBuf> {
        let mut paths = Vec::new();
        for (name, bytes) in &self.files {
            paths.push(folder.file(&format!("{}/{name}", self.name.replace(' ', "-")), bytes)?);
        }
        Ok(paths.swap_remove(0))
    }
}

/// All inputs, by format.
pub fn inputs() -> Vec<WorstInput> {
    [scenes::gltf(), scenes::pbrt(), scenes::obj(), rows::meshes(), rows::tables(), pixels::images(), pixels::packed()]
        .into_iter()
        .flatten()
        .collect()
}

/// What is done with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `polyhaul info`.
    Info,
    /// `polyhaul check`.
    Check,
    /// `polyhaul convert`, to a format that stores most of it.
    Convert,
    /// `polyhaul diff` with itself.
    Diff,
    /// `polyhaul preview`.
    Preview,
}

impl Work {
    /// All of them.
    pub const ALL: [Work; 5] = [Work::Info, Work::Check, Work::Convert, Work::Diff, Work::Preview];

    /// Does it with an input that was saved at `path`. Many inputs are refused.
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

/// The format to convert a file to, which stores most of it.
pub fn target(path: &Path) -> Format {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|name| pixels::EXTENSIONS.contains(&name)) { Format::Png } else { Format::Ply }
}

fn convert(path: &Path, options: &ReadOptions) -> Result<()> {
    let write = WriteOptions::default().with_run(options.run.clone()).with_format(Some(target(path)));
    let output = Output::Writer(Box::new(io::sink()), "nowhere".into());
    Reader::new(path).options(options).convert(Writer::new(output).options(&write)).map(drop)
}

/// The most memory that a job may take besides what the process has: 64 MiB, 4 times the input, buffers of 64 MiB, and
/// twice the content, because an array that grows has a second one beside it while it moves.
pub fn max_bytes(input_bytes: u64, content_bytes: u64) -> u64 {
    (128 << 20) + 4 * input_bytes + 2 * content_bytes
}
