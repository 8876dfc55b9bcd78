//! Compares referenced files: whether two names refer to the same file, or to files with the same bytes.
//!
//! Files outside the scene's folder are compared only by path, unless they may be read. Caches only the results, not
//! the contents.

use super::locate::{Located, LocatedFile, Locator};
use crate::options::ReadOptions;
use crate::resolve::open_inner;
use polyhaul_bytes::Buffer;
use polyhaul_model::error::Result;
use polyhaul_model::{FolderPlace, SourceFolder};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Block size for comparing.
const BLOCK: usize = 256 << 10;

/// The scene's folder, the folder of the included file that contains the name (relative to the scene's folder), and the
/// name.
pub(crate) type NamedFile<'a> = (&'a SourceFolder, &'a str, &'a str);

/// Compares files by name, and caches the results.
#[derive(Default)]
pub(crate) struct SameFiles {
    locator: Locator,
    options: ReadOptions,
    known: HashMap<[PathBuf; 2], bool>,
}

impl SameFiles {
    /// Whether both names refer to the same file or to files with the same bytes. If either file is missing, whether
    /// the names are equal.
    pub(crate) fn are_same(&mut self, a: NamedFile<'_>, b: NamedFile<'_>) -> Result<bool> {
        let files = self.find(a)?.zip(self.find(b)?);
        let Some((first, second)) = files else { return Ok(a.2 == b.2) };
        if first.real == second.real {
            return Ok(true);
        }
        if ![(&first, a), (&second, b)].into_iter().all(|(file, (folder, ..))| may_read(file, folder.place())) {
            return Ok(false);
        }
        let key = [first.real, second.real];
        if let Some(is_same) = self.known.get(&key) {
            return Ok(*is_same);
        }
        // Unreadable files are different.
        let is_same = has_same_bytes(&key).unwrap_or(false);
        self.known.insert(key, is_same);
        Ok(is_same)
    }

    fn find(&mut self, file: NamedFile<'_>) -> Result<Option<LocatedFile>> {
        let (folder, included, name) = file;
        let Some(place) = folder.place() else { return Ok(None) };
        match self.locator.locate(place, included, name, &self.options)? {
            Located::File(file) | Located::Inner(file) => Ok(Some(file)),
            _ => Ok(None),
        }
    }
}

/// Whether a file is in the scene's folder, or outside files are allowed.
fn may_read(file: &LocatedFile, place: Option<&FolderPlace>) -> bool {
    place.is_some_and(|place| {
        place.allow_outside
            || polyhaul_bytes::place::real(&place.scene).is_ok_and(|folder| file.real.starts_with(folder))
    })
}

/// Opens a file, or a file inside a file; also returns its size in bytes.
fn content(path: &Path) -> std::io::Result<(Box<dyn Read>, u64)> {
    let inner = open_inner(path, &ReadOptions::default()).map_err(std::io::Error::other)?;
    if let Some(inner) = inner {
        let size = inner.len().unwrap_or(0);
        return Ok((Box::new(Buffer::new(inner)), size));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    Ok((Box::new(file), size))
}

fn has_same_bytes(paths: &[PathBuf; 2]) -> std::io::Result<bool> {
    let [(mut a, size), (mut b, other_size)] = [content(&paths[0])?, content(&paths[1])?];
    let sizes = [size, other_size];
    let mut left = sizes[0];
    let mut blocks = [vec![0; BLOCK], vec![0; BLOCK]];
    if sizes[0] != sizes[1] {
        return Ok(false);
    }
    while left > 0 {
        let count = left.min(BLOCK as u64) as usize;
        a.read_exact(&mut blocks[0][..count])?;
        b.read_exact(&mut blocks[1][..count])?;
        if blocks[0][..count] != blocks[1][..count] {
            return Ok(false);
        }
        left -= count as u64;
    }
    Ok(true)
}
