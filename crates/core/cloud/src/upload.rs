//! Writes an object: parts are sent while later parts are produced, and the object becomes visible only once it is
//! complete.
//!
//! Objects of up to [`PART_BYTES`], and all objects for web servers, are sent in one request. If the process is killed,
//! an unfinished multipart upload remains in the store. It is invisible, but some stores bill for it until their
//! lifecycle rules remove it.

use crate::StopCheck;
use crate::engine::{CloudEngine, Running};
use crate::failure::RequestFailure;
use crate::object::connect;
use crate::store::{Store, repeat};
use bytes::Bytes;
use object_store::{MultipartUpload, ObjectStoreExt};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The size of a part. Some stores require parts of equal size.
const PART_BYTES: usize = 8 << 20;
/// Maximum number of parts in flight.
const MAX_PARTS_IN_FLIGHT: usize = 4;
/// Maximum number of parts of an object (S3's limit).
const MAX_PART_COUNT: usize = 10_000;
/// Maximum size of an object for a web server, which is held in memory because it cannot be sent in parts.
const MAX_WEB_BYTES: usize = 64_000_000;
/// Time limit for aborting an upload that was dropped.
const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// An object that is being written. Dropping it aborts the upload, so that no object appears.
pub struct Upload {
    engine: Arc<CloudEngine>,
    store: Store,
    check: StopCheck,
    /// Bytes not sent yet.
    buffer: Vec<u8>,
    /// The multipart upload; `None` until the first part is sent.
    parts: Option<Box<dyn MultipartUpload>>,
    count: usize,
    in_flight: VecDeque<Running<Result<(), object_store::Error>>>,
}

impl Upload {
    /// Prepares an upload without sending anything.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid URL; errors in the settings or credentials; errors of `check`.
    pub fn create(url: &str, check: &StopCheck) -> io::Result<Upload> {
        let (engine, store) = connect(url, check)?;
        Ok(Upload {
            engine,
            store,
            check: check.clone(),
            buffer: Vec::new(),
            parts: None,
            count: 0,
            in_flight: VecDeque::new(),
        })
    }

    /// Adds `bytes` to the object.
    ///
    /// # Errors
    /// Fails if a part could not be sent, the object would be too large, memory runs out, or the check fails. The
    /// upload can then only be dropped.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Store::Web(..) = self.store {
            if self.buffer.len() + bytes.len() > MAX_WEB_BYTES {
                let limit = MAX_WEB_BYTES / 1_000_000;
                let message = format!(
                    "outputs to web servers are limited to {limit} MB, because they are sent in one request: write to \
                    s3://, gs:// or az:// instead"
                );
                return Err(io::Error::new(io::ErrorKind::Unsupported, message));
            }
            return extend(&mut self.buffer, bytes);
        }
        while !bytes.is_empty() {
            let count = bytes.len().min(PART_BYTES - self.buffer.len());
            extend(&mut self.buffer, &bytes[..count])?;
            bytes = &bytes[count..];
            // Keeps the last part until the end, so that an object of exactly one part needs only one request.
            if self.buffer.len() == PART_BYTES && !bytes.is_empty() {
                self.send_part()?;
            }
        }
        Ok(())
    }

    fn send_part(&mut self) -> io::Result<()> {
        let mut parts = match self.parts.take() {
            Some(parts) => parts,
            None => self.start()?,
        };
        self.count += 1;
        if self.count > MAX_PART_COUNT {
            // Put back, so that dropping this upload aborts it.
            self.parts = Some(parts);
            let message = format!("an object can have at most {} GB", MAX_PART_COUNT * PART_BYTES / 1_000_000_000);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let part = parts.put_part(std::mem::take(&mut self.buffer).into());
        self.parts = Some(parts);
        self.in_flight.push_back(self.engine.start(part));
        while self.in_flight.len() > MAX_PARTS_IN_FLIGHT {
            self.wait_for_part()?;
        }
        Ok(())
    }

    fn start(&mut self) -> io::Result<Box<dyn MultipartUpload>> {
        let Store::Bucket(bucket, path) = self.store.clone() else { return Err(io::ErrorKind::Unsupported.into()) };
        let request = async move {
            repeat(|| async { bucket.put_multipart(&path).await.map_err(|error| RequestFailure::of_answer(&error)) })
                .await
        };
        self.engine.run(&self.check, request)?.map_err(|failure| failure.into_io("POST to start an upload"))
    }

    fn wait_for_part(&mut self) -> io::Result<()> {
        let Some(part) = self.in_flight.pop_front() else { return Ok(()) };
        part.wait(&self.check)?.map_err(|error| RequestFailure::of_store(&error).into_io("PUT of a part"))
    }

    /// Sends the remaining bytes of a multipart upload and waits until all parts have arrived. The object is not
    /// visible yet. An object of a single part is sent by [`Upload::put_in_place`].
    ///
    /// # Errors
    /// As for [`Upload::write`].
    pub fn complete(&mut self) -> io::Result<()> {
        if self.parts.is_some() && !self.buffer.is_empty() {
            self.send_part()?;
        }
        while !self.in_flight.is_empty() {
            self.wait_for_part()?;
        }
        Ok(())
    }

    /// Makes the object visible. [`Upload::complete`] must be called first.
    ///
    /// # Errors
    /// Fails if the request failed or the store refused it. The old object, if any, is then unchanged, unless the
    /// request succeeded but its response was lost.
    pub fn put_in_place(mut self) -> io::Result<()> {
        match self.parts.take() {
            Some(mut parts) => {
                let (result, parts) = self.engine.run(&self.check, async move { (parts.complete().await, parts) })?;
                // Put back, so that dropping this upload aborts it.
                if result.is_err() {
                    self.parts = Some(parts);
                }
                result.map(drop).map_err(|error| RequestFailure::of_store(&error).into_io("POST to complete an upload"))
            }
            None => {
                let store = self.store.clone();
                let bytes = Bytes::from(std::mem::take(&mut self.buffer));
                let put = self.engine.run(&self.check, async move { store.put(bytes).await })?;
                put.map_err(|failure| failure.into_io("PUT"))
            }
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Some(mut parts) = self.parts.take() else { return };
        // A part that arrives after the abort would remain in the store.
        self.in_flight.drain(..).for_each(Running::abort);
        let deadline = Instant::now() + ABORT_TIMEOUT;
        let is_late = move || Instant::now() >= deadline;
        let check: StopCheck = Arc::new(move || if is_late() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) });
        // An error cannot be reported here; lifecycle rules of the store remove unfinished uploads.
        let _ = self.engine.run(&check, async move { parts.abort().await });
    }
}

fn extend(buffer: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    buffer.try_reserve(bytes.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    buffer.extend_from_slice(bytes);
    Ok(())
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("parts", &self.count).finish_non_exhaustive()
    }
}
