//! Radiance HDR: pictures of light, three mantissas of 8 bits and one exponent for each pixel.
//!
//! What polyhaul takes an HDR file to mean where programs differ:
//!
//! - A mantissa `m` with the exponent `e` is `m * 2^(e - 136)`, and black where `e` is 0. What the header says of
//!   exposure and primaries is left alone, as most programs do.
//! - Rows may begin at the top or at the bottom, at the left or at the right; columns one after another are not read.
//! - Rows are in runs by channel, in runs by pixel (as they were before 1991) or plain: each row says which.
//!
//! `header`: the lines before the pixels. `row`: bytes to pixels of a row, and back. `reader`, `writer`: files.
//! `losses`: pixels that cannot be stored as they are.
//! Format: Greg Ward, "Real Pixels", Graphics Gems II; the Radiance file formats document.

mod header;
mod losses;
mod reader;
mod row;
#[cfg(target_arch = "x86_64")]
mod row_x86;
mod writer;

pub use header::looks_like_hdr;
pub use losses::losses;
pub use reader::read;
pub use writer::write;
