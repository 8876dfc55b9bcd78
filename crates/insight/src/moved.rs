//! Bytes that jobs moved, by their format and how they are compressed.
//!
//! A report sums them for files read and written, and a verdict computes with them: rates of one format say nothing
//! about another. The time they should take is up to `verdict::best`.

use polyhaul_bytes::Codec;

/// Bytes of one format, compressed in one way, that were read or written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The name of the format, if any: `obj`; `mtl` for material libraries.
    pub format: Option<&'static str>,
    /// Their compression.
    pub codec: Option<Codec>,
    /// Whether the job ended when they were on the disk.
    pub durable: bool,
    /// The number of bytes as stored.
    pub bytes: u64,
    /// The number of bytes uncompressed.
    pub plain_bytes: u64,
    /// How many of the plain bytes come from compressed streams, each of which only one thread at a time decompresses.
    pub stream_bytes: u64,
}

impl Moved {
    /// Uncompressed bytes of a format.
    pub fn new(format: &'static str, bytes: u64) -> Moved {
        Moved { format: Some(format), bytes, plain_bytes: bytes, ..Moved::default() }
    }

    /// The same, compressed: with this many bytes uncompressed. They are members that many threads decompress.
    #[must_use]
    pub fn compressed(self, codec: Codec, plain_bytes: u64) -> Moved {
        Moved { codec: Some(codec), plain_bytes, ..self }
    }

    /// The same, compressed as one stream.
    #[must_use]
    pub fn streamed(self, codec: Codec, plain_bytes: u64) -> Moved {
        Moved { stream_bytes: plain_bytes, ..self.compressed(codec, plain_bytes) }
    }

    /// The same, for a job that ended when they were on the disk, if `durable`.
    #[must_use]
    pub fn durable(self, durable: bool) -> Moved {
        Moved { durable, ..self }
    }

    /// Adds this to the entry of `all` with the same properties; nothing is added if it is empty.
    pub fn add_to(self, list: &mut Vec<Moved>) {
        let kind = |moved: &Moved| (moved.format, moved.codec, moved.durable);
        match list.iter_mut().find(|moved| kind(moved) == kind(&self)) {
            Some(entry) => {
                entry.bytes += self.bytes;
                entry.plain_bytes += self.plain_bytes;
                entry.stream_bytes += self.stream_bytes;
            }
            None if self.bytes == 0 => {}
            // The list is short: at most one entry per format and codec.
            None => list.push(self),
        }
    }
}
