//! Chunks of a text whose first bytes somebody has looked at.

use super::{Stream, TextChunks};
use std::sync::Mutex;

impl TextChunks<'_> {
    /// Continues after `read`, the bytes read so far, which come first in the chunks.
    pub(crate) fn begun(self, read: Vec<u8>) -> Self {
        if self.in_order() {
            TextChunks { stream: Mutex::new(Stream { carry: read, ..Stream::default() }), ..self }
        } else {
            TextChunks { head: read, ..self }
        }
    }
}
