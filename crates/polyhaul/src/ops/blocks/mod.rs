//! Textures to images and back: blocks of 4 x 4 pixels, and plain ones.
//!
//! Each library that knows blocks is named in one place: that which decodes in `decode`. Nothing here knows files.

mod decode;

pub use decode::decode;
