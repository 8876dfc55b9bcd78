//! Reads and writes OFF, the object file format of Geomview: text with vertices, then faces as lists of vertex indices.
//!
//! Interpretation where Geomview's manual is silent or existing files differ:
//!
//! - The file starts with a keyword: `OFF`, with the optional prefixes `ST`, `C`, `N`, `4` and `n`, in this order.
//!   Without a keyword, the file is a plain `OFF`. The numbers of vertices, faces and edges are on the same line or on
//!   the next; the first number can follow `OFF` without a space, as in ModelNet's files. The number of edges is
//!   ignored, and can be missing.
//! - Each vertex and each face is on its own line. A file with other line breaks is read again, with a warning, if its
//!   numbers form exactly the declared rows. Blank lines, and text after a `#` on a line, are ignored; comments up to
//!   the line with the numbers of vertices and faces become comments of the scene.
//! - A vertex has `x y z`, then with `N` a normal, with `C` red, green, blue and optionally alpha, and with `ST`
//!   texture coordinates, in this order. With the keywords `NCOFF` and `NCSTOFF`, which MeshLab writes, the color comes
//!   before the normal. Additional values on the line are dropped with a warning.
//! - Colors are from 0 to 255 if any of their values is 2 or more, otherwise from 0 to 1. This is decided for the whole
//!   file, because a 1 could mean either.
//! - A face with two vertices is read as a line, and a face with one vertex as a point. Faces without vertices, and the
//!   colors of faces, are dropped with a warning.
//! - Messages count vertices and faces from 0, like indices. Data after the last face is dropped with a warning.
//! - Files with four (`4`) or any number of dimensions (`n`), and binary files, are not supported.
//! - OFF does not define an up axis, so the scene keeps the default axes: positions are converted to other formats
//!   unchanged.
//!
//! Reading: `reader` (the pipeline job), `reflow` (rows that are not one per line), `repair` (skipped vertices),
//! `header`, `lines` (splits text into lines and words), `rows` (parses lines into values), `flaw` (faults in lines),
//! `arrays` (destination of the values).
//! Writing: `plan` (rows to write), `split` (one normal and one uv per vertex), `losses` (warnings), `writer` (pages of
//! text).

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod arrays;
mod flaw;
mod header;
mod lines;
mod losses;
mod plan;
mod reader;
mod reflow;
mod repair;
mod rows;
mod split;
mod writer;

pub use reader::{OffFound, read};
pub use writer::write;

/// Whether text starts like an OFF file with a keyword, after blank lines and comments.
///
/// ```
/// use polyhaul_off::looks_like_off;
///
/// assert!(looks_like_off(b"# a cube\nCOFF 8 6 12\n") && looks_like_off(b"OFF8 6 12\n"));
/// assert!(!looks_like_off(b"8 6 12\n") && !looks_like_off(b"OFFER\n"));
/// ```
pub fn looks_like_off(head: &[u8]) -> bool {
    let mut contents = lines::ranges(head).map(|line| lines::words(head, line));
    let word = contents.find_map(|mut words| words.next());
    word.is_some_and(|word| {
        // A word at the end of the bytes may be incomplete.
        let is_whole = word.end < head.len();
        let is_upper = !head[word.clone()].windows(3).any(|part| part != b"OFF" && part.eq_ignore_ascii_case(b"OFF"));
        is_upper && header::Keyword::of(&head[word]).is_some_and(|keyword| is_whole || keyword.has_count())
    })
}
