//! Reads and writes numpy arrays (`.npy`) as tables: one or two dimensions, or records with named fields.
//!
//! A file consists of a magic number, a version, the size of the header, the header (a Python dict as text, padded so
//! that the data is aligned to 64 bytes), and the numbers as they are in memory
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>). Versions 1 to 3 are read, and only the
//! byte order is converted. Bools become bytes.
//!
//! Where to look next: `literal` (Python literals), `header`, `reader`, `writer`.

mod header;
mod literal;
mod reader;
pub(super) mod writer;

pub use reader::read;
pub use writer::{is_uniform, write};

/// Whether bytes start like an npy file.
pub fn looks_like_npy(head: &[u8]) -> bool {
    head.starts_with(b"\x93NUMPY")
}
