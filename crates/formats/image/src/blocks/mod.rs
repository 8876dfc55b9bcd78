//! Textures to images and back: blocks of 4 x 4 pixels, as graphics cards read them, and plain pixels.
//!
//! `compress` makes textures from images, `decode` images from textures. Each library for blocks is used in one place:
//! the one that compresses a row of them in `encode`, the one that decodes in `decode`. It knows nothing of files.

mod compress;
mod decode;
mod encode;

pub use compress::{BlockQuality, compress};
pub use decode::decode;
