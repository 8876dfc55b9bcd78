//! Files that a scene refers to: which path a name means, and whether it may be opened.
//!
//! A name comes out of a file that may be hostile. It must stay under the scene's folder (after
//! symlinks are followed) unless the caller allows more, and it must be a regular file: a FIFO or
//! a device would block or never end. A source without a folder (a stream, memory) has no such files.

use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;
use polyhaul_bytes::Source;
use std::path::{Component, Path, PathBuf};

/// A longer name is no file's. File systems take 255 bytes for each part of a path; and the
/// standard library copies paths with allocations that end the process where they fail.
pub(crate) const LONGEST_NAME_BYTES: usize = 768;

/// A file that may be opened.
pub(crate) struct Found {
    /// The path without links, which is the one that was checked, is opened, and tells files apart.
    pub(crate) real: PathBuf,
    /// The path as the scene has it, for messages.
    pub(crate) shown: String,
}

/// Finds files beside a scene.
pub(crate) struct Resolver {
    folder: Option<PathBuf>,
    allow_outside: bool,
    max_bytes: u64,
}

impl Resolver {
    /// Names are relative to the folder of `scene`; `None` for a scene that is no file.
    pub(crate) fn beside(scene: Option<&Path>, options: &ReadOptions) -> Resolver {
        let folder = scene.map(|path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        });
        let max_bytes = options.limits.referenced_file_bytes;
        Resolver { folder, allow_outside: options.allow_outside, max_bytes }
    }

    /// Whether `name` is a file that may be opened.
    pub(crate) fn exists(&self, name: &str) -> bool {
        self.find(name).is_ok_and(|found| found.real.is_file())
    }

    /// The file that `name` means, if it may be opened.
    pub(crate) fn find(&self, name: &str) -> Result<Found> {
        let Some(folder) = &self.folder else {
            return refuse("the scene is no file, so there is no folder to look in");
        };
        if name.len() > LONGEST_NAME_BYTES {
            return refuse("its name is too long for a path");
        }
        let path = match below(name) {
            Some(path) => folder.join(path),
            None if self.allow_outside => folder.join(slashed(name)),
            None => return refuse("it lies outside of the scene's folder"),
        };
        let shown = path.display().to_string();
        let failed = |error| Error::io("reading", &shown, error);
        let real = path.canonicalize().map_err(failed)?;
        if !self.allow_outside && !real.starts_with(folder.canonicalize().map_err(failed)?) {
            return refuse("it leads outside of the scene's folder through a symlink");
        }
        Ok(Found { real, shown })
    }

    /// All bytes of the file.
    pub(crate) fn read(&self, found: &Found) -> Result<Vec<u8>> {
        let shown = &found.shown;
        let failed = |error| Error::io("reading", shown, error);
        let source = Source::open_regular(&found.real).map_err(failed)?;
        let size = source.len().unwrap_or(0);
        if size > self.max_bytes {
            let message =
                format!("{shown} is larger than the limit of {} bytes (referenced_file_bytes)", self.max_bytes);
            return Err(
                Error::new(ErrorKind::Limit, message).with_hint("raise Limits::referenced_file_bytes to read it")
            );
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize).map_err(|_| Error::memory("a referenced file"))?;
        bytes.resize(size as usize, 0);
        let count = source.read_at(0, &mut bytes).map_err(failed)?;
        bytes.truncate(count);
        source.check_unchanged().map_err(failed)?;
        Ok(bytes)
    }
}

/// `name` as a path below some folder; `None` where it leaves the folder.
pub(crate) fn below(name: &str) -> Option<PathBuf> {
    let path = slashed(name);
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    (path.components().all(stays) && !has_drive(name)).then_some(path)
}

/// Files made on Windows name their neighbours with backslashes.
fn slashed(name: &str) -> PathBuf {
    PathBuf::from(name.replace('\\', "/"))
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, why))
}

/// `C:` and the like, which only Windows takes for absolute.
fn has_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}
