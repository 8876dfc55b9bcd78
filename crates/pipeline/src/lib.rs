//! The scheduler: chunks, slots, order. The only place in the library with threads.
//!
//! [`run`] moves numbered chunks through workers and commits them in order; [`chunk`] cuts text
//! that is read into chunks at line borders; [`blocks`] cuts bytes where nobody has to look; [`mod@column`]
//! is what many workers fill at once; [`feed`] and [`window`] give bytes in order, [`bytes`] by their place; [`read`]
//! reads on and says who is at fault where that fails; [`relay`] passes bytes between parts that are read side by side;
//! [`reader`] is a source for decoders that are not our own; [`mod@write`] puts pages into a sink, compressed or not;
//! [`packed`] is compressed blocks inside of formats; [`parallel`] is a plain loop for work without order; [`crew`] is
//! who works: threads of our own, or the caller's pool.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod arrays;
pub mod blocks;
pub mod bytes;
pub mod chunk;
pub mod column;
pub mod crew;
pub mod feed;
pub mod job;
pub mod options;
pub mod out;
pub mod packed;
pub mod parallel;
pub mod read;
pub mod reader;
pub mod relay;
pub mod run;
pub mod window;
pub mod write;
