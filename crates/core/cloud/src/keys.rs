//! Keys that are not paths: `a//b.obj`, `./b.obj`, `a/../b.obj`.
//!
//! `object_store` fails to list a bucket that contains such a key. So listings are modified before `object_store`
//! parses them: empty parts of keys, `.` and `..` get a mark. Objects with a mark are listed but cannot be opened,
//! because their URL would refer to another object.

use std::borrow::Cow;
use std::io;

/// The mark: a private-use character, which no sensible key contains.
const MARK: char = '\u{f8fe}';

/// The XML elements that contain keys in listings of S3 and Google (`Key`, `Prefix`) and of Azure (`Name`).
const ELEMENTS: [&str; 3] = ["Key", "Prefix", "Name"];

/// Returns the stored name for a listed name, without marks.
pub fn stored_name(name: &str) -> Cow<'_, str> {
    if name.contains(MARK) { Cow::Owned(name.replace(MARK, "")) } else { Cow::Borrowed(name) }
}

/// Checks that an object with this name or URL can be opened: that it contains no mark.
///
/// # Errors
/// `InvalidInput`, with the reason.
pub fn check_name(name: &str) -> io::Result<()> {
    if !name.contains(MARK) {
        return Ok(());
    }
    let message = "object names with empty components, `.` or `..` are not supported: rename the object";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Returns a listing with marks added, or `None` if no marks are needed.
pub(crate) fn marked_listing(xml: &str) -> Option<String> {
    let mut marked = String::new();
    let mut rest = xml;
    let mut is_changed = false;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        marked.push_str(before);
        let end = tag.find('>').map_or(tag.len(), |end| end + 1);
        let (tag, after) = tag.split_at(end);
        marked.push_str(tag);
        rest = after;
        let name = tag.trim_start_matches('<').trim_end_matches('>');
        if ELEMENTS.contains(&name) {
            let (key, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
            let key_marked = if name == "Prefix" { marked_folder(key) } else { marked_key(key) };
            is_changed |= key_marked != key;
            marked.push_str(&key_marked);
            rest = after;
        }
    }
    marked.push_str(rest);
    is_changed.then_some(marked)
}

/// Adds marks to a key.
fn marked_key(key: &str) -> Cow<'_, str> {
    let is_odd = |part: &str| matches!(part, "" | "." | "..");
    if key.is_empty() || !key.split('/').any(is_odd) {
        return Cow::Borrowed(key);
    }
    let marked = |part: &str| if is_odd(part) { format!("{part}{MARK}") } else { part.to_owned() };
    Cow::Owned(key.split('/').map(marked).collect::<Vec<_>>().join("/"))
}

/// Adds marks to the prefix of a folder, which ends with a slash.
fn marked_folder(prefix: &str) -> Cow<'_, str> {
    // Without its last slash, behind which there would be an empty part.
    match prefix.strip_suffix('/').map(marked_key) {
        Some(Cow::Owned(marked)) => Cow::Owned(marked + "/"),
        _ => Cow::Borrowed(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_paths_are_marked() {
        let keys = ["a//b.obj", "/a", "a/./b", "../b", "a/..", "a/", "//", "/", "./"];
        for key in keys {
            let marked = marked_key(key);
            assert!(marked != key && check_name(&marked).is_err() && stored_name(&marked) == key, "{key} {marked}");
            assert!(object_store::path::Path::parse(&*marked).is_ok(), "{marked}");
        }
        for key in ["", "a", "a/b.obj", "...", "a/.b", "a..b/c"] {
            assert_eq!(marked_key(key), key);
            assert!(check_name(key).is_ok());
        }
        assert_eq!([marked_folder("a/b/"), marked_folder("")], ["a/b/", ""]);
        assert_eq!(marked_folder("a//b/"), format!("a/{MARK}/b/"));
    }

    #[test]
    fn only_keys_of_listings_change() {
        let xml = |key: &str| {
            format!(
                "<?xml version=\"1.0\"?><L><Name>b</Name><Prefix></Prefix><Contents><Key>{key}</Key><ETag>a//b</ETag>\
                 </Contents><Contents><Key>x&amp;y/z</Key></Contents><CommonPrefixes><Prefix>c/</Prefix>\
                 </CommonPrefixes></L>\n"
            )
        };
        assert_eq!(marked_listing(&xml("a/b")), None);
        assert_eq!(marked_listing(&xml("a//b")), Some(xml(&format!("a/{MARK}/b"))));
        for odd in ["", "<", "<Key>", "<Key>a//b", "</Key>", "<Key", "a<Key>a//b</Key"] {
            let _ = marked_listing(odd);
        }
    }
}
