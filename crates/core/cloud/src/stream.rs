//! The body of a response from a server that does not support ranges.

use crate::StopCheck;
use crate::engine::CloudEngine;
use crate::failure::RequestFailure;
use crate::web::WebResponse;
use bytes::{Buf, Bytes};
use std::io::{self, Read};
use std::sync::Arc;

/// Minimum number of bytes to receive at a time, except at the end.
const MIN_STEP_BYTES: usize = 1 << 20;

/// A body that is read sequentially. Between reads, only the system's socket buffers fill.
pub(crate) struct WholeBody {
    engine: Arc<CloudEngine>,
    /// `None` after the end or a failure.
    response: Option<WebResponse>,
    pending: std::collections::VecDeque<Bytes>,
    check: StopCheck,
}

impl WholeBody {
    pub(crate) fn new(engine: Arc<CloudEngine>, response: WebResponse, check: StopCheck) -> WholeBody {
        WholeBody { engine, response: Some(response), pending: Default::default(), check }
    }

    fn refill(&mut self) -> io::Result<()> {
        let Some(mut response) = self.response.take() else { return Ok(()) };
        let step = self.engine.run(&self.check, async move {
            let mut chunks = Vec::new();
            let mut chunk_bytes = 0;
            while chunk_bytes < MIN_STEP_BYTES {
                let Some(chunk) = response.chunk().await? else { return Ok((chunks, None)) };
                chunk_bytes += chunk.len();
                chunks.push(chunk);
            }
            Ok::<_, RequestFailure>((chunks, Some(response)))
        })?;
        let (chunks, rest) = step.map_err(|failure| failure.into_io("GET"))?;
        self.pending.extend(chunks);
        self.response = rest;
        Ok(())
    }
}

impl Read for WholeBody {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.pending.is_empty() {
            self.refill()?;
        }
        let mut filled = 0;
        while let Some(chunk) = self.pending.front_mut().filter(|_| filled < out.len()) {
            let count = chunk.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&chunk[..count]);
            chunk.advance(count);
            filled += count;
            if chunk.is_empty() {
                self.pending.pop_front();
            }
        }
        Ok(filled)
    }
}
