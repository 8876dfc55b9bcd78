//! Reads and writes Wavefront OBJ and its MTL material libraries.
//!
//! Interpretation where the specification (Wavefront Advanced Visualizer, appendix B1) is silent or existing files
//! differ:
//!
//! - Positions, UVs and normals are numbered across the whole file. An element can refer to later values.
//! - `v` has 3 numbers, 4 (with a weight), 6 (with a color) or 7 (with a color and alpha). `#MRGB` lines color the
//!   positions directly before them.
//! - `o` starts an object. So does a `g` directly before positions (some programs write `g` instead of `o`); any other
//!   `g` names the group of the elements after it. A `usemtl`, `g` or `s` remains in effect until the next statement of
//!   its kind, even past an `o`. All of them are kept and written back, including several in a row and statements with
//!   no element after them; before an element, they are written in the order `s`, `g`, `usemtl`.
//! - Objects without elements are kept.
//! - A backslash before a newline joins lines. In a comment, it does so only if no statement follows (with a warning).
//!   Newlines are LF, CR LF or CR.
//! - Out-of-range uv and normal indices are dropped with a warning. If reading continues past errors, a skipped line
//!   still counts, and elements that refer to it are dropped.
//! - `usemtl (null)` without a definition and a bare `usemtl` both mean no material.
//! - The corners of an element can have different sets of indices (with a warning). A trailing slash without an index
//!   means no index (with a warning).
//! - B-spline curves are read. Other free-form statements, display attributes and unknown statements are skipped, each
//!   with a warning.
//!
//! Reading starts in `reader`, writing in `writer`; materials are in `mtl`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod assemble;
mod curves;
mod elements;
mod evaluated;
mod looks;
mod losses;
pub mod mtl;
mod ordered;
mod parse;
mod parsed;
mod plan;
mod publish;
mod reader;
mod relative;
mod repair;
mod rows;
mod statement;
mod suspects;
mod text;
mod tokens;
mod writer;

pub use looks::looks_like_obj;
pub use losses::note_left_out;
pub use ordered::Reference;
pub use reader::{ObjPieces, pieces, read, read_part};
pub use text::NO_MATERIAL;
pub use writer::write;
