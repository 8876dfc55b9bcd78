//! The text of a page: a reused buffer that grows to the size of the longest page.

use crate::arrays::grow_exact;
use polyhaul_model::error::Result;
use polyhaul_text::format::Page;

/// The initial capacity of a page.
const FIRST_BYTES: usize = 512 << 10;

/// Text that is being formatted.
#[derive(Default)]
pub struct Out {
    bytes: Vec<u8>,
    len: usize,
}

impl Out {
    /// Clears the text and keeps the capacity.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the text so far.
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Formats into the spare capacity. If the text does not fit, `format` must return `false`. It is then called again
    /// with more capacity, after the text written so far.
    pub fn format(&mut self, mut format: impl FnMut(&mut Page<'_>) -> bool) -> Result<()> {
        loop {
            let mut page = Page::new(&mut self.bytes[self.len..]);
            let is_complete = format(&mut page);
            let written = page.len();
            self.len += written;
            if is_complete {
                return Ok(());
            }
            self.grow()?;
        }
    }

    /// Same as [`Out::format`], for text that is written all at once.
    pub fn whole(&mut self, mut write: impl FnMut(&mut Page<'_>)) -> Result<()> {
        self.format(|page| page.whole(&mut write))
    }

    fn grow(&mut self) -> Result<()> {
        let new_len = (self.bytes.len() * 2).max(FIRST_BYTES);
        grow_exact(&mut self.bytes, new_len, "a chunk of text")
    }
}
