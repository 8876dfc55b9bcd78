//! Textures to images and back: blocks of 4 x 4 pixels, as graphics cards read them, and plain pixels.
//!
//! `compress` makes textures out of images, `decode` images out of textures. Each library that knows blocks is named
//! in one place: that which compresses a row of them in `encode`, that which decodes in `decode`. Nothing here knows
//! files.

mod compress;
mod decode;
mod encode;

pub use compress::{BlockQuality, compress};
pub use decode::decode;
