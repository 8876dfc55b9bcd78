//! Converts between textures (blocks of 4 x 4 pixels as GPUs read them, or plain pixels) and images.
//!
//! `compress` converts images into textures, `decode` textures into images. Each block library is used in only one
//! module: the compressor in `encode`, the decoder in `decode`. Does not read or write files.

mod compress;
mod decode;
mod encode;

pub use compress::{BlockQuality, compress};
pub use decode::decode;
