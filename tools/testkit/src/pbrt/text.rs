//! Writes text to a file, uncompressed or in compressed members.

use polyhaul::options::Codec;
use polyhaul_bytes::{Encoder, MEMBER_BYTES};
use polyhaul_text::format::Page;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Maximum size of one write.
const ROOM_BYTES: usize = 16 << 10;

/// Buffered text file.
pub(super) struct Text {
    buffer: Vec<u8>,
    used: usize,
    /// Uncompressed size of the text before the buffer.
    before: u64,
    file: File,
    encoder: Option<Encoder>,
    packed: Vec<u8>,
    disk_bytes: u64,
}

impl Text {
    pub(super) fn create(path: &Path, codec: Option<Codec>) -> io::Result<Text> {
        Ok(Text {
            buffer: vec![0; MEMBER_BYTES + ROOM_BYTES],
            used: 0,
            before: 0,
            file: File::create(path)?,
            encoder: codec.map(|codec| Encoder::new(codec, None)).transpose()?,
            packed: Vec::new(),
            disk_bytes: 0,
        })
    }

    /// Returns the uncompressed size so far.
    pub(super) fn len(&self) -> u64 {
        self.before + self.used as u64
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(ROOM_BYTES).try_for_each(|bytes| self.put(|page| page.bytes(bytes)))
    }

    /// Appends the output of `write`: less than [`ROOM_BYTES`].
    pub(super) fn put(&mut self, write: impl FnOnce(&mut Page<'_>)) -> io::Result<()> {
        let mut page = Page::new(&mut self.buffer[self.used..]);
        write(&mut page);
        if page.overflowed() {
            return Err(io::Error::other("a line is too long for the generator"));
        }
        self.used += page.len();
        if self.used < MEMBER_BYTES { Ok(()) } else { self.spill(MEMBER_BYTES) }
    }

    /// Writes the first `count` bytes of the buffer to the file.
    fn spill(&mut self, count: usize) -> io::Result<()> {
        let plain = &self.buffer[..count];
        let bytes = match &mut self.encoder {
            None => plain,
            Some(encoder) => {
                self.packed.clear();
                encoder.encode(plain, &mut self.packed)?;
                &self.packed
            }
        };
        self.file.write_all(bytes)?;
        self.disk_bytes += bytes.len() as u64;
        self.before += count as u64;
        self.buffer.copy_within(count..self.used, 0);
        self.used -= count;
        Ok(())
    }

    /// Writes the rest; returns the uncompressed size and the size on disk.
    pub(super) fn finish(mut self) -> io::Result<(u64, u64)> {
        if self.used > 0 {
            self.spill(self.used)?;
        }
        Ok((self.before, self.disk_bytes))
    }
}
