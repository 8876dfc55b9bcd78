//! TGA: a format of paint programs and games since 1984.
//!
//! Choices where programs interpret TGA files differently:
//!
//! - 32-bit pixels have alpha, as in most readers, since many programs write alpha but declare 0 attribute bits. 16-bit
//!   gray is gray and alpha. 16-bit color has alpha if the header declares one attribute bit.
//! - Alpha is declared by type 3 or 4 in the extension area (useful, premultiplied) or, without an extension area, by
//!   attribute bits; types 0 to 2 declare it meaningless. If undeclared alpha is 0 in all pixels, the image is read as
//!   opaque, since it would be invisible (`unused-alpha`). An image with 16-bit colors and no extension area is also
//!   read as opaque if its attribute bit is 0 in all pixels. Any other undeclared alpha is kept, with the warning
//!   `undeclared-alpha` unless it is 255 in all pixels or the type is 2.
//! - If the header does not declare one attribute bit, the 16th bit of pixels and of the color map is dropped, with the
//!   warning `left-out-alpha` if the bit varies.
//! - 5-bit samples are scaled to 8 bits and rounded, so that 31 becomes 255.
//! - A run may continue in the next row, but not past the last row.
//! - An index outside the color map is an error.
//! - The version 2 extension area is searched for in the last `TAIL_BYTES` bytes after the pixels. Only its alpha type
//!   is used; without it, colors are assumed to be unpremultiplied.
//!
//! `header`: everything before the pixels. `reader`: decoding in parallel. `packets`: run-length encoding. `writer`:
//! encoding. Source: Truevision TGA File Format Specification, version 2.0.

mod header;
mod packets;
mod reader;
mod writer;

pub use header::looks_like_tga;
pub use reader::read;
pub use writer::write;

/// Size of the header.
const HEADER_BYTES: usize = 18;
/// Maximum distance of the extension area from the end of the file.
const TAIL_BYTES: usize = 1 << 20;
/// The last bytes of a version 2 file, including a full stop and a zero.
const SIGNATURE: &[u8; 18] = b"TRUEVISION-XFILE.\0";
/// Size of the extension area; its last byte is the alpha type.
const EXTENSION_BYTES: usize = 495;
/// Offset of the attribute bits in the header.
const ATTRIBUTES_AT: u64 = 17;
/// Alpha types up to this one declare alpha undefined; readers should nevertheless retain alpha of this type.
const RETAINED: u8 = 2;
/// Alpha type of useful alpha.
const USEFUL: u8 = 3;
/// Alpha type of premultiplied colors.
const PREMULTIPLIED: u8 = 4;
