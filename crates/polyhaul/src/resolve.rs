//! Resolves the files that a scene refers to: finds them, and decides whether they may be opened.
//!
//! Names may come from hostile files. The caller's resolver is called first. A file next to the scene must be in the
//! scene's folder (after following symlinks) unless the caller allows more, and must be a regular file: a FIFO or a
//! device could block or never end. Files of a scene in an archive are in the same archive. Sources without a folder
//! (streams, memory) have no neighboring files. A file inside a file (`chair.glb#image0.png`) is subject to the rules
//! for the outer file.

use crate::containers::{self, InnerFile, Member, Near};
use crate::input::Input;
use crate::letter_case::{LetterCase, actual_path};
use crate::open::Opened;
use crate::options::ReadOptions;
use crate::paths::{LONGEST_NAME_BYTES, below, folder_of, leads_off_disk, names_folder, slashed};
use polyhaul_bytes::{Source, place};
use polyhaul_fault::planted;
use polyhaul_insight::Moved;
use polyhaul_model::SourceFolder;
use polyhaul_model::error::{Diagnostic, Error, ErrorKind, Result, limit_hint, try_string};
use polyhaul_model::names;
use polyhaul_model::warnings::Warnings;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::run::{Phase, span};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};

/// Hint for reading a file outside the scene's folder.
pub(crate) const OUTSIDE_HINT: &str = "use `--allow-outside` to read it";

/// A resolved reference.
pub(crate) struct FoundFile {
    /// Source of its bytes.
    pub(crate) origin: FoundAt,
    /// Canonical path of a file next to the scene: the path that was checked and is opened, and that identifies the
    /// file. For a path from the host, its canonical path; for an archive member, its shown path; `None` for other
    /// inputs from the host.
    pub(crate) real: Option<PathBuf>,
    /// The actual name, if it differs in case from the name in the scene.
    pub(crate) other_name: Option<String>,
}

/// Source of a referenced file's bytes.
pub(crate) enum FoundAt {
    /// A file: its canonical path, and its path for messages.
    File { real: PathBuf, shown: String },
    /// A member of the archive that contains the scene.
    Member(Member),
    /// An input from the host, and the name in the scene.
    Host(Input, String),
}

/// A referenced file that was read.
pub(crate) struct Read {
    /// All bytes, decompressed.
    pub(crate) bytes: Vec<u8>,
    /// Its entry in the report.
    pub(crate) moved: Moved,
    /// Name for messages.
    pub(crate) name: String,
}

impl FoundFile {
    /// Whether it is a file rather than a folder.
    fn is_file(&self) -> bool {
        match &self.origin {
            FoundAt::File { real, .. } => place::is_file(real) || containers::is_inner_file(real),
            _ => true,
        }
    }

    /// Warns if the actual name differs in case from the name in the scene.
    pub(crate) fn note_case(&self, name: &str, warnings: &mut Warnings) {
        if let Some(other) = &self.other_name {
            note_case(name, other, warnings);
        }
    }
}

/// Warns about a name that differs in case from the name of the file.
pub(crate) fn note_case(name: &str, other: &str, warnings: &mut Warnings) {
    let message = format!(
        "`{}` was read as `{}`: the names differ only in case, and some file systems are case-sensitive",
        names::shown(name),
        names::shown(other)
    );
    warnings.push("other-case", Diagnostic::new(message).about(name));
}

/// Resolves the references of a scene.
pub(crate) struct Resolver<'o> {
    near: &'o Near,
    options: &'o ReadOptions,
    /// The host's answer for a name that was only checked, so that the resolver is called only once.
    given: Option<(String, Option<Input>)>,
    letter_case: RefCell<LetterCase>,
}

impl<'o> Resolver<'o> {
    /// Resolves names relative to the folder of `near`.
    pub(crate) fn beside(near: &'o Near, options: &'o ReadOptions) -> Resolver<'o> {
        Resolver { near, options, given: None, letter_case: RefCell::default() }
    }

    /// Whether the host has `name`, or it is a file that may be opened.
    pub(crate) fn exists(&mut self, name: &str) -> Result<bool> {
        let given = self.ask(name)?;
        let is_there = given.is_some() || self.find_file(name).is_ok_and(|info| info.is_file());
        self.given = Some((try_string(name)?, given));
        Ok(is_there)
    }

    /// Folder for relative names in a referenced file, such as a material library, that was found under `name`.
    pub(crate) fn folder_of(&self, origin: &FoundAt, name: &str) -> SourceFolder {
        let scene = self.near.source_folder(self.options);
        match (origin, scene.path()) {
            (FoundAt::Host(Input::Path(path), _), Some(_)) => scene.with_library(folder_of(path)),
            (FoundAt::Host(Input::Path(path), _), None) => SourceFolder::new(folder_of(path)),
            (_, Some(folder)) => {
                let file = folder.join(slashed(name));
                scene.with_library(file.parent().unwrap_or(folder))
            }
            (_, None) => scene,
        }
    }

    /// Resolves `name`, if the file may be read.
    pub(crate) fn find(&mut self, name: &str) -> Result<FoundFile> {
        if let Some(input) = self.ask(name)? {
            // A path from the host identifies the file, like the path of a file next to the scene.
            let real = if let Input::Path(path) = &input { place::real(path).ok() } else { None };
            return Ok(FoundFile { origin: FoundAt::Host(input, try_string(name)?), real, other_name: None });
        }
        self.find_file(name)
    }

    /// Whether there is a resolver.
    pub(crate) fn has_host(&self) -> bool {
        self.options.resolver.is_some()
    }

    /// Calls the host's resolver, if any.
    pub(crate) fn ask(&mut self, name: &str) -> Result<Option<Input>> {
        let Some(resolve) = &self.options.resolver else { return Ok(None) };
        if let Some((_, given)) = self.given.take_if(|(given_name, _)| given_name == name) {
            return Ok(given);
        }
        let call = || {
            let _span = span(Phase::Host);
            (resolve.0)(name)
        };
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(given)) => Ok(given),
            Ok(Err(error)) => {
                Err(Error::host(format!("the resolver failed for `{}`: {error}", names::shown(name)), error))
            }
            Err(_) => Err(Error::new(ErrorKind::Host, format!("the resolver panicked for `{}`", names::shown(name)))),
        }
    }

    /// Resolves `name` without the host.
    fn find_file(&self, name: &str) -> Result<FoundFile> {
        if !self.near.has_files() {
            return refuse("the scene was not read from a file, so its folder is unknown");
        }
        if name.len() > LONGEST_NAME_BYTES {
            return refuse("its name is too long for a path");
        }
        let allow_outside = self.options.allow_outside;
        let is_below = below(name).is_some();
        let in_archive = matches!(self.near, Near::Archive(_));
        let name = match below(name) {
            Some(path) => path,
            None if allow_outside || !in_archive => slashed(name),
            None => return Err(outside("it is outside the scene's folder")),
        };
        let scene = match self.near {
            Near::Archive(scene) => {
                let Some(member) = scene.beside(&name, allow_outside) else {
                    return if allow_outside {
                        refuse("it is outside the scene's archive")
                    } else {
                        Err(outside("it is outside the scene's folder in the archive"))
                    };
                };
                let member = member?;
                let actual = member.name();
                let is_same = actual.ends_with(&*inside(&name));
                let other_name = (!is_same).then(|| actual.to_owned());
                let real = Some(PathBuf::from(&**member.shown()));
                return Ok(FoundFile { real, origin: FoundAt::Member(member), other_name });
            }
            near => near.path().unwrap_or(Path::new("")),
        };
        if place::leads_to_device(&name) {
            return refuse("it is the name of a device");
        }
        let folder = folder_of(scene);
        let path = folder.join(&name);
        let shown = path.display().to_string();
        let failed = |error| Error::io("read", &shown, error);
        if place::is_url(&folder) && !place::is_url(&path) {
            return refuse("it is an absolute path, and the scene is at a URL");
        }
        let is_outside = || outside("it is outside the scene's folder");
        let is_unseen = || place::is_url(&folder) && !is_below || leads_off_disk(&name, &folder);
        if !allow_outside && is_unseen() {
            return Err(is_outside());
        }
        let is_allowed = is_below || allow_outside;
        // Do not reveal whether a file outside the folder exists.
        let why = |error| if is_allowed { failed(error) } else { is_outside() };
        let (real, other_name) = self.real(&folder, &name, is_allowed).map_err(why)?;
        if !allow_outside && !planted("outside-link") && !real.starts_with(place::real(&folder).map_err(failed)?) {
            let why = "a symlink points outside the scene's folder";
            return Err(if is_below { outside(why) } else { is_outside() });
        }
        Ok(FoundFile { real: Some(real.clone()), origin: FoundAt::File { real, shown }, other_name })
    }

    /// Canonical path, and the actual name if it differs in case; with `can_list`, also searches ignoring case.
    fn real(&self, folder: &Path, name: &Path, can_list: bool) -> std::io::Result<(PathBuf, Option<String>)> {
        match containers::real(&folder.join(name)) {
            Ok(real) => Ok((real, actual_path(folder, name).map(|actual| actual.to_string_lossy().into_owned()))),
            Err(error) if !can_list => Err(error),
            Err(error) => self.in_other_case(folder, name).map(|(real, actual)| (real, Some(actual))).ok_or(error),
        }
    }

    /// Canonical path and name of the only file whose name differs only in case.
    fn in_other_case(&self, folder: &Path, name: &Path) -> Option<(PathBuf, String)> {
        if place::is_url(folder) || names_folder(name) {
            return None;
        }
        let actual = self.letter_case.borrow_mut().find(folder, name)?;
        let shown = actual.to_string_lossy().into_owned();
        containers::real(&folder.join(actual)).ok().map(|real| (real, shown))
    }

    /// Opens a resolved file; also returns the name for messages.
    pub(crate) fn open(&self, origin: FoundAt) -> Result<(Opened, String)> {
        let options = self.options;
        Ok(match origin {
            FoundAt::File { real, shown } => (Opened::regular(&real, &shown, options)?, shown),
            FoundAt::Member(member) => {
                let shown = try_string(member.shown())?;
                (Opened::member(member, options)?, shown)
            }
            FoundAt::Host(Input::Path(path), _) => {
                let shown = path.display().to_string();
                (Opened::regular(&path, &shown, options)?, shown)
            }
            FoundAt::Host(input, requested) => {
                let opened = Opened::new(input, options)?;
                let shown = if opened.name().is_empty() { requested } else { try_string(opened.name())? };
                (opened, shown)
            }
        })
    }

    /// Reads a resolved file; `format` is its format in the report.
    pub(crate) fn read(&self, origin: FoundAt, format: &'static str, warnings: &mut Warnings) -> Result<Read> {
        let is_host = matches!(origin, FoundAt::Host(Input::Reader(..), _));
        let read = self.open(origin).and_then(|(opened, name)| self.read_opened(opened, name, format, warnings));
        // Errors of the host's reader count as host errors, like those of its callback.
        read.map_err(|error| match error.kind() {
            ErrorKind::Io if is_host => error.blamed_on_host(),
            _ => error,
        })
    }

    fn read_opened(&self, opened: Opened, name: String, format: &'static str, warnings: &mut Warnings) -> Result<Read> {
        let options = self.options;
        let limit = options.limits.referenced_file_bytes;
        let plain = opened.plain(options)?;
        let Some(bytes) = plain.read_all(limit, &options.run.cancel, "a referenced file")? else {
            let message = format!("{name} is larger than the limit `referenced_file_bytes` ({limit} bytes)");
            let error = Error::new(ErrorKind::Limit, message);
            return Err(error.with_hint(limit_hint("referenced_file_bytes")));
        };
        plain.note_name(options, warnings)?;
        plain.note_garbage(warnings);
        Ok(Read { bytes, moved: plain.moved(format), name })
    }
}

/// Opens a file inside a file, if `path` refers to one. Files that the outer file refers to are resolved like the files
/// of a scene.
pub(crate) fn open_inner(path: &Path, options: &ReadOptions) -> Result<Option<Source<'static>>> {
    let Some(inner) = InnerFile::at(path) else { return Ok(None) };
    let near = Near::File(inner.outer().to_path_buf());
    let mut beside = |name: &str, offset: u64, count: usize| read_range(&near, options, name, offset, count);
    inner.source(place::shown(path), options, &mut beside).map(Some)
}

/// Reads a range of a neighboring file.
fn read_range(near: &Near, options: &ReadOptions, name: &str, offset: u64, count: usize) -> Result<Vec<u8>> {
    let mut resolver = Resolver::beside(near, options);
    let origin = resolver.find(name)?.origin;
    // Prevents endless recursion: an image in a buffer that is itself such an image.
    if let FoundAt::File { real: path, .. } | FoundAt::Host(Input::Path(path), _) = &origin
        && containers::is_inner_file(path)
    {
        return Err(Error::new(ErrorKind::Unsupported, "a buffer cannot be read from an image inside another file"));
    }
    let plain = resolver.open(origin)?.0.plain(options)?;
    let bytes = Bytes::new(plain.source(), plain.garbage());
    let mut content = Vec::new();
    if !bytes.in_order() {
        bytes.read_as_claimed(offset, count, &mut content)?;
        return Ok(content);
    }
    // A stream must be read from its start.
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
    bytes.read_as_claimed(0, skipped.saturating_add(count), &mut content)?;
    content.drain(..skipped.min(content.len()));
    Ok(content)
}

#[cfg(any(feature = "gltf", feature = "sog"))]
/// Error for a file that a scene cannot be read without, such as a buffer or an image.
pub(crate) fn unread(what: &str, name: &str, error: Error) -> Error {
    use ErrorKind::{Cancelled, Host, Limit, Memory};
    if matches!(error.kind(), Limit | Memory | Host | Cancelled) {
        return error;
    }
    let why = match error.io_error() {
        Some(io) if error.kind() == ErrorKind::Io => io.to_string(),
        _ => error.diagnostic().message.clone(),
    };
    let message = format!("cannot read the {what} `{}`: {why}", names::shown(name));
    let hint = error.diagnostic().hint.clone();
    Diagnostic { hint, ..Diagnostic::new(message) }.about(name).into_error(error.kind())
}

/// The part of a relative name after the last `..`, with slashes.
fn inside(name: &Path) -> String {
    let parts: Vec<_> = name.components().collect();
    let start = parts.iter().rposition(|part| *part == Component::ParentDir).map_or(0, |last| last + 1);
    let names = parts[start..].iter().filter_map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    names.collect::<Vec<_>>().join("/")
}

/// Error for a file that may not be read because of its location.
fn outside(why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, why).with_hint(OUTSIDE_HINT)
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, why))
}
