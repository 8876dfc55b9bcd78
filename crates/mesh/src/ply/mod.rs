//! PLY, the polygon file format of Stanford: elements with rows of numbers under names, of which some are a mesh.
//!
//! What polyhaul takes a PLY file to mean, where its description (Greg Turk, 1994) is silent or files in the wild
//! differ:
//!
//! - The lines of a header end in LF, CR LF or CR; which it is, the first line says. Types have both sets of names;
//!   `int64` and `uint64` are taken too. Element names are unique, and so are those of an element's properties.
//! - A comment is what comes behind `comment` and one blank, to the end of its line.
//! - Rows of text are words between white space. A line for each row is the fast case, and not asked for. Integers are
//!   decimal and must fit their type.
//! - An element with rows has a property. What follows the last row is noted and left out.
//! - Rows are counted from 0 in messages, as indices are.
//!
//! What becomes of it in a scene:
//!
//! - `vertex` with x, y, z are the positions of the one mesh; nx, ny, nz, texture coordinates (u v, s t, texture_u
//!   texture_v, texture_s texture_t) and colours (red green blue alpha, diffuse_red ..., r g b a) its attributes per
//!   vertex. Colours of 8 and 16 bits become parts of one. Doubles are rounded to f32, which is noted.
//! - `face` with a list of integers vertex_indices or vertex_index are its faces. `texcoord` with two f32s for every
//!   corner are uvs of corners, unless vertices have uvs. Without faces, `tristrips` are cut into triangles. `edge`
//!   with vertex1 and vertex2 alone are lines.
//! - A face of fewer than three corners is legal here and no face for anybody else: it is left out and noted. An index
//!   out of range is an error.
//! - All other properties of vertices and faces are columns of the mesh; all other elements are tables.
//! - PLY does not say which axis points up, so the scene keeps the default axes: positions are converted to other
//!   formats as they stand.
//!
//! Reading: `reader`, which says where the rest is. Writing: `writer`.

mod binary;
mod header;
mod layout;
mod lines;
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
mod words;
mod writer;

pub use header::{PlyHeader, Property};
pub use reader::tables;
pub use scene::scene;
pub use writer::{note_remarks, write_scene, write_tables};

/// Whether bytes begin as PLY files do.
pub fn looks_like_ply(head: &[u8]) -> bool {
    head.strip_prefix(b"ply").is_some_and(|rest| matches!(rest.first(), Some(b'\n' | b'\r')))
}
