//! PSD and PSB: documents of Photoshop, of which the picture of all layers is read.
//!
//! What polyhaul takes a document to mean where programs differ:
//!
//! - The picture is the one that Photoshop left behind the layers; a document that was saved without it ("Maximize
//!   Compatibility" off) has a white one there.
//! - The first channel behind the colours is alpha where the count of layers is negative, which is how Photoshop says
//!   that it is the transparency of the picture. Every other channel is a selection, and skipped with a warning, as are
//!   layers where there is more than one.
//! - Colours under transparency are as they are stored: blended with white.
//! - Samples of 8 and 16 bits are sRGB, whatever profile is embedded; floats are linear.
//! - CMYK becomes red, green and blue by the plain formula: what a colour of ink leaves of the white, times what the
//!   black leaves.
//! - Duotone is gray. Lab and multichannel are not read, and neither are channels in ZIP, which Photoshop writes for
//!   layers only.
//!
//! `header`: all that stands before the pixels. `reader`: channels. Source: Adobe Photoshop File Formats Specification.

mod header;
mod reader;

pub use reader::read;

/// Whether a file begins as one of these.
pub fn looks_like_psd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"8BPS")
}
