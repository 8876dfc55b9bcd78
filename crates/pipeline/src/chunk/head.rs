//! Chunks of a text whose first bytes somebody has looked at.

use super::{Stream, TextChunks};
use std::sync::Mutex;

impl TextChunks<'_> {
    /// Goes on behind `read`, the first bytes, which were read before: they come first in the chunks all the same.
    pub(crate) fn begun(self, read: Vec<u8>) -> Self {
        if self.in_order() {
            TextChunks { stream: Mutex::new(Stream { carry: read, ..Stream::default() }), ..self }
        } else {
            TextChunks { head: read, ..self }
        }
    }
}
