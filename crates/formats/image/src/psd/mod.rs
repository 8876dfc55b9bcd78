//! PSD and PSB: the merged picture of Photoshop documents.
//!
//! How polyhaul interprets documents where programs differ:
//!
//! - The picture is the merged one that Photoshop stores after the layers; a document saved without it ("Maximize
//!   Compatibility" off) has a white one there.
//! - The first channel after the colors is alpha if the count of layers is negative, which is how Photoshop marks it as
//!   the transparency of the picture. Every other channel is a selection, and skipped with a warning, like layers if
//!   there is more than one.
//! - Colors under transparency are as stored: blended with white.
//! - Samples of 8 and 16 bits are sRGB, whatever profile is embedded; floats are linear.
//! - CMYK becomes red, green and blue by the simple formula: the white left by an ink, times the white left by black.
//! - Duotone is gray. Lab and multichannel are not read, and neither are channels in ZIP, which Photoshop writes for
//!   layers only.
//!
//! `header`: everything before the pixels. `reader`: channels. Source: Adobe Photoshop File Formats Specification.

mod header;
mod reader;

pub use reader::read;

/// Whether a file starts like a Photoshop document.
pub fn looks_like_psd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"8BPS")
}
