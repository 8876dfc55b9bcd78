//! Objects in stores, by URL: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`, `http(s)://host/path`.
//!
//! - [`open`]: an [`Object`], whose ranges several threads read while the next ones are fetched.
//! - [`Upload`]: an object that appears when it is complete, or not at all.
//! - [`stat`], [`list`], [`remove`]: what is there.
//!
//! It never interprets the bytes, and never shows a credential: messages name objects without user information and
//! query. It is the one part of polyhaul that uses `async` code, on one thread of its own that starts with the first
//! request and lives as long as the process (`engine.rs`); callers wait for it and stay interruptible through
//! [`Check`]. Where a URL leads is decided in `location.rs`, with which credentials in `settings.rs`.
//!
//! Requests are repeated with growing pauses when a server is overloaded, a connection breaks or a body ends too early.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod engine;
mod failure;
mod listing;
mod location;
mod object;
mod settings;
mod store;
mod stream;
mod upload;
mod window;

pub use listing::{Listed, list, remove};
pub use object::{Object, Opened, Stat, open, stat};
pub use upload::Upload;

use std::io;
use std::sync::Arc;

/// Called several times a second while a request is waited for; an error ends the wait.
pub type Check = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;
