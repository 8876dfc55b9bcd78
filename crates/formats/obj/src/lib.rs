//! Wavefront OBJ.
//!
//! How polyhaul interprets an OBJ file if the specification (Wavefront Advanced Visualizer, appendix B1) is silent or
//! files in the wild differ:
//!
//! - Positions, uvs and normals are numbered over the whole file; an element can refer to later ones.
//! - `v` has 3 numbers, 4 (a weight), 6 (a color) or 7 (a color with alpha). `#MRGB` lines color the positions right
//!   before them.
//! - `o` begins an object. So does a `g` right before positions (some programs write `g` instead of `o`); any other `g`
//!   is a group of the elements after it. `usemtl`, `g` and `s` remain in effect until the next one, even past an `o`.
//!   All of them are kept and written again, including several in a row and those that no element follows; before an
//!   element they are written in the order `s`, `g`, `usemtl`.
//! - An object without elements is kept.
//! - A backslash before a newline joins lines, in comments only if no statement follows (with a warning). A newline is
//!   LF, CR LF or CR.
//! - An index of a uv or normal that does not exist counts as none (with a warning). If reading continues past errors,
//!   a skipped line keeps its number, and elements that use it are dropped.
//! - `usemtl (null)` without a definition, and `usemtl` alone, mean no material.
//! - The corners of an element can have different kinds of indices (with a warning). A slash without an index after it
//!   counts as none (with a warning).
//! - Free-form curves are read if they are B-splines; other free-form statements, display attributes and unknown
//!   statements are skipped, each with a warning.
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
