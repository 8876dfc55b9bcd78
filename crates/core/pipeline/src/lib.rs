//! The scheduler: chunks, slots and their order. All jobs run on its threads. The few crates that start other threads
//! give their reason in their manifest (`threads` in `[package.metadata.polyhaul]`).
//!
//! [`run`] moves numbered chunks through workers and commits them in order; `queue` holds the chunks in flight.
//! [`chunk`] cuts text into chunks at line boundaries; [`blocks`] cuts bytes at fixed offsets. [`mod@column`] is an
//! array that many workers fill, in [`huge`] pages as long as these are fast. [`feed`] and [`window`] deliver bytes in
//! order, [`bytes`] by offset. [`read`] reads a source and attributes failures. [`relay`] passes bytes between parts
//! that are read in parallel. [`reader`] adapts a source for third-party decoders. [`mod@write`] writes pages to a
//! sink, compressed or not; [`packed`] handles compressed blocks inside formats. [`parallel`] is a plain loop for
//! unordered work. [`prefetch`] fetches cold files while they are parsed. [`crew`] provides the threads, its own or the
//! caller's pool; [`machine`] counts cores and memory. [`attempt`] is the result of a fast path that may decline.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod arrays;
pub mod attempt;
pub mod blocks;
pub mod bytes;
pub mod chunk;
pub mod column;
pub mod consumer;
pub mod crew;
pub mod feed;
pub mod huge;
pub mod job;
pub mod machine;
pub mod options;
pub mod out;
pub mod packed;
pub mod parallel;
pub mod place;
pub mod precision;
pub mod prefetch;
mod queue;
pub mod read;
pub mod reader;
pub mod relay;
pub mod run;
mod sync;
pub mod table_parts;
pub mod window;
pub mod write;
