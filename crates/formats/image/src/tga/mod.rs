//! TGA: a format of paint programs and games since 1984.
//!
//! How polyhaul interprets TGA files where programs differ:
//!
//! - A pixel of 32 bits has alpha, as in most readers, since many programs write 0 attribute bits and alpha all the
//!   same. Gray of 16 bits is gray and alpha. A pixel of 16 bits has alpha if the header declares one attribute bit.
//! - Alpha is used if type 3 or 4 of the extension area declares it (useful, premultiplied), otherwise if there are
//!   attribute bits; types 0 to 2 declare it meaningless. Undeclared alpha of 0 at every pixel would make the image
//!   invisible: the image is read as opaque (`unused-alpha`), and so is one of 16 bits whose attribute bit is 0 at
//!   every pixel. Any other undeclared alpha is kept (`undeclared-alpha`), unless all of it is 255.
//! - A 16th bit of pixels or of a color map that varies although the header declares no attribute bits is dropped
//!   (`left-out-alpha`).
//! - Five bits become eight by rounding, so that 31 becomes 255.
//! - A run may continue in the next row, but not past the last one.
//! - An index that the color map does not have is an error.
//! - The extension of version 2 is searched for in the last `TAIL_BYTES` bytes after the pixels. Only its type of alpha
//!   is used, to determine whether colors are premultiplied; without it they are taken not to be.
//!
//! `header`: everything before the pixels. `reader`: the job that the pipeline runs. `packets`: runs. `writer`: the
//! opposite direction. Format: Truevision TGA File Format Specification, version 2.0.

mod header;
mod packets;
mod reader;
mod writer;

pub use header::looks_like_tga;
pub use reader::read;
pub use writer::write;

/// Bytes of the header.
const HEADER_BYTES: usize = 18;
/// The farthest distance of the extension from the end.
const TAIL_BYTES: usize = 1 << 20;
/// The last bytes of a file of version 2, including a full stop and a zero.
const SIGNATURE: &[u8; 18] = b"TRUEVISION-XFILE.\0";
/// Bytes of the extension area, the last of which is the type of alpha.
const EXTENSION_BYTES: usize = 495;
/// The offset of the attribute bits in the header.
const ATTRIBUTES_AT: u64 = 17;
/// Types of alpha: up to this one, alpha is undefined; alpha of this type should be kept nevertheless.
const RETAINED: u8 = 2;
/// Alpha in use.
const USEFUL: u8 = 3;
/// The type of alpha for premultiplied colors.
const PREMULTIPLIED: u8 = 4;
