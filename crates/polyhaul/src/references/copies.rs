//! Copies of referenced files next to an output: choosing names and writing.
//!
//! Copies are always directly in the output's folder, whatever the source is called. A copy never replaces a file: if
//! its name is taken by a file with different content, a number is added to the name. `references` decides which files
//! may be copied.

use crate::containers::{InnerFile, Member};
use crate::options::{ReadOptions, WriteOptions};
use crate::outputs::Written;
use crate::plain::regular;
use crate::resolve::open_inner;
use polyhaul_bytes::place;
use polyhaul_bytes::{Sink, Source};
use polyhaul_insight::Moved;
use polyhaul_model::error::{Error, ErrorKind, Result, try_push};
use polyhaul_pipeline::read::{ask, buffer, fill};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Block size for copying.
const BLOCK_BYTES: usize = 1 << 18;
/// Maximum length of a copy's name: file systems allow 255 bytes, and a number may be added.
const NAME_BYTES: usize = 200;
/// Maximum number of names that are tried.
const MAX_ATTEMPTS: u32 = 100_000;

/// Source of a copy.
#[derive(Clone)]
pub(super) enum CopySource {
    /// Canonical path.
    File(PathBuf),
    Member(Member),
    /// A file inside a file; `allow_outside` is whether the outer file may refer to files outside its folder.
    Inner {
        path: PathBuf,
        allow_outside: bool,
    },
}

impl CopySource {
    /// Returns a path that uniquely identifies the source.
    fn identity(&self) -> PathBuf {
        match self {
            CopySource::File(real) | CopySource::Inner { path: real, .. } => real.clone(),
            CopySource::Member(member) => PathBuf::from(&**member.shown()),
        }
    }

    /// Preferred name of a copy.
    fn name(&self) -> String {
        let identity = self.identity();
        let inner_name = match self {
            CopySource::Inner { path, .. } => InnerFile::at(path).and_then(|inner| inner.file_name()),
            CopySource::Member(member) => member.inner_name(),
            CopySource::File(_) => None,
        };
        safe_name(&inner_name.map_or(identity, PathBuf::from))
    }

    pub(super) fn open(&self, options: &ReadOptions) -> Result<Source<'static>> {
        match self {
            CopySource::Inner { path, allow_outside } => {
                let mut options = options.clone().with_allow_outside(*allow_outside);
                options.limits.referenced_file_bytes = u64::MAX;
                let gone = || Error::new(ErrorKind::Io, format!("{} no longer exists", path.display()));
                open_inner(path, &options)?.ok_or_else(gone)
            }
            CopySource::File(real) => {
                regular(real, options).map_err(|error| Error::io("copy", &real.display().to_string(), error))
            }
            CopySource::Member(member) => Ok(options.run.paced_source(member.source(options)?)),
        }
    }
}

struct PlannedCopy {
    source: CopySource,
    name: String,
}

/// Copies for one output.
#[derive(Default)]
pub(super) struct Copies {
    planned: Vec<PlannedCopy>,
    /// Names of planned copies and identical existing files, by source identity.
    names: HashMap<PathBuf, String>,
    /// Reserved names, in lower case.
    pub(super) taken: HashSet<String>,
    /// Prefix of names, in lower case, reserved for other files of the output.
    pub(super) reserved_prefix: Option<String>,
}

impl Copies {
    /// Chooses the name of a copy in `folder`.
    pub(super) fn plan(&mut self, source: CopySource, folder: &Path, options: &WriteOptions) -> Result<String> {
        let identity = source.identity();
        if let Some(name) = self.names.get(&identity) {
            return Ok(name.clone());
        }
        let mut preferred = source.name();
        if self.reserved_prefix.as_ref().is_some_and(|prefix| preferred.to_lowercase().starts_with(prefix)) {
            preferred.insert_str(0, "asset-");
        }
        for attempt in 1..MAX_ATTEMPTS {
            let name = numbered(&preferred, attempt);
            // In lower case, because some file systems ignore case.
            if !self.taken.insert(name.to_lowercase()) {
                continue;
            }
            let place = folder.join(&name);
            let is_new = match found_at(&place) {
                None => true,
                Some(is_file) if is_file && is_same(&source, &place, options)? => false,
                Some(_) => continue,
            };
            self.names.try_reserve(1).map_err(|_| Error::memory("names"))?;
            self.names.insert(identity, name.clone());
            if is_new {
                try_push(&mut self.planned, PlannedCopy { source, name: name.clone() }, "copies")?;
            }
            return Ok(name);
        }
        let message = format!("no free name was found for a copy of `{preferred}`");
        Err(Error::new(ErrorKind::Io, message).with_hint("write to another folder"))
    }

    /// Writes all copies as temporary files in `folder`.
    pub(super) fn write(&mut self, folder: &Path, options: &WriteOptions, written: &mut Vec<Written>) -> Result<()> {
        for PlannedCopy { source, name } in std::mem::take(&mut self.planned) {
            let place = folder.join(name);
            let copy = copy(&source, &place, options)?;
            try_push(written, copy, "copies")?;
        }
        Ok(())
    }
}

fn reading(options: &WriteOptions) -> ReadOptions {
    ReadOptions { run: options.run.clone(), ..ReadOptions::default() }
}

fn copy(from: &CopySource, place: &Path, options: &WriteOptions) -> Result<Written> {
    let name = place.display().to_string();
    let failed = |error| Error::io("write", &name, error);
    let source = from.open(&reading(options))?;
    let file = options.file_options().with_part(true);
    let mut sink = options.run.paced_sink(Sink::file_until(place, file, options.run.cancel.flag()).map_err(failed)?);
    let mut block = buffer(BLOCK_BYTES)?;
    loop {
        options.run.cancel.check()?;
        let count = fill(&source, None, &mut block)?;
        sink.write_all(block.get(..count).unwrap_or_default()).map_err(failed)?;
        if count < block.len() {
            break;
        }
    }
    ask(&source, || source.check_unchanged())?;
    let moved = Moved::default().durable(options.durable);
    let complete = sink.complete().map_err(failed)?;
    Ok(Written { is_new_at: Some(place.to_path_buf()), is_copy: true, ..Written::new(name, complete, moved) })
}

/// Whether a regular file is at `path`, or `None` if nothing is there. A symlink is not a regular file.
fn found_at(path: &Path) -> Option<bool> {
    if place::is_url(path) {
        return place::find(path).ok().map(|_| true);
    }
    path.symlink_metadata().ok().map(|metadata| metadata.is_file())
}

/// Whether the file at `place` has the same content, or `false` if it cannot be read.
fn is_same(from: &CopySource, place: &Path, options: &WriteOptions) -> Result<bool> {
    let reading = reading(options);
    let source = from.open(&reading)?;
    let Ok(other) = regular(place, &reading) else { return Ok(false) };
    if source.len().is_some_and(|bytes| other.len().is_some_and(|others| bytes != others)) {
        return Ok(false);
    }
    let mut block = buffer(BLOCK_BYTES)?;
    let mut other_block = buffer(BLOCK_BYTES)?;
    loop {
        options.run.cancel.check()?;
        let count = fill(&source, None, &mut block)?;
        let Ok(other_count) = fill(&other, None, &mut other_block) else { return Ok(false) };
        if block.get(..count) != other_block.get(..other_count) {
            return Ok(false);
        }
        if count < block.len() {
            return Ok(true);
        }
    }
}

/// Converts the last component of a path to a file name that is valid on all systems and can be written on a line in
/// any text format.
fn safe_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_bad = |c: char| c.is_control() || "/\\:*?\"<>|\u{fffd}".contains(c);
    let mut safe: String = name.trim().replace(is_bad, "_");
    // Such names can be hidden, or be read as options, comments or home folders.
    if safe.starts_with(['.', '-', '#', '~']) {
        safe.replace_range(..1, "_");
    }
    let too_long = safe.len().saturating_sub(NAME_BYTES);
    if too_long > 0 {
        // Keep the extension.
        let end = safe.rfind('.').filter(|&dot| safe.len() - dot < 32).unwrap_or(safe.len());
        let start = (0..=end.saturating_sub(too_long)).rfind(|&at| safe.is_char_boundary(at)).unwrap_or(0);
        safe.replace_range(start..end, "");
    }
    // Windows drops dots and spaces at the end of a name, and text formats trim spaces there.
    while safe.ends_with(['.', ' ']) {
        safe.pop();
    }
    if place::is_device_name(&safe) {
        safe.insert(0, '_');
    }
    if safe.is_empty() { "file".into() } else { safe }
}

/// Returns the name for an attempt, counted from 1: `wood.ply.gz`, `wood-2.ply.gz` and so on.
fn numbered(name: &str, attempt: u32) -> String {
    let dot = name.find('.').filter(|&dot| dot > 0).unwrap_or(name.len());
    match attempt {
        1 => name.to_owned(),
        _ => format!("{}-{attempt}{}", &name[..dot], &name[dot..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_plain() {
        let names = [
            ("a/b.png", "b.png"),
            (".bashrc", "_bashrc"),
            ("-o x.png", "_o x.png"),
            ("a\nb\u{1b}.png", "a_b_.png"),
            ("c:\\d.png", if cfg!(windows) { "d.png" } else { "c__d.png" }),
            (" x. ", "x"),
            ("..", "file"),
            ("#", "_"),
            ("aux.png", "_aux.png"),
        ];
        for (path, name) in names {
            assert_eq!(safe_name(Path::new(path)), name);
        }
        let long = safe_name(Path::new(&format!("{}.png", "\u{e9}".repeat(300))));
        assert!(long.len() <= NAME_BYTES && long.ends_with("\u{e9}.png"), "{long}");
        let cut_at_space = format!("{} {}", "a".repeat(NAME_BYTES - 1), "b".repeat(50));
        assert_eq!(safe_name(Path::new(&cut_at_space)), "a".repeat(NAME_BYTES - 1));
        assert_eq!([1, 2].map(|attempt| numbered("a.ply.gz", attempt)), ["a.ply.gz", "a-2.ply.gz"]);
        assert_eq!(numbered("file", 3), "file-3");
    }
}
