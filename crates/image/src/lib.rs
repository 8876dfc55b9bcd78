//! Formats of images and textures, and what is done to images.
//!
//! A folder per format. None of them names another, opens a file or starts a thread.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod blocks;
pub mod bmp;
pub mod dds;
pub mod exr;
pub mod hdr;
pub mod jpeg;
pub mod ktx2;
pub mod masks;
pub mod mipmaps;
pub mod options;
pub mod pieces;
pub mod pixels;
#[cfg(target_arch = "x86_64")]
mod pixels_x86;
pub mod png;
pub mod psd;
pub mod raster;
pub mod rows;
pub mod runs;
#[cfg(target_arch = "x86_64")]
mod runs_x86;
pub mod samples;
pub mod surface;
pub mod texels;
pub mod tga;
