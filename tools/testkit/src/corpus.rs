//! The files under `testdata`, and temporary folders that are removed on drop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file of the test data.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The path relative to `testdata`, with forward slashes.
    pub name: String,
    /// Full path.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
}

impl Sample {
    /// Reads the file. Returns an empty vector if that fails.
    pub fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap_or_default()
    }
}

/// Returns the folder `testdata`.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Lists all files below `testdata/FOLDER` with the extension `.EXTENSION`, sorted by name.
pub fn samples(folder: &str, extension: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    collect(&root(), folder, extension, &mut samples);
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

fn collect(root: &Path, folder: &str, extension: &str, samples: &mut Vec<Sample>) {
    let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
    for entry in entries.flatten() {
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => collect(root, &name, extension, samples),
            Ok(metadata) if path.extension().is_some_and(|e| e == extension) => {
                let size = metadata.len();
                samples.push(Sample { name, path, size });
            }
            _ => {}
        }
    }
}

/// Temporary folder of a test, removed with its content on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates an empty folder in the system's temporary folder.
    pub fn new(name: &str) -> io::Result<Folder> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("polyhaul-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, creating its parent folders; returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.0))?;
        fs::write(&path, bytes)?;
        Ok(path)
    }

    /// Returns the path of `name` in the folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Reads a file as text, or returns the error message.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }

    /// Lists the names of its entries, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The system cleans up leftovers.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_are_found() {
        let good = samples("obj/good", "obj");
        assert!(good.iter().any(|s| s.name == "obj/good/own/crlf.obj"));
        assert!(good.iter().all(|s| s.bytes().len() as u64 == s.size));
        assert!(samples("obj/nothing", "obj").is_empty());
    }

    #[test]
    fn folders_remove_themselves() {
        let folder = Folder::new("corpus").unwrap();
        let path = folder.file("a/b.txt", "c").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"c");
        assert_eq!((folder.names(), folder.text("a/b.txt")), (vec!["a".into()], "c".into()));
        assert!(folder.text("b.txt").starts_with("b.txt: "));
        drop(folder);
        assert!(!path.exists());
    }
}
