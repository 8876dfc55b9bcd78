//! Chunks of a text whose first bytes have been read already.

use super::{TextChunks, TextStream};
use std::sync::Mutex;

impl TextChunks<'_> {
    /// Continues after `read`, the bytes read so far, which come first in the chunks.
    pub(crate) fn continued_after(self, read: Vec<u8>) -> Self {
        if self.in_order() {
            TextChunks { stream: Mutex::new(TextStream { carry: read, ..TextStream::default() }), ..self }
        } else {
            TextChunks { head: read, ..self }
        }
    }
}
