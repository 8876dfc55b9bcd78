//! Opens and reads objects: opening an object fetches its first bytes, and later parts are fetched ahead of the
//! readers.

use crate::StopCheck;
use crate::engine::{CloudEngine, STEP, engine};
use crate::failure::RequestFailure;
use crate::location::Location;
use crate::store::{ObjectVersion, RangeResponse, Store};
use crate::stream::WholeBody;
use crate::window::{FIRST_BYTES, ReadWindow, WindowRead};
use bytes::Bytes;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// An opened object; see [`open`].
pub enum OpenedObject {
    /// An object that can be read at any offset.
    Object(CloudObject),
    /// A stream, from a server that does not support ranges.
    Stream(Box<dyn Read + Send>),
}

/// The size and version of an object as reported by its store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stat {
    /// Size in bytes, if the server reports it.
    pub bytes: Option<u64>,
    /// ETag without quotes, which changes with the content.
    pub etag: Option<String>,
    /// Time of the last modification as text: in the format of RFC 3339 for buckets, the value of `Last-Modified` for
    /// web servers.
    pub modified: Option<String>,
}

impl From<ObjectVersion> for Stat {
    fn from(version: ObjectVersion) -> Stat {
        Stat { bytes: version.bytes, etag: version.etag, modified: version.modified }
    }
}

/// An object of known size. Clones refer to the same object.
#[derive(Clone)]
pub struct CloudObject {
    shared: Arc<SharedObject>,
}

struct SharedObject {
    engine: Arc<CloudEngine>,
    store: Store,
    version: ObjectVersion,
    size: u64,
    window: Mutex<ReadWindow>,
    /// Signaled when a part arrives.
    arrived: Condvar,
    check: StopCheck,
}

/// Opens an object. The first request already fetches the first 256 KiB.
///
/// # Errors
/// `NotFound`, `PermissionDenied`, `TimedOut`; `InvalidInput` for an invalid URL or a redirect that is not permitted;
/// other kinds for other failures; errors of `check`.
pub fn open(url: &str, check: &StopCheck) -> io::Result<OpenedObject> {
    let (engine, store) = connect(url, check)?;
    open_store(engine, store, check)
}

pub(crate) fn open_store(engine: Arc<CloudEngine>, store: Store, check: &StopCheck) -> io::Result<OpenedObject> {
    // A range request for an empty object fails, and `object_store` does not report the reason.
    let kind_if_empty = match store {
        Store::Bucket(..) => io::ErrorKind::Other,
        Store::Web(..) => io::ErrorKind::NotSeekable,
    };
    let first = {
        let store = store.clone();
        engine.run(check, async move { store.get(0..FIRST_BYTES).await })?
    };
    let (bytes, version) = match first {
        Ok(RangeResponse::Part(bytes, version)) => (bytes, version),
        Ok(RangeResponse::Whole(response)) => {
            return Ok(OpenedObject::Stream(Box::new(WholeBody::new(engine, response, check.clone()))));
        }
        Err(failure) if failure.kind == kind_if_empty => {
            let head = engine.run(check, async move { (store.head().await, store) })?;
            match head {
                (Ok(version), store) if version.bytes == Some(0) => {
                    return Ok(OpenedObject::Object(CloudObject::new(engine, store, Bytes::new(), version, check)));
                }
                _ => return Err(failure.into_io("GET")),
            }
        }
        Err(failure) => return Err(failure.into_io("GET")),
    };
    Ok(OpenedObject::Object(CloudObject::new(engine, store, bytes, version, check)))
}

/// Looks up the size and version of an object without reading it.
///
/// # Errors
/// As for [`open`].
pub fn stat(url: &str, check: &StopCheck) -> io::Result<Stat> {
    let (engine, store) = connect(url, check)?;
    let version = engine.run(check, async move { store.head().await })?;
    version.map(Stat::from).map_err(|failure| failure.into_io("HEAD"))
}

pub(crate) fn connect(url: &str, check: &StopCheck) -> io::Result<(Arc<CloudEngine>, Store)> {
    connect_with(engine()?, url, check)
}

pub(crate) fn connect_with(
    engine: Arc<CloudEngine>,
    url: &str,
    check: &StopCheck,
) -> io::Result<(Arc<CloudEngine>, Store)> {
    let location = Location::parse(url)?;
    let store = Store::at(&location, &engine, check)?;
    Ok((engine, store))
}

impl CloudObject {
    fn new(
        engine: Arc<CloudEngine>,
        store: Store,
        first: Bytes,
        version: ObjectVersion,
        check: &StopCheck,
    ) -> CloudObject {
        let size = version.bytes.unwrap_or(first.len() as u64);
        let shared = SharedObject {
            engine,
            store,
            version,
            size,
            window: Mutex::new(ReadWindow::new(size, first)),
            arrived: Condvar::new(),
            check: check.clone(),
        };
        CloudObject { shared: Arc::new(shared) }
    }

    /// Returns the size in bytes.
    #[allow(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> u64 {
        self.shared.size
    }

    /// Returns the size and version of the object when it was opened.
    pub fn stat(&self) -> Stat {
        self.shared.version.clone().into()
    }

    /// Reads at `offset` until `out` is full or the object ends. Returns the number of bytes read. Any number of
    /// threads may read at the same time.
    ///
    /// # Errors
    /// Fails if a request failed after all retries; `InvalidData` if the object has changed since it was opened; errors
    /// of the check passed to [`open`].
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let left = self.shared.size.saturating_sub(offset);
        let count = usize::try_from(left).map_or(out.len(), |left| left.min(out.len()));
        let mut filled = 0;
        while filled < count {
            filled += self.read_some(offset + filled as u64, &mut out[filled..count])?;
        }
        Ok(count)
    }

    fn read_some(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut missing_ranges = Vec::new();
        let mut window = self.shared.lock();
        loop {
            let result = window.read(offset, out, &mut missing_ranges);
            for range in missing_ranges.drain(..) {
                SharedObject::fetch(&self.shared, range);
            }
            match result {
                WindowRead::Copied(count) => return Ok(count),
                WindowRead::Failed(failure) => return Err(failure.into_io(&format!("GET from byte {offset}"))),
                WindowRead::Pending => {
                    // The time is limited, so that the check is called regularly even if no part arrives.
                    let waited = self.shared.arrived.wait_timeout(window, STEP);
                    window = waited.unwrap_or_else(PoisonError::into_inner).0;
                    (self.shared.check)()?;
                }
            }
        }
    }
}

impl SharedObject {
    fn lock(&self) -> MutexGuard<'_, ReadWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches a part in the background. Discards it if the object was dropped meanwhile.
    fn fetch(this: &Arc<SharedObject>, range: Range<u64>) {
        let shared = Arc::downgrade(this);
        let store = this.store.clone();
        let _ = this.engine.start(async move {
            let answer = store.get(range.clone()).await;
            let Some(shared) = shared.upgrade() else { return };
            let result = answer.and_then(|answer| match answer {
                RangeResponse::Part(bytes, version) if shared.version.matches(&version) => {
                    // The window requests only ranges within the object, so a shorter part means that it has changed.
                    let is_whole = bytes.len() as u64 == range.end - range.start;
                    if is_whole { Ok(bytes) } else { Err(RequestFailure::changed()) }
                }
                _ => Err(RequestFailure::changed()),
            });
            shared.lock().arrived(&range, result);
            shared.arrived.notify_all();
        });
    }
}

impl fmt::Debug for CloudObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudObject").field("len", &self.len()).finish_non_exhaustive()
    }
}
