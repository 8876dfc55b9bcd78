//! Bytes moved by jobs, by format and codec, since rates differ between formats and codecs.
//!
//! Reports sum them over the files read and written. `model` and `verdict::best` estimate times from them.

use polyhaul_bytes::Codec;

/// Bytes read or written in one format with one codec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// Format name, if any: `obj`; `mtl` for material libraries.
    pub format: Option<&'static str>,
    /// Compression codec, or `None` if uncompressed.
    pub codec: Option<Codec>,
    /// Whether the job waited until the bytes were on the disk.
    pub durable: bool,
    /// Stored size in bytes.
    pub bytes: u64,
    /// Uncompressed size in bytes.
    pub plain_bytes: u64,
    /// Uncompressed bytes from single compressed streams, each of which decompresses on one thread.
    pub stream_bytes: u64,
}

impl Moved {
    /// Creates an entry for uncompressed bytes of a format.
    pub fn new(format: &'static str, bytes: u64) -> Moved {
        Moved { format: Some(format), bytes, plain_bytes: bytes, ..Moved::default() }
    }

    /// The same bytes, compressed as members that decompress in parallel.
    #[must_use]
    pub fn compressed(self, codec: Codec, plain_bytes: u64) -> Moved {
        Moved { codec: Some(codec), plain_bytes, ..self }
    }

    /// The same bytes, compressed as a single stream.
    #[must_use]
    pub fn streamed(self, codec: Codec, plain_bytes: u64) -> Moved {
        Moved { stream_bytes: plain_bytes, ..self.compressed(codec, plain_bytes) }
    }

    /// The same bytes; if `durable`, the job waited until they were on the disk.
    #[must_use]
    pub fn durable(self, durable: bool) -> Moved {
        Moved { durable, ..self }
    }

    /// Adds the sizes to the entry of `list` with the same format, codec and durability. If there is none, appends an
    /// entry, unless the stored size is 0.
    pub fn add_to(self, list: &mut Vec<Moved>) {
        let kind = |moved: &Moved| (moved.format, moved.codec, moved.durable);
        match list.iter_mut().find(|moved| kind(moved) == kind(&self)) {
            Some(entry) => {
                entry.bytes += self.bytes;
                entry.plain_bytes += self.plain_bytes;
                entry.stream_bytes += self.stream_bytes;
            }
            None if self.bytes == 0 => {}
            // Linear search: at most two entries per format and codec.
            None => list.push(self),
        }
    }
}
