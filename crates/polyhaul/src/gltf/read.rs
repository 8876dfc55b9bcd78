//! Reads glTF and its external buffers.
//!
//! `polyhaul-gltf` interprets the bytes; `resolve` finds files and decides whether they may be opened. Like the meshes
//! of pbrt scenes, buffers may exceed the size limit of other referenced files, because only the size that the scene
//! declares is read. Images inside the file are read later, see `images`.

use crate::containers::Near;
use crate::options::ReadOptions;
use crate::read_job::ReadJob;
use crate::resolve::{FoundAt, Resolver, unread};
use polyhaul_bytes::place;
use polyhaul_insight::Moved;
use polyhaul_model::Scene;
use polyhaul_model::error::{Error, ErrorKind, Result, limit_hint, try_push};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::read::Extent;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the scene and its external buffers.
pub(crate) fn read(job: &mut ReadJob<'_>) -> Result<Scene> {
    let mut buffers = BufferFiles::new(Resolver::beside(job.near, job.options), job.options);
    let mut open = |name: &str, max_bytes| buffers.read(name, max_bytes);
    let read = polyhaul_gltf::read(job.bytes(), file_name(job.near), &job.parse_options(), &mut open)?;
    let BufferFiles { moved, warnings, .. } = buffers;
    job.note(read.threads, read.warnings);
    job.report.warnings.extend(warnings);
    moved.into_iter().for_each(|moved| job.report.note_read(moved));
    Ok(read.scene)
}

/// The file name for references to images inside the file, or `None` if such references could not be resolved later, as
/// for streams.
fn file_name(near: &Near) -> Option<&str> {
    let name = match near {
        Near::Archive(member) => member.shown().rsplit('/').next()?,
        near => {
            let path = near.path().filter(|path| place::is_url(path) || place::is_file(path))?;
            path.file_name()?.to_str()?
        }
    };
    // Readers convert backslashes to slashes.
    Some(name).filter(|name| !name.contains('\\'))
}

/// External buffers, each read once.
struct BufferFiles<'o> {
    resolver: Resolver<'o>,
    options: &'o ReadOptions,
    /// Content by canonical path: a file can have several names.
    known: HashMap<PathBuf, Arc<Vec<u8>>>,
    /// Number of requested files.
    count: u64,
    moved: Vec<Moved>,
    warnings: Warnings,
}

impl<'o> BufferFiles<'o> {
    fn new(resolver: Resolver<'o>, options: &'o ReadOptions) -> BufferFiles<'o> {
        let warnings = Warnings::default();
        BufferFiles { resolver, options, known: HashMap::new(), count: 0, moved: Vec::new(), warnings }
    }

    /// Reads up to `max_bytes` bytes from the start of the file `name`.
    fn read(&mut self, name: &str, max_bytes: u64) -> Result<Arc<Vec<u8>>> {
        let limits = &self.options.limits;
        if name.len() as u64 > limits.name_bytes {
            let message = format!("name is longer than the limit `name_bytes` ({} bytes)", limits.name_bytes);
            return Err(Error::new(ErrorKind::Limit, message).with_hint(limit_hint("name_bytes")));
        }
        if self.count >= limits.files {
            let message = format!("the scene refers to more files than the limit `files` ({})", limits.files);
            return Err(Error::new(ErrorKind::Limit, message).with_hint(limit_hint("files")));
        }
        self.count += 1;
        let located = self.resolver.find(name).map_err(|error| unread("buffer", name, error))?;
        located.note_case(name, &mut self.warnings);
        if let Some(bytes) = located.real.as_ref().and_then(|real| self.known.get(real)) {
            return Ok(bytes.clone());
        }
        let bytes = Arc::new(self.open(located.origin, max_bytes).map_err(|error| unread("buffer", name, error))?);
        if let Some(real) = located.real {
            self.known.try_reserve(1).map_err(|_| Error::memory("names"))?;
            self.known.insert(real, bytes.clone());
        }
        Ok(bytes)
    }

    fn open(&mut self, origin: FoundAt, max_bytes: u64) -> Result<Vec<u8>> {
        let (opened, _) = self.resolver.open(origin)?;
        let plain = opened.plain(self.options)?;
        let source = Bytes::new(plain.source(), plain.garbage());
        let mut bytes = Vec::new();
        // The scene may declare more bytes than the buffer has.
        let max_bytes = max_bytes.min(plain.source().len().unwrap_or(u64::MAX));
        source.read_as_claimed(0, usize::try_from(max_bytes).unwrap_or(usize::MAX), &mut bytes)?;
        source.check_end(Extent::Start, &self.options.run.cancel)?;
        plain.note_name(self.options, &mut self.warnings)?;
        plain.note_garbage(&mut self.warnings);
        try_push(&mut self.moved, plain.moved("bin"), "files")?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `test` with the buffers next to a scene.
    fn with(folder: &str, options: &ReadOptions, test: impl FnOnce(&mut BufferFiles<'_>)) {
        let folder = std::env::temp_dir().join(format!("polyhaul-gltf-{folder}-{}", std::process::id()));
        let inner = folder.join("in");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("a b.bin"), [1; 40]).unwrap();
        std::fs::write(folder.join("out.bin"), [1; 36]).unwrap();
        let near = Near::File(inner.join("x.gltf"));
        test(&mut BufferFiles::new(Resolver::beside(&near, options), options));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn failed(buffers: &mut BufferFiles<'_>, name: &str) -> (ErrorKind, String) {
        let error = buffers.read(name, 1).unwrap_err();
        (error.kind(), error.to_string())
    }

    #[test]
    fn buffers_are_found_beside_the_scene_and_read_once() {
        with("beside", &ReadOptions::default(), |buffers| {
            let bytes = buffers.read("a b.bin", 36).unwrap();
            assert_eq!(*bytes, [1; 36]);
            assert!(Arc::ptr_eq(&bytes, &buffers.read("./a b.bin", 36).unwrap()));
            assert_eq!((buffers.moved.len(), buffers.warnings.total()), (1, 0));
        });
        with("longer", &ReadOptions::default(), |buffers| {
            assert_eq!(*buffers.read("a b.bin", u64::MAX).unwrap(), [1; 40]);
        });
    }

    #[test]
    fn buffers_that_may_not_be_read_are_errors() {
        with("failing", &ReadOptions::default(), |buffers| {
            let (kind, message) = failed(buffers, "b.bin");
            assert!(kind == ErrorKind::Io && message.starts_with("cannot read the buffer `b.bin`: "), "{message}");
            let (kind, message) = failed(buffers, "../out.bin");
            assert!(kind == ErrorKind::Unsupported && message.contains("outside the scene's folder"), "{message}");
            assert_eq!(failed(buffers, &"x".repeat(70_000)).0, ErrorKind::Limit);
        });
        let options = ReadOptions::default().with_limits(polyhaul_model::limits::Limits::default().with_files(1));
        with("limited", &options, |buffers| {
            assert!(buffers.read("a b.bin", 1).is_ok());
            assert_eq!(failed(buffers, "a b.bin").0, ErrorKind::Limit);
        });
    }
}
