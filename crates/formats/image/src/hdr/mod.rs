//! Radiance HDR: pictures of light, three mantissas of 8 bits and one exponent for each pixel.
//!
//! How polyhaul interprets HDR files where programs differ:
//!
//! - A mantissa `m` with the exponent `e` is `m * 2^(e - 136)`, and black if `e` is 0. Exposure, correction of
//!   colors, aspect and primaries in the header are kept as attributes and not applied, as in most programs; HDR and
//!   EXR store them, other formats drop them with a warning (`left-out-attributes`).
//! - Rows may start at the top or at the bottom, at the left or at the right; column order is not supported.
//! - Rows are in runs by channel, in runs by pixel (as before 1991) or plain, which is detected for each row.
//!
//! `header`: the lines before the pixels. `row`: bytes to pixels of a row, and back. `reader`, `writer`: files.
//! `losses`: pixels that cannot be stored exactly. Format: Greg Ward, "Real Pixels", Graphics Gems II; the Radiance
//! file formats document.

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
