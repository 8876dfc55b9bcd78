//! Files that a scene refers to: which path a name means, and whether it may be opened.
//!
//! A name comes out of a file that may be hostile. It must stay under the scene's folder (after
//! symlinks are followed) unless the caller allows more, and it must be a regular file: a FIFO or
//! a device would block or never end. A source without a folder (a stream, memory) has no such files.

use crate::error::{Error, ErrorKind, Result};
use crate::options::ReadOptions;
use polyhaul_bytes::Source;
use std::path::{Component, Path, PathBuf};

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
        self.path(name).is_ok_and(|path| path.is_file())
    }

    /// All bytes of the file, and the path that was read.
    pub(crate) fn read(&self, name: &str) -> Result<(Vec<u8>, String)> {
        let path = self.path(name)?;
        let shown = path.display().to_string();
        let failed = |error| Error::io("reading", &shown, error);
        let source = Source::open_regular(&path).map_err(failed)?;
        let size = source.len().unwrap_or(0);
        if size > self.max_bytes {
            let message = format!("{shown} is larger than the limit of {} bytes (referenced_file_bytes)", self.max_bytes);
            return Err(Error::new(ErrorKind::Limit, message).with_hint("raise Limits::referenced_file_bytes to read it"));
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize).map_err(|_| Error::memory("a referenced file"))?;
        bytes.resize(size as usize, 0);
        let count = source.read_at(0, &mut bytes).map_err(failed)?;
        bytes.truncate(count);
        source.check_unchanged().map_err(failed)?;
        Ok((bytes, shown))
    }

    /// The path that `name` means, if it may be opened.
    fn path(&self, name: &str) -> Result<PathBuf> {
        let refuse = |why: &str| Err(Error::new(ErrorKind::Unsupported, why));
        let Some(folder) = &self.folder else { return refuse("the scene is no file, so there is no folder to look in") };
        // Files made on Windows name their neighbours with backslashes.
        let relative = PathBuf::from(name.replace('\\', "/"));
        let path = folder.join(&relative);
        if self.allow_outside {
            return Ok(path);
        }
        let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !relative.components().all(stays) || has_drive(name) {
            return refuse("it lies outside of the scene's folder");
        }
        match (path.canonicalize(), folder.canonicalize()) {
            (Ok(real), Ok(home)) if !real.starts_with(&home) => {
                refuse("it leads outside of the scene's folder through a symlink")
            }
            _ => Ok(path),
        }
    }
}

/// `C:` and the like, which only Windows takes for absolute.
fn has_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}
