//! Opens inputs: as stored bytes, and as decompressed bytes.
//!
//! Recognizes archives by content, and never interprets scenes. [`crate::containers`] finds members of archives and
//! files inside other files.

use crate::containers::{self, Member, Near, Shelf};
use crate::input::Input;
use crate::options::ReadOptions;
use crate::plain::{Plain, read_all, regular};
use crate::resolve::open_inner;
use polyhaul_bytes::place;
use polyhaul_bytes::{Buffer, Source};
use polyhaul_model::error::{Error, Result};
use polyhaul_model::{Array, Precision};
use polyhaul_pipeline::options::Cancel;
use polyhaul_pipeline::precision::PrecisionPass;
use std::path::Path;
use std::sync::Arc;

/// An open input.
pub(crate) struct Opened {
    source: Source<'static>,
    near: Near,
}

impl Opened {
    /// Opens an input. For an archive, opens the member that [`Shelf::only_member`] finds.
    pub(crate) fn new(input: Input, options: &ReadOptions) -> Result<Opened> {
        let opened = Self::as_is(input, options)?;
        if !containers::is_archive(&opened.source)? {
            return Ok(opened);
        }
        Self::member(opened.shelf(options)?.only_member()?.resolved(options)?, options)
    }

    /// Opens an input without looking into archives.
    fn as_is(input: Input, options: &ReadOptions) -> Result<Opened> {
        if let Input::Path(path) = &input
            && let Some(source) = open_inner(path, options)?
        {
            return Ok(Opened { source, near: Near::Nothing });
        }
        let (source, near) = match input {
            Input::Path(path) => match Source::open_until(&path, options.run.cancel.flag()) {
                // The path for finding neighbors omits secrets in URLs.
                Ok(source) => (source, Near::File(place::public(&path))),
                Err(error) => match containers::member_at(&path, options)? {
                    Some(member) => return Self::member(member, options),
                    None => return Err(Error::io("open", &place::shown(&path), error)),
                },
            },
            Input::Stdin => {
                let source = Source::stdin_until(options.run.cancel.flag());
                (source.map_err(|e| Error::io("open", "standard input", e))?, Near::Nothing)
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

    /// Opens this input as an archive.
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

    /// Opens a referenced file: a regular file, a file inside one, or a member of an archive.
    pub(crate) fn regular(path: &Path, shown: &str, options: &ReadOptions) -> Result<Opened> {
        if let Some(source) = open_inner(path, options)? {
            return Ok(Opened { source, near: Near::Nothing });
        }
        match regular(path, options) {
            Ok(source) => Ok(Opened { source, near: Near::Nothing }),
            Err(error) => match containers::member_at(path, options)? {
                Some(member) => Self::member(member, options),
                None => Err(Error::io("read", shown, error)),
            },
        }
    }

    /// Name for messages.
    pub(crate) fn name(&self) -> &str {
        self.source.name()
    }

    /// Location of the input, for finding neighboring files.
    pub(crate) fn near(&self) -> &Near {
        &self.near
    }

    /// Size of an input that can be read repeatedly, at any offset, or `None` for streams and members of archives.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        let is_file = self.source.is_positioned() && !matches!(self.near, Near::Archive(_));
        is_file.then(|| self.source.len())?
    }

    /// Size of the stored bytes, the size that the source claims, or 0 if unknown.
    pub(crate) fn claimed_bytes(&self) -> u64 {
        self.source.len().or_else(|| self.source.claimed_len()).unwrap_or(0)
    }

    /// Makes the input readable more than once: buffers a stream in memory, without decompressing it.
    pub(crate) fn kept(self, cancel: &Cancel) -> Result<Opened> {
        // A member is opened again for each read.
        if self.source.is_positioned() || matches!(self.near, Near::Archive(_)) {
            return Ok(self);
        }
        let bytes = read_all(&self.source, None, u64::MAX, cancel, "a copy of a stream")?;
        Ok(Opened { source: Source::named_memory(bytes.unwrap_or_default(), self.name()), near: self.near })
    }

    /// Opens an input to read; makes it readable more than once if rows are selected.
    pub(crate) fn to_read(input: Input, options: &ReadOptions) -> Result<Opened> {
        let opened = Opened::new(input, options)?;
        if options.rows.is_everything() { Ok(opened) } else { opened.kept(&options.run.cancel) }
    }

    /// Precision of the first pass. Starts recording a stream, in case a second pass must read it again.
    pub(crate) fn first_pass(&self, options: &ReadOptions) -> Result<PrecisionPass> {
        let precision = options.precision;
        let is_again = self.source.is_positioned() || matches!(self.near, Near::Archive(_));
        if is_again || precision != Precision::Auto {
            return Ok(PrecisionPass { precision, is_second: false, restart_bytes: u64::MAX });
        }
        // The first pass restarts within half of the limit: threads may have read ahead by the other half.
        let limit_bytes = options.run.memory_limit;
        let recorded = self.source.record(usize::try_from(limit_bytes).unwrap_or(usize::MAX));
        recorded.map_err(|error| Error::io("read", self.name(), error))?;
        Ok(PrecisionPass { precision, is_second: false, restart_bytes: limit_bytes / 2 })
    }

    /// Restarts a stream from its recorded bytes.
    pub(crate) fn rewind(&self) -> Result<()> {
        if matches!(self.near, Near::Archive(_)) {
            // A member is opened again for each read.
            return Ok(());
        }
        match self.source.rewind() {
            Ok(true) => Ok(()),
            // The recording is limited to what a restart may need, so this only fails if memory runs out.
            Ok(false) => Err(Error::memory("a copy of a stream")),
            Err(error) => Err(Error::io("read", self.name(), error)),
        }
    }

    /// Whether a stream failed, and restarting it returns the original error instead of a copy.
    pub(crate) fn holds_error(&self) -> bool {
        self.source.holds_error()
    }

    /// Frees the recorded bytes of a stream.
    pub(crate) fn stop_recording(&self) {
        self.source.stop_recording();
    }

    /// Whether it can be read repeatedly, at any offset.
    pub(crate) fn is_positioned(&self) -> bool {
        self.source.is_positioned()
    }

    /// The same input as a stream, as if read from a pipe.
    pub(crate) fn streamed(&self) -> Opened {
        let source = Source::reader(Box::new(Buffer::new(self.source.clone())), self.name());
        Opened { source, near: self.near.clone() }
    }

    /// Opens the decompressed bytes.
    pub(crate) fn plain(&self, options: &ReadOptions) -> Result<Plain> {
        let source = match &self.near {
            Near::Archive(member) => member.source(options)?,
            _ => self.source.clone(),
        };
        let name = self.near.path().map_or(self.name().into(), |path| path.to_string_lossy());
        Plain::new(&source, &name, options)
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
