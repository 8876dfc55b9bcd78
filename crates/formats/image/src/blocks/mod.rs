//! Textures to images and back: blocks of 4 x 4 pixels, as graphics cards read them, and plain pixels.
//!
//! `compress` makes textures from images, `decode` images from textures. Each library for blocks is used in one module:
//! the compressor in `encode`, the decoder in `decode`. Files are read and written elsewhere.

mod compress;
mod decode;
mod encode;

pub use compress::{BlockQuality, compress};
pub use decode::decode;
