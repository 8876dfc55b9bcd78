//! Wavefront OBJ.
//!
//! What polyhaul takes an OBJ file to mean, where the specification (Wavefront Advanced Visualizer,
//! appendix B1) is silent or files in the wild differ:
//!
//! - Positions, uvs and normals are numbered over the whole file; an element may name what comes later.
//! - `v` has 3 numbers, 4 (a weight), 6 (a colour) or 7 (a colour with alpha). `#MRGB` lines colour
//!   the positions right before them.
//! - `o` begins an object. A `g` right before positions begins one too (programs write `g` for `o`);
//!   any other `g` is a group of the elements after it. `usemtl`, `g` and `s` last until the next
//!   one, also past an `o`. All of them are kept and written again, also several in a row and those
//!   that no element follows; per element they are written in the order `s`, `g`, `usemtl`.
//! - An object without elements is kept.
//! - A backslash before a newline joins lines, in comments too (with a warning). A newline is LF,
//!   CR LF or CR.
//! - Corners of one element may have different indices (with a warning). A slash without an index
//!   after it counts as none (with a warning).
//! - Free-form curves are read where they are B-splines; other free-form statements, display
//!   attributes and unknown statements are skipped, each with a warning.
//!
//! Reading: `reader`, which says where the rest is. Writing: `writer`. Materials: `formats::mtl`.

mod assemble;
mod curves;
mod elements;
mod evaluated;
mod looks;
mod losses;
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

pub use looks::begins_as_obj;
pub use losses::note_left_out;
pub use reader::{Reference, read};
pub use writer::write;
