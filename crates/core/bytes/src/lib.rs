//! Moves bytes between polyhaul and the outside world.
//!
//! - [`Source`]: bytes to read (file, standard input, memory, any reader).
//! - [`Buffer`]: sequential access to a source in large reads, however small the consumer's requests are.
//! - [`Sink`]: an output; a file is replaced in one step, or not at all.
//! - [`HostRead`], [`HostWrite`]: a host's callbacks as a source or a sink.
//! - [`decompressed`]: the plain bytes of a gzip, zstd or lz4 source; [`Encoder`]: the opposite direction, member by
//!   member; [`DecodeAhead`], [`GzipParts`]: one gzip member read and written by many threads; [`SeekTable`]: the
//!   offsets of zstd members; [`ZlibDecoder`]: one zlib stream read by many threads.
//! - [`Archive`]: the members of a zip archive, each a source.
//! - [`Prefetch`]: a cold file, fetched by the system ahead of its readers.
//! - [`Throttle`]: a rate and a latency for sources and sinks, as if the device were slower.
//! - [`place`]: one interface for paths and URLs; with the feature `cloud`, URLs are sources and sinks.
//! - [`Layer`]: the file operations under a sink, so that tests can make each of them fail.
//!
//! Except for compression, it never interprets the bytes. It starts no threads and handles no signals (`polyhaul-cloud`
//! serves URLs on its own thread). Its only process-wide state is the list of temporary files in use, so that an
//! interrupted program can call [`remove_temporaries`].
//!
//! Messages of errors do not repeat the name of the source or sink: put [`Source::name`] or [`Sink::name`] before them.
//!
//! ```
//! use polyhaul_bytes::{Buffer, FileOptions, Sink, Source};
//!
//! # fn main() -> std::io::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("polyhaul-bytes-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("cube.mtl");
//! let mut sink = Sink::file(&path, FileOptions::default())?;
//! sink.write_all(b"newmtl red\nKd 1 0 0\n")?;
//! sink.finish()?; // only now does the file appear
//!
//! let mut lines = Buffer::new(Source::open_regular(&path)?);
//! assert_eq!(lines.record(b'\n')?, Some(&b"newmtl red\n"[..]));
//! assert_eq!(lines.record(b'\n')?, Some(&b"Kd 1 0 0\n"[..]));
//! assert_eq!(lines.record(b'\n')?, None);
//! # std::fs::remove_dir_all(&folder)
//! # }
//! ```

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod archive;
mod buffer;
mod codec;
mod compress;
#[cfg(unix)]
mod descriptor;
mod error;
pub mod hash;
mod host;
mod layer;
mod memory;
pub mod place;
mod remote;
mod sink;
mod source;
mod stop;
mod sync;
mod throttle;

pub use archive::{Archive, ArchiveCache};
pub use buffer::{Buffer, DEFAULT_RECORD_LIMIT_BYTES, RecordTooLong};
pub use codec::Codec;
pub use compress::{
    DecompressLimits, Encoder, GzipMember, GzipParts, MEMBER_BYTES, SeekTable, ZlibDecoder, ZlibPlain, ZlibSpan,
    decompressed, inflated,
};
pub use error::{DecompressError, DecompressErrorKind, DecompressLimit, HostFault};
pub use host::{HostRead, HostWrite};
pub use layer::{Disk, FaultyLayer, Layer};
pub use sink::{Complete, FileOptions, Finished, Sink, remove_temporaries};
pub use source::{DecodeAhead, Prefetch, Source};
pub use stop::Stopped;
pub use throttle::Throttle;

/// Minimum size of a read from a host, a stream or a file, except for the tail: 64 KiB.
pub const BLOCK_BYTES: usize = 64 * 1024;
