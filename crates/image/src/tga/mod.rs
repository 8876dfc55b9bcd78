//! TGA: images as programs for painting and games have kept them since 1984.
//!
//! What polyhaul takes a TGA file to mean where programs differ:
//!
//! - A pixel of 32 bits has alpha, as in most readers, since many programs write 0 attribute bits and alpha all the
//!   same. Gray of 16 bits is gray and alpha. A pixel of 16 bits has alpha if the header declares one attribute bit.
//! - Alpha counts as declared by type 3 or 4 of the extension area (useful, premultiplied), else by attribute bits;
//!   types 0 to 2 declare that it means nothing. Alpha that is not declared and 0 at every pixel would make the image
//!   invisible: the image is read as opaque (`unused-alpha`), and so is one of 16 bits whose attribute bit is 0 at
//!   every pixel. Any other alpha that is not declared is kept (`undeclared-alpha`), unless all of it is 255.
//! - A 16th bit of pixels or of a colour map that varies although the header declares no attribute bits is dropped
//!   (`left-out-alpha`).
//! - Five bits become eight by rounding, so that 31 becomes 255.
//! - A packet of a run may go on in the next row, but not behind the last one.
//! - An index that the colour map does not have is an error.
//! - The extension of version 2 is looked for in the last `TAIL_BYTES` bytes behind the pixels. Of it the type of
//!   alpha is used, to know whether colours are multiplied with it; a file without is taken to have them as they are.
//!
//! `header`: what stands before the pixels. `reader`: the job that the pipeline runs. `packets`: runs. `writer`: the
//! other way. Format: Truevision TGA File Format Specification, version 2.0.

mod header;
mod packets;
mod reader;
mod writer;

pub use header::looks_like_tga;
pub use reader::read;
pub use writer::write;

/// Bytes of the header.
const HEADER_BYTES: usize = 18;
/// How far from the end the extension may be.
const TAIL_BYTES: usize = 1 << 20;
/// What a file of version 2 ends with, a full stop and a zero included.
const SIGNATURE: &[u8; 18] = b"TRUEVISION-XFILE.\0";
/// Bytes of the extension area, the last of which is the type of alpha.
const EXTENSION_BYTES: usize = 495;
/// Where the header declares the attribute bits.
const ATTRIBUTES_AT: u64 = 17;
/// Types of alpha: up to this one it is undefined, this one is to be kept all the same.
const RETAINED: u8 = 2;
/// Alpha in use.
const USEFUL: u8 = 3;
/// The type of alpha that colours are multiplied with.
const PREMULTIPLIED: u8 = 4;
