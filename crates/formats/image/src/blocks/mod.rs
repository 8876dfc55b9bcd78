//! Converts between textures (blocks of 4 x 4 pixels as GPUs read them, or plain pixels) and images.
//!
//! `compress` converts images to textures, `decode` textures to images. Each block library is used in one module only:
//! the compressor in `encode`, the decoder in `decode`. Does not read or write files.

mod compress;
mod decode;
mod encode;

pub use compress::{BlockQuality, compress};
pub use decode::decode;
