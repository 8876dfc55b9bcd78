//! Chunks of a text whose first bytes somebody has looked at.

use super::{Stream, TextChunks};
use std::sync::Mutex;

impl TextChunks<'_> {
    /// Goes on behind `read`, the first bytes, where they were taken out of a stream: they come first in the chunks
    /// all the same. A positioned source has them still.
    pub(crate) fn begun(self, read: Vec<u8>) -> Self {
        match self.in_order() {
            true => TextChunks { stream: Mutex::new(Stream { carry: read, ..Stream::default() }), ..self },
            false => self,
        }
    }
}
