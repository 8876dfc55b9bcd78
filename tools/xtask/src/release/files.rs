//! The folders of a release, and how its archives and checksums are written.

use crate::steps::Outcome;
use crate::{python, root, term};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A release in the making.
pub(super) struct Release {
    /// Folder of finished files.
    pub(super) files: PathBuf,
    /// Folder of unfinished files.
    pub(super) work: PathBuf,
    /// Time of the last commit, in seconds since 1970: the time of all files in archives.
    pub(super) seconds: u64,
}

/// Converts a result to an outcome, and prints the error.
pub(super) fn of(result: io::Result<()>) -> Outcome {
    if let Err(error) = &result {
        term::err(format!("{error}\n"));
    }
    Outcome::of(result.is_ok())
}

impl Release {
    pub(super) fn new() -> io::Result<Release> {
        let mut git = Command::new("git");
        git.args(["log", "-1", "--format=%ct"]).current_dir(root::root());
        let seconds = root::output(&mut git).and_then(|text| text.trim().parse().ok());
        let seconds = seconds.ok_or_else(|| io::Error::other("git does not show the last commit"))?;
        let files = root::target().join("release-files");
        let work = root::target().join("release-work");
        for folder in [&files, &work] {
            fs::create_dir_all(folder)?;
        }
        Ok(Release { files, work, seconds })
    }

    /// Returns an empty folder for the contents of an archive.
    pub(super) fn empty_folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.work.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Packs a folder into a file of the release: a zip archive for Windows, otherwise a gzipped tar archive.
    pub(super) fn pack(&self, folder: &Path, is_zip: bool) -> io::Result<()> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let target = self.files.join(format!("{name}.{}", if is_zip { "zip" } else { "tar.gz" }));
        let program = python::program(python::IS_NEW_ENOUGH).ok_or_else(|| io::Error::other("no Python 3.11"))?;
        let mut pack = Command::new(program);
        pack.arg(root::root().join("tools/release/pack.py")).arg(folder).arg(&target).arg(self.seconds.to_string());
        if root::runs(&mut pack) { Ok(()) } else { Err(io::Error::other(format!("{name} was not packed"))) }
    }

    /// Writes the checksums of all files, sorted by name.
    pub(super) fn checksums(&self) -> io::Result<()> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(&self.files)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_file() && name != "SHA256SUMS" {
                let bytes = fs::read(&path)?;
                term::out(format!("{:>10.2} MB  {name}\n", bytes.len() as f64 / 1e6));
                lines.push((name, hex(&Sha256::digest(&bytes))));
            }
        }
        lines.sort();
        let text: String = lines.into_iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        fs::write(self.files.join("SHA256SUMS"), text)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
