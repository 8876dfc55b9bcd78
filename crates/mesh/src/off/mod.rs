//! OFF, the object file format of Geomview: vertices, then faces by the indices of their vertices, as text.
//!
//! What polyhaul takes an OFF file to mean, where the manual of Geomview is silent or files in the wild differ:
//!
//! - The file begins with a keyword: `OFF`, before which `ST`, `C`, `N`, `4` and `n` may stand, in this order. It may
//!   be missing, and then the file is a plain `OFF`. The numbers of vertices, faces and edges stand on the same or on
//!   the next line; the first may follow `OFF` without a blank, as in the files of ModelNet. The number of edges is
//!   not used, and may be missing.
//! - A vertex is a line, and so is a face. Blank lines, and what follows a `#` on a line, mean nothing; the comments
//!   before the first vertex are comments of the scene.
//! - A vertex has `x y z`, with `N` a normal, with `C` red, green, blue and maybe alpha, with `ST` texture coordinates,
//!   in this order; the keywords `NCOFF` and `NCSTOFF`, which MeshLab writes, have the color before the normal. More
//!   values on the line are dropped, with a warning.
//! - Colors are from 0 to 255 if one of their values is 2 or more, and from 0 to 1 otherwise: that is decided for the
//!   file as a whole, as a 1 may be either.
//! - A face with two vertices is a line, and one with a single vertex a point. A face without vertices is dropped, with
//!   a warning. So are the colors of faces.
//! - Vertices and faces are counted from 0 in messages, as indices are. What follows the last face is noted and
//!   dropped.
//! - Files of four (`4`) or any number of dimensions (`n`), and binary ones, are not supported.
//! - OFF does not say which axis points up, so the scene keeps the default axes: positions are converted to other
//!   formats as they stand.
//!
//! Reading: `reader` (the job that the pipeline runs), `header`, `lines` (which lines count), `rows` (lines to values),
//! `flaw` (what is wrong with them), `arrays` (where they go). Writing: `plan` (what is written), `split` (one normal
//! and one uv per vertex), `losses` (what is dropped), `writer` (pages of text). Nothing here knows another format.

mod arrays;
mod flaw;
mod header;
mod lines;
mod losses;
mod plan;
mod reader;
mod rows;
mod split;
mod writer;

pub use reader::{OffFound, read};
pub use writer::write;

/// Whether text begins as OFF files do that have a keyword, behind blank lines and comments.
///
/// ```
/// use polyhaul_mesh::off::looks_like_off;
///
/// assert!(looks_like_off(b"# a cube\nCOFF 8 6 12\n") && looks_like_off(b"OFF8 6 12\n"));
/// assert!(!looks_like_off(b"8 6 12\n") && !looks_like_off(b"OFFER\n"));
/// ```
pub fn looks_like_off(head: &[u8]) -> bool {
    let mut contents = lines::ranges(head).map(|line| lines::words(head, line));
    let word = contents.find_map(|mut words| words.next());
    word.is_some_and(|word| {
        // A word that ends with the bytes may go on behind them.
        let is_whole = word.end < head.len();
        header::Keyword::of(&head[word]).is_some_and(|keyword| is_whole || keyword.has_count())
    })
}
