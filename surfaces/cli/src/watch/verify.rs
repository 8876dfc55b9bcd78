//! Compares the files that a program writes in several runs (`polyhaul watch --fix --verify`).
//!
//! Only a hash of each file is kept: `fix` tells which files differ.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes to read at a time.
const CHUNK: usize = 1 << 20;

/// The content of files after the first run.
pub struct FirstOutputs(Vec<(PathBuf, Option<u64>)>);

impl FirstOutputs {
    /// Reads files. One that is missing must be missing later, too.
    pub fn read(paths: &[PathBuf]) -> FirstOutputs {
        FirstOutputs(paths.iter().map(|path| (path.clone(), hash(path))).collect())
    }

    /// The files that have another content now.
    pub fn changed(&self) -> Vec<PathBuf> {
        let changed = self.0.iter().filter(|(path, before)| hash(path) != *before);
        changed.map(|(path, _)| path.clone()).collect()
    }
}

/// A hash of the content; `None` if the file cannot be read.
fn hash(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finish()),
            bytes => hasher.write(&buffer[..bytes]),
        }
    }
}
