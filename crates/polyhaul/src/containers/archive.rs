//! Members of archives: a path that continues after an archive names a member of it.
//!
//! `assets.zip/textures/wood.tga` is a member; `assets.zip/more.zip/a.obj` is one of a nested archive. The name of an
//! archive alone stands for its only member of a known format. Files next to a member are in the same archive: see
//! [`crate::resolve`]. The layout of archives is up to `polyhaul_bytes`.

use crate::format::Format;
use crate::options::ReadOptions;
use crate::plain::{limits, read_all, regular};
use polyhaul_bytes::place;
use polyhaul_bytes::{Archive, Source};
use polyhaul_model::error::{Error, ErrorKind, Result, limit_hint};
use polyhaul_model::names;
use polyhaul_pipeline::read::ask;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The greatest depth of nested archives.
const MAX_DEPTH: u32 = 4;
/// How many members a message lists.
const LISTED_COUNT: usize = 5;

/// An archive that is open.
pub(crate) struct Shelf {
    archive: Archive<'static>,
    /// The origin of its bytes, for errors.
    source: Source<'static>,
    /// In how many archives it lies, and itself.
    depth: u32,
}

/// A member of an archive.
#[derive(Clone)]
pub(crate) struct Member {
    shelf: Arc<Shelf>,
    number: usize,
    /// Its name in the archive, without those of outer archives.
    name: Arc<str>,
    /// Its name in messages: the archive's name and its own.
    shown: Arc<str>,
}

/// Whether a source is an archive. Nothing is consumed.
pub(crate) fn is_archive(source: &Source<'static>) -> Result<bool> {
    ask(source, || Archive::is_archive(source))
}

/// The member that `path` names, if a part of it is an archive rather than a folder; otherwise `None`.
pub(crate) fn member_at(path: &Path, options: &ReadOptions) -> Result<Option<Member>> {
    let Some((file, name)) = split(path) else { return Ok(None) };
    let Some(shelf) = open_at(&file, options)? else { return Ok(None) };
    shelf.member(&name, options).map(Some)
}

/// Splits a path after the file in it: if that file is an archive, what follows is a name in it.
pub(crate) fn split(path: &Path) -> Option<(PathBuf, String)> {
    // A store is asked for what is called an archive alone.
    let may_be = |path: &Path| {
        !place::is_url(path) || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
    };
    let is_file = |path: &&Path| may_be(path) && place::is_file(path);
    let file = path.ancestors().skip(1).find(is_file)?;
    let name = path.strip_prefix(file).ok().and_then(in_archive)?;
    Some((file.to_path_buf(), name))
}

/// Opens a file that may be an archive; `None` if it is not.
pub(crate) fn open_at(file: &Path, options: &ReadOptions) -> Result<Option<Arc<Shelf>>> {
    let shown = file.display().to_string();
    let source = regular(file, options).map_err(|error| Error::io("opening", &shown, error))?;
    if !is_archive(&source)? {
        return Ok(None);
    }
    Shelf::open(source, 1, options).map(Some)
}

/// A path in the form of names in archives; `None` if it leads out.
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
    /// Opens an archive in `depth` archives, itself included. One that can only be read in order is taken into memory.
    pub(crate) fn open(source: Source<'static>, depth: u32, options: &ReadOptions) -> Result<Arc<Shelf>> {
        let name = source.name().to_owned();
        if depth > MAX_DEPTH {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("{name}: archives are nested more than {MAX_DEPTH} deep"),
            ));
        }
        let source = match ask(&source, || source.positioned())? {
            Some(source) => source,
            None => in_memory(&source, options)?,
        };
        let archive = ask(&source, || Archive::open(source.clone(), &limits(options)))?;
        Ok(Arc::new(Shelf { archive, source, depth }))
    }

    /// The member `name`, or that of an archive in it.
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
        Err(Error::io("opening", self.archive.name(), io::Error::new(io::ErrorKind::NotFound, missing)))
    }

    /// The member of exactly this name.
    fn find(self: &Arc<Self>, name: &str) -> Result<Option<Member>> {
        let Some(number) = ask(&self.source, || self.archive.find(name))? else { return Ok(None) };
        let shown = format!("{}/{name}", self.archive.name()).into();
        Ok(Some(Member { shelf: self.clone(), number, name: name.into(), shown }))
    }

    /// The only member whose name indicates a format, or else the main file of a scene of many files.
    pub(crate) fn only_member(self: &Arc<Self>) -> Result<Member> {
        let is_known = if self.archive.names().any(is_known) { is_known } else { is_main };
        let mut members = self.archive.names().filter(|name| is_known(name));
        match (members.next(), members.next()) {
            (Some(name), None) => match self.find(name)? {
                Some(member) => Ok(member),
                None => Err(Error::new(ErrorKind::Internal, "a member of the archive is missing")),
            },
            (None, _) => Err(self.unclear("no member in a known format", |_| true)),
            _ => Err(self.unclear("several members in known formats", is_known)),
        }
    }

    fn unclear(&self, what: &str, is_listed: impl Fn(&str) -> bool) -> Error {
        let name = self.archive.name();
        let message = format!("{name}: the archive has {what}: {}", self.list(is_listed));
        Error::new(ErrorKind::Usage, message).with_hint("append the member to the path: archive.zip/folder/member")
    }

    /// Some of the members.
    fn list(&self, is_listed: impl Fn(&str) -> bool) -> String {
        let mut listed = self.archive.names().filter(|name| is_listed(name));
        let first: Vec<_> = listed.by_ref().take(LISTED_COUNT).map(|name| names::shown(name).to_string()).collect();
        match (first.is_empty(), listed.count()) {
            (true, _) => "it is empty".to_owned(),
            (_, 0) => format!("it contains {}", first.join(", ")),
            (_, more) => format!("it contains {} and {more} more", first.join(", ")),
        }
    }
}

/// Whether the name indicates a format. The files that macOS adds for each file have the same extension, but do not
/// count.
fn is_known(name: &str) -> bool {
    !name.starts_with("__MACOSX/") && Format::of_path(Path::new(name)).is_some()
}

/// Whether the name is that of the main file of a scene.
fn is_main(name: &str) -> bool {
    !name.starts_with("__MACOSX/") && Format::is_main_file(Path::new(name))
}

/// All bytes of a stream, up to the memory limit.
fn in_memory(source: &Source<'static>, options: &ReadOptions) -> Result<Source<'static>> {
    let name = source.name();
    let max_bytes = options.run.memory_limit;
    let bytes = read_all(source, None, max_bytes, &options.run.cancel, "a streamed archive")?;
    let Some(bytes) = bytes else {
        let message = format!(
            "{name}: an archive on a stream is read into memory, because its directory is at its end, and this one \
             is larger than the limit of {max_bytes} bytes (memory_limit)"
        );
        let hint = format!("read it from a file, or {}", limit_hint("memory_limit"));
        return Err(Error::new(ErrorKind::Limit, message).with_hint(hint));
    };
    Ok(Source::named_memory(bytes, name))
}

impl Member {
    /// Its name in messages.
    pub(crate) fn shown(&self) -> &Arc<str> {
        &self.shown
    }

    /// Its size in bytes according to its archive.
    pub(crate) fn claimed_bytes(&self) -> u64 {
        self.shelf.archive.plain_bytes(self.number)
    }

    /// Its bytes, from the beginning.
    pub(crate) fn source(&self, options: &ReadOptions) -> Result<Source<'static>> {
        let shelf = &self.shelf;
        ask(&shelf.source, || shelf.archive.member(self.number, &self.shown, &limits(options)))
    }

    /// Opens it as an archive.
    pub(crate) fn open_archive(&self, options: &ReadOptions) -> Result<Arc<Shelf>> {
        let shelf = &self.shelf;
        let stored = ask(&shelf.source, || shelf.archive.stored(self.number, &self.shown))?;
        let source = stored.map_or_else(|| self.source(options), Ok)?;
        Shelf::open(source, shelf.depth + 1, options)
    }

    /// This member, or the one that it stands for if it is an archive itself.
    pub(crate) fn resolved(self, options: &ReadOptions) -> Result<Member> {
        if is_archive(&self.source(options)?)? {
            self.open_archive(options)?.only_member()?.resolved(options)
        } else {
            Ok(self)
        }
    }

    /// The member that `name` refers to, relative to this one; `None` if the name leads out of the archive, or, unless
    /// `allow_outside`, out of the folder.
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
            Error::io("reading", &format!("{}/{name}", self.shelf.archive.name()), missing)
        };
        Some(self.shelf.find(&name).and_then(|member| member.ok_or_else(missing)))
    }
}
