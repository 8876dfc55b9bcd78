//! Assets with all kinds of references, and conversions of them.

use polyhaul::warnings::Warnings;
use polyhaul::{Input, ReadOptions, Report, Result, WriteOptions};
pub use polyhaul_testkit::corpus::Folder;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub const FACE: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n";
pub const MESH: &str = "ply\nformat ascii 1.0\ncomment TextureFile tex/a b.png\ncomment by hand\nelement vertex 3\n\
    property float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\n\
    end_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";

pub const ALLOWED: fn() -> ReadOptions = || ReadOptions::default().with_allow_outside(true);
pub const COPYING: fn() -> WriteOptions = || WriteOptions::default().with_copy_assets(true);

/// An empty folder for one test.
pub fn new_folder() -> Folder {
    Folder::new("references").unwrap()
}

/// Converts with these options, after creating the output's folder.
pub fn try_convert(from: &Path, to: &Path, read: &ReadOptions, write: &WriteOptions) -> Result<Report> {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    polyhaul::Reader::new(from).options(read).convert(polyhaul::Writer::new(to).options(write))
}

#[track_caller]
pub fn convert(from: &Path, to: &Path) -> Report {
    try_convert(from, to, &ReadOptions::default(), &WriteOptions::default()).unwrap()
}

/// Counts of warnings about references, by kind.
pub fn counts(warnings: &Warnings) -> BTreeMap<&'static str, u64> {
    let is_about = |code: &str| code.ends_with("-reference");
    warnings.counts().iter().filter(|(code, _)| is_about(code)).map(|(code, count)| (*code, *count)).collect()
}

/// Messages and hints of a kind.
pub fn messages(warnings: &Warnings, code: &str) -> Vec<String> {
    let matching = warnings.kept().iter().filter(|warning| warning.code == code);
    matching
        .map(|warning| format!("{} ({})", warning.diagnostic.message, warning.diagnostic.hint.as_deref().unwrap_or("")))
        .collect()
}

/// The text after a keyword in a file: `map_Kd`, or `"string filename"`.
pub fn said(path: &Path, word: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let words = text.lines().filter_map(|line| line.split_once(word).map(|(_, rest)| rest.trim()));
    words.map(|rest| rest.split('"').nth(1).unwrap_or(rest).to_owned()).collect()
}

/// All files below a folder, by relative path, with their content.
pub fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(inner) = left.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap().flatten() {
            let path = inner.join(entry.file_name());
            match entry.metadata().unwrap() {
                data if data.is_dir() => left.push(path),
                data if data.is_file() => {
                    _ = files.insert(path.display().to_string(), fs::read(folder.join(&path)).unwrap())
                }
                _ => _ = files.insert(path.display().to_string(), b"special".to_vec()),
            }
        }
    }
    files
}

/// Counts of warnings from `validate` about missing files, files outside the folder, and files that are not regular.
pub fn unfound(path: &Path, read: &ReadOptions) -> BTreeMap<&'static str, u64> {
    let validation = polyhaul::inspect::validate(Input::Path(path.into()), read).unwrap();
    let is_about = |code: &str| ["missing-", "outside-", "irregular-"].iter().any(|start| code.starts_with(start));
    let counts = validation.report.warnings.counts().iter();
    counts.filter(|(code, _)| is_about(code)).map(|(code, count)| (*code, *count)).collect()
}
