//! The body of a response from a server that does not support ranges.

use crate::Check;
use crate::engine::Engine;
use crate::failure::Failure;
use bytes::{Buf, Bytes};
use reqwest::Response;
use std::io::{self, Read};
use std::sync::Arc;

/// The minimum number of bytes to take from the connection at a time.
const STEP_BYTES: usize = 1 << 20;

/// A body, read sequentially. Between reads, only the system's socket buffers fill.
pub(crate) struct WholeBody {
    engine: Arc<Engine>,
    /// `None` at the end.
    response: Option<Response>,
    pending: std::collections::VecDeque<Bytes>,
    check: Check,
}

impl WholeBody {
    pub(crate) fn new(engine: Arc<Engine>, response: Response, check: Check) -> WholeBody {
        WholeBody { engine, response: Some(response), pending: Default::default(), check }
    }

    fn refill(&mut self) -> io::Result<()> {
        let Some(mut response) = self.response.take() else { return Ok(()) };
        let step = self.engine.run(&self.check, async move {
            let (mut chunks, mut have) = (Vec::new(), 0);
            while have < STEP_BYTES {
                match response.chunk().await {
                    Ok(Some(chunk)) => {
                        have += chunk.len();
                        chunks.push(chunk);
                    }
                    Ok(None) => return Ok((chunks, None)),
                    Err(error) => return Err(Failure::body(&error)),
                }
            }
            Ok((chunks, Some(response)))
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
