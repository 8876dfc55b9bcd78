//! Members of archives: a path that continues after the name of an archive refers to a member.
//!
//! `assets.zip/textures/wood.tga` is a member; `assets.zip/more.zip/a.obj` is a member of a nested archive. The name of
//! an archive alone refers to its only scene or, without scenes, to its only table, nested archive, image or main file
//! of a scene. Files that a member refers to are looked up in the same archive: see [`crate::resolve`].
//! `polyhaul_bytes` handles the layout of archives.

use super::inner::{inner_file_name, split_name};
use crate::format::{Format, InnerFiles};
use crate::options::ReadOptions;
use crate::paths::{below, slashed};
use crate::plain::{Plain, limits, read_all, regular};
use crate::prose::is_prose;
use polyhaul_bytes::place;
use polyhaul_bytes::{Archive, Source};
use polyhaul_model::error::{Error, ErrorKind, Result, limit_hint, try_push};
use polyhaul_model::names;
use polyhaul_model::warnings::grouped;
use polyhaul_pipeline::bytes::Bytes;
use polyhaul_pipeline::read::ask;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Maximum nesting depth of archives.
const MAX_DEPTH: u32 = 4;
/// Maximum number of members that a message lists.
const LISTED_COUNT: usize = 5;

/// Maximum number of nested archives that are searched for members: a small file can contain very many.
const MAX_LISTED_ARCHIVES: usize = 256;

/// An open archive.
pub(crate) struct Shelf {
    archive: Archive<'static>,
    /// Source of its bytes, for errors.
    source: Source<'static>,
    /// Nesting depth: 1 for an archive that is not inside another archive.
    depth: u32,
}

/// A member of an archive.
#[derive(Clone)]
pub(crate) struct Member {
    shelf: Arc<Shelf>,
    number: usize,
    /// Name in its archive, without the names of outer archives.
    name: Arc<str>,
    /// Name in messages: the archive's name, a slash, and the member's name.
    shown: Arc<str>,
    /// The file inside the member, if the name refers to one.
    inner: Option<InnerMember>,
}

/// A file inside a member, such as an image in a glTF file.
#[derive(Clone, Copy)]
struct InnerMember {
    index: usize,
    files: InnerFiles,
}

/// Whether a source is an archive. Consumes nothing.
pub(crate) fn is_archive(source: &Source<'static>) -> Result<bool> {
    // In self-extracting archives, a program precedes the archive.
    let is_named_zip = Path::new(source.name()).extension().is_some_and(|end| end.eq_ignore_ascii_case("zip"));
    ask(source, || Ok(Archive::is_archive(source)? || is_named_zip && Archive::ends_as_archive(source)?))
}

/// Lists the members of known formats in the archive at `path` and in nested archives, except prose. The list is empty
/// if it would have only one member, if the file is not an archive, or if the options or the file's extension determine
/// a format.
pub(crate) fn members_of(path: &Path, options: &ReadOptions) -> Result<Vec<PathBuf>> {
    let is_archive = options.format.is_none() && Format::of_path(path).is_none() && place::is_file(path);
    let Some(shelf) = (if is_archive { open_at(path, options)? } else { None }) else { return Ok(Vec::new()) };
    let mut members = Vec::new();
    shelf.add_members(path, options, &mut { MAX_LISTED_ARCHIVES }, &mut members)?;
    Ok(if members.len() > 1 { members } else { Vec::new() })
}

/// Finds the member that `path` refers to. Returns `None` if no parent of the path is an archive.
pub(crate) fn member_at(path: &Path, options: &ReadOptions) -> Result<Option<Member>> {
    let Some((file, name)) = split(path) else { return Ok(None) };
    let Some(shelf) = open_at(&file, options)? else { return Ok(None) };
    shelf.member(&name, options).map(Some)
}

/// Splits a path after its nearest ancestor that is a file: if that file is an archive, the rest is a member name.
pub(crate) fn split(path: &Path) -> Option<(PathBuf, String)> {
    // Avoid a request to the object store for each parent: only names that end in `.zip` can be archives there.
    let may_be = |path: &Path| {
        !place::is_url(path) || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
    };
    let is_file = |path: &&Path| may_be(path) && place::is_file(path);
    let file = path.ancestors().skip(1).find(is_file)?;
    let name = path.strip_prefix(file).ok().and_then(in_archive)?;
    Some((file.to_path_buf(), name))
}

/// Opens a file as an archive. Returns `None` if it is not an archive.
pub(crate) fn open_at(file: &Path, options: &ReadOptions) -> Result<Option<Arc<Shelf>>> {
    let shown = file.display().to_string();
    // Get the version before opening the file: if the file is replaced in between, the cached directory belongs to a
    // version that no longer exists.
    let version = if place::is_url(file) { None } else { version_of(file) };
    let source = regular(file, options).map_err(|error| Error::io("open", &shown, error))?;
    if let Some(version) = &version
        && let Some(archive) = options.archives.open(&source, file, version)
    {
        return Ok(Some(Arc::new(Shelf { archive, source, depth: 1 })));
    }
    if !is_archive(&source)? {
        return Ok(None);
    }
    let shelf = Shelf::open(source, 1, options)?;
    if let Some(version) = version {
        options.archives.keep(&shelf.archive, file, version);
    }
    Ok(Some(shelf))
}

/// Version of a file: its size and modification time.
fn version_of(file: &Path) -> Option<String> {
    let info = place::find(file).ok()?;
    Some(format!("{} {}", info.bytes?, info.version?))
}

/// Converts a path to the form of member names. Returns `None` if it is absolute, contains `..` or is not UTF-8.
fn in_archive(path: &Path) -> Option<String> {
    let mut name = String::new();
    for part in path.components() {
        match part {
            Component::CurDir => continue,
            Component::Normal(part) => {
                if !name.is_empty() {
                    name.push('/');
                }
                name.push_str(part.to_str()?);
            }
            _ => return None,
        }
    }
    Some(name)
}

impl Shelf {
    /// Opens an archive at nesting depth `depth`. Reads it into memory if the source cannot seek.
    pub(crate) fn open(source: Source<'static>, depth: u32, options: &ReadOptions) -> Result<Arc<Shelf>> {
        let name = source.name().to_owned();
        if depth > MAX_DEPTH {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("{name}: archives are nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        let source = match ask(&source, || source.positioned())? {
            Some(source) => source,
            None => in_memory(&source, options)?,
        };
        let archive = ask(&source, || Archive::open(source.clone(), &limits(options)))?;
        Ok(Arc::new(Shelf { archive, source, depth }))
    }

    /// Finds the member `name`, in this archive or a nested archive.
    pub(crate) fn member(self: &Arc<Self>, name: &str, options: &ReadOptions) -> Result<Member> {
        if let Some(member) = self.find(name)? {
            return Ok(member);
        }
        let ends = name.char_indices().rev().filter(|&(_, letter)| letter == '/').map(|(at, _)| at);
        for end in ends {
            if let Some(inner) = self.find(&name[..end])? {
                return inner.open_archive(options)?.member(&name[end + 1..], options);
            }
        }
        let missing = format!("the archive has no member `{}`: {}", names::shown(name), self.list(|_| true));
        Err(Error::io("open", self.archive.name(), io::Error::new(io::ErrorKind::NotFound, missing)))
    }

    /// Finds the member `name`, or else the only member whose name differs only in case.
    pub(crate) fn member_in_any_case(self: &Arc<Self>, name: &str, options: &ReadOptions) -> Result<Member> {
        match (self.member(name, options), self.in_other_case(name)) {
            // Other errors, such as a limit, concern a member that was found.
            (Err(error), Some(other)) if error.kind() == ErrorKind::Io => self.member(&other, options),
            (result, _) => result,
        }
    }

    /// Returns the only member name that differs from `name` only in case.
    fn in_other_case(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        let mut alike = self.archive.names().filter(|other| other.to_lowercase() == lower);
        alike.next().filter(|_| alike.next().is_none()).map(str::to_owned)
    }

    /// Finds the member with exactly this name, or the file inside a member.
    fn find(self: &Arc<Self>, name: &str) -> Result<Option<Member>> {
        let inner = || {
            let (files, outer, index) = split_name(name)?;
            Some((outer, InnerMember { files, index }))
        };
        match (self.stored(name, name)?, inner()) {
            (None, Some((outer, inner))) => {
                Ok(self.stored(outer, name)?.map(|member| Member { inner: Some(inner), ..member }))
            }
            (member, _) => Ok(member),
        }
    }

    /// Finds the member that the archive stores as `stored`; messages call it `name`.
    fn stored(self: &Arc<Self>, stored: &str, name: &str) -> Result<Option<Member>> {
        let Some(number) = ask(&self.source, || self.archive.find(stored))? else { return Ok(None) };
        let shown = format!("{}/{name}", self.archive.name()).into();
        Ok(Some(Member { shelf: self.clone(), number, name: name.into(), shown, inner: None }))
    }

    /// Finds the only scene, or else the only table, archive, image, or main file of a scene, in this order.
    pub(crate) fn only_member(self: &Arc<Self>) -> Result<Member> {
        let ranks: [fn(&str) -> bool; 5] = [is_scene, is_table, is_zip, is_known, is_main];
        let is_listed = ranks.into_iter().find(|is_listed| self.files().any(is_listed)).unwrap_or(is_main);
        let mut members = self.files().filter(|name| is_listed(name));
        match (members.next(), members.next()) {
            (Some(name), None) => match self.find(name)? {
                Some(member) => Ok(member),
                None => Err(Error::new(ErrorKind::Internal, "a member of the archive is missing")),
            },
            (None, _) => Err(self.unclear("no member in a known format", |_| true)),
            _ => Err(self.unclear("several members in known formats", is_listed)),
        }
    }

    /// Adds the paths of all members of known formats except prose, including those in at most `archives_left` nested
    /// archives. `path` is the path of this archive.
    fn add_members(
        self: &Arc<Self>,
        path: &Path,
        options: &ReadOptions,
        archives_left: &mut usize,
        members: &mut Vec<PathBuf>,
    ) -> Result<()> {
        for name in self.files() {
            let Some(member) = self.find(name).ok().flatten() else { continue };
            let is_note = || {
                let is_often_prose = Format::of_path(Path::new(name)).is_some_and(Format::is_often_prose);
                is_often_prose && member.source(options).is_ok_and(|source| is_prose(&source))
            };
            if is_zip(name) {
                // A nested archive that is not opened is listed itself.
                let is_opened = *archives_left > 0;
                *archives_left = archives_left.saturating_sub(1);
                match is_opened.then(|| member.open_archive(options)) {
                    Some(Ok(inner)) => inner.add_members(&path.join(name), options, archives_left, members)?,
                    _ => try_push(members, path.join(name), "a list of members")?,
                }
            } else if is_known(name) && !is_note() {
                try_push(members, path.join(name), "a list of members")?;
            }
        }
        Ok(())
    }

    /// Names of all members except symlinks.
    fn files(&self) -> impl Iterator<Item = &str> {
        self.archive.names().enumerate().filter(|(number, _)| !self.archive.is_link(*number)).map(|(_, name)| name)
    }

    fn unclear(&self, what: &str, is_listed: impl Fn(&str) -> bool) -> Error {
        let name = self.archive.name();
        let message = format!("{name}: the archive has {what}: {}", self.list(is_listed));
        Error::new(ErrorKind::Usage, message).with_hint("append the member to the path: archive.zip/folder/member")
    }

    /// Lists some of the members for a message.
    fn list(&self, is_listed: impl Fn(&str) -> bool) -> String {
        let mut listed = self.archive.names().filter(|name| is_listed(name));
        let first: Vec<_> = listed.by_ref().take(LISTED_COUNT).map(|name| names::shown(name).to_string()).collect();
        match (first.is_empty(), listed.count()) {
            (true, _) => match self.archive.outside_name() {
                Some(name) => format!("its member names point outside it, such as `{}`", names::shown(name)),
                None => "it is empty".to_owned(),
            },
            (_, 0) => format!("it contains {}", first.join(", ")),
            (_, more) => format!("it contains {} and {} more", first.join(", "), grouped(more as u64)),
        }
    }
}

/// Whether the name has the extension of a format. The metadata files that macOS adds for each file do not count.
fn is_known(name: &str) -> bool {
    !name.starts_with("__MACOSX/") && Format::of_path(Path::new(name)).is_some()
}

/// Whether the name has the extension of a scene format, rather than of a table (such as a license text) or an image
/// (such as a texture).
fn is_scene(name: &str) -> bool {
    is_known(name) && Format::of_path(Path::new(name)).is_some_and(Format::is_scene)
}

fn is_table(name: &str) -> bool {
    is_known(name) && Format::of_path(Path::new(name)).is_some_and(Format::is_table)
}

/// Whether the name has the extension of an archive: downloads often contain an archived model next to its textures.
fn is_zip(name: &str) -> bool {
    !name.starts_with("__MACOSX/")
        && Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}

/// Whether the file is the main file of a scene, judging by its name.
fn is_main(name: &str) -> bool {
    !name.starts_with("__MACOSX/") && Format::is_main_file(Path::new(name))
}

/// Reads a stream into memory, up to the memory limit.
fn in_memory(source: &Source<'static>, options: &ReadOptions) -> Result<Source<'static>> {
    let name = source.name();
    let max_bytes = options.run.memory_limit;
    let bytes = read_all(source, None, max_bytes, &options.run.cancel, "a streamed archive")?;
    let Some(bytes) = bytes else {
        let message = format!(
            "{name}: a streamed archive is read into memory, because its directory is at the end, and this one \
             exceeds the limit `memory_limit` ({max_bytes} bytes)"
        );
        let hint = format!("read it from a file, or {}", limit_hint("memory_limit"));
        return Err(Error::new(ErrorKind::Limit, message).with_hint(hint));
    };
    Ok(Source::named_memory(bytes, name))
}

impl Member {
    /// Name in messages.
    pub(crate) fn shown(&self) -> &Arc<str> {
        &self.shown
    }

    /// Name in its archive.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Uncompressed size in bytes, as declared by the archive.
    pub(crate) fn claimed_bytes(&self) -> u64 {
        self.shelf.archive.plain_bytes(self.number)
    }

    /// File name for an extracted copy, if it is a file inside a member.
    pub(crate) fn inner_name(&self) -> Option<String> {
        self.inner.and_then(|_| inner_file_name(&self.name))
    }

    /// Opens its contents, from the start.
    pub(crate) fn source(&self, options: &ReadOptions) -> Result<Source<'static>> {
        let shelf = &self.shelf;
        let source = ask(&shelf.source, || shelf.archive.member(self.number, &self.shown, &limits(options)))?;
        match self.inner {
            Some(inner) => self.inner_source(&source, inner, options),
            None => Ok(source),
        }
    }

    /// Reads the file inside the member; `source` contains the bytes of the member.
    fn inner_source(
        &self,
        source: &Source<'static>,
        inner: InnerMember,
        options: &ReadOptions,
    ) -> Result<Source<'static>> {
        let plain = Plain::new(source, &self.name, options)?;
        let bytes = Bytes::new(plain.source(), plain.garbage());
        let mut beside = |name: &str, offset: u64, count: usize| self.range_beside(name, offset, count, options);
        let max_bytes = options.limits.referenced_file_bytes;
        let content = (inner.files.read)(bytes, inner.index, &plain.options(options), max_bytes, &mut beside)?;
        Ok(Source::named_memory(content, &*self.shown))
    }

    /// Reads a range of a neighboring member.
    fn range_beside(&self, name: &str, offset: u64, count: usize, options: &ReadOptions) -> Result<Vec<u8>> {
        let missing = || {
            let message = format!("the archive has no member `{}`", names::shown(name));
            Error::io("read", &self.shown, io::Error::new(io::ErrorKind::NotFound, message))
        };
        let path = below(name).unwrap_or_else(|| slashed(name));
        let member = self.beside(&path, options.allow_outside).ok_or_else(missing)??;
        if member.inner.is_some() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a buffer cannot be read from an image inside another file",
            ));
        }
        let plain = Plain::new(&member.source(options)?, &member.name, options)?;
        let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
        let mut content = Vec::new();
        // A member is a stream, so the bytes before the range must be read, too.
        Bytes::new(plain.source(), plain.garbage()).read_as_claimed(0, skipped.saturating_add(count), &mut content)?;
        content.drain(..skipped.min(content.len()));
        Ok(content)
    }

    /// Opens the member as a nested archive.
    pub(crate) fn open_archive(&self, options: &ReadOptions) -> Result<Arc<Shelf>> {
        let shelf = &self.shelf;
        // An uncompressed archive is read in place: it has checksums of its own, and need not be a stream.
        let stored = ask(&shelf.source, || shelf.archive.stored(self.number, &self.shown))?;
        let source = stored.map_or_else(|| self.source(options), Ok)?;
        Shelf::open(source, shelf.depth + 1, options)
    }

    /// Returns this member, or its own only member if it is an archive.
    pub(crate) fn resolved(self, options: &ReadOptions) -> Result<Member> {
        if is_archive(&self.source(options)?)? {
            self.open_archive(options)?.only_member()?.resolved(options)
        } else {
            Ok(self)
        }
    }

    /// Finds the member that `name` refers to, relative to this member. Returns `None` if the name is absolute, leads
    /// out of the archive or, unless `allow_outside` is set, contains `..`.
    pub(crate) fn beside(&self, name: &Path, allow_outside: bool) -> Option<Result<Member>> {
        let mut path = PathBuf::from(&*self.name);
        path.pop();
        for part in name.components() {
            match part {
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                Component::ParentDir if allow_outside && path.pop() => {}
                _ => return None,
            }
        }
        let name = in_archive(&path)?;
        let missing = || {
            let missing = io::Error::new(io::ErrorKind::NotFound, "the archive has no such member");
            Error::io("read", &format!("{}/{name}", self.shelf.archive.name()), missing)
        };
        let member = self.shelf.find(&name).and_then(|member| match (member, self.shelf.in_other_case(&name)) {
            (None, Some(other)) => self.shelf.find(&other),
            (member, _) => Ok(member),
        });
        Some(member.and_then(|member| member.ok_or_else(missing)))
    }
}
