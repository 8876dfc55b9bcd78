//! Reads and writes STL: triangles, as text or as 50-byte binary records (3D Systems' StereoLithography format).
//!
//! Layout of a binary file (little-endian):
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 80 | a comment |
//! | 80 | 4 | number of triangles |
//! | 84 | 50 each | normal and three positions (twelve f32s), and an attribute of 2 bytes |
//!
//! For the text format, see [`polyhaul_text::parse::facets`].
//!
//! Interpretation where programs differ:
//!
//! - A file is binary if its size matches the number of triangles in its header, regardless of its first word. If it
//!   does not match or is unknown, the file is text if it starts with text that begins with `solid` or contains the
//!   word `facet`.
//! - Each triangle has its own three positions, and its normal is a face normal, as in the file. Welding is optional
//!   ([`polyhaul_model::options::StlReadOptions`]).
//! - The two bytes after a binary triangle are kept as the face column `attribute`, unless all of them are 0. The
//!   header becomes a comment. If the triangles, each followed by as many bytes as its attribute says, end less than 50
//!   bytes before the end of the file, the attributes are byte counts; the bytes after the triangles are dropped with a
//!   warning.
//! - Text is case-insensitive and may contain several statements per line and several solids; each solid becomes an
//!   object. Tabs, NULs and other blank bytes are equivalent to spaces.
//!
//! `reader`: detects whether a file is binary or text. `binary`, `ascii`: pipeline jobs. `payload`: attribute bytes.
//! `facets`: the arrays that `binary` and `ascii` fill. `statement`, `machine`: text statements, and their required
//! order. `writer`: both binary and text.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod ascii;
mod binary;
mod facets;
mod machine;
mod payload;
mod reader;
mod statement;
mod writer;

pub use reader::{fits, is_text, read};
pub use writer::write;

/// Bytes before the first triangle.
const HEADER_BYTES: usize = 84;
/// Bytes per triangle: normal, three positions, attribute.
const FACET_BYTES: usize = 50;

/// Whether a byte may pad the end of a text file, as NUL and Ctrl-Z do in files from some programs.
fn is_filler(byte: u8) -> bool {
    matches!(byte, 0 | 0x1a)
}

/// Whether bytes start like an STL file: with the word `solid` and text, or with a header whose count matches `size`,
/// the size of the file. `size` is `None` for streams.
pub fn looks_like_stl(head: &[u8], size: Option<u64>) -> bool {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let is_word = text.get(5).is_some_and(u8::is_ascii_whitespace);
    is_word && is_text(head, size) || fits(head, size)
}
