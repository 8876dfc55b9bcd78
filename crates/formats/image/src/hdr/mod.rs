//! Radiance HDR: linear-light images with three 8-bit mantissas and one shared exponent per pixel (RGBE).
//!
//! Choices where programs interpret HDR files differently:
//!
//! - A mantissa `m` with the exponent `e` is `m * 2^(e - 136)`, and 0 if `e` is 0. Exposure, color correction, aspect
//!   ratio and primaries in the header are kept as attributes and not applied, as in most programs. HDR and EXR store
//!   them; other formats drop them with a warning (`left-out-attributes`).
//! - Rows may start at the top or bottom, and at the left or right; column-major order is not supported.
//! - Rows may be run-length encoded by channel or by pixel (before 1991), or uncompressed, detected per row.
//!
//! `header`: the lines before the pixels. `row`: decoding and encoding of a row. `reader`, `writer`: files. `losses`:
//! pixels that cannot be stored exactly. Sources: Greg Ward, "Real Pixels", Graphics Gems II; "Radiance File Formats".

mod header;
mod losses;
mod reader;
mod row;
#[cfg(target_arch = "x86_64")]
mod row_x86;
mod writer;

pub use header::{looks_like_hdr, stores};
pub use losses::losses;
pub use reader::read;
pub use writer::write;
