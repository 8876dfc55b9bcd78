//! The C interface of polyhaul. `include/polyhaul.h` is generated from this crate, and is its reference manual.
//!
//! Every function is a thin wrapper around the `polyhaul` crate: it converts pointers to values (`raw.rs`), callbacks
//! to traits (`callbacks.rs`), and errors and panics to status codes (`error.rs`). Doc comments of public items are the
//! text of the header, written for C programmers.
//!
//! The conventions at the top of the header are the safety contract of all functions: a pointer other than null is
//! valid for the data it points to. `SAFETY` comments call them the header's rules.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![allow(non_camel_case_types, reason = "names as C has them")]
#![allow(clippy::missing_safety_doc, reason = "the header states the safety contract of all functions at its top")]

mod callbacks;
pub mod compose;
pub mod convert;
pub mod error;
mod host_error;
pub mod image;
pub mod material;
pub mod mesh;
pub mod options;
mod raw;
pub mod report;
pub mod scene;
pub mod source;
pub mod table;
#[cfg(test)]
mod tests;
pub mod text;
