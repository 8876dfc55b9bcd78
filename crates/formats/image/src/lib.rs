//! Image and texture formats, and operations on images.
//!
//! One folder per format. Formats do not depend on each other, open files or start threads.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
#![cfg_attr(
    not(all(
        feature = "tga",
        feature = "hdr",
        feature = "png",
        feature = "jpeg",
        feature = "exr",
        feature = "bmp",
        feature = "psd",
        feature = "dds",
        feature = "ktx2"
    )),
    allow(dead_code, unused_imports, reason = "formats use it that are not built")
)]

#[cfg(feature = "blocks")]
pub mod blocks;
#[cfg(feature = "bmp")]
pub mod bmp;
mod color;
#[cfg(feature = "dds")]
pub mod dds;
#[cfg(feature = "exr")]
pub mod exr;
#[cfg(feature = "hdr")]
pub mod hdr;
#[cfg(feature = "jpeg")]
pub mod jpeg;
#[cfg(feature = "ktx2")]
pub mod ktx2;
pub mod masks;
pub mod mipmaps;
mod orient;
pub mod pieces;
pub mod pixels;
#[cfg(target_arch = "x86_64")]
mod pixels_x86;
#[cfg(feature = "png")]
pub mod png;
#[cfg(feature = "psd")]
pub mod psd;
mod raster;
pub mod rows;
pub mod runs;
#[cfg(target_arch = "x86_64")]
mod runs_x86;
pub mod samples;
pub mod surface;
pub mod texels;
#[cfg(feature = "tga")]
pub mod tga;
