//! Stand-ins for the compressors in builds without the C libraries, which return errors.

use std::io;

/// Would make deflate data.
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

/// Would make zstd frames.
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
