//! The parts of a URL: the kind of store, the bucket and the key.
//!
//! Keys of `s3`, `gs` and `az` are literal, as in the stores' own tools: `?`, `#` and `%` are part of the name. URLs of
//! web servers are passed on unchanged, except that they are percent-encoded where necessary.

use crate::keys::check_name;
use std::io;

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    S3,
    Google,
    Azure,
    Web,
}

/// A location in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) kind: StoreKind,
    /// The bucket or container; for web servers, the whole URL.
    pub(crate) bucket: String,
    /// The name in the bucket, without `.`, `..` and empty parts; for web servers, everything after the host.
    pub(crate) key: String,
}

impl Location {
    /// Parses a URL.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not a URL, the scheme is unknown, the URL has no bucket or points outside it, or
    /// [`check_name`] rejects the name.
    pub(crate) fn parse(url: &str) -> io::Result<Location> {
        check_name(url)?;
        let Some((scheme, rest)) = url.split_once("://") else { return invalid("not a URL") };
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "s3" => StoreKind::S3,
            "gs" => StoreKind::Google,
            "az" => StoreKind::Azure,
            "http" | "https" => {
                let key = rest.split_once('/').map_or("", |(_, path)| path).to_owned();
                return Ok(Location { kind: StoreKind::Web, bucket: url.to_owned(), key });
            }
            _ => return invalid("unknown URL scheme: expected s3, gs, az, http or https"),
        };
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return invalid("the URL has no bucket: expected, for example, s3://bucket/name.obj");
        }
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.pop().is_some() => {}
                ".." => return invalid("the URL points outside its bucket"),
                part => parts.push(part),
            }
        }
        Ok(Location { kind, bucket: bucket.to_owned(), key: parts.join("/") })
    }
}

fn invalid<T>(message: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split() {
        let parse = |url| Location::parse(url).map(|location| (location.kind, location.bucket, location.key));
        let s3 = |key: &str| (StoreKind::S3, "b".to_owned(), key.to_owned());
        assert_eq!(parse("s3://b/a/./c//d?.obj").unwrap(), s3("a/c/d?.obj"));
        assert_eq!(parse("s3://b/x/../y").unwrap(), s3("y"));
        assert_eq!(parse("S3://b").unwrap(), s3(""));
        for wrong in ["s3://", "s3:///a", "s3://b/../a", "ftp://a/b", "a.obj"] {
            assert_eq!(parse(wrong).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{wrong}");
        }
        let web = parse("https://h/a%20b.obj?x=1").unwrap();
        assert_eq!((web.0, web.1.as_str()), (StoreKind::Web, "https://h/a%20b.obj?x=1"));
    }
}
