//! Converts between numbers and text, including whole lines: exactly, and with identical results on every machine.
//!
//! [`mod@format`] writes text; [`scan`] and [`parse`] read it. The crate does no I/O, starts no threads and ignores the
//! locale. It works on the caller's slices. Memory is allocated only to compile row formats, for indexes and grids, and
//! to grow the outputs of lists.

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
