//! Opening an input: its bytes as they are outside, and as plain bytes.
//!
//! Compression and archives are recognized by the bytes only; a file whose name wrongly promises compression gets a
//! warning. Nothing here knows formats of scenes; members of archives are handled by [`crate::archives`].

use crate::archives;
use crate::archives::{Member, Shelf};
use crate::gltf::images::image_at;
use crate::input::Input;
use crate::options::ReadOptions;
use polyhaul_bytes::Codec;
use polyhaul_bytes::place;
use polyhaul_bytes::{BLOCK_BYTES, Buffer, DecompressLimits, Source, decompressed};
use polyhaul_insight::Moved;
use polyhaul_model::Array;
use polyhaul_model::error::{Diagnostic, Error, Place, Result};
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::options::{Cancel, ParseOptions, Progress};
use polyhaul_pipeline::read::{Garbage, ask, read_part};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes per step when a stream is read into memory.
const STEP_BYTES: usize = 16 * BLOCK_BYTES;

/// Plain bytes per chunk if one thread decompresses for others. Each handover costs it a little time.
const CHUNK_BYTES: usize = 8 * BLOCK_BYTES;

/// An input that was opened.
pub(crate) struct Opened {
    source: Source<'static>,
    near: Near,
}

/// Where an input lies, for what it names.
#[derive(Clone)]
pub(crate) enum Near {
    /// A stream or memory.
    Nothing,
    /// The path of a file.
    File(PathBuf),
    /// In an archive.
    Archive(Member),
}

impl Near {
    /// The path, where it is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Near::File(path) => Some(path),
            _ => None,
        }
    }

    /// Whether files may be beside it.
    pub(crate) fn has_files(&self) -> bool {
        !matches!(self, Near::Nothing)
    }

    /// Where a scene lies that was read from `path`.
    pub(crate) fn of_path(path: &Path, options: &ReadOptions) -> Result<Near> {
        let member = match regular(path, options) {
            Ok(source) if archives::is_archive(&source)? => Some(Shelf::open(source, 1, options)?.only_member()?),
            Ok(_) => None,
            Err(_) => archives::member_at(path, options)?,
        };
        Ok(match member {
            Some(member) => Near::Archive(member.resolved(options)?),
            None => Near::File(path.to_path_buf()),
        })
    }
}

impl Opened {
    /// Opens an input. An archive stands for its one member of a known format.
    pub(crate) fn new(input: Input, options: &ReadOptions) -> Result<Opened> {
        let opened = Self::as_is(input, options)?;
        if !archives::is_archive(&opened.source)? {
            return Ok(opened);
        }
        Self::member(opened.shelf(options)?.only_member()?.resolved(options)?, options)
    }

    /// Opens an input, an archive too.
    fn as_is(input: Input, options: &ReadOptions) -> Result<Opened> {
        if let Input::Path(path) = &input
            && let Some(source) = image_at(path, options)?
        {
            return Ok(Opened { source, near: Near::Nothing });
        }
        let (source, near) = match input {
            Input::Path(path) => match Source::open_until(&path, options.run.cancel.flag()) {
                // What may be secret in a web address opens no neighbors.
                Ok(source) => (source, Near::File(place::public(&path))),
                Err(error) => match archives::member_at(&path, options)? {
                    Some(member) => return Self::member(member, options),
                    None => return Err(Error::io("opening", &place::shown(&path), error)),
                },
            },
            Input::Stdin => {
                let source = Source::stdin_until(options.run.cancel.flag());
                (source.map_err(|e| Error::io("opening", "standard input", e))?, Near::Nothing)
            }
            Input::Memory(bytes, name) => (Source::named_memory(bytes, name), Near::Nothing),
            Input::Shared(owner, name) => (Source::named_memory(Array::shared(owner), name), Near::Nothing),
            Input::Reader(reader, name) => (Source::reader(reader, name), Near::Nothing),
            Input::Host(host, name) => (Source::host(host, name), Near::Nothing),
            Input::Member(archive, name) => {
                let shelf = Self::as_is(*archive, options)?.shelf(options)?;
                return Self::member(shelf.member(&name, options)?, options);
            }
        };
        Ok(Opened { source: options.run.paced_source(source), near })
    }

    /// The archive that this is.
    fn shelf(self, options: &ReadOptions) -> Result<Arc<Shelf>> {
        match self.near {
            Near::Archive(member) => member.open_archive(options),
            _ => Shelf::open(self.source, 1, options),
        }
    }

    /// Opens a member of an archive.
    pub(crate) fn member(member: Member, options: &ReadOptions) -> Result<Opened> {
        Ok(Opened { source: member.source(options)?, near: Near::Archive(member) })
    }

    /// Opens a regular file.
    pub(crate) fn file(path: &Path, options: &ReadOptions) -> Result<Opened> {
        let source = regular(path, options).map_err(|error| Error::io("reading", &place::shown(path), error))?;
        Ok(Opened { source, near: Near::Nothing })
    }

    /// Opens a file that another file refers to: a regular one, an image inside one, or a member of an archive.
    pub(crate) fn regular(path: &Path, shown: &str, options: &ReadOptions) -> Result<Opened> {
        if let Some(source) = image_at(path, options)? {
            return Ok(Opened { source, near: Near::Nothing });
        }
        match regular(path, options) {
            Ok(source) => Ok(Opened { source, near: Near::Nothing }),
            Err(error) => match archives::member_at(path, options)? {
                Some(member) => Self::member(member, options),
                None => Err(Error::io("reading", shown, error)),
            },
        }
    }

    /// The name that messages use.
    pub(crate) fn name(&self) -> &str {
        self.source.name()
    }

    /// The place of the input.
    pub(crate) fn near(&self) -> &Near {
        &self.near
    }

    /// The size of a file, which can be read more than once; `None` for streams and members of archives.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        let is_file = self.source.is_positioned() && !matches!(self.near, Near::Archive(_));
        is_file.then(|| self.source.len())?
    }

    /// The same input, readable more than once: all bytes of a stream are read into memory, compressed if they are.
    pub(crate) fn kept(self, cancel: &Cancel) -> Result<Opened> {
        // A member is read anew each time.
        if self.source.is_positioned() || matches!(self.near, Near::Archive(_)) {
            return Ok(self);
        }
        let bytes = read_all(&self.source, None, u64::MAX, cancel, "a stream to be read twice")?;
        Ok(Opened { source: Source::named_memory(bytes.unwrap_or_default(), self.name()), near: self.near })
    }

    /// Opens an input to be read: more than once, if rows are chosen.
    pub(crate) fn to_read(input: Input, options: &ReadOptions) -> Result<Opened> {
        let opened = Opened::new(input, options)?;
        if options.rows.is_everything() { Ok(opened) } else { opened.kept(&options.run.cancel) }
    }

    /// The same input as a stream, as if it came through a pipe; `None` if it already is one.
    pub(crate) fn streamed(&self) -> Option<Opened> {
        let source = || Source::reader(Box::new(Buffer::new(self.source.clone())), self.name());
        self.source.is_positioned().then(|| Opened { source: source(), near: self.near.clone() })
    }

    /// The plain bytes.
    pub(crate) fn plain(&self, options: &ReadOptions) -> Result<Plain> {
        let source = match &self.near {
            Near::Archive(member) => member.source(options)?,
            _ => self.source.clone(),
        };
        let source = ask(&source, || decompressed(source.clone(), &limits(options)))?;
        let name = self.near.path().map_or(self.name().into(), |path| path.to_string_lossy());
        let promised = Codec::of_name(&name).map(|(codec, _)| codec).filter(|&codec| source.codec() != Some(codec));
        let garbage = (!options.raises()).then(Garbage::default);
        Ok(Plain { source, promised, garbage })
    }
}

/// The plain bytes of an input.
pub(crate) struct Plain {
    source: Source<'static>,
    /// The codec that the name promises but the content lacks.
    promised: Option<Codec>,
    /// What follows the compressed data, if that is no error.
    garbage: Option<Garbage>,
}

impl Plain {
    /// The source of the plain bytes.
    pub(crate) fn source(&self) -> &Source<'static> {
        &self.source
    }

    /// The first bytes, without taking them, and how many they are.
    pub(crate) fn peek(&self, out: &mut [u8]) -> Result<usize> {
        ask(&self.source, || self.source.peek(out))
    }

    /// What follows the compressed data, if that is no error.
    pub(crate) fn garbage(&self) -> Option<&Garbage> {
        self.garbage.as_ref()
    }

    /// The bytes that were read until now, of a format of this name.
    pub(crate) fn moved(&self, format: &'static str) -> Moved {
        let read = |source: &Source<'_>| source.counters().snapshot().bytes;
        // The sizes of members, which are read before those are decoded, are not counted twice.
        let packed = |source: &Source<'_>| read(source).min(source.len().unwrap_or(u64::MAX));
        let moved = Moved::new(format, self.source.compressed().map_or_else(|| read(&self.source), packed));
        match self.source.codec() {
            Some(codec) if self.source.is_positioned() => moved.compressed(codec, read(&self.source)),
            Some(codec) => moved.streamed(codec, read(&self.source)),
            None => moved,
        }
    }

    /// The error if the file changed since it was opened.
    pub(crate) fn changed(&self) -> Option<Error> {
        let change = self.source.check_unchanged().err()?;
        Some(Error::io("reading", self.source.name(), change))
    }

    /// Warns if the content is not what the name promises.
    pub(crate) fn note_name(&self, options: &ReadOptions, warnings: &mut Warnings) -> Result<()> {
        let Some(promised) = self.promised else { return Ok(()) };
        let found = match self.source.codec() {
            Some(codec) => format!("read as {codec}"),
            None => "read unchanged".to_owned(),
        };
        let message = format!("the name says {promised}, but the content is not {promised}: {found}");
        let place = Place { file: self.source.name().into(), ..Place::default() };
        warnings.note(options.faults(), "not-compressed", Diagnostic { place, ..Diagnostic::new(message) })
    }

    /// Warns about what follows the compressed data. Called after everything was read.
    pub(crate) fn note_garbage(&self, warnings: &mut Warnings) {
        if let Some(diagnostic) = self.garbage.as_ref().and_then(Garbage::found) {
            warnings.push("trailing-garbage", diagnostic.clone());
        }
    }

    /// The options for reading these bytes: chunks are the pieces of the source, and progress counts the compressed
    /// bytes.
    pub(crate) fn options(&self, options: &ReadOptions) -> ParseOptions {
        let mut options = options.parse_options();
        let run = &mut options.run;
        let Some(compressed) = self.source.compressed() else {
            if let (None, claimed @ Some(_)) = (self.source.len(), self.source.claimed_len())
                && let Some(progress) = run.progress.take()
            {
                run.progress = Some(Progress(Arc::new(move |done, _| (progress.0)(done, claimed))));
            }
            return options;
        };
        run.chunk_bytes = self.source.piece_bytes().or(run.chunk_bytes).or(Some(CHUNK_BYTES));
        if self.source.ahead().is_some() {
            // The other half of the memory holds what is decompressed ahead.
            run.memory_limit /= 2;
            run.chunk_bytes = run.chunk_bytes.map(|bytes| bytes.min(CHUNK_BYTES / 2));
        }
        if let Some(progress) = run.progress.take() {
            let (counters, size, plain_size) =
                (compressed.counters().clone(), compressed.claimed_len(), self.source.len());
            let outside = move |done: u64| match (size, plain_size) {
                // The beginning of a piece is read more than once: splitting at lines looks a little further.
                (Some(size), Some(plain_size)) => {
                    (u128::from(size) * u128::from(done) / u128::from(plain_size.max(1))) as u64
                }
                _ => counters.snapshot().bytes.min(size.unwrap_or(u64::MAX)),
            };
            run.progress = Some(Progress(Arc::new(move |done, _| (progress.0)(outside(done), size))));
        }
        options
    }

    /// All bytes, for `what`; `None` if there are more than `most_bytes`.
    pub(crate) fn read_all(&self, most_bytes: u64, cancel: &Cancel, what: &str) -> Result<Option<Vec<u8>>> {
        if self.source.len().is_some_and(|len| len > most_bytes) {
            return Ok(None);
        }
        let bytes = read_all(&self.source, self.garbage(), most_bytes, cancel, what)?;
        ask(&self.source, || self.source.check_unchanged())?;
        Ok(bytes)
    }
}

/// Opens a regular file, which is read no faster than the options allow.
pub(crate) fn regular(path: &Path, options: &ReadOptions) -> io::Result<Source<'static>> {
    Source::open_regular(path).map(|source| options.run.paced_source(source))
}

/// The limits for compressed data.
pub(crate) fn limits(options: &ReadOptions) -> DecompressLimits {
    DecompressLimits::default()
        .with_bytes(options.limits.decompressed_bytes)
        .with_ratio(options.limits.decompressed_ratio)
        .with_memory_bytes(options.run.memory_limit)
        .with_threads(options.run.worker_threads())
}

/// All bytes of a source, for `what`; `None` if there are more than `most_bytes`.
pub(crate) fn read_all(
    source: &Source<'_>,
    garbage: Option<&Garbage>,
    most_bytes: u64,
    cancel: &Cancel,
    what: &str,
) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut end = 0;
    // Small sources take no more memory than their size.
    let step_bytes =
        source.len().map_or(STEP_BYTES, |len| usize::try_from(len + 1).map_or(STEP_BYTES, |len| len.min(STEP_BYTES)));
    loop {
        if cancel.is_cancelled() {
            return Err(Error::cancelled());
        }
        if bytes.len() == end {
            bytes.try_reserve(step_bytes).map_err(|_| Error::memory(what))?;
            bytes.resize(end + step_bytes, 0);
        }
        let count = read_part(source, garbage, &mut bytes[end..])?;
        end += count;
        if count == 0 {
            bytes.truncate(end);
            return Ok(Some(bytes));
        }
        if end as u64 > most_bytes {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_read_where_it_is_and_given_back() {
        let bytes = Arc::new(b"v 0 0 0\n".to_vec());
        let opened = Opened::new(Input::Shared(bytes.clone(), "x.obj".into()), &ReadOptions::default()).unwrap();
        assert!(opened.source.is_positioned());
        assert_eq!((opened.name(), opened.near().path(), Arc::strong_count(&bytes)), ("x.obj", None, 2));
        let opened = opened.kept(&Cancel::default()).unwrap();
        let plain = opened.plain(&ReadOptions::default()).unwrap();
        assert_eq!(plain.read_all(100, &Cancel::default(), "a test").unwrap().as_deref(), Some(&bytes[..]));
        drop((opened, plain));
        assert_eq!(Arc::strong_count(&bytes), 1);
    }
}
