//! Reads the files inside an archive by name. Only zip archives are supported.
//!
//! The directory at the end of the archive is read once, and every member must end before the directory starts. When a
//! member is opened, its local header is checked, and it must not overlap the next member. Its contents are checked
//! while they are read. Names that point outside the archive (`../a`, `/a`, `C:a`) match no member. For the file
//! format, see `archive/zip.rs`; for decoding, `compress/entry.rs`.

mod zip;

use crate::compress::entry;
use crate::error::{DecompressError, DecompressErrorKind};
use crate::{Codec, DecompressLimits, Source};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use zip::{Directory, ZipRecord};

/// The directory of an archive, and the source of its bytes.
///
/// ```
/// use polyhaul_bytes::{Archive, DecompressLimits, Source};
///
/// # fn main() -> std::io::Result<()> {
/// // A zip archive with the member `a.txt`, which stores `hi` uncompressed.
/// let local = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\xac\x2a\x93\xd8\x02\0\0\0\x02\0\0\0\x05\0\0\0a.txthi";
/// let entry = b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0\xac\x2a\x93\xd8\x02\0\0\0\x02\0\0\0\x05\0";
/// let rest = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0a.txt";
/// let end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x33\0\0\0\x25\0\0\0\0\0";
/// let bytes = [&local[..], entry, rest, end].concat();
///
/// let limits = DecompressLimits::default();
/// let archive = Archive::open(Source::memory(bytes), &limits)?;
/// let number = archive.find("a.txt")?.unwrap();
/// let member = archive.member(number, "a.txt", &limits)?;
/// let mut text = [0; 100];
/// assert_eq!(member.read_next(&mut text)?, 2);
/// assert_eq!(&text[..2], b"hi");
/// # Ok(())
/// # }
/// ```
pub struct Archive<'a> {
    source: Source<'a>,
    directory: Arc<Directory>,
}

/// A cache for the directory of one archive, so that its members can be opened one by one without reading it again.
/// Clones share the cache.
#[derive(Clone, Default)]
pub struct ArchiveCache(Arc<Mutex<Option<CachedDirectory>>>);

struct CachedDirectory {
    file: PathBuf,
    version: String,
    directory: Arc<Directory>,
}

impl ArchiveCache {
    /// Opens the archive in `file` with the cached directory. Returns `None` if the cache holds no directory for this
    /// file and version. `version` must change whenever the file changes.
    pub fn open<'a>(&self, source: &Source<'a>, file: &Path, version: &str) -> Option<Archive<'a>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cached.as_ref().filter(|cached| cached.file == file && cached.version == version)?;
        Some(Archive { source: source.clone(), directory: cached.directory.clone() })
    }

    /// Caches the directory of an archive, replacing the previous one.
    pub fn keep(&self, archive: &Archive<'_>, file: &Path, version: String) {
        let directory = archive.directory.clone();
        let cached = CachedDirectory { file: file.to_owned(), version, directory };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
    }
}

impl fmt::Debug for ArchiveCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveCache").finish_non_exhaustive()
    }
}

impl<'a> Archive<'a> {
    /// Returns whether `source` starts with the signature of an archive. Consumes nothing.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn is_archive(source: &Source<'_>) -> io::Result<bool> {
        let mut first = [0; 4];
        let count = source.peek(&mut first)?;
        Ok(count == first.len() && zip::has_signature(&first))
    }

    /// Returns whether a positioned source ends with an archive directory, whatever it starts with. Returns `false` for
    /// a stream.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn ends_as_archive(source: &Source<'_>) -> io::Result<bool> {
        match source.len().filter(|_| source.is_positioned()) {
            Some(len) => zip::has_end(source, len),
            None => Ok(false),
        }
    }

    /// Reads the directory of a positioned source, using at most half of `limits.memory_bytes`.
    ///
    /// # Errors
    /// Errors of the source; `Unsupported` for a stream; a [`DecompressError`] if the directory is damaged, exceeds the
    /// limit, or uses unsupported features of the format.
    pub fn open(source: Source<'a>, limits: &DecompressLimits) -> io::Result<Archive<'a>> {
        let Some(len) = source.len().filter(|_| source.is_positioned()) else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "an archive cannot be read from a stream"));
        };
        let directory = Arc::new(zip::read(&source, len, limits)?);
        Ok(Archive { source, directory })
    }

    /// Returns the archive's name in messages.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Returns the full paths of the members, sorted. Folders and names that point outside the archive are not listed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.directory.records.iter().map(|record| self.name_of(record))
    }

    /// Returns the first name that points outside the archive, if any. Such names match no member.
    pub fn outside_name(&self) -> Option<&str> {
        self.directory.outside.as_deref()
    }

    /// Returns whether member `number` is a symbolic link, which cannot be read.
    pub fn is_link(&self, number: usize) -> bool {
        self.directory.records.get(number).is_some_and(|record| record.is_link)
    }

    fn name_of(&self, record: &ZipRecord) -> &str {
        self.directory.names.get(record.name.clone()).unwrap_or_default()
    }

    /// Returns the index of the member `name` in [`Archive::names`], or `None` if there is no such member. Path
    /// components are separated by `/`.
    ///
    /// # Errors
    /// A [`DecompressError`] if two members have that name.
    pub fn find(&self, name: &str) -> io::Result<Option<usize>> {
        let first = self.directory.records.partition_point(|record| self.name_of(record) < name);
        let has_name =
            |number: usize| self.directory.records.get(number).is_some_and(|record| self.name_of(record) == name);
        if has_name(first) && has_name(first + 1) {
            return Err(self.damage(first, DecompressErrorKind::Corrupt, "two members have the same name"));
        }
        Ok(has_name(first).then_some(first))
    }

    /// Returns the uncompressed bytes of member `number` as a stream. At the end of the stream, its size and checksum
    /// are verified against the directory. Messages use `name`.
    ///
    /// # Errors
    /// Errors of the source; `NotFound` if there is no such member; a [`DecompressError`] if the member is encrypted,
    /// is a symbolic link, uses an unsupported compression method, or has an invalid offset or size.
    pub fn member(&self, number: usize, name: &str, limits: &DecompressLimits) -> io::Result<Source<'a>> {
        let record = self.directory.records.get(number).ok_or(io::ErrorKind::NotFound)?;
        let entry = self.located(number, zip::entry(&self.source, record))?;
        entry::source(&self.source, name.to_owned(), entry, limits)
    }

    /// Returns the bytes of member `number` as a positioned source if they are stored uncompressed, so that a nested
    /// archive can be opened in place. Does not verify the checksum.
    ///
    /// # Errors
    /// As for [`Archive::member`].
    pub fn stored(&self, number: usize, name: &str) -> io::Result<Option<Source<'a>>> {
        let record = self.directory.records.get(number).ok_or(io::ErrorKind::NotFound)?;
        let entry = self.located(number, zip::entry(&self.source, record))?;
        let is_stored = entry.method == entry::ZipMethod::Stored;
        Ok(is_stored.then(|| Source::part(name.to_owned(), self.source.clone(), entry.packed)))
    }

    /// Returns the uncompressed size of member `number` in bytes, as declared in the directory, or 0 if there is no
    /// such member.
    pub fn plain_bytes(&self, number: usize) -> u64 {
        self.directory.records.get(number).map_or(0, |record| record.plain_bytes)
    }

    fn located<T>(&self, number: usize, result: Result<T, zip::ZipFault>) -> io::Result<T> {
        result.map_err(|fault| match fault {
            zip::ZipFault::Io(error) => error,
            zip::ZipFault::Data(kind, message) => self.damage(number, kind, message),
        })
    }

    fn damage(&self, number: usize, kind: DecompressErrorKind, message: &str) -> io::Error {
        let offset = self.directory.records.get(number).map_or(0, |record| record.header);
        DecompressError { codec: Codec::Zip, offset, plain_offset: 0, kind, message: message.to_owned() }.into()
    }
}

impl fmt::Debug for Archive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("name", &self.name()).field("members", &self.directory.records.len()).finish()
    }
}
