//! Converts numbers and lines to and from bytes: exactly, without allocations, identically on every machine.
//!
//! [`mod@format`] turns values into text, [`parse`] and [`scan`] read it. The crate does no I/O, starts no threads and
//! ignores the locale: it works on the caller's slices, and allocates nothing except the few steps of a compiled row
//! format.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

#[cfg(target_arch = "x86_64")]
mod arch;
pub mod cpu;
pub mod format;
pub mod lines;
pub mod parse;
pub mod scan;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod tables;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod vector;
