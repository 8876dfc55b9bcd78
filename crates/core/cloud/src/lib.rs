//! Objects in object stores and on web servers, by URL: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`,
//! `http(s)://host/path`.
//!
//! - [`open`]: opens an object. Several threads can read a [`CloudObject`] while its next parts are fetched. If the
//!   server does not support ranges, the object is a stream.
//! - [`Upload`]: writes an object that becomes visible only once it is complete.
//! - [`stat`], [`list`], [`remove`]: look up, list and remove objects.
//!
//! This crate never interprets the bytes and never shows credentials: messages name objects without user information
//! and query. It is the only part of polyhaul with `async` code, which runs on one thread that starts with the first
//! request and lives as long as the process (`engine.rs`). Callers block, but can be interrupted through [`StopCheck`].
//! `location.rs` parses URLs, `keys.rs` handles keys that are not paths, and `settings.rs` finds credentials.
//!
//! Servers are not trusted: `web.rs` follows redirects according to `redirect.rs` and `address.rs`, `rate.rs` enforces
//! the minimum rate, and `store.rs` checks ranges and sizes.
//!
//! Requests are retried with exponential backoff if a server is overloaded, silent or too slow, a connection breaks or
//! a body is truncated.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod address;
mod bucket;
mod engine;
mod failure;
mod keys;
mod listing;
mod location;
mod object;
mod rate;
mod redirect;
mod settings;
mod store;
mod stream;
mod upload;
mod web;
mod window;

#[cfg(test)]
mod tests;

pub use keys::{check_name, stored_name};
pub use listing::{ListedEntry, list, remove};
pub use object::{CloudObject, OpenedObject, Stat, open, stat};
pub use upload::Upload;

use std::io;
use std::sync::Arc;

/// A check that runs several times a second while a call waits for a request. An error ends the wait.
pub type StopCheck = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;
