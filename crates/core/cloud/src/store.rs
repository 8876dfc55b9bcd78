//! One object in a store: requests, retries, and the version of the object in a response.
//!
//! Windows and blocking callers are handled in `object` and `engine`.

use crate::StopCheck;
use crate::engine::CloudEngine;
use crate::failure::RequestFailure;
use crate::location::{Location, StoreKind};
use crate::settings::{self, FIRST_PAUSE, MAX_RETRIES};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED, RANGE};
use reqwest::{Method, Response, StatusCode};
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

/// The location of an object that may not exist yet.
#[derive(Clone)]
pub(crate) enum Store {
    Bucket(Arc<dyn ObjectStore>, Path),
    Web(reqwest::Client, String),
}

/// Distinguishes an object from a later one with the same name.
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

    /// Returns whether both may be the same object.
    pub(crate) fn matches(&self, other: &ObjectVersion) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        self.bytes == other.bytes && same(&self.etag, &other.etag) && same(&self.modified, &other.modified)
    }
}

/// An ETag without quotes, because some stores omit them in listings.
fn bare(tag: &str) -> String {
    tag.trim_matches('"').to_owned()
}

/// The response to a range request.
pub(crate) enum RangeResponse {
    /// The bytes of the range, up to the end of the object.
    Part(Bytes, ObjectVersion),
    /// The server does not support ranges and sends the whole object.
    Whole(Response),
}

impl Store {
    /// The object at `location`. The connection to its bucket is set up once per process.
    pub(crate) fn at(location: &Location, engine: &Arc<CloudEngine>, check: &StopCheck) -> io::Result<Store> {
        if location.kind == StoreKind::Web {
            return Ok(Store::Web(engine.client.clone(), location.bucket.clone()));
        }
        let key = format!("{:?} {}", location.kind, location.bucket);
        let lock_buckets = || engine.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let path = Path::parse(&location.key)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))?;
        if let Some(bucket) = lock_buckets().get(&key) {
            return Ok(Store::Bucket(bucket.clone(), path));
        }
        let location = location.clone();
        let connected = engine.run(check, async move { settings::bucket(&location).await })?;
        let bucket = connected.map_err(|error| RequestFailure::of_store(&error).into_io("connecting"))?;
        lock_buckets().insert(key, bucket.clone());
        Ok(Store::Bucket(bucket, path))
    }

    /// Fetches a range of the object.
    pub(crate) async fn get(&self, range: Range<u64>) -> Result<RangeResponse, RequestFailure> {
        repeat(|| async {
            match self {
                Store::Bucket(bucket, path) => get_from_bucket(&**bucket, path, range.clone()).await,
                Store::Web(client, url) => get_from_web(client, url, range.clone()).await,
            }
        })
        .await
    }

    /// Looks up the version without the content.
    pub(crate) async fn head(&self) -> Result<ObjectVersion, RequestFailure> {
        match self {
            Store::Bucket(bucket, path) => bucket
                .head(path)
                .await
                .map(|meta| ObjectVersion::from_meta(&meta))
                .map_err(|error| RequestFailure::of_store(&error)),
            Store::Web(client, url) => {
                let response = repeat(|| send(client.request(Method::HEAD, url))).await?;
                let length =
                    response.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
                Ok(ObjectVersion::from_headers(response.headers(), length))
            }
        }
    }

    /// Writes a small object in one request.
    pub(crate) async fn put(&self, bytes: Bytes) -> Result<(), RequestFailure> {
        match self {
            Store::Bucket(bucket, path) => {
                bucket.put(path, bytes.into()).await.map(drop).map_err(|error| RequestFailure::of_store(&error))
            }
            Store::Web(client, url) => repeat(|| send(client.put(url).body(bytes.clone()))).await.map(drop),
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
    let bytes = response.bytes().await.map_err(|error| RequestFailure::body(&error))?;
    Ok(RangeResponse::Part(bytes, version))
}

async fn get_from_web(client: &reqwest::Client, url: &str, range: Range<u64>) -> Result<RangeResponse, RequestFailure> {
    let requested_range = format!("bytes={}-{}", range.start, range.end.saturating_sub(1));
    let response = send(client.get(url).header(RANGE, requested_range)).await?;
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return Ok(RangeResponse::Whole(response));
    }
    let sent_range =
        response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).and_then(content_range);
    let Some((start, size)) = sent_range.filter(|(start, _)| *start == range.start) else {
        return Err(RequestFailure::new(
            io::ErrorKind::InvalidData,
            "the server sent a different range than requested",
        ));
    };
    let version = ObjectVersion::from_headers(response.headers(), Some(size));
    let bytes = response.bytes().await.map_err(|error| RequestFailure::body(&error))?;
    if bytes.len() as u64 != range.end.min(size).saturating_sub(start) {
        return Err(RequestFailure {
            is_temporary: true,
            ..RequestFailure::new(io::ErrorKind::UnexpectedEof, "the body is too short")
        });
    }
    Ok(RangeResponse::Part(bytes, version))
}

/// Parses the start and the total size from `bytes 0-99/1234` (RFC 9110, section 14.4).
fn content_range(text: &str) -> Option<(u64, u64)> {
    let (range, size) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, size.parse().ok()?))
}

/// Sends a request. An unsuccessful status is a failure.
async fn send(request: reqwest::RequestBuilder) -> Result<Response, RequestFailure> {
    let response = request.send().await.map_err(|error| RequestFailure::of_web(&error))?;
    if response.status().is_success() { Ok(response) } else { Err(RequestFailure::of_status(response.status())) }
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

/// Returns up to half a pause, so that many clients do not retry at the same time.
fn jitter(pause: Duration) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    pause.mul_f64(f64::from(now.subsec_nanos() % 1000) / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, 10)));
        assert_eq!([content_range("bytes */10"), content_range("bytes 1-2/*"), content_range("x")], [None, None, None]);
    }
}
