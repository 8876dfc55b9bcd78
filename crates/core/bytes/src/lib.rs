//! Moves bytes between polyhaul and the outside world.
//!
//! - [`Source`]: bytes to read (file, standard input, memory, any reader).
//! - [`Buffer`]: sequential access to a source, in large reads even for small requests.
//! - [`Sink`]: an output; a file is replaced in one step, or not at all.
//! - [`HostRead`], [`HostWrite`]: a host's callbacks as a source or a sink.
//! - [`decompressed`]: the uncompressed bytes of a gzip, zstd or lz4 source.
//! - [`Encoder`]: compresses, member by member.
//! - [`DecodeAhead`], [`GzipParts`]: read and write a single gzip member with many threads.
//! - [`SeekTable`]: the sizes of zstd frames.
//! - [`ZlibDecoder`]: reads a single zlib stream with many threads.
//! - [`Archive`]: the members of a zip archive, each a source.
//! - [`Prefetch`]: makes the system fetch a cold file ahead of its readers.
//! - [`Throttle`]: simulates a slower device, with a rate and a latency for sources and sinks.
//! - [`place`]: one interface for paths and URLs; with the `cloud` feature, URLs are sources and sinks.
//! - [`Layer`]: the file operations of a sink, so that tests can make each of them fail.
//!
//! Except for compression and archives, this crate never interprets the bytes. It starts no threads and handles no
//! signals (`polyhaul-cloud` accesses URLs on its own thread). Its only process-wide state concerns temporary files:
//! their serial number, the folders recently searched for leftovers, and the list of files in use, which lets an
//! interrupted program call [`remove_temporaries`].
//!
//! Error messages do not include the name of the source or sink: prepend [`Source::name`] or [`Sink::name`].
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

/// Minimum size of a read from a host or a stream, or from a file through a [`Buffer`], except at the end: 64 KiB.
pub const BLOCK_BYTES: usize = 64 * 1024;
