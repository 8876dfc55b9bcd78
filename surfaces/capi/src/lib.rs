//! The C interface of polyhaul: `include/polyhaul.h` is generated from it, and is its manual.
//!
//! Every function is a thin shell around one of the crate `polyhaul`: it converts pointers to values (`raw.rs`),
//! callbacks to the library's traits (`callbacks.rs`), and errors and panics to numbers (`error.rs`). Names follow C.
//! Comments of public items are the text of the header: they are written for readers of C.
//!
//! The conventions at the start of the header are the safety contract of all these functions: a pointer that is not
//! null is valid for what it points to. `SAFETY` comments call them the header's rules.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![allow(non_camel_case_types, reason = "names as C has them")]
#![allow(clippy::missing_safety_doc, reason = "what callers must keep is said once, at the head of the header")]

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
