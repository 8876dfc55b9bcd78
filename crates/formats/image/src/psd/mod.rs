//! PSD and PSB: the merged image of Photoshop documents.
//!
//! Choices where programs interpret documents differently:
//!
//! - The image is the merged image that Photoshop stores after the layers; documents saved without it ("Maximize
//!   Compatibility" off) contain a placeholder, often white.
//! - The first channel after the colors is alpha if the layer count is negative, which is how Photoshop marks it as the
//!   transparency of the merged image. All other channels (saved selections, spot colors) are skipped with a warning,
//!   as are layers if there is more than one.
//! - Colors of transparent pixels are kept as stored: blended with white.
//! - Samples of 8 and 16 bits are read as sRGB, and floats as linear. An ICC profile is kept and not applied
//!   (`changed-color-space`).
//! - CMYK is converted to RGB without color management: R = (1 - C)(1 - K), and likewise for G and B.
//! - Duotone is read as gray. Lab and multichannel are not supported, nor are ZIP-compressed channels, which Photoshop
//!   writes only for layers.
//!
//! `header`: everything before the pixels. `reader`: channels. Source: Adobe Photoshop File Formats Specification.

mod header;
mod reader;

pub use reader::read;

/// Returns whether a file starts like a Photoshop document.
pub fn looks_like_psd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"8BPS")
}
