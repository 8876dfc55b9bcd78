//! Places: paths in the file system and URLs, with the same operations.
//!
//! A URL is a path that starts with `s3://`, `gs://`, `az://`, `http://` or `https://`; `Path::join`, `parent` and
//! `file_name` work on it. URLs have no symlinks, so the real path of a URL is its text without `.` and `..`. A URL is
//! a folder if it ends with a slash or has nothing after its bucket. To read and write places, see `source` and `sink`.

mod windows;

pub use windows::{has_drive, is_device_name};

use crate::remote;
use crate::stop::StopFlag;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf, is_separator};
use std::time::{SystemTime, UNIX_EPOCH};

const SCHEMES: [&str; 5] = ["s3", "gs", "az", "http", "https"];

/// Information about a file, object or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlaceInfo {
    /// Whether it is a file, a folder or something else.
    pub kind: PlaceKind,
    /// Size in bytes; `None` for a folder, or if a web server does not report it.
    pub bytes: Option<u64>,
    /// An ETag or modification time, which changes with the content.
    pub version: Option<String>,
}

/// What a place is; see [`PlaceInfo::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// A regular file or an object.
    File,
    /// A folder.
    Folder,
    /// A pipe, device or socket.
    Special,
}

/// An object in a folder; see [`list_objects`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedObject {
    /// Path relative to the folder.
    pub name: PathBuf,
    /// Kind, size and version.
    pub info: PlaceInfo,
}

/// Splits a URL into its scheme and the text after `://`.
fn split(path: &Path) -> Option<(&str, &str)> {
    let (scheme, rest) = path.to_str()?.split_once("://")?;
    SCHEMES.iter().any(|supported| supported.eq_ignore_ascii_case(scheme)).then_some((scheme, rest))
}

/// Returns whether a path is a URL with a supported scheme.
///
/// ```
/// use polyhaul_bytes::place::is_url;
///
/// assert!(is_url("s3://bucket/chair.obj".as_ref()) && !is_url("models/chair.obj".as_ref()));
/// ```
pub fn is_url(path: &Path) -> bool {
    split(path).is_some()
}

/// Rejects a path that looks like a URL with an unsupported scheme, unless a folder named after the scheme exists, such
/// as `ftp:`.
pub(crate) fn check_scheme(path: &Path) -> io::Result<()> {
    let Some((scheme, _)) = path.to_str().and_then(|text| text.split_once("://")) else { return Ok(()) };
    let is_name = scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_name && !Path::new(&format!("{scheme}:")).exists() {
        let message = format!("{scheme}:// URLs are not supported: use s3, gs, az, http or https");
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Returns the path for messages. User information, query and fragment of web addresses are removed, because they may
/// contain secrets.
pub fn shown(path: &Path) -> String {
    let shown = public(path).display().to_string();
    if is_url(path) { remote::stored_name(&shown).into_owned() } else { shown }
}

/// Returns the stored name for a name in a listing; see [`check_name`].
pub fn stored_name(name: &str) -> Cow<'_, str> {
    remote::stored_name(name)
}

/// Checks that the object with this listed name can be opened. Names with empty parts, `.` or `..` are listed under
/// other names, because as paths they would lead to other objects.
///
/// # Errors
/// `InvalidInput`, with the reason.
pub fn check_name(name: &Path) -> io::Result<()> {
    remote::check_name(&name.to_string_lossy())
}

/// Returns the path without secrets; see [`shown`].
pub fn public(path: &Path) -> PathBuf {
    match split(path) {
        Some((scheme, rest)) if scheme.len() >= "http".len() => {
            let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
            let host_end = rest.find('/').unwrap_or(rest.len());
            let rest = rest[..host_end].rfind('@').map_or(rest, |at| &rest[at + 1..]);
            PathBuf::from(format!("{scheme}://{rest}"))
        }
        _ => path.to_path_buf(),
    }
}

/// Returns whether a path is a folder. For a URL, this depends only on its text.
pub fn is_folder(path: &Path) -> bool {
    match split(path) {
        Some((_, rest)) => rest.ends_with('/') || !rest.contains('/'),
        None => path.is_dir(),
    }
}

/// Looks up a place, following symlinks.
///
/// # Errors
/// `NotFound`; errors of the system or the store.
pub fn find(path: &Path) -> io::Result<PlaceInfo> {
    const FOLDER: PlaceInfo = PlaceInfo { kind: PlaceKind::Folder, bytes: None, version: None };
    if is_url(path) {
        return if is_folder(path) { Ok(FOLDER) } else { remote::stat(&url_text(path)?, &StopFlag::default()) };
    }
    let metadata = path.metadata()?;
    if metadata.is_dir() {
        return Ok(FOLDER);
    }
    let kind = if metadata.is_file() { PlaceKind::File } else { PlaceKind::Special };
    let modified_ns = metadata.modified().ok().map(nanoseconds);
    Ok(PlaceInfo { kind, bytes: Some(metadata.len()), version: modified_ns.map(|time| time.to_string()) })
}

/// Converts a time to nanoseconds since 1970. Earlier times become 0.
fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

/// Returns whether a path is a regular file or an object.
pub fn is_file(path: &Path) -> bool {
    find(path).is_ok_and(|info| info.kind == PlaceKind::File)
}

/// Returns whether the last part of a path is the name of a device: `NUL`, `textures\aux.png`, `COM1`. Only Windows has
/// such names.
pub fn leads_to_device(path: &Path) -> bool {
    cfg!(windows) && path.to_str().is_some_and(windows::leads_to_device)
}

/// Returns the path with symlinks, `.` and `..` resolved. A URL need not exist. On Windows, removes the prefix `\\?\`
/// if the path does not need it.
///
/// # Errors
/// Errors of the system; `InvalidInput` for a URL that points outside its bucket.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    if !is_url(path) {
        let real = path.canonicalize()?;
        let plain = real.to_str().filter(|_| cfg!(windows)).and_then(windows::plain);
        return Ok(plain.map_or(real, PathBuf::from));
    }
    cleaned(path).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the URL points outside its bucket"))
}

/// Returns the absolute path. URLs are already absolute.
pub fn absolute(path: &Path) -> PathBuf {
    if is_url(path) { path.to_path_buf() } else { std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()) }
}

/// Returns a path without `.` and `..`, or `None` if a `..` has no component to remove.
pub fn cleaned(path: &Path) -> Option<PathBuf> {
    if let Some((scheme, rest)) = split(path) {
        return cleaned_url(scheme, rest);
    }
    let mut clean = PathBuf::new();
    let mut depth = 0_u32;
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                depth = depth.checked_sub(1)?;
                clean.pop();
            }
            part => {
                depth += u32::from(matches!(part, Component::Normal(_)));
                clean.push(part);
            }
        }
    }
    Some(clean)
}

/// Returns a URL without `.`, `..` and empty components, or `None` if a `..` has no component to remove.
fn cleaned_url(scheme: &str, rest: &str) -> Option<PathBuf> {
    let mut parts = rest.split(is_separator);
    let bucket = parts.next().unwrap_or_default();
    let mut clean = vec![format!("{scheme}://{bucket}")];
    for part in parts {
        match part {
            "" | "." => {}
            ".." if clean.len() > 1 => _ = clean.pop(),
            ".." => return None,
            part => clean.push(part.to_owned()),
        }
    }
    // Joined as text: `PathBuf::push` would turn `https://host//etc/x` into the local path `/etc/x`.
    Some(PathBuf::from(clean.join("/")))
}

/// Lists the objects in a folder URL and, if `is_recursive`, in its subfolders, sorted by name.
///
/// # Errors
/// `Unsupported` for web servers and without the `cloud` feature; errors of the store.
pub fn list_objects(folder: &Path, is_recursive: bool) -> io::Result<Vec<ListedObject>> {
    remote::list(&url_text(folder)?, is_recursive, &StopFlag::default())
}

/// Returns the names in a folder of the file system in any order, possibly including `.` and `..`.
///
/// # Errors
/// Errors of the system.
#[cfg(unix)]
pub fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    crate::descriptor::names_in(folder)
}

/// Returns the names in a folder of the file system in any order, possibly including `.` and `..`.
///
/// # Errors
/// Errors of the system.
#[cfg(not(unix))]
pub fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    folder.read_dir()?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// Removes a file or an object, if it exists.
///
/// # Errors
/// `Unsupported` for web servers and without the `cloud` feature; errors of the system or the store.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed =
        if is_url(path) { remote::remove(&url_text(path)?, &StopFlag::default()) } else { std::fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Converts a URL to text with slashes: on Windows, joining paths adds backslashes.
pub(crate) fn url_text(path: &Path) -> io::Result<String> {
    let text: OsString = path.into();
    let text = text.into_string().map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the URL is not UTF-8"))?;
    Ok(if cfg!(windows) { text.replace('\\', "/") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let shown = |text: &str| shown(Path::new(text));
        assert_eq!(shown("https://me:secret@host/a@b.obj?sig=secret#x"), "https://host/a@b.obj");
        assert_eq!(shown("s3://bucket/a?b.obj"), "s3://bucket/a?b.obj");
        assert_eq!(shown("models/a?b.obj"), "models/a?b.obj");
    }

    #[test]
    fn urls_are_cleaned_and_stay_in_their_bucket() {
        let cleaned = |text: &str| cleaned(Path::new(text)).map(|path| path.to_string_lossy().replace('\\', "/"));
        assert_eq!(cleaned("s3://b/x/./y/../z.obj").as_deref(), Some("s3://b/x/z.obj"));
        assert_eq!(cleaned("s3://b/../c/z.obj"), None);
        assert_eq!(cleaned("https://host//etc/./x.mtl").as_deref(), Some("https://host/etc/x.mtl"));
        assert_eq!(cleaned("s3://b").as_deref(), Some("s3://b"));
        assert_eq!(cleaned("a/./b/../c").as_deref(), Some("a/c"));
        assert_eq!(cleaned("../a"), None);
    }

    #[test]
    fn folders_are_detected_by_their_slash() {
        let folders = ["s3://b", "s3://b/", "gs://b/models/"];
        assert!(folders.iter().all(|url| is_folder(Path::new(url))));
        assert!(!is_folder(Path::new("s3://b/models")) && !is_url(Path::new("ftp://b/x")));
    }
}
