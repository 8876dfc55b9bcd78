//! PLY, the Stanford polygon file format: elements with rows of named numbers, some of which form a mesh.
//!
//! How polyhaul interprets a PLY file if its description (Greg Turk, 1994) is silent or files in the wild differ:
//!
//! - Header lines end in LF, CR LF or CR, as determined by the first line. Types have both sets of names; `int64` and
//!   `uint64` are accepted too. Element names are unique, and so are the property names of an element.
//! - A comment is the text after `comment` and one blank, to the end of its line.
//! - Rows of text are words between white space. A line for each row is the fast case, and not asked for. Integers are
//!   decimal and must fit their type.
//! - An element with rows has at least one property. Data after the last row causes a warning and is ignored.
//! - Rows are counted from 0 in messages, as indices are.
//!
//! In a scene:
//!
//! - A `vertex` with x, y, z supplies the positions of the one mesh; nx, ny, nz, texture coordinates (u v, s t,
//!   texture_u texture_v, texture_s texture_t) and colors (red green blue alpha, diffuse_red ..., r g b a) become its
//!   attributes per vertex. Colors of 8 and 16 bits are scaled to 0 to 1. Doubles are rounded to f32, with a warning.
//! - `face` with a list of integers vertex_indices or vertex_index are its faces. `texcoord` with two f32s for every
//!   corner are uvs of corners, unless vertices have uvs. Without faces, `tristrips` are cut into triangles. `edge`
//!   with vertex1 and vertex2 alone are lines.
//! - A face of fewer than three corners is legal here and no face for anybody else: it is left out and noted. An index
//!   out of range is an error.
//! - All other properties of vertices and faces become columns of the mesh; all other elements become tables.
//! - The elements of compressed Gaussian splats become one mesh of splats: see `packed`.
//! - A comment `TextureFile NAME` is a texture: a material with a diffuse map. The property `texnumber` of faces
//!   chooses between several.
//! - PLY does not define an up axis, so the scene keeps the default axes: positions are converted to other formats
//!   unchanged.
//!
//! Reading starts in `reader`, writing in `writer`.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod binary;
mod delivery;
mod header;
mod layout;
mod lines;
mod packed;
mod parts;
mod pieces;
mod reader;
mod repair;
mod rows;
mod scatter;
mod scene;
mod sink;
mod store;
mod strips;
mod tables;
mod text;
mod textures;
mod vectors;
mod words;
mod writer;

pub use header::{PlyHeader, Property};
pub use packed::write as write_packed;
pub use parts::{PlyPartsRead, parts};
pub use pieces::{PlyPiecesRead, pieces};
pub use reader::tables;
pub use scene::scene;
pub use writer::{PlyPartText, PlyTableParts, note_remarks, write_scene, write_tables};

/// Whether bytes begin as PLY files do.
pub fn looks_like_ply(head: &[u8]) -> bool {
    head.strip_prefix(b"ply").is_some_and(|rest| matches!(rest.first(), Some(b'\n' | b'\r')))
}
