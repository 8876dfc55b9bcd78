//! Text chunks after the first bytes of the source have been read.

use super::{TextChunks, TextStream};
use std::sync::Mutex;

impl TextChunks<'_> {
    /// Puts `read`, the bytes read so far, at the start of the chunks.
    pub(crate) fn continued_after(self, read: Vec<u8>) -> Self {
        if self.in_order() {
            TextChunks { stream: Mutex::new(TextStream { carry: read, ..TextStream::default() }), ..self }
        } else {
            TextChunks { head: read, ..self }
        }
    }
}
