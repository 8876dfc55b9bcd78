//! Placeholders for the compressors in builds without the C libraries; creating one fails.

use std::io;

/// A deflate compressor, which cannot exist in this build.
pub(super) enum Deflate {}

impl Deflate {
    pub(super) fn new(_: i32) -> io::Result<Self> {
        Err(unsupported("gzip"))
    }

    pub(super) fn bound(&mut self, _: usize) -> usize {
        match *self {}
    }

    pub(super) fn compress(&mut self, _: &[u8], _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

/// A zstd compressor, which cannot exist in this build.
pub(super) enum ZstdFrames {}

impl ZstdFrames {
    pub(super) fn new(_: i32) -> io::Result<Self> {
        Err(unsupported("zstd"))
    }

    pub(super) fn encode(&mut self, _: &[u8], _: &mut Vec<u8>) -> io::Result<()> {
        match *self {}
    }
}

fn unsupported(codec: &str) -> io::Error {
    let message = format!("this build does not write {codec}: it was built without the feature `c-codecs`");
    io::Error::new(io::ErrorKind::Unsupported, message)
}
