//! A single object in a store: requests, retries, and the object's version in responses.
//!
//! For read-ahead and blocking calls, see `object.rs` and `engine.rs`.

use crate::StopCheck;
use crate::engine::CloudEngine;
use crate::failure::RequestFailure;
use crate::location::{Location, StoreKind};
use crate::settings::{self, FIRST_PAUSE, MAX_RETRIES, REQUEST_TIMEOUT};
use crate::web::{ExpectedBody, WebClient, WebRequest, WebResponse};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED};
use reqwest::{Method, StatusCode};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Maximum number of responses to combine for one range.
const MAX_PIECES: usize = 16;

/// The location of an object, which may not exist yet.
#[derive(Clone)]
pub(crate) enum Store {
    Bucket(Arc<dyn ObjectStore>, Path),
    Web(Arc<WebClient>, String),
}

/// The version of an object, to distinguish it from a later object with the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectVersion {
    pub(crate) bytes: Option<u64>,
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
}

impl ObjectVersion {
    pub(crate) fn from_meta(meta: &ObjectMeta) -> ObjectVersion {
        let modified = Some(meta.last_modified.to_rfc3339());
        ObjectVersion { bytes: Some(meta.size), etag: meta.e_tag.as_deref().map(bare), modified }
    }

    fn from_headers(headers: &HeaderMap, bytes: Option<u64>) -> ObjectVersion {
        let text = |name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        ObjectVersion { bytes, etag: text(ETAG).as_deref().map(bare), modified: text(LAST_MODIFIED) }
    }

    /// Returns whether both may describe the same object. The sizes must be equal, and ETags and times must not differ.
    /// If this version has an ETag or a time, at least one of them must match: a server may omit either, but a response
    /// with neither proves nothing.
    pub(crate) fn matches(&self, other: &ObjectVersion) -> bool {
        let pairs = [(&self.etag, &other.etag), (&self.modified, &other.modified)];
        let is_conflict = pairs.iter().any(|(a, b)| a.is_some() && b.is_some() && a != b);
        let is_proved = pairs.iter().all(|(a, _)| a.is_none()) || pairs.iter().any(|(a, b)| a.is_some() && a == b);
        self.bytes == other.bytes && !is_conflict && is_proved
    }
}

/// Returns an ETag without quotes, because some stores omit them in listings.
fn bare(tag: &str) -> String {
    tag.trim_matches('"').to_owned()
}

/// The response to a range request.
pub(crate) enum RangeResponse {
    /// The bytes of the range, up to the end of the object.
    Part(Bytes, ObjectVersion),
    /// The whole object, because the server does not support ranges.
    Whole(WebResponse),
}

impl Store {
    /// Returns the object at `location`. Connects to each bucket once per process.
    pub(crate) fn at(location: &Location, engine: &Arc<CloudEngine>, check: &StopCheck) -> io::Result<Store> {
        if location.kind == StoreKind::Web {
            return Ok(Store::Web(engine.web.clone(), location.bucket.clone()));
        }
        let key = format!("{:?} {}", location.kind, location.bucket);
        // Not locked while connecting, so that other buckets need not wait.
        let lock_buckets = || engine.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let path = Path::parse(&location.key)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        if let Some(bucket) = lock_buckets().get(&key) {
            return Ok(Store::Bucket(bucket.clone(), path));
        }
        let location = location.clone();
        let settings = engine.settings.clone();
        let connected = engine.run(check, async move { settings::bucket(&location, &settings).await })?;
        let bucket = connected.map_err(|error| RequestFailure::of_store(&error).into_io("connecting"))?;
        lock_buckets().insert(key, bucket.clone());
        Ok(Store::Bucket(bucket, path))
    }

    /// Fetches a range of the object.
    pub(crate) async fn get(&self, range: Range<u64>) -> Result<RangeResponse, RequestFailure> {
        repeat(|| async {
            match self {
                Store::Bucket(bucket, path) => get_from_bucket(&**bucket, path, range.clone()).await,
                Store::Web(web, url) => get_from_web(web, url, range.clone()).await,
            }
        })
        .await
    }

    /// Looks up the object's version without fetching its content.
    pub(crate) async fn head(&self) -> Result<ObjectVersion, RequestFailure> {
        match self {
            Store::Bucket(bucket, path) => bucket
                .head(path)
                .await
                .map(|meta| ObjectVersion::from_meta(&meta))
                .map_err(|error| RequestFailure::of_store(&error)),
            Store::Web(web, url) => {
                let request = WebRequest::new(Method::HEAD, url);
                let response = repeat(|| web.send(&request)).await?;
                let length = response.headers().get(CONTENT_LENGTH).and_then(|value| size(value.to_str().ok()?));
                Ok(ObjectVersion::from_headers(response.headers(), length))
            }
        }
    }

    /// Writes an object in one request.
    pub(crate) async fn put(&self, bytes: Bytes) -> Result<(), RequestFailure> {
        match self {
            Store::Bucket(bucket, path) => {
                bucket.put(path, bytes.into()).await.map(drop).map_err(|error| RequestFailure::of_store(&error))
            }
            Store::Web(web, url) => {
                let request = WebRequest { body: bytes, ..WebRequest::new(Method::PUT, url) };
                repeat(|| web.send(&request)).await.map(drop)
            }
        }
    }
}

async fn get_from_bucket(
    bucket: &dyn ObjectStore,
    path: &Path,
    range: Range<u64>,
) -> Result<RangeResponse, RequestFailure> {
    let options = GetOptions { range: Some(GetRange::Bounded(range)), ..GetOptions::default() };
    let response = bucket.get_opts(path, options).await.map_err(|error| RequestFailure::of_store(&error))?;
    let version = ObjectVersion::from_meta(&response.meta);
    let mut body = ExpectedBody::new(response.range.end.saturating_sub(response.range.start));
    let mut stream = response.into_stream();
    while let Some(chunk) = stream.next().await {
        body.push(chunk.map_err(|error| RequestFailure::body(&error))?)?;
    }
    Ok(RangeResponse::Part(body.finish()?, version))
}

async fn get_from_web(web: &WebClient, url: &str, range: Range<u64>) -> Result<RangeResponse, RequestFailure> {
    let part = tokio::time::timeout(REQUEST_TIMEOUT, part_from_web(web, url, range)).await;
    part.unwrap_or_else(|_| Err(RequestFailure::late(REQUEST_TIMEOUT)))
}

/// Fetches a range. A server may send less than requested (RFC 9110, section 15.3.7); the rest is then requested
/// separately.
async fn part_from_web(web: &WebClient, url: &str, range: Range<u64>) -> Result<RangeResponse, RequestFailure> {
    let mut body = Vec::new();
    let mut first: Option<ObjectVersion> = None;
    // Limited, so that a server that sends tiny pieces cannot hold up the caller with endless requests.
    for _ in 0..MAX_PIECES {
        let requested = range.start + body.len() as u64..range.end;
        let request = WebRequest { range: Some(requested.clone()), ..WebRequest::new(Method::GET, url) };
        let response = web.send(&request).await?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return if first.is_none() { whole(response) } else { Err(RequestFailure::changed()) };
        }
        let sent = SentRange::of(response.headers(), &requested)?;
        let Some(size) = sent.size else {
            // Without the size, the only way to find the end of the object is to read up to it.
            return whole(web.send(&WebRequest::new(Method::GET, url)).await?);
        };
        let version = ObjectVersion::from_headers(response.headers(), Some(size));
        if first.as_ref().is_some_and(|first| !first.matches(&version)) {
            return Err(RequestFailure::changed());
        }
        let piece = response.collect(sent.range.end - sent.range.start).await?;
        let is_complete = sent.range.end == range.end.min(size);
        // Usually the first response is the whole part, which is then not copied.
        if is_complete && body.is_empty() {
            return Ok(RangeResponse::Part(piece, version));
        }
        body.extend_from_slice(&piece);
        if is_complete {
            return Ok(RangeResponse::Part(body.into(), version));
        }
        first = Some(version);
    }
    Err(RequestFailure::new(io::ErrorKind::InvalidData, "the server sends ranges in pieces that are too small"))
}

/// Checks the response to a request for the whole object.
fn whole(response: WebResponse) -> Result<RangeResponse, RequestFailure> {
    match response.status() {
        StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => Ok(RangeResponse::Whole(response)),
        status => Err(RequestFailure::new(io::ErrorKind::InvalidData, format!("the server responded with {status}"))),
    }
}

/// The range that a server claims to send.
#[derive(Debug, PartialEq, Eq)]
struct SentRange {
    range: Range<u64>,
    /// The size of the object; `None` if the server does not know it.
    size: Option<u64>,
}

impl SentRange {
    /// Parses `Content-Range`. Fails if there is not exactly one valid header, or if the range starts at a different
    /// offset than requested or ends later.
    fn of(headers: &HeaderMap, requested: &Range<u64>) -> Result<SentRange, RequestFailure> {
        let mut values = headers.get_all(CONTENT_RANGE).iter();
        let value = values.next().filter(|_| values.next().is_none());
        let failure = |words: String| RequestFailure::new(io::ErrorKind::InvalidData, words);
        let Some(sent) = value.and_then(|value| value.to_str().ok()).and_then(SentRange::parse) else {
            return Err(failure("the server sent a part without a valid Content-Range".into()));
        };
        if sent.range.start != requested.start || sent.range.end > requested.end {
            let shown = |range: &Range<u64>| format!("{}-{}", range.start, range.end.saturating_sub(1));
            let words = "the server sent a different range than requested";
            return Err(failure(format!("{words}: bytes {} instead of {}", shown(&sent.range), shown(requested))));
        }
        Ok(sent)
    }

    /// Parses `bytes 0-99/1234` or `bytes 0-99/*` (RFC 9110, section 14.4).
    fn parse(text: &str) -> Option<SentRange> {
        let (unit, rest) = text.trim().split_once(' ')?;
        let (range, total) = rest.trim().split_once('/')?;
        let (start, last) = range.split_once('-')?;
        let range = size(start)?..size(last)?.checked_add(1)?;
        let size = if total == "*" { None } else { Some(size(total)?) };
        let is_valid =
            unit.eq_ignore_ascii_case("bytes") && !range.is_empty() && size.is_none_or(|size| range.end <= size);
        is_valid.then_some(SentRange { range, size })
    }
}

/// Parses a size or an offset: only digits, and at most `i64::MAX`, the limit of file systems.
fn size(text: &str) -> Option<u64> {
    // `parse` also accepts a leading `+`.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&size| is_number && size <= i64::MAX as u64)
}

/// Retries temporary failures with exponential backoff.
pub(crate) async fn repeat<T, F: Future<Output = Result<T, RequestFailure>>>(
    request: impl Fn() -> F,
) -> Result<T, RequestFailure> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..MAX_RETRIES {
        match request().await {
            Err(failure) if failure.is_temporary => {
                tokio::time::sleep(pause + jitter(pause)).await;
                pause *= 2;
            }
            result => return result,
        }
    }
    request().await.map_err(|failure| {
        let reason = format!("{} (after {MAX_RETRIES} retries)", failure.reason);
        if failure.is_temporary { RequestFailure { reason, ..failure } } else { failure }
    })
}

/// Returns a random time of up to half the pause, so that many clients do not retry simultaneously.
fn jitter(pause: Duration) -> Duration {
    // The standard library has no other source of random numbers, and clocks may advance in steps of a microsecond.
    let random = RandomState::new().build_hasher().finish();
    pause.mul_f64((random % 1000) as f64 / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read() {
        let sent = |range, size| Some(SentRange { range, size });
        assert_eq!(SentRange::parse("bytes 5-9/10"), sent(5..10, Some(10)));
        assert_eq!(SentRange::parse(" Bytes  0-0/9223372036854775807 "), sent(0..1, Some(i64::MAX as u64)));
        assert_eq!(SentRange::parse("bytes 1-2/*"), sent(1..3, None));
        let invalid = [
            "",
            "x",
            "bytes",
            "bytes */10",
            "bytes */*",
            "bytes 2-1/10",
            "bytes 0-10/10",
            "bytes 5-9/0",
            "bytes +0-1/2",
            "bytes -1-1/2",
            "bytes 0-1/-2",
            "bytes 0-1/",
            "bytes 0-1",
            "bytes 0-1/1e3",
            "bytes 0-1/0x10",
            "bytes a-b/c",
            "lines 0-1/2",
            "bytes 0-1/9223372036854775808",
            "bytes 0-18446744073709551615/18446744073709551616",
            "bytes 0-1,3-4/9",
            "bytes=0-1/2",
        ];
        for text in invalid {
            assert_eq!(SentRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_part_must_prove_its_version() {
        let version = |etag: &str, modified: &str| {
            let nonempty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            ObjectVersion { bytes: Some(1), etag: nonempty(etag), modified: nonempty(modified) }
        };
        let first = version("a", "m");
        for same in [first.clone(), version("a", ""), version("", "m")] {
            assert!(first.matches(&same), "{same:?}");
        }
        let others = [version("", ""), version("b", "m"), version("a", "n"), version("b", ""), version("", "n")];
        for other in others.into_iter().chain([ObjectVersion { bytes: Some(2), ..first.clone() }]) {
            assert!(!first.matches(&other), "{other:?}");
        }
        assert!(version("", "").matches(&version("b", "n")));
    }
}
