//! The demo's folder: a temporary folder that is removed on drop, or a folder to keep.

use crate::file::io;
use polyhaul::Result;
use std::path::{Path, PathBuf};

/// A folder, removed on drop unless it is kept.
pub struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Creates `keep` if missing and keeps it, or creates a temporary folder.
    pub fn new(keep: Option<&Path>) -> Result<Folder> {
        match keep {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(|error| io("create the folder", path, error))?;
                Ok(Folder { path: path.into(), keep: true })
            }
            None => Self::temporary(),
        }
    }

    fn temporary() -> Result<Folder> {
        let mut attempt = 0;
        loop {
            let name = format!("polyhaul-demo-{}-{attempt}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path, keep: false }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => return Err(io("create the folder", &path, error)),
            }
        }
    }

    /// Creates a subfolder, which is removed on drop even if this folder is kept.
    pub fn inner(&self, name: &str) -> Result<Folder> {
        let path = self.path.join(name);
        std::fs::create_dir(&path).map_err(|error| io("create the folder", &path, error))?;
        Ok(Folder { path, keep: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // This process created the folder, so it owns everything in it.
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_folders_go_away() {
        let first = Folder::new(None).unwrap();
        let second = Folder::new(None).unwrap();
        assert_ne!(first.path(), second.path());
        let inner = first.inner("a").unwrap();
        std::fs::write(inner.path().join("x"), "x").unwrap();
        let path = first.path().to_path_buf();
        drop(inner);
        assert!(path.exists() && !path.join("a").exists());
        drop(first);
        assert!(!path.exists());
    }
}
