//! TGA: images as programs for painting and games have kept them since 1984.
//!
//! What polyhaul takes a TGA file to mean where programs differ:
//!
//! - A pixel of 32 bits has alpha, whatever the header says of its bits of attributes; a pixel of 16 bits has it where
//!   the header says that there is one such bit. Gray of 16 bits is gray and alpha.
//! - Five bits become eight by rounding, so that 31 becomes 255.
//! - A packet of a run may go on in the next row, but not behind the last one.
//! - A number of a colour map that the map does not have is an error.
//! - The extension of version 2 is looked for in the last [`TAIL_BYTES`] bytes behind the pixels. Of it the type of
//!   alpha is used, to know whether colours are multiplied with it; a file without is taken to have them as they are.
//!
//! `header`: what stands before the pixels. `reader`: the job that the pipeline runs. `packets`: runs. `writer`: the
//! other way. Format: Truevision TGA File Format Specification, version 2.0.

mod header;
mod packets;
mod reader;
mod writer;

pub(crate) use header::looks_like_tga;
pub(crate) use reader::read;
pub(crate) use writer::write;

/// Bytes of the header.
const HEADER_BYTES: usize = 18;
/// How far from the end the extension may be.
const TAIL_BYTES: usize = 1 << 20;
/// What a file of version 2 ends with, a full stop and a zero included.
const SIGNATURE: &[u8; 18] = b"TRUEVISION-XFILE.\0";
/// Bytes of the extension area, the last of which is the type of alpha.
const EXTENSION_BYTES: usize = 495;
/// The type of alpha that colours are multiplied with.
const PREMULTIPLIED: u8 = 4;
