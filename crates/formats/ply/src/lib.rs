//! Reads and writes PLY, the Stanford polygon file format: elements with rows of named numbers, some of which form a
//! mesh.
//!
//! Interpretation where the description of the format (Greg Turk, 1994) is silent or existing files differ:
//!
//! - Header lines end in LF, CR LF or CR, as determined by the first line. Types can have their old or their new names,
//!   and `int64` and `uint64` are accepted too. Element names are unique, and so are the property names of an element.
//! - A comment is the text after `comment` and one byte of white space, to the end of its line.
//! - Text rows are words separated by white space. One row per line is the fast path, not a requirement. Integers are
//!   decimal and must fit their type.
//! - An element with rows has at least one property. Data after the last row is ignored with a warning.
//! - Messages count rows from 0, like indices.
//!
//! In a scene:
//!
//! - `vertex` with x, y, z supplies the positions of the only mesh; nx, ny, nz, texture coordinates (u v, s t,
//!   texture_u texture_v, texture_s texture_t) and colors (red green blue alpha, diffuse_red ..., r g b a) become
//!   vertex attributes. 8-bit and 16-bit colors are scaled to 0 to 1; float colors from 0 to 255 are divided by 255
//!   with a warning. Doubles are rounded to f32 with a warning; positions keep double precision if they need it or it
//!   is requested.
//! - `face` with a list vertex_indices or vertex_index supplies the faces. Other common names of the list and float
//!   indices are accepted with a warning. `texcoord` with two f32s per corner becomes per-corner uvs, unless vertices
//!   have uvs; nx, ny, nz become face normals, unless vertices have normals. Without faces, `tristrips` are split into
//!   triangles. `edge` with integers vertex1 and vertex2 of the same type supplies the lines; its other properties
//!   become a table.
//! - Faces with fewer than three corners are valid PLY but not representable elsewhere: they are dropped with a
//!   warning. An out-of-range index is an error or, if reading continues past errors, drops the face or edge.
//! - All other properties of vertices and faces become columns of the mesh; all other elements become tables.
//! - The elements of compressed Gaussian splats become one mesh of splats: see `packed`.
//! - A comment `TextureFile NAME` is a texture: a material with a diffuse map. If there are several, the property
//!   `texnumber` of a face selects one.
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
pub use writer::{PlyPartText, PlyTableParts, note_losses, write_scene, write_tables};

/// Returns whether bytes start with the first line of a PLY file.
pub fn looks_like_ply(head: &[u8]) -> bool {
    head.strip_prefix(b"ply").is_some_and(|rest| matches!(rest.first(), Some(b'\n' | b'\r')))
}
